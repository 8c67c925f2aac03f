// codegen/include/gnomon/implicit.h -- derivatives of what is defined by an equation: solutions of
// linear systems, roots, fixed points.
//
// However a solution was found, its derivative follows from the equation it solves (the implicit
// function theorem): nothing of the search is kept or differentiated. What is differentiated in are
// the arrays that the function of the equation captured.
#pragma once
#include <type_traits>
#include <utility>
#include <vector>

#include "gnomon/control.h"
#include "gnomon/custom.h"
#include "gnomon/jacobian.h"

#pragma GCC visibility push(default)
namespace gnomon {

struct LinearSolveOptions {
  bool symmetric = false;  // A' = A: `solve` solves the transposed system as well
};

namespace detail {

Arrays emit_linear_solve(Piece matvec, Piece solve, std::vector<Piece> transpose_solve,
                         const Arrays& b, Loc);
/// Those of `step` that still move: any |next - x| > absolute + relative |next|.
Array still_moves(const Arrays& x, const Arrays& next, double relative, double absolute, Loc);
Arrays apply_at(const Graph&, const Arrays& x, const Arrays& constants);
Array negative(const Array&, Loc);

template <class X, class F>
auto same_tree(const char* what, const X& like, const F& f, Loc loc) {
  return [what, &like, &f, loc](const X& v) {
    auto result = f(v);
    static_assert(std::is_same_v<decltype(result), X>,
                  "gnomon: the functions of a solve give a tree like the one they get");
    check_same("custom_linear_solve", "b is", described(like, "b"), what, described(result, "b"),
               loc);
    return result;
  };
}

template <class Matvec, class X, class Solve, class... Transpose>
X linear_solve(const Matvec& matvec, const X& b, const Solve& solve, bool symmetric, Loc loc,
               const Transpose&... transpose) {
  Piece product = piece(trace_at(loc, same_tree("matvec gives", b, matvec, loc), b));
  const auto solver = [&](const X& v) { return solve(matvec, v); };
  Piece forward = piece(trace_at(loc, same_tree("solve gives", b, solver, loc), b));
  std::vector<Piece> back;
  if (symmetric) back.push_back(forward);
  if constexpr (sizeof...(Transpose) == 1) {
    const auto transposed = [&](const X& v) {
      return (transpose(linear_transpose(matvec, v, loc), v), ...);
    };
    back.push_back(piece(trace_at(loc, same_tree("transpose_solve gives", b, transposed, loc), b)));
  }
  return tree::with_leaves(b, emit_linear_solve(std::move(product), std::move(forward),
                                                std::move(back), tree::leaves(b), loc));
}

}  // namespace detail

/// The solution x of matvec(x) = b as `solve(matvec, b)` gives it, with the derivatives of the
/// solution: those of `solve` are never taken.
///
/// matvec: a linear function of X; X a tree of floats, which b and x are both. Forward mode solves
/// once more with the same matrix, reverse mode once with its transpose: give `transpose_solve`
/// (below), or {.symmetric = true}. Second derivatives, vmap and loops as usual.
/// Unchecked: that matvec is linear, and that `solve` solves.
/// Throws UsageError when a function gives other types than b's; in reverse mode, without a way to
/// solve the transposed system.
template <class Matvec, class X, class Solve>
X custom_linear_solve(const Matvec& matvec, const X& b, const Solve& solve,
                      LinearSolveOptions options = {}, Loc loc = Loc::here()) {
  return detail::linear_solve(matvec, b, solve, options.symmetric, loc);
}
/// The same with `transpose_solve(vecmat, b)` for the transposed system; vecmat(x) is the transpose
/// of matvec.
template <class Matvec, class X, class Solve, class TransposeSolve>
requires(!std::is_same_v<TransposeSolve, LinearSolveOptions>) X
    custom_linear_solve(const Matvec& matvec, const X& b, const Solve& solve,
                        const TransposeSolve& transpose_solve, Loc loc = Loc::here()) {
  return detail::linear_solve(matvec, b, solve, false, loc, transpose_solve);
}

/// A root x of f: `solve(f, guess)`, differentiated as f(x) = 0 says in what `f` captured.
///
/// f: X -> X. solve(f, guess) -> X gets a function that computes f. tangent_solve(g, y) -> X solves
/// g(dx) = y for the linear g, the derivative of f at the root; for reverse mode it has to be
/// linear in y operation by operation: solve a small matrix jacfwd(g), or use custom_linear_solve.
/// The guess has no derivative. Unchecked: that what `solve` gives is a root. Throws UsageError
/// when a function gives other types than the guess's. Source: S. Krantz and H. Parks, "The
/// Implicit Function Theorem", 2003, theorem 3.3.1.
template <class F, class X, class Solve, class TangentSolve>
X custom_root(const F& f, const X& guess, const Solve& solve, const TangentSolve& tangent_solve,
              Loc loc = Loc::here()) {
  using Constants = std::vector<Array>;
  const auto traced = trace_at(loc, f, guess);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(traced.result)>, X>,
                "gnomon: custom_root needs a function whose result is like its argument");
  const Constants& constants = traced.captures;
  const auto same = [&](const char* what, const X& x) {
    detail::check_same("custom_root", "the guess is", detail::described(guess, "x"), what,
                       detail::described(x, "x"), loc);
  };
  same("the function gives", traced.result);
  const auto at = [&](const X& x, const Constants& c) {
    return tree::with_leaves(x, detail::apply_at(traced.graph, tree::leaves(x), c));
  };
  const auto body = [&](const X& start, const Constants& c) {
    X x = solve([&](const X& v) { return at(v, c); }, start);
    same("solve gives", x);
    return x;
  };
  auto solved = trace_at(loc, body, guess, constants);
  const auto rule = [&](const X&, const Constants& c, const X& x, const X&, const Constants& dc,
                        const X&, const Constants&) {
    const X change = jvp([&](const Constants& v) { return at(x, v); }, c, dc, loc).second;
    const X rhs = tree::map([&](const Array& a) { return detail::negative(a, loc); }, change);
    const X dx = tangent_solve(linearize([&](const X& v) { return at(v, c); }, x), rhs);
    return detail::matched("custom_root", "the guess is", detail::described(guess, "x"),
                           "tangent_solve gives", detail::described(dx, "x"), loc);
  };
  auto derivative = trace_at(loc, rule, guess, constants, solved.result, detail::moving_part(guess),
                             detail::moving_part(constants), detail::flags_like(guess),
                             detail::flags_like(constants));
  Arrays arguments = tree::leaves(guess);
  arguments.insert(arguments.end(), constants.begin(), constants.end());
  return tree::with_leaves(
      guess, detail::emit_custom_jvp(detail::piece(std::move(solved)),
                                     detail::piece(std::move(derivative)), arguments, loc,
                                     detail::Captures::are_fixed));
}

