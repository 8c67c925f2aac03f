// codegen/include/gnomon/detail/function.h -- a C++ callable over trees becomes a graph.
//
// What a graph is made of stays behind its name: programs that include this are compiled without
// the compiler's own headers. codegen/trace/function.h has both.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "gnomon/detail/callable.h"
#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon {

struct Graph;
class Trace;

/// What `F` returns for arguments of the types `A`; callables get rvalues, so a move-only argument
/// can be taken over.
template <class F, class... A>
using ResultOf = std::remove_cvref_t<std::invoke_result_t<F&, A...>>;

/// The graph of a trace that has ended. Copies share it.
class TracedGraph {
 public:
  TracedGraph(Graph graph);  // NOLINT: implicit on purpose
  const Graph& operator*() const { return *graph_; }
  const Graph* operator->() const { return graph_.get(); }
  operator const Graph&() const { return *graph_; }  // NOLINT: implicit on purpose
  std::size_t input_count() const;

 private:
  std::shared_ptr<const Graph> graph_;
};

/// A traced callable. Inputs of the graph: the arrays of the arguments in order, then `captures`.
/// Outputs: the arrays of the result.
template <class R>
struct Traced {
  TracedGraph graph;
  R result;  // structure and static values; its arrays are placeholders of the outputs' types
  Arrays captures;
};

namespace detail {

/// RAII: the newest Trace of this thread.
class Tracing {
 public:
  explicit Tracing(Loc);
  ~Tracing();
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;

  /// An input for each array of the next argument. Throws UsageError naming the first empty handle.
  Arrays inputs_for(tree::detail::AnyTree argument);
  /// Ends the trace. Throws UsageError naming the first empty handle of the result.
  TracedGraph finish(tree::detail::AnyTree result);
  /// What was captured; of a trace that has ended.
  Arrays captures();

 private:
  std::unique_ptr<Trace> trace_;
  int argument_ = 0;
};

/// Whether what is done now is recorded.
bool is_tracing();
/// Arrays without elements of the types of the graph's outputs.
Arrays output_placeholders(const Graph&);
/// Throws UsageError naming the empty handle: of argument `index`, or of the result when it is
/// negative.
[[noreturn]] void empty_leaf(int index, const std::string& path, Loc);
/// Throws UsageError naming the first empty handle of argument `index`, or of the result when it is
/// negative.
void check_leaves(tree::detail::AnyTree, int index, Loc);

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
  detail::Tracing trace(loc);
  // Braces evaluate from left to right, which numbers the inputs.
  std::tuple<A...> inputs{
      tree::with_leaves(args, trace.inputs_for(tree::detail::AnyTree::of(args)))...};
  R out = std::apply([&](A&... a) -> R { return f(std::move(a)...); }, inputs);
  TracedGraph graph = trace.finish(tree::detail::AnyTree::of(out));
  R result = tree::with_leaves(out, detail::output_placeholders(graph));
  return Traced<R>{std::move(graph), std::move(result), trace.captures()};
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
#pragma GCC visibility pop
