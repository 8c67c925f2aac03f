// tests/codegen/device_loop_test.cpp -- loops whose iterations are several kernels: results, and
// what is written in place.
#include <set>

#include "codegen/graph/evaluate.h"
#include "gnomon/control.h"
#include "gnomon/indexing.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "shaders/kernel/text.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

template <class F, class... A>
Program on_device(F f, const A&... inputs) {
  const Graph g = [&] {
    Trace outer;
    return make_graph(f, outer.input(inputs)...).graph;
  }();
  return compile(g, Target::gpu(),
                 {.name = "test", .loops = LoopMapping::device, .keep_text = true});
}

std::size_t copies(const Program& p) {
  return static_cast<std::size_t>(std::count_if(
      p.steps.begin(), p.steps.end(), [](const Step& s) { return s.kind == Step::Kind::copy; }));
}

TEST(DeviceLoop, CarriesThatMixTheirLanesLieInTwoPlacesByTurns) {
  for (const int trips : {0, 1, 2, 5, 40, 41}) {
    const auto f = [&](const Array& x) {
      return fori_loop(
          0, trips, [](Array i, Array v) { return v * 0.5f + flip(v) + cast(i, DType::f32); }, x);
    };
    expect_function_lowers(f, f32({100}));
    const Program p = on_device(f, f32({100}));
    if (trips == 0) continue;
    ASSERT_EQ(p.loops.size(), 1u) << p.fusion_text << print(p);
    EXPECT_EQ(p.loops[0].phases.size(), trips > 1 ? 2u : 1u);
    EXPECT_EQ(p.loops[0].advance.has_value(), trips > 32);
  }
}

TEST(DeviceLoop, IterationsAreCountedWhereNobodyElseLies) {
  // No kernel asks for the number; chunks of the loop do.
  const auto f = [](const Array& x) {
    return fori_loop(
        0, 41, [](Array, Array v) { return v * 0.5f + flip(v) * 0.25f; }, x * 2);
  };
  expect_function_lowers(f, f32({100}));
  const Program p = on_device(f, f32({100}));
  ASSERT_EQ(p.loops.size(), 1u);
  ASSERT_TRUE(p.loops[0].advance);
  const auto counter = std::find_if(p.allocations.begin(), p.allocations.end(),
                                    [](const Allocation& a) { return a.name == "iterations"; });
  ASSERT_NE(counter, p.allocations.end()) << print(p);
  EXPECT_LT(counter->first_step, p.loops[0].first);
  EXPECT_GE(counter->last_step + 1, p.loops[0].end);
}

TEST(DeviceLoop, ElementwiseCarriesAreOverwritten) {
  const auto f = [](const Array& x, const Array& y) {
    return fori_loop(
        3, 10,
        [&](Array i, std::pair<Array, Array> s) {
          const Array total = sum(s.first * y);
          return std::pair{s.first * 0.5f + y * total, s.second + cast(i, DType::f32) * total};
        },
        std::pair{x * 2, x});
  };
  expect_function_lowers(f, f32({50}), f32({50}));
  const Program p = on_device(f, f32({50}), f32({50}));
  ASSERT_EQ(p.loops.size(), 1u);
  EXPECT_EQ(p.loops[0].phases.size(), 1u) << p.fusion_text << print(p);
}

TEST(DeviceLoop, SlicesAreWrittenInPlace) {
  const auto f = [](const Array& x) {
    return fori_loop(
        0, 9,
        [](Array i, Array a) {
          const Array row = a[i];
          a = at_set(a, i + 1, row * 0.5f + 1);
          return at_set(a, i, row + a[0]);
        },
        x);
  };
  expect_function_lowers(f, f32({12, 40}));
  const Program p = on_device(f, f32({12, 40}));
  ASSERT_EQ(p.loops.size(), 1u);
  EXPECT_EQ(p.loops[0].phases.size(), 1u) << p.fusion_text << print(p);
  EXPECT_EQ(copies(p), 1u) << "only into the loop\n" << print(p);
}

TEST(DeviceLoop, ScansReadAndStackRows) {
  for (const bool reverse : {false, true}) {
    const auto f = [&](const Array& xs, const Array& k) {
      return scan(
          [&](Array c, Array x) {
            const Array next = c * 0.5f + flip(x) * k;
            return std::pair{next, std::pair{sum(next), next + x}};
          },
          k, xs, {.reverse = reverse});
    };
    expect_function_lowers(f, f32({37, 20}), f32({20}));
    const Program p = on_device(f, f32({37, 20}), f32({20}));
    ASSERT_EQ(p.loops.size(), 1u);
    EXPECT_LE(copies(p), 1u) << print(p);
  }
}

