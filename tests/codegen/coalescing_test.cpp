// tests/codegen/coalescing_test.cpp -- neighbouring invocations touch neighbouring memory on a GPU,
// one invocation reads runs on a CPU. Read off the compiled kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "codegen/program/targets.h"
#include "gnomon/control.h"
#include "gnomon/indexing.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "shaders/passes/vectorize.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

template <class F, class... A>
Program compiled(const Target& target, F f, const A&... avals) {
  Trace outer;
  return compile(make_graph(f, outer.input(avals)...).graph, target, {.keep_text = true});
}

/// The accesses of all kernels whose line contains `what`: "load in0: contiguous x4 aligned".
std::vector<std::string> accesses(const Program& p, const std::string& what = "") {
  std::vector<std::string> lines;
  for (const kernel::Kernel& k : p.kernels) {
    std::istringstream text(kernel::access_summary(k));
    for (std::string line; std::getline(text, line);)
      if (line.find(what) != std::string::npos) lines.push_back(line);
  }
  return lines;
}

/// Those of the kernels that run loops lane by lane.
std::vector<std::string> loop_accesses(Program p, const std::string& what = "") {
  std::istringstream fusion(p.fusion_text);
  std::vector<kernel::Kernel> loops;
  std::size_t i = 0;
  for (std::string line; std::getline(fusion, line); ++i)
    if (line.find("\" lane lanes=") != std::string::npos) loops.push_back(p.kernels.at(i));
  p.kernels = std::move(loops);
  return accesses(p, what);
}

const auto coalesced = ::testing::ContainsRegex(": (contiguous|uniform)");

Array settle(const Array& x) {
  return while_loop([](const Array& v) { return v < 100.0f; }, [](Array v) { return v * 1.5f + 1; },
                    abs(x), {.max_steps = 50});
}

TEST(CoalescingGpu, OfALoopOverManySystems) {
  const Program p = compiled(Target::gpu(), vmap(settle), f32({4096}));
  EXPECT_THAT(accesses(p), SizeIs(2)) << p.fusion_text;
  EXPECT_THAT(accesses(p), Each(EndsWith(": contiguous"))) << p.fusion_text;
}

TEST(CoalescingGpu, OfALoopWhoseSystemsAreTheLastAxis) {
  // Three components for each system, the systems innermost.
  const auto rotate = [](const Array& x) {
    return fori_loop(
        0, 9, [](const Array&, Array v) { return flip(v) * 0.5f + 1; }, x);
  };
  const Program p =
      compiled(Target::gpu(), vmap(rotate, {.in_axes = {-1}, .out_axes = {-1}}), f32({3, 4096}));
  EXPECT_THAT(accesses(p), Not(IsEmpty()));
  EXPECT_THAT(accesses(p), Each(coalesced)) << p.fusion_text;
}

TEST(CoalescingGpu, OfWhatOneLoopLeavesForTheNext) {
  // [4096, 3] between two kernels: nobody outside sees it, so lanes are innermost there.
  const auto first = [](const Array& x) {
    return while_loop([](const Array& v) { return sum(v) < 50; },
                      [](Array v) { return v * 1.5f + flip(v) + 1; }, x, {.max_steps = 20});
  };
  const auto f = [&](const Array& x) {
    const Array a = vmap(first)(x);
    const Array m = mean(a);
    return vmap([&](const Array& v) {
      return while_loop([&](const Array& u) { return sum(u) < m * 100; },
                        [](Array u) { return u * 1.25f + 1; }, v, {.max_steps = 20});
    })(a);
  };
  const Program p = compiled(Target::gpu(), f, f32({4096, 3}));
  // The argument and the result are row-major: their three are neighbours.
  const auto in = loop_accesses(p, "load v"), out = loop_accesses(p, "store");
  EXPECT_THAT(in, SizeIs(::testing::Ge(4u))) << p.fusion_text;
  EXPECT_THAT(in, Each(coalesced)) << p.fusion_text;
  EXPECT_EQ(std::count_if(out.begin(), out.end(),
                          [](const std::string& line) { return line.ends_with(": contiguous"); }),
            3)
      << p.fusion_text;
}

