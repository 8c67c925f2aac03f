// tests/shaders/spirv_testing.h -- what the tests of the SPIR-V emitter share.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "shaders/kernel/builder.h"
#include "shaders/spirv/emit.h"
#include "shaders/spirv/tools.h"
#include "shaders/support/check.h"

namespace gnomon::spirv {

using testing::HasSubstr;
using testing::Not;

inline Features everything() {
  Features f;
  f.int64 = f.float64 = f.int16 = f.int8 = f.float16 = f.storage_16 = f.storage_8 = true;
  return f;
}

inline EmitOptions with(Features features) { return {.features = features}; }

/// The disassembly of a kernel whose module must be valid.
inline std::string emitted(const kernel::Kernel& kernel, const EmitOptions& options = {}) {
  const std::vector<std::uint32_t> words = emit(kernel, options);
  const std::string text = disassemble(words);
  const std::optional<std::string> complaint = validate(words);
  EXPECT_FALSE(complaint) << *complaint << "\n" << text;
  return text;
}

inline std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

template <class F>
std::string message(F f) {
  try {
    f();
  } catch (const InternalError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

constexpr DType all_dtypes[] = {DType::boolean, DType::i8,  DType::u8,  DType::i16,
                                DType::u16,     DType::i32, DType::u32, DType::i64,
                                DType::u64,     DType::f16, DType::f32, DType::f64};
constexpr std::uint8_t all_widths[] = {1, 2, 4, 8, 16};

/// A kernel under construction with an element index that is a multiple of 16.
struct Sketch {
  kernel::Builder b{"sketch"};
  kernel::Value index = b.binary(kernel::Op::mul, b.source(kernel::Op::invocation), b.u32(16));

  std::uint32_t input(DType t) {
    return b.buffer({t, kernel::Access::read, false, false, "in_" + std::string(name(t))});
  }
  std::uint32_t texels(DType t) {
    return b.buffer({t, kernel::Access::read, false, true, "texels_" + std::string(name(t))});
  }
  std::uint32_t output(DType t) {
    return b.buffer({t, kernel::Access::read_write, false, false, "out_" + std::string(name(t))});
  }
  /// Stores a value to a buffer of its own; a bool as a number, which every target stores.
  void keep(kernel::Value v) {
    if (b.type(v).scalar == DType::boolean) v = b.convert(v, DType::u32);
    b.store(output(b.type(v).scalar), index, v);
  }
};

}  // namespace gnomon::spirv
