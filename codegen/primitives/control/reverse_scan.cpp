// codegen/primitives/control/reverse_scan.cpp -- reverse mode of scan.
#include "codegen/lax/lax.h"
#include "codegen/operations/buffer.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/primitives/control/reverse.h"
#include "codegen/primitives/control/written_out.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"
#include "codegen/transforms/vjp.h"
#include "codegen/transforms/write_once.h"

namespace gnomon {
namespace {

using control::joined;
using control::part;
using control::StepBack;

/// The scan as a scan of segments, each a scan or written out, and the steps that are left over,
/// which come last.
Graph in_segments(const ScanParams& p, const control::Segments& s, const Arrays& x, Loc loc) {
  const auto carried = static_cast<std::size_t>(p.carried);
  const auto sequences = static_cast<std::size_t>(p.sequences);
  const Dim segment = s.steps, segments = p.length / segment, whole = segments * segment,
            rest = p.length - whole;
  const Dim first = p.reverse ? rest : 0, first_rest = p.reverse ? 0 : whole;
  Trace outer;
  outer.loc = loc;
  Arrays in;
  for (const Array& v : x) in.push_back(outer.input(v.aval()));
  if (s.written_out && segment == p.length) return outer.finish(control::written_out(p, in, loc));
  const Arrays constants = part(in, carried + sequences, in.size() - carried - sequences);
  Arrays grouped, left_over;
  for (const Array& v : part(in, carried, sequences)) {
    const Array part_of = lax::slice_axis(v, 0, first, first + whole, loc);
    grouped.push_back(
        lax::reshape(part_of, v.shape().with(0, segment).with_inserted(0, segments), loc));
    left_over.push_back(lax::slice_axis(v, 0, first_rest, first_rest + rest, loc));
  }
  const auto run = [&](Dim length, const Arrays& inputs) {
    ScanParams q = p;
    q.length = length;
    return s.written_out ? control::written_out(q, inputs, loc)
                         : control::emit_scan(q, inputs, loc);
  };
  ScanParams both = p;
  both.length = segments;
  both.kind = s.kind;
  both.body = control::share([&] {
    Trace t;
    t.loc = loc;
    Arrays own;
    for (const Array& v : part(in, 0, carried)) own.push_back(t.input(v.aval()));
    for (const Array& v : grouped) own.push_back(t.input({v.dtype(), v.shape().without(0)}));
    for (const Array& v : constants) own.push_back(t.input(v.aval()));
    return t.finish(run(segment, own));
  }());
  Arrays out =
      control::emit_scan(both, joined(joined(part(in, 0, carried), grouped), constants), loc);
  for (std::size_t i = carried; i < out.size(); ++i)
    out[i] = lax::reshape(out[i], out[i].shape().without(0).with(0, whole), loc);
  if (rest == 0) return outer.finish(out);
  const Arrays end = run(rest, joined(joined(part(out, 0, carried), left_over), constants));
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i < carried)
      out[i] = end[i];
    else
      out[i] =
          lax::concatenate(p.reverse ? Arrays{end[i], out[i]} : Arrays{out[i], end[i]}, 0, loc);
  }
  return outer.finish(out);
}

/// The scan as a checkpointed while loop: it carries the number of the step and the rows, of which
/// no step looks at any.
Graph checkpointed(const ScanParams& p, const Arrays& x, Loc loc) {
  const auto carried = static_cast<std::size_t>(p.carried);
  const auto sequences = static_cast<std::size_t>(p.sequences);
  const std::vector<Aval> results = p.body->output_avals();
  Trace outer;
  outer.loc = loc;
  Arrays in;
  for (const Array& v : x) in.push_back(outer.input(v.aval()));
  Arrays start = joined({lax::scalar_integer(DType::i32, 0)}, part(in, 0, carried));
  for (std::size_t i = carried; i < results.size(); ++i)
    start.push_back(
        emit1(buffer_p, BufferParams{results[i].dtype, results[i].shape.with_inserted(0, p.length)},
              {}, loc));
  const Arrays constants = part(in, carried, in.size() - carried);
  const auto traced = [&](const auto& f) { return control::traced(start, constants, loc, f); };
  const auto number = [](Dim n) { return lax::scalar_integer(DType::i32, n); };
  WhileParams q;
  q.condition = traced(
      [&](const Arrays& own, const Arrays&) { return Arrays{lax::lt(own[0], number(p.length))}; });
  q.body = traced([&](const Arrays& own, const Arrays& k) {
    const Array at = p.reverse ? lax::sub(number(p.length - 1), own[0]) : own[0];
    Arrays inputs = part(own, 1, carried);
    for (std::size_t i = 0; i < sequences; ++i) inputs.push_back(rules::row_of(k[i], at));
    inputs = joined(inputs, part(k, sequences, k.size() - sequences));
    const Arrays out = inline_graph(*p.body, inputs);
    Arrays next = joined({lax::add(own[0], 1.0)}, part(out, 0, carried));
    for (std::size_t i = carried; i < out.size(); ++i)
      next.push_back(rules::with_row(own[1 + i], out[i], at));
    return next;
  });
  q.carried = static_cast<int>(start.size());
  q.max_steps = p.length;
  q.kind = p.kind;
  q.checkpoints = p.checkpoints;
  const Arrays out = control::emit_while(q, joined(start, constants), loc);
  return outer.finish(part(out, 1, results.size()));
}

