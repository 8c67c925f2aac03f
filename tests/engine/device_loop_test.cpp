// tests/engine/device_loop_test.cpp -- loops of several kernels per iteration on the device: long
// ones in chunks, nests, barriers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/compile/pipeline.h"
#include "codegen/graph/evaluate.h"
#include "engine/runtime/loop_scheduler.h"
#include "gnomon/control.h"
#include "gnomon/indexing.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

class DeviceLoops : public DeviceTest {
 protected:
  template <class F, class... A>
  Program compiled(F f, const A&... inputs) {
    Trace outer;
    graph_ = make_graph(f, outer.input(inputs)...).graph;
    return compile(graph_, rt.target(), options(LoopMapping::device));
  }
  static CompileOptions options(LoopMapping loops) {
    return {.name = "test", .loops = loops, .keep_text = true};
  }

  std::vector<Array> on_device(const Program& p, const std::vector<HostArray>& inputs,
                               const ExecutableOptions& options = {}) {
    std::vector<Array> in;
    for (const HostArray& a : inputs) in.push_back(rt.from_bytes(a.aval, a.bytes));
    return run(p, in, options);
  }

  /// Loops run as kernels of their own, and as one workgroup that plays them, and mean what the
  /// reference says.
  template <class F, class... A>
  Program expect_runs(F f, const A&... inputs) {
    const Program p = compiled(f, inputs...);
    EXPECT_FALSE(p.loops.empty()) << p.fusion_text;
    std::vector<HostArray> host;
    std::uint32_t seed = 1;
    (host.push_back(random_array(inputs, seed++)), ...);
    const auto want = evaluate(graph_, host);
    const Program by_group = compile(graph_, rt.target(), options(LoopMapping::workgroup));
    for (const Program* program : {&p, &by_group}) {
      const auto got = on_device(*program, host);
      for (std::size_t i = 0; i < want.size(); ++i) {
        HostArray a(want[i].aval);
        rt.to_bytes(got[i], a.bytes);
        EXPECT_EQ(difference(a, want[i], 1e-4), "") << program->fusion_text << print(*program);
      }
    }
    return p;
  }

  Graph graph_;
};

const auto mixing = [](int trips) {
  return [trips](const Array& x) {
    return fori_loop(
        0, trips, [](Array i, Array v) { return v * 0.5f + flip(v) * 0.4f + cast(i, DType::f32); },
        x);
  };
};

TEST_F(DeviceLoops, OfAnyLength) {
  for (const int trips : {1, 2, 3, 32, 33, 255, 256, 257, 700, 1001})
    expect_runs(mixing(trips), f32(100));
}

TEST_F(DeviceLoops, AreRecordedInChunks) {
  const Program p = compiled(mixing(1001), f32(100));
  const Submission submission = write_out(schedule_of(p, rt.target()));
  std::size_t recorded = 0, played = 0;
  for (const auto& stretch : submission.stretches) recorded += stretch.size();
  for (const Segment& segment : submission.segments)
    for (const std::uint32_t s : segment.order) played += submission.stretches[s].size();
  EXPECT_LT(recorded, 600u);
  EXPECT_GE(played, 1001u);
  EXPECT_LT(played, 1001u + 10);
}

TEST_F(DeviceLoops, WriteHistoriesInPlace) {
  const Program p = expect_runs(
      [](const Array& x) {
        return scan(
            [](Array c, Array row) {
              const Array next = c * 0.5f + flip(row) * sum(c) * 0.01f;
              return std::pair{next, next};
            },
            x[0], x);
      },
      Aval{DType::f32, {300, 40}});
  EXPECT_EQ(
      std::count_if(p.steps.begin(), p.steps.end(),
                    [](const Step& s) { return s.kind == Step::Kind::copy && s.bytes > 40 * 4; }),
      0);
}

