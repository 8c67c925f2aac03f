// tests/bench/problems.h -- what every workload computes: constants, inputs, references, checks.
// checks.
//
// Every variant of a workload solves exactly the problem stated here, so that their times compare.
// References are plain scalar f64 code on the host; they share nothing with any variant.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace bench {

/// The Lorenz system: x' = sigma (y - x), y' = x (rho - z) - y, z' = x y - beta z.
inline constexpr float lorenz_sigma = 10.0f;
inline constexpr float lorenz_beta = 8.0f / 3.0f;
inline constexpr float lorenz_rho_max = 28.0f;

/// rho of each of `systems` systems: an even sweep over [0, 28], both ends included.
std::vector<float> lorenz_rho(uint32_t systems);

/// 65,536 systems from (1, 0, 0): 1,000 classical RK4 steps of 1e-3; the final states.
///
/// Input f32[n] rho; result f32[3, n]: all x, then all y, then all z.
struct LorenzRk4 {
  static constexpr uint32_t systems = 65536;
  static constexpr uint32_t steps = 1000;
  static constexpr float step = 1e-3f;
};

/// 16,384 systems from (1, 0, 0) to t = 10, Dormand-Prince 5(4), each system with its own steps.
///
/// Input f32[n] rho; result f32[4, n]: x, y, z and the number of steps tried, as a float. A variant
/// that does not count steps returns f32[3, n].
///
/// While t < end and fewer than `max_steps` were tried: step h' = min(h, end - t);
///   scale = tol + tol * max(|y0|, |y1|) per component, err = rms over the components of e / scale;
///   accepted if err <= 1 (then t += h' and the last stage is the next first stage);
///   h = h' * clamp(0.9 * max(err, 1e-8)^-0.2, 0.2, 10), accepted or not.
/// The norm of the first step is not estimated: h starts at 0.01.
struct LorenzAdaptive {
  static constexpr uint32_t systems = 16384;
  static constexpr uint32_t max_steps = 4096;
  static constexpr float end = 10.0f;
  static constexpr float tolerance = 1e-5f;
  static constexpr float first_step = 0.01f;
  static constexpr float safety = 0.9f;
  static constexpr float shrink = 0.2f;
  static constexpr float grow = 10.0f;
};

/// 2^24 elements, x an even sweep over [-3, 3): chain sin(x) exp(-x^2) + x/2, copy 2 x.
struct Stream {
  static constexpr uint32_t elements = 1u << 24;
  static constexpr float low = -3.0f;
  static constexpr float high = 3.0f;
};
std::vector<float> stream_input();

/// Four dependent parts over 4,096 Lorenz lanes, rho as above, from (1, 0, 0).
///
/// 1. per lane, 200 RK4 steps of 5e-3;
/// 2. the means (mx, my, mz) of the states over the lanes;
/// 3. per lane, 100 Euler steps of 1e-3 of the system pulled to the mean: s += h (f(s) + m - s);
/// 4. A = reshape(x[:, None] + y[:, None] * arange(16) / 16, [256, 256]), C = A A.
/// Input f32[4096] rho; result f32[256, 256] C. Every lane counts in every row or column of C.
struct Mixed {
  static constexpr uint32_t lanes = 4096;
  static constexpr uint32_t steps = 200;
  static constexpr float step = 5e-3f;
  static constexpr uint32_t pulled_steps = 100;
  static constexpr float pulled_step = 1e-3f;
  static constexpr uint32_t side = 256;
  static constexpr uint32_t features = side * side / lanes;
};

/// x + 1 on 16 elements, x = 0, 1, 2, ...
struct Call {
  static constexpr uint32_t elements = 16;
};

/// z = x + y / 2 on 2^24 elements, x as above, y the same backwards.
std::vector<float> stream_backwards();

/// The sum of 2^24 elements, 0 or 2 in a pattern that adds up to 2^24: every partial sum, in any
/// order, is exact in f32, and so must the result be.
std::vector<float> sum_input();

/// softmax over the last axis, elements in [-8, 8).
struct Softmax {
  static constexpr uint32_t rows = 8192;
  static constexpr uint32_t columns = 1024;
};
std::vector<float> softmax_input();

/// C = A B for each of `batch` pairs of matrices. Elements are multiples of 1/8 in [-1, 1], so
/// every order of summation is exact in f32, and results are compared bit for bit.
struct Matmul {
  uint32_t batch, rows, depth, columns;
  uint32_t left() const { return batch * rows * depth; }
  uint32_t right() const { return batch * depth * columns; }
  uint32_t result() const { return batch * rows * columns; }
};
inline constexpr Matmul matmul_1024{1, 1024, 1024, 1024};
inline constexpr Matmul matmul_64x256{256, 64, 64, 64};
inline constexpr Matmul matmul_tall{1, 2048, 2048, 64};
std::vector<float> matmul_left(const Matmul&);
std::vector<float> matmul_right(const Matmul&);

/// z^T A z for 64 vectors z of random signs, drawn anew in every run: estimates of the trace.
///
/// A f32[n, n]: 8 on the diagonal, beside it multiples of 1/8 in [-1, 1]. Result f32[probes]. Every
/// variant draws signs of its own; the check is their mean and variance.
struct Hutchinson {
  static constexpr uint32_t n = 2048;
  static constexpr uint32_t probes = 64;
};
std::vector<float> hutchinson_matrix();

/// What a check found. `detail` says what was compared and the largest error, or what is wrong.
struct Verdict {
  bool ok = false;
  std::string detail;
};

/// Checks a whole result of one workload against its f64 reference.
///
/// Each call of a factory computes the reference once (up to a second); the function it returns
/// looks at every element of the result and refuses NaN and wrong sizes.
using Check = std::function<Verdict(std::span<const float>)>;
Check lorenz_rk4_check();
Check lorenz_adaptive_check();
Check chain_check();
Check copy_check();
Check triad_check();
Check sum_check();
Check softmax_check();
Check matmul_check(const Matmul&);
Check hutchinson_check();
Check mixed_check();
Check call_check();

}  // namespace bench
