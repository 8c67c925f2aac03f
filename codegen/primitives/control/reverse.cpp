// codegen/primitives/control/reverse.cpp -- what the backward passes of loops and branches share.
#include "codegen/primitives/control/reverse.h"

#include <algorithm>
#include <cmath>
#include <list>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "codegen/lax/lax.h"
#include "codegen/primitives/control/residuals.h"
#include "codegen/simplify/simplify.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"
#include "codegen/transforms/jvp.h"
#include "codegen/transforms/vjp.h"
#include "codegen/transforms/write_once.h"

namespace gnomon::control {

Tangents transposed(const ReverseMode& reverse, const TransposeArgs& t) {
  const Trace* trace = Trace::current();
  Arrays at_zero;
  for (std::size_t i = 0; i < t.inputs.size(); ++i)
    at_zero.push_back(t.linear[i] ? lax::full(t.inputs[i].aval(), 0) : t.inputs[i]);
  const Buffers no_buffers(at_zero.size(), Buffered::no);
  const Arrays all =
      reverse.forward(t.params, at_zero, t.linear, no_buffers, trace ? trace->loc : Loc{});
  const Arrays saved(all.begin() + static_cast<std::ptrdiff_t>(t.cotangents.size()), all.end());
  return reverse.backward(
      ReverseArgs{t.params, at_zero, t.linear, saved, t.cotangents, no_buffers});
}

Arrays dense(const Tangents& cotangents, const std::vector<bool>& flags,
             const std::vector<Aval>& types) {
  Arrays r;
  for (std::size_t i = 0; i < flags.size(); ++i)
    if (flags[i]) r.push_back(cotangents[i] ? *cotangents[i] : lax::full(types[i], 0));
  return r;
}

Dim segment_of(LoopKind kind, Dim steps) {
  if (kind == LoopKind::bounded) {
    constexpr Dim most_segments = 16;
    return steps <= most_segments ? 0 : (steps + most_segments - 1) / most_segments;
  }
  constexpr Dim most_kept = 64;
  if (kind != LoopKind::automatic || steps <= most_kept) return 0;
  // Of a bound far beyond what any loop takes, a segment is a part of 128.
  constexpr Dim most_segments = 128;
  const auto root = static_cast<Dim>(std::ceil(std::sqrt(static_cast<double>(steps))));
  return std::max(root, (steps + most_segments - 1) / most_segments);
}

void check_kind(std::string_view loop, LoopKind kind, Dim max_steps, Loc loc) {
  if (kind == LoopKind::lax)
    usage_error("grad",
                "this " + std::string(loop) +
                    " is of kind `lax`, which has no reverse mode; give it another one "
                    "(LoopKind::automatic, or checkpointed, bounded, stored), or use jvp",
                loc);
  if (max_steps >= 0 || kind == LoopKind::checkpointed) return;
  usage_error("grad",
              "reverse mode keeps what every step of a loop began with, and this " +
                  std::string(loop) +
                  " may take any number of steps; give it {.max_steps = n}, or use jvp, or keep "
                  "some steps only by {.kind = LoopKind::checkpointed, .checkpoints = n}",
              loc);
}

Arrays forward_by(const Graph& g, const Arrays& inputs, const std::vector<bool>& active,
                  const Buffers& buffers) {
  const ForwardPass pass = run_forward(g, inputs, active, buffers);
  return joined(pass.outputs(), pass.flat());
}

Tangents backward_by(const Graph& g, const ReverseArgs& a) {
  return pull_back(ForwardPass::from_flat(g, a.active, a.saved, a.buffers), a.cotangents);
}

/// Loops in segments hold loops in segments, and passes forward and backward each ask for the
/// pullback of every step, which holds those of the loops within: made anew each time, the work
/// would multiply from level to level.
class Pullbacks {
 public:
  Graph of(const Graph& body, const std::vector<bool>& wanted, const std::vector<bool>& given,
           const Buffers& buffers) {
    std::list<Entry>& alike = made_[structural_hash(body)];
    for (const Entry& e : alike)
      if (e.wanted == wanted && e.given == given && e.buffers == buffers &&
          structurally_equal(e.body, body) && same_lines(e.body, body))
        return e.graph;
    // The references stay: others are made meanwhile.
    Graph graph = simplify(pullback(body, wanted, given, buffers));
    alike.push_back({body, wanted, given, buffers, graph});
    return graph;
  }