struct FixedPointOptions {
  Dim max_steps = 1000;
  double relative = 1e-5, absolute = 1e-6;
};

namespace detail {

/// x = step(x) until nothing moves much.
template <class X, class Step>
X settle(const Step& step, const X& start, const FixedPointOptions& o, Loc loc) {
  using State = std::pair<X, Array>;
  const Array yes = still_moves({}, {}, 0, -1, loc);
  return while_loop([](const State& s) { return s.second; },
                    [&](State s) {
                      X next = step(s.first);
                      Array on = still_moves(tree::leaves(s.first), tree::leaves(next), o.relative,
                                             o.absolute, loc);
                      return State{std::move(next), std::move(on)};
                    },
                    State{tree::clone(start), yes}, {.max_steps = o.max_steps}, loc)
      .first;
}

}  // namespace detail

/// The x with f(x) = x that x = f(x) leads to from `start`, with the derivatives of that equation
/// in what `f` captured.
///
/// f: X -> X, contracting near x. Goes on until no element changes by more than absolute + relative
/// times its size, or for `max_steps`; the linear equation of a derivative, dx = J dx + change, is
/// settled the same way. Under vmap every element stops on its own. `start` has no derivative.
/// Unchecked: convergence; after `max_steps` steps x is where it was.
/// Throws UsageError when f(x) has other types than x.
/// Source: A. Griewank and A. Walther, "Evaluating Derivatives", 2nd edition, section 15.2.
template <class F, class X>
X fixed_point(const F& f, const X& start, FixedPointOptions options = {}, Loc loc = Loc::here()) {
  const auto minus = [loc](const X& a, const X& b) {
    return tree::add(a, tree::scale(-1, b, loc), loc);
  };
  const auto residual = [&](const X& x) { return minus(f(x), x); };
  const auto solve = [&](const auto& g, const X& x0) {
    return detail::settle([&](const X& x) { return tree::add(x, g(x), loc); }, x0, options, loc);
  };
  // a(w) = J w - w: the w with a(w) = b is where w = J w - b leads.
  const auto settle_linear = [&](const auto& a, const X& b) {
    return detail::settle([&](const X& w) { return minus(tree::add(w, a(w), loc), b); },
                          tree::scale(-1, b, loc), options, loc);
  };
  const auto tangent = [&](const auto& a, const X& b) {
    return custom_linear_solve(a, b, settle_linear, settle_linear, loc);
  };
  return custom_root(residual, start, solve, tangent, loc);
}

}  // namespace gnomon
#pragma GCC visibility pop
