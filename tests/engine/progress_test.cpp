// tests/engine/progress_test.cpp -- loops in parts: what on_step hears, and calls that end early.
#include "gnomon/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <utility>

#include "gnomon/control.h"
#include "gnomon/debug.h"
#include "gnomon/jit.h"
#include "gnomon/numeric.h"
#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using ::testing::HasSubstr;

/// Ends a call when so many steps were taken, and keeps what it heard.
struct Listener {
  std::vector<Progress> heard;
  std::uint64_t enough = ~std::uint64_t{0};
  CancelToken token;
};

class LongCalls : public DeviceTest {
 protected:
  LongCalls() {
    rt.on_step([this](const Progress& p) {
      EXPECT_EQ(p.function, "walk");
      if (!ear.heard.empty()) {
        EXPECT_GE(p.steps, ear.heard.back().steps);
      }
      ear.heard.push_back(p);
      if (p.steps >= ear.enough) ear.token.cancel();
    });
    rt.cancel_with(ear.token);
  }
  template <class F>
  std::string cancelled(F&& f) {
    try {
      f();
    } catch (const Cancelled& e) {
      return e.what();
    }
    return "";
  }
  template <class F>
  auto walk(F f) {
    return jit(rt, std::move(f), {.name = "walk"});
  }
  Array ones(std::size_t n) { return rt.from_host(std::vector<float>(n, 1.0f)); }
  Listener ear;
};

/// How often a loop of a second is heard depends on how quick the device is; at its end alone it
/// would be once.
constexpr std::size_t more_than_once = 2;

/// A step that mixes elements: kernels of its own per step where there are many elements.
Array mix(const Array& v) { return v * 0.5f + flip(v) * 0.5f; }

TEST_F(LongCalls, HearHowFarACountedLoopIs) {
  auto f = walk([](const Array& x) {
    return fori_loop(
        0, 5000, [](const Array&, const Array& v) { return mix(v); }, x);
  });
  const std::vector<float> end = rt.to_host<float>(f(ones(20000)));
  EXPECT_EQ(end[7], 1);
  ASSERT_GE(ear.heard.size(), more_than_once);
  EXPECT_EQ(ear.heard.back().steps, 5000u);
  for (const Progress& p : ear.heard) EXPECT_EQ(p.bound, 5000u);
}

TEST_F(LongCalls, HearHowFarALoopIsThatTheDeviceSteers) {
  auto f = walk([](const Array& x) {
    return while_loop([](const Array& v) { return v[0] < 3000.0f; },
                      [](Array v) { return mix(v) + 1.0f; }, x, {.max_steps = unbounded});
  });
  EXPECT_EQ(rt.to_host<float>(f(ones(20000)))[5], 3000);
  ASSERT_GE(ear.heard.size(), more_than_once);
  EXPECT_GT(ear.heard.back().steps, 100u);
  EXPECT_LE(ear.heard.back().steps, 2999u);
  EXPECT_EQ(ear.heard.back().bound, 0u);
}

TEST_F(LongCalls, EndWhenTheyAreCancelledAndCanBeMadeAgain) {
  // A million steps and more would take minutes to hours.
  auto counted = walk([](const Array& x) {
    return fori_loop(
        0, 1000000, [](const Array&, const Array& v) { return mix(v); }, x);
  });
  auto steered = walk([](const Array& x, const Array& limit) {
    return while_loop([&](const Array& v) { return v[0] < limit; },
                      [](Array v) { return mix(v) + 1.0f; }, x, {.max_steps = 1000000000});
  });
  const Array x = ones(20000);
  ear.enough = 2000;
  EXPECT_THAT(cancelled([&] { counted(x); }),
              ::testing::ContainsRegex("gnomon::run: `walk` was cancelled after [0-9]+ of at most "
                                       "1000000 steps"));
  EXPECT_LT(ear.heard.back().steps, 100000u);
  // A token that is cancelled lets nothing begin.
  const Array far = rt.from_host(1e9f), near = rt.from_host(100.0f);
  EXPECT_THAT(cancelled([&] { steered(x, near); }), HasSubstr("does not start"));
  ear.token.reset();
  ear.heard.clear();
  EXPECT_THAT(cancelled([&] { steered(x, far); }), HasSubstr("of at most 1000000000 steps"));
  EXPECT_LT(ear.heard.back().steps, 1000000u);

  ear.token.reset();
  ear.heard.clear();
  EXPECT_EQ(rt.to_host<float>(steered(x, near))[9], 100);
  rt.on_step({});
  rt.cancel_with({});
  EXPECT_EQ(rt.to_host<float>(steered(x, near))[9], 100);
}

