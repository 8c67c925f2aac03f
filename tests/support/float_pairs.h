// tests/support/float_pairs.h -- pairs of floats that are hard to divide, and what their whole
// quotients and remainders are, by the C library and MPFR.
#pragma once
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

namespace gnomon::testing {

template <class T>
using Word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// Whether both are NaN, or both have the same bits.
template <class T>
bool same_bits(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<Word<T>>(a) == std::bit_cast<Word<T>>(b);
}

/// `count` pairs: all pairs of special values, then random bits, close exponents, neighbours of
/// multiples and of ties between large quotients.
template <class T>
std::pair<std::vector<T>, std::vector<T>> float_pairs(std::size_t count, std::uint64_t seed) {
  using Limits = std::numeric_limits<T>;
  std::mt19937_64 random(seed);
  const T infinity = Limits::infinity();
  std::vector<T> special{0, 1, 2, 3, T(0.1), T(0.5), T(1.5), Limits::min(), Limits::max()};
  special.insert(special.end(), {Limits::denorm_min(), 3 * Limits::denorm_min(),
                                 Limits::min() - Limits::denorm_min(), Limits::min() * T(1.25),
                                 std::nextafter(T(1), T(0)), 1 / Limits::epsilon(),
                                 2 / Limits::epsilon() - 1, infinity, Limits::quiet_NaN()});
  for (std::size_t i = special.size(); i-- > 0;) special.push_back(-special[i]);
  std::vector<T> x, y;
  const auto add = [&](T a, T b) {
    x.push_back(a);
    y.push_back(b);
  };
  for (const T a : special)
    for (const T b : special) add(a, b);

  const auto any = [&] { return std::bit_cast<T>(static_cast<Word<T>>(random())); };
  const auto mantissa = [&] {  // in [1, 2)
    return std::ldexp(
        static_cast<T>(random() >> (64 - Limits::digits) | Word<T>{1} << (Limits::digits - 1)),
        1 - Limits::digits);
  };
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto sign = [&] { return random() % 2 ? T(1) : T(-1); };
  while (x.size() < count) {
    switch (random() % 5) {
      case 0:
        add(any(), any());
        break;
      case 1: {  // close exponents, subnormal divisors among them
        const int e = below(Limits::max_exponent - Limits::min_exponent + Limits::digits) +
                      Limits::min_exponent - Limits::digits;
        add(sign() * std::ldexp(mantissa(), e + below(2 * Limits::digits) - 3),
            sign() * std::ldexp(mantissa(), e));
        break;
      }
      case 2: {  // next to a multiple
        const T b = mantissa();
        T a = b * static_cast<T>(random() >> below(63));
        for (int steps = below(3); steps > 0; --steps) a = std::nextafter(a, sign() * infinity);
        add(sign() * a, sign() * b);
        break;
      }
      case 3:  // whole numbers
        add(sign() * static_cast<T>(random() >> below(63)),
            sign() * static_cast<T>(random() >> below(63)));
        break;
      default: {  // quotients next to the middle of two floats
        const T b = std::ldexp(mantissa(), -below(Limits::digits));
        const T n = static_cast<T>((random() >> (64 - Limits::digits)) * 2 + 1);
        add(sign() * n * b * std::exp2(static_cast<T>(below(4))), sign() * b);
        break;
      }
    }
  }
  x.resize(count);
  y.resize(count);
  return {std::move(x), std::move(y)};
}

/// Of a and b rounded towards zero or, where `down`, towards minus infinity: the exact integer
/// rounded to the nearest float. Finite operands, b not 0.
template <class T>
T exact_quotient(T a, T b, bool down) {
  T rest = std::fmod(a, b);
  int a_exponent = 0, b_exponent = 0;
  std::frexp(a, &a_exponent);
  std::frexp(b, &b_exponent);
  const bool apart = std::signbit(a) != std::signbit(b);
  mpfr_t n, divisor;
  // (a - rest) / b is an integer of so many bits, and so is a - rest in units of its last one.
  mpfr_init2(n, std::max(a_exponent - b_exponent, 0) + 2 * std::numeric_limits<T>::digits + 8);
  mpfr_init2(divisor, std::numeric_limits<T>::digits);
  mpfr_set_d(n, a, MPFR_RNDN);
  mpfr_sub_d(n, n, rest, MPFR_RNDN);
  mpfr_set_d(divisor, b, MPFR_RNDN);
  mpfr_div(n, n, divisor, MPFR_RNDN);
  if (down && apart && rest != 0) mpfr_sub_ui(n, n, 1, MPFR_RNDN);
  const T size = std::fabs(sizeof(T) == 8 ? static_cast<T>(mpfr_get_d(n, MPFR_RNDN))
                                          : static_cast<T>(mpfr_get_flt(n, MPFR_RNDN)));
  mpfr_clear(n);
  mpfr_clear(divisor);
  return apart ? -size : size;
}

/// C's.
template <class T>
T exact_fmod(T a, T b) {
  return std::fmod(a, b);
}
/// NumPy's: the sign of b, also of zeros.
template <class T>
T exact_remainder(T a, T b) {
  const T rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(rest, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}
/// NumPy's: a / b for b = 0, otherwise NaN of infinite a.
template <class T>
T exact_floor_divide(T a, T b) {
  if (b == 0 || std::isnan(a) || std::isnan(b)) return a / b;
  if (std::isinf(a)) return std::numeric_limits<T>::quiet_NaN();
  if (std::isinf(b)) return a != 0 && std::signbit(a) != std::signbit(b) ? T(-1) : a / b;
  return exact_quotient(a, b, true);
}
/// trunc(a / b) as if the quotient were not rounded.
template <class T>
T exact_trunc_divide(T a, T b) {
  if (b == 0 || !std::isfinite(a) || !std::isfinite(b)) return std::trunc(a / b);
  return exact_quotient(a, b, false);
}

}  // namespace gnomon::testing
