// codegen/include/gnomon/jacobian.h -- whole derivatives and linear maps: jacfwd, jacrev, hessian,
// hvp, linearize, linear_transpose.
//
// The Jacobian of f: X -> Y has, for an array y of the result and an array x of the argument, an
// array of shape y.shape + x.shape. How these are arranged is JacobianOf<Y, X>:
//   Y is an Array:      a tree like X
//   X is an Array:      a tree like Y
//   both are structs:   std::vector<X>, a tree like X for each array of the result, in order
// With f an Array of an Array that is one Array. Arrays that are not of floats have holes.
#pragma once
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "gnomon/transform.h"

namespace gnomon {

/// See above.
template <class Y, class X>
using JacobianOf =
    std::conditional_t<std::is_same_v<Y, Array>, X,
                       std::conditional_t<std::is_same_v<X, Array>, Y, std::vector<X>>>;

namespace detail {

/// A row for each array of the result, in it an array (or a hole) for each one of the argument.
using Blocks = std::vector<Arrays>;
Blocks forward_blocks(const Linearizable&, Loc);
Blocks reverse_blocks(const Linearizable&, Loc);

template <class Y, class X>
JacobianOf<Y, X> arranged(const Y& y, const X& x, const Blocks& blocks) {
  if constexpr (std::is_same_v<Y, Array>) {
    return tree::with_leaves(x, blocks[0]);
  } else if constexpr (std::is_same_v<X, Array>) {
    Arrays column;
    for (const Arrays& row : blocks) column.push_back(row[0]);
    return tree::with_leaves(y, column);
  } else {
    std::vector<X> rows;
    for (const Arrays& row : blocks) rows.push_back(tree::with_leaves(x, row));
    return rows;
  }
}

/// A linear map that was split from the function it is the derivative of.
struct LinearMap;
/// The value of the function; `map` gets its derivative.
Arrays linearize_arrays(const Linearizable&, std::shared_ptr<const LinearMap>& map, Loc);
Arrays apply(const LinearMap&, const Arrays& tangents, Loc);

struct TransposedMap;
std::shared_ptr<const TransposedMap> transpose_arrays(const Linearizable&, Loc);
Arrays apply(const TransposedMap&, const Arrays& cotangents, Loc);

}  // namespace detail

/// The function that gives the Jacobian of `f` in its first argument, a JacobianOf the result's and
/// the argument's type, one column at a time in forward mode: for more results than arguments.
///
/// One vmap of jvp per array of the argument, over as many directions as it has elements.
template <class F>
auto jacfwd(F f, Loc loc = Loc::here()) {
  return [f = std::move(f), loc]<class X, class... A>(const X& x, const A&... rest) {
    auto traced = trace_at(loc, f, x, rest...);
    return detail::arranged(traced.result, x,
                            detail::forward_blocks(detail::linearizable(traced, x, rest...), loc));
  };
}

/// The same one row at a time in reverse mode: for more arguments than results. Loops as for vjp.
///
/// One vmap of a pullback per array of the result, over as many cotangents as it has elements.
template <class F>
auto jacrev(F f, Loc loc = Loc::here()) {
  return [f = std::move(f), loc]<class X, class... A>(const X& x, const A&... rest) {
    auto traced = trace_at(loc, f, x, rest...);
    return detail::arranged(traced.result, x,
                            detail::reverse_blocks(detail::linearizable(traced, x, rest...), loc));
  };
}

/// The function that gives the second derivatives of `f` in its first argument: jacfwd of jacrev.
///
/// For a scalar f of an Array x one array of shape x.shape + x.shape; of a struct a std::vector of
/// structs, in the i-th one of which array j has shape x_i.shape + x_j.shape.
template <class F>
auto hessian(F f, Loc loc = Loc::here()) {
  return jacfwd(jacrev(std::move(f), loc), loc);
}

/// The Hessian of a scalar `f` at `x` times `v`, without the Hessian: forward mode over reverse
/// mode, a few times the cost of f. Arrays of `v` as the tangent of jvp.
template <class F, class X>
X hvp(const F& f, const X& x, const X& v, Loc loc = Loc::here()) {
  return jvp(grad(f, loc), x, v, loc).second;
}

/// The value of a function and its derivative as a linear function.
template <class Y, class X>
class Linearized {
 public:
  Linearized(Y y, X like, std::shared_ptr<const detail::LinearMap> map, Loc loc)
      : value(std::move(y)), like_(std::move(like)), map_(std::move(map)), loc_(loc) {}
  /// As `jvp(f, x, tangent).second`, without computing f again.
  Y operator()(const X& tangent) const {
    return tree::with_leaves(
        value,
        detail::apply(*map_, detail::aligned("linearize", "tangent", like_, tangent, loc_), loc_));
  }
  Y value;

 private:
  X like_;
  std::shared_ptr<const detail::LinearMap> map_;
  Loc loc_;
};

/// `f` at `x`, for several directions: what does not depend on them is computed once, here.
///
/// Loops that depend on x go along in the linear function.
/// May be called where it was made or in what is traced there (vmap, loops), while that records.
template <class F, class X, class... A>
auto linearize(const F& f, const X& x, const A&... rest) {
  auto traced = trace(f, x, rest...);
  std::shared_ptr<const detail::LinearMap> map;
  auto value = tree::with_leaves(
      traced.result,
      detail::linearize_arrays(detail::linearizable(traced, x, rest...), map, Loc{}));
  return Linearized<decltype(value), X>(std::move(value), tree::clone(x), std::move(map), Loc{});
}

/// The transpose of a function that is linear.
template <class Y, class X>
class LinearTransposed {
 public:
  LinearTransposed(Y y, X like, std::shared_ptr<const detail::TransposedMap> map, Loc loc)
      : result_(std::move(y)), like_(std::move(like)), map_(std::move(map)), loc_(loc) {}
  X operator()(const Y& cotangent) const {
    return tree::with_leaves(like_, detail::apply(*map_,
                                                  detail::aligned("linear_transpose", "cotangent",
                                                                  result_, cotangent, loc_),
                                                  loc_));
  }

 private:
  Y result_;
  X like_;
  std::shared_ptr<const detail::TransposedMap> map_;
  Loc loc_;
};

/// The function g with <f(x), y> = <x, g(y)> for a linear f. Of the float arrays in `like` only the
/// types matter.
///
/// Unchecked: an f that adds a constant is transposed without it.
/// Throws UsageError when an operation on what depends on the argument is not linear, naming it.
template <class F, class X>
auto linear_transpose(const F& f, const X& like, Loc loc = Loc::here()) {
  auto traced = trace_at(loc, f, like);
  auto map = detail::transpose_arrays(detail::linearizable(traced, like), loc);
  using Y = decltype(traced.result);
  return LinearTransposed<Y, X>(std::move(traced.result), tree::clone(like), std::move(map), loc);
}

}  // namespace gnomon