TEST_F(LongCalls, OfSolversAreHeardAndEndedLikeOtherLoops) {
  const ode::OdeTerm rotation{[](const Array&, const Array& y, const None&) { return flip(y); }};
  auto solve = walk([&](const Array& y, const Array& t1) {
    return ode::diffeqsolve(
               rotation, ode::Tsit5(), 0.0, t1, 1e-6, y, none,
               {.controller = ode::PidController{.rtol = 1e-3, .atol = 1e-3, .dtmax = 1e-6},
                .max_steps = 2000000000})
        .stats.steps;
  });
  const Array y = rt.from_host(std::vector<float>{1, -1});
  ear.enough = 1000000;
  EXPECT_THAT(cancelled([&] { solve(y, rt.from_host(10.0f)); }),
              HasSubstr("of at most 2000000000 steps"));
  ASSERT_FALSE(ear.heard.empty());
  EXPECT_EQ(ear.heard.back().bound, 2000000000u);
  ear.token.reset();
  EXPECT_NEAR(rt.to_host<std::int32_t>(solve(y, rt.from_host(1e-3f)))[0], 1000, 5);
}

TEST_F(LongCalls, EndWhileLanesAreInSlices) {
  // Every lane in one kernel, slice by slice.
  auto f = walk([](const Array& xs) {
    return vmap([](const Array& x) {
      return while_loop([](const Array& v) { return v < 1e9f; },
                        [](Array v) { return sqrt(v * v + 1.0f); }, x, {.max_steps = 1000000000});
    })(xs);
  });
  ear.enough = 50000;
  EXPECT_THAT(cancelled([&] { f(ones(64)); }), HasSubstr("of at most 1000000000 steps"));
  EXPECT_LT(ear.heard.back().steps, 500000000u);
}

TEST_F(LongCalls, EndWhileOneLaneTakesStepsWithoutAnEnd) {
  auto endless = walk([](const Array& x, const Array& limit) {
    return while_loop([&](const Array& v) { return v < limit; },
                      [](const Array& v) { return v * 0.5f + 1.0f; }, x, {.max_steps = unbounded});
  });
  const Array x = rt.from_host(0.0f), never = rt.from_host(3.0f), soon = rt.from_host(1.5f);
  ear.enough = 1;
  for (int time = 0; time < 2; ++time) {
    ear.token.reset();
    ear.heard.clear();
    EXPECT_THAT(cancelled([&] { endless(x, never); }), HasSubstr("was cancelled after"));
    ASSERT_FALSE(ear.heard.empty());
    EXPECT_EQ(ear.heard.back().bound, 0u);
  }
  ear.token.reset();
  EXPECT_EQ(rt.item<float>(endless(x, soon)), 1.5f);
}

TEST_F(LongCalls, HearHowFarOneLaneIs) {
  // As many steps as take a second or less, so that slices have come to their time by the end.
  constexpr Dim most = 40'000'000;
  auto f = walk([](const Array& x) {
    return while_loop([](const Array& v) { return v != 0u; },
                      [](const Array& v) { return (v * 1664525u + 1013904223u) | 1u; }, x,
                      {.max_steps = most});
  });
  f(rt.from_host(std::uint32_t{1}));
  ASSERT_GT(ear.heard.size(), 2u);
  for (const Progress& p : ear.heard) EXPECT_EQ(p.bound, static_cast<std::uint64_t>(most));
  EXPECT_GT(ear.heard.back().steps, 0u);
  EXPECT_LE(ear.heard.back().steps, static_cast<std::uint64_t>(most));
}

TEST_F(LongCalls, SayWhatTheirLoopsSaidBeforeTheEnd) {
  std::vector<std::string> lines;
  rt.on_print([&](std::string_view line) { lines.emplace_back(line); });
  auto steered = walk([](const Array& x) {
    return while_loop([](const Array& v) { return v[0] < 1e9f; },
                      [](Array v) {
                        debug::print("at {}", v[1]);
                        return mix(v) + 1.0f;
                      },
                      x, {.max_steps = unbounded});
  });
  auto counted = walk([](const Array& x) {
    return fori_loop(
        0, 1000000,
        [](const Array& i, const Array& v) {
          debug::print("at {}", cast(i + 1, DType::f32));
          return error_if(mix(v), v[0] > 2.0f, "grows");
        },
        x);
  });
  ear.enough = 300;
  for (int which = 0; which < 2; ++which) {
    ear.token.reset();
    ear.heard.clear();
    lines.clear();
    const Array x = ones(20000);
    EXPECT_THAT(cancelled([&] { which == 0 ? steered(x) : counted(x); }),
                HasSubstr("was cancelled after"));
    ASSERT_GT(lines.size(), 300u);
    for (std::size_t i = 0; i < 300; ++i) EXPECT_EQ(lines[i], "at " + std::to_string(i + 1) + ".0");
  }
}

