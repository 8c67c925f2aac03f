// tests/engine/optim_device_test.cpp -- optimisers on the device.
#include <cmath>

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

}  // namespace
}  // namespace gnomon::testing
