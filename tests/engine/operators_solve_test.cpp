// tests/engine/operators_solve_test.cpp -- linear systems on operators: solutions and steps, on the
// host reference.
#include <cmath>
#include <numeric>

#include "gnomon/arrange.h"
#include "gnomon/indexing.h"
#include "gnomon/jacobian.h"
#include "gnomon/operators.h"
#include "tests/engine/operators_outcome.h"

namespace gnomon::testing {
namespace {

using namespace systems;
using operators::Automatic;
using operators::BiCgStab;
using operators::Cg;
using operators::Dense;
using operators::Diagonal;
using operators::Gmres;
using operators::Lsmr;
using operators::Method;
using operators::Minres;
using operators::Operator;
using operators::solve;
using ::testing::HasSubstr;

TEST(OperatorsSolve, SemidefiniteSystemsTakeTheStepsOfTheTextbook) {
  for (const auto& [name, a] : semidefinite_matrices()) {
    const Numbers b = right_side(size_of(a));
    const double rtol = 1e-8;
    const Outcome cg = run(Cg{.rtol = rtol}, psd, square(a), vector(b));
    expect_solves(name, cg, a, b, rtol);
    expect_steps(name, cg.steps, reference_cg(a, b, rtol));
    const Outcome minres = run(Minres{.rtol = rtol}, sym, square(a), vector(b));
    expect_solves(name, minres, a, b, rtol);
    expect_steps(name, minres.steps, reference_minres(a, b, rtol));
  }
}

TEST(OperatorsSolve, GeneralSystemsTakeTheStepsOfTheTextbook) {
  for (const auto& [name, a] : general_matrices()) {
    const Numbers b = right_side(size_of(a));
    const double rtol = 1e-8;
    const Outcome gmres = run(Gmres{.rtol = rtol, .restart = 12}, {}, square(a), vector(b));
    expect_solves(name, gmres, a, b, rtol);
    expect_steps(name, gmres.steps, reference_gmres(a, b, rtol, 12));
    const Outcome stab = run(BiCgStab{.rtol = rtol}, {}, square(a), vector(b));
    expect_solves(name, stab, a, b, rtol);
    expect_steps(name, stab.steps, reference_bicgstab(a, b, rtol));
  }
}

TEST(OperatorsSolve, LeastSquaresTakeTheStepsOfTheBestOfEachKrylovSpace) {
  struct Case {
    const char* name;
    std::size_t rows, columns;
    bool consistent;
  };
  for (const Case& c : {Case{"tall", 60, 20, false}, Case{"tall, exact", 60, 20, true},
                        Case{"wide", 15, 50, true}, Case{"square", 20, 20, true}}) {
    Numbers a = made(c.rows * c.columns, 11);
    for (std::size_t i = 0; i < std::min(c.rows, c.columns); ++i) a[i * c.columns + i] += 3;
    Numbers b = made(c.rows, 12);
    if (c.consistent) b = times(a, made(c.columns, 13));
    const double rtol = 1e-8;
    const Outcome r =
        run(Lsmr{.rtol = rtol}, {},
            test::host(DType::f64, {static_cast<Dim>(c.rows), static_cast<Dim>(c.columns)}, a),
            vector(b));
    EXPECT_EQ(r.result, converged) << c.name;
    expect_steps(c.name, r.steps, reference_lsmr(a, b, rtol));
    const Numbers left = residual(a, r.x, b);
    EXPECT_NEAR(r.residual, norm(left), 1e-7 * norm(b)) << c.name;
    const double slope = norm(times(transposed(a, c.rows), left));
    EXPECT_LE(slope, 2 * rtol * norm(a) * std::max(norm(left), norm(b))) << c.name;
    if (c.columns <= c.rows) continue;
    // The shortest one is a combination of rows.
    const Numbers outer = [&] {
      Numbers m(c.rows * c.rows);
      for (std::size_t i = 0; i < c.rows; ++i)
        for (std::size_t j = 0; j < c.rows; ++j)
          for (std::size_t k = 0; k < c.columns; ++k)
            m[i * c.rows + j] += a[i * c.columns + k] * a[j * c.columns + k];
      return m;
    }();
    test::expect_near(r.x, times(transposed(a, c.rows), dense_solution(outer, b)), 1e-6);
  }
}

TEST(OperatorsSolve, AStartIsWhereASolveBegins) {
  const Numbers a = graph_laplacian(40, 7, 0.1), b = right_side(40);
  const Numbers near = plus(dense_solution(a, b), 1e-5, made(40, 3));
  for (const Method& method :
       {Method(Cg{}), Method(Minres{}), Method(Gmres{}), Method(BiCgStab{})}) {
    const auto all = test::run_all(
        [&](const Array& m, const Array& v, const Array& x0) {
          const auto s = solve(Dense{m, psd}, v, method, x0);
          const auto change = jvp(
                                  [&](const Array& w) {
                                    return solve(Dense{m, psd}, w, method, x0).x;
                                  },
                                  v, v)
                                  .second;
          return std::vector<Array>{s.x, s.steps, s.result, change};
        },
        square(a), vector(b), vector(near));
    EXPECT_LT(all[1][0], 0.7 * run(method, psd, square(a), vector(b)).steps);
    EXPECT_EQ(all[2][0], converged);
    test::expect_near(all[0], dense_solution(a, b), 1e-4);
    test::expect_near(all[3], dense_solution(a, b), 1e-4);
  }
}

TEST(OperatorsSolve, PreconditionersSaveSteps) {
  // Rows of very different sizes: what the diagonal knows.
  const std::size_t n = 60;
  Numbers a = graph_laplacian(n, 7, 0.5), sizes(n);
  for (std::size_t i = 0; i < n; ++i) sizes[i] = std::pow(10.0, static_cast<double>(i % 4));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) a[i * n + j] *= std::sqrt(sizes[i] * sizes[j]);
  const Numbers b = right_side(n), want = dense_solution(a, b);
  const auto with = [&](const auto& near) {
    return [&](const Array& m, const Array& v) {
      const Operator op = Dense{m, psd};
      const Operator inverse = near(op);
      std::vector<Array> all;
      for (const Method& method : {Method(Cg{.rtol = 1e-8, .preconditioner = inverse}),
                                   Method(Minres{.rtol = 1e-8, .preconditioner = inverse}),
                                   Method(Gmres{.rtol = 1e-8, .preconditioner = inverse}),
                                   Method(BiCgStab{.rtol = 1e-8, .preconditioner = inverse})}) {
        const auto s = solve(op, v, method);
        for (const Array& o : {s.x, s.steps, s.result, s.residual}) all.push_back(o);
      }
      return all;
    };
  };
  const auto check = [&](const std::vector<Numbers>& all, double share) {
    int k = 0;
    for (const Method& method : {Method(Cg{.rtol = 1e-8}), Method(Minres{.rtol = 1e-8}),
                                 Method(Gmres{.rtol = 1e-8}), Method(BiCgStab{.rtol = 1e-8})}) {
      const auto at = [&](int i) { return all[static_cast<std::size_t>(4 * k + i)]; };
      EXPECT_EQ(at(2)[0], converged) << k;
      EXPECT_LE(norm(residual(a, at(0), b)), 1.01e-8 * norm(b)) << k;
      EXPECT_NEAR(at(3)[0], norm(residual(a, at(0), b)), 1e-10 * norm(b)) << k;
      const Outcome plain = run(method, psd, square(a), vector(b));
      EXPECT_LT(at(1)[0], share * plain.steps) << k;
      ++k;
    }
  };
  check(test::run_all(with([](const Operator& o) { return operators::jacobi(o); }), square(a),
                      vector(b)),
        0.6);
  check(test::run_all(with([](const Operator& o) { return operators::block_jacobi(o, 8); }),
                      square(a), vector(b)),
        0.6);
  // The inverse itself: one step.
  const auto all = test::run_all(
      with([](const Operator& o) { return operators::block_jacobi(o, 60); }), square(a), vector(b));
  for (std::size_t k : {1u, 5u, 9u, 13u}) EXPECT_EQ(all[k][0], 1);
}

TEST(OperatorsSolve, NystroemInvertsWhatItsPointsTell) {
  // A kernel of one dimension: 40 points, the first 40 or every fifth of them as inducing ones.
  const std::size_t n = 40;
  const double shift = 0.01;
  Numbers kernel(n * n);
  const auto near = [](double i, double j) { return std::exp(-0.01 * (i - j) * (i - j)); };
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) kernel[i * n + j] = near(double(i), double(j));
  Numbers shifted = kernel;
  for (std::size_t i = 0; i < n; ++i) shifted[i * n + i] += shift;
  const Numbers b = made(n, 5);
  const auto all = test::run_all(
      [&](const Array& k, const Array& v) {
        const Array s = full({}, shift, DType::f64);
        const Operator a = Dense{k + shift * eye(Dim(n), DType::f64), psd};
        std::vector<Array> results;
        for (Dim step : {1, 5}) {
          const Array points = Dim(step) * iota({Dim(n) / step}, 0, DType::i32);
          const Array columns = take(k, points, 1);
          const Operator m = operators::nystroem(columns, take(columns, points, 0), s);
          EXPECT_TRUE(m.tags().positive_semidefinite);
          const auto r = solve(a, v, Cg{.rtol = 1e-8, .preconditioner = m});
          for (const Array& o : {m.as_matrix(), m.mv(v), r.x, r.steps}) results.push_back(o);
        }
        results.push_back(solve(a, v, Cg{.rtol = 1e-8}).steps);
        return results;
      },
      square(kernel), vector(b));
  const Numbers want = dense_solution(shifted, b);
  // The lift of the middle is 4 eps times a trace of 40; the shift's inverse magnifies it.
  test::expect_near(all[1], want, 1e-9 * norm(want));
  test::expect_near(all[0], transposed(all[0], n), 1e-10);
  for (std::size_t at : {2u, 6u}) EXPECT_LE(norm(residual(shifted, all[at], b)), 1.01e-8 * norm(b));
  EXPECT_LE(all[3][0], 2);
  EXPECT_LE(all[7][0], 10);
  EXPECT_GT(all[8][0], 2 * all[7][0]);
}

