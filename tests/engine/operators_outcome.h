// tests/engine/operators_outcome.h -- linear solves on the host reference, and what is asked of
// each.
#pragma once
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "gnomon/operators.h"
#include "tests/codegen/graph_host.h"
#include "tests/engine/operators_systems.h"

namespace gnomon::testing::systems {

using operators::Method;
using operators::SolveResult;
using operators::Tags;

constexpr int converged = static_cast<int>(SolveResult::converged);

inline HostArray vector(const Numbers& v, DType t = DType::f64) {
  return test::host(t, Shape(v.size()), v);
}
inline HostArray square(const Numbers& m, DType t = DType::f64) {
  const auto n = static_cast<Dim>(std::lround(std::sqrt(static_cast<double>(m.size()))));
  return test::host(t, {n, n}, m);
}

struct Outcome {
  Numbers x;
  int steps, result;
  double residual;
};
/// Of a matrix and a right side.
inline Outcome run(const Method& method, const Tags& tags, const HostArray& a, const HostArray& b) {
  const auto all = test::run_all(
      [&](const Array& m, const Array& v) {
        const auto s = operators::solve(operators::Dense{m, tags}, v, method);
        return std::vector<Array>{s.x, s.steps, s.result, s.residual};
      },
      a, b);
  return {all[0], static_cast<int>(all[1][0]), static_cast<int>(all[2][0]), all[3][0]};
}

inline const Tags psd{.positive_semidefinite = true};
inline const Tags sym{.symmetric = true};

inline void expect_solves(const char* what, const Outcome& r, const Numbers& a, const Numbers& b,
                          double rtol) {
  EXPECT_EQ(r.result, converged) << what;
  EXPECT_LE(norm(residual(a, r.x, b)), 1.1 * rtol * norm(b)) << what;
  EXPECT_NEAR(r.residual, norm(residual(a, r.x, b)), 0.1 * rtol * norm(b)) << what;
}

inline void expect_steps(const char* what, int got, int want) {
  EXPECT_NEAR(got, want, std::max(1.0, 0.1 * want)) << what;
}

/// Methods that take any system here, and their names.
inline std::vector<std::pair<const char*, Method>> iterations() {
  return {{"cg", operators::Cg{}},
          {"minres", operators::Minres{}},
          {"gmres", operators::Gmres{}},
          {"bicgstab", operators::BiCgStab{}},
          {"lsmr", operators::Lsmr{}}};
}

}  // namespace gnomon::testing::systems
