// codegen/plan/gate.cpp -- a decision, a counter, and the group counts of what runs next.
#include "codegen/plan/gate.h"

#include "shaders/kernel/verify.h"
#include "shaders/passes/coarsen.h"
#include "shaders/passes/legalize.h"
#include "shaders/passes/rewrite.h"
#include "shaders/passes/simplify.h"
#include "shaders/support/check.h"

namespace gnomon {

using kernel::Op;
using kernel::Value;

namespace {

/// Copies a kernel and notes what it stores to one buffer.
class Condition final : public kernel::Rewriter {
 public:
  Condition(const kernel::Kernel& source, kernel::Builder& out, std::uint32_t buffer)
      : Rewriter(source, out), buffer_(buffer) {}
  Value stored;

 protected:
  void visit(const kernel::Instruction& i) override {
    if (i.op == Op::store && i.immediate == buffer_) stored = mapped(i.operands[1]);
    copy(i);
  }

 private:
  std::uint32_t buffer_;
};

}  // namespace

kernel::Kernel gate_kernel(const GateKernel& g, kernel::RefineOptions refine) {
  kernel::Builder k(g.name);
  Value decision;
  if (g.condition != nullptr) {
    kernel::copy_header(*g.condition, k);
    Condition condition(*g.condition, k, g.decision);
    condition.copy(g.condition->body);
    decision = condition.stored;
    GNOMON_CHECK(decision.valid(), "the condition stores nothing: " + g.condition->name);
  } else if (g.reads) {
    const auto from = k.buffer({*g.reads, kernel::Access::read, false, false, "decision"});
    decision = k.load(from, k.u32(0));
  }
  k.kernel().name = g.name;
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
                            k.u32(static_cast<std::uint32_t>(*g.most))),
                  go);
    k.store(counter, zero, k.select(go, next, k.i32(-1)));
    decision = go;
  }
  const auto last = static_cast<std::int32_t>(g.choices) - 1;
  if (decision.valid() && k.type(decision).scalar != DType::boolean)
    decision = k.binary(Op::minimum, k.binary(Op::maximum, decision, k.i32(0)), k.i32(last));
  for (const StateWrite& w : g.writes) {
    Value value = k.u32(w.values[0]);
    for (std::size_t c = 1; c < w.values.size(); ++c) {
      const Value chosen = k.type(decision).scalar == DType::boolean
                               ? decision
                               : k.compare(Op::eq, decision, k.i32(static_cast<std::int32_t>(c)));
      value = k.select(chosen, k.u32(w.values[c]), value);
    }
    k.store(state, k.u32(w.word), value);
  }
  for (std::size_t c = 0; c < g.counters; ++c) {
    const auto counter =
        k.buffer({DType::i32, kernel::Access::write, false, false, "counter" + std::to_string(c)});
    k.store(counter, zero, k.i32(-1));
  }
  kernel::Kernel made = kernel::coarsen(kernel::simplify(k.take()), {1, 1, 1});
  // 64-bit integers as pairs on every device: a gate computes next to nothing.
  made = kernel::legalize(std::move(made), {.int64 = false, .alone = true});
  made = kernel::simplify(kernel::refine(std::move(made), refine));
  kernel::verify(made);
  return made;
}

}  // namespace gnomon
