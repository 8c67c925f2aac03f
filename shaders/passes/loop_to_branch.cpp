// shaders/passes/loop_to_branch.cpp -- the condition of the only trip becomes a branch's predicate.
#include "shaders/passes/loop_to_branch.h"

#include "shaders/passes/rewrite.h"

namespace gnomon::kernel {
namespace {

class LoopToBranch : public Rewriter {
 public:
  using Rewriter::copy;
  using Rewriter::Rewriter;

 protected:
  void visit(const Instruction& i) override {
    if (i.op != Op::loop || i.immediate != 1) return copy(i);
    const Values before = mapped(i.operands);
    const auto enter = [&](const Region& region) {
      map(region.arguments, before);
      copy(region);
      return mapped(region.yields);
    };
    const Value predicate = enter(i.regions[0])[0];
    map(i.results, out_.if_(
                       predicate, [&] { return enter(i.regions[1]); }, [&] { return before; }));
  }
};

}  // namespace

Kernel loop_to_branch(const Kernel& source) { return rewritten_by<LoopToBranch>(source); }

}  // namespace gnomon::kernel
