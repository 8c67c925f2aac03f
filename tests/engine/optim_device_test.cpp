// tests/engine/optim_device_test.cpp -- optimisers on the device.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "gnomon/control.h"
#include "gnomon/jit.h"
#include "gnomon/ops.h"
#include "gnomon/optim.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

class OptimDevice : public DeviceTest {};

struct Line {
  Array slope, offset;
};

TEST_F(OptimDevice, StepsOutsideOfATraceAreThoseOfACompiledOne) {
  const auto loss = [](const Line& p) { return sum(square(p.slope - 2) + square(p.offset + 1)); };
  const std::pair<const char*, optim::Optimiser> all[] = {
      {"sgd", optim::sgd(0.1)},
      {"momentum", optim::sgd(0.1, {.momentum = 0.9})},
      {"adamw", optim::adamw(optim::cosine_decay(0.1, 10), {.weight_decay = 1e-2})},
      {"clipped", optim::chain({optim::clip_by_global_norm(0.5), optim::adagrad(0.1)})},
      {"accumulated", optim::accumulate(optim::rmsprop(0.1), 2)},
      {"lookahead", optim::lookahead(optim::lion(0.1), 2)},
      {"lbfgs", optim::lbfgs()},
  };
  for (const auto& [name, opt] : all) {
    SCOPED_TRACE(name);
    const auto step = [&, opt = opt](const Line& p, const optim::State<Line>& state) {
      const auto both = value_and_grad(loss)(p);
      auto [updates, next] = opt.update(both.grad, state, p, both.value, loss);
      return std::pair{optim::apply_updates(p, updates), std::move(next)};
    };
    Line p{rt.from_host({0.25f, 3.0f}), rt.from_host({-0.25f, 1.0f})}, q = p;
    auto state = opt.init(p), compiled = state;
    auto learn = jit(rt, step);
    const std::size_t before = rt.counters().traces;
    for (int i = 0; i < 4; ++i) {
      std::tie(p, state) = step(p, state);
      std::tie(q, compiled) = learn(q, compiled);
    }
    EXPECT_LE(rt.counters().traces - before, 3u);
    EXPECT_NE(rt.to_host<float>(p.slope)[0], 0.25f);
    for (const auto& [mine, its] : {std::pair{p.slope, q.slope}, {p.offset, q.offset}}) {
      const auto a = rt.to_host<float>(mine), b = rt.to_host<float>(its);
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-6) << i;
    }
  }
}

TEST_F(OptimDevice, EveryOptimiserFitsALineInOneCompiledStep) {
  std::vector<float> xs, ys;
  for (int i = 0; i < 64; ++i) {
    xs.push_back(float(i) / 32 - 1);
    ys.push_back(1.5f * xs.back() - 0.5f);
  }
  const Array x = rt.from_host(xs), y = rt.from_host(ys);
  const auto loss = [&](const Line& p) {
    return mean(optim::squared_error(p.slope * x + p.offset, y));
  };
  const std::pair<const char*, optim::Optimiser> all[] = {
      {"sgd", optim::sgd(0.3, {.momentum = 0.5, .nesterov = true})},
      {"adam", optim::adam(0.1)},
      {"adamax", optim::adamax(0.1)},
      {"nadam", optim::nadam(0.1)},
      {"radam", optim::radam(0.1)},
      {"adagrad", optim::adagrad(0.5)},
      {"adadelta", optim::adadelta(optim::linear(60, 0, 300))},
      {"rmsprop", optim::rmsprop(optim::exponential_decay(0.1, 50, 0.5))},
      {"lion", optim::lion(optim::cosine_decay(0.05, 300), {.weight_decay = 0})},
      {"lamb", optim::lamb(optim::cosine_decay(0.1, 300))},
      {"clipped", optim::chain({optim::clip_by_global_norm(0.5), optim::adam(0.1)})},
      {"accumulated", optim::accumulate(optim::adam(0.2), 2)},
      {"lookahead", optim::lookahead(optim::adam(0.1))},
      {"lbfgs", optim::lbfgs()},
  };
  for (const auto& [name, opt] : all) {
    SCOPED_TRACE(name);
    const auto step = [&, opt = opt](const Line& p, const optim::State<Line>& state) {
      const auto both = value_and_grad(loss)(p);
      auto [updates, next] = opt.update(both.grad, state, p, both.value, loss);
      return std::pair{optim::apply_updates(p, updates), std::move(next)};
    };
    auto learn = jit(rt, step, {.name = "learn", .max_traces = 1});
    // LAMB moves a scalar by a part of itself, which takes none across 0.
    Line p{rt.from_host({0.25f}, {}), rt.from_host({-0.25f}, {})};
    auto state = jit(rt, [opt = opt](const Line& at) { return opt.init(at); })(p);
    for (int i = 0; i < 300; ++i) {
      auto [moved, next] = learn(std::move(p), std::move(state));
      p = std::move(moved);
      state = std::move(next);
    }
    EXPECT_NEAR(rt.to_host<float>(p.slope)[0], 1.5f, 0.02f);
    EXPECT_NEAR(rt.to_host<float>(p.offset)[0], -0.5f, 0.02f);
  }
}

