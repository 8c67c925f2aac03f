// tests/engine/time_slices_test.cpp -- long loops on the device, slice by slice: exact counts
// whatever the slices are, and slices that grow into their time.
#include <gtest/gtest.h>

#include "codegen/compile/pipeline.h"
#include "engine/runtime/loop_scheduler.h"
#include "engine/runtime/pace.h"
#include "gnomon/control.h"
#include "gnomon/debug.h"
#include "gnomon/error.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

/// Steps of a generator whose state says how many were taken.
constexpr std::uint32_t factor = 1664525, addend = 1013904223;
Array next(const Array& x) { return x * factor + addend; }
std::uint32_t after(std::uint64_t steps, std::uint32_t x) {
  for (std::uint64_t i = 0; i < steps; ++i) x = x * factor + addend;
  return x;
}

class TimeSlicesOnDevice : public DeviceTest {
 protected:
  template <class F, class... A>
  Program compiled(std::uint64_t slice_work, F f, const A&... inputs) {
    Target target = rt.target();
    target.slice_work = slice_work;
    target.few_slices = 16;
    Trace outer;
    return compile(make_graph(f, outer.input(inputs)...).graph, target,
                   {.name = "test", .keep_text = true});
  }
};

TEST_F(TimeSlicesOnDevice, TakeExactlyTheStepsThatTheBoundAllows) {
  for (const std::uint64_t steps : {100'000ull, 10'000'000ull}) {
    const auto bounded = [&](const Array& x) {
      return while_loop([](const Array&) { return full({}, true); },
                        [](const Array& v) { return next(v); }, x,
                        {.max_steps = static_cast<Dim>(steps)});
    };
    const auto counted = [&](const Array& x) {
      return fori_loop(
          0, static_cast<Dim>(steps), [](const Array&, const Array& v) { return next(v); }, x);
    };
    const auto by_data = [&](const Array& x) {
      struct State {
        Array v, n;
      };
      return while_loop([&](const State& s) { return s.n < static_cast<std::int64_t>(steps); },
                        [](const State& s) {
                          return State{next(s.v), s.n + 1};
                        },
                        State{x, zeros({}, DType::i32)}, {.max_steps = unbounded})
          .v;
    };
    const std::uint32_t want = after(steps, 7);
    const auto check = [&](const Program& p, const char* which) {
      Executable executable(context(), p);
      for (int call = 0; call < 3; ++call) {
        std::vector<Array> in{rt.from_host(std::uint32_t{7})}, out;
        executable.run(in, out);
        EXPECT_EQ(rt.item<std::uint32_t>(out[0]), want)
            << which << " " << steps << " call " << call << "\n"
            << p.fusion_text;
      }
    };
    const Aval a{DType::u32, {}};
    for (const std::uint64_t work : {steps / 40, steps / 1000}) {
      check(compiled(work, bounded, a), "bounded");
      check(compiled(work, counted, a), "counted");
      check(compiled(work, by_data, a), "by data");
    }
  }
}

TEST_F(TimeSlicesOnDevice, OfCountedLoopsAreAFewToAChunk) {
  // One that a driver without a limit on trips would take whole.
  const auto counted = [](const Array& x) {
    return fori_loop(
        0, 100'000, [](const Array&, const Array& v) { return next(v); }, x);
  };
  const Program p = compiled(1000, counted, Aval{DType::u32, {}});
  const Submission s = write_out(schedule_of(p, rt.target()));
  std::size_t looks = 0;
  for (const Segment& segment : s.segments) looks += segment.borders.size();
  EXPECT_GE(looks + 64 * p.gated.size(), 8u) << print(p);
  for (const Stretch& stretch : s.stretches) EXPECT_LE(stretch.size(), 8u) << print(p);
}

TEST_F(TimeSlicesOnDevice, GiveEveryLaneItsOwnSteps) {
  constexpr Dim lanes = 100;
  constexpr Dim most = 100'000;
  const auto f = [&](const Array& limits) {
    return vmap([&](const Array& limit) {
      struct State {
        Array v, n;
      };
      const State end =
          while_loop([&](const State& s) { return s.n < limit; },
                     [](const State& s) {
                       return State{next(s.v), s.n + 1};
                     },
                     State{cast(limit, DType::u32), zeros({}, DType::i32)}, {.max_steps = most});
      return std::pair{end.v, end.n};
    })(limits);
  };
  const Program p = compiled(20'000, f, Aval{DType::i32, Shape(lanes)});
  ASSERT_EQ(p.gated.size(), 1u) << p.fusion_text;
  EXPECT_TRUE(p.gated[0].slices.has_value() || rt.target().loop_budget > 0) << p.fusion_text;
  std::vector<std::int32_t> limits(lanes);
  for (Dim i = 0; i < lanes; ++i)
    limits[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i * i * 12);
  Executable executable(context(), p);
  for (int call = 0; call < 3; ++call) {
    std::vector<Array> in{rt.from_host(limits)}, out;
    executable.run(in, out);
    const auto values = rt.to_host<std::uint32_t>(out[0]);
    const auto steps = rt.to_host<std::int32_t>(out[1]);
    for (std::size_t i = 0; i < limits.size(); ++i) {
      const std::int32_t taken = std::min<std::int32_t>(limits[i], most);
      ASSERT_EQ(steps[i], taken) << i;
      ASSERT_EQ(values[i],
                after(static_cast<std::uint64_t>(taken), static_cast<std::uint32_t>(limits[i])))
          << i;
    }
  }
}

TEST(TimeSlice, IsPositive) {
  RuntimeOptions options;
  for (const double ms : {0.0, -1.0}) {
    options.time_slice_ms = ms;
    EXPECT_THROW(Runtime{options}, UsageError);
  }
}

// ---- Pace, without a device

using Clock = Pace::Clock;

GatedBlock block_of(std::uint64_t first, std::uint64_t most, std::uint64_t most_steps) {
  GatedBlock block;
  block.slices = Slices{{}, first, most, 1};
  block.most_steps = most_steps;
  return block;
}

/// Submits chunks, two at a time, to a device that takes `us` microseconds per step, until `count`
/// of them have ended; the steps of their slices.
std::vector<std::uint64_t> slices_of(Pace& pace, double us, int count) {
  std::vector<std::uint64_t> steps;
  std::vector<double> took;
  double now = 1e6, busy = now;
  const auto at = [](double t) {
    return Clock::time_point(std::chrono::microseconds(static_cast<std::int64_t>(t)));
  };
  for (int i = 0; i < count; ++i) {
    const Pace::Chunk c = pace.next();
    pace.submitted(at(now));
    steps.push_back(c.steps);
    took.push_back(static_cast<double>(c.passes * c.steps) * us);
    if (i == 0) continue;
    busy += took[static_cast<std::size_t>(i) - 1];
    now = busy;
    pace.ended(at(now), true, false);
  }
  return steps;
}

TEST(Pace, GrowsIntoTheTimeOfASlice) {
  const GatedBlock block = block_of(1000, 0, 0);
  std::uint64_t begin = 1000;
  Pace pace(block, begin, 50, false, true);
  const auto steps = slices_of(pace, 0.5, 12);
  EXPECT_EQ(steps[0], 1000u);
  EXPECT_EQ(steps[1], 1000u) << "nothing is known yet";
  EXPECT_EQ(steps[2], 4000u) << "not everything at once";
  EXPECT_NEAR(static_cast<double>(steps.back()), 100000, 1000);
  EXPECT_EQ(begin, 4000u) << "the next call begins with what its first slice may take";
}

TEST(Pace, ShrinksWhereSlicesTakeTooLong) {
  const GatedBlock block = block_of(1'000'000, 0, 0);
  std::uint64_t begin = 1'000'000;
  Pace pace(block, begin, 50, false, true);
  EXPECT_NEAR(static_cast<double>(slices_of(pace, 0.5, 8).back()), 100000, 1000);
  EXPECT_LT(begin, 200'000u);
}

TEST(Pace, StaysBelowTheDriversLimitAndSubmitsMoreInstead) {
  const GatedBlock block = block_of(1000, 4000, 0);
  std::uint64_t begin = 1000;
  Pace pace(block, begin, 50, false, true);
  EXPECT_EQ(slices_of(pace, 0.5, 10).back(), 4000u);
  EXPECT_GT(pace.next().passes, 4u);
}

TEST(Pace, EndsWithTheBound) {
  const GatedBlock block = block_of(1000, 1000, 30'500);
  std::uint64_t begin = 1000;
  Pace pace(block, begin, 50, false, false);
  EXPECT_FALSE(pace.whole().has_value());
  std::uint64_t passes = 0;
  for (int i = 0;; ++i) {
    ASSERT_LT(i, 100);
    const Pace::Chunk c = pace.next();
    passes += c.passes;
    if (c.last) break;
    pace.submitted(Clock::now());
  }
  EXPECT_EQ(passes, 32u) << "31 slices, and a pass for what comes behind them";
  std::uint64_t few = 4000;
  EXPECT_EQ(Pace(block_of(4000, 0, 9'500), few, 50, false, false).whole()->passes, 4u);
}

TEST(Pace, LearnsNothingWhereTheDeviceWasBusyOrTheLoopEnded) {
  const GatedBlock block = block_of(1000, 0, 0);
  std::uint64_t begin = 1000;
  Pace pace(block, begin, 50, false, false);
  pace.next();
  pace.submitted(Clock::time_point(std::chrono::seconds(1)));
  pace.next();
  pace.submitted(Clock::time_point(std::chrono::seconds(1)));
  pace.ended(Clock::time_point(std::chrono::seconds(9)), true, false);
  EXPECT_EQ(pace.next().steps, 1000u);
  pace.submitted(Clock::time_point(std::chrono::seconds(9)));
  pace.ended(Clock::time_point(std::chrono::seconds(9)), true, true);
  EXPECT_EQ(begin, 1000u);
}

}  // namespace
}  // namespace gnomon::testing
