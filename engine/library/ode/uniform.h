// engine/library/ode/uniform.h -- solves whose steps are all known when tracing.
#pragma once
#include <optional>
#include <vector>

#include "engine/library/ode/control.h"
#include "engine/library/ode/method.h"
#include "engine/library/ode/saver.h"

namespace gnomon::ode::detail {

/// A solve in which nothing is decided while it runs.
struct Uniform {
  const Request& request;
  const Method& method;
  const Fields& fields;
  const Arrays& begun;  // what the method begins with
  const std::vector<Saver>& savers;
  Array t0;
  Array ends;  // [steps]: where each step ends
  LoopKind kind;
  Checkpoints checkpoints;
  /// Given where nothing is to grow with the steps: their ends are computed in the loop.
  std::optional<EqualSteps> equal = {};
};

/// The states at the end and where savers want them, by a scan over the steps: reverse mode of a
/// scan sums gradients of parameters up behind it, and there are no flags to carry.
///
/// Explicit Runge-Kutta methods walk all stages of all steps in one loop where the field is large
/// (a network), so that it is compiled once, and at once for the way back.
struct UniformStates {
  Arrays y1;
  Array ends;  // [steps]: of steps
  Dim evaluations;
  std::vector<Arrays> of_savers;  // of those that keep steps: [steps, ..]; of others empty
  Arrays method = {};             // what the method carries at the end; not from a loop of stages
};
UniformStates step_uniformly(const Uniform&);

}  // namespace gnomon::ode::detail
