// engine/library/ode/rest.h -- derivatives of where a solve comes to rest.
#pragma once
#include "engine/library/ode/enclosed.h"

namespace gnomon::ode::detail {

/// Reverse mode of the end of a solve, by the implicit function theorem. `moved`: the cotangents.
Inputs move_rest(const Enclosed&, const Memory&, const Solved& moved);

}  // namespace gnomon::ode::detail
