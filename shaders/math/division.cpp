// shaders/math/division.cpp -- whole quotients of floats and what they leave, exactly.
//
// With q the integer nearest to the rounded quotient of x and y, x - q y is a float, whatever the
// operands: it has no bit below those of x and y and is smaller than y. As long as q has no more
// digits than the type, the product is taken exactly (twofold.h) and nothing rounds. Larger
// quotients are worked off from the top, as in long division, `digits` - 1 bits at a time: in a
// loop that most arguments do not enter.
//
// The scales are powers of two that keep divisor, dividend and products in the middle of the range,
// so that nothing of a normal result is lost on devices that flush subnormal numbers.
#include "shaders/math/elementary.h"
#include "shaders/math/special_support.h"

namespace gnomon::math {
namespace {

template <class T>
struct Digits {
  static constexpr bool wide = sizeof(T) == 8;
  static constexpr int all = std::numeric_limits<T>::digits;
  static constexpr int step = all - 1;  // bits of a quotient that a step takes off
  static constexpr int steps = 4;       // in a trip of the loop
  // Exponents of finite dividends and divisors are no further apart.
  static constexpr int apart = wide ? 1023 + 1074 : 127 + 149;
  static constexpr int trips = (apart + steps * step - 1) / (steps * step);
  static constexpr int scale = wide ? 500 : 60;  // as an exponent
  static constexpr T many = wide ? T(0x1p53) : T(0x1p24);
};

template <class T>
struct Step {
  Floating<T> quotient, rest;
};

/// x = quotient y + rest with |rest| <= 3/4 y, for 0 <= x / y < 2^digits and y, if it matters,
/// within [2^-scale, 2^scale] or so.
template <class T>
Step<T> divided(Floating<T> x, Floating<T> y) {
  const Floating<T> q{x.b, round_even(*x.b, (x / y).v)};
  const Twofold<T> p = product_exact(q, y);
  return {q, (x - p.high) - p.low};
}

/// What a division was asked for.
enum class Wanted : std::uint8_t { rest, truncated, floored };

/// |a| = quotient |b| + rest, the quotient being an integer and 0 <= rest < |b|.
template <class T>
struct Parts {
  Floating<T> quotient;  // rounded to the nearest float; one more where floored, the signs of a and
                         // b differ and something is left; empty for Wanted::rest
  Floating<T> dividend, divisor;  // |a| and |b|
  Floating<T> rest;               // like both in units; where `less` the rest is |a| instead
  Floating<T> unit;
  Real less;       // |a| < |b|
  Real left_over;  // whether the rest is not 0
};

/// Bits of the exponent and mantissa within the high word.
template <class T>
constexpr int mantissa_mask = (1 << Layout<T>::shift) - 1;
template <class T>
constexpr int exponent_mask = 0x7fffffff & ~mantissa_mask<T>;

/// x / 2^exponent in [1, 2), for normal x > 0.
template <class T>
Floating<T> mantissa(Floating<T> x) {
  return with_high_word(x,
                        (x.high_word() & mantissa_mask<T>) | Layout<T>::bias << Layout<T>::shift);
}

/// The integer below numerator 2^shift / denominator, or above it where `up`, rounded to the
/// nearest float; both are in [1, 2), the quotient is 2^digits or more, and the integer below
/// leaves rest / 2^shift of the numerator. Rounding the integer differs from rounding the quotient
/// where it lies half-way between two floats and the quotient beside it.
template <class T>
Floating<T> large_quotient(Floating<T> numerator, Floating<T> denominator, Floating<T> rest,
                           Real shift, Real up) {
  constexpr int digits = Digits<T>::all;
  const Floating<T> d = numerator / denominator;
  const Twofold<T> p = product_exact(d, denominator);
  const Floating<T> over = (numerator - p.high) - p.low;  // a float: d is rounded correctly
  // From d to the middle between it and its neighbour.
  const Floating<T> half =
      select(d < T(1), d.like(std::ldexp(T(1), -digits - 1)), d.like(std::ldexp(T(1), -digits)));
  const Floating<T> reach = select(up, half, -half);
  // A tie is a multiple of bits that the rest does not have for larger shifts.
  constexpr int most = 2 * digits + 4;
  const Floating<T> tail = select(up, denominator - rest, -rest) *
                           power_of_two<T>(0 - apply(Op::minimum, shift, shift.like(most)));
  const Twofold<T> off = sum_exact(over, tail);
  Real word = d.high_word();
  if constexpr (sizeof(T) == 8) word = low_word(d);
  const Real is_odd = (word & 1) != 0;
  const Real tie = (off.high == reach * denominator) & (off.low == T(0)) & (rest != T(0)) & is_odd &
                   (shift <= most);
  // Further than that is infinite as well.
  return scaled(select(tie, d + (reach + reach), d),
                apply(Op::minimum, shift, shift.like(2 * Layout<T>::bias)));
}

/// Long division of |a| by |b| where the quotient has more digits than the type, `steps` steps in a
/// trip of a loop that others do not enter. Everything the loop needs is made of what it carries,
/// or it would be computed in front of it for all who do not.
template <class T>
class LongDivision {
 public:
  /// `dividend`, `divisor`: |a| and |b|, scaled; `small`: whether |b| is below 1 and they are
  /// scaled up. `apart`: whether the quotient is to be rounded up where something is left.
  LongDivision(Floating<T> dividend, Floating<T> divisor, Real small, Wanted wanted, Real apart)
      : k_(*dividend.b),
        width_(k_.type(dividend.v).width),
        dividend_(dividend),
        divisor_(divisor),
        small_(small),
        quotient_(wanted != Wanted::rest),
        apart_(apart) {}

