// tests/shaders/math_testing.h -- functions of kernel values run on the host, and their distance
// from what MPFR says.
#pragma once
#include <mpfr.h>

#include <vector>

#include "shaders/kernel/builder.h"

namespace gnomon::math {

using kernel::Builder;
using kernel::Value;

/// f(x[i]), f(x[i], y[i]) or f(x[i], y[i], z[i]) for all i, computed by a kernel in f64.
std::vector<double> run(Value (*f)(Builder&, Value), const std::vector<double>& x);
std::vector<double> run(Value (*f)(Builder&, Value, Value), const std::vector<double>& x,
                        const std::vector<double>& y);

/// The same in f32; numbers are rounded to f32 on the way in.
std::vector<double> run_f32(Value (*f)(Builder&, Value), const std::vector<double>& x);
std::vector<double> run_f32(Value (*f)(Builder&, Value, Value), const std::vector<double>& x,
                            const std::vector<double>& y);
std::vector<double> run(Value (*f)(Builder&, Value, Value, Value), const std::vector<double>& x,
                        const std::vector<double>& y, const std::vector<double>& z);
std::vector<double> run_f32(Value (*f)(Builder&, Value, Value, Value), const std::vector<double>& x,
                            const std::vector<double>& y, const std::vector<double>& z);
std::vector<double> rounded_to_f32(std::vector<double> x);

/// Distance from the exact result in units of its last place (2^-1074 below the normal numbers).
/// f32 has 24 `digits`, and 2^-149. Results smaller than `least` count as that large. Infinity
/// where one of them is NaN or infinite and the other is not, or a zero has the wrong
/// sign.
double units(double got, int (*exact)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t), double x,
             double least = 0, int digits = 53);
double units(double got, int (*exact)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t), double x,
             double y);

/// About `count` numbers in [low, high]: evenly spread, and of every magnitude and sign there.
std::vector<double> arguments(double low, double high, std::size_t count);

/// Doubles near multiples of pi / 2, from continued fractions of pi at every exponent.
std::vector<double> hard_angles();

}  // namespace gnomon::math
