// tests/ulp/errors.h -- how far a result is from the exact one, and the tally over many.
//
// The unit is that of the exact result's binade; below the normal numbers it is 2^-149. Infinity
// counts as 2^128 against a finite value. NaN is right where NaN is exact, and a zero result needs
// the sign of the exact one.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ulp {

struct Tally {
  std::uint64_t count = 0;
  std::uint64_t above_one = 0;  // results further than one unit away
  double worst = 0;             // NaN where a NaN was wrong or missing
  double x = 0, y = 0;          // where
  float got = 0;                // what came out
  double exact = 0;

  /// Whether `other` is further off; NaN is as far as can be.
  bool better_than(double other) const { return worst == worst && !(other <= worst); }
  void merge(const Tally&);
};

/// How one result is judged again where its error is above `bar`: a smaller error, or the same.
class SecondChance {
 public:
  virtual ~SecondChance() = default;
  virtual double error(float x, float y, float got, double exact, double error) const = 0;
};

/// Errors of results got[i] whose exact values are exact[i], into `error`.
void errors(const float* got, const double* exact, double* error, std::size_t count);
double error(float got, double exact);

/// Adds the errors of all results to `tally`. `y` may be null, and so may `second_chance`, which is
/// asked about errors above `bar`.
void add(Tally& tally, const float* x, const float* y, const float* got, const double* exact,
         std::size_t count, double bar, const SecondChance* second_chance);

}  // namespace ulp
