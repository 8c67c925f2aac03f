// engine/include/gnomon/ode/half_solver.h -- an estimate of the error for any method.
#pragma once
#include "gnomon/ode/solvers.h"

#pragma GCC visibility push(default)
namespace gnomon::ode {

/// Any method with an estimate of its error by step doubling: each step is done once as a whole and
/// once as two halves. The two halves are the result, and the difference to the whole the error, of
/// one order more than the method (1 for equations along Brownian paths).
///
///   ode::diffeqsolve(orbit, ode::HalfSolver(ode::VelocityVerlet()), 0.0, 10.0, none, start, none,
///                    {.controller = ode::PidController{.rtol = 1e-5, .atol = 1e-5}})
///
/// Between the steps it is the polynomial of the whole step, moved so that it ends where the halves
/// do. Cost: three steps of the method. An estimate that the method has of its own is not used.
/// Derivatives are those of the halves.
/// A path has to answer in the middle of steps: a VirtualBrownianTree does.
/// Throws UsageError, when a solve begins, for methods that look at earlier steps (BDF, Adams).
/// Source: E. Hairer, S. Norsett and G. Wanner, Solving Ordinary Differential Equations I, 2nd
/// edition, section II.4.
struct HalfSolver : Solver {
  explicit HalfSolver(const Solver& solver);
};

}  // namespace gnomon::ode
#pragma GCC visibility pop
