// codegen/transforms/vjp.cpp -- the reverse sweep, equation by equation.
#include "codegen/transforms/vjp.h"

#include "codegen/primitives/lax.h"
#include "codegen/trace/trace.h"

namespace gnomon {
namespace {

void accumulate(std::optional<Array>& sum, const Array& part) {
  sum = sum ? lax::add(*sum, part) : part;
}

bool any_present(const Tangents& cotangents) {
  for (const auto& c : cotangents) {
    if (c) return true;
  }
  return false;
}

/// Cotangents of one equation's inputs: its jvp is traced on its own, linear in the tangents, and
/// transposed.
Tangents pull_back_equation(const Equation& equation, const Arrays& inputs, const Arrays& outputs,
                            const std::vector<bool>& active, const Tangents& cotangents) {
  Arrays arguments;
  std::vector<bool> linear;
  Tangents local_cotangents;
  Graph tangent_graph;
  {
    Trace trace;
    trace.loc = equation.loc;
    auto as_inputs = [&](const Arrays& arrays) {
      Arrays result;
      for (const Array& a : arrays) {
        result.push_back(trace.input(a.aval()));
        arguments.push_back(a);
        linear.push_back(false);
      }
      return result;
    };
    const Arrays x = as_inputs(inputs);
    const Arrays y = as_inputs(outputs);
    Tangents dx(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!active[i]) continue;
      dx[i] = trace.input(x[i].aval());
      arguments.push_back(placeholder(x[i].aval()));
      linear.push_back(true);
    }
    const Tangents dy = equation.primitive->jvp(equation.params, x, y, dx);
    Arrays results;
    for (std::size_t i = 0; i < dy.size(); ++i) {
      if (!dy[i] || !cotangents[i]) continue;
      results.push_back(*dy[i]);
      local_cotangents.push_back(cotangents[i]);
    }
    tangent_graph = trace.finish(results);
    GNOMON_CHECK(trace.captures.empty(),
                 "the jvp rule of " + std::string(equation.primitive->name) + " captures arrays");
  }
  const Tangents found = transpose_linear(tangent_graph, arguments, linear, local_cotangents);
  Tangents result(inputs.size());
  std::size_t next = inputs.size() + outputs.size();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (active[i]) result[i] = found[next++];
  }
  return result;
}

}  // namespace

Arrays ForwardPass::outputs() const {
  Arrays result;
  for (ValueId v : graph.outputs) result.push_back(values[v]);
  return result;
}

ForwardPass run_forward(const Graph& graph, const Arrays& inputs) {
  GNOMON_CHECK(inputs.size() == graph.inputs.size(), "one array per input");
  ForwardPass pass{graph, Arrays(graph.avals.size())};
  for (std::size_t i = 0; i < inputs.size(); ++i) pass.values[graph.inputs[i]] = inputs[i];
  for (const Equation& equation : graph.equations) {
    Arrays operands;
    for (ValueId v : equation.inputs) operands.push_back(pass.values[v]);
    const Arrays results = emit(*equation.primitive, equation.params, operands, equation.loc);
    for (std::size_t i = 0; i < results.size(); ++i) {
      pass.values[equation.outputs[i]] = results[i];
    }
  }
  return pass;
}

