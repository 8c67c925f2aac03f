// codegen/include/gnomon/transform.h -- functions of functions: vmap, jvp, vjp, grad, eval_shape.
//
// Each takes a callable over trees, records it as a graph, transforms the graph and replays the
// result where it is called, inside a trace. They nest in any order. Callables are called as const
// and must be pure.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "gnomon/detail/function.h"
#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon {

/// An axis argument of vmap: the mapped axis, negative from the end, or `unmapped`.
using Axis = std::optional<int>;
inline constexpr std::nullopt_t unmapped = std::nullopt;

/// The mapped axis of each array of a tree: one for all of them, or a tree that says it part by
/// part.
///
/// Such a tree has the field names and lengths of the one it is about, as far down as it goes: what
/// stands in the place of a part (a number, an Axis, `unmapped`, `none`) is said of all arrays in
/// it. A struct with fields of type Axis will do; static fields may be left out. A tree of the same
/// type says that its arrays are mapped along axis 0 and its holes are not:
///   struct { Axis weight = 0, bias = unmapped; } axes;
///   vmap(f, {.in_axes = {axes, 0}})
///   vmap(f, {.in_axes = {tree::filter(model, spec), 0}})
class MappedAxes {
 public:
  MappedAxes(int axis) : entries_{{"", axis}} {}      // NOLINT: implicit on purpose
  MappedAxes(Axis axis) : entries_{{"", axis}} {}     // NOLINT: likewise
  MappedAxes(std::nullopt_t) : MappedAxes(Axis()) {}  // NOLINT: likewise
  template <class T>
  requires(!std::is_convertible_v<const T&, Axis> && !std::is_same_v<T, MappedAxes> &&
           !std::is_same_v<T, tree::detail::AnyTree>) MappedAxes(const T& axes)  // NOLINT: likewise
      : MappedAxes(tree::detail::AnyTree::of(axes)) {}
  explicit MappedAxes(tree::detail::AnyTree axes);

  /// The axis of the array at `path`; nothing where the tree does not go there.
  std::optional<Axis> find(std::string_view path) const;
  /// The parts it speaks of, in words.
  std::string text() const;

 private:
  std::vector<std::pair<std::string, Axis>> entries_;  // of different paths
};

struct VmapOptions {
  /// One per argument; empty: 0 for every argument.
  std::vector<MappedAxes> in_axes = {};
  /// One for the whole result, or one per element of a result that is a std::tuple, std::pair or
  /// struct; empty: 0. `unmapped` says that an array does not vary.
  std::vector<MappedAxes> out_axes = {};
  /// Needed only when no argument is mapped.
  Dim axis_size = 0;
  /// What psum and the like call the axis inside the function (gnomon/axes.h).
  std::string axis_name = {};
};

/// The type of an array, as an argument for eval_shape.
Array abstract_array(DType, const Shape&);

namespace detail {

/// What vmap works out before it traces.
class VmapPlan {
 public:
  VmapPlan(const VmapOptions& options, std::size_t arguments, Loc loc);
  /// Registers the arrays of the next argument and returns what one element of each is.
  Arrays elements(tree::detail::AnyTree argument);
  /// Makes the axis known to what is traced from here on, in the newest trace.
  void enter() const;
  /// Throws when what is at `path` of the next argument, `arrays` of them, is not mapped.
  void require_mapped(const std::vector<std::string>& paths) const;
  /// `paths`: of the arrays of the result; `counts`: arrays in each top-level element of it.
  Arrays run(const Graph&, const Arrays& captures, const std::vector<std::string>& paths,
             const std::vector<std::size_t>& counts);

 private:
  Array element(const Array& a, const std::string& path);

  Axis axis_of(const std::string& path) const;
  VmapOptions options_;
  Loc loc_;
  std::size_t argument_ = 0;
  Arrays inputs_;
  std::vector<Axis> axes_;
  Dim size_ = -1;
  std::string size_from_;  // the array that decided the size, in words
};

template <class T>
std::vector<std::size_t> top_level_counts(const T& tree) {
  std::vector<std::size_t> counts;
  if constexpr (tree::kind_of<T>() == tree::Kind::tuple) {
    std::apply([&](const auto&... e) { (counts.push_back(tree::leaf_count(e)), ...); }, tree);
  } else if constexpr (tree::kind_of<T>() == tree::Kind::fields) {
    reflect::for_each_field(
        tree, [&](std::string_view, const auto& f) { counts.push_back(tree::leaf_count(f)); });
  } else {
    counts.push_back(tree::leaf_count(tree));
  }
  return counts;
}

template <class F>
class Vmapped {
 public:
  Vmapped(F f, VmapOptions options, Loc loc)
      : f_(std::move(f)), options_(std::move(options)), loc_(loc) {}

