// tests/engine/estimate_test.cpp -- estimates of traces against what they estimate: where they are
// exact, their means and standard errors over many keys, derivatives; on the host reference.
#include "gnomon/estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/arrange.h"
#include "gnomon/linalg.h"
#include "gnomon/operators.h"
#include "gnomon/ops.h"
#include "tests/codegen/graph_host.h"
#include "tests/engine/estimate_matrices.h"

namespace gnomon::testing {
namespace {

using estimate::Derivative;
using estimate::TraceMethod;
using estimates::at;
using estimates::derivatives;
using estimates::f64;
using estimates::Family;
using estimates::low_rank;
using estimates::made;
using estimates::values;
using operators::Dense;
using operators::Diagonal;
using operators::Operator;
using test::Numbers;
using ::testing::HasSubstr;
using Arrays = std::vector<Array>;

double trace_of(const Numbers& a) {
  double t = 0;
  const auto n = static_cast<std::size_t>(std::lround(std::sqrt(double(a.size()))));
  for (std::size_t i = 0; i < n; ++i) t += a[i * n + i];
  return t;
}

const std::vector<TraceMethod>& methods() {
  static const std::vector<TraceMethod> all{estimate::Hutchinson{}, estimate::HutchPlusPlus{},
                                            estimate::XTrace{}, estimate::XNysTrace{}};
  return all;
}

TEST(Estimate, RademacherIsExactForDiagonalMatrices) {
  const Numbers d = made(7, 1);
  double want = 0;
  for (double x : d) want += x;
  for (Dim k : {1, 3, 7})
    for (Dim key : {0, 1, 99}) {
      const auto all = test::run_all(
          [&](const Array& v) {
            return values(estimate::trace(at(key), Diagonal{v}, k, estimate::Hutchinson{}));
          },
          f64(d, {7}));
      EXPECT_NEAR(all[0][0], want, 1e-14);
      EXPECT_TRUE(k == 1 ? std::isnan(all[1][0]) : std::abs(all[1][0]) < 1e-14) << all[1][0];
    }
}

TEST(Estimate, TheIdentityCostsNoProducts) {
  const auto run = [](const Array& x) {
    const auto t = estimate::trace(at(0), operators::identity(x), 5);
    EXPECT_EQ(t.products, 0);
    return values(t);
  };
  const auto all = test::run_all(run, f64(made(6, 1), {2, 3}));
  EXPECT_EQ(all[0], (Numbers{6}));
  EXPECT_EQ(all[1], (Numbers{0}));
}

TEST(Estimate, LowRankIsExact) {
  const Numbers a = low_rank(20, 3, true), b = low_rank(20, 3, false);
  for (std::size_t i : {1u, 2u, 3u}) {
    const auto run = [&](const Array& m) {
      return values(
          estimate::trace(at(5), Dense{m, {.positive_semidefinite = i == 3}}, 12, methods()[i]));
    };
    const auto got = test::run_all(run, f64(a, {20, 20}));
    EXPECT_NEAR(got[0][0], trace_of(a), 1e-12) << i;
    EXPECT_NEAR(got[1][0], 0, 1e-12) << i;
    if (i == 3) continue;
    const auto other = test::run_all(run, f64(b, {20, 20}));
    EXPECT_NEAR(other[0][0], trace_of(b), 1e-12) << i;
  }
}

TEST(Estimate, TheZeroMatrixIsExact) {
  for (const TraceMethod& m : methods()) {
    const auto all = test::run_all(
        [&](const Array& a) {
          return values(estimate::trace(at(5), Dense{a, {.positive_semidefinite = true}}, 6, m));
        },
        f64(Numbers(64), {8, 8}));
    EXPECT_NEAR(all[0][0], 0, 1e-100);
    EXPECT_NEAR(all[1][0], 0, 1e-100);
  }
}

/// What the keys 0, 1, ... say of a trace: all values, then all standard errors.
std::vector<Numbers> over_keys(const Numbers& a, Dim n, Dim k, const TraceMethod& m, Dim keys) {
  return test::run_all(
      [&](const Array& matrix) {
        const auto one = [&](Key key) {
          return values(estimate::trace(std::move(key),
                                        Dense{matrix, {.positive_semidefinite = true}}, k, m));
        };
        return vmap(one)(random::split(at(17), keys));
      },
      f64(a, {n, n}));
}

struct Spread {
  double mean_off = 0;  // of the mean of all keys, in its standard errors
  double covered = 0;   // share of keys within 1.96 of their standard errors
  double ratio = 0;     // standard error claimed by that found
};
Spread spread(const std::vector<Numbers>& all, double want) {
  const Numbers &v = all[0], &e = all[1];
  double mean = 0, var = 0, claimed = 0, covered = 0;
  const double keys = double(v.size());
  for (double x : v) mean += x / keys;
  for (double x : v) var += (x - mean) * (x - mean) / (keys - 1);
  for (std::size_t i = 0; i < v.size(); ++i) {
    claimed += e[i] * e[i] / keys;
    covered += std::abs(v[i] - want) <= 1.96 * e[i];
  }
  return {(mean - want) / std::sqrt(var / keys), covered / keys, std::sqrt(claimed / var)};
}

TEST(Estimate, MeansHoldOverManyKeys) {
  constexpr Dim n = 12;
  // Semidefinite, with eigenvalues that no few vectors span. Intervals: estimate_device_test.cpp.
  const Numbers a = low_rank(n, n, true);
  for (std::size_t i = 0; i < methods().size(); ++i) {
    const Spread s = spread(over_keys(a, n, 8, methods()[i], 200), trace_of(a));
    EXPECT_LT(std::abs(s.mean_off), 5) << i;
    EXPECT_NEAR(s.ratio, 1, 0.25) << i;
  }
}

TEST(Estimate, MeansHoldWithBlocksThatDependOnEachOther) {
  // For Hutch++ blocks that fit its thirds and such that do not.
  constexpr Dim n = 12;
  const Numbers a = low_rank(n, n, true);
  const estimate::OrthogonalBlocks blocks{4};
  for (const TraceMethod& m :
       {TraceMethod(estimate::Hutchinson{blocks}), TraceMethod(estimate::HutchPlusPlus{blocks})})
    for (const Dim k : {8, 18, 24}) {
      const Spread s = spread(over_keys(a, n, k, m, 400), trace_of(a));
      EXPECT_LT(std::abs(s.mean_off), 4) << m.index() << " " << k;
    }
}

/// Columns of unit length, and their lengths.
Array normalised(const Array& x) { return x * rsqrt(sum(square(x), {0})); }
Array inverse_transposed(const Array& r) { return transpose(linalg::inv(r)); }

/// The formulas as they were published, term by term (XTrace, listings 1 and 2).
Array published_x_trace(const Array& a, const Array& omega) {
  const double n = double(omega.dim(0)), m = double(omega.dim(1));
  const auto [q, r] = linalg::qr(matmul(a, omega));
  const Array s = normalised(inverse_transposed(r)), z = matmul(a, q);
  const Array h = matmul(transpose(q), z), w = matmul(transpose(q), omega);
  const Array t = matmul(transpose(z), omega);
  const auto dots = [](const Array& x, const Array& y) { return sum(x * y, {0}); };
  const Array sw = dots(s, w), shs = dots(s, matmul(h, s)), hw = matmul(h, w);
  const Array scale = (n - m + 1) / (n - dots(w, w) + sw * sw);
  const Array rest = dots(w, hw) - dots(t, w) + sw * dots(s, t - matmul(transpose(h), w)) +
                     sw * sw * shs + sw * dots(s, r - hw);
  return mean(trace(h) - shs + rest * scale);
}
Array published_x_nys_trace(const Array& a, const Array& omega) {
  const double n = double(omega.dim(0)), k = double(omega.dim(1));
  const Array plain = matmul(a, omega);
  const Array shift = 2.2e-16 * sqrt(sum(square(plain))) / std::sqrt(n);
  const Array y = plain + shift * omega, h = matmul(transpose(omega), y);
  const auto [q, r] = linalg::qr(y);
  const Array c = transpose(linalg::cholesky(h));
  const Array b = matmul(r, linalg::inv(c));
  const auto dots = [](const Array& x, const Array& u) { return sum(x * u, {0}); };
  const auto [qo, ro] = linalg::qr(omega);
  const Array so = normalised(inverse_transposed(ro)), wo = matmul(transpose(qo), omega);
  const Array scale = (n - k + 1) / (n - dots(wo, wo) + square(dots(so, wo)));
  const Array s = matmul(b, inverse_transposed(c)) * rsqrt(diagonal(linalg::inv(h)));
  const Array w = matmul(transpose(q), omega);
  return mean(sum(square(b)) - dots(s, s) + square(dots(s, w)) * scale - shift * n);
}

TEST(Estimate, XTraceAndXNysTraceAreThePublishedFormulas) {
  constexpr Dim n = 24;
  const auto all = test::run_all(
      [&](const Array& m) {
        const Operator op = Dense{m, {.positive_semidefinite = true}};
        const Array omega = estimate::draw(estimate::Sphere{}, at(8), op.in(), 6)[0];
        return Arrays{estimate::trace(at(8), op, 12, estimate::XTrace{}).value,
                      published_x_trace(m, omega),
                      estimate::trace(at(8), op, 6, estimate::XNysTrace{}).value,
                      published_x_nys_trace(m, omega)};
      },
      f64(low_rank(n, n, true), {n, n}));
  test::expect_near(all[0], all[1], 1e-12);
  test::expect_near(all[2], all[3], 1e-11);
}

TEST(Estimate, OrthogonalBlocksOfFullSizeAreExact) {
  const Numbers a = made(81, 5);
  const auto all = test::run_all(
      [&](const Array& m) {
        return values(estimate::trace(at(3), Dense{m}, 9,
                                      estimate::Hutchinson{estimate::OrthogonalBlocks{9}}));
      },
      f64(a, {9, 9}));
  EXPECT_NEAR(all[0][0], trace_of(a), 1e-13);
  EXPECT_TRUE(std::isnan(all[1][0]));
}

TEST(Estimate, DerivativesOfTracesAreTracesOfDerivatives) {
  const Family m(6);
  // As many probes as the methods have a use for: the estimates are exact but for Hutchinson's,
  // which is so with orthogonal probes.
  const double b = trace_of(m.b), c = trace_of(m.c);
  const std::vector<TraceMethod> all{estimate::Hutchinson{estimate::OrthogonalBlocks{6}},
                                     estimate::HutchPlusPlus{}, estimate::XTrace{},
                                     estimate::XNysTrace{}};
  for (const TraceMethod& method : all) {
    const Numbers got = derivatives(
        m, [&](const Operator& a) { return estimate::trace(at(2), a, 18, method).value; });
    test::expect_near(got, {1.5 * b + 0.25 * c, b + c, b + c, 2 * c, 2 * c}, 1e-9);
  }
}

TEST(Estimate, DerivativesUseTheSameProbes) {
  // d t[V] is what the same probes say of V: of Hutchinson's mean the mean itself, of the others
  // z^T V z for the vectors they end up with, which makes the gradient a sum of z z^T of trace n.
  constexpr Dim n = 7;
  const Numbers a = low_rank(n, n, true), v = made(n * n, 9);
  for (std::size_t i = 0; i < methods().size(); ++i) {
    const auto all = test::run_all(
        [&](const Array& m, const Array& direction) {
          const auto f = [&](const Array& x) {
            const Operator op = Dense{x, {.positive_semidefinite = true}};
            return estimate::trace(at(4), op, 4, methods()[i]).value;
          };
          const Array g = grad(f)(m);
          return Arrays{
              jvp(f, m, direction).second, sum(g * direction), trace(g), g,
              estimate::trace(at(4), Dense{direction}, 4, methods()[i == 3 ? 0 : i]).value};
        },
        f64(a, {n, n}), f64(v, {n, n}));
    test::expect_near(all[0], all[1], 1e-12);
    if (i == 0) test::expect_near(all[0], all[4], 1e-12);
    if (i == 0) test::expect_near(all[2], {n}, 1e-12);
  }
}

TEST(Estimate, ExactDerivativesOfStoredDiagonals) {
  const auto got = test::run(
      [&](const Array& m) {
        const auto f = [&](const Array& x) {
          return estimate::trace(at(4), Dense{x}, 4, estimate::XTrace{},
                                 {.derivative = Derivative::exact})
              .value;
        };
        return grad(f)(m);
      },
      f64(made(9, 2), {3, 3}));
  EXPECT_EQ(got, (Numbers{1, 0, 0, 0, 1, 0, 0, 0, 1}));
}

TEST(Estimate, ThroughTheEstimatorIsTheDerivativeOfTheComputation) {
  const Family m(7);
  for (std::size_t i = 1; i < methods().size(); ++i) {
    const auto estimate_at = [&](double x) {
      return test::run(
          [&](const Array& v, const Array& b, const Array& c) {
            return estimate::trace(at(6), m.at(v, b, c), 6, methods()[i]).value;
          },
          f64({x}, {}), f64(m.b, {7, 7}), f64(m.c, {7, 7}))[0];
    };
    const double h = 1e-5, slope = (estimate_at(0.5 + h) - estimate_at(0.5 - h)) / (2 * h);
    const Numbers got = derivatives(m, [&](const Operator& a) {
      return estimate::trace(at(6), a, 6, methods()[i],
                             {.derivative = Derivative::through_estimator})
          .value;
    });
    EXPECT_NEAR(got[1], slope, 1e-7 * std::abs(slope)) << i;
    EXPECT_NEAR(got[2], slope, 1e-7 * std::abs(slope)) << i;
  }
}

TEST(Estimate, BatchesAndProbesOfTheCaller) {
  constexpr Dim n = 5;
  const Numbers a = made(n * n, 1), z = made(n * 7, 2);
  double want = 0;
  for (std::size_t p = 0; p < 7; ++p)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) want += z[i * 7 + p] * a[i * n + j] * z[j * 7 + p] / 7;
  for (Dim batch : {0, 1, 2, 3, 7}) {
    const auto all = test::run_all(
        [&](const Array& m, const Array& probes) {
          const auto t = estimate::trace(estimate::Probes(probes), Dense{m}, estimate::Hutchinson{},
                                         {.batch = batch});
          EXPECT_EQ(t.products, 7);
          return values(t);
        },
        f64(a, {n, n}), f64(z, {n, 7}));
    EXPECT_NEAR(all[0][0], want, 1e-13) << batch;
  }
  // Trees: blocks along the last axis of every array.
  struct Pair {
    Array a, b;
  };
  const auto pair = test::run(
      [&](const Array& x) {
        const Pair like{x, x[0]};
        const Operator twice = operators::function(
            [](const Pair& p) {
              return Pair{2 * p.a, 3 * p.b};
            },
            like);
        return estimate::trace(at(0), twice, 4, estimate::Hutchinson{}).value;
      },
      f64(made(6, 1), {3, 2}));
  EXPECT_NEAR(pair[0], 2 * 6 + 3 * 2, 1e-13);
}

TEST(Estimate, MoreProbesUntilTheToleranceIsReached) {
  constexpr Dim n = 10;
  Numbers a = made(n * n, 1);
  for (std::size_t i = 0; i < n; ++i) a[i * n + i] += 10;
  const auto run = [&](double rtol, Dim most) {
    return test::run_all(
        [&](const Array& m) {
          const auto t =
              estimate::trace_to(at(1), Dense{m}, {.rtol = rtol, .max_probes = most, .batch = 8});
          return Arrays{t.value, t.standard_error, t.products, t.reached};
        },
        f64(a, {n, n}));
  };
  const auto found = run(2e-3, 10000), cut = run(1e-9, 100), easy = run(0.5, 10000);
  EXPECT_LE(found[1][0], 2e-3 * found[0][0]);
  EXPECT_NEAR(found[0][0], trace_of(a), 5 * found[1][0]);
  EXPECT_EQ(found[3][0], 1);
  EXPECT_GT(found[2][0], 100);
  EXPECT_EQ(cut[2][0], 104);  // 13 batches
  EXPECT_EQ(cut[3][0], 0);
  EXPECT_EQ(easy[2][0], 16);
  // Lanes stop on their own.
  const auto lanes = test::run_all(
      [&](const Array& m, const Array& scale) {
        const auto one = [&](const Array& s) {
          const auto t = estimate::trace_to(at(1), Dense{s * m + eye(n, DType::f64)},
                                            {.rtol = 2e-3, .batch = 8});
          return Arrays{t.value, t.products};
        };
        return vmap(one)(scale);
      },
      f64(a, {n, n}), f64({0, 1}, {2}));
  EXPECT_EQ(lanes[1][0], 16);
  EXPECT_GT(lanes[1][1], 16);
}

TEST(Estimate, FrobeniusNormsOfMatricesThatAreNotSquare) {
  const Numbers a = made(30, 3);
  double squares = 0;
  for (double x : a) squares += x * x;
  const auto all = test::run_all(
      [&](const Array& m) {
        const auto f = [&](const Array& x) {
          return estimate::frobenius_norm(at(1), Dense{x}, 6, estimate::OrthogonalBlocks{6}).value;
        };
        return Arrays{f(m), grad(f)(m)};
      },
      f64(a, {5, 6}));
  EXPECT_NEAR(all[0][0], std::sqrt(squares), 1e-13);
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(all[1][i], a[i] / std::sqrt(squares), 1e-13);
}

TEST(Estimate, Diagonals) {
  constexpr Dim n = 9;
  const Numbers low = low_rank(n, 3, false), d = made(n, 8);
  const auto all = test::run_all(
      [&](const Array& m, const Array& v) {
        const auto x = estimate::diagonal(at(1), Dense{m}, 10, estimate::XDiag{});
        const auto b = estimate::diagonal(at(1), Diagonal{v}, 5, estimate::Bekas{}, {.batch = 2});
        const auto o =
            estimate::diagonal(at(1), Dense{m}, 9, estimate::Bekas{estimate::OrthogonalBlocks{9}});
        const auto normal = estimate::diagonal(at(1), Diagonal{v}, 5,
                                               estimate::Bekas{estimate::Normal{}}, {.batch = 2});
        EXPECT_EQ(x.products, 10);
        EXPECT_EQ(b.products, 5);
        return Arrays{x.value,      x.standard_error,     b.value, b.standard_error, o.value,
                      normal.value, normal.standard_error};
      },
      f64(low, {n, n}), f64(d, {n}));
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_NEAR(all[0][i], low[i * n + i], 1e-12);
    EXPECT_NEAR(all[1][i], 0, 1e-12);
    EXPECT_NEAR(all[2][i], d[i], 1e-14);
    EXPECT_NEAR(all[3][i], 0, 1e-14);
    EXPECT_NEAR(all[5][i], d[i], 1e-13);
    EXPECT_NEAR(all[6][i], 0, 1e-13);
  }
}

