// tests/engine/ode_implicit_adjoint_test.cpp -- derivatives of solves by implicit methods, against
// central differences; ensembles and events of them.
#include <gtest/gtest.h>

#include "gnomon/indexing.h"
#include "gnomon/ode.h"
#include "gnomon/ops.h"
#include "tests/engine/ode_host.h"

namespace gnomon::testing {
namespace {

using ode::diffeqsolve;

/// Robertson's reactions; args: logarithms of the rates.
const ode::OdeTerm reactions{[](const Array&, const Array& y, const Array& log_k) {
  const Array k = exp(log_k);
  const Array a = k[0] * y[0], b = k[1] * y[1] * y[1], c = k[2] * y[1] * y[2];
  return stack({c - a, a - c - b, b});
}};
const Numbers point{0.9, 0.2, 0.1, std::log(0.04), std::log(3e7), std::log(1e4)};

/// A number that all of the end goes into, as a function of the start and the rates.
struct Loss {
  ode::Solver solver;
  ode::Controller controller;
  ode::Adjoint adjoint = ode::RecursiveCheckpointAdjoint{};
  double dt0 = 0.05;

  Array operator()(const Array& x) const {
    const Array start = stack({x[0], 1e-4 * x[1], x[2]});
    const auto sol = diffeqsolve(reactions, solver, 0.0, 1.0, dt0, start, slice(x, {3}, {6}),
                                 {.controller = controller, .adjoint = adjoint, .max_steps = 400});
    return 1e4 * sol.y1[1] + sol.y1[0] * sol.y1[2];
  }
};

/// Two values for each number that is moved, by one vmap over all of them.
Numbers differences(const Loss& loss) {
  const double delta = 1e-5;
  const std::size_t n = point.size();
  Numbers moved;
  for (std::size_t i = 0; i < n; ++i)
    for (double sign : {1.0, -1.0}) {
      Numbers x = point;
      x[i] += sign * delta;
      moved.insert(moved.end(), x.begin(), x.end());
    }
  const auto values = test::run([&](const Array& x) { return vmap(loss)(x); },
                                test::host(DType::f64, {static_cast<Dim>(2 * n), 6}, moved));
  Numbers result;
  for (std::size_t i = 0; i < n; ++i)
    result.push_back((values[2 * i] - values[2 * i + 1]) / (2 * delta));
  return result;
}

void expect_equal(const Numbers& got, const Numbers& want, const std::string& name) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(got[i], want[i], 1e-6 * (1 + std::fabs(want[i]))) << name << ", number " << i;
}

Numbers gradient(const Loss& loss) {
  return test::run([&](const Array& x) { return grad(loss)(x); }, f64(point));
}

const ode::PidController pid{.rtol = 1e-9, .atol = 1e-13};

std::vector<ode::Solver> solvers() {
  const ode::NewtonOptions exact{.rtol = 1e-12, .atol = 1e-16, .max_iterations = 30};
  return {ode::Kvaerno3(exact), ode::Kvaerno5(exact), ode::KenCarp4(exact),
          ode::Rosenbrock23(),  ode::Rodas5P(),       ode::BDF({.newton = exact})};
}

TEST(OdeImplicitAdjoint, GradientsAreThoseOfTheSteps) {
  for (const ode::Solver& s : solvers()) {
    const Loss loss{s, ode::ConstantStepSize{}};
    expect_equal(gradient(loss), differences(loss), s.name());
  }
}

TEST(OdeImplicitAdjoint, EveryAdjointAgrees) {
  // An iteration that ends one step later in a moved solve is a jump: small ones for differences.
  for (const ode::Solver& s : {ode::Solver(ode::Kvaerno5({.kappa = 1e-3, .max_iterations = 20})),
                               ode::Solver(ode::Rodas5P())}) {
    Loss loss{s, pid};
    const Numbers want = differences(loss);
    for (const ode::Adjoint& adjoint :
         {ode::Adjoint(ode::RecursiveCheckpointAdjoint{}), ode::Adjoint(ode::DirectAdjoint{}),
          ode::Adjoint(ode::StoredAdjoint{})}) {
      loss.adjoint = adjoint;
      expect_equal(gradient(loss), want, s.name() + ", adjoint " + std::to_string(adjoint.index()));
    }
    loss.adjoint = ode::ForwardMode{};
    const auto forward = test::run(
        [&](const Array& x) {
          return vmap([&](const Array& d) { return jvp(loss, x, d).second; })(eye(6, DType::f64));
        },
        f64(point));
    expect_equal(forward, want, s.name() + ", forward");
  }
}

TEST(OdeImplicitAdjoint, EveryAdjointGoesThroughBackwardDifferences) {
  // With equal steps: a choice of another order in the moved solves is no difference of the same
  // function.
  Loss loss{ode::BDF({.newton = {.rtol = 1e-12, .atol = 1e-16, .max_iterations = 30}}),
            ode::ConstantStepSize{}, ode::RecursiveCheckpointAdjoint{}, 0.02};
  const Numbers want = differences(loss);
  for (const ode::Adjoint& adjoint :
       {ode::Adjoint(ode::RecursiveCheckpointAdjoint{}), ode::Adjoint(ode::StoredAdjoint{})}) {
    loss.adjoint = adjoint;
    expect_equal(gradient(loss), want, "BDF, adjoint " + std::to_string(adjoint.index()));
  }
}

// ---- large systems: matrices in one array, stages in a loop

/// Heat on a line of `n` points with a source, as one term or as two; args: conductivity.
template <class F>
auto heat(int n, const F& terms) {
  const auto spread = [n](const Array&, const Array& u, const Array& a) {
    const Array cold = zeros({1}, u.dtype());
    const Array all = concatenate({cold, u, cold});
    return a * (slice(all, {0}, {n}) - 2 * u + slice(all, {2}, {n + 2}));
  };
  const auto source = [](const Array&, const Array& u, const Array&) { return u * (1 - u); };
  return terms(spread, source);
}
const auto together = [](const auto& spread, const auto& source) {
  return ode::OdeTerm{[=](const Array& t, const Array& u, const Array& a) {
    return spread(t, u, a) + source(t, u, a);
  }};
};
const auto split = [](const auto& spread, const auto& source) {
  return ode::MultiTerm(ode::OdeTerm{source}, ode::OdeTerm{spread});
};

template <class Term>
Array warmth(const Term& term, const ode::Solver& s, int n, const Array& a) {
  const Array x = (1.0 + iota({n}, 0, DType::f64)) / (n + 1.0);
  return sum(diffeqsolve(term, s, 0.0, 0.5, 0.05, sin(3 * x), a, {.max_steps = 16}).y1);
}

template <class Term>
void expect_derivative(const Term& term, const ode::Solver& s, int n) {
  const auto f = [&](const Array& a) { return warmth(term, s, n, a); };
  const auto all = test::run_all(
      [&](const Array& a) {
        return std::pair{vmap(f)(a), grad(f)(a[1])};
      },
      f64({50 - 1e-3, 50, 50 + 1e-3}));
  const double want = (all[0][2] - all[0][0]) / 2e-3;
  EXPECT_NEAR(all[1][0] / want, 1, 1e-6) << s.name() << ", " << n;
}

TEST(OdeImplicitAdjoint, LargeSystemsHaveDerivativesToo) {
  const ode::NewtonOptions exact{.rtol = 1e-12, .atol = 1e-12, .max_iterations = 30};
  for (int n : {6, 14}) {
    for (const ode::Solver& s :
         {ode::Solver(ode::Kvaerno4(exact)), ode::Solver(ode::Rodas5P()),
          ode::Solver(ode::BDF({.newton = exact})), ode::Solver(ode::KenCarp4(exact))})
      expect_derivative(heat(n, together), s, n);
    for (const ode::Solver& s : {ode::Solver(ode::KenCarp4(exact)), ode::Solver(ode::Sil3(exact))})
      expect_derivative(heat(n, split), s, n);
  }
}

TEST(OdeImplicitAdjoint, StagesInALoopAreThoseWrittenOut) {
  // Thirteen numbers of which the last one does nothing, and the twelve others alone.
  const ode::NewtonOptions exact{.rtol = 1e-12, .atol = 1e-12, .max_iterations = 30};
  const auto twelve = heat(12, together);
  const ode::OdeTerm thirteen{[&](const Array& t, const Array& u, const Array& a) {
    return concatenate({twelve.vector_field(t, slice(u, {0}, {12}), a), zeros({1}, DType::f64)});
  }};
  for (const ode::Solver& s : {ode::Solver(ode::Kvaerno5(exact)), ode::Solver(ode::KenCarp5(exact)),
                               ode::Solver(ode::ImplicitEuler(exact))}) {
    const auto all = test::run_all(
        [&](const Array& start, const Array& a) {
          const auto few = diffeqsolve(twelve, s, 0.0, 0.5, 0.1, slice(start, {0}, {12}), a);
          const auto many = diffeqsolve(thirteen, s, 0.0, 0.5, 0.1, start, a);
          return std::pair{few.y1, slice(many.y1, {0}, {12})};
        },
        f64(Numbers{.1, .2, .3, .4, .5, .6, .7, .6, .5, .4, .3, .2, .1}), f64(20.0));
    for (std::size_t i = 0; i < 12; ++i)
      EXPECT_NEAR(all[0][i], all[1][i], 1e-13) << s.name() << ", " << i;
  }
}

TEST(OdeImplicitAdjoint, SecondDerivativesComeOut) {
  for (const ode::Solver& s :
       {ode::Solver(ode::Kvaerno3({.rtol = 1e-12, .atol = 1e-16, .max_iterations = 30})),
        ode::Solver(ode::Rosenbrock23())}) {
    const Loss loss{s, ode::ConstantStepSize{}, ode::RecursiveCheckpointAdjoint{}, 0.25};
    // Of the gradient's first number by the first rate.
    const auto first = [&](const Array& x) { return grad(loss)(x)[0]; };
    const Numbers second = test::run([&](const Array& x) { return grad(first)(x); }, f64(point));
    const double delta = 1e-5;
    const auto at = [&](double move) {
      Numbers x = point;
      x[3] += move;
      return test::run(first, f64(x))[0];
    };
    const double want = (at(delta) - at(-delta)) / (2 * delta);
    EXPECT_NEAR(second[3], want, 1e-6 * (1 + std::fabs(want))) << s.name();
  }
}

TEST(OdeImplicitAdjoint, EventsEndSolvesOnTheInterpolant) {
  // When has a quarter of y' = -1000 (y - cos t) from 0 ... the slow solution cos t reached 1 / 2?
  const ode::OdeTerm fast{
      [](const Array& t, const Array& y, const None&) { return -1000.0 * (y - cos(t)); }};
  const auto half = ode::event([](const Array&, const Array& y, const None&) { return y - 0.5; },
                               {.direction = ode::Direction::down});
  for (const ode::Solver& s : {ode::Solver(ode::Kvaerno5()), ode::Solver(ode::Rodas5P())}) {
    const auto time = test::run(
        [&](const Array& y) {
          return diffeqsolve(fast, s, 0.0, 3.0, none, y, none,
                             {.controller = ode::PidController{.rtol = 1e-8, .atol = 1e-8}}, half)
              .t1;
        },
        f64(1.0));
    // cos t + sin t / 1000 = 1 / 2, to first order in 1 / 1000.
    EXPECT_NEAR(time[0], std::acos(0.5) + 1e-3, 2e-6) << s.name();
  }
}

}  // namespace
}  // namespace gnomon::testing
