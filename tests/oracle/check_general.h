// tests/oracle/check_general.h -- rows of arrays.
#pragma once
#include <span>

#include "check.h"

namespace oracle {

void check_general(std::span<const General>, const Machine&, Complaints&);
/// Distances of the draws from the distributions they are said to have.
void check_drawn(std::span<const Drawn>, const Machine&, Complaints&);

}  // namespace oracle