  template <class... A>
  static constexpr bool accepts() {
    return detail::accepts<const F, tree::ElementOf<A>...>();
  }

  template <class... A>
  auto operator()(const A&... args) const {
    static_assert(sizeof...(A) > 0, "gnomon: vmap needs at least one argument");
    VmapPlan plan(options_, sizeof...(A), loc_);
    // Braces evaluate from left to right.
    std::tuple<tree::ElementOf<A>...> elements{element(plan, args)...};
    check_takes_values<const F, tree::ElementOf<A>...>();
    static_assert(std::is_invocable_v<const F&, tree::ElementOf<A>...>,
                  "gnomon: the function of a vmap cannot be called with one element of these "
                  "arguments");
    const auto named = [&](auto&&... a) {
      plan.enter();
      return f_(std::forward<decltype(a)>(a)...);
    };
    auto traced =
        std::apply([&](const auto&... e) { return trace_at(loc_, named, e...); }, elements);
    return tree::with_leaves(
        tree::as_stacked(traced.result),
        plan.run(traced.graph, traced.captures, tree::leaf_paths(traced.result),
                 top_level_counts(traced.result)));
  }

 private:
  /// What holds one thing per element (Keys) has to be mapped.
  template <class T>
  static void require_mapped(const VmapPlan& plan, const T& part, const std::string& path) {
    if constexpr (!std::is_same_v<tree::ElementOf<T>, T>) {
      if constexpr (tree::kind_of<T>() == tree::Kind::tuple) {
        std::size_t i = 0;
        std::apply(
            [&](const auto&... e) {
              (require_mapped(plan, e, path + "[" + std::to_string(i++) + "]"), ...);
            },
            part);
      } else {
        plan.require_mapped(tree::leaf_paths(part, path));
      }
    }
  }

  template <class T>
  static tree::ElementOf<T> element(VmapPlan& plan, const T& argument) {
    require_mapped(plan, argument, "");
    return tree::with_leaves(tree::as_element(argument),
                             plan.elements(tree::detail::AnyTree::of(argument)));
  }

