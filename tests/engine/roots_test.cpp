// tests/engine/roots_test.cpp -- non-linear solves on the host reference in f64: roots, least
// squares, minima, their derivatives and ends.
#include "gnomon/roots.h"

#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/indexing.h"
#include "gnomon/ops.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::testing {
namespace {

using roots::Options;
using roots::Result;
using test::Numbers;
using ::testing::HasSubstr;

HostArray f64(double x) { return test::host(DType::f64, {}, {x}); }
HostArray f64(const Numbers& v) { return test::host(DType::f64, Shape(v.size()), v); }

/// As a constant.
Array array_of_f64(const Numbers& values) {
  std::vector<Array> all;
  for (double x : values) all.push_back(full({}, x, DType::f64));
  return stack(all);
}

const Options tight{.rtol = 1e-10, .atol = 1e-10};

/// Every way to find a root that begins with a guess.
template <class F>
std::vector<std::pair<const char*, roots::Root<Array>>> by_all(const F& f, const Array& guess,
                                                               const Options& o) {
  std::vector<std::pair<const char*, roots::Root<Array>>> all;
  all.emplace_back("newton", roots::newton(f, guess, o));
  all.emplace_back("chord", roots::chord(f, guess, o));
  all.emplace_back("broyden", roots::broyden(f, guess, o));
  return all;
}

struct Ended {
  std::string name;
  Numbers x;
  double steps;
  Result result;
};
template <class F>
std::vector<Ended> solved(const F& f, const Numbers& guess, const Options& o) {
  std::vector<std::string> names;
  const auto flat = test::run_all(
      [&](const Array& g) {
        std::vector<Array> arrays;
        names.clear();
        for (const auto& [name, root] : by_all(f, g, o)) {
          names.emplace_back(name);
          arrays.insert(arrays.end(), {root.x, root.steps, root.result});
        }
        return arrays;
      },
      f64(guess));
  std::vector<Ended> all;
  for (std::size_t i = 0; i < names.size(); ++i)
    all.push_back({names[i], flat[3 * i], flat[3 * i + 1][0],
                   static_cast<Result>(static_cast<int>(flat[3 * i + 2][0]))});
  return all;
}

// ---- systems

TEST(Roots, OfAPolynomialSystemAreFound) {
  // x^2 + y^2 = 4 and x y = 1.
  const auto f = [](const Array& v) {
    return stack({v[0] * v[0] + v[1] * v[1] - 4.0, v[0] * v[1] - 1.0});
  };
  const double x = std::sqrt(2 + std::sqrt(3.0)), y = 1 / x;
  for (const Ended& e : solved(f, {2, 0.3}, tight)) {
    EXPECT_EQ(e.result, Result::converged) << e.name;
    EXPECT_NEAR(e.x[0], x, 1e-10) << e.name;
    EXPECT_NEAR(e.x[1], y, 1e-10) << e.name;
    EXPECT_LE(e.steps, e.name == "newton" ? 6 : 15) << e.name;
  }
}

TEST(Roots, OfManyUnknownsAreFoundByLinearAlgebra) {
  // A discretised boundary value problem, u'' = u^3 with ends 0 and 1, of 20 numbers.
  const int n = 20;
  const auto f = [&](const Array& u) {
    const Array left = concatenate({zeros({1}, DType::f64), slice(u, {0}, {n - 1})});
    const Array right = concatenate({slice(u, {1}, {n}), ones({1}, DType::f64)});
    const double h2 = 1.0 / ((n + 1) * (n + 1));
    return left - 2 * u + right - h2 * u * u * u;
  };
  // The same by relaxation on the host.
  Numbers want(n, 0.5);
  for (int sweep = 0; sweep < 6000; ++sweep)
    for (int i = 0; i < n; ++i) {
      const auto at = [&](int k) {
        return k < 0 ? 0.0 : k == n ? 1.0 : want[static_cast<std::size_t>(k)];
      };
      double& u = want[static_cast<std::size_t>(i)];
      u = (at(i - 1) + at(i + 1) - u * u * u / ((n + 1.0) * (n + 1))) / 2;
    }
  for (const Ended& e : solved(f, Numbers(n, 0.5), tight)) {
    EXPECT_EQ(e.result, Result::converged) << e.name;
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(e.x[i], want[i], 1e-9) << e.name;
  }
}

TEST(Roots, DerivativesAreThoseOfTheEquation) {
  // x^3 + a x = b: dx/da = -x / (3 x^2 + a), dx/db = 1 / (3 x^2 + a); again by b: -6 x / (..)^3.
  const double a = 2, b = 7;
  for (int method = 0; method < 5; ++method) {
    const auto root = [&](const Array& p) {
      const auto f = [&](const Array& x) { return x * x * x + p[0] * x - p[1]; };
      const Array one = ones({}, DType::f64);
      switch (method) {
        case 0:
          return roots::newton(f, one, tight).x;
        case 1:
          return roots::chord(f, one, tight).x;
        case 2:
          return roots::broyden(f, one, tight).x;
        case 3:
          return roots::bisection(f, 0 * one, 5 * one, tight).x;
        default:
          return roots::brent(f, 0 * one, 5 * one, tight).x;
      }
    };
    const auto all = test::run_all(
        [&](const Array& p) {
          const auto by_b = [&](const Array& q) { return grad(root)(q)[1]; };
          return std::tuple{root(p), grad(root)(p), grad(by_b)(p)};
        },
        f64({a, b}));
    const double x = all[0][0], below = 3 * x * x + a;
    EXPECT_NEAR(x * x * x + a * x, b, 1e-7) << method;
    EXPECT_NEAR(all[1][0], -x / below, 1e-9) << method;
    EXPECT_NEAR(all[1][1], 1 / below, 1e-9) << method;
    EXPECT_NEAR(all[2][1], -6 * x / (below * below * below), 1e-9) << method;
  }
}

TEST(Roots, LanesTakeTheirOwnSteps) {
  const auto one = [](const Array& a) {
    const auto root =
        roots::newton([&](const Array& x) { return x * x - a; }, ones({}, DType::f64), tight);
    return std::pair{root.x, root.steps};
  };
  const auto all =
      test::run_all([&](const Array& a) { return vmap(one)(a); }, f64({1, 1e2, 1e4, 1e8}));
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(all[0][i], std::sqrt(Numbers{1, 1e2, 1e4, 1e8}[i]), 1e-6);
  EXPECT_EQ(all[1][0], 1);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_GT(all[1][i], all[1][i - 1]);
}

struct Point {
  Array position;  // f64[2]
  Array weight;    // f32[]
};

TEST(Roots, UnknownsAreTrees) {
  const auto f = [](const Point& p) {
    return Point{p.position * p.position - stack({cast(4.0, DType::f64), cast(9.0, DType::f64)}),
                 exp(p.weight) - 2.0f};
  };
  const auto all = test::run_all(
      [&](const Array& start, const Array& w) {
        return roots::newton(f, Point{start, w}).x;
      },
      f64({1, 1}), test::f32(0.0));
  EXPECT_NEAR(all[0][0], 2, 1e-9);
  EXPECT_NEAR(all[0][1], 3, 1e-9);
  EXPECT_NEAR(all[1][0], std::log(2.0), 1e-6);
}

// ---- brackets

TEST(Roots, BracketsCloseOnTheSignChange) {
  const auto run = [](auto&& find) {
    const auto all = test::run_all(
        [&](const Array& a) {
          const auto r = find(a);
          return std::tuple{r.x, r.steps, r.result};
        },
        f64(1.0));
    return std::tuple{all[0][0], all[1][0], static_cast<Result>(static_cast<int>(all[2][0]))};
  };
  const Options exact{.rtol = 1e-14, .atol = 1e-14};
  const auto wave = [](const Array& x) { return cos(x) - x; };
  // A function that is flat around its root.
  const auto flat = [](const Array& x) {
    const Array d = x - 0.3;
    return d * d * d * d * d;
  };
  const double fixed = 0.73908513321516064;
  const auto [a, a_steps, a_end] =
      run([&](const Array& one) { return roots::bisection(wave, 0 * one, one, exact); });
  EXPECT_NEAR(a, fixed, 2e-14);
  EXPECT_EQ(a_end, Result::converged);
  EXPECT_GT(a_steps, 40);
  const auto [b, b_steps, b_end] =
      run([&](const Array& one) { return roots::brent(wave, 0 * one, one, exact); });
  EXPECT_NEAR(b, fixed, 2e-14);
  EXPECT_EQ(b_end, Result::converged);
  EXPECT_LT(b_steps, 10);
  const auto [c, c_steps, c_end] =
      run([&](const Array& one) { return roots::brent(flat, -3 * one, 7 * one, {.rtol = 1e-6}); });
  EXPECT_NEAR(c, 0.3, 1e-6);
  EXPECT_EQ(c_end, Result::converged);
  EXPECT_LT(c_steps, 100);
  const auto [d, d_steps, d_end] =
      run([&](const Array& one) { return roots::brent(wave, 0 * one, 0.5 * one, exact); });
  EXPECT_EQ(d_end, Result::no_bracket);
  EXPECT_EQ(d_steps, 0);
  // Ends that are roots, and the wrong way around.
  for (double end : {0.0, 2.0}) {
    const auto line = [&](const Array& x) { return x - end; };
    const auto [e, e_steps, e_end] =
        run([&](const Array& one) { return roots::brent(line, 2 * one, 0 * one, exact); });
    EXPECT_NEAR(e, end, 1e-14);
    EXPECT_EQ(e_end, Result::converged);
    const auto [g, g_steps, g_end] =
        run([&](const Array& one) { return roots::bisection(line, 2 * one, 0 * one, exact); });
    EXPECT_NEAR(g, end, 1e-13);
    EXPECT_EQ(g_end, Result::converged);
  }
}

// ---- least squares

/// Misra1a of the statistical reference data sets (NIST): y = b1 (1 - exp(-b2 x)).
const Numbers misra_x{77.6,  114.9, 141.1, 190.8, 239.9, 289.0, 332.8,
                      378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0};
const Numbers misra_y{10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02,
                      44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78};

TEST(Roots, AnEndThatIsANumberIsOneOfTheOtherEndsType) {
  // The root is the lower end itself: 0.3 in f32 is above it.
  const auto all = test::run_all(
      [](const Array& high) {
        const auto f = [](const Array& x) { return x - 0.3; };
        const auto a = roots::brent(f, 0.3, high, {.rtol = 1e-15, .atol = 1e-15});
        const auto b = roots::bisection(f, 0.3, high, {.rtol = 1e-15, .atol = 1e-15});
        const auto c = roots::brent(f, full({}, -1, DType::f64), 0.3, {.rtol = 1e-15});
        return std::tuple{a.x, a.result, b.x, b.result, c.x, c.result};
      },
      f64(1.0));
  for (const std::size_t i : {0u, 2u, 4u}) {
    EXPECT_NEAR(all[i][0], 0.3, 1e-14) << i;
    EXPECT_EQ(all[i + 1][0], 0) << i;
  }
}

TEST(LeastSquares, FindsCertifiedParameters) {
  for (bool damped : {true, false}) {
    const auto all = test::run_all(
        [&](const Array& x, const Array& y, const Array& b) {
          const auto residuals = [&](const Array& p) {
            return p[0] * (1.0 - exp(negative(p[1] * x))) - y;
          };
          const Options o{.rtol = 1e-10, .atol = 1e-14, .max_steps = 300};
          const auto fit = damped ? roots::levenberg_marquardt(residuals, b, o)
                                  : roots::gauss_newton(residuals, b, o);
          return std::tuple{fit.x, fit.value, fit.result};
        },
        // The harder of both starts for the damped one.
        f64(misra_x), f64(misra_y), f64(damped ? Numbers{500, 1e-4} : Numbers{250, 5e-4}));
    EXPECT_NEAR(all[0][0] / 2.3894212918e+02, 1, 1e-8) << damped;
    EXPECT_NEAR(all[0][1] / 5.5015643181e-04, 1, 1e-8) << damped;
    EXPECT_NEAR(2 * all[1][0] / 1.2455138894e-01, 1, 1e-8) << damped;
    EXPECT_EQ(all[2][0], 0) << damped;
  }
}

TEST(LeastSquares, DerivativesAreThoseOfTheMinimum) {
  // By the data: moving one of them, against central differences.
  const auto fit = [&](const Array& y) {
    const Array x = array_of_f64(misra_x);
    const auto residuals = [&](const Array& p) {
      return p[0] * (1.0 - exp(negative(1e-4 * p[1] * x))) - y;
    };
    const Array start = stack({full({}, 240.0, DType::f64), full({}, 5.5, DType::f64)});
    return roots::levenberg_marquardt(residuals, start, {.rtol = 1e-12, .atol = 1e-12}).x[1];
  };
  const Numbers got = test::run([&](const Array& y) { return grad(fit)(y); }, f64(misra_y));
  const double delta = 1e-4;
  const auto moved = [&](double by) {
    Numbers y = misra_y;
    y[5] += by;
    return test::run(fit, f64(y))[0];
  };
  EXPECT_NEAR(got[5], (moved(delta) - moved(-delta)) / (2 * delta), 1e-8);
}

// ---- minima

/// Rosenbrock's valley, around a.
const auto valley = [](const Array& a) {
  return [&a](const Array& x) {
    const Array d = x[1] - x[0] * x[0], e = a - x[0];
    return 100 * d * d + e * e;
  };
};

TEST(Minima, OfAValleyAreFoundAndFollowItsParameter) {
  const auto run = [&](auto&& find) {
    return test::run_all(
        [&](const Array& a, const Array& start) {
          const auto m = find(valley(a), start);
          // (a, a^2): the derivative of x1 by a is 2 a.
          const auto second = [&](const Array& p) { return find(valley(p), start).x[1]; };
          return std::tuple{m.x, m.value, m.steps, m.result, grad(second)(a)};
        },
        f64(1.0), f64({-1.2, 1}));
  };
  const auto b = run([](const auto& f, const Array& start) {
    return roots::bfgs(f, start, {.rtol = 1e-8, .atol = 1e-8});
  });
  EXPECT_NEAR(b[0][0], 1, 1e-7);
  EXPECT_NEAR(b[0][1], 1, 1e-7);
  EXPECT_LT(b[1][0], 1e-14);
  EXPECT_LT(b[2][0], 80);
  EXPECT_EQ(b[3][0], 0);
  EXPECT_NEAR(b[4][0], 2, 1e-5);
  const auto s = run([](const auto& f, const Array& start) {
    return roots::nelder_mead(f, start, {.rtol = 1e-8, .atol = 1e-8, .max_steps = 400});
  });
  EXPECT_NEAR(s[0][0], 1, 1e-6);
  EXPECT_NEAR(s[0][1], 1, 1e-6);
  EXPECT_LT(s[2][0], 200);
  EXPECT_EQ(s[3][0], 0);
  EXPECT_NEAR(s[4][0], 2, 1e-4);
}

TEST(Minima, OfManyNumbersAreFound) {
  // sum i (x_i - 1 / i)^2 + (sum x - sum 1 / i)^4, of 15 numbers: at 1 / i.
  const int n = 15;
  const auto all = test::run_all(
      [&](const Array& start) {
        const Array i = arange(1, n + 1, 1, DType::f64);
        const auto f = [&](const Array& x) {
          const Array d = x - 1.0 / i, s = sum(d);
          return sum(i * d * d) + s * s * s * s;
        };
        const auto m = roots::bfgs(f, start, {.rtol = 1e-9, .atol = 1e-9, .max_steps = 200});
        return std::tuple{m.x, m.result, m.steps};
      },
      f64(Numbers(n, 1.0)));
  EXPECT_EQ(all[1][0], 0);
  for (int i = 0; i < n; ++i)
    EXPECT_NEAR(all[0][static_cast<std::size_t>(i)], 1.0 / (i + 1), 1e-8) << i;
}

TEST(Minima, AFunctionWithoutDerivativesWillDo) {
  const auto all = test::run_all(
      [](const Array& start) {
        const auto f = [](const Array& x) {
          // The number of halvings until 1000 |x - 3| is below 1, and what is left.
          const auto end = while_loop([](const Array& y) { return y > 1.0; },
                                      [](Array y) { return 0.5 * y + 0.25; }, 1e3 * abs(x - 3.0),
                                      {.max_steps = unbounded});
          return end + abs(x - 3.0);
        };
        return roots::nelder_mead(f, start, {.max_steps = 500, .differentiable = false}).x;
      },
      f64(2.9995));
  EXPECT_NEAR(all[0][0], 3, 1e-5);
}

// ---- ends

TEST(Roots, SayHowTheyEnded) {
  const auto end = [](auto&& find, const Numbers& guess) {
    return static_cast<Result>(
        static_cast<int>(test::run([&](const Array& g) { return find(g).result; }, f64(guess))[0]));
  };
  // x^2 + 1 has no root; 1 / x has no value at 0; a constant has no derivative.
  const auto none = [](const Array& x) { return x * x + 1.0; };
  EXPECT_EQ(end([&](const Array& g) { return roots::newton(none, g, {.max_steps = 20}); }, {0.7}),
            Result::max_steps_reached);
  const auto inverse = [](const Array& x) { return 1.0 / x; };
  EXPECT_EQ(end([&](const Array& g) { return roots::newton(inverse, g); }, {0.0}),
            Result::nonfinite);
  const auto constant = [](const Array& x) { return 0.0 * x + 1.0; };
  EXPECT_EQ(end([&](const Array& g) { return roots::newton(constant, g); }, {1.0}),
            Result::nonfinite);
  for (const Result r : {Result::converged, Result::max_steps_reached, Result::nonfinite,
                         Result::no_bracket, Result::stagnated})
    EXPECT_GT(roots::message(r).size(), 10u);
}

TEST(Roots, SayWhatIsWrongBeforeAnythingRuns) {
  const auto complaint = [](auto&& find) {
    return test::usage_error_of([&](const Array& g) { return find(g).x; }, f64({1, 2}));
  };
  EXPECT_THAT(complaint([](const Array& g) {
                return roots::newton([](const Array& x) { return x[0]; }, g);
              }),
              HasSubstr("roots::newton: `x` is f64[2] and the function gives f64[] for it"));
  EXPECT_THAT(complaint([](const Array& g) {
                return roots::newton([](const Array& x) { return x; }, cast(g, DType::i32));
              }),
              HasSubstr("unknowns are arrays of floats"));
  EXPECT_THAT(
      complaint([](const Array& g) { return roots::bfgs([](const Array& x) { return x; }, g); }),
      HasSubstr("roots::bfgs: the function gives f64[2]; a minimum is that of a number"));
  EXPECT_THAT(complaint([](const Array& g) {
                return roots::brent([](const Array& x) { return x; }, g, 3.0);
              }),
              HasSubstr("roots::brent: `low` is f64[2]; a bracket has two numbers"));
  EXPECT_THAT(complaint([](const Array& g) {
                return roots::newton([](const Array& x) { return x; }, g, {.rtol = -1});
              }),
              HasSubstr("rtol is -1"));
}

}  // namespace
}  // namespace gnomon::testing
