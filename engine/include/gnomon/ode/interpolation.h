// engine/include/gnomon/ode/interpolation.h -- solutions between their steps.
#pragma once
#include <vector>

#include "gnomon/array.h"
#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon::ode {

namespace detail {
/// Piecewise polynomials as arrays: pieces along axis 0, `powers` of each array of a state.
struct Pieces {
  Array ends;             // [n + 1]: t0, then where pieces end; inf behind the last one
  Array starts, lengths;  // [n]: theta is 0 at the start and 1 a length behind it
  Array sign;             // of the direction of integration
  std::vector<std::vector<Array>> powers;  // [power][array of the state]: [n, ..]
};
std::vector<Array> evaluate(const Pieces&, const Operand& t, bool derivative);
}  // namespace detail

/// A solution as a function of time, kept by SaveAt::dense: in each step the polynomial of the
/// solver.
template <class Y>
struct Interpolation {
  detail::Pieces pieces;
  Y like;  // holes only

  /// The state at time t; NaN outside of what was solved. Differentiable. O(log of the steps).
  Y evaluate(Operand t) const { return tree::with_slots(like, detail::evaluate(pieces, t, false)); }
  /// Its derivative by t.
  Y derivative(Operand t) const {
    return tree::with_slots(like, detail::evaluate(pieces, t, true));
  }
};

}  // namespace gnomon::ode
#pragma GCC visibility pop
