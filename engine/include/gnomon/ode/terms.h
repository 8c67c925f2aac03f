// engine/include/gnomon/ode/terms.h -- the right-hand sides of differential equations.
#pragma once
#include <tuple>
#include <type_traits>
#include <utility>

#include "gnomon/array.h"
#include "gnomon/tree.h"

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

/// The sum of terms that a solver treats differently: (explicit, implicit).
template <class... Terms>
struct MultiTerm {
  std::tuple<Terms...> terms;
  explicit MultiTerm(Terms... t) : terms(std::move(t)...) {}
};

namespace detail {

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
template <class... T>
auto fields_of(const MultiTerm<T...>& all) {
  return std::apply([](const auto&... term) { return std::tuple_cat(fields_of(term)...); },
                    all.terms);
}

}  // namespace detail
}  // namespace gnomon::ode
