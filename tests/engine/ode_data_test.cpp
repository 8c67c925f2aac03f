// tests/engine/ode_data_test.cpp -- data as functions of time, and equations that it drives.
#include <gtest/gtest.h>

#include <limits>

#include "gnomon/ops.h"
#include "tests/engine/ode_host.h"

namespace gnomon::testing {
namespace {

using ode::ControlTerm;
using ode::CubicInterpolation;
using ode::diffeqsolve;
using ode::LinearInterpolation;

const double nan = std::numeric_limits<double>::quiet_NaN();
const Numbers three{-0.5, 0, 1};
const HostArray values = f64({0.1, 0.5, -0.2});

void expect_same(const Numbers& got, const Numbers& want, double tolerance = 1e-14) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(std::isnan(got[i]), std::isnan(want[i])) << "element " << i;
    if (std::isnan(want[i])) continue;
    EXPECT_NEAR(got[i], want[i], tolerance) << "element " << i;
  }
}

TEST(OdeData, CubicPiecesAreThoseOfBackwardDifferences) {
  const auto pieces = [](const std::optional<double>& slope) {
    return test::run_all(
        [&](const Array& ys) {
          std::optional<Array> first;
          if (slope) first = full({}, *slope, DType::f64);
          const CubicInterpolation path(three,
                                        ode::backward_hermite_coefficients(three, ys, first));
          const auto at = [&](double t) { return path.evaluate(full({}, t, DType::f64)); };
          const auto rate = [&](double t) { return path.derivative(full({}, t, DType::f64)); };
          return std::tuple{stack({at(-0.3), at(0.4), at(2)}), stack({rate(-0.3), rate(0.4)}),
                            path.evaluate(-0.3, 0.4)};
        },
        values);
  };
  const auto second = [](double p) { return ((1.5 * p - 3) * p + 0.8) * p + 0.5; };
  const double second_rate = (4.5 * 0.4 - 6) * 0.4 + 0.8;
  const auto plain = pieces({});
  expect_same(plain[0], {0.8 * -0.3 + 0.5, second(0.4), second(2)});
  expect_same(plain[1], {0.8, second_rate});
  expect_same(plain[2], {second(0.4) - (0.8 * -0.3 + 0.5)});
  const auto first = [](double p) { return ((-1.6 * p - 0.8) * p + 0.8) * p + 0.5; };
  const auto sloped = pieces(0.4);
  expect_same(sloped[0], {first(-0.3), second(0.4), second(2)});
  expect_same(sloped[1], {(-4.8 * -0.3 - 1.6) * -0.3 + 0.8, second_rate});
}

TEST(OdeData, LinesGoThroughThePointsAndBeyondTheEnds) {
  const auto all = test::run_all(
      [](const Array& ys) {
        const LinearInterpolation path(three, ys);
        const auto at = [&](double t) { return path.evaluate(full({}, t, DType::f64)); };
        const auto rate = [&](double t) { return path.derivative(full({}, t, DType::f64)); };
        return std::pair{stack({at(-1), at(-0.5), at(-0.25), at(0), at(0.5), at(1), at(2)}),
                         stack({rate(-0.1), rate(0), rate(0.1)})};
      },
      values);
  expect_same(all[0], {-0.3, 0.1, 0.3, 0.5, 0.15, -0.2, -0.9});
  expect_same(all[1], {0.8, 0.8, -0.7});
}

