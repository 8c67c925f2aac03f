// tests/bench/problems_ode.h -- what the ensembles of differential equations compute.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "problems.h"
#include "robertson.h"
#include "tests/support/detest.h"
#include "tests/support/stiff_problems.h"

namespace bench {

/// Copies of one problem of each class of DETEST to t = 20, copy i with its start times scale[i].
///
/// Input f64[n] scale; result for each problem f32[components, n]. Solvers get the same tolerance,
/// relative and absolute; what is `allowed` at the end is a multiple of another one, ten times as
/// large, since errors of steps add up.
struct Detest {
  static constexpr uint32_t systems = 10000;
  static constexpr double tolerance = 1e-7, allowed = 1e-6, first_step = 1e-2;
  template <class F>
  static void for_each(const F& f) {
    using namespace gnomon::testing::detest;
    f(A4{}), f(B1{}), f(C3{}), f(D1{}), f(E2{});
  }
};
/// An even sweep over [0.95, 1.05].
std::vector<double> detest_scale();
Check detest_check();

/// Balls dropped from a height of 1, each until it has bounced eight times and lost a share of its
/// speed every time; f32.
///
/// Input f32[n] what is left of the speed; result f32[n] when it bounced for the last time.
struct Bouncing {
  static constexpr uint32_t balls = 65536;
  static constexpr int bounces = 8;
  static constexpr float gravity = 9.81f, tolerance = 1e-5f, first_step = 0.1f;
};
/// An even sweep over [0.5, 0.95].
std::vector<float> bouncing_restitution();
Check bouncing_check();

/// For Robertson: 0.04 times six decades, from 1e-3 to 1e3.
std::vector<double> robertson_rate();
Check robertson_check();

/// One system of each of the stiff problems, to see what steps and evaluations they take.
///
/// Result f32: where they end, one problem after the other, then two counts for each: its steps,
/// those that were rejected too, and its evaluations, those for Jacobians too. The relative
/// tolerance is `tolerance`, the absolute one that times the problem's scale; what is `allowed`
/// is a multiple of both.
struct Stiff {
  static constexpr double tolerance = 1e-6, allowed = 100;
  template <class F>
  static void for_each(const F& f) {
    gnomon::testing::stiff::for_each(f);
  }
};
Check stiff_check();
/// Of a result: steps, evaluations and the largest error, in tolerances, of each problem.
std::map<std::string, double> stiff_counts(std::span<const float> result);

}  // namespace bench
