// codegen/compile/invocations.cpp -- weighs a kernel's lanes, values and accesses against what a
// device likes.
#include "codegen/compile/invocations.h"

#include <algorithm>

#include "codegen/cost/device_model.h"
#include "codegen/cost/estimate.h"
#include "codegen/cost/trip.h"
#include "shaders/passes/coarsen.h"
#include "shaders/passes/fuse_loops.h"
#include "shaders/passes/legalize.h"
#include "shaders/passes/merge_counters.h"
#include "shaders/passes/refill.h"
#include "shaders/passes/simplify.h"

namespace gnomon {

namespace {

/// The values of a kernel, those of 64 bits twice.
std::size_t words_of(const kernel::Kernel& k) {
  std::size_t n = 0;
  for (const kernel::Type t : k.types) n += bits_of(t.scalar) > 32 ? 2 : 1;
  return n;
}

/// Elements that a kernel reads or writes at a time, loops walked once.
std::size_t accesses(const kernel::Region& r) {
  std::size_t n = 0;
  for (const kernel::Instruction& i : r.body) {
    n += i.op == kernel::Op::load || i.op == kernel::Op::store;
    for (const kernel::Region& inner : i.regions) n += accesses(inner);
  }
  return n;
}

/// Lanes per invocation of a kernel with loops: more than the device's preference where a trip is
/// long chains of arithmetic, whose operations wait for one another, and its values are few; at
/// most two where trips are long.
std::uint32_t lanes_of_loop(const kernel::Kernel& k, const Target& t) {
  const std::size_t most_live = device_model(t).loop_words;
  std::uint32_t width = t.loop_coarsening;
  if (width < 2 && most_live == 0) return width;
  const Trip trip = longest_trip(k);
  // They have enough to do side by side, and values that wait in memory as it is.
  constexpr std::size_t long_trip = 640;
  if (trip.instructions > long_trip) return std::min(width, 2u);
  // A core has two units that take four cycles for each operation, and what no register holds comes
  // back from its first cache.
  constexpr double under_way = 8;
  const bool arithmetic = trip.operations > 0 && trip.accesses == 0;
  while (arithmetic && width * trip.parallelism() < under_way && 2 * width * trip.live <= most_live)
    width *= 2;
  return width;
}

/// Invocations of a workgroup. Where cores share workgroups, few invocations are spread over
/// several, as far as each has enough to do.
std::uint32_t group_size(const kernel::Kernel& k, std::uint32_t invocations, const Target& t) {
  const DeviceModel& model = device_model(t);
  std::uint32_t size = std::min(t.group_size, t.max_group_invocations);
  if (invocations / size >= model.groups_for_few) return size;
  double groups = model.groups_for_few;
  if (const auto work = operations(k))
    groups =
        std::min(groups, *work * k.lanes / (model.group_operations * model.group_microseconds));
  while (size > simd_lanes && invocations / size < groups) size /= 2;
  return size;
}

/// How the lanes of a kernel with a loop share their time: each for itself, measured or not, or
/// persistent, if it is of that kind and there are enough of them. `width`: lanes per invocation.
void share_time(kernel::Kernel& k, Cluster& c, std::uint32_t width, const Target& target,
                Refill wanted) {
  if (wanted == Refill::off || c.draft.mapping != "lane") return;
  const std::uint32_t persistent = device_model(target).persistent_invocations;
  const std::uint32_t most = persistent > 0 ? persistent * width : target.parallel_lanes;
  const std::uint32_t slots = std::min(most, k.lanes / 4) / width * width;
  if (slots < 32 * width) return;
  auto refilled = kernel::refill(k, {slots, target.loop_budget});
  constexpr std::uint64_t most_dispatches = 64;  // each of them costs something, even when idle
  if (!refilled || refilled->dispatches > most_dispatches) return;
  std::uint32_t memory = 0;
  if (wanted == Refill::on) {
    k = std::move(refilled->kernel);
    c.refills = refilled->dispatches;
    c.draft.operands.push_back({true, 0, sizeof(std::int32_t)});
    memory = refilled->counter;
  } else {
    auto counted = kernel::count_trips(k);
    c.draft.operands.push_back({true, 0, std::uint64_t{k.lanes} * sizeof(std::uint32_t)});
    c.counts_together = simd_lanes * width;
    memory = counted->trips;
    k = std::move(counted->kernel);
  }
  GNOMON_CHECK(memory + 1 == c.draft.operands.size(),
               "what persistent lanes need is the last operand");
  k = kernel::simplify(k);
}

void count_groups(Cluster& c, std::uint32_t count, std::uint32_t group_size) {
  c.groups = (count + group_size - 1) / group_size;
  c.invocations = count;
}

}  // namespace

std::uint32_t lanes_side_by_side(const Draft& d, const kernel::Kernel& k, const Target& t,
                                 bool played) {
  if (d.mapping == "sequential") return 1;
  if (d.width > 0) return d.width;
  std::uint32_t width = d.has_loop ? lanes_of_loop(k, t) : t.map_coarsening;
  // What lanes read of a matrix is read once for all of an invocation's: eight take SwiftShader 0.7
  // of the time that two take (`neural_ode_step`, Zen 5), and its loops are no faster for more than
  // one otherwise.
  constexpr std::uint32_t lanes_of_products = 8;
  if (d.written_terms > 0) width = lanes_of_products;
  if (!d.has_loop) {
    // One access of 16 bytes each: more would make a large function larger, and win nothing there.
    if (played) width = std::min(width, 4u);
    const DeviceModel& model = device_model(t);
    while (width > 4 && width * accesses(k.body) > model.accesses_side_by_side) width /= 2;
    while (width > 1 && width * kernel::most_carried(k) > t.accumulators) width /= 2;
    while (width > 1 && width * words_of(k) > model.words_side_by_side) width /= 2;
    if (words_of(k) > model.words_by_sixteen) width = std::min(width, 8u);
    // A GPU waits for memory with lanes: 100,000 elements of an optimiser take an H100 14 us as
    // 25,000 lanes, and 5 as 100,000.
    while (width > 1 && !runs_on_cores(t) && d.kernel.lanes / width < t.parallel_lanes) width /= 2;
  }
  // At least a few dozen invocations stay, so that every core has some.
  while (width > 1 && d.kernel.lanes / width < 32) width /= 2;
  // An invocation that fills whole words needs no atomics.
  if (d.mapping == "map" && !d.has_loop) width = std::max(width, kernel::lanes_per_word(d.kernel));
  return width;
}

kernel::Kernel invocations_of(kernel::Kernel k, Cluster& c, const Target& target, Refill refill,
                              bool played) {
  k = loops_merged(std::move(k), c.draft, target);
  const std::uint32_t width = lanes_side_by_side(c.draft, k, target, played);
  share_time(k, c, width, target, refill);
  const std::uint32_t count = kernel::invocations(k.lanes, width);
  const std::uint32_t size = group_size(k, count, target);
  count_groups(c, count, size);
  // Per-lane trip counts: neighbours tend to cost alike, and a CPU's cores get contiguous shares.
  const bool uneven = c.draft.has_loop && runs_on_cores(target) && c.refills == 0;
  if (uneven) c.invocations = c.groups * size;
  // Persistent lanes begin anew in the middle of a loop: what they count stays as it is.
  if (c.refills == 0) k = kernel::counters_merged(std::move(k));
  return kernel::coarsen(k, {.width = width, .group_size = size, .deal = uneven ? 16u : 1u});
}

kernel::Kernel any_invocations_of(const kernel::Kernel& k, std::span<Cluster* const> clusters,
                                  const Target& target) {
  constexpr std::uint32_t trips = 16;
  const std::uint32_t width = lanes_side_by_side(clusters[0]->draft, k, target, false);
  const std::uint32_t size = std::max(simd_lanes, width);
  for (Cluster* c : clusters) {
    const std::uint32_t lanes = c->draft.kernel.lanes;
    count_groups(*c, std::max(lanes / width, 1u), size * trips);
    c->draft.parameters[0].insert(c->draft.parameters[0].end(), {lanes / width, lanes % width});
  }
  return kernel::coarsen(kernel::counters_merged(k),
                         {.width = width, .group_size = size, .trips = trips});
}

}  // namespace gnomon
