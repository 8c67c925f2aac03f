// codegen/include/gnomon/control.h -- loops and branches over traced values.
//
// Carried values, sequences and results are trees (gnomon/tree.h): arrays change, everything else
// in them is static and stays as it is. Functions may capture arrays; those are constants of the
// loop. A carried value keeps its shape and dtype; a C++ number that a function returns in place of
// an Array takes the dtype of the value it replaces.
#pragma once
#include <array>
#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "gnomon/detail/callable.h"
#include "gnomon/loop_kind.h"
#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon {

struct Unbounded {};
/// `.max_steps = unbounded`: the loop ends when its condition says so, or never.
inline constexpr Unbounded unbounded{};

/// Most steps a loop may take, or `unbounded`. There is no default.
class StepBound {
 public:
  template <class T = void>
  StepBound() {
    static_assert(always_false<T>,
                  "gnomon::while_loop: a loop needs a bound; write {.max_steps = n}, or "
                  "{.max_steps = gnomon::unbounded} on purpose");
  }
  template <std::integral I>
  constexpr StepBound(I steps) : steps_(static_cast<Dim>(steps)) {}  // NOLINT: implicit on purpose
  constexpr StepBound(Unbounded) : bounded_(false) {}                // NOLINT: implicit on purpose

  constexpr bool bounded() const { return bounded_; }
  constexpr Dim steps() const { return steps_; }

 private:
  Dim steps_ = -1;
  bool bounded_ = true;
};

struct WhileOptions {
  StepBound max_steps;
  LoopKind kind = LoopKind::automatic;
  Checkpoints checkpoints = {};  // of a checkpointed loop
};

/// What is said of `kind` counts iterations, of `unroll` steps each.
struct ForiOptions {
  /// Steps per iteration of the loop; 0: no loop at all. Values are the same, kernels longer.
  int unroll = 1;
  LoopKind kind = LoopKind::automatic;
  Checkpoints checkpoints = {};
};

/// What is said of `kind` counts iterations, of `unroll` steps each.
struct ScanOptions {
  std::optional<Dim> length = {};  // needed when there are no sequences
  bool reverse =
      false;  // from the last element to the first; rows stay in the order of the sequences
  /// Steps per iteration of the loop; 0: no loop at all. Values are the same, kernels longer.
  int unroll = 1;
  LoopKind kind = LoopKind::automatic;
  Checkpoints checkpoints = {};
};

/// What loops and branches make of the type of a value: of a C++ number an Array, trees stay trees.
template <class T>
using Carried =
    std::conditional_t<std::is_arithmetic_v<std::remove_cvref_t<T>>, Array, std::remove_cvref_t<T>>;

namespace control {

using tree::detail::FunctionRef;

/// What a traced function gave: the arrays of a tree, or one C++ number.
struct Returned {
  std::vector<Array> arrays;
  std::optional<Scalar> number;
  std::vector<Array> rows;  // of scan
};
using Body = FunctionRef<Returned(std::span<const Array>)>;
using Texts = std::vector<std::string>;

Array number(const Scalar&, Loc);
std::vector<Array> run_while(FunctionRef<Array(std::span<const Array>)> condition, Body body,
                             const std::vector<Array>& init, const Texts& paths,
                             const WhileOptions&, Loc);
/// `body` gets the counter in front.
std::vector<Array> run_fori(Dim lower, Dim upper, Body body, const std::vector<Array>& init,
                            const Texts& paths, const ForiOptions&, Loc);
std::vector<Array> run_fori(const Operand& lower, const Operand& upper, Body body,
                            const std::vector<Array>& init, const Texts& paths,
                            const WhileOptions&);
/// Carried values, then rows. `body` gets the carried values, then slices.
std::vector<Array> run_scan(Body body, const std::vector<Array>& init, const Texts& paths,
                            const std::vector<Array>& xs, const Texts& x_paths, const ScanOptions&,
                            Loc);
/// `paths` are asked for after the branches were traced.
std::vector<Array> run_branches(std::string_view op, const Operand& index,
                                std::span<const FunctionRef<Returned()>> branches,
                                FunctionRef<Texts()> paths);
/// The branch a C++ number names.
std::size_t static_branch(std::string_view op, const Scalar&, std::size_t branches, Loc);
[[noreturn]] void static_changed(std::string_view op, std::string_view before,
                                 std::string_view after, const Texts& entered, const Texts& left,
                                 Loc);

template <class T>
Scalar scalar_of(T x) {
  return Operand(x, Loc{}).scalar();
}

template <class T>
Carried<T> traced(T&& x, Loc loc) {
  if constexpr (std::is_arithmetic_v<std::remove_cvref_t<T>>)
    return number(scalar_of(x), loc);
  else
    return std::forward<T>(x);
}

/// Whether a function that returns R gives a T.
template <class R, class T>
constexpr bool gives = std::is_same_v<std::remove_cvref_t<R>, T> ||
                       (std::is_same_v<T, Array> && std::is_arithmetic_v<std::remove_cvref_t<R>>);

template <class T>
Returned returned(const T& x) {
  if constexpr (std::is_arithmetic_v<T>)
    return {{}, scalar_of(x), {}};
  else
    return {tree::leaves(x), {}, {}};
}

/// Throws UsageError unless the static parts of both are equal.
template <class T, class R>
void check_static(std::string_view op, const char* prefix, const T& first, std::string_view before,
                  const R& second, std::string_view after, Loc loc) {
  if constexpr (std::is_same_v<T, R> && !std::is_same_v<T, Array>) {
    std::string a, b;
    tree::append_static_key(first, a);
    tree::append_static_key(second, b);
    if (a == b) return;
    Texts entered, left;
    const auto list = [](Texts& to) {
      return [&to](const std::string& path, const std::string& text) {
        to.push_back("`" + path + "` is " + text);
      };
    };
    tree::for_each_static(first, list(entered), prefix);
    tree::for_each_static(second, list(left), prefix);
    static_changed(op, before, after, entered, left, loc);
  }
}

}  // namespace control