/// Whether it keeps some steps only, and that is not all of them.
bool keeps_some(const ScanParams& p) {
  return p.kind == LoopKind::checkpointed && p.checkpoints < p.length;
}

control::Segments segments_of(const ScanParams& p, const StepBack& step) {
  const auto carried = static_cast<std::size_t>(p.carried);
  std::vector<Aval> types = p.body->output_avals();
  types.resize(carried);
  if (p.kind == LoopKind::automatic && control::keeps_little(step, types, p.length)) return {};
  return control::segments_of(p.kind, {*p.body, carried}, p.length, control::fewest_of_scan);
}

/// What the inputs of the body are when the scan begins: a row of a buffer is none.
Buffers of_body(const ScanParams& p, Buffers operands) {
  for (int i = p.carried; i < p.carried + p.sequences; ++i) {
    Buffered& b = operands[static_cast<std::size_t>(i)];
    if (b != Buffered::no) b = Buffered::read;
  }
  return operands;
}

Arrays forward_scan(const Params& params, const Arrays& x, const std::vector<bool>& active,
                    const Buffers& buffers, Loc loc) {
  ScanParams p = params.as<ScanParams>();
  control::check_kind("scan or fori_loop", p.kind, p.length, loc);
  if (keeps_some(p)) return control::forward_by(checkpointed(p, x, loc), x, active, buffers);
  const auto carried = static_cast<std::size_t>(p.carried);
  const StepBack step(*p.body, carried, active, of_body(p, buffers));
  if (const auto s = segments_of(p, step); s.steps > 0)
    return control::forward_by(in_segments(p, s, x, loc), x, active, buffers);
  Graph body = *settled(scan_p, p, buffers).as<ScanParams>().body;
  for (std::size_t i = 0; i < carried; ++i)
    if (step.kept(i)) body.outputs.push_back(body.inputs[i]);
  p.body = control::share(canonicalize(body));
  const Arrays out = control::emit_scan(p, x, loc);
  return joined(out, control::settled_of(step, carried, out));
}

/// The carried values that a step began with: `rows` of those that are kept, then what is the same
/// in every step, which `shared` begins with. Zeros for those that the pullback does not look at.
Arrays began_step(const StepBack& full, const StepBack& step, const Graph& body,
                  std::size_t carried, const Arrays& rows, const Arrays& shared) {
  Arrays r;
  for (std::size_t i = 0, row = 0, whole = 0; i < carried; ++i) {
    if (!step.used[i])
      r.push_back(lax::full(body.avals[body.inputs[i]], 0));
    else
      r.push_back(full.settled(i) ? shared[whole] : rows[row]);
    (full.settled(i) ? whole : row) += full.settled(i) || full.kept(i) ? 1 : 0;
  }
  return r;
}

/// What a step back carries on and what it stacks, from the cotangents that its pullback has found:
/// those of sequences are stacked, those of constants added to what `carry` has of them.
std::pair<Arrays, Arrays> carried_and_stacked(const StepBack& step, std::size_t carried,
                                              std::size_t first_constant, const Arrays& carry,
                                              const Arrays& found) {
  Arrays next, stacked;
  for (std::size_t i = 0, at = 0; i < step.active.size(); ++i) {
    if (!step.active[i]) continue;
    if (i < carried)
      next.push_back(found[at]);
    else if (i < first_constant)
      stacked.push_back(found[at]);
    else
      next.push_back(add_cotangents(carry[next.size()], found[at]));
    ++at;
  }
  return {next, stacked};
}

