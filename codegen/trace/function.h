// codegen/trace/function.h -- a C++ callable over trees becomes a graph.
#pragma once
#include <tuple>
#include <type_traits>
#include <utility>

#include "codegen/base/callable.h"
#include "codegen/trace/trace.h"
#include "gnomon/tree.h"

namespace gnomon {

/// What `F` returns for arguments of the types `A`; callables get rvalues, so a move-only argument
/// can be taken over.
template <class F, class... A>
using ResultOf = std::remove_cvref_t<std::invoke_result_t<F&, A...>>;

/// A traced callable. Inputs of the graph: the arrays of the arguments in order, then `captures`.
/// Outputs: the arrays of the result.
template <class R>
struct Traced {
  Graph graph;
  R result;  // structure and static values; its arrays are placeholders of the outputs' types
  Arrays captures;
};

namespace detail {
/// Throws UsageError naming the empty handle: of argument `index`, or of the result when it is
/// negative.
[[noreturn]] void empty_leaf(int index, const std::string& path, Loc);
Arrays placeholders(const std::vector<Aval>&);
/// Throws UsageError naming the first empty handle of argument `index`, or of the result when it is
/// negative.
void check_leaves(tree::detail::AnyTree, int index, Loc);
/// An input of `trace` for each array of argument `index`, after `check_leaves`; counts it.
Arrays inputs_for(Trace& trace, tree::detail::AnyTree, int& index, Loc);
/// Ends the trace, whose result is checked.
Graph finished(Trace&, tree::detail::AnyTree result);
}  // namespace detail

/// Records `f` on inputs of the types of `args`, whose elements are not looked at (they may be
/// placeholders). Throws UsageError when an argument or the result holds an empty Array.
template <class F, class... A>
auto trace_at(Loc loc, F&& f, const A&... args) {
  detail::check_takes_values<F, A...>();
  static_assert(std::is_invocable_v<F&, A...>,
                "gnomon: the function cannot be called with arguments of these types");
  using R = ResultOf<F, A...>;
  static_assert(!std::is_void_v<R>, "gnomon: a traced function must return its results");
  [[maybe_unused]] int index = 0;  // of no arguments
  Trace trace;
  trace.loc = loc;
  // Braces evaluate from left to right, which numbers the inputs.
  std::tuple<A...> inputs{tree::with_leaves(
      args, detail::inputs_for(trace, tree::detail::AnyTree::of(args), index, loc))...};
  R out = std::apply([&](A&... a) -> R { return f(std::move(a)...); }, inputs);
  Graph graph = detail::finished(trace, tree::detail::AnyTree::of(out));
  R result = tree::with_leaves(out, detail::placeholders(graph.output_avals()));
  return Traced<R>{std::move(graph), std::move(result), std::move(trace.captures)};
}

/// trace_at without a line.
template <class F, class... A>
auto make_graph(F&& f, const A&... args) {
  return trace_at(Loc{}, f, args...);
}

/// The arrays of all arguments, in order.
template <class... A>
Arrays all_leaves(const A&... args) {
  Arrays result;
  (tree::detail::append_arrays(tree::detail::AnyTree::of(args), result), ...);
  return result;
}

}  // namespace gnomon
