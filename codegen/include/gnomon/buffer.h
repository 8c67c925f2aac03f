// codegen/include/gnomon/buffer.h -- arrays of which every element is written at most once.
#pragma once
#include "gnomon/array.h"

#pragma GCC visibility push(default)
namespace gnomon {

/// Zeros for a history or another result that comes element by element. Whoever makes it promises:
/// an element is written at most once, and read only when it was written.
///
/// Written by `at(...).set` or `dynamic_update_slice`, read by `at(...).get`, `dynamic_slice` or
/// `take`, in loops, branches and under vmap as elsewhere. Elements that nobody wrote are 0 in a
/// result. Costs what `zeros` costs: a loop that carries it writes in place. Reverse mode keeps no
/// buffer per step, whatever the kind of the loop: a step that is gone back over finds in the
/// buffer as it is in the end what it found when it ran, and its cotangents are those of slices.
/// Gradients of programs that break the promise are wrong.
///
/// The promise is unchecked, unless the environment says GNOMON_CHECK=buffers: then calls of jitted
/// functions throw CheckFailed (gnomon/debug.h) where an element is written a second time, or
/// computed with before it was written, and name the line of both; each write and read takes a few
/// operations more, and an array of i32 of the buffer's shape goes with it. Then
///   - an element that comes back to its place unchanged is no write, as in
///     `at(i).set(where(taken, x, at(i).get()))`;
///   - reading, moving, choosing among, carrying and printing unwritten elements is fine; computing
///     with them is the error, also where the result is not used, so choose first. A part of a
///     buffer that is returned counts as computed with, a buffer that is returned whole does not;
///   - writes out of range are dropped and do not count; what repeats in one write does.
/// Not found: second writes by a mask or to a slice with a step; what the condition of a loop
/// reads; what happens to a buffer in other calls; reads and writes by the inner of two loops or
/// branches under different vmaps when the inner one's elements do not divide into the outer one's.
/// Throws UsageError when a size is negative.
Array buffer(const Shape& shape, DType dtype = DType::f32, Loc loc = Loc::here());

}  // namespace gnomon
#pragma GCC visibility pop
