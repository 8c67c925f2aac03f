// shaders/passes/vectorize.h -- how memory is reached: texels, four at a time, or one by one.
#pragma once
#include <string>

#include "shaders/kernel/kernel.h"

namespace gnomon::kernel {

struct VectorizeOptions {
  bool texel_reads = false;  // read-only buffers of 4-byte elements are bound as 16-byte texels
  bool wide_access = true;   // load and store four elements at a time
};

/// Gives every access of a kernel in invocation form one of the forms the emitter knows:
///   scalar index, scalar value;
///   scalar index that is a multiple of 4, width 4, 8 or 16, elements of 4 bytes: consecutive
///   elements; wide index: each component on its own;
///   scalar index that is even, width 2, a load of a buffer marked `texel`: a half of a texel.
/// Consecutive accesses that are not known to be aligned, and gathers whose components are at fixed
/// distances, become scalar ones; then four scalar loads (of a buffer that is only read) or stores
/// that fill an aligned block become one wide access. Marks buffers `texel`.
///
/// Relies on buffers starting at multiples of 4 elements.
Kernel vectorize(Kernel invocation_form, VectorizeOptions);

/// One line per load and store of a buffer, in program order: "load x: contiguous x4 aligned",
/// "store y: gather stride 3", "load w: uniform". Contiguous means that neighbouring invocations
/// touch neighbouring elements; the stride is the distance between invocations, or between the
/// components of a wide index.
std::string access_summary(const Kernel& invocation_form);

}  // namespace gnomon::kernel