 private:
  struct Entry {
    Graph body;
    std::vector<bool> wanted, given;
    Buffers buffers;
    Graph graph;
  };
  /// Whether errors and dumps name the same lines of graphs that are structurally equal.
  static bool same_lines(const Graph& a, const Graph& b) {
    for (std::size_t i = 0; i < a.equations.size(); ++i) {
      const Equation &x = a.equations[i], &y = b.equations[i];
      if (x.loc.line != y.loc.line || std::string_view(x.loc.file) != y.loc.file) return false;
      const std::vector<GraphPtr> of_x = x.params.graphs(), of_y = y.params.graphs();
      for (std::size_t k = 0; k < of_x.size(); ++k)
        if (of_x[k] != of_y[k] && !same_lines(*of_x[k], *of_y[k])) return false;
    }
    return true;
  }
  std::unordered_map<std::uint64_t, std::list<Entry>> made_;
};

namespace {

/// The pullback of a step, made once in a trace.
Graph step_pullback(const Graph& body, const std::vector<bool>& wanted,
                    const std::vector<bool>& given, const Buffers& buffers) {
  Trace* const trace = Trace::outermost();
  if (!trace) return simplify(pullback(body, wanted, given, buffers));
  if (!trace->pullbacks) trace->pullbacks = std::make_shared<Pullbacks>();
  return trace->pullbacks->of(body, wanted, given, buffers);
}

}  // namespace

StepBack::StepBack(const Graph& body, std::size_t carried, const std::vector<bool>& inputs,
                   const Buffers& known, bool with_residuals)
    : buffers(buffers_of_body(body, carried, known)) {
  active = carried_flags(
      inputs, carried, [&](const std::vector<bool>& flags) { return active_outputs(body, flags); });
  outputs = active_outputs(body, active);
  for (std::size_t i = 0; i < carried; ++i) outputs[i] = active[i];
  body_ = body;
  if (auto skips = with_residuals ? skipping(body, carried, active) : std::nullopt) {
    goes = std::move(skips->goes);
    body_ = std::move(skips->body);
  }
  graph = step_pullback(body_, active, outputs, buffers);
  used = used_inputs(graph);
  if (!with_residuals) return;
  std::vector<bool> histories(body.inputs.size(), false);
  for (std::size_t i = 0; i < carried; ++i) histories[i] = kept(i);
  residuals = residuals_of(body, graph, histories);
  graph = control::with_residuals(graph, residuals);
  used = used_inputs(graph);
}

StepBack StepBack::narrowed(const Graph& body, std::size_t carried,
                            const Tangents& cotangents) const {
  StepBack r;
  r.buffers = buffers;
  r.outputs.assign(outputs.size(), false);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    r.outputs[i] = outputs[i] && cotangents[i].has_value();
  for (bool grown = true; grown;) {
    std::vector<bool> reached(body.avals.size(), false);
    for (std::size_t i = 0; i < r.outputs.size(); ++i)
      if (r.outputs[i]) reached[body.outputs[i]] = true;
    for (auto e = body.equations.rbegin(); e != body.equations.rend(); ++e)
      if (std::any_of(e->outputs.begin(), e->outputs.end(), [&](ValueId v) { return reached[v]; }))
        for (ValueId v : e->inputs) reached[v] = true;
    r.active = active;
    for (std::size_t i = 0; i < active.size(); ++i)
      r.active[i] = active[i] && reached[body.inputs[i]];
    grown = false;
    for (std::size_t i = 0; i < carried; ++i) {
      grown |= r.active[i] && !r.outputs[i];
      r.outputs[i] = r.outputs[i] || r.active[i];
    }
  }
  // What a carried value has of a cotangent has to go on, though the body may not look at it.
  for (std::size_t i = 0; i < carried; ++i) r.active[i] = r.outputs[i];
  if (r.active == active && r.outputs == outputs) return *this;
  r.residuals = residuals;
  r.goes = goes;
  r.body_ = body_;
  r.graph = with_residuals(step_pullback(body_, r.active, r.outputs, buffers), residuals);
  r.used = used_inputs(r.graph);
  // Other terms cancel when some are gone: it may look at what need not be kept for all of them.
  for (std::size_t i = 0; i < carried; ++i)
    if (r.kept(i) && !kept(i)) return *this;
  return r;
}

Arrays settled_of(const StepBack& step, std::size_t carried, const Arrays& all) {
  Arrays r;
  for (std::size_t i = 0; i < carried; ++i)
    if (step.settled(i)) r.push_back(all[i]);
  return r;
}

bool keeps_little(const StepBack& step, const std::vector<Aval>& types, Dim steps) {
  std::uint64_t kept = 0, held = 0;
  const auto bytes = [](const Aval& a) {
    return static_cast<std::uint64_t>(a.shape.size()) * size_of(a.dtype);
  };
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (step.settled(i)) held += bytes(types[i]);
    if (step.kept(i)) kept += bytes(types[i]) * static_cast<std::uint64_t>(steps);
  }
  return kept <= held;
}

}  // namespace gnomon::control
