// codegen/lower/loop_body.h -- one iteration of a loop as a graph, see LoopBody.
#pragma once
#include "codegen/lower/loop_region.h"

namespace gnomon {

/// The body of loop `e`; nothing when it has another form.
std::optional<LoopBody> loop_body(const Graph& outer, const Equation& e,
                                  const std::vector<bool>& wanted, const Target&);

/// The same with an iteration that is a loop of a slice's steps itself: for kernels that may not
/// run for as long as the whole loop takes. Every lane of a loop by lanes must be independent. A
/// slice that has nothing to do changes nothing, so that it may say itself whether there is another
/// one.
std::optional<LoopBody> sliced_loop_body(const Graph& outer, const Equation& e,
                                         const std::vector<bool>& wanted, const Target&,
                                         const Slicing&);

/// The branches of `e` with the outputs that are wanted, each defined by an equation of its own.
std::vector<Graph> branch_graphs(const Equation& e, const std::vector<bool>& wanted, const Target&);

}  // namespace gnomon
