// codegen/lax/elementwise.h -- from a public function's operands to one element-wise entry.
#pragma once
#include <string_view>

#include "codegen/lax/align.h"

namespace gnomon::elementwise {

/// The operation on both operands, broadcast, in their common dtype.
Array binary(std::string_view op, const Primitive&, const Operand& a, const Operand& b);
/// In floats: integers and bool become f32.
Array binary_float(std::string_view op, const Primitive&, const Operand& a, const Operand& b);
Array unary_float(std::string_view op, const Primitive&, const Operand& x, Params params = {});

}  // namespace gnomon::elementwise