TEST(CoalescingGpu, OfTheRowsThatAScanStacks) {
  const auto f = [](const Array& x0) {
    return scan(
        [](Array c, const Array& x) {
          return std::pair{c * 0.5f + x, c * c};
        },
        x0, Array(linspace(0, 1, 50)));
  };
  const Program p = compiled(Target::gpu(), vmap(f, {.out_axes = {0, 1}}), f32({4096}));
  EXPECT_THAT(accesses(p, "store"), SizeIs(2)) << p.fusion_text;
  EXPECT_THAT(accesses(p), Each(coalesced)) << p.fusion_text;
}

TEST(CoalescingGpu, OfScratchThatEachLaneHasForItself) {
  // 2,000 elements per lane are too many for private memory.
  const auto f = [](const Array& x) {
    const auto [last, history] = fori_loop(
        0, 2000,
        [](const Array& i, std::pair<Array, Array> s) {
          const Array next = s.first * 0.5f + s.second[i - 1] + 1;
          return std::pair{next, at_set(s.second, i, next)};
        },
        std::pair{x, zeros({2000})});
    return last + history[7];
  };
  const Program p = compiled(Target::gpu(), vmap(f), f32({4096}));
  EXPECT_THAT(accesses(p, "scratch"), Not(IsEmpty())) << p.fusion_text;
  EXPECT_THAT(accesses(p), Each(coalesced)) << p.fusion_text;
}

TEST(CoalescingGpu, LeavesALoopWithALargeStateToItsLanes) {
  // 300 elements per lane: a private array, stored one by one.
  const auto f = [](const Array& x) {
    return fori_loop(
        0, 5, [](const Array&, Array v) { return flip(v) * 0.5f + 1; }, x);
  };
  expect_function_lowers(vmap(f), f32({6, 300}));
  const Program p = compiled(Target::gpu(), vmap(f), f32({4096, 300}));
  EXPECT_NE(p.fusion_text.find("\" lane lanes=4096"), std::string::npos) << p.fusion_text;
}

TEST(CoalescingGpu, OfALongReductionInBothStages) {
  const Program p = compiled(
      Target::gpu(), [](const Array& x) { return sum(x * x); }, f32({1 << 20}));
  EXPECT_GE(p.kernels.size(), 2u) << p.fusion_text;
  EXPECT_THAT(accesses(p, "load"), Each(coalesced)) << p.fusion_text;
}

TEST(CoalescingGpu, OfAnElementwiseKernel) {
  const Program p = compiled(
      Target::gpu(), [](const Array& x, const Array& y) { return sin(x) * y + 1; },
      f32({100000, 7}), f32({7}));
  // 16 bytes for each invocation, next to its neighbour's.
  EXPECT_THAT(accesses(p, "in0"), ElementsAre(EndsWith(": contiguous x4 aligned")));
  EXPECT_THAT(accesses(p, "store"), ElementsAre(EndsWith(": contiguous x4 aligned")));
}

TEST(CoalescingGpu, OfFewElementsThatHaveALaneEach) {
  const Program p = compiled(
      Target::gpu(), [](const Array& x, const Array& y) { return sin(x) * y + 1; }, f32({1000, 7}),
      f32({7}));
  EXPECT_THAT(accesses(p, "in0"), ElementsAre(EndsWith(": contiguous")));
  EXPECT_THAT(accesses(p, "store"), ElementsAre(EndsWith(": contiguous")));
}

TEST(CoalescingCpu, ReadsAndWritesRunsInAnElementwiseKernel) {
  const Program p = compiled(
      Target::lavapipe(), [](const Array& x, const Array& y) { return sin(x) * y + 1; },
      f32({16384}), f32({16384}));
  ASSERT_THAT(accesses(p), Not(IsEmpty()));
  EXPECT_THAT(accesses(p), Each(::testing::ContainsRegex("contiguous x(4|8|16) aligned")))
      << p.fusion_text;
}

TEST(CoalescingCpu, ReadsRunsInAReduction) {
  const Program p = compiled(
      Target::lavapipe(), [](const Array& x) { return sum(x * x); }, f32({1 << 20}));
  ASSERT_THAT(accesses(p, "load in0"), Not(IsEmpty()));
  EXPECT_THAT(accesses(p, "load in0"),
              Each(::testing::ContainsRegex("(contiguous|block) x(4|8|16) aligned")))
      << p.fusion_text;
}

