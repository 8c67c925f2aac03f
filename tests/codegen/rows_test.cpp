// tests/codegen/rows_test.cpp -- kernels whose lanes walk a row several times: softmax and its
// like.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gnomon/activations.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "shaders/kernel/kernel.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// A CPU that a few rows fill.
Target few_lanes() {
  Target t = Target::lavapipe();
  t.parallel_lanes = 8;
  return t;
}

/// Compiles `f`, holds what it gives against the reference, and returns the program.
template <class F, class... A>
Program rows_of(F f, const A&... inputs) {
  std::vector<HostArray> host;
  std::uint32_t seed = 1;
  (host.push_back(random_array(inputs, seed++)), ...);
  Trace outer;
  const Graph g = make_graph(f, outer.input(inputs)...).graph;
  Program p = compile(g, few_lanes(), {.keep_text = true});
  const auto want = evaluate(g, host), got = run_on_host(p, host);
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_EQ(difference(got[i], want[i], 2e-5), "") << "output " << i << "\n"
                                                     << p.graph_text << p.fusion_text;
  return p;
}

Array normalised(const Array& x, const Array& scale, const Array& shift) {
  const Array centred = x - mean(x, -1, {.keepdims = true});
  return centred * rsqrt(mean(square(centred), -1, {.keepdims = true}) + 1e-5f) * scale + shift;
}

TEST(Rows, WithoutAReductionThereIsALanePerElement) {
  const Program p = rows_of([](const Array& x) { return exp(x) / 3.0f; }, f32({16, 64}));
  EXPECT_THAT(p.fusion_text, Not(HasSubstr(" rows ")));
}

TEST(Rows, SoftmaxIsOneKernelOfThreeWalks) {
  for (const Dim n : {16, 17, 64, 97, 256, 1024}) {
    const Program p = rows_of([](const Array& x) { return softmax(x); }, f32({24, n}));
    ASSERT_EQ(p.kernels.size(), 1u) << p.fusion_text;
    EXPECT_THAT(p.fusion_text, HasSubstr(" rows lanes=24"));
    // The maximum, the sum and the result, each at least four elements a trip where n allows it.
    EXPECT_LE(kernel::worst_case_trips(p.kernels[0]), static_cast<std::uint64_t>(3 * (n + 1)));
    if (n == 1024) {
      EXPECT_LE(kernel::worst_case_trips(p.kernels[0]), 2u * 65 + 257);
    }
  }
}

TEST(Rows, NormalisationsAndTheirDerivatives) {
  const Program p = rows_of(normalised, f32({40, 128}), f32({128}), f32({128}));
  EXPECT_EQ(p.kernels.size(), 1u) << p.fusion_text;
  EXPECT_EQ(rows_of([](const Array& x) { return log_softmax(x); }, f32({40, 50})).kernels.size(),
            1u);
  rows_of(
      [](const Array& x, const Array& scale, const Array& shift) {
        return grad([&](const Array& y) { return sum(square(normalised(y, scale, shift))); })(x);
      },
      f32({40, 128}), f32({128}), f32({128}));
  rows_of(
      [](const Array& x) {
        return grad([](const Array& y) { return sum(square(softmax(y))); })(x);
      },
      f32({40, 100}));
}

TEST(Rows, SeveralTrailingAxesAndHalves) {
  const auto scaled = [](const Array& x) {
    return x / sqrt(sum(square(x), {1, 2}, {.keepdims = true}));
  };
  EXPECT_EQ(rows_of(scaled, f32({32, 6, 25})).kernels.size(), 1u);
  const auto halves = [](const Array& x) { return cast(softmax(cast(x, DType::f32)), DType::f16); };
  EXPECT_THAT(rows_of(halves, Aval{DType::f16, {32, 66}}).fusion_text, HasSubstr(" rows "));
  EXPECT_THAT(rows_of(halves, Aval{DType::f16, {32, 65}}).fusion_text,
              HasSubstr(" map lanes=2080 writes"));
}

TEST(Rows, WhatOthersNeedStaysInMemory) {
  const auto with_peak = [](const Array& x) {
    const Array peak = max(x, -1), y = exp(x - reshape(peak, {32, 1}));
    return std::pair{peak, y / sum(y, -1, {.keepdims = true})};
  };
  const Program p = rows_of(with_peak, f32({32, 80}));
  EXPECT_EQ(p.kernels.size(), 2u) << p.fusion_text;
  EXPECT_THAT(p.fusion_text, HasSubstr(" rows "));
}

TEST(Rows, AProductIsNotComputedAgain) {
  const auto attention = [](const Array& q, const Array& k) {
    return softmax(matmul(q, transpose(k)) * 0.25f);
  };
  const Program p = rows_of(attention, f32({32, 24}), f32({48, 24}));
  std::size_t rows = 0;
  for (const kernel::Kernel& k : p.kernels) rows += kernel::worst_case_trips(k) <= 3 * 49;
  EXPECT_EQ(rows, p.kernels.size()) << p.fusion_text;
  EXPECT_THAT(p.fusion_text, HasSubstr(" rows lanes=32"));
}

TEST(Rows, WhatCostsALotIsStored) {
  const auto costly = [](const Array& x) {
    const Array y = sin(cos(sin(cos(sin(x)))));
    return y / sum(y * y, -1, {.keepdims = true});
  };
  EXPECT_THAT(rows_of(costly, f32({32, 80})).fusion_text, Not(HasSubstr(" rows ")));
}

TEST(Rows, FewShortRowsAreALaneEach) {
  const Program p = rows_of([](const Array& x) { return softmax(x); }, f32({4, 10}));
  EXPECT_EQ(p.kernels.size(), 1u) << p.fusion_text;
  const Program many = rows_of([](const Array& x) { return softmax(x); }, f32({64, 10}));
  EXPECT_THAT(many.fusion_text, Not(HasSubstr(" rows ")));
}

TEST(Rows, FewRowsAndColumnsAreSharedByLanes) {
  EXPECT_THAT(rows_of([](const Array& x) { return softmax(x); }, f32({4, 512})).fusion_text,
              Not(HasSubstr(" rows ")));
  EXPECT_THAT(rows_of([](const Array& x) { return softmax(x, 0); }, f32({64, 32})).fusion_text,
              Not(HasSubstr(" rows ")));
}

}  // namespace
}  // namespace gnomon::testing
