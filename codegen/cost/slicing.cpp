// codegen/cost/slicing.cpp -- estimates of what loops in kernels take at worst, and slices of
// that.
#include "codegen/cost/slicing.h"

#include <algorithm>

#include "codegen/analysis/in_place.h"
#include "codegen/cost/device_model.h"
#include "codegen/cost/work.h"
#include "codegen/operations/control.h"
#include "shaders/kernel/trips.h"

namespace gnomon {

namespace {

/// Whether loops inside may take fewer trips than they are counted with.
bool may_end_early(const Equation& e) {
  for (const GraphPtr& g : e.params.graphs())
    for (const Equation& inner : g->equations)
      if (inner.primitive == &while_p || may_end_early(inner)) return true;
  return false;
}

/// Elements of what a loop carries and does not write into in slices.
std::uint64_t moved_by(const Equation& e) {
  const LoopOperands operands = loop_operands(e);
  std::uint64_t moved = 0;
  for (std::size_t i = 0; i < operands.carried; ++i)
    if (!written_in_slices(operands.body, i))
      moved +=
          static_cast<std::uint64_t>(operands.body.avals[operands.body.inputs[i]].shape.size());
  return moved;
}

}  // namespace

bool over_budget(const kernel::Kernel& k, const Target& target) {
  return target.loop_budget > 0 && kernel::worst_case_trips(k) > target.loop_budget;
}

Slicing slices_by_trips(const Equation& e, const kernel::Kernel& k, const Target& target,
                        bool in_place) {
  // A slice of all the trips that a kernel may take is worth a dispatch, unless loops inside end
  // early.
  const std::uint64_t worth_a_dispatch = may_end_early(e) ? 2 : 1;
  const std::uint64_t steps = most_steps(e);
  const std::uint64_t one = kernel::worst_case_trips(k, steps, 1),
                      two = kernel::worst_case_trips(k, steps, 2);
  // Where the trips of a step are open, so is their number: a first guess.
  if (steps == 0 && two == ~0ull) return Slicing{1024};
  if (two == ~0ull || two <= one) return {};
  // Slices take in and give out all that the loop carries, the whole loop perhaps a part of it.
  const std::uint64_t per_step = two - one, around = one - std::min(one, per_step),
                      others = 2 * (in_place ? std::min(around, moved_by(e)) : around);
  const std::uint64_t room = target.loop_budget / 32 * 31;
  const std::uint64_t slice = room <= others ? 0 : (room - others) / per_step;
  return slice >= worth_a_dispatch && (steps == 0 || slice < steps) ? Slicing{slice} : Slicing{};
}

Slicing slices_by_time(const Equation& e, Dim lanes, const Target& target, std::uint64_t most) {
  if (target.slice_work == 0 || (e.primitive != &while_p && e.primitive != &scan_p)) return {};
  if (e.primitive == &while_p && e.params.as<WhileParams>().max_steps == 0) return {};
  const double at_once =
      static_cast<double>(std::min(std::max<Dim>(1, lanes), device_model(target).lanes_at_once));
  constexpr double loop_itself = 4;
  const double work =
      (work_per_iteration(e) + loop_itself * static_cast<double>(std::max<Dim>(1, lanes))) /
      at_once;
  const auto slice_work = static_cast<double>(target.slice_work);
  // A loop of a few slices is soon over, and a kernel of its own is the better for it: nothing
  // goes through memory in between, the host need not wait, and lanes may be persistent. Lanes
  // seldom all take as many steps as they may.
  const double few_slices = lanes > 1 ? target.few_slices : 16;
  const std::uint64_t steps = most_steps(e);
  if (steps > 0 && static_cast<double>(steps) * work <= few_slices * slice_work) return {};
  const std::size_t own = loop_operands(e).carried;
  // What slices are written into stays where it is.
  if (2 * static_cast<double>(moved_by(e)) / at_once > slice_work / 2) return {};
  auto first = static_cast<std::uint64_t>(std::clamp(slice_work / work, 2.0, 1e9));
  if (most > 0) first = std::min(first, most);
  // Slices of that many steps are short enough.
  if (most > 0 && static_cast<double>(most) * work <= few_slices * slice_work) return {};
  const bool rows =
      e.primitive == &scan_p && (e.params.as<ScanParams>().sequences > 0 || e.outputs.size() > own);
  if (!rows) return {first, true, most};
  // Slices that do not differ, since the rows of one are an array.
  std::uint64_t part = first;
  while (part > 1 && steps % part != 0) --part;
  constexpr std::uint64_t much_shorter = 16;
  return part * much_shorter >= first ? Slicing{part} : Slicing{};
}

}  // namespace gnomon
