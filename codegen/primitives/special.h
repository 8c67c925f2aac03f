// codegen/primitives/special.h -- the special functions' entries and parameters.
#pragma once
#include "codegen/graph/primitive.h"

namespace gnomon {

/// Which derivative of digamma, at least the first.
struct OrderParams {
  int order = 1;
};

extern const Primitive lgamma_p, digamma_p, polygamma_p;

}  // namespace gnomon
