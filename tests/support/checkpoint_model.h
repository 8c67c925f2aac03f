// tests/support/checkpoint_model.h -- which steps a checkpointed loop keeps and takes again: a
// model in plain numbers, for tests.
#pragma once
#include <optional>
#include <vector>

namespace gnomon::testing {

struct CheckpointModel {
  int checkpoints = 1;
  std::optional<int> max_steps = {};

  /// Steps that are kept when a loop has taken `steps`, in order.
  std::vector<int> kept(int steps) const;
  /// The steps of its backward pass, in order. A step is taken again, or gone back over; `back`
  /// says which.
  struct Visit {
    int step;
    bool back;
  };
  std::vector<Visit> backward(int steps) const;
};

}  // namespace gnomon::testing
