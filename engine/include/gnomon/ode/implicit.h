// engine/include/gnomon/ode/implicit.h -- methods for stiff equations: each step solves for what it
// steps to.
//
// Jacobians are made by forward mode, one direction per number of the state. Up to 12 numbers the
// linear algebra is written out, so that an ensemble is one kernel; beyond that gnomon/linalg.h
// does it.
#pragma once
#include <optional>

#include "gnomon/ode/controller.h"
#include "gnomon/ode/solvers.h"

#pragma GCC visibility push(default)
namespace gnomon::ode {

/// How the equations of implicit stages are solved: Newton's method with one Jacobian and one
/// factorisation for a step.
///
/// An iteration ends when what is left is estimated to be below `kappa` of the tolerances. Where
/// one does not end within `max_iterations` the step is taken again at half its length, or if the
/// controller never does that the solve ends with Result::nonlinear_divergence. Derivatives are
/// those of the equations (gnomon/implicit.h).
struct NewtonOptions {
  /// Those of PidController unless given; other controllers have none, and need them here.
  std::optional<Tolerance> rtol = {}, atol = {};
  Norm norm = {};  // PidController's
  double kappa = 0.1;
  int max_iterations = 6;
};

/// A diagonally implicit Runge-Kutta method, one of those below.
///
/// Statistics::evaluations counts an evaluation per iteration, and one per column of a Jacobian.
class DiagonallyImplicit : public Solver {
 protected:
  using Solver::Solver;
};

/// Order 1, with an error estimate of order 2 by the slope at the start.
struct ImplicitEuler : DiagonallyImplicit {
  explicit ImplicitEuler(NewtonOptions options = {});
};
/// Order 3(2), stiffly accurate, A-L stable, as the two below; cubic between the steps.
/// Source: A. Kvaerno, Singly diagonally implicit Runge-Kutta methods with an explicit first stage,
/// BIT 44 (2004).
struct Kvaerno3 : DiagonallyImplicit {
  explicit Kvaerno3(NewtonOptions options = {});
};
/// Order 4(3).
struct Kvaerno4 : DiagonallyImplicit {
  explicit Kvaerno4(NewtonOptions options = {});
};
/// Order 5(4): the first choice for stiff equations at small tolerances. Its cubic is of order 3:
/// values between the steps are less exact than the steps, see Solver.
struct Kvaerno5 : DiagonallyImplicit {
  explicit Kvaerno5(NewtonOptions options = {});
};

/// Order 3(2), for MultiTerm(explicit, implicit): the second one is solved for. Of an OdeTerm all
/// is implicit. The implicit part is stiffly accurate and L-stable. Source: C. Kennedy and M.
/// Carpenter, Additive Runge-Kutta schemes for convection-diffusion- reaction equations, Appl.
/// Numer. Math. 44 (2003): ARK3(2)4L[2]SA; below ARK4(3)6L[2]SA and ARK5(4)8L[2]SA.
struct KenCarp3 : DiagonallyImplicit {
  explicit KenCarp3(NewtonOptions options = {});
};
/// Order 4(3), with a cubic between the steps.
struct KenCarp4 : DiagonallyImplicit {
  explicit KenCarp4(NewtonOptions options = {});
};
/// Order 5(4). Between the steps the source's cubic, of order 3: see Solver.
struct KenCarp5 : DiagonallyImplicit {
  explicit KenCarp5(NewtonOptions options = {});
};
/// Order 2(1), for MultiTerm(explicit, implicit); the explicit part alone has order 3.
/// Source: J. Whitaker and S. Kar, Implicit-explicit Runge-Kutta methods for fast-slow wave
/// problems, Monthly Weather Review 141 (2013).
struct Sil3 : DiagonallyImplicit {
  explicit Sil3(NewtonOptions options = {});
};

struct BdfOptions {
  int max_order = 5;
  NewtonOptions newton = {};
};
/// Backward differentiation formulas of orders 1 to 5 (as numerical differentiation formulas, which
/// look a little further back), order and step chosen together: one equation a step, for large
/// systems and moderate tolerances.
///
/// Begins with order 1. Every order + 1 steps the order is chosen that allows the longest next one;
/// in between steps are equal, unless one is rejected. Of PidController its tolerances, norm,
/// factors and bounds of steps count; pcoeff, icoeff and dcoeff do not. Between the steps the
/// polynomial that they are made by. Source: L. Shampine and M. Reichelt, The MATLAB ODE suite,
/// SIAM J. Sci. Comput. 18 (1997), section 2.
struct BDF : Solver {
  explicit BDF(BdfOptions options = {});
};

/// A linearly implicit method: stages solve linear systems of one matrix, and no equation is left
/// to be solved by iteration. One of those below.
///
/// The Jacobian, and the field's derivative by time, are part of the method: they are made anew for
/// each step, and their derivatives are part of those of a solve. What is added for the latter is
/// left out where no component of the field takes notice of the time (is_symbolic_zero).
class Rosenbrock : public Solver {
 protected:
  using Solver::Solver;
};

/// Order 2 with an error estimate of order 3, L-stable: for loose tolerances. Quadratic between the
/// steps. Source: L. Shampine and M. Reichelt, The MATLAB ODE suite, SIAM J. Sci. Comput. 18
/// (1997), ode23s.
struct Rosenbrock23 : Rosenbrock {
  Rosenbrock23();
};
/// Order 5(4), stiffly accurate, with a dense output of order 4: the first choice for small
/// systems. Source: G. Steinebach, Construction of Rosenbrock-Wanner method Rodas5P and numerical
/// benchmarks within the Julia Differential Equations package, BIT 63 (2023).
struct Rodas5P : Rosenbrock {
  Rodas5P();
};

}  // namespace gnomon::ode
#pragma GCC visibility pop
