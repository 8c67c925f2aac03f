// codegen/include/gnomon/detail/callable.h -- what a function of traced values may take, and the
// words that meet one that takes something else.
#pragma once
#include <type_traits>
#include <utility>

#pragma GCC visibility push(default)
namespace gnomon::detail {

/// Whether F can be called with A. Functions that the library makes have templates for operators,
/// whose bodies would have to compile to find out; they say what the function inside of them takes.
template <class F, class... A>
constexpr bool accepts() {
  if constexpr (requires { F::template accepts<A...>(); })
    return F::template accepts<A...>();
  else
    return std::is_invocable_v<F&, A...>;
}
template <class F, class... A>
struct Accepts : std::bool_constant<detail::accepts<F, A...>()> {};

/// A callable made of F that takes what F takes.
template <class F, class Call>
struct Wrapped : Call {
  template <class... A>
  static constexpr bool accepts() {
    return detail::accepts<const F, A...>();
  }
  using Call::operator();
};
template <class F, class Call>
Wrapped<F, Call> wrapped(Call call) {
  return {std::move(call)};
}

/// F could be called if it were given variables; it is given values of its own.
template <class F, class... A>
inline constexpr bool wants_references =
    std::conjunction_v<std::negation<std::is_invocable<F&, A...>>, std::is_invocable<F&, A&...>>;

/// The misuse that all functions of functions have in common.
template <class F, class... A>
constexpr void check_takes_values() {
  static_assert(
      !wants_references<F, A...>,
      "gnomon: this function takes its argument by non-const reference (Array&), but what "
      "it gets are values of its own: what it changed there would be lost. Take Array or "
      "const Array& (T or const T&), and return the new value");
}

}  // namespace gnomon::detail
#pragma GCC visibility pop
