// shaders/kernel/verify.h -- the rules every kernel obeys.
#pragma once
#include "shaders/kernel/kernel.h"

namespace gnomon::kernel {

/// Throws InternalError with the offending instruction's text when `k` breaks a rule:
///
/// - every value is defined once, before its uses, in a region open where it is used;
/// - every instruction has the operands, results and regions its kind asks for, of fitting types;
///   region arguments, yields and results agree; constants are scalars;
/// - widths are 1, 2, 4, 8 or 16, and one private array is accessed with one width;
/// - buffers, arrays and parameter words exist; nothing stores to a `read` buffer or loads from a
///   `write` one; `texel` buffers are `read`;
/// - lane form has `lane`, no `invocation` and nothing of workgroups (group_index, local_index,
///   shared memory, barrier); invocation form has no `lane`;
/// - a barrier is reached by all invocations of a workgroup together: loops and branches around it
///   are controlled by values that are equal across the workgroup (parameters, group_index, loads
///   of `read` buffers and shared memory at such places, and what is computed from these);
/// - a `read_write` buffer that is not `coherent` is not loaded after a barrier or atomic, unless
///   every store to it uses that very index value, so that an invocation reads back its own.
///
/// Unchecked: indices against lengths; whether a barrier is missing between two invocations'
/// accesses to shared or coherent memory; whether shared memory read for control flow is the same
/// for all readers; whether different lanes write different elements; the rule on reloading across
/// the trips of a loop, where one index value names several elements.
void verify(const Kernel& k);

}  // namespace gnomon::kernel
