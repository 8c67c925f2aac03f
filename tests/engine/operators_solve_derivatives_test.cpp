// tests/engine/operators_solve_derivatives_test.cpp -- derivatives of solutions of linear systems
// against those of dense matrices, in both modes and twice, on the host reference.
#include <cmath>
#include <numeric>

#include "gnomon/arrange.h"
#include "gnomon/jacobian.h"
#include "gnomon/operators.h"
#include "tests/codegen/graph_host.h"
#include "tests/engine/operators_systems.h"

namespace gnomon::testing {
namespace {

using namespace systems;
using operators::Dense;
using operators::Method;
using operators::Operator;
using operators::Tags;

/// A(t) x(t) = b(t) along a line: x, x', x''.
struct Line {
  Numbers x, first, second;
};
Line along(const Numbers& a, const Numbers& b, const Numbers& da, const Numbers& db) {
  const std::size_t m = b.size(), n = a.size() / m;
  const Numbers at = transposed(a, m), dat = transposed(da, m);
  const auto product = [](const Numbers& p, const Numbers& q, std::size_t inner) {
    const std::size_t rows = p.size() / inner, columns = q.size() / inner;
    Numbers r(rows * columns);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t k = 0; k < inner; ++k)
        for (std::size_t j = 0; j < columns; ++j)
          r[i * columns + j] += p[i * inner + k] * q[k * columns + j];
    return r;
  };
  if (m == n) {
    const Numbers x = dense_solution(a, b);
    const Numbers first = dense_solution(a, plus(db, -1, times(da, x)));
    return {x, first, dense_solution(a, plus(Numbers(n), -2, times(da, first)))};
  }
  if (m > n) {
    // A^T (A x - b) = 0.
    const Numbers normal = product(at, a, m);
    const Numbers x = dense_solution(normal, times(at, b));
    const Numbers right = plus(times(dat, residual(a, x, b)), 1, times(at, residual(da, x, db)));
    const Numbers first = dense_solution(normal, right);
    const Numbers mixed = plus(plus(times(dat, times(a, first)), 1, times(at, times(da, first))),
                               -1, times(dat, residual(da, x, db)));
    return {x, first, dense_solution(normal, plus(Numbers(n), -2, mixed))};
  }
  // x = A^T y, A A^T y = b.
  const Numbers outer = product(a, at, n);
  const auto turned = [&](const Numbers& y) {
    return plus(times(da, times(at, y)), 1, times(a, times(dat, y)));
  };
  const Numbers y = dense_solution(outer, b);
  const Numbers y1 = dense_solution(outer, plus(db, -1, turned(y)));
  const Numbers y2 =
      dense_solution(outer, plus(Numbers(m), -2, plus(turned(y1), 1, times(da, times(dat, y)))));
  return {times(at, y), plus(times(dat, y), 1, times(at, y1)),
          plus(times(at, y2), 2, times(dat, y1))};
}

struct System {
  Array a, b;
};

void expect_derivatives(const char* what, const Method& method, const Tags& tags, const Numbers& a,
                        const Numbers& da, std::size_t rows) {
  SCOPED_TRACE(what);
  const Numbers b = made(rows, 1), db = made(rows, 2);
  const Line want = along(a, b, da, db);
  const auto n = static_cast<Dim>(want.x.size()), m = static_cast<Dim>(rows);
  const Numbers c = made(want.x.size(), 3);
  const auto all = test::run_all(
      [&](const Array& va, const Array& vb, const Array& vda, const Array& vdb, const Array& vc) {
        const auto x = [&](const System& s) {
          return operators::solve(Dense{s.a, tags}, s.b, method).x;
        };
        const System at{va, vb}, direction{vda, vdb};
        const auto slope = [&](const System& s) { return jvp(x, s, direction).second; };
        const auto number = [&](const System& s) { return sum(vc * x(s)); };
        const auto inner = [&](const System& s) { return sum(s.a * vda) + sum(s.b * vdb); };
        const System gradient = grad(number)(at);
        const auto forward_reverse = jvp(grad(number), at, direction).second;
        const auto reverse_forward = grad([&](const System& s) { return sum(vc * slope(s)); })(at);
        return std::vector<Array>{x(at),
                                  slope(at),
                                  jvp(slope, at, direction).second,
                                  inner(gradient),
                                  inner(forward_reverse),
                                  inner(reverse_forward),
                                  gradient.a,
                                  gradient.b};
      },
      test::host(DType::f64, {m, n}, a), test::host(DType::f64, {m}, b),
      test::host(DType::f64, {m, n}, da), test::host(DType::f64, {m}, db),
      test::host(DType::f64, {n}, c));
  test::expect_near(all[0], want.x, 1e-9);
  test::expect_near(all[1], want.first, 1e-8);
  test::expect_near(all[2], want.second, 1e-8);
  test::expect_near(all[3], {dot(c, want.first)}, 1e-8);
  test::expect_near(all[4], {dot(c, want.second)}, 1e-8);
  test::expect_near(all[5], {dot(c, want.second)}, 1e-8);
  if (m != n) return;
  const Numbers adjoint = dense_solution(transposed(a, rows), c);
  Numbers by_matrix;
  for (double l : adjoint)
    for (double v : want.x) by_matrix.push_back(-l * v);
  test::expect_near(all[6], by_matrix, 1e-8);
  test::expect_near(all[7], adjoint, 1e-8);
}

constexpr std::size_t size = 7;

Numbers symmetric(unsigned seed) {
  Numbers a = made(size * size, seed);
  return plus(a, 1, transposed(a, size));
}
Numbers definite() { return plus_diagonal(symmetric(4), 7); }
Numbers only(Numbers a, int below, int above) {
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) {
      const int off = static_cast<int>(j) - static_cast<int>(i);
      if (off < -below || off > above) a[i * size + j] = 0;
    }
  return a;
}

