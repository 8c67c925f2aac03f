// codegen/primitives/buffer.h -- the source of write-once arrays (gnomon/buffer.h).
//
// Semantics
//   buffer: zeros of `dtype` and `shape`. The promise that every element of what descends from it
//   is written at most once, and read only afterwards, is all that tells it from a constant;
//   transforms and simplification keep it, and the compiler sees zeros.
#pragma once
#include "codegen/graph/primitive.h"

namespace gnomon {

struct BufferParams {
  DType dtype = DType::f32;
  Shape shape;
};

extern const Primitive buffer_p;

}  // namespace gnomon
