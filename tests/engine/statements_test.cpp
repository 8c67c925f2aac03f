// tests/engine/statements_test.cpp -- debug::print and error_if on the device, in every mapping of
// loops: exact lines, in order; errors after which everything goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "gnomon/control.h"
#include "gnomon/debug.h"
#include "gnomon/jit.h"
#include "gnomon/numeric.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Lines = std::vector<std::string>;

class Statements : public DeviceTest {
 protected:
  Statements() {
    rt.on_print([this](std::string_view line) { lines.emplace_back(line); });
  }
  Lines take() { return std::exchange(lines, {}); }
  template <class F>
  std::string failure_of(F&& f) {
    try {
      f();
    } catch (const CheckFailed& e) {
      return e.what();
    }
    return "";
  }
  Lines lines;
};

TEST_F(Statements, SayTheirLinesAtEveryCall) {
  auto f = jit(rt, [](const Array& x) {
    debug::print("x = {}, sum {}", x, sum(x));
    return x * 2.0f;
  });
  const Array x = rt.from_host(std::vector<float>{1.0f, 2.5f});
  EXPECT_EQ(rt.to_host<float>(f(x)), (std::vector<float>{2, 5}));
  EXPECT_THAT(take(), ElementsAre("x = [1.  2.5], sum 3.5"));
  f(rt.from_host(std::vector<float>{3.0f, 4.0f}));
  EXPECT_THAT(take(), ElementsAre("x = [3. 4.], sum 7.0"));
  EXPECT_EQ(f.cache_info().traces, 1u);
}

TEST_F(Statements, TellEveryLaneOfAKernelThatHoldsItsLoop) {
  auto f = jit(rt, [](const Array& xs) {
    return vmap([](const Array& x) {
      return while_loop([](const Array& v) { return v < 100; },
                        [](Array v) {
                          debug::print("{} -> {}", v, v * 3);
                          return v * 3;
                        },
                        x, {.max_steps = 50});
    })(xs);
  });
  std::vector<std::int32_t> start(300);
  std::iota(start.begin(), start.end(), 1);
  Lines want;
  for (int v : start)
    for (; v < 100; v *= 3) want.push_back(std::to_string(v) + " -> " + std::to_string(3 * v));
  for (int call = 0; call < 3; ++call) {  // later calls may let lanes take turns
    f(rt.from_host(start));
    EXPECT_EQ(take(), want);
  }
}

TEST_F(Statements, TellLanesThatTakeTurns) {
  // Refill needs many lanes; lane i takes 1 to 40 steps.
  auto f = jit(rt,
               [](const Array& steps) {
                 return vmap([](const Array& n) {
                   return while_loop([](const Array& v) { return v > 0; },
                                     [](Array v) {
                                       debug::print("{}", v);
                                       return error_if(v - 1, v == 41, "too far");
                                     },
                                     n, {.max_steps = 50});
                 })(steps);
               },
               {.refill = Refill::on, .print_bytes = std::uint64_t{16} << 20});
  std::vector<std::int32_t> steps(8192);
  for (std::size_t i = 0; i < steps.size(); ++i)
    steps[i] = 1 + static_cast<std::int32_t>(i * 2654435761u % 40);
  f(rt.from_host(steps));
  EXPECT_THAT(f.text("kernel"), HasSubstr("atomic"));
  Lines want;
  for (int n : steps)
    for (; n > 0; --n) want.push_back(std::to_string(n));
  EXPECT_EQ(take(), want);
  steps[5000] = 45;
  EXPECT_THAT(failure_of([&] { f(rt.from_host(steps)); }),
              HasSubstr("too far; true once, in element 5000 of the vmap, in step 4"));
}

/// Steps whose elements mix: no lane can take them alone.
Array mixed(const Array& x, int steps, int every) {
  return fori_loop(
      0, steps,
      [&](const Array& i, const Array& v) {
        const Array next = v * 0.5f + flip(v) * 0.25f;
        return cond(
            i % every == 0,
            [&](const Array& w) {
              debug::print("{}: {}", i, w[0]);
              return w;
            },
            [](const Array& w) { return w; }, next);
      },
      x);
}

TEST_F(Statements, TellTheStepsOfLoopsOfManyKernels) {
  for (const int n : {3, 3000}) {
    auto f = jit(rt, [](const Array& x) { return mixed(x, 400, 100); });
    f(rt.from_host(std::vector<float>(static_cast<std::size_t>(n), 1.0f)));
    const Lines said = take();
    ASSERT_EQ(said.size(), 4u);
    EXPECT_EQ(said[0], "0: 0.75");
    EXPECT_THAT(said[1], ::testing::StartsWith("100: "));
    EXPECT_THAT(said[3], ::testing::StartsWith("300: "));
  }
}

TEST_F(Statements, TellTheStepsOfLoopsTooLongForOneKernel) {
  // 100,000 steps are more than Debian's lavapipe lets a kernel take.
  auto f = jit(rt, [](const Array& x) {
    return fori_loop(
        0, 100000,
        [](const Array& i, const Array& v) {
          return cond(
              i % 25000 == 0,
              [&](const Array& w) {
                debug::print("{}: {}", i, w);
                return w + 2;
              },
              [](const Array& w) { return w + 1; }, v);
        },
        x);
  });
  EXPECT_EQ(rt.item<std::int32_t>(f(rt.from_host(std::int32_t{0}))), 100004);
  EXPECT_THAT(take(), ElementsAre("0: 0", "25000: 25001", "50000: 50002", "75000: 75003"));
}

