// engine/include/gnomon/nn/embedding.h -- a vector for each of many things.
#pragma once
#include "gnomon/random.h"

#pragma GCC visibility push(default)
namespace gnomon::nn {

struct EmbeddingOptions {
  DType dtype = DType::f32;
};

/// Row number `index` of a table.
///
/// i32[] -> f[size]; several at once by vmap. The table is drawn from the standard normal
/// distribution. Indices that are out of range give the nearest row, negative ones count from the
/// end. The derivative goes to the rows that were read.
/// Throws UsageError for an index that is no integer or has axes.
struct Embedding {
  Array weight;  // [count, size]

  static Embedding make(Dim count, Dim size, Key key, EmbeddingOptions options = {},
                        Loc loc = Loc::here());
  Array operator()(Operand index) const;
};

}  // namespace gnomon::nn
#pragma GCC visibility pop
