// tests/engine/ode_signature_test.cpp -- log-signatures against sums over all steps in plain C++,
// and what they say of equations.
#include <gtest/gtest.h>

#include "gnomon/indexing.h"
#include "gnomon/ops.h"
#include "tests/engine/ode_host.h"

namespace gnomon::testing {
namespace {

using Words = std::vector<std::vector<int>>;

/// Of a tensor algebra, numbers of words up to three letters.
struct Tensor {
  Dim d;
  Numbers level[4];
  explicit Tensor(Dim channels) : d(channels) {
    std::size_t n = 1;
    for (Numbers& l : level) l.assign(n, 0.0), n *= static_cast<std::size_t>(d);
  }
};

Tensor product(const Tensor& a, const Tensor& b) {
  Tensor c(a.d);
  for (std::size_t p = 0; p < 4; ++p)
    for (std::size_t q = 0; p + q < 4; ++q)
      for (std::size_t i = 0; i < a.level[p].size(); ++i)
        for (std::size_t j = 0; j < b.level[q].size(); ++j)
          c.level[p + q][i * b.level[q].size() + j] += a.level[p][i] * b.level[q][j];
  return c;
}
Tensor sum(const Tensor& a, double x, const Tensor& b) {
  Tensor c = a;
  for (std::size_t p = 0; p < 4; ++p)
    for (std::size_t i = 0; i < c.level[p].size(); ++i) c.level[p][i] += x * b.level[p][i];
  return c;
}

/// Integrals over s < t < u of dX dX dX, one number for each choice of steps: what no identity of
/// Chen's is needed for.
Tensor signature(const Numbers& path, Dim d) {
  const auto n = static_cast<Dim>(path.size()) / d - 1;
  const auto step = [&](Dim s, Dim i) {
    return path[static_cast<std::size_t>((s + 1) * d + i)] -
           path[static_cast<std::size_t>(s * d + i)];
  };
  Tensor t(d);
  t.level[0][0] = 1;
  for (Dim i = 0; i < d; ++i)
    for (Dim s = 0; s < n; ++s) t.level[1][static_cast<std::size_t>(i)] += step(s, i);
  for (Dim i = 0; i < d; ++i)
    for (Dim j = 0; j < d; ++j)
      for (Dim s = 0; s < n; ++s)
        for (Dim u = s; u < n; ++u)
          t.level[2][static_cast<std::size_t>(i * d + j)] +=
              step(s, i) * step(u, j) * (s == u ? 0.5 : 1);
  for (Dim i = 0; i < d; ++i)
    for (Dim j = 0; j < d; ++j)
      for (Dim k = 0; k < d; ++k)
        for (Dim s = 0; s < n; ++s)
          for (Dim u = s; u < n; ++u)
            for (Dim v = u; v < n; ++v)
              t.level[3][static_cast<std::size_t>((i * d + j) * d + k)] += step(s, i) * step(u, j) *
                                                                           step(v, k) *
                                                                           (s == v ? 1.0 / 6
                                                                            : s == u || u == v ? 0.5
                                                                                               : 1);
  return t;
}
Tensor logarithm(const Tensor& s) {
  Tensor x = s;
  x.level[0][0] = 0;
  const Tensor xx = product(x, x);
  return sum(sum(x, -0.5, xx), 1.0 / 3, product(xx, x));
}

/// The bracket of a word: of its longest suffix that is a Lyndon word, and what is before it.
Tensor bracket(const std::vector<int>& w, Dim d) {
  Tensor t(d);
  if (w.size() == 1) {
    t.level[1][static_cast<std::size_t>(w[0])] = 1;
    return t;
  }
  const auto is_lyndon = [](const std::vector<int>& v) {
    for (std::size_t i = 1; i < v.size(); ++i)
      if (!(v < std::vector<int>(v.begin() + static_cast<std::ptrdiff_t>(i), v.end())))
        return false;
    return true;
  };
  std::size_t cut = 1;
  while (!is_lyndon({w.begin() + static_cast<std::ptrdiff_t>(cut), w.end()})) ++cut;
  const auto middle = w.begin() + static_cast<std::ptrdiff_t>(cut);
  const Tensor a = bracket({w.begin(), middle}, d), b = bracket({middle, w.end()}, d);
  return sum(product(a, b), -1, product(b, a));
}

Numbers wild_path(Dim n, Dim d) {
  Numbers p;
  for (Dim i = 0; i < n * d; ++i)
    p.push_back(std::sin(static_cast<double>(7 * i * i + 3 * i) * 0.37));
  return p;
}

TEST(OdeSignature, BracketsAddUpToTheLogarithm) {
  for (const Dim d : {1, 2, 3, 4}) {
    const Dim n = 7;
    const Numbers path = wild_path(n, d);
    const Tensor want = logarithm(signature(path, d));
    const Words words = ode::lyndon_words(d, 3);
    for (const int depth : {1, 2, 3}) {
      const Numbers got = test::run([&](const Array& x) { return ode::log_signature(x, depth); },
                                    test::host(DType::f64, {n, d}, path));
      ASSERT_EQ(got.size(), ode::lyndon_words(d, depth).size());
      Tensor all(d);
      for (std::size_t w = 0; w < got.size(); ++w) all = sum(all, got[w], bracket(words[w], d));
      for (std::size_t p = 1; p <= static_cast<std::size_t>(depth); ++p)
        for (std::size_t i = 0; i < all.level[p].size(); ++i)
          EXPECT_NEAR(all.level[p][i], want.level[p][i], 1e-13) << d << ", level " << p;
    }
  }
}

TEST(OdeSignature, AsManyWordsAsThereAreBrackets) {
  // By Witt's formula d, (d^2 - d) / 2 and (d^3 - d) / 3.
  for (const Dim d : {1, 2, 3, 5})
    EXPECT_EQ(static_cast<Dim>(ode::lyndon_words(d, 3).size()),
              d + (d * d - d) / 2 + (d * d * d - d) / 3);
  EXPECT_EQ(ode::lyndon_words(2, 3), (Words{{0}, {1}, {0, 1}, {0, 0, 1}, {0, 1, 1}}));
}

TEST(OdeSignature, OfALineIsItsChangeAndOfALoopItsArea) {
  const auto of = [](const Shape& shape, const Numbers& path) {
    return test::run([](const Array& x) { return ode::log_signature(x, 3); },
                     test::host(DType::f64, shape, path));
  };
  test::expect_near(of({4, 2}, {1, 1, 1.5, 2, 2.5, 4, 3, 5}), {2, 4, 0, 0, 0}, 1e-14);
  const Numbers square = of({5, 2}, {0, 0, 3, 0, 3, 2, 0, 2, 0, 0});
  test::expect_near({square[0], square[1], square[2]}, {0, 0, 6}, 1e-14);
}

TEST(OdeSignature, WindowsAreThePathsBetweenTheirEnds) {
  const Numbers path = wild_path(8, 3);
  const auto rows = test::run([](const Array& x) { return ode::log_signatures(x, 3, 3); },
                              test::host(DType::f64, {8, 3}, path));
  Numbers want;
  for (const auto& [from, to] : std::vector<std::pair<int, int>>{{0, 4}, {3, 7}, {6, 8}}) {
    const Numbers part(path.begin() + 3 * from, path.begin() + 3 * to);
    for (double x : test::run([](const Array& v) { return ode::log_signature(v, 3); },
                              test::host(DType::f64, {to - from, 3}, part)))
      want.push_back(x);
  }
  test::expect_near(rows, want, 1e-14);
}

TEST(OdeSignature, DrivesALinearEquationWhoseProductsEnd) {
  // dy = (A_0 dX_0 + A_1 dX_1) y with triangular A of four rows: products of four of them are 0, so
  // that one stretch of the log-ODE method is the whole path.
  const auto lie = [](const Array& a, const Array& b) { return matmul(b, a) - matmul(a, b); };
  const Numbers path = wild_path(9, 2);
  const auto all = test::run_all(
      [&](const Array& x) {
        const auto shifted = [](const Numbers& v) {
          Array m = zeros({4, 4}, DType::f64);
          for (Dim i = 0; i < 3; ++i)
            m = m.at(i, i + 1).set(full({}, v[static_cast<std::size_t>(i)], DType::f64));
          return m;
        };
        const Array a = shifted({1, 0.5, -2}), b = shifted({0.3, -1, 0.7});
        const Array y0 = ones({4}, DType::f64);
        Array y = y0;
        for (Dim s = 0; s < 8; ++s) {
          const Array m = (x.at(s + 1, 0).get() - x.at(s, 0).get()) * a +
                          (x.at(s + 1, 1).get() - x.at(s, 1).get()) * b;
          const Array m1 = matmul(m, y), m2 = matmul(m, m1), m3 = matmul(m, m2);
          y = y + m1 + 0.5 * m2 + (1.0 / 6) * m3;
        }
        const Array ab = lie(a, b);
        const Array fields = stack({a, b, ab, lie(a, ab), lie(ab, b)}, 2);
        const Array logs = ode::log_signatures(x, 3, 8);
        const ode::LinearInterpolation driver({0, 1}, concatenate({zeros_like(logs), logs}));
        const auto field = [&](const Array&, const Array& state, const None&) {
          return reshape(
              matmul(reshape(state, {1, 4}), reshape(transpose(fields, {1, 0, 2}), {4, 20})),
              {4, 5});
        };
        return std::pair{y, ode::diffeqsolve(to_ode(ode::ControlTerm(field, driver)), ode::RK4(),
                                             0.0, 1.0, 1.0, y0)
                                .y1};
      },
      test::host(DType::f64, {9, 2}, path));
  test::expect_near(all[1], all[0], 1e-13);
}

TEST(OdeSignature, HasGradients) {
  const auto f = [](const Array& x) {
    const Array s = ode::log_signature(reshape(x, {5, 3}), 3);
    return sum(s * s);
  };
  const Numbers at = wild_path(5, 3);
  const Numbers slopes = test::run([&](const Array& x) { return grad(f)(x); }, f64(at));
  for (std::size_t i = 0; i < at.size(); ++i) {
    Numbers up = at, down = at;
    up[i] += 1e-5, down[i] -= 1e-5;
    EXPECT_NEAR(slopes[i], (test::run(f, f64(up))[0] - test::run(f, f64(down))[0]) / 2e-5,
                1e-7 * (1 + std::fabs(slopes[i])));
  }
}

TEST(OdeSignature, RefusesOtherDepthsAndShapes) {
  const auto says = [](const std::string& what, const Shape& shape, int depth) {
    EXPECT_THAT(test::usage_error_of([&] { return ode::log_signature(zeros(shape), depth); }),
                ::testing::HasSubstr(what));
  };
  says("depth is 4; it is 1, 2 or 3", {3, 2}, 4);
  says("the path is f32[3]; give floats [times, channels]", {3}, 2);
  says("the path is f32[1,2]", {1, 2}, 2);
}

}  // namespace
}  // namespace gnomon::testing
