// shaders/kernel/fold.cpp -- the builder's constant folding and algebraic identities.
//
// Every rule must hold for every input bit for bit (builder.h says which floats are exempt),
// because the interpreter, a driver that folds and one that does not are compared with one another.
#include <bit>
#include <cmath>

#include "shaders/kernel/builder.h"
#include "shaders/kernel/scalar.h"

namespace gnomon::kernel {
namespace {

std::uint64_t all_bits(DType t) {
  const std::uint32_t bits = bits_of(t);
  return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

struct FloatLayout {
  std::uint64_t exponent, mantissa, quiet;
};

FloatLayout layout(DType t) {
  const std::uint32_t mantissa_bits = t == DType::f64   ? 52
                                      : t == DType::f32 ? 23
                                      : t == DType::f16 ? 10
                                                        : 7;
  const std::uint64_t mantissa = (std::uint64_t{1} << mantissa_bits) - 1;
  const std::uint64_t exponent = (all_bits(t) >> 1) & ~mantissa;
  return {exponent, mantissa, std::uint64_t{1} << (mantissa_bits - 1)};
}

/// A driver may flush it, so that computing with it here could disagree.
bool subnormal(DType t, std::uint64_t bits) {
  if (!is_float(t)) return false;
  const FloatLayout l = layout(t);
  return (bits & l.exponent) == 0 && (bits & l.mantissa) != 0;
}

bool not_a_number(DType t, std::uint64_t bits) {
  if (!is_float(t)) return false;
  const FloatLayout l = layout(t);
  return (bits & l.exponent) == l.exponent && (bits & l.mantissa) != 0;
}

bool correctly_rounded(Op op) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::minimum:
    case Op::maximum:
    case Op::neg:
    case Op::abs:
    case Op::floor:
    case Op::ceil:
    case Op::round_even:
    case Op::trunc:
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
    case Op::is_nan:
    case Op::is_inf:
      return true;
    default:
      return false;
  }
}

/// Whether negation, complement and so on undo themselves: op(op(x)) = x.
bool undoes_itself(Op op) { return op == Op::neg || op == Op::bnot; }

bool idempotent(Op op) {
  return op == Op::abs || op == Op::floor || op == Op::ceil || op == Op::round_even ||
         op == Op::trunc;
}

}  // namespace

bool Builder::computable(Type t, std::initializer_list<Value> operands) const {
  for (const Value v : operands) {
    if (!is_constant(v) || subnormal(t.scalar, constant_bits(v))) return false;
  }
  return true;
}

Value Builder::fold_computed(Op op, DType operand_type, Type result,
                             std::initializer_list<Value> operands) {
  if (!computable({operand_type, 1}, operands)) return {};
  std::uint64_t bits[3] = {};
  std::size_t count = 0;
  for (const Value v : operands) bits[count++] = constant_bits(v);
  if (is_float(operand_type)) {
    if (!correctly_rounded(op)) return {};
    if (op == Op::minimum || op == Op::maximum) {
      // Which operand comes back for a NaN or for zeros of both signs is the device's choice.
      const bool zeros = ((bits[0] | bits[1]) << 1 & all_bits(operand_type)) == 0;
      if (zeros || not_a_number(operand_type, bits[0]) || not_a_number(operand_type, bits[1]))
        return {};
    }
  }
  std::uint64_t answer = scalar_function(op, operand_type)(bits[0], bits[1], bits[2]);
  if (subnormal(result.scalar, answer)) return {};
  const bool arithmetic = op != Op::neg && op != Op::abs;
  if (arithmetic && not_a_number(result.scalar, answer)) {
    const FloatLayout l = layout(result.scalar);
    answer = l.exponent | l.quiet;
  }
  return constant(result, answer);
}

Value Builder::fold_unary(Op op, Value x) {
  const Type t = type(x);
  if (const Value v = fold_computed(op, t.scalar, t, {x}); v.valid()) return v;
  if (undoes_itself(op) && made_by(x, op)) return operand(x, 0);
  if (idempotent(op) && made_by(x, op)) return x;
  if (op == Op::abs && is_unsigned(t.scalar)) return x;
  if (op == Op::abs && is_float(t.scalar) && made_by(x, Op::neg))
    return unary(Op::abs, operand(x, 0));
  return {};
}

