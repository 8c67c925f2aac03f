// codegen/primitives/control/written_out.cpp -- steps of loops written out one after the other.
#include "codegen/primitives/control/written_out.h"

#include <algorithm>

#include "codegen/analysis/lane_axes.h"
#include "codegen/cost/instructions.h"
#include "codegen/graph/effects.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/table.h"
#include "codegen/primitives/control/reverse.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"

namespace gnomon::control {
namespace {

/// Operations of one lane that steps written out have together at most. Their pullback has about
/// twice as many, a kernel several lanes per invocation, and drivers take more than linear time.
constexpr Dim most_operations = 640;
/// Steps written out at most: rows of stacked outputs are joined one by one.
constexpr Dim most_steps = 32;
/// Segments written out of which all are kept at most.
constexpr Dim most_kept = 128;

/// Whether elements along the leading axes of the flagged inputs stay apart and where they are.
bool keeps_apart(const Graph& g, const std::vector<bool>& inputs, std::size_t outputs) {
  const auto axes = lane_axes(g, inputs);
  return axes && std::all_of(axes->begin(), axes->begin() + static_cast<std::ptrdiff_t>(outputs),
                             [](int a) { return a <= 0; });
}

/// The length of the leading axis that all carried arrays share, single numbers apart, when the
/// elements along it have nothing to do with each other; else 1.
Dim lanes_of(const LoopStep& step) {
  Dim lanes = 0;
  std::vector<bool> arrays(step.body.inputs.size(), false);
  for (std::size_t i = 0; i < step.carried; ++i) {
    const Shape& shape = step.body.avals[step.body.inputs[i]].shape;
    if (shape.rank() == 0) continue;
    if (lanes > 0 && shape[0] != lanes) return 1;
    lanes = shape[0];
    arrays[i] = true;
  }
  // How much code loops and branches inside would become is not counted here.
  const auto holds_graphs = [](const Equation& e) { return !e.params.graphs().empty(); };
  if (std::any_of(step.body.equations.begin(), step.body.equations.end(), holds_graphs)) return 1;
  if (lanes <= 1 || !keeps_apart(step.body, arrays, step.carried)) return 1;
  if (!step.condition) return lanes;
  // Of the condition no scan's sequences are inputs.
  return keeps_apart(*step.condition, arrays, 1) ? lanes : 1;
}

/// Instructions of an element. What counts here is the length of the code that a driver is given,
/// not its time: functions of f32 are some 50 (exp) to 170 (sin) instructions, those of f64 twice
/// as many. 32 sines in a row took lavapipe four seconds to compile, and their loop was no faster.
Dim instructions_of(const Graph& g, const Equation& e) {
  const Dim each = instructions(e.primitive->lower.cost);
  if (e.primitive->lower.cost != Cost::heavy || !is_pointwise(g, e)) return each;
  return (g.avals[e.inputs[0]].dtype == DType::f64 ? 8 : 4) * each;
}

/// Operations that one lane takes for a step; nothing when it holds loops, writes into arrays, or
/// mixes so much that nobody would write it out.
std::optional<Dim> operations(const Graph& body, Dim lanes) {
  Dim sum = 0;
  for (const Equation& e : body.equations) {
    if (e.primitive->lower.kind != Lowering::Kind::element || has_effects(e) ||
        e.primitive == &dynamic_update_slice_p)
      return std::nullopt;
    if (e.primitive->lower.cost == Cost::view) continue;
    Dim elements = 0;
    for (ValueId v : e.outputs) elements = std::max(elements, body.avals[v].shape.size());
    if (e.primitive == &dot_general_p)
      for (int axis : e.params.as<DotParams>().lhs_contracting)
        elements *= body.avals[e.inputs[0]].shape[axis];
    else
      for (ValueId v : e.inputs) elements = std::max(elements, body.avals[v].shape.size());
    sum += (elements + lanes - 1) / lanes * instructions_of(body, e);
    if (sum > most_operations) return std::nullopt;
  }
  return std::max<Dim>(1, sum);
}

}  // namespace

Segments segments_of(LoopKind kind, const LoopStep& step, Dim steps, Dim fewest) {
  const auto each =
      kind == LoopKind::automatic ? operations(step.body, lanes_of(step)) : std::nullopt;
  const Dim most = each ? std::min({most_operations / *each, most_steps, steps}) : 1;
  if (most < fewest) return {segment_of(kind, steps), false, kind};
  // No steps are left over where that costs little.
  Dim n = most;
  while (n > most / 2 + 1 && steps % n != 0) --n;
  if (steps % n != 0) n = most;
  return {n, true, steps / n <= most_kept ? LoopKind::stored : kind};
}

Arrays written_out(const ScanParams& p, const Arrays& inputs, Loc loc) {
  const auto carried = static_cast<std::size_t>(p.carried);
  const auto sequences = static_cast<std::size_t>(p.sequences);
  const Arrays constants = part(inputs, carried + sequences, inputs.size() - carried - sequences);
  Arrays state = part(inputs, 0, carried);
  std::vector<Arrays> rows(p.body->outputs.size() - carried);
  for (Dim k = 0; k < p.length; ++k) {
    const Dim at = p.reverse ? p.length - 1 - k : k;
    Arrays in = state;
    for (const Array& s : part(inputs, carried, sequences))
      in.push_back(lax::reshape(lax::slice_axis(s, 0, at, at + 1, loc), s.shape().without(0), loc));
    const Arrays out = inline_graph(*p.body, joined(std::move(in), constants));
    state = part(out, 0, carried);
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i].push_back(
          lax::reshape(out[carried + i], out[carried + i].shape().with_inserted(0, 1), loc));
  }
  for (Arrays& each : rows) {
    if (p.reverse) std::reverse(each.begin(), each.end());
    state.push_back(lax::concatenate(each, 0, loc));
  }
  return state;
}

Arrays written_out(const WhileParams& p, const Arrays& inputs, Loc loc) {
  const auto carried = static_cast<std::size_t>(p.carried);
  const Arrays start = part(inputs, 0, carried),
               constants = part(inputs, carried, inputs.size() - carried);
  Arrays state = inline_graph(*p.body, inputs);
  for (Dim k = 1; k < p.max_steps; ++k) {
    const Array go = inline_graph(*p.condition, joined(state, constants))[0];
    const auto choose = [&](const Arrays& yes, const Arrays& no) {
      Arrays r;
      for (std::size_t i = 0; i < carried; ++i) {
        const std::vector<int> axes(static_cast<std::size_t>(go.rank()), 0);
        r.push_back(lax::select(lax::broadcast(go, yes[i].shape(), axes, loc), yes[i], no[i], loc));
      }
      return r;
    };
    // Where the loop has ended the body sees a state that it is defined for, so that its
    // derivatives there, which nobody takes, are numbers.
    const Arrays next = inline_graph(*p.body, joined(choose(state, start), constants));
    state = choose(next, state);
  }
  return state;
}

}  // namespace gnomon::control
