// tests/engine/ode_implicit_test.cpp -- implicit methods: their tables, single steps, orders and
// failures.
#include <gtest/gtest.h>

#include "engine/library/ode/dirk.h"
#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "tests/engine/ode_host.h"

namespace gnomon::testing {
namespace {

using ::testing::HasSubstr;
const ode::NewtonOptions exact{.rtol = 1e-12, .atol = 1e-12};

// ---- single steps

double one_step(const ode::Solver& solver, double h) {
  return test::run([&](const Array& y) { return ode::diffeqsolve(decay, solver, 0.0, h, h, y).y1; },
                   f64(1.0))[0];
}

TEST(OdeImplicit, SingleStepsAreTheTablesStabilityFunctions) {
  // Golden T28.
  EXPECT_NEAR(one_step(ode::ImplicitEuler(exact), 0.1), 1 / 1.1, 3e-16);
  EXPECT_NEAR(one_step(ode::Kvaerno3(exact), 0.1), 0.9048352044724653, 3e-16);
  EXPECT_NEAR(one_step(ode::Kvaerno4(exact), 0.1), 0.9048372056076501, 3e-16);
  EXPECT_NEAR(one_step(ode::Kvaerno5(exact), 0.1), 0.9048374184600678, 3e-16);
  EXPECT_NEAR(one_step(ode::Kvaerno3(exact), 10), -0.127960951, 1e-9);
  EXPECT_NEAR(one_step(ode::Kvaerno4(exact), 10), -0.100664030, 1e-9);
  EXPECT_NEAR(one_step(ode::Kvaerno5(exact), 10), 0.096791132, 1e-9);
}

}  // namespace
}  // namespace gnomon::testing
