// engine/include/gnomon/operators/kinds.h -- what operators are made of: stored matrices,
// functions.
#pragma once
#include <concepts>
#include <utility>

#include "gnomon/operators/operator.h"
#include "gnomon/transform.h"

#pragma GCC visibility push(default)
namespace gnomon::operators {

/// The matrix itself: f[m, n], of vectors f[n] and f[m].
/// Throws UsageError where it becomes an Operator: for an array that is not a matrix of floats, for
/// tags that its shape contradicts.
struct Dense {
  Array matrix;
  Tags tags = {};
  operator Operator() const;  // NOLINT: implicit on purpose
};

/// diag(values): of vectors with the shape of `values`.
struct Diagonal {
  Array values;
  operator Operator() const;  // NOLINT: implicit on purpose
};

/// x itself, for trees x like `like`; of that only the types matter.
template <class X>
Operator identity(const X& like);

namespace detail {

using Arrays = std::vector<Array>;
Space space_of(const Arrays&);
std::shared_ptr<const Map> identity_map(Space);
/// A linear function of arrays; `transposed` may be empty.
std::shared_ptr<const Map> function_map(Handler<Arrays(const Arrays&)> f, Space in,
                                        Handler<Arrays(const Arrays&)> transposed, Tags, Loc);

}  // namespace detail

template <class X>
Operator identity(const X& like) {
  return Operator(detail::identity_map(detail::space_of(tree::leaves(like))));
}

/// A linear function `f` of trees like `like`; of that only the types matter. What `f` captures is
/// what the operator depends on. The transpose is that of the function's graph.
///
/// Unchecked: that `f` is linear. Throws UsageError when transposed, if an operation of it is not.
template <class F, class X>
Operator function(F f, const X& like, Tags tags = {}, Loc loc = Loc::here()) {
  using detail::Arrays;
  const auto erased = [f = std::move(f), like = tree::map([](const Array& a) { return a; }, like)](
                          const Arrays& x) { return tree::leaves(f(tree::with_leaves(like, x))); };
  return Operator(
      detail::function_map(erased, detail::space_of(tree::leaves(like)), {}, tags, loc));
}

/// The same with its transpose, a linear function from trees like f(like) to trees like `like`: for
/// functions whose graph has none, or a dearer one.
///
/// Unchecked: that it is the transpose.
template <class F, class Ft, class X>
requires(!std::same_as<X, Tags> && std::invocable<const F&, const X&>) Operator
    function(F f, Ft transposed, const X& like, Tags tags = {}, Loc loc = Loc::here()) {
  using detail::Arrays;
  const auto result = eval_shape(f, like);
  const auto erased = [f = std::move(f), like = tree::map([](const Array& a) { return a; }, like)](
                          const Arrays& x) { return tree::leaves(f(tree::with_leaves(like, x))); };
  const auto back = [g = std::move(transposed), result](const Arrays& y) {
    return tree::leaves(g(tree::with_leaves(result, y)));
  };
  return Operator(
      detail::function_map(erased, detail::space_of(tree::leaves(like)), back, tags, loc));
}

}  // namespace gnomon::operators
#pragma GCC visibility pop
