// codegen/include/gnomon/transform.h -- functions of functions: vmap, jvp, vjp, grad, eval_shape.
//
// Each takes a callable over trees, records it as a graph, transforms the graph and replays the
// result where it is called, inside a trace. They nest in any order. Callables are called as const
// and must be pure.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "codegen/trace/function.h"
#include "gnomon/tree.h"

namespace gnomon {

/// An axis argument of vmap: the mapped axis, negative from the end, or `unmapped`.
using Axis = std::optional<int>;
inline constexpr std::nullopt_t unmapped = std::nullopt;

struct VmapOptions {
  /// One per argument, for all arrays in it; empty: 0 for every argument.
  std::vector<Axis> in_axes = {};
  /// One for the whole result, or one per element of a result that is a std::tuple, std::pair or
  /// struct; empty: 0. `unmapped` says that the element does not vary.
  std::vector<Axis> out_axes = {};
  /// Needed only when no argument is mapped.
  Dim axis_size = 0;
};

/// The type of an array, as an argument for eval_shape.
Array abstract_array(DType, const Shape&);

namespace detail {

/// What vmap works out before it traces.
class VmapPlan {
 public:
  VmapPlan(const VmapOptions& options, std::size_t arguments, Loc loc);
  /// Registers an array of the next argument and returns what one element of it is.
  Array element(const Array& a, const std::string& path);
  void next_argument() { ++argument_; }
  /// Throws when the next argument is not mapped.
  void require_mapped() const;
  /// `counts`: arrays in each top-level element of the result.
  Arrays run(const Graph&, const Arrays& captures, const std::vector<std::size_t>& counts);

 private:
  VmapOptions options_;
  Loc loc_;
  std::size_t argument_ = 0;
  Arrays inputs_;
  BatchAxes axes_;
  Dim size_ = -1;
  std::string size_from_;  // the array that decided the size, in words
};

template <class T>
std::size_t leaf_count(const T& tree) {
  std::size_t n = 0;
  tree::for_each_leaf(tree, [&](const Array&) { ++n; });
  return n;
}

template <class T>
std::vector<std::size_t> top_level_counts(const T& tree) {
  std::vector<std::size_t> counts;
  if constexpr (tree::kind_of<T>() == tree::Kind::tuple) {
    std::apply([&](const auto&... e) { (counts.push_back(leaf_count(e)), ...); }, tree);
  } else if constexpr (tree::kind_of<T>() == tree::Kind::fields) {
    reflect::for_each_field(
        tree, [&](std::string_view, const auto& f) { counts.push_back(leaf_count(f)); });
  } else {
    counts.push_back(leaf_count(tree));
  }
  return counts;
}

template <class F>
class Vmapped {
 public:
  Vmapped(F f, VmapOptions options, Loc loc)
      : f_(std::move(f)), options_(std::move(options)), loc_(loc) {}

  template <class... A>
  auto operator()(const A&... args) const {
    static_assert(sizeof...(A) > 0, "gnomon: vmap needs at least one argument");
    VmapPlan plan(options_, sizeof...(A), loc_);
    // Braces evaluate from left to right.
    std::tuple<tree::ElementOf<A>...> elements{element(plan, args)...};
    auto traced = std::apply([&](const auto&... e) { return trace_at(loc_, f_, e...); }, elements);
    return tree::with_leaves(
        tree::as_stacked(traced.result),
        plan.run(traced.graph, traced.captures, top_level_counts(traced.result)));
  }

 private:
  template <class T>
  static tree::ElementOf<T> element(VmapPlan& plan, const T& argument) {
    if constexpr (!std::is_same_v<tree::ElementOf<T>, T>) plan.require_mapped();
    Arrays arrays;
    tree::for_each_leaf(argument, [&](const Array& a, const std::string& path) {
      arrays.push_back(plan.element(a, path));
    });
    plan.next_argument();
    return tree::with_leaves(tree::as_element(argument), arrays);
  }

