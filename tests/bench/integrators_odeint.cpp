// tests/bench/integrators_odeint.cpp -- ensembles as a user of Boost.odeint writes them.
#include <array>
#include <boost/numeric/odeint.hpp>

#include "integrators.h"
#include "integrators_threads.h"
#include "problems_ode.h"
#include "tests/support/detest.h"

namespace bench::integrators {
namespace {

namespace odeint = boost::numeric::odeint;
namespace detest = gnomon::testing::detest;

template <class T, size_t N>
using Dopri5 = odeint::runge_kutta_dopri5<std::array<T, N>, T>;

/// One of the problems; `ends` f32[N, n].
template <class P>
float* solve(const P& field, const double* scale, float* ends, size_t n) {
  constexpr size_t size = P::start.size();
  in_halves(n, [&](size_t from, size_t to) {
    auto stepper =
        odeint::make_controlled(Detest::tolerance, Detest::tolerance, Dopri5<double, size>());
    using State = std::array<double, size>;
    for (size_t i = from; i < to; i++) {
      State y = P::start;
      for (double& x : y) x *= scale[i];
      odeint::integrate_adaptive(
          stepper, [&](const State& s, State& d, double t) { field(t, s, d); }, y, 0.0, detest::end,
          Detest::first_step);
      for (size_t c = 0; c < size; c++) ends[c * n + i] = static_cast<float>(y[c]);
    }
  });
  return ends + size * n;
}

}  // namespace

void odeint_lorenz_adaptive(const float* rho, float* state, size_t n) {
  using P = LorenzAdaptive;
  using State = std::array<float, 3>;
  in_halves(n, [&](size_t from, size_t to) {
    auto stepper = odeint::make_controlled(P::tolerance, P::tolerance, Dopri5<float, 3>());
    for (size_t i = from; i < to; i++) {
      State y{1, 0, 0};
      const auto field = [r = rho[i]](const State& s, State& d, float) {
        d = {lorenz_sigma * (s[1] - s[0]), s[0] * (r - s[2]) - s[1],
             s[0] * s[1] - lorenz_beta * s[2]};
      };
      odeint::integrate_adaptive(stepper, field, y, 0.0f, P::end, P::first_step);
      for (size_t c = 0; c < 3; c++) state[c * n + i] = y[c];
    }
  });
}

void odeint_detest(const double* scale, float* ends, size_t n) {
  Detest::for_each([&](const auto& field) { ends = solve(field, scale, ends, n); });
}

/// There are no events: a step that ends below the ground is looked at between its ends.
void odeint_events(const float* restitution, float* time, size_t n) {
  using P = Bouncing;
  using State = std::array<float, 2>;
  const auto field = [](const State& s, State& d, float) { d = {s[1], -P::gravity}; };
  in_halves(n, [&](size_t from, size_t to) {
    auto stepper = odeint::make_dense_output(P::tolerance, P::tolerance, Dopri5<float, 2>());
    for (size_t i = from; i < to; i++) {
      State y{1, 0};
      float t = 0, h = P::first_step;
      for (int bounces = 0; bounces < P::bounces;) {
        stepper.initialize(y, t, h);
        do stepper.do_step(field);
        while (stepper.current_state()[0] > 0);
        // The secant through a bracket, as in the library.
        float a = stepper.previous_time(), b = stepper.current_time();
        float ga = stepper.previous_state()[0], gb = stepper.current_state()[0];
        if (ga <= 0) ga = 1;
        h = stepper.current_time_step();
        int side = -1;
        for (int k = 0; k < 60 && b - a > 2e-7f * b; k++) {
          t = b - gb / (gb - ga) * (b - a);
          stepper.calc_state(t, y);
          const int replaced = (y[0] > 0) == (gb > 0);
          if (replaced) {
            b = t, gb = y[0];
            if (side == 1) ga *= 0.5f;
          } else {
            a = t, ga = y[0];
            if (side == 0) gb *= 0.5f;
          }
          side = replaced;
          if (y[0] == 0) break;
        }
        y = {0, -restitution[i] * y[1]};
        bounces++;
      }
      time[i] = t;
    }
  });
}

}  // namespace bench::integrators