TEST(DeviceLoop, LoopsNest) {
  const auto f = [](const Array& x) {
    return fori_loop(
        0, 5,
        [](Array i, Array v) {
          return fori_loop(
              0, 7,
              [&](Array j, Array u) {
                return u * 0.25f + flip(u) * cast(i + j, DType::f32) * 0.01f;
              },
              v + 1);
        },
        x);
  };
  expect_function_lowers(f, f32({30}));
  EXPECT_GE(on_device(f, f32({30})).loops.size(), 2u);
}

TEST(DeviceLoop, ValuesThatChangePlaces) {
  const auto f = [](const Array& x, const Array& y) {
    return fori_loop(
        0, 6,
        [&](Array, std::pair<Array, Array> s) {
          return std::pair{s.second, s.first + s.second * 0.5f};
        },
        std::pair{x, y});
  };
  expect_function_lowers(f, f32({30}), f32({30}));
  const auto both = [](const Array& x) {
    return fori_loop(
        0, 5,
        [&](Array, std::pair<Array, Array> s) {
          const Array next = flip(s.first) + s.second;
          return std::pair{next, next};
        },
        std::pair{x, x});
  };
  expect_function_lowers(both, f32({30}));
}

/// Halves and mixes until the sum is small.
const auto shrinking = [](int max_steps) {
  return [max_steps](const Array& x, const Array& limit) {
    return while_loop([&](const Array& v) { return sum(v * v) > limit; },
                      [](Array v) { return v * 0.5f + flip(v) * 0.25f; }, x,
                      max_steps < 0 ? WhileOptions{.max_steps = unbounded}
                                    : WhileOptions{.max_steps = max_steps});
  };
};

TEST(DeviceLoop, TheDeviceDecidesWhenToStop) {
  for (const int most : {0, 1, 2, 3, 7, 8, 100, -1})
    expect_function_lowers(
        [&](const Array& x, const Array& limit) {
          return shrinking(most)(x, abs(limit) * 0.001f + 1e-4f);
        },
        f32({60}), f32({}));
  const Program p = on_device(shrinking(-1), f32({60}), f32({}));
  EXPECT_EQ(p.gated.size(), 1u) << p.fusion_text << print(p);
}

TEST(DeviceLoop, AConditionThatDoesNotHoldLeavesTheStart) {
  expect_function_lowers(
      [](const Array& x) {
        return while_loop([&](const Array& v) { return v[0] > 1e9f; },
                          [](Array v) { return v + flip(v); }, x, {.max_steps = 50});
      },
      f32({40}));
}

TEST(DeviceLoop, GatedLoopsInPlace) {
  // Newton's method with a counter and a history, everything overwritten.
  const auto f = [](const Array& x) {
    using State = std::tuple<Array, Array, Array>;
    return while_loop(
        [](const State& s) { return (max(abs(std::get<1>(s))) > 1e-3f) & (std::get<2>(s) < 30); },
        [&](State s) {
          const auto& [v, step, n] = s;
          const Array next = (v * v - abs(x)) / (v * 2 + 1e-3f);
          return State{v - next, next, n + 1};
        },
        State{abs(x) + 1, x + 5, full({}, 0, DType::i32)}, {.max_steps = 40});
  };
  expect_function_lowers(f, f32({50}));
  const Program p = on_device(f, f32({50}));
  ASSERT_EQ(p.gated.size(), 1u);
  EXPECT_EQ(copies(p), 0u) << p.fusion_text << print(p);
}

TEST(DeviceLoop, GatesThatDifferInWhatTheyLetRunAreOneKernel) {
  // Loops whose carried values are double-buffered have two gates, and one at their end.
  const auto flips = [](const Array& x) {
    const auto loop = [](float factor, int most, const Array& v) {
      using State = std::pair<Array, Array>;
      return while_loop([](const State& s) { return s.second; },
                        [=](State s) {
                          const Array next = s.first * factor + flip(s.first) * 0.1f;
                          return State{next, sum(next * next) > 1.0f};
                        },
                        State{v, full({}, 1, DType::boolean)}, {.max_steps = most})
          .first;
    };
    return loop(0.25f, 9, loop(0.5f, 30, x));
  };
  expect_function_lowers(flips, f32({40}));
  const Program p = on_device(flips, f32({40}));
  ASSERT_EQ(p.gated.size(), 2u) << print(p);
  std::set<std::string> kernels;
  std::size_t gates = 0, most_words = 0;
  for (const Step& s : p.steps) {
    if (s.label != "gate") continue;
    kernel::Kernel k = p.kernels[s.kernel];
    k.name = "gate";
    kernels.insert(kernel::print(k));
    gates += 1;
    most_words = std::max(most_words, s.parameters.size());
  }
  EXPECT_EQ(gates, 6u) << print(p);
  EXPECT_EQ(kernels.size(), 2u) << print(p);
  EXPECT_GT(most_words, 0u);
}

