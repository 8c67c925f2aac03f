// codegen/lax/elementwise.cpp -- see elementwise.h.
#include "codegen/lax/elementwise.h"

#include <array>

namespace gnomon::elementwise {

Array binary(std::string_view op, const Primitive& p, const Operand& a, const Operand& b) {
  return emit1(p, {}, align::aligned(op, std::array{a, b}), a.loc());
}

Array binary_float(std::string_view op, const Primitive& p, const Operand& a, const Operand& b) {
  const std::array both{a, b};
  const DType t = align::float_dtype(align::common_dtype(op, both));
  return emit1(p, {}, align::aligned(op, both, t), a.loc());
}

Array unary_float(std::string_view op, const Primitive& p, const Operand& x, Params params) {
  return emit1(p, std::move(params), {align::as_float(op, x)}, x.loc());
}

}  // namespace gnomon::elementwise
