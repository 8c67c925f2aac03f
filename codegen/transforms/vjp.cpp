// codegen/transforms/vjp.cpp -- the reverse sweep, equation by equation.
#include "codegen/transforms/vjp.h"

#include <algorithm>

#include "codegen/graph/effects.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/symbolic_zero.h"
#include "codegen/transforms/write_once.h"
#include "gnomon/transform.h"

namespace gnomon {
namespace {

/// `sum` with `part` added where that is a slice among zeros.
std::optional<Array> with_slice_added(const Array& sum, const Array& part) {
  const Equation* e = maker(part);
  if (!e || e->primitive != &dynamic_update_slice_p) return std::nullopt;
  Trace& trace = Trace::active();
  if (!is_symbolic_zero(trace.record(e->inputs[0]))) return std::nullopt;
  const auto p = e->params.as<DynamicUpdateSliceParams>();
  const Array slice = trace.record(e->inputs[1]);
  Arrays starts;
  for (std::size_t i = 2; i < e->inputs.size(); ++i) starts.push_back(trace.record(e->inputs[i]));
  const auto at = [&](Arrays in) {
    in.insert(in.end(), starts.begin(), starts.end());
    return in;
  };
  const DynamicSliceParams read{slice.shape().part(p.batch_dims, slice.rank()), p.batch_dims};
  const Array old = emit1(dynamic_slice_p, read, at({sum}), {});
  return emit1(dynamic_update_slice_p, p, at({sum, lax::add(old, slice)}), {});
}

/// The sum of what both sides of one choice got of a cotangent: each is zero where the other is
/// not. A negative zero stays one.
std::optional<Array> chosen_of_both(const Array& a, const Array& b) {
  const Equation *of_a = maker(a), *of_b = maker(b);
  if (!of_a || !of_b || of_a->primitive != &select_p || of_b->primitive != &select_p ||
      of_a->inputs[0] != of_b->inputs[0])
    return std::nullopt;
  Trace& trace = Trace::active();
  const auto part = [&](const Equation* e, std::size_t side) {
    return trace.record(e->inputs[side]);
  };
  const bool a_first = is_symbolic_zero(part(of_a, 2)) && is_symbolic_zero(part(of_b, 1));
  if (!a_first && !(is_symbolic_zero(part(of_a, 1)) && is_symbolic_zero(part(of_b, 2))))
    return std::nullopt;
  const Array yes = part(a_first ? of_a : of_b, 1), no = part(a_first ? of_b : of_a, 2);
  if (yes.value() == no.value()) return yes;
  return lax::select(trace.record(ValueId(of_a->inputs[0])), yes, no);
}

void accumulate(std::optional<Array>& sum, const Array& part) {
  sum = sum ? add_cotangents(*sum, part) : part;
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

/// A slice written under a condition, else left as it is: what at(i).set() makes of an index that
/// may be out of range.
struct Choice {
  ValueId condition, value;
};
std::optional<Choice> kept_unless(const Graph& graph, const Equation& write) {
  const auto made_by = [&](ValueId v, const Primitive& p) -> const Equation* {
    for (const Equation& e : graph.equations)
      if (e.outputs[0] == v) return e.primitive == &p ? &e : nullptr;
    return nullptr;
  };
  const Equation* choice = made_by(write.inputs[1], select_p);
  if (!choice) return std::nullopt;
  const Equation* old = made_by(choice->inputs[2], dynamic_slice_p);
  if (!old || old->inputs[0] != write.inputs[0] ||
      old->params.as<DynamicSliceParams>().batch_dims !=
          write.params.as<DynamicUpdateSliceParams>().batch_dims ||
      !std::equal(old->inputs.begin() + 1, old->inputs.end(), write.inputs.begin() + 2,
                  write.inputs.end()))
    return std::nullopt;
  return Choice{choice->inputs[0], choice->inputs[1]};
}

/// Writes into a buffer: what was there before is nothing that anybody read, so the cotangent of
/// the buffer is that of the result. Unless what is written follows from what the buffer holds: it
/// may be what was there, and its place gets zeros as elsewhere. False where it takes the general
/// rule.
bool pull_back_write(const Graph& graph, const ForwardPass& forward, const Equation& e,
                     Tangents& found) {
  const auto is = [&](ValueId v, Buffered b) { return forward.buffers[v] == b; };
  const ValueId buffer = e.inputs.empty() ? 0 : e.inputs[0];
  if (e.primitive == &scatter_set_p && is(e.inputs[2], Buffered::no) &&
      (is(buffer, Buffered::whole) || is(buffer, Buffered::settled))) {
    const Array cotangent = *found[e.outputs[0]];
    const auto& p = e.params.as<ScatterParams>();
    if (forward.active[e.inputs[2]])
      accumulate(found[e.inputs[2]], rules::gather_or_zero(cotangent, forward.values[e.inputs[1]],
                                                           p.axis, p.batch_dims));
    if (forward.active[buffer]) accumulate(found[buffer], cotangent);
    return true;
  }
  if (e.primitive != &dynamic_update_slice_p) return false;
  const std::optional<Choice> choice = kept_unless(graph, e);
  const ValueId value = choice ? choice->value : e.inputs[1];
  const bool passes =
      is(value, Buffered::no) && (is(buffer, Buffered::whole) || is(buffer, Buffered::settled));
  if (!passes && !choice) return false;
  const Array cotangent = *found[e.outputs[0]];
  const auto p = e.params.as<DynamicUpdateSliceParams>();
  const Shape& shape = graph.avals[e.inputs[1]].shape;
  Arrays at;
  for (std::size_t i = 2; i < e.inputs.size(); ++i) at.push_back(forward.values[e.inputs[i]]);
  const auto in = [&](Arrays r) {
    r.insert(r.end(), at.begin(), at.end());
    return r;
  };
  const DynamicSliceParams read{shape.part(p.batch_dims, shape.rank()), p.batch_dims};
  const Array slice = emit1(dynamic_slice_p, read, in({cotangent}), {});
  const auto where = [&](bool written) {
    const Array zeros = lax::zeros_like(slice);
    const Array& condition = forward.values[choice->condition];
    return written ? lax::select(condition, slice, zeros) : lax::select(condition, zeros, slice);
  };
  if (forward.active[value]) accumulate(found[value], choice ? where(true) : slice);
  if (!forward.active[buffer]) return true;
  accumulate(
      found[buffer],
      passes ? cotangent : emit1(dynamic_update_slice_p, p, in({cotangent, where(false)}), {}));
  return true;
}

}  // namespace

Array add_cotangents(const Array& a, const Array& b) {
  if (auto sum = with_slice_added(a, b)) return *sum;
  if (auto sum = with_slice_added(b, a)) return *sum;
  if (auto sum = chosen_of_both(a, b)) return *sum;
  return lax::add(a, b);
}

Arrays ForwardPass::outputs() const {
  Arrays result;
  for (ValueId v : graph.outputs) result.push_back(values[v]);
  return result;
}

namespace {

/// Only values between a wanted input and an output matter.
std::vector<bool> active_values(const Graph& graph, const std::vector<bool>& wanted) {
  std::vector<bool> active(graph.avals.size(), false);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    active[graph.inputs[i]] = wanted[i] && is_float(graph.avals[graph.inputs[i]].dtype);
  for (const Equation& e : graph.equations) {
    // Loops behind a stop_gradient need no reverse mode.
    const bool reached =
        e.primitive != &stop_gradient_p &&
        std::any_of(e.inputs.begin(), e.inputs.end(), [&](ValueId v) { return active[v]; });
    for (ValueId v : e.outputs) active[v] = reached && is_float(graph.avals[v].dtype);
  }
  std::vector<bool> matters(graph.avals.size(), false);
  for (ValueId v : graph.outputs) matters[v] = active[v];
  for (auto e = graph.equations.rbegin(); e != graph.equations.rend(); ++e) {
    if (std::none_of(e->outputs.begin(), e->outputs.end(), [&](ValueId v) { return matters[v]; }))
      continue;
    for (ValueId v : e->inputs) matters[v] = matters[v] || active[v];
  }
  return matters;
}

std::vector<bool> flags_of(const std::vector<ValueId>& values, const std::vector<bool>& flags) {
  std::vector<bool> r;
  for (ValueId v : values) r.push_back(flags[v]);
  return r;
}

Buffers kinds_of(const std::vector<ValueId>& values, const Buffers& of) {
  Buffers r;
  for (ValueId v : values) r.push_back(of[v]);
  return r;
}

Arrays picked(const std::vector<ValueId>& values, const Arrays& from) {
  Arrays r;
  for (ValueId v : values) r.push_back(from[v]);
  return r;
}

}  // namespace

ForwardPass run_forward(const Graph& graph, const Arrays& inputs, const std::vector<bool>& wanted,
                        const Buffers& buffers) {
  return run_forward(graph, inputs, wanted, buffers, {});
}

ForwardPass run_forward(const Graph& graph, const Arrays& inputs, const std::vector<bool>& wanted,
                        const Buffers& buffers, const GivenValues& given) {
  GNOMON_CHECK(inputs.size() == graph.inputs.size(), "one array per input");
  GNOMON_CHECK(wanted.size() == graph.inputs.size(), "one flag per input");
  ForwardPass pass{graph,
                   wanted,
                   Arrays(graph.avals.size()),
                   active_values(graph, wanted),
                   follow_buffers(graph, buffers),
                   {}};
  for (std::size_t i = 0; i < inputs.size(); ++i) pass.values[graph.inputs[i]] = inputs[i];
  for (std::size_t i = 0; i < graph.equations.size(); ++i) {
    const Equation& e = graph.equations[i];
    if (!e.outputs.empty() && given.contains(e.outputs[0])) {
      for (ValueId v : e.outputs) pass.values[v] = given.at(v);
      continue;
    }
    const Arrays operands = picked(e.inputs, pass.values);
    const std::vector<bool> active = flags_of(e.outputs, pass.active);
    const bool whole =
        e.primitive->reverse != nullptr && std::count(active.begin(), active.end(), true) > 0;
    const Buffers known = kinds_of(e.inputs, pass.buffers);
    Arrays results = whole ? e.primitive->reverse->forward(
                                 e.params, operands, flags_of(e.inputs, pass.active), known, e.loc)
                           : emit_settled(e, operands, known);
    for (std::size_t o = 0; o < e.outputs.size(); ++o) pass.values[e.outputs[o]] = results[o];
    if (!whole) continue;
    const auto outputs = static_cast<std::ptrdiff_t>(e.outputs.size());
    pass.saved[i] = Arrays(results.begin() + outputs, results.end());
  }
  return pass;
}

Arrays ForwardPass::flat() const {
  Arrays r = values;
  for (const auto& [equation, arrays] : saved) r.insert(r.end(), arrays.begin(), arrays.end());
  return r;
}

ForwardPass ForwardPass::from_flat(const Graph& graph, const std::vector<bool>& wanted,
                                   Arrays arrays, const Buffers& buffers) {
  // Which equations saved how much is known from tracing the graph once more.
  Trace trace;
  Arrays inputs;
  for (ValueId v : graph.inputs) inputs.push_back(trace.input(graph.avals[v]));
  ForwardPass pass = run_forward(graph, inputs, wanted, buffers);
  GNOMON_CHECK(pass.flat().size() == arrays.size(), "a forward pass as it was saved");
  auto next = arrays.begin();
  for (Array& v : pass.values) v = *next++;
  for (auto& [equation, saved] : pass.saved)
    for (Array& v : saved) v = *next++;
  return pass;
}

Tangents pull_back(const ForwardPass& forward, const Tangents& cotangents) {
  const Graph& graph = forward.graph;
  const std::vector<bool>& active = forward.active;
  GNOMON_CHECK(cotangents.size() == graph.outputs.size(), "one cotangent per output");
  Tangents found(graph.avals.size());
  for (std::size_t i = 0; i < cotangents.size(); ++i) {
    const ValueId v = graph.outputs[i];
    if (cotangents[i] && active[v]) accumulate(found[v], *cotangents[i]);
  }
  Trace& trace = Trace::active("vjp");
  const Loc outer = trace.loc;
  for (std::size_t i = graph.equations.size(); i-- > 0;) {
    const Equation& e = graph.equations[i];
    Tangents of_outputs;
    for (ValueId v : e.outputs) of_outputs.push_back(found[v]);
    if (!any_present(of_outputs)) continue;
    trace.loc = e.loc;
    if (pull_back_write(graph, forward, e, found)) continue;
    const Arrays inputs = picked(e.inputs, forward.values);
    const std::vector<bool> wanted = flags_of(e.inputs, active);
    const auto saved = forward.saved.find(i);
    const Tangents parts =
        saved != forward.saved.end()
            ? e.primitive->reverse->backward(ReverseArgs{e.params, inputs, wanted, saved->second,
                                                         of_outputs,
                                                         kinds_of(e.inputs, forward.buffers)})
            : pull_back_equation(e, inputs, picked(e.outputs, forward.values), wanted, of_outputs);
    for (std::size_t j = 0; j < parts.size(); ++j)
      if (parts[j]) accumulate(found[e.inputs[j]], *parts[j]);
  }
  trace.loc = outer;
  Tangents result(graph.inputs.size());
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    if (forward.wanted[i]) result[i] = found[graph.inputs[i]];
  return result;
}

Graph pullback(const Graph& graph, const std::vector<bool>& wanted, const std::vector<bool>& given,
               const Buffers& buffers) {
  Trace trace;
  Arrays inputs;
  for (ValueId v : graph.inputs) inputs.push_back(trace.input(graph.avals[v]));
  Tangents cotangents(graph.outputs.size());
  for (std::size_t i = 0; i < given.size(); ++i)
    if (given[i]) cotangents[i] = trace.input(graph.avals[graph.outputs[i]]);
  const Tangents found =
      pull_back(run_forward(without_effects(graph), inputs, wanted, buffers), cotangents);
  Arrays results;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i]) results.push_back(found[i] ? *found[i] : lax::zeros_like(inputs[i]));
  GNOMON_CHECK(trace.captures.empty(), "a derivative captures arrays");
  return trace.finish(results);
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