  F f_;
  VmapOptions options_;
  Loc loc_;
};

/// A traced callable with all inputs, those of the arguments and the captures.
struct Linearizable {
  TracedGraph graph;
  Arrays inputs;
  std::size_t first = 0;  // arrays of the argument to differentiate in, which comes first
};

/// Values, then tangents: holes for arrays that are not of floats. `tangents` has a hole where the
/// argument does not move.
Arrays jvp_arrays(const Linearizable&, const Arrays& tangents,
                  const std::vector<std::string>& paths, Loc);
/// Holds the forward pass of a vjp. Shared: a pullback may be copied and called again.
struct PullbackState;
std::shared_ptr<const PullbackState> start_vjp(const Linearizable&, Loc);
Arrays vjp_outputs(const PullbackState&);
/// Of the first outputs, a hole for a zero; those behind have none.
Arrays vjp_cotangents(const PullbackState&, const Arrays& cotangents, Loc);
void check_scalar(const Aval&, Loc);
Array one_like(const Array&);
[[noreturn]] void wrong_structure(std::string_view op, std::string_view what, Loc);

/// What `other` has in the places of the leaves of `like`, holes included.
template <class T>
Arrays aligned(std::string_view op, std::string_view what, const T& like, const T& other, Loc loc) {
  const Arrays places = tree::slots(like), given = tree::slots(other);
  if (places.size() != given.size()) wrong_structure(op, what, loc);
  Arrays result;
  for (std::size_t i = 0; i < places.size(); ++i)
    if (!places[i].is_hole()) result.push_back(given[i]);
  return result;
}

/// Whether F takes the elements of a tuple one by one, and not the tuple.
template <class F, class X, class... A>
inline constexpr bool takes_elements = false;
template <class F, class... X, class... A>
inline constexpr bool takes_elements<F, std::tuple<X...>, A...> =
    std::conjunction_v<std::negation<Accepts<F, std::tuple<X...>, A...>>, Accepts<F, X..., A...>>;

/// `f` as a function of X first: a tuple stands for several arguments where `f` takes them one by
/// one. Refers to `f`.
template <class X, class... A, class F>
decltype(auto) with_tuple(const F& f) {
  if constexpr (takes_elements<const F, X, A...>) {
    return [&f](X x, A... rest) {
      return std::apply([&](auto&... e) { return f(std::move(e)..., std::move(rest)...); }, x);
    };
  } else {
    check_takes_values<const F, X, A...>();
    return (f);
  }
}

/// X itself; of a tuple of references (std::tie) the tuple of what they refer to.
template <class X>
struct ValuesOf {
  static_assert(tree::detail::differentiable<X>(),
                "gnomon: what is differentiated in holds a State, which no gradient reaches: "
                "gradients are of parameters. Pass the model first and the state behind it: "
                "grad(loss, has_aux)(model, state, x)");
  using type = X;
  static const X& of(const X& x) { return x; }
};
template <class... X>
requires(std::is_reference_v<X> || ...) struct ValuesOf<std::tuple<X...>> {
  static_assert((tree::detail::differentiable<std::remove_cvref_t<X>>() && ...),
                "gnomon: what is differentiated in holds a State, which no gradient reaches: "
                "gradients are of parameters. Pass the model first and the state behind it: "
                "grad(loss, has_aux)(model, state, x)");
  using type = std::tuple<std::remove_cvref_t<X>...>;
  static type of(const std::tuple<X...>& x) {
    return std::apply([](const auto&... e) { return type{tree::clone(e)...}; }, x);
  }
};

/// `aligned` of a tangent that may be `none`, as a whole or of an argument among several.
template <class X, class D>
Arrays aligned_tangent(std::string_view op, const X& x, const D& tangent, Loc loc) {
  if constexpr (std::is_same_v<D, None>) {
    return Arrays(tree::leaf_count(x), Array::hole());
  } else if constexpr (std::is_same_v<D, X>) {
    return aligned(op, "tangent", x, tangent, loc);
  } else {
    static_assert(
        always_false<D>,
        "gnomon: a tangent is a tree like what moves, or gnomon::none; several arguments "
        "and their tangents are two tuples: jvp(f, std::tuple{x, y}, std::tuple{dx, dy})");
    return {};
  }
}
template <class... X, class... D>
requires(sizeof...(X) == sizeof...(D)) Arrays
    aligned_tangent(std::string_view op, const std::tuple<X...>& x, const std::tuple<D...>& tangent,
                    Loc loc) {
  Arrays all;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto add = [&](const Arrays& some) { all.insert(all.end(), some.begin(), some.end()); };
    (add(aligned_tangent(op, std::get<I>(x), std::get<I>(tangent), loc)), ...);
  }
  (std::index_sequence_for<X...>{});
  return all;
}

template <class R, class X, class... A>
Linearizable linearizable(const Traced<R>& traced, const X& x, const A&... rest) {
  Linearizable result{traced.graph, all_leaves(x, rest...), tree::leaf_count(x)};
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
  return make_graph(f, args...).result;
}

namespace detail {
double operations(const Graph&);
}

/// How many scalar operations a call of `f` is, as far as its trace shows: an estimate for choosing
/// between forms of a computation. A transcendental function counts 12, a product of matrices its
/// terms, a loop 16 of its steps or all, where it is known how many there are. Nothing is recorded
/// where it is called, and nothing runs.
template <class F, class... A>
double count_operations(const F& f, const A&... args) {
  return detail::operations(make_graph(f, args...).graph);
}

/// A last argument of grad and value_and_grad, and the first one of vjp: the function returns a
/// std::pair of what is differentiated and anything else, which comes back as it is.
///
///   auto [g, aux] = grad(loss_and_aux, has_aux)(params, x);
///   auto [both, g2] = value_and_grad(loss_and_aux, has_aux)(params, x);  // both: {loss, aux}
///   auto [pullback, aux3] = vjp(has_aux, f_and_aux, params, x);
///
/// The other transforms have no such word: what they give has the structure of the whole result.
/// A word and not a guess from the type: a pair is a good result of a function that vjp
/// differentiates whole, and the call says what the function's author meant.
struct HasAux {};
inline constexpr HasAux has_aux{};

// Several arguments to differentiate in are a std::tuple (or std::tie) of them, here and wherever
// an x stands below; `f` takes them one by one, or the tuple. Derivatives are tuples then:
//   auto [dx, dy] = grad(f)(std::tuple{x, y});
//   auto [value, change] = jvp(f, std::tuple{x, y}, std::tuple{dx, none});