TEST(OperatorsSolve, NystroemRefusesOtherShapes) {
  const auto refused = [](Shape columns, Shape middle, Shape shift) {
    return test::usage_error_of(
        [&](const Array& x) {
          return x + operators::nystroem(zeros(columns), zeros(middle), zeros(shift)).mv(x);
        },
        test::f32({4}, Numbers(4)));
  };
  EXPECT_THAT(refused({4, 2}, {4, 4}, {}),
              HasSubstr("the columns are f32[4,2], the middle f32[4,4] and the shift f32[]; "
                        "floats of the shapes [n, m], [m, m] and [] are needed"));
  EXPECT_THAT(refused({4}, {4, 4}, {}), HasSubstr("the columns are f32[4]"));
  EXPECT_THAT(refused({4, 2}, {2, 2}, {1}), HasSubstr("the shift f32[1]"));
}

TEST(OperatorsSolve, BlocksOfAPreconditionerAreThoseOfTheMatrix) {
  const Numbers a = plus_diagonal(made(49, 3), 3), x = made(7, 4);
  const auto all = test::run_all(
      [](const Array& m, const Array& v) {
        const Operator near = operators::block_jacobi(Dense{m}, 3);
        const Operator diag = operators::jacobi(Dense{m});
        const Array own = slice(reshape(m, {49}), {0}, {8});
        const Operator given = operators::block_jacobi(reshape(own, {2, 2, 2}));
        return std::vector<Array>{near.mv(v), near.transpose().mv(v), diag.mv(v), given.as_matrix(),
                                  near.mm(stack({v, 2 * v}, 1))};
      },
      square(a), vector(x));
  Numbers kept = a;
  for (std::size_t i = 0; i < 7; ++i)
    for (std::size_t j = 0; j < 7; ++j)
      if (i / 3 != j / 3) kept[i * 7 + j] = 0;
  const Numbers want = dense_solution(kept, x);
  test::expect_near(all[0], want, 1e-12);
  test::expect_near(all[1], dense_solution(transposed(kept, 7), x), 1e-12);
  for (std::size_t i = 0; i < 7; ++i) EXPECT_NEAR(all[2][i], x[i] / a[8 * i], 1e-12);
  const Numbers blocks{a[0], a[1], 0, 0, a[2], a[3], 0, 0, 0, 0, a[4], a[5], 0, 0, a[6], a[7]};
  test::expect_near(
      all[3], dense_solution(blocks, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}), 1e-12);
  for (std::size_t i = 0; i < 7; ++i) EXPECT_NEAR(all[4][2 * i + 1], 2 * want[i], 1e-12);
}

