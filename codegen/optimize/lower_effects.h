// codegen/optimize/lower_effects.h -- statements become data: the graph computes what they say as
// further outputs, which the host reads behind a call.
//
// A loop carries the records of the statements in it, each written in place to the next free row,
// and a branch hands out what it has to say with a flag that it was taken. So statements are
// subject to nothing but what holds for arrays: no kernel has an effect that running it twice, or
// in another order, would change, and every mapping of loops and lanes serves. Programs without
// statements are not touched.
#pragma once
#include "codegen/graph/graph.h"
#include "codegen/program/effect_table.h"

namespace gnomon {

struct LowerEffectsOptions {
  std::uint64_t bytes = std::uint64_t{1} << 20;  // for one print in a loop, all lanes together
};

struct LoweredEffects {
  Graph graph;  // the outputs, then the arrays of the effect table
  EffectTable effects;
};

/// Expects a canonical graph. The graph comes back as it is when it has no statements.
LoweredEffects lower_effects(const Graph&, const LowerEffectsOptions& = {});

/// Literal evaluation on the host, statements included.
struct Told {
  std::vector<HostArray> outputs;
  Report report;
};
Told tell(const Graph&, std::vector<HostArray> inputs, const LowerEffectsOptions& = {});

}  // namespace gnomon
