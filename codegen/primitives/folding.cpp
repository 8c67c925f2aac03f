// codegen/primitives/folding.cpp -- positions within the range a kernel runs over.
#include "codegen/primitives/folding.h"

namespace gnomon::rules {

kernel::Values unravel(kernel::Builder& k, const Shape& shape, kernel::Value flat) {
  const Index index = Index::flat(shape, flat);
  kernel::Values r;
  for (int a = 0; a < shape.rank(); ++a) r.push_back(index(k, a));
  return r;
}

}  // namespace gnomon::rules
