// samples/bouncing_ball/main.cpp -- balls that bounce: events which change the state and go on, one
// kernel for all balls, and the derivative of what comes out.
#include <gnomon/gnomon.h>
#include <gnomon/ode.h>

#include <cmath>
#include <cstdio>

#include "samples/common/sample.h"

namespace {

namespace gn = gnomon;
namespace ode = gnomon::ode;
using gn::Array;

constexpr double gravity = 9.81;
constexpr int bounces = 8;

struct Ball {
  Array height, speed;
  Array bounced, at;  // how often, and when for the last time
};

Ball fall(const Array&, const Ball& b, const Array&) {
  return {b.speed, gn::full_like(b.speed, -gravity), gn::zeros_like(b.bounced),
          gn::zeros_like(b.at)};
}
Array height(const Array&, const Ball& b, const Array&) { return b.height; }
/// What is left of the speed is what the ball is given: its restitution.
Ball bounce(const Array& t, const Ball& b, const Array& restitution) {
  return {gn::zeros_like(b.height), -restitution * b.speed, b.bounced + 1.0f, t};
}
Array done(const Array&, const Ball& b, const Array&) { return b.bounced >= bounces; }

/// One ball, dropped from a height of 1, until it has bounced that often.
auto solve(const Array& restitution, const std::vector<double>& ts) {
  const Ball start{gn::ones({}), gn::zeros({}), gn::zeros({}), gn::zeros({})};
  return ode::diffeqsolve(ode::OdeTerm{fall}, ode::Tsit5(), 0.0, 20.0, 0.1, start, restitution,
                          {.saveat = {.ts = ts},
                           .controller = ode::PidController{.rtol = 1e-5, .atol = 1e-5},
                           .max_steps = 256},
                          ode::event(height, bounce, {.direction = ode::Direction::down}),
                          ode::event(done));
}

struct Known {
  double time, slope;  // of the last bounce, and its derivative by the restitution
};
Known known(double r) {
  const double fall_time = std::sqrt(2 / gravity);
  Known k{1, 0};
  for (int i = 1; i < bounces; ++i) {
    k.time += 2 * std::pow(r, i);
    k.slope += 2 * i * std::pow(r, i - 1);
  }
  return {fall_time * k.time, fall_time * k.slope};
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t balls = 4096;
  sample::Settings settings("Balls of different restitution, until each has bounced eight times.");
  settings.add("--balls", balls, "number of balls", 4, 1 << 22);
  return sample::run(settings, argc, argv, [&](gn::Runtime& rt) {
    std::vector<float> restitution(balls);
    for (std::size_t i = 0; i < balls; ++i)
      restitution[i] = 0.5f + 0.45f * static_cast<float>(i) / static_cast<float>(balls - 1);
    const Array r = rt.from_host(restitution);

    const auto last_bounce = [](const Array& x) { return solve(x, {}).y1.at; };
    const auto with_slope = [&](const Array& x) {
      return gn::jvp(last_bounce, x, gn::ones_like(x));
    };
    auto all = gn::jit(rt, gn::vmap(with_slope), {.name = "bouncing_balls", .max_traces = 1});
    auto solved = all(r);
    rt.wait();
    const double ms = sample::milliseconds_of([&] {
      solved = all(r);
      rt.wait();
    });
    std::printf("%zu balls with their derivatives: %.1f ms, %d kernels\n", balls, ms,
                all.kernel_count());
    double worst = 0, worst_slope = 0;
    const auto t = rt.to_host<float>(solved.first), s = rt.to_host<float>(solved.second);
    for (std::size_t i = 0; i < balls; ++i) {
      const Known k = known(restitution[i]);
      worst = std::max(worst, std::fabs(t[i] / k.time - 1));
      worst_slope = std::max(worst_slope, std::fabs(s[i] / k.slope - 1));
    }
    std::printf("time of bounce %d: off the closed form by %.1e; its derivative by %.1e\n", bounces,
                worst, worst_slope);

    // A few of them on their way.
    std::vector<double> ts;
    for (int i = 0; i < 500; ++i) ts.push_back(i * 0.01);
    auto paths = gn::jit(rt, gn::vmap([&](const Array& x) {
                           const auto sol = solve(x, ts);
                           return std::pair{sol.ys.height, sol.count};
                         }));
    const auto [rows, count] = paths(rt.from_host({0.5f, 0.65f, 0.8f, 0.95f}));
    const auto heights = rt.to_host<float>(rows);
    const auto counts = rt.to_host<std::int32_t>(count);
    std::vector<sample::Column> table{{"t", ts}};
    for (std::size_t i = 0; i < 4; ++i) {
      const auto first = heights.begin() + static_cast<std::ptrdiff_t>(i * ts.size());
      table.push_back({"ball" + std::to_string(i), {first, first + counts[i]}});
    }
    sample::write_csv("bouncing_ball.csv", table);
    sample::draw("bouncing_ball.png",
                 "set xlabel 'time (s)'\nset ylabel 'height (m)'\nset yrange [0:1.05]\n"
                 "set title 'Balls until their eighth bounce'\n"
                 "titles = '0.5 0.65 0.8 0.95'\n"
                 "plot for [i=1:4] 'bouncing_ball.csv' every ::1 using 1:i+1 with lines lw 2 "
                 "title 'restitution '.word(titles, i)");
    return sample::check(worst < 1e-4 && worst_slope < 1e-3 && worst > 0,
                         "bounces are where the closed form has them");
  });
}
