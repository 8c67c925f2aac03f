// samples/delay_equation/main.cpp -- a thousand Mackey-Glass equations, each with its own delay:
// from rest over a cycle and its doublings to chaos.
//
// x' = 0.2 x(t - tau) / (1 + x(t - tau)^10) - 0.1 x, the density of blood cells, whose production
// answers with a delay. Source: M. C. Mackey and L. Glass, Oscillation and chaos in physiological
// control systems, Science 197 (1977).
#include <gnomon/gnomon.h>
#include <gnomon/ode.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "samples/common/sample.h"

namespace {

namespace gn = gnomon;
namespace ode = gnomon::ode;
using gn::Array;

constexpr double start = 0.9;
constexpr double shortest = 2, longest = 20;

Array change(const Array& t, const Array& x, const ode::History<Array>& past, const Array& tau) {
  const Array before = past(t - tau);
  return 0.2f * before / (1.0f + gn::pow(before, 10)) - 0.1f * x;
}
Array before_all(const Array& t) { return gn::full_like(t, start); }

/// At the times `ts`; a delay is a few tens of steps at most.
auto solve(const Array& tau, const std::vector<double>& ts) {
  const ode::DelayTerm term(change, before_all, {.delays = {tau}, .remembered = 64});
  return ode::diffeqsolve(term, ode::Tsit5(), 0.0, ts.back(), gn::none,
                          gn::full({}, start, gn::DType::f32), tau,
                          {.saveat = {.ts = ts},
                           .controller = ode::PidController{.rtol = 1e-5, .atol = 1e-6},
                           .max_steps = 768});
}

/// The same at `end` by 2,000 equal steps of Heun's method to a delay, all in f64.
double reference(double tau, double end) {
  const double h = tau / 2000;
  std::vector<double> x(2001, start);
  const auto slope = [](double now, double before) {
    return 0.2 * before / (1 + std::pow(before, 10)) - 0.1 * now;
  };
  double before_end = start;
  const auto steps = static_cast<std::size_t>(std::ceil(end / h));
  for (std::size_t i = 0; i < steps; ++i) {
    before_end = x.back();
    const double a = slope(before_end, x[i]), b = slope(before_end + h * a, x[i + 1]);
    x.push_back(before_end + h / 2 * (a + b));
  }
  const double part = end / h - static_cast<double>(steps - 1);
  return before_end + part * (x.back() - before_end);
}

/// Rest at x = 1 is stable up to this delay: there exp(i w t) solves y' = -0.1 y - 0.4 y(t - tau).
double known_onset() { return std::acos(-0.25) / std::sqrt(0.4 * 0.4 - 0.1 * 0.1); }

double swing(const float* from, const float* to) {
  const auto [low, high] = std::minmax_element(from, to);
  return static_cast<double>(*high) - static_cast<double>(*low);
}

/// Of the parabola through three points, the one in the middle the highest.
double top(const float* x) {
  const double rise = x[1] - x[-1], bend = 2.0 * x[0] - x[1] - x[-1];
  return x[0] + (bend > 0 ? rise * rise / (8 * bend) : 0);
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 1024;
  sample::Settings settings("Mackey-Glass equations of different delays.");
  settings.add("--delays", count, "number of delays", 128, 1 << 20);
  return sample::run(settings, argc, argv, [&](gn::Runtime& rt) {
    std::vector<float> taus(count);
    for (std::size_t i = 0; i < count; ++i)
      taus[i] = static_cast<float>(shortest + (longest - shortest) * static_cast<double>(i) /
                                                  static_cast<double>(count - 1));
    std::vector<double> ts{100};
    for (int i = 0; i <= 600; ++i) ts.push_back(500 + 0.5 * i);

    auto all = gn::jit(rt, gn::vmap([&](const Array& tau) { return solve(tau, ts); }),
                       {.name = "mackey_glass", .max_traces = 1});
    const Array delays = rt.from_host(taus);
    auto solution = all(delays);
    ode::throw_if_failed(rt, solution);
    const double ms = sample::milliseconds_of([&] {
      solution = all(delays);
      rt.wait();
    });
    const auto steps = rt.to_host<std::int32_t>(solution.stats.steps);
    std::printf("%zu delays to t = 800: %.0f ms, %d to %d steps\n", count, ms,
                *std::min_element(steps.begin(), steps.end()),
                *std::max_element(steps.begin(), steps.end()));

    const auto rows = rt.to_host<float>(solution.ys);
    double worst = 0;
    for (std::size_t i = 0; i < count; i += count / 8)
      worst = std::max(worst, std::fabs(rows[i * ts.size()] - reference(taus[i], 100)));
    std::printf("at t = 100 off small steps by %.1e\n", worst);

    // Below the onset of oscillations they die, above it they come to a cycle. Of the cycles all
    // maxima are drawn: one, two, four of them, then no end.
    double onset = 0;
    std::vector<double> at, maxima;
    for (std::size_t i = 0; i < count; ++i) {
      const float* x = &rows[i * ts.size() + 1];
      if (swing(x + 301, x + 601) < 0.98 * swing(x, x + 300)) onset = taus[i];
      if (taus[i] > 8) break;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const float* x = &rows[i * ts.size() + 1];
      for (int k = 1; k < 600; ++k)
        if (x[k] > x[k - 1] && x[k] >= x[k + 1])
          at.push_back(taus[i]), maxima.push_back(top(x + k));
    }
    std::printf("oscillations from tau = %.3f, by theory from %.3f\n", onset, known_onset());

    const auto chaotic = static_cast<std::ptrdiff_t>(
        std::lower_bound(taus.begin(), taus.end(), 17.0f) - taus.begin());
    const auto first = rows.begin() + chaotic * static_cast<std::ptrdiff_t>(ts.size()) + 1;
    sample::write_csv("delay_equation.csv", {{"tau", at},
                                             {"maximum", maxima},
                                             {"t", {ts.begin() + 1, ts.end()}},
                                             {"x", {first, first + 601}}});
    sample::draw("delay_equation.png",
                 "set multiplot layout 2,1\nset xlabel 'delay'\nset ylabel 'maxima of x'\n"
                 "set title 'Mackey-Glass equations'\n"
                 "plot 'delay_equation.csv' every ::1 using 1:2 with dots lc 'black' notitle\n"
                 "set title ''\nset xlabel 'time'\nset ylabel 'x, delay 17'\n"
                 "plot 'delay_equation.csv' every ::1 using 3:4 with lines lw 2 notitle\n"
                 "unset multiplot");
    return sample::check(worst > 0 && worst < 2e-4 && std::fabs(onset - known_onset()) < 0.1,
                         "delay equations follow small steps, and oscillate where theory says");
  });
}