TEST_F(DeviceLoops, InLoops) {
  const auto nest = [](int outer, int inner) {
    return [=](const Array& x) {
      return fori_loop(
          0, outer,
          [&](Array i, Array v) {
            const Array start = v * 0.5f + cast(i, DType::f32) * 0.1f;
            return fori_loop(
                0, inner,
                [&](Array j, Array u) {
                  return u * 0.5f + flip(u) * 0.4f + cast(i * j, DType::f32) * 0.001f;
                },
                start);
          },
          x);
    };
  };
  expect_runs(nest(5, 7), f32(50));
  expect_runs(nest(40, 9), f32(50));
  expect_runs(nest(6, 300), f32(50));
  expect_runs(nest(40, 301), f32(50));
}

/// Bitonic sort: every stage a kernel that reads at two places.
Array bitonic(const Array& x) {
  const int n = static_cast<int>(x.size());
  int bits = 0;
  while (1 << bits < n) ++bits;
  const Array lane = arange(n);
  const auto stage = [&](Array, std::tuple<Array, Array, Array> s) {
    const auto& [v, k, j] = s;
    const Array partner = lane ^ (1 << j);
    const Array other = take(v, partner);
    const Array up = ((lane >> k) & 1) == 0;
    const Array first = partner > lane;
    const Array next = where(up == first, minimum(v, other), maximum(v, other));
    const Array done = j == 0;
    return std::tuple{next, where(done, k + 1, k), where(done, k, j - 1)};
  };
  return std::get<0>(fori_loop(0, bits * (bits + 1) / 2, stage,
                               std::tuple{x, full({}, 1, DType::i32), full({}, 0, DType::i32)}));
}

TEST_F(DeviceLoops, Sort) { expect_runs(bitonic, f32(1 << 10)); }

/// Halves and mixes until the sum is small enough.
Array until(const Array& x, float limit, StepBound most) {
  return while_loop([=](const Array& v) { return sum(v * v) > limit; },
                    [](Array v) { return v * 0.6f + flip(v) * 0.3f; }, x, {.max_steps = most});
}

TEST_F(DeviceLoops, StopWhenTheDeviceSaysSo) {
  for (const int most : {1, 2, 3, 50, 5000})
    expect_runs([&](const Array& x) { return until(x, 1e-3f, most); }, f32(300));
  expect_runs([&](const Array& x) { return until(x, 1e-3f, unbounded); }, f32(300));
  expect_runs([&](const Array& x) { return until(x, 1e9f, unbounded); }, f32(300));
}

TEST_F(DeviceLoops, OfNoStepsAreNone) {
  const Program p = compiled([&](const Array& x) { return until(x, 1e-3f, 0); }, f32(300));
  EXPECT_TRUE(p.loops.empty()) << p.fusion_text;
  const HostArray x = random_array(f32(300), 1);
  HostArray got(x.aval);
  rt.to_bytes(on_device(p, {x})[0], got.bytes);
  EXPECT_EQ(got, x);
}

TEST_F(DeviceLoops, TakeManySteps) {
  const auto f = [](const Array& x) {
    return while_loop([](const std::pair<Array, Array>& s) { return s.second < 3001; },
                      [](std::pair<Array, Array> s) {
                        return std::pair{s.first * 0.5f + flip(s.first) * 0.5f, s.second + 1};
                      },
                      std::pair{x, full({}, 0, DType::i32)}, {.max_steps = unbounded});
  };
  expect_runs(f, f32(50));
}

TEST_F(DeviceLoops, StopInsideOfLoops) {
  expect_runs(
      [](const Array& x) {
        return fori_loop(
            0, 20, [&](Array i, Array v) { return until(v * 4 + cast(i, DType::f32), 10, 50) + x; },
            x);
      },
      f32(60));
  expect_runs(
      [](const Array& x) {
        return while_loop([](const Array& v) { return sum(v * v) > 1.0f; },
                          [&](Array v) {
                            const Array inner = until(v + flip(x), 5, 10);
                            return until(inner * 0.5f, 0.3f, 100);
                          },
                          x, {.max_steps = 40});
      },
      f32(60));
}

TEST_F(DeviceLoops, ChooseASide) {
  expect_runs(
      [](const Array& x) {
        return fori_loop(
            0, 9,
            [&](Array i, Array v) {
              return switch_(
                  i % 3,
                  std::tuple{[&] { return until(v * 4, 5, 30); }, [&] { return flip(v) + 1; },
                             [&] {
                               return fori_loop(
                                   0, 3, [](Array, Array u) { return u * 0.5f + flip(u) * 0.4f; },
                                   v);
                             }});
            },
            x);
      },
      f32(70));
}

