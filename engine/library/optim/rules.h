// engine/library/optim/rules.h -- helpers of rules over lists of arrays.
#pragma once
#include "gnomon/ops.h"
#include "gnomon/optim/optimiser.h"

namespace gnomon::optim::detail {

/// Whether an array is trained.
inline bool is_learned(const Array& param) { return !param.is_hole() && tree::is_float(param); }

/// What steps of parameters of a dtype are computed in: f16 and bf16 hold neither a decay near 1
/// nor a count of some hundreds.
inline DType computed_in(DType param) { return param == DType::f64 ? DType::f64 : DType::f32; }

/// Arrays like the trained ones of `params`, of one value.
Slots filled_like(const Slots& params, double value);

/// `a` where `condition` holds, else `b`, array by array; holes of `a` stay.
Slots choose(const Array& condition, const Slots& a, const Slots& b);
Memory choose(const Array& condition, const Memory& a, const Memory& b);

}  // namespace gnomon::optim::detail