TEST(CoalescingCpu, ReadsRunsInALoopOverManySystems) {
  const Program p = compiled(Target::lavapipe(), vmap(settle), f32({4096}));
  EXPECT_THAT(accesses(p), Each(::testing::ContainsRegex("contiguous x(4|8|16) aligned")))
      << p.fusion_text;
}

/// Lanes that an invocation of the only kernel takes side by side, one lane for each number.
std::uint32_t side_by_side(const Program& p, std::uint32_t lanes) {
  EXPECT_EQ(p.kernels.size(), 1u) << p.fusion_text;
  return lanes / (p.steps.at(0).groups * p.kernels[0].group_size);
}

TEST(LanesOfLoopsCpu, AreMoreWhereATripIsOneChain) {
  const auto chain = [](const Array& x) {
    return fori_loop(
        0, 1000, [](const Array&, Array v) { return tanh(tanh(v * 0.5f + 1) * 2.0f); }, x);
  };
  const auto chains = [](const Array& x) {
    return fori_loop(
        0, 1000,
        [](const Array&, Array v) {
          return v * v * 0.5f + (v + 1) * (v - 1) - (v + 2) * (v - 2) + (v + 3) * (v - 3);
        },
        x);
  };
  const auto reading = [](const Array& x, const Array& many) {
    return fori_loop(
        0, 1000, [&](const Array& i, Array v) { return tanh(v * 0.5f + take(many, i)); }, x);
  };
  constexpr std::uint32_t lanes = 1 << 16;
  const Target lavapipe = Target::lavapipe();
  EXPECT_EQ(side_by_side(compiled(lavapipe, vmap(chain), f32({lanes})), lanes), 8u);
  EXPECT_EQ(side_by_side(compiled(lavapipe, vmap(chains), f32({lanes})), lanes), 4u);
  EXPECT_EQ(side_by_side(compiled(lavapipe, vmap(reading, {.in_axes = {0, unmapped}}), f32({lanes}),
                                  f32({1000})),
                         lanes),
            4u);
}

// Few registers: what a trip keeps of four lanes has to fit.
TEST(LanesOfLoopsCpu, AreSeveralOnSwiftShaderWhereATripKeepsLittle) {
  const auto smallest = [](const Array& x) {
    return fori_loop(
        0, 1000, [](const Array&, Array v) { return v * 0.5f + 1; }, x);
  };
  const auto small = [](const Array& x) {
    return fori_loop(
        0, 1000, [](const Array&, Array v) { return (v * v - 1) * (v + 2) * (v * v + 3); }, x);
  };
  const auto larger = [](const Array& x) {
    return fori_loop(
        0, 1000, [](const Array&, Array v) { return tanh(v * 0.5f + 1); }, x);
  };
  constexpr std::uint32_t lanes = 1 << 16;
  const Target target = target_of(KnownTarget::swiftshader);
  EXPECT_EQ(side_by_side(compiled(target, vmap(smallest), f32({lanes})), lanes), 4u);
  EXPECT_EQ(side_by_side(compiled(target, vmap(small), f32({lanes})), lanes), 2u);
  EXPECT_EQ(side_by_side(compiled(target, vmap(larger), f32({lanes})), lanes), 1u);
}

TEST(WorkgroupsCpu, AreAsManyAsHaveEnoughToDo) {
  const Program sums = compiled(
      Target::lavapipe(), [](const Array& x) { return x + 1; }, f32({16}));
  ASSERT_THAT(sums.kernels, SizeIs(1));
  EXPECT_EQ(sums.kernels[0].group_size, 16u);
  const auto steps = [](const Array& x) {
    return fori_loop(
        0, 1000, [](const Array&, Array v) { return v * 0.5f + 1; }, x);
  };
  const Program loops = compiled(Target::lavapipe(), vmap(steps), f32({64}));
  ASSERT_THAT(loops.kernels, SizeIs(1));
  EXPECT_EQ(loops.kernels[0].group_size, 8u);
}

TEST(WorkgroupsCpu, AreManyWhereDataSayHowMuchThereIsToDo) {
  const Program p = compiled(Target::lavapipe(), vmap(settle), f32({64}));
  ASSERT_THAT(p.kernels, SizeIs(1));
  EXPECT_EQ(p.kernels[0].group_size, 8u);
}

}  // namespace
}  // namespace gnomon::testing
