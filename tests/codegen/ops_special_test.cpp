// tests/codegen/ops_special_test.cpp -- special functions as the public API has them: known values,
// derivatives, messages. Their accuracy is a matter of tests/shaders.
#include "gnomon/special.h"

#include <cmath>

#include "tests/codegen/graph_host.h"

namespace gnomon {
namespace {

using test::numbers;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

HostArray f64(const test::Numbers& v) { return test::host(DType::f64, Shape(v.size()), v); }

auto near(double x) { return DoubleNear(x, 1e-13 * (1 + std::fabs(x))); }

TEST(OpsSpecial, TakeTheirValuesFromMpmath) {
  const HostArray x = f64({0.1, 3.7, -1.5});
  EXPECT_THAT(test::run([](Array v) { return lgamma(v); }, x),
              ElementsAre(near(2.2527126517342059599), near(1.4280723266653879219),
                          near(0.86004701537648101451)));
  EXPECT_THAT(test::run([](Array v) { return digamma(v); }, x),
              ElementsAre(near(-10.423754940411076795), near(1.1671535393615113859),
                          near(0.70315664064524318723)));
  EXPECT_THAT(test::run([](Array v) { return polygamma(3, v); }, f64({1.5})),
              ElementsAre(near(1.4090910340024372364)));
  const HostArray a = f64({2.5, 100}), y = f64({2, 110});
  EXPECT_THAT(test::run([](Array s, Array t) { return gammainc(s, t); }, a, y),
              ElementsAre(near(0.45058404864721976739), near(0.8417213299399129062)));
  EXPECT_THAT(test::run([](Array s, Array t) { return gammaincc(s, t); }, a, y),
              ElementsAre(near(0.54941595135278023261), near(0.1582786700600870938)));
  EXPECT_THAT(test::run([](Array s, Array t) { return igamma_grad_a(s, t); }, a, y),
              ElementsAre(near(-0.27455132194588155379), near(-0.02380865685489038646)));
}

TEST(OpsSpecial, BetaAndBesselFunctionsTakeTheirValuesFromMpmath) {
  const HostArray a = f64({2.5, 100}), b = f64({0.5, 150}), x = f64({0.3, 0.41});
  EXPECT_THAT(test::run([](Array p, Array q) { return betaln(p, q); }, a, b),
              ElementsAre(near(0.16390063283767393729), near(-169.38009494808788731)));
  EXPECT_THAT(test::run([](Array p, Array q, Array y) { return betainc(p, q, y); }, a, b, x),
              ElementsAre(near(0.018927124071945651653), near(0.62936566529306553957)));
  const HostArray y = f64({-3, 60});
  EXPECT_THAT(test::run([](Array v) { return i0e(v); }, y),
              ElementsAre(near(0.24300035416182539847), near(0.051611549173609840949)));
  EXPECT_THAT(test::run([](Array v) { return i1e(v); }, y),
              ElementsAre(near(-0.19682671329730085363), near(0.051179630189028718118)));
  EXPECT_THAT(test::run([](Array v) { return i0(v); }, f64({-3})),
              ElementsAre(near(4.8807925858650240856)));
  EXPECT_THAT(test::run([](Array v) { return i1(v); }, f64({-3})),
              ElementsAre(near(-3.9533702174026093965)));
}

// (e^-x I1(x))'' = e^-x (I1'' - 2 I1' + I1) for x > 0, which tends to -1 at 0.
TEST(OpsSpecial, TheSecondDerivativeOfI1eNearZero) {
  const auto second = grad([](Array v) { return grad([](Array w) { return i1e(w); })(v); });
  for (const double x : {1e-12, 1e-7, 1e-4, 0.5, 0.999, 1.001, 4.0}) {
    // I1' = I0 - I1 / x and I1'' = I1 + I1 / x^2 - I0 / x + I1 / x^2 (DLMF 10.29).
    const double i0 = std::cyl_bessel_i(0, x), i1 = std::cyl_bessel_i(1, x);
    const double curved = x < 0.01 ? 3 * x / 8 : i1 - (i0 - 2 * i1 / x) / x;
    const double sloping = x < 0.01 ? 0.5 + 3 * x * x / 16 : i0 - i1 / x;
    const double want = std::exp(-x) * (curved - 2 * sloping + i1);
    const HostArray at = f64({x});
    const double got =
        test::run([&](Array v) { return reshape(second(reshape(v, {})), {1}); }, at)[0];
    EXPECT_NEAR(got, want, 1e-13) << x;
  }
}

TEST(OpsSpecial, DerivativesOfLgammaAreThePolygammas) {
  const HostArray x = f64({2.25});
  const auto f = [](Array v) { return sum(lgamma(v)); };
  const auto third = grad(grad(grad(f)));
  EXPECT_THAT(test::run([&](Array v) { return reshape(third(reshape(v, {})), {1}); }, x),
              ElementsAre(near(test::run([](Array v) { return polygamma(2, v); }, x)[0])));
}

TEST(OpsSpecial, AGammaDrawMovesWithItsShape) {
  // P(a, x) stays where x moves with a.
  const HostArray a = f64({1.5}), x = f64({2});
  const double slope = test::run([](Array s, Array t) { return random_gamma_grad(s, t); }, a, x)[0];
  const double h = 1e-5;
  const auto p = [](double shape, double at) {
    return test::run([](Array s, Array t) { return gammainc(s, t); }, f64({shape}), f64({at}))[0];
  };
  EXPECT_NEAR(p(1.5 + h, 2 + h * slope), p(1.5, 2), 1e-10);
  EXPECT_GT(slope, 0.5);
}

TEST(OpsSpecial, IntegersBecomeFloatsAndShapesBroadcast) {
  const Graph g = test::graph_of([](Array s, Array t) { return gammainc(s, t); },
                                 test::i32(Shape{3, 1}, {1, 2, 3}), test::f32(Shape{2}, {1, 2}));
  EXPECT_EQ(to_string(g.avals[g.outputs[0]]), "f32[3,2]");
}

TEST(OpsSpecial, MessagesSayWhatIsPossible) {
  EXPECT_THAT(test::usage_error_of([](Array v) { return polygamma(-1, v); }, f64({1})),
              HasSubstr("polygamma: order -1 is not between 0 and 30"));
  const auto shape = [](Array s) { return grad([](Array t) { return betainc(t, 2.0, 0.5); })(s); };
  EXPECT_THAT(test::usage_error_of(shape, test::f32(1.5)),
              HasSubstr("betainc: there is no derivative in `a` and `b`"));
  const auto twice = [](Array s) {
    return grad(grad([](Array t) { return gammainc(t, 2.0); }))(s);
  };
  EXPECT_THAT(test::usage_error_of(twice, test::f32(1.5)),
              HasSubstr("gammainc: the second derivative in `a` has no rule"));
}

}  // namespace
}  // namespace gnomon
