// codegen/include/gnomon/cumulative.h -- operations that run along an axis.
//
// All are differentiable any number of times, forwards and backwards. Long axes are shared by many
// lanes, so floats add up in another order than one by one; the order depends on the shape and the
// device only. Wrong axes and dtypes throw UsageError with the line of the call.
#pragma once
#include <optional>

#include "gnomon/control.h"

#pragma GCC visibility push(default)
namespace gnomon {

struct CumulativeOptions {
  bool reverse = false;  // from the last element to the first
};

/// out[.., i, ..] = x[.., 0, ..] + ... + x[.., i, ..] along `axis`, or of the flattened array.
/// Integers narrower than 32 bits and bool add up as i32 (u32); f16 and bf16, here and below, in
/// f32, every element rounded once.
Array cumsum(Operand x, std::optional<int> axis = {}, CumulativeOptions options = {});
/// Products; the derivative is right where elements are zero, too.
Array cumprod(Operand x, std::optional<int> axis = {}, CumulativeOptions options = {});
/// The same with NaN taken for 0 (nancumsum) or 1 (nancumprod); they get no derivative.
Array nancumsum(Operand x, std::optional<int> axis = {}, CumulativeOptions options = {});
Array nancumprod(Operand x, std::optional<int> axis = {}, CumulativeOptions options = {});
/// The largest (smallest) element so far, NaN from the first NaN on. Equal elements share the
/// derivative.
Array cummax(Operand x, std::optional<int> axis = {}, CumulativeOptions options = {});
Array cummin(Operand x, std::optional<int> axis = {}, CumulativeOptions options = {});
/// log(exp(x[0]) + ... + exp(x[i])) without overflow. Floats.
Array cumlogsumexp(Operand x, std::optional<int> axis = {}, CumulativeOptions options = {});

/// y[i] = a[i] * y[i - 1] + b[i] along `axis`, where y in front of the first element is 0; a and b
/// broadcast.
Array linear_recurrence(Operand a, Operand b, int axis = 0, CumulativeOptions options = {});

namespace control {

using Pairwise = FunctionRef<std::vector<Array>(std::span<const Array>, std::span<const Array>)>;
std::vector<Array> run_associative_scan(Pairwise, std::vector<Array> elements, int axis,
                                        bool reverse, const Texts& paths, Loc);

}  // namespace control

struct AssociativeScanOptions {
  bool reverse = false;
  int axis = 0;
};

/// out[i] = elements[0] * ... * elements[i] along an axis, where a * b is `fn(a, b)`.
///
/// fn(E, E) -> E, associative, element by element along the axis: it gets trees of slices of any
/// equal length and gives one of that length. Lengths of the arrays agree along `axis`.
/// Differentiable if `fn` is. Depth logarithmic in the length, work linear (Blelloch, "Prefix Sums
/// and Their Applications", 1990). Unchecked: that `fn` is associative.
/// Throws UsageError when lengths disagree or `fn` changes a shape or dtype.
template <class F, class E>
E associative_scan(F&& fn, const E& elements, AssociativeScanOptions options = {},
                   Loc loc = Loc::here()) {
  static_assert(std::is_invocable_v<F&, E, E>,
                "gnomon::associative_scan: fn must take two trees of elements");
  static_assert(std::is_same_v<std::remove_cvref_t<std::invoke_result_t<F&, E, E>>, E>,
                "gnomon::associative_scan: fn must return a tree of elements");
  const auto pairwise = [&](std::span<const Array> a, std::span<const Array> b) {
    return tree::leaves(fn(tree::with_leaves(elements, a), tree::with_leaves(elements, b)));
  };
  return tree::with_leaves(
      elements,
      control::run_associative_scan(pairwise, tree::leaves(elements), options.axis, options.reverse,
                                    tree::leaf_paths(elements, "elements"), loc));
}

}  // namespace gnomon
#pragma GCC visibility pop
