// tests/bench/native_loops.cpp -- loops with GCC vector extensions, 16 wide.
#include <algorithm>
#include <cstring>

#include "native_vector.h"
#include "problems.h"

namespace bench::native {
namespace {

constexpr int many = 4, slots = many * width;

struct State {
  V x, y, z;
};
inline State f(State s, V rho) {
  return {lorenz_sigma * (s.y - s.x), s.x * (rho - s.z) - s.y, s.x * s.y - lorenz_beta * s.z};
}
inline State axpy(V a, State k, State s) { return {s.x + a * k.x, s.y + a * k.y, s.z + a * k.z}; }

/// The systems that one thread works on side by side.
struct Running {
  alignas(64) float x[slots], y[slots], z[slots], rho[slots];
  int left[slots];
  size_t system[slots];
};

void steps_of(Running& r, int steps) {
  State s[many];
  V rho[many];
  for (int u = 0; u < many; u++) {
    s[u] = {load(r.x + u * width), load(r.y + u * width), load(r.z + u * width)};
    rho[u] = load(r.rho + u * width);
  }
  const V half = all(0.5f * Lanes::step), full = all(Lanes::step), sixth = all(Lanes::step / 6.0f);
  for (int k = 0; k < steps; k++)
#pragma GCC unroll 4
    for (int u = 0; u < many; u++) {
      const State k1 = f(s[u], rho[u]), k2 = f(axpy(half, k1, s[u]), rho[u]),
                  k3 = f(axpy(half, k2, s[u]), rho[u]), k4 = f(axpy(full, k3, s[u]), rho[u]);
      s[u].x += sixth * (k1.x + 2.0f * (k2.x + k3.x) + k4.x);
      s[u].y += sixth * (k1.y + 2.0f * (k2.y + k3.y) + k4.y);
      s[u].z += sixth * (k1.z + 2.0f * (k2.z + k3.z) + k4.z);
    }
  for (int u = 0; u < many; u++) {
    store(r.x + u * width, s[u].x);
    store(r.y + u * width, s[u].y);
    store(r.z + u * width, s[u].z);
  }
}

}  // namespace

void while_scalar(float start, float rate, size_t steps, float* result) {
  float x = start;
  size_t i = 0;
  while (i < steps && x > 0.0f) {
    x = rate * x * (1.0f - x);
    i++;
  }
  result[0] = static_cast<float>(i);
  result[1] = x;
}

void cg(const float* a, float* result) {
  constexpr size_t n = Cg::n;
  alignas(64) float x[n], r[n], p[n], q[n];
  for (size_t i = 0; i < n; i++) {
    x[i] = 0.0f;
    r[i] = p[i] = 1.0f;
  }
  float rr = n;
  const float enough = Cg::tolerance * rr;
  uint32_t steps = 0;
  while (rr > enough && steps < Cg::max_steps) {
    for (size_t i = 0; i < n; i += 4) {
      V t[4] = {};
      for (size_t k = 0; k < n; k += width)
        for (size_t u = 0; u < 4; u++) t[u] += load(a + (i + u) * n + k) * load(p + k);
      for (size_t u = 0; u < 4; u++) q[i + u] = sum(t[u]);
    }
    V pq{};
    for (size_t i = 0; i < n; i += width) pq += load(p + i) * load(q + i);
    const V alpha = all(rr / sum(pq));
    V squares{};
    for (size_t i = 0; i < n; i += width) {
      store(x + i, load(x + i) + alpha * load(p + i));
      const V next = load(r + i) - alpha * load(q + i);
      store(r + i, next);
      squares += next * next;
    }
    const float next = sum(squares);
    const V beta = all(next / rr);
    for (size_t i = 0; i < n; i += width) store(p + i, load(r + i) + beta * load(p + i));
    rr = next;
    steps++;
  }
  std::memcpy(result, x, sizeof x);
  result[n] = static_cast<float>(steps);
}

void lanes(Pair& pair, const float* in, float* state, size_t n) {
  pair.halves(n, 1, [&](size_t begin, size_t end) {
    Running r;
    size_t next = begin;
    int alive = 0;
    // No system: steps that nobody counts.
    constexpr int idle = 1 << 30;
    const auto take = [&](int slot) {
      const bool more = next < end;
      r.x[slot] = 1.0f;
      r.y[slot] = r.z[slot] = 0.0f;
      r.rho[slot] = more ? in[next] : 0.0f;
      r.left[slot] = more ? static_cast<int>(in[n + next]) : idle;
      r.system[slot] = next;
      if (!more) return;
      next++;
      alive++;
    };
    for (int i = 0; i < slots; i++) take(i);
    while (alive > 0) {
      const int steps = *std::min_element(r.left, r.left + slots);
      steps_of(r, steps);
      for (int i = 0; i < slots; i++) {
        if (r.left[i] == idle) continue;
        r.left[i] -= steps;
        if (r.left[i] > 0) continue;
        const size_t system = r.system[i];
        state[system] = r.x[i];
        state[n + system] = r.y[i];
        state[2 * n + system] = r.z[i];
        state[3 * n + system] = in[n + system];
        alive--;
        take(i);
      }
    }
  });
}

void history(const float* offsets, float* rows, size_t n) {
  using Row = float __attribute__((vector_size(16)));
  Row c, row{};
  std::memcpy(&c, offsets, sizeof c);
  for (size_t k = 0; k < n; k++) {
    row = 0.5f * row + (static_cast<float>(k) + c);
    std::memcpy(rows + 4 * k, &row, sizeof row);
  }
}

void dead(const float* matrix, const float* start, size_t steps, float* result) {
  constexpr size_t n = Dead::n;
  alignas(64) float v[n], next[n];
  std::memcpy(v, start, sizeof v);
  for (size_t k = 0; k < steps; k++) {
    for (size_t i = 0; i < n; i += 4) {
      V t[4] = {};
      for (size_t j = 0; j < n; j += width)
        for (size_t u = 0; u < 4; u++) t[u] += load(matrix + (i + u) * n + j) * load(v + j);
      for (size_t u = 0; u < 4; u++) next[i + u] = Dead::decay * sum(t[u]) + start[i + u];
    }
    std::memcpy(v, next, sizeof v);
  }
  std::memcpy(result, v, sizeof v);
}

}  // namespace bench::native
