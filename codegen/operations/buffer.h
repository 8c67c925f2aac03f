// codegen/operations/buffer.h -- the sources of arrays that are written later: write-once arrays
// (gnomon/buffer.h), and histories.
//
// Semantics
//   buffer: zeros of `dtype` and `shape`. The promise that every element of what descends from it
//   is written at most once, and read only afterwards, is all that tells it from a constant;
//   transforms and simplification keep it, and the compiler sees zeros.
//   unwritten: the same, of which nobody ever looks at an element that was not written: a loop that
//   carries it need not fill it. No public operation makes one, since results are looked at whole.
#pragma once
#include "codegen/graph/primitive.h"

namespace gnomon {

struct BufferParams {
  DType dtype = DType::f32;
  Shape shape;
};

extern const Primitive buffer_p, unwritten_p;

}  // namespace gnomon
