// tests/engine/optim_device_test.cpp -- optimisers on the device.
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

}  // namespace
}  // namespace gnomon::testing