TEST(Estimate, DiagonalsDifferentiateAsDiagonals) {
  // Of a diagonal matrix in itself by Bekas, of x^2 B with a B of low rank by XDiag.
  constexpr Dim n = 5;
  const auto bekas = test::run(
      [&](const Array& v) {
        const auto f = [&](const Array& x) {
          const Array value = estimate::diagonal(at(1), Diagonal{x}, 5).value;
          return sum(value * value * value);
        };
        return stack(Arrays{grad(f)(v), jvp(grad(f), v, ones({n}, DType::f64)).second});
      },
      f64({1, 2, 3, 4, 5}, {n}));
  test::expect_near(bekas, {3, 12, 27, 48, 75, 6, 12, 18, 24, 30}, 1e-10);

  const Numbers b = low_rank(n, 2, false);
  double sum_of_squares = 0;
  for (std::size_t i = 0; i < std::size_t(n); ++i) sum_of_squares += b[i * 6] * b[i * 6];
  const auto x_diag = test::run(
      [&](const Array& x, const Array& m) {
        const auto f = [&](const Array& v) {
          const Operator a = Dense{v * v * m};
          return sum(square(estimate::diagonal(at(1), a, 8, estimate::XDiag{}).value));
        };
        return stack(Arrays{f(x), grad(f)(x), jvp(grad(f), x, ones({}, DType::f64)).second});
      },
      f64({2}, {}), f64(b, {n, n}));
  test::expect_near(x_diag, {16 * sum_of_squares, 32 * sum_of_squares, 48 * sum_of_squares}, 1e-10);
}

