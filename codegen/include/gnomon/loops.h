// codegen/include/gnomon/loops.h -- further forms of loops: counted ones, scans of a length known
// only when the program runs, maps.
#pragma once
#include "gnomon/control.h"
#include "gnomon/transform.h"

#pragma GCC visibility push(default)
namespace gnomon {

/// The end of a loop, and how it came to it.
template <class S>
struct Looped {
  S state;
  Array steps;      // i32[]: how many were taken
  Array bound_hit;  // bool[]: it stopped at `max_steps` although the condition still holds
};

/// A number of steps known only when the program runs: one integer. There is no default, which is
/// what tells the options of one scan from those of the other.
class DynamicLength {
 public:
  DynamicLength(const Array& length) : length_(length) {}  // NOLINT: implicit on purpose
  const Array& array() const { return length_; }

 private:
  Array length_;
};

struct DynamicScanOptions {
  DynamicLength length;               // below 0 counts as 0
  std::optional<Dim> max_steps = {};  // of all programs; needed when there are no sequences
  LoopKind kind = LoopKind::automatic;
  Checkpoints checkpoints = {};
};

/// What a scan of dynamic length gives.
template <class C, class Rows>
struct Scanned {
  C carry;
  Rows rows;    // leading axis `max_steps`; rows from `count` on are 0
  Array count;  // i32[]: steps that were taken
};

struct MapOptions {
  std::optional<Dim> batch_size = {};  // elements side by side; one by one when absent
};

namespace control {

/// Carried values, steps, bound_hit.
std::vector<Array> run_counted_while(FunctionRef<Array(std::span<const Array>)> condition,
                                     Body body, const std::vector<Array>& init, const Texts& paths,
                                     const WhileOptions&, Loc);
/// Carried values, rows, count.
std::vector<Array> run_scan(Body body, const std::vector<Array>& init, const Texts& paths,
                            const std::vector<Array>& xs, const Texts& x_paths,
                            const DynamicScanOptions&, Loc);
/// `one` gets an element, `many` arrays of elements; both give rows only.
std::vector<Array> run_map(Body one, Body many, const std::vector<Array>& xs, const Texts& x_paths,
                           std::optional<Dim> batch_size, Loc);

}  // namespace control

/// while_loop that says how many steps it took, and whether it ran into its bound.
///
/// A condition that does not hold at the start (or is a comparison with NaN) takes no step. Under
/// vmap both are by lane. `cond` is asked once more about the last state. Differentiable as
/// while_loop is. Throws UsageError as while_loop does, and for bounds beyond i32.
template <class Cond, class Body, class S>
Looped<Carried<S>> while_loop_counted(Cond&& cond, Body&& body, S init, WhileOptions options,
                                      Loc loc = Loc::here()) {
  using T = Carried<S>;
  detail::check_takes_values<Cond, T>();
  detail::check_takes_values<Body, T>();
  static_assert(std::is_invocable_v<Cond&, const T&> && std::is_invocable_v<Body&, T>,
                "gnomon::while_loop_counted: cond and body must take the state");
  static_assert(std::is_same_v<std::remove_cvref_t<std::invoke_result_t<Cond&, const T&>>, Array>,
                "gnomon::while_loop_counted: cond must return one boolean Array");
  static_assert(control::gives<std::invoke_result_t<Body&, T>, T>,
                "gnomon::while_loop_counted: body must return the state type it takes");
  const T start = control::traced(std::move(init), loc);
  const auto condition = [&](std::span<const Array> a) -> Array {
    return cond(tree::with_leaves(start, a));
  };
  const auto step = [&](std::span<const Array> a) {
    const auto next = body(tree::with_leaves(start, a));
    control::check_static("while_loop_counted", "carry", start, "when it enters the body", next,
                          "when it leaves", loc);
    return control::returned(next);
  };
  const std::vector<Array> carried = tree::leaves(start);
  const std::vector<Array> end = control::run_counted_while(
      condition, step, carried, tree::leaf_paths(start, "carry"), options, loc);
  const std::size_t n = carried.size();
  return {tree::with_leaves(start, std::span(end).first(n)), end[n], end[n + 1]};
}

/// A loop that is not told where to stop does not compile.
template <class Cond, class Body, class S>
void while_loop_counted(Cond&&, Body&&, S) {
  static_assert(
      always_false<S>,
      "gnomon::while_loop_counted: the bound is missing; write {.max_steps = n} behind the "
      "state");
}

/// scan over the first `length` elements of `xs`, a number known only when the program runs; with
/// `none`, `length` steps, at most `max_steps`.
///
/// Steps behind the last are not taken and cost nothing; their rows are 0. The sequences have at
/// least `max_steps` elements, by default as many as there are rows. Under vmap every lane has a
/// length of its own. Differentiable as scan is. Throws UsageError as scan does.
template <class Body, class C, class X>
auto scan(Body&& body, C init, const X& xs, DynamicScanOptions options, Loc loc = Loc::here()) {
  const auto run = [&](control::Body step, const std::vector<Array>& carried,
                       const control::Texts& paths) {
    return control::run_scan(step, carried, paths, tree::leaves(xs), tree::leaf_paths(xs, "xs"),
                             options, loc);
  };
  auto r = control::typed_scan(body, std::move(init), xs, loc, run);
  return Scanned<decltype(r.carry), decltype(r.rows)>{std::move(r.carry), std::move(r.rows),
                                                      r.more[0]};
}

/// f(x) for every x along the leading axes of `xs`, the results stacked: a scan that carries
/// nothing.
///
/// One by one, or `batch_size` of them side by side (vmap), the last ones fewer. The memory of one
/// batch is what it takes beside its results. Differentiable as `f` is under scan and vmap. Throws
/// UsageError when `xs` has no arrays, or leading axes disagree.
template <class F, class X>
auto map_each(F&& f, const X& xs, MapOptions options = {}, Loc loc = Loc::here()) {
  using E = tree::ElementOf<X>;
  detail::check_takes_values<F, E>();
  static_assert(std::is_invocable_v<F&, E>, "gnomon::map_each: f must take one element");
  using Y = Carried<std::invoke_result_t<F&, E>>;
  std::optional<Y> row;
  const auto one = [&](std::span<const Array> a) {
    row.emplace(control::traced(f(tree::with_leaves(tree::as_element(xs), a)), loc));
    return control::Returned{{}, {}, tree::leaves(*row)};
  };
  const auto many = [&](std::span<const Array> a) {
    const auto each = [&](const E& x) {
      row.emplace(control::traced(f(tree::clone(x)), loc));
      return tree::clone(*row);
    };
    return control::Returned{{}, {}, tree::leaves(vmap(each, {}, loc)(tree::with_leaves(xs, a)))};
  };
  const std::vector<Array> rows = control::run_map(
      one, many, tree::leaves(xs), tree::leaf_paths(xs, "xs"), options.batch_size, loc);
  return tree::with_leaves(tree::as_stacked(*row), rows);
}

}  // namespace gnomon
#pragma GCC visibility pop
