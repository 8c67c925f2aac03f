// codegen/include/gnomon/jacobian.h -- whole derivatives and linear maps: jacfwd, jacrev, hessian,
// hvp, linearize, linear_transpose.
//
// The Jacobian of f: X -> Y has, for an array y of the result and an array x of the argument, an
// array of shape y.shape + x.shape. How these are arranged is JacobianOf<Y, X>:
//   Y is an Array:      a tree like X
//   X is an Array:      a tree like Y
//   both are structs:   Jacobian<Y, X>, a tree like Y with a tree like X in place of each array
// With f an Array of an Array that is one Array. Arrays that are not of floats have holes.
//
// Where one matrix is wanted, flatten both (tree::ravel, gnomon/tree_ops.h) and differentiate that.
#pragma once
#include <array>
#include <memory>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "gnomon/transform.h"

#pragma GCC visibility push(default)
namespace gnomon {

template <class Y, class X>
class Jacobian;

/// See above.
template <class Y, class X>
using JacobianOf =
    std::conditional_t<std::is_same_v<Y, Array>, X,
                       std::conditional_t<std::is_same_v<X, Array>, Y, Jacobian<Y, X>>>;

/// The Jacobian of a struct by a struct: for every array of the result, what a tree like the
/// argument says of its derivative. A tree itself, to return, to map over or to differentiate
/// again.
///
///   auto j = jacrev(f)(params);
///   j.of([](auto& y) -> auto& { return y.velocity; }).mass   // d velocity / d mass
///   j.by([](auto& x) -> auto& { return x.mass; }).velocity   // the same
template <class Y, class X>
class Jacobian {
 public:
  Jacobian() = default;
  /// `rows`: one per Array of `result`, in order; of those only where they are matters.
  Jacobian(const Y& result, std::vector<X> rows);

  /// Derivatives of the part of the result that `selector` names: a tree like the argument, or the
  /// Jacobian of a part that is a struct. Throws UsageError when it names something else.
  template <class S>
  auto of(S&& selector, Loc loc = Loc::here()) const;
  /// Derivatives by the part of the argument that `selector` names: a tree like the result, or the
  /// Jacobian by a part that is a struct.
  template <class S>
  auto by(S&& selector) const;

  /// Derivatives of array number i of the result, holes counted.
  const X& operator[](std::size_t i) const { return rows_[i]; }
  std::size_t size() const { return rows_.size(); }