TEST_F(Statements, TellTheStepsOfLoopsThatTheDeviceSteers) {
  auto f = jit(rt, [](const Array& x) {
    return while_loop([](const Array& v) { return sum(v) > 1.0f; },
                      [](Array v) {
                        debug::print("sum {}", sum(v));
                        return (v + flip(v)) * 0.25f;
                      },
                      x, {.max_steps = unbounded});
  });
  f(rt.from_host(std::vector<float>(4096, 1.0f)));
  EXPECT_EQ(take(),
            (Lines{"sum 4096.0", "sum 2048.0", "sum 1024.0", "sum 512.0", "sum 256.0", "sum 128.0",
                   "sum 64.0", "sum 32.0", "sum 16.0", "sum 8.0", "sum 4.0", "sum 2.0"}));
}

TEST_F(Statements, CountWhatHasNoRoom) {
  const auto talk = [](const Array& x) {
    return fori_loop(
        0, 1000,
        [](const Array& i, const Array& v) {
          debug::print("i = {}", i);
          return v + i;
        },
        x);
  };
  auto few = jit(rt, talk, {.print_bytes = 8 * 16 * 2});
  EXPECT_EQ(rt.item<std::int32_t>(few(rt.from_host(std::int32_t{0}))), 499500);
  EXPECT_THAT(take(),
              ElementsAre("i = 0", "i = 1", HasSubstr("998 records of \"i = {}\" dropped; raise")));
  auto all = jit(rt, talk);
  all(rt.from_host(std::int32_t{0}));
  const Lines said = take();
  ASSERT_EQ(said.size(), 1000u);
  EXPECT_EQ(said.back(), "i = 999");
}

TEST_F(Statements, PrintAllElementTypes) {
  auto f = jit(rt, [](const Array& x) {
    debug::print("{} {} {} {}", x > 1, cast(x, DType::u8), cast(x, DType::i64),
                 cast(x, DType::f16));
    return fori_loop(
        0, 1,
        [](const Array&, const Array& v) {
          debug::print("{} {} {}", v > 1, cast(v, DType::i16), cast(v, DType::u64));
          return v;
        },
        x);
  });
  f(rt.from_host(std::vector<std::int32_t>{1, 2}));
  EXPECT_THAT(take(),
              ElementsAre("[False  True] [1 2] [1 2] [1. 2.]", "[False  True] [1 2] [1 2]"));
}

TEST_F(Statements, ThrowAndLeaveTheRuntimeUsable) {
  auto f = jit(rt, [](const Array& x) {
    debug::print("x = {}", x);
    return sqrt(error_if(x, x < 0.0f, "the root of a negative number"));
  });
  const Array good = rt.from_host(std::vector<float>{4.0f}),
              bad = rt.from_host(std::vector<float>{-4.0f});
  EXPECT_EQ(rt.item<float>(f(good)), 2);
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT(failure_of([&] { f(bad); }),
                HasSubstr("gnomon::error_if: the root of a negative number; true once, at index 0 "
                          "(statements_test.cpp:"));
  EXPECT_EQ(rt.item<float>(f(good)), 2);
  EXPECT_EQ(take().size(), 5u);
}

TEST_F(Statements, ThrowForOneLaneOfManyInALoop) {
  auto f = jit(rt, [](const Array& xs) {
    return vmap([](const Array& x) {
      return while_loop([](const Array& v) { return v < 1000; },
                        [](Array v) { return error_if(v + 7, v == 777, "seven"); }, x,
                        {.max_steps = 2000});
    })(xs);
  });
  std::vector<std::int32_t> start(500, 1001);
  start[123] = 0;
  EXPECT_THAT(failure_of([&] { f(rt.from_host(start)); }),
              HasSubstr("seven; true once, in element 123 of the vmap, in step 111"));
  start[123] = 1;
  EXPECT_EQ(failure_of([&] { f(rt.from_host(start)); }), "");
}

TEST_F(Statements, FollowDerivativesAndVmap) {
  const auto f = [](const Array& x) {
    debug::print("x = {}", x);
    return error_if(x * x * x, x > 3.0f, "too large");
  };
  auto g = jit(rt, [&](const Array& xs) { return vmap(grad(f))(xs); });
  EXPECT_EQ(rt.to_host<float>(g(rt.from_host(std::vector<float>{1.0f, 2.0f}))),
            (std::vector<float>{3, 12}));
  EXPECT_THAT(take(), ElementsAre("x = 1.0", "x = 2.0"));
  EXPECT_THAT(failure_of([&] {
                g(rt.from_host(std::vector<float>{4.0f, 5.0f}));
              }),
              HasSubstr("too large; true 2 times in 2 elements, first in element 0 of the vmap"));
}

TEST_F(Statements, ReportTheLinesOfTheFunctionThatWasCalled) {
  // Both are one program; messages differ.
  auto first = jit(rt, [](const Array& x) { return error_if(x, x < 0, "bad"); });
  auto second = jit(rt, [](const Array& x) { return error_if(x, x < 0, "bad"); });
  const Array bad = rt.from_host(std::int32_t{-1});
  const std::string one = failure_of([&] { first(bad); }), two = failure_of([&] { second(bad); });
  EXPECT_NE(one, "");
  EXPECT_NE(one, two);
  EXPECT_EQ(rt.counters().programs_shared, 1u);
}

TEST_F(Statements, GoToStdoutUnlessSomebodyListens) {
  rt.on_print({});
  ::testing::internal::CaptureStdout();
  rt.run([&] {
    debug::print("hello {}", 1);
    return full({}, 0.0f);
  });
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "hello 1\n");
}

}  // namespace
}  // namespace gnomon::testing
