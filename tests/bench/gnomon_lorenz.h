// tests/bench/gnomon_lorenz.h -- the Lorenz system and its two solvers as a user of the library
// writes them.
#pragma once
#include <gnomon/gnomon.h>

#include <utility>

#include "gnomon_jitted.h"
#include "problems.h"

namespace bench::lorenz {

struct State {
  Array x, y, z;
};

inline std::vector<float> host(gn::Runtime& rt, const State& s) {
  return flat(rt, {s.x, s.y, s.z});
}

inline State operator+(const State& a, const State& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline State operator*(gn::Operand c, const State& s) { return {c * s.x, c * s.y, c * s.z}; }

inline State field(const State& s, const Array& rho) {
  return {lorenz_sigma * (s.y - s.x), s.x * (rho - s.z) - s.y, s.x * s.y - lorenz_beta * s.z};
}

inline State start() { return {gn::ones({}), gn::zeros({}), gn::zeros({})}; }

/// One classical Runge-Kutta step.
inline State rk4_step(const State& s, const Array& rho, float h) {
  const State k1 = field(s, rho);
  const State k2 = field(s + h / 2 * k1, rho);
  const State k3 = field(s + h / 2 * k2, rho);
  const State k4 = field(s + h * k3, rho);
  return s + h / 6 * (k1 + 2.0f * (k2 + k3) + k4);
}

inline State rk4(State from, const Array& rho, std::uint32_t steps, float h) {
  return gn::fori_loop(
      0, steps, [&](const Array&, State s) { return rk4_step(s, rho, h); }, std::move(from));
}

struct Solve {
  State state, slope;
  Array t, h, tried;
};

/// v^-0.1 for positive normal v, as the expert computes it: a guess from the bits, then Newton.
inline Array root(const Array& v) {
  const Array bits = gn::cast(gn::bitcast(v, gn::DType::i32), gn::DType::f32);
  Array y = gn::bitcast(gn::cast(1171450000.0f - 0.1f * bits, gn::DType::i32), gn::DType::f32);
  const Array tenth = 0.1f * v;
  for (int step = 0; step < 3; ++step) {
    const Array y2 = y * y, y4 = y2 * y2;
    y = y * (1.1f - tenth * (y4 * y4 * y2));
  }
  return y;
}

/// Dormand-Prince 5(4) as problems.h states it.
inline Solve dopri5(const State& from, const Array& rho) {
  using P = LorenzAdaptive;
  const Solve init{from, field(from, rho), gn::zeros({}), gn::full({}, P::first_step),
                   gn::zeros({})};
  return gn::while_loop(
      [](const Solve& a) { return a.t < P::end; },
      [&](Solve a) {
        const Array h = gn::minimum(a.h, P::end - a.t);
        const State &s = a.state, &k1 = a.slope;
        const State k2 = field(s + h * (1.f / 5 * k1), rho);
        const State k3 = field(s + h * (3.f / 40 * k1 + 9.f / 40 * k2), rho);
        const State k4 = field(s + h * (44.f / 45 * k1 + -56.f / 15 * k2 + 32.f / 9 * k3), rho);
        const State k5 = field(s + h * (19372.f / 6561 * k1 + -25360.f / 2187 * k2 +
                                        64448.f / 6561 * k3 + -212.f / 729 * k4),
                               rho);
        const State k6 =
            field(s + h * (9017.f / 3168 * k1 + -355.f / 33 * k2 + 46732.f / 5247 * k3 +
                           49.f / 176 * k4 + -5103.f / 18656 * k5),
                  rho);
        const State next = s + h * (35.f / 384 * k1 + 500.f / 1113 * k3 + 125.f / 192 * k4 +
                                    -2187.f / 6784 * k5 + 11.f / 84 * k6);
        const State k7 = field(next, rho);
        const State e = 71.f / 57600 * k1 + -71.f / 16695 * k3 + 71.f / 1920 * k4 +
                        -17253.f / 339200 * k5 + 22.f / 525 * k6 + -1.f / 40 * k7;
        const auto scaled = [](const Array& error, const Array& y0, const Array& y1) {
          return error / (P::tolerance + P::tolerance * gn::maximum(gn::abs(y0), gn::abs(y1)));
        };
        const Array ex = scaled(e.x, s.x, next.x), ey = scaled(e.y, s.y, next.y),
                    ez = scaled(e.z, s.z, next.z);
        // The square of the error: its root is not needed, only its -0.1st power.
        const Array err2 = h * h * (ex * ex + ey * ey + ez * ez) * (1.0f / 3.0f);
        const Array accept = err2 <= 1.0f;
        const Array factor =
            gn::clip(P::safety * root(gn::maximum(err2, 1e-16f)), P::shrink, P::grow);
        const auto keep = [&](const State& yes, const State& no) {
          return State{gn::where(accept, yes.x, no.x), gn::where(accept, yes.y, no.y),
                       gn::where(accept, yes.z, no.z)};
        };
        return Solve{keep(next, s), keep(k7, k1), gn::where(accept, a.t + h, a.t), h * factor,
                     a.tried + 1.0f};
      },
      init, {.max_steps = P::max_steps});
}

}  // namespace bench::lorenz
