// codegen/ops/linearize.h -- what the transforms of gnomon/transform.h and gnomon/jacobian.h
// share: a kept forward pass, and a graph split by what depends on some inputs.
#pragma once
#include "codegen/trace/trace.h"
#include "codegen/transforms/vjp.h"

namespace gnomon {

namespace detail {
struct PullbackState {
  ForwardPass forward;
  std::size_t first = 0;  // arrays of the argument to differentiate in
  Arrays results;
  // Outside a trace, where the forward pass has run:
  std::optional<Graph> pull;  // (cotangents of float results..., residuals...) -> of the argument
  Arrays residuals;
};
}  // namespace detail

/// What is left of a graph when some inputs are known.
struct Split {
  Graph graph;      // (unknown inputs..., captures...) -> outputs
  Arrays captures;  // values of the trace it was split in
};
/// Emits what follows from the known inputs alone into the active trace. `inputs` has one array per
/// input; those of unknown ones are only types.
Split split_known(const Graph&, const Arrays& inputs, const std::vector<bool>& known);

}  // namespace gnomon
