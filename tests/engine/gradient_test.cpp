// tests/engine/gradient_test.cpp -- gradients of loops on the device: their memory, their order of
// growth, and lanes that take different numbers of steps.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "gnomon/buffer.h"
#include "gnomon/indexing.h"
#include "gnomon/jit.h"
#include "gnomon/loops.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

class Gradients : public DeviceTest {
 protected:
  std::vector<float> floats(const Array& a) { return rt.to_host<float>(a); }
};

void expect_near(const std::vector<float>& got, const std::vector<double>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(got[i], want[i], tolerance * (1 + std::fabs(want[i]))) << "element " << i;
}

constexpr int width = 1000;

std::vector<float> many_starts() {
  std::vector<float> x;
  for (int i = 0; i < width; ++i) x.push_back(0.002f * static_cast<float>(i));
  return x;
}

/// The gradient of the sum behind `n` steps of x' = x + 0.0001 sin(x).
std::vector<double> slopes(int n) {
  std::vector<double> r;
  for (double x : many_starts()) {
    double slope = 1;
    for (int k = 0; k < n; ++k) {
      slope *= 1 + 1e-4 * std::cos(x);
      x += 1e-4 * std::sin(x);
    }
    r.push_back(slope);
  }
  return r;
}

auto gradient_of_steps(int n, LoopKind kind) {
  return [=](const Array& x) {
    return grad([&](const Array& v) {
      return sum(fori_loop(
          0, n, [](const Array&, Array c) { return c + 0.0001f * sin(c); }, v, {.kind = kind}));
    })(x);
  };
}

TEST_F(Gradients, OfACheckpointedLoopTakeTheMemoryOfItsCheckpoints) {
  std::uint64_t peaks[2];
  const std::pair<int, std::uint64_t> loops[]{{10000, 140}, {40000, 282}};
  for (const auto& [n, checkpoints] : loops) {
    auto f = jit(rt, gradient_of_steps(n, LoopKind::checkpointed));
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<float> got = floats(f(rt.from_host(many_starts())));
    if (n == 10000) expect_near(got, slopes(n), 2e-4);
    const std::uint64_t carry = width * sizeof(float), peak = f.memory_report().peak();
    EXPECT_LE(peak, (checkpoints + 4) * carry + 65536) << to_string(f.memory_report());
    peaks[n == 40000] = peak;
    RecordProperty("peak_" + std::to_string(n), std::to_string(peak));
    RecordProperty("ms_" + std::to_string(n),
                   std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(
                                      std::chrono::steady_clock::now() - begin)
                                      .count()));
  }
  EXPECT_LE(static_cast<double>(peaks[1]), 2.2 * static_cast<double>(peaks[0]));
}

}  // namespace
}  // namespace gnomon::testing
