// shaders/passes/pair_memory.h -- 64-bit elements in buffers of words, two to an element, the low
// one first. Internal to passes.
#pragma once
#include "shaders/passes/pair.h"

namespace gnomon::kernel {

/// `count` elements of a buffer of u32: neighbours from `index` on, or with an index that is as
/// wide those that it says. `mask` as of load: none, one for all, or one for each.
Pair load_pairs(Builder&, std::uint32_t buffer, Value index, std::uint8_t count, Value mask);
void store_pairs(Builder&, std::uint32_t buffer, Value index, Pair, std::uint8_t count, Value mask);

}  // namespace gnomon::kernel