  /// For those who are `far`, with x = |a|. Others keep the dividend as their remainder.
  void run(Floating<T> x, Real far) {
    kernel::Values init{dividend_.v, x.v, select(far, number(-1), number(0)).v, divisor_.v,
                        divisor_.v};
    if (quotient_) init.insert(init.end(), {x.v, number(0).v, dividend_.v});
    end_ = k_.loop(
        init, static_cast<std::uint64_t>(Digits<T>::trips),
        [&](std::span<const Value> c) {
          const Value more = (Real{&k_, c[left_of]} != 0).v;
          return width_ > 1 ? k_.any(more) : more;
        },
        [&](std::span<const Value> c) { return trip(c); });
  }
  Floating<T> remainder() const { return {&k_, end_[reduced]}; }
  /// Where one is wanted.
  Floating<T> quotient() const { return {&k_, end_[n_of]}; }

 private:
  /// What the loop carries. `left` is -1 before the first trip, in which the operands are taken
  /// apart, and 0 in the end.
  enum : std::size_t {
    reduced,
    rest_of,
    left_of,
    divisor_of,
    unit_of,
    numerator_of,
    shift_of,
    n_of
  };

  Real number(int n) const {
    return Real{&k_, k_.constant({DType::i32, width_}, static_cast<std::uint32_t>(n))};
  }

  kernel::Values trip(std::span<const Value> c) const {
    using D = Digits<T>;
    const auto carried = [&](std::size_t i) { return Floating<T>{&k_, c[i]}; };
    const auto exponent = [](Floating<T> v) {
      return (v.high_word() >> Layout<T>::shift).bits(DType::i32);
    };
    const Real to_shift{&k_, c[left_of]}, first = to_shift < 0;
    const Floating<T> from = carried(rest_of), by = carried(divisor_of);
    // NaN of an infinity.
    const Floating<T> start = mantissa(from) + (from - from), denominator = mantissa(by);
    const Real between =
        exponent(from) - exponent(by) + select(small_, number(D::scale), number(-D::scale));
    const Real whole_shift = apply(Op::minimum, between, number(D::apart));
    const Floating<T> units =
        select(first, from_high_word<T>(by.high_word() & exponent_mask<T>), carried(unit_of));
    Floating<T> rest = select(first, start, from);
    Real left = select(first, whole_shift, to_shift);
    for (int step = 0; step < D::steps; ++step) {
      const Real now = apply(Op::minimum, left, number(D::step));
      rest = divided(rest * power_of_two<T>(now), denominator).rest;
      left = left - now;
    }
    rest = select(rest < T(0), rest + denominator, rest);
    kernel::Values next{(rest * units).v, rest.v, left.v, denominator.v, units.v};
    if (quotient_) {
      const Floating<T> numerator = select(first, start, carried(numerator_of));
      const Real shift = select(first, whole_shift, Real{&k_, c[shift_of]});
      const Floating<T> n = large_quotient(numerator, denominator, rest, shift, apart_);
      next.insert(next.end(), {numerator.v, shift.v, n.v});
    }
    // Lanes that have arrived keep what they have.
    if (width_ > 1)
      for (const std::size_t i : {std::size_t{reduced}, std::size_t{n_of}})
        if (i < next.size()) next[i] = k_.select((to_shift != 0).v, next[i], c[i]);
    return next;
  }

