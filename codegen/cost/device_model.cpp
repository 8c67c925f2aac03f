// codegen/cost/device_model.cpp -- one row for each kind of device.
#include "codegen/cost/device_model.h"

namespace gnomon {
namespace {

constexpr DeviceModel gpu{};

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

/// What reads by texels. Larger tiles of convolutions save lavapipe 22.3 and 25.0 a tenth
/// (`conv2d`), and have SwiftShader take 1.7 times as long.
constexpr DeviceModel cpu_with_texels = [] {
  DeviceModel model = cpu;
  model.long_convolution = model.long_product;
  // Lavapipe 22.3 (Granite Rapids), 668 kernels of the bench: half are within 27 % in another
  // run (tests/golden/estimates).
  model.nanoseconds = {31200, 0, 0.0188, 0.245, 2.31, 46.7, 21.2, 0, 141, 4.78, 18.5, 0, 464};
  return model;
}();

}  // namespace

const DeviceModel& device_model(const Target& t) {
  // Targets say how lanes should read; so far that tells kinds of devices apart.
  if (t.contiguous_per_lane) return t.texel_reads ? cpu_with_texels : cpu;
  return t.team > 0 ? gpu : least_device;
}

}  // namespace gnomon
