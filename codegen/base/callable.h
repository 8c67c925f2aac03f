// codegen/base/callable.h -- what a function of traced values may take, and the words that meet one
// that takes something else.
#pragma once
#include <type_traits>

namespace gnomon::detail {

/// F could be called if it were given variables; it is given values of its own.
template <class F, class... A>
inline constexpr bool wants_references =
    std::conjunction_v<std::negation<std::is_invocable<F&, A...>>, std::is_invocable<F&, A&...>>;

/// The misuse that all functions of functions have in common.
template <class F, class... A>
constexpr void check_takes_values() {
  static_assert(!wants_references<F, A...>,
                "gnomon: this function takes its argument by non-const reference (Array&), but what "
                "it gets are values of its own: what it changed there would be lost. Take Array or "
                "const Array& (T or const T&), and return the new value");
}

}  // namespace gnomon::detail
