// engine/include/gnomon/ode/tableau.h -- Runge-Kutta methods as tables of coefficients.
#pragma once
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace gnomon::ode {

/// An explicit Runge-Kutta method: k_i = f(t + c_i h, y + h sum_j a_ij k_j), y' = y + h sum b_i
/// k_i.
///
/// The first stage (c = 0, no row of `a`) is not listed in `c` and `a`. A method whose last row of
/// `a` is `b` with c = 1 is "first same as last": one evaluation less per step.
/// Unchecked: the order conditions.
struct Tableau {
  std::string name;
  int order = 0;
  std::vector<double> c;               // of stages 2, 3, ...
  std::vector<std::vector<double>> a;  // rows of stages 2, 3, ...: 1, 2, ... numbers
  std::vector<double> b;               // of all stages
  /// b minus the weights of an embedded method: what the error estimate is made of. Empty: none.
  std::vector<double> error = {};
  /// The exponent of the step size in the error estimate; 0: `order`.
  int error_order = 0;
  /// y at t + theta h is y + h sum_i k_i sum_p dense[i][p] theta^(p + 1). Empty: cubic Hermite.
  std::vector<std::vector<double>> dense = {};

  int stages() const { return static_cast<int>(b.size()); }
  bool first_same_as_last() const;
};

/// Throws UsageError unless sizes fit, rows of `a` sum up to `c`, `b` to 1, and `error` to 0,
/// naming the first that does not.
void check(const Tableau&);

// The tables of the methods in gnomon/ode/solvers.h.
namespace tableaus {
const Tableau& euler();
const Tableau& heun();
const Tableau& midpoint();
const Tableau& ralston();
const Tableau& bosh3();
const Tableau& rk4();
const Tableau& dopri5();
const Tableau& tsit5();
const Tableau& dopri8();
const Tableau& vern7();
const Tableau& vern9();
}  // namespace tableaus

}  // namespace gnomon::ode
#pragma GCC visibility pop
