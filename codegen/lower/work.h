// codegen/lower/work.h -- how many operations equations are.
#pragma once
#include "codegen/graph/graph.h"

namespace gnomon {

/// Instructions that an equation of `g` takes when one lane does everything, inner loops included.
double work(const Graph& g, const Equation&);

/// Instructions that one iteration takes when one lane does everything, inner loops included.
double work_per_iteration(const Equation& loop);

/// Instructions that one iteration takes, one after the other, when every element of every value
/// has a lane of its own; a sum has `terms_per_lane` in each. What `work_per_iteration` is beyond
/// that, kernels of an iteration's own may do at once.
double span_per_iteration(const Equation& loop, Dim terms_per_lane);

/// Elements of the largest value that an iteration computes, inner loops included.
Dim widest(const Equation& loop);

}  // namespace gnomon
