// tests/shaders/kernel_text_test.cpp -- kernels print and parse.
#include "shaders/kernel/text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "shaders/kernel/builder.h"

namespace gnomon::kernel {
namespace {

std::string reprinted(const std::string& text) { return print(parse_kernel(text)); }

struct Failure {
  std::string text;
  int line = 0, column = 0;
};

Failure failure(const std::string& text) {
  try {
    parse_kernel(text);
  } catch (const ParseError& e) {
    return {e.what(), e.line, e.column};
  }
  return {"nothing was thrown"};
}

const char* const everything = R"(kernel "every \"thing\"" lanes=65536 group=64 parameters=2 {
  buffer 0 "x": f32 read texel
  buffer 1 "y": f32 read_write coherent
  private 0: f32[16]
  shared 0: u32[64]
  %0: f32 = constant 1.5
  %1: u32 = lane
  %2: u32 = parameter 1
  %3: f32 = load 0 %1
  %4: f32 = mul exact %0 %3
  %5: f32, %6: u32 = loop (%7: f32 = %4, %8: u32 = %1) max=1000 {
    %9: bool = lt %7 %0
    yield %9
  } do (%10: f32, %11: u32) {
    %12: f32 = add %10 %10
    yield %12 %11
  }
  %13: bool = eq %6 %2
  %14: f32 = if %13 {
    barrier
    yield %5
  } else {
    yield %0
  }
  if %13 {
    store 1 %1 %14
  }
  %15: f32x4 = splat %14
  %16: f32 = extract 3 %15
  store 1 %1 %16 %13
}
)";

TEST(KernelText, PrintsWhatItParses) { EXPECT_EQ(reprinted(everything), everything); }

TEST(KernelText, NamesCommentsAndLayoutAreFree) {
  const std::string text = reprinted(R"(
    kernel "k" group=32 {  // in invocation form
      %who: u32 = invocation %two:u32 = constant 2
      %sum : u32 = add %who %two })");
  EXPECT_EQ(text, R"(kernel "k" group=32 {
  %0: u32 = invocation
  %1: u32 = constant 2
  %2: u32 = add %0 %1
}
)");
}

TEST(KernelText, ConstantsKeepTheirBits) {
  const struct {
    DType type;
    std::uint64_t bits;
    const char* text;
  } cases[] = {
      {DType::f32, 0x80000000u, "-0"},
      {DType::f32, 0x7f800000u, "inf"},
      {DType::f32, 0xff800000u, "-inf"},
      {DType::f32, 0x7fc01234u, "0x7fc01234"},
      {DType::f32, 1u, "1e-45"},
      {DType::f32, std::bit_cast<std::uint32_t>(0.1f), "0.1"},
      {DType::f64, std::bit_cast<std::uint64_t>(0.1), "0.1"},
      {DType::f16, 0x2e66u, nullptr},
      {DType::bf16, 0x3dcdu, nullptr},
      {DType::i8, 0x80u, "-128"},
      {DType::u8, 0xffu, "255"},
      {DType::i64, 0x8000000000000000u, "-9223372036854775808"},
      {DType::u64, ~0ull, "18446744073709551615"},
      {DType::boolean, 1, "true"},
  };
  for (const auto& c : cases) {
    Builder b("k");
    b.constant({c.type, 1}, c.bits);
    const std::string text = print(b.take());
    if (c.text != nullptr) {
      EXPECT_NE(text.find(std::string("= constant ") + c.text + "\n"), std::string::npos) << text;
    }
    const Kernel back = parse_kernel(text);
    EXPECT_EQ(back.body.body.at(0).immediate, c.bits) << text;
  }
}

TEST(KernelText, EveryFloatOf16BitsSurvives) {
  for (const DType type : {DType::f16, DType::bf16}) {
    Builder b("k");
    for (std::uint32_t bits = 0; bits < 65536; ++bits) b.constant({type, 1}, bits);
    const Kernel back = parse_kernel(print(b.take()));
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      ASSERT_EQ(back.body.body.at(bits).immediate, bits);
    }
  }
}

TEST(KernelText, ShowsSourceLinesWhenAsked) {
  Builder b("k");
  b.at_line("demo.cpp", 12);
  b.source(Op::lane);
  const Kernel k = b.take();
  EXPECT_NE(print(k, {.lines = true}).find("= lane  // demo.cpp:12\n"), std::string::npos);
  EXPECT_EQ(reprinted(print(k, {.lines = true})), print(k));
}

TEST(KernelText, MistakesNameTheirPlace) {
  const auto one = [](const std::string& line) {
    return "kernel \"k\" group=1 {\n  " + line + "\n}\n";
  };
  const struct {
    std::string text, message;
    int line, column;
  } cases[] = {
      {one("%0: u32 = lain"), "there is no instruction `lain`", 2, 13},
      {one("%0: u33 = lane"), "there is no type `u33`", 2, 7},
      {one("%0: f32 = neg %1"), "`%1` is used but not defined above", 2, 17},
      {one("%0: f32 = neg %0"), "`%0` is used but not defined above", 2, 17},
      {one("%0: u32 = lane %0: u32 = lane"), "`%0` is defined twice", 2, 18},
      {one("%0: u8 = constant 256"), "`256` is no constant of type u8", 2, 21},
      {one("%0: f32 = constant true"), "`true` is no constant of type f32", 2, 22},
      {one("buffer 1 \"x\": f32 read"), "buffer 1 comes where 0 is due", 2, 10},
      {one("buffer 0 \"x\": f32 reed"), "expected `read`, `write` or `read_write`, found `reed`", 2,
       21},
      {"kernel \"k\" group=1 {\n", "expected an instruction or `}`, found the end of the text", 2,
       1},
      {"kernel k {}", "expected a kernel's name in quotes, found `k`", 1, 8},
      {"kernel \"k\" size=3 {}", "a kernel has no attribute `size`", 1, 12},
      {"kernel \"k {}\n", "a string is not closed on its line", 1, 8},
      {"kernel \"k\" {} {}", "text behind the kernel: `{`", 1, 15},
  };
  for (const auto& c : cases) {
    const Failure f = failure(c.text);
    EXPECT_NE(f.text.find(c.message), std::string::npos) << f.text << "\nexpected: " << c.message;
    EXPECT_EQ(f.line, c.line) << f.text;
    EXPECT_EQ(f.column, c.column) << f.text;
  }
}

}  // namespace
}  // namespace gnomon::kernel
