// samples/sde_ensemble/main.cpp -- thousands of geometric Brownian motions against their closed
// form: how fast paths converge, and where they end.
#include <gnomon/gnomon.h>
#include <gnomon/ode.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "samples/common/platform.h"
#include "samples/common/sample.h"

namespace gn = gnomon;
namespace ode = gnomon::ode;
using gn::Array;

namespace {

// dy = mu y dt + sigma y dW in the sense of Ito, y(0) = 1: y(t) = exp((mu - sigma^2 / 2) t + sigma
// W(t)).
constexpr float mu = 0.5f, sigma = 0.6f;

struct Ends {
  Array solved, exact;
};

/// One path: where `steps` steps lead to, and the closed form at the end of the same path.
Ends solve(const gn::Key& key, const ode::Solver& solver, bool ito, int steps) {
  // The same equation in the sense of Stratonovich has the drift mu - sigma^2 / 2.
  const float rate = ito ? mu : mu - 0.5f * sigma * sigma;
  const ode::OdeTerm drift{[=](const Array&, const Array& y, const auto&) { return rate * y; }};
  const auto noise = [](const Array&, const Array& y, const auto&) { return sigma * y; };
  const ode::VirtualBrownianTree path(0.0, 1.0, 1.0 / 512, gn::zeros({}), key.clone(),
                                      ode::LevyArea::space_time);
  const auto sol = ode::diffeqsolve(ode::MultiTerm(drift, ode::ControlTerm(noise, path)), solver,
                                    0.0, 1.0, 1.0 / steps, gn::ones({}));
  const Array w = path.evaluate(gn::ones({}));
  return {sol.y1, gn::exp((mu - 0.5f * sigma * sigma) + sigma * w)};
}

/// A histogram of where paths end, beside the density of the closed form.
bool draw(const std::vector<float>& ends, const std::string& png) {
  std::FILE* const plot = sample::open_plot();
  if (!plot) return false;
  std::fprintf(plot,
               "set terminal pngcairo size 1200,700 font 'sans,11'\nset output '%s'\n"
               "set title 'where %zu geometric Brownian motions are at t = 1'\n"
               "set xlabel 'y'\nset ylabel 'density'\nset style fill solid 0.5\n"
               "m = %g\ns = %g\n"
               "f(x) = x <= 0 ? 0 : exp(-(log(x) - m)**2 / (2 * s * s)) / (x * s * sqrt(2 * pi))\n"
               "plot [0:6] '-' with boxes lc rgb '#80b0e0' title 'paths', "
               "f(x) with lines lw 2 lc rgb '#c03020' title 'log-normal density'\n",
               png.c_str(), ends.size(), mu - 0.5 * sigma * sigma, sigma);
  std::vector<int> bins(120);
  for (float y : ends) ++bins[static_cast<std::size_t>(std::min(119.0f, y * 20))];
  for (std::size_t i = 0; i + 1 < bins.size(); ++i)
    std::fprintf(plot, "%g %g\n", (static_cast<double>(i) + 0.5) / 20,
                 20.0 * bins[i] / static_cast<double>(ends.size()));
  std::fprintf(plot, "e\n");
  return sample::close_plot(plot);
}

}  // namespace

int main(int argc, char** argv) {
  gn::Dim paths = 16384;
  std::string png = "sde_ensemble.png";
  sample::Settings settings(
      "Solves an ensemble of stochastic differential equations on any Vulkan device.");
  settings.add("--paths", paths, "number of paths", 1000, 1 << 24);
  settings.add("--png", png, "where the picture goes");
  return sample::run(settings, argc, argv, [&](gn::Runtime& rt) {
    std::printf("%lld paths\n\n", static_cast<long long>(paths));
    bool right = true;
    std::vector<float> ends;
    std::printf("root mean square error at t = 1 after\n%-22s", "");
    for (int steps : {16, 32, 64, 128}) std::printf("%10d", steps);
    std::printf(" steps  order\n");
    const auto row = [&](const ode::Solver& solver, bool ito, double order) {
      std::printf("%-22s", solver.name().c_str());
      double first = 0, last = 0;
      for (int steps : {16, 32, 64, 128}) {
        auto all = gn::jit(rt, [&] {
          return gn::vmap([&](const gn::Key& key) { return solve(key, solver, ito, steps); })(
              gn::random::split(gn::random::key(1), paths));
        });
        const Ends e = all();
        ends = rt.to_host<float>(e.solved);
        const auto exact = rt.to_host<float>(e.exact);
        double squares = 0;
        for (std::size_t i = 0; i < ends.size(); ++i)
          squares += std::pow(static_cast<double>(ends[i]) - exact[i], 2);
        last = std::sqrt(squares / static_cast<double>(paths));
        if (steps == 16) first = last;
        std::printf("%10.2e", last);
      }
      const double slope = std::log2(first / last) / 3;
      std::printf("       %5.2f\n", slope);
      right = right && std::fabs(slope - order) < 0.15;
    };
    row(ode::EulerMaruyama(), true, 0.5);
    row(ode::ItoMilstein(), true, 1);
    row(ode::SPaRK(), false, 1);

    double mean = 0;
    for (float y : ends) mean += y / static_cast<double>(ends.size());
    // The variance of y(1) is e^(2 mu) (e^(sigma^2) - 1).
    const double want = std::exp(mu), deviation = want * std::sqrt(std::expm1(sigma * sigma));
    const double off = (mean - want) / (deviation / std::sqrt(static_cast<double>(ends.size())));
    std::printf("\nmean at t = 1: %.4f, and exp(mu) is %.4f: %.1f standard errors off\n", mean,
                want, off);
    right = right && std::fabs(off) < 4;
    if (draw(ends, png))
      std::printf("picture: %s\n", png.c_str());
    else
      std::printf("no picture: gnuplot is not installed\n");
    if (!right) std::printf("WRONG: an order or the mean above is not what it must be\n");
    return right;
  });
}
