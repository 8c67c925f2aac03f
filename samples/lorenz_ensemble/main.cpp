// samples/lorenz_ensemble/main.cpp -- tens of thousands of Lorenz systems, each solved inside one
// generated kernel.
#include <gnomon/gnomon.h>
#include <gnomon/ode.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>
#include <vector>

#include "samples/common/sample.h"

namespace {

namespace gn = gnomon;
namespace ode = gnomon::ode;
using gn::Array;

// ---- the system. Source: E. N. Lorenz, Deterministic Nonperiodic Flow, J. Atmos. Sci. 20 (1963),
// equations 25 to 27.

struct State {
  Array x, y, z;
};

State lorenz(const Array&, const State& s, const Array& rho) {
  return {10.0f * (s.y - s.x), s.x * (rho - s.z) - s.y, s.x * s.y - (8.0f / 3.0f) * s.z};
}

struct Solved {
  State end;
  std::optional<Array> tried, accepted;  // steps, where they differ
};

/// One of them; the caller maps over many. Steps are as long as errors allow, or `fixed`.
auto solve(const Array& rho, float end, std::optional<float> fixed) {
  const State start{gn::ones({}), gn::zeros({}), gn::zeros({})};
  if (fixed)
    return ode::diffeqsolve(ode::OdeTerm{lorenz}, ode::RK4(), 0.0f, end, *fixed, start, rho,
                            {.max_steps = gn::unbounded});
  return ode::diffeqsolve(ode::OdeTerm{lorenz}, ode::Dopri5(), 0.0f, end, 0.01f, start, rho,
                          {.controller = ode::PidController{.rtol = 1e-5f, .atol = 1e-5f}});
}

// ---- the same in f64 on the host, by RK4 steps of length `h`

using Point = std::array<double, 3>;

Point integrate(double rho, double end, double h) {
  Point p{1, 0, 0};
  const auto field = [&](const Point& s) {
    return Point{10 * (s[1] - s[0]), s[0] * (rho - s[2]) - s[1], s[0] * s[1] - 8.0 / 3.0 * s[2]};
  };
  const auto along = [](Point a, double c, const Point& k) {
    for (std::size_t i = 0; i < 3; ++i) a[i] += c * k[i];
    return a;
  };
  for (long i = 0, steps = std::lround(end / h); i < steps; ++i) {
    const Point a = field(p), b = field(along(p, h / 2, a)), c = field(along(p, h / 2, b)),
                d = field(along(p, h, c));
    p = along(along(along(along(p, h / 6, a), h / 3, b), h / 3, c), h / 6, d);
  }
  return p;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t systems = 65536;
  sample::Settings settings(
      "Solves an ensemble of Lorenz systems, rho swept over 0..28, on any Vulkan device.");
  settings.add("--systems", systems, "number of systems", 2, 1 << 24);
  return sample::run(settings, argc, argv, [&](gn::Runtime& rt) {
    std::vector<float> rho(systems);
    for (std::size_t i = 0; i < systems; ++i)
      rho[i] = 28.0f * static_cast<float>(i) / static_cast<float>(systems - 1);
    const Array rhos = rt.from_host(rho);

    std::vector<sample::Column> table{{"rho", {rho.begin(), rho.end()}}};
    bool right = true;
    for (const bool fixed : {true, false}) {
      const float end = fixed ? 1 : 2;
      // Every system stops on its own step count: no lane waits for the slowest of the ensemble.
      const auto one = [&](const Array& r) {
        const auto sol = solve(r, end, fixed ? std::optional(1e-3f) : std::nullopt);
        if (fixed) return Solved{sol.y1, {}, {}};
        return Solved{sol.y1, sol.stats.steps, sol.stats.accepted};
      };
      auto all = gn::jit(rt, gn::vmap(one), {.name = fixed ? "lorenz_rk4" : "lorenz_dopri5"});
      Solved solved = all(rhos);
      rt.wait();
      const double run = sample::milliseconds_of([&] {
        solved = all(rhos);
        rt.wait();
      });
      const std::array<std::vector<float>, 3> xyz{rt.to_host<float>(solved.end.x),
                                                  rt.to_host<float>(solved.end.y),
                                                  rt.to_host<float>(solved.end.z)};
      double worst = 0;
      for (std::size_t i = 0; i < systems; i += systems / 64 + 1) {
        const Point p = integrate(rho[i], end, fixed ? 1e-3 : 1e-4);
        double d = 0;
        for (std::size_t k = 0; k < 3; ++k) d = std::hypot(d, xyz[k][i] - p[k]);
        worst = std::max(worst, std::isfinite(d) ? d / 30 : INFINITY);
      }
      const gn::CompileTimes cold = all.last_times();
      std::printf("\n%s: %zu systems in %d kernel\n",
                  fixed ? "RK4, fixed steps" : "Dopri5, adaptive", systems, all.kernel_count());
      std::printf("  trace %.1f ms, compile to SPIR-V %.1f ms, driver %.1f ms\n", cold.trace_ms,
                  cold.compile_ms, cold.pipeline_ms);
      std::printf("  run %.1f ms: %.2f million systems per second\n", run,
                  static_cast<double>(systems) / run / 1e3);
      std::printf("  largest error against f64 on the host: %.1e of the attractor's size\n", worst);
      right = right && worst < 1e-3 && all.kernel_count() == 1;
      if (fixed) {
        for (std::size_t k = 0; k < 3; ++k)
          table.push_back({std::string(1, "xyz"[k]), {xyz[k].begin(), xyz[k].end()}});
        continue;
      }
      const auto steps = rt.to_host<std::int32_t>(*solved.tried),
                 kept = rt.to_host<std::int32_t>(*solved.accepted);
      table.push_back({"tried_steps", {steps.begin(), steps.end()}});
      const auto sum = [](const auto& v) { return std::accumulate(v.begin(), v.end(), 0.0); };
      std::printf("  steps per system: least %d, mean %.1f, most %d; %.1f %% accepted\n",
                  *std::min_element(steps.begin(), steps.end()),
                  sum(steps) / static_cast<double>(systems),
                  *std::max_element(steps.begin(), steps.end()), 100 * sum(kept) / sum(steps));
    }
    sample::write_csv("lorenz_ensemble.csv", table);
    sample::draw(
        "lorenz_ensemble.png",
        "set multiplot layout 2,1 title 'Lorenz systems at t = 1, one dot per system'\n"
        "set key off\nset xrange [0:28]\nset xlabel 'rho'\n"
        "set palette rgbformulae 33,13,10\nset cblabel 'z'\nset ylabel 'x'\n"
        "plot 'lorenz_ensemble.csv' every ::1 using 1:2:4 with points pt 7 ps 0.2 palette\n"
        "unset colorbox\nset ylabel 'steps tried by Dopri5 to t = 2'\n"
        "plot '' every ::1 using 1:5 with points pt 7 ps 0.2 lc rgb '#20609f'\n",
        {1400, 900});
    return sample::check(right, "one kernel each, and states are those of the host");
  });
}