/// Repeats `body` on a state while `cond` holds, at most `max_steps` times.
///
/// cond(const S&) -> bool[], body(S) -> S. Reaching `max_steps` is no error: the state then is what
/// that many steps made of it. Under vmap every lane stops on its own. Differentiable in forward
/// mode and, as `kind` says, in reverse mode (gnomon/loop_kind.h), of any order; `cond` itself is
/// taken to be constant. Throws UsageError when the body changes a shape or dtype, the condition is
/// not one bool, or the kind needs a bound or a number of checkpoints that is not there.
template <class Cond, class Body, class S>
Carried<S> while_loop(Cond&& cond, Body&& body, S init, WhileOptions options,
                      Loc loc = Loc::here()) {
  using T = Carried<S>;
  detail::check_takes_values<Cond, T>();
  detail::check_takes_values<Body, T>();
  static_assert(std::is_invocable_v<Cond&, const T&>,
                "gnomon::while_loop: cond must take the state");
  static_assert(std::is_invocable_v<Body&, T>, "gnomon::while_loop: body must take the state");
  static_assert(std::is_same_v<std::remove_cvref_t<std::invoke_result_t<Cond&, const T&>>, Array>,
                "gnomon::while_loop: cond must return one boolean Array");
  static_assert(control::gives<std::invoke_result_t<Body&, T>, T>,
                "gnomon::while_loop: body must return the state type it takes");
  const T start = control::traced(std::move(init), loc);
  const auto condition = [&](std::span<const Array> a) -> Array {
    return cond(tree::with_leaves(start, a));
  };
  const auto step = [&](std::span<const Array> a) {
    const auto next = body(tree::with_leaves(start, a));
    control::check_static("while_loop", "carry", start, "when it enters the body", next,
                          "when it leaves", loc);
    return control::returned(next);
  };
  return tree::with_leaves(start,
                           control::run_while(condition, step, tree::leaves(start),
                                              tree::leaf_paths(start, "carry"), options, loc));
}

/// A loop that is not told where to stop does not compile.
template <class Cond, class Body, class S>
void while_loop(Cond&&, Body&&, S) {
  static_assert(
      always_false<S>,
      "gnomon::while_loop: the bound is missing; write {.max_steps = n} behind the state, "
      "or {.max_steps = gnomon::unbounded} on purpose");
}

/// state = body(i, state) for i = lower, ..., upper - 1, with bounds known when tracing.
///
/// body(Array i, S) -> S with i an i32[]. An upper bound not above the lower one gives `init`.
/// Differentiable as while_loop is. Throws UsageError as while_loop does.
template <std::integral Lower, std::integral Upper, class Body, class S>
Carried<S> fori_loop(Lower lower, Upper upper, Body&& body, S init, ForiOptions options = {},
                     Loc loc = Loc::here()) {
  using T = Carried<S>;
  detail::check_takes_values<Body, Array, T>();
  static_assert(std::is_invocable_v<Body&, Array, T>,
                "gnomon::fori_loop: body must take (Array i, state)");
  static_assert(control::gives<std::invoke_result_t<Body&, Array, T>, T>,
                "gnomon::fori_loop: body must return the state type it takes");
  const T start = control::traced(std::move(init), loc);
  const auto step = [&](std::span<const Array> a) {
    const auto next = body(Array(a[0]), tree::with_leaves(start, a.subspan(1)));
    control::check_static("fori_loop", "carry", start, "when it enters the body", next,
                          "when it leaves", loc);
    return control::returned(next);
  };
  return tree::with_leaves(
      start,
      control::run_fori(static_cast<Dim>(lower), static_cast<Dim>(upper), step, tree::leaves(start),
                        tree::leaf_paths(start, "carry"), options, loc));
}

