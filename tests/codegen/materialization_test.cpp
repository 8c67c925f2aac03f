// tests/codegen/materialization_test.cpp -- what lies in memory, in which order: the number of
// kernels and of copies between them.
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "gnomon/loops.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "shaders/kernel/kernel.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

template <class F, class... A>
Program on_cpu(F f, const A&... inputs) {
  Trace outer;
  return compile(make_graph(f, outer.input(inputs)...).graph, Target::lavapipe(),
                 {.keep_text = true});
}

// Rows of both operands are summed: the product wants one of them turned around. An input is
// copied, what a kernel writes anyway is written that way at once, although somebody reads it the
// other way.
TEST(Materialization, WhatAProductWantsTurnedIsWrittenTurned) {
  const auto forms = [](const Array& a, const Array& x) {
    const Array z = exp(x);
    return z * einsum("ij,pj->pi", a, z);
  };
  const auto forms_of_input = [](const Array& a, const Array& x) {
    return x * einsum("ij,pj->pi", a, x);
  };
  const Aval a = f32({96, 96}), x = f32({64, 96});
  const Program computed = on_cpu(forms, a, x), given = on_cpu(forms_of_input, a, x);
  EXPECT_EQ(computed.kernels.size(), 2u) << computed.fusion_text;
  EXPECT_EQ(given.kernels.size(), 2u) << given.fusion_text;
  expect_function_lowers(forms, a, x);
  expect_function_lowers(forms_of_input, a, x);
}

TEST(Materialization, AResultKeepsItsOrder) {
  const auto with_draws = [](const Array& a, const Array& x) {
    const Array z = exp(x);
    return std::pair{z, einsum("ij,pj->pi", a, z)};
  };
  EXPECT_EQ(on_cpu(with_draws, f32({96, 96}), f32({64, 96})).kernels.size(), 3u);
  expect_function_lowers(with_draws, f32({96, 96}), f32({64, 96}));
}

// A product that is a result as well as an update that follows from it: the tiles of the product
// compute what needs nothing else as large.
TEST(Materialization, AnUpdateThatReadsMoreIsNotPartOfAProductsTiles) {
  const auto doubled = [](const Array& a, const Array& b) {
    const Array p = matmul(a, b);
    return std::pair{p, p * 2.0f};
  };
  const auto updated = [](const Array& a, const Array& b, const Array& m) {
    const Array p = matmul(a, b);
    return std::pair{p, m * 0.9f + p};
  };
  const Aval x = f32({96, 96});
  EXPECT_EQ(on_cpu(doubled, x, x).kernels.size(), 1u);
  EXPECT_EQ(on_cpu(updated, x, x, x).kernels.size(), 2u);
}

// Tiles of the product's own, and a copy: its elements would be worked out one by one there.
TEST(Materialization, AProductThatIsReversedHasAKernel) {
  const auto reversed = [](const Array& a, const Array& b) { return flip(matmul(a, b), 1); };
  const Aval x = f32({96, 96});
  EXPECT_EQ(on_cpu(reversed, x, x).kernels.size(), 2u);
  expect_function_lowers(reversed, x, x);
}

// What several sums need and costs a lot is stored once, and the rest computed in their lanes.
TEST(Materialization, SumsShareWhatCostsThem) {
  const auto f = [](const Array& x, const Array& w) {
    const Array y = reshape(matmul(x, w), {64, 8, 4});
    return std::tuple{sum(y * 2.0f, 0), sum(y + 1.0f, 0), sum(-y, 0)};
  };
  const Program p = on_cpu(f, f32({64, 8}), f32({8, 32}));
  EXPECT_EQ(p.kernels.size(), 2u) << p.fusion_text;
  expect_function_lowers(f, f32({64, 8}), f32({8, 32}));
}

// An update of Adam: moments that read one gradient, and what follows from both, are one kernel.
TEST(Materialization, MomentsOfAGradientAreOneKernel) {
  const auto step = [](const Array& p, const Array& m, const Array& v, const Array& g,
                       const Array& factor) {
    const Array mean = 0.9f * m + 0.1f * g, square = 0.999f * v + 0.001f * g * g;
    return std::tuple{p - mean / (sqrt(square * factor) + 1e-8f), mean, square};
  };
  const Aval x = f32({256, 128}), factor = f32({});
  const Program p = on_cpu(step, x, x, x, x, factor);
  EXPECT_EQ(p.kernels.size(), 1u) << p.fusion_text;
  expect_function_lowers(step, x, x, x, x, factor);
}

// A power that all elements divide by is computed in front of many of them, and beside few.
TEST(Materialization, ANumberOfManyElementsIsComputedInFrontOfThem) {
  const auto unbiased = [](const Array& m, const Array& count) {
    return m / (1 - pow(full({}, 0.9f), count));
  };
  const Aval many = f32({256, 128}), few = f32({16, 128}), count = f32({});
  EXPECT_EQ(on_cpu(unbiased, many, count).kernels.size(), 2u);
  EXPECT_EQ(on_cpu(unbiased, few, count).kernels.size(), 1u);
  expect_function_lowers(unbiased, many, count);
}

