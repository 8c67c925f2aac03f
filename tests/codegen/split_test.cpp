// tests/codegen/split_test.cpp -- long reductions and products: every lane's loop stays short, and
// the result is the reference's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/table.h"
#include "gnomon/cumulative.h"
#include "gnomon/ops.h"
#include "shaders/kernel/kernel.h"
#include "shaders/kernel/text.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

using ::testing::HasSubstr;

/// Whole numbers add exactly in any order.
Array whole(const Array& x) { return round(x * 3); }

template <class F, class... A>
void expect_short_loops(F f, const A&... avals) {
  Trace outer;
  const Graph g = make_graph(f, outer.input(avals)...).graph;
  for (const auto& [name, target] : targets()) {
    const Program p = compile(g, target, {.keep_text = true});
    for (const kernel::Kernel& k : p.kernels)
      EXPECT_LE(kernel::worst_case_trips(k), 40000u) << name << "\n" << p.fusion_text;
  }
}

TEST(Split, SumsOfAnyLength) {
  for (const Dim n : {8191, 8192, 8193, 20000, 65536, 100003, 300007}) {
    expect_function_lowers([](const Array& x) { return sum(whole(x)); }, f32({n}));
    expect_function_lowers([](const Array& x) { return sum(x * 7); }, i32({n}));
  }
}

TEST(Split, LeadingTrailingAndScatteredAxes) {
  expect_function_lowers([](const Array& x) { return sum(whole(x), 0); }, f32({9000, 3}));
  expect_function_lowers([](const Array& x) { return sum(whole(x), 1); }, f32({3, 9001}));
  expect_function_lowers([](const Array& x) { return sum(whole(x), {0, 2}); }, f32({97, 2, 103}));
  expect_function_lowers([](const Array& x) { return sum(whole(x), {0, 1}); }, f32({97, 103, 2}));
}

TEST(Split, EveryKindOfReduction) {
  const auto all_of_them = [](const Array& x) {
    return std::vector<Array>{max(x),
                              min(x),
                              argmax(x),
                              argmin(x),
                              any(x > 3),
                              all(x > -100),
                              max(x * 0.5f - 7),
                              argmax(-x),
                              prod(where(x > 1.999f, Array(full({}, 2.0f)), 1.0f))};
  };
  expect_function_lowers(all_of_them, f32({30011}));
  expect_function_lowers(
      [](const Array& x) {
        const Array y = x * 1001 % 4099;
        return std::vector<Array>{max(y), min(y), argmax(y), argmin(y), prod(x | 1)};
      },
      i32({30011}));
  expect_function_lowers(
      [](const Array& x) {
        return std::pair{argmax(x, 0), argmin(x, 0)};
      },
      f32({9001, 2}));
}

TEST(Split, TheFirstOfEqualsAndNaN) {
  // Ten values again and again; one NaN in the middle of the second.
  expect_function_lowers(
      [](const Array& x) {
        const Array at = arange(20000);
        const Array nan = where(at == 12345, Array(full({}, std::nanf(""))), cast(x, DType::f32));
        return std::vector<Array>{argmax(x), argmin(x), argmax(nan), argmin(nan), max(nan)};
      },
      i32({20000}));
}

TEST(Split, RowsOfAnyLength) {
  for (const Dim n : {64, 65, 100, 255, 256, 257, 272, 300, 1000, 1024})
    expect_function_lowers(
        [](const Array& x) {
          const Array y = whole(x);
          return std::vector<Array>{sum(y, 1), max(x, 1), min(x, 1), sum(y), any(x > 1.9f, 1)};
        },
        f32({5, n}));
  expect_function_lowers([](const Array& x) { return sum(x, {1, 2}); }, i32({5, 20, 31}));
}

TEST(Split, RowsAreReadAsRunsByOneLoop) {
  Trace outer;
  const Graph g =
      make_graph([](const Array& x) { return sum(x, 1); }, outer.input(f32({8192, 1024}))).graph;
  const Program p = compile(g, Target::lavapipe(), {.keep_text = true});
  ASSERT_EQ(p.kernels.size(), 1u) << p.fusion_text;
  EXPECT_LE(kernel::worst_case_trips(p.kernels[0]), 1024u / 16 + 1);
}

