// engine/library/operators/flat.h -- vectors of a space as columns of one matrix.
#pragma once
#include "gnomon/arrange.h"
#include "gnomon/operators/operator.h"

namespace gnomon::operators::detail {

/// A block of vectors of a space as a matrix [n, k], and back; a single vector as one column.
class Flat {
 public:
  Flat(const Space& s, bool block) : space_(s), block_(block) {}

  Array matrix(const std::vector<Array>& x, DType dtype) const {
    std::vector<Array> parts;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Dim n = space_.arrays[i].shape.size(), k = block_ ? x[i].dim(x[i].rank() - 1) : 1;
      parts.push_back(cast(reshape(x[i], {n, k}), dtype));
    }
    return parts.size() == 1 ? parts[0] : concatenate(parts);
  }
  std::vector<Array> vectors(const Array& x) const {
    std::vector<Array> result;
    const Dim k = x.dim(1);
    Dim first = 0;
    for (const Aval& a : space_.arrays) {
      const Dim n = a.shape.size();
      std::vector<Dim> dims(a.shape.begin(), a.shape.end());
      if (block_) dims.push_back(k);
      const Array part = space_.arrays.size() == 1 ? x : slice(x, {first, 0}, {first + n, k});
      result.push_back(cast(reshape(part, Shape(dims)), a.dtype));
      first += n;
    }
    return result;
  }

 private:
  Space space_;
  bool block_;
};

/// A X for a matrix [columns, k].
inline Array product(const Operator& a, const Array& x, DType dtype, Loc loc) {
  const Flat taken(a.in(), true), given(a.out(), true);
  return given.matrix(a.mm(taken.vectors(x), loc), dtype);
}

}  // namespace gnomon::operators::detail