  F f_;
  VmapOptions options_;
  Loc loc_;
};

/// A traced callable with all inputs, those of the arguments and the captures.
struct Linearizable {
  Graph graph;
  Arrays inputs;
  std::size_t first = 0;  // arrays of the argument to differentiate in, which comes first
};

Arrays jvp_arrays(const Linearizable&, const Arrays& tangents,
                  const std::vector<std::string>& paths, Loc);
/// Holds the forward pass of a vjp. Shared: a pullback may be copied and called again.
struct PullbackState;
std::shared_ptr<const PullbackState> start_vjp(const Linearizable&, Loc);
Arrays vjp_outputs(const PullbackState&);
Arrays vjp_cotangents(const PullbackState&, const Arrays& cotangents, Loc);
void check_scalar(const Graph&, Loc);
Array one_like(const Array&);

template <class T>
std::vector<std::string> leaf_paths(const T& tree) {
  std::vector<std::string> paths;
  tree::for_each_leaf(tree, [&](const Array&, const std::string& path) { paths.push_back(path); });
  return paths;
}

template <class R, class X, class... A>
Linearizable linearizable(const Traced<R>& traced, const X& x, const A&... rest) {
  Linearizable result{traced.graph, all_leaves(x, rest...), leaf_count(x)};
  result.inputs.insert(result.inputs.end(), traced.captures.begin(), traced.captures.end());
  return result;
}

}  // namespace detail

/// `f` for many elements at once: arrays of mapped arguments carry them along an axis, results get
/// one.
///
/// Loops inside stay loops in which every element stops on its own count. Captured arrays are
/// shared by all elements. Throws UsageError when mapped axes have different lengths or an array
/// lacks the axis, naming the arrays.
template <class F>
auto vmap(F f, VmapOptions options = {}, Loc loc = Loc::here()) {
  return detail::Vmapped<F>(std::move(f), std::move(options), loc);
}

/// The result of `f` with arrays that have types but no elements. Nothing is recorded where it is
/// called. Arguments may hold arrays from `abstract_array`.
template <class F, class... A>
auto eval_shape(const F& f, const A&... args) {
  return trace(f, args...).result;
}

/// {f(x), its derivative at x in the direction `tangent`}. Integer arrays in `tangent` are ignored.
template <class F, class X>
auto jvp(const F& f, const X& x, const X& tangent, Loc loc = Loc::here()) {
  auto traced = trace_at(loc, f, x);
  const Arrays all = detail::jvp_arrays(detail::linearizable(traced, x), tree::leaves(tangent),
                                        detail::leaf_paths(x), loc);
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  return std::pair{tree::with_leaves(traced.result, Arrays(all.begin(), middle)),
                   tree::with_leaves(traced.result, Arrays(middle, all.end()))};
}

/// The value of a function and its cotangents on request.
template <class Y, class X>
class Pullback {
 public:
  Pullback(Y y, X like, std::shared_ptr<const detail::PullbackState> state, Loc loc)
      : value(std::move(y)), like_(std::move(like)), state_(std::move(state)), loc_(loc) {}
  /// Transposed Jacobian times `cotangent`: as `x`, zeros for integer arrays.
  X operator()(const Y& cotangent) const {
    return tree::with_leaves(like_, detail::vjp_cotangents(*state_, tree::leaves(cotangent), loc_));
  }
  Y value;

 private:
  X like_;
  std::shared_ptr<const detail::PullbackState> state_;
  Loc loc_;
};

/// Reverse mode in the first argument, of any order.
///
/// Loops that depend on it keep what their kind says (gnomon/loop_kind.h), as far as the derivative
/// of a step looks at it. Throws UsageError for loops whose kind has no reverse mode, or needs a
/// bound that they do not have.
template <class F, class X, class... A>
auto vjp(const F& f, const X& x, const A&... rest) {
  auto traced = trace(f, x, rest...);
  auto state = detail::start_vjp(detail::linearizable(traced, x, rest...), Loc{});
  auto value = tree::with_leaves(traced.result, detail::vjp_outputs(*state));
  return Pullback<decltype(value), X>(std::move(value), tree::clone(x), std::move(state), Loc{});
}

template <class V, class G>
struct ValueAndGrad {
  V value;
  G grad;
};

/// The function that gives f and its gradient in the first argument, a tree like it.
/// Loops as for vjp. Throws UsageError when `f` is not a scalar float.
template <class F>
auto value_and_grad(F f, Loc loc = Loc::here()) {
  return [f = std::move(f), loc]<class X, class... A>(const X& x, const A&... rest) {
    static_assert(std::is_same_v<ResultOf<const F, X, A...>, Array>,
                  "gnomon: grad needs a function that returns one scalar Array");
    auto traced = trace_at(loc, f, x, rest...);
    detail::check_scalar(traced.graph, loc);
    const auto state = detail::start_vjp(detail::linearizable(traced, x, rest...), loc);
    const Array value = detail::vjp_outputs(*state).front();
    const Arrays gradient = detail::vjp_cotangents(*state, {detail::one_like(value)}, loc);
    return ValueAndGrad<Array, X>{value, tree::with_leaves(x, gradient)};
  };
}

/// The gradient alone.
template <class F>
auto grad(F f, Loc loc = Loc::here()) {
  return [both = value_and_grad(std::move(f), loc)](const auto& x, const auto&... rest) {
    return both(x, rest...).grad;
  };
}

}  // namespace gnomon
