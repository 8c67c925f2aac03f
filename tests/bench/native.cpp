// tests/bench/native.cpp -- the workloads with GCC vector extensions, 16 wide, on two threads.
#include "native.h"

#include <cstdint>
#include <cstring>

#include "native_vector.h"
#include "problems.h"

namespace bench::native {
namespace {

/// log2(x) for normal positive x, absolute error below 2e-6: atanh series of the mantissa.
inline V log2_of(V x) {
  I bits;
  std::memcpy(&bits, &x, sizeof bits);
  const I exponent = (bits - 0x3F3504F3) >> 23;  // mantissa in [sqrt(1/2), sqrt(2))
  const I mantissa_bits = bits - (exponent << 23);
  V m;
  std::memcpy(&m, &mantissa_bits, sizeof m);
  const V u = (m - 1.0f) / (m + 1.0f), u2 = u * u;
  V p = all(0.412198583f);
  p = p * u2 + 0.577078016f;
  p = p * u2 + 0.961796694f;
  p = p * u2 + 2.885390082f;
  return p * u + __builtin_convertvector(exponent, V);
}

/// sin(x) for |x| < 1e4: reduction by pi in two parts, Taylor-like minimax of degree 9.
inline V sin_of(V x) {
  const V magic = all(12582912.0f);
  const V shifted = x * 0.318309886f + magic;
  I turns;
  std::memcpy(&turns, &shifted, sizeof turns);
  const V q = __builtin_convertvector(turns - 0x4B400000, V);
  const V r = (x - q * 3.140625f) - q * 9.67653589793e-4f;
  const V r2 = r * r;
  V p = all(2.6083159809786593541503e-6f);
  p = p * r2 - 1.981069071916863322258e-4f;
  p = p * r2 + 8.33307858556509017944336e-3f;
  p = p * r2 - 1.66666597127914428710938e-1f;
  const V s = p * r2 * r + r;
  const I flip = turns << 31;
  I bits;
  std::memcpy(&bits, &s, sizeof bits);
  bits ^= flip;
  V result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

struct State {
  V x, y, z;
};
inline State f(State s, V rho) {
  return {lorenz_sigma * (s.y - s.x), s.x * (rho - s.z) - s.y, s.x * s.y - lorenz_beta * s.z};
}
inline State axpy(V a, State k, State s) { return {s.x + a * k.x, s.y + a * k.y, s.z + a * k.z}; }

/// Four independent vectors of systems at a time hide the latency of one.
void rk4_block(const float* rho, float* state, size_t n, size_t at, uint32_t steps, float dt) {
  constexpr int many = 4;
  State s[many];
  V r[many];
  for (int u = 0; u < many; u++) {
    s[u] = {all(1.0f), V{}, V{}};
    r[u] = load(rho + at + u * width);
  }
  const V half = all(0.5f * dt), full = all(dt), sixth = all(dt / 6.0f);
  for (uint32_t k = 0; k < steps; k++)
#pragma GCC unroll 4
    for (int u = 0; u < many; u++) {
      const State k1 = f(s[u], r[u]), k2 = f(axpy(half, k1, s[u]), r[u]),
                  k3 = f(axpy(half, k2, s[u]), r[u]), k4 = f(axpy(full, k3, s[u]), r[u]);
      s[u].x += sixth * (k1.x + 2.0f * (k2.x + k3.x) + k4.x);
      s[u].y += sixth * (k1.y + 2.0f * (k2.y + k3.y) + k4.y);
      s[u].z += sixth * (k1.z + 2.0f * (k2.z + k3.z) + k4.z);
    }
  for (int u = 0; u < many; u++) {
    store(state + at + u * width, s[u].x);
    store(state + n + at + u * width, s[u].y);
    store(state + 2 * n + at + u * width, s[u].z);
  }
}

struct Adaptive {
  State s, k1;
  V rho, t, h, tried;
};

inline void dopri5_step(Adaptive& a) {
  constexpr float tol = LorenzAdaptive::tolerance;
  const V end = all(LorenzAdaptive::end);
  const State s = a.s, k1 = a.k1;
  const V h = vmin(a.h, end - a.t);
  auto stage = [](auto&& each) { return State{each(&State::x), each(&State::y), each(&State::z)}; };
  const State k2 = f(stage([&](V State::*c) { return s.*c + h * (0.2f * k1.*c); }), a.rho);
  const State k3 =
      f(stage([&](V State::*c) { return s.*c + h * (3.0f / 40 * k1.*c + 9.0f / 40 * k2.*c); }),
        a.rho);
  const State k4 =
      f(stage([&](V State::*c) {
          return s.*c + h * (44.0f / 45 * k1.*c - 56.0f / 15 * k2.*c + 32.0f / 9 * k3.*c);
        }),
        a.rho);
  const State k5 = f(stage([&](V State::*c) {
                       return s.*c + h * (19372.0f / 6561 * k1.*c - 25360.0f / 2187 * k2.*c +
                                          64448.0f / 6561 * k3.*c - 212.0f / 729 * k4.*c);
                     }),
                     a.rho);
  const State k6 = f(stage([&](V State::*c) {
                       return s.*c + h * (9017.0f / 3168 * k1.*c - 355.0f / 33 * k2.*c +
                                          46732.0f / 5247 * k3.*c + 49.0f / 176 * k4.*c -
                                          5103.0f / 18656 * k5.*c);
                     }),
                     a.rho);
  const State next = stage([&](V State::*c) {
    return s.*c + h * (35.0f / 384 * k1.*c + 500.0f / 1113 * k3.*c + 125.0f / 192 * k4.*c -
                       2187.0f / 6784 * k5.*c + 11.0f / 84 * k6.*c);
  });
  const State k7 = f(next, a.rho);
  const State e = stage([&](V State::*c) {
    return (71.0f / 57600 * k1.*c - 71.0f / 16695 * k3.*c + 71.0f / 1920 * k4.*c -
            17253.0f / 339200 * k5.*c + 22.0f / 525 * k6.*c - 1.0f / 40 * k7.*c) /
           (tol + tol * vmax(vabs(s.*c), vabs(next.*c)));
  });
  const V err2 = h * h * (e.x * e.x + e.y * e.y + e.z * e.z) * (1.0f / 3);
  const I ok = err2 <= 1.0f;
  a.tried += a.t < end ? all(1.0f) : V{};
  a.t = ok ? a.t + h : a.t;
  a.s = {ok ? next.x : s.x, ok ? next.y : s.y, ok ? next.z : s.z};
  a.k1 = {ok ? k7.x : k1.x, ok ? k7.y : k1.y, ok ? k7.z : k1.z};
  const V factor = LorenzAdaptive::safety * exp2_of(-0.1f * log2_of(vmax(err2, all(1e-16f))));
  a.h = h * vmin(vmax(factor, all(LorenzAdaptive::shrink)), all(LorenzAdaptive::grow));
}

void adaptive_block(const float* rho, float* state, size_t n, size_t at) {
  constexpr int many = 2;
  Adaptive a[many];
  for (int u = 0; u < many; u++) {
    a[u].rho = load(rho + at + u * width);
    a[u].s = {all(1.0f), V{}, V{}};
    a[u].k1 = f(a[u].s, a[u].rho);
    a[u].t = V{};
    a[u].h = all(LorenzAdaptive::first_step);
    a[u].tried = V{};
  }
  for (uint32_t k = 0; k < LorenzAdaptive::max_steps; k++) {
    I going{};
    for (int u = 0; u < many; u++) going |= a[u].t < LorenzAdaptive::end;
    if (!any(going)) break;
#pragma GCC unroll 4
    for (int u = 0; u < many; u++) dopri5_step(a[u]);
  }
  for (int u = 0; u < many; u++) {
    float* out = state + at + u * width;
    store(out, a[u].s.x);
    store(out + n, a[u].s.y);
    store(out + 2 * n, a[u].s.z);
    store(out + 3 * n, a[u].tried);
  }
}

/// C rows [first, last) of C = A A: 8 rows by two vectors of columns in registers.
void matmul_rows(const float* a, float* c, int first, int last) {
  constexpr int n = static_cast<int>(Mixed::side), rows = 8;
  for (int i = first; i < last; i += rows)
    for (int j = 0; j < n; j += 2 * width) {
      V acc[rows][2] = {};
      for (int k = 0; k < n; k++) {
        const V b0 = load(a + k * n + j), b1 = load(a + k * n + j + width);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
          const V t = all(a[(i + r) * n + k]);
          acc[r][0] += t * b0;
          acc[r][1] += t * b1;
        }
      }
      for (int r = 0; r < rows; r++) {
        store(c + (i + r) * n + j, acc[r][0]);
        store(c + (i + r) * n + j + width, acc[r][1]);
      }
    }
}

}  // namespace

void PairDeleter::operator()(Pair* pair) const { delete pair; }
PairPtr make_pair() { return PairPtr(new Pair); }

void lorenz_rk4(Pair& pair, const float* rho, float* state, size_t n) {
  pair.halves(n, 64, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; i += 64)
      rk4_block(rho, state, n, i, LorenzRk4::steps, LorenzRk4::step);
  });
}

