// codegen/graph/simplify_control.cpp -- operands of loops and branches that are constant, doubled
// or unused.

#include "codegen/graph/rewriter.h"
#include "codegen/primitives/control.h"

namespace gnomon {
namespace {

/// `graph` with some inputs gone: input i becomes a constant, another input, or stays.
struct Replacement {
  const HostArray* constant = nullptr;  // rank 0, repeated over the input's shape
  std::size_t stands_for = 0;           // the input to use; itself when it stays
  bool dropped = false;
};

Graph with_inputs_replaced(const Graph& graph, const std::vector<Replacement>& replacements) {
  Rewriter rewriter;
  std::vector<ValueId> to(graph.avals.size());
  std::vector<ValueId> input_of(graph.inputs.size());
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Aval& aval = graph.avals[graph.inputs[i]];
    if (!replacements[i].dropped) input_of[i] = rewriter.input(aval);
  }
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Replacement& r = replacements[i];
    const ValueId v = graph.inputs[i];
    if (r.constant) {
      to[v] = rewriter.full(*r.constant, graph.avals[v].shape, {});
    } else if (!r.dropped || r.stands_for != i) {
      to[v] = input_of[r.stands_for];
    }
  }
  for (const Equation& equation : graph.equations) {
    std::vector<ValueId> inputs;
    for (ValueId v : equation.inputs) inputs.push_back(to[v]);
    const auto results =
        rewriter.emit(*equation.primitive, equation.params, std::move(inputs), equation.loc);
    for (std::size_t i = 0; i < results.size(); ++i) to[equation.outputs[i]] = results[i];
  }
  std::vector<ValueId> outputs;
  for (ValueId v : graph.outputs) outputs.push_back(to[v]);
  return rewriter.finish(std::move(outputs));
}

/// Which inputs some equation or output looks at.
std::vector<bool> used_inputs(const Graph& graph) {
  std::vector<bool> used(graph.avals.size(), false);
  for (const Equation& equation : graph.equations) {
    for (ValueId v : equation.inputs) used[v] = true;
  }
  for (ValueId v : graph.outputs) used[v] = true;
  std::vector<bool> result;
  for (ValueId v : graph.inputs) result.push_back(used[v]);
  return result;
}

}  // namespace

void sink_constants(const Rewriter& rewriter, const Primitive& primitive, Params& params,
                    std::vector<ValueId>& inputs) {
  // Operand k of the equation is input k - skipped of the graphs; the first `fixed` inputs are not
  // constants.
  std::size_t skipped = 0, fixed = 0;
  if (&primitive == &while_p) {
    fixed = static_cast<std::size_t>(params.as<WhileParams>().carried);
  } else if (&primitive == &scan_p) {
    const auto& p = params.as<ScanParams>();
    fixed = static_cast<std::size_t>(p.carried + p.sequences);
  } else if (&primitive == &cond_p) {
    skipped = 1;
  } else {
    return;
  }
  std::vector<GraphPtr> graphs = params.graphs();
  const std::size_t count = inputs.size() - skipped;
  std::vector<bool> used(count, false);
  for (const GraphPtr& g : graphs) {
    const std::vector<bool> here = used_inputs(*g);
    for (std::size_t i = 0; i < count; ++i) used[i] = used[i] || here[i];
  }
  std::vector<Replacement> replacements(count);
  for (std::size_t i = 0; i < count; ++i) {
    Replacement& r = replacements[i];
    r.stands_for = i;
    if (i < fixed) continue;
    r.constant = rewriter.uniform(inputs[skipped + i]);
    for (std::size_t k = fixed; k < i && !r.constant; ++k) {
      if (inputs[skipped + k] != inputs[skipped + i]) continue;
      r.stands_for = k;
      used[k] = used[k] || used[i];
      break;
    }
  }
  bool changed = false;
  std::vector<ValueId> kept(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(skipped));
  for (std::size_t i = 0; i < count; ++i) {
    Replacement& r = replacements[i];
    r.dropped = i >= fixed && (r.constant || r.stands_for != i || !used[i]);
    changed |= r.dropped;
    if (!r.dropped) kept.push_back(inputs[skipped + i]);
  }
  if (!changed) return;
  for (GraphPtr& g : graphs) {
    g = std::make_shared<Graph>(with_inputs_replaced(*g, replacements));
  }
  params = params.with_graphs(graphs);
  inputs = std::move(kept);
}

}  // namespace gnomon
