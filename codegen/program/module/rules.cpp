// codegen/program/module/rules.cpp -- the rules by instruction.
#include "codegen/program/module/rules.h"

#include <spirv/unified1/GLSL.std.450.h>

namespace gnomon::module_check {

using enum spv::Op;

Rule rule_of(Op opcode) {
  switch (opcode) {
    case OpConvertFToU:
    case OpConvertFToS:
      return Rule::to_integer;
    case OpConvertSToF:
    case OpConvertUToF:
      return Rule::to_real;
    case OpUConvert:
    case OpSConvert:
      return Rule::resize_integer;
    case OpFConvert:
      return Rule::resize_real;
    case OpVectorTimesScalar:
      return Rule::scaled;
    case OpUMulExtended:
      return Rule::extended;
    case OpAny:
    case OpAll:
      return Rule::any_all;
    case OpFNegate:
    case OpFAdd:
    case OpFSub:
    case OpFMul:
    case OpFDiv:
    case OpFRem:
      return Rule::reals;
    case OpSNegate:
    case OpIAdd:
    case OpISub:
    case OpIMul:
    case OpUDiv:
    case OpSDiv:
    case OpUMod:
    case OpBitwiseOr:
    case OpBitwiseXor:
    case OpBitwiseAnd:
    case OpNot:
    case OpBitCount:
      return Rule::integers;
    case OpShiftRightLogical:
    case OpShiftRightArithmetic:
    case OpShiftLeftLogical:
      return Rule::shift;
    case OpLogicalEqual:
    case OpLogicalNotEqual:
    case OpLogicalOr:
    case OpLogicalAnd:
    case OpLogicalNot:
      return Rule::booleans;
    case OpIEqual:
    case OpINotEqual:
    case OpUGreaterThan:
    case OpSGreaterThan:
    case OpUGreaterThanEqual:
    case OpSGreaterThanEqual:
    case OpULessThan:
    case OpSLessThan:
    case OpULessThanEqual:
    case OpSLessThanEqual:
      return Rule::compare_integers;
    case OpFOrdEqual:
    case OpFUnordNotEqual:
    case OpFOrdLessThan:
    case OpFOrdGreaterThan:
    case OpFOrdLessThanEqual:
    case OpFOrdGreaterThanEqual:
      return Rule::compare_reals;
    default:
      return Rule::none;
  }
}

Extended function_of(std::uint32_t instruction) {
  switch (instruction) {
    case GLSLstd450RoundEven:
    case GLSLstd450Trunc:
    case GLSLstd450FAbs:
    case GLSLstd450Floor:
    case GLSLstd450Ceil:
    case GLSLstd450Sqrt:
    case GLSLstd450InverseSqrt:
      return {1, true, false};
    case GLSLstd450FMin:
    case GLSLstd450FMax:
      return {2, true, false};
    case GLSLstd450Fma:
      return {3, true, false};
    case GLSLstd450SAbs:
      return {1, false, false};
    case GLSLstd450UMin:
    case GLSLstd450UMax:
      return {2, false, false};
    case GLSLstd450Atan2:
    case GLSLstd450Pow:
      return {2, true, true};
    default:
      return instruction >= GLSLstd450Sin && instruction <= GLSLstd450Log2 ? Extended{1, true, true}
                                                                           : Extended{};
  }
}

}  // namespace gnomon::module_check
