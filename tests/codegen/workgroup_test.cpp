// tests/codegen/workgroup_test.cpp -- workgroups whose invocations work together: what is mapped to
// them, what they compute on the host, and that a missing barrier does not go unnoticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "gnomon/activations.h"
#include "gnomon/convolution.h"
#include "gnomon/numeric.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

/// Workgroups of 64 and of 8, with subgroups and without.
std::vector<Target> together() {
  std::vector<Target> all;
  for (const std::uint32_t team : {64u, 8u})
    for (const bool subgroups : {true, false}) {
      Target t = Target::gpu();
      t.team = team;
      t.parallel_lanes = 512;
      t.features.subgroup_basic = t.features.subgroup_arithmetic = subgroups;
      t.features.int64 = t.features.float64 = true;
      all.push_back(t);
    }
  return all;
}

/// Holds every such target against the reference; the partition's text says `how`.
template <class F, class... A>
void expect_together(const std::string& how, F f, const A&... inputs) {
  std::vector<HostArray> host;
  std::uint32_t seed = 1;
  (host.push_back(random_array(inputs, seed++)), ...);
  Trace outer;
  const Graph g = make_graph(f, outer.input(inputs)...).graph;
  const auto want = evaluate(g, host);
  for (const Target& target : together()) {
    const Program p = compile(g, target, {.keep_text = true});
    EXPECT_THAT(p.fusion_text, HasSubstr(how)) << target.text();
    const auto got = run_on_host(p, host);
    for (std::size_t i = 0; i < want.size(); ++i)
      ASSERT_EQ(difference(got[i], want[i], 2e-5), "")
          << target.text() << p.fusion_text << print(p);
  }
}

TEST(Workgroups, TeamsReduceRowsWithWhatIsFused) {
  for (const Dim n : {33, 64, 100, 1000})
    expect_together(
        "teams of",
        [](const Array& x, const Array& b) { return sqrt(sum(abs(x) * 2.0f, 1) + b) - 1.0f; },
        f32({7, n}), f32({7}));
}

TEST(Workgroups, TeamsReduceEveryMonoidOfEveryType) {
  for (const DType t :
       {DType::f32, DType::i32, DType::u32, DType::i64, DType::u8, DType::f16, DType::f64})
    expect_together(
        "teams of",
        [](const Array& x) {
          return std::vector<Array>{sum(x, 1),    max(x, 1),    min(x, 1),
                                    argmax(x, 1), argmin(x, 1), prod(minimum(x, 1), 1)};
        },
        Aval{t, {5, 131}});
  expect_together(
      "teams of",
      [](const Array& x) {
        return std::vector<Array>{max(x > 1.5f, 1), min(x < 1.9f, 1)};
      },
      f32({5, 131}));
}

TEST(Workgroups, ExtremaKeepNaN) {
  expect_together(
      "teams of",
      [](const Array& x) {
        const Array y = log(x);  // of negative numbers as well
        return std::vector<Array>{max(y, 1), argmin(y, 1)};
      },
      f32({4, 200}));
}

TEST(Workgroups, LongReductionsAreTwoKernels) {
  expect_together(
      "teams of",
      [](const Array& x) {
        return std::vector<Array>{sum(x * x), max(x)};
      },
      f32({20011}));
  expect_together(
      "teams of",
      [](const Array& x) {
        return sum(x, {0, 2});
      },
      f32({64, 3, 300}));
}

TEST(Workgroups, TeamsTakeRowsThatTheyWalkSeveralTimes) {
  const auto normalised = [](const Array& x, const Array& scale) {
    const Array centred = x - mean(x, -1, {.keepdims = true});
    return centred * rsqrt(mean(square(centred), -1, {.keepdims = true}) + 1e-5f) * scale;
  };
  // Lengths that members share evenly and not, rows that workgroups share evenly and not.
  for (const auto& [rows, n] : std::vector<std::pair<Dim, Dim>>{
           {1, 32}, {1, 64}, {7, 33}, {7, 64}, {19, 100}, {24, 511}, {24, 1024}}) {
    expect_together(
        "rows of " + std::to_string(n) + " elements", [](const Array& x) { return softmax(x); },
        f32({rows, n}));
    expect_together("rows of " + std::to_string(n) + " elements", normalised, f32({rows, n}),
                    f32({n}));
  }
  expect_together(
      "rows of 100 elements",
      [](const Array& x) {
        return grad([](const Array& y) { return sum(square(softmax(y))); })(x);
      },
      f32({20, 100}));
  expect_together(
      "rows of 60 elements",
      [](const Array& x) {
        return x / max(abs(x), {1, 2}, {.keepdims = true});
      },
      Aval{DType::f64, {9, 3, 20}});
}

