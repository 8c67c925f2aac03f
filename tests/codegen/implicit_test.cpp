// tests/codegen/implicit_test.cpp -- derivatives of solutions: linear systems, roots and fixed
// points, against explicit formulas.
#include "gnomon/implicit.h"

#include "gnomon/linalg.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;

const HostArray matrix = f32({2, 2}, {4, 1, -2, 3});
const HostArray rhs = f32({1, 2});

/// A loop that no derivative goes through: Jacobi's iteration with the diagonal of `a`.
Array jacobi(const Array& a, const auto& matvec, const Array& b) {
  const Array diagonal = stop_gradient(stack({a[0][0], a[1][1]}));
  return nondifferentiable(
      while_loop([&](const Array& x) { return max(abs(b - matvec(x))) > 1e-6f; },
                 [&](Array x) { return x + (b - matvec(x)) / diagonal; }, zeros_like(b),
                 {.max_steps = 200}),
      "the search");
}

Array by_rule(const Array& a, const Array& b) {
  return custom_linear_solve(
      [&](const Array& x) { return matmul(a, x); }, b,
      [&](const auto& matvec, const Array& v) { return jacobi(a, matvec, v); },
      [&](const auto& vecmat, const Array& v) { return jacobi(a, vecmat, v); });
}
Array directly(const Array& a, const Array& b) { return linalg::solve(a, b); }

template <class F>
auto derivatives(F f) {
  return [f](const Array& a, const Array& b) {
    const auto of_a = [&](const Array& v) { return f(v, b); };
    const auto of_b = [&](const Array& v) { return f(a, v); };
    const auto total = [&](const Array& v) { return sum(square(f(v, b))); };
    return std::tuple{f(a, b),
                      jacfwd(of_a)(a),
                      jacrev(of_a)(a),
                      jacfwd(of_b)(b),
                      jacrev(of_b)(b),
                      hessian(total)(a),
                      jacrev(jacrev(total))(a),
                      vmap(f, {.in_axes = {0, unmapped}})(stack({a, 2 * a}), b),
                      vmap(grad(total))(stack({a, 2 * a})),
                      vmap(of_b)(stack({b, 3 * b}))};
  };
}

TEST(CustomLinearSolve, HasTheDerivativesOfTheSolution) {
  const auto got = run_all(derivatives(by_rule), matrix, rhs);
  const auto want = run_all(derivatives(directly), matrix, rhs);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE(i);
    expect_near(got[i], want[i], 1e-3);
  }
}

TEST(CustomLinearSolve, OfASymmetricMatrixNeedsOneWay) {
  const auto f = [](const LinearSolveOptions& o) {
    return [o](const Array& a, const Array& b) {
      return grad([&](const Array& v) {
        return sum(custom_linear_solve(
            [&](const Array& x) { return matmul(a, x); }, v,
            [&](const auto&, const Array& y) { return stop_gradient(linalg::solve(a, y)); }, o));
      })(b);
    };
  };
  const HostArray symmetric = f32({2, 2}, {4, 1, 1, 3});
  expect_near(run(f({.symmetric = true}), symmetric, rhs), {2.0 / 11, 3.0 / 11});
  const std::string message = usage_error_of(f({}), symmetric, rhs);
  EXPECT_THAT(message,
              HasSubstr("gnomon::custom_linear_solve: reverse mode needs transpose_solve"));
  EXPECT_THAT(message, HasSubstr("(implicit_test.cpp:"));
}

TEST(CustomLinearSolve, TakesTreesAndShowsBothStructures) {
  using Two = std::pair<Array, Array>;
  const auto f = [](const Array& k, const Array& b) {
    const auto swap = [&](const Two& x) { return Two{x.second * k, x.first}; };
    const auto back = [&](const auto&, const Two& y) { return Two{y.second, y.first / k}; };
    const auto solved = [&](const Array& v) {
      return custom_linear_solve(swap, Two{v, 2 * v}, back, {.symmetric = false}).second;
    };
    return jvp(solved, b, ones_like(b)).second;
  };
  EXPECT_EQ(run(f, f32(4), f32({1, 2})), (Numbers{0.25, 0.25}));
  const auto wrong = [](const Array& b) {
    return custom_linear_solve([](const Array& x) { return sum(x); }, b,
                               [](const auto&, const Array& y) { return y; });
  };
  EXPECT_THAT(usage_error_of(wrong, rhs), HasSubstr("b is `b` f32[2] and matvec gives `b` f32[]"));
}

