// codegen/include/gnomon/masks.h -- arrays of which only some rows count.
//
// Shapes are fixed when a function is traced, so what varies in number while a program runs lies in
// arrays of a bounded size beside a count or a mask. Sizes are C++ integers: clamp them with
// std::min and std::max; counts are Arrays: clamp them with minimum and maximum.
#pragma once
#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gnomon/ops.h"
#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon {

/// bool[size]: true for the first `count` (one integer; below 0 counts as 0).
Array first_valid(Operand count, Dim size);
/// Sizes that are Arrays do not compile.
template <std::same_as<Array> Size>
Array first_valid(Operand, const Size&) {
  static_assert(always_false<Size>,
                "gnomon::first_valid: a size is fixed when the function is traced; clamp it with "
                "std::min/std::max on integers, such as x.dim(i)");
  return {};
}

/// How many elements of a bool array are true, along `axes` or of all: i32.
Array valid_count(Operand mask, const Axes& axes = {}, ReduceOptions options = {});

struct CompactOptions {
  std::optional<Dim> size = {};  // rows of the result; as many as there are when absent
  Scalar fill = 0;               // what rows from `count` on hold
};

template <class T>
struct Compacted {
  T rows;           // leading axis `size`
  Array count;      // i32[]: rows that count, at most `size`
  Array bound_hit;  // bool[]: there were more than that, and they are not here
};

namespace masks {
/// The compacted arrays, then count and bound_hit.
std::vector<Array> compact(const std::vector<Array>& rows, const std::vector<std::string>& paths,
                           const Array& mask, CompactOptions options, Loc loc);
}  // namespace masks

/// The rows of `tree`'s arrays where `mask` holds, in their order and without gaps.
///
/// mask bool[n]; the arrays have leading axis n. log2(n) steps per row of the result.
/// Differentiable in the arrays. Throws UsageError when leading axes disagree with the mask or
/// `size` is negative.
template <class T>
Compacted<T> compact(const T& tree, const Array& mask, CompactOptions options = {},
                     Loc loc = Loc::here()) {
  std::vector<std::string> paths;
  tree::for_each_leaf(
      tree, [&](const Array&, const std::string& path) { paths.push_back(path); }, "tree");
  const std::vector<Array> leaves = tree::leaves(tree);
  const std::vector<Array> all = masks::compact(leaves, paths, mask, options, loc);
  const std::span<const Array> arrays(all);
  return {tree::with_leaves(tree, arrays.first(leaves.size())), all[leaves.size()],
          all[leaves.size() + 1]};
}

}  // namespace gnomon
#pragma GCC visibility pop