// A driver may need minutes for a row that is written out.
TEST(Split, RowsStayLoopsWhateverTheirLength) {
  for (const Dim n : {17, 32, 50, 64, 100, 128, 256, 512, 1000}) {
    Trace outer;
    const Graph g =
        make_graph([](const Array& x) { return softmax(x); }, outer.input(f32({600, n}))).graph;
    for (const auto& [name, target] : targets())
      for (const kernel::Kernel& k : compile(g, target, {.keep_text = true}).kernels)
        EXPECT_LE(k.types.size(), 2048u) << name << " n = " << n << "\n" << print(k);
  }
}

TEST(Split, ALongSumIsTwoKernelsOfNeighbours) {
  Trace outer;
  const Graph g =
      make_graph([](const Array& x) { return sum(x); }, outer.input(f32({1 << 24}))).graph;
  const Program p = compile(g, Target::lavapipe(), {.keep_text = true});
  ASSERT_EQ(p.kernels.size(), 2u) << p.fusion_text;
  // Sixteen neighbours per invocation, the next ones behind those of seven others.
  const kernel::Kernel& first = p.kernels[0];
  EXPECT_EQ(kernel::worst_case_trips(first), (1u << 24) / (16 * 512) + 1);
  std::size_t wide_loads = 0;
  for (const kernel::Instruction& loop : first.body.body)
    if (loop.op == kernel::Op::loop)
      for (const kernel::Instruction& i : loop.regions[1].body)
        wide_loads += i.op == kernel::Op::load && first.type(i.results[0]).width == 16;
  EXPECT_EQ(wide_loads, 1u) << p.graph_text;
  // What the lanes leave is so little that one adds it up.
  EXPECT_EQ(kernel::worst_case_trips(p.kernels[1]), 16u * 512 / 16 + 1);
}

// What starting a kernel takes, one lane adds up itself; from there on no lane does much.
TEST(Split, ASumOfMediumLengthIsTwoKernelsToo) {
  for (const Dim n : {1000, 8000, 16383, 16384, 20000, 40000, 65536, 100000, 131072, 262144}) {
    Trace outer;
    const Graph g = make_graph([](const Array& x) { return sum(x); }, outer.input(f32({n}))).graph;
    const Program p = compile(g, Target::lavapipe(), {.keep_text = true});
    EXPECT_EQ(p.kernels.size(), n < 16384 ? 1u : 2u) << n << "\n" << p.fusion_text;
    for (const kernel::Kernel& k : p.kernels)
      EXPECT_LE(kernel::worst_case_trips(k), 2100u) << n << "\n" << print(k);
  }
}

TEST(Split, WhatARowReducesIsComputedInItsLane) {
  expect_function_lowers([](const Array& x) { return softmax(x); }, f32({700, 96}));
  expect_function_lowers([](const Array& x) { return sum(exp(x) * sin(x), 1); }, f32({600, 130}));
}

TEST(Split, LongProducts) {
  expect_function_lowers([](const Array& a, const Array& b) { return dot(whole(a), whole(b)); },
                         f32({20001}), f32({20001}));
  expect_function_lowers([](const Array& a, const Array& b) { return matmul(whole(a), whole(b)); },
                         f32({3, 10000}), f32({10000, 2}));
  expect_function_lowers(
      [](const Array& a, const Array& b) { return einsum("bik,bkj->bij", whole(a), whole(b)); },
      f32({2, 3, 9001}), f32({2, 9001, 2}));
  expect_function_lowers(
      [](const Array& a, const Array& b) {
        return tensordot(whole(a), whole(b), {0, 1}, {1, 0});
      },
      f32({97, 101}), f32({101, 97, 2}));
}