Value Builder::fold_binary(Op op, Value a, Value b) {
  const Type t = type(a);
  const bool by_constant = is_constant(b);
  if (by_constant && is_constant(a))
    if (const Value v = fold_computed(op, t.scalar, t, {a, b}); v.valid()) return v;
  if (is_float(t.scalar)) {
    if (!by_constant) return {};
    const std::uint64_t c = constant_bits(b);
    const std::uint64_t one = from_double(t.scalar, 1);
    const std::uint64_t minus_zero = from_double(t.scalar, -0.0);
    if ((op == Op::mul || op == Op::div) && c == one) return a;
    if ((op == Op::sub && c == 0) || (op == Op::add && c == minus_zero)) return a;
    return {};
  }
  if (a == b) {
    switch (op) {
      case Op::sub:
      case Op::bxor:
        return constant(t, 0);
      case Op::band:
      case Op::bor:
      case Op::minimum:
      case Op::maximum:
        return a;
      default:
        break;
    }
  }
  if (by_constant) return fold_integer(op, a, constant_bits(b));
  if (op == Op::add && t.scalar == DType::u32) {
    for (const auto& [x, y] : {std::pair{a, b}, std::pair{b, a}})
      if (made_by(x, Op::mul) || made_by(x, Op::shl))
        if (const Value v = fold_recombined(x, y); v.valid()) return v;
  }
  if (is_constant(a) && constant_bits(a) == 0) {
    if (op == Op::shl || op == Op::shr || op == Op::rem) return a;  // 0 % 0 is 0
    if (op == Op::sub) return unary(Op::neg, b);
  }
  return {};
}

/// x / c * c + x % c is x. A position split into coordinates and put together again is itself,
/// which the lane mapping depends on.
Value Builder::fold_recombined(Value multiple, Value remainder) {
  const auto by_constant = [&](Value v, Op op) {
    return made_by(v, op) && is_constant(operand(v, 1));
  };
  const auto bits = [&](Value v) { return constant_bits(operand(v, 1)); };
  std::uint64_t divisor = 0;
  Value whole;
  for (const auto& [times, over] : {std::pair{Op::mul, Op::div}, std::pair{Op::shl, Op::shr}}) {
    if (!by_constant(multiple, times)) continue;
    const Value quotient = operand(multiple, 0);
    if (!by_constant(quotient, over) || bits(quotient) != bits(multiple)) continue;
    divisor = times == Op::mul ? bits(multiple) : std::uint64_t{1} << (bits(multiple) % 32);
    whole = operand(quotient, 0);
  }
  if (divisor == 0) return {};
  const bool completes = (by_constant(remainder, Op::rem) && bits(remainder) == divisor) ||
                         (by_constant(remainder, Op::band) && std::has_single_bit(divisor) &&
                          bits(remainder) == divisor - 1);
  return completes && operand(remainder, 0) == whole ? whole : Value{};
}

unsigned Builder::zeros_below(Value v, int depth) const {
  if (is_constant(v)) return static_cast<unsigned>(std::countr_zero(constant_bits(v) | 1ull << 32));
  if (depth == 0) return 0;
  const auto below = [&](std::uint32_t i) { return zeros_below(operand(v, i), depth - 1); };
  if (made_by(v, Op::add)) return std::min(below(0), below(1));
  if (made_by(v, Op::band)) return std::max(below(0), below(1));
  if (made_by(v, Op::mul)) return std::min(32u, below(0) + below(1));
  if (made_by(v, Op::shl) && is_constant(operand(v, 1)))
    return std::min(32u, below(0) + static_cast<unsigned>(constant_bits(operand(v, 1)) % 32));
  return 0;
}

std::optional<std::uint64_t> Builder::constant_operand(Value v, Op op) const {
  if (!made_by(v, op) || !is_constant(operand(v, 1))) return std::nullopt;
  return constant_bits(operand(v, 1));
}

