// engine/library/ode/sde.h -- methods for equations with driven parts, as the other ones make them.
#pragma once
#include <memory>

#include "engine/library/ode/method.h"

namespace gnomon::ode::detail {

/// A Runge-Kutta method whose slopes go along paths.
std::shared_ptr<const Method> driven_runge_kutta(const Tableau&, const Request&);

}  // namespace gnomon::ode::detail