void lorenz_adaptive(Pair& pair, const float* rho, float* state, size_t n) {
  pair.halves(n, 64, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; i += 2 * width) adaptive_block(rho, state, n, i);
  });
}

void chain(Pair& pair, const float* x, float* y, size_t n) {
  pair.halves(n, 64, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; i += 4 * width)
#pragma GCC unroll 4
      for (int u = 0; u < 4; u++) {
        const V v = load(x + i + u * width);
        store(y + i + u * width, sin_of(v) * exp2_of(v * v * -1.44269504f) + 0.5f * v);
      }
  });
}

void copy(Pair& pair, const float* x, float* y, size_t n) {
  pair.halves(n, 64, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; i += width) store(y + i, 2.0f * load(x + i));
  });
}

void mixed(Pair& pair, const float* rho, float* state, float* matrix, float* result) {
  constexpr size_t n = Mixed::lanes;
  float partial[2][3];
  pair.both([&](int half) {
    const size_t begin = half * n / 2, end = begin + n / 2;
    for (size_t i = begin; i < end; i += 64) rk4_block(rho, state, n, i, Mixed::steps, Mixed::step);
    for (int c = 0; c < 3; c++) {
      V total{};
      for (size_t i = begin; i < end; i += width) total += load(state + c * n + i);
      partial[half][c] = sum(total);
    }
  });
  V mean[3];
  for (int c = 0; c < 3; c++) mean[c] = all((partial[0][c] + partial[1][c]) / n);
  pair.both([&](int half) {
    const size_t begin = half * n / 2, end = begin + n / 2;
    constexpr size_t many = 4;
    for (size_t i = begin; i < end; i += many * width) {
      State s[many];
      V r[many];
      for (size_t u = 0; u < many; u++) {
        const float* at = state + i + u * width;
        s[u] = {load(at), load(at + n), load(at + 2 * n)};
        r[u] = load(rho + i + u * width);
      }
      for (uint32_t k = 0; k < Mixed::pulled_steps; k++)
#pragma GCC unroll 4
        for (size_t u = 0; u < many; u++) {
          const State d = f(s[u], r[u]);
          s[u] = {s[u].x + Mixed::pulled_step * (d.x + mean[0] - s[u].x),
                  s[u].y + Mixed::pulled_step * (d.y + mean[1] - s[u].y),
                  s[u].z + Mixed::pulled_step * (d.z + mean[2] - s[u].z)};
        }
      V ramp;
      for (int j = 0; j < width; j++) ramp[j] = static_cast<float>(j) / width;
      for (size_t u = 0; u < many; u++)
        for (int lane = 0; lane < width; lane++)
          store(matrix + (i + u * width + lane) * Mixed::features,
                s[u].x[lane] + s[u].y[lane] * ramp);
    }
  });
  pair.both([&](int half) {
    const int begin = half * static_cast<int>(Mixed::side) / 2;
    matmul_rows(matrix, result, begin, begin + static_cast<int>(Mixed::side) / 2);
  });
}

void call(const float* x, float* y, size_t n) {
  for (size_t i = 0; i < n; i++) y[i] = x[i] + 1.0f;
}

}  // namespace bench::native
