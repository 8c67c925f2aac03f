// codegen/include/gnomon/custom.h -- functions that bring their own derivatives or batching:
// custom_jvp, custom_vjp, custom_vmap; values that have no derivative; closure_convert.
//
// The rules are traced where the function is called, together with it: they may capture arrays by
// reference, and are called once. The call stays whole through vmap, jit, loops, branches and
// derivatives of any order; a derivative of a rule is that of its operations. What function and
// rules capture are constants: an array that is differentiated in has to be an argument.
//
// In the signatures below x stands for all arguments of the function, and so do dx and `perturbed`:
// a rule takes each of these as the function does, one by one, or as one std::tuple of several (a
// generic lambda: one by one). Where a rule gives dx, that of several arguments is a std::tuple. So
// the rule of f(a, b) is (a, b, da, db) -> {y, dy}, or (std::tuple x, std::tuple dx) -> {y, dy}.
//
// dx and dy are trees like x and y, with holes for arrays that are not of floats. `perturbed` is
// a tree like x of bool[] arrays: whether x moves there, holes for what cannot. The flags are
// constants once it is known, so cond and where on them cost nothing.
#pragma once
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "gnomon/transform.h"

#pragma GCC visibility push(default)
namespace gnomon {
namespace detail {

/// One argument as it is, several as a tuple.
template <class... A>
struct Packed {
  using type = std::tuple<A...>;
  static type of(A... a) { return type{std::move(a)...}; }
};
template <class A>
struct Packed<A> {
  using type = A;
  static A of(A a) { return a; }
};

/// Whether F takes the elements of all these tuples, one behind the other.
template <class F, class... Tuples>
struct TakesAll : TakesAll<F, decltype(std::tuple_cat(std::declval<Tuples>()...))> {};
template <class F, class... T>
struct TakesAll<F, std::tuple<T...>> : std::is_invocable<F, T...> {};

template <class F, class... Tuples>
auto apply_all(const F& f, Tuples... tuples) {
  return std::apply(f, std::tuple_cat(std::move(tuples)...));
}

/// The same tree with bool[] arrays for arrays of floats and holes for others.
template <class T>
T flags_like(const T& tree) {
  return tree::map(
      [](const Array& a) {
        return is_float(a.dtype()) ? abstract_array(DType::boolean, {}) : Array::hole();
      },
      tree);
}
/// The arrays of floats, holes for others.
template <class T>
T moving_part(const T& tree) {
  return tree::map([](const Array& a) { return is_float(a.dtype()) ? a : Array::hole(); }, tree);
}

/// Arrays with their places, as messages show them.
struct Described {
  std::vector<std::string> paths;
  Arrays arrays;  // holes too
  std::string statics;
};
template <class T>
Described described(const T& tree, std::string prefix) {
  Described d;
  tree::for_each_slot(
      tree,
      [&](const Array& a, const std::string& path) {
        d.paths.push_back(path);
        d.arrays.push_back(a);
      },
      std::move(prefix));
  return d;
}
/// A tangent or cotangent for each array of floats in `like`: what `given` has there, zeros for
/// holes. Throws UsageError with both structures when the types differ.
Arrays matched(std::string_view op, std::string_view like_what, const Described& like,
               std::string_view given_what, const Described& given, Loc);
/// Throws UsageError with both structures unless all types agree.
void check_same(std::string_view op, std::string_view like_what, const Described& like,
                std::string_view given_what, const Described& given, Loc);

/// A traced function or rule.
struct Piece {
  TracedGraph graph;
  Arrays captures;
  std::size_t own = 0;  // inputs in front of the captures
};
/// What it means when a captured array is differentiated in: an error, or nothing.
enum class Captures : std::uint8_t { may_not_move, are_fixed };
Arrays emit_custom_jvp(Piece body, Piece rule, const Arrays& arguments, Loc,
                       Captures = Captures::may_not_move);
/// The graphs of the pieces with the union of their captures behind the inputs of each, and that
/// union.
Arrays shared_captures(const std::vector<Piece*>& pieces, std::vector<Graph>& graphs);
Arrays emit_custom_vjp(Piece body, Piece forward, Piece backward, const Arrays& arguments, Loc);
std::vector<Array> marked(const std::vector<Array>&, bool backward_only, const std::string& name,
                          Loc);

template <class R>
Piece piece(Traced<R>&& traced) {
  const std::size_t own = traced.graph.input_count() - traced.captures.size();
  return {std::move(traced.graph), std::move(traced.captures), own};
}

template <class F, class Rule>
class CustomJvp {
 public:
  CustomJvp(F f, Rule rule, Loc loc) : f_(std::move(f)), rule_(std::move(rule)), loc_(loc) {}

