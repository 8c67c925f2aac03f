// engine/include/gnomon/ode/sde.h -- methods for stochastic differential equations.
//
// dy = f(t, y) dt + g(t, y) dW is MultiTerm(OdeTerm{f}, ControlTerm(g, path)):
//
//   auto ends = jit(rt, vmap([&](const Key& key) {
//     ode::VirtualBrownianTree path(0.0, 1.0, 1e-3, zeros({}), key.clone());
//     return ode::diffeqsolve(ode::MultiTerm(drift, ode::ControlTerm(diffusion, path, ode::Ito{})),
//                             ode::EulerMaruyama(), 0.0, 1.0, 0.01, ones({})).y1;
//   }));
//
// Each method solves the equation in the sense of Ito or of Stratonovich, which differ wherever g
// depends on y; `Calculus` names it. Orders are strong ones (of single paths) for general noise,
// for noise whose columns commute (D g_i g_j = D g_j g_i: scalar noise, or every element with a
// noise of its own), and for additive noise (g of t alone). Heun, Midpoint and Ralston (gnomon/ode/
// solvers.h), as any Runge-Kutta method of order 2 and more, solve the Stratonovich equation with
// orders 0.5, 1, 1; Euler is EulerMaruyama. Values between the ends of steps are linear.
// Derivatives take the path for a constant: they are those of the solution on that path.
// PidController takes errors to be of the order of the method for the noise it is made for, and
// 0.5.
#pragma once
#include "gnomon/ode/solvers.h"
#include "gnomon/ode/terms.h"

#pragma GCC visibility push(default)
namespace gnomon::ode {

/// Order 0.5, 0.5, 1; weak order 1. Source: G. Maruyama, Rend. Circ. Mat. Palermo 4 (1955).
struct EulerMaruyama : Solver {
  using Calculus = Ito;
  EulerMaruyama();
};
/// Order 0.5, 1, 1; one derivative of g along g per step for scalar or diagonal noise (element i of
/// g depends on element i of y; unchecked), one per column of a matrix. Columns commute; unchecked.
/// Source: G. Milstein, Theory Probab. Appl. 19 (1974).
struct ItoMilstein : Solver {
  using Calculus = Ito;
  ItoMilstein();
};
/// Order 0.5, 1, 1; one derivative of g along g W per step. Source: as ItoMilstein.
struct StratonovichMilstein : Solver {
  using Calculus = Stratonovich;
  StratonovichMilstein();
};
/// Order 0.5, 0.5, 1: f once, g twice. Source: P. Kloeden, E. Platen, Numerical Solution of
/// Stochastic Differential Equations, 1992.
struct EulerHeun : Solver {
  using Calculus = Stratonovich;
  EulerHeun();
};
/// Additive noise, order 1 with small constants, f once. Needs space-time areas. Source: J. Foster,
/// G. dos Reis, C. Strange, High order splitting methods for SDEs satisfying a commutativity
/// condition, SIAM J. Numer. Anal. 62 (2024).
struct SEA : Solver {
  using Calculus = Stratonovich;
  SEA();
};
/// Additive noise, order 1.5, weak order 2, f twice; estimates its error by Euler's step. Needs
/// space-time areas. Source: A. Roessler, SIAM J. Numer. Anal. 48 (2010).
struct SRA1 : Solver {
  using Calculus = Stratonovich;
  SRA1();
};
/// Additive noise, as SRA1 with smaller constants. Source: as SEA.
struct ShARK : Solver {
  using Calculus = Stratonovich;
  ShARK();
};
/// Order 0.5, 1, 1.5: f and g three times, an estimate of the error. Needs space-time areas.
/// Source: as SEA.
struct SPaRK : Solver {
  using Calculus = Stratonovich;
  SPaRK();
};
/// Order 0.5, 1, 1.5: f twice, g three times. Needs space-time areas. Source: as SEA, equation 6.1.
struct GeneralShARK : Solver {
  using Calculus = Stratonovich;
  GeneralShARK();
};
/// Order 0.5, 1.5, 1.5: f twice, g five times. Needs space-time areas. Source: as SEA,
/// equation 6.2.
struct SlowRK : Solver {
  using Calculus = Stratonovich;
  SlowRK();
};

}  // namespace gnomon::ode
#pragma GCC visibility pop
