// codegen/operations/cumulative.h -- parameters of the operations that run along an axis.
//
// Semantics (along `axis`, from the end when `reverse`)
//   cumsum, cumprod, cummax, cummin: out[i] combines the elements up to i, in order.
//   cumlogsumexp:      log(sum of exp(x[j]) up to i) without overflow.
//   linear_recurrence: y[i] = a[i] * y[i - 1] + b[i], where y in front of the first element is 0.
#pragma once
#include "codegen/graph/primitive.h"

namespace gnomon {

struct CumulativeParams {
  int axis = 0;
  bool reverse = false;
};

extern const Primitive cumsum_p, cumprod_p, cummax_p, cummin_p, cumlogsumexp_p, linear_recurrence_p;

}  // namespace gnomon
