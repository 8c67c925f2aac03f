// tests/codegen/contraction_test.cpp -- products in register tiles: any layout, any size, whatever
// is fused with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "codegen/lax/lax.h"
#include "gnomon/ops.h"
#include "shaders/kernel/text.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Small whole numbers: every order of summation gives the same bits.
Array whole(const Array& x) { return round(x * 3); }

template <class F, class... A>
Program compiled(F f, const Target& target, const A&... avals) {
  Trace outer;
  return compile(make_graph(f, outer.input(avals)...).graph, target, {.keep_text = true});
}

/// Targets that tile whatever they can.
std::vector<Target> eager() {
  Target cpu = Target::lavapipe(), gpu = Target::gpu(), odd = Target::minimum();
  cpu.parallel_lanes = gpu.parallel_lanes = odd.parallel_lanes = 1;
  gpu.team = 0;  // lanes for themselves
  odd.tile_rows = 3;
  odd.tile_columns = 8;
  odd.tile_panel = 16;
  odd.features.float64 = gpu.features.float64 = true;
  return {cpu, gpu, odd};
}

/// Holds the usual targets and the eager ones against the reference.
template <class F, class... A>
void expect_contracts(F f, const A&... inputs) {
  if (((inputs.dtype != DType::f64) && ...)) expect_function_lowers(f, inputs...);
  std::vector<HostArray> host;
  std::uint32_t seed = 1;
  (host.push_back(random_array(inputs, seed++)), ...);
  Trace outer;
  const Graph g = make_graph(f, outer.input(inputs)...).graph;
  const auto want = evaluate(g, host);
  for (const Target& target : eager()) {
    const Program p = compile(g, target, {.keep_text = true});
    EXPECT_THAT(p.fusion_text, HasSubstr("tiles of")) << target.text();
    const auto got = run_on_host(p, host);
    for (std::size_t i = 0; i < want.size(); ++i)
      ASSERT_EQ(difference(got[i], want[i], 2e-5), "") << target.text() << p.fusion_text;
  }
}

TEST(Contraction, ALargeProductIsMadeInTiles) {
  const auto product = [](const Array& a, const Array& b) { return matmul(a, b); };
  const Program p = compiled(product, Target::lavapipe(), f32({256, 64}), f32({64, 256}));
  ASSERT_EQ(p.kernels.size(), 1u);
  EXPECT_THAT(p.fusion_text, HasSubstr("tiles of 8 by 4"));
  const Program small = compiled(product, Target::lavapipe(), f32({3, 3}), f32({3, 3}));
  EXPECT_THAT(small.fusion_text, Not(HasSubstr("tile")));
}

TEST(Contraction, OddSizes) {
  for (const Dim m : {Dim{9}, Dim{64}, Dim{67}})
    for (const Dim n : {Dim{5}, Dim{33}, Dim{64}, Dim{130}})
      for (const Dim k : {Dim{17}, Dim{32}})
        expect_contracts([](const Array& a, const Array& b) { return matmul(a, b); }, f32({m, k}),
                         f32({k, n}));
}

TEST(Contraction, ALastPanelThatIsNotFull) {
  // 272 columns are eight panels of 32 and a half.
  expect_contracts([](const Array& a, const Array& b) { return matmul(a, b) + 1.0f; },
                   f32({16, 17}), f32({17, 272}));
}

TEST(Contraction, IsComputedOnceForAllThatAKernelMakesOfIt) {
  // What reads memory at the product's position makes that position flat on the way.
  const auto step = [](const Array& a, const Array& b, const Array& m, const Array& p) {
    const Array g = matmul(a, b), next = 0.9f * m + 0.1f * g;
    return std::pair{next, p - next * square(g)};
  };
  const Program p = compiled(step, Target::lavapipe(), f32({256, 64}), f32({64, 256}),
                             f32({256, 256}), f32({256, 256}));
  // What reads further arrays of this size is not computed in a CPU's tiles.
  ASSERT_EQ(p.kernels.size(), 2u);
  const std::string text = kernel::print(p.kernels[0]) + kernel::print(p.kernels[1]);
  const auto first = text.find(" = loop");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find(" = loop", first + 1), std::string::npos) << text;
}