TEST(OperatorsSolveDerivatives, OfIterationsAreThoseOfTheSolution) {
  const Numbers general = plus_diagonal(made(size * size, 5), 3), change = made(size * size, 6);
  const Numbers negative = plus(Numbers(size * size), -1, definite());
  expect_derivatives("cg", operators::Cg{.rtol = 1e-13}, {.positive_semidefinite = true},
                     definite(), symmetric(8), size);
  expect_derivatives("cg, negative", operators::Cg{.rtol = 1e-13}, {.negative_semidefinite = true},
                     negative, symmetric(8), size);
  expect_derivatives("minres", operators::Minres{.rtol = 1e-13}, {.symmetric = true},
                     plus_diagonal(symmetric(4), 0.5), symmetric(8), size);
  expect_derivatives("gmres", operators::Gmres{.rtol = 1e-13}, {}, general, change, size);
  expect_derivatives("bicgstab", operators::BiCgStab{.rtol = 1e-13}, {}, general, change, size);
}

TEST(OperatorsSolveDerivatives, OfFactorsAreThoseOfTheSolution) {
  const Numbers general = plus_diagonal(made(size * size, 5), 3), change = made(size * size, 6);
  const Numbers negative = plus(Numbers(size * size), -1, definite());
  expect_derivatives("cholesky", operators::Cholesky{}, {.positive_semidefinite = true}, definite(),
                     symmetric(8), size);
  expect_derivatives("cholesky, negative", operators::Cholesky{}, {.negative_semidefinite = true},
                     negative, symmetric(8), size);
  expect_derivatives("lu", operators::Lu{}, {}, general, change, size);
  expect_derivatives("qr", operators::Qr{}, {}, general, change, size);
  expect_derivatives("tridiagonal", operators::TridiagonalSolve{}, {.tridiagonal = true},
                     only(general, 1, 1), only(change, 1, 1), size);
  expect_derivatives("lower", operators::TriangularSolve{}, {.lower_triangular = true},
                     only(general, size, 0), only(change, size, 0), size);
  expect_derivatives("upper", operators::TriangularSolve{}, {.upper_triangular = true},
                     only(general, 0, size), only(change, 0, size), size);
  expect_derivatives("diagonal", operators::DiagonalSolve{}, {.diagonal = true},
                     only(general, 0, 0), only(change, 0, 0), size);
}

