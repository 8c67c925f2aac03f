// samples/lorenz_ensemble/main.cpp -- tens of thousands of Lorenz systems, each solved inside one
// generated kernel.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

#include "lorenz.h"
#include "picture.h"

namespace {

using namespace lorenz;

struct Point {
  double x = 1, y = 0, z = 0;
};

Point field(const Point& p, double rho) {
  return {10 * (p.y - p.x), p.x * (rho - p.z) - p.y, p.x * p.y - 8.0 / 3.0 * p.z};
}

/// The same solution in f64 on the host, by RK4 steps of length `h`.
Point integrate(double rho, double end, double h) {
  Point p;
  const long steps = std::lround(end / h);
  for (long i = 0; i < steps; ++i) {
    const auto at = [&](double c, const Point& k) {
      return Point{p.x + c * k.x, p.y + c * k.y, p.z + c * k.z};
    };
    const Point a = field(p, rho), b = field(at(h / 2, a), rho), c = field(at(h / 2, b), rho),
                d = field(at(h, c), rho);
    p = {p.x + h / 6 * (a.x + 2 * b.x + 2 * c.x + d.x),
         p.y + h / 6 * (a.y + 2 * b.y + 2 * c.y + d.y),
         p.z + h / 6 * (a.z + 2 * b.z + 2 * c.z + d.z)};
  }
  return p;
}

struct Ensemble {
  std::vector<float> x, y, z;
};

/// Largest distance to the host's solution over every `stride`-th system, relative to the
/// attractor's size.
double worst_error(const Ensemble& e, const std::vector<float>& rho, double end, double h,
                   std::size_t stride) {
  double worst = 0;
  for (std::size_t i = 0; i < rho.size(); i += stride) {
    const Point p = integrate(rho[i], end, h);
    const double d = std::hypot(e.x[i] - p.x, std::hypot(e.y[i] - p.y, e.z[i] - p.z));
    worst = std::max(worst, std::isfinite(d) ? d / 30 : INFINITY);
  }
  return worst;
}

double milliseconds_of(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

void report(const char* method, const gn::CompileTimes& cold, double run, std::size_t systems,
            double error, int kernels) {
  std::printf("\n%s: %zu systems in %d kernel\n", method, systems, kernels);
  std::printf("  trace %.1f ms, compile to SPIR-V %.1f ms, driver %.1f ms\n", cold.trace_ms,
              cold.compile_ms, cold.pipeline_ms);
  std::printf("  run %.1f ms: %.2f million systems per second\n", run,
              static_cast<double>(systems) / run / 1e3);
  std::printf("  largest error against f64 on the host: %.1e of the attractor's size\n", error);
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t systems = 65536;
  int steps = 1000;
  std::string csv = "lorenz_ensemble.csv", png = "lorenz_ensemble.png";
  CLI::App app("Solves an ensemble of Lorenz systems, rho swept over 0..28, on any Vulkan device.");
  app.add_option("--systems", systems, "number of systems")->check(CLI::Range(2, 1 << 24));
  app.add_option("--steps", steps, "fixed steps of 1e-3")->check(CLI::Range(1, 60000));
  app.add_option("--csv", csv, "where the final states go");
  app.add_option("--png", png, "where the picture goes");
  CLI11_PARSE(app, argc, argv);

  try {
    gn::Runtime rt;
    std::printf("device: %s\n", rt.device_name().c_str());
    std::vector<float> rho(systems);
    for (std::size_t i = 0; i < systems; ++i)
      rho[i] = 28.0f * static_cast<float>(i) / static_cast<float>(systems - 1);
    const Array rhos = rt.from_host(rho);
    const auto host = [&](const State& s) {
      return Ensemble{rt.to_host<float>(s.x), rt.to_host<float>(s.y), rt.to_host<float>(s.z)};
    };
    bool right = true;

    // A function of one system, mapped over all of them: the loop runs inside one kernel.
    auto fixed = gn::jit(rt, gn::vmap([&](const Array& r) { return rk4(r, steps, 1e-3f); }),
                         {.name = "lorenz_rk4", .max_traces = 1});
    State end = fixed(rhos);
    rt.wait();
    const double fixed_ms = milliseconds_of([&] {
      end = fixed(rhos);
      rt.wait();
    });
    const Ensemble final = host(end);
    const double fixed_error = worst_error(final, rho, steps * 1e-3, 1e-3, systems / 64 + 1);
    report("RK4, fixed steps", fixed.last_times(), fixed_ms, systems, fixed_error,
           fixed.kernel_count());
    right = right && fixed_error < 1e-3 && fixed.kernel_count() == 1;

    // Every system stops on its own step count: no lane waits for the slowest of the ensemble.
    const Tolerances tolerances{.end = 2};
    auto adaptive = gn::jit(rt, gn::vmap([&](const Array& r) { return dopri5(r, tolerances); }),
                            {.name = "lorenz_dopri5", .max_traces = 1});
    Adaptive solved = adaptive(rhos);
    rt.wait();
    const double adaptive_ms = milliseconds_of([&] {
      solved = adaptive(rhos);
      rt.wait();
    });
    const double adaptive_error =
        worst_error(host(solved.state), rho, tolerances.end, 1e-4, systems / 16 + 1);
    report("Dopri5, adaptive", adaptive.last_times(), adaptive_ms, systems, adaptive_error,
           adaptive.kernel_count());
    auto tried = rt.to_host<std::int32_t>(solved.tried);
    auto accepted = rt.to_host<std::int32_t>(solved.accepted);
    double sum = 0, kept = 0;
    for (std::size_t i = 0; i < systems; ++i) {
      sum += tried[i];
      kept += accepted[i];
    }
    const auto [least, most] = std::minmax_element(tried.begin(), tried.end());
    std::printf("  steps per system: least %d, mean %.1f, most %d; %.1f %% accepted\n", *least,
                sum / static_cast<double>(systems), *most, 100 * kept / sum);
    right = right && adaptive_error < 1e-3 && adaptive.kernel_count() == 1 &&
            *most < tolerances.max_steps;

    write_csv(csv, rho, final.x, final.y, final.z, tried);
    std::printf("\nfinal states: %s\n", csv.c_str());
    if (draw(csv, png))
      std::printf("picture: %s\n", png.c_str());
    else
      std::printf("no picture: gnuplot is not installed\n");
    if (!right) std::printf("WRONG: an error or kernel count above is not what it must be\n");
    return right ? 0 : 1;
  } catch (const gn::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
