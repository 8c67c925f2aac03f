// engine/library/nn/activation.cpp -- activations as parts of models.
#include "gnomon/nn/activation.h"

#include "engine/library/nn/checks.h"
#include "gnomon/nn/sequential.h"

namespace gnomon::nn {

Array identity(Operand x) { return detail::array_of(x); }

PReLU PReLU::make(double slope, DType dtype, Loc loc) { return {full({}, {slope, loc}, dtype)}; }

Array PReLU::operator()(Operand x) const {
  const Loc loc = x.loc();
  return where({x >= 0, loc}, x, {multiply({slope, loc}, x), loc});
}

}  // namespace gnomon::nn
