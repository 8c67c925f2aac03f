// engine/include/gnomon/detail/leaf_ref.h -- the arrays of a call's arguments, and which of them it
// may keep.
#pragma once
#include <type_traits>
#include <vector>

#include "gnomon/array.h"
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

}  // namespace gnomon::detail
#pragma GCC visibility pop
