// shaders/passes/legalize.h -- element types that no device need have become those that all have.
#pragma once
#include <cstdint>

#include "shaders/kernel/kernel.h"

namespace gnomon::kernel {

struct LegalizeOptions {
  bool int64 = false;  // the device computes with 64-bit integers
  bool alone = false;  // one invocation at most has effects
};

/// Rewrites a kernel in invocation form so that it computes with bool, i32, u32, f32 and f64 only
/// (and i64 and u64 where the device does), and its buffers hold elements of 4 or 8 bytes. Memory
/// stays as it was: buffers of smaller elements, bool among them, become buffers of u32 words,
/// those of i64 and u64 buffers of twice as many.
///
/// i8, i16, u8 and u16 are computed in 32 bits and cut after every operation that can leave them;
/// f16 and bf16 in f32 and rounded to nearest even after every operation that can be inexact (of +,
/// -, *, / and sqrt that is the correctly rounded result). i64 and u64 become pairs of words.
///
/// An access to consecutive elements that start at the beginning of a word and fill words becomes
/// one of words. Any other store clears and sets its own bits by atomics, so that invocations which
/// share a word do not undo one another's stores; with `alone` it reads, changes and writes the
/// word. Buffers are taken to start, and to end, at multiples of 4 bytes.
///
/// A kernel without such types is returned as it is.
Kernel legalize(Kernel invocation_form, LegalizeOptions);

/// Neighbouring lanes that share a word of the kernel's narrowest stored array: a kernel that runs
/// as many in one invocation needs no atomics for elements it stores in order.
std::uint32_t lanes_per_word(const Kernel&);

}  // namespace gnomon::kernel
