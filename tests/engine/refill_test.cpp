// tests/engine/refill_test.cpp -- lanes that take turns give every lane's own result, bit for bit;
// whether they do is decided by what a first call waited.
#include <gtest/gtest.h>

#include <numeric>

#include "gnomon/control.h"
#include "gnomon/jit.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

constexpr int most_steps = 2000;

struct Walk {
  Array x, y, steps;
};

/// `steps` turns of a vector by one radian over its length, whatever that does to it.
Walk walk(const Array& steps) {
  const Walk start{cast(steps, DType::f32) * 0.01f, full({}, 1.0f), full({}, 0)};
  return while_loop([&](const Walk& w) { return w.steps < steps; },
                    [](Walk w) {
                      const Array length = sqrt(w.x * w.x + w.y * w.y) + 0.5f;
                      const Array turn = 1.0f / length;
                      const Array c = cos(turn), s = sin(turn);
                      return Walk{c * w.x - s * w.y, s * w.x + c * w.y + 0.001f, w.steps + 1};
                    },
                    start, {.max_steps = most_steps});
}

Walk walks(const Array& steps) { return vmap(walk)(steps); }

/// min(2000, 20 / u) steps, u evenly spread and shuffled.
std::vector<std::int32_t> heavy_tail(std::size_t n) {
  std::vector<std::int32_t> steps(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double u = static_cast<double>((i * 2654435761u) % n + 1) / static_cast<double>(n);
    steps[i] = static_cast<std::int32_t>(std::min<double>(most_steps, 20.0 / u));
  }
  return steps;
}

class RefillOnDevice : public DeviceTest {
 protected:
  std::vector<float> values(const Walk& w) {
    std::vector<float> all = rt.to_host<float>(w.x);
    const std::vector<float> y = rt.to_host<float>(w.y);
    all.insert(all.end(), y.begin(), y.end());
    return all;
  }
};

TEST_F(RefillOnDevice, GivesEveryLaneItsOwnResult) {
  for (const std::size_t n : {4096u, 3001u}) {
    const std::vector<std::int32_t> steps = heavy_tail(n);
    const Array on_device = rt.from_host(steps);
    const auto waiting = jit(rt, walks, {.refill = Refill::off});
    const auto turns = jit(rt, walks, {.refill = Refill::on});
    const Walk expected = waiting(on_device);
    for (int call = 0; call < 2; ++call) {
      const Walk w = turns(on_device);
      EXPECT_EQ(rt.to_host<std::int32_t>(w.steps), steps);
      EXPECT_EQ(values(w), values(expected));
    }
    EXPECT_NE(turns.text("kernel").find("atomic_add"), std::string::npos) << turns.text("kernel");
    EXPECT_EQ(waiting.text("kernel").find("atomic_add"), std::string::npos);
  }
}

TEST_F(RefillOnDevice, IsChosenWhereLanesWaited) {
  const auto takes_turns = [&](const std::vector<std::int32_t>& steps) {
    const auto f = jit(rt, walks, {.name = "walks"});
    const Array on_device = rt.from_host(steps);
    for (int call = 0; call < 3; ++call) {
      EXPECT_EQ(rt.to_host<std::int32_t>(f(on_device).steps), steps);
      rt.clear_programs();
    }
    return f.text("kernel").find("atomic_add") != std::string::npos;
  };
  EXPECT_TRUE(takes_turns(heavy_tail(4096)));
  EXPECT_FALSE(takes_turns(std::vector<std::int32_t>(4096, 50)));
}

TEST_F(RefillOnDevice, NoLaneTakesAStep) {
  const auto f = jit(rt, walks, {.refill = Refill::on});
  const std::vector<std::int32_t> none(4096, 0);
  EXPECT_EQ(rt.to_host<std::int32_t>(f(rt.from_host(none)).steps), none);
}

}  // namespace
}  // namespace gnomon::testing