Value Builder::fold_integer(Op op, Value a, std::uint64_t c) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::mul_high:
    case Op::div:
    case Op::rem:
      return fold_arithmetic(op, a, c);
    case Op::shl:
    case Op::shr:
    case Op::band:
    case Op::bor:
    case Op::bxor:
      return fold_bits(op, a, c);
    case Op::minimum:
    case Op::maximum:
      return fold_extremum(op, a, c);
    default:
      return {};
  }
}

Value Builder::fold_arithmetic(Op op, Value a, std::uint64_t c) {
  const Type t = type(a);
  const auto computed = [&](Op o, std::uint64_t x, std::uint64_t y) {
    return scalar_function(o, t.scalar)(x, y, 0);
  };
  const bool power = t.scalar == DType::u32 && std::has_single_bit(c);
  const auto exponent = static_cast<std::uint64_t>(std::countr_zero(c));
  switch (op) {
    case Op::add:
    case Op::sub:
      if (c == 0) return a;
      if (const auto added = constant_operand(a, Op::add))
        return binary(Op::add, operand(a, 0), constant(t, computed(op, *added, c)));
      if (const auto subtracted = constant_operand(a, Op::sub))
        return binary(Op::add, operand(a, 0),
                      constant(t, computed(op, computed(Op::sub, 0, *subtracted), c)));
      return {};
    case Op::mul:
      if (c == 0) return constant(t, 0);
      if (c == 1) return a;
      if (const auto factor = constant_operand(a, Op::mul))
        return binary(Op::mul, operand(a, 0), constant(t, computed(Op::mul, *factor, c)));
      return power ? binary(Op::shl, a, constant(t, exponent)) : Value{};
    case Op::mul_high:
      return c <= 1 ? constant(t, 0) : Value{};
    case Op::div:
      if (c == 0) return constant(t, all_bits(t.scalar));
      if (c == 1) return a;
      return power ? binary(Op::shr, a, constant(t, exponent)) : Value{};
    case Op::rem:
      if (c == 0) return a;
      if (c == 1 || (!is_unsigned(t.scalar) && c == all_bits(t.scalar))) return constant(t, 0);
      return power ? binary(Op::band, a, constant(t, c - 1)) : Value{};
    default:
      return {};
  }
}

Value Builder::fold_bits(Op op, Value a, std::uint64_t c) {
  const Type t = type(a);
  const std::uint64_t ones = all_bits(t.scalar);
  const auto same = constant_operand(a, op);
  // A multiple of 2^s with a constant added that has s bits at most: the two do not meet.
  const auto sum = t.scalar == DType::u32 ? constant_operand(a, Op::add) : std::nullopt;
  const std::uint64_t added = sum.value_or(0);
  const auto added_bits = static_cast<std::uint64_t>(std::bit_width(added));
  const bool apart = sum && added_bits <= zeros_below(operand(a, 0));
  switch (op) {
    case Op::shl:
    case Op::shr: {
      const std::uint64_t width = bits_of(t.scalar), count = c % width;
      if (count == 0) return a;
      if (same && *same % width + count < width)
        return binary(op, operand(a, 0), constant(t, *same % width + count));
      if (op == Op::shr && apart && count >= added_bits)
        return binary(op, operand(a, 0), constant(t, c));
      return {};
    }
    case Op::band:
      if (c == 0) return constant(t, 0);
      if (c == ones) return a;
      if (same) return binary(op, operand(a, 0), constant(t, *same & c));
      if (const auto shift = constant_operand(a, Op::shl);
          t.scalar == DType::u32 && shift && c >> (*shift % 32) == 0)
        return constant(t, 0);
      if (apart)
        return binary(Op::add, binary(op, operand(a, 0), constant(t, c)), constant(t, added & c));
      return {};
    case Op::bor:
      if (c == 0) return a;
      if (c == ones) return constant(t, ones);
      return same ? binary(op, operand(a, 0), constant(t, *same | c)) : Value{};
    case Op::bxor:
      if (c == 0) return a;
      if (c == ones) return unary(Op::bnot, a);
      return same ? binary(op, operand(a, 0), constant(t, *same ^ c)) : Value{};
    default:
      return {};
  }
}

