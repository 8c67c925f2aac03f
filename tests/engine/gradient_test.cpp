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
      return sum(fori_loop(0, n, [](const Array&, Array c) { return c + 0.0001f * sin(c); }, v,
                           {.kind = kind}));
    })(x);
  };
}

TEST_F(Gradients, OfACheckpointedLoopTakeTheMemoryOfItsCheckpoints) {
  std::uint64_t peaks[2];
  // Four times the steps are twice the checkpoints. On drivers that map and unmap memory for every
  // dispatch, a step of the least device takes 3 ms (lavapipe 25.0, AMD EPYC of family 26).
  const std::pair<int, std::uint64_t> loops[]{{2500, 70}, {10000, 140}};
  for (const auto& [n, checkpoints] : loops) {
    auto f = jit(rt, gradient_of_steps(n, LoopKind::checkpointed));
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<float> got = floats(f(rt.from_host(many_starts())));
    if (n == 10000) expect_near(got, slopes(n), 2e-4);
    const std::uint64_t carry = width * sizeof(float), peak = f.memory_report().peak();
    EXPECT_LE(peak, (checkpoints + 4) * carry + 65536) << to_string(f.memory_report());
    peaks[n == 10000] = peak;
    RecordProperty("peak_" + std::to_string(n), std::to_string(peak));
    RecordProperty("ms_" + std::to_string(n),
                   std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(
                                      std::chrono::steady_clock::now() - begin)
                                      .count()));
  }
  EXPECT_LE(static_cast<double>(peaks[1]), 2.2 * static_cast<double>(peaks[0]));
}

// ---- lanes that take different numbers of steps

struct Uneven {
  std::vector<float> x, p;
  std::vector<std::int32_t> steps;
  std::vector<double> of_x, of_p;  // derivatives of the last state by lane
};

/// Lanes that take 1 to `most` steps.
Uneven uneven_lanes(int lanes, int most) {
  Uneven u;
  for (int i = 0; i < lanes; ++i) {
    const double x0 = 0.3 + 1e-4 * (i % 1000), p = 1 + 0.05 * (i % 7);
    u.x.push_back(static_cast<float>(x0));
    u.p.push_back(static_cast<float>(p));
    u.steps.push_back(1 + static_cast<int>(std::int64_t{i} * 7919 % most));
    double x = u.x.back(), dx = 1, dp = 0;
    const double q = u.p.back();
    for (int k = 0; k < u.steps.back(); ++k) {
      const double slope = 1 + 1e-3 * q * std::cos(x);
      dp = slope * dp + 1e-3 * std::sin(x);
      dx *= slope;
      x += 1e-3 * q * std::sin(x);
    }
    u.of_x.push_back(dx);
    u.of_p.push_back(dp);
  }
  return u;
}

struct LoopState {
  Array i, x;
};
Array after_steps(const Array& x, const Array& p, const Array& n, const WhileOptions& options) {
  return while_loop([&](const LoopState& s) { return s.i < n; },
                    [&](LoopState s) {
                      return LoopState{s.i + 1, s.x + 0.001f * p * sin(s.x)};
                    },
                    LoopState{full({}, 0, DType::i32), x}, options)
      .x;
}

struct Ensemble {
  LoopKind kind;
  int lanes, most;
};
class UnknownLength : public Gradients, public ::testing::WithParamInterface<Ensemble> {};

TEST_P(UnknownLength, EveryLaneGoesBackAsManyStepsAsItTook) {
  const Uneven u = uneven_lanes(GetParam().lanes, GetParam().most);
  const WhileOptions options{.max_steps = GetParam().most, .kind = GetParam().kind};
  struct In {
    Array x, p;
  };
  const auto one = [=](const In& in, const Array& n) {
    return after_steps(in.x, in.p, n, options);
  };
  auto inside = jit(rt, [=](const In& in, const Array& n) { return vmap(grad(one))(in, n); });
  auto outside = jit(rt, [=](const In& in, const Array& n) {
    return grad([&](const In& v) { return sum(vmap(one)(v, n)); })(in);
  });
  const In in{rt.from_host(u.x), rt.from_host(u.p)};
  const Array n = rt.from_host(u.steps);
  const In a = inside(in, n), b = outside(in, n);
  for (const In* found : {&a, &b}) {
    expect_near(floats(found->x), u.of_x, 1e-3);
    expect_near(floats(found->p), u.of_p, 1e-3);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, UnknownLength,
                         ::testing::Values(Ensemble{LoopKind::automatic, 16384, 2000},
                                           Ensemble{LoopKind::stored, 16384, 2000},
                                           Ensemble{LoopKind::checkpointed, 256, 200}),
                         [](const auto& e) { return std::string(name(e.param.kind)); });

TEST_F(Gradients, OfALoopWithoutABoundComeFromItsCheckpoints) {
  for (const int steps : {0, 1, 100, 5000}) {
    auto f = jit(rt, [](const Array& x, const Array& p, const Array& n) {
      const auto g = [&](const Array& v) {
        return after_steps(
            v, p, n, {.max_steps = unbounded, .kind = LoopKind::checkpointed, .checkpoints = 20});
      };
      return grad(g)(x);
    });
    double x = 0.4f, dx = 1;
    for (int k = 0; k < steps; ++k) {
      dx *= 1 + 1e-3 * std::cos(x);
      x += 1e-3 * std::sin(x);
    }
    const Array found = f(rt.from_host(std::vector<float>{0.4f}, Shape{}),
                          rt.from_host(std::vector<float>{1}, Shape{}),
                          rt.from_host(std::vector<std::int32_t>{steps}, Shape{}));
    expect_near(floats(found), {dx}, 1e-3);
  }
}

// ---- histories

TEST_F(Gradients, OfAHistoryTakeSlices) {
  for (const int n : {5000, 10000, 20000}) {
    auto f = jit(rt, [n](const Array& x) {
      return grad([&](const Array& v) {
        const auto step = [&](const Array& i, const Array& h) {
          return h.at(i + 1).set(h.at(i).get() * 0.9999f + 0.0001f * v);
        };
        const Array h = fori_loop(0, n, step, buffer({n + 1, 4}).at(0).set(v), {});
        return mean(h);
      })(x);
    });
    const Array x = rt.from_host(std::vector<float>{1, 2, 3, 4});
    const std::vector<float> first = floats(f(x));
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<float> got = floats(f(x));
    RecordProperty("us_" + std::to_string(n),
                   std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(
                                      std::chrono::steady_clock::now() - begin)
                                      .count()));
    // h stays v.
    expect_near(got, std::vector<double>(4, 0.25), 1e-3);
  }
}

}  // namespace
}  // namespace gnomon::testing