TEST(Split, LoopsStayShort) {
  const Dim n = 1 << 20;
  expect_short_loops([](const Array& x) { return sum(x * x); }, f32({n}));
  expect_short_loops([](const Array& x) { return mean(x, 1); }, f32({5, n}));
  expect_short_loops([](const Array& x) { return max(x, 0); }, f32({n, 5}));
  expect_short_loops([](const Array& x) { return argmax(x); }, f32({n}));
  expect_short_loops([](const Array& x) { return dot(x, x); }, f32({n}));
  expect_short_loops([](const Array& x) { return std::pair{var(x), norm(x)}; }, f32({n}));
  expect_short_loops([](const Array& x) { return logsumexp(x); }, f32({n}));
  expect_short_loops([](const Array& x) { return softmax(x); }, f32({n}));
  expect_short_loops([](const Array& x, const Array& y) { return matmul(x, y); }, f32({4, n}),
                     f32({n, 4}));
  expect_short_loops([](const Array& x) { return sum(x); }, f32({1 << 26}));
}

// Neighbours of both operands are summed: parts that stay in a core's cache while all results pass,
// or, where there are few columns, lanes of a SIMD group that share a tile, each with every eighth
// four of the neighbours.
TEST(Split, LongProductsOfWhatLiesSideBySide) {
  const auto f = [](const Array& x, const Array& y) {
    return einsum("itk,jtk->ij", whole(x), whole(y));
  };
  expect_function_lowers(f, f32({20, 16, 256}), f32({10, 16, 256}));
  expect_function_lowers(f, f32({12, 16, 256}), f32({32, 16, 256}));
  expect_function_lowers(f, f32({3, 32, 64}), f32({2, 32, 64}));  // no tile fits
  expect_function_lowers(f, f32({9, 0, 64}), f32({32, 0, 64}));   // nor is there anything to sum
  expect_function_lowers(f, f32({5, 7, 257}), f32({6, 7, 257}));  // nor do parts
  const auto turned = [](const Array& x, const Array& y) {
    return einsum("tki,tkj->ij", transpose(whole(x), {0, 2, 1}), transpose(whole(y), {0, 2, 1}));
  };
  expect_function_lowers(turned, f32({16, 20, 256}), f32({16, 10, 256}));
  expect_function_lowers(turned, f32({16, 8, 256}), f32({16, 32, 256}));
  expect_function_lowers(f, f64({12, 16, 256}), f64({32, 16, 256}));
  expect_function_lowers(turned, f64({16, 8, 256}), f64({16, 32, 256}));
  const auto fusion = [&](const Aval& x, const Aval& y, const Target& target) {
    Trace outer;
    return compile(make_graph(f, outer.input(x), outer.input(y)).graph, target, {.keep_text = true})
        .fusion_text;
  };
  const Aval x = f32({64, 64, 256});  // 8 MiB of both: 16 parts of half a MiB
  EXPECT_THAT(fusion(x, x, Target::lavapipe()),
              HasSubstr("tiles of 16 by 4 elements of [16,64,64]"));
  EXPECT_THAT(fusion(x, f32({60, 64, 256}), Target::lavapipe()),
              HasSubstr("tiles of 16 by 4 elements of [8,64,60]"));
  Target alone = Target::lavapipe();
  alone.features.reads_together = 0;
  EXPECT_THAT(fusion(x, x, alone), HasSubstr("tiles of 16 by 4 elements of [8,64,64]"));
}

// Neighbours are results, and rows are summed: so many rows at a time as a cache holds.
TEST(Split, LongProductsOfRowsGoPartByPart) {
  const auto f = [](const Array& x, const Array& y) {
    return einsum("tbi,tbj->ij", whole(x), whole(y));
  };
  const auto turned = [](const Array& x, const Array& y) {
    return einsum("tbi,btj->ij", whole(x), whole(y));
  };
  const Aval x = f32({16, 256, 32}), y = f32({16, 256, 96}), across = f32({256, 16, 96});
  expect_function_lowers(f, x, y);
  expect_function_lowers(turned, x, across);
  expect_function_lowers(f, f64({16, 256, 32}), f64({16, 256, 32}));
  const auto fusion = [](auto product, const Aval& a, const Aval& b, const Target& target) {
    Trace outer;
    return compile(make_graph(product, outer.input(a), outer.input(b)).graph, target,
                   {.keep_text = true})
        .fusion_text;
  };
  const std::string parts = "tiles of 8 by 4 elements of [4,32,96]";
  EXPECT_THAT(fusion(f, x, y, Target::lavapipe()), HasSubstr(parts));
  EXPECT_THAT(fusion(turned, x, across, Target::lavapipe()), HasSubstr(parts));
  // Those that a cache holds anyway are one sum.
  EXPECT_THAT(fusion(f, f32({8, 256, 32}), f32({8, 256, 96}), Target::lavapipe()),
              HasSubstr("elements of [32,96]"));
}

