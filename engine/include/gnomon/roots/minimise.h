// engine/include/gnomon/roots/minimise.h -- least squares and minima.
#pragma once
#include "gnomon/roots/solve.h"

#pragma GCC visibility push(default)
namespace gnomon::roots {

template <class X>
struct Minimum {
  X x;
  Array value;   // of least squares half the sum of the squares
  Array steps;   // i32[]
  Array result;  // i32[]: a Result
};

namespace detail {

enum class Descent : std::uint8_t { gauss_newton, levenberg_marquardt, bfgs, nelder_mead };
struct FoundMinimum {
  Found found;
  Array value;
};
FoundMinimum find_minimum(Descent, Function, const Arrays& start,
                          const std::vector<std::string>& paths, const Options&, Loc);

template <class F, class X>
Minimum<X> minimum(Descent method, const F& f, const X& start, const Options& o, Loc loc) {
  static_assert(std::is_invocable_v<const F&, const X&>,
                "gnomon::roots: the function is called with a tree like the start");
  const auto erased = [&](const Arrays& x) { return tree::leaves(f(tree::with_leaves(start, x))); };
  FoundMinimum m =
      find_minimum(method, erased, tree::leaves(start), tree::leaf_paths(start, "x"), o, loc);
  return {tree::with_leaves(start, m.found.x), m.value, m.found.steps, m.found.result};
}

template <class F, class X>
void check_number() {
  static_assert(
      std::is_same_v<std::remove_cvref_t<std::invoke_result_t<const F&, const X&>>, Array>,
      "gnomon::roots: what is minimised is one number, an Array");
}

}  // namespace detail

/// The x that minimises the sum of the squares of all numbers of residuals(x), a tree of floats:
/// linear least squares for the derivative in each step, without damping. For residuals that are
/// small at the end and a start near it.
///
/// One Jacobian a step, of one direction per number of x; normal equations. Differentiable in what
/// `residuals` captured, by the gradient's root, its second derivatives included.
/// Throws UsageError for arrays that are not of floats.
template <class F, class X>
Minimum<X> gauss_newton(const F& residuals, const X& start, const Options& options = {},
                        Loc loc = Loc::here()) {
  return detail::minimum(detail::Descent::gauss_newton, residuals, start, options, loc);
}

/// The same with damping that falls as long as steps do what the linear model says, and grows where
/// they do not: from starts far away too.
/// Source: D. Marquardt, J. SIAM 11 (1963); H. Nielsen, Damping parameter in Marquardt's method,
/// IMM-REP-1999-05 (1999).
template <class F, class X>
Minimum<X> levenberg_marquardt(const F& residuals, const X& start, const Options& options = {},
                               Loc loc = Loc::here()) {
  return detail::minimum(detail::Descent::levenberg_marquardt, residuals, start, options, loc);
}

/// A minimum of f: X -> Array[] by gradients, whose changes make up the inverse of the second
/// derivative. Each step tries one point; one that does not lower f enough is tried again with a
/// part of the length. Ends when the step that the model asks for is below the tolerance.
///
/// Differentiable by the gradient's root. Source: J. Nocedal and S. Wright, Numerical Optimization,
/// 2nd edition, algorithms 3.1 and 6.1.
template <class F, class X>
Minimum<X> bfgs(const F& f, const X& start, const Options& options = {}, Loc loc = Loc::here()) {
  detail::check_number<F, X>();
  return detail::minimum(detail::Descent::bfgs, f, start, options, loc);
}

/// A minimum of f: X -> Array[] by values alone: a simplex that goes downhill. For a handful of
/// numbers; an f without a second derivative needs {.differentiable = false}.
/// Source: J. Nelder and R. Mead, Computer J. 7 (1965); for many numbers with the factors of F. Gao
/// and L. Han, Comput. Optim. Appl. 51 (2012).
template <class F, class X>
Minimum<X> nelder_mead(const F& f, const X& start, const Options& options = {.max_steps = 1000},
                       Loc loc = Loc::here()) {
  detail::check_number<F, X>();
  return detail::minimum(detail::Descent::nelder_mead, f, start, options, loc);
}

}  // namespace gnomon::roots
#pragma GCC visibility pop
