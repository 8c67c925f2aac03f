// tests/aot/module_test.cpp -- modules that were tampered with: what is not refused is valid, as
// SPIRV-Tools see it, and reaches the buffers that its kernel has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>

#include "codegen/program/module/words.h"
#include "codegen/program/saved.h"
#include "gnomon/aot.h"
#include "gnomon/control.h"
#include "gnomon/cumulative.h"
#include "gnomon/jit.h"
#include "gnomon/loops.h"
#include "gnomon/ops.h"
#include "gnomon/sorting.h"
#include "shaders/spirv/tools.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using ::testing::HasSubstr;

/// A module with what it is examined by.
struct Subject {
  kernel::Kernel kernel;
  std::vector<std::uint8_t> windows;
  Target target;
  std::vector<std::uint32_t> words;

  std::optional<std::string> complaint() const {
    return module_complaint(words, kernel, windows, target);
  }
};

class Modules : public DeviceTest {
 protected:
  using List = std::vector<Array>;

  Array ramp(Shape shape, DType t = DType::f32) {
    std::vector<float> all;
    for (Dim i = 0; i < shape.size(); ++i) all.push_back(0.25f + 0.5f * static_cast<float>(i));
    return cast(rt.from_host(all, shape), t);
  }

  template <class F>
  void add(F f, const List& x, std::vector<Subject>& all) {
    const SavedFile file = saved_file(aot::to_bytes({{"f", jit(rt, f, {.name = "f"}).lower(x)}},
                                                    {.targets = {"device", "gpu", "cpu"}}));
    for (const SavedVariant& v : file.entries[0].variants)
      for (const ProgramModule& m : v.file.modules)
        if (m.kernel < v.file.program.kernels.size())
          all.push_back({v.file.program.kernels[m.kernel], m.windows, v.target, m.words});
  }

  /// Of kernels with all that the emitter has, as far as a few functions go.
  std::vector<Subject> subjects() {
    std::vector<Subject> all;
    add(
        [](const List& x) {
          return List{sin(x[0]) * 2.0f, sum(x[0]), sort(x[0])};
        },
        {ramp({300})}, all);
    add(
        [](const List& x) {
          return List{dot(x[0], x[0]), max(x[0], 1), x[0] > 3.0f};
        },
        {ramp({40, 40})}, all);
    add(
        [](const List& x) {
          return List{while_loop([](const Array& a) { return sum(a) < 500.0f; },
                                 [](const Array& a) { return a + a / 64.0f; }, x[0],
                                 {.max_steps = 100})};
        },
        {ramp({64})}, all);
    add(
        [](const List& x) {
          return List{x[0] / x[1], x[0] % x[1], x[0] << x[1]};
        },
        {ramp({9}, DType::i32), ramp({9}, DType::i32)}, all);
    add([](const List& x) { return List{cast(x[0], DType::u8), cumsum(x[0])}; }, {ramp({50})}, all);
    return all;
  }
};

TEST_F(Modules, WhatIsNotRefusedIsValid) {
  const std::vector<Subject> all = subjects();
  for (const Subject& s : all) ASSERT_EQ(s.complaint(), std::nullopt) << s.kernel.name;
  const char* const one = std::getenv("GNOMON_HOSTILE_SEED");
  const std::uint64_t first = one ? std::strtoull(one, nullptr, 10) : 1;
  const char* const many = std::getenv("GNOMON_HOSTILE_MODULES");
  const std::uint64_t count = one ? 1 : many ? std::strtoull(many, nullptr, 10) : 4000;
  std::map<std::string, int> refused;
  int good = 0, bad = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    std::mt19937_64 random(seed);
    Subject s = all[random() % all.size()];
    const std::size_t at = 1 + random() % (s.words.size() - 1);
    const std::uint32_t old = s.words[at];
    switch (random() % 6) {
      case 0:
        s.words[at] ^= 1u << random() % 32;
        break;
      case 1:
        s.words[at] = static_cast<std::uint32_t>(random() % s.words[3]);
        break;
      case 2:
        s.words[at] += random() % 2 ? 1 : ~0u;
        break;
      case 3:
        std::swap(s.words[at], s.words[1 + random() % (s.words.size() - 1)]);
        break;
      case 4: {  // an instruction away
        std::size_t p = 5;
        while (p + (s.words[p] >> 16) <= at) p += s.words[p] >> 16;
        s.words.erase(s.words.begin() + static_cast<std::ptrdiff_t>(p),
                      s.words.begin() + static_cast<std::ptrdiff_t>(p + (s.words[p] >> 16)));
        break;
      }
      default:
        s.words[at] = (old & 0xffff0000) | static_cast<std::uint32_t>(random() % 400);
    }
    const auto complaint = s.complaint();
    if (complaint) {
      ++refused[*complaint];
      continue;
    }
    ++good;
    if (const auto invalid = spirv::validate(s.words)) {
      ++bad;
      if (bad < 30)
        std::printf("seed %llu, `%s`, word %zu (%u before, now %u): %s\n",
                    static_cast<unsigned long long>(seed), s.kernel.name.c_str(), at, old,
                    at < s.words.size() ? s.words[at] : 0, invalid->c_str());
    }
  }
  if (many)
    for (const auto& [what, times] : refused) std::printf("%7d %s\n", times, what.c_str());
  std::printf("%d of %zu are taken, %d of these are not valid\n", good,
              static_cast<std::size_t>(count), bad);
  EXPECT_EQ(bad, 0);
  if (count > 1) {
    EXPECT_GT(good, 0);
  }
}

}  // namespace
}  // namespace gnomon::testing
