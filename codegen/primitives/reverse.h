// codegen/primitives/reverse.h -- reverse mode of loops and branches.
//
// A loop's forward pass keeps the carried values that every step began with, as far as the
// derivative of a step looks at them: a scan stacks them, a while writes them into histories of
// `max_steps` rows. The backward pass is a loop over the same steps, last one first, whose body is
// the pullback of the body (transforms/vjp.h): the step again, then its cotangents. It is made of
// ordinary loops, so that it can be differentiated and batched like anything else.
#pragma once
#include <vector>

#include "codegen/graph/primitive.h"

namespace gnomon {

extern const ReverseMode while_reverse, scan_reverse, cond_reverse;

namespace control {

/// The transpose of an operation that is linear in some inputs, by its reverse mode at zero.
Tangents transposed(const ReverseMode&, const TransposeArgs&);

/// One cotangent per flagged array, zeros where it is symbolic.
Arrays dense(const Tangents& cotangents, const std::vector<bool>& flags,
             const std::vector<Aval>& types);

/// Steps up to which a loop keeps what each began with. Longer ones are made two loops, one in the
/// other, of which the outer keeps what its segments began with and the inner one is run again:
/// for n steps the memory of about 2 sqrt(n) carried values, and every step twice.
inline constexpr Dim most_kept = 64;
/// Steps of a segment of a loop of so many.
Dim segment_of(Dim steps);

/// Reverse mode of the graph that does what a loop does.
Arrays forward_by(const Graph&, const Arrays& inputs, const std::vector<bool>& active);
Tangents backward_by(const Graph&, const ReverseArgs&);

/// Where the carried values of a loop and its constants are active, and the pullback of a step.
struct StepBack {
  /// `inputs`: which of the body's are active to begin with; the first so many are carried.
  StepBack(const Graph& body, std::size_t carried, const std::vector<bool>& inputs);

  std::vector<bool> active;   // per input of the body
  std::vector<bool> outputs;  // per output: whether it has a cotangent
  Graph graph;                // (inputs..., cotangents...) -> cotangents of active inputs
  std::vector<bool> used;     // per input of `graph`
};

}  // namespace control
}  // namespace gnomon
