// shaders/math/angle.cpp -- argument reduction: Cody and Waite's for angles of everyday size, Payne
// and Hanek's for the others.
#include "shaders/math/angle.h"

#include <array>
#include <span>

namespace gnomon::math {
namespace {

constexpr float inverse_pi = 0.318309886f;
// pi = high + middle + low to 3e-18; high and middle have 16 bits each.
constexpr float pi_high = 3.1416015625f;
constexpr float pi_middle = -8.9087989181280136108e-06f;
constexpr float pi_low = -1.1128863108833542128e-10f;

/// Up to here the number of a grid point has 8 bits, and its products with 16 bits are exact. What
/// the last product loses, 2^-48, is nothing even against the smallest rest, at a float next to a
/// grid point.
constexpr float largest_everyday = 256.0f;

Real sign_of_parity(Real n) { return n.to(DType::i32).bits(DType::u32) << 31; }

/// Cody and Waite, "Software Manual for the Elementary Functions" (1980): the grid point is taken
/// off in parts. Infinity gives NaN.
Angle everyday(Real a, Grid grid) {
  const float unit = grid == Grid::half_multiples ? 0.5f : 1.0f;
  const float shift = grid == Grid::odd_halves ? 0.5f : 0.0f;
  const Real scaled = a * (inverse_pi / unit);
  const Real whole = apply(Op::round_even, shift == 0 ? scaled : scaled - shift);
  const Real n = shift == 0 ? whole : whole + shift;
  // The first difference is exact. The other parts are added up before they are taken off, so that
  // a large rest is rounded once; a small one loses nothing.
  const Real middle = n * (pi_middle * unit), low = n * (pi_low * unit);
  const Real both = middle + low;
  const Real lost = low - (both - middle);
  const Real front = a - n * (pi_high * unit);
  const Real rest = front - both;
  const Real odd = sign_of_parity(shift == 0 ? whole : whole + 1.0f);
  if (grid != Grid::half_multiples) return {rest - lost, a.like(0.0f), odd};
  // Next to a grid point `low` is more than what a rounding loses: the two are added up again.
  const Real low_parts = ((front - rest) - both) - lost;
  const Real sum = rest + low_parts;
  return {sum, low_parts - (sum - rest), odd};
}

/// The 96 bits of 1 / pi from `position` on, counted from 32 bits before the point; most
/// significant first.
std::array<Real, 3> bits_of_inverse_pi(Real position) {
  constexpr std::uint32_t words[8] = {0,          0x517cc1b7, 0x27220a94, 0xfe13abe8,
                                      0xfa9a6ee0, 0x6db14acc, 0x9e21c820, 0xff28b1d5};
  const Real first = position >> 5, shift = position & 31;
  // The words from `first` <= 4 on, by the bits of `first` from high to low.
  std::array<Real, 8> w;
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = position.like(static_cast<int>(words[i]));
  for (int step = 4; step > 0; step /= 2) {
    const Real skip = (first & step) != 0;
    const std::size_t kept = 4 + static_cast<std::size_t>(step) - 1;
    for (std::size_t i = 0; i < kept && i + static_cast<std::size_t>(step) < w.size(); ++i)
      w[i] = select(skip, w[i + static_cast<std::size_t>(step)], w[i]);
  }
  std::array<Real, 3> bits;
  for (std::size_t i = 0; i < bits.size(); ++i)
    bits[i] = (w[i] << shift) | ((w[i + 1] >> 1) >> (31 - shift));
  return bits;
}

/// Payne and Hanek, "Radian reduction for trigonometric functions" (1983): of a / pi only the bits
/// around the point are computed. Finite a >= 256.
Angle far(Real a, Grid grid) {
  const Real bits = a.bits(DType::u32);
  const Real mantissa = (bits & 0x7fffff) | 0x800000;
  // The window starts at the bit that gives a mantissa of weight 2^0 the weight 1.
  const std::array<Real, 3> w = bits_of_inverse_pi((bits >> 23) - 119);
  const auto upper = [&](Real x) { return apply(Op::mul_high, mantissa, x); };
  // a / pi modulo 2, in units of 2^-63.
  const Real middle = mantissa * w[1];
  const Real low = middle + upper(w[2]);
  const Real carry = select(low < middle, low.like(1), low.like(0));
  Real turn[2] = {mantissa * w[0] + upper(w[1]) + carry, low};
  const auto twice = [&] {
    turn[0] = (turn[0] << 1) | (turn[1] >> 31);
    turn[1] = turn[1] << 1;
  };
  if (grid == Grid::half_multiples) twice();
  // The number of the grid point is odd when the integer part of turn + 1/2, or turn + 1, is.
  const Real odd = turn[0] + (grid == Grid::odd_halves ? std::numeric_limits<int>::min() : 1 << 30);
  twice();
  // Signed, -1/2 <= turn < 1/2 in units of 2^-64. The magnitude (but for the last unit) is the sum
  // of 24 bits and 31: so a small one keeps all its bits.
  const Real top = grid == Grid::odd_halves ? turn[0] ^ std::numeric_limits<int>::min() : turn[0];
  const Real negative = (top.bits(DType::i32) >> 31).bits(DType::u32);
  const Real first = top ^ negative, second = turn[1] ^ negative;
  const Real large = (first & ~0xff).bits(DType::i32).to(DType::f32) * 0x1p-32f;
  const Real small =
      (((first & 0xff) << 23) | (second >> 9)).bits(DType::i32).to(DType::f32) * 0x1p-55f;
  const Real sum = large + small;
  const Real lost = small - (sum - large);
  const float unit = grid == Grid::half_multiples ? 0.5f : 1.0f;
  // pi = 3.140625 + 9.6765358979e-4; the product of the first with half of the bits is exact.
  const Real front = upper_half(sum), back = (sum - front) + lost;
  const Real product = front * (unit * 3.140625f);
  const Real correction = back * (unit * 3.14159274f) + front * (unit * 9.6765358979e-4f);
  const Real rest = product + correction, missing = correction - (rest - product);
  const Real sign = negative & std::numeric_limits<int>::min();
  return {flip(rest, sign), flip(missing, sign), odd & std::numeric_limits<int>::min()};
}

}  // namespace

Angle reduced(Real a, Grid grid) {
  Builder& b = *a.b;
  const Angle near = everyday(a, grid);
  // One unsigned comparison for largest_everyday <= x < infinity; zero and NaN are not in there.
  const auto is_far = [](Real x) {
    constexpr auto low = std::bit_cast<std::uint32_t>(largest_everyday);
    constexpr auto count = std::bit_cast<std::uint32_t>(infinity) - low;
    return x.bits(DType::u32) - static_cast<int>(low) < static_cast<int>(count);
  };
  // A loop of no trip or one: drivers that compute both sides of a branch do skip a loop that no
  // lane enters.
  const bool with_low = grid == Grid::half_multiples, wide = a.type().width > 1;
  const auto parts = [&](const Angle& t) {
    kernel::Values values{t.rest.v, t.odd.v};
    if (with_low) values.push_back(t.low.v);
    return values;
  };
  kernel::Values init = parts(near);
  init.push_back(a.v);
  const auto turn = b.loop(
      init, 1,
      [&](std::span<const Value> carried) {
        const Value enter = is_far({&b, carried.back()}).v;
        return wide ? b.any(enter) : enter;
      },
      [&](std::span<const Value> carried) {
        const Real angle{&b, carried.back()};
        kernel::Values next = parts(far(angle, grid));
        if (wide)
          for (std::size_t i = 0; i < next.size(); ++i)
            next[i] = b.select(is_far(angle).v, next[i], carried[i]);
        next.push_back(angle.like(0.0f).v);
        return next;
      });
  return {{&b, turn[0]}, with_low ? Real{&b, turn[2]} : near.low, {&b, turn[1]}};
}

}  // namespace gnomon::math
