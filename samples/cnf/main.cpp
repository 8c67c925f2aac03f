// samples/cnf/main.cpp -- a density learned from its samples: a network is the velocity that
// carries them to a normal distribution.
//
// Along a path log p falls by the divergence of the velocity. Training takes e' J e for it, random
// signs e and one derivative along them instead of the whole Jacobian J, which is right on average.
// Source: W. Grathwohl, R. T. Q. Chen, J. Bettencourt, I. Sutskever, D. Duvenaud, FFJORD: free-form
// continuous dynamics for scalable reversible generative models, ICLR 2019.
#include <gnomon/gnomon.h>
#include <gnomon/ode.h>

#include <cmath>
#include <cstdio>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "samples/common/adam.h"
#include "samples/common/sample.h"

namespace {

namespace gn = gnomon;
namespace ode = gnomon::ode;
using gn::Array;
using std::numbers::pi;

constexpr double size = 1.6, blur = 0.2;

/// Points of two half circles, blurred: f32[count, 2].
Array draw(gn::Key key, gn::Dim count) {
  auto [turn, side, shift] = gn::random::split<3>(std::move(key));
  const Array a = pi * gn::random::uniform(std::move(turn), {count});
  const Array s = size * gn::random::rademacher(std::move(side), {count});
  return gn::stack({s * (0.5f - gn::cos(a)), s * (0.25f - gn::sin(a))}, 1) +
         blur * gn::random::normal(std::move(shift), {count, 2});
}
/// Of the density of such points.
double known_log(double x, double y) {
  double sum = 0;
  const int parts = 400;
  for (int i = 0; i < 2 * parts; ++i) {
    const double s = i < parts ? size : -size, a = pi * (i % parts + 0.5) / parts;
    const double dx = x - s * (0.5 - std::cos(a)), dy = y - s * (0.25 - std::sin(a));
    sum += std::exp(-(dx * dx + dy * dy) / (2 * blur * blur));
  }
  return std::log(sum / (2 * parts * 2 * pi * blur * blur));
}

struct Network {
  Array x, t, b1, w2, b2, w3, b3;
};
Network guess(gn::Key key, gn::Dim h) {
  auto [k1, k2, k3] = gn::random::split<3>(std::move(key));
  const Array w1 = gn::random::normal(std::move(k1), {3, h});
  const float scale = 1 / std::sqrt(static_cast<float>(h));
  return {gn::slice_axis(w1, 0, 0, 2),
          w1[2],
          gn::zeros({h}),
          scale * gn::random::normal(std::move(k2), {h, h}),
          gn::zeros({h}),
          0.1f * scale * gn::random::normal(std::move(k3), {h, 2}),
          gn::zeros({2})};
}
Array velocity(const Network& n, const Array& t, const Array& x) {
  const Array h = gn::tanh(gn::matmul(x, n.x) + t * n.t + n.b1);
  return gn::matmul(gn::tanh(gn::matmul(h, n.w2) + n.b2), n.w3) + n.b3;
}

struct State {
  Array x, spread;  // f32[points, 2], f32[points]: the integral of the divergence
};
/// Logarithms of the density at x. The divergence is the sum of e' J e for all e given: random
/// signs, or the unit vectors.
Array model_log(const Network& network, const Array& x, const std::vector<Array>& es, int steps) {
  const auto field = [&](const Array& t, const State& s, const Network& n) {
    const auto v = [&](const Array& at) { return velocity(n, t, at); };
    Array divergence = gn::zeros_like(s.spread);
    for (const Array& e : es) divergence = divergence + gn::sum(e * gn::jvp(v, s.x, e).second, {1});
    return State{v(s.x), divergence};
  };
  const auto sol = ode::diffeqsolve(ode::OdeTerm{field}, ode::Bosh3(), 0.0, 1.0, 1.0 / steps,
                                    State{x, gn::zeros({x.dim(0)})}, network,
                                    {.adjoint = ode::StoredAdjoint{}, .max_steps = steps});
  return sol.y1.spread - 0.5f * gn::sum(gn::square(sol.y1.x), {1}) - std::log(2 * pi);
}

using Training = std::pair<sample::Adam<Network>, Array>;  // and the loss

}  // namespace

