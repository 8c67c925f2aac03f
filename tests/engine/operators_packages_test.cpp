// tests/engine/operators_packages_test.cpp -- steps of linear solves beside those of Eigen's
// solvers, in f64.
#include <Eigen/IterativeLinearSolvers>
#include <unsupported/Eigen/IterativeSolvers>

#include "tests/engine/operators_outcome.h"

namespace gnomon::testing {
namespace {

using namespace systems;
using operators::BiCgStab;
using operators::Cg;
using operators::Gmres;
using operators::Minres;

constexpr double rtol = 1e-8;

using EigenMatrix = Eigen::SparseMatrix<double, Eigen::RowMajor>;
constexpr int both = Eigen::Lower | Eigen::Upper;
using Identity = Eigen::IdentityPreconditioner;

EigenMatrix of(const Numbers& a) {
  const auto n = static_cast<Eigen::Index>(size_of(a));
  return Eigen::Map<const Eigen::Matrix<double, -1, -1, Eigen::RowMajor>>(a.data(), n, n)
      .sparseView();
}

template <class Solver>
int steps_of(Solver&& solver, const Numbers& a, const Numbers& b) {
  const EigenMatrix m = of(a);
  solver.setTolerance(rtol);
  solver.setMaxIterations(10000);
  solver.compute(m);
  const Eigen::VectorXd x = solver.solve(
      Eigen::Map<const Eigen::VectorXd>(b.data(), static_cast<Eigen::Index>(b.size())));
  EXPECT_EQ(solver.info(), Eigen::Success);
  return static_cast<int>(solver.iterations());
}

TEST(OperatorsPackages, SemidefiniteSystemsTakeTheStepsOfEigen) {
  for (const auto& [name, a] : semidefinite_matrices()) {
    const Numbers b = right_side(size_of(a));
    // Eigen does not count the step that ends either.
    expect_steps(name, run(Cg{.rtol = rtol}, psd, square(a), vector(b)).steps,
                 steps_of(Eigen::ConjugateGradient<EigenMatrix, both, Identity>(), a, b) + 1);
    expect_steps(name, run(Minres{.rtol = rtol}, sym, square(a), vector(b)).steps,
                 steps_of(Eigen::MINRES<EigenMatrix, both, Identity>(), a, b) + 1);
  }
}

TEST(OperatorsPackages, GeneralSystemsTakeTheStepsOfEigen) {
  for (const auto& [name, a] : general_matrices()) {
    const Numbers b = right_side(size_of(a));
    Eigen::GMRES<EigenMatrix, Identity> gmres;
    gmres.set_restart(12);
    expect_steps(name, run(Gmres{.rtol = rtol, .restart = 12}, {}, square(a), vector(b)).steps,
                 steps_of(gmres, a, b));
    expect_steps(name, run(BiCgStab{.rtol = rtol}, {}, square(a), vector(b)).steps,
                 steps_of(Eigen::BiCGSTAB<EigenMatrix, Identity>(), a, b));
  }
}

}  // namespace
}  // namespace gnomon::testing
