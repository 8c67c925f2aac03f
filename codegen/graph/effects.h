// codegen/graph/effects.h -- statements of a graph: equations that are there for what the host does
// about them (debug::print, error_if), and loops and branches that hold such.
//
// They are kept though no output needs them, in the order in which they were traced, and never
// merged. They run as often as the program says; whoever copies a body for another purpose (a
// derivative) copies it `without_effects`.
#pragma once
#include "codegen/graph/graph.h"

namespace gnomon {

bool has_effects(const Equation&);
/// Whether any equation of the graph has, sub-graphs included.
bool has_effects(const Graph&);

/// The graph without its statements, inside loops and branches too. Loops and branches that only
/// ran for those are gone.
Graph without_effects(const Graph&);

}  // namespace gnomon
