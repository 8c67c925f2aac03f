// tests/engine/estimate_packages_test.cpp -- log-determinants of sparse matrices and their
// derivatives beside SuiteSparse's CHOLMOD.
#include <Eigen/CholmodSupport>
#include <Eigen/SparseCore>
#include <random>

#include "gnomon/estimate.h"
#include "gnomon/jit.h"
#include "gnomon/operators.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using operators::Csr;
using operators::Operator;

class EstimatesOfPackages : public DeviceTest {};

/// A grid of 100 x 100 nodes with `chords` more edges between any two.
std::vector<std::pair<Dim, Dim>> edges_of_a_graph(Dim side, std::size_t chords) {
  std::vector<std::pair<Dim, Dim>> edges;
  for (Dim i = 0; i < side * side; ++i) {
    if (i % side + 1 < side) edges.emplace_back(i, i + 1);
    if (i + side < side * side) edges.emplace_back(i, i + side);
  }
  std::mt19937 random(3);
  const auto nodes = static_cast<std::uint32_t>(side * side);
  for (std::size_t e = 0; e < chords; ++e) {
    const auto u = static_cast<Dim>(random() % nodes), v = static_cast<Dim>(random() % nodes);
    edges.emplace_back(u, v);
  }
  return edges;
}

TEST_F(EstimatesOfPackages, LogDeterminantsAndTheirDerivativesAreThoseOfASparseCholesky) {
  constexpr Dim side = 100, n = side * side;
  constexpr double ridge = 0.1;
  const operators::Triplets laplacian = operators::graph_laplacian(n, edges_of_a_graph(side, 2000));

  std::vector<Eigen::Triplet<double>> entries;
  for (std::size_t e = 0; e < laplacian.row.size(); ++e)
    entries.emplace_back(laplacian.row[e], laplacian.column[e], laplacian.value[e]);
  for (int i = 0; i < n; ++i) entries.emplace_back(i, i, ridge);
  Eigen::SparseMatrix<double> a(n, n);
  a.setFromTriplets(entries.begin(), entries.end());
  Eigen::CholmodSupernodalLLT<Eigen::SparseMatrix<double>> factors(a);
  ASSERT_EQ(factors.info(), Eigen::Success);
  const double want = factors.logDeterminant();
  // tr A^-1, the derivative in the ridge, up to its own error: 64 probes of signs.
  std::mt19937 random(5);
  Eigen::MatrixXd z(n, 64);
  for (Eigen::Index i = 0; i < z.size(); ++i) z.data()[i] = random() % 2 == 0 ? 1 : -1;
  const Eigen::VectorXd forms = z.cwiseProduct(factors.solve(z)).colwise().sum();
  const double slope = forms.mean();
  const double slope_error = std::sqrt((forms.array() - slope).square().sum() / 64 / 63);

  const Csr m = operators::to_csr(rt, laplacian,
                                  {.tags = {.symmetric = true, .positive_semidefinite = true}});
  const auto estimate = [&](const Csr& l, const Array& r, const Array& seed) {
    const Operator shifted =
        (Operator(l) + r * operators::identity(zeros({n}))).tagged({.positive_semidefinite = true});
    return estimate::log_determinant(random::key(seed), shifted, 32, 40);
  };
  struct Found {
    Array value, error, slope;
  };
  auto f = jit(rt, [&](const Csr& l, const Array& r, const Array& seed) {
    const estimate::Trace t = estimate(l, r, seed);
    const Array d = grad([&](const Array& at) { return estimate(l, at, seed).value; })(r);
    return Found{t.value, t.standard_error, d};
  });
  const Found found = f(m, rt.from_host(std::vector<float>{float(ridge)}, {}),
                        rt.from_host(std::vector<std::int32_t>{7}, {}));
  const double value = rt.to_host<float>(found.value)[0], error = rt.to_host<float>(found.error)[0],
               derivative = rt.to_host<float>(found.slope)[0];
  std::printf("log-determinant %.6g +- %.2g, CHOLMOD %.6g; in the ridge %.5g, by solves %.5g\n",
              value, error, want, derivative, slope);
  EXPECT_NEAR(value, want, 0.01 * std::abs(want));
  EXPECT_NEAR(value, want, 5 * error);
  EXPECT_LT(error, 0.01 * std::abs(want));
  EXPECT_NEAR(derivative, slope, 6 * slope_error * std::sqrt(3.0));  // 32 probes and 64
}

}  // namespace
}  // namespace gnomon::testing
