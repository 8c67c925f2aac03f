// codegen/primitives/reverse_cond.cpp -- reverse mode of cond: the branch that was taken, again.
#include "codegen/primitives/control_graphs.h"
#include "codegen/primitives/lax.h"
#include "codegen/primitives/reverse.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/vjp.h"
#include "codegen/transforms/write_once.h"

namespace gnomon {
namespace {

using control::joined;
using control::part;

Arrays forward(const Params& params, const Arrays& x, const std::vector<bool>&,
               const Buffers& buffers, Loc loc) {
  return emit(cond_p, settled(cond_p, params, buffers), x, loc);
}

/// Lane i of every cotangent is there for branch b if i takes it: the branch graphs compute all
/// lanes, and each is pulled back on its own.
Arrays by_lane(const CondParams& p, const Array& index, const Arrays& operands,
               const Arrays& cotangents, const std::vector<Graph>& back) {
  const auto last = static_cast<double>(p.branches.size() - 1);
  const Array chosen = index.dtype() == DType::boolean
                           ? lax::convert(index, DType::i32)
                           : emit1(max_p, {},
                                   {emit1(min_p, {}, {index, lax::full_like(index, last)}, {}),
                                    lax::zeros_like(index)},
                                   {});
  Arrays sum;
  for (std::size_t b = 0; b < back.size(); ++b) {
    const Array mine = lax::eq(chosen, lax::full_like(chosen, static_cast<double>(b)));
    Arrays in = operands;
    for (const Array& c : cotangents)
      in.push_back(lax::select(lax::broadcast(mine, c.shape(), {0}), c, lax::zeros_like(c)));
    const Arrays found = inline_graph(back[b], in);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (b == 0)
        sum.push_back(found[i]);
      else
        sum[i] = lax::add(sum[i], found[i]);
    }
  }
  return sum;
}

Tangents backward(const ReverseArgs& a) {
  CondParams p = a.params.as<CondParams>();
  const std::vector<bool> active(a.active.begin() + 1, a.active.end());
  std::vector<bool> given;
  Arrays cotangents;
  for (const auto& c : a.cotangents) {
    given.push_back(c.has_value());
    if (c) cotangents.push_back(*c);
  }
  const Buffers buffers(a.buffers.begin() + 1, a.buffers.end());
  std::vector<Graph> back;
  for (const GraphPtr& branch : p.branches)
    back.push_back(pullback(*branch, active, given, buffers));
  const Arrays operands = part(a.inputs, 1, a.inputs.size() - 1);
  Arrays found;
  if (p.lanes > 0) {
    found = by_lane(p, a.inputs[0], operands, cotangents, back);
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

const ReverseMode cond_reverse{forward, backward};

}  // namespace gnomon
