// tests/engine/operators_algebra_test.cpp -- operators made of operators, of derivatives and of
// few numbers, against matrices in plain numbers, on the host reference.
#include "gnomon/arrange.h"
#include "gnomon/special.h"
#include "tests/engine/operators_matrices.h"

namespace gnomon::testing {
namespace {

using namespace matrices;
using operators::Dense;
using operators::Diagonal;
using operators::Operator;
using operators::Tags;
using ::testing::HasSubstr;

constexpr double close = 1e-13;

TEST(OperatorsAlgebra, SumsMultiplesAndProductsAreThoseOfMatrices) {
  const Matrix a = scattered(4, 3, 1), b = scattered(4, 3, 2), c = scattered(3, 5, 3);
  expect_matrix(
      "a + b", plus(a, b), close, [](auto x, auto y) { return Dense{x} + Dense{y}; }, on_host(a),
      on_host(b));
  expect_matrix(
      "a - 2.5 b", plus(a, b, -2.5), close,
      [](auto x, auto y) { return Dense{x} - 2.5 * Dense{y}; }, on_host(a), on_host(b));
  expect_matrix(
      "-a / c", made(4, 3, [&](Dim i, Dim j) { return -a.at(i, j) / 8; }), close,
      [](auto x, auto y) { return -Dense{x} / sum(y); }, on_host(a), listed({3, 5}));
  expect_matrix(
      "a c", times(a, c), close, [](auto x, auto y) { return Dense{x} * Dense{y}; }, on_host(a),
      on_host(c));
  expect_matrix(
      "gram", times(transposed(a), a), close, [](auto x) { return operators::gram(Dense{x}); },
      on_host(a));
  const Matrix s = plus(times(b, transposed(b)), made(4, 4, [](Dim i, Dim j) { return i == j; }));
  expect_matrix(
      "a^T s a", times(transposed(a), times(s, a)), close,
      [](auto x, auto y) {
        return operators::gram(Dense{x}, Dense{y, {.positive_semidefinite = true}});
      },
      on_host(a), on_host(s));
}

TEST(OperatorsAlgebra, KroneckerProductsAndBlocksAreThoseOfMatrices) {
  const Matrix a = scattered(2, 3, 4), b = scattered(4, 2, 5), c = scattered(3, 3, 6);
  expect_matrix(
      "a (x) b", kronecker(a, b), close,
      [](auto x, auto y) { return operators::kron(Dense{x}, Dense{y}); }, on_host(a), on_host(b));
  expect_matrix(
      "diagonal of a matrix (x) c",
      kronecker(made(4, 4, [](Dim i, Dim j) { return i == j ? 1.0 + static_cast<double>(i) : 0; }),
                c),
      close, [](auto x, auto y) { return operators::kron(Diagonal{x}, Dense{y}); },
      test::host(DType::f64, {2, 2}, {1, 2, 3, 4}), on_host(c));
  expect_matrix(
      "block_diagonal",
      made(9, 8,
           [&](Dim i, Dim j) {
             if (i < 2 && j < 3) return a.at(i, j);
             if (i >= 2 && i < 6 && j >= 3 && j < 5) return b.at(i - 2, j - 3);
             return i >= 6 && j >= 5 ? c.at(i - 6, j - 5) : 0.0;
           }),
      close,
      [](auto x, auto y, auto z) {
        return operators::block_diagonal({Dense{x}, Dense{y}, Dense{z}});
      },
      on_host(a), on_host(b), on_host(c));
}

TEST(OperatorsAlgebra, StructureIsThatOfTheMatrix) {
  const Numbers low{1, 2, 3}, mid{4, 5, 6, 7}, high{-1, -2, -3};
  const auto tri = made(4, 4, [&](Dim i, Dim j) {
    if (i == j) return mid[static_cast<std::size_t>(i)];
    if (i == j + 1) return low[static_cast<std::size_t>(j)];
    return j == i + 1 ? high[static_cast<std::size_t>(i)] : 0.0;
  });
  expect_matrix(
      "Tridiagonal", tri, close,
      [](auto l, auto d, auto u) {
        return operators::Tridiagonal{l, d, u};
      },
      listed(low), listed(mid), listed(high));
  expect_matrix(
      "Tridiagonal of one row", made(1, 1, [](Dim, Dim) { return 4; }), close,
      [](auto l, auto d) {
        return operators::Tridiagonal{l, d, l};
      },
      listed(Numbers{}), listed({4}));

  for (const auto& [below, above] :
       std::vector<std::pair<Dim, Dim>>{{0, 0}, {1, 1}, {2, 0}, {0, 3}, {2, 1}, {6, 1}}) {
    const Matrix bands = scattered(below + above + 1, 5, 7);
    const Dim l = below, u = above;
    const Matrix want = made(5, 5, [&](Dim i, Dim j) {
      return i - j <= l && j - i <= u ? bands.at(u + i - j, j) : 0.0;
    });
    expect_matrix(
        "Banded " + std::to_string(l) + " " + std::to_string(u), want, close,
        [l](auto x) {
          return operators::Banded{x, l};
        },
        on_host(bands));
  }

  const Matrix c = scattered(4, 4, 8);
  for (const bool lower : {true, false}) {
    for (const bool unit : {true, false})
      expect_matrix(
          "Triangular",
          made(4, 4,
               [&](Dim i, Dim j) {
                 if (i == j && unit) return 1.0;
                 return i == j || (i > j) == lower ? c.at(i, j) : 0.0;
               }),
          close,
          [=](auto x) {
            return operators::Triangular{x, lower, unit};
          },
          on_host(c));
    expect_matrix(
        "Symmetric",
        made(4, 4,
             [&](Dim i, Dim j) { return (i >= j) == lower || i == j ? c.at(i, j) : c.at(j, i); }),
        close,
        [=](auto x) {
          return operators::Symmetric{x, lower};
        },
        on_host(c));
  }

  const Matrix u = scattered(5, 2, 9), v = scattered(3, 2, 10);
  const Matrix scale = made(2, 2, [](Dim i, Dim j) { return i == j ? 3.0 - 5.0 * i : 0.0; });
  expect_matrix(
      "LowRank", times(u, times(scale, transposed(v))), close,
      [](auto x, auto y, auto s) {
        return operators::LowRank{x, y, s};
      },
      on_host(u), on_host(v), listed({3, -2}));
  expect_matrix(
      "update",
      plus(kronecker(made(5, 5, [](Dim i, Dim j) { return i == j; }), {1, 1, {2}}),
           times(u, transposed(u))),
      close,
      [](auto x) {
        return 2 * operators::identity(zeros({5}, DType::f64)) + operators::LowRank{x};
      },
      on_host(u));
}

TEST(OperatorsAlgebra, CirculantAndToeplitzProductsAreThoseOfTheirMatrices) {
  for (const Dim n : {1, 2, 7, 12}) {
    const Matrix k = scattered(1, n, 11);
    expect_matrix(
        "Circulant", made(n, n, [&](Dim i, Dim j) { return k.at(0, (i - j + n) % n); }), 1e-12,
        [](auto x) { return operators::Circulant{x}; }, listed(k.x));
    for (const Dim m : {1, 5, 9}) {
      const Matrix row = scattered(1, m, 12);
      expect_matrix(
          "Toeplitz",
          made(n, m, [&](Dim i, Dim j) { return i >= j ? k.at(0, i - j) : row.at(0, j - i); }),
          1e-12,
          [](auto x, auto y) {
            return operators::Toeplitz{x, y};
          },
          listed(k.x), listed(row.x));
    }
    expect_matrix(
        "symmetric Toeplitz", made(n, n, [&](Dim i, Dim j) { return k.at(0, std::abs(i - j)); }),
        1e-12, [](auto x) { return operators::Toeplitz{x}; }, listed(k.x));
  }
}

struct Point {
  Array a, b;
};

TEST(OperatorsAlgebra, DerivativesAreThoseByFormulas) {
  // f(a, b) = (a_0^2 b, sin(a_1), a_0 a_1 + b) for a of two numbers.
  const auto f = [](const Point& p) {
    const Array x = p.a[0], y = p.a[1];
    return stack(std::vector<Array>{x * x * p.b, sin(y), x * y + p.b});
  };
  const double x = 1.5, y = -0.5, z = 2;
  const Matrix j{3, 3, {2 * x * z, 0, x * x, 0, std::cos(y), 0, y, x, 1}};
  const auto at = [](const Array& v) { return Point{slice(v, {0}, {2}), v[2]}; };
  expect_matrix(
      "jacobian", j, close, [&](auto v) { return operators::jacobian(f, at(v)); },
      listed({x, y, z}));
  expect_matrix(
      "gauss_newton", times(transposed(j), j), close,
      [&](auto v) { return operators::gauss_newton(f, at(v)); }, listed({x, y, z}));
  // Of the loss sum exp: H is diagonal.
  const Numbers value{x * x * z, std::sin(y), x * y + z};
  const Matrix h = made(3, 3, [&](Dim r, Dim c) {
    return r == c ? std::exp(value[static_cast<std::size_t>(r)]) : 0.0;
  });
  expect_matrix(
      "generalised", times(transposed(j), times(h, j)), 1e-12,
      [&](auto v) {
        return operators::gauss_newton(f, [](const Array& o) { return sum(exp(o)); }, at(v),
                                       {.positive_semidefinite = true});
      },
      listed({x, y, z}));
  expect_matrix(
      "hessian",
      Matrix{3, 3, {2 * z, 1, 2 * x, 1, -std::sin(y), 0, 2 * x, 0, 0}},  // of the sum of f
      close, [&](auto v) { return operators::hessian([&](auto p) { return sum(f(p)); }, at(v)); },
      listed({x, y, z}));
}

TEST(OperatorsAlgebra, AFunctionMayNameItsTranspose) {
  expect_matrix(
      "function", Matrix{2, 3, {1, 2, 3, 4, 5, 6}}, close,
      [](auto m) {
        return operators::function([m](const Array& v) { return matmul(m, v); },
                                   [m](const Array& w) { return matmul(transpose(m), w); },
                                   zeros({3}, DType::f64));
      },
      on_host(Matrix{2, 3, {1, 2, 3, 4, 5, 6}}));
  const HostArray x = listed({1, 2, 3});
  const auto all = test::run_all(
      [](const Array& v) {
        const Operator once = operators::function([](const Array& w) { return 2 * w; },
                                                  [](const Array& w) { return 7 * w; }, v);
        return std::vector<Array>{once.mv(v), once.transpose().mv(v),
                                  once.transpose().transpose().mv(v)};
      },
      x);
  EXPECT_EQ(all[1], (Numbers{7, 14, 21}));  // what was said, not what the graph says
  EXPECT_EQ(all[2], all[0]);
}

std::string tags_of(const Operator& a) { return operators::to_string(a.tags()); }

TEST(OperatorsAlgebra, TagsFollowAlgebra) {
  make_graph(
      [](const Array& m, const Array& c) {
        const Dense psd{m, {.positive_semidefinite = true}}, sym{m, {.symmetric = true}}, any{m};
        const Dense unit{m, {.lower_triangular = true, .unit_diagonal = true}};
        const Diagonal d{c};
        const operators::Tridiagonal t{slice(c, {1}, {3}), c, slice(c, {1}, {3})};
        EXPECT_EQ(tags_of(psd + psd), "symmetric, positive semidefinite");
        EXPECT_EQ(tags_of(psd + sym), "symmetric");
        EXPECT_EQ(tags_of(psd - psd), "symmetric");
        EXPECT_EQ(tags_of(psd + any), "none");
        EXPECT_EQ(tags_of(-psd), "symmetric, negative semidefinite");
        EXPECT_EQ(tags_of(-2 * -psd), "symmetric, positive semidefinite");
        EXPECT_EQ(tags_of(c[0] * psd), "symmetric");
        EXPECT_EQ(tags_of(psd / 3), "symmetric, positive semidefinite");
        EXPECT_EQ(tags_of(unit * unit), "lower triangular, unit diagonal");
        EXPECT_EQ(tags_of(2 * unit), "lower triangular");
        EXPECT_EQ(tags_of(unit + unit), "lower triangular");
        EXPECT_EQ(tags_of(psd * psd), "none");
        EXPECT_EQ(tags_of(d * d), "symmetric, diagonal");
        EXPECT_EQ(tags_of(t + d), "tridiagonal");
        EXPECT_EQ(tags_of(d * t), "tridiagonal");
        EXPECT_EQ(tags_of(t * t), "none");
        EXPECT_EQ(tags_of(operators::gram(any)), "positive semidefinite");
        EXPECT_EQ(tags_of(operators::gram(any, sym)), "symmetric");
        EXPECT_EQ(tags_of(operators::kron(psd, -psd)), "symmetric, negative semidefinite");
        EXPECT_EQ(tags_of(operators::kron(-psd, -psd)), "symmetric, positive semidefinite");
        EXPECT_EQ(tags_of(operators::kron(d, t)), "tridiagonal");
        EXPECT_EQ(tags_of(operators::kron(t, d)), "none");
        EXPECT_EQ(tags_of(operators::block_diagonal({psd, d})), "symmetric");
        EXPECT_EQ(tags_of(operators::LowRank{m}), "symmetric, positive semidefinite");
        EXPECT_EQ(tags_of(operators::LowRank{m, {}, c}), "symmetric");
        EXPECT_EQ(tags_of(operators::Toeplitz{c}), "symmetric");
        EXPECT_EQ(tags_of(operators::Banded{m, 1}), "tridiagonal");
        EXPECT_EQ(tags_of(Operator(operators::Triangular{m}).transpose()), "upper triangular");
        return c;
      },
      abstract_array(DType::f32, {3, 3}), abstract_array(DType::f32, {3}));
}

TEST(OperatorsAlgebra, SumsOfBandsAreSolvedAsBands) {
  // (2 T + D) x = b by the automatic choice, which is elimination in n steps: one array of results
  // and no product. T has -1, 2, -1, D is 1: the solution of a discrete screened Poisson problem.
  const Dim n = 6;
  const auto all = test::run_all(
      [&](const Array& d, const Array& b) {
        const Array off = -ones({n - 1}, DType::f64);
        const auto a = 2 * operators::Tridiagonal{off, 2 * d, off} + Diagonal{d};
        const auto s = operators::solve(a, b);
        return std::vector<Array>{s.x, a.mv(s.x), s.steps};
      },
      listed(Numbers(6, 1.0)), listed({1, 0, 0, 2, 0, 3}));
  test::expect_near(all[1], {1, 0, 0, 2, 0, 3}, close);
  EXPECT_EQ(all[2], Numbers{0});
}

TEST(OperatorsAlgebra, DerivativesGoThroughAlgebra) {
  // d/dc of v^T (c A + diag(d)^2) v = v^T A v; d/dd = 2 d v^2.
  const Matrix a = scattered(3, 3, 14);
  const Numbers v{1, -2, 0.5}, d{0.5, 2, -1};
  const auto all = test::run_all(
      [](const Array& m, const Array& x, const Array& s) {
        const auto f = [&](const Point& p) {
          const Operator o = p.b * Dense{m} + Diagonal{p.a} * Diagonal{p.a};
          return sum(x * o.mv(x));
        };
        const Point g = grad(f)(Point{s, full({}, 2.0, DType::f64)});
        return std::vector<Array>{g.a, g.b};
      },
      on_host(a), listed(v), listed(d));
  double quadratic = 0;
  for (Dim i = 0; i < 3; ++i)
    for (Dim j = 0; j < 3; ++j)
      quadratic += v[static_cast<std::size_t>(i)] * a.at(i, j) * v[static_cast<std::size_t>(j)];
  test::expect_near(all[0], {1, 16, -0.5}, close);
  test::expect_near(all[1], {quadratic}, close);
}

TEST(OperatorsAlgebra, LanesHaveOperatorsOfTheirOwn) {
  const Matrix a = scattered(2 * 3, 3, 15);
  const Numbers x{1, 2, 3, -1, 0, 1};
  const auto got = test::run(
      [](const Array& m, const Array& v) {
        return vmap([](const Dense& d, const Array& w) {
          return (operators::gram(d) + 0.5 * operators::identity(w)).mv(w);
        })(Dense{m}, v);
      },
      test::host(DType::f64, {2, 3, 3}, a.x), test::host(DType::f64, {2, 3}, x));
  Numbers want;
  for (Dim lane = 0; lane < 2; ++lane) {
    const Matrix own = made(3, 3, [&](Dim i, Dim j) { return a.at(3 * lane + i, j); });
    const Matrix w =
        made(3, 1, [&](Dim i, Dim) { return x[static_cast<std::size_t>(3 * lane + i)]; });
    const Matrix y = plus(times(transposed(own), times(own, w)), w, 0.5);
    want.insert(want.end(), y.x.begin(), y.x.end());
  }
  test::expect_near(got, want, close);
}

TEST(OperatorsAlgebra, WhatDoesNotFitIsRefusedWithBothSides) {
  const HostArray m = on_host(scattered(2, 3, 1)), s = on_host(scattered(3, 3, 1)),
                  v = listed({1, 2, 3});
  EXPECT_THAT(
      refusal([](auto a, auto b) { return Dense{a} + Dense{b}; }, m, s),
      HasSubstr("Dense takes f64[3] and gives f64[2], Dense takes f64[3] and gives f64[3]"));
  EXPECT_THAT(refusal([](auto a) { return Dense{a} * Dense{a}; }, m),
              HasSubstr("Dense takes f64[3], and Dense gives f64[2]"));
  EXPECT_THAT(refusal([](auto a, auto b) { return b * Dense{a}; }, m, v),
              HasSubstr("the factor is f64[3]"));
  EXPECT_THAT(refusal([](auto a) { return operators::block_diagonal({}) + Dense{a}; }, m),
              HasSubstr("there are no operators"));
  EXPECT_THAT(
      refusal([](auto a) { return operators::kron(Dense{a}, Dense{cast(a, DType::f32)}); }, m),
      HasSubstr("all of one dtype"));
  EXPECT_THAT(refusal(
                  [](auto a) {
                    return Operator(operators::Tridiagonal{a, a, a});
                  },
                  v),
              HasSubstr("lower is f64[3]; beside a diagonal f64[3] one element less is needed"));
  EXPECT_THAT(refusal(
                  [](auto a) {
                    return Operator(operators::Banded{a, 2});
                  },
                  m),
              HasSubstr("there are 2 bands, and `below` is 2"));
  EXPECT_THAT(refusal([](auto a) { return Operator(operators::Triangular{a}); }, m),
              HasSubstr("the matrix is f64[2,3]; a square f[n, n] is needed"));
  EXPECT_THAT(refusal(
                  [](auto a) {
                    return Operator(operators::LowRank{a, transpose(a)});
                  },
                  m),
              HasSubstr("v is f64[3,2]; with u f64[2,3]"));
  EXPECT_THAT(refusal([](auto a) { return Operator(operators::Circulant{a}); }, m),
              HasSubstr("the column is f64[2,3]"));
  EXPECT_THAT(refusal(
                  [](auto a, auto b) {
                    return Operator(operators::Toeplitz{a, b});
                  },
                  v, listed({1, 2}, DType::f32)),
              HasSubstr("the row is f32[2]"));
  // The line is the caller's.
  EXPECT_THAT(refusal([](auto a, auto b) { return Dense{a} + Dense{b}; }, m, s),
              HasSubstr("operators_algebra_test.cpp"));
}

}  // namespace
}  // namespace gnomon::testing
