// shaders/passes/widen.h -- a lane body for several lanes at once; the inner half of coarsen.
#pragma once
#include <cstdint>

#include "shaders/kernel/builder.h"

namespace gnomon::kernel {

/// Emits the body of `lane_form` into `out` for the lanes first, first + 1, ... first + width - 1,
/// all of which exist. `first` is a multiple of `width`. `out` has the arrays of `lane_form` under
/// the same numbers.
void widen(const Kernel& lane_form, Builder& out, Value first, std::uint8_t width);

}  // namespace gnomon::kernel
