// codegen/partition/loop_placement.cpp -- estimates of what iterations cost here and there.
#include "codegen/partition/loop_placement.h"

#include <cmath>

#include "codegen/analysis/uses.h"
#include "codegen/cost/device_model.h"
#include "codegen/cost/work.h"
#include "codegen/graph/primitive.h"
#include "codegen/operations/control.h"
#include "codegen/operations/table.h"

namespace gnomon {

namespace {

/// Operations per iteration that pay for starting a kernel in each.
constexpr double much_work = 1 << 20;

/// Products of an iteration with matrices: how many numbers are multiplied, and by how many
/// equations.
struct Products {
  double numbers = 0;
  int equations = 0;
};

/// Of branches, those that multiply most.
Products products_of(const Graph& body) {
  Products p;
  for (const Equation& e : body.equations) {
    Products here;
    if (e.primitive == &dot_general_p) here = {work(body, e), 1};
    if (e.primitive == &cond_p)
      for (const GraphPtr& branch : e.params.graphs()) {
        const Products side = products_of(*branch);
        if (side.numbers > here.numbers) here = side;
      }
    p.numbers += here.numbers;
    p.equations += here.equations;
  }
  return p;
}

/// Why kernels over all lanes should do the products of a loop whose lanes are their rows, if so.
/// A lane by itself would read a matrix once for a few rows, eight of which are a SIMD group, and
/// written out in its kernel such products take drivers seconds to compile; in tiles over lanes and
/// columns they pay for starting a kernel in every step. A GPU has other lanes to do while one
/// waits, if there are as many as it wants; of fewer, each takes its time. Where the device decides
/// what runs, each kernel costs more.
std::optional<std::string> shared_products(const Equation& loop, Dim lanes, const Target& target,
                                           const LoopNest& nest) {
  constexpr double large = 8192;  // products per lane of a CPU
  const std::string why = "products of all lanes with large matrices";
  const bool cores = runs_on_cores(target);
  if (!cores && lanes >= Dim{target.parallel_lanes}) return std::nullopt;
  if (nest.gated || loop.primitive != &scan_p) return std::nullopt;
  const Products p = products_of(loop_operands(loop).body);
  if (p.numbers < much_work) return std::nullopt;
  const double per_lane = p.numbers / static_cast<double>(lanes);
  if (cores) return per_lane >= large ? std::optional(why) : std::nullopt;
  // A product is a kernel, and what lies behind it another one.
  const DeviceModel& m = device_model(target);
  const double in_a_lane = 1e-3 * m.lane_nanoseconds * per_lane;
  const double as_kernels = 2 * m.start_microseconds * p.equations;
  if (in_a_lane < as_kernels) return std::nullopt;
  return why + ": " + std::to_string(std::lround(in_a_lane)) + " us in a lane, " +
         std::to_string(std::lround(as_kernels)) + " us as kernels";
}

/// Whether the lanes of a loop carry so much that a SIMD group of them pushes its own values out
/// of the caches before it needs them again, in every step. Each lane's part is a stream of its
/// own besides, at the same distance from the next: cache sets and pages run out. Kernels over
/// all elements read memory in one piece, and that much work pays for starting them.
bool carries_too_much(const Graph& g, const Equation& loop, Dim lanes) {
  constexpr Dim most_carried = 4096;  // elements of a lane
  if (loop.primitive != &scan_p && loop.primitive != &while_p) return false;
  const LoopOperands operands = loop_operands(loop);
  Dim carried = 0;
  for (std::size_t o = 0; o < operands.carried; ++o)
    carried += g.avals[loop.outputs[o]].shape.size() / lanes;
  return carried > most_carried && work_per_iteration(loop) >= much_work;
}

/// Values of all kernels of a partition.
std::size_t values_of(const Partition& p) {
  std::size_t sum = 0;
  for (const Cluster& c : p.clusters) {
    sum += c.draft.kernel.types.size();
    if (c.loop) sum += values_of(c.loop->parts) + values_of(c.loop->condition);
    if (c.branch)
      for (const BranchRegion::Side& side : c.branch->sides) sum += values_of(side.parts);
  }
  return sum;
}

}  // namespace

bool worth_kernels(const Equation& loop, Dim lanes, const Target& target, bool may_play) {
  // Values of fewer elements give few invocations of a workgroup anything to do: the stages of a
  // single stiff system.
  constexpr Dim few_elements = 144;
  const DeviceModel& m = device_model(target);
  double work = work_per_iteration(loop) / static_cast<double>(lanes);
  // What kernels would do one after the other as well, a lane does without starting them. A CPU's
  // numbers are for all operations: its vectors do what is left of them in a lane.
  if (m.execution == Execution::invocations) work -= span_per_iteration(loop, m.elements_per_stage);
  return work >= (may_play && widest(loop) > few_elements * lanes ? m.iteration_in_a_group
                                                                  : m.iteration_in_a_lane);
}

bool too_much_for(Dim lanes, const Equation& loop, const Target& target, bool may_play) {
  constexpr Dim few = 16;  // leave most of any device idle
  return lanes <= few && worth_kernels(loop, lanes, target, may_play);
}

std::optional<std::string> better_as_kernels(const Graph& g, const Equation& loop, Dim lanes,
                                             const Target& target, const LoopNest& nest) {
  if (carries_too_much(g, loop, lanes)) return "a lane would carry more than caches hold";
  return shared_products(loop, lanes, target, nest);
}

std::optional<std::string> better_as_kernels(const Equation& cond, const Target& target) {
  if (cond.primitive != &cond_p || is_loop(cond)) return std::nullopt;
  const bool by_lanes = cond.params.as<CondParams>().lanes > 0;
  const DeviceModel& m = device_model(target);
  const bool cores = runs_on_cores(target);
  const double lanes_to_fill = cores ? simd_lanes * m.cores : target.parallel_lanes;
  const double groups = cores ? m.cores : std::max(1.0, lanes_to_fill / m.group_alone);
  const double per_microsecond = m.group_operations * groups;
  double fused = 0, apart = 0;
  for (const GraphPtr& g : cond.params.graphs()) {
    double once = 0, lanes = 1;
    for (ValueId v : g->outputs)
      lanes = std::max(lanes, static_cast<double>(g->avals[v].shape.size()));
    int kernels = 1;  // and what chooses
    for (const Equation& e : g->equations) {
      once += work(*g, e);
      kernels += terms_per_element(*g, e) > 1 ? 1 : 0;
    }
    const double idle = std::max(1.0, lanes_to_fill / lanes);
    fused = std::max(fused, idle * work_by_element(*g) / per_microsecond);
    const double side = once / per_microsecond + m.start_microseconds * kernels;
    apart = by_lanes ? apart + side : std::max(apart, side);
  }
  if (fused <= apart) return std::nullopt;
  return "branch: " + std::to_string(std::lround(fused)) + " us element by element, " +
         std::to_string(std::lround(apart)) + " us as kernels";
}

bool choose_players(LoopRegion& loop, const Equation& e, const Target& target,
                    LoopMapping asked_for) {
  const DeviceModel& m = device_model(target);
  const double start = m.start_microseconds, alone = work_per_iteration(e) / m.group_operations;
  const double kernels = starting_per_iteration(loop, start);
  loop.by_group = asked_for == LoopMapping::workgroup || alone < kernels;
  loop.group_microseconds = alone + kernels / (20 * start);
  return loop.by_group;
}

void fit_players(LoopRegion& loop, const Target& target,
                 const std::function<std::shared_ptr<LoopRegion>(const Target&)>& again) {
  // What is written out has to be compiled, and drivers take more than linear time for it (512 x
  // 512 numbers and a vector on lavapipe: 0.25 s more, 10 % quicker): one product only.
  constexpr std::size_t most_values = 3500;
  if (!runs_on_cores(target) || !target.texel_reads || target.players > 0) return;
  const Graph& body = loop.body.graph;
  int products = 0;
  for (const Equation& inner : body.equations)
    if (inner.primitive == &dot_general_p)
      products += size_of(body.avals[inner.outputs[0]].dtype) == 4 ? 1 : 2;
  if (products != 1) return;
  Target played = target;
  played.players = device_model(target).group_alone;
  played.player_rows = 64;
  const std::shared_ptr<LoopRegion> fitted = again(played);
  if (!fitted || values_of(fitted->parts) > most_values) return;
  fitted->by_group = true;
  fitted->group_microseconds = loop.group_microseconds;
  loop = std::move(*fitted);
}

}  // namespace gnomon
