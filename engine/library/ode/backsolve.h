// engine/library/ode/backsolve.h -- the way back through a solve by its adjoint equations.
#pragma once
#include "engine/library/ode/enclosed.h"

namespace gnomon::ode::detail {

/// Reverse mode of the solve: the adjoint equations from its end on. `moved`: the cotangents.
Inputs solve_back(const Enclosed&, const Memory&, const Solved& moved);

}  // namespace gnomon::ode::detail
