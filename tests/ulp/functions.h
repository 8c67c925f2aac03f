// tests/ulp/functions.h -- the list of what is checked: function, reference, bar.
//
// To have a function checked, add a line to the table in functions.cpp; a f32 function needs a
// reference in double precision (references.h), a f64 function one of MPFR and one in long double.
#pragma once
#include <mpfr.h>

#include <span>
#include <string_view>

#include "gnomon/ops.h"
#include "references.h"

namespace ulp {

/// f32, every bit pattern is an argument.
struct Unary {
  std::string_view name;
  gnomon::Array (*function)(gnomon::Operand);
  Reference reference;  // what the sweep compares with
  Reference plain;      // what the reference is compared with first
  double bar;           // most units of the last place that pass
  /// Where x < 0 errors are in units of results of at least this size: for functions whose zeros
  /// there are differences of large terms.
  double least_left = 0;
};

/// Which pairs are likely to find errors; half of all pairs are random bits in any case.
enum class Pairs : std::uint8_t { powers, ratios, sums };

/// f32, pseudo-random and structured pairs.
struct Binary {
  std::string_view name;
  gnomon::Array (*function)(gnomon::Operand, gnomon::Operand);
  PairReference reference, plain;
  Pairs pairs;
  double bar;
  /// Error that passes even where it is many units, as a multiple of the larger operand: for
  /// functions whose result is a small difference of large numbers.
  double absolute = 0;
};

/// f64, pseudo-random arguments of every magnitude in [low, high] and, when low < 0, both signs.
struct Double {
  std::string_view name;
  gnomon::Array (*function)(gnomon::Operand);
  /// In long double, to 1/64 of a unit where that has 64 bits; NaN where it is not. MPFR is asked
  /// there, and wherever so much matters.
  long double (*quick)(long double);
  int (*reference)(mpfr_ptr result, mpfr_srcptr x, mpfr_rnd_t);
  double low, high;
  double bar;
  double least_left = 0;  // as above
};

std::span<const Unary> unary_functions();
std::span<const Binary> binary_functions();
std::span<const Double> double_functions();

}  // namespace ulp