/// The same with traced bounds: takes at most `max_steps` steps. Bounds have one integer dtype,
/// which i has as well.
template <class Body, class S>
Carried<S> fori_loop(Operand lower, Operand upper, Body&& body, S init, WhileOptions options) {
  using T = Carried<S>;
  detail::check_takes_values<Body, Array, T>();
  static_assert(std::is_invocable_v<Body&, Array, T>,
                "gnomon::fori_loop: body must take (Array i, state)");
  static_assert(control::gives<std::invoke_result_t<Body&, Array, T>, T>,
                "gnomon::fori_loop: body must return the state type it takes");
  const Loc loc = lower.loc();
  const T start = control::traced(std::move(init), loc);
  const auto step = [&](std::span<const Array> a) {
    const auto next = body(Array(a[0]), tree::with_leaves(start, a.subspan(1)));
    control::check_static("fori_loop", "carry", start, "when it enters the body", next,
                          "when it leaves", loc);
    return control::returned(next);
  };
  return tree::with_leaves(start, control::run_fori(lower, upper, step, tree::leaves(start),
                                                    tree::leaf_paths(start, "carry"), options));
}

/// Traced bounds without a number of steps do not compile.
template <class Lower, class Upper, class Body, class S>
requires(std::is_same_v<std::remove_cvref_t<Lower>, Array> ||
         std::is_same_v<std::remove_cvref_t<Upper>, Array>) void fori_loop(const Lower&,
                                                                           const Upper&, Body&&, S,
                                                                           ForiOptions = {}) {
  static_assert(always_false<Body>,
                "gnomon::fori_loop: traced bounds need a number of steps; write {.max_steps = n} "
                "behind the state");
}

namespace control {

template <class C, class Rows>
struct ScanResult {
  C carry;
  Rows rows;
  std::vector<Array> more;  // arrays behind those of the rows
};

/// What all forms of scan have in common: `run(step, carried, paths)` gives carried arrays, rows
/// and what else there is.
template <class Body, class C, class X, class Run>
auto typed_scan(Body&& body, C init, const X& xs, Loc loc, const Run& run) {
  using T = Carried<C>;
  using E = tree::ElementOf<X>;
  detail::check_takes_values<Body, T, E>();
  static_assert(std::is_invocable_v<Body&, T, E>, "gnomon::scan: body must take (carry, x)");
  using R = std::remove_cvref_t<std::invoke_result_t<Body&, T, E>>;
  static_assert(tree::detail::IsPair<R>::value,
                "gnomon::scan: body must return std::pair{carry, y}");
  static_assert(gives<typename R::first_type, T>,
                "gnomon::scan: body must return {carry, y} with the carry type it takes");
  using Y = Carried<typename R::second_type>;
  const T start = traced(std::move(init), loc);
  const std::vector<Array> carried = tree::leaves(start);
  std::optional<Y> row;
  const auto step = [&](std::span<const Array> a) {
    const R next = body(tree::with_leaves(start, a.first(carried.size())),
                        tree::with_leaves(tree::as_element(xs), a.subspan(carried.size())));
    check_static("scan", "carry", start, "when it enters the body", next.first, "when it leaves",
                 loc);
    Returned r = returned(next.first);
    if constexpr (std::is_arithmetic_v<typename R::second_type>)
      row.emplace(traced(next.second, loc));
    else
      row.emplace(tree::clone(next.second));
    r.rows = tree::leaves(*row);
    return r;
  };
  const std::vector<Array> results = run(step, carried, tree::leaf_paths(start, "carry"));
  const std::span<const Array> all(results);
  const std::size_t rows = tree::leaves(*row).size();
  using Rows = decltype(tree::as_stacked(*row));
  return ScanResult<T, Rows>{
      tree::with_leaves(start, all.first(carried.size())),
      tree::with_leaves(tree::as_stacked(*row), all.subspan(carried.size(), rows)),
      {all.begin() + static_cast<std::ptrdiff_t>(carried.size() + rows), all.end()}};
}

}  // namespace control

/// {carry, y} = body(carry, x) for every x along the leading axes of `xs`; gives the last carry and
/// the stacked y.
///
/// body(C, X) -> std::pair<C, Y>. The arrays of xs have one leading axis in common, which x has
/// lost; without arrays
/// (`none`) `length` says how often. The arrays of the result's second part have that axis in
/// front. Differentiable in forward mode and, as `kind` says, in reverse mode (gnomon/loop_kind.h),
/// of any order; rows are no part of what is kept. Throws UsageError when a carried value changes
/// its shape or dtype, or lengths disagree.
template <class Body, class C, class X>
auto scan(Body&& body, C init, const X& xs, ScanOptions options = {}, Loc loc = Loc::here()) {
  const auto run = [&](control::Body step, const std::vector<Array>& carried,
                       const control::Texts& paths) {
    return control::run_scan(step, carried, paths, tree::leaves(xs), tree::leaf_paths(xs, "xs"),
                             options, loc);
  };
  auto r = control::typed_scan(body, std::move(init), xs, loc, run);
  return std::pair<decltype(r.carry), decltype(r.rows)>{std::move(r.carry), std::move(r.rows)};
}