TEST(Contraction, EveryLayout) {
  for (const char* how :
       {"ij,jk->ik", "ji,jk->ik", "ij,kj->ik", "ji,kj->ik", "ij,jk->ki", "ji,kj->ki"}) {
    const Shape a = how[0] == 'i' ? Shape{70, 40} : Shape{40, 70};
    const Shape b = how[3] == 'j' ? Shape{40, 90} : Shape{90, 40};
    expect_contracts([how](const Array& x, const Array& y) { return einsum(how, x, y); }, f32(a),
                     f32(b));
  }
}

TEST(Contraction, BatchAxesInAnyPlace) {
  expect_contracts([](const Array& a, const Array& b) { return einsum("bij,bjk->bik", a, b); },
                   f32({5, 33, 20}), f32({5, 20, 36}));
  expect_contracts([](const Array& a, const Array& b) { return einsum("ibj,jkb->bik", a, b); },
                   f32({33, 5, 20}), f32({20, 36, 5}));
  expect_contracts([](const Array& a, const Array& b) { return einsum("bij,bjk->ikb", a, b); },
                   f32({4, 33, 20}), f32({4, 20, 36}));
  expect_contracts([](const Array& a, const Array& b) { return einsum("abij,abjk->abik", a, b); },
                   f32({2, 3, 16, 24}), f32({2, 3, 24, 32}));
}

TEST(Contraction, SeveralContractedAxes) {
  expect_contracts([](const Array& a, const Array& b) { return einsum("ijk,jkl->il", a, b); },
                   f32({40, 5, 6}), f32({5, 6, 48}));
}

TEST(Contraction, AMatrixTimesAVector) {
  expect_contracts([](const Array& a, const Array& x) { return matmul(a, x); }, f32({900, 37}),
                   f32({37}));
  expect_contracts([](const Array& a, const Array& x) { return matmul(x, a); }, f32({37, 900}),
                   f32({37}));
}

TEST(Contraction, WhatFollowsIsFusedIntoTheStore) {
  const auto layer = [](const Array& a, const Array& b, const Array& bias) {
    return maximum(matmul(a, b) + bias, 0.0f) * 2.0f;
  };
  const Program p = compiled(layer, Target::lavapipe(), f32({256, 64}), f32({64, 256}), f32({256}));
  EXPECT_EQ(p.kernels.size(), 1u) << p.fusion_text;
  EXPECT_THAT(p.fusion_text, HasSubstr("tiles of"));
  expect_contracts(layer, f32({66, 40}), f32({40, 70}), f32({70}));
}

TEST(Contraction, TwoProductsOfOneMatrixShareAKernel) {
  const auto gated = [](const Array& a, const Array& b, const Array& c) {
    return matmul(a, b) * matmul(a, c);
  };
  expect_contracts(gated, f32({66, 40}), f32({40, 70}), f32({40, 70}));
}

TEST(Contraction, ProducersThatCostSomethingGoToMemoryFirst) {
  expect_contracts([](const Array& a, const Array& b) { return matmul(exp(a), sin(b)); },
                   f32({64, 40}), f32({40, 72}));
}

TEST(Contraction, WholeNumbersAreExact) {
  const auto product = [](const Array& a, const Array& b) { return matmul(a, b); };
  expect_contracts(product, i32({65, 34}), i32({34, 66}));
  expect_contracts(product, Aval{DType::u32, {64, 32}}, Aval{DType::u32, {32, 64}});
  expect_contracts(product, Aval{DType::f64, {65, 34}}, Aval{DType::f64, {34, 66}});
}