Tangents pull_back(const ForwardPass& forward, const std::vector<bool>& wanted,
                   const Tangents& cotangents) {
  const Graph& graph = forward.graph;
  GNOMON_CHECK(wanted.size() == graph.inputs.size(), "one flag per input");
  GNOMON_CHECK(cotangents.size() == graph.outputs.size(), "one cotangent per output");
  // Only values between a wanted input and an output matter.
  std::vector<bool> active(graph.avals.size(), false);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    active[graph.inputs[i]] = wanted[i] && is_float(graph.avals[graph.inputs[i]].dtype);
  }
  for (const Equation& equation : graph.equations) {
    bool reached = false;
    for (ValueId v : equation.inputs) reached = reached || active[v];
    // Loops behind a stop_gradient need no reverse mode.
    reached = reached && equation.primitive != &stop_gradient_p;
    for (ValueId v : equation.outputs) active[v] = reached && is_float(graph.avals[v].dtype);
  }
  Tangents found(graph.avals.size());
  for (std::size_t i = 0; i < cotangents.size(); ++i) {
    const ValueId v = graph.outputs[i];
    if (cotangents[i] && active[v]) accumulate(found[v], *cotangents[i]);
  }
  Trace& trace = Trace::active("vjp");
  const Loc outer = trace.loc;
  for (auto equation = graph.equations.rbegin(); equation != graph.equations.rend(); ++equation) {
    Arrays inputs, outputs;
    std::vector<bool> input_active;
    Tangents output_cotangents;
    for (ValueId v : equation->inputs) {
      inputs.push_back(forward.values[v]);
      input_active.push_back(active[v]);
    }
    for (ValueId v : equation->outputs) {
      outputs.push_back(forward.values[v]);
      output_cotangents.push_back(found[v]);
    }
    if (!any_present(output_cotangents)) continue;
    trace.loc = equation->loc;
    const Tangents parts =
        pull_back_equation(*equation, inputs, outputs, input_active, output_cotangents);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i]) accumulate(found[equation->inputs[i]], *parts[i]);
    }
  }
  trace.loc = outer;
  Tangents result(graph.inputs.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) result[i] = found[graph.inputs[i]];
  }
  return result;
}

Tangents transpose_linear(const Graph& graph, const Arrays& inputs, const std::vector<bool>& linear,
                          const Tangents& cotangents) {
  Trace& trace = Trace::active("vjp");
  Arrays values(graph.avals.size());
  std::vector<bool> is_linear(graph.avals.size(), false);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values[graph.inputs[i]] = inputs[i];
    is_linear[graph.inputs[i]] = linear[i];
  }
  // What does not depend on a linear input is computed as it stands.
  std::vector<const Equation*> to_transpose;
  for (const Equation& equation : graph.equations) {
    bool depends = false;
    for (ValueId v : equation.inputs) depends = depends || is_linear[v];
    if (depends) {
      to_transpose.push_back(&equation);
      for (ValueId v : equation.outputs) {
        values[v] = placeholder(graph.avals[v]);
        is_linear[v] = true;
      }
      continue;
    }
    Arrays operands;
    for (ValueId v : equation.inputs) operands.push_back(values[v]);
    const Arrays results = emit(*equation.primitive, equation.params, operands, equation.loc);
    for (std::size_t i = 0; i < results.size(); ++i) values[equation.outputs[i]] = results[i];
  }
  Tangents found(graph.avals.size());
  for (std::size_t i = 0; i < cotangents.size(); ++i) {
    const ValueId v = graph.outputs[i];
    if (cotangents[i] && is_linear[v]) accumulate(found[v], *cotangents[i]);
  }
  for (auto it = to_transpose.rbegin(); it != to_transpose.rend(); ++it) {
    const Equation& equation = **it;
    Arrays operands;
    std::vector<bool> flags;
    Tangents output_cotangents;
    for (ValueId v : equation.inputs) {
      operands.push_back(values[v]);
      flags.push_back(is_linear[v]);
    }
    for (ValueId v : equation.outputs) output_cotangents.push_back(found[v]);
    if (!any_present(output_cotangents)) continue;
    trace.loc = equation.loc;
    const Tangents parts = equation.primitive->transpose(
        TransposeArgs{equation.params, operands, flags, output_cotangents});
    GNOMON_CHECK(parts.size() == operands.size(),
                 "the transpose rule of " + std::string(equation.primitive->name) + " gives " +
                     std::to_string(parts.size()) + " cotangents");
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i] || !flags[i]) continue;
      GNOMON_CHECK(parts[i]->aval() == operands[i].aval(),
                   "the transpose rule of " + std::string(equation.primitive->name) + " gives a " +
                       to_string(parts[i]->aval()) + " for a " + to_string(operands[i].aval()));
      accumulate(found[equation.inputs[i]], *parts[i]);
    }
  }
  Tangents result;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    result.push_back(linear[i] ? found[graph.inputs[i]] : std::nullopt);
  }
  return result;
}

}  // namespace gnomon