TEST(Workgroups, WhatPartsOfARowNeedIsNotShared) {
  // The sum over the last axis is another for every member; the largest of all is not.
  expect_together(
      "rows of 120 elements",
      [](const Array& x) {
        const Array y = x - max(x, {1, 2}, {.keepdims = true});
        return y * (abs(sum(y * y, 2, {.keepdims = true}) + 1.0f) * 0.5f);
      },
      f32({18, 3, 40}));
}

TEST(Workgroups, RowsAreLeftWhereTheyDoNotPay) {
  const auto text = [](DType t, Shape shape) {
    Trace outer;
    const Graph g =
        make_graph([](const Array& x) { return softmax(x); }, outer.input(Aval{t, shape})).graph;
    return compile(g, Target::gpu(), {.keep_text = true}).fusion_text;
  };
  EXPECT_THAT(text(DType::f32, {8192, 1024}), HasSubstr("rows of 1024"));
  EXPECT_THAT(text(DType::f32, {4, 2048}), HasSubstr("rows of 2048"));
  EXPECT_THAT(text(DType::f32, {4, 8192}), Not(HasSubstr("rows of")));     // too few workgroups
  EXPECT_THAT(text(DType::f32, {128, 10000}), Not(HasSubstr("rows of")));  // out of the cache
  EXPECT_THAT(text(DType::f32, {256, 10}), HasSubstr("one lane per 10 elements"));
  // Lanes would share a word.
  EXPECT_THAT(text(DType::f16, {256, 11}), Not(ContainsRegex("rows [^;]*f16\\[256,11\\]")));
  EXPECT_THAT(text(DType::f32, {8192, 24}), Not(HasSubstr("24 elements")));  // idle members
  EXPECT_THAT(text(DType::f16, {64, 1024}), HasSubstr("rows of 1024"));
}

TEST(Workgroups, ATeamWithinATeamIsOneInvocation) {
  // The inner range depends on the outer position; the largest element does not.
  expect_together(
      "teams of", [](const Array& x) { return sum(exp(x - expand_dims(max(x, 1), 1)) * 0.5f, 1); },
      f32({9, 160}));
}

TEST(Workgroups, ProductsOfVectorsHaveTeams) {
  expect_together(
      "teams of", [](const Array& a, const Array& x) { return matmul(a, x) + 1.0f; },
      f32({30, 200}), f32({200}));
}

// Gradients of small kernels: what a thousand results sum is images times positions.
TEST(Workgroups, ConvolutionsOfFewResultsHaveTeams) {
  const auto gradient = [](const Array& x, const Array& w) {
    return grad([&](const Array& kernel) {
      return sum(square(conv(x, kernel, {.padding = Padding::same})));
    })(w);
  };
  expect_together("teams of", gradient, f32({6, 3, 7, 5}), f32({2, 3, 3, 3}));
  // Dilated windows over gaps, some of them outside.
  expect_together(
      "teams of",
      [](const Array& x, const Array& w) {
        return conv(x, w, {.stride = {2}, .padding = Padding::same, .dilation = {3}}) + 1.0f;
      },
      f32({1, 40, 23}), f32({3, 40, 4}));
}

TEST(Workgroups, PanelsMultiplyAnyShapes) {
  for (const auto& [m, n, l] :
       {std::tuple<Dim, Dim, Dim>{64, 64, 64}, {33, 70, 50}, {130, 9, 17}, {8, 100, 24}}) {
    expect_together(
        "panels", [](const Array& a, const Array& b) { return matmul(a, b); }, f32({m, l}),
        f32({l, n}));
    expect_together(
        "panels", [](const Array& a, const Array& b) { return matmul(transpose(a), b); },
        f32({l, m}), f32({l, n}));
    expect_together(
        "panels", [](const Array& a, const Array& b) { return matmul(a, transpose(b)); },
        f32({m, l}), f32({n, l}));
    expect_together(
        "panels", [](const Array& a, const Array& b) { return transpose(matmul(a, b)); },
        f32({m, l}), f32({l, n}));
  }
}