struct Tree {
  Array a, b;
};

TEST(OperatorsSolve, TreesAreVectors) {
  // (a, b) -> (4 a + w sum b, 5 b + w sum a), symmetric; the matrix by its products.
  const auto all = test::run_all(
      [](const Array& w) {
        const auto f = [&](const Tree& p) {
          return Tree{4 * p.a + w * sum(p.b), 5 * p.b + w * sum(p.a)};
        };
        const Tree like{zeros({2}, DType::f64), zeros({1, 3}, DType::f64)};
        const Tree b{w + arange(2), 2 * w + ones({1, 3}, DType::f64)};
        const Operator op = operators::function(f, like, {.positive_semidefinite = true});
        std::vector<Array> left;
        for (const Method& method :
             {Method(Cg{.rtol = 1e-12}), Method(Minres{.rtol = 1e-12}),
              Method(Gmres{.rtol = 1e-12}), Method(BiCgStab{.rtol = 1e-12}),
              Method(Lsmr{.rtol = 1e-12}), Method(operators::Lu{}), Method(operators::Cholesky{}),
              Method(operators::Qr{}),
              Method(Cg{.rtol = 1e-12, .preconditioner = operators::jacobi(op)})}) {
          const auto s = solve(op, b, method);
          const Tree back = op.mv(s.x);
          left.push_back(back.a - b.a);
          left.push_back(back.b - b.b);
        }
        return left;
      },
      vector({0.5}));
  for (const Numbers& difference : all)
    test::expect_near(difference, Numbers(difference.size()), 1e-10);
}