  template <class... A>
  static constexpr bool accepts() {
    return detail::accepts<const F, A...>();
  }

  template <class... A>
  auto operator()(const A&... args) const {
    check_takes_values<const F, A...>();
    using X = typename Packed<A...>::type;
    using Y = ResultOf<const F, A...>;
    using Each = std::tuple<A...>;
    using Whole = std::tuple<X>;
    constexpr bool one_by_one = forms<Each, Y>();
    static_assert(
        std::disjunction_v<std::bool_constant<one_by_one>, HasForm<Whole, Y>>,
        "gnomon: a rule of custom_jvp is (x, dx) -> std::pair{y, dy}, (x, y, dx) -> dy or "
        "(x, y, dx, perturbed) -> dy; x is the argument, or all of them one by one, or a "
        "std::tuple of several, and dx likewise");
    auto body = trace_at(loc_, f_, args...);
    const X x = Packed<A...>::of(tree::clone(args)...);
    const auto tangents = [&](const X& at, const Y& y, const X& dx, const X& perturbed) {
      const Described result = described(y, "y");
      const auto as = [](const X& tree) {
        if constexpr (!one_by_one || sizeof...(A) == 1)
          return Whole{tree::clone(tree)};
        else
          return tree::clone(tree);
      };
      using Form = std::conditional_t<one_by_one, Each, Whole>;
      using Value = std::tuple<Y>;
      if constexpr (TakesAll<const Rule&, Form, Value, Form, Form>::value) {
        return given_tangents(
            result, apply_all(rule_, as(at), Value{tree::clone(y)}, as(dx), as(perturbed)));
      } else if constexpr (TakesAll<const Rule&, Form, Value, Form>::value) {
        return given_tangents(result, apply_all(rule_, as(at), Value{tree::clone(y)}, as(dx)));
      } else {
        auto both = apply_all(rule_, as(at), as(dx));
        static_assert(PairOfTrees<decltype(both)>,
                      "gnomon: a rule (x, dx) of custom_jvp gives std::pair{y, dy}");
        static_assert(std::is_same_v<typename decltype(both)::first_type, Y>,
                      "gnomon: a rule of custom_jvp gives the function's type first");
        check_same("custom_jvp", "the function gives", result, "the rule",
                   described(both.first, "y"), loc_);
        return given_tangents(result, both.second);
      }
    };
    auto rule = trace_at(loc_, tangents, x, body.result, moving_part(x), flags_like(x));
    return tree::with_leaves(
        body.result,
        emit_custom_jvp(piece(std::move(body)), piece(std::move(rule)), tree::leaves(x), loc_));
  }

 private:
  /// Whether the rule takes arguments in this form, in one of the three ways.
  template <class Form, class Y>
  static constexpr bool forms() {
    return TakesAll<const Rule&, Form, Form>::value ||
           TakesAll<const Rule&, Form, std::tuple<Y>, Form>::value ||
           TakesAll<const Rule&, Form, std::tuple<Y>, Form, Form>::value;
  }
  template <class Form, class Y>
  struct HasForm : std::bool_constant<forms<Form, Y>()> {};

  template <class Y>
  Arrays given_tangents(const Described& result, const Y& dy) const {
    return matched("custom_jvp", "the function gives", result, "the rule's tangent",
                   described(dy, "y"), loc_);
  }

  F f_;
  Rule rule_;
  Loc loc_;
};

template <class F, class Forward, class Backward>
class CustomVjp {
 public:
  CustomVjp(F f, Forward forward, Backward backward, Loc loc)
      : f_(std::move(f)), forward_(std::move(forward)), backward_(std::move(backward)), loc_(loc) {}

  template <class... A>
  static constexpr bool accepts() {
    return detail::accepts<const F, A...>();
  }

