// tests/bench/problems_checkpoints.cpp -- references and checks of checkpointed gradients: forward
// mode in f64.
#include <cmath>

#include "checking.h"
#include "problems.h"

namespace bench {

std::vector<float> checkpointed_starts(uint32_t lanes) {
  std::vector<float> x;
  for (uint32_t i = 0; i < lanes; i++)
    x.push_back(0.5f + 0.1f * static_cast<float>(i) / static_cast<float>(lanes));
  return x;
}

std::vector<CheckpointedRow> checkpointed_rows() {
  return {{"checkpoint_4000", "slots_100", {4000, 100, 1}},
          {"checkpoint_4000", "slots_2000", {4000, 2000, 1}},
          {"checkpoint_20000", "two_lanes", {20000, 10000, 2}},
          {"checkpoint_20000", "64_lanes", {20000, 10000, 64}},
          {"checkpoint_200000", "slots_50000", {200000, 50000, 1}}};
}

Check checkpointed_check(uint32_t steps) {
  return [=](std::span<const float> result) {
    const std::vector<float> starts = checkpointed_starts(static_cast<uint32_t>(result.size()));
    return compare(
        result, starts.size(),
        [&](size_t i) {
          double x = starts[i], slope = 1.0;
          for (uint32_t k = 0; k < steps; k++) {
            slope *= 1.0 + static_cast<double>(Checkpointed::step) * std::cos(x);
            x += static_cast<double>(Checkpointed::step) * std::sin(x);
          }
          return slope;
        },
        [](size_t) { return 2e-2; });
  };
}

}  // namespace bench
