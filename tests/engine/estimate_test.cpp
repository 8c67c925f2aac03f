// tests/engine/estimate_test.cpp -- estimates of traces against what they estimate: where they are
// exact, their means and standard errors over many keys, derivatives; on the host reference.
#include "gnomon/estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/arrange.h"
#include "gnomon/operators.h"
#include "gnomon/ops.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::testing {
namespace {

using estimate::Derivative;
using estimate::TraceMethod;
using operators::Dense;
using operators::Diagonal;
using operators::Operator;
using test::Numbers;
using ::testing::HasSubstr;
using Arrays = std::vector<Array>;

HostArray f64(const Numbers& v, Shape shape) { return test::host(DType::f64, shape, v); }
Key at(Dim i) { return random::key(i); }

/// Numbers in [-1, 1), the same every time.
Numbers made(std::size_t count, unsigned seed) {
  Numbers v;
  unsigned x = seed * 2654435761u + 12345u;
  for (std::size_t i = 0; i < count; ++i) {
    x = x * 1664525u + 1013904223u;
    v.push_back(double(x >> 8) / double(1 << 23) - 1);
  }
  return v;
}

/// U V^T, and with `semidefinite` U U^T: n x n of rank r.
Numbers low_rank(std::size_t n, std::size_t r, bool semidefinite) {
  const Numbers u = made(n * r, 3), v = semidefinite ? u : made(n * r, 4);
  Numbers a(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t l = 0; l < r; ++l) a[i * n + j] += u[i * r + l] * v[j * r + l];
  return a;
}

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

Arrays values(const estimate::Trace& t) { return {t.value, t.standard_error}; }

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
      return values(estimate::trace(at(5), Dense{m, {.positive_semidefinite = i == 3}}, 12,
                                    methods()[i]));
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

}  // namespace
}  // namespace gnomon::testing
