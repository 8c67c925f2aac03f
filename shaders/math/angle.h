// shaders/math/angle.h -- arguments of the circular functions modulo pi. Internal to shaders/math.
#pragma once
#include "shaders/math/real.h"

namespace gnomon::math {

/// What an angle is measured from.
enum class Grid : std::uint8_t {
  multiples,      // n pi
  odd_halves,     // (n - 1/2) pi
  half_multiples  // n pi / 2
};

/// An angle a >= 0 as a distance from the nearest grid point.
struct Angle {
  Real rest;  // f32, signed; NaN for infinity and NaN
  Real low;   // what the rounding of `rest` lost; 0 but for half multiples
  Real odd;   // u32: the sign bit is set when n is odd
};

/// The rest is rounded once, for every f32.
Angle reduced(Real a, Grid grid);

}  // namespace gnomon::math