  template <class... A>
  auto operator()(const A&... args) const {
    check_takes_values<const F, A...>();
    using X = typename Packed<A...>::type;
    using Y = ResultOf<const F, A...>;
    using Each = std::tuple<A...>;
    using Whole = std::tuple<X>;
    // Flags may be a tuple also behind arguments one by one. Only the first that fits is looked at:
    // a generic lambda would have to compile for the others.
    constexpr bool each_flags = TakesAll<const Forward&, Each, Each>::value;
    constexpr bool each_whole = TakesAll<const Forward&, Each, Whole>::value;
    constexpr bool one_by_one = each_flags || each_whole || TakesAll<const Forward&, Each>::value;
    constexpr bool whole_flags =
        std::conjunction_v<std::bool_constant<!one_by_one>, TakesAll<const Forward&, Whole, Whole>>;
    static_assert(std::disjunction_v<std::bool_constant<one_by_one || whole_flags>,
                                     TakesAll<const Forward&, Whole>>,
                  "gnomon: the forward pass of custom_vjp takes the arguments of the function, one "
                  "by one or as a std::tuple of several, and may take `perturbed` behind them");
    auto body = trace_at(loc_, f_, args...);
    const X x = Packed<A...>::of(tree::clone(args)...);
    const auto ahead = [&](const A&... a, const X& perturbed) {
      auto both = [&] {
        const auto given = [&] {
          if constexpr (one_by_one)
            return Each{tree::clone(a)...};
          else
            return Whole{Packed<A...>::of(tree::clone(a)...)};
        };
        if constexpr (each_flags && sizeof...(A) > 1)
          return apply_all(forward_, given(), tree::clone(perturbed));
        else if constexpr (each_flags || each_whole || whole_flags)
          return apply_all(forward_, given(), Whole{tree::clone(perturbed)});
        else
          return apply_all(forward_, given());
      }();
      static_assert(PairOfTrees<decltype(both)>,
                    "gnomon: the forward pass of custom_vjp gives std::pair{y, residuals}");
      static_assert(std::is_same_v<typename decltype(both)::first_type, Y>,
                    "gnomon: the forward pass of custom_vjp gives the function's type first");
      check_same("custom_vjp", "the function gives", described(body.result, "y"),
                 "the forward pass", described(both.first, "y"), loc_);
      return both;
    };
    auto forward = trace_at(loc_, ahead, args..., flags_like(x));
    using Residuals = std::remove_cvref_t<decltype(forward.result.second)>;
    constexpr bool flags_each = TakesAll<const Backward&, std::tuple<Residuals, Y>, Each>::value;
    constexpr bool flags_back = std::is_invocable_v<const Backward&, Residuals, Y, X>;
    static_assert(flags_each || flags_back || std::is_invocable_v<const Backward&, Residuals, Y>,
                  "gnomon: the backward pass of custom_vjp takes (residuals, cotangent of y), and "
                  "may take `perturbed` behind them");
    const auto back = [&](const Residuals& residuals, const Y& cotangent, const X& perturbed) {
      const auto found = [&] {
        if constexpr (flags_back)
          return backward_(residuals, cotangent, perturbed);
        else if constexpr (flags_each)
          return std::apply(
              [&](const auto&... flags) { return backward_(residuals, cotangent, flags...); },
              perturbed);
        else
          return backward_(residuals, cotangent);
      }();
      static_assert(std::is_same_v<std::remove_cvref_t<decltype(found)>, X>,
                    "gnomon: the backward pass of custom_vjp gives a cotangent like the argument, "
                    "or a std::tuple of one for each of several arguments");
      return matched("custom_vjp", "the argument is", described(x, "x"),
                     "the backward pass's cotangent", described(found, "x"), loc_);
    };
    auto backward =
        trace_at(loc_, back, forward.result.second, moving_part(body.result), flags_like(x));
    return tree::with_leaves(body.result,
                             emit_custom_vjp(piece(std::move(body)), piece(std::move(forward)),
                                             piece(std::move(backward)), tree::leaves(x), loc_));
  }