TEST(Contraction, OperandsWhoseNeighboursAreSummedAreTurnedFirst) {
  const auto layer = [](const Array& x, const Array& w) { return einsum("ij,kj->ik", x, w); };
  const Program p = compiled(layer, Target::lavapipe(), f32({256, 64}), f32({128, 64}));
  EXPECT_EQ(p.kernels.size(), 2u) << p.fusion_text;
  EXPECT_THAT(p.fusion_text, HasSubstr("f32[64,128]"));
  expect_contracts(layer, f32({96, 64}), f32({80, 64}));
  expect_contracts([](const Array& x, const Array& w) { return einsum("bij,bkj->bik", exp(x), w); },
                   f32({2, 96, 64}), f32({2, 80, 64}));
}

TEST(Contraction, TransposesAreMadeInBlocks) {
  const auto turn = [](const Array& x) { return swapaxes(x, -1, -2); };
  EXPECT_THAT(compiled(turn, Target::lavapipe(), f32({512, 512})).fusion_text,
              HasSubstr("tiles of 16 by 4"));
  for (const Shape& s : {Shape{64, 96}, Shape{6, 33, 50}, Shape{17, 129}}) {
    expect_contracts(turn, f32(s));
    expect_contracts([](const Array& x) { return exp(swapaxes(x, 0, -1)) * 2.0f; }, f32(s));
  }
}

TEST(Contraction, RandomShapesAndLayouts) {
  std::mt19937 g(11);
  const auto pick = [&](Dim low, Dim high) {
    return low + static_cast<Dim>(g() % static_cast<std::uint32_t>(high - low + 1));
  };
  for (int trial = 0; trial < 30; ++trial) {
    // Axes of both operands in random order: b batch, i and k free, j and l contracted.
    std::string left = "bijl", right = "bjkl", out = "bik";
    for (std::string* s : {&left, &right, &out}) std::shuffle(s->begin(), s->end(), g);
    std::map<char, Dim> size{{'b', pick(1, 3)},
                             {'i', pick(2, 40)},
                             {'j', pick(3, 9)},
                             {'k', pick(2, 40)},
                             {'l', pick(6, 9)}};
    const auto shape = [&](const std::string& s) {
      Shape r;
      for (char c : s) r.append(size[c]);
      return r;
    };
    const std::string how = left + "," + right + "->" + out;
    SCOPED_TRACE(how + " " + to_string(shape(left)) + " " + to_string(shape(right)));
    expect_contracts(
        [&](const Array& a, const Array& b) { return einsum(how, whole(a), whole(b)) + 1.0f; },
        f32(shape(left)), f32(shape(right)));
  }
}

/// Whether a program of `f` on two arrays of as many numbers has fused instructions.
template <class F>
bool fuses(F f, const Target& target, bool fast_math) {
  Trace trace;
  const Graph g = make_graph(f, trace.input(f32({64, 64})), trace.input(f32({64, 64}))).graph;
  const Program p = compile(g, target, {.fast_math = fast_math});
  return std::any_of(p.kernels.begin(), p.kernels.end(), [](const kernel::Kernel& k) {
    return kernel::print(k).find("fma") != std::string::npos;
  });
}

TEST(Fused, ProductsOfMatricesOnGpusAndTheRestByFastMathAlone) {
  const auto product = [](const Array& a, const Array& b) { return matmul(a, b); };
  const auto sum = [](const Array& a, const Array& b) { return a * b + a; };
  for (const bool fast_math : {false, true}) {
    EXPECT_TRUE(fuses(product, Target::gpu(), fast_math));
    EXPECT_EQ(fuses(sum, Target::gpu(), fast_math), fast_math);
    EXPECT_FALSE(fuses(product, Target::lavapipe(), fast_math));
    EXPECT_FALSE(fuses(sum, Target::lavapipe(), fast_math));
  }
}

}  // namespace
}  // namespace gnomon::testing