TEST(DeviceLoop, GatedLoopsInLoops) {
  const auto inner = [](const Array& v, int most) {
    return while_loop([](const Array& u) { return sum(u * u) > 1.0f; },
                      [](Array u) { return u * 0.5f + flip(u) * 0.25f; }, v, {.max_steps = most});
  };
  const auto in_counted = [&](const Array& x) {
    return fori_loop(
        0, 5, [&](Array i, Array v) { return inner(v * 3 + cast(i, DType::f32), 9) + x; }, x);
  };
  expect_function_lowers(in_counted, f32({40}));
  const auto in_gated = [&](const Array& x) {
    return while_loop([](const std::pair<Array, Array>& s) { return s.second < 7; },
                      [&](std::pair<Array, Array> s) {
                        const Array v = inner(s.first + flip(x), 4);
                        return std::pair{inner(v * 4 + x, 20), s.second + 2};
                      },
                      std::pair{x, full({}, 0, DType::i32)}, {.max_steps = 20});
  };
  expect_function_lowers(in_gated, f32({40}));
  const auto long_inside = [&](const Array& x) {
    return while_loop([](const Array& v) { return sum(abs(v)) > 0.1f; },
                      [](Array v) {
                        return fori_loop(
                            0, 90,
                            [](Array i, Array u) {
                              return u * 0.9f + flip(u) * 0.09f + cast(i, DType::f32) * 1e-6f;
                            },
                            v);
                      },
                      x, {.max_steps = 5});
  };
  expect_function_lowers(long_inside, f32({40}));
}

TEST(DeviceLoop, LanesThatStopStayAsTheyAre) {
  // Lanes that look at their neighbours cannot share nothing: no kernel over lanes.
  const auto f = [](const Array& xs) {
    return vmap([](const Array& x) {
      return while_loop([](const Array& v) { return sum(v) > 0.5f; },
                        [](Array v) { return v * 0.5f + flip(v) * 0.25f; }, abs(x),
                        {.max_steps = 30});
    })(xs * 3);
  };
  expect_function_lowers(f, f32({9, 12}));
}

TEST(DeviceLoop, TracedBounds) {
  const auto f = [](const Array& x, const Array& n) {
    return fori_loop(
        2, cast(abs(n) * 10, DType::i32) + 3,
        [](Array i, Array v) { return v * 0.5f + flip(v) * 0.4f + cast(i, DType::f32); }, x,
        {.max_steps = 50});
  };
  expect_function_lowers(f, f32({40}), f32({}));
}

TEST(DeviceLoop, TheDeviceChoosesASide) {
  const auto mix = [](const Array& x, int trips) {
    return fori_loop(
        0, trips, [](Array, Array v) { return v * 0.5f + flip(v) * 0.4f; }, x);
  };
  for (const float limit : {-100.0f, 100.0f}) {
    const auto f = [&](const Array& x) {
      return cond(
          sum(x) > limit,
          [&] {
            return std::pair{mix(x, 7), sum(x)};
          },
          [&] {
            return std::pair{flip(x) + 1, sum(x * x)};
          });
    };
    expect_function_lowers(f, f32({40}));
    EXPECT_EQ(on_device(f, f32({40})).gated.size(), 1u);
  }
  // In loops, by their number; sides that hold gated loops; sides that do nothing.
  const auto g = [&](const Array& x) {
    return fori_loop(
        0, 8,
        [&](Array i, Array v) {
          return switch_(i % 4, std::tuple{[&] { return mix(v, 3) + x; }, [&] { return v; },
                                           [&] {
                                             return while_loop(
                                                 [](const Array& u) { return sum(u * u) > 3.0f; },
                                                 [](Array u) { return u * 0.5f + flip(u) * 0.25f; },
                                                 v * 5, {.max_steps = 20});
                                           },
                                           [&] { return flip(v) + cast(i, DType::f32); }});
        },
        x);
  };
  expect_function_lowers(g, f32({40}));
  const auto by_number = [&](const Array& x) {
    return fori_loop(
        0, 5,
        [&](Array i, Array v) {
          return switch_(i, std::tuple{[&] { return mix(v, 3) + x; }, [&] { return mix(v, 40); },
                                       [&] { return x; }});
        },
        x);
  };
  expect_function_lowers(by_number, f32({40}));
}

TEST(DeviceLoop, TilesOfProductsAreAddedInPlace) {
  const auto f = [](const Array& a, const Array& b) {
    return fori_loop(
        0, 4, [&](Array, Array c) { return c * 0.5f + matmul(b, transpose(b)) * 0.01f; }, a);
  };
  expect_function_lowers(f, f32({64, 64}), f32({64, 64}));
  const auto g = [](const Array& a, const Array& b) {
    return fori_loop(
        0, 4,
        [&](Array i, Array c) {
          const Array column = b * cast(i + 1, DType::f32);
          return c - matmul(column, transpose(column)) * 0.01f;
        },
        a);
  };
  for (const Dim n : {64, 67}) expect_function_lowers(g, f32({n, n}), f32({n, 40}));
}

