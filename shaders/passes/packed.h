// shaders/passes/packed.h -- elements of one or two bytes in memory that is made of words. Internal
// to legalize.
//
// Invocations share words, so a store of a part of one must not write the rest: it clears and sets
// its own bits by two atomics. What other invocations do to their bits in between does not matter,
// and nobody else may write or read the element itself. A kernel that also reads such words does so
// by atomics: plain reads would race with its neighbours' stores, and might find an old copy.
#pragma once
#include <cstdint>

#include "shaders/kernel/builder.h"

namespace gnomon::kernel {

struct PackedAccess {
  std::uint32_t buffer = 0;  // of u32
  std::uint32_t bytes = 1;   // of an element: 1 or 2
  Value index;               // of the first element, or one per component
  std::uint8_t width = 1;
  Value mask;            // as of load and store
  bool aligned = false;  // the first of consecutive elements starts a word
  bool shared = false;   // parts of the buffer's words are stored by atomics

  std::uint32_t per_word() const { return 4 / bytes; }
};

/// u32 of the access's width. An element is in the low bits; the others are anybody's.
Value load_packed(Builder&, const PackedAccess&);
/// `bits` holds elements zero-extended. `alone`: no other invocation writes to the buffer.
void store_packed(Builder&, const PackedAccess&, Value bits, bool alone);

}  // namespace gnomon::kernel
