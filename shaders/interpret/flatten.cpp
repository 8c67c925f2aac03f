// shaders/interpret/flatten.cpp -- regions become jumps, values become registers.
#include "shaders/interpret/flatten.h"

namespace gnomon::kernel {
namespace {

class Flattener {
 public:
  explicit Flattener(const Kernel& k) : kernel_(k) {
    registers_.reserve(k.types.size());
    flat_.private_widths.assign(k.privates.size(), 0);
    for (const Type t : k.types) {
      registers_.push_back(flat_.registers);
      flat_.registers += t.width;
    }
  }

  FlatKernel run() {
    region(kernel_.body);
    return std::move(flat_);
  }

 private:
  std::uint32_t at(Value v) const { return registers_[v.index]; }
  std::uint32_t here() const { return static_cast<std::uint32_t>(flat_.steps.size()); }

  Step& add(StepKind kind, const Instruction& i) {
    Step& s = flat_.steps.emplace_back();
    s.kind = kind;
    s.source = &i;
    return s;
  }

  void copy(Value from, Value to, const Instruction& i) {
    Step& s = add(StepKind::copy, i);
    s.width = kernel_.type(to).width;
    s.a = at(from);
    s.to = at(to);
  }

  void copy_all(std::span<const Value> from, std::span<const Value> to, const Instruction& i) {
    for (std::size_t k = 0; k < to.size(); ++k) copy(from[k], to[k], i);
  }

  void region(const Region& r) {
    for (const Instruction& i : r.body) instruction(i);
  }

  void compute(const Instruction& i, ScalarFunction f) {
    Step& s = add(StepKind::compute, i);
    s.function = f;
    s.width = kernel_.type(i.results[0]).width;
    s.to = at(i.results[0]);
    s.a = at(i.operands[0]);
    s.b = at(i.operands[i.operands.size() > 1 ? 1 : 0]);
    s.c = at(i.operands[i.operands.size() > 2 ? 2 : 0]);
  }

  void simple(StepKind kind, const Instruction& i) {
    Step& s = add(kind, i);
    s.immediate = i.immediate;
    if (!i.results.empty()) {
      s.to = at(i.results[0]);
      s.width = kernel_.type(i.results[0]).width;
    }
    if (i.operands.size() > 0) s.a = at(i.operands[0]);
    if (i.operands.size() > 1) s.b = at(i.operands[1]);
    if (i.operands.size() > 2) s.c = at(i.operands[2]);
  }

  void reduce(StepKind kind, const Instruction& i) {
    simple(kind, i);
    flat_.steps.back().width = kernel_.type(i.operands[0]).width;
  }

  void bitcast(const Instruction& i) {
    const Type from = kernel_.type(i.operands[0]), to = kernel_.type(i.results[0]);
    if (from.width == to.width) return copy(i.operands[0], i.results[0], i);
    simple(StepKind::bitcast, i);
    Step& s = flat_.steps.back();
    s.dtype = from.scalar;
    s.dtype_to = to.scalar;
    s.width = from.width;
  }

  void extract(const Instruction& i) {
    copy(i.operands[0], i.results[0], i);
    flat_.steps.back().a += static_cast<std::uint32_t>(i.immediate);
  }

  void construct(const Instruction& i) {
    Step& s = add(StepKind::gather, i);
    s.to = at(i.results[0]);
    for (const Value v : i.operands) s.operands.push_back(at(v));
  }

  DType element_type(const Instruction& i) const {
    switch (space(i.op)) {
      case Space::private_array:
        return kernel_.privates[i.immediate].dtype;
      case Space::shared_array:
        return kernel_.shareds[i.immediate].dtype;
      default:
        return kernel_.buffers[i.immediate].dtype;
    }
  }

  void access(StepKind kind, const Instruction& i) {
    simple(kind, i);
    Step& s = flat_.steps.back();
    s.space = space(i.op);
    s.dtype = element_type(i);
    s.target = static_cast<std::uint32_t>(i.immediate);
    s.wide_index = kernel_.type(i.operands[0]).width > 1;
    if (kind == StepKind::store) s.width = kernel_.type(i.operands[1]).width;
    if (s.space == Space::private_array) flat_.private_widths[i.immediate] = s.width;
    const std::size_t mask = kind == StepKind::load ? 1 : 2;
    if (i.operands.size() > mask) {
      s.c = at(i.operands[mask]);
      s.mask_width = kernel_.type(i.operands[mask]).width;
    }
  }