 private:
  F f_;
  Forward forward_;
  Backward backward_;
  Loc loc_;
};

}  // namespace detail

/// The function `f`, differentiated as `rule` says in forward and reverse mode. `rule` is one of
///   (x, dx) -> std::pair{y, dy}    as in JAX; its y must have the types of f's, and is not used
///   (x, y, dx) -> dy               is given y: need not compute it, and its derivative is the
///   rule's (x, y, dx, perturbed) -> dy
/// and linear in dx. A hole in dy is a zero.
///
/// Reverse mode transposes the rule. Unchecked: that the rule is the derivative.
/// Throws UsageError when dy does not have the types of y, showing both; when a captured array is
/// differentiated in; in reverse mode, when the rule is not linear in dx.
template <class F, class Rule>
auto custom_jvp(F f, Rule rule, Loc loc = Loc::here()) {
  return detail::CustomJvp<F, Rule>(std::move(f), std::move(rule), loc);
}

/// The function `f` with a reverse mode of its own:
///   forward(x...[, perturbed]) -> std::pair{y, residuals}
///   backward(residuals, dy[, perturbed]) -> dx
/// Of dy, arrays that are not of floats are holes; a hole in dx is a zero.
///
/// Forward mode is the transpose of the backward pass, so one that is linear in dy has one as well,
/// and loops and second derivatives may hold the function; one that is not (it clips dy, say) is
/// for reverse mode. Under vmap an argument that all elements share gets the sum of their dx.
/// Unchecked: that the passes belong to `f`.
/// Throws UsageError when y of the forward pass or dx has other types than the function's, showing
/// both; when a captured array is differentiated in; in forward mode, when the backward pass is not
/// linear.
template <class F, class Forward, class Backward>
auto custom_vjp(F f, Forward forward, Backward backward, Loc loc = Loc::here()) {
  return detail::CustomVjp<F, Forward, Backward>(std::move(f), std::move(forward),
                                                 std::move(backward), loc);
}

namespace detail {

/// How a vmap calls the rule of a custom_vmap: C++ code in an equation.
class BatchCode {
 public:
  virtual ~BatchCode() = default;
  virtual const void* identity() const = 0;  // of rule and types, within this process
  virtual Arrays call(Dim size, const std::vector<bool>& batched, const Arrays&, Loc) const = 0;
  std::string statics;  // of the arguments
};
Arrays emit_custom_vmap(const Graph& body, const Arrays& captures, const Arrays& arguments,
                        std::shared_ptr<const BatchCode>, Loc);

template <class Rule, class R, class... A>
class BatchRule final : public BatchCode {
 public:
  BatchRule(Rule rule, const A&... args) : rule_(std::move(rule)), like_{tree::clone(args)...} {
    (tree::append_static_key(args, statics), ...);
  }
  const void* identity() const override { return &tree::detail::type_identity<BatchRule>; }
  Arrays call(Dim size, const std::vector<bool>& batched, const Arrays& arrays,
              Loc) const override {
    const std::tuple<A...> args = tree::with_leaves(like_, arrays);
    return tree::leaves(
        std::apply([&](const A&... a) -> R { return rule_(size, batched, a...); }, args));
  }

