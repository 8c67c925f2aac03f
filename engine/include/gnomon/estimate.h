// engine/include/gnomon/estimate.h -- stochastic estimates of what a matrix is by few products with
// it: everything of gnomon/estimate/.
//
// An estimator multiplies an operator (gnomon/operators.h) with random probes and never forms the
// matrix. How many products it may take is a C++ number, part of what is compiled; the probes come
// from a key, so that the same key gives the same estimate. Every result says how far off it is
// likely to be: a standard error, of which 1.96 on either side hold the truth 95 times in 100.
//
//   const auto t = estimate::trace(std::move(key), operators::Dense{a}, 64);
//   t.value, t.standard_error    // f[]
//   t.products                   // 64, a C++ number
//
// Derivatives are those of what is estimated, with the same probes: d tr A[V] = tr V.
#pragma once
#include "gnomon/estimate/diagonal.h"
#include "gnomon/estimate/quadrature.h"
#include "gnomon/estimate/sampler.h"
#include "gnomon/estimate/trace.h"
