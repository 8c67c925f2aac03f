// codegen/analysis/loop_lanes.cpp -- the lengths of what loops carry and stack.
#include "codegen/analysis/loop_lanes.h"

#include <algorithm>
#include <functional>

#include "codegen/operations/control.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/table.h"

namespace gnomon {

namespace {

/// The largest number of lanes among the per-lane loops in a graph, nested ones included.
Dim laned_loop(const Graph& g);
Dim laned_loop(const Equation& e) {
  Dim n = 0;
  if (e.primitive == &while_p) n = e.params.as<WhileParams>().lanes;
  for (const GraphPtr& sub : e.params.graphs()) n = std::max(n, laned_loop(*sub));
  return n;
}
Dim laned_loop(const Graph& g) {
  Dim n = 0;
  for (const Equation& e : g.equations) n = std::max(n, laned_loop(e));
  return n;
}

/// Whether a step writes a few of n rows of an array: as lanes, all the others would take that step
/// for nothing.
bool visits_lanes(const Graph& g, const std::set<std::uint32_t>& loops, Dim n) {
  for (std::uint32_t l : loops)
    for (const GraphPtr& body : g.equations[l].params.graphs())
      for (const Equation& e : body->equations) {
        if (e.primitive != &dynamic_update_slice_p ||
            e.params.as<DynamicUpdateSliceParams>().batch_dims > 0)
          continue;
        const Shape& all = body->avals[e.inputs[0]].shape;
        if (all.rank() > 0 && all[0] == n && 4 * body->avals[e.inputs[1]].shape[0] < n) return true;
      }
  return false;
}

}  // namespace

std::vector<Dim> lane_candidates(const Graph& g, const std::set<std::uint32_t>& loops) {
  std::vector<Dim> r;
  const auto add = [&](Dim n) {
    if (n > 1 && std::find(r.begin(), r.end(), n) == r.end()) r.push_back(n);
  };
  std::vector<Dim> sizes;
  std::vector<Shape> carried;
  for (std::uint32_t l : loops) {
    const Equation& e = g.equations[l];
    add(laned_loop(e));
    for (std::size_t o = 0; o < e.outputs.size(); ++o) {
      const Shape& s = g.avals[e.outputs[o]].shape;
      const bool stacked =
          e.primitive == &scan_p && static_cast<int>(o) >= e.params.as<ScanParams>().carried;
      if (s.rank() > (stacked ? 1 : 0)) sizes.push_back(s[stacked ? 1 : 0]);
      if (!stacked) carried.push_back(s);
    }
  }
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  // What is carried without the lane axis is computed by every lane: not most of it.
  const auto shared = [&](Dim n) {
    Dim own = 0, same = 0;
    for (const Shape& s : carried) (s.rank() > 0 && s[0] == n ? own : same) += s.size();
    return same > own;
  };
  for (Dim n : sizes)
    if (!shared(n) && !visits_lanes(g, loops, n)) add(n);
  return r;
}

}  // namespace gnomon