/// The positive root of x^2 = k by Newton's method.
Array root_of(const Array& k) {
  return custom_root([&](const Array& x) { return x * x - k; }, ones_like(k),
                     [](const auto& f, const Array& guess) {
                       return while_loop(
                           [&](const Array& x) { return any(abs(f(x)) > 1e-5f); },
                           [&](Array x) { return x - f(x) / jvp(f, x, ones_like(x)).second; },
                           guess, {.max_steps = unbounded});
                     },
                     [](const auto& g, const Array& y) { return y / g(ones_like(y)); });
}

TEST(CustomRoot, HasTheDerivativesOfTheRoot) {
  const auto f = [](const Array& k) {
    return std::tuple{root_of(k),
                      jvp(root_of, k, ones_like(k)).second,
                      grad(root_of)(k),
                      grad(grad(root_of))(k),
                      jacfwd(grad(root_of))(k),
                      vmap(grad(root_of))(stack({k, 4 * k}))};
  };
  const auto out = run_all(f, f32(2.25));
  const std::vector<Numbers> want{{1.5},           {1 / 3.0},       {1 / 3.0},
                                  {-0.25 / 3.375}, {-0.25 / 3.375}, {1 / 3.0, 1 / 6.0}};
  for (std::size_t i = 0; i < want.size(); ++i) expect_near(out[i], want[i]);
}

TEST(CustomRoot, IgnoresWhatTheSearchCaptured) {
  const auto f = [](const Array& k) {
    return grad([](const Array& c) {
      const Array start = c * 1.1f;
      return custom_root([&](const Array& x) { return x - c * c; }, start,
                         [&](const auto&, const Array&) { return square(c); },
                         [](const auto& g, const Array& y) { return y / g(ones_like(y)); });
    })(k);
  };
  EXPECT_EQ(run(f, f32(3)), Numbers{6});
}

struct Pair {
  Array a, b;
};

TEST(FixedPoint, HasTheDerivativesOfTheEquation) {
  // x = cos(k x): x' = -x sin(kx) / (1 + k sin(kx)).
  const auto settled = [](const Array& k) {
    return fixed_point([&](const Array& x) { return cos(k * x); }, full({}, 0.5f),
                       {.relative = 1e-6, .absolute = 1e-7});
  };
  const double k = 0.8;
  double x = 0.5;
  for (int i = 0; i < 200; ++i) x = std::cos(k * x);
  const double slope = -x * std::sin(k * x) / (1 + k * std::sin(k * x));
  EXPECT_NEAR(run(settled, f32(k))[0], x, 1e-5);
  EXPECT_NEAR(run([&](const Array& v) { return jvp(settled, v, ones_like(v)).second; }, f32(k))[0],
              slope, 1e-4);
  EXPECT_NEAR(run([&](const Array& v) { return grad(settled)(v); }, f32(k))[0], slope, 1e-4);
  // Elements stop apart, the second derivative is that of the formula.
  const Numbers lanes = run([&](const Array& v) { return vmap(grad(settled))(v); }, f32({k, 0.1}));
  EXPECT_NEAR(lanes[0], slope, 1e-4);
  const double h = 1e-4;
  const auto at = [](double c) {
    double y = 0.5;
    for (int i = 0; i < 200; ++i) y = std::cos(c * y);
    return -y * std::sin(c * y) / (1 + c * std::sin(c * y));
  };
  EXPECT_NEAR(lanes[1], at(0.1), 1e-4);
  EXPECT_NEAR(run([&](const Array& v) { return grad(grad(settled))(v); }, f32(k))[0],
              (at(k + h) - at(k - h)) / (2 * h), 1e-3);
}

TEST(FixedPoint, OfTrees) {
  // a = b / 2 + k, b = a / 2: a = 4k/3, b = 2k/3.
  const auto f = [](const Array& k) {
    const auto settled = [](const Array& c) {
      const Pair end = fixed_point(
          [&](const Pair& p) {
            return Pair{p.b / 2 + c, p.a / 2};
          },
          Pair{zeros_like(c), zeros_like(c)});
      return sum(end.a * 3 + end.b * 6);
    };
    return std::pair{settled(k), grad(settled)(k)};
  };
  const auto out = run_all(f, f32({1, 2}));
  expect_near(out[0], {24});
  expect_near(out[1], {8, 8});
}

}  // namespace
}  // namespace gnomon::test
