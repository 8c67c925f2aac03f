// codegen/graph/evaluate.cpp -- one reference rule after the other.
#include "codegen/graph/evaluate.h"

#include "codegen/graph/primitive.h"

namespace gnomon {

std::vector<HostArray> evaluate(const Graph& graph, std::vector<HostArray> inputs) {
  if (inputs.size() != graph.inputs.size()) {
    usage_error("evaluate",
                std::to_string(inputs.size()) + " arrays for a graph of " +
                    std::to_string(graph.inputs.size()) + " inputs",
                {});
  }
  // A value is dropped after its last use: loops run thousands of times through here.
  constexpr std::size_t kept = ~std::size_t{0};
  std::vector<std::size_t> last_use(graph.avals.size(), 0);
  for (std::size_t i = 0; i < graph.equations.size(); ++i) {
    for (ValueId v : graph.equations[i].inputs) last_use[v] = i;
  }
  for (ValueId v : graph.outputs) last_use[v] = kept;

  std::vector<HostArray> values(graph.avals.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueId v = graph.inputs[i];
    if (inputs[i].aval != graph.avals[v]) {
      usage_error("evaluate",
                  "input " + std::to_string(i) + " is " + to_string(inputs[i].aval) +
                      " and the graph takes " + to_string(graph.avals[v]),
                  {});
    }
    values[v] = std::move(inputs[i]);
  }
  std::vector<HostArray> operands;
  std::vector<Aval> avals;
  for (std::size_t i = 0; i < graph.equations.size(); ++i) {
    const Equation& equation = graph.equations[i];
    operands.clear();
    avals.clear();
    for (std::size_t k = 0; k < equation.inputs.size(); ++k) {
      const ValueId v = equation.inputs[k];
      // `f(a, a)` needs both copies.
      bool again = false;
      for (std::size_t later = k + 1; later < equation.inputs.size(); ++later) {
        again |= equation.inputs[later] == v;
      }
      if (last_use[v] == i && !again) {
        operands.push_back(std::move(values[v]));
      } else {
        operands.push_back(values[v]);
      }
    }
    for (ValueId v : equation.outputs) avals.push_back(graph.avals[v]);
    std::vector<HostArray> results =
        equation.primitive->reference(equation.params, avals, operands);
    for (std::size_t k = 0; k < results.size(); ++k) {
      GNOMON_CHECK(results[k].aval == avals[k],
                   "the reference rule of " + std::string(equation.primitive->name) + " gives " +
                       to_string(results[k].aval) + ", not " + to_string(avals[k]));
      values[equation.outputs[k]] = std::move(results[k]);
    }
  }
  std::vector<HostArray> outputs;
  outputs.reserve(graph.outputs.size());
  for (ValueId v : graph.outputs) outputs.push_back(values[v]);
  return outputs;
}

}  // namespace gnomon
