// codegen/trace/function.cpp -- the parts of tracing a callable that do not depend on its types.
#include "codegen/trace/function.h"

namespace gnomon {

TracedGraph::TracedGraph(Graph graph) : graph_(std::make_shared<const Graph>(std::move(graph))) {}
std::size_t TracedGraph::input_count() const { return graph_->inputs.size(); }

}  // namespace gnomon

namespace gnomon::detail {

void empty_leaf(int index, const std::string& path, Loc loc) {
  const std::string where = index < 0 ? "the result" : "argument " + std::to_string(index);
  usage_error(
      "trace",
      where + (path.empty() ? "" : " `" + path + "`") +
          " is an empty Array (moved from, or never assigned); hold it as std::optional<Array> "
          "when it may be absent",
      loc);
}

void check_leaves(tree::detail::AnyTree tree, int index, Loc loc) {
  bool empty = false;
  const auto look = [&](const Array& a) { empty |= a.empty(); };
  tree::detail::visit_arrays(tree, false, look);
  if (!empty) return;  // nearly always: nobody asks for paths
  const auto report = [&](const Array& a, const std::string& path) {
    if (a.empty()) empty_leaf(index, path, loc);
  };
  tree::detail::visit_arrays(tree, false, "", report);
}

Tracing::Tracing(Loc loc) : trace_(std::make_unique<Trace>()) { trace_->loc = loc; }
Tracing::~Tracing() = default;

Arrays Tracing::inputs_for(tree::detail::AnyTree argument) {
  check_leaves(argument, argument_++, trace_->loc);
  Arrays inputs;
  const auto add = [&](const Array& a) { inputs.push_back(trace_->input(a.aval())); };
  tree::detail::visit_arrays(argument, false, add);
  return inputs;
}

TracedGraph Tracing::finish(tree::detail::AnyTree result) {
  check_leaves(result, -1, trace_->loc);
  return trace_->finish(tree::detail::arrays(result, false));
}

Arrays Tracing::captures() { return std::move(trace_->captures); }

bool is_tracing() { return Trace::current() != nullptr; }

Arrays output_placeholders(const Graph& graph) {
  Arrays result;
  result.reserve(graph.outputs.size());
  for (ValueId v : graph.outputs) result.push_back(placeholder(graph.avals[v]));
  return result;
}

}  // namespace gnomon::detail