 private:
  friend struct TreeAccess;
  template <class J>
  static auto fields(J& j) {
    return std::tie(j.rows_, j.result_);
  }
  static constexpr std::array<std::string_view, 2> field_names{"rows", "result"};
  std::vector<X> rows_;
  Y result_;  // holes only
};

namespace detail {

/// A row for each array of the result, in it an array (or a hole) for each one of the argument.
using Blocks = std::vector<Arrays>;
Blocks forward_blocks(const Linearizable&, Loc);
Blocks reverse_blocks(const Linearizable&, Loc);

[[noreturn]] void no_part_of_result(Loc);

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
    std::size_t next = 0;
    const Arrays nothing(tree::leaf_count(x), Array::hole());
    tree::for_each_slot(y, [&](const Array& a) {
      rows.push_back(tree::with_leaves(x, a.is_hole() ? nothing : blocks[next++]));
    });
    return Jacobian<Y, X>(y, std::move(rows));
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

template <class Y, class X>
Jacobian<Y, X>::Jacobian(const Y& result, std::vector<X> rows)
    : rows_(std::move(rows)),
      result_(tree::map([](const Array&) { return Array::hole(); }, result)) {}

template <class Y, class X>
template <class S>
auto Jacobian<Y, X>::of(S&& selector, Loc loc) const {
  using Given = std::invoke_result_t<S&, const Y&>;
  static_assert(std::is_lvalue_reference_v<Given>,
                "gnomon: the selector of a Jacobian gives a reference to a part of the result; "
                "write `[](auto& y) -> auto& { return y.part; }`");
  using Part = std::remove_cvref_t<Given>;
  const Part& part = selector(result_);
  const Array* first = nullptr;
  std::size_t count = 0;
  tree::for_each_slot(part, [&](const Array& a) {
    if (count++ == 0) first = &a;
  });
  std::size_t begin = 0, found = rows_.size();
  tree::for_each_slot(result_, [&](const Array& a) {
    if (&a == first) found = begin;
    ++begin;
  });
  if (found == rows_.size()) detail::no_part_of_result(loc);
  if constexpr (std::is_same_v<Part, Array>) {
    return tree::clone(rows_[found]);
  } else {
    std::vector<X> rows;
    for (std::size_t i = found; i < found + count; ++i) rows.push_back(tree::clone(rows_[i]));
    return Jacobian<Part, X>(part, std::move(rows));
  }
}

template <class Y, class X>
template <class S>
auto Jacobian<Y, X>::by(S&& selector) const {
  using Given = std::invoke_result_t<S&, const X&>;
  static_assert(std::is_lvalue_reference_v<Given>,
                "gnomon: the selector of a Jacobian gives a reference to a part of the argument; "
                "write `[](auto& x) -> auto& { return x.part; }`");
  using Part = std::remove_cvref_t<Given>;
  if constexpr (std::is_same_v<Part, Array>) {
    Arrays column;
    for (const X& row : rows_) column.push_back(selector(row));
    return tree::with_slots(result_, column);
  } else {
    std::vector<Part> rows;
    for (const X& row : rows_) rows.push_back(tree::clone(selector(row)));
    return Jacobian<Y, Part>(result_, std::move(rows));
  }
}

/// The function that gives the Jacobian of `f` in its first argument, a JacobianOf the result's and
/// the argument's type, one column at a time in forward mode: for more results than arguments.
///
/// One vmap of jvp per array of the argument, over as many directions as it has elements.
template <class F>
auto jacfwd(F f, Loc loc = Loc::here()) {
  return [f = std::move(f), loc]<class X, class... A>(const X& x, const A&... rest) {
    using P = typename detail::ValuesOf<X>::type;
    const P& at = detail::ValuesOf<X>::of(x);
    auto traced = trace_at(loc, detail::with_tuple<P, A...>(f), at, rest...);
    return detail::arranged(traced.result, at,
                            detail::forward_blocks(detail::linearizable(traced, at, rest...), loc));
  };
}

/// The same one row at a time in reverse mode: for more arguments than results. Loops as for vjp.
///
/// One vmap of a pullback per array of the result, over as many cotangents as it has elements.
template <class F>
auto jacrev(F f, Loc loc = Loc::here()) {
  return [f = std::move(f), loc]<class X, class... A>(const X& x, const A&... rest) {
    using P = typename detail::ValuesOf<X>::type;
    const P& at = detail::ValuesOf<X>::of(x);
    auto traced = trace_at(loc, detail::with_tuple<P, A...>(f), at, rest...);
    return detail::arranged(traced.result, at,
                            detail::reverse_blocks(detail::linearizable(traced, at, rest...), loc));
  };
}

/// The function that gives the second derivatives of `f` in its first argument: jacfwd of jacrev.
///
/// For a scalar f of an Array x one array of shape x.shape + x.shape; of a struct X a Jacobian<X,
/// X>, h.of(a).b of shape a.shape + b.shape.
template <class F>
auto hessian(F f, Loc loc = Loc::here()) {
  return jacfwd(jacrev(std::move(f), loc), loc);
}

/// The Hessian of a scalar `f` at `x` times `v`, without the Hessian: forward mode over reverse
/// mode, a few times the cost of f. A tree like x, or a tuple of them for several arguments; arrays
/// of `v` as the tangent of jvp.
template <class F, class X, class V>
auto hvp(const F& f, const X& x, const V& v, Loc loc = Loc::here()) {
  return jvp(grad(f, loc), detail::ValuesOf<X>::of(x), v, loc).second;
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
/// May be called where it was made or in what is traced there (vmap, loops), while that records;
/// what was linearized at concrete arrays, anywhere.
template <class F, class X, class... A>
auto linearize_at(Loc loc, const F& f, const X& x, const A&... rest) {
  using P = typename detail::ValuesOf<X>::type;
  const P& at = detail::ValuesOf<X>::of(x);
  auto traced = trace_at(loc, detail::with_tuple<P, A...>(f), at, rest...);
  std::shared_ptr<const detail::LinearMap> map;
  auto value = tree::with_leaves(
      traced.result, detail::linearize_arrays(detail::linearizable(traced, at, rest...), map, loc));
  return Linearized<decltype(value), P>(std::move(value), tree::clone(at), std::move(map), loc);
}
template <class F, class X>
auto linearize(const F& f, const X& x, Loc loc = Loc::here()) {
  return linearize_at(loc, f, x);
}
template <class F, class X, class A>
auto linearize(const F& f, const X& x, const A& a, Loc loc = Loc::here()) {
  return linearize_at(loc, f, x, a);
}
template <class F, class X, class A, class B>
auto linearize(const F& f, const X& x, const A& a, const B& b, Loc loc = Loc::here()) {
  return linearize_at(loc, f, x, a, b);
}
template <class F, class X, class A, class B, class C>
auto linearize(const F& f, const X& x, const A& a, const B& b, const C& c, Loc loc = Loc::here()) {
  return linearize_at(loc, f, x, a, b, c);
}
template <class F, class X, class A, class B, class C, class... D>
requires(sizeof...(D) > 0) auto linearize(const F& f, const X& x, const A& a, const B& b,
                                          const C& c, const D&... rest) {
  return linearize_at(Loc{}, f, x, a, b, c, rest...);
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
  using P = typename detail::ValuesOf<X>::type;
  const P& at = detail::ValuesOf<X>::of(like);
  auto traced = trace_at(loc, detail::with_tuple<P>(f), at);
  auto map = detail::transpose_arrays(detail::linearizable(traced, at), loc);
  using Y = decltype(traced.result);
  return LinearTransposed<Y, P>(std::move(traced.result), tree::clone(at), std::move(map), loc);
}

}  // namespace gnomon
#pragma GCC visibility pop
