// codegen/include/gnomon/tree_ops.h -- numbers of whole trees: reduce, dot, norm; a tree as one
// vector (ravel); a tree as text.
//
// Holes are left out everywhere. Arithmetic promotes as gnomon/ops.h says.
#pragma once
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon::tree {

namespace detail {

Array dot(const std::vector<Array>&, const std::vector<Array>&, Loc);
Array norm(const std::vector<Array>&, Loc);
Array ravel(const std::vector<Array>&, Loc);
std::vector<Array> unravel(const Array& flat, const std::vector<Aval>&, Loc);
Array number(const Operand&);

std::string table(AnyTree, int depth);

}  // namespace detail

/// f(f(f(init, first), second), ...) over the arrays of a tree, in order; `init` where there are
/// none.
///
/// f(A, const Array&) -> A, or -> Array, in which case a C++ number to begin with becomes one.
template <class F, class T, class A>
auto reduce(F&& f, const T& tree, A init) {
  static_assert(std::is_invocable_v<F&, A, const Array&>,
                "gnomon::tree::reduce: f must take (what was made so far, const Array&)");
  using R = std::remove_cvref_t<std::invoke_result_t<F&, A, const Array&>>;
  if constexpr (std::is_arithmetic_v<A> && std::is_same_v<R, Array>) {
    Array result = detail::number(init);
    for_each_leaf(tree, [&](const Array& a) { result = f(std::move(result), a); });
    return result;
  } else {
    static_assert(std::is_same_v<R, A>,
                  "gnomon::tree::reduce: f must return the type of what it starts with");
    for_each_leaf(tree, [&](const Array& a) { init = f(std::move(init), a); });
    return init;
  }
}

/// The sum of all products of elements in the same place: a number of the promoted dtype, f32 0
/// for trees without arrays. Bools count as the integers 0 and 1.
///
/// Arrays that one of the trees has no counterpart of (a hole) count as nothing. Differentiable in
/// both. Throws UsageError when shapes or numbers of arrays differ.
template <class T>
Array dot(const T& a, const T& b, Loc loc = Loc::here()) {
  return detail::dot(slots(a), slots(b), loc);
}

/// The root of the sum of the squares of all elements, as one vector's: what gradients are clipped
/// by. At least f32; bools count as the integers 0 and 1. Its derivative at 0 is 0.
///
/// Unchecked: squares that overflow.
template <class T>
Array norm(const T& tree, Loc loc = Loc::here()) {
  return detail::norm(leaves(tree), loc);
}

/// Makes trees of vectors; see `ravel`.
template <class T>
class Unravel {
 public:
  explicit Unravel(const T& like) : like_(clone(like)) {
    for_each_leaf(like_, [&](Array& a) {
      avals_.push_back(a.aval());
      size_ += a.size();
      a = Array::hole();
    });
    std::size_t slot = 0;
    for_each_slot(like, [&](const Array& a) {
      if (!a.is_hole()) places_.push_back(slot);
      ++slot;
    });
  }
  /// The tree whose arrays, in order, are the parts of `flat`: with the shapes and dtypes of what
  /// was flattened. Throws UsageError unless `flat` is a vector of `size()` elements.
  T operator()(const Array& flat, Loc loc = Loc::here()) const {
    std::vector<Array> all = slots(like_);
    const std::vector<Array> parts = detail::unravel(flat, avals_, loc);
    for (std::size_t i = 0; i < parts.size(); ++i) all[places_[i]] = parts[i];
    return with_slots(like_, all);
  }
  Dim size() const { return size_; }

 private:
  T like_;  // holes only: keeps no memory of a device
  std::vector<Aval> avals_;
  std::vector<std::size_t> places_;  // of the arrays among the slots
  Dim size_ = 0;
};

template <class T>
struct Raveled {
  Array flat;
  Unravel<T> unravel;
};

/// All elements of a tree as one vector [n], and the function that makes a tree of such a vector.
///
/// `flat` has the dtype all arrays promote to (f32 without any); `unravel` gives each its own dtype
/// back. Differentiable. For solvers and optimisers that know vectors only:
///   const auto r = tree::ravel(params);
///   auto best = minimise([&](const Array& v) { return loss(r.unravel(v)); }, r.flat);
template <class T>
Raveled<T> ravel(const T& tree, Loc loc = Loc::here()) {
  return {detail::ravel(leaves(tree), loc), Unravel<T>(tree)};
}

struct TableOptions {
  /// Parts so far down are one line each, the sums of their arrays, and static values are left out:
  /// 1 gives a line for each field. 0: all arrays.
  int depth = 0;
};

/// A tree as a table: the place of each array, its type, elements and bytes; static values; and the
/// sums.
///
///   .layers[0].weight  f32[784,128]  100352  392.0 KiB
///   .layers[0].bias    f32[128]         128  512 bytes
///   .width             3
///   2 arrays, 100480 elements, 392.5 KiB
template <class T>
std::string to_string(const T& tree, TableOptions options = {}) {
  return detail::table(detail::AnyTree::of(tree), options.depth);
}

}  // namespace gnomon::tree
#pragma GCC visibility pop