/// Arrays of sizes around those of workgroups and of what an invocation takes, and of several
/// ranks.
std::vector<Array> of_many_sizes(Runtime& rt, float from) {
  std::vector<Array> all;
  for (const Shape& shape :
       {Shape{1}, Shape{2}, Shape{7}, Shape{8}, Shape{9}, Shape{5, 3}, Shape{63}, Shape{64},
        Shape{65}, Shape{127, 3}, Shape{1023}, Shape{1024}, Shape{1025}, Shape{3, 7, 101},
        Shape{4099}, Shape{}, Shape{130, 131}}) {
    std::vector<float> values(static_cast<std::size_t>(shape.size()));
    for (float& v : values) v = from = std::fmod(from * 1.37f + 0.71f, 3.0f) - 0.9f;
    all.push_back(rt.from_host(values, shape));
  }
  return all;
}

struct Learned {
  std::vector<Array> params;
  optim::State<std::vector<Array>> state;
};
Learned learned(const std::vector<Array>& params, const optim::State<std::vector<Array>>& state,
                const std::vector<Array>& slopes) {
  auto [updates, next] = optim::adam(0.01).update(slopes, state, params);
  return {optim::apply_updates(params, updates), std::move(next)};
}

TEST_F(OptimDevice, ManyArraysOfAnySizesShareDispatches) {
  const std::vector<Array> params = of_many_sizes(rt, 0.3f), slopes = of_many_sizes(rt, 0.9f);
  const auto start = [&](const std::vector<Array>& p) { return optim::adam(0.01).init(p); };
  auto step = jit(rt, learned, {.name = "many"});
  const auto first = step(params, jit(rt, start)(params), slopes);
  const std::uint64_t before = rt.counters().dispatches;
  const auto second = step(first.params, first.state, slopes);
  rt.wait();
  if (rt.target().contiguous_per_lane) {
    EXPECT_LE(rt.counters().dispatches - before, 6u);
  }
  auto alone = jit(rt, learned, {.name = "one"});
  for (std::size_t i = 0; i < params.size(); ++i) {
    SCOPED_TRACE(to_string(params[i].dtype(), params[i].shape()));
    const std::vector<Array> p{params[i]}, g{slopes[i]};
    const auto once = alone(p, jit(rt, start)(p), g);
    const auto twice = alone(once.params, once.state, g);
    EXPECT_EQ(rt.to_host<float>(second.params[i]), rt.to_host<float>(twice.params[0]));
    for (std::size_t k = 0; k < 2; ++k)
      EXPECT_EQ(rt.to_host<float>(second.state.trees[k][i]),
                rt.to_host<float>(twice.state.trees[k][0]));
  }
}

