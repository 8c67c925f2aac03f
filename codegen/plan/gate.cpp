// codegen/plan/gate.cpp -- a decision, a counter, and the group counts of what runs next.
#include "codegen/plan/gate.h"

#include "codegen/optimize/kernel_passes.h"
#include "shaders/passes/coarsen.h"
#include "shaders/passes/fuse_loops.h"
#include "shaders/passes/merge_counters.h"
#include "shaders/passes/rewrite.h"
#include "shaders/passes/simplify.h"
#include "shaders/support/check.h"

namespace gnomon {

using kernel::Op;
using kernel::Value;

namespace {

/// Copies a part and notes what it leaves as the decision.
class Part final : public kernel::Rewriter {
 public:
  Part(const GatePart& part, kernel::Builder& out, std::optional<std::uint32_t> decision)
      : Rewriter(*part.kernel, out),
        part_(part),
        decision_(decision),
        first_private_(out.kernel().privates.size()) {
    for (const kernel::LocalArray& a : part.kernel->privates) out.private_array(a);
  }
  Value decided;

 protected:
  void visit(const kernel::Instruction& i) override {
    kernel::Instruction there = i;
    if (kernel::space(i.op) == kernel::Space::buffer) {
      there.immediate = part_.buffers.at(i.immediate);
      if (i.op == Op::store && decision_ == there.immediate) {
        decided = mapped(i.operands[1]);
        return;
      }
    } else if (kernel::space(i.op) == kernel::Space::private_array) {
      there.immediate += first_private_;
    }
    copy(there);
  }

 private:
  const GatePart& part_;
  std::optional<std::uint32_t> decision_;
  std::uint64_t first_private_;
};

/// Words of a step's parameters up to which a gate has them; all devices have room for more.
constexpr std::size_t most_parameters = 512;

}  // namespace

Gate gate_kernel(const GateKernel& g, const Target& target) {
  kernel::Builder k(g.name);
  std::vector<std::uint32_t> parameters;
  const bool by_parameter = g.writes.size() * (g.choices + 1) <= most_parameters;
  const auto number = [&](std::uint32_t x) {
    if (!by_parameter) return k.u32(x);
    parameters.push_back(x);
    return k.parameter(k.parameter_word());
  };
  Value decision;
  if (g.decision) {
    for (const kernel::Buffer& b : g.buffers) k.buffer(b);
    for (const GatePart& p : g.parts) {
      Part part(p, k, g.decision);
      static_cast<kernel::Rewriter&>(part).copy(p.kernel->body);
      if (part.decided.valid()) decision = part.decided;
    }
    GNOMON_CHECK(decision.valid(), "nothing decides in " + g.name);
  } else if (g.reads) {
    const auto from = k.buffer({*g.reads, kernel::Access::read, false, false, "decision"});
    decision = k.load(from, k.u32(0));
  }
  k.kernel().lanes = 1;
  const auto state = k.buffer({DType::u32, kernel::Access::write, false, false, "state"});
  const Value zero = k.u32(0);
  if (g.counts) {
    const auto counter =
        k.buffer({DType::i32, kernel::Access::read_write, false, false, "counter"});
    const Value next = k.add(k.load(counter, zero), k.i32(1));
    Value go = decision.valid() ? decision : k.boolean(true);
    if (g.most)
      go = k.land(k.compare(Op::lt, k.convert(next, DType::u32),
                            number(static_cast<std::uint32_t>(*g.most))),
                  go);
    k.store(counter, zero, k.select(go, next, k.i32(-1)));
    decision = go;
  }
  const auto last = static_cast<std::int32_t>(g.choices) - 1;
  if (decision.valid() && k.type(decision).scalar != DType::boolean)
    decision = k.binary(Op::minimum, k.binary(Op::maximum, decision, k.i32(0)), k.i32(last));
  for (const StateWrite& w : g.writes) {
    const Value word = number(w.word);
    Value value = number(w.values[0]);
    for (std::size_t c = 1; c < w.values.size(); ++c) {
      const Value chosen = k.type(decision).scalar == DType::boolean
                               ? decision
                               : k.compare(Op::eq, decision, k.i32(static_cast<std::int32_t>(c)));
      value = k.select(chosen, number(w.values[c]), value);
    }
    k.store(state, word, value);
  }
  for (std::size_t c = 0; c < g.counters; ++c) {
    const auto counter =
        k.buffer({DType::i32, kernel::Access::write, false, false, "counter" + std::to_string(c)});
    k.store(counter, zero, k.i32(-1));
  }
  kernel::Kernel made = kernel::simplify(kernel::fuse_loops(kernel::simplify(k.take())));
  made = kernel::coarsen(kernel::counters_merged(std::move(made)), {1, 1, 1});
  PassLog log;
  made = run_kernel_passes(std::move(made), {.target = target, .alone = true, .gate = true}, log);
  return {std::move(made), std::move(parameters)};
}

}  // namespace gnomon
