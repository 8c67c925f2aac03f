// tests/engine/rematerialize_test.cpp -- what checkpoint saves of the device's memory, and that
// numbers stay.
#include "gnomon/checkpoint.h"

#include <gmock/gmock.h>

#include "gnomon/jit.h"
#include "gnomon/linalg.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

constexpr Dim rows = 256, width = 64;
constexpr int blocks = 4, layers = 4;

struct Block {
  std::vector<Array> weights;
};

Array block(const Block& b, Array x) {
  for (const Array& w : b.weights) x = tanh(checkpoint_name(matmul(x, w), "product"));
  return x;
}

/// The gradient of a chain of blocks, each checkpointed.
auto gradient(std::optional<CheckpointOptions> options) {
  return [options](const std::vector<Block>& all, const Array& x) {
    return grad([&](const std::vector<Block>& chain) {
      Array v = x;
      for (const Block& b : chain) v = options ? checkpoint(block, *options)(b, v) : block(b, v);
      return mean(square(v));
    })(all);
  };
}

class CheckpointOnDevice : public DeviceTest {};

TEST_F(CheckpointOnDevice, LowersThePeakAndKeepsTheNumbers) {
  std::vector<Block> chain;
  for (int i = 0; i < blocks * layers; ++i) {
    if (i % layers == 0) chain.emplace_back();
    std::vector<float> w;
    for (Dim k = 0; k < width * width; ++k)
      w.push_back(0.25f * std::sin(0.37f * static_cast<float>(k * (i + 1))));
    chain.back().weights.push_back(rt.from_host(w, {width, width}));
  }
  const Array x = rt.from_host(std::vector<float>(rows * width, 0.1f), {rows, width});
  struct Outcome {
    std::vector<float> first;
    std::uint64_t arena = 0;
  };
  const auto outcome = [&](std::optional<CheckpointOptions> options) {
    auto f = jit(rt, gradient(options));
    const std::vector<Block> g = f(chain, x);
    return Outcome{rt.to_host<float>(g[0].weights[0]), f.memory_report().arena};
  };
  const Outcome plain = outcome({}), nothing = outcome(CheckpointOptions{}),
                products = outcome(CheckpointOptions{.keep = Keep::products}),
                everything = outcome(CheckpointOptions{.keep = Keep::everything});
  // The plain gradient keeps sixteen activations of 64 KiB and the cotangents of half a block; with
  // checkpoints they are four, and the inside of one block at a time.
  constexpr std::uint64_t activation = rows * width * 4;
  EXPECT_GE(plain.arena, blocks * layers * activation);
  EXPECT_LE(3 * nothing.arena, 2 * plain.arena);
  EXPECT_GE(products.arena, (blocks * layers - 1) * activation);
  EXPECT_GE(everything.arena, (blocks * layers - 1) * activation);
  for (const Outcome* o : {&nothing, &products, &everything})
    for (std::size_t i = 0; i < plain.first.size(); i += 97)
      EXPECT_NEAR(o->first[i], plain.first[i], 1e-6f + 1e-4f * std::fabs(plain.first[i]));
}

}  // namespace
}  // namespace gnomon::testing
