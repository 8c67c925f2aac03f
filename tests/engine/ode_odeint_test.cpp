// tests/engine/ode_odeint_test.cpp -- Dopri5 takes no more steps than Boost.odeint's.
#include <gtest/gtest.h>

#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/ode_host.h"
#include "tests/support/detest.h"

#if __has_include(<boost/numeric/odeint.hpp>)
#include <boost/numeric/odeint.hpp>
#endif

namespace gnomon::testing {
namespace {

#if __has_include(<boost/numeric/odeint.hpp>)

const Numbers tolerances{1e-3, 1e-6, 1e-9};
constexpr double first_step = 1e-3;

struct Steps {
  double tried = 0, accepted = 0;
};

Steps by_odeint(const detest::Problem<double>& p, double tolerance) {
  namespace odeint = boost::numeric::odeint;
  auto stepper =
      odeint::make_controlled(tolerance, 0.0, odeint::runge_kutta_dopri5<std::vector<double>>());
  const auto field = [&](const Numbers& y, Numbers& d, double t) { d = p.field(t, y); };
  Numbers y = p.start;
  double t = 0, h = first_step;
  Steps steps;
  while (t < detest::end) {
    h = std::min(h, detest::end - t);
    steps.tried += 1;
    steps.accepted += stepper.try_step(field, y, t, h) == odeint::success;
  }
  return steps;
}

/// For every tolerance.
std::vector<Numbers> by_dopri5(const detest::Problem<Array>& p) {
  const auto one = [&](const Array& tolerance) {
    std::vector<Array> y0;
    for (double x : p.start) y0.push_back(full({}, x, DType::f64));
    const auto field = [&](const Array& t, const std::vector<Array>& y, const None&) {
      return p.field(t, y);
    };
    const auto sol = ode::diffeqsolve(
        ode::OdeTerm{field}, ode::Dopri5(), 0.0, detest::end, first_step, y0, none,
        {.controller = ode::PidController{.rtol = 0.0, .atol = tolerance, .norm = ode::max_norm}});
    return std::pair{sol.stats.steps, sol.stats.accepted};
  };
  return test::run_all([&](const Array& t) { return vmap(one)(t); }, f64(tolerances));
}

#endif

TEST(OdeOdeint, Dopri5TakesAboutAsManySteps) {
#if __has_include(<boost/numeric/odeint.hpp>)
  const auto traced = detest::problems<Array>();
  const auto plain = detest::problems<double>();
  for (std::size_t n = 0; n < plain.size(); ++n) {
    const auto got = by_dopri5(traced[n]);
    for (std::size_t k = 0; k < tolerances.size(); ++k) {
      const Steps want = by_odeint(plain[n], tolerances[k]);
      EXPECT_LE(got[0][k], 1.3 * want.tried) << plain[n].name << " at " << tolerances[k];
      EXPECT_LE(got[1][k], 1.3 * want.accepted) << plain[n].name << " at " << tolerances[k];
    }
  }
#else
  GTEST_SKIP() << "Boost.odeint is not installed (libboost-dev)";
#endif
}

}  // namespace
}  // namespace gnomon::testing