TEST(OperatorsSolve, TagsChooseTheMethod) {
  // Functions know no matrix: of a diagonal or tridiagonal one a product tells all.
  const auto steps = test::run_all(
      [](const Array& d, const Array& b) {
        const auto scale = [&](const Array& x) { return d * x; };
        const auto third = [&](const Array& x) {
          const Array none = zeros({1}, DType::f64);
          return 4 * x - 2 * concatenate({none, slice(x, {0}, {4})}) +
                 d * concatenate({slice(x, {1}, {5}), none});
        };
        const Operator diag = operators::function(scale, b, {.diagonal = true});
        const Operator bands = operators::function(third, b, {.tridiagonal = true});
        const auto x = solve(diag, b).x, y = solve(bands, b).x;
        const Array lu = solve(bands, b, operators::Lu{}).x;
        const auto large =
            solve(operators::function(third, b), b, Automatic{.largest_matrix = 2, .rtol = 1e-12});
        return std::vector<Array>{x, y, lu, large.x, large.steps, solve(Diagonal{d}, b).x};
      },
      vector({1, 2, 4, 5, 8}), vector({1, 1, 1, 1, 1}));
  test::expect_near(steps[0], {1, 0.5, 0.25, 0.2, 0.125}, 1e-14);
  test::expect_near(steps[1], steps[2], 1e-13);
  test::expect_near(steps[3], steps[2], 1e-10);
  EXPECT_EQ(steps[4][0], 5);
  EXPECT_EQ(steps[5], steps[0]);
}

/// Bands [n - 1], [n], [n - 1] that are stored.
class Banded final : public operators::Map {
 public:
  Banded(const Bands& b)
      : Map({{b.diag.aval()}}, {{b.diag.aval()}}, {.tridiagonal = true}, "Banded"), bands_(b) {}
  Arrays mv(const Arrays& x, Loc) const override {
    const Dim n = x[0].size();
    const Array none = zeros({1}, x[0].dtype());
    return {bands_.diag * x[0] + concatenate({none, bands_.lower * slice(x[0], {0}, {n - 1})}) +
            concatenate({bands_.upper * slice(x[0], {1}, {n}), none})};
  }
  std::optional<Bands> bands(Loc) const override { return bands_; }

 private:
  Bands bands_;
};

TEST(OperatorsSolve, StoredBandsAreUsed) {
  const auto all = test::run_all(
      [](const Array& l, const Array& d, const Array& u, const Array& b) {
        const Operator op(std::make_shared<Banded>(operators::Map::Bands{l, d, u}));
        const auto x = [&](const Array& v) { return solve(op, v).x; };
        return std::vector<Array>{x(b), solve(op, b, operators::Lu{}).x,
                                  grad([&](const Array& v) { return sum(b * x(v)); })(b),
                                  solve(op.transpose(), b, operators::Lu{}).x};
      },
      vector({1, 2, -1}), vector({5, 6, 7, 8}), vector({3, -2, 2}), vector({1, 2, 3, 5}));
  test::expect_near(all[0], all[1], 1e-14);
  test::expect_near(all[2], all[3], 1e-14);
  EXPECT_NE(all[0], all[2]);
}

}  // namespace
}  // namespace gnomon::testing
