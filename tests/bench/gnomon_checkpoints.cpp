// tests/bench/gnomon_checkpoints.cpp -- what the slots of checkpointed loops cost: a slot read or
// written costs a slot, so the time goes with the evaluations of a step and not with the slots.
#include "gnomon_jitted.h"
#include "problems.h"

namespace bench {
namespace {

struct State {
  Array i, x;
};

/// The slope of the end in the start, for each start.
Variant gradient(const std::shared_ptr<gn::Runtime>& rt, const std::string& name,
                 const Checkpointed& p) {
  const auto end = [p](const Array& x) {
    return gn::while_loop([p](const State& s) { return s.i < static_cast<int>(p.steps); },
                          [](State s) {
                            return State{s.i + 1, s.x + Checkpointed::step * gn::sin(s.x)};
                          },
                          State{gn::full({}, 0, gn::DType::i32), x},
                          {.max_steps = gn::unbounded,
                           .kind = gn::LoopKind::checkpointed,
                           .checkpoints = p.checkpoints})
        .x;
  };
  const auto slopes = [end](const Array& x) { return gn::vmap(gn::grad(end))(x); };
  const auto slope = [end](const Array& x) {
    return gn::reshape(gn::grad(end)(gn::reshape(x, {})), {1});
  };
  const Array x = rt->from_host(checkpointed_starts(p.lanes));
  return p.lanes > 1 ? jitted(rt, name, slopes, x) : jitted(rt, name, slope, x);
}

}  // namespace

void add_gnomon_checkpoints(std::vector<Workload>& workloads,
                            const std::shared_ptr<gn::Runtime>& rt) {
  for (const CheckpointedRow& row : checkpointed_rows())
    find_workload(workloads, row.workload).makers.push_back([=] {
      return std::vector<Variant>{gradient(rt, row.variant, row.problem)};
    });
}

}  // namespace bench
