// engine/include/gnomon/ode/reversible.h -- methods whose steps can be undone.
//
// What a step began with follows from what it led to, but for rounding. ReversibleAdjoint
// (gnomon/ode/adjoint.h) goes back through a solve that way and keeps nothing of it.
#pragma once
#include "gnomon/ode/solvers.h"
#include "gnomon/ode/terms.h"

#pragma GCC visibility push(default)
namespace gnomon::ode {

/// Order 2, an estimate of the error; one evaluation per step. It carries a second state beside
/// that of the solve, at which fields are evaluated. Steps have to be short enough for both to stay
/// together: the region of stability is the interval [-i, i] alone, and on problems with damping
/// the two drift apart after some time. Between the steps a quadratic polynomial.
///
/// Stochastic equations in the sense of Stratonovich: orders 0.5, 1, 1 (general, commutative and
/// additive noise), weak order 1; linear between the steps.
/// Source: P. Kidger, J. Foster, X. Li, T. Lyons, Efficient and Accurate Gradients for Neural SDEs,
/// NeurIPS 2021, algorithm 1.
struct ReversibleHeun : Solver {
  using Calculus = Stratonovich;
  ReversibleHeun();
};

/// Order 2, no error estimate: y_(n+1) = y_(n-1) + (t_(n+1) - t_(n-1)) f(t_n, y_n), which looks one
/// step back; the first step is Euler's. One evaluation per step. Stable for oscillations, not for
/// damping, of which errors grow. Steps that follow each other should be equal: where they are not
/// the order is 1 for that step. Between the steps a quadratic polynomial.
/// Source: L. Shampine, Stability of the leapfrog/midpoint method, Appl. Math. Comput. 208 (2009).
struct LeapfrogMidpoint : Solver {
  LeapfrogMidpoint();
};

}  // namespace gnomon::ode
#pragma GCC visibility pop
