// engine/include/gnomon/ode/terms.h -- the right-hand sides of differential equations.
#pragma once
#include <tuple>
#include <type_traits>
#include <utility>

#include "gnomon/array.h"
#include "gnomon/ode/brownian.h"
#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon::ode {

/// dy = f(t, y, args) dt.
///
/// f: (Array t, Y y, Args args) -> Y with the shapes and dtypes of y; t is a number in the dtype of
/// time. `args` is what diffeqsolve was given.
template <class F>
struct OdeTerm {
  F vector_field;
};
template <class F>
OdeTerm(F) -> OdeTerm<F>;

/// How an integral along a Brownian path is meant: by the left ends of steps.
struct Ito {};
/// By the middles of steps, which keeps the chain rule.
struct Stratonovich {};

/// dy = g(t, y, args) dX of a path X, for one a Brownian path: the diffusion of a stochastic
/// equation.
///
/// g: (Array t, Y y, Args args) -> Y in which arrays have their own shapes. X has as many arrays as
/// y, or one that all of them share. Each array of y[s..] takes of g and X
///   g[s..], X[s..] or X[]:  g X, element by element: every element has its own noise, or shares
///   it; g[s.., m..], X[m..]:    the sum of g X over all axes of X.
/// X is a VirtualBrownianTree, an IndexedBrownianPath (gnomon/ode/brownian.h) or any type with
/// evaluate(t0, t1), the change between two times or a BrownianIncrement, or with evaluate(t).
/// The third argument, Ito{} or Stratonovich{}, says which integral the equation means: a solver of
/// the other one is refused. Without it the solver decides.
template <class F, class Path, class Kind = None>
struct ControlTerm {
  static_assert(std::is_same_v<Kind, None> || std::is_same_v<Kind, Ito> ||
                    std::is_same_v<Kind, Stratonovich>,
                "gnomon::ode::ControlTerm: behind the path comes Ito{} or Stratonovich{}");
  F vector_field;
  Path control;
  ControlTerm(F f, Path path, Kind = {}) : vector_field(std::move(f)), control(std::move(path)) {}
};

/// The sum of terms that a solver treats differently: (explicit, implicit), (drift, diffusion).
template <class... Terms>
struct MultiTerm {
  std::tuple<Terms...> terms;
  explicit MultiTerm(Terms... t) : terms(std::move(t)...) {}
};

namespace detail {

/// A field that looks back: what a DelayTerm (gnomon/ode/delay.h) becomes.
class Past;
template <class F>
struct DelayedTerm {
  F vector_field;
  std::shared_ptr<Past> past;
};
template <class Term>
std::shared_ptr<Past> past_of(const Term&) {
  return nullptr;
}
template <class F>
std::shared_ptr<Past> past_of(const DelayedTerm<F>& term) {
  return term.past;
}

template <class T>
inline constexpr bool is_ode_term = false;
template <class F>
inline constexpr bool is_ode_term<OdeTerm<F>> = true;

/// Calls a vector field, and says what is wrong with it if it cannot be called.
template <class F, class Y, class Args>
Y slope_of(const F& f, const Array& t, const Y& y, const Args& args) {
  static_assert(std::is_invocable_v<const F&, const Array&, const Y&, const Args&>,
                "gnomon::ode: a vector field is called with (const Array& t, const Y& y, const "
                "Args& args): the types of y0 and args of diffeqsolve");
  using R =
      std::remove_cvref_t<std::invoke_result_t<const F&, const Array&, const Y&, const Args&>>;
  static_assert(std::is_same_v<R, Y>,
                "gnomon::ode: a vector field must return the type of the state y0");
  return f(t, y, args);
}

/// What a term is made of, in order.
template <class F>
std::tuple<const F&> fields_of(const OdeTerm<F>& term) {
  return {term.vector_field};
}
template <class F>
std::tuple<const F&> fields_of(const DelayedTerm<F>& term) {
  return {term.vector_field};
}
template <class F, class P, class K>
std::tuple<const F&> fields_of(const ControlTerm<F, P, K>& term) {
  return {term.vector_field};
}
template <class... T>
auto fields_of(const MultiTerm<T...>& all) {
  return std::apply([](const auto&... term) { return std::tuple_cat(fields_of(term)...); },
                    all.terms);
}

/// What drives each of them: nothing for an OdeTerm.
template <class F>
void add_drives(const OdeTerm<F>&, std::vector<Driven>& to) {
  to.emplace_back();
}
template <class F>
void add_drives(const DelayedTerm<F>&, std::vector<Driven>& to) {
  to.emplace_back();
}
template <class F, class P, class K>
void add_drives(const ControlTerm<F, P, K>& term, std::vector<Driven>& to) {
  to.push_back({drive_of(term.control), std::is_same_v<K, Ito>            ? Calculus::ito
                                        : std::is_same_v<K, Stratonovich> ? Calculus::stratonovich
                                                                          : Calculus::unsaid});
}
template <class... T>
void add_drives(const MultiTerm<T...>& all, std::vector<Driven>& to) {
  std::apply([&](const auto&... term) { (add_drives(term, to), ...); }, all.terms);
}

}  // namespace detail

/// The ordinary equation dy/dt = g(t, y, args) dX/dt along a smooth path: one with derivative(t).
template <class F, class P, class K>
auto to_ode(ControlTerm<F, P, K> term) {
  return OdeTerm{[term = std::move(term)](const Array& t, const auto& y, const auto& args) {
    return tree::with_leaves(
        y, detail::product(tree::leaves(detail::slope_of(term.vector_field, t, y, args)),
                           tree::leaves(term.control.derivative(t)), tree::leaves(y)));
  }};
}

}  // namespace gnomon::ode
#pragma GCC visibility pop
