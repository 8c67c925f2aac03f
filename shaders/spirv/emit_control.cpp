// shaders/spirv/emit_control.cpp -- structured control flow: blocks, merges and phis.
#include <algorithm>

#include "shaders/spirv/emitter.h"
#include "shaders/support/check.h"

namespace gnomon::spirv {

void Emitter::begin_block(Ref label) {
  effect(spv::Op::OpLabel, {label});
  block_ = label;
  line_ = 0;  // a line ends with its block
}

// The parts of all values, one after the other: as many as phis are needed to carry them.
std::vector<Ref> Emitter::flatten(const std::vector<Value>& values) const {
  std::vector<Ref> flat;
  for (Value v : values) {
    const Parts& p = parts(v);
    flat.insert(flat.end(), p.refs.begin(), p.refs.begin() + p.count);
  }
  return flat;
}

//   header -> condition ... -> merge
//               |                      The phis sit in the header; as it dominates the merge block,
//             body ... -> continue     they are the loop's results as well.
void Emitter::loop(const Instruction& in) {
  const Region& condition = in.regions[0];
  const Region& body = in.regions[1];
  const Ref before = block_;
  const Ref header = module_.fresh(), condition_label = module_.fresh(),
            body_label = module_.fresh(), continue_label = module_.fresh(), merge = module_.fresh();
  const std::vector<Ref> initial = flatten(in.operands);
  effect(spv::Op::OpBranch, {header});
  begin_block(header);

  std::vector<std::size_t> open;  // where each phi waits for its value from the continue block
  std::size_t next = 0;
  for (std::size_t i = 0; i < in.operands.size(); ++i) {
    const kernel::Type t = type_of(in.operands[i]);
    Parts carried;
    carried.count = part_count(t.width);
    for (std::uint32_t p = 0; p < carried.count; ++p) {
      carried[p] = op({spv::Op::OpPhi,
                       type(t.scalar, part_width(t.width)),
                       {initial[next++], before, 0, continue_label}});
      open.push_back(code_.size() - 2);
    }
    values_[condition.arguments[i].index] = carried;
    values_[body.arguments[i].index] = carried;
    values_[in.results[i].index] = carried;
  }
  // Drivers unroll loops of a few trips. One that holds loops would be written out many times over,
  // for seconds of their compilers' time and no faster.
  const bool outer = std::any_of(body.body.begin(), body.body.end(),
                                 [](const Instruction& i) { return i.op == kernel::Op::loop; });
  const auto control = outer ? spv::LoopControlMask::DontUnroll : spv::LoopControlMask::MaskNone;
  effect(spv::Op::OpLoopMerge, {merge, continue_label, static_cast<std::uint32_t>(control)});
  effect(spv::Op::OpBranch, {condition_label});
  begin_block(condition_label);
  region(condition);
  effect(spv::Op::OpBranchConditional, {scalar(condition.yields[0]), body_label, merge});

  begin_block(body_label);
  region(body);
  const std::vector<Ref> carried = flatten(body.yields);
  GNOMON_CHECK(carried.size() == open.size(),
               "a loop of kernel `" + kernel_.name + "` carries " + std::to_string(open.size()) +
                   " parts and yields " + std::to_string(carried.size()));
  for (std::size_t i = 0; i < open.size(); ++i) code_[open[i]] = carried[i];
  effect(spv::Op::OpBranch, {continue_label});
  begin_block(continue_label);
  effect(spv::Op::OpBranch, {header});
  begin_block(merge);
}

void Emitter::if_(const Instruction& in) {
  std::vector<Ref> sides[2];
  Ref last_blocks[2] = {};
  const auto side = [&](std::size_t which) {
    return [&, which] {
      region(in.regions[which]);
      sides[which] = flatten(in.regions[which].yields);
      last_blocks[which] = block_;
    };
  };
  const bool has_else = !in.results.empty() || !in.regions[1].body.empty();
  branch(scalar(in.operands[0]), side(0), has_else ? Block(side(1)) : Block());
  std::size_t next = 0;
  for (Value v : in.results) {
    const kernel::Type t = type_of(v);
    Parts result;
    result.count = part_count(t.width);
    for (std::uint32_t p = 0; p < result.count; ++p, ++next) {
      result[p] = op({spv::Op::OpPhi,
                      type(t.scalar, part_width(t.width)),
                      {sides[0][next], last_blocks[0], sides[1][next], last_blocks[1]}});
    }
    values_[v.index] = result;
  }
}

// A selection; it ends in the merge block. `otherwise` may be empty.
void Emitter::branch(Ref predicate, const Block& then, const Block& otherwise) {
  const Ref then_label = module_.fresh();
  const Ref else_label = otherwise ? module_.fresh() : 0;
  const Ref merge = module_.fresh();
  effect(spv::Op::OpSelectionMerge,
         {merge, static_cast<std::uint32_t>(spv::SelectionControlMask::MaskNone)});
  effect(spv::Op::OpBranchConditional, {predicate, then_label, otherwise ? else_label : merge});
  begin_block(then_label);
  then();
  effect(spv::Op::OpBranch, {merge});
  if (otherwise) {
    begin_block(else_label);
    otherwise();
    effect(spv::Op::OpBranch, {merge});
  }
  begin_block(merge);
}

}  // namespace gnomon::spirv