/// {f(x), its derivative at x in the direction `tangent`}.
///
/// The derivative is a tree like f(x) with holes for arrays that are not of floats. Those of
/// `tangent` are ignored, and a hole in it says that x does not move there, as `none` says of a
/// whole argument: cheaper than zeros. Throws UsageError when the types of `x` and `tangent`
/// differ.
template <class F, class X, class D>
auto jvp(const F& f, const X& x, const D& tangent, Loc loc = Loc::here()) {
  using P = typename detail::ValuesOf<X>::type;
  const P& at = detail::ValuesOf<X>::of(x);
  auto traced = trace_at(loc, detail::with_tuple<P>(f), at);
  const Arrays all =
      detail::jvp_arrays(detail::linearizable(traced, at),
                         detail::aligned_tangent("jvp", at, detail::ValuesOf<D>::of(tangent), loc),
                         tree::leaf_paths(at), loc);
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  return std::pair{tree::with_leaves(traced.result, Arrays(all.begin(), middle)),
                   tree::with_leaves(traced.result, Arrays(middle, all.end()))};
}

/// Whether `a` is zero for all arguments of the function that is being traced, as the derivatives
/// are of what does not depend on x (JAX: a symbolic zero). What would be computed with it can be
/// left out, which the compiler must not do by itself: NaN times 0 is NaN.
///
/// False where that does not show: of arrays with elements, outside a trace, and of zeros that
/// arithmetic made.
bool is_symbolic_zero(const Array& a);

