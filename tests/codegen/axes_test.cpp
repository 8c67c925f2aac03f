// tests/codegen/axes_test.cpp -- psum and the like over named axes of vmap, against the same
// written for all elements at once.
#include "gnomon/axes.h"

#include "gnomon/checkpoint.h"
#include "gnomon/custom.h"
#include "gnomon/jacobian.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;

template <class F>
auto over(F f, Axis out = 0) {
  return [f, out](const Array& x) { return vmap(f, {.out_axes = {out}, .axis_name = "i"})(x); };
}

const HostArray four = f32({1, 2, 4, 9});

TEST(Axes, EachIsWhatItSays) {
  EXPECT_EQ(run(over([](const Array& x) { return psum(x, "i"); }), four),
            (Numbers{16, 16, 16, 16}));
  EXPECT_EQ(run(over([](const Array& x) { return psum(x, "i"); }, unmapped), four), Numbers{16});
  EXPECT_EQ(run(over([](const Array& x) { return pmean(x, "i"); }, unmapped), four), Numbers{4});
  EXPECT_EQ(run(over([](const Array& x) { return pmax(x, "i"); }, unmapped), four), Numbers{9});
  EXPECT_EQ(run(over([](const Array& x) { return pmin(x, "i"); }, unmapped), four), Numbers{1});
  EXPECT_EQ(run(over([](const Array&) { return axis_index("i"); }), four), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(run(over([](const Array& x) { return x * static_cast<float>(axis_size("i")); }), four),
            (Numbers{4, 8, 16, 36}));
}

TEST(Axes, OfWhatAllElementsShare) {
  const auto f = [](const Array& x, const Array& k) {
    return vmap(
        [&](const Array&) {
          return std::tuple{psum(k, "i"), pmean(k, "i"), pmax(k, "i"), all_gather(k, "i"),
                            psum(full({}, 1), "i")};
        },
        {.out_axes = {unmapped}, .axis_name = "i"})(x);
  };
  EXPECT_EQ(run_all(f, f32({1, 2, 3}), f32(5)),
            (std::vector<Numbers>{{15}, {5}, {5}, {5, 5, 5}, {3}}));
}

TEST(Axes, OfNoElementsAreSharedToo) {
  const HostArray none = f32({0, 2}, {});
  const auto sum = [](const Array& x) { return psum(x, "i") + 1; };
  EXPECT_EQ(run(over(sum, unmapped), none), (Numbers{1, 1}));
  const auto all = [](const Array& x) { return all_gather(x, "i", 1); };
  EXPECT_EQ(run_arrays(over(all, unmapped), none)[0].aval.shape, Shape(2, 0));
  EXPECT_EQ(run_arrays(over(sum), none)[0].aval.shape, Shape(0, 2));
  EXPECT_THAT(usage_error_of(over([](const Array& x) { return x; }, unmapped), none),
              ::testing::AllOf(HasSubstr("the result varies along the mapped axis"),
                               HasSubstr("axes_test.cpp:")));
}

TEST(Axes, GathersAlongAnyPosition) {
  const HostArray x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  for (const int position : {0, 1, -1, -2}) {
    const auto out =
        run_arrays(over([&](const Array& v) { return all_gather(v, "i", position); }, unmapped), x);
    const bool first = position == 0 || position == -2;
    EXPECT_EQ(out[0].aval.shape, first ? Shape(2, 3) : Shape(3, 2));
    EXPECT_EQ(numbers(out[0]), first ? (Numbers{1, 2, 3, 4, 5, 6}) : (Numbers{1, 4, 2, 5, 3, 6}));
  }
}

TEST(Axes, NestAndAreFoundByName) {
  const HostArray x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto f = [](const Array& all) {
    const auto inner = [](const Array& v) {
      return std::tuple{psum(v, "row"), psum(v, "column"), psum(psum(v, "row"), "column"),
                        axis_index("row") * 10 + axis_index("column"),
                        sum(all_gather(v, "row") * (axis_index("column") + 1))};
    };
    return vmap(vmap(inner, {.axis_name = "column"}), {.axis_name = "row"})(all);
  };
  EXPECT_EQ(run_all(f, x), (std::vector<Numbers>{{5, 7, 9, 5, 7, 9},
                                                 {6, 6, 6, 15, 15, 15},
                                                 {21, 21, 21, 21, 21, 21},
                                                 {0, 1, 2, 10, 11, 12},
                                                 {5, 14, 27, 5, 14, 27}}));
  // The nearest of two with one name.
  const auto twice = [](const Array& all) {
    const auto inner = [](const Array& v) { return psum(v, "i"); };
    return vmap(vmap(inner, {.axis_name = "i"}), {.axis_name = "i"})(all);
  };
  EXPECT_EQ(run(twice, x), (Numbers{6, 6, 6, 15, 15, 15}));
}

/// What a layer does that normalises over a batch.
Array normed(const Array& x) {
  const Array centred = x - pmean(x, "i");
  return centred / sqrt(pmean(square(centred), "i") + 0.1f) + 0.1f * pmax(x, "i");
}
Array normed_all(const Array& x) {
  const Array centred = x - mean(x, 0);
  return centred / sqrt(mean(square(centred), 0) + 0.1f) + 0.1f * max(x, 0);
}

TEST(Axes, DerivativesAreThoseOfTheWhole) {
  const auto loss = [](const auto& f) {
    return [f](const Array& x) { return sum(f(x) * sin(cast(arange(4), DType::f32))); };
  };
  const auto named = loss(over(normed));
  const auto whole = loss(normed_all);
  expect_near(run(named, four), run(whole, four));
  expect_near(run([&](const Array& x) { return grad(named)(x); }, four),
              run([&](const Array& x) { return grad(whole)(x); }, four));
  expect_near(run([&](const Array& x) { return jvp(over(normed), x, x).second; }, four),
              run([&](const Array& x) { return jvp(normed_all, x, x).second; }, four));
  expect_near(run([&](const Array& x) { return hessian(named)(x); }, four),
              run([&](const Array& x) { return hessian(whole)(x); }, four), 1e-4);
}

TEST(Axes, AGradientInsideAddsUpWhatAllElementsSay) {
  // Each of four elements has (sum x)^2, so that x_i is told 2 sum x four times.
  const auto f = over(
      [](const Array& x) { return grad([](const Array& v) { return square(psum(v, "i")); })(x); });
  EXPECT_EQ(run(f, four), (Numbers{128, 128, 128, 128}));
  // all_gather: element j weights what it gathered by j; x_i is told sum_j j.
  const auto gathered = over([](const Array& x) {
    return grad([](const Array& v) {
      return sum(all_gather(v, "i")) * cast(axis_index("i"), DType::f32);
    })(x);
  });
  EXPECT_EQ(run(gathered, four), (Numbers{6, 6, 6, 6}));
}

TEST(Axes, LoopsWaitForNobodyAndStoppedElementsKeepTheirValue) {
  // Every element doubles until it passes 8, and adds the smallest of all.
  const auto f = over([](const Array& x) {
    return while_loop([](const Array& v) { return v < 8; },
                      [](Array v) { return v * 2 + pmin(v, "i"); }, x, {.max_steps = 10});
  });
  // 1 2 4 9 -> 3 5 9 9 -> 9 13 9 9
  EXPECT_EQ(run(f, four), (Numbers{9, 13, 9, 9}));
  const auto shared = over([](const Array& x) {
    return fori_loop(
        0, 3, [](const Array&, Array v) { return v + pmean(v, "i"); }, x);
  });
  // The mean doubles: 4, 8, 16.
  EXPECT_EQ(run(shared, four), (Numbers{29, 30, 32, 37}));
  EXPECT_EQ(
      run([&](const Array& x) { return grad([&](const Array& v) { return sum(shared(v)); })(x); },
          four),
      (Numbers{8, 8, 8, 8}));
  // A loop of which nothing varies but what it counts.
  const auto counts = over([](const Array& x) {
    return x +
           cast(fori_loop(
                    0, 3, [](const Array&, Array c) { return c + axis_index("i"); }, full({}, 0)),
                DType::f32);
  });
  EXPECT_EQ(run(counts, four), (Numbers{1, 5, 10, 18}));
}

// v -> v + psum(v) while v < 10, of a and b. Step 1: 2 a + b and a + 2 b; the second stops there.
// Step 2, of the first: 5 a + 4 b. The sum of both ends is 6 a + 6 b.
TEST(Axes, GradientsOfElementsThatStopApart) {
  const HostArray at = f32({0.5f, 7});
  for (const LoopKind kind :
       {LoopKind::automatic, LoopKind::stored, LoopKind::checkpointed, LoopKind::bounded})
    for (const Dim most : {2, 3, 20, 100}) {
      const auto end = [=](const Array& x) {
        return while_loop([](const Array& v) { return v < 10; },
                          [](Array v) { return v + psum(v, "i"); }, x,
                          {.max_steps = most, .kind = kind});
      };
      const auto loss = [&](const Array& x) { return sum(over(end)(x)); };
      EXPECT_EQ(run(over(end), at), (Numbers{30.5, 14.5}));
      EXPECT_EQ(run([&](const Array& x) { return grad(loss)(x); }, at), (Numbers{6, 6}))
          << name(kind) << " " << most;
      EXPECT_EQ(run([&](const Array& x) { return jacfwd(loss)(x); }, at), (Numbers{6, 6}));
      EXPECT_EQ(run(over([&](const Array& x) { return grad(end)(x); }), at), (Numbers{6, 6}))
          << name(kind) << " " << most << ", inside";
    }
}

// The last step of one element is no step of others that have stopped: with one step at most both
// ends are 2 a + b and a + 2 b.
TEST(Axes, GradientsOfLoopsThatTheirBoundEnds) {
  const auto end = [](const Array& x) {
    return while_loop([](const Array& v) { return v < 10; },
                      [](Array v) { return v + psum(v, "i"); }, x, {.max_steps = 1});
  };
  const HostArray at = f32({0.5f, 7});
  EXPECT_EQ(run(
                [&](const Array& x) {
                  return grad([&](const Array& v) { return sum(over(end)(v)); })(x);
                },
                at),
            (Numbers{3, 3}));
  EXPECT_EQ(run(over([&](const Array& x) { return grad(end)(x); }), at), (Numbers{3, 3}));
}

// a and b take psum(x^2) x or 3 x: with a above 3 and b below, the sum of both is
// (a^2 + b^2) a + 3 b.
TEST(Axes, AGradientInsideGoesBackThroughTheBranchesOfOthers) {
  const auto f = [](const Array& x) {
    return cond(
        x > 3, [](const Array& v) { return psum(v * v, "i") * v; },
        [](const Array& v) { return 3 * v; }, x);
  };
  const HostArray at = f32({4, 2});
  const Numbers want{3 * 16 + 4, 2 * 4 * 2 + 3};
  EXPECT_EQ(
      run([&](const Array& x) { return grad([&](const Array& v) { return sum(over(f)(v)); })(x); },
          at),
      want);
  EXPECT_EQ(run(over([&](const Array& x) { return grad(f)(x); }), at), want);
}

TEST(Axes, BranchesCallsAndRules) {
  const auto f = over([](const Array& x) {
    const auto mean_of = custom_jvp(
        [](const Array& v) { return pmean(v, "i"); },
        [](const Array&, const Array&, const Array& dv) { return 100 * pmean(dv, "i"); });
    const Array chosen = cond(
        x > 3, [&] { return psum(x, "i"); }, [&] { return x; });
    return chosen + checkpoint(mean_of)(x);
  });
  EXPECT_EQ(run(f, four), (Numbers{5, 6, 20, 20}));
  EXPECT_EQ(
      run([&](const Array& x) { return grad([&](const Array& v) { return sum(f(v)); })(x); }, four),
      (Numbers{103, 103, 102, 102}));
}

TEST(Axes, SayWhichThereAre) {
  const auto none = [](const Array& x) {
    return vmap([](const Array& v) { return psum(v, "i"); })(x);
  };
  std::string message = usage_error_of(none, four);
  EXPECT_THAT(message, HasSubstr("gnomon::psum: there is no axis `i` here; no vmap around this has "
                                 "an axis_name"));
  EXPECT_THAT(message, HasSubstr("(axes_test.cpp:"));
  const auto other = [](const Array& x) {
    return vmap(vmap([](const Array& v) { return pmean(v, "batch"); }, {.axis_name = "a"}),
                {.axis_name = "b"})(x);
  };
  EXPECT_THAT(usage_error_of(other, f32({1, 1}, {1})),
              HasSubstr("gnomon::pmean: there is no axis `batch` here; vmaps around this have "
                        "`a`, `b`"));
  EXPECT_THAT(
      usage_error_of(over([](const Array& x) { return pmean(cast(x, DType::i32), "i"); }), four),
      HasSubstr("has no mean of its own type"));
  EXPECT_THAT(usage_error_of(over([](const Array& x) { return all_gather(x, "i", 2); }), four),
              HasSubstr("position 2 is out of range"));
}

}  // namespace
}  // namespace gnomon::test
