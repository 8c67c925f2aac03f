// engine/library/optim/rules.h -- what rules of optimisers are written with.
#pragma once
#include "gnomon/ops.h"
#include "gnomon/optim/optimiser.h"

namespace gnomon::optim::detail {

/// Whether an optimiser learns this array.
inline bool is_learned(const Array& param) { return !param.is_hole() && tree::is_float(param); }

/// A tree like the params, of one value.
Slots filled_like(const Slots& params, double value);

/// What a step is to an optimiser that knows of fewer parameters.
struct Part {
  Slots params;
  std::vector<std::string> paths;
};

/// `a` where `condition` holds, else `b`, place by place; holes of `a` stay.
Slots choose(const Array& condition, const Slots& a, const Slots& b);
Memory choose(const Array& condition, const Memory& a, const Memory& b);

}  // namespace gnomon::optim::detail