TEST_F(OptimDevice, ManyArraysInALoopOrDonatedAreTheSame) {
  const std::vector<Array> params = of_many_sizes(rt, 0.4f), slopes = of_many_sizes(rt, 0.8f);
  const auto start = [&](const std::vector<Array>& p) { return optim::adam(0.01).init(p); };
  auto step = jit(rt, learned, {.name = "many"});
  Learned by_calls{params, jit(rt, start)(params)};
  for (int i = 0; i < 5; ++i)
    by_calls = step(std::move(by_calls.params), std::move(by_calls.state), slopes);
  auto looped =
      jit(rt,
          [](const std::vector<Array>& p, const optim::State<std::vector<Array>>& s,
             const std::vector<Array>& g) {
            return fori_loop(
                0, 5, [&](const Array&, const Learned& l) { return learned(l.params, l.state, g); },
                Learned{p, s});
          },
          {.name = "looped"});
  const Learned by_loop = looped(params, jit(rt, start)(params), slopes);
  for (std::size_t i = 0; i < params.size(); ++i)
    EXPECT_EQ(rt.to_host<float>(by_calls.params[i]), rt.to_host<float>(by_loop.params[i])) << i;
}

/// To the 11 bits of f16 or the 8 of bf16, nearest even; fewer where numbers are subnormal.
double rounded(double x, int bits) {
  int exponent = 0;
  std::frexp(x, &exponent);
  const int last = std::max(exponent - bits, bits == 11 ? -24 : -133);
  return std::ldexp(std::nearbyint(std::ldexp(x, -last)), last);
}

/// First and second moment of Adam after step t, kept in `bits` and without their bias.
struct HalfMoments {
  double mean = 0, square = 0;
};
HalfMoments half_moments(double g, double* m, int t, int bits, double b2 = 0.999) {
  const double a = 0.9 * m[0] + 0.1 * g, b = b2 * m[1] + (1 - b2) * g * g;
  m[0] = rounded(a, bits);
  m[1] = rounded(b, bits);
  return {a / (1 - std::pow(0.9, t)), b / (1 - std::pow(b2, t))};
}

/// A step's direction of one number: what is learned times the rate.
using HalfFormula = double (*)(double g, double p, double* m, int t, int bits);
struct HalfCase {
  const char* name;
  optim::Optimiser opt;
  HalfFormula direction;
};
std::vector<HalfCase> half_cases() {
  constexpr double rate = 0.0625;
  return {
      {"adam", optim::adam(rate),
       [](double g, double, double* m, int t, int bits) {
         const auto [mean, square] = half_moments(g, m, t, bits);
         return mean / (std::sqrt(square) + 1e-8);
       }},
      {"adamw", optim::adamw(rate, {.weight_decay = 0.25}),
       [](double g, double p, double* m, int t, int bits) {
         const auto [mean, square] = half_moments(g, m, t, bits);
         return rounded(mean / (std::sqrt(square) + 1e-8), bits) + 0.25 * p;
       }},
      {"nadam", optim::nadam(rate),
       [](double g, double, double* m, int t, int bits) {
         const double a = 0.9 * m[0] + 0.1 * g, square = half_moments(g, m, t, bits).square;
         const double mean =
             0.9 * a / (1 - std::pow(0.9, t + 1)) + 0.1 * g / (1 - std::pow(0.9, t));
         return mean / (std::sqrt(square) + 1e-8);
       }},
      // The length of its average loses three digits of f32 for 0.999.
      {"radam", optim::radam(rate, {.b2 = 0.99}),
       [](double g, double, double* m, int t, int bits) {
         const auto [mean, square] = half_moments(g, m, t, bits, 0.99);
         const double limit = 2 / 0.01 - 1, b = std::pow(0.99, t);
         const double n = limit - 2 * t * b / (1 - b);
         if (n < 5) return mean;
         const double r = std::sqrt((n - 4) * (n - 2) * limit / ((limit - 4) * (limit - 2) * n));
         return r * mean / (std::sqrt(square) + 1e-8);
       }},
      {"average", optim::chain({optim::ema(0.999), optim::sgd(rate)}),
       [](double g, double, double* m, int t, int bits) {
         const double a = 0.999 * m[0] + 0.001 * g;
         m[0] = rounded(a, bits);
         return a / (1 - std::pow(0.999, t));
       }},
  };
}

