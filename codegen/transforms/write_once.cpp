// codegen/transforms/write_once.cpp -- follows write-once buffers through equations and loops.
#include "codegen/transforms/write_once.h"

#include <algorithm>
#include <optional>

#include "codegen/operations/buffer.h"
#include "codegen/operations/control.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/table.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"

namespace gnomon {
namespace {

Buffered joined(Buffered a, Buffered b) { return a == b ? a : Buffered::read; }

bool any_settled(const Buffers& buffers) {
  return std::find(buffers.begin(), buffers.end(), Buffered::settled) != buffers.end();
}

bool writes(const Equation& e) {
  return e.primitive == &dynamic_update_slice_p || e.primitive == &scatter_set_p;
}

/// Moves a whole array.
bool moves(const Equation& e) {
  return e.primitive == &reshape_p || e.primitive == &permute_p || e.primitive == &broadcast_p;
}

/// A loop's carried values may be buffers; what else it takes of one is read.
Buffers of_loop(const Equation& e, Buffers operands);

Buffers of_outputs(const Equation& e, const Buffers& operands) {
  if (e.primitive == &buffer_p) return {Buffered::whole};
  const bool any =
      std::any_of(operands.begin(), operands.end(), [](Buffered b) { return b != Buffered::no; });
  Buffers r(e.outputs.size(), any ? Buffered::read : Buffered::no);
  if (!any) return r;
  if (e.primitive == &while_p || e.primitive == &scan_p) return of_loop(e, operands);
  if (e.primitive == &cond_p) {
    const Buffers inputs(operands.begin() + 1, operands.end());
    bool first = true;
    for (const GraphPtr& branch : e.params.graphs()) {
      const Buffers values = follow_buffers(*branch, inputs);
      for (std::size_t i = 0; i < r.size(); ++i) {
        const Buffered b = values[branch->outputs[i]];
        r[i] = first ? b : joined(r[i], b);
      }
      first = false;
    }
    return r;
  }
  if (writes(e) || moves(e)) r[0] = operands[0];
  return r;
}

/// Which input each output is a later version of: what it has more than the input was written into
/// it.
std::vector<std::optional<std::size_t>> origins(const Graph& g) {
  std::vector<std::optional<std::size_t>> of(g.avals.size());
  for (std::size_t i = 0; i < g.inputs.size(); ++i) of[g.inputs[i]] = i;
  for (const Equation& e : g.equations) {
    if (writes(e)) {
      of[e.outputs[0]] = of[e.inputs[0]];
    } else if (e.primitive == &while_p || e.primitive == &scan_p) {
      const LoopOperands loop = loop_operands(e);
      const auto inside = origins(loop.body);
      for (std::size_t i = 0; i < loop.carried; ++i)
        if (inside[i] == i) of[e.outputs[i]] = of[e.inputs[i]];
    } else if (e.primitive == &cond_p) {
      for (std::size_t i = 0; i < e.outputs.size(); ++i) {
        std::optional<std::optional<std::size_t>> same;
        for (const GraphPtr& branch : e.params.graphs()) {
          const auto from = origins(*branch)[i];
          const auto here = from ? of[e.inputs[1 + *from]] : std::nullopt;
          same = !same || *same == here ? here : std::nullopt;
        }
        of[e.outputs[i]] = *same;
      }
    }
  }
  std::vector<std::optional<std::size_t>> r;
  for (ValueId v : g.outputs) r.push_back(of[v]);
  return r;
}

Buffers of_loop(const Equation& e, Buffers operands) {
  const LoopOperands loop = loop_operands(e);
  for (std::size_t i = loop.carried; i < loop.carried + loop.sequences; ++i)
    if (operands[i] != Buffered::no) operands[i] = Buffered::read;
  const Buffers before = operands;
  const Buffers in = buffers_of_body(loop.body, loop.carried, operands);
  const Buffers values = follow_buffers(loop.body, in);
  Buffers r;
  for (std::size_t i = 0; i < e.outputs.size(); ++i) {
    const Buffered b = values[loop.body.outputs[i]];
    if (i >= loop.carried)
      r.push_back(b == Buffered::no ? b : Buffered::read);
    else
      r.push_back(in[i] == Buffered::settled ? before[i] : in[i]);
  }
  return r;
}

}  // namespace

Buffers follow_buffers(const Graph& g, Buffers inputs) {
  inputs.resize(g.inputs.size(), Buffered::no);
  Buffers values(g.avals.size(), Buffered::no);
  for (std::size_t i = 0; i < inputs.size(); ++i) values[g.inputs[i]] = inputs[i];
  for (const Equation& e : g.equations) {
    Buffers operands;
    for (ValueId v : e.inputs) operands.push_back(values[v]);
    const Buffers out = of_outputs(e, operands);
    for (std::size_t i = 0; i < out.size(); ++i) values[e.outputs[i]] = out[i];
  }
  return values;
}

Buffers buffers_of_body(const Graph& body, std::size_t carried, Buffers inputs) {
  inputs.resize(body.inputs.size(), Buffered::no);
  if (std::all_of(inputs.begin(), inputs.end(), [](Buffered b) { return b == Buffered::no; }))
    return inputs;
  const auto from = origins(body);
  for (std::size_t i = 0; i < carried; ++i) {
    const bool buffer = inputs[i] == Buffered::whole || inputs[i] == Buffered::settled;
    if (buffer) inputs[i] = from[i] == i ? Buffered::settled : Buffered::read;
  }
  while (true) {
    const Buffers values = follow_buffers(body, inputs);
    bool grown = false;
    for (std::size_t i = 0; i < carried; ++i) {
      const Buffered next = joined(inputs[i], values[body.outputs[i]]);
      grown |= next != inputs[i];
      inputs[i] = next;
    }
    if (!grown) return inputs;
  }
}

Params settled(const Primitive& primitive, const Params& params, const Buffers& operands) {
  std::vector<GraphPtr> graphs = params.graphs();
  if (graphs.empty() || !any_settled(operands)) return params;
  if (&primitive == &cond_p) {
    const Buffers inputs(operands.begin() + 1, operands.end());
    for (GraphPtr& branch : graphs) branch = control::share(settle(*branch, inputs));
    return params.with_graphs(graphs);
  }
  if (&primitive != &while_p && &primitive != &scan_p) return params;
  const LoopOperands loop = loop_operands({&primitive, params, {}, {}, {}});
  Buffers in = operands;
  for (std::size_t i = loop.carried; i < loop.carried + loop.sequences; ++i)
    if (in[i] != Buffered::no) in[i] = Buffered::read;
  in = buffers_of_body(loop.body, loop.carried, in);
  // What this loop is the first to write is not there yet.
  for (std::size_t i = 0; i < loop.carried; ++i)
    if (in[i] == Buffered::settled) in[i] = operands[i];
  graphs.back() = control::share(settle(loop.body, in));
  return params.with_graphs(graphs);
}

Arrays emit_settled(const Equation& e, const Arrays& operands, const Buffers& known) {
  if (any_settled(known) && writes(e) && known[0] == Buffered::settled) return {operands[0]};
  return emit(*e.primitive, settled(*e.primitive, e.params, known), operands, e.loc);
}

Graph settle(const Graph& g, const Buffers& inputs) {
  if (!any_settled(inputs)) return g;
  const Buffers values = follow_buffers(g, inputs);
  Trace trace;
  Arrays at(g.avals.size());
  for (ValueId v : g.inputs) at[v] = trace.input(g.avals[v]);
  for (const Equation& e : g.equations) {
    Arrays operands;
    Buffers known;
    for (ValueId v : e.inputs) {
      operands.push_back(at[v]);
      known.push_back(values[v]);
    }
    const Arrays out = emit_settled(e, operands, known);
    for (std::size_t i = 0; i < out.size(); ++i) at[e.outputs[i]] = out[i];
  }
  Arrays results;
  for (ValueId v : g.outputs) results.push_back(at[v]);
  return trace.finish(results);
}

}  // namespace gnomon
