// tests/engine/loops_test.cpp -- known answers of loops on the device, and exact counts of long
// ones.
#include <gtest/gtest.h>

#include "codegen/compile/pipeline.h"
#include "codegen/graph/evaluate.h"
#include "codegen/graph/text.h"
#include "gnomon/indexing.h"
#include "gnomon/jit.h"
#include "gnomon/loops.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"
#include "tests/support/loop_goldens.h"

namespace gnomon::testing {
namespace {

class Loops : public DeviceTest {
 protected:
  void expect_goldens(LoopMapping mapping) {
    for (const auto& [name, graph, inputs, want] : loop_goldens()) {
      const Program p = compile(graph, rt.target(), {.name = "test", .loops = mapping});
      std::vector<Array> in;
      for (const HostArray& a : inputs) in.push_back(rt.from_bytes(a.aval, a.bytes));
      std::vector<std::vector<double>> got;
      for (const Array& a : run(p, in)) {
        HostArray h(a.aval());
        rt.to_bytes(a, h.bytes);
        std::vector<double>& numbers = got.emplace_back();
        for (Dim i = 0; i < h.size(); ++i) numbers.push_back(h.number(i));
      }
      EXPECT_EQ(got, want) << name;
    }
  }

  Array u32(std::uint32_t x) { return rt.from_host(std::vector<std::uint32_t>{x}, Shape{}); }
  Array i32(std::int32_t x) { return rt.from_host(std::vector<std::int32_t>{x}, Shape{}); }
  std::uint32_t value(const Array& a) { return rt.to_host<std::uint32_t>(a)[0]; }
  std::int32_t count(const Array& a) { return rt.to_host<std::int32_t>(a)[0]; }
};

TEST_F(Loops, KeepTheGoldenValues) { expect_goldens(LoopMapping::automatic); }
TEST_F(Loops, KeepTheGoldenValuesAsKernelsPerIteration) { expect_goldens(LoopMapping::device); }

// ---- exact counts
//
// The generator below has period 2^32: a state is met again after 2^32 steps and no sooner, so a
// loop that ends with the right state took exactly the right number of steps.

constexpr std::uint32_t factor = 1664525u, addend = 1013904223u, seed = 12345u;

std::uint32_t after(std::uint64_t steps, std::uint32_t x = seed) {
  for (std::uint64_t i = 0; i < steps; ++i) x = factor * x + addend;
  return x;
}
Array next(const Array& x) { return x * factor + addend; }

TEST_F(Loops, TakeExactlyAsManyStepsAsTheirConditionSays) {
  const auto f = [](StepBound bound) {
    return [=](const Array& start, const Array& target) {
      const auto r =
          while_loop_counted([&](const Array& x) { return x != target; },
                             [](Array x) { return next(x); }, start, {.max_steps = bound});
      return std::tuple{r.state, r.steps, r.bound_hit};
    };
  };
  for (const StepBound bound : {StepBound(unbounded), StepBound(2000000000)}) {
    auto run = jit(rt, f(bound));
    for (const int steps : {0, 1, 64999, 65000, 65001, 65535, 65536, 100000, 10000000}) {
      const auto& [x, taken, hit] = run(u32(seed), u32(after(static_cast<std::uint64_t>(steps))));
      EXPECT_EQ(count(taken), steps);
      EXPECT_EQ(value(x), after(static_cast<std::uint64_t>(steps)));
      EXPECT_FALSE(rt.to_host<bool>(hit)[0]);
    }
  }
}

TEST_F(Loops, StopExactlyAtTheirBound) {
  for (const int bound : {100000, 10000000}) {
    auto run = jit(rt, [=](const Array& start) {
      const auto r =
          while_loop_counted([](const Array& x) { return x != seed; },
                             [](Array x) { return next(x); }, start, {.max_steps = bound});
      return std::tuple{r.state, r.steps, r.bound_hit};
    });
    const auto& [x, taken, hit] = run(u32(after(1)));
    EXPECT_EQ(count(taken), bound);
    EXPECT_EQ(value(x), after(static_cast<std::uint64_t>(bound) + 1));
    EXPECT_TRUE(rt.to_host<bool>(hit)[0]);
  }
}

// What a loop over constants ends with, a driver's optimiser may find out by itself.
TEST_F(Loops, ExtremaOfConstantsAreThoseOfSignedNumbers) {
  auto f = jit(rt, [](const Array& x) {
    const auto body = [](const Array&, const Array& y) {
      const Array n = iota({9, 9}, 0, DType::i32), ones = cast(n >= n, DType::i32);
      return y + max(ones) + 10 * min(ones - 5);
    };
    return fori_loop(0, 2, body, x);
  });
  EXPECT_EQ(rt.to_host<std::int32_t>(f(rt.from_host(std::vector<std::int32_t>{7, 8}))),
            (std::vector<std::int32_t>{-71, -70}));
}

// The scan of one step is what leaves the kernel a root of a constant: graphs fold it.
TEST_F(Loops, RootsOfConstantsAreAddedUp) {
  const Graph graph = parse_graph(R"(graph(%0: i32[]) {
    %1: f32[] = constant[value=f32(0)]
    %2: f32[10] = broadcast[shape=[10] axes=()] %1
    %3: f32[10] = cond[branches=(graph(%0: f32[10]) {
      return %0
    },graph(%0: f32[10]) {
      %1: f32[] = constant[value=f32(0)]
      %2: f32[] = constant[value=f32(0.25)]
      %3: f32[1] = broadcast[shape=[1] axes=()] %2
      %4: f32[], %5: f32[1] = scan[body=graph(%0: f32[], %1: f32[]) {
        %2: f32[] = sqrt %1
        %3: f32[] = add %0 %2
        return %3 %0
      } carried=1 sequences=1 length=1 reverse=false kind=automatic checkpoints=0] %1 %3
      %6: f32[10] = broadcast[shape=[10] axes=()] %4
      %7: f32[10] = scan[body=graph(%0: f32[10], %1: f32[10]) {
        %2: f32[10] = add %0 %1
        return %2
      } carried=1 sequences=0 length=10 reverse=false kind=automatic checkpoints=0] %0 %6
      return %7
    }) lanes=0] %0 %2
    return %3
  })");
  const Program p = compile(graph, rt.target(), {.name = "roots"});
  EXPECT_EQ(rt.to_host<float>(run(p, {i32(1)})[0]), std::vector<float>(10, 5.f));
}

TEST_F(Loops, OfStaticLengthAreExact) {
  for (const int steps : {100000, 1000000}) {
    auto run = jit(rt, [=](const Array& start) {
      return fori_loop(
          0, steps, [](Array, Array x) { return next(x); }, start);
    });
    EXPECT_EQ(value(run(u32(seed))), after(static_cast<std::uint64_t>(steps)));
  }
}

struct Nest {
  Array x, outer, steps;
};

/// `inner` steps in each of `outer` rounds, both data.
Nest nest(const Array& start, const Array& outer, const Array& inner) {
  return while_loop([&](const Nest& s) { return s.outer < outer; },
                    [&](Nest s) {
                      struct Inner {
                        Array x, i, steps;
                      };
                      const Inner end = while_loop([&](const Inner& t) { return t.i < inner; },
                                                   [](Inner t) {
                                                     return Inner{next(t.x), t.i + 1, t.steps + 1};
                                                   },
                                                   Inner{s.x, full({}, 0, DType::i32), s.steps},
                                                   {.max_steps = 1000});
                      return Nest{end.x, s.outer + 1, end.steps};
                    },
                    Nest{start, full({}, 0, DType::i32), full({}, 0, DType::i32)},
                    {.max_steps = 1000});
}

TEST_F(Loops, NestsOfAMillionStepsAreExact) {
  auto by_condition = jit(rt, nest);
  const Nest r = by_condition(u32(seed), i32(1000), i32(1000));
  EXPECT_EQ(count(r.outer), 1000);
  EXPECT_EQ(count(r.steps), 1000000);
  EXPECT_EQ(value(r.x), after(1000000));
  auto counted = jit(rt, [](const Array& start) {
    return fori_loop(
        0, 1000,
        [](Array, Array x) {
          return fori_loop(
              0, 1000, [](Array, Array y) { return next(y); }, x);
        },
        start);
  });
  EXPECT_EQ(value(counted(u32(seed))), after(1000000));
}

// A driver that limits the trips of a kernel also counts those in which a loop finds itself over.
TEST_F(Loops, NestsOfEmptyLoopsAreExact) {
  constexpr int outer = 100000;
  const auto f = [](const Array& start, const Array& often) {
    const auto inner = [&](const Array& x) {
      return fori_loop(0, often, [](const Array&, const Array& y) { return y + 1u; }, x,
                       {.max_steps = 1});
    };
    return fori_loop(
        0, outer, [&](const Array&, const Array& x) { return next(inner(x)); }, start);
  };
  const auto g = jit(rt, f);
  EXPECT_EQ(value(g(u32(seed), i32(0))), after(outer));
  std::uint32_t want = seed;
  for (int i = 0; i < outer; ++i) want = factor * (want + 1) + addend;
  EXPECT_EQ(value(g(u32(seed), i32(1))), want);
}

TEST_F(Loops, NestsOfWhichOneLaneInEightRunsTheInnerLoopAreExact) {
  constexpr std::uint32_t lanes = 64;
  std::vector<std::uint32_t> start;
  std::vector<std::int32_t> inner;
  for (std::uint32_t i = 0; i < lanes; ++i) {
    start.push_back(seed + i);
    inner.push_back(i % 8 == 3 ? 1000 : 0);
  }
  auto run = jit(rt, [](const Array& x, const Array& outer, const Array& in) {
    return vmap(nest, {.in_axes = {0, unmapped, 0}})(x, outer, in);
  });
  const Nest r = run(rt.from_host(start), i32(1000), rt.from_host(inner));
  const auto x = rt.to_host<std::uint32_t>(r.x);
  const auto outer = rt.to_host<std::int32_t>(r.outer), steps = rt.to_host<std::int32_t>(r.steps);
  // A count that no lane changes may stay one value for all.
  for (const std::int32_t rounds : outer) EXPECT_EQ(rounds, 1000);
  for (std::uint32_t i = 0; i < lanes; ++i) {
    const auto taken = static_cast<std::uint64_t>(inner[i]) * 1000;
    EXPECT_EQ(x[i], after(taken, start[i])) << i;
    EXPECT_EQ(steps[i], static_cast<std::int32_t>(taken)) << i;
  }
}

TEST_F(Loops, AMillionScalarStepsOfAScanAreFewDispatches) {
  static constexpr int steps = 1000000;
  auto run = jit(rt, [](const Array& start) {
    return scan(
               [](Array x, None) {
                 return std::pair{next(x), none};
               },
               start, none, {.length = steps})
        .first;
  });
  EXPECT_EQ(value(run(u32(seed))), after(steps));
  const std::uint64_t before = rt.counters().dispatches;
  EXPECT_EQ(value(run(u32(seed + 1))), after(steps, seed + 1));
  // A driver that stops shaders after 65,535 trips gets slices of at least half of that, which
  // divide the length, and every four of them what counts them on.
  EXPECT_LE(rt.counters().dispatches - before, 24u);
}

TEST_F(Loops, AMillionRowsOfAScanAreExact) {
  static constexpr int steps = 1000000;
  auto run = jit(rt, [](const Array& start) {
    return scan(
        [](Array x, None) {
          return std::pair{next(x), x};
        },
        start, none, {.length = steps});
  });
  const auto r = run(u32(seed));
  EXPECT_EQ(value(r.first), after(steps));
  const auto rows = rt.to_host<std::uint32_t>(r.second);
  std::uint32_t x = seed;
  for (const std::uint32_t row : rows) {
    ASSERT_EQ(row, x);
    x = factor * x + addend;
  }
}

TEST_F(Loops, HistoriesOfManyRowsAreExact) {
  // A row of 4 per step, written into 100,000 of them.
  constexpr Dim steps = 100000;
  struct Written {
    Array rows, x;
  };
  auto run = jit(rt, [](const Array& start) {
    return fori_loop(
               0, steps,
               [](Array k, Written s) {
                 const Array row = next(s.x);
                 return Written{dynamic_update_slice(s.rows, reshape(row, {1, 4}), {k, 0}), row};
               },
               Written{zeros({steps, 4}, DType::u32), start})
        .rows;
  });
  std::vector<std::uint32_t> x{1, 2, 3, 4};
  const auto rows = rt.to_host<std::uint32_t>(run(rt.from_host(x)));
  for (std::size_t k = 0; k < static_cast<std::size_t>(steps); ++k)
    for (std::size_t j = 0; j < 4; ++j) {
      x[j] = factor * x[j] + addend;
      ASSERT_EQ(rows[4 * k + j], x[j]) << k;
    }
}

}  // namespace
}  // namespace gnomon::testing