// f16 and bf16 hold neither 0.999 nor the powers of it: corrections of bias are of f32.
TEST_F(OptimDevice, HalvesAreUpdatedByTheFormulaInMoreDigits) {
  const std::vector<float> start{1, -0.5f, 2, 0.25f};
  for (const auto& [dtype, bits] : {std::pair{DType::bf16, 8}, {DType::f16, 11}})
    for (const HalfCase& c : half_cases()) {
      SCOPED_TRACE(std::string(c.name) + " of " + std::string(name(dtype)));
      const auto step = [&, d = dtype](const Array& p, const optim::State<Array>& state,
                                       const Array& g) {
        auto [u, next] = c.opt.update(cast(g, d), state, p);
        return std::tuple{optim::apply_updates(p, u), std::move(next), cast(u, DType::f32)};
      };
      auto learn = jit(rt, step);
      auto begin = jit(rt, [d = dtype](const Array& a) { return cast(a, d); });
      Array p = begin(rt.from_host(start));
      auto state = jit(rt, [&](const Array& a) { return c.opt.init(a); })(p);
      std::vector<double> want(start.begin(), start.end());
      double memory[4][2] = {};
      for (int t = 1; t <= 12; ++t) {
        std::vector<float> g{1, -0.5f, 0, 0.125f};
        for (float& x : g) x *= 0.5f * float(1 + t % 3);
        auto [moved, next, u] = learn(p, state, rt.from_host(g));
        const auto got = rt.to_host<float>(u);
        p = std::move(moved);
        state = std::move(next);
        for (std::size_t i = 0; i < want.size(); ++i) {
          const double by = -0.0625 * c.direction(g[i], want[i], memory[i], t, bits);
          EXPECT_EQ(state.trees[0].dtype(), dtype);
          // Each rounding may fall to the other side, of which the parameter keeps what it sees.
          EXPECT_NEAR(got[i], by,
                      3 * std::exp2(-bits) * (std::fabs(by) + 0.02 * std::fabs(want[i])))
              << "element " << i << " in step " << t;
          want[i] = rounded(want[i] + rounded(by, bits), bits);
        }
      }
    }
}

// Counts above 256 are no numbers of bf16.
TEST_F(OptimDevice, HalvesHaveSchedulesAndMeansOfManySteps) {
  const auto f = jit(rt, [](const Array& count) {
    return cast(
        vmap([](const Array& t) { return optim::linear(1, 0, 1000)(t, DType::bf16); })(count),
        DType::f32);
  });
  const auto rates = rt.to_host<float>(f(rt.from_host(std::vector<std::int32_t>{257, 301, 999})));
  EXPECT_EQ(rates, (std::vector<float>{float(rounded(0.743, 8)), float(rounded(0.699, 8)),
                                       float(rounded(0.001, 8))}));
  // 511 gradients of 0 and one of -512: after them the mean is -1, but for roundings.
  const auto mean = jit(rt, [](const Array& last) {
    const auto opt = optim::accumulate(optim::scale(1), 512);
    const Array p = zeros({}, DType::bf16);
    using S = optim::State<Array>;
    const auto half = fori_loop(
        0, 511,
        [&](const Array&, const S& s) { return opt.update(zeros({}, DType::bf16), s, p).second; },
        opt.init(p));
    return cast(opt.update(cast(last, DType::bf16), half, p).first, DType::f32);
  });
  EXPECT_EQ(rt.item<float>(mean(rt.from_host(-512.0f))), -1.0f);
}

}  // namespace
}  // namespace gnomon::testing
