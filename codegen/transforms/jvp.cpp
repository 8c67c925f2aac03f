// codegen/transforms/jvp.cpp -- replays a graph next to the tangents of its values.
#include "codegen/transforms/jvp.h"

#include "codegen/lax/lax.h"
#include "codegen/trace/trace.h"

namespace gnomon {
namespace {

struct Replayed {
  Arrays outputs;
  Tangents tangents;  // nullopt: symbolically zero
};

/// Derivatives, or only which there are.
enum class Wanted : std::uint8_t { tangents, activity };

Tangents tangents_of(const Equation& e, const Arrays& inputs, const Arrays& outputs,
                     const Tangents& d, Wanted wanted) {
  if (wanted == Wanted::tangents || !e.primitive->reverse || !e.primitive->reverse->moving)
    return e.primitive->jvp(e.params, inputs, outputs, d);
  std::vector<bool> active;
  for (const auto& t : d) active.push_back(t.has_value());
  const std::vector<bool> moving = e.primitive->reverse->moving(e.params, active);
  Tangents result(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (moving[i]) result[i] = lax::zeros_like(outputs[i]);
  return result;
}

Replayed replay(const Graph& graph, const std::vector<bool>& active, Trace& trace,
                Wanted wanted = Wanted::tangents) {
  GNOMON_CHECK(active.size() == graph.inputs.size(), "one flag per input");
  Arrays values(graph.avals.size());
  Tangents tangents(graph.avals.size());
  for (ValueId v : graph.inputs) values[v] = trace.input(graph.avals[v]);
  for (std::size_t i = 0; i < active.size(); ++i) {
    if (!active[i]) continue;
    const Aval& aval = graph.avals[graph.inputs[i]];
    GNOMON_CHECK(is_float(aval.dtype), "a tangent for " + to_string(aval));
    tangents[graph.inputs[i]] = trace.input(aval);
  }
  for (const Equation& equation : graph.equations) {
    Arrays inputs;
    Tangents input_tangents;
    bool moves = false;
    for (ValueId v : equation.inputs) {
      inputs.push_back(values[v]);
      input_tangents.push_back(tangents[v]);
      moves |= tangents[v].has_value();
    }
    const Arrays outputs = emit(*equation.primitive, equation.params, inputs, equation.loc);
    for (std::size_t i = 0; i < outputs.size(); ++i) values[equation.outputs[i]] = outputs[i];
    if (!moves) continue;
    trace.loc = equation.loc;
    const Tangents found = tangents_of(equation, inputs, outputs, input_tangents, wanted);
    GNOMON_CHECK(found.size() == outputs.size(),
                 "the jvp rule of " + std::string(equation.primitive->name) + " gives " +
                     std::to_string(found.size()) + " tangents");
    for (std::size_t i = 0; i < found.size(); ++i) {
      GNOMON_CHECK(!found[i] || found[i]->aval() == outputs[i].aval(),
                   "the jvp rule of " + std::string(equation.primitive->name) + " gives a " +
                       to_string(found[i]->aval()) + " for a " + to_string(outputs[i].aval()));
      tangents[equation.outputs[i]] = found[i];
    }
  }
  Replayed result;
  for (ValueId v : graph.outputs) {
    result.outputs.push_back(values[v]);
    result.tangents.push_back(tangents[v]);
  }
  return result;
}

}  // namespace

Graph jvp(const Graph& graph, const std::vector<bool>& active, const std::vector<bool>& wanted) {
  GNOMON_CHECK(wanted.size() == graph.outputs.size(), "one flag per output");
  Trace trace;
  Replayed found = replay(graph, active, trace);
  Arrays results = found.outputs;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    results.push_back(found.tangents[i] ? *found.tangents[i] : lax::zeros_like(found.outputs[i]));
  }
  return trace.finish(results);
}

Graph jvp(const Graph& graph, const std::vector<bool>& active) {
  return jvp(graph, active, std::vector<bool>(graph.outputs.size(), true));
}

std::vector<bool> active_outputs(const Graph& graph, const std::vector<bool>& active) {
  Trace trace;
  const Replayed found = replay(graph, active, trace, Wanted::activity);
  std::vector<bool> result;
  for (const auto& t : found.tangents) result.push_back(t.has_value());
  return result;
}

}  // namespace gnomon