TEST(Split, SumsSeeThroughPermutations) {
  expect_function_lowers(
      [](const Array& x) {
        return sum(transpose(whole(x), {0, 2, 1}), {0, 1});
      },
      f32({40, 3, 400}));
  expect_function_lowers(
      [](const Array& x) {
        return sum(transpose(whole(x), {2, 1, 0}), 2);
      },
      f32({9000, 3, 2}));
}

// In order of the updates, those out of range left out: as scatters do it.
TEST(Split, ScattersOfAFewUpdatesAreChoices) {
  const ScatterParams rows{1, 1}, one{0, 0};
  const auto onto_zeros = [](const Primitive& p, const ScatterParams& params, const Shape& shape) {
    return [&p, params, shape](const Array& at, const Array& updates) {
      return exp(emit1(p, params, {full(shape, 0.5f), at, updates}, {}));
    };
  };
  for (const Primitive* p :
       {&scatter_set_p, &scatter_add_p, &scatter_mul_p, &scatter_min_p, &scatter_max_p})
    for (const Dim n : {1, 3, 4}) {
      SCOPED_TRACE(std::string(p->name) + " " + std::to_string(n));
      expect_function_lowers(onto_zeros(*p, rows, {5, 6, 2}), i32({5, n}), f32({5, n, 2}));
      expect_function_lowers(onto_zeros(*p, one, {7, 3}), i32({n}), f32({n, 3}));
    }
  const auto kernels = [&](Dim n) {
    Trace outer;
    const auto f = onto_zeros(scatter_add_p, rows, {5, 6, 2});
    return compile(make_graph(f, outer.input(i32({5, n})), outer.input(f32({5, n, 2}))).graph,
                   Target::lavapipe(), {})
        .kernels.size();
  };
  EXPECT_EQ(kernels(4), 1u);
  EXPECT_GT(kernels(5), 1u);
}

/// Values of the largest kernel of `f`.
template <class F, class... A>
std::size_t largest_kernel(F f, const A&... avals) {
  Trace outer;
  const Graph g = make_graph(f, outer.input(avals)...).graph;
  std::size_t most = 0;
  for (const kernel::Kernel& k : compile(g, Target::lavapipe(), {}).kernels)
    most = std::max(most, k.types.size());
  return most;
}

// Written out, the 24 terms of a trip and of the rest would each be a copy of four sines.
TEST(Split, SumsOfLongTermsStayInLoops) {
  const auto heavy = [](const Array& x) { return sum(sin(sin(sin(sin(x))))); };
  const std::size_t map =
      largest_kernel([](const Array& x) { return sin(sin(sin(sin(x)))); }, f32({1000}));
  EXPECT_LT(largest_kernel(heavy, f32({1000})), 4 * map);
  expect_function_lowers(heavy, f32({1000}));
  const auto rows = [](const Array& x) { return max(exp(sin(x)) / (1 + square(tanh(x))), 1); };
  expect_function_lowers(rows, f32({9, 203}));
  // Short terms are written out as they were.
  const auto light = [](const Array& x) { return sum(x * x); };
  EXPECT_GT(largest_kernel(light, f32({1000})),
            2 * largest_kernel([](const Array& x) { return x * x; }, f32({1000})));
}

// A run of 64 pairs in registers takes drivers seconds to compile.
TEST(Split, RecurrencesTakeShortRuns) {
  const auto f = [](const Array& a, const Array& b) { return linear_recurrence(a, b); };
  EXPECT_LT(largest_kernel(f, f32({100003}), f32({100003})), 700u);
}

}  // namespace
}  // namespace gnomon::testing
