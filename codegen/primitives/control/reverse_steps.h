// codegen/primitives/control/reverse_steps.h -- going back over the steps of a while loop, with and
// without lanes.
#pragma once
#include <functional>
#include <vector>

#include "codegen/operations/control.h"
#include "codegen/primitives/control/reverse.h"

namespace gnomon::control {

/// Values that every lane has for itself, or, without lanes, that there is one of: shapes below are
/// those of one lane.
struct Lanes {
  Dim count = 0;

  Shape shape() const { return count > 0 ? Shape(count) : Shape(); }
  /// A number of its own for every lane.
  Array number(DType, double) const;
  Array integer(double x) const { return number(DType::i32, x); }
  /// So many rows of what is `a` for all lanes together.
  Aval rows(const Aval& a, Dim rows) const;
  /// `at`: one for all lanes, or one for each.
  Array row(const Array& rows, const Array& at) const;
  Array with_row(const Array& rows, const Array& row, const Array& at) const;
  /// The same where a flag of the lane is set; O(row) all the same.
  Array with_row_if(const Array& flag, const Array& rows, const Array& row, const Array& at) const;
  /// By flags of the lanes.
  Array select(const Array& flags, const Array& a, const Array& b) const;
};

/// What a step began with, in the order of the carried values that its pullback looks at, its
/// residuals, and the state of the search behind it.
struct Began {
  Arrays values, state;
  /// Whether that is so already: where it is not, the search goes on in the next trip. Empty:
  /// always.
  Array reached;
};
struct SearchArgs {
  Array left;  // that many steps from the start, the last of which is in question
  Array runs;  // which lanes have one; an empty array: all that the loop asks for
  const Arrays &state, &shared;
};
using Search = std::function<Began(const SearchArgs&)>;

/// Steps to go back over, and a bound on the trips that this takes: steps, unless searches go on.
struct Rewound {
  Array count;
  Dim most_trips = -1;  // negative: any number
};

/// The backward pass of a while loop; see ReverseMode. `search` gets its `state` and `shared`,
/// which stay the same.
///
/// Lanes go back on their own counts, unless the cotangents of constants are summed up over all
/// lanes: then they go in step, those that took fewer steps begin later, and `left` is one number.
Tangents rewind(const ReverseArgs&, const StepBack&, const Rewound&, const Arrays& state,
                const Arrays& shared, const Search& search);
/// Whether they go in step. Searches reach their steps at once then.
bool goes_in_step(const ReverseArgs&, const StepBack&);

/// Reverse mode of checkpointed loops.
Arrays checkpointed_forward(const WhileParams&, const Arrays& inputs,
                            const std::vector<bool>& active, const Buffers&, Loc);
Tangents checkpointed_backward(const ReverseArgs&);

}  // namespace gnomon::control
