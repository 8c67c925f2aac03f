// samples/gaussian_process/main.cpp -- the hyperparameters of a Gaussian process from its data, by
// products with a kernel matrix that is never formed.
//
// Points x in a square have values y = f(x) + noise, f a process with the covariance
// k(x, x') = scale^2 exp(-|x - x'|^2 / (2 length^2)). Of the evidence
//   log p(y) = -(y^T K^-1 y + log det K + n log 2 pi) / 2,  K = k(X, X) + noise^2 I,
// the gradient in length, scale and noise takes conjugate gradients, preconditioned by what a grid
// of points tells of K, and random probes: products with K, of which a tile of rows exists at a
// time. Source: C. Rasmussen, C. Williams, Gaussian Processes for Machine Learning, 2006, section
// 5.4; J. Gardner et al., GPyTorch: Blackbox Matrix-Matrix Gaussian Process Inference with GPU
// Acceleration, NeurIPS 2018.
#include <gnomon/estimate.h>
#include <gnomon/gnomon.h>
#include <gnomon/operators.h>

#include <cmath>
#include <cstdio>
#include <numbers>
#include <vector>

#include "samples/common/adam.h"
#include "samples/common/sample.h"

namespace {

namespace gn = gnomon;
namespace operators = gn::operators;
using gn::Array;

struct Hyper {  // logarithms of
  Array length, scale, noise;
};
struct Data {
  Array x, y;  // f32[n, 2], f32[n]
};

constexpr float truth[] = {0.6f, 1.5f, 0.4f};  // length, scale, noise
constexpr float side = 8;

/// k(at, x) / scale^2 for a point `at` and all of x[n, 2].
Array correlation(const Hyper& h, const Array& at, const Array& x) {
  return gn::exp(-0.5f * gn::exp(-2.0f * h.length) * gn::sum(gn::square(x - at), {1}));
}

/// K as an operator.
operators::Operator covariance(const Hyper& h, const Array& x, gn::Dim tile) {
  const Array peak = gn::exp(2.0f * h.scale);
  const auto product = [=](const Array& v) {
    const auto row = [&](const Array& at) { return gn::matmul(correlation(h, at, x), v); };
    // The backward pass makes a tile again instead of keeping all of them.
    return peak * gn::map_each(gn::checkpoint(row), x, {.batch_size = tile});
  };
  const Array vector = gn::zeros({x.dim(0)});
  return (operators::function(product, vector) +
          gn::exp(2.0f * h.noise) * operators::identity(vector))
      .tagged({.positive_semidefinite = true});
}

/// What `across`^2 points of a grid tell of K^-1.
operators::Operator preconditioner(const Hyper& h, const Array& x, gn::Dim across) {
  const Array cells = gn::reshape(gn::indices({across, across}, gn::DType::f32), {2, -1});
  const Array grid = (gn::transpose(cells) + 0.5f) * (side / float(across));
  const auto to_grid = [&](const Array& at) { return correlation(h, at, grid); };
  const Array peak = gn::exp(2.0f * h.scale), noise = gn::exp(2.0f * h.noise);
  return operators::nystroem(gn::map_each(to_grid, x), gn::map_each(to_grid, grid), noise / peak) /
         peak;
}

/// log p(y) / -n without its constant: what is minimised.
Array loss(const Hyper& h, const Data& d, gn::Key key, gn::Dim tile) {
  const auto k = covariance(h, d.x, tile), near = preconditioner(h, d.x, 16);
  const operators::Cg cg{.rtol = 1e-2, .max_steps = 100, .preconditioner = near};
  // y^T K^-1 y is the maximum of 2 u^T y - u^T K u over u: its slope is that with u held.
  const Array u = gn::stop_gradient(operators::solve(k, d.y, cg).x);
  const Array misfit = gn::sum(u * (2.0f * d.y - k.mv(u)));
  const gn::estimate::QuadratureOptions o{.solve_rtol = 1e-2, .solve_preconditioner = near};
  const Array volume = gn::estimate::log_determinant(std::move(key), k, 8, 15, o).value;
  return (misfit + volume) / (2.0f * float(d.x.dim(0)));
}

/// A draw of the process: `features` waves of random directions.
Data made(gn::Key key, gn::Dim n) {
  constexpr gn::Dim features = 2000;
  auto [points, waves, phases, noise] = gn::random::split<4>(std::move(key));
  const Array x = gn::random::uniform(std::move(points), {n, 2}, 0.0, side);
  const Array w = gn::random::normal(std::move(waves), {2, features}) / truth[0];
  const Array b = gn::random::uniform(std::move(phases), {features}, 0.0, 2 * std::numbers::pi);
  const Array f =
      truth[1] * std::sqrt(2.0f / features) * gn::sum(gn::cos(gn::matmul(x, w) + b), {1});
  return {x, f + truth[2] * gn::random::normal(std::move(noise), {n})};
}

}  // namespace

