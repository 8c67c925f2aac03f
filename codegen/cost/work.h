// codegen/cost/work.h -- how many operations equations are.
#pragma once
#include "codegen/graph/graph.h"

namespace gnomon {

/// Instructions that an equation of `g` takes when one lane does everything, inner loops included.
double work(const Graph& g, const Equation&);

/// Elements of its operands that one of an equation's results is made of: the terms of a sum or a
/// product, else 1.
double terms_per_element(const Graph& g, const Equation&);

/// Instructions that the results of `g` take when each of their elements is worked out by itself,
/// from the inputs on: a product of a product takes those of the inner one again for each of its
/// terms. No loops: they count as one trip.
double work_by_element(const Graph& g);

/// Instructions that one iteration takes when one lane does everything, inner loops included.
double work_per_iteration(const Equation& loop);

/// Instructions that one iteration takes, one after the other, when every element of every value
/// has a lane of its own; a sum has `terms_per_lane` in each. What `work_per_iteration` is beyond
/// that, kernels of an iteration's own may do at once.
double span_per_iteration(const Equation& loop, Dim terms_per_lane);

/// Elements of the largest value that an iteration computes, inner loops included.
Dim widest(const Equation& loop);

/// Whether an equation adds up (multiplies, takes the extreme of) elements over axes.
bool reduces(const Equation&);

/// Whether a product is worth a copy of an operand whose neighbours in memory are summed into one
/// that has neighbouring results next to each other.
bool large_product(const Graph&, const Equation& dot);

/// Steps that loop `e` may take at most; 0: any number.
std::uint64_t most_steps(const Equation& e);

}  // namespace gnomon
