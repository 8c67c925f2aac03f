// tests/shaders/spirv_emit_test.cpp -- every componentwise instruction in every type and width is a
// valid module, and carries the decorations and modes that it should.
#include "shaders/kernel/scalar.h"
#include "tests/shaders/spirv_testing.h"

namespace gnomon::spirv {
namespace {

using kernel::Access;
using kernel::Op;
using kernel::Value;

constexpr Op unary_ops[] = {
    Op::neg,   Op::abs,   Op::floor, Op::ceil, Op::round_even, Op::trunc,  Op::sqrt,
    Op::rsqrt, Op::exp,   Op::exp2,  Op::log,  Op::log2,       Op::sin,    Op::cos,
    Op::tan,   Op::asin,  Op::acos,  Op::atan, Op::sinh,       Op::cosh,   Op::tanh,
    Op::asinh, Op::acosh, Op::atanh, Op::bnot, Op::popcount,   Op::is_nan, Op::is_inf};
constexpr Op binary_ops[] = {Op::add,     Op::sub,     Op::mul, Op::div,   Op::rem,
                             Op::minimum, Op::maximum, Op::pow, Op::atan2, Op::band,
                             Op::bor,     Op::bxor,    Op::shl, Op::shr,   Op::mul_high};
constexpr Op compare_ops[] = {Op::eq, Op::ne, Op::lt, Op::le, Op::gt, Op::ge};

// GLSL.std.450 has these for 16 and 32 bits only.
bool lacks_f64(Op op) {
  return (op >= Op::exp && op <= Op::atanh) || op == Op::pow || op == Op::atan2;
}

bool applies(Op op, DType t) {
  return kernel::scalar_function(op, t) != nullptr && !(t == DType::f64 && lacks_f64(op));
}

std::string label(DType t, std::uint8_t width) { return kernel::to_string({t, width}); }

TEST(SpirvEmit, AnEmptyKernelIsAValidModuleOfTheShaderCapabilityAlone) {
  kernel::Kernel k;
  const std::string text = emitted(k);
  EXPECT_EQ(count(text, "OpCapability"), 1u);
  EXPECT_THAT(text, HasSubstr("OpCapability Shader"));
  EXPECT_THAT(text, HasSubstr(" LocalSize 64 1 1"));
  EXPECT_THAT(text, Not(HasSubstr("OpVariable")));
  EXPECT_THAT(text, Not(HasSubstr("OpExtInstImport")));
}

TEST(SpirvEmit, EveryInstructionInEveryTypeAndWidth) {
  for (DType t : all_dtypes) {
    for (std::uint8_t width : all_widths) {
      SCOPED_TRACE(label(t, width));
      Sketch s;
      const std::uint32_t in = s.input(t);
      const Value x = s.b.load(in, s.index, width);
      const Value y = s.b.load(in, s.b.add(s.index, s.b.u32(16)), width);
      for (Op op : unary_ops) {
        if (applies(op, t)) s.keep(s.b.unary(op, x));
      }
      for (Op op : binary_ops) {
        if (applies(op, t)) s.keep(s.b.binary(op, x, y));
      }
      for (Op op : compare_ops) {
        if (applies(op, t)) s.keep(s.b.compare(op, x, y));
      }
      if (is_float(t)) s.keep(s.b.fma(x, y, x));
      const Value flag = s.b.compare(Op::ne, x, y);
      s.keep(s.b.select(flag, x, y));
      s.keep(s.b.any(flag));
      s.keep(s.b.all(flag));
      s.keep(s.b.extract(x, width - 1u));
      s.keep(s.b.splat(s.b.extract(x, 0), width));
      std::vector<Value> reversed;
      for (std::uint32_t k = width; k-- > 0;) reversed.push_back(s.b.extract(x, k));
      s.keep(s.b.construct(reversed));
      emitted(s.b.take(), with(everything()));
    }
  }
}

TEST(SpirvEmit, EveryConversionAndBitcast) {
  for (DType from : all_dtypes) {
    for (std::uint8_t width : all_widths) {
      SCOPED_TRACE(label(from, width));
      Sketch s;
      const Value x = s.b.load(s.input(from), s.index, width);
      for (DType to : all_dtypes) {
        s.keep(s.b.convert(x, to));
        const std::uint32_t bits = bits_of(from) * width;
        const std::uint32_t ratio =
            std::max(bits_of(from), bits_of(to)) / std::min(bits_of(from), bits_of(to));
        if (from == DType::boolean || to == DType::boolean || ratio > 4) continue;
        if (bits % bits_of(to) != 0 || bits / bits_of(to) > 16) continue;
        s.keep(s.b.bitcast(x, to));
      }
      if (bits_of(from) == 64) {
        s.keep(s.b.from_words(s.b.high_word(x), s.b.low_word(x), from));
      }
      emitted(s.b.take(), with(everything()));
    }
  }
}

TEST(SpirvEmit, ConstantsOfEveryTypeAndWidthAreDeclaredOnce) {
  for (DType t : all_dtypes) {
    for (std::uint8_t width : all_widths) {
      SCOPED_TRACE(label(t, width));
      Sketch s;
      const std::uint64_t bits = t == DType::boolean ? 1 : ~std::uint64_t{0} >> (64 - bits_of(t));
      s.keep(s.b.constant({t, width}, bits));
      s.keep(s.b.constant({t, width}, bits));
      emitted(s.b.take(), with(everything()));
    }
  }
  Sketch s;
  s.keep(s.b.i32(7));
  s.keep(s.b.u32(7));
  const std::string text = emitted(s.b.take());
  EXPECT_EQ(count(text, "= OpConstant %uint 7\n"), 1u) << text;
  EXPECT_EQ(count(text, "= OpTypeInt 32 "), 1u) << "one type for both signs";
}

TEST(SpirvEmit, DivisionGuardsOnlyUnknownDivisors) {
  const auto text = [](DType t, Op op, std::optional<std::uint64_t> divisor) {
    Sketch s;
    const Value x = s.b.load(s.input(t), s.index);
    s.keep(s.b.binary(op, x, divisor ? s.b.constant({t, 1}, *divisor) : s.b.load(0, x)));
    return emitted(s.b.take());
  };
  EXPECT_EQ(count(text(DType::u32, Op::div, {}), "OpSelect"), 2u);
  EXPECT_EQ(count(text(DType::u32, Op::rem, {}), "OpSelect"), 1u);
  EXPECT_EQ(count(text(DType::u32, Op::div, 10), "OpSelect"), 0u);
  EXPECT_THAT(text(DType::u32, Op::rem, 10), HasSubstr("OpUMod"));
  Sketch s;
  const std::uint32_t in = s.input(DType::i32);
  const Value x = s.b.load(in, s.index), y = s.b.load(in, s.b.add(s.index, s.b.u32(1)));
  s.keep(s.b.div(x, y));
  s.keep(s.b.rem(x, y));
  s.keep(s.b.div(x, s.b.i32(-3)));
  s.keep(s.b.rem(x, s.b.i32(3)));
  const std::string signed_text = emitted(s.b.take());
  EXPECT_EQ(count(signed_text, "OpSDiv"), 4u);
  EXPECT_EQ(count(signed_text, "OpSelect"), 3u);
  EXPECT_THAT(signed_text, Not(HasSubstr("OpSRem")));
}

TEST(SpirvEmit, ShiftsMaskACountThatMayBeTooLarge) {
  Sketch s;
  const Value x = s.b.load(s.input(DType::u32), s.index);
  s.keep(s.b.binary(Op::shl, x, s.b.u32(5)));
  EXPECT_THAT(emitted(s.b.take()), Not(HasSubstr("OpBitwiseAnd")));
  Sketch wide;
  const Value y = wide.b.load(wide.input(DType::u32), wide.index);
  wide.keep(wide.b.binary(Op::shl, wide.b.u32(1), y));
  EXPECT_THAT(emitted(wide.b.take()), HasSubstr("OpBitwiseAnd"));
}

TEST(SpirvEmit, ExactArithmeticIsNeverContracted) {
  Sketch s;
  const std::uint32_t in = s.input(DType::f32);
  const Value x = s.b.load(in, s.index, 8), y = s.b.load(in, s.b.add(s.index, s.b.u32(8)), 8);
  s.keep(s.b.mul(x, y));
  {
    const kernel::Builder::Exactly exactly(s.b);
    s.keep(s.b.add(x, y));
    s.keep(s.b.fma(x, y, y));
  }
  const std::string text = emitted(s.b.take());
  EXPECT_EQ(count(text, "NoContraction"), 4u) << "two operations of two parts each\n" << text;
}

TEST(SpirvEmit, AProductWithASplatIsAProductWithItsScalar) {
  Sketch s;
  const Value x = s.b.load(s.input(DType::f32), s.index, 8);
  s.keep(s.b.mul(s.b.splat(s.b.f32(3), 8), x));
  s.keep(s.b.mul(x, s.b.splat(s.b.extract(x, 5), 8)));
  s.keep(s.b.mul(x, x));
  const std::string text = emitted(s.b.take());
  EXPECT_EQ(count(text, "OpVectorTimesScalar"), 4u);
  EXPECT_EQ(count(text, "OpFMul"), 2u);
}

// Compilers that add vectors of remainders wrongly end the process.
TEST(SpirvEmit, IntegerVectorsAreAddedByComponentUnlessTheDriverIsTrusted) {
  Sketch s;
  const auto x = s.b.load(s.input(DType::u32), s.index, 4);
  s.b.store(s.output(DType::u32), s.index, s.b.add(x, x));
  const kernel::Kernel k = s.b.take();
  for (const bool trusted : {false, true}) {
    Features f;
    f.as_specified = trusted;
    const std::string text = emitted(k, with(f));
    EXPECT_EQ(count(text, "OpIAdd %v4uint"), trusted ? 1u : 0u) << text;
    EXPECT_EQ(count(text, "OpCompositeConstruct %v4uint"), trusted ? 0u : 1u);
  }
}

// Compilers take a choice between 0 and 1 for the condition as a number, and any zero for 0.
TEST(SpirvEmit, TheSignOfAZeroIsNotChosenAsAFloatWhereADriverLosesIt) {
  const auto chosen_by_bits = [](double x, double y, bool trusted) {
    Sketch s;
    const auto go = s.b.compare(Op::lt, s.index, s.b.u32(5));
    s.keep(s.b.select(go, s.b.number(DType::f32, x), s.b.number(DType::f32, y)));
    Features f;
    f.as_specified = trusted;
    const std::string text = emitted(s.b.take(), with(f));
    EXPECT_EQ(count(text, "OpSelect %float"), 1u) << text;
    return count(text, "OpBitwiseOr") == 1;
  };
  for (const bool trusted : {false, true}) {
    for (const auto& [zero, one] : {std::pair{0.0, -1.0}, std::pair{-0.0, 1.0}}) {
      EXPECT_TRUE(chosen_by_bits(zero, one, trusted)) << zero << ' ' << one;
      EXPECT_TRUE(chosen_by_bits(one, zero, trusted)) << one << ' ' << zero;
    }
    EXPECT_FALSE(chosen_by_bits(0.0, 1.0, trusted));
    EXPECT_FALSE(chosen_by_bits(-0.0, -2.0, trusted));
    EXPECT_EQ(chosen_by_bits(-0.0, -1.0, trusted), !trusted);
    EXPECT_EQ(chosen_by_bits(-1.0, -0.0, trusted), !trusted);
  }
}

TEST(SpirvEmit, NanIsFoundByItsBits) {
  Sketch s;
  const Value x = s.b.load(s.input(DType::f32), s.index);
  s.keep(s.b.unary(Op::is_nan, x));
  s.keep(s.b.compare(Op::ne, x, s.b.load(0, s.b.u32(0))));
  const std::string text = emitted(s.b.take());
  EXPECT_THAT(text, Not(HasSubstr("OpIsNan")));
  EXPECT_THAT(text, HasSubstr("OpUGreaterThan"));
  EXPECT_THAT(text, HasSubstr("OpFUnordNotEqual"));
}

TEST(SpirvEmit, FloatControlsAreDeclaredForTheTypesInUse) {
  Features f = everything();
  f.signed_zero_inf_nan_preserve_f32 = f.signed_zero_inf_nan_preserve_f64 = true;
  f.rounding_rte_f32 = f.denorm_preserve_f32 = f.rounding_rte_f64 = true;
  const auto text = [&](DType t) {
    Sketch s;
    s.keep(s.b.load(s.input(t), s.index));
    return emitted(s.b.take(), with(f));
  };
  EXPECT_THAT(text(DType::u32), Not(HasSubstr("SignedZero")));
  const std::string single = text(DType::f32);
  EXPECT_THAT(single, HasSubstr("OpExtension \"SPV_KHR_float_controls\""));
  EXPECT_THAT(single, HasSubstr("SignedZeroInfNanPreserve 32"));
  EXPECT_THAT(single, HasSubstr("RoundingModeRTE 32"));
  EXPECT_THAT(single, HasSubstr("DenormPreserve 32"));
  EXPECT_THAT(single, Not(HasSubstr("RoundingModeRTE 64")));
  EXPECT_THAT(text(DType::f64), HasSubstr("RoundingModeRTE 64"));
  f.version = 0x00010400;
  EXPECT_THAT(text(DType::f32), Not(HasSubstr("OpExtension")));
}

TEST(SpirvEmit, LaterVersionsListEveryGlobalInTheInterface) {
  for (std::uint32_t version : {0x00010300u, 0x00010400u, 0x00010500u, 0x00010600u}) {
    Features f = everything();
    f.version = version;
    Sketch s;
    s.keep(s.b.load(s.texels(DType::f32), s.index, 4));
    s.keep(s.b.load(s.input(DType::i8), s.index));
    const std::uint32_t shared = s.b.shared_array({DType::f32, 64});
    s.keep(s.b.shared_load(shared, s.b.source(Op::local_index)));
    const std::string text = emitted(s.b.take(), with(f));
    const std::string entry = text.substr(text.find("OpEntryPoint"), 400);
    const std::size_t listed = count(entry.substr(0, entry.find('\n')), " %") - 1;
    const std::size_t globals = count(text, "= OpVariable");
    // 1.3 lists the two inputs only.
    EXPECT_EQ(listed, version < 0x00010400 ? 2 : globals) << text;
    EXPECT_EQ(count(text, "SPV_KHR_8bit_storage"), version < 0x00010500 ? 1u : 0u);
  }
}

TEST(SpirvEmit, WhatTheTargetLacksIsNamed) {
  const auto complaint = [](DType t, Features f) {
    Sketch s;
    s.keep(s.b.load(s.input(t), s.index));
    return message([&] { emit(s.b.take(), with(f)); });
  };
  EXPECT_THAT(complaint(DType::f64, {}), HasSubstr("computes in f64"));
  EXPECT_THAT(complaint(DType::i64, {}), HasSubstr("computes in i64"));
  EXPECT_THAT(complaint(DType::u8, {}), HasSubstr("computes in u8"));
  Features arithmetic_only;
  arithmetic_only.int16 = true;
  EXPECT_THAT(complaint(DType::i16, arithmetic_only),
              HasSubstr("`in_i16` of kernel `sketch` holds i16"));
  EXPECT_THAT(complaint(DType::bf16, everything()), HasSubstr("computes in bf16"));

  Sketch s;
  s.keep(s.b.unary(Op::sin, s.b.load(s.input(DType::f64), s.index)));
  EXPECT_THAT(message([&] { emit(s.b.take(), with(everything())); }),
              HasSubstr("`sin` in kernel `sketch` has no f64 form in GLSL.std.450"));
  kernel::Kernel lanes;
  lanes.lanes = 8;
  EXPECT_THAT(message([&] { emit(lanes, {}); }), HasSubstr("lane form"));
}

TEST(SpirvEmit, NamesAndLinesAreThereOnlyWhenAskedFor) {
  const auto build = [](const char* file, int line) {
    Sketch s;
    s.b.at_line(file, line);
    const Value x = s.b.load(s.texels(DType::f32), s.index, 4);
    s.b.at_line(file, line + 1);
    s.keep(s.b.add(x, x));
    return s.b.take();
  };
  EmitOptions debug;
  debug.debug_info = true;
  const std::string text = emitted(build("demo.cpp", 66), debug);
  EXPECT_THAT(text, HasSubstr("OpString \"demo.cpp\""));
  EXPECT_THAT(text, HasSubstr("%out_f32"));
  EXPECT_THAT(text, HasSubstr("%sketch"));
  EXPECT_THAT(text, HasSubstr(" 66 0\n"));
  EXPECT_THAT(text, HasSubstr(" 67 0\n"));
  const kernel::Kernel here = build("demo.cpp", 66), there = build("moved.cpp", 5);
  EXPECT_EQ(emit(here, {}), emit(there, {})) << "moving a line must not change the words";
  EXPECT_EQ(emit(here, debug), emit(here, debug));
}

TEST(SpirvEmit, SourcesComeFromTheParameterBlockAndTheBuiltins) {
  Sketch s;
  const std::uint32_t word = s.b.parameter_word();
  s.keep(s.b.add(s.b.source(Op::group_index), s.b.source(Op::local_index)));
  s.keep(s.b.parameter(word));
  s.keep(s.b.parameter(word));
  const std::string text = emitted(s.b.take());
  EXPECT_THAT(text, HasSubstr("BuiltIn WorkgroupId"));
  EXPECT_THAT(text, HasSubstr("BuiltIn LocalInvocationId"));
  // Header and three bases are words 0 to 6, the user word is word 7: two rows, each loaded once.
  EXPECT_EQ(count(text, "= OpLoad %v4uint"), 2u) << text;
}

TEST(SpirvEmit, PartsOfAJoinedDispatchFindTheirParametersByATable) {
  const auto text_of = [](std::uint32_t reads_together) {
    Sketch s;
    const std::uint32_t word = s.b.parameter_word();
    s.keep(s.b.add(s.b.source(Op::group_index), s.b.parameter(word)));
    Features features;
    features.reads_together = reads_together;
    return emitted(s.b.take(), {.features = features, .joined_rows = 64});
  };
  const std::string text = text_of(0);
  // The header once, and two rows of the part; its row is a word of its own.
  EXPECT_EQ(count(text, "= OpLoad %v4uint"), 3u) << text;
  EXPECT_EQ(count(text, "OpReturn"), 2u) << "workgroups that no part has\n" << text;
  EXPECT_EQ(count(text, "PushConstant"), 0u) << text;
  EXPECT_THAT(text_of(8), HasSubstr("OpVariable %_ptr_PushConstant"));
}

TEST(SpirvTools, ABrokenModuleIsReported) {
  kernel::Kernel k;
  std::vector<std::uint32_t> words = emit(k, {});
  words.pop_back();
  EXPECT_TRUE(validate(words).has_value());
  EXPECT_THROW(disassemble(std::vector<std::uint32_t>{1, 2, 3}), InternalError);
}

}  // namespace
}  // namespace gnomon::spirv
