// shaders/passes/merge_counters.h -- one counter per loop, and one bound for all that it counts.
#pragma once
#include "shaders/kernel/kernel.h"

namespace gnomon::kernel {

/// Loops count several things: steps of the user's, trips up to a bound, trips up to what one
/// dispatch may take. Every carried 32-bit integer that grows by one is the first of them plus its
/// own start, and conditions that such an integer is below something that stays are one comparison
/// with the least of the trips that they leave. What a trip costs beside its work is a good part of
/// it where a lone invocation walks a loop of few instructions.
///
/// The results and the number of trips stay what they are. Loops that count one thing against at
/// most one bound are left alone.
Kernel merge_counters(const Kernel&);
/// The same, simplified where it changed anything; expects a simplified kernel.
Kernel counters_merged(Kernel);

}  // namespace gnomon::kernel
