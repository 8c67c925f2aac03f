// engine/include/gnomon/detail/leaf_ref.h -- the arrays of a call's arguments, and which of them it
// may keep.
#pragma once
#include <type_traits>
#include <utility>
#include <vector>

#include "gnomon/array.h"
#include "gnomon/error.h"
#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon::detail {

/// One array of a call's arguments.
struct LeafRef {
  Array* array = nullptr;  // written to only when `donate`
  bool donate = false;     // belongs to an argument that was moved in
};

void append_leaves(tree::detail::AnyTree, bool donate, std::vector<LeafRef>& out);

template <class A>
void append_leaves(A&& argument, std::vector<LeafRef>& out) {
  using T = std::remove_reference_t<A>;
  constexpr bool donate = std::is_rvalue_reference_v<A&&> && !std::is_const_v<T>;
  append_leaves(tree::detail::AnyTree::of(argument), donate, out);
}

/// Asks an argument that knows whether it may be used, and throws UsageError.
template <class A>
void require_usable(const A& argument, Loc loc) {
  if constexpr (requires { argument.require_usable(loc); }) argument.require_usable(loc);
}
/// Tells an argument that was moved in, when it wants to know: later uses can name the line.
template <class A>
void tell_given_away(A&& argument, Loc loc) {
  if constexpr (std::is_rvalue_reference_v<A&&> && requires { argument.given_away(loc); })
    argument.given_away(loc);
}

}  // namespace gnomon::detail
#pragma GCC visibility pop