 private:
  Rule rule_;
  std::tuple<A...> like_;  // structure and static values
};

}  // namespace detail

/// The function `f`, of which a vmap around it becomes
///   rule(size, batched, x...) -> y
/// batched: a flag per array of the arguments, in order, whether it carries the `size` elements,
/// along axis 0; all arrays of y carry them there. A further vmap goes over what the rule gave.
///
/// The rule runs when the vmap comes, long after this call, so it captures nothing (does not
/// compile), and neither may `f` capture arrays. Derivatives are those of `f`; of what was
/// differentiated first, vmap is not the rule's affair.
/// Unchecked: that the rule computes what f does for every element.
/// Throws UsageError when f captured an array, or y of the rule has other types than the elements'.
template <class F, class Rule>
auto custom_vmap(F f, Rule rule, Loc loc = Loc::here()) {
  static_assert(std::is_empty_v<Rule>,
                "gnomon: the rule of custom_vmap runs when a vmap comes, when what it captured may "
                "be gone; pass what it needs as arguments of the function");
  return detail::wrapped<F>([f = std::move(f), rule, loc]<class... A>(const A&... args) {
    using R = ResultOf<const F, A...>;
    static_assert(std::is_invocable_r_v<R, const Rule&, Dim, const std::vector<bool>&, A...>,
                  "gnomon: the rule of custom_vmap takes (Dim size, const std::vector<bool>& "
                  "batched, arguments...) and gives what the function gives");
    auto traced = trace_at(loc, f, args...);
    const auto blank = [](const auto& tree) {
      return tree::map([](const Array& a) { return abstract_array(a.dtype(), a.shape()); }, tree);
    };
    return tree::with_leaves(
        traced.result,
        detail::emit_custom_vmap(
            traced.graph, traced.captures, all_leaves(args...),
            std::make_shared<const detail::BatchRule<Rule, R, A...>>(rule, blank(args)...), loc));
  });
}

/// `tree` as it is; differentiating through it, in either mode, throws a UsageError that says
/// `name`.
template <class T>
T nondifferentiable(const T& tree, const std::string& name = "", Loc loc = Loc::here()) {
  return tree::with_leaves(tree, detail::marked(tree::leaves(tree), false, name, loc));
}

/// The same for reverse mode only; forward mode passes.
template <class T>
T nondifferentiable_backward(const T& tree, const std::string& name = "", Loc loc = Loc::here()) {
  return tree::with_leaves(tree, detail::marked(tree::leaves(tree), true, name, loc));
}

namespace detail {
/// What closure_convert keeps of a function.
struct Conversion {
  TracedGraph graph;
  std::vector<std::vector<Aval>> types;  // of each argument
  std::string statics;
  Loc loc;
};
Arrays call_converted(const Conversion&, const std::vector<Aval>& captured_types,
                      const Arrays& captured, const std::vector<Arrays>& args, bool same_statics);
std::vector<Aval> types_of(const Arrays&);
}  // namespace detail

/// A function of the arrays that another one captured: `converted(converted.captures, args...)`.
template <class R>
class Converted {
 public:
  Converted(R result, std::vector<Array> captured, detail::Conversion conversion)
      : captures(std::move(captured)),
        result_(std::move(result)),
        conversion_(std::move(conversion)) {}

  /// Throws UsageError when arrays or static values differ from those it was converted for.
  template <class... A>
  R operator()(const std::vector<Array>& captured, const A&... args) const {
    std::string statics;
    (tree::append_static_key(args, statics), ...);
    return tree::with_leaves(
        result_, detail::call_converted(conversion_, detail::types_of(captures), captured,
                                        {tree::leaves(args)...}, statics == conversion_.statics));
  }

  std::vector<Array> captures;

 private:
  R result_;
  detail::Conversion conversion_;
};

/// `f` for arguments of these types, with the arrays it captured as an argument in front: for rules
/// and loops that have to see what moves. The elements of `args` do not matter.
template <class F, class... A>
auto closure_convert_at(Loc loc, const F& f, const A&... args) {
  auto traced = trace_at(loc, f, args...);
  std::string statics;
  (tree::append_static_key(args, statics), ...);
  using R = decltype(traced.result);
  return Converted<R>(std::move(traced.result), std::move(traced.captures),
                      {std::move(traced.graph),
                       {detail::types_of(tree::leaves(args))...},
                       std::move(statics),
                       loc});
}
template <class F>
auto closure_convert(const F& f, Loc loc = Loc::here()) {
  return closure_convert_at(loc, f);
}
template <class F, class A>
auto closure_convert(const F& f, const A& a, Loc loc = Loc::here()) {
  return closure_convert_at(loc, f, a);
}
template <class F, class A, class B>
auto closure_convert(const F& f, const A& a, const B& b, Loc loc = Loc::here()) {
  return closure_convert_at(loc, f, a, b);
}
template <class F, class A, class B, class C>
auto closure_convert(const F& f, const A& a, const B& b, const C& c, Loc loc = Loc::here()) {
  return closure_convert_at(loc, f, a, b, c);
}
template <class F, class A, class B, class C, class D>
auto closure_convert(const F& f, const A& a, const B& b, const C& c, const D& d,
                     Loc loc = Loc::here()) {
  return closure_convert_at(loc, f, a, b, c, d);
}
template <class F, class A, class B, class C, class D, class... E>
requires(sizeof...(E) > 0) auto closure_convert(const F& f, const A& a, const B& b, const C& c,
                                                const D& d, const E&... rest) {
  return closure_convert_at(Loc{}, f, a, b, c, d, rest...);
}

}  // namespace gnomon
#pragma GCC visibility pop
