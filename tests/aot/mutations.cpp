// tests/aot/mutations.cpp -- seeded damage with checksums made to fit.
#include "tests/aot/mutations.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <stdexcept>
#include <utility>

#include "codegen/program/saved.h"
#include "gnomon/checksum.h"

namespace gnomon::testing {
namespace {

constexpr std::size_t head_bytes = 56, length_at = 16;

std::size_t below(std::mt19937_64& random, std::size_t n) {
  return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
}

template <class T>
T at(const std::vector<std::byte>& bytes, std::size_t place) {
  T value;
  std::memcpy(&value, bytes.data() + place, sizeof value);
  return value;
}

template <class T>
void put(std::vector<std::byte>& bytes, std::size_t place, T value) {
  std::memcpy(bytes.data() + place, &value, sizeof value);
}

/// Numbers at which something may break, among them some near the one that was there.
template <class T>
T number(std::mt19937_64& random, T old, std::size_t size) {
  const T top = static_cast<T>(T{1} << (8 * sizeof(T) - 1));
  const T list[] = {0,
                    1,
                    2,
                    3,
                    255,
                    256,
                    static_cast<T>(top - 1),
                    top,
                    static_cast<T>(~T{0}),
                    static_cast<T>(~T{0} - 3),
                    static_cast<T>(top >> 2),
                    static_cast<T>(size),
                    static_cast<T>(size / 4),
                    static_cast<T>(size - 4),
                    static_cast<T>(old + 1),
                    static_cast<T>(old - 1),
                    static_cast<T>(old + 4),
                    static_cast<T>(old - 4),
                    static_cast<T>(old + 256),
                    static_cast<T>(2 * old),
                    static_cast<T>(old / 2),
                    static_cast<T>(-old),
                    static_cast<T>(random())};
  return list[below(random, std::size(list))];
}

}  // namespace

Mutator::Mutator(std::vector<std::byte> file) : file_(std::move(file)) {
  const SavedFile saved = saved_file(file_);
  const auto find = [&](std::span<const std::byte> what) {
    const auto found =
        std::search(file_.begin() + head_bytes, file_.end(), what.begin(), what.end());
    if (found == file_.end())
      throw std::runtime_error("a part of the file is not where it should be");
    return static_cast<std::size_t>(found - file_.begin());
  };
  for (const SavedEntry& e : saved.entries)
    for (const SavedVariant& v : e.variants)
      for (const ProgramModule& m : v.file.modules) {
        const auto words = std::as_bytes(std::span(m.words));
        const std::uint64_t sum = checksum(words);
        Module module;
        module.first = find(words);
        module.end = module.first + words.size();
        module.checksum = find(std::as_bytes(std::span(&sum, 1)));
        const auto same = [&](const Module& other) { return other.first == module.first; };
        if (std::none_of(modules_.begin(), modules_.end(), same)) modules_.push_back(module);
      }
  std::sort(modules_.begin(), modules_.end(),
            [](const Module& a, const Module& b) { return a.first < b.first; });
  std::size_t from = head_bytes;
  for (const Module& m : modules_) {
    if (m.first > from) rest_.emplace_back(from, m.first);
    from = m.end;
  }
  rest_.emplace_back(from, file_.size());
}

// Modules are most of a file, and all alike: four of five changes are elsewhere.
std::size_t Mutator::place(std::mt19937_64& random, std::size_t alignment, std::size_t size) const {
  for (;;) {
    std::size_t at = head_bytes + below(random, file_.size() - head_bytes);
    if (below(random, 5) != 0) {
      std::size_t all = 0;
      for (const auto& [first, end] : rest_) all += end - first;
      std::size_t n = below(random, all);
      for (const auto& [first, end] : rest_) {
        at = first + n;
        if (n < end - first) break;
        n -= end - first;
      }
    }
    if (below(random, 64) == 0) at = below(random, head_bytes);
    at -= at % alignment;
    if (at + size <= file_.size()) return at;
  }
}

void Mutator::change(std::mt19937_64& random, Mutation& m) const {
  std::vector<std::byte>& bytes = m.bytes;
  const auto note = [&](const char* what, std::size_t where) {
    m.how += std::string(m.how.empty() ? "" : ", ") + what + " at " + std::to_string(where);
  };
  switch (below(random, 8)) {
    case 0: {
      const std::size_t p = place(random, 1, 1);
      bytes[p] ^= static_cast<std::byte>(1u << below(random, 8));
      return note("a bit", p);
    }
    case 1: {
      const std::size_t p = place(random, 1, 1);
      bytes[p] = static_cast<std::byte>(random());
      return note("a byte", p);
    }
    case 2:
    case 3: {
      const std::size_t p = place(random, 4, 4);
      put(bytes, p, number(random, at<std::uint32_t>(bytes, p), bytes.size()));
      return note("a word", p);
    }
    case 4: {
      const std::size_t p = place(random, 8, 8);
      put(bytes, p, number(random, at<std::uint64_t>(bytes, p), bytes.size()));
      return note("two words", p);
    }
    case 5: {
      const std::size_t a = place(random, 4, 4), b = place(random, 4, 4);
      const auto first = at<std::uint32_t>(bytes, a);
      put(bytes, a, at<std::uint32_t>(bytes, b));
      put(bytes, b, first);
      note("words swapped", a);
      return note("with those", b);
    }
    case 6: {
      const std::size_t most = std::min<std::size_t>(256, file_.size() - head_bytes);
      const std::size_t length = 4 * (1 + below(random, most / 4));
      const std::size_t a = place(random, 4, length), b = place(random, 4, length);
      if (below(random, 2) == 0) {
        std::memmove(bytes.data() + b, file_.data() + a, length);
        note("a range copied from", a);
      } else {
        std::memmove(bytes.data() + a, file_.data() + b, length);
        std::memmove(bytes.data() + b, file_.data() + a, length);
        note("ranges swapped", a);
      }
      return note("to", b);
    }
    default: {
      const std::size_t p = place(random, 4, 4);
      put(bytes, p, std::uint32_t{0});
      return note("nothing", p);
    }
  }
}

Mutation Mutator::mutation(std::mt19937_64& random) const {
  Mutation m;
  m.bytes = file_;
  const std::size_t changes = 1 + (below(random, 3) == 0 ? below(random, 4) : 0);
  for (std::size_t i = 0; i < changes; ++i) change(random, m);
  if (below(random, 4) != 0)
    for (const Module& module : modules_)
      put(m.bytes, module.checksum,
          checksum(std::span(m.bytes).subspan(module.first, module.end - module.first)));
  if (below(random, 16) == 0) {
    m.bytes.resize(below(random, 4) == 0 ? file_.size() + below(random, 64)
                                         : below(random, file_.size()));
    m.how += ", cut to " + std::to_string(m.bytes.size());
  }
  if (below(random, 32) != 0 && m.bytes.size() >= head_bytes) {
    put(m.bytes, length_at, std::uint64_t{m.bytes.size() - head_bytes});
    seal(m.bytes);
    m.sealed = true;
  }
  return m;
}

}  // namespace gnomon::testing
