// codegen/primitives/control/reverse_cond.cpp -- reverse mode of cond: the branch that was taken,
// again.
#include <algorithm>

#include "codegen/lax/lax.h"
#include "codegen/operations/collectives.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/primitives/control/reverse.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"
#include "codegen/transforms/unbatch.h"
#include "codegen/transforms/vjp.h"
#include "codegen/transforms/write_once.h"

namespace gnomon {
namespace {

using control::joined;
using control::part;

Arrays forward_cond(const Params& params, const Arrays& x, const std::vector<bool>&,
                    const Buffers& buffers, Loc loc) {
  return emit(cond_p, settled(cond_p, params, buffers), x, loc);
}

/// Which branch each lane takes: i32[lanes], or without lanes i32[].
Array branch_taken(const CondParams& p, const Array& index) {
  if (index.dtype() == DType::boolean) return lax::convert(index, DType::i32);
  const auto last = static_cast<double>(p.branches.size() - 1);
  return emit1(max_p, {},
               {emit1(min_p, {}, {index, lax::full_like(index, last)}, {}), lax::zeros_like(index)},
               {});
}

/// Operands of lanes, and what the branches do with one of them.
struct LaneBranches {
  std::vector<Graph> branches;
  std::vector<bool> varies;  // per operand: it has the lanes in front
};

std::optional<LaneBranches> lane_branches(const CondParams& p, std::vector<bool> varies) {
  LaneBranches one{{}, std::move(varies)};
  for (const GraphPtr& branch : p.branches) {
    auto g = unbatch(*branch, one.varies, p.lanes);
    if (!g) return std::nullopt;
    one.branches.push_back(std::move(*g));
  }
  return one;
}

/// Nothing when lanes know of one another, or that cannot be told.
std::optional<LaneBranches> lane_branches(const CondParams& p, const Arrays& operands) {
  std::vector<bool> varies;
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    varies.push_back(operands[i].rank() > 0 && operands[i].shape()[0] == p.lanes);
    if (varies.back()) candidates.push_back(i);
  }
  if (auto one = lane_branches(p, varies)) return one;
  // What lanes share may be as long as there are lanes, by chance.
  constexpr std::size_t most_tried = 8;
  if (candidates.size() > most_tried) return std::nullopt;
  for (const std::size_t i : candidates) {
    std::vector<bool> fewer = varies;
    fewer[i] = false;
    if (auto one = lane_branches(p, fewer)) return one;
    for (const std::size_t j : candidates) {
      if (j <= i) continue;
      std::vector<bool> fewest = fewer;
      fewest[j] = false;
      if (auto one = lane_branches(p, fewest)) return one;
    }
  }
  return std::nullopt;
}

/// Elements that lanes may have of cotangents of what they share, all together, before these are
/// summed up.
constexpr Dim most_shared = Dim{1} << 22;

Dim shared_elements(const LaneBranches& one, const Arrays& operands,
                    const std::vector<bool>& active) {
  Dim n = 0;
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (active[i] && !one.varies[i]) n += operands[i].size();
  return n;
}

/// A cond again, by lane: every lane goes back through the branch that it took. What lanes share is
/// summed up behind it.
Arrays by_own_branch(CondParams p, const LaneBranches& one, const Arrays& inputs,
                     const std::vector<bool>& active, const std::vector<bool>& given,
                     const Buffers& buffers, const Arrays& cotangents) {
  std::vector<bool> varies = one.varies;
  varies.resize(varies.size() + cotangents.size(), true);
  for (std::size_t b = 0; b < one.branches.size(); ++b) {
    const Graph back = pullback(one.branches[b], active, given, buffers);
    p.branches[b] = control::share(
        control::batch(back, varies, std::vector<bool>(back.outputs.size(), true), p.lanes));
  }
  Arrays found = emit(cond_p, p, joined(inputs, cotangents), {});
  for (std::size_t i = 0, at = 0; i < active.size(); ++i) {
    if (!active[i]) continue;
    if (!one.varies[i]) found[at] = lax::sum(found[at], {0});
    ++at;
  }
  return found;
}

/// Cotangents through one more branch; nothing is there in front of the first.
void add_to(Arrays& sum, const Arrays& found) {
  if (sum.empty()) {
    sum = found;
    return;
  }
  for (std::size_t i = 0; i < found.size(); ++i) sum[i] = lax::add(sum[i], found[i]);
}

/// All branches for all lanes. Lane i of every cotangent is there for branch b if i takes it; a
/// lane that takes another one has the operands of one that takes b meanwhile, because zero times
/// the slope of a branch at a place that it is not meant for may be NaN.
Arrays by_all_branches(const CondParams& p, const std::optional<LaneBranches>& one,
                       const Array& index, const Arrays& operands, const Arrays& cotangents,
                       const std::vector<Graph>& back) {
  const Array chosen = branch_taken(p, index);
  Arrays sum;
  for (std::size_t b = 0; b < back.size(); ++b) {
    const Array mine = lax::eq(chosen, lax::full_like(chosen, static_cast<double>(b)));
    const auto where_mine = [&](const Array& x, const Array& otherwise) {
      return lax::select(lax::broadcast(mine, x.shape(), {0}), x, otherwise);
    };
    Arrays in = operands;
    if (one) {
      // The first lane that takes it.
      const Array lane = lax::iota(DType::i32, mine.shape(), 0);
      const Array first =
          emit1(reduce_min_p, AxesParams{{0}},
                {lax::select(mine, lane, lax::full_like(lane, static_cast<double>(p.lanes)))}, {});
      for (std::size_t i = 0; i < in.size(); ++i) {
        if (!one->varies[i]) continue;
        std::vector<int> axes;
        for (int k = 1; k < in[i].rank(); ++k) axes.push_back(k);
        in[i] = where_mine(in[i], lax::broadcast(rules::row_of(in[i], first), in[i].shape(), axes));
      }
    }
    for (const Array& c : cotangents) in.push_back(where_mine(c, lax::zeros_like(c)));
    Arrays found = inline_graph(back[b], in);
    if (one) {
      // A branch that nobody takes has no place that it is meant for.
      const Array any = emit1(reduce_max_p, AxesParams{{0}}, {mine}, {});
      for (Array& f : found)
        f = lax::select(lax::broadcast(any, f.shape(), {}), f, lax::zeros_like(f));
    }
    add_to(sum, found);
  }
  return sum;
}

/// Where elements along named axes meet: each takes part in every branch, so it goes back through
/// every one that any of them takes. Its cotangents are there for the one that it takes itself.
Arrays by_branches_of_all(const CondParams& p, const Array& index, const Arrays& operands,
                          const Arrays& cotangents, const std::vector<Graph>& back,
                          const std::vector<CollectiveParams>& met) {
  const Array chosen = branch_taken(p, index);
  Arrays sum;
  for (std::size_t b = 0; b < back.size(); ++b) {
    const Array mine = lax::eq(chosen, lax::full_like(chosen, static_cast<double>(b)));
    Array takers = lax::convert(mine, DType::i32);
    for (const CollectiveParams& along : met) takers = emit1(psum_p, along, {takers}, {});
    Arrays in = operands;
    for (const Array& c : cotangents)
      in.push_back(lax::select(lax::broadcast(mine, c.shape(), {}), c, lax::zeros_like(c)));
    const auto none = control::traced({}, in, {}, [&](const Arrays&, const Arrays&) {
      Arrays zeros;
      for (const Aval& type : back[b].output_avals()) zeros.push_back(lax::full(type, 0));
      return zeros;
    });
    const CondParams any{{none, control::share(back[b])}, 0};
    const Arrays found =
        emit(cond_p, any, joined({lax::lt(lax::zeros_like(takers), takers)}, in), {});
    add_to(sum, found);
  }
  return sum;
}

Tangents backward_cond(const ReverseArgs& a) {
  CondParams p = a.params.as<CondParams>();
  const std::vector<bool> active(a.active.begin() + 1, a.active.end());
  std::vector<bool> given;
  Arrays cotangents;
  for (const auto& c : a.cotangents) {
    given.push_back(c.has_value());
    if (c) cotangents.push_back(*c);
  }
  const Buffers buffers(a.buffers.begin() + 1, a.buffers.end());
  const Arrays operands = part(a.inputs, 1, a.inputs.size() - 1);
  std::vector<Graph> back;
  for (const GraphPtr& branch : p.branches)
    back.push_back(pullback(*branch, active, given, buffers));
  Arrays found;
  std::vector<CollectiveParams> met;
  for (const GraphPtr& branch : p.branches) add_axes_met(*branch, met);
  const auto one = p.lanes > 0 && met.empty() ? lane_branches(p, operands) : std::nullopt;
  if (one && p.lanes * shared_elements(*one, operands, active) <= most_shared) {
    found = by_own_branch(p, *one, a.inputs, active, given, buffers, cotangents);
  } else if (p.lanes > 0) {
    found = by_all_branches(p, one, a.inputs[0], operands, cotangents, back);
  } else if (!met.empty()) {
    found = by_branches_of_all(p, a.inputs[0], operands, cotangents, back, met);
  } else {
    for (std::size_t b = 0; b < back.size(); ++b) p.branches[b] = control::share(back[b]);
    found = emit(cond_p, p, joined(a.inputs, cotangents), {});
  }
  Tangents r(a.inputs.size());
  for (std::size_t i = 1, next = 0; i < r.size(); ++i)
    if (a.active[i]) r[i] = found[next++];
  return r;
}

}  // namespace

const ReverseMode cond_reverse{forward_cond, backward_cond};

}  // namespace gnomon
