// shaders/spirv/emit_control.cpp -- structured control flow: blocks, merges, what loops carry and
// branches give.
#include <algorithm>

#include "shaders/spirv/emitter.h"
#include "shaders/support/check.h"

namespace gnomon::spirv {

void Emitter::begin_block(Ref label) {
  effect(spv::Op::OpLabel, {label});
  block_ = label;
  line_ = 0;  // a line ends with its block
}

// The parts of all values, one after the other: as many as it takes to carry them.
std::vector<Ref> Emitter::flatten(std::span<const Value> values) const {
  std::vector<Ref> flat;
  for (Value v : values) {
    const Parts& p = parts(v);
    flat.insert(flat.end(), p.refs.begin(), p.refs.begin() + p.count);
  }
  return flat;
}

// What a loop carries lies in variables, which drivers turn into registers anyway.
Ref Emitter::carried_variable(Ref value_type) {
  const Ref variable = module_.fresh();
  append(variables_, spv::Op::OpVariable,
         {module_.pointer(spv::StorageClass::Function, value_type), variable,
          static_cast<std::uint32_t>(spv::StorageClass::Function)});
  return variable;
}

//   header -> condition ... -> merge
//               |                      The variables are read where the condition starts; as it
//             body ... -> continue     dominates the merge block, they are the results as well.
//
// The body stores the next values and leaves the continue block empty. What is in there (moves that
// stand for phis, too), Mesa 22.3 guards by a branch at the top of every trip: loops of the same
// arithmetic take a fifth longer. A loop of one trip at most is a branch that drivers should skip
// (passes/loop_to_branch): there, an empty continue block would let Mesa find out that it is one.
//
// Where a float starts from a constant, drivers for CPUs (those whose stores are paired) are not to
// know: LLVM shares registers among equal starts, and pays for it with copies in every trip, 35 of
// 450 instructions in one of four Lorenz systems. What counts trips stays known.
void Emitter::loop(const Instruction& in) {
  const Region& condition = in.regions[0];
  const Region& body = in.regions[1];
  const Ref header = module_.fresh(), condition_label = module_.fresh(),
            body_label = module_.fresh(), continue_label = module_.fresh(), merge = module_.fresh();
  std::vector<Ref> variables;
  std::size_t next = 0;
  const std::vector<Ref> initial = flatten(in.operands);
  const bool once = in.immediate == 1;
  for (Value v : in.operands) {
    const kernel::Type t = type_of(v);
    for (std::uint32_t p = 0; p < part_count(t.width); ++p) {
      variables.push_back(carried_variable(type(t.scalar, part_width(t.width))));
      const Ref start = initial[next++];
      const bool hide = options_.features.paired_stores && !once && t.scalar == DType::f32 &&
                        module_.is_constant(start);
      effect(spv::Op::OpStore,
             {variables.back(), hide ? hidden(t.scalar, part_width(t.width), start) : start});
    }
  }
  effect(spv::Op::OpBranch, {header});
  begin_block(header);
  // Drivers unroll loops of a few trips. One that holds loops would be written out many times over,
  // for seconds of their compilers' time and no faster.
  const bool outer = std::any_of(body.body.begin(), body.body.end(),
                                 [](const Instruction& i) { return i.op == kernel::Op::loop; });
  const auto control = outer ? spv::LoopControlMask::DontUnroll : spv::LoopControlMask::MaskNone;
  effect(spv::Op::OpLoopMerge, {merge, continue_label, static_cast<std::uint32_t>(control)});
  effect(spv::Op::OpBranch, {condition_label});
  begin_block(condition_label);
  next = 0;
  for (std::size_t i = 0; i < in.operands.size(); ++i) {
    const kernel::Type t = type_of(in.operands[i]);
    Parts carried;
    carried.count = part_count(t.width);
    for (std::uint32_t p = 0; p < carried.count; ++p)
      carried[p] = op({spv::Op::OpLoad, type(t.scalar, part_width(t.width)), {variables[next++]}});
    values_[condition.arguments[i].index] = carried;
    values_[body.arguments[i].index] = carried;
    values_[in.results[i].index] = carried;
  }
  region(condition);
  effect(spv::Op::OpBranchConditional, {scalar(condition.yields[0]), body_label, merge});

  begin_block(body_label);
  region(body);
  const std::vector<Ref> carried = flatten(body.yields);
  GNOMON_CHECK(carried.size() == variables.size(),
               "a loop of kernel `" + kernel_.name + "` carries " +
                   std::to_string(variables.size()) + " parts and yields " +
                   std::to_string(carried.size()));
  const auto next_trip = [&] {
    for (std::size_t i = 0; i < variables.size(); ++i)
      effect(spv::Op::OpStore, {variables[i], carried[i]});
  };
  if (!once) next_trip();
  effect(spv::Op::OpBranch, {continue_label});
  begin_block(continue_label);
  if (once) next_trip();
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
