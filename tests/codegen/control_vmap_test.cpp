// tests/codegen/control_vmap_test.cpp -- loops and branches under vmap against running every lane
// on its own.
#include <limits>
#include "codegen/operations/control.h"

#include "gnomon/indexing.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::test {
namespace {

using ::testing::ElementsAre;

/// Row `i` along the first axis.
HostArray row(const HostArray& a, Dim i) {
  HostArray r(Aval{a.aval.dtype, a.aval.shape.without(0)});
  for (Dim k = 0; k < r.size(); ++k) r.set_number(k, a.number(i * r.size() + k));
  return r;
}

/// vmap(f) of `mapped` gives in row i what f gives for row i. Returns the graph.
template <class F>
Graph expect_lanes(const F& f, const HostArray& mapped) {
  const auto over = [&](const Array& x) { return vmap(f)(x); };
  const std::vector<HostArray> all = run_arrays(over, mapped);
  for (Dim i = 0; i < mapped.aval.shape[0]; ++i) {
    const std::vector<Numbers> one = run_all(f, row(mapped, i));
    for (std::size_t k = 0; k < one.size(); ++k)
      EXPECT_EQ(numbers(row(all[k], i)), one[k]) << "lane " << i << ", result " << k;
  }
  return graph_of(over, mapped);
}

Array step_while_below(const Array& x, const Array& limit, const Array& step) {
  return while_loop([&](const Array& v) { return v < limit; }, [&](Array v) { return v + step; }, x,
                    {.max_steps = 100});
}

TEST(VmapWhile, StopsEachLaneOnItsOwnCount) {
  const auto start = [](const Array& x) {
    return step_while_below(x, full({}, 3, DType::i32), full({}, 2, DType::i32));
  };
  const auto over = [&](const Array& x) { return vmap(start)(x); };
  EXPECT_EQ(run(over, i32({0, 1, 2, 3})), (Numbers{4, 3, 4, 3}));
  const Graph g = graph_of(over, i32({0, 1, 2, 3}));
  EXPECT_EQ(only_equation(g, "while").params.as<WhileParams>().lanes, 4);
  EXPECT_EQ(count_equations(g, "select"), 0);
}

TEST(VmapWhile, TakesABatchedLimitOrStep) {
  const auto limit = [](const Array& y) {
    return step_while_below(zeros({}, DType::i32), y, full({}, 2, DType::i32));
  };
  EXPECT_EQ(run([&](const Array& y) { return vmap(limit)(y); }, i32({2, 3})), (Numbers{2, 4}));
  const auto step = [](const Array& y) {
    return step_while_below(zeros({}, DType::i32), full({}, 3, DType::i32), y);
  };
  EXPECT_EQ(run([&](const Array& y) { return vmap(step)(y); }, i32({2, 3})), (Numbers{4, 3}));
}

TEST(VmapWhile, LeavesWhatDoesNotChangeOutOfTheCarry) {
  const auto f = [](const Array& x, const Array& y) {
    return while_loop([](const std::pair<Array, Array>& s) { return s.first + s.second < 5; },
                      [](std::pair<Array, Array> s) {
                        return std::pair{s.first + 1, s.second};
                      },
                      std::pair{x, y}, {.max_steps = unbounded});
  };
  const auto over = [&](const Array& x, const Array& y) {
    return vmap(f, {.in_axes = {unmapped, 0}})(x, y);
  };
  EXPECT_THAT(run_all(over, i32(0), i32({1, 2})), ElementsAre(Numbers{4, 3}, Numbers{1, 2}));
}

TEST(VmapWhile, KeepsAScalarConditionThatNoLaneChanges) {
  const auto f = [](const Array& x) {
    return while_loop([](const std::pair<Array, Array>& s) { return s.first < 4; },
                      [](std::pair<Array, Array> s) {
                        return std::pair{s.first + 1, s.second * 2};
                      },
                      std::pair{zeros({}, DType::i32), x}, {.max_steps = 100});
  };
  const Graph g = expect_lanes(f, f32({1, 2, 3}));
  const Equation& loop = only_equation(g, "while");
  EXPECT_EQ(loop.params.as<WhileParams>().lanes, 0);
  EXPECT_EQ(g.avals[loop.outputs[0]].shape, Shape());
}

TEST(VmapWhile, ALaneThatStoppedNeverWakesAgain) {
  // In lockstep the second lane's condition would come true again after its first stop.
  const auto f = [](const Array& x) {
    return while_loop([](const Array& v) { return v % 4 != 0; }, [](Array v) { return v + 1; }, x,
                      {.max_steps = 20});
  };
  expect_lanes(f, i32({1, 4, 7, 10}));
}

TEST(VmapWhile, CountsMaxStepsPerLane) {
  const auto f = [](const Array& x) {
    return while_loop([](const Array& v) { return v < 10; }, [](Array v) { return v + 1; }, x,
                      {.max_steps = 3});
  };
  expect_lanes(f, i32({0, 5, 8, 12}));
}

TEST(VmapWhile, WorksOnArraysAndConstants) {
  const auto f = [](const Array& x) {
    const Array scale = sum(x);
    return while_loop([](const Array& v) { return sum(v) < 50; },
                      [&](Array v) { return v * 2 + scale; }, x, {.max_steps = 30});
  };
  expect_lanes(f, f32({3, 2}, {1, 2, 30, 40, 5, .5}));
}

Array collatz(const Array& x) {
  return while_loop([](const std::pair<Array, Array>& s) { return s.first > 1; },
                    [](std::pair<Array, Array> s) {
                      const Array even = s.first % 2 == 0;
                      return std::pair{where(even, s.first >> 1, 3 * s.first + 1), s.second + 1};
                    },
                    std::pair{x, 0 * x}, {.max_steps = 200})
      .second;
}

TEST(VmapWhile, FlattensALaneAxisInsideAnother) {
  const auto inner = [](const Array& x) { return vmap(collatz)(x); };
  const HostArray x = i32({2, 3}, {1, 7, 27, 2, 6, 9});
  const Graph g = expect_lanes(inner, x);
  EXPECT_EQ(only_equation(g, "while").params.as<WhileParams>().lanes, 6);
}

TEST(VmapWhile, FlattensWithSharedConstants) {
  const auto f = [](const Array& limit) {
    const auto one = [&](const Array& x) {
      return while_loop([&](const Array& v) { return sum(v) < limit; },
                        [&](Array v) { return v + limit / 5 + 1; }, x, {.max_steps = 30});
    };
    return vmap(one)(reshape(arange(6), {3, 2}) * 1.0f);
  };
  const Graph g = expect_lanes(f, f32({4, 20}));
  EXPECT_EQ(only_equation(g, "while").params.as<WhileParams>().lanes, 6);
}

TEST(VmapWhile, NestsLoopsInLanes) {
  const auto f = [](const Array& n) {
    return while_loop([](const std::pair<Array, Array>& s) { return s.first > 0; },
                      [](std::pair<Array, Array> s) {
                        const Array inner =
                            fori_loop(0, s.first, [](Array i, Array t) { return t + i + 1; },
                                      s.second, {.max_steps = 50});
                        return std::pair{s.first - 1, inner};
                      },
                      std::pair{n, 0 * n}, {.max_steps = 50});
  };
  expect_lanes(f, i32({0, 1, 4, 2}));
}

TEST(VmapWhile, WorksWithUpdatesInPlace) {
  const auto f = [](const Array& n) {
    return fori_loop(0, n, [&](Array i, Array history) { return at_set(history, i, i * n); },
                     full({5}, -1, DType::i32), {.max_steps = 8});
  };
  const Graph g = expect_lanes(f, i32({0, 3, 5, 7}));
  EXPECT_EQ(count_equations(g, "gather"), 0);
  EXPECT_EQ(count_equations(g, "scatter_add"), 0);
}

TEST(VmapFori, AddsPerLane) {
  const auto f = [](const Array& x) {
    return fori_loop(
        0, 10,
        [](Array, std::pair<Array, Array> s) {
          return std::pair{s.first + 1, s.second + 2};
        },
        std::pair{x, zeros({}, DType::i32)});
  };
  const auto over = [&](const Array& x) { return vmap(f)(x); };
  EXPECT_THAT(run_all(over, i32({0, 1})), ElementsAre(Numbers{10, 11}, Numbers{20, 20}));
}

TEST(VmapScan, FindsTheCarriesThatVary) {
  struct C {
    Array a, b, c, d;
  };
  const auto f = [](const Array& d) {
    const auto body = [](C s, None) { return std::pair{C{s.b, s.c, s.d, s.d * 0}, s.a}; };
    const auto r = scan(body, C{zeros({}), ones({}), 2 * ones({}), d}, none, {.length = 4});
    return std::pair{r.first.a, r.second};
  };
  expect_lanes(f, f32({3, 4, 5}));
}

TEST(VmapScan, TakesSequencesFromAnyAxis) {
  const auto f = [](const Array& xs) {
    return scan(
        [](Array c, Array x) {
          return std::pair{c * x + 1, c - x};
        },
        0.5f, xs, {.reverse = true});
  };
  expect_lanes(f, f32({2, 3}, {1, 2, 3, 4, 5, 6}));
  const auto over = [&](const Array& x) { return vmap(f, {.in_axes = {1}})(x); };
  const auto r = run_all(over, f32({3, 2}, {1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(r,
            run_all([&](const Array& x) { return vmap(f)(x); }, f32({2, 3}, {1, 2, 3, 4, 5, 6})));
}

TEST(VmapScan, StacksRowsThatVaryBesideThoseThatDoNot) {
  const auto f = [](const Array& x) {
    const auto body = [&](Array i, None) { return std::pair{i + 1, std::pair{i, x * i}}; };
    return scan(body, zeros({}, DType::i32), none, {.length = 3}).second;
  };
  expect_lanes(f, i32({2, 3}, {1, 2, 3, 4, 5, 6}));
}

TEST(VmapCond, WithASharedPredicateIsStillABranch) {
  const auto f = [](const Array& x, const Array& y, const Array& z) {
    return vmap([&](const Array& b, const Array& c) {
      return cond(
          x < 3, [&] { return b; }, [&] { return -c; });
    })(y, z);
  };
  EXPECT_EQ(run(f, i32(2), i32({1, 2}), i32({3, 4})), (Numbers{1, 2}));
  EXPECT_EQ(run(f, i32(4), i32({1, 2}), i32({3, 4})), (Numbers{-3, -4}));
  const Graph g = graph_of(f, i32(2), i32({1, 2}), i32({3, 4}));
  EXPECT_EQ(count_equations(g, "select"), 0);
  EXPECT_EQ(only_equation(g, "cond").params.as<CondParams>().lanes, 0);
}

TEST(VmapCond, WithAPredicateByLaneChoosesPerLane) {
  const auto f = [](const Array& x, const Array& y, const Array& z) {
    return vmap(
        [](const Array& a, const Array& b, const Array& c) {
          return cond(
              a < 3, [&] { return b; }, [&] { return -c; });
        },
        {.in_axes = {0, 0, unmapped}})(x, y, z);
  };
  EXPECT_EQ(run(f, i32({2, 4}), i32({1, 2}), i32(5)), (Numbers{1, -5}));
  const Graph g = graph_of(f, i32({2, 4}), i32({1, 2}), i32(5));
  EXPECT_EQ(only_equation(g, "cond").params.as<CondParams>().lanes, 2);
  const auto both = [](const Array& x, const Array& z) {
    return vmap([](const Array& a, const Array& c) {
      return cond(
          a < 3, [] { return 1; }, [&] { return -c; });
    })(x, z);
  };
  EXPECT_EQ(run(both, i32({2, 4}), i32({3, 4})), (Numbers{1, -4}));
}

TEST(VmapCond, FlattensALaneAxisInsideAnother) {
  const auto f = [](const Array& scale) {
    const auto one = [&](const Array& x) {
      return cond(
          sum(x) > 2, [&] { return x * scale; }, [&] { return x - 1; });
    };
    return vmap(one)(reshape(arange(6), {3, 2}) * 1.0f);
  };
  const Graph g = expect_lanes(f, f32({4, 20}));
  EXPECT_EQ(only_equation(g, "cond").params.as<CondParams>().lanes, 6);
  const auto both = [](const Array& xs) {
    return vmap([](const Array& x) {
      return cond(
          x > 2, [&] { return x * 10; }, [&] { return -x; });
    })(xs);
  };
  expect_lanes(both, f32({2, 3}, {1, 2, 3, 4, 5, 0}));
}

TEST(VmapSwitch, ChoosesPerLane) {
  const auto f = [](const Array& i, const Array& x) {
    const auto one = [](const Array& index, const Array& v) {
      return switch_(index,
                     std::tuple{[](const Array& a) { return a; },
                                [](const Array& a) { return -5 * ones_like(a); },
                                [](const Array& a) { return sign(a); }},
                     v);
    };
    return vmap(one)(i, x);
  };
  EXPECT_EQ(run(f, i32({0, 1, 2, 9, -4}), f32({1, 2, 3, -4, 5})), (Numbers{1, -5, 1, -1, 5}));
}

TEST(VmapCond, InsideALoopInLanes) {
  const auto f = [](const Array& x) {
    return while_loop([](const std::pair<Array, Array>& s) { return s.second < 6; },
                      [](std::pair<Array, Array> s) {
                        const Array next = cond(
                            s.first > 2, [&] { return s.first / 2; }, [&] { return s.first + 3; });
                        return std::pair{
                            next, s.second + cond(
                                                 next > 3, [] { return 2; }, [] { return 1; })};
                      },
                      std::pair{x, zeros({}, DType::i32)}, {.max_steps = 20});
  };
  expect_lanes(f, f32({0, 1, 2.5, 7}));
}

TEST(VmapJvp, CommuteThroughLoops) {
  const auto f = [](const Array& x) {
    return while_loop([](const Array& v) { return v < 20; }, [&](Array v) { return v * x + 1; }, x,
                      {.max_steps = 30});
  };
  const auto tangent = [&](const Array& x) { return jvp(f, x, ones_like(x)).second; };
  expect_lanes(tangent, f32({1.5, 2, 5, 30}));
  const auto outside = [&](const Array& xs) {
    return jvp([&](const Array& x) { return vmap(f)(x); }, xs, ones_like(xs)).second;
  };
  EXPECT_EQ(run(outside, f32({1.5, 2, 5, 30})),
            run([&](const Array& x) { return vmap(tangent)(x); }, f32({1.5, 2, 5, 30})));
}

}  // namespace
}  // namespace gnomon::test