TEST(OdeData, WhatIsMissingIsFilledInAlongATimeAxis) {
  const Numbers ts{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const HostArray ys = f64({nan, 0.2, 0.1, nan, nan, 0.5, nan, 0.8, 0.1, nan});
  const auto [times, rows] = [&] {
    const auto all = test::run_all(
        [&](const Array& y) {
          const auto plain = ode::rectilinear_interpolation(ts, y);
          return std::tuple{
              plain.first, plain.second,
              ode::rectilinear_interpolation(ts, y, {.replace_nans_at_start = 5.5}).second};
        },
        ys);
    Numbers started = all[1];
    started[0] = started[1] = 5.5;
    expect_same(all[2], started);
    return std::pair{all[0], all[1]};
  }();
  Numbers want{0};
  for (int i = 1; i < 10; ++i) want.insert(want.end(), {i * 1.0, i * 1.0});
  expect_same(times, want);
  expect_same(rows, {nan, nan, .2, .2, .1, .1, .1, .1, .1, .1, .5, .5, .5, .5, .8, .8, .1, .1, .1});

  // Of 0 .. 9 without some: both kinds of curve recover what is between two values.
  const HostArray gaps = f64({nan, 1, 2, nan, nan, 5, nan, 7, 8, nan});
  const auto filled = [&](const ode::MissingData& missing) {
    return test::run_all(
        [&](const Array& y) {
          const CubicInterpolation path(
              ts, ode::backward_hermite_coefficients<Array>(ts, y, {}, missing));
          std::vector<Array> at;
          for (double t : {0.5, 1.5, 3.25, 3.75, 4.5, 6.5, 8.5})
            at.push_back(path.evaluate(full({}, t, DType::f64)));
          return std::pair{ode::linear_interpolation(ts, y, missing), stack(at)};
        },
        gaps);
  };
  const auto open = filled({});
  expect_same(open[0], {nan, 1, 2, 3, 4, 5, 6, 7, 8, nan});
  expect_same(open[1], {nan, 1.5, 3.25, 3.75, 4.5, 6.5, nan});
  const auto closed = filled({.fill_forward_nans_at_end = true, .replace_nans_at_start = 5.5});
  expect_same(closed[0], {5.5, 1, 2, 3, 4, 5, 6, 7, 8, 8});
  EXPECT_NEAR(closed[1][0], 3.25, 1e-14);
}

TEST(OdeData, HasDerivativesByItsValuesWhereSomeAreMissing) {
  const auto f = [](const Array& y) {
    const Numbers ts{0, 1, 2.5, 4, 4.5};
    const Array holed = where(array({1, 1, 0, 1, 1}) == 1, y, nan);
    const CubicInterpolation cubic(ts, ode::backward_hermite_coefficients(ts, holed));
    const LinearInterpolation line(ts, ode::linear_interpolation(ts, holed));
    return cubic.evaluate(3.25) * line.evaluate(2.0) + cubic.derivative(4.25);
  };
  const Numbers at{0.3, -0.4, 7, 1.1, 0.6};
  const Numbers slopes = test::run([&](const Array& y) { return grad(f)(y); }, f64(at));
  for (std::size_t i = 0; i < at.size(); ++i) {
    Numbers up = at, down = at;
    up[i] += 1e-6, down[i] -= 1e-6;
    EXPECT_NEAR(slopes[i], (test::run(f, f64(up))[0] - test::run(f, f64(down))[0]) / 2e-6, 1e-8);
  }
  EXPECT_EQ(slopes[2], 0);
}

/// dy = A(y) dX with A(y) = y (1, -2)^T is y0 exp(X_0 - 2 X_1).
const auto along = [](const Array&, const Array& y, const None&) { return stack({y, -2.0 * y}); };
const Numbers ts{0, 0.5, 0.75, 1.5, 2};
const HostArray path_values =
    test::host(DType::f64, {5, 2}, {0, 0, 0.3, 0.1, 0.2, 0.4, 0.6, -0.1, 0.1, 0.25});
const double end = std::exp(0.1 - 2 * 0.25);

TEST(OdeData, DrivesAControlledEquationByItsChanges) {
  const auto error = [&](const ode::Solver& solver, double h) {
    return std::fabs(test::run(
                         [&](const Array& ys) {
                           return diffeqsolve(ControlTerm(along, LinearInterpolation(ts, ys)),
                                              solver, 0.0, 2.0, h, ones({}, DType::f64))
                               .y1;
                         },
                         path_values)[0] -
                     end);
  };
  // Lines of which each has whole steps: the orders are those of ordinary equations.
  EXPECT_NEAR(std::log2(error(ode::Euler(), 1.0 / 64) / error(ode::Euler(), 1.0 / 128)), 1, 0.1);
  EXPECT_NEAR(std::log2(error(ode::Heun(), 1.0 / 32) / error(ode::Heun(), 1.0 / 64)), 2, 0.1);
}

TEST(OdeData, DrivesAnOrdinaryEquationByItsRates) {
  const auto solve = [](const auto& path) {
    return diffeqsolve(
               to_ode(ControlTerm(along, path)), ode::Tsit5(), 0.0, 2.0, none, ones({}, DType::f64),
               none,
               {.controller =
                    ode::ClipStepSize{.controller = ode::PidController{.rtol = 1e-9, .atol = 1e-9},
                                      .jump_ts = {0.5, 0.75, 1.5}}})
        .y1;
  };
  const auto smooth = [&](const Array& ys) {
    return solve(CubicInterpolation(ts, ode::backward_hermite_coefficients(ts, ys)));
  };
  const auto all = test::run_all(
      [&](const Array& ys) {
        const auto line = [&](const Array& v) { return solve(LinearInterpolation(ts, v)); };
        const auto slopes = grad(smooth)(ys);
        return std::tuple{line(ys), smooth(ys), slopes, grad(line)(ys)};
      },
      path_values);
  EXPECT_NEAR(all[0][0], end, 1e-8);
  EXPECT_NEAR(all[1][0], end, 1e-8);
  // Only both ends of the path count.
  for (std::size_t k : {2U, 3U}) {
    Numbers want(10, 0.0);
    want[0] = -end, want[1] = 2 * end, want[8] = end, want[9] = -2 * end;
    for (std::size_t i = 0; i < 10; ++i) EXPECT_NEAR(all[k][i], want[i], 1e-6) << i;
  }
}

TEST(OdeData, IsATreeThatMapsAndKeepsTheDtypeOfEachArray) {
  struct Both {
    Array x, v;
  };
  const HostArray x = test::f32(Shape{2, 3}, {0, 1, 2, 0, 2, 4});
  const auto all = test::run_arrays(
      [&](const Array& many, const Array& t) {
        const auto one = [&](const Array& row) {
          const LinearInterpolation path(t, Both{row, cast(stack({row, -row}, 1), DType::f64)});
          const auto other = tree::map([](const Array& a) { return 2 * a; }, path);
          const Both b = other.evaluate(1.0);  // its times are twice as long as well
          return std::pair{b.x, b.v};
        };
        return vmap(one)(many);
      },
      x, f64({0, 1, 3}));
  EXPECT_EQ(test::numbers(all[0]), (Numbers{1, 2}));
  EXPECT_EQ(all[0].aval.dtype, DType::f32);
  EXPECT_EQ(test::numbers(all[1]), (Numbers{1, -1, 2, -2}));
  EXPECT_EQ(all[1].aval.dtype, DType::f64);
}

TEST(OdeData, RefusesWhatDoesNotFit) {
  const auto says = [](const std::string& what, const Numbers& times, const Shape& shape) {
    EXPECT_THAT(test::usage_error_of([&] { return LinearInterpolation(times, zeros(shape)).ts; }),
                ::testing::HasSubstr(what));
  };
  says("times 1 and 2 are 1 and 0.5; they have to ascend", {0, 1, 0.5}, {3});
  says("`ys` is f32[4] and there are 3 times", {0, 1, 2}, {4});
  says("the times are f32[1]; give two or more", {0}, {1});
  says("`ys` is f32[]; data are floats with a leading axis", {0, 1}, {});
  EXPECT_THAT(test::usage_error_of([] {
                const Array y = zeros({3});
                return CubicInterpolation({0, 1, 2}, ode::CubicCoefficients<Array>{y, y, y, y}).ts;
              }),
              ::testing::HasSubstr("one piece between each two of them"));
}

}  // namespace
}  // namespace gnomon::testing