TEST(OperatorsSolveDerivatives, OfLeastSquaresAreThoseOfTheMinimum) {
  const Numbers a = made(28, 9), da = made(28, 10);
  const operators::Lsmr lsmr{.rtol = 1e-14};
  expect_derivatives("tall, lsmr", lsmr, {}, a, da, 7);
  expect_derivatives("wide, lsmr", lsmr, {}, a, da, 4);
  expect_derivatives("tall, qr", operators::Qr{}, {}, a, da, 7);
  expect_derivatives("wide, qr", operators::Qr{}, {}, a, da, 4);
}

TEST(OperatorsSolveDerivatives, GoThroughFunctionsAndStopAtPreconditionersAndStarts) {
  // exp(w) is the matrix: its transpose and its change are those of the function's graph.
  const Numbers w = plus_diagonal(made(size * size, 5), 2), b = made(size, 1), c = made(size, 3);
  Numbers a;
  for (double v : w) a.push_back(std::exp(v));
  const Numbers x = dense_solution(a, b), adjoint = dense_solution(transposed(a, size), c);
  Numbers want;
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) want.push_back(-adjoint[i] * x[j] * a[i * size + j]);
  const auto n = static_cast<Dim>(size);
  const auto all = test::run_all(
      [&](const Array& vw, const Array& vb, const Array& vc) {
        const auto number = [&](const Method& method) {
          return [&, method](const Array& at) {
            const auto f = [at](const Array& v) { return matmul(exp(at), v); };
            return sum(vc * operators::solve(operators::function(f, vb), vb, method).x);
          };
        };
        const auto near = [&](const Array& at) {
          const Operator op = Dense{exp(at)};
          const operators::Gmres method{.rtol = 1e-13,
                                        .preconditioner = operators::block_jacobi(op, 3)};
          return sum(vc * operators::solve(op, vb, method, exp(at[0])).x);
        };
        return std::vector<Array>{grad(number(operators::Gmres{.rtol = 1e-13}))(vw),
                                  grad(number(operators::Lsmr{.rtol = 1e-14}))(vw),
                                  grad(number(operators::Lu{}))(vw), grad(near)(vw)};
      },
      test::host(DType::f64, {n, n}, w), test::host(DType::f64, {n}, b),
      test::host(DType::f64, {n}, c));
  for (const Numbers& got : all) test::expect_near(got, want, 1e-8);
}

TEST(OperatorsSolveDerivatives, OfBlocksAreThoseOfTheirColumns) {
  const Numbers a = definite(), da = symmetric(8), b = made(2 * size, 1);
  const auto n = static_cast<Dim>(size);
  for (const Method& method :
       {Method(operators::Cg{.rtol = 1e-13}), Method(operators::Cholesky{}),
        Method(operators::Lu{}), Method(operators::Qr{}), Method(operators::Lsmr{.rtol = 1e-14})}) {
    const auto all = test::run_all(
        [&](const Array& va, const Array& vda, const Array& vb) {
          const auto x = [&](const Array& m) {
            const Dense op{m, {.positive_semidefinite = true}};
            return operators::solve_block(op, vb, method).x;
          };
          return std::vector<Array>{jvp(x, va, vda).second,
                                    sum(grad([&](const Array& m) { return sum(x(m)); })(va) * vda)};
        },
        test::host(DType::f64, {n, n}, a), test::host(DType::f64, {n, n}, da),
        test::host(DType::f64, {n, 2}, b));
    const Numbers x = dense_solution(a, b);
    Numbers right(2 * size);
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t k = 0; k < size; ++k)
        for (std::size_t j = 0; j < 2; ++j) right[2 * i + j] -= da[i * size + k] * x[2 * k + j];
    const Numbers want = dense_solution(a, right);
    test::expect_near(all[0], want, 1e-8);
    test::expect_near(all[1], {std::accumulate(want.begin(), want.end(), 0.0)}, 1e-8);
  }
}

}  // namespace
}  // namespace gnomon::testing