Tangents backward_scan(const ReverseArgs& a) {
  ScanParams p = a.params.as<ScanParams>();
  if (keeps_some(p)) return control::backward_by(checkpointed(p, a.inputs, Trace::where()), a);
  const auto carried = static_cast<std::size_t>(p.carried);
  const auto sequences = static_cast<std::size_t>(p.sequences);
  const Graph& body = *p.body;
  const StepBack full(body, carried, a.active, of_body(p, a.buffers));
  if (const auto s = segments_of(p, full); s.steps > 0)
    return control::backward_by(in_segments(p, s, a.inputs, Trace::where()), a);
  const StepBack step = full.narrowed(body, carried, a.cotangents);
  std::vector<Aval> stacked = body.output_avals();
  for (std::size_t i = carried; i < stacked.size(); ++i) stacked[i].shape.insert(0, p.length);

  // Carried: cotangents of carried values, sums for constants. Sequences: what steps began with,
  // the scan's own, cotangents of stacked rows. Stacked: cotangents of sequences.
  std::vector<bool> of_carried = step.outputs, of_stacked = step.outputs;
  std::fill(of_carried.begin() + static_cast<std::ptrdiff_t>(carried), of_carried.end(), false);
  std::fill(of_stacked.begin(), of_stacked.begin() + static_cast<std::ptrdiff_t>(carried), false);
  Arrays start = control::dense(a.cotangents, of_carried, stacked);
  const std::size_t moving = start.size();
  const std::size_t first_constant = carried + sequences;
  for (std::size_t i = first_constant; i < a.inputs.size(); ++i)
    if (step.active[i]) start.push_back(lax::zeros_like(a.inputs[i]));
  const Arrays rows = control::dense(a.cotangents, of_stacked, stacked);
  // What every step looks at: buffers, constants.
  std::size_t buffers = 0;
  for (std::size_t i = 0; i < carried; ++i) buffers += full.settled(i) ? 1 : 0;
  const Arrays began_with = part(a.saved, 0, a.saved.size() - buffers);
  const Arrays constants = joined(part(a.saved, a.saved.size() - buffers, buffers),
                                  part(a.inputs, first_constant, a.inputs.size() - first_constant));

  const Arrays own = part(a.inputs, carried, sequences);
  const auto step_back = [&] {
    Trace trace;
    const auto inputs = [&](const Arrays& like, bool row) {
      Arrays r;
      for (const Array& v : like)
        r.push_back(trace.input({v.dtype(), row ? v.shape().without(0) : v.shape()}));
      return r;
    };
    const Arrays carry = inputs(start, false), began = inputs(began_with, true),
                 own_rows = inputs(own, true), of_rows = inputs(rows, true),
                 shared = inputs(constants, false);
    Arrays in = began_step(full, step, body, carried, began, shared);
    in = joined(joined(in, own_rows), part(shared, buffers, shared.size() - buffers));
    in = joined(in, joined(part(carry, 0, moving), of_rows));
    const Arrays found = inline_graph(step.graph, in);
    const auto next = carried_and_stacked(step, carried, first_constant, carry, found);
    return trace.finish(joined(next.first, next.second));
  };
  const std::size_t sums = start.size();
  p.body = control::share(step_back());
  p.carried = static_cast<int>(sums);
  p.sequences = static_cast<int>(began_with.size() + own.size() + rows.size());
  p.reverse = !p.reverse;
  const Arrays out = control::emit_scan(
      p, joined(joined(joined(joined(start, began_with), own), rows), constants));

  Tangents r(a.inputs.size());
  for (std::size_t i = 0, sum = 0, row = sums; i < step.active.size(); ++i) {
    if (!step.active[i]) continue;
    const Array& found_here = i >= carried && i < first_constant ? out[row++] : out[sum++];
    if (a.active[i]) r[i] = found_here;
  }
  return r;
}

}  // namespace

const ReverseMode scan_reverse{forward_scan, backward_scan, moving_of_scan};

}  // namespace gnomon
