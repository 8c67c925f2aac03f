// engine/library/ode/reversible_adjoint.h -- reverse mode of a solve by undoing its steps.
#pragma once
#include "engine/library/ode/method.h"

namespace gnomon::ode::detail {

/// The solve of a request whose adjoint is ReversibleAdjoint.
/// Throws UsageError for what cannot be undone.
Outcome integrate_reversibly(const Request&);

}  // namespace gnomon::ode::detail