TEST(Estimate, BadInputIsRefused) {
  const auto words = [](auto f) {
    return test::usage_error_of([&](const Array& m) { return f(m).value; },
                                f64(made(9, 1), {3, 3}));
  };
  EXPECT_THAT(words([](const Array& m) {
                return estimate::trace(at(0), Dense{m[0][0] * ones({2, 3}, DType::f64)}, 3);
              }),
              HasSubstr("estimate::trace: the operator Dense takes f64[3] and gives f64[2]; a "
                        "square one is needed (estimate_test.cpp:"));
  EXPECT_THAT(words([](const Array& m) { return estimate::trace(at(0), Dense{m}, 0); }),
              HasSubstr("estimate::trace: k is 0; it has to be 1 or more (estimate_test.cpp:"));
  EXPECT_THAT(words([](const Array& m) { return estimate::diagonal(at(0), Dense{m}, -2); }),
              HasSubstr("estimate::diagonal: k is -2; it has to be 1 or more"));
  EXPECT_THAT(words([](const Array& m) {
                return estimate::trace(at(0), Dense{m}, 2, estimate::XNysTrace{});
              }),
              HasSubstr("estimate::XNysTrace: the operator Dense is tagged none; Nystroem's"));
  EXPECT_THAT(words([](const Array& m) {
                return estimate::log_determinant(at(0), Dense{m, {.symmetric = true}}, 2, 2);
              }),
              HasSubstr("is tagged symmetric; a real logarithm needs a positive definite one"));
  EXPECT_THAT(words([](const Array& m) {
                return estimate::log_determinant(
                    at(0), Dense{m, {.positive_semidefinite = true}}, 2, 2,
                    {.solve_preconditioner = Diagonal{ones({4}, DType::f64)}});
              }),
              HasSubstr("estimate::log_determinant: the preconditioner Diagonal takes f64[4] and "
                        "gives f64[4], and the system is of f64[3]; it has to be like the inverse "
                        "of the operator"));
  EXPECT_THAT(words([](const Array& m) {
                return estimate::trace_of([](const Array& x) { return x; }, at(0), Dense{m}, 2, 2);
              }),
              HasSubstr("Lanczos' method needs a symmetric one"));
  EXPECT_THAT(
      words([](const Array& m) {
        return estimate::trace(estimate::Probes(ones({4, 2}, DType::f64)), Dense{m});
      }),
      HasSubstr("the probes have f64[4,2] and the operator takes f64[3]; probes are a block"));
  EXPECT_THAT(words([](const Array& m) {
                return estimate::trace(estimate::Probes(ones({3, 5}, DType::f64)), Dense{m},
                                       estimate::XTrace{});
              }),
              HasSubstr("there are 5 probes of 3 numbers; this method takes no more"));
  const estimate::OrthogonalBlocks blocks{2};
  EXPECT_THAT(
      words([&](const Array& m) {
        return estimate::trace(at(0), Dense{m}, 4, estimate::XTrace{blocks});
      }),
      HasSubstr("estimate::XTrace: OrthogonalBlocks makes 2 probes at a time at right angles "
                "to each other, and each probe of this method is left out of the others"));
  EXPECT_THAT(
      words([&](const Array& m) {
        return estimate::trace(at(0), Dense{m, {.positive_semidefinite = true}}, 2,
                               estimate::XNysTrace{blocks});
      }),
      HasSubstr("the estimate would be biased; take Sphere, or the probes with Hutchinson"));
  EXPECT_THAT(words([&](const Array& m) {
                return estimate::diagonal(at(0), Dense{m}, 4, estimate::XDiag{blocks});
              }),
              HasSubstr("estimate::XDiag: OrthogonalBlocks makes 2 probes"));
  EXPECT_THAT(words([](const Array& m) { return estimate::trace_to(at(0), Dense{m}, {}); }),
              HasSubstr("both tolerances are 0; give .rtol or .atol"));
  EXPECT_THAT(words([](const Array& m) {
                return estimate::trace(at(0), Dense{m}, 2,
                                       estimate::Hutchinson{estimate::SparseSigns{0.5}});
              }),
              HasSubstr("estimate::SparseSigns: s is 0.500000; one number in s is not 0"));
}

}  // namespace
}  // namespace gnomon::testing
