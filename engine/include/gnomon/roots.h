// engine/include/gnomon/roots.h -- non-linear solves: everything of gnomon/roots/.
//
// Unknowns are trees of float arrays. A solve is traced like anything else: under vmap every
// element takes its own steps and ends on its own, with a result code of its own. Derivatives are
// those of the equation that was solved (gnomon/implicit.h), in what the function captured; nothing
// of the search is kept or differentiated.
//
//   const auto found = roots::newton([&](const Array& x) { return x * x - a; }, ones({}));
//   found.x      // the root of a; its derivative by a is 1 / (2 x)
//   auto fit = roots::levenberg_marquardt([&](const Curve& c) { return c(times) - data; }, start);
#pragma once
#include "gnomon/roots/minimise.h"
#include "gnomon/roots/options.h"
#include "gnomon/roots/solve.h"