// What reads one array goes together as far as caches follow: so many arrays in one kernel.
TEST(Materialization, ReadersOfOneArrayShareAKernelUpToALimit) {
  const auto shifted = [](const Array& x, const std::vector<Array>& ys) {
    std::vector<Array> all;
    for (const Array& y : ys) all.push_back(x * 2.0f + y);
    return all;
  };
  const auto kernels = [&](std::size_t n) {
    Trace outer;
    std::vector<Array> ys;
    const Array x = outer.input(f32({256, 64}));
    for (std::size_t i = 0; i < n; ++i) ys.push_back(outer.input(f32({256, 64})));
    return compile(make_graph(shifted, x, ys).graph, Target::lavapipe(), {}).kernels.size();
  };
  EXPECT_EQ(kernels(1), 1u);
  EXPECT_EQ(kernels(5), 1u);
  EXPECT_EQ(kernels(6), 2u);
}

// Two results need `s` and `t`, one kernel computes all four: nothing but the results is stored.
TEST(Materialization, WhatOnlyTheKernelReadsStaysInItsRegisters) {
  const auto f = [](const Array& x) {
    const Array s = sin(x), t = exp(s * x);
    return std::pair{cos(s) + tanh(t), s * atan(t)};
  };
  const Program p = on_cpu(f, f32({5000}));
  EXPECT_EQ(p.kernels.size(), 1u) << p.fusion_text;
  EXPECT_EQ(p.arena_bytes, 0u) << p.fusion_text;
  expect_function_lowers(f, f32({5000}));
  // By lanes with a loop each, whose result is stored, and where somebody else asks.
  const auto with_loop = [](const Array& x) {
    const Array end = fori_loop(
        0, 5, [](const Array&, const Array& a) { return a * 0.5f + sin(a); }, x);
    const Array s = sin(end), t = exp(s);
    return std::pair{cos(s) + tanh(t), s * atan(t)};
  };
  EXPECT_LE(on_cpu(vmap(with_loop), f32({5000})).arena_bytes, 20480u);
  expect_function_lowers(vmap(with_loop), f32({100}));
  const auto summed = [](const Array& x) {
    const Array s = sin(x), t = exp(s * x);
    return std::tuple{cos(s) + tanh(t), s * atan(t), sum(t, {0})};
  };
  EXPECT_GT(on_cpu(summed, f32({5000, 4})).arena_bytes, 0u);
  expect_function_lowers(summed, f32({500, 4}));
}

/// Steps of the Lorenz system without a loop.
std::tuple<Array, Array, Array> written_out(int steps, const Array& start) {
  Array x = start, y = start + 1.0f, z = start - 1.0f;
  for (int i = 0; i < steps; ++i) {
    const Array dx = 10.0f * (y - x), dy = x * (28.0f - z) - y, dz = x * y - 2.667f * z;
    x += 1e-3f * dx;
    y += 1e-3f * dy;
    z += 1e-3f * dz;
  }
  return {x, y, z};
}

std::size_t longest(const Program& p) {
  std::size_t most = 0;
  for (const kernel::Kernel& k : p.kernels) most = std::max(most, k.types.size());
  return most;
}

// A driver takes more than linear time for a kernel: several hundred instructions are several,
// which differ in arrays only.
TEST(Materialization, ProgramsWrittenOutAtLengthAreSeveralKernels) {
  const auto steps = [](const Array& x) { return written_out(200, x); };
  const auto slope = [](const Array& x) {
    return grad([](const Array& a) { return sum(std::get<0>(written_out(60, a))); })(x);
  };
  const auto chain = [](const Array& x) {
    Array y = x;
    for (int i = 0; i < 300; ++i) y = tanh(y) - 0.25f;
    return y;
  };
  const Program forward = on_cpu(steps, f32({5000})), backward = on_cpu(slope, f32({5000})),
                line = on_cpu(chain, f32({5000}));
  for (const Program* p : {&forward, &backward, &line}) {
    EXPECT_LT(longest(*p), 2500u) << p->fusion_text;
  }
  EXPECT_LE(forward.kernels.size(), 3u) << forward.fusion_text;
  EXPECT_GE(forward.steps.size(), 8u);
  EXPECT_LE(line.kernels.size(), 2u) << line.fusion_text;
  EXPECT_GE(line.steps.size(), 8u);
  // Six arrays of 20,000 bytes lie between two kernels.
  EXPECT_LE(forward.arena_bytes, 12 * 20480u);
  EXPECT_LE(line.arena_bytes, 2 * 20480u);
  expect_function_lowers(steps, f32({40}));
  expect_function_lowers(slope, f32({40}));
  expect_function_lowers(chain, f32({40}));
}

TEST(Materialization, ALongKernelIsNotCutWhereThatTakesMuchMemory) {
  const auto chain = [](const Array& x) {
    Array y = x;
    for (int i = 0; i < 300; ++i) y = tanh(y) - 0.25f;
    return y;
  };
  Trace outer;
  const Graph g = make_graph(chain, outer.input(f32({5000}))).graph;
  EXPECT_EQ(compile(g, Target::lavapipe(), {.residual_bytes = 20000}).steps.size(),
            compile(g, Target::lavapipe()).steps.size());
  EXPECT_EQ(compile(g, Target::lavapipe(), {.residual_bytes = 19999}).steps.size(), 1u);
}

}  // namespace
}  // namespace gnomon::testing