int main(int argc, char** argv) {
  int steps = 8, rounds = 6;
  const int each = 25;
  gn::Dim batch = 512, hidden = 32;
  sample::Settings settings("Learns a density in the plane by a continuous normalising flow.");
  settings.add("--batch", batch, "samples in a step of training", 16, 1 << 20);
  settings.add("--hidden", hidden, "neurons of a layer", 4, 1024);
  settings.add("--steps", steps, "of the solver", 1, 1000);
  settings.add("--rounds", rounds, "of 25 steps of training", 1, 100000);
  return sample::run(settings, argc, argv, [&](gn::Runtime& rt) {
    const auto some = [&](const Training& from, const Array& number) {
      const auto step = [&](const Array& i, const Training& now) {
        const Array k = number * each + i;
        auto [points, signs] = gn::random::split<2>(gn::random::fold_in(gn::random::key(2), k));
        const Array x = draw(std::move(points), batch);
        const Array e = gn::random::rademacher(std::move(signs), {batch, 2});
        const auto loss = [&](const Network& n) { return -gn::mean(model_log(n, x, {e}, steps)); };
        const auto at = gn::value_and_grad(loss)(now.first.params);
        const Array left = 1.0f - gn::cast(k, gn::DType::f32) / static_cast<float>(rounds * each);
        const Array rate = 0.02f * gn::minimum(1.0f, 1.5f * left);
        return Training{sample::step(now.first, at.grad, rate), at.value};
      };
      return gn::fori_loop(0, each, step, from);
    };
    auto round = gn::jit(rt, some, {.name = "cnf", .max_traces = 1});
    Training now = rt.run([&] {
      return Training{sample::adam(guess(gn::random::key(1), hidden)), gn::zeros({})};
    });
    for (int i = 0; i < rounds; ++i) {
      const double ms = sample::milliseconds_of([&] {
        now = round(now, rt.from_host(i));
        rt.wait();
      });
      std::printf("%4d steps: loss %.3f, %.1f ms a step\n", (i + 1) * each,
                  rt.to_host<float>(now.second)[0], ms / each);
    }
    std::printf("a step of gradient and Adam: %d kernels\n", round.kernel_count());

    // What was learned: at samples that are new, and on a grid. Here the divergence is exact.
    const gn::Dim tests = 4096, cells = 160;
    const float cell = 8.0f / static_cast<float>(cells);
    const auto [samples, all] = rt.run([&] {
      const Array i = gn::arange(cells * cells), drawn = draw(gn::random::key(3), tests);
      const Array grid =
          cell * (gn::cast(gn::stack({i % cells, i / cells}, 1), gn::DType::f32) + 0.5f) - 4.0f;
      const Array x = gn::concatenate({drawn, grid});
      const auto unit = [&](gn::Dim k) { return gn::broadcast_to(gn::eye(2)[k], x.shape()); };
      return std::pair{drawn, model_log(now.first.params, x, {unit(0), unit(1)}, 2 * steps)};
    });
    const auto points = rt.to_host<float>(samples), found = rt.to_host<float>(all);
    double entropy = 0, divergence = 0, total = 0;
    for (std::size_t i = 0; i < tests; ++i) {
      const double known = known_log(points[2 * i], points[2 * i + 1]);
      entropy -= known / tests, divergence += (known - found[i]) / tests;
    }
    std::vector<float> density(found.begin() + tests, found.end());
    for (float& d : density) {
      d = std::exp(d);
      total += d * cell * cell;
    }
    std::printf(
        "entropy of the data %.3f; Kullback-Leibler divergence of the model %.3f, and its "
        "integral %.4f\n",
        entropy, divergence, total);
    sample::write_floats("cnf_samples.bin", points);
    sample::write_floats("cnf_density.bin", density);
    const std::string n = std::to_string(cells), width = std::to_string(cell);
    sample::draw("cnf.png",
                 "set multiplot layout 1,2\nset size ratio 1\nunset key\nunset colorbox\n"
                 "set xrange [-4:4]\nset yrange [-4:4]\nset title 'samples'\n"
                 "plot 'cnf_samples.bin' binary format='%float%float' with points pt 7 ps 0.2\n"
                 "set title 'learned density'\nplot 'cnf_density.bin' binary array=(" +
                     n + "," + n + ") origin=(-4,-4) dx=" + width + " dy=" + width +
                     " format='%float' with image\nunset multiplot",
                 {1000, 500});
    return sample::check(divergence > -0.02 && divergence < 0.08 && std::fabs(total - 1) < 0.005,
                         "what was learned is a density, and nearly that of the data");
  });
}
