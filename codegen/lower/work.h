// codegen/lower/work.h -- how many operations equations are.
#pragma once
#include "codegen/graph/graph.h"

namespace gnomon {

/// Instructions that an equation of `g` takes when one lane does everything, inner loops included.
double work(const Graph& g, const Equation&);

/// Instructions that one iteration takes when one lane does everything, inner loops included.
double work_per_iteration(const Equation& loop);

/// Elements of the largest value that an iteration computes, inner loops included.
Dim widest(const Equation& loop);

}  // namespace gnomon