/// Three branches that take products of products, a product and a sum over rows.
Array of_products(const Array& index, const Array& a, const Array& b) {
  return switch_(
      index,
      std::tuple{[](const Array& x, const Array& y) { return matmul(x, matmul(y, x)); },
                 [](const Array& x, const Array& y) { return tanh(matmul(x, transpose(y))); },
                 [](const Array& x, const Array& y) { return x * expand_dims(sum(y * x, 1), 1); }},
      a, b);
}

/// Programs with such branches, as they are compiled by default.
class HeavyBranches : public DeviceLoops {
 protected:
  static constexpr Dim n = 48;  // such that one kernel of all would take 110,592 trips
  template <class F>
  Program expect_right(F f, std::vector<Aval> inputs) {
    Trace outer;
    std::vector<Array> traced;
    for (const Aval& a : inputs) traced.push_back(outer.input(a));
    graph_ = make_graph(f, traced[0], traced[1], traced[2]).graph;
    const Program p = compile(graph_, rt.target(), options(LoopMapping::automatic));
    for (int which = -1; which < 4; ++which) {
      std::vector<HostArray> host;
      for (std::uint32_t i = 0; i < 3; ++i) host.push_back(random_array(inputs[i], i + 1));
      for (Dim i = 0; i < host[0].size(); ++i)
        host[0].set_number(i, static_cast<double>(which) + static_cast<double>(i % 2));
      const HostArray want = evaluate(graph_, host)[0];
      HostArray got(want.aval);
      rt.to_bytes(on_device(p, host)[0], got.bytes);
      EXPECT_EQ(difference(got, want, 2e-4), "") << which << "\n" << p.fusion_text;
    }
    return p;
  }
};

TEST_F(HeavyBranches, RunAsKernelsOfTheirOwn) {
  const Program p = expect_right(of_products, {i32({}), f32({n, n}), f32({n, n})});
  EXPECT_THAT(p.fusion_text, ::testing::HasSubstr("us element by element"));
  EXPECT_EQ(p.gated.size(), 1u);
}

TEST_F(HeavyBranches, OfSumsThatOneLaneWouldWalk) {
  const Program p = expect_right(
      [](const Array& index, const Array& x, const Array& y) {
        return cond(
            index > 0, [&] { return sum(sin(x) * y); }, [&] { return max(x); });
      },
      {i32({}), f32(100000), f32(100000)});
  EXPECT_EQ(p.gated.size(), 1u);
}

TEST_F(HeavyBranches, HaveGradients) {
  expect_right(
      [](const Array& index, const Array& a, const Array& b) {
        return grad([&](const Array& x) { return sum(of_products(index, x, b)); })(a);
      },
      {i32({}), f32({n, n}), f32({n, n})});
}

TEST_F(HeavyBranches, ByLane) {
  expect_right(
      [](const Array& index, const Array& a, const Array& b) {
        return vmap([&](const Array& i, const Array& x) { return of_products(i, x, b); })(index, a);
      },
      {i32({3}), f32({3, n, n}), f32({n, n})});
}

TEST_F(HeavyBranches, InLoops) {
  const Program p = expect_right(
      [](const Array& index, const Array& a, const Array& b) {
        return fori_loop(
            0, 4,
            [&](const Array& i, const Array& x) {
              const Array y = of_products((index + i) % 3, x, b);
              return y / (1 + max(abs(y)));
            },
            a);
      },
      {i32({}), f32({n, n}), f32({n, n})});
  EXPECT_THAT(p.fusion_text, ::testing::HasSubstr("us element by element"));
}

