// codegen/primitives/control/in_step.cpp -- while loops that all elements go through in step.
#include "codegen/primitives/control/in_step.h"

#include "codegen/lax/lax.h"
#include "codegen/operations/collectives.h"
#include "codegen/operations/table.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"

namespace gnomon::control {
namespace {

std::vector<CollectiveParams> axes_met(const WhileParams& p) {
  std::vector<CollectiveParams> axes;
  add_axes_met(*p.condition, axes);
  add_axes_met(*p.body, axes);
  return axes;
}

}  // namespace

bool stops_apart(const WhileParams& p) {
  for (const CollectiveParams& along : axes_met(p)) {
    Trace mapping;
    mapping.mapped_axis = along.axis;
    const std::vector<bool> all(p.condition->inputs.size(), true);
    if (batched_outputs(*p.condition, all, along.size)[0]) return true;
  }
  return false;
}

Graph in_step(const WhileParams& p, Loc loc) {
  const auto carried = static_cast<std::size_t>(p.carried);
  Trace outer;
  outer.loc = loc;
  Arrays in;
  for (ValueId v : p.body->inputs) in.push_back(outer.input(p.body->avals[v]));
  const Arrays constants = part(in, carried, in.size() - carried);
  // Behind the carried values: whether the element goes on. One that has stopped never wakes.
  const Arrays start = joined(part(in, 0, carried), inline_graph(*p.condition, in));
  const GraphPtr stays =
      traced({}, in, loc, [&](const Arrays&, const Arrays& x) { return part(x, 0, carried); });
  const CondParams step{{stays, p.body}, p.lanes};

  WhileParams q = p;
  q.lanes = 0;
  q.carried = p.carried + 1;
  q.condition = traced(start, constants, loc, [&](const Arrays& own, const Arrays&) {
    Array any = lax::convert(own.back(), DType::i32);
    if (p.lanes > 0) any = emit1(reduce_max_p, AxesParams{{0}}, {any}, loc);
    for (const CollectiveParams& along : axes_met(p)) any = emit1(psum_p, along, {any}, loc);
    return Arrays{lax::lt(lax::zeros_like(any), any)};
  });
  q.body = traced(start, constants, loc, [&](const Arrays& own, const Arrays& k) {
    const Array& goes = own.back();
    Arrays next = emit(cond_p, step, joined(joined({goes}, part(own, 0, carried)), k), loc);
    const Array more = inline_graph(*p.condition, joined(next, k))[0];
    next.push_back(lax::logical_and(goes, more));
    return next;
  });
  return outer.finish(part(emit_while(q, joined(start, constants), loc), 0, carried));
}

}  // namespace gnomon::control