/// The value of a function and its cotangents on request.
template <class Y, class X>
class Pullback {
 public:
  Pullback(Y y, X like, std::shared_ptr<const detail::PullbackState> state, Loc loc)
      : value(std::move(y)), like_(std::move(like)), state_(std::move(state)), loc_(loc) {}
  /// Transposed Jacobian times `cotangent`: a tree like `x`, with holes for arrays that are not of
  /// floats. Those of `cotangent` are ignored; a hole in it is a zero.
  /// Throws UsageError when the types of `cotangent` are not those of the value.
  X operator()(const Y& cotangent) const {
    return tree::with_leaves(
        like_, detail::vjp_cotangents(
                   *state_, detail::aligned("vjp", "cotangent", value, cotangent, loc_), loc_));
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
requires(!std::is_same_v<F, HasAux>) auto vjp_at(Loc loc, const F& f, const X& x,
                                                 const A&... rest) {
  using P = typename detail::ValuesOf<X>::type;
  const P& at = detail::ValuesOf<X>::of(x);
  auto traced = trace_at(loc, detail::with_tuple<P, A...>(f), at, rest...);
  auto state = detail::start_vjp(detail::linearizable(traced, at, rest...), loc);
  auto value = tree::with_leaves(traced.result, detail::vjp_outputs(*state));
  return Pullback<decltype(value), P>(std::move(value), tree::clone(at), std::move(state), loc);
}

namespace detail {
template <class T>
concept PairOfTrees = tree::detail::IsPair<T>::value;
}

/// {pullback of the first element, second element} of a function that returns a pair.
template <class F, class X, class... A>
auto vjp_at(Loc loc, HasAux, const F& f, const X& x, const A&... rest) {
  using P = typename detail::ValuesOf<X>::type;
  const P& at = detail::ValuesOf<X>::of(x);
  const auto& g = detail::with_tuple<P, A...>(f);
  static_assert(detail::PairOfTrees<ResultOf<decltype(g), P, A...>>,
                "gnomon: with has_aux the function returns std::pair{what to differentiate, aux}");
  auto traced = trace_at(loc, g, at, rest...);
  auto state = detail::start_vjp(detail::linearizable(traced, at, rest...), loc);
  auto both = tree::with_leaves(traced.result, detail::vjp_outputs(*state));
  using Y = decltype(both.first);
  return std::pair{Pullback<Y, P>(std::move(both.first), tree::clone(at), std::move(state), loc),
                   std::move(both.second)};
}

// Of vjp, linearize and the like there is a form for each number of arguments, since a default
// argument, the line of the call, cannot stand behind a pack of them. Messages of calls with more
// arguments end without a line; `vjp_at` is given one.

template <class F, class X>
auto vjp(const F& f, const X& x, Loc loc = Loc::here()) {
  return vjp_at(loc, f, x);
}
template <class F, class X, class A>
auto vjp(const F& f, const X& x, const A& a, Loc loc = Loc::here()) {
  return vjp_at(loc, f, x, a);
}
template <class F, class X, class A, class B>
auto vjp(const F& f, const X& x, const A& a, const B& b, Loc loc = Loc::here()) {
  return vjp_at(loc, f, x, a, b);
}
template <class F, class X, class A, class B, class C>
auto vjp(const F& f, const X& x, const A& a, const B& b, const C& c, Loc loc = Loc::here()) {
  return vjp_at(loc, f, x, a, b, c);
}
template <class F, class X, class A, class B, class C, class D>
auto vjp(const F& f, const X& x, const A& a, const B& b, const C& c, const D& d,
         Loc loc = Loc::here()) {
  return vjp_at(loc, f, x, a, b, c, d);
}
template <class F, class X, class... A>
requires(sizeof...(A) > 4) auto vjp(const F& f, const X& x, const A&... rest) {
  return vjp_at(Loc{}, f, x, rest...);
}

template <class V, class G>
struct ValueAndGrad {
  V value;
  G grad;
};

namespace detail {

/// The cotangent of a scalar: the gradient.
template <class X>
X gradient(const PullbackState& state, const X& x, const Array& value, Loc loc) {
  check_scalar(value.aval(), loc);
  return tree::with_leaves(x, vjp_cotangents(state, {one_like(value)}, loc));
}

}  // namespace detail

/// The function that gives f and its gradient in the first argument: a tree like it, with holes for
/// arrays that are not of floats (tree::add leaves those of the parameters alone).
///
/// What else is differentiable but shall not be: tree::separate, or a further argument.
/// Loops as for vjp. Throws UsageError when `f` is not a scalar float.
template <class F>
auto value_and_grad(F f, Loc loc = Loc::here()) {
  return [f = std::move(f), loc]<class X, class... A>(const X& x, const A&... rest) {
    using P = typename detail::ValuesOf<X>::type;
    const P& at = detail::ValuesOf<X>::of(x);
    const auto& g = detail::with_tuple<P, A...>(f);
    static_assert(!detail::PairOfTrees<ResultOf<decltype(g), P, A...>>,
                  "gnomon: grad needs a function that returns one scalar Array; for one that "
                  "returns std::pair{loss, aux} write grad(f, has_aux)");
    static_assert(std::is_same_v<ResultOf<decltype(g), P, A...>, Array>,
                  "gnomon: grad needs a function that returns one scalar Array");
    auto traced = trace_at(loc, g, at, rest...);
    detail::check_scalar(traced.result.aval(), loc);
    const auto state = detail::start_vjp(detail::linearizable(traced, at, rest...), loc);
    const Array value = detail::vjp_outputs(*state).front();
    return ValueAndGrad<Array, P>{value, detail::gradient(*state, at, value, loc)};
  };
}

/// The same for a function that returns std::pair{loss, aux}: `value` is that pair.
template <class F>
auto value_and_grad(F f, HasAux, Loc loc = Loc::here()) {
  return [f = std::move(f), loc]<class X, class... A>(const X& x, const A&... rest) {
    using P = typename detail::ValuesOf<X>::type;
    const P& at = detail::ValuesOf<X>::of(x);
    const auto& g = detail::with_tuple<P, A...>(f);
    using R = ResultOf<decltype(g), P, A...>;
    static_assert(detail::PairOfTrees<R>,
                  "gnomon: with has_aux the function returns std::pair{loss, aux}");
    static_assert(std::is_same_v<typename R::first_type, Array>,
                  "gnomon: grad needs a loss that is one scalar Array, first in the pair");
    auto traced = trace_at(loc, g, at, rest...);
    detail::check_scalar(traced.result.first.aval(), loc);
    const auto state = detail::start_vjp(detail::linearizable(traced, at, rest...), loc);
    R value = tree::with_leaves(traced.result, detail::vjp_outputs(*state));
    P gradient = detail::gradient(*state, at, value.first, loc);
    return ValueAndGrad<R, P>{std::move(value), std::move(gradient)};
  };
}

/// The gradient alone.
template <class F>
auto grad(F f, Loc loc = Loc::here()) {
  return [both = value_and_grad(std::move(f), loc)](const auto& x, const auto&... rest) {
    return both(x, rest...).grad;
  };
}

/// {gradient, aux} of a function that returns std::pair{loss, aux}.
template <class F>
auto grad(F f, HasAux, Loc loc = Loc::here()) {
  return [both = value_and_grad(std::move(f), has_aux, loc)](const auto& x, const auto&... rest) {
    auto all = both(x, rest...);
    return std::pair{std::move(all.grad), std::move(all.value.second)};
  };
}

}  // namespace gnomon
#pragma GCC visibility pop
