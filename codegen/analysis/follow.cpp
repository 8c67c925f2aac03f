// codegen/analysis/follow.cpp -- walks through elementwise equations and views.
#include "codegen/analysis/follow.h"

#include <algorithm>
#include <set>

#include "codegen/base/lists.h"
#include "codegen/graph/primitive.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"

namespace gnomon {

namespace {

/// Axes of `from` that a reshape to `to` leaves alone, per axis of `to`.
AxisMap kept_axes(const Shape& from, const Shape& to) {
  AxisMap r(at(to.rank()), -1);
  Dim before_from = 1;
  for (int a = 0; a < from.rank(); before_from *= from[a++]) {
    Dim before_to = 1;
    for (int b = 0; b < to.rank(); before_to *= to[b++])
      if (before_from == before_to && from[a] == to[b] && to[b] > 1) r[at(b)] = a;
  }
  return r;
}

}  // namespace

void walk(const Placement& r, ValueId root,
          const std::function<bool(ValueId, const AxisMap&)>& visit) {
  struct Open {
    ValueId v;
    AxisMap axes;
  };
  const Graph& g = r.graph;
  AxisMap all;
  for (int a = 0; a < g.avals[root].shape.rank(); ++a) all.push_back(a);
  std::vector<Open> open{{root, all}};
  std::set<ValueId> seen;
  while (!open.empty()) {
    const Open here = std::move(open.back());
    open.pop_back();
    if (!seen.insert(here.v).second || !visit(here.v, here.axes)) continue;
    if (r.uses.producer[here.v] == Uses::none) continue;
    const Equation& e = g.equations[r.uses.producer[here.v]];
    const auto through = [&](const AxisMap& below) {
      AxisMap axes;
      for (int a : here.axes) axes.push_back(a < 0 ? -1 : below[at(a)]);
      open.push_back({e.inputs[0], std::move(axes)});
    };
    const Lowering& l = e.primitive->lower;
    if (e.primitive == &permute_p) {
      through(e.params.as<AxesParams>().axes);
    } else if (e.primitive == &reshape_p) {
      through(kept_axes(g.avals[e.inputs[0]].shape, g.avals[here.v].shape));
    } else if (l.kind == Lowering::Kind::element && l.reuse == Reuse::once &&
               l.cost != Cost::view) {
      for (ValueId in : e.inputs)
        if (g.avals[in].shape == g.avals[here.v].shape) open.push_back({in, here.axes});
    }
  }
}

int innermost(const Shape& shape, const Layout& layout) {
  for (int k = shape.rank() - 1; k >= 0; --k) {
    const int a = layout.row_major() ? k : layout.order[at(k)];
    if (shape[a] > 1) return a;
  }
  return -1;
}

int contiguous_axis(const Placement& r, ValueId v) {
  int found = -1;
  walk(r, v, [&](ValueId below, const AxisMap& axes) {
    if (!r.in_memory[below]) return true;
    const int inner = innermost(r.graph.avals[below].shape, r.layouts[below]);
    const auto mine = std::find(axes.begin(), axes.end(), inner);
    if (found < 0 && inner >= 0 && mine != axes.end())
      found = static_cast<int>(mine - axes.begin());
    return false;
  });
  return found;
}

}  // namespace gnomon
