// tests/engine/operators_eigen_test.cpp -- singular values of operators against closed forms, on
// the host reference.
#include "gnomon/operators/eigen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gnomon/operators/kinds.h"
#include "gnomon/ops.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::testing {
namespace {

using operators::Dense;
using operators::Operator;
using operators::randomized_svd;
using test::Numbers;
using ::testing::HasSubstr;

// Rank 2: 5 u v^T + 2 w z^T of orthonormal pairs, [6, 4].
Numbers rank_two() {
  const double u[] = {0.6, 0.8, 0, 0, 0, 0}, w[] = {0, 0, 0.6, 0, 0.8, 0};
  const double v[] = {0.5, 0.5, 0.5, 0.5}, z[] = {0.5, -0.5, 0.5, -0.5};
  Numbers a;
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 4; ++j) a.push_back(5 * u[i] * v[j] + 2 * w[i] * z[j]);
  return a;
}

void is_exact(DType dtype, double tolerance) {
  const Numbers a = rank_two();
  const auto all = test::run_all(
      [](const Array& m) {
        const linalg::Svd f =
            randomized_svd(Dense{m}, 2, random::key(3), {.oversample = 1, .power_iterations = 1});
        return std::vector<Array>{f.s, matmul(f.u * f.s, f.vt), matmul(transpose(f.u), f.u),
                                  matmul(f.vt, transpose(f.vt))};
      },
      test::host(dtype, {6, 4}, a));
  const Numbers eye{1, 0, 0, 1};
  ASSERT_EQ(all[0].size(), 2u);
  ASSERT_EQ(all[1].size(), a.size());
  EXPECT_NEAR(all[0][0], 5, tolerance);
  EXPECT_NEAR(all[0][1], 2, tolerance);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(all[1][i], a[i], tolerance);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(all[2][i], eye[i], tolerance);
    EXPECT_NEAR(all[3][i], eye[i], tolerance);
  }
}

TEST(OperatorsEigen, RandomizedSvdIsExactOnLowRank) {
  is_exact(DType::f64, 1e-13);
  is_exact(DType::f32, 1e-5);
}

TEST(OperatorsEigen, RandomizedSvdRefusesRankZero) {
  try {
    test::run_all(
        [](const Array& m) {
          return std::vector<Array>{randomized_svd(Dense{m}, 0, random::key(0)).s};
        },
        test::host(DType::f64, {6, 4}, rank_two()));
    FAIL() << "nothing was thrown";
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("rank is 0; ask for one singular value at least"));
  }
}

}  // namespace
}  // namespace gnomon::testing
