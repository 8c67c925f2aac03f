// samples/stiff_kinetics/main.cpp -- ten thousand chemical reactors whose slow reaction is spread
// over six decades, each solved with its own steps by two implicit methods.
//
// Robertson's reactions A -> B, 2 B -> B + C, B + C -> A + C have time scales from microseconds to
// years: an explicit method would need a billion steps. Source: H. H. Robertson, The solution of a
// set of reaction rate equations, in Numerical Analysis: An Introduction, 1966.
#include <gnomon/gnomon.h>
#include <gnomon/ode.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include "samples/common/platform.h"
#include "samples/common/sample.h"

namespace gn = gnomon;
namespace ode = gnomon::ode;
using gn::Array;

namespace {

struct Mixture {
  Array a, b, c;
};
const ode::OdeTerm reactions{[](const Array&, const Mixture& m, const Array& slow) {
  const Array first = slow * m.a, second = 3e7f * m.b * m.b, third = 1e4f * m.b * m.c;
  return Mixture{third - first, first - third - second, second};
}};
constexpr double end = 40;
/// Of the classical rate 0.04 at t = 40. Source: E. Hairer and G. Wanner, Solving Ordinary
/// Differential Equations II, section IV.1; digits by extrapolation.
constexpr double known[] = {0.7158270687, 9.185534765e-6, 0.2841637457};

struct Final {
  std::vector<float> a, b, c;
  std::vector<std::int32_t> steps;
};

Final solve(gn::Runtime& rt, const ode::Solver& method, const std::vector<float>& slow) {
  const auto one = [&](const Array& rate) {
    const Mixture start{gn::ones({}), gn::zeros({}), gn::zeros({})};
    return ode::diffeqsolve(
        reactions, method, 0.0, end, 1e-5, start, rate,
        {.controller = ode::PidController{.rtol = 1e-4, .atol = 1e-9}, .max_steps = 400});
  };
  auto many = gn::jit(rt, gn::vmap(one), {.name = method.name(), .max_traces = 1});
  const Array rates = rt.from_host(slow);
  const auto now = [] {
    const auto t = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::milli>(t).count();
  };
  const double begun = now();
  auto sol = many(rates);
  ode::throw_if_failed(rt, sol);
  const double compiled = now();
  sol = many(rates);
  rt.wait();
  const double first = compiled - begun, run = now() - compiled;
  Final f{rt.to_host<float>(sol.y1.a), rt.to_host<float>(sol.y1.b), rt.to_host<float>(sol.y1.c),
          rt.to_host<std::int32_t>(sol.stats.steps)};
  const auto [least, most] = std::minmax_element(f.steps.begin(), f.steps.end());
  std::printf("%-8s first call %.0f ms, then %.1f ms; %d to %d steps per system\n",
              method.name().c_str(), first, run, *least, *most);
  return f;
}

/// The largest difference, of B relative to its size.
double distance(const Final& f, const Final& g) {
  double worst = 0;
  for (std::size_t i = 0; i < f.a.size(); ++i)
    for (double d : {f.a[i] - g.a[i], f.b[i] / g.b[i] - 1, f.c[i] - g.c[i]})
      worst = std::max(worst, std::isfinite(d) ? std::fabs(d) : INFINITY);
  return worst;
}

/// A table, and a picture of it by gnuplot; false where that is not there.
bool draw(const std::vector<float>& slow, const Final& f, const std::string& png) {
  const std::string csv = "stiff_kinetics.csv";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(csv.c_str(), "w"),
                                                             &std::fclose);
  if (!file) throw gn::FileError("stiff_kinetics: cannot write " + csv);
  for (std::size_t i = 0; i < slow.size(); ++i)
    std::fprintf(file.get(), "%.6g,%.6g,%.6g,%.6g,%d\n", slow[i], f.a[i], f.b[i], f.c[i],
                 f.steps[i]);
  std::fflush(file.get());
  std::FILE* const plot = sample::open_plot();
  if (!plot) return false;
  std::fprintf(plot,
               "set terminal pngcairo size 1200,800 font 'sans,11'\nset output '%s'\n"
               "set datafile separator ','\nset logscale x\nset xrange [4e-5:40]\n"
               "set format x '10^{%%L}'\nset key left center\n"
               "set multiplot layout 2,1 title \"Robertson's reactions at t = 40\"\n"
               "plot '%s' using 1:2 with lines lw 2 title 'A', '' using 1:(2e4*$3) with lines lw 2 "
               "title '20000 B', '' using 1:4 with lines lw 2 title 'C'\nset key off\n"
               "set xlabel 'rate of the slow reaction'\nset ylabel 'steps by Kvaerno5'\n"
               "plot '%s' using 1:5 with points pt 7 ps 0.3\nunset multiplot\n",
               png.c_str(), csv.c_str(), csv.c_str());
  return sample::close_plot(plot);
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t systems = 10000;
  std::string png = "stiff_kinetics.png";
  sample::Settings settings("Solves an ensemble of stiff chemical reactors on any Vulkan device.");
  settings.add("--systems", systems, "number of systems", 2, 1 << 22);
  settings.add("--png", png, "where the picture goes");
  return sample::run(settings, argc, argv, [&](gn::Runtime& rt) {
    std::printf("%zu systems, t = 0 to %g\n", systems, end);
    std::vector<float> slow;
    const double half = static_cast<double>(systems / 2);
    for (std::size_t i = 0; i < systems; ++i)
      slow.push_back(
          static_cast<float>(0.04 * std::pow(10, 3 * (static_cast<double>(i) - half) / half)));
    const Final k = solve(rt, ode::Kvaerno5(), slow), r = solve(rt, ode::Rodas5P(), slow);
    const std::size_t m = systems / 2;
    double worst = 0;
    for (const Final* f : {&k, &r})
      worst = std::max({worst, std::fabs(f->a[m] - known[0]), std::fabs(f->b[m] / known[1] - 1),
                        std::fabs(f->c[m] - known[2])});
    const double apart = distance(k, r);
    std::printf("rate 0.04: A = %.6f, B = %.6e, C = %.6f, off the known values by %.1e\n", k.a[m],
                k.b[m], k.c[m], worst);
    std::printf("largest difference between the methods: %.1e\n", apart);
    std::printf(draw(slow, k, png) ? "picture: %s\n" : "no picture %s: is gnuplot installed?\n",
                png.c_str());
    const bool right = worst < 1e-3 && apart < 3e-3;
    if (!right) std::printf("WRONG: a difference above is not what it must be\n");
    return right;
  });
}