TEST(Workgroups, PanelsMultiplyBatchesAndAllTypes) {
  expect_together(
      "panels", [](const Array& a, const Array& b) { return einsum("bik,bkj->bij", a, b); },
      f32({3, 20, 33}), f32({3, 33, 41}));
  expect_together(
      "panels", [](const Array& a, const Array& b) { return einsum("ikbl,lkjb->jbi", a, b); },
      f32({20, 5, 2, 7}), f32({7, 5, 41, 2}));
  for (const DType t : {DType::i32, DType::i64, DType::f64, DType::u8})
    expect_together(
        "panels", [](const Array& a, const Array& b) { return matmul(a, b); }, Aval{t, {20, 33}},
        Aval{t, {33, 18}});
}

TEST(Workgroups, PanelsFitIntoTheLeastSharedMemory) {
  Trace trace;
  const Graph g = make_graph([](const Array& a, const Array& b) { return matmul(a, b); },
                             trace.input(f32({512, 512})), trace.input(f32({512, 512})))
                      .graph;
  for (const std::uint32_t bytes : {49152u, 16384u, 8192u}) {
    Target target = Target::gpu();
    target.max_shared_bytes = bytes;
    const Program p = compile(g, target, {.keep_text = true});
    EXPECT_THAT(p.fusion_text, HasSubstr("panels: ")) << bytes;
  }
}

TEST(Workgroups, PanelsTakeWhatIsAroundThem) {
  expect_together(
      "panels",
      [](const Array& a, const Array& b, const Array& bias, const Array& more) {
        const Array y = matmul(slice(a, {1, 0}, {41, 30}), b) + bias;
        return std::vector<Array>{maximum(y, 0) * more, tanh(y)};
      },
      f32({45, 30}), f32({30, 50}), f32({50}), f32({40, 50}));
  // Two products of one kernel, and one that is asked for both ways round.
  expect_together(
      "panels",
      [](const Array& a, const Array& b, const Array& c) {
        return matmul(a, b) + matmul(c, b) * 2.0f;
      },
      f32({40, 30}), f32({30, 50}), f32({40, 30}));
  expect_together(
      "", [](const Array& a) { return matmul(a, a) + transpose(matmul(a, a)); }, f32({40, 40}));
}

TEST(Workgroups, PanelsFuseCheapProducers) {
  const auto f = [](const Array& a, const Array& b) { return matmul(maximum(a, 0), b) * 2.0f; };
  expect_together("panels", f, f32({64, 64}), f32({64, 65}));
  Trace outer;
  const Graph g = make_graph(f, outer.input(f32({64, 64})), outer.input(f32({64, 65}))).graph;
  EXPECT_EQ(compile(g, together()[0]).kernels.size(), 1u);
}

TEST(Workgroups, SquaresAreTransposed) {
  expect_together(
      "transposed", [](const Array& x) { return transpose(x) * 2.0f; }, f32({100, 70}));
  expect_together(
      "transposed",
      [](const Array& x, const Array& y) {
        return transpose(x, {2, 0, 1}) + y;
      },
      f32({10, 70, 64}), f32({64, 10, 70}));
  expect_together(
      "transposed", [](const Array& x) { return x - transpose(x); }, f32({80, 80}));
  for (const DType t : {DType::i64, DType::f64})
    expect_together(
        "transposed", [](const Array& x) { return transpose(x); }, Aval{t, {90, 65}});
  for (const DType t : {DType::u8, DType::boolean, DType::f16}) {
    expect_together(
        "transposed", [](const Array& x) { return cast(transpose(x), DType::f32); },
        Aval{t, {90, 65}});
    expect_together(
        "", [](const Array& x) { return transpose(x); }, Aval{t, {90, 65}});
  }
}

