// tests/bench/problems.h -- what every workload computes: constants, inputs, references, checks.
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

/// The same of few systems, whose driver takes longer to compile it than to run it.
struct LoadFirstRun {
  static constexpr uint32_t systems = 4096;
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

/// x + 1 on 16 elements, x = 0, 1, 2, ...; as `eager_add` an operation outside a trace, of which a
/// jitted call of the same is the floor.
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

/// The derivative of x(n) in x(0), x' = x + step sin(x), from a while loop of unknown length that
/// keeps so many of its steps.
///
/// Input f32[lanes] x(0); result f32[lanes].
struct Checkpointed {
  static constexpr float step = 1e-5f;
  uint32_t steps = 0, checkpoints = 0, lanes = 0;
};
std::vector<float> checkpointed_starts(uint32_t lanes);
/// What is measured: variants of one workload differ in slots or lanes only.
struct CheckpointedRow {
  const char *workload, *variant;
  Checkpointed problem;
};
std::vector<CheckpointedRow> checkpointed_rows();

/// x = rate x (1 - x) from `start` while x > 0 and fewer than 100,000 steps were taken.
///
/// At this rate the map settles, so that rounding decides neither the count nor the end. The limit
/// is data. Result f32[2]: the number of steps, exactly, and x.
struct WhileScalar {
  static constexpr uint32_t steps = 100000;
  static constexpr float start = 0.3f;
  static constexpr float rate = 2.9f;
  /// Some drivers stop a shader after 65,535 trips without a word: hand-written loops go on in a
  /// further dispatch.
  static constexpr uint32_t dispatch_steps = 65000;
};

/// A x = 1 by conjugate gradients from 0, until the squared residual is below 1e-10 of the first.
///
/// A f32[n, n] = M M^T / n + 0.01 I for a random M of variance 1: condition about 400, 116 steps in
/// f32. Result f32[n + 1]: x, then the number of steps.
struct Cg {
  static constexpr uint32_t n = 512;
  static constexpr uint32_t steps = 116;
  static constexpr uint32_t max_steps = 500;
  static constexpr float tolerance = 1e-10f;
};
std::vector<float> cg_matrix();

/// 16,384 Lorenz systems from (1, 0, 0), each with its own number of RK4 steps of 1e-3.
///
/// rho sweeps [0, 12], where rounding does not grow. The steps are 300 for all, or min(10000, 20/u)
/// with u uniform in (0, 1): 144 in the mean, the longest 70 times that. Variants may not sort by
/// them: they stand for a condition that nobody knows in advance. Inputs f32[n] rho and steps;
/// result f32[4, n]: x, y, z and the number of steps taken.
struct Lanes {
  static constexpr uint32_t systems = 16384;
  static constexpr uint32_t max_steps = 10000;
  static constexpr uint32_t uniform_steps = 300;
  static constexpr float rho_max = 12.0f;
  static constexpr float step = 1e-3f;
};
std::vector<float> lanes_rho();
std::vector<float> lanes_uniform_steps();
std::vector<float> lanes_heavy_tail_steps();

/// row k of a history = row k - 1 / 2 + k + c, written in place for every k; row -1 is 0.
///
/// Input f32[4] c; result f32[rows, 4].
struct History {
  static constexpr uint32_t rows = 100000;
  static constexpr uint32_t columns = 4;
};
std::vector<float> history_offsets();

/// A loop that stops after 100 steps, bounded by a million of them.
///
/// v = decay A v + b from b while fewer than `steps` (data) were taken; A f32[n, n] and b as below,
/// and after 100 steps one step still changes v. Result f32[n]. Beside it, in variants called
/// lanes, 4,096 lanes of v = decay v + b from 0.
struct Dead {
  static constexpr float decay = 0.98f;
  static constexpr uint32_t n = 256;
  static constexpr uint32_t lanes = 4096;
  static constexpr uint32_t steps = 100;
  static constexpr uint32_t bound = 1000000;
};
std::vector<float> dead_matrix();
std::vector<float> dead_start();
std::vector<float> dead_lanes();

/// One training step of a neural ODE: a field 2-64-64-2 with tanh, 256 samples, 40 RK4 steps of
/// 0.05, the mean square of what all states are off their targets, its gradient, Adam from nothing.
///
/// Input: parameters w1[2, 64], b1, w2[64, 64], b2, w3[64, 2], b3 (a layer is x w + b), starts
/// [256, 2], targets [40, 256, 2]. Result: the loss, parameters, first and second moments.
struct NeuralOde {
  static constexpr uint32_t hidden = 64, batch = 256, steps = 40;
  static constexpr float step = 0.05f;
  static constexpr uint32_t w1 = 0, b1 = w1 + 2 * hidden, w2 = b1 + hidden,
                            b2 = w2 + hidden * hidden, w3 = b2 + hidden, b3 = w3 + 2 * hidden,
                            parameters = b3 + 2;
  static constexpr double terms = 2.0 * batch * steps;
  static constexpr float rate = 1e-3f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
};
std::vector<float> neural_ode_input();

/// A million geometric Brownian motions dy = mu y dt + sigma y dW, by 128 steps of Euler and
/// Maruyama from t = 0 to 1.
///
/// The random numbers are given: path i has the key split(key(seed), n)[i], of which the first word
/// of fold_in(key, step) makes the noise of a step; see IndexedBrownianPath. Input
/// f32[n] y(0); result f32[n] y(1).
struct OdeSde {
  static constexpr uint32_t paths = 1000000, steps = 128, seed = 17;
  static constexpr float step = 1.0f / steps, mu = 0.1f, sigma = 0.3f;
};
std::vector<float> sde_starts();

/// Y = A X for a sparse symmetric A in compressed rows, the graph of random edges between `rows`
/// nodes, 10 entries a row in the mean: 8 on the diagonal, beside it multiples of 1/8 in [-1, 1];
/// entries of one place add up. X, Y f32[rows, probes].
///
/// `gather` is what no product can do without: rows of X at A's columns, 10 for each row of Y,
/// fetched and added up, no values and no offsets. `hutchinson` and `lanczos` are whole estimates,
/// of tr A and tr A^2.
struct TraceSparse {
  static constexpr uint32_t rows = 1000000, per_row = 10, probes = 16, steps = 5;
};
struct SparseMatrix {
  std::vector<int32_t> offsets, columns;
  std::vector<float> values;
  int32_t longest = 0;  // entries of a row
};
/// Made once, and kept.
const SparseMatrix& trace_sparse_matrix();
std::vector<float> trace_sparse_probes();

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
Check lorenz_rk4_check(size_t systems = LorenzRk4::systems);
Check lorenz_adaptive_check();
Check chain_check();
Check copy_check();
Check triad_check();
Check sum_check();
Check softmax_check();
Check matmul_check(const Matmul&);
Check hutchinson_check();
/// Result f32[2]: the mean of all probes and its standard error.
Check hutchinson_estimate_check();
Check mixed_check();
Check call_check();
Check while_scalar_check();
Check cg_check();
/// `steps` is one of the two above.
Check lanes_check(std::vector<float> steps);
Check history_check();
Check dead_check();
Check dead_lanes_check();

/// What a gradient costs, next to the loss alone. Losses are sums over all systems of half the
/// square of the last state, over all elements of chain, over all probes of hutchinson, and half
/// the square of the product. Results: f32[1] the loss, behind it in `gradient` the derivatives in
/// start and rho, f32[4, n]; in x; in A; in A and B.
Check lorenz_rk4_grad_check();
Check lorenz_adaptive_grad_check();
Check chain_grad_check();
Check hutchinson_grad_check();
Check matmul_grad_check(const Matmul&);
Check neural_ode_check();
Check sde_check();
Check checkpointed_check(uint32_t steps);
Check trace_sparse_check();
/// Result f32[rows, probes].
Check trace_sparse_gather_check();
/// Result f32[2]: tr A or tr A^2, and its standard error.
Check trace_sparse_estimate_check(bool squared);

/// Factorisations of one f32[n, n]: cholesky, lu, qr, solve, slogdet, eigh, svd. Entries in [-1,
/// 1); symmetric for cholesky and eigh, with 2 sqrt(n) more on the diagonal for cholesky; the right
/// side of solve is ones. Results: L; L and U in one and the permutation; Q, R; x; sign, logarithm;
/// eigenvalues, eigenvectors; U, s, V^T.
struct Linalg {
  static constexpr uint32_t n = 200;
};
const std::vector<std::string>& linalg_names();
std::vector<float> linalg_matrix(const std::string& name);
/// By residuals: what was factored, and that bases are orthonormal.
Check linalg_check(const std::string& name);

}  // namespace bench
