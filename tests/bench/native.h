// tests/bench/native.h -- the `native` opponents: the workloads in C++ for this processor.
//
// native*.cpp alone are compiled with -O3 -march=native -ffast-math; nothing but these functions
// crosses, so no inline function of a shared header is compiled for a narrower processor.
#pragma once

#include <cstddef>
#include <memory>

namespace bench::native {

/// Two threads: the caller and a helper that sleeps between calls, so that it takes no time from
/// the other variants.
class Pair;
struct PairDeleter {
  void operator()(Pair* pair) const;
};
using PairPtr = std::unique_ptr<Pair, PairDeleter>;
PairPtr make_pair();

/// Inputs and results as stated in problems.h, all arrays of `n` floats per component.
/// Unchecked: n is a multiple of 128.
void lorenz_rk4(Pair& pair, const float* rho, float* state, size_t n);
void lorenz_adaptive(Pair& pair, const float* rho, float* state, size_t n);
void chain(Pair& pair, const float* x, float* y, size_t n);
void copy(Pair& pair, const float* x, float* y, size_t n);

/// z = x + y / 2.
void triad(Pair& pair, const float* x, const float* y, float* z, size_t n);
void sum(Pair& pair, const float* x, float* total, size_t n);
/// Every row of x f32[rows, columns]. Unchecked: columns is a multiple of 64.
void softmax(Pair& pair, const float* x, float* y, size_t rows, size_t columns);
/// C f32[batch, rows, columns] of A f32[batch, rows, depth] and B f32[batch, depth, columns].
/// Unchecked: rows is a multiple of 16, columns of 32.
void matmul(Pair& pair, const float* a, const float* b, float* c, size_t batch, size_t rows,
            size_t depth, size_t columns);
/// Draws z f32[n, probes] and adds up z * (A z); `product` is scratch of the size of z.
void hutchinson(Pair& pair, const float* a, float* z, float* product, float* forms, size_t n,
                size_t probes);

/// `result` f32[2].
void while_scalar(float start, float rate, size_t steps, float* result);
/// One thread: a step of 9 us is too short to be shared. `result` f32[n + 1].
void cg(const float* a, float* result);
/// `in` is rho, then the numbers of steps, f32[2, n]. Unchecked: n is a multiple of 2.
void lanes(Pair& pair, const float* in, float* state, size_t n);
/// `in` is the starts.
void sde(Pair& pair, const float* in, float* ends, size_t n);
void history(const float* offsets, float* rows, size_t n);
void dead(const float* matrix, const float* start, size_t steps, float* result);

/// What a training step keeps from its forward pass.
struct NeuralScratch;
struct NeuralScratchDeleter {
  void operator()(NeuralScratch* scratch) const;
};
using NeuralScratchPtr = std::unique_ptr<NeuralScratch, NeuralScratchDeleter>;
NeuralScratchPtr make_neural_scratch();
void neural_ode_step(Pair& pair, NeuralScratch& scratch, const float* input, float* result);

/// `state` and `matrix` are scratch: f32[3, lanes] and f32[side, side].
void mixed(Pair& pair, const float* rho, float* state, float* matrix, float* result);
void call(const float* x, float* y, size_t n);

}  // namespace bench::native
