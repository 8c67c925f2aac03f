// tests/codegen/find_nonfinite_test.cpp -- the operation that made the first NaN or infinity.
#include "codegen/checks/find_nonfinite.h"

#include <limits>

#include "gnomon/custom.h"
#include "gnomon/loops.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;

template <class F, class... H>
std::optional<Nonfinite> found_in(F&& f, const H&... inputs) {
  return find_nonfinite(graph_of(f, inputs...), {inputs...});
}

TEST(FindNonfinite, FindsNothingWhereEverythingIsFinite) {
  EXPECT_FALSE(found_in([](const Array& x) { return sqrt(x) / (x + 1.0f); }, f32({0, 1, 4})));
}

TEST(FindNonfinite, NamesTheOperationThatMadeIt) {
  const auto f = [](const Array& x) {
    const Array y = log(x);
    return exp(y) + y * 0.0f;
  };
  const auto infinity = found_in(f, f32({1, 0, 2}));
  ASSERT_TRUE(infinity);
  EXPECT_EQ(infinity->operation, "log");
  EXPECT_EQ(infinity->what, "an infinity");
  EXPECT_THAT(to_string(infinity->loc), HasSubstr("find_nonfinite_test.cpp:"));
  const auto nan = found_in(f, f32({1, -1, 2}));
  ASSERT_TRUE(nan);
  EXPECT_EQ(nan->operation, "log");
  EXPECT_EQ(nan->what, "a NaN");
}

TEST(FindNonfinite, WhatIsGivenOrWrittenDownIsNobodysFault) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(found_in([](const Array& x) { return x + 1.0f; }, f32({1, inf})));
  EXPECT_FALSE(found_in([](const Array& x) { return where(x > 0, x, -inf) + 1.0f; }, f32({1, -1})));
  // Infinities of opposite signs make a NaN.
  const auto nan = found_in([](const Array& x) { return x - x; }, f32({1, inf}));
  ASSERT_TRUE(nan);
  EXPECT_EQ(nan->operation, "sub");
}

TEST(FindNonfinite, SaysWhichStepOfWhichLoop) {
  const auto f = [](const Array& x) {
    return fori_loop(0, 5,
                     [](const Array& i, const Array& v) {
                       return while_loop([](const Array& w) { return w < 3; },
                                         [&](const Array& w) { return w + 1.0f / (i - 3); }, v,
                                         {.max_steps = 4});
                     },
                     x, {});
  };
  const auto found = found_in(f, f32(-40.0));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->operation, "div");
  EXPECT_THAT(found->where, HasSubstr("in step 0 of the loop at find_nonfinite_test.cpp:"));
  EXPECT_THAT(found->where, HasSubstr(", in step 3 of the loop at"));
}

TEST(FindNonfinite, LanesThatAreNotInALoopOrBranchDoNotCount) {
  // A lane that has ended would divide by zero.
  const auto loop = [](const Array& x) {
    return vmap([](const Array& v) {
      return while_loop([](const Array& w) { return w > 0.5f; },
                        [](const Array& w) { return w * 0.5f + 0.0f / w; }, v, {.max_steps = 9});
    })(x);
  };
  EXPECT_FALSE(found_in(loop, f32({0, 8, 1})));
  const auto branch = [](const Array& x) {
    return vmap([](const Array& v) {
      return cond(
          v > 0, [&] { return log(v); }, [&] { return v; });
    })(x);
  };
  EXPECT_FALSE(found_in(branch, f32({-1, 2, 0})));
  const auto wrong = [](const Array& x) {
    return vmap([](const Array& v) {
      return cond(
          v > 0, [&] { return v; }, [&] { return log(v); });
    })(x);
  };
  const auto found = found_in(wrong, f32({1, 2, -1}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->operation, "log");
  EXPECT_THAT(found->where, HasSubstr("in branch 0 of the choice at"));
}

TEST(FindNonfinite, SeesBackwardPasses) {
  // The root of 0 is 0, its slope is not finite; one line says both.
  const auto f = [](const Array& x) {
    return grad([](const Array& v) { return sum(sqrt(v) * 2.0f); })(x);
  };
  const auto found = found_in(f, f32({4, 0, 1}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->what, "an infinity");
  EXPECT_THAT(to_string(found->loc), HasSubstr("find_nonfinite_test.cpp:"));
}

}  // namespace
}  // namespace gnomon::test