// The exponential, the product with it and its other factor are one kernel, which writes the last
// in another order. What it computes is not there to be read, turned or not.
TEST(Workgroups, SquaresOfWhatTheKernelItselfComputesAreNotRead) {
  const Graph g = parse_graph(
      R"(graph(%0: f32[11,6,11], %1: f32[11,6,11], %2: f32[11,6,11], %3: f32[11,11,6], %4: f32[11,6,11], %5: i32[], %6: f32[11,11,6], %7: f32[11,11,6], %8: f32[11,11,6], %9: f32[11,11,6], %10: f32[]) {
  %11: f32[11,11,6] = mul %7 %7
  %12: f32[11,11,6] = add %8 %11
  %13: f32[11,11,6] = div %9 %12
  %14: f32[11,11,6] = neg %6
  %15: f32[11,11,6] = add %13 %14
  %16: f32[11,6,11] = permute[axes=(1,2,0)] %15
  %17: f32[] = sum[axes=(0,1,2)] %16
  %18: f32[] = add %10 %17
  %19: f32[11,11,6] = exp %3
  %20: f32[11,11,6] = mul %15 %19
  %21: f32[11,11] = sum[axes=(2)] %20
  %22: f32[11,11,1] = reshape[shape=[11,11,1]] %21
  %23: f32[11,11] = reshape[shape=[11,11]] %22
  %24: f32[11,11,6] = broadcast[shape=[11,11,6] axes=(0,1)] %23
  %25: f32[11,11,6] = mul %19 %24
  %26: f32[11,11,6] = add %20 %25
  %27: f32[11,6,11] = permute[axes=(1,2,0)] %26
  %28: f32[11,6,11], %29: f32[11,6,11] = cond[branches=(graph(%0: f32[11,6,11], %1: f32[11,6,11], %2: f32[11,6,11], %3: f32[11,6,11], %4: f32[11,6,11], %5: f32[11,6,11]) {
    return %0 %4
  },graph(%0: f32[11,6,11], %1: f32[11,6,11], %2: f32[11,6,11], %3: f32[11,6,11], %4: f32[11,6,11], %5: f32[11,6,11]) {
    return %3 %3
  },graph(%0: f32[11,6,11], %1: f32[11,6,11], %2: f32[11,6,11], %3: f32[11,6,11], %4: f32[11,6,11], %5: f32[11,6,11]) {
    %6: f32[11,6,11], %7: f32[11,6,11], %8: f32[11,6] = scan[body=graph(%0: f32[11,6,11], %1: f32[11,6,11], %2: f32[6,11], %3: f32[6,11], %4: f32[6,11], %5: f32[6,11], %6: f32[11,6,11], %7: f32[11,6,11]) {
      %8: f32[] = constant[value=f32(1)]
      %9: f32[6] = broadcast[shape=[6] axes=()] %8
      return %6 %7 %9
    } carried=2 sequences=4 length=11 reverse=false] %2 %5 %2 %2 %5 %5 %2 %5
    %9: f32[] = sum[axes=(0,1)] %8
    %10: f32[11,6,11] = broadcast[shape=[11,6,11] axes=()] %9
    %11: f32[11,6,11] = add %4 %10
    return %5 %11
  }) lanes=0] %5 %4 %2 %1 %16 %27 %0
  %30: f32[] = sum[axes=(0,1,2)] %29
  %31: f32[] = add %18 %30
  return %31
})");
  for (const Target& target : together()) {
    if (target.team > 8) continue;  // squares are larger than the arrays
    // With the loop in one kernel with what is around it nothing is turned.
    const Program p =
        compile(g, target, {.name = "test", .loops = LoopMapping::device, .keep_text = true});
    EXPECT_THAT(p.fusion_text, HasSubstr("transposed"));
    std::vector<HostArray> in;
    for (const Aval& a : g.input_avals())
      in.push_back(random_array(a, static_cast<std::uint32_t>(in.size())));
    EXPECT_EQ(difference(run_on_host(p, in)[0], evaluate(g, in)[0], 1e-3), "") << p.fusion_text;
  }
}

TEST(Workgroups, ShortRangesStayWithOneLane) {
  Trace outer;
  const Graph g =
      make_graph([](const Array& x) { return sum(x, 1); }, outer.input(f32({5, 20}))).graph;
  for (const Target& target : together())
    EXPECT_THAT(compile(g, target, {.keep_text = true}).fusion_text, Not(HasSubstr("teams of")));
}

}  // namespace
}  // namespace gnomon::testing
