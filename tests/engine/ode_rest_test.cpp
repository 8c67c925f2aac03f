// tests/engine/ode_rest_test.cpp -- derivatives of where a solve comes to rest, against closed
// forms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "tests/engine/ode_host.h"

namespace gnomon::testing {
namespace {

using ode::diffeqsolve;
using ::testing::HasSubstr;

constexpr double never = std::numeric_limits<double>::infinity();
const ode::PidController control{.rtol = 1e-10, .atol = 1e-12};
const ode::SolveOptions implicit{.controller = control, .adjoint = ode::ImplicitAdjoint{}};

TEST(OdeRest, OfALogisticIsItsCapacity) {
  const auto all = test::run_all(
      [](const Array& x) {
        const auto rest = [](const Array& at) {
          const Array capacity = at[1];  // captured
          const ode::OdeTerm grows{[&](const Array&, const Array& y, const Array& rate) {
            return rate * y * (1 - y / capacity);
          }};
          const auto sol = diffeqsolve(grows, ode::Tsit5(), 0.0, never, none, at[2], at[0],
                                       implicit, ode::steady_state_event(grows, 1e-9, 1e-9));
          return std::pair{sol.y1 * sol.y1, std::tuple{sol.y1, sol.result, sol.event, sol.t1}};
        };
        const auto r = value_and_grad(rest, has_aux)(x);
        return std::pair{r.grad, std::get<1>(r.value)};
      },
      f64(Numbers{0.7, 3, 0.5}));
  // y1 = capacity, whatever the rate and the start are.
  EXPECT_NEAR(all[0][0], 0, 1e-7);
  EXPECT_NEAR(all[0][1], 6, 1e-7);
  EXPECT_EQ(all[0][2], 0);
  EXPECT_NEAR(all[1][0], 3, 1e-8);
  EXPECT_EQ(static_cast<ode::Result>(all[2][0]), ode::Result::event_occurred);
  EXPECT_EQ(all[3][0], 0);
  EXPECT_GT(all[4][0], 10);
}

struct Pair {
  Array x, y;  // [2] and []
};

TEST(OdeRest, OfALinearEquationIsItsSolution) {
  // s' = b - A s: A s = b, d(w s) = (A^-T w)(db - dA s).
  const auto solve = [](const Array& p) {
    const Array a = reshape(slice_axis(p, 0, 0, 9), {3, 3}), b = slice_axis(p, 0, 9, 12);
    const ode::OdeTerm falls{[](const Array&, const Pair& s, const std::pair<Array, Array>& args) {
      const Array all = concatenate({s.x, reshape(s.y, {1})});
      const Array slope = args.second - matmul(args.first, all);
      return Pair{slice_axis(slope, 0, 0, 2), slope[2]};
    }};
    const auto sol = diffeqsolve(
        falls, ode::Kvaerno5(), 0.0, 1e4, none, Pair{zeros({2}, DType::f64), ones({}, DType::f64)},
        std::pair{a, b}, implicit, ode::steady_state_event(falls, 1e-11, 1e-11));
    return sol.y1.x[0] + 2 * sol.y1.x[1] - 3 * sol.y1.y;
  };
  const Numbers p{2, 0.3, -0.4, 0.1, 1.5, 0.2, 0, -0.3, 3, 1, -2, 0.5};
  const auto found = test::run_all([&](const Array& x) { return grad(solve)(x); }, f64(p))[0];
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double h = 1e-4;
    const auto value = [&](double by) {
      // Cramer's rule.
      Numbers q = p;
      q[i] += by;
      const auto det = [](const Numbers& m) {
        return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
               m[2] * (m[3] * m[7] - m[4] * m[6]);
      };
      const Numbers a(q.begin(), q.begin() + 9);
      double sum = 0;
      const double weights[] = {1, 2, -3};
      for (std::size_t c = 0; c < 3; ++c) {
        Numbers m = a;
        for (std::size_t r = 0; r < 3; ++r) m[3 * r + c] = q[9 + r];
        sum += weights[c] * det(m) / det(a);
      }
      return sum;
    };
    const double slope = (value(h) - value(-h)) / (2 * h);
    EXPECT_NEAR(found[i], slope, 1e-6 * (1 + std::fabs(slope))) << i;
  }
}

TEST(OdeRest, LanesComeToTheirOwn) {
  const Numbers roots{1, 4, 9};
  const auto slopes = test::run_all(
      [](const Array& c) {
        return vmap(grad([](const Array& square) {
          const ode::OdeTerm falls{
              [&](const Array&, const Array& y, const None&) { return square - y * y; }};
          return diffeqsolve(falls, ode::Tsit5(), 0.0, never, none, full({}, 1.5, DType::f64), none,
                             implicit, ode::steady_state_event(falls, 1e-9, 1e-9))
              .y1;
        }))(c);
      },
      f64(roots))[0];
  for (std::size_t i = 0; i < roots.size(); ++i)
    EXPECT_NEAR(slopes[i], 0.5 / std::sqrt(roots[i]), 1e-7) << i;
}

TEST(OdeRest, MovesInForwardModeToo) {
  const ode::OdeTerm falls{[](const Array&, const Array& y, const Array& c) { return c - y * y; }};
  const auto rest = [&](const Array& c) {
    return diffeqsolve(falls, ode::Tsit5(), 0.0, never, none, full({}, 1.5, DType::f64), c,
                       implicit, ode::steady_state_event(falls, 1e-9, 1e-9))
        .y1;
  };
  const auto moves =
      test::run([&](const Array& c) { return jvp(rest, c, 3 * ones_like(c)).second; }, f64(4.0));
  EXPECT_NEAR(moves[0], 3 * 0.25, 1e-8);
}

TEST(OdeRest, HasNoDerivativeOnTheWay) {
  const auto slope = test::run_all(
      [](const Array& c) {
        return grad([](const Array& square) {
          const ode::OdeTerm falls{
              [&](const Array&, const Array& y, const None&) { return square - y * y; }};
          return diffeqsolve(falls, ode::Tsit5(), 0.0, 0.1, none, full({}, 1.5, DType::f64), none,
                             implicit, ode::steady_state_event(falls, 1e-9, 1e-9))
              .y1;
        })(c);
      },
      f64(4.0))[0];
  EXPECT_TRUE(std::isnan(slope[0]));
}

TEST(OdeRest, RefusesWhatDoesNotRest) {
  EXPECT_THAT(test::usage_error_of([] {
                return diffeqsolve(decay, ode::Tsit5(), 0.0, 1.0, none, full({}, 1, DType::f64),
                                   none, implicit)
                    .y1;
              }),
              HasSubstr("give steady_state_event"));
  EXPECT_THAT(test::usage_error_of([] {
                ode::SolveOptions o = implicit;
                o.saveat = {.ts = {0.5}};
                return diffeqsolve(decay, ode::Tsit5(), 0.0, 1.0, none, full({}, 1, DType::f64),
                                   none, o, ode::steady_state_event(decay, 1e-6, 1e-6))
                    .y1;
              }),
              HasSubstr("states on the way are saved"));
}

}  // namespace
}  // namespace gnomon::testing