TEST_F(DeviceLoops, BeyondTheDriversBudgetGoOnInFurtherDispatches) {
  // Lanes on trip counts of their own, up to 200,000: one kernel where the driver allows it.
  const auto f = [](const Array& x) {
    return vmap([](const Array& v) {
      return while_loop([](const Array& u) { return u < 1e6f; }, [](Array u) { return u + 8; },
                        floor(abs(v) * 1e5f), {.max_steps = 200000});
    })(x);
  };
  Trace outer;
  const Graph g = make_graph(f, outer.input(f32(40))).graph;
  const Program p = compile(g, rt.target(), {.name = "test", .keep_text = true});
  EXPECT_EQ(p.gated.empty(), rt.target().loop_budget == 0) << p.fusion_text;
  const HostArray host = random_array(f32(40), 3);
  const auto want = evaluate(g, {host});
  HostArray got(want[0].aval);
  rt.to_bytes(on_device(p, {host})[0], got.bytes);
  EXPECT_EQ(difference(got, want[0], 0), "") << p.fusion_text;
}

TEST_F(DeviceLoops, RunAgainWithOtherData) {
  const Program p = compiled([](const Array& x) { return until(x, 1e-3f, unbounded); }, f32(100));
  Executable executable(context(), p);
  for (std::uint32_t seed = 1; seed < 8; ++seed) {
    HostArray host = random_array(f32(100), seed);
    for (Dim i = 0; i < host.size(); ++i) host.set_number(i, host.number(i) * seed * seed);
    std::vector<Array> in{rt.from_bytes(host.aval, host.bytes)}, out;
    executable.run(in, out);
    HostArray got(host.aval);
    rt.to_bytes(out[0], got.bytes);
    EXPECT_EQ(difference(got, evaluate(graph_, {host})[0], 1e-4), "") << seed;
  }
}

class DeviceLoopBarriers : public DeviceLoops {
 protected:
  void TearDown() override { EXPECT_EQ(rt.memory().live_ranges, 0u); }
};

TEST_F(DeviceLoopBarriers, DroppedAreReported) {
  const Program p = compiled(mixing(20), f32(100));
  ExecutableOptions options;
  options.drop_barriers = true;
  on_device(p, {random_array(f32(100), 1)}, options);
  rt.wait();
  std::size_t hazards = 0;
  for (const auto& message : rt.validation_messages())
    hazards += message.find("SYNC-HAZARD") != std::string::npos;
  EXPECT_GT(hazards, 0u);
}

// The stage that reads numbers of workgroups waits for them alone.
TEST_F(DeviceLoopBarriers, AreForCountsWhereAGateWroteThemAndNowhereElse) {
  const Program p = compiled([](const Array& x) { return until(x, 1e-3f, 20); }, f32(100));
  const Schedule schedule = schedule_of(p, rt.target());
  ASSERT_EQ(p.gated.size(), 1u);
  std::size_t gates = 0, decided = 0;
  for (std::uint32_t s = p.gated[0].first; s < p.gated[0].end; ++s) {
    const bool is_gate = p.steps[s].label.find("gate") != std::string::npos;
    EXPECT_EQ(schedule.steers[s], is_gate) << p.steps[s].label << print(p);
    (is_gate ? gates : decided) += 1;
  }
  EXPECT_GT(gates, 0u);
  EXPECT_GT(decided, 0u);
  for (std::uint32_t s = 0; s < p.gated[0].first; ++s)
    EXPECT_FALSE(schedule.steers[s] && p.steps[s].label.find("begin") == std::string::npos)
        << p.steps[s].label;
}

TEST_F(DeviceLoopBarriers, DroppedBetweenAGateAndWhatItDecidesAreReported) {
  const Program p = compiled([](const Array& x) { return until(x, 1e-3f, 20); }, f32(100));
  ExecutableOptions options;
  options.drop_barriers = true;
  on_device(p, {random_array(f32(100), 1)}, options);
  rt.wait();
  std::size_t hazards = 0;
  for (const auto& message : rt.validation_messages())
    hazards += message.find("SYNC-HAZARD") != std::string::npos &&
               message.find("vkCmdDispatchIndirect") != std::string::npos;
  EXPECT_GT(hazards, 0u);
}

TEST_F(DeviceLoopBarriers, MissingBetweenIterationsAreReportedByName) {
  Program p = compiled(mixing(20), f32(100));
  ASSERT_EQ(p.loops.size(), 1u);
  p.steps[p.loops[0].first].barrier_before = false;
  EXPECT_FALSE(missing_barriers(p).empty());
}

}  // namespace
}  // namespace gnomon::testing
