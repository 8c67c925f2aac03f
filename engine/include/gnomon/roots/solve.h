// engine/include/gnomon/roots/solve.h -- roots: the x with f(x) = 0.
#pragma once
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gnomon/control.h"
#include "gnomon/ops.h"
#include "gnomon/roots/options.h"
#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon::roots {

template <class X>
struct Root {
  X x;
  Array steps;   // i32[]
  Array result;  // i32[]: a Result
};

namespace detail {

using Arrays = std::vector<Array>;
using Function = control::FunctionRef<Arrays(const Arrays&)>;

struct Found {
  Arrays x;
  Array steps, result;
};
enum class Method : std::uint8_t { newton, chord, broyden, bisection, brent };
/// `start`: the guess, or both ends of a bracket.
Found find_root(Method, Function, const Arrays& start, const std::vector<std::string>& paths,
                const Options&, Loc);

template <class F, class X>
Root<X> root(Method method, const F& f, const X& guess, const Options& o, Loc loc) {
  static_assert(std::is_invocable_v<const F&, const X&>,
                "gnomon::roots: the function is called with a tree like the guess");
  static_assert(std::is_same_v<std::remove_cvref_t<std::invoke_result_t<const F&, const X&>>, X>,
                "gnomon::roots: the function of an equation gives a tree like its argument");
  const auto erased = [&](const Arrays& x) { return tree::leaves(f(tree::with_leaves(guess, x))); };
  Found found =
      find_root(method, erased, tree::leaves(guess), tree::leaf_paths(guess, "x"), o, loc);
  return {tree::with_leaves(guess, found.x), found.steps, found.result};
}

template <class F>
Root<Array> bracketed(Method method, const F& f, const Operand& low, const Operand& high,
                      const Options& o, Loc loc) {
  static_assert(
      std::is_same_v<std::remove_cvref_t<std::invoke_result_t<const F&, const Array&>>, Array>,
      "gnomon::roots: the function of a bracket takes and gives one number, an Array");
  const auto erased = [&](const Arrays& x) { return Arrays{f(x[0])}; };
  const auto array = [&](const Operand& x, const Operand& other) {
    if (x.is_array()) return x.array();
    const bool wide = other.is_array() && other.array().dtype() == DType::f64;
    return wide ? cast(x, DType::f64) : control::number(x.scalar(), loc);
  };
  Found found =
      find_root(method, erased, {array(low, high), array(high, low)}, {"low", "high"}, o, loc);
  return {found.x[0], found.steps, found.result};
}

}  // namespace detail

/// Newton's method: a Jacobian and a factorisation in each step.
///
/// f: X -> X. Up to 12 numbers elimination is written out and runs lane by lane, beyond that it is
/// gnomon/linalg.h's. Ends when a step is below the tolerance: the error is about its square then.
/// Differentiable in what `f` captured; the guess has no derivative.
/// Throws UsageError for arrays that are not of floats, and when f(x) has other types than x.
/// Source: J. Dennis and R. Schnabel, Numerical Methods for Unconstrained Optimization and
/// Nonlinear Equations, 1983, algorithm 5.1.1.
template <class F, class X>
Root<X> newton(const F& f, const X& guess, const Options& options = {}, Loc loc = Loc::here()) {
  return detail::root(detail::Method::newton, f, guess, options, loc);
}

/// The same with factors that are used again, as long as each step is at most half of the one
/// before: linear convergence for one evaluation a step. Else as `newton`.
template <class F, class X>
Root<X> chord(const F& f, const X& guess, const Options& options = {}, Loc loc = Loc::here()) {
  return detail::root(detail::Method::chord, f, guess, options, loc);
}

/// Broyden's first method: one Jacobian, at the guess, whose inverse each step corrects. Else as
/// `newton`. Source: C. Broyden, Math. Comp. 19 (1965).
template <class F, class X>
Root<X> broyden(const F& f, const X& guess, const Options& options = {}, Loc loc = Loc::here()) {
  return detail::root(detail::Method::broyden, f, guess, options, loc);
}

/// A sign change of f: Array[] -> Array[] between `low` and `high` by halves: one step for each
/// digit in base 2. Result::no_bracket where both ends have one sign.
template <class F>
Root<Array> bisection(const F& f, Operand low, Operand high, const Options& options = {}) {
  return detail::bracketed(detail::Method::bisection, f, low, high, options, low.loc());
}

/// The same by inverse quadratic interpolation, secants, and halves where these do not help: never
/// many more steps than bisection, mostly far fewer.
/// Source: R. Brent, Algorithms for Minimization without Derivatives, 1973, chapter 4.
template <class F>
Root<Array> brent(const F& f, Operand low, Operand high, const Options& options = {}) {
  return detail::bracketed(detail::Method::brent, f, low, high, options, low.loc());
}

}  // namespace gnomon::roots
#pragma GCC visibility pop
