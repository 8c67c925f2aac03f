// samples/lorenz_ensemble/lorenz.h -- the Lorenz system and two ways to integrate ONE of it; the
// caller maps over many.
//
// x' = sigma (y - x), y' = x (rho - z) - y, z' = x y - beta z, with sigma = 10 and beta = 8/3.
// Source: E. N. Lorenz, Deterministic Nonperiodic Flow, J. Atmos. Sci. 20 (1963), equations 25
// to 27.
#pragma once
#include <gnomon/gnomon.h>

namespace lorenz {

namespace gn = gnomon;
using gn::Array;

struct State {
  Array x, y, z;
};

inline State field(const State& s, const Array& rho) {
  return {10.0f * (s.y - s.x), s.x * (rho - s.z) - s.y, s.x * s.y - (8.0f / 3.0f) * s.z};
}

/// a + h * k, component by component.
inline State axpy(const State& a, gn::Operand h, const State& k) {
  return {a.x + h * k.x, a.y + h * k.y, a.z + h * k.z};
}

inline State start() { return {gn::ones({}), gn::zeros({}), gn::zeros({})}; }

/// Classical Runge-Kutta, `steps` steps of length `h`.
inline State rk4(const Array& rho, int steps, float h) {
  return gn::fori_loop(
      0, steps,
      [&](const Array&, State s) {
        const State k1 = field(s, rho);
        const State k2 = field(axpy(s, h / 2, k1), rho);
        const State k3 = field(axpy(s, h / 2, k2), rho);
        const State k4 = field(axpy(s, h, k3), rho);
        return axpy(axpy(axpy(axpy(s, h / 6, k1), h / 3, k2), h / 3, k3), h / 6, k4);
      },
      start());
}

struct Adaptive {
  State state,
      slope;  // slope: the field at `state`, reused from the step before (first same as last)
  Array t, h, tried, accepted;
};

struct Tolerances {
  float end = 10, relative = 1e-5f, absolute = 1e-5f, first_step = 0.01f;
  int max_steps = 4096;
};

/// Dormand-Prince 5(4) with step size control; stops at `end` or after `max_steps` tried steps, on
/// its own count. Source: Dormand and Prince, A family of embedded Runge-Kutta formulae, J. Comp.
/// Appl. Math. 6 (1980); the controller is h * clip(0.9 err^(-1/5), 0.2, 10).
inline Adaptive dopri5(const Array& rho, const Tolerances& tolerances) {
  const Adaptive init{start(),
                      field(start(), rho),
                      gn::zeros({}),
                      gn::full({}, tolerances.first_step),
                      gn::zeros({}, gn::DType::i32),
                      gn::zeros({}, gn::DType::i32)};
  return gn::while_loop(
      [&](const Adaptive& a) { return a.t < tolerances.end; },
      [&](Adaptive a) {
        const Array h = gn::minimum(a.h, tolerances.end - a.t);
        const State& s = a.state;
        const State& k1 = a.slope;
        const auto stage = [&](std::initializer_list<std::pair<float, const State*>> terms) {
          State sum{gn::zeros({}), gn::zeros({}), gn::zeros({})};
          bool first = true;
          for (const auto& [c, k] : terms) {
            if (first)
              sum = State{c * k->x, c * k->y, c * k->z};
            else
              sum = axpy(sum, c, *k);
            first = false;
          }
          return sum;
        };
        const State k2 = field(axpy(s, h, stage({{1.f / 5, &k1}})), rho);
        const State k3 = field(axpy(s, h, stage({{3.f / 40, &k1}, {9.f / 40, &k2}})), rho);
        const State k4 =
            field(axpy(s, h, stage({{44.f / 45, &k1}, {-56.f / 15, &k2}, {32.f / 9, &k3}})), rho);
        const State k5 = field(axpy(s, h,
                                    stage({{19372.f / 6561, &k1},
                                           {-25360.f / 2187, &k2},
                                           {64448.f / 6561, &k3},
                                           {-212.f / 729, &k4}})),
                               rho);
        const State k6 = field(axpy(s, h,
                                    stage({{9017.f / 3168, &k1},
                                           {-355.f / 33, &k2},
                                           {46732.f / 5247, &k3},
                                           {49.f / 176, &k4},
                                           {-5103.f / 18656, &k5}})),
                               rho);
        const State next = axpy(s, h,
                                stage({{35.f / 384, &k1},
                                       {500.f / 1113, &k3},
                                       {125.f / 192, &k4},
                                       {-2187.f / 6784, &k5},
                                       {11.f / 84, &k6}}));
        const State k7 = field(next, rho);
        const State error = stage({{71.f / 57600, &k1},
                                   {-71.f / 16695, &k3},
                                   {71.f / 1920, &k4},
                                   {-17253.f / 339200, &k5},
                                   {22.f / 525, &k6},
                                   {-1.f / 40, &k7}});
        const auto scaled = [&](const Array& e, const Array& y0, const Array& y1) {
          return h * e /
                 (tolerances.absolute +
                  tolerances.relative * gn::maximum(gn::abs(y0), gn::abs(y1)));
        };
        const Array ex = scaled(error.x, s.x, next.x), ey = scaled(error.y, s.y, next.y),
                    ez = scaled(error.z, s.z, next.z);
        const Array norm = gn::sqrt((ex * ex + ey * ey + ez * ez) / 3.0f);
        const Array accept = norm <= 1.0f;
        const Array factor = gn::clip(0.9f * gn::pow(gn::maximum(norm, 1e-8f), -0.2f), 0.2f, 10.0f);
        const auto keep = [&](const State& yes, const State& no) {
          return State{gn::where(accept, yes.x, no.x), gn::where(accept, yes.y, no.y),
                       gn::where(accept, yes.z, no.z)};
        };
        return Adaptive{keep(next, s), keep(k7, k1), gn::where(accept, a.t + h, a.t),
                        h * factor,    a.tried + 1,  a.accepted + gn::cast(accept, gn::DType::i32)};
      },
      init, {.max_steps = tolerances.max_steps});
}

}  // namespace lorenz