/// A driver that stops a kernel after a few hundred loop trips.
Target impatient() {
  Target t = Target::lavapipe();
  t.loop_budget = 300;
  return t;
}

template <class F, class... A>
Program expect_slices(F f, const A&... inputs) {
  std::vector<HostArray> host;
  std::uint32_t seed = 1;
  (host.push_back(random_array(inputs, seed++)), ...);
  const Graph g = [&] {
    Trace outer;
    return make_graph(f, outer.input(inputs)...).graph;
  }();
  const Program p = compile(g, impatient(), {.name = "test", .keep_text = true});
  EXPECT_NE(p.fusion_text.find("slices of"), std::string::npos) << p.fusion_text;
  const auto want = evaluate(g, host), got = run_on_host(p, host);
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_EQ(difference(got[i], want[i], 1e-4), "") << p.fusion_text << print(p);
  return p;
}

struct Counted {
  Array x, steps;
};

/// Steps until `x` is large or there are as many as `limit`.
Counted count_up(const Array& x, const Array& limit, StepBound most) {
  return while_loop([&](const Counted& s) { return s.steps < limit; },
                    [&](Counted s) {
                      return Counted{s.x * 1.001f + x, s.steps + 1};
                    },
                    Counted{x, zeros({}, DType::i32)}, {.max_steps = most});
}

TEST(DeviceLoop, ASliceOfOneLaneIsItsOwnGate) {
  const auto f = [](const Array& x, const Array& limit) {
    return while_loop([&](const Counted& s) { return s.x < limit && s.steps < 900; },
                      [](Counted s) {
                        return Counted{s.x * 1.001f + 0.5f, s.steps + 1};
                      },
                      Counted{abs(x), zeros({}, DType::i32)}, {.max_steps = 5000});
  };
  const Program p = expect_slices(f, f32({}), f32({}));
  ASSERT_EQ(p.gated.size(), 1u);
  EXPECT_EQ(p.gated[0].end - p.gated[0].first, 1u) << print(p);
  EXPECT_EQ(p.loops[0].phases.size(), 1u) << print(p);
}

TEST(DeviceLoop, LanesThatCountTogetherAreSlicedByLanes) {
  for (const int most : {700, 1 << 20}) {
    const auto f = [&](const Array& xs, const Array& limit) {
      const Array steps = cast(abs(limit) * 300 + 600, DType::i32);
      return vmap([&](const Array& x) { return count_up(x, steps, most).x; })(xs);
    };
    const Program p = expect_slices(f, f32({50}), f32({}));
    EXPECT_NE(p.fusion_text.find("lane lanes=50 writes"), std::string::npos) << p.fusion_text;
  }
  // The count is wanted as well.
  const auto g = [&](const Array& xs, const Array& limit) {
    const Array steps = cast(abs(limit) * 300 + 600, DType::i32), start = abs(xs) * 0.01f;
    return while_loop([&](const Counted& s) { return s.steps < steps; },
                      [&](Counted s) {
                        return Counted{s.x * 0.999f + start, s.steps + 1};
                      },
                      Counted{start, zeros({}, DType::i32)}, {.max_steps = 1 << 20});
  };
  expect_slices(g, f32({50}), f32({}));
}

TEST(DeviceLoop, LoopsBeyondTheDriversBudgetRunInSlices) {
  const auto steps = [](StepBound most) {
    return [most](const Array& x) {
      return while_loop([](const Array& v) { return v < 900.0f; },
                        [](Array v) { return v * 1.001f + 0.5f; }, abs(x) * 100,
                        {.max_steps = most});
    };
  };
  for (const int most : {301, 500, 1000, 5000}) expect_slices(steps(most), f32({}));
  expect_slices(steps(unbounded), f32({}));
  expect_slices([&](const Array& xs) { return vmap(steps(700))(xs); }, f32({50}));
  expect_slices([&](const Array& xs) { return vmap(steps(unbounded))(xs); }, f32({50}));
  for (const bool reverse : {false, true}) {
    const auto sums = [&](const Array& xs) {
      return scan(
          [](Array c, Array x) {
            const Array next = c * 0.9f + x;
            return std::pair{next, next * 2};
          },
          0.0f, xs, {.reverse = reverse});
    };
    expect_slices(sums, f32({1200}));
    expect_slices([&](const Array& xs) { return vmap(sums)(xs); }, f32({9, 1200}));
  }
}

}  // namespace
}  // namespace gnomon::testing