  Builder& k_;
  const std::uint8_t width_;
  const Floating<T> dividend_, divisor_;
  const Real small_;
  const bool quotient_;
  const Real apart_;
  kernel::Values end_;
};

template <class T>
Parts<T> parts(Floating<T> a, Floating<T> b, Wanted wanted) {
  using D = Digits<T>;
  const Floating<T> x = magnitude(a), y = magnitude(b);
  const Real small = y < T(1);
  const T large_unit = std::ldexp(T(1), D::scale), small_unit = std::ldexp(T(1), -D::scale);
  const Floating<T> up = select(small, a.like(large_unit), small_unit);
  const Floating<T> unit = select(small, a.like(small_unit), large_unit);
  const Floating<T> dividend = x * up, divisor = y * up;
  const bool quotient = wanted != Wanted::rest;
  const Real apart = wanted == Wanted::floored ? sign_bit(a) != sign_bit(b) : never(a);

  const Floating<T> reach = divisor * D::many;
  Real far = dividend >= reach;
  // Quotients by 0 and of infinities are those of a division.
  if (quotient) far = far & (reach > T(0)) & (x < std::numeric_limits<T>::infinity());
  LongDivision<T> long_division(dividend, divisor, small, wanted, apart);
  long_division.run(x, far);

  const Step<T> last = divided(long_division.remainder(), divisor);
  const Real below = last.rest < T(0);
  Parts<T> r{.quotient = {},
             .dividend = dividend,
             .divisor = divisor,
             .rest = select(below, last.rest + divisor, last.rest),
             .unit = unit,
             .less = x < y,
             .left_over = {}};
  r.left_over = select(r.less, x, r.rest) != T(0);
  if (quotient) {
    const Floating<T> n = select(below, last.quotient - T(1), last.quotient);
    r.quotient = select(far, long_division.quotient(), select(apart & r.left_over, n + T(1), n));
  }
  return r;
}

template <class T>
Floating<T> fmod_of(Floating<T> a, Floating<T> b) {
  const Parts<T> p = parts(a, b, Wanted::rest);
  return flip(select(p.less, magnitude(a), p.rest * p.unit), sign_bit(a));
}

template <class T>
Floating<T> floor_mod_of(Floating<T> a, Floating<T> b) {
  const Parts<T> p = parts(a, b, Wanted::rest);
  const Real turned = (sign_bit(a) != sign_bit(b)) & p.left_over;
  const Floating<T> up_to = p.divisor - select(p.less, p.dividend, p.rest);
  const Floating<T> rest =
      select(p.less & !turned, magnitude(a), select(turned, up_to, p.rest) * p.unit);
  return flip(rest, sign_bit(b));
}

template <class T>
Floating<T> trunc_div_of(Floating<T> a, Floating<T> b) {
  return flip(parts(a, b, Wanted::truncated).quotient, sign_bit(a) ^ sign_bit(b));
}

template <class T>
Floating<T> floor_div_of(Floating<T> a, Floating<T> b) {
  const Floating<T> n = flip(parts(a, b, Wanted::floored).quotient, sign_bit(a) ^ sign_bit(b));
  const Real endless = magnitude(a) == a.like(std::numeric_limits<T>::infinity());
  // An infinity over 0 is one, as in NumPy.
  return select(endless & (b != T(0)), std::numeric_limits<T>::quiet_NaN(), n);
}

/// Whether `remainder` is not zero and has another sign than `divisor`.
Value crosses_zero(Builder& b, Value remainder, Value divisor) {
  const Type t = b.type(remainder);
  const Value zero = b.constant(t, 0);
  const Value apart =
      b.binary(Op::bxor, b.compare(Op::lt, remainder, zero), b.compare(Op::lt, divisor, zero));
  return b.land(b.compare(Op::ne, remainder, zero), apart);
}

}  // namespace

Value fmod(Builder& b, Value x, Value y) {
  return in_either(
      b, [](auto u, auto v) { return fmod_of(u, v); }, x, y);
}

Value trunc_div(Builder& b, Value x, Value y) {
  if (is_integer(b.type(x).scalar)) return b.div(x, y);
  return in_either(
      b, [](auto u, auto v) { return trunc_div_of(u, v); }, x, y);
}

Value floor_div(Builder& b, Value x, Value y) {
  const Type t = b.type(x);
  if (is_float(t.scalar))
    return in_either(
        b, [](auto u, auto v) { return floor_div_of(u, v); }, x, y);
  const Value quotient = b.div(x, y);
  if (is_unsigned(t.scalar)) return quotient;
  const Value below =
      b.land(crosses_zero(b, b.rem(x, y), y), b.compare(Op::ne, y, b.constant(t, 0)));
  return b.select(below, b.sub(quotient, b.constant(t, kernel::from_double(t.scalar, 1))),
                  quotient);
}

Value floor_mod(Builder& b, Value x, Value y) {
  const DType t = b.type(x).scalar;
  if (is_float(t))
    return in_either(
        b, [](auto u, auto v) { return floor_mod_of(u, v); }, x, y);
  const Value remainder = b.rem(x, y);
  if (is_unsigned(t)) return remainder;
  return b.select(crosses_zero(b, remainder, y), b.add(remainder, y), remainder);
}

}  // namespace gnomon::math
