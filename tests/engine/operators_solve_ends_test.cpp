// tests/engine/operators_solve_ends_test.cpp -- how linear solves end, lane by lane and column by
// column, and what they refuse, on the host reference.
#include <cmath>
#include <numeric>

#include "gnomon/arrange.h"
#include "gnomon/operators.h"
#include "tests/engine/operators_outcome.h"

namespace gnomon::testing {
namespace {

using namespace systems;
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

TEST(OperatorsSolve, NothingIsTheSolutionOfNothing) {
  const HostArray a = square(grid({9}, 0)), none = vector(Numbers(9));
  for (const auto& [name, method] : iterations()) {
    const Outcome r = run(method, psd, a, none);
    EXPECT_EQ(r.steps, 0) << name;
    EXPECT_EQ(r.result, converged) << name;
    EXPECT_EQ(r.residual, 0) << name;
    EXPECT_EQ(r.x, Numbers(9)) << name;
  }
  // From a start as well.
  const auto all = test::run_all(
      [&](const Array& m, const Array& b) {
        const auto s = solve(Dense{m, psd}, b, Cg{}, ones({9}, DType::f64));
        return std::vector<Array>{s.x, s.steps, s.result};
      },
      a, none);
  EXPECT_EQ(all, (std::vector<Numbers>{Numbers(9), {0}, {0}}));
}

TEST(OperatorsSolve, WhatIsNotFiniteEndsASolve) {
  const double nan = std::nan("");
  Numbers bad = grid({9}, 0), b = right_side(9);
  bad[3] = nan;
  const int nonfinite = static_cast<int>(SolveResult::nonfinite);
  for (const auto& [name, method] : iterations()) {
    const Outcome r = run(method, psd, square(bad), vector(b));
    EXPECT_EQ(r.result, nonfinite) << name;
    EXPECT_LE(r.steps, 1) << name;
    Numbers bad_side = b;
    bad_side[4] = INFINITY;
    const Outcome s = run(method, psd, square(grid({9}, 0)), vector(bad_side));
    EXPECT_EQ(s.result, nonfinite) << name;
    EXPECT_EQ(s.steps, 0) << name;
  }
  for (const Method& method :
       {Method(operators::Cholesky{}), Method(operators::Lu{}), Method(operators::Qr{})})
    EXPECT_EQ(run(method, psd, square(bad), vector(b)).result, nonfinite);
}

TEST(OperatorsSolve, BrokenPromisesAndSingularMatricesHaveTheirCodes) {
  const auto is = [](SolveResult r) { return static_cast<int>(r); };
  const Numbers indefinite{1, 0, 0, -1};
  EXPECT_EQ(run(Cg{}, psd, square(indefinite), vector({1, 1})).result, is(SolveResult::breakdown));
  EXPECT_EQ(run(Minres{}, sym, square(indefinite), vector({1, 2})).result, converged);
  // A rotation by a right angle: BiCGStab has no second factor.
  const Numbers turn{0, -1, 1, 0};
  EXPECT_EQ(run(BiCgStab{}, {}, square(turn), vector({1, 0})).result, is(SolveResult::breakdown));
  EXPECT_EQ(run(Gmres{}, {}, square(turn), vector({1, 0})).result, converged);
  // Moving all on by one place: a cycle of fewer steps than places gains nothing.
  Numbers shift(36);
  for (std::size_t i = 0; i < 6; ++i) shift[i * 6 + (i + 1) % 6] = 1;
  const Outcome idle = run(Gmres{.restart = 3}, {}, square(shift), vector({1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(idle.result, is(SolveResult::stagnated));
  EXPECT_EQ(idle.steps, 3);
  EXPECT_EQ(run(Gmres{.restart = 6}, {}, square(shift), vector({1, 0, 0, 0, 0, 0})).steps, 6);
  // A ring without a ridge: constants are in its kernel.
  const Numbers ring = graph_laplacian(20, 1, 0);
  Numbers balanced = right_side(20);
  const double mean = std::accumulate(balanced.begin(), balanced.end(), 0.0) / 20;
  const Numbers lifted = balanced;
  for (double& v : balanced) v -= mean;
  for (const Method& method : {Method(Cg{.rtol = 1e-8}), Method(Minres{.rtol = 1e-8}),
                               Method(Gmres{.rtol = 1e-8}), Method(BiCgStab{.rtol = 1e-8})})
    expect_solves("consistent", run(method, psd, square(ring), vector(balanced)), ring, balanced,
                  1e-8);
  // Without a solution: MINRES and LSMR give one of least squares, whose residual is the mean.
  const double left = std::fabs(mean) * std::sqrt(20.0);
  const Outcome least = run(Minres{.rtol = 1e-10}, sym, square(ring), vector(lifted));
  EXPECT_EQ(least.result, is(SolveResult::stagnated));
  EXPECT_NEAR(norm(residual(ring, least.x, lifted)), left, 1e-9);
  EXPECT_NEAR(least.residual, left, 1e-9);
  const Outcome by_lsmr = run(Lsmr{.rtol = 1e-10}, {}, square(ring), vector(lifted));
  EXPECT_EQ(by_lsmr.result, converged);
  EXPECT_NEAR(norm(residual(ring, by_lsmr.x, lifted)), left, 1e-9);
  EXPECT_EQ(run(Gmres{.rtol = 1e-10}, {}, square(ring), vector(lifted)).result,
            is(SolveResult::breakdown));
  // Of zeros nothing comes.
  const Numbers zeros9(9);
  for (const auto& [name, method] : iterations()) {
    const Outcome r = run(method, psd, square(zeros9), vector({1, 2, 3}));
    const bool minres = std::string(name) == "minres", lsmr = std::string(name) == "lsmr";
    EXPECT_EQ(r.result, is(lsmr     ? SolveResult::converged
                           : minres ? SolveResult::stagnated
                                    : SolveResult::breakdown))
        << name;
    EXPECT_EQ(r.x, Numbers(3)) << name;
  }
  EXPECT_EQ(run(operators::Lu{}, {}, square(zeros9), vector({1, 2, 3})).result,
            is(SolveResult::nonfinite));
}

TEST(OperatorsSolve, LanesStopOnTheirOwn) {
  // Ridges that make the ring easier and easier; a lane of zeros; one that may not be inverted.
  const Numbers ridges{0.01, 0.1, 1, 10, -1}, ring = graph_laplacian(24, 5, 0);
  const Numbers b = right_side(24);
  for (const auto& each : iterations()) {
    const char* name = each.first;
    const Method& method = each.second;
    Numbers want;
    for (double ridge : ridges)
      want.push_back(run(method, psd, square(plus_diagonal(ring, ridge)), vector(b)).steps);
    const auto all = test::run_all(
        [&](const Array& m, const Array& v, const Array& r) {
          const auto one = [&](const Array& ridge) {
            const auto s = solve(Dense{m + ridge * eye(24, DType::f64), psd}, v, method);
            return std::vector<Array>{s.x, s.steps, s.result};
          };
          return vmap(one)(r);
        },
        square(ring), vector(b), vector(ridges));
    EXPECT_EQ(all[1], want) << name;
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_EQ(all[2][k], converged) << name;
      const Numbers x(all[0].begin() + static_cast<std::ptrdiff_t>(24 * k),
                      all[0].begin() + static_cast<std::ptrdiff_t>(24 * k + 24));
      EXPECT_LE(norm(residual(plus_diagonal(ring, ridges[k]), x, b)), 2e-6 * norm(b)) << name << k;
    }
    if (std::string(name) == "cg") {
      EXPECT_EQ(all[2][4], static_cast<int>(SolveResult::breakdown));
    }
    EXPECT_GT(want[0], want[3]) << name;
  }
}

TEST(OperatorsSolve, ColumnsOfABlockStopOnTheirOwn) {
  const Numbers a = graph_laplacian(30, 7, 0.05);
  // The first column is an eigenvector, the second is nothing, the third is anything.
  Numbers block(90);
  const Numbers b = right_side(30);
  for (std::size_t i = 0; i < 30; ++i) block[3 * i] = 1, block[3 * i + 2] = b[i];
  for (const auto& each : iterations()) {
    const char* name = each.first;
    const Method& method = each.second;
    const auto all = test::run_all(
        [&](const Array& m, const Array& v) {
          const auto s = operators::solve_block(Dense{m, psd}, v, method);
          return std::vector<Array>{s.x, s.steps, s.result, s.residual};
        },
        square(a), test::host(DType::f64, {30, 3}, block));
    test::expect_near(all[0], dense_solution(a, block), 1e-4);
    EXPECT_EQ(all[1][0], 1) << name;
    EXPECT_EQ(all[1][1], 0) << name;
    EXPECT_EQ(all[1][2], run(method, psd, square(a), vector(b)).steps) << name;
    EXPECT_EQ(all[2], Numbers(3)) << name;
  }
  for (const Method& method :
       {Method(operators::Cholesky{}), Method(operators::Lu{}), Method(operators::Qr{})}) {
    const auto all = test::run_all(
        [&](const Array& m, const Array& v) {
          const auto s = operators::solve_block(Dense{m, psd}, v, method);
          return std::vector<Array>{s.x, s.steps, s.result, s.residual};
        },
        square(a), test::host(DType::f64, {30, 3}, block));
    test::expect_near(all[0], dense_solution(a, block), 1e-10);
    EXPECT_EQ(all[1], Numbers(3));
    EXPECT_EQ(all[2], Numbers(3));
    EXPECT_EQ(all[3].size(), 3u);
  }
}

TEST(OperatorsSolve, TooFewStepsAreSaid) {
  const Numbers a = grid({50}, 0), b = right_side(50);
  for (const Method& method :
       {Method(Cg{.max_steps = 5}), Method(Minres{.max_steps = 5}), Method(Gmres{.max_steps = 5}),
        Method(Gmres{.max_steps = 5, .restart = 2}), Method(BiCgStab{.max_steps = 5}),
        Method(Lsmr{.max_steps = 5})}) {
    const Outcome r = run(method, psd, square(a), vector(b));
    EXPECT_EQ(r.steps, 5);
    EXPECT_EQ(r.result, static_cast<int>(SolveResult::max_steps_reached));
    EXPECT_NEAR(r.residual, norm(residual(a, r.x, b)), 1e-10);
  }
}

TEST(OperatorsSolve, SinglePrecisionConvergesToWhatItCanTell) {
  const Numbers a = graph_laplacian(60, 7, 0.1), b = right_side(60), want = dense_solution(a, b);
  for (const auto& [name, method] : iterations()) {
    const Outcome r = run(method, psd, square(a, DType::f32), vector(b, DType::f32));
    EXPECT_EQ(r.result, converged) << name;
    EXPECT_LE(norm(residual(a, r.x, b)), 5e-6 * norm(b)) << name;
    // Lanczos' vectors of LSMR lose each other sooner in f32: no more steps than unknowns.
    const int most = std::string(name) == "lsmr" ? 60 : 0;
    const int want_steps = run(method, psd, square(a), vector(b)).steps;
    EXPECT_LE(r.steps, std::max(most, want_steps + 2)) << name;
  }
  // A tolerance that f32 does not have is one that it has.
  for (const Method& method : {Method(Cg{.rtol = 1e-14}), Method(Gmres{.rtol = 1e-14})})
    EXPECT_EQ(run(method, psd, square(a, DType::f32), vector(b, DType::f32)).result, converged);
}

TEST(OperatorsSolve, WhatCannotBeSolvedIsRefused) {
  const HostArray m = test::f32({3, 3}, Numbers(9)), wide = test::f32({2, 3}, Numbers(6));
  const HostArray b = test::f32({1, 2, 3}), two = test::f32({1, 2});
  const auto refused = [&](const Method& method, const Tags& tags, const HostArray& a,
                           const HostArray& v) {
    return test::usage_error_of(
        [&](const Array& x, const Array& y) {
          return solve(Dense{x, tags}, y, method).x;
        },
        a, v);
  };
  for (const char* name : {"Cg", "Cholesky"})
    EXPECT_THAT(refused(name[1] == 'g' ? Method(Cg{}) : Method(operators::Cholesky{}), sym, m, b),
                HasSubstr(std::string(name) +
                          " needs a positive or negative semidefinite operator, and the tags of "
                          "Dense are: symmetric; promise it with "
                          "`.tagged({.positive_semidefinite = true})`, or use "));
  EXPECT_THAT(refused(Minres{}, {}, m, b),
              HasSubstr("Minres needs a symmetric operator, and the tags of Dense are: none; "
                        "promise it with `.tagged({.symmetric = true})`, or use Gmres"));
  EXPECT_THAT(refused(operators::TridiagonalSolve{}, {}, m, b),
              HasSubstr("`.tagged({.tridiagonal = true})`"));
  for (const Method& method : {Method(Cg{}), Method(Minres{}), Method(Gmres{}), Method(BiCgStab{}),
                               Method(operators::Lu{}), Method(operators::Cholesky{})})
    EXPECT_THAT(refused(method, {}, wide, two),
                HasSubstr("needs a square operator, and Dense takes f32[3] and gives f32[2]; Lsmr "
                          "and Qr solve by least squares"));
  EXPECT_THAT(refused(Gmres{}, {}, m, two),
              HasSubstr("b is f32[2]; the operator Dense gives f32[3]"));
  EXPECT_THAT(refused(Gmres{}, {}, m, test::f32({3, 2}, Numbers(6))),
              HasSubstr("solve_block is for many right sides"));
  EXPECT_THAT(refused(Gmres{}, {}, m, vector({1, 2, 3})), HasSubstr("b is f64[3]"));
  EXPECT_THAT(refused(Gmres{.restart = 0}, {}, m, b), HasSubstr("Gmres has `restart` 0"));
  EXPECT_THAT(refused(Gmres{.rtol = -1}, {}, m, b), HasSubstr("rtol is -1"));
  EXPECT_THAT(test::usage_error_of(
                  [](const Array& x, const Array& y) {
                    const Operator near = Diagonal{ones({4})};
                    return solve(Dense{x}, y, Gmres{.preconditioner = near}).x;
                  },
                  m, b),
              HasSubstr("the preconditioner Diagonal takes f32[4] and gives f32[4], and the system "
                        "is of f32[3]"));
  EXPECT_THAT(
      test::usage_error_of(
          [](const Array& x, const Array& y) { return solve(Dense{x}, y, operators::Lu{}, y).x; },
          m, b),
      HasSubstr("a direct method has no use for a start"));
  EXPECT_THAT(
      test::usage_error_of(
          [](const Array& x) { return operators::block_jacobi(Dense{x}, 0).as_matrix(); }, m),
      HasSubstr("a block has 0 rows"));
}

}  // namespace
}  // namespace gnomon::testing
