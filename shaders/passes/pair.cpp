// shaders/passes/pair.cpp -- schoolbook arithmetic in base 2^32; division in base 2^16.
#include "shaders/passes/pair.h"

#include "shaders/math/real.h"
#include "shaders/support/check.h"

namespace gnomon::kernel {

using math::Real;

namespace {

constexpr float two_32 = 4294967296.0f;

struct Words {
  Real low, high;
};

Words words(Builder& b, Pair p) { return {{&b, p.low}, {&b, p.high}}; }
Pair pair(Words w) { return {w.low.v, w.high.v}; }

Real signed_high(Words x) { return x.high.bits(DType::i32); }
Real negative(Words x) { return signed_high(x) < 0; }
Real is_zero(Words x) { return (x.low | x.high) == 0; }
Real one_if(Real p) { return {p.b, p.b->convert(p.v, DType::u32)}; }
Real apart(Real p, Real q) { return {p.b, p.b->binary(Op::bxor, p.v, q.v)}; }

Words select(Real p, Words x, Words y) {
  return {math::select(p, x.low, y.low), math::select(p, x.high, y.high)};
}

Words add(Words x, Words y) {
  const Real low = x.low + y.low;
  return {low, x.high + y.high + one_if(low < x.low)};
}
Words sub(Words x, Words y) { return {x.low - y.low, x.high - y.high - one_if(x.low < y.low)}; }
Words negated(Words x) { return sub({x.low.like(0), x.low.like(0)}, x); }
Words negated_if(Real p, Words x) { return select(p, negated(x), x); }

Words mul(Words x, Words y) {
  const Real carried = math::apply(Op::mul_high, x.low, y.low);
  return {x.low * y.low, carried + x.low * y.high + x.high * y.low};
}

Real less(Words x, Words y, bool with_sign) {
  const Real high = with_sign ? signed_high(x) < signed_high(y) : x.high < y.high;
  return high | ((x.high == y.high) & (x.low < y.low));
}

// Counts are taken modulo 32 by the instructions; the words move on their own from 32 on.
Words shifted_left(Words x, Real count) {
  const Real beyond = (count & 32) != 0, none = x.low.like(0);
  const Real moved = x.low << count;
  const Real high = (x.high << count) | ((x.low >> 1) >> (count ^ 31));
  return {math::select(beyond, none, moved), math::select(beyond, moved, high)};
}
Words shifted_right(Words x, Real count, bool with_sign) {
  const Real beyond = (count & 32) != 0;
  const Real low = (x.low >> count) | ((x.high << 1) << (count ^ 31));
  if (!with_sign) {
    const Real moved = x.high >> count;
    return {math::select(beyond, moved, low), math::select(beyond, x.low.like(0), moved)};
  }
  const Real moved = (signed_high(x) >> count.bits(DType::i32)).bits(DType::u32);
  const Real sign = (signed_high(x) >> 31).bits(DType::u32);
  return {math::select(beyond, moved, low), math::select(beyond, sign, moved)};
}

/// Zeros in front of the highest bit; 32 for zero.
Real leading_zeros(Real x) {
  for (int by : {1, 2, 4, 8, 16}) x = x | (x >> by);
  return math::apply(Op::popcount, math::apply(Op::bnot, x));
}

// ---- division

/// One digit in base 2^16 of rest : next over `by`, whose highest bit is set; rest < by.
/// Source: D. Knuth, The Art of Computer Programming 2, 3rd edition, 4.3.1, algorithm D, step D3.
Real digit(Real rest, Real next, Real by) {
  const Real by_high = by >> 16, by_low = by & 0xffff;
  Real q = rest / by_high;
  Real r = rest - q * by_high;
  for (int trial = 0; trial < 2; ++trial) {
    // A remainder of 2^16 or more says that the digit is right.
    const Real large = ((q >= 0x10000) | (q * by_low > ((r << 16) | next))) & (r < 0x10000);
    q = q - one_if(large);
    r = math::select(large, r + by_high, r);
  }
  return q;
}

/// The quotient of high : low over `by`, whose highest bit is set; high < by.
Real word_quotient(Real high, Real low, Real by) {
  const Real first = digit(high, low >> 16, by);
  const Real rest = ((high << 16) | (low >> 16)) - first * by;
  const Real second = digit(rest, low & 0xffff, by);
  return (first << 16) + second;
}

struct Division {
  Words quotient, rest;
};

/// Of unsigned numbers; x / 0 is all bits set with rest x.
///
/// A divisor of one word divides the upper word first. One of two words is estimated by its leading
/// 32 bits against half the dividend, which is right or one too large after taking off one.
/// Source: H. Warren, Hacker's Delight, 2nd edition, 9-5 (the estimate and its bound).
Division divide(Words x, Words y) {
  const Real none = y.low.like(0), ones = y.low.like(-1);
  const Real wide = y.high != 0, zero = is_zero(y);
  const Real word = math::select(zero, y.low.like(1), y.low);  // the divisor when it has one word
  const Real upper = math::select(wide, none, x.high / math::select(wide, ones, word));
  const Real left = x.high - upper * word;

  const Real shift = leading_zeros(math::select(wide, y.high, word));
  const Words top = shifted_left(y, shift);
  const Real by = math::select(wide, top.high, word << shift);
  const Words moved = shifted_left({x.low, left}, shift);
  const Words dividend = select(wide, shifted_right(x, x.low.like(1), false), moved);
  const Real q = word_quotient(dividend.high, dividend.low, by);

  const Real estimate = q >> (shift ^ 31);
  const Real careful = estimate - one_if(estimate != 0);
  Words quotient{math::select(wide, careful, q), math::select(wide, none, upper)};
  Words rest = sub(x, mul(quotient, y));
  const Real short_by_one = wide & !less(rest, y, false);
  quotient.low = quotient.low + one_if(short_by_one);
  rest = select(short_by_one, sub(rest, y), rest);
  return {select(zero, {ones, ones}, quotient), rest};
}

/// The quotient is rounded to zero, the rest has the sign of x. MIN / -1 wraps to MIN by itself.
Division divide_signed(Words x, Words y) {
  const Real x_negative = negative(x), y_negative = negative(y);
  const Division d = divide(negated_if(x_negative, x), negated_if(y_negative, y));
  const Real flips = apart(x_negative, y_negative) & !is_zero(y);
  return {negated_if(flips, d.quotient), negated_if(x_negative, d.rest)};
}

// ---- floats

/// Scaled so that the highest bit of the number is the highest of `top`, whose last bit is sticky;
/// the number is top * 2^(32 - shift).
struct Scaled {
  Real top, shift;
};
Scaled scaled(Words x) {
  const Real by_high = leading_zeros(x.high), by_low = leading_zeros(x.low) + 32;
  const Real shift = math::select(x.high == 0, by_low, by_high);
  // 64 shifts nothing: x is zero then.
  const Words moved = shifted_left(x, shift);
  return {moved.high | one_if(moved.low != 0), shift};
}

Real to_f32(Words x) {
  const Scaled s = scaled(x);
  return s.top.to(DType::f32) * power_of_two(s.shift.like(32) - s.shift);
}
Real to_odd_f32(Words x) {
  const Scaled s = scaled(x);
  const Real odd = (s.top >> 8) | one_if((s.top & 255) != 0);
  return odd.to(DType::f32) * power_of_two(s.shift.like(40) - s.shift);
}
template <class Convert>
Real with_sign_of(Words x, bool with_sign, Convert convert) {
  if (!with_sign) return convert(x);
  const Real p = negative(x), f = convert(negated_if(p, x));
  return math::select(p, -f, f);
}

Real to_f64(Words x, bool with_sign) {
  const Real high = (with_sign ? signed_high(x) : x.high).to(DType::f64);
  const Real shift{high.b, high.b->constant({DType::f64, high.type().width}, 0x41f0000000000000u)};
  return high * shift + x.low.to(DType::f64);
}

Words from_f32(Real x) {
  const Real m = magnitude(x);
  const Real high = math::apply(Op::floor, m * (1 / two_32));
  const Words w{(m - high * two_32).to(DType::u32), high.to(DType::u32)};
  return negated_if(x < 0.0f, w);
}

Words from_f64(Real x, bool with_sign) {
  const auto number = [&](std::uint64_t bits) {
    return Real{x.b, x.b->constant({DType::f64, x.type().width}, bits)};
  };
  const Real whole = math::apply(Op::trunc, x);
  const Real high = math::apply(Op::floor, whole * number(0x3df0000000000000u));
  const Real low = (whole - high * number(0x41f0000000000000u)).to(DType::u32);
  return {low, with_sign ? high.to(DType::i32).bits(DType::u32) : high.to(DType::u32)};
}

[[noreturn]] void unknown(Op op) {
  throw InternalError("gnomon::legalize: `" + std::string(name(op)) + "` of 64-bit integers");
}

}  // namespace

Pair pair_constant(Builder& b, std::uint8_t width, std::uint64_t bits) {
  return {b.constant({DType::u32, width}, bits & 0xffffffffu),
          b.constant({DType::u32, width}, bits >> 32)};
}

Pair pair_unary(Builder& b, Op op, Pair p, bool with_sign) {
  const Words x = words(b, p);
  switch (op) {
    case Op::neg:
      return pair(negated(x));
    case Op::abs:
      return with_sign ? pair(negated_if(negative(x), x)) : p;
    case Op::bnot:
      return {b.unary(op, p.low), b.unary(op, p.high)};
    case Op::popcount:
      return {b.add(b.unary(op, p.low), b.unary(op, p.high)), x.low.like(0).v};
    default:
      unknown(op);
  }
}

Pair pair_binary(Builder& b, Op op, Pair p, Pair q, bool with_sign) {
  const Words x = words(b, p), y = words(b, q);
  switch (op) {
    case Op::add:
      return pair(add(x, y));
    case Op::sub:
      return pair(sub(x, y));
    case Op::mul:
      return pair(mul(x, y));
    case Op::div:
      return pair((with_sign ? divide_signed(x, y) : divide(x, y)).quotient);
    case Op::rem:
      return pair((with_sign ? divide_signed(x, y) : divide(x, y)).rest);
    case Op::minimum:
      return pair(select(less(x, y, with_sign), x, y));
    case Op::maximum:
      return pair(select(less(x, y, with_sign), y, x));
    case Op::band:
    case Op::bor:
    case Op::bxor:
      return {b.binary(op, p.low, q.low), b.binary(op, p.high, q.high)};
    case Op::shl:
      return pair(shifted_left(x, y.low));
    case Op::shr:
      return pair(shifted_right(x, y.low, with_sign));
    default:
      unknown(op);
  }
}

Value pair_compare(Builder& b, Op op, Pair p, Pair q, bool with_sign) {
  const Words x = words(b, p), y = words(b, q);
  switch (op) {
    case Op::eq:
      return ((x.low == y.low) & (x.high == y.high)).v;
    case Op::ne:
      return ((x.low != y.low) | (x.high != y.high)).v;
    case Op::lt:
      return less(x, y, with_sign).v;
    case Op::ge:
      return (!less(x, y, with_sign)).v;
    case Op::gt:
      return less(y, x, with_sign).v;
    case Op::le:
      return (!less(y, x, with_sign)).v;
    default:
      unknown(op);
  }
}

Pair pair_select(Builder& b, Value predicate, Pair p, Pair q) {
  return {b.select(predicate, p.low, q.low), b.select(predicate, p.high, q.high)};
}

Pair pair_from(Builder& b, Value v, bool with_sign) {
  const Builder::Exactly exactly(b);
  const Real x{&b, v};
  const Type word{DType::u32, x.type().width};
  switch (x.type().scalar) {
    case DType::f32:
      return pair(from_f32(x));
    case DType::f64:
      return pair(from_f64(x, with_sign));
    case DType::i32:
      return {x.bits(DType::u32).v, (x >> 31).bits(DType::u32).v};
    default:
      return {b.convert(v, DType::u32), b.constant(word, 0)};
  }
}

Value pair_to(Builder& b, Pair p, bool with_sign, DType to) {
  const Builder::Exactly exactly(b);
  const Words x = words(b, p);
  switch (to) {
    case DType::boolean:
      return (!is_zero(x)).v;
    case DType::f32:
      return with_sign_of(x, with_sign, to_f32).v;
    case DType::f64:
      return to_f64(x, with_sign).v;
    default:
      return b.bitcast(p.low, to);
  }
}

Value pair_to_odd_f32(Builder& b, Pair p, bool with_sign) {
  const Builder::Exactly exactly(b);
  return with_sign_of(words(b, p), with_sign, [](Words x) { return to_odd_f32(x); }).v;
}

}  // namespace gnomon::kernel
