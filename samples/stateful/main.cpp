// samples/stateful/main.cpp -- what layers remember: batch normalisation and a counter by an
// explicit State, an old state that is caught, and weights made anew for inference.
#include <gnomon/gnomon.h>
#include <gnomon/nn.h>
#include <gnomon/optim.h>

#include <cmath>
#include <cstdio>

#include "samples/common/sample.h"

namespace {

namespace gn = gnomon;
namespace nn = gnomon::nn;
using gn::Array;
using gn::State;

constexpr double center = 50, spread = 15;  // of inputs, far from what a network likes

Array wave(const Array& x) { return gn::sin((x - center) / 10); }

/// Counts its calls.
struct Counter {
  gn::StateIndex<> calls{gn::zeros({}, gn::DType::i32)};
  /// With the caller's line, which messages then name.
  std::pair<Array, State> operator()(State state, gn::Loc loc = gn::Loc::here()) const {
    const Array n = state.get(calls, loc) + 1;
    return {n, std::move(state).set(calls, n, loc)};
  }
};

struct Net {
  Counter steps;
  nn::BatchNorm norm;
  nn::Linear in, out;

  static Net make(gn::Dim width, gn::Key key) {
    auto [a, b] = gn::random::split<2>(std::move(key));
    return {{},
            nn::BatchNorm::make(1, "batch", {.momentum = 0.97}),
            nn::Linear::make(1, width, std::move(a)),
            nn::Linear::make(width, 1, std::move(b))};
  }
  /// Behind the normalisation.
  Array rest(const Array& x) const { return out(gn::tanh(in(x))); }
  std::pair<Array, State> operator()(const Array& x, State state) const {
    auto [y, next] = norm(x, std::move(state));
    return {rest(y), std::move(next)};
  }
};

/// The gradient is that of the parameters; the state flows beside it.
std::pair<Array, State> loss(const Net& net, State state, const Array& xs) {
  const auto each = [&](const Array& x, State s) { return net(x, std::move(s)); };
  auto [ys, next] = gn::vmap(
      each, {.in_axes = {0, gn::unmapped}, .out_axes = {0, gn::unmapped}, .axis_name = "batch"})(
      xs, state);
  return {gn::mean(gn::square(ys - wave(xs))), std::move(next)};
}

/// The network with its normalisation, a linear map once it is learned, in its first layer.
Net folded(const Net& net, const State& state) {
  const auto averages = state.get(net.norm.averages);
  const Array n = gn::cast(averages.batches, gn::DType::f32);
  const Array seen = 1 - gn::pow(net.norm.momentum, n);
  const Array slope = *net.norm.weight / gn::sqrt(averages.variance / seen + net.norm.eps);
  const Array offset = *net.norm.bias - slope * averages.mean / seen;
  return gn::tree::at(
      [](auto& m) { return std::tie(m.in.weight, *m.in.bias); }, net,
      std::tuple{[&](const Array& w) { return w * slope; },
                 [&](const Array& b) { return b + gn::matmul(net.in.weight, offset); }});
}

}  // namespace

int main(int argc, char** argv) {
  int steps = 1200;
  gn::Dim batch = 256;
  sample::Settings settings(
      "A network that remembers what its inputs are like, and how often it was called.");
  settings.add("--steps", steps, "of learning", 1, 1 << 20);
  settings.add("--batch", batch, "examples in each", 2, 1 << 20);
  return sample::run(settings, argc, argv, [&](gn::Runtime& rt) {
    auto made = gn::make_with_state(rt.run([] { return Net::make(32, gn::random::key(1)); }));
    Net net = std::move(made.model);
    State state = std::move(made.state);
    const auto adam = gn::optim::adam(gn::optim::cosine_decay(0.02, steps));
    auto learned = adam.init(net);
    const auto step = [&](const Net& at, const gn::optim::State<Net>& known, State remembered) {
      auto [n, counted] = at.steps(std::move(remembered));
      const Array xs =
          center +
          spread * gn::random::normal(gn::random::fold_in(gn::random::key(2), n), {batch, 1});
      auto [value, slope] = gn::value_and_grad(loss, gn::has_aux)(at, counted, xs);
      auto [updates, next] = adam.update(slope, known, at);
      return std::tuple{gn::optim::apply_updates(at, updates), std::move(next),
                        std::move(value.second), value.first};
    };
    auto learn = gn::jit(rt, step, {.name = "learn", .max_traces = 1});
    Array error;
    const double ms = sample::milliseconds_of([&] {
      for (int i = 0; i < steps; ++i)
        std::tie(net, learned, state, error) =
            learn(std::move(net), std::move(learned), std::move(state));
      rt.wait();
    });
    const auto averages = state.get(net.norm.averages);
    const double seen = 1 - std::pow(0.97, steps);
    const double mean = rt.to_host<float>(averages.mean)[0] / seen,
                 variance = rt.to_host<float>(averages.variance)[0] / seen;
    const int counted = rt.item<int>(state.get(net.steps.calls));
    std::printf(
        "%d steps: %.0f ms, loss %.1e\nremembered: %d calls, inputs of mean %.2f and "
        "deviation %.2f\n",
        steps, ms, rt.item<float>(error), counted, mean, std::sqrt(variance));

    // The bug: the state that came back is dropped, and the old one used again.
    bool caught = false;
    try {
      const auto twice = [&](State s) {
        auto first = net.steps(std::move(s));
        return net.steps(std::move(s));
      };
      gn::jit(rt, twice)(state.clone());
    } catch (const gn::UsageError& e) {
      caught = true;
      std::printf("an old state: %s\n", e.what());
    }

    // One example at a time, by what was remembered; and by weights that hold it.
    std::vector<float> xs;
    for (int i = 0; i <= 120; ++i) xs.push_back(static_cast<float>(26 + 0.4 * i));
    const Array x = rt.from_host(xs, {static_cast<gn::Dim>(xs.size()), 1});
    const auto both = gn::jit(rt, [](const Net& m, const State& s, const Array& points) {
      const Net infers = nn::inference(m), plain = folded(m, s);
      const auto one = [&](const Array& e) { return infers(e, s.clone()).first; };
      const auto other = [&](const Array& e) { return plain.rest(e); };
      return std::tuple{gn::vmap(one)(points), gn::vmap(other)(points)};
    })(net, state, x);
    const auto ys = rt.to_host<float>(std::get<0>(both)),
               same = rt.to_host<float>(std::get<1>(both));
    double off = 0, apart = 0;
    std::vector<sample::Column> table{{"x", {xs.begin(), xs.end()}}, {"sine", {}}, {"learned", {}}};
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const double wanted = std::sin((xs[i] - center) / 10);
      off = std::max(off, std::fabs(ys[i] - wanted));
      apart = std::max<double>(apart, std::fabs(ys[i] - same[i]));
      table[1].values.push_back(wanted);
      table[2].values.push_back(ys[i]);
    }
    std::printf("off the sine by %.1e, folded weights off by %.1e\n", off, apart);
    sample::write_csv("stateful.csv", table);
    sample::draw("stateful.png",
                 "set xlabel 'x'\nset title 'A network whose normalisation is remembered'\n"
                 "plot 'stateful.csv' every ::1 using 1:2 with lines lw 4 title 'sine', "
                 "'' every ::1 using 1:3 with lines lw 2 title 'learned'");
    return sample::check(caught && counted == steps && std::fabs(mean - center) < 1 &&
                             std::fabs(std::sqrt(variance) - spread) < 1 && off < 0.1 &&
                             apart < 1e-4,
                         "remembers what it was given, and infers by it");
  });
}
