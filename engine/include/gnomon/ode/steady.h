// engine/include/gnomon/ode/steady.h -- solves that end where nothing changes any more.
#pragma once
#include <utility>

#include "gnomon/ode/event.h"
#include "gnomon/ode/solve.h"

#pragma GCC visibility push(default)
namespace gnomon::ode {

/// Ends a solve at the first step behind which rms(f(t, y, args)) < atol + rtol rms(y), over all
/// elements: an argument of diffeqsolve behind the options, with t1 infinite or late. Costs an
/// evaluation per step. Derivatives of where it rests by ImplicitAdjoint.
template <class F>
auto steady_state_event(const OdeTerm<F>& term, double rtol, double atol) {
  return event(
      [f = term.vector_field, rtol, atol](const Array& t, const auto& y, const auto& args) {
        return rms_norm(tree::leaves(detail::slope_of(f, t, y, args))) <
               atol + rtol * rms_norm(tree::leaves(y));
      });
}

}  // namespace gnomon::ode
#pragma GCC visibility pop
