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
  switch (i.op) {
    case Op::load:
    case Op::store:
    case Op::private_load:
    case Op::private_store:
    case Op::shared_load:
    case Op::shared_store:
    case Op::atomic_add:
    case Op::atomic_and:
    case Op::atomic_or:
    case Op::subgroup_first:
    case Op::subgroup_add:
    case Op::subgroup_min:
    case Op::subgroup_max:
    case Op::subgroup_and:
    case Op::subgroup_or:
    case Op::barrier:
      return true;
    default:
      break;
  }
  return std::any_of(i.regions.begin(), i.regions.end(), [](const Region& r) {
    return std::any_of(r.body.begin(), r.body.end(), has_effects);
  });
}

std::uint64_t worst_case_trips(const Kernel& k) {
  return trips(k.body, [](std::uint64_t most) { return most == 0 ? unbounded : most; });
}

std::uint64_t worst_case_trips(const Kernel& k, std::uint64_t stated, std::uint64_t instead) {
  return trips(k.body, [&](std::uint64_t most) {
    return most == stated ? instead : most == 0 ? unbounded : most;
  });
}

std::string_view name(Op op) {
  switch (op) {
    case Op::constant:
      return "constant";
    case Op::parameter:
      return "parameter";
    case Op::lane:
      return "lane";
    case Op::invocation:
      return "invocation";
    case Op::group_index:
      return "group_index";
    case Op::local_index:
      return "local_index";
    case Op::add:
      return "add";
    case Op::sub:
      return "sub";
    case Op::mul:
      return "mul";
    case Op::div:
      return "div";
    case Op::rem:
      return "rem";
    case Op::minimum:
      return "minimum";
    case Op::maximum:
      return "maximum";
    case Op::pow:
      return "pow";
    case Op::atan2:
      return "atan2";
    case Op::neg:
      return "neg";
    case Op::abs:
      return "abs";
    case Op::floor:
      return "floor";
    case Op::ceil:
      return "ceil";
    case Op::round_even:
      return "round_even";
    case Op::trunc:
      return "trunc";
    case Op::sqrt:
      return "sqrt";
    case Op::rsqrt:
      return "rsqrt";
    case Op::exp:
      return "exp";
    case Op::exp2:
      return "exp2";
    case Op::log:
      return "log";
    case Op::log2:
      return "log2";
    case Op::sin:
      return "sin";
    case Op::cos:
      return "cos";
    case Op::tan:
      return "tan";
    case Op::asin:
      return "asin";
    case Op::acos:
      return "acos";
    case Op::atan:
      return "atan";
    case Op::sinh:
      return "sinh";
    case Op::cosh:
      return "cosh";
    case Op::tanh:
      return "tanh";
    case Op::asinh:
      return "asinh";
    case Op::acosh:
      return "acosh";
    case Op::atanh:
      return "atanh";
    case Op::fma:
      return "fma";
    case Op::band:
      return "band";
    case Op::bor:
      return "bor";
    case Op::bxor:
      return "bxor";
    case Op::bnot:
      return "bnot";
    case Op::shl:
      return "shl";
    case Op::shr:
      return "shr";
    case Op::popcount:
      return "popcount";
    case Op::mul_high:
      return "mul_high";
    case Op::eq:
      return "eq";
    case Op::ne:
      return "ne";
    case Op::lt:
      return "lt";
    case Op::le:
      return "le";
    case Op::gt:
      return "gt";
    case Op::ge:
      return "ge";
    case Op::is_nan:
      return "is_nan";
    case Op::is_inf:
      return "is_inf";
    case Op::select:
      return "select";
    case Op::convert:
      return "convert";
    case Op::bitcast:
      return "bitcast";
    case Op::low_word:
      return "low_word";
    case Op::high_word:
      return "high_word";
    case Op::from_words:
      return "from_words";
    case Op::splat:
      return "splat";
    case Op::extract:
      return "extract";
    case Op::construct:
      return "construct";
    case Op::any:
      return "any";
    case Op::all:
      return "all";
    case Op::load:
      return "load";
    case Op::store:
      return "store";
    case Op::private_load:
      return "private_load";
    case Op::private_store:
      return "private_store";
    case Op::shared_load:
      return "shared_load";
    case Op::shared_store:
      return "shared_store";
    case Op::atomic_add:
      return "atomic_add";
    case Op::atomic_and:
      return "atomic_and";
    case Op::atomic_or:
      return "atomic_or";
    case Op::subgroup_index:
      return "subgroup_index";
    case Op::subgroup_count:
      return "subgroup_count";
    case Op::subgroup_first:
      return "subgroup_first";
    case Op::subgroup_add:
      return "subgroup_add";
    case Op::subgroup_min:
      return "subgroup_min";
    case Op::subgroup_max:
      return "subgroup_max";
    case Op::subgroup_and:
      return "subgroup_and";
    case Op::subgroup_or:
      return "subgroup_or";
    case Op::barrier:
      return "barrier";
    case Op::loop:
      return "loop";
    case Op::if_:
      return "if";
  }
  return "?";
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