/// Calls the branch that `index` names with the operands; an index out of range means the nearest
/// branch.
///
/// index: one integer. branches: std::tuple or std::array of functions, f(operands...) -> R, one R
/// for all. Only the branch taken runs; under vmap with an index by lane, each lane takes its own
/// branch's values. An index known when tracing (a C++ number) leaves just that branch in the
/// graph. Differentiable in both modes, of any order: the branch that was taken is. Throws
/// UsageError when results differ in shape or dtype.
template <class Branches, class... A>
auto switch_(Operand index, const Branches& branches, const A&... operands);

/// true_fn(operands...) where `pred` holds, else false_fn(operands...): a branch, not a select.
///
/// pred: one bool, or a number that counts as true unless 0. As switch_ otherwise.
template <class True, class False, class... A>
auto cond(Operand pred, const True& true_fn, const False& false_fn, const A&... operands);

namespace control {

template <class Result, class... F>
Result branch(std::string_view op, const Operand& index, const std::tuple<const F&...>& functions) {
  constexpr std::size_t count = sizeof...(F);
  std::optional<Result> first;
  const auto run = [&](const auto& f) {
    const auto value = f();
    if (!first)
      first.emplace(traced(tree::clone(value), index.loc()));
    else
      check_static(op, "result", *first, "in the first branch", value, "in another", index.loc());
    return returned(value);
  };
  return [&]<std::size_t... I>(std::index_sequence<I...>)->Result {
    if (!index.is_array() || count == 1) {
      const std::size_t taken =
          index.is_array() ? 0 : static_branch(op, index.scalar(), count, index.loc());
      std::optional<Result> result;
      (void)((I == taken &&
              (result.emplace(traced(std::get<I>(functions)(), index.loc())), true)) ||
             ...);
      return std::move(*result);
    }
    const auto calls = std::tuple{[&] { return run(std::get<I>(functions)); }...};
    const std::array<FunctionRef<Returned()>, count> erased{std::get<I>(calls)...};
    const auto result_paths = [&] { return tree::leaf_paths(*first, "result"); };
    const std::vector<Array> results = run_branches(op, index, erased, result_paths);
    return tree::with_leaves(*first, results);
  }
  (std::make_index_sequence<count>{});
}

}  // namespace control

template <class Branches, class... A>
auto switch_(Operand index, const Branches& branches, const A&... operands) {
  constexpr std::size_t count = std::tuple_size_v<Branches>;
  static_assert(count > 0, "gnomon::switch_: there must be at least one branch");
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    (detail::check_takes_values<const std::tuple_element_t<I, Branches>, A...>(), ...);
    static_assert((std::is_invocable_v<const std::tuple_element_t<I, Branches>&, A...> && ...),
                  "gnomon::switch_: every branch must take the operands");
    using R = Carried<std::invoke_result_t<const std::tuple_element_t<0, Branches>&, A...>>;
    static_assert(
        (control::gives<std::invoke_result_t<const std::tuple_element_t<I, Branches>&, A...>, R> &&
         ...),
        "gnomon::switch_: all branches must return the same type");
    const auto calls =
        std::tuple{[&] { return std::get<I>(branches)(tree::clone(operands)...); }...};
    return control::branch<R>("switch_", index, std::tie(std::get<I>(calls)...));
  }
  (std::make_index_sequence<count>{});
}

template <class True, class False, class... A>
auto cond(Operand pred, const True& true_fn, const False& false_fn, const A&... operands) {
  detail::check_takes_values<const True, A...>();
  detail::check_takes_values<const False, A...>();
  static_assert(std::is_invocable_v<const True&, A...> && std::is_invocable_v<const False&, A...>,
                "gnomon::cond: both branches must take the operands");
  using R = Carried<std::invoke_result_t<const True&, A...>>;
  static_assert(control::gives<std::invoke_result_t<const False&, A...>, R>,
                "gnomon::cond: both branches must return the same type");
  const auto when_true = [&] { return true_fn(tree::clone(operands)...); };
  const auto when_false = [&] { return false_fn(tree::clone(operands)...); };
  return control::branch<R>("cond", pred, std::tie(when_false, when_true));
}

}  // namespace gnomon
#pragma GCC visibility pop
