// engine/library/ode/undone.h -- the way back through a solve whose steps are undone.
#pragma once
#include "engine/library/ode/enclosed.h"

namespace gnomon::ode::detail {

/// Reverse mode of the solve: undoes its steps from the last one on. `moved`: the cotangents.
Inputs undo(const Enclosed&, const Memory&, const Solved& moved);

}  // namespace gnomon::ode::detail