Value Builder::fold_extremum(Op op, Value a, std::uint64_t c) {
  const Type t = type(a);
  const std::uint64_t ones = all_bits(t.scalar);
  const std::uint64_t lowest = is_unsigned(t.scalar) ? 0 : (ones >> 1) + 1;
  const std::uint64_t highest = is_unsigned(t.scalar) ? ones : ones >> 1;
  const std::uint64_t neutral = op == Op::minimum ? highest : lowest;
  const std::uint64_t absorbing = op == Op::minimum ? lowest : highest;
  if (c == neutral) return a;
  if (c == absorbing) return constant(t, c);
  if (const auto bound = constant_operand(a, op))
    return binary(op, operand(a, 0), constant(t, scalar_function(op, t.scalar)(*bound, c, 0)));
  return {};
}

bool Builder::at_least_zero(Value v) const {
  if (is_constant(v)) return to_double(type(v).scalar, constant_bits(v)) >= 0;
  return made_by(v, Op::abs) || (made_by(v, Op::mul) && operand(v, 0) == operand(v, 1));
}

bool Builder::at_most_zero(Value v) const {
  if (is_constant(v)) return to_double(type(v).scalar, constant_bits(v)) <= 0;
  if (made_by(v, Op::abs) || made_by(v, Op::neg)) v = operand(v, 0);
  const auto zero = [&](Value x) {
    return is_constant(x) && to_double(type(x).scalar, constant_bits(x)) == 0;
  };
  return made_by(v, Op::mul) && (zero(operand(v, 0)) || zero(operand(v, 1)));
}

Value Builder::fold_compare(Op op, Value a, Value b) {
  const Type t = type(a);
  const Type truth{DType::boolean, t.width};
  if (const Value v = fold_computed(op, t.scalar, truth, {a, b}); v.valid()) return v;
  if (is_float(t.scalar)) {
    const bool never = (op == Op::gt && at_most_zero(a) && at_least_zero(b)) ||
                       (op == Op::lt && at_least_zero(a) && at_most_zero(b));
    return never ? constant(truth, 0) : Value{};
  }
  if (a == b) return constant(truth, op == Op::eq || op == Op::le || op == Op::ge);
  if (t.scalar == DType::boolean && is_constant(b)) {
    return (constant_bits(b) != 0) == (op == Op::eq) ? a : unary(Op::bnot, a);
  }
  if (is_unsigned(t.scalar) && is_constant(b) && constant_bits(b) == 0) {
    if (op == Op::lt) return constant(truth, 0);
    if (op == Op::ge) return constant(truth, 1);
  }
  return {};
}

Value Builder::fold_select(Value p, Value a, Value b) {
  if (a == b) return a;
  if (is_constant(p)) return constant_bits(p) != 0 ? a : b;
  if (made_by(p, Op::bnot)) return select(operand(p, 0), b, a);
  if (type(a).scalar == DType::boolean && is_constant(a) && is_constant(b)) {
    return constant_bits(a) != 0 ? p : unary(Op::bnot, p);
  }
  return {};
}

Value Builder::fold_convert(Value x, DType to) {
  const Type from = type(x);
  if (!computable(from, {x})) return {};
  const std::uint64_t bits = constant_bits(x);
  if (is_float(from.scalar) && is_integer(to)) {
    // Out of range is unspecified; keep it for the device unless the value survives the way back.
    const double value = to_double(from.scalar, bits);
    const std::uint64_t answer = from_double(to, value);
    if (!(value > -9e15 && value < 9e15) || to_double(to, answer) != std::trunc(value)) return {};
    return constant({to, from.width}, answer);
  }
  const std::uint64_t answer = convert_function(from.scalar, to)(bits, 0, 0);
  if (subnormal(to, answer)) return {};
  return constant({to, from.width}, answer);
}

}  // namespace gnomon::kernel
