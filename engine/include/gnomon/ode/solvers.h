// engine/include/gnomon/ode/solvers.h -- the methods that diffeqsolve steps with.
#pragma once
#include <memory>
#include <string>

#include "gnomon/ode/tableau.h"

#pragma GCC visibility push(default)
namespace gnomon::ode {

namespace detail {
class Method;
}

/// A method, whatever its kind: the classes below.
///
/// Between the steps (SaveAt::ts and dense, events, delays) values are those of the method's dense
/// output, or where it has none of the cubic through both ends with the slopes there, whose error
/// is that of order 3 however small the step's is. Where that matters end steps at those times
/// (StepTo, ClipStepSize::step_ts), or take a method with a dense output of its own: Dopri5, Tsit5,
/// Dopri8, Rodas5P.
class Solver {
 public:
  explicit Solver(std::shared_ptr<const detail::Method> method) : method_(std::move(method)) {}

  const std::string& name() const;
  int order() const;
  /// Whether steps come with an estimate of their error, which PidController needs.
  bool has_error_estimate() const;
  const detail::Method& method() const { return *method_; }

 private:
  std::shared_ptr<const detail::Method> method_;
};

/// The explicit Runge-Kutta method that a table gives.
/// Throws UsageError as check(Tableau) does.
class RungeKutta : public Solver {
 public:
  explicit RungeKutta(const Tableau& tableau);
};

// clang-format off
/// Order 1, no error estimate.
struct Euler : RungeKutta { Euler() : RungeKutta(tableaus::euler()) {} };
/// Order 2 with an embedded method of order 1. Source: K. Heun, Z. Math. Phys. 45 (1900).
struct Heun : RungeKutta { Heun() : RungeKutta(tableaus::heun()) {} };
/// Order 2(1). Source: C. Runge, Math. Ann. 46 (1895).
struct Midpoint : RungeKutta { Midpoint() : RungeKutta(tableaus::midpoint()) {} };
/// Order 2(1), the smallest bound of the error. Source: A. Ralston, Math. Comp. 16 (1962).
struct Ralston : RungeKutta { Ralston() : RungeKutta(tableaus::ralston()) {} };
/// Order 3(2). Source: P. Bogacki and L. Shampine, Appl. Math. Lett. 2 (1989).
struct Bosh3 : RungeKutta { Bosh3() : RungeKutta(tableaus::bosh3()) {} };
/// Order 4, no error estimate; cubic between the steps. Source: W. Kutta, Z. Math. Phys. 46 (1901).
struct RK4 : RungeKutta { RK4() : RungeKutta(tableaus::rk4()) {} };
/// Order 5(4), with a dense output of order 4. Source: J. Dormand and P. Prince, J. Comp. Appl.
/// Math. 6 (1980); error estimate and dense output: L. Shampine, Math. Comp. 46 (1986).
struct Dopri5 : RungeKutta { Dopri5() : RungeKutta(tableaus::dopri5()) {} };
/// Order 5(4), with a dense output of order 4: the first choice where nothing is stiff.
/// Source: C. Tsitouras, Comp. Math. Appl. 62 (2011).
struct Tsit5 : RungeKutta { Tsit5() : RungeKutta(tableaus::tsit5()) {} };
/// Order 8(7), for small tolerances, with a dense output of its own. Source: P. Prince, J. Dormand, J.
/// Comp. Appl. Math. 7 (1981).
struct Dopri8 : RungeKutta { Dopri8() : RungeKutta(tableaus::dopri8()) {} };
/// Order 7(6); between the steps a cubic, of order 3: see Solver. Source: J. Verner, Numer.
/// Algorithms 53 (2010), the "most efficient" pair.
struct Vern7 : RungeKutta { Vern7() : RungeKutta(tableaus::vern7()) {} };
/// Order 9(8); between the steps a cubic, of order 3: see Solver. Source: as Vern7.
struct Vern9 : RungeKutta { Vern9() : RungeKutta(tableaus::vern9()) {} };
// clang-format on

}  // namespace gnomon::ode
#pragma GCC visibility pop
