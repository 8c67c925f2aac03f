// tests/engine/operators_sparse_device_test.cpp -- sparse matrices made on a Runtime, and systems
// of them solved there.
#include <gmock/gmock.h>

#include <cmath>

#include "gnomon/jit.h"
#include "gnomon/operators.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"
#include "tests/engine/operators_systems.h"

namespace gnomon::testing {
namespace {

using operators::Csr;
using operators::Operator;
using operators::Triplets;
using systems::Numbers;
using ::testing::HasSubstr;

class SparseOnDevice : public DeviceTest {};

Numbers dense(const Triplets& t) {
  Numbers r(static_cast<std::size_t>(t.rows * t.columns));
  for (std::size_t e = 0; e < t.row.size(); ++e)
    r[static_cast<std::size_t>(t.row[e] * t.columns + t.column[e])] += t.value[e];
  return r;
}

TEST_F(SparseOnDevice, EntriesAreSortedAddedUpAndTurned) {
  // Row 1 is empty; (2, 0) comes twice.
  const Triplets t{3, 4, {2, 0, 2, 0, 2}, {3, 2, 0, 1, 0}, {1, 2, 3, 4, 5}};
  const Csr a = operators::to_csr(rt, t);
  EXPECT_EQ(rt.to_host<std::int32_t>(a.pattern.offsets), (std::vector<std::int32_t>{0, 2, 2, 4}));
  EXPECT_EQ(rt.to_host<std::int32_t>(a.pattern.columns), (std::vector<std::int32_t>{1, 2, 0, 3}));
  EXPECT_EQ(rt.to_host<float>(a.values), (std::vector<float>{4, 2, 8, 1}));
  EXPECT_EQ(a.pattern.longest, 2);
  auto both = jit(rt, [](const Csr& m) {
    const Operator op = m;
    return std::pair{op.as_matrix(), op.transpose().mm(eye(3))};
  });
  const auto got = both(a);
  EXPECT_EQ(rt.to_host<float>(got.first), (std::vector<float>{0, 4, 2, 0, 0, 0, 0, 0, 8, 0, 0, 1}));
  EXPECT_EQ(rt.to_host<float>(got.second),
            (std::vector<float>{0, 0, 8, 4, 0, 0, 2, 0, 0, 0, 0, 1}));

  const auto refused = [&](const Triplets& bad, operators::CsrOf of = {}) {
    return usage_message([&] { operators::to_csr(rt, bad, of); });
  };
  EXPECT_THAT(refused({2, 2, {0, 1}, {0, 2}, {1, 1}}), HasSubstr("entry 1 is at (1, 2), outside"));
  EXPECT_THAT(refused({2, 2, {0, -1}, {0, 0}, {1, 1}}), HasSubstr("entry 1 is at (-1, 0)"));
  EXPECT_THAT(refused({2, 2, {0, 1}, {0}, {1, 1}}), HasSubstr("2 rows, 1 columns and 2 values"));
  EXPECT_THAT(refused({2, 2, {0}, {0}, {1}}, {.dtype = DType::i32}), HasSubstr("i32"));
  const operators::CsrOf symmetric{.tags = {.symmetric = true}};
  EXPECT_THAT(refused({2, 2, {0, 1}, {1, 0}, {1, 2}}, symmetric), HasSubstr("entry (0, 1) has no"));
  EXPECT_THAT(refused({2, 2, {1}, {0}, {1}}, symmetric), HasSubstr("entry (1, 0) has no"));
  EXPECT_THAT(refused({2, 3, {0}, {0}, {1}}, symmetric), HasSubstr("symmetric"));
  EXPECT_THAT(refused({2, 3, {}, {}, {}}, symmetric), HasSubstr("symmetric"));
}

TEST_F(SparseOnDevice, LanesOfConjugateGradientsSolveTheirOwnSystems) {
  const Triplets t = operators::poisson({6, 5});
  const Csr a = operators::to_csr(rt, t, {.tags = {.positive_semidefinite = true}});
  std::vector<float> b;
  for (int i = 0; i < 3 * 30; ++i) b.push_back(std::sin(1.0f + 7.3f * float(i)));
  auto solve = jit(rt, [](const Csr& m, const Array& sides) {
    return vmap([&](const Array& v) {
      return operators::solve(Operator(m), v, operators::Cg{.rtol = 1e-5}).x;
    })(sides);
  });
  const std::vector<float> x = rt.to_host<float>(solve(a, rt.from_host(b, {3, 30})));
  const Numbers matrix = dense(t);
  for (std::ptrdiff_t lane = 0; lane < 3; ++lane) {
    const Numbers side(b.begin() + 30 * lane, b.begin() + 30 * (lane + 1));
    const Numbers own(x.begin() + 30 * lane, x.begin() + 30 * (lane + 1));
    EXPECT_LT(systems::norm(systems::residual(matrix, own, side)), 2e-5 * systems::norm(side));
  }
}

}  // namespace
}  // namespace gnomon::testing
