// shaders/kernel/uniform.cpp -- a fixed point over the regions.
#include "shaders/kernel/uniform.h"

#include <algorithm>

namespace gnomon::kernel {
namespace {

class Analysis {
 public:
  explicit Analysis(const Kernel& k) : kernel_(k), varying_(k.types.size(), false) {
    do {
      changed_ = false;
      region(k.body);
    } while (changed_);
  }

  std::vector<bool> take() { return std::move(varying_); }

 private:
  bool is(Value v) const { return varying_[v.index]; }
  void mark(Value v, bool varies) {
    if (!varies || varying_[v.index]) return;
    varying_[v.index] = true;
    changed_ = true;
  }

  bool any_operand(const Instruction& i) const {
    return std::any_of(i.operands.begin(), i.operands.end(), [&](Value v) { return is(v); });
  }

  void region(const Region& r) {
    for (const Instruction& i : r.body) instruction(i);
  }

  void instruction(const Instruction& i) {
    switch (form(i.op)) {
      case Form::position:
        return mark(i.results[0], i.op != Op::group_index);
      case Form::subgroup_position:
        return mark(i.results[0], i.op != Op::subgroup_count);
      case Form::subgroup_election:
      case Form::subgroup_reduction:
      case Form::atomic:
        return mark(i.results[0], true);
      case Form::load: {
        const Space from = space(i.op);
        const bool settled =
            from == Space::shared_array ||
            (from == Space::buffer && kernel_.buffers[i.immediate].access == Access::read &&
             !kernel_.buffers[i.immediate].coherent);
        return mark(i.results[0], any_operand(i) || !settled);
      }
      case Form::loop:
        return loop(i);
      case Form::branch:
        region(i.regions[0]);
        region(i.regions[1]);
        for (std::size_t k = 0; k < i.results.size(); ++k) {
          mark(i.results[k],
               any_operand(i) || is(i.regions[0].yields[k]) || is(i.regions[1].yields[k]));
        }
        return;
      default:
        break;
    }
    const bool varies = any_operand(i);
    for (const Value v : i.results) mark(v, varies);
  }

  void loop(const Instruction& i) {
    const Region& condition = i.regions[0];
    const Region& body = i.regions[1];
    region(condition);
    region(body);
    // When trip counts differ, everything that is carried out of the loop differs.
    const bool divergent = is(condition.yields[0]);
    for (std::size_t k = 0; k < i.operands.size(); ++k) {
      const bool varies = divergent || is(i.operands[k]) || is(body.yields[k]);
      mark(condition.arguments[k], varies);
      mark(body.arguments[k], varies);
      mark(i.results[k], varies);
    }
  }

  const Kernel& kernel_;
  std::vector<bool> varying_;
  bool changed_ = false;
};

bool has_barrier(const Region& r) {
  return std::any_of(r.body.begin(), r.body.end(), [](const Instruction& i) {
    return is_collective(i.op) || std::any_of(i.regions.begin(), i.regions.end(), has_barrier);
  });
}

const Instruction* divergent(const Region& r, const std::vector<bool>& varying) {
  for (const Instruction& i : r.body) {
    if (i.regions.empty() || !std::any_of(i.regions.begin(), i.regions.end(), has_barrier))
      continue;
    const Value decides = i.op == Op::loop ? i.regions[0].yields[0] : i.operands[0];
    if (varying[decides.index]) return &i;
    for (const Region& nested : i.regions) {
      if (const Instruction* found = divergent(nested, varying)) return found;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<bool> varying_values(const Kernel& k) { return Analysis(k).take(); }

const Instruction* divergent_barrier(const Kernel& k) {
  if (!has_barrier(k.body)) return nullptr;
  return divergent(k.body, varying_values(k));
}

}  // namespace gnomon::kernel
