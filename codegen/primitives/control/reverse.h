// codegen/primitives/control/reverse.h -- reverse mode of loops and branches.
//
// A loop's forward pass keeps the carried values that steps began with, as far as the derivative of
// a step looks at them: those of every step (a scan stacks them, a while writes them into histories
// of `max_steps` rows), of the first steps of segments, or of some steps chosen on the way
// (checkpoints.h). The backward pass is a loop over the same steps, last one first, whose body is
// the pullback of the body (transforms/vjp.h): the step again, then its cotangents. It is made of
// ordinary loops, so that it can be differentiated and batched like anything else.
#pragma once
#include <optional>
#include <vector>

#include "codegen/graph/primitive.h"
#include "gnomon/loop_kind.h"

namespace gnomon {

extern const ReverseMode while_reverse, scan_reverse, cond_reverse;
/// Which outputs of a scan depend on the active inputs.
std::vector<bool> moving_of_scan(const Params&, const std::vector<bool>& active);

namespace control {

/// The transpose of an operation that is linear in some inputs, by its reverse mode at zero.
Tangents transposed(const ReverseMode&, const TransposeArgs&);

/// One cotangent per flagged array, zeros where it is symbolic.
Arrays dense(const Tangents& cotangents, const std::vector<bool>& flags,
             const std::vector<Aval>& types);

/// Steps of a segment of a loop that may take so many (negative: any number); 0: it keeps what each
/// of them began with. Loops with segments are made two loops, one in the other, of which the outer
/// keeps what its segments began with and the inner one is run again.
Dim segment_of(LoopKind, Dim steps);
/// Throws UsageError unless a loop of that kind and bound has a reverse mode.
void check_kind(std::string_view loop, LoopKind, Dim max_steps, Loc);

/// Reverse mode of the graph that does what a loop does.
Arrays forward_by(const Graph&, const Arrays& inputs, const std::vector<bool>& active,
                  const Buffers&);
Tangents backward_by(const Graph&, const ReverseArgs&);

/// Where the carried values of a loop and its constants are active, and the pullback of a step.
struct StepBack {
  /// `inputs`: which of the body's are active to begin with; the first so many are carried.
  /// `buffers`: what they are when the loop begins.
  /// `with_residuals`: whoever goes back hands the pullback numbers that the step computed, and
  /// does not go over steps that `goes` says do nothing.
  StepBack(const Graph& body, std::size_t carried, const std::vector<bool>& inputs,
           const Buffers& buffers, bool with_residuals = false);
  /// The same when only these outputs of the loop have a cotangent: what these do not depend on has
  /// none, in any step.
  StepBack narrowed(const Graph& body, std::size_t carried, const Tangents& cotangents) const;

  /// A write-once buffer: any step finds in it at the end what it found when it ran, and the
  /// pullback takes it so.
  bool settled(std::size_t carried) const { return buffers[carried] == Buffered::settled; }
  /// The pullback looks at what a step began with, and that has to be kept.
  bool kept(std::size_t carried) const { return used[carried] && !settled(carried); }

  std::vector<bool> active;   // per input of the body
  std::vector<bool> outputs;  // per output: whether it has a cotangent
  Graph residuals;            // (inputs...) -> numbers that are kept for the pullback
  std::optional<Graph> goes;  // (inputs...) -> whether the step changes any active value
  Graph graph;  // (inputs..., residuals..., cotangents...) -> cotangents of active inputs
  std::vector<bool> used;  // per input of `graph`
  Buffers buffers;         // per input of the body, in any step

 private:
  StepBack() = default;
  Graph body_;  // of a step that is gone back over
};

/// The carried buffers, which are at the end what every step finds in them, of all carried values.
Arrays settled_of(const StepBack&, std::size_t carried, const Arrays&);

/// Whether a loop of kind `automatic` keeps what every step began with however many there are: that
/// takes no more than the buffers that it carries anyway. `types`: of the carried values.
bool keeps_little(const StepBack&, const std::vector<Aval>& types, Dim steps);

}  // namespace control
}  // namespace gnomon