int main(int argc, char** argv) {
  gn::Dim n = 1400, tile = 200;
  int steps = 24;
  sample::Settings settings("Learns the hyperparameters of a Gaussian process without its matrix.");
  settings.add("--n", n, "points", 100, 100000);
  settings.add("--tile", tile, "rows of the matrix in memory at a time", 1, 10000);
  settings.add("--steps", steps, "of Adam", 1, 10000);
  return sample::run(settings, argc, argv, [&](gn::Runtime& rt) {
    const Data data = gn::jit(rt, [&](gn::Key key) { return made(std::move(key), n); })(rt.key(1));
    auto learn =
        gn::jit(rt,
                [&](const sample::Adam<Hyper>& at, const Data& d, const Array& rate, gn::Key key) {
                  const auto of = [&](const Hyper& h) { return loss(h, d, key.clone(), tile); };
                  return sample::step(at, gn::grad(of)(at.params), rate);
                },
                {.name = "learn", .max_traces = 1});
    const auto first = gn::jit(rt, [] {
      const Array zero = gn::zeros({});
      return sample::adam(Hyper{zero, zero, zero});  // all of them 1
    });
    auto at = first();
    std::vector<sample::Column> table{{"step", {}}, {"length", {}}, {"scale", {}}, {"noise", {}}};
    for (int step = 0; step < steps; ++step) {
      // Shorter and shorter: the gradient has the noise of its probes.
      const Array rate = rt.from_host({0.15f * (1.0f - float(step) / float(steps))}, {});
      at = learn(at, data, rate, rt.key(std::uint64_t(step)));
      const Array* found[] = {&at.params.length, &at.params.scale, &at.params.noise};
      table[0].values.push_back(step + 1);
      for (std::size_t i = 0; i < 3; ++i)
        table[i + 1].values.push_back(std::exp(double(rt.to_host<float>(*found[i])[0])));
      sample::progress("step " + std::to_string(step + 1) + " of " + std::to_string(steps) +
                       ": length " + std::to_string(table[1].values.back()));
    }
    sample::progress("");
    bool right = true;
    for (std::size_t i = 0; i < 3; ++i) {
      const double found = table[i + 1].values.back(), known = double(truth[i]);
      std::printf("%-6s %.3f, made with %.3f\n", table[i + 1].name.c_str(), found, known);
      right = right && std::abs(found / known - 1) < 0.1;
    }
    std::printf("memory: %.1f MB of %.1f MB for the matrix\n",
                double(learn.memory_report().peak()) * 1e-6, double(n) * double(n) * 4e-6);
    sample::write_csv("gaussian_process.csv", table);
    sample::draw("gaussian_process.png",
                 "set xlabel 'step'\nset yrange [0:2]\nset key top right\n"
                 "plot for [c=2:4] 'gaussian_process.csv' using 1:c with lines lw 3 lc c title "
                 "columnhead, for [c=2:4] (c==2?0.6:c==3?1.5:0.4) lc c dt 2 notitle");
    return sample::check(right, "length, scale and noise are those the data were made with");
  });
}
