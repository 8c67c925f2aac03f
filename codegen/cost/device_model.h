// codegen/cost/device_model.h -- how kinds of devices run kernels, and what takes them how long:
// the numbers that the compiler weighs one form of a program against another with.
//
// No result depends on any of them. Target has what kernels are made for (limits, tiles, widths);
// what is here tells which kernels are worth making.
#pragma once
#include "codegen/cost/estimate.h"
#include "codegen/program/target.h"
#include "gnomon/shape.h"

namespace gnomon {

/// Lanes that CPU drivers run in step, in vector registers (AVX2). Estimates of time are all that
/// depends on it.
constexpr std::uint32_t simd_lanes = 8;

/// Terms of products with vectors that a lane holds, which one trip of a loop writes out: drivers
/// take a second for these, of several lanes each. An element that is asked for at two places
/// counts twice in the kernel, which may have twice as many.
constexpr Dim most_written_terms = 256;
/// And of one product.
constexpr Dim longest_written_product = 64;

/// How a driver runs the invocations of a dispatch.
enum class Execution : std::uint8_t {
  /// A CPU's: a workgroup is one core's, which runs its invocations in groups of SIMD lanes, one
  /// group after the other. What a lane waits for, the core waits for.
  cores,
  /// A GPU's: thousands of invocations take turns, so that others run while some wait for memory.
  invocations,
};

/// What nothing is said of is a GPU's, by estimate where no measurement is named. A CPU's numbers
/// were measured with lavapipe 22.3 on two cores.
struct DeviceModel {
  Execution execution = Execution::invocations;

  // ---- What takes how long.

  /// Microseconds from one dispatch to the next that waits for it. A CPU's driver wakes its threads
  /// up for each.
  double start_microseconds = 5;
  /// Operations that one workgroup by itself does in a microsecond. A core does some four per
  /// nanosecond, and a GPU's workgroup no more, which waits for memory with few loads under way: an
  /// iteration of `cg` (512 x 512, 280,072 operations) took one 62 us on an H200.
  double group_operations = 4e3;
  /// Nanoseconds that a lone lane takes for a number times an entry of a matrix, one after the
  /// other: 256 lanes of a GRU and its gradient, 64 steps of 36,864 each, took an H200 49 ms.
  double lane_nanoseconds = 20;
  /// Microseconds that a dispatch of many iterations should end within, so that it can be watched,
  /// and ends for those that watch over it; drivers may be ten times as slow as the estimate.
  /// Nobody resets a CPU's driver, where each decision has the host look at the outcome.
  double long_dispatch_microseconds = 2000;
  /// Lanes that take as long as one: a core of a CPU runs groups of them by vector instructions, a
  /// GPU waits for the one lane's results.
  Dim lanes_at_once = 1024;

  /// Nanoseconds that a core takes for each of what a kernel's estimate counts, `simd_lanes`
  /// invocations at a time, with a dispatch's own as profiles see it, and the cores that they were
  /// measured on (`gnomon_bench --calibrate`). Zeros: nobody has measured. Nothing is chosen by
  /// them.
  TermCounts nanoseconds = {};
  double cores = 2;

  // ---- From where on a kernel more pays.

  /// Operations per iteration for which the iterations of a lane's loop are kernels of their own.
  /// On a GPU a lone invocation is slow, and starting is cheap.
  double iteration_in_a_lane = 512;
  /// The same where one workgroup may run the kernels instead, and has something to do.
  double iteration_in_a_group = 512;
  /// Elements that a lane adds up rather than leave them to another stage of a reduction.
  Dim elements_per_stage = 128;

  /// Bytes of a part of a long product's operands, which a core's own cache holds while all results
  /// go over them, and terms that a part has at least. Cores had 2 MB (Granite Rapids, 4 MB on
  /// two).
  Dim part_bytes = Dim{1} << 19;
  Dim part_terms = 256;

  // ---- How many invocations a kernel takes.

  /// Workgroups that few invocations are spread over, since cores share workgroups and not
  /// invocations; 0: as many as they fill.
  std::uint32_t groups_for_few = 0;
  /// Microseconds of work (`group_operations`) that each of them has at least: another core has to
  /// be woken up for it. 16 elements in one workgroup instead of two take lavapipe 22.3 0.8 of the
  /// time of a call (Zen 5), and SwiftShader 0.6 to 1.2 of it there and 1.3 to 1.4 on Emerald
  /// Rapids (`call`, `eager_add`, two virtual cores): how its threads sleep decides.
  double group_microseconds = 5;
  /// Persistent invocations, which take the lanes of an uneven loop one after the other; 0: as many
  /// as there are lanes that fill the device. A core finishes one group before it begins another: a
  /// few groups do, and more of them let a dispatch do more elements for certain where trips are
  /// limited.
  std::uint32_t persistent_invocations = 0;
  /// Words that the lanes of an invocation keep at once in a loop of arithmetic alone, at most, for
  /// which it takes more lanes than `Target::loop_coarsening` as long as operations wait for one
  /// another; 0: never more.
  std::size_t loop_words = 0;
  /// Invocations of the one workgroup that runs a loop, at most.
  std::uint32_t group_alone = 256;
  /// Part of `Target::parallel_lanes` that has to be left when invocations take tiles of several
  /// rows: one in so many.
  Dim tiles_to_fill = 4;
  /// Products of numbers from which on the tiles of a kernel that adds them up have `long_rows`
  /// times `Target::tile_rows` and at least `long_columns`, and those of a convolution twice as
  /// many rows as usual. On lavapipe they save a tenth of its time, and take up to a tenth of a
  /// second longer to compile. 0: never.
  Dim long_product = 0;
  Dim long_convolution = 0;
  Dim long_rows = 2;
  Dim long_columns = 1;
  /// Rows of the tile that an invocation transposes, four columns wide.
  Dim rows_transposed = 4;
  /// And the part of `Target::parallel_lanes` that has to be left for it: one in so many.
  Dim transposes_to_fill = 8;

  // ---- What drivers do.

  /// Words that the values of a kernel take when its invocations do several elements side by side,
  /// at most. Drivers make as many instructions of a wide one as it has lanes, or nearly, and take
  /// more than linear time for them.
  std::size_t words_side_by_side = 8192;
  /// Words of the values of a kernel, before it is made wider, beyond which its invocations do
  /// eight elements at most: 16 of each would wait in memory.
  std::size_t words_by_sixteen = 8192;
  /// Elements that invocations read and write, at most, where they do more than four: an access may
  /// take drivers as many instructions as it has lanes, fifty times over.
  std::size_t accesses_side_by_side = 128;

  /// Trips up to which the driver's own compiler writes loops out, at great length; 0: it does not.
  std::uint64_t unrolled_by_driver = 0;
  /// Instructions of a kernel without loops, before it is made wider, from which on its driver
  /// would take long to compile it: it is several then (partition/cut_long.h). Lavapipe 22.3 takes
  /// 0.1 s for 256 and 2.5 s for 1,400, and for the gradient of as many 36 s (Granite Rapids).
  double longest_straight = 1024;
};

/// The model of the kind of device that a target is of.
const DeviceModel& device_model(const Target&);

inline bool runs_on_cores(const Target& t) { return device_model(t).execution == Execution::cores; }

}  // namespace gnomon