TEST_F(LongCalls, EndWhenAnotherThreadSaysSo) {
  auto f = walk([](const Array& x) {
    return while_loop([&](const Array& v) { return v[0] < 1e9f; },
                      [](Array v) { return mix(v) + 1.0f; }, x, {.max_steps = unbounded});
  });
  const Array x = ones(20000);
  std::atomic<bool> began{false};
  rt.on_step([&](const Progress&) { began = true; });
  std::thread other([&] {
    while (!began) std::this_thread::yield();
    ear.token.cancel();
  });
  EXPECT_THAT(cancelled([&] { f(x); }), HasSubstr("`walk` was cancelled"));
  other.join();
}

TEST_F(LongCalls, EndWithWhatTheHandlerThrowsAndLoseOnlyWhatTheyOverwrote) {
  auto f = walk([](const Array& x, const Array& y) {
    const Array z = fori_loop(
        0, 100000, [](const Array&, const Array& v) { return mix(v); }, x);
    return std::pair{z, y + 1.0f};
  });
  rt.on_step([&](const Progress& p) {
    if (p.steps > 1000) throw std::runtime_error("enough");
  });
  Array x = ones(20000);
  const Array y = ones(3);
  EXPECT_THROW(f(x, y), std::runtime_error);
  EXPECT_FALSE(x.empty());
  EXPECT_THROW(f(std::move(x), y), std::runtime_error);
  EXPECT_EQ(rt.to_host<float>(y), (std::vector<float>{1, 1, 1}));
}

class CallsOfHandlers : public DeviceTest {
 protected:
  auto climb(const char* name) {
    return jit(rt,
               [](const Array& x) {
                 return fori_loop(
                     0, 2000, [](const Array&, const Array& v) { return mix(v) + 1.0f; }, x);
               },
               {.name = name});
  }
  Array all(float value) { return rt.from_host(std::vector<float>(20000, value)); }
  float first(const Array& a) { return rt.to_host<float>(a)[0]; }
};

TEST_F(CallsOfHandlers, MayBeOfTheFunctionThatIsHeard) {
  const auto f = climb("f");
  int heard = 0, heard_inside = 0;
  const CallOptions inside{.on_step = [&](const Progress&) {
    if (++heard_inside == 1) {
      EXPECT_EQ(first(f(all(9))), 2009);
    }
  }};
  const CallOptions outside{.on_step = [&](const Progress&) {
    ++heard;
    EXPECT_EQ(first(f(all(5))), 2005);
    if (heard == 1) {
      EXPECT_EQ(first(f.with(inside)(all(7))), 2007);
    }
    f.cache_info();
    f.text("spirv");
  }};
  EXPECT_EQ(first(f.with(outside)(all(1))), 2001);
  EXPECT_GE(heard, 1);
  EXPECT_GE(heard_inside, 1);
  EXPECT_EQ(first(f(all(2))), 2002);
}

TEST_F(CallsOfHandlers, MayBeOfEachOthersFunctions) {
  const auto f = climb("f"), g = climb("g");
  // One executable each: functions of one graph would share it.
  const auto h = jit(rt, [](const Array& x) {
    return fori_loop(
        0, 2000, [](const Array&, const Array& v) { return mix(v) + 2.0f; }, x);
  });
  std::atomic<int> inside{0};
  const auto both = [&](auto call) {
    return [&, call, done = false](const Progress&) mutable {
      if (std::exchange(done, true)) return;
      for (++inside; inside < 2;) std::this_thread::yield();
      call();
    };
  };
  std::thread other([&] {
    const StepHandler handler = both([&] { EXPECT_EQ(first(h(all(3))), 4003); });
    EXPECT_EQ(first(f.with({.on_step = handler})(all(1))), 2001);
  });
  const StepHandler handler = both([&] { EXPECT_EQ(first(g(all(3))), 2003); });
  EXPECT_EQ(first(h.with({.on_step = handler})(all(1))), 4001);
  other.join();
}

TEST_F(CallsOfHandlers, LeaveThoseOfOtherThreadsToWait) {
  const auto f = climb("f");
  std::thread other;
  float got = 0;
  const StepHandler handler = [&](const Progress&) {
    if (!other.joinable()) other = std::thread([&] { got = first(f(all(4))); });
  };
  EXPECT_EQ(first(f.with({.on_step = handler})(all(1))), 2001);
  other.join();
  EXPECT_EQ(got, 2004);
}

}  // namespace
}  // namespace gnomon::testing
