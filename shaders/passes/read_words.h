// shaders/passes/read_words.h -- 64-bit elements are read as pairs of words.
#pragma once
#include "shaders/kernel/kernel.h"

namespace gnomon::kernel {

/// For devices that read texels faster than storage buffers: buffers of 64-bit elements that are
/// only read become buffers of words, so that `vectorize` reads two elements in a texel of 16
/// bytes. (Lavapipe reads 64-bit elements of storage buffers lane by lane, in a loop for each: a
/// kernel of a thousand such reads, as a GRU in f64 has, took it 15 s to compile.)
///
/// Of a kernel in invocation form. Element i is words 2 i and 2 i + 1: two loads where it is known
/// which half of a texel they are, so that they can be joined with others, and otherwise one of
/// both. Relies on indices below 2^31.
Kernel read_words(Kernel);

}  // namespace gnomon::kernel
