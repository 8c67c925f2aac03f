// shaders/kernel/kernel.cpp -- questions about instructions and kernels.
#include "shaders/kernel/kernel.h"

#include <algorithm>

#include "shaders/kernel/same.h"
#include "shaders/kernel/trips.h"

namespace gnomon::kernel {
namespace {

constexpr std::uint64_t unbounded = ~std::uint64_t{0};

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  return a > unbounded - b ? unbounded : a + b;
}

std::uint64_t saturating_mul(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > unbounded / b ? unbounded : a * b;
}

/// `bound`: the trips of a loop that states so many.
template <class Bound>
std::uint64_t trips(const Region& region, const Bound& bound) {
  std::uint64_t total = 0;
  for (const Instruction& i : region.body) {
    if (i.op == Op::loop) {
      const std::uint64_t most = bound(i.immediate);
      if (most == unbounded) return unbounded;
      // The last trip ends with the condition.
      const std::uint64_t condition =
          saturating_mul(saturating_add(most, 1), saturating_add(1, trips(i.regions[0], bound)));
      const std::uint64_t body = saturating_mul(most, trips(i.regions[1], bound));
      total = saturating_add(total, saturating_add(condition, body));
    } else if (i.op == Op::if_) {
      total =
          saturating_add(total, std::max(trips(i.regions[0], bound), trips(i.regions[1], bound)));
    }
  }
  return total;
}

bool same(const Region&, const Region&);

bool same(const Instruction& a, const Instruction& b) {
  return a.op == b.op && a.exact == b.exact && a.immediate == b.immediate &&
         std::ranges::equal(a.results, b.results) && std::ranges::equal(a.operands, b.operands) &&
         std::ranges::equal(a.regions, b.regions,
                            [](const Region& x, const Region& y) { return same(x, y); });
}

bool same(const Region& a, const Region& b) {
  return a.arguments == b.arguments && a.yields == b.yields &&
         std::ranges::equal(a.body, b.body,
                            [](const Instruction& x, const Instruction& y) { return same(x, y); });
}

bool same(const Buffer& a, const Buffer& b) {
  return a.dtype == b.dtype && a.access == b.access && a.coherent == b.coherent &&
         a.texel == b.texel && a.history == b.history;
}

std::size_t count_loops(const Region& r) {
  std::size_t n = 0;
  for (const Instruction& i : r.body) {
    n += i.op == Op::loop;
    for (const Region& inner : i.regions) n += count_loops(inner);
  }
  return n;
}

std::size_t mixed(std::size_t h, std::size_t x) { return (h ^ x) * 0x9e3779b97f4a7c15u + (h >> 7); }

std::size_t hash_of(std::size_t h, const Region& r) {
  h = mixed(h, r.body.size());
  for (const Instruction& i : r.body) {
    h = mixed(mixed(h, static_cast<std::size_t>(i.op)), i.immediate);
    for (const Region& inner : i.regions) h = hash_of(h, inner);
  }
  return h;
}

}  // namespace

bool has_effects(const Instruction& i) {
  if (space(i.op) != Space::none || writes(i.op)) return true;
  for (const Region& r : i.regions)
    if (std::any_of(r.body.begin(), r.body.end(), has_effects)) return true;
  return false;
}

std::size_t count_loops(const Kernel& k) { return count_loops(k.body); }

std::uint64_t worst_case_trips(const Kernel& k) {
  return trips(k.body, [](std::uint64_t most) { return most == 0 ? unbounded : most; });
}

std::uint64_t worst_case_trips(const Kernel& k, std::uint64_t stated, std::uint64_t instead) {
  return trips(k.body, [&](std::uint64_t most) {
    return most == stated ? instead : most == 0 ? unbounded : most;
  });
}

std::string_view name(Op op) {
  std::string_view text = "?";
  switch (op) {
#define GNOMON_ROW(op, form, effort, space) \
  case Op::op:                              \
    text = #op;                             \
    break;
    GNOMON_KERNEL_OPS(GNOMON_ROW)
#undef GNOMON_ROW
  }
  if (text.ends_with('_')) text.remove_suffix(1);
  return text;
}

std::string to_string(Type t) {
  std::string text(name(t.scalar));
  return t.width == 1 ? text : text + "x" + std::to_string(t.width);
}

bool same_but_lanes(const Kernel& a, const Kernel& b) {
  return a.group_size == b.group_size && a.parameters == b.parameters &&
         std::ranges::equal(a.buffers, b.buffers,
                            [](const Buffer& x, const Buffer& y) { return same(x, y); }) &&
         a.privates == b.privates && a.shareds == b.shareds && a.types == b.types &&
         same(a.body, b.body);
}

std::size_t hash_but_lanes(const Kernel& k) {
  return hash_of(mixed(mixed(k.group_size, k.buffers.size()), k.types.size()), k.body);
}

}  // namespace gnomon::kernel
