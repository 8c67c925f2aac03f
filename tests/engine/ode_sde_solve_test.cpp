// tests/engine/ode_sde_solve_test.cpp -- solves of stochastic and controlled equations: closed
// forms, adaptive steps, derivatives along a path, and misuse.
#include <gtest/gtest.h>

#include <cmath>

#include "gnomon/ops.h"
#include "tests/engine/ode_host.h"

namespace gnomon::testing {
namespace {

using ode::ControlTerm;
using ode::diffeqsolve;
using ode::IndexedBrownianPath;
using ode::LevyArea;
using ode::MultiTerm;
using ode::OdeTerm;
using ode::VirtualBrownianTree;

/// dy = mu y dt + sigma y dW, a geometric Brownian motion, with args {mu, sigma}.
struct Rates {
  Array mu, sigma;
};
const auto growth = [](const Array&, const Array& y, const Rates& r) { return r.mu * y; };
const auto shake = [](const Array&, const Array& y, const Rates& r) { return r.sigma * y; };
Rates rates() { return {full({}, 0.3, DType::f64), full({}, 0.4, DType::f64)}; }

VirtualBrownianTree<Array> tree_path(double t1, LevyArea area = LevyArea::space_time,
                                     double tol = 1e-6) {
  return {0.0, t1, tol, zeros({}, DType::f64), random::key(7), area};
}

TEST(SdeSolve, GeometricBrownianMotionComesToItsClosedForm) {
  // exp(mu t + sigma W) of Stratonovich's equation.
  const auto all = test::run([] {
    const auto path = tree_path(1);
    const auto sol =
        diffeqsolve(MultiTerm(OdeTerm{growth}, ControlTerm(shake, path, ode::Stratonovich{})),
                    ode::SlowRK(), 0.0, 1.0, 1.0 / 64, ones({}, DType::f64), rates());
    return stack({sol.y1, exp(0.3 + 0.4 * path.evaluate(full({}, 1.0, DType::f64)))});
  });
  EXPECT_NEAR(all[0], all[1], 2e-4);
}

TEST(SdeSolve, RejectedStepsLeaveNoTrace) {
  // The steps that were accepted, taken without asking, lead to the same bits.
  const auto solve = [](const ode::Solver& solver, const ode::Controller& controller,
                        const ode::FirstStep& first) {
    return test::run_all([&] {
      const auto sol = diffeqsolve(MultiTerm(OdeTerm{growth}, ControlTerm(shake, tree_path(1))),
                                   solver, 0.0, 1.0, first, ones({}, DType::f64), rates(),
                                   {.saveat = {.t0 = true, .steps = 1}, .controller = controller});
      return std::tuple{sol.y1, sol.ts, sol.count, sol.stats.rejected,
                        exp(0.3 + 0.4 * tree_path(1).evaluate(full({}, 1.0, DType::f64)))};
    });
  };
  const auto expect = [&](const ode::Solver& solver, double tol) {
    const auto chosen = solve(
        solver, ode::PidController{.rtol = 0, .atol = tol, .pcoeff = 0.1, .icoeff = 0.3}, 0.5);
    EXPECT_GT(chosen[3][0], 10) << solver.name();
    const auto count = static_cast<std::ptrdiff_t>(chosen[2][0]);
    const Numbers ts(chosen[1].begin(), chosen[1].begin() + count);
    EXPECT_EQ(solve(solver, ode::StepTo{ts}, none)[0], chosen[0]) << solver.name();
    // An error of less than the tolerance with every step.
    EXPECT_NEAR(chosen[0][0], chosen[4][0], tol * chosen[2][0]) << solver.name();
  };
  expect(ode::SPaRK(), 1e-4);
  expect(ode::Heun(), 1e-3);
}

TEST(SdeSolve, GoesBackTheWayItCame) {
  const auto back = test::run([] {
    const auto path = tree_path(1);
    const MultiTerm terms(OdeTerm{growth}, ControlTerm(shake, path));
    const Array there =
        diffeqsolve(terms, ode::SlowRK(), 0.0, 1.0, 0.01, ones({}, DType::f64), rates()).y1;
    return diffeqsolve(terms, ode::SlowRK(), 1.0, 0.0, -0.01, there, rates()).y1;
  });
  EXPECT_NEAR(back[0], 1, 1e-3);
}

TEST(SdeSolve, AMatrixOfNoisesIsContracted) {
  // dy = B dW with B [2, 3] is B W(1).
  const auto all = test::run_all([] {
    const VirtualBrownianTree path(0.0, 1.0, 1e-3, zeros({3}, DType::f64), random::key(3));
    const auto still = [](const Array&, const Array& y, const Array&) { return zeros_like(y); };
    const auto matrix = [](const Array&, const Array&, const Array& b) { return b; };
    const Array b = reshape(cast(iota({6}, 0), DType::f64), {2, 3});
    const auto sol = diffeqsolve(MultiTerm(OdeTerm{still}, ControlTerm(matrix, path)),
                                 ode::ItoMilstein(), 0.0, 1.0, 0.25, zeros({2}, DType::f64), b);
    return std::pair{sol.y1, path.evaluate(full({}, 1.0, DType::f64))};
  });
  for (std::size_t i = 0; i < 2; ++i) {
    double want = 0;
    for (std::size_t k = 0; k < 3; ++k) want += static_cast<double>(3 * i + k) * all[1][k];
    EXPECT_NEAR(all[0][i], want, 1e-12);
  }
}

struct Pair {
  Array x, v;  // [], [2]
};

TEST(SdeSolve, AnArrayOfTheStateHasItsOwnNoiseOrSharesOne) {
  // Of Ito, dx = x dW and dv = v dW are exp(W - t / 2), whichever the W is.
  const auto still = [](const Array&, const Pair& y, const None&) {
    return Pair{zeros_like(y.x), zeros_like(y.v)};
  };
  const auto itself = [](const Array&, const Pair& y, const None&) { return y; };
  const auto solve = [&](const auto& path) {
    return diffeqsolve(MultiTerm(OdeTerm{still}, ControlTerm(itself, path, ode::Ito{})),
                       ode::ItoMilstein(), 0.0, 1.0, 1.0 / 256,
                       Pair{ones({}, DType::f64), ones({2}, DType::f64)})
        .y1;
  };
  const auto all = test::run_all([&] {
    const VirtualBrownianTree own(
        0.0, 1.0, 1e-3, Pair{zeros({}, DType::f64), zeros({2}, DType::f64)}, random::key(3));
    const auto shared = tree_path(1);
    const Array one = ones({}, DType::f64);
    return std::tuple{solve(own), own.evaluate(one), solve(shared), shared.evaluate(one)};
  });
  const auto expect = [](double got, double w) { EXPECT_NEAR(got / std::exp(w - 0.5), 1, 0.05); };
  expect(all[0][0], all[2][0]);
  for (std::size_t i = 0; i < 2; ++i) {
    expect(all[1][i], all[3][i]);
    expect(all[5][i], all[6][0]);
  }
  expect(all[4][0], all[6][0]);
}

TEST(SdeSolve, AControlledEquationFollowsItsPath) {
  // dy = y dX along X = sin t is exp(sin t), by steps of the path and as an ordinary equation.
  struct Sine {
    Array evaluate(const Array& t0, const Array& t1) const { return sin(t1) - sin(t0); }
    Array derivative(const Array& t) const { return cos(t); }
  };
  const auto itself = [](const Array&, const Array& y, const None&) { return y; };
  const auto all = test::run([&] {
    const ControlTerm term(itself, Sine{});
    const Array one = ones({}, DType::f64);
    return stack({diffeqsolve(term, ode::Tsit5(), 0.0, 2.0, 0.01, one).y1,
                  diffeqsolve(to_ode(term), ode::Tsit5(), 0.0, 2.0, 0.05, one).y1});
  });
  EXPECT_NEAR(all[0], std::exp(std::sin(2.0)), 1e-4);
  EXPECT_NEAR(all[1], std::exp(std::sin(2.0)), 1e-8);
}

// ---- derivatives

template <class Path>
Array end_of(const Path& path, const ode::Solver& solver, const Array& y0, const Rates& r,
             const ode::Adjoint& adjoint, bool adaptive) {
  ode::SolveOptions options{.adjoint = adjoint, .max_steps = 64};
  if (adaptive) options.controller = ode::PidController{.rtol = 0, .atol = 0.02};
  // The drift bends, so that derivatives do not come out by luck.
  const auto bent = [](const Array&, const Array& y, const Rates& at) { return at.mu * sin(y); };
  return diffeqsolve(MultiTerm(OdeTerm{bent}, ControlTerm(shake, path)), solver, 0.0, 1.0, 1.0 / 16,
                     y0, r, options)
      .y1;
}

template <class MakePath>
void expect_gradients(MakePath make, const ode::Solver& solver, bool adaptive) {
  const auto value = [&](const ode::Adjoint& adjoint) {
    return [&, adjoint](const Array& y0, const Array& mu, const Array& sigma) {
      return end_of(make(), solver, y0, Rates{mu, sigma}, adjoint, adaptive);
    };
  };
  const Numbers at{1.2, 0.3, 0.4};
  const auto run = [&](auto f, const Numbers& x) {
    return test::run_all(f, f64(x[0]), f64(x[1]), f64(x[2]));
  };
  Numbers want;
  for (std::size_t i = 0; i < 3; ++i) {
    const double d = 1e-5;
    Numbers up = at, down = at;
    up[i] += d, down[i] -= d;
    want.push_back(
        (run(value(ode::ForwardMode{}), up)[0][0] - run(value(ode::ForwardMode{}), down)[0][0]) /
        (2 * d));
  }
  const auto expect = [&](const std::vector<Numbers>& got, const char* name) {
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(got[i][0], want[i], 1e-6) << solver.name() << ", " << name << ", " << i;
  };
  const auto reverse = [&](const ode::Adjoint& adjoint) {
    return run(
        [&](const Array& y0, const Array& mu, const Array& sigma) {
          return grad(value(adjoint))(std::tuple{y0, mu, sigma});
        },
        at);
  };
  expect(reverse(ode::RecursiveCheckpointAdjoint{}), "recursive");
  expect(reverse(ode::DirectAdjoint{}), "direct");
  expect(reverse(ode::StoredAdjoint{}), "stored");
  expect(run(
             [&](const Array& y0, const Array& mu, const Array& sigma) {
               const auto along = [&](int i) {
                 const auto one = [&](int k) { return i == k ? ones_like(y0) : zeros_like(y0); };
                 return jvp(value(ode::ForwardMode{}), std::tuple{y0, mu, sigma},
                            std::tuple{one(0), one(1), one(2)})
                     .second;
               };
               return std::tuple{along(0), along(1), along(2)};
             },
             at),
         "forward");
}

TEST(SdeAdjoint, EveryOneGivesTheGradientAlongThePath) {
  const auto indexed = [] {
    return IndexedBrownianPath(zeros({}, DType::f64), random::key(9), LevyArea::space_time);
  };
  expect_gradients(indexed, ode::SlowRK(), false);
  expect_gradients(indexed, ode::ItoMilstein(), false);
  expect_gradients([] { return tree_path(1); }, ode::EulerHeun(), false);
}

TEST(SdeAdjoint, StepsChosenByTheirErrorsToo) {
  // Steps move by jumps where an error does, which finite differences this small do not meet.
  expect_gradients([] { return tree_path(1, LevyArea::space_time, 1e-3); }, ode::SPaRK(), true);
}

// ---- misuse

TEST(SdeErrors, SayWhatDoesNotGoTogether) {
  using ::testing::HasSubstr;
  const auto says = [](const auto& make_terms, const ode::Solver& solver,
                       const ode::SolveOptions& options = {}, double t1 = 1) {
    return test::usage_error_of(
        [&](const Array& y0) {
          return diffeqsolve(make_terms(), solver, 0.0, t1, 0.1, y0, rates(), options).y1;
        },
        f64(1.0));
  };
  const auto sde = [](auto kind, LevyArea area) {
    return [=] { return MultiTerm(OdeTerm{growth}, ControlTerm(shake, tree_path(1, area), kind)); };
  };
  const auto plain = sde(none, LevyArea::none);
  EXPECT_EQ(says(plain, ode::EulerMaruyama()), "");
  EXPECT_THAT(says(sde(ode::Stratonovich{}, LevyArea::none), ode::EulerMaruyama()),
              HasSubstr("EulerMaruyama solves Ito equations"));
  EXPECT_THAT(says(sde(ode::Ito{}, LevyArea::none), ode::Heun()),
              HasSubstr("Heun solves Stratonovich equations"));
  EXPECT_THAT(says([] { return OdeTerm{growth}; }, ode::SPaRK()), HasSubstr("no term has a path"));
  EXPECT_THAT(says(plain, ode::ShARK()), HasSubstr("LevyArea::space_time"));
  EXPECT_THAT(says(plain, ode::EulerMaruyama(), {}, 2), HasSubstr("make the path as long"));
  const ode::SolveOptions adaptive{.controller = ode::PidController{.rtol = 0.1, .atol = 0.1}};
  EXPECT_THAT(says(plain, ode::EulerMaruyama(), adaptive), HasSubstr("no estimate of its error"));
  const auto indexed = [] {
    return MultiTerm(OdeTerm{growth},
                     ControlTerm(shake, IndexedBrownianPath(zeros({}), random::key(1))));
  };
  EXPECT_THAT(says(indexed, ode::Heun(), adaptive), HasSubstr("VirtualBrownianTree"));
  EXPECT_EQ(says(indexed, ode::Heun()), "");
  const auto wide = [] {
    return MultiTerm(OdeTerm{growth},
                     ControlTerm(shake, IndexedBrownianPath(zeros({4}), random::key(1))));
  };
  EXPECT_THAT(says(wide, ode::Heun()), HasSubstr("that of the path"));
}

}  // namespace
}  // namespace gnomon::testing
