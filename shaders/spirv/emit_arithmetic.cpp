// shaders/spirv/emit_arithmetic.cpp -- componentwise instructions, one part of at most four
// components at a time.
#include <spirv/unified1/GLSL.std.450.h>

#include <algorithm>

#include "shaders/kernel/scalar.h"
#include "shaders/spirv/emitter.h"
#include "shaders/support/check.h"

namespace gnomon::spirv {

using kernel::Op;

namespace {

DType unsigned_of_size(std::uint32_t bytes) {
  return bytes == 1 ? DType::u8 : bytes == 2 ? DType::u16 : bytes == 4 ? DType::u32 : DType::u64;
}

std::uint64_t all_ones(DType t) { return ~std::uint64_t{0} >> (64 - bits_of(t)); }
std::uint64_t sign_bit(DType t) { return std::uint64_t{1} << (bits_of(t) - 1); }

// Bits of the infinity of a float type: its exponent field.
std::uint64_t infinity(DType t) {
  return t == DType::f16 ? 0x7c00 : t == DType::f32 ? 0x7f800000 : 0x7ff0000000000000;
}

// Bits of 1.
std::uint64_t one(DType t) {
  switch (t) {
    case DType::f16:
      return 0x3c00;
    case DType::f32:
      return 0x3f800000;
    case DType::f64:
      return 0x3ff0000000000000;
    default:
      return 1;
  }
}

// Whether a driver loses the sign of the zero in a choice between these constants: it takes one
// between 1 and 0, or -1 and -0, for the condition as a number, and does not tell the zeros apart
// when it looks for it. Mesa's CPU and GPU drivers (seen in 22.3 and 25.0) negate the number for -1
// and -0, others the condition (NVIDIA's 580), whose zero has no sign.
bool loses_sign(DType t, std::uint64_t x, std::uint64_t y, bool negates_numbers) {
  const auto size = [&](std::uint64_t bits) { return bits & ~sign_bit(t); };
  const bool zero_and_one =
      (size(x) == 0 && size(y) == one(t)) || (size(y) == 0 && size(x) == one(t));
  const bool first = (x & sign_bit(t)) != 0, second = (y & sign_bit(t)) != 0;
  return zero_and_one && (first != second || (first && !negates_numbers));
}

}  // namespace

void Emitter::arithmetic(const Instruction& in) {
  // The operand that says what is computed: the predicate of a select does not.
  const kernel::Type t = type_of(in.operands[in.op == Op::select ? 1 : 0]);
  Parts result;
  result.count = part_count(t.width);
  for (std::uint32_t p = 0; p < result.count; ++p) {
    result[p] = arithmetic_part(in, t.scalar, part_width(t.width), p);
  }
  define(in, result);
}

Ref Emitter::arithmetic_part(const Instruction& in, DType t, std::uint32_t width,
                             std::size_t part) {
  const auto operand = [&](std::size_t i) { return parts(in.operands[i])[part]; };
  const Ref result = type(t, width);
  bool of_constants = true;
  for (std::size_t i = 0; i < in.operands.size(); ++i)
    of_constants = of_constants && module_.is_constant(operand(i));
  // spirv-opt's pass CCP, which SwiftShader runs, never decides what an extended instruction of
  // constants is that it may not fold (floats where signed zeros, infinities and NaN are kept,
  // integers of several values), and takes loops that add it up for constant. Minus zero, added,
  // hides a float and changes none.
  const bool hidden = of_constants && is_float(t) && in.op != Op::select;
  const Ref a = hidden ? op({spv::Op::OpFAdd,
                             result,
                             {operand(0), constant(t, width, kernel::from_double(t, -0.0))}})
                       : operand(0);
  const Ref b = in.operands.size() > 1 ? operand(1) : 0;
  const bool is_bool = t == DType::boolean;

  const auto pick = [&](spv::Op for_float, spv::Op for_integer) {
    if (is_bool) unsupported(in, "does not apply to bool");
    const spv::Op opcode = is_float(t) ? for_float : for_integer;
    const Ref id = b == 0 ? op({opcode, result, {a}}) : op({opcode, result, {a, b}});
    if (in.exact && is_float(t)) module_.decorate(id, spv::Decoration::NoContraction);
    return id;
  };
  // Integers are of unsigned type here. Of constants of such a type, spirv-opt takes SMin and SMax
  // for those of unsigned numbers, and SwiftShader runs it: loops over constants came out wrong.
  const auto extremum = [&](std::uint32_t for_float, std::uint32_t for_unsigned, bool smaller) {
    if (is_bool) unsupported(in, "does not apply to bool");
    if (is_float(t)) return glsl(for_float, result, {a, b});
    if (is_unsigned(t) && !of_constants) return glsl(for_unsigned, result, {a, b});
    const spv::Op compare = is_unsigned(t) ? spv::Op::OpULessThan : spv::Op::OpSLessThan;
    const Ref less = op({compare, type(DType::boolean, width), {a, b}});
    return op({spv::Op::OpSelect, result, {less, smaller ? a : b, smaller ? b : a}});
  };
  const auto rounding = [&](std::uint32_t instruction) {
    if (!is_float(t)) unsupported(in, "applies to floats, not to " + std::string(name(t)));
    return glsl(instruction, result, {a});
  };
  const auto logic = [&](spv::Op for_bool, spv::Op for_integer) {
    if (is_float(t)) unsupported(in, "applies to bits, not to " + std::string(name(t)));
    return op({is_bool ? for_bool : for_integer, result, {a, b}});
  };

  switch (in.op) {
    case Op::add:
      if (!is_float(t) && !is_bool) return integer_sum(t, width, a, b);
      return pick(spv::Op::OpFAdd, spv::Op::OpIAdd);
    case Op::sub:
      return pick(spv::Op::OpFSub, spv::Op::OpISub);
    case Op::mul:
      return is_float(t) && width > 1 ? scale(in, result, part)
                                      : pick(spv::Op::OpFMul, spv::Op::OpIMul);
    case Op::neg:
      return pick(spv::Op::OpFNegate, spv::Op::OpSNegate);
    case Op::div:
    case Op::rem:
      if (is_float(t)) {
        return pick(in.op == Op::div ? spv::Op::OpFDiv : spv::Op::OpFRem, spv::Op::OpNop);
      }
      return divide(in, t, width, part);
    case Op::minimum:
      return extremum(GLSLstd450FMin, GLSLstd450UMin, true);
    case Op::maximum:
      return extremum(GLSLstd450FMax, GLSLstd450UMax, false);
    case Op::abs:
      if (is_unsigned(t)) return a;
      if (is_bool) unsupported(in, "does not apply to bool");
      return glsl(is_float(t) ? GLSLstd450FAbs : GLSLstd450SAbs, result, {a});
    case Op::floor:
      return rounding(GLSLstd450Floor);
    case Op::ceil:
      return rounding(GLSLstd450Ceil);
    case Op::round_even:
      return rounding(GLSLstd450RoundEven);
    case Op::trunc:
      return rounding(GLSLstd450Trunc);
    case Op::sqrt:
      return rounding(GLSLstd450Sqrt);
    case Op::rsqrt:
      return rounding(GLSLstd450InverseSqrt);

    case Op::pow:
    case Op::atan2:
      return transcendental(in, t, result, {a, b});
    case Op::exp:
    case Op::exp2:
    case Op::log:
    case Op::log2:
    case Op::sin:
    case Op::cos:
    case Op::tan:
    case Op::asin:
    case Op::acos:
    case Op::atan:
    case Op::sinh:
    case Op::cosh:
    case Op::tanh:
    case Op::asinh:
    case Op::acosh:
    case Op::atanh:
      return transcendental(in, t, result, {a});

    case Op::fma: {
      if (is_float(t)) {
        const Ref id = glsl(GLSLstd450Fma, result, {a, b, operand(2)});
        if (in.exact) module_.decorate(id, spv::Decoration::NoContraction);
        return id;
      }
      if (is_bool) unsupported(in, "does not apply to bool");
      return integer_sum(t, width, op({spv::Op::OpIMul, result, {a, b}}), operand(2));
    }

    case Op::band:
      return logic(spv::Op::OpLogicalAnd, spv::Op::OpBitwiseAnd);
    case Op::bor:
      return logic(spv::Op::OpLogicalOr, spv::Op::OpBitwiseOr);
    case Op::bxor:
      return logic(spv::Op::OpLogicalNotEqual, spv::Op::OpBitwiseXor);
    case Op::bnot:
      if (is_float(t)) unsupported(in, "applies to bits, not to " + std::string(name(t)));
      return op({is_bool ? spv::Op::OpLogicalNot : spv::Op::OpNot, result, {a}});
    case Op::shl:
    case Op::shr:
      return shift(in, t, width, part);
    case Op::popcount:
      if (!is_integer(t)) unsupported(in, "applies to integers, not to " + std::string(name(t)));
      return popcount(t, width, a);
    case Op::mul_high: {
      if (t != DType::u32) unsupported(in, "applies to u32, not to " + std::string(name(t)));
      const Ref both = module_.structure({result, result});  // low word, high word
      constexpr std::uint32_t high = 1;
      return op({spv::Op::OpCompositeExtract,
                 result,
                 {op({spv::Op::OpUMulExtended, both, {a, b}}), high}});
    }

    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
      return compare(in, t, width, a, b);
    case Op::is_nan:
    case Op::is_inf:
      return classify(in, t, width, a);
    case Op::select: {
      // Before SPIR-V 1.4 a scalar condition does not choose between vectors.
      const bool is_uniform = width > 1 && type_of(in.operands[0]).width == 1;
      const kernel::Type flags{DType::boolean, static_cast<std::uint8_t>(width)};
      const Ref condition = is_uniform ? splat(scalar(in.operands[0]), flags)[0] : a;
      const std::optional<std::uint64_t> x = known(in.operands[1]), y = known(in.operands[2]);
      if (is_float(t) && t != DType::f16 && x && y &&
          loses_sign(t, *x, *y, options_.features.as_specified))
        return choice_of_signs(condition, t, width, *x, *y);
      return op({spv::Op::OpSelect, result, {condition, b, operand(2)}});
    }
    case Op::convert:
      return convert(t, type_of(in.results[0]).scalar, width, a);
    default:
      unsupported(in, "is not componentwise");
  }
}

// A choice between 0 and 1 of any signs, in f32 whatever the type: `x`, the bits of one of them,
// where the condition holds, and `y` where it does not.
Ref Emitter::choice_of_signs(Ref condition, DType t, std::uint32_t width, std::uint64_t x,
                             std::uint64_t y) {
  const Ref single = type(DType::f32, width), word = type(DType::u32, width);
  const auto choose = [&](Ref of, DType scalar, std::uint64_t yes, std::uint64_t no) {
    return op({spv::Op::OpSelect,
               of,
               {condition, constant(scalar, width, yes), constant(scalar, width, no)}});
  };
  const auto size_of_one = [&](std::uint64_t bits) {
    return (bits & ~sign_bit(t)) != 0 ? one(DType::f32) : 0;
  };
  const auto sign_of = [&](std::uint64_t bits) {
    return (bits & sign_bit(t)) != 0 ? sign_bit(DType::f32) : 0;
  };
  const Ref size = choose(single, DType::f32, size_of_one(x), size_of_one(y));
  const Ref signs = sign_of(x) == sign_of(y) ? constant(DType::u32, width, sign_of(x))
                                             : choose(word, DType::u32, sign_of(x), sign_of(y));
  const Ref bits =
      op({spv::Op::OpBitwiseOr, word, {op({spv::Op::OpBitcast, word, {size}}), signs}});
  const Ref chosen = op({spv::Op::OpBitcast, single, {bits}});
  return t == DType::f32 ? chosen : op({spv::Op::OpFConvert, type(t, width), {chosen}});
}

// A vector by a splat is a product with its scalar: Mesa's CPU drivers run loops written so a tenth
// faster than with the constant spread over a vector.
Ref Emitter::scale(const Instruction& in, Ref result, std::size_t part) {
  Value vector = in.operands[0], factor = in.operands[1];
  if (spread_[vector.index] != 0) std::swap(vector, factor);
  const Ref spread = spread_[factor.index];
  const Ref id = spread != 0
                     ? op({spv::Op::OpVectorTimesScalar, result, {parts(vector)[part], spread}})
                     : op({spv::Op::OpFMul, result, {parts(vector)[part], parts(factor)[part]}});
  if (in.exact) module_.decorate(id, spv::Decoration::NoContraction);
  return id;
}

Ref Emitter::transcendental(const Instruction& in, DType t, Ref result,
                            std::initializer_list<Ref> operands) {
  if (t != DType::f32 && t != DType::f16) {
    unsupported(in, "has no " + std::string(name(t)) +
                        " form in GLSL.std.450; expand it by shaders/math before it is emitted");
  }
  switch (in.op) {
    case Op::pow:
      return glsl(GLSLstd450Pow, result, operands);
    case Op::atan2:
      return glsl(GLSLstd450Atan2, result, operands);
    case Op::exp:
      return glsl(GLSLstd450Exp, result, operands);
    case Op::exp2:
      return glsl(GLSLstd450Exp2, result, operands);
    case Op::log:
      return glsl(GLSLstd450Log, result, operands);
    case Op::log2:
      return glsl(GLSLstd450Log2, result, operands);
    case Op::sin:
      return glsl(GLSLstd450Sin, result, operands);
    case Op::cos:
      return glsl(GLSLstd450Cos, result, operands);
    case Op::tan:
      return glsl(GLSLstd450Tan, result, operands);
    case Op::asin:
      return glsl(GLSLstd450Asin, result, operands);
    case Op::acos:
      return glsl(GLSLstd450Acos, result, operands);
    case Op::atan:
      return glsl(GLSLstd450Atan, result, operands);
    case Op::sinh:
      return glsl(GLSLstd450Sinh, result, operands);
    case Op::cosh:
      return glsl(GLSLstd450Cosh, result, operands);
    case Op::tanh:
      return glsl(GLSLstd450Tanh, result, operands);
    case Op::asinh:
      return glsl(GLSLstd450Asinh, result, operands);
    case Op::acosh:
      return glsl(GLSLstd450Acosh, result, operands);
    case Op::atanh:
      return glsl(GLSLstd450Atanh, result, operands);
    default:
      unsupported(in, "is not transcendental");
  }
}

// Component by component where Features::as_specified says so.
Ref Emitter::integer_sum(DType t, std::uint32_t width, Ref a, Ref b) {
  const Ref result = type(t, width);
  if (width == 1 || options_.features.as_specified) return op({spv::Op::OpIAdd, result, {a, b}});
  std::array<Ref, 4> sums{};
  const auto extract = [&](Ref vector, std::uint32_t k) {
    return op({spv::Op::OpCompositeExtract, type(t), {vector, k}});
  };
  for (std::uint32_t k = 0; k < width; ++k)
    sums.at(k) = op({spv::Op::OpIAdd, type(t), {extract(a, k), extract(b, k)}});
  return op(spv::Op::OpCompositeConstruct, result, std::span(sums).first(width));
}

// x / 0 is all bits set, x % 0 is x, MIN / -1 is MIN with remainder 0. SPIR-V leaves all three
// undefined, so such a divisor becomes 1 first. The remainder is a - (a / b) * b with the *true* b:
// for b = 0 it gives a, for MIN and -1 it wraps to 0, and OpSRem, undefined for negative operands,
// is not needed.
Ref Emitter::divide(const Instruction& in, DType t, std::uint32_t width, std::size_t part) {
  if (t == DType::boolean) unsupported(in, "does not apply to bool");
  const Ref a = parts(in.operands[0])[part];
  const Ref b = parts(in.operands[1])[part];
  const Ref result = type(t, width);
  const Ref flag = type(DType::boolean, width);
  const spv::Op instruction = is_signed(t) ? spv::Op::OpSDiv : spv::Op::OpUDiv;
  const std::optional<std::uint64_t> divisor = known(in.operands[1]);
  const bool is_safe = divisor && *divisor != 0 && !(is_signed(t) && *divisor == all_ones(t));

  if (is_safe && in.op == Op::rem && !is_signed(t)) return op({spv::Op::OpUMod, result, {a, b}});
  Ref is_zero = 0;
  Ref quotient = 0;
  if (is_safe) {
    quotient = op({instruction, result, {a, b}});
  } else {
    const Ref zero = constant(t, width, 0);
    is_zero = op({spv::Op::OpIEqual, flag, {b, zero}});
    Ref replace = is_zero;
    if (is_signed(t)) {
      const Ref is_minus = op({spv::Op::OpIEqual, flag, {b, constant(t, width, all_ones(t))}});
      const Ref is_least = op({spv::Op::OpIEqual, flag, {a, constant(t, width, sign_bit(t))}});
      replace = op({spv::Op::OpLogicalOr,
                    flag,
                    {is_zero, op({spv::Op::OpLogicalAnd, flag, {is_minus, is_least}})}});
    }
    const Ref safe = op({spv::Op::OpSelect, result, {replace, constant(t, width, 1), b}});
    quotient = op({instruction, result, {a, safe}});
  }
  if (in.op == Op::rem) {
    return op({spv::Op::OpISub, result, {a, op({spv::Op::OpIMul, result, {quotient, b}})}});
  }
  if (is_safe) return quotient;
  return op({spv::Op::OpSelect, result, {is_zero, constant(t, width, all_ones(t)), quotient}});
}

Ref Emitter::shift(const Instruction& in, DType t, std::uint32_t width, std::size_t part) {
  if (!is_integer(t)) unsupported(in, "applies to integers, not to " + std::string(name(t)));
  const Ref result = type(t, width);
  Ref count = parts(in.operands[1])[part];
  const std::optional<std::uint64_t> bits = known(in.operands[1]);
  if (!bits || *bits >= bits_of(t)) {
    const DType count_type = type_of(in.operands[1]).scalar;
    count = op({spv::Op::OpBitwiseAnd,
                type(count_type, width),
                {count, constant(count_type, width, bits_of(t) - 1)}});
  }
  const spv::Op instruction = in.op == Op::shl ? spv::Op::OpShiftLeftLogical
                              : is_signed(t)   ? spv::Op::OpShiftRightArithmetic
                                               : spv::Op::OpShiftRightLogical;
  return op({instruction, result, {parts(in.operands[0])[part], count}});
}

// Vulkan counts bits of 32-bit words only.
Ref Emitter::popcount(DType t, std::uint32_t width, Ref x) {
  const Ref word = type(DType::u32, width);
  const Ref result = type(t, width);
  const std::uint32_t bits = bits_of(t);
  if (bits == 32) return op({spv::Op::OpBitCount, result, {x}});
  Ref low = op({spv::Op::OpUConvert, word, {x}});
  Ref count = op({spv::Op::OpBitCount, word, {low}});
  if (bits == 64) {
    const Ref shifted =
        op({spv::Op::OpShiftRightLogical, result, {x, constant(DType::u32, width, 32)}});
    const Ref high = op({spv::Op::OpUConvert, word, {shifted}});
    count = op({spv::Op::OpIAdd, word, {count, op({spv::Op::OpBitCount, word, {high}})}});
  }
  return op({spv::Op::OpUConvert, result, {count}});
}

Ref Emitter::compare(const Instruction& in, DType t, std::uint32_t width, Ref a, Ref b) {
  const Ref flag = type(DType::boolean, width);
  const auto pick = [&](spv::Op for_float, spv::Op for_signed, spv::Op for_unsigned) {
    if (t == DType::boolean) unsupported(in, "does not apply to bool");
    return op({is_float(t) ? for_float : is_signed(t) ? for_signed : for_unsigned, flag, {a, b}});
  };
  switch (in.op) {
    case Op::eq:
      if (t == DType::boolean) return op({spv::Op::OpLogicalEqual, flag, {a, b}});
      return pick(spv::Op::OpFOrdEqual, spv::Op::OpIEqual, spv::Op::OpIEqual);
    case Op::ne:
      if (t == DType::boolean) return op({spv::Op::OpLogicalNotEqual, flag, {a, b}});
      return pick(spv::Op::OpFUnordNotEqual, spv::Op::OpINotEqual, spv::Op::OpINotEqual);
    case Op::lt:
      return pick(spv::Op::OpFOrdLessThan, spv::Op::OpSLessThan, spv::Op::OpULessThan);
    case Op::le:
      return pick(spv::Op::OpFOrdLessThanEqual, spv::Op::OpSLessThanEqual,
                  spv::Op::OpULessThanEqual);
    case Op::gt:
      return pick(spv::Op::OpFOrdGreaterThan, spv::Op::OpSGreaterThan, spv::Op::OpUGreaterThan);
    case Op::ge:
      return pick(spv::Op::OpFOrdGreaterThanEqual, spv::Op::OpSGreaterThanEqual,
                  spv::Op::OpUGreaterThanEqual);
    default:
      unsupported(in, "is not a comparison");
  }
}

// By bits: without SignedZeroInfNanPreserve a compiler may take OpIsNan and OpIsInf for false.
Ref Emitter::classify(const Instruction& in, DType t, std::uint32_t width, Ref x) {
  if (!is_float(t)) unsupported(in, "applies to floats, not to " + std::string(name(t)));
  const DType bits = unsigned_of_size(size_of(t));
  const Ref word = type(bits, width);
  const Ref magnitude = op({spv::Op::OpBitwiseAnd,
                            word,
                            {op({spv::Op::OpBitcast, word, {x}}),
                             constant(bits, width, all_ones(bits) ^ sign_bit(bits))}});
  return op({in.op == Op::is_nan ? spv::Op::OpUGreaterThan : spv::Op::OpIEqual,
             type(DType::boolean, width),
             {magnitude, constant(bits, width, infinity(t))}});
}

Ref Emitter::convert(DType from, DType to, std::uint32_t width, Ref x) {
  const Ref result = type(to, width);
  if (from == to) return x;
  if (from == DType::boolean) {
    return op(
        {spv::Op::OpSelect, result, {x, constant(to, width, one(to)), constant(to, width, 0)}});
  }
  if (to == DType::boolean) {
    return op({is_float(from) ? spv::Op::OpFUnordNotEqual : spv::Op::OpINotEqual,
               result,
               {x, constant(from, width, 0)}});
  }
  if (is_float(from) && is_float(to)) return op({spv::Op::OpFConvert, result, {x}});
  if (is_float(from)) {
    return op({is_signed(to) ? spv::Op::OpConvertFToS : spv::Op::OpConvertFToU, result, {x}});
  }
  if (is_float(to)) {
    return op({is_signed(from) ? spv::Op::OpConvertSToF : spv::Op::OpConvertUToF, result, {x}});
  }
  if (size_of(from) == size_of(to)) return x;
  if (is_signed(from) && size_of(from) == 4 && size_of(to) == 8) {
    // (x + 2^31) - 2^31. What Mesa 22.3 recognises as a sign extension it compares with constants
    // wrongly: 0 < -7 is true on its lavapipe, and 7 < 12 is not.
    const Ref flipped = op({spv::Op::OpBitwiseXor,
                            type(from, width),
                            {x, constant(from, width, sign_bit(DType::u32))}});
    const Ref wide = op({spv::Op::OpUConvert, result, {flipped}});
    return op({spv::Op::OpISub, result, {wide, constant(to, width, sign_bit(DType::u32))}});
  }
  return op({is_signed(from) ? spv::Op::OpSConvert : spv::Op::OpUConvert, result, {x}});
}

// Between elements of different sizes the number of components changes: the first component holds
// the low bits. Then each large element is a vector of small ones.
void Emitter::bitcast(const Instruction& in) {
  const Value x = in.operands[0];
  const kernel::Type from = type_of(x), to = type_of(in.results[0]);
  const std::uint32_t from_bits = bits_of(from.scalar), to_bits = bits_of(to.scalar);
  if (from_bits * from.width != to_bits * to.width ||
      (from.scalar == DType::boolean) != (to.scalar == DType::boolean) ||
      std::max(from_bits, to_bits) > 4 * std::min(from_bits, to_bits)) {
    unsupported(in, "turns " + std::to_string(from.width) + " " + std::string(name(from.scalar)) +
                        " into " + std::to_string(to.width) + " " + std::string(name(to.scalar)));
  }
  const auto cast = [&](DType t, std::uint32_t width, Ref source_type, Ref source) {
    // Integers of one size share a type, whatever their sign.
    const Ref result = type(t, width);
    return result == source_type ? source : op({spv::Op::OpBitcast, result, {source}});
  };
  if (from_bits == to_bits) {
    Parts result = parts(x);
    const std::uint32_t width = part_width(to.width);
    for (std::uint32_t p = 0; p < result.count; ++p) {
      result[p] = cast(to.scalar, width, type(from.scalar, width), result[p]);
    }
    return define(in, result);
  }
  std::vector<Ref> components;
  if (from_bits > to_bits) {
    const kernel::Type small{to.scalar, static_cast<std::uint8_t>(from_bits / to_bits)};
    for (std::uint32_t k = 0; k < from.width; ++k) {
      const Parts pieces{{cast(small.scalar, small.width, 0, component(x, k))}, 1};
      for (std::uint32_t i = 0; i < small.width; ++i) {
        components.push_back(component(pieces, small, i));
      }
    }
  } else {
    const kernel::Type small{from.scalar, static_cast<std::uint8_t>(to_bits / from_bits)};
    for (std::uint32_t k = 0; k < to.width; ++k) {
      std::vector<Ref> pieces;
      for (std::uint32_t i = 0; i < small.width; ++i) {
        pieces.push_back(component(x, k * small.width + i));
      }
      components.push_back(cast(to.scalar, 1, 0, compose(small, pieces)[0]));
    }
  }
  define(in, compose(to, components));
}

// A 64-bit element is a vector of two words, the low one first.
void Emitter::words(const Instruction& in) {
  const kernel::Type to = type_of(in.results[0]);
  std::vector<Ref> components;
  for (std::uint32_t k = 0; k < to.width; ++k) {
    if (in.op == Op::from_words) {
      const Ref pair = op({spv::Op::OpCompositeConstruct,
                           type(DType::u32, 2),
                           {component(in.operands[0], k), component(in.operands[1], k)}});
      components.push_back(op({spv::Op::OpBitcast, type(to.scalar), {pair}}));
    } else {
      const Ref pair =
          op({spv::Op::OpBitcast, type(DType::u32, 2), {component(in.operands[0], k)}});
      const std::uint32_t which = in.op == Op::low_word ? 0 : 1;
      components.push_back(op({spv::Op::OpCompositeExtract, word_type(), {pair, which}}));
    }
  }
  define(in, compose(to, components));
}

Ref Emitter::reduce(Op any_or_all, const Parts& flags, std::uint32_t width) {
  if (width == 1) return flags[0];
  const bool is_any = any_or_all == Op::any;
  const Ref vector = type(DType::boolean, part_width(width));
  Ref all = flags[0];
  for (std::uint32_t p = 1; p < flags.count; ++p) {
    all = op({is_any ? spv::Op::OpLogicalOr : spv::Op::OpLogicalAnd, vector, {all, flags[p]}});
  }
  return op({is_any ? spv::Op::OpAny : spv::Op::OpAll, type(DType::boolean), {all}});
}

}  // namespace gnomon::spirv
