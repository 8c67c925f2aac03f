// codegen/cost/device_model.cpp -- one row for each kind of device.
#include "codegen/cost/device_model.h"

namespace gnomon {
namespace {

/// Eight rows by four columns of a convolution read a quarter less than four by four: 142 us of an
/// H100 become 105 (`conv2d`).
constexpr DeviceModel gpu{.long_convolution = Dim{1} << 26};

/// Estimates: 32 multiply-adds per clock and core at some 850 MHz (Mali-G78), where a
/// multiprocessor of an H200 does 128 at 1,800, and a command processor that is as much slower.
constexpr DeviceModel mobile_gpu{
    .start_microseconds = 20,
    .group_operations = 1e3,
    .lane_nanoseconds = 50,
    .long_dispatch_microseconds = 4000,
    .lanes_at_once = 128,
    .group_alone = 128,
};

/// Their limits are all that is known of least devices; few kernels are what any driver is quick to
/// compile, so one workgroup runs what it can.
constexpr DeviceModel least_device{.group_operations = 4e4, .longest_straight = 256};

constexpr DeviceModel cpu{
    .execution = Execution::cores,
    .start_microseconds = 20,
    .long_dispatch_microseconds = 16000,
    .lanes_at_once = 64,
    // A dispatch costs what tens of thousands of instructions do, and a lone lane does what the
    // lanes of a workgroup do at once.
    .iteration_in_a_lane = 16384,
    .iteration_in_a_group = 2048,
    .elements_per_stage = 2048,
    .groups_for_few = 8,
    .persistent_invocations = 256,
    .group_alone = 8,
    .tiles_to_fill = 8,
    .long_product = Dim{3} << 24,  // two milliseconds on two cores
    .rows_transposed = 16,
    // Few elements take microseconds either way, and a kernel of tiles 80 ms more to compile.
    .transposes_to_fill = 2,
    .unrolled_by_driver = 32,
    .longest_straight = 256,
};

/// Larger tiles of convolutions save lavapipe 22.3 and 25.0 a tenth (`conv2d`).
constexpr DeviceModel lavapipe_22 = [] {
  DeviceModel model = cpu;
  model.long_convolution = model.long_product;
  // Eight lanes take 0.73 of the time that four take (`ode_sde`, 22.3 and 25.0, Zen 5).
  model.loop_words = 128;
  // Emerald Rapids, 669 kernels of the bench; tests/golden/estimates has those of another run.
  model.nanoseconds = {56700, 0, 0.0319, 0.18, 0, 1.53, 1, 49.4, 0, 0, 100, 6.75, 22.8, 7.62, 1};
  return model;
}();

/// Each read of a texel is a call of a function: the larger tile, which reads fewer of them, saves
/// a fifth (`matmul_1024`, Granite Rapids).
constexpr DeviceModel lavapipe_25 = [] {
  DeviceModel model = lavapipe_22;
  model.long_rows = 4;
  // 16 elements of `chain` side by side take it 1.4 times as long as eight, of its gradient 1.2
  // times; 22.3 as long (Zen 5).
  model.words_by_sixteen = 128;
  // Emerald Rapids, 650 kernels of the bench.
  model.nanoseconds = {71800, 13.6, 0.0468, 0.146, 0,    6.12, 1,    83.6,
                       0,     0,    100,    10.4,  8.26, 0,    0.125};
  return model;
}();

/// Its compiler keeps few values in registers: `chain` and its gradient take 0.6 of the time with
/// four elements side by side instead of 16, with which simple kernels are the fastest (Granite
/// Rapids), as `adam_update` 0.83 with four instead of eight (Zen 5). What is read is read lane by
/// lane, some 70 instructions for four lanes, where a product takes six: tiles of 16 by 16 instead
/// of 8 by 8 take 0.72 of the time (300 to 512 rows and columns, Zen 5) and 0.4 s longer to
/// compile; of fewer numbers (256) they save nothing.
constexpr DeviceModel swiftshader = [] {
  DeviceModel model = cpu;
  model.words_side_by_side = 1024;
  model.accesses_side_by_side = 64;
  // A loop of a multiply-add takes a third of the time with four lanes, and three quarters where
  // each lane ends by itself; larger ones as long or longer with two (`dead`, `mixed`,
  // `lorenz_rk4`, `lanes_uniform`, `ode_events`, Zen 5).
  model.loop_words = 12;
  model.long_product = Dim{5} << 22;
  model.long_rows = 4;
  model.long_columns = 16;
  model.long_convolution = Dim{3} << 24;
  // Emerald Rapids, 376 kernels of the bench. A shift takes as long as a dozen operations: SSE has
  // none whose lanes are shifted by amounts of their own.
  model.nanoseconds = {34900, 44.4, 0.771, 9.11, 2.83, 17.6, 1,  2.02,
                       9.64,  48.1, 0,     1,    11.1, 1.4,  100};
  return model;
}();

}  // namespace

const DeviceModel& device_model(const Target& t) {
  switch (t.kind) {
    case KnownTarget::minimum:
      return least_device;
    case KnownTarget::lavapipe_22:
      return lavapipe_22;
    case KnownTarget::lavapipe_25:
      return lavapipe_25;
    case KnownTarget::swiftshader:
      return swiftshader;
    case KnownTarget::other_cpu:
      return cpu;
    case KnownTarget::gpu:
      return gpu;
    case KnownTarget::mobile_gpu:
      return mobile_gpu;
  }
  return least_device;
}

}  // namespace gnomon