  void atomic(Op combine, const Instruction& i) {
    access(StepKind::atomic, i);
    flat_.steps.back().function = scalar_function(combine, element_type(i));
  }

  void combine(Op with, const Instruction& i) {
    flat_.stops = true;
    simple(StepKind::combine, i);
    flat_.steps.back().function = scalar_function(with, kernel_.type(i.results[0]).scalar);
  }

  void instruction(const Instruction& i) {
    switch (i.op) {
      case Op::constant:
        return simple(StepKind::set, i);
      case Op::parameter:
        return simple(StepKind::parameter, i);
      case Op::lane:
        return simple(StepKind::lane, i);
      case Op::invocation:
        return simple(StepKind::invocation, i);
      case Op::group_index:
        return simple(StepKind::group_index, i);
      case Op::local_index:
        return simple(StepKind::local_index, i);
      case Op::select:
        return simple(StepKind::select, i);
      case Op::convert:
        return compute(i, convert_function(kernel_.type(i.operands[0]).scalar,
                                           kernel_.type(i.results[0]).scalar));
      case Op::bitcast:
        return bitcast(i);
      case Op::low_word:
      case Op::high_word:
      case Op::from_words:
        return compute(i, words_function(i.op));
      case Op::splat:
        return simple(StepKind::broadcast, i);
      case Op::extract:
        return extract(i);
      case Op::construct:
        return construct(i);
      case Op::any:
        return reduce(StepKind::any, i);
      case Op::all:
        return reduce(StepKind::all, i);
      case Op::load:
      case Op::private_load:
      case Op::shared_load:
        return access(StepKind::load, i);
      case Op::store:
      case Op::private_store:
      case Op::shared_store:
        return access(StepKind::store, i);
      case Op::atomic_add:
        return atomic(Op::add, i);
      case Op::atomic_and:
        return atomic(Op::band, i);
      case Op::atomic_or:
        return atomic(Op::bor, i);
      case Op::subgroup_index:
        return simple(StepKind::subgroup_index, i);
      case Op::subgroup_count:
        return simple(StepKind::subgroup_count, i);
      case Op::subgroup_first:
        return simple(StepKind::subgroup_first, i);
      case Op::subgroup_add:
        return combine(Op::add, i);
      case Op::subgroup_min:
        return combine(Op::minimum, i);
      case Op::subgroup_max:
        return combine(Op::maximum, i);
      case Op::subgroup_and:
        return combine(Op::band, i);
      case Op::subgroup_or:
        return combine(Op::bor, i);
      case Op::barrier:
        flat_.stops = true;
        add(StepKind::barrier, i);
        return;
      case Op::loop:
        return loop(i);
      case Op::if_:
        return branch(i);
      default:
        return compute(i, scalar_function(i.op, kernel_.type(i.operands[0]).scalar));
    }
  }

  void loop(const Instruction& i) {
    const Region& condition = i.regions[0];
    const Region& body = i.regions[1];
    const std::uint32_t counter = flat_.registers++;
    copy_all(i.operands, condition.arguments, i);
    add(StepKind::enter, i).to = counter;
    const std::uint32_t head = here();
    region(condition);
    const std::uint32_t leave = here();
    add(StepKind::jump_unless, i).a = at(condition.yields[0]);
    Step& trip = add(StepKind::trip, i);
    trip.to = counter;
    trip.immediate = i.immediate;
    copy_all(condition.arguments, body.arguments, i);
    region(body);
    // Never a permutation in place: the condition's arguments are not visible in the body.
    copy_all(body.yields, condition.arguments, i);
    add(StepKind::jump, i).target = head;
    flat_.steps[leave].target = here();
    copy_all(condition.arguments, i.results, i);
  }

  void branch(const Instruction& i) {
    const std::uint32_t choose = here();
    add(StepKind::jump_unless, i).a = at(i.operands[0]);
    region(i.regions[0]);
    copy_all(i.regions[0].yields, i.results, i);
    const std::uint32_t leave = here();
    add(StepKind::jump, i);
    flat_.steps[choose].target = here();
    region(i.regions[1]);
    copy_all(i.regions[1].yields, i.results, i);
    flat_.steps[leave].target = here();
  }

  const Kernel& kernel_;
  FlatKernel flat_;
  std::vector<std::uint32_t> registers_;  // first register of each value
};

}  // namespace

FlatKernel flatten(const Kernel& k) { return Flattener(k).run(); }

}  // namespace gnomon::kernel
