// engine/include/gnomon/ode/adams.h -- multistep methods for equations that are not stiff: few
// evaluations a step, whatever the order.
//
// All carry differences of the slopes at earlier steps, which may have any lengths.
//
// With PidController they begin with one slope and short steps, and look at one more with each step
// until they have all; of its options tolerances, norm, factors and bounds of steps count, and
// pcoeff, icoeff and dcoeff do not. Errors are given out as twice what they are estimated to be.
// With other controllers the first order - 1 steps are those of a Runge-Kutta method, RK4 up to
// order 5 and Vern7 above.
// Behind a jump (ClipStepSize) or an event that changes the state they begin again. Between the
// steps they are the polynomial that has the slopes of all steps looked at, that at the end, and
// the states at both ends.
// Derivatives are those of the steps taken, by any adjoint but ReversibleAdjoint. An order that
// there is not is a UsageError when a solve begins.
#pragma once
#include "gnomon/ode/solvers.h"

#pragma GCC visibility push(default)
namespace gnomon::ode {

/// The explicit method of that order: the integral of the polynomial through the last `order`
/// slopes. One evaluation a step; the error estimate is the difference to the method that looks at
/// the slope at the end as well (Milne's device).
///
/// Orders 1 to 8. Where steps of order 5 and more are limited by stability they are very short;
/// AdamsMoulton has longer ones.
/// Source: E. Hairer, S. Norsett and G. Wanner, Solving Ordinary Differential Equations I, 2nd
/// edition, section III.5.
struct AdamsBashforth : Solver {
  explicit AdamsBashforth(int order);
};

/// The implicit method of that order, as predictor and corrector (PECE): a step of AdamsBashforth
/// of one order less, and the integral of the polynomial that has the slope there as well. Two
/// evaluations a step; the error estimate is the difference to the corrector of one order less.
///
/// Orders 1 to 8 (1: the Euler method, corrected by the slope at its end). Source: as
/// AdamsBashforth.
struct AdamsMoulton : Solver {
  explicit AdamsMoulton(int order);
};

/// Adams methods of orders 2 to `max_order`, order and step chosen together as an ensemble's system
/// needs them: for small tolerances and fields that cost much. PECE, two evaluations a step.
///
/// max_order: 2 to 12. With controllers other than PidController it is AdamsMoulton(max_order).
/// Source: L. Shampine and M. Gordon, Computer Solution of Ordinary Differential Equations: the
/// Initial Value Problem, 1975, chapters 5 to 10. Steps may have any ratio here; there they are
/// doubled, halved or kept.
struct Adams : Solver {
  explicit Adams(int max_order = 8);
};

}  // namespace gnomon::ode
#pragma GCC visibility pop
