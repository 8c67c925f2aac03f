// tests/engine/operators_solve_test.cpp -- linear systems on operators: solutions, steps, ends and
// what is refused, on the host reference.
#include <cmath>
#include <numeric>

#include "gnomon/arrange.h"
#include "gnomon/indexing.h"
#include "gnomon/operators.h"
#include "tests/codegen/graph_host.h"
#include "tests/engine/operators_systems.h"

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
using operators::SolveResult;
using operators::Tags;
using ::testing::HasSubstr;

constexpr int converged = static_cast<int>(SolveResult::converged);

HostArray vector(const Numbers& v, DType t = DType::f64) {
  return test::host(t, Shape(v.size()), v);
}
HostArray square(const Numbers& m, DType t = DType::f64) {
  const auto n = static_cast<Dim>(std::lround(std::sqrt(static_cast<double>(m.size()))));
  return test::host(t, {n, n}, m);
}

struct Outcome {
  Numbers x;
  int steps, result;
  double residual;
};
/// Of a matrix and a right side.
Outcome run(const Method& method, const Tags& tags, const HostArray& a, const HostArray& b) {
  const auto all = test::run_all(
      [&](const Array& m, const Array& v) {
        const auto s = solve(Dense{m, tags}, v, method);
        return std::vector<Array>{s.x, s.steps, s.result, s.residual};
      },
      a, b);
  return {all[0], static_cast<int>(all[1][0]), static_cast<int>(all[2][0]), all[3][0]};
}

const Tags psd{.positive_semidefinite = true};
const Tags sym{.symmetric = true};

void expect_solves(const char* what, const Outcome& r, const Numbers& a, const Numbers& b,
                   double rtol) {
  EXPECT_EQ(r.result, converged) << what;
  EXPECT_LE(norm(residual(a, r.x, b)), 1.1 * rtol * norm(b)) << what;
  EXPECT_NEAR(r.residual, norm(residual(a, r.x, b)), 0.1 * rtol * norm(b)) << what;
}

void expect_steps(const char* what, int got, int want) {
  EXPECT_NEAR(got, want, std::max(1.0, 0.1 * want)) << what;
}

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

}  // namespace
}  // namespace gnomon::testing
