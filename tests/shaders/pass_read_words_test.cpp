// tests/shaders/pass_read_words_test.cpp -- 64-bit elements that come as words are the same ones,
// wherever they lie in a texel.
#include "shaders/passes/read_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "shaders/interpret/interpret.h"
#include "shaders/kernel/builder.h"
#include "shaders/kernel/text.h"
#include "shaders/kernel/verify.h"
#include "shaders/passes/vectorize.h"

namespace gnomon::kernel {
namespace {

constexpr std::uint32_t groups = 7, elements = 160;

/// What an invocation reads of buffer 0; buffer 2 holds positions in any order.
struct Read {
  const char* name;
  Value (*load)(Builder&, Value invocation);
};

Value times(Builder& b, Value v, std::uint32_t n) { return b.mul(v, b.u32(n)); }

Value at_distances(Builder& b, Value first, std::uint32_t step) {
  Values places;
  for (std::uint32_t k = 0; k < 4; ++k) places.push_back(b.add(first, b.u32(k * step)));
  return b.construct(places);
}

Value some_of(Builder& b, Value i, std::uint8_t width) {
  Values taken;
  for (std::uint32_t k = 0; k < width; ++k)
    taken.push_back(b.compare(Op::lt, b.add(i, b.u32(k)), b.u32(5)));
  return b.construct(taken);
}

/// Nothing is said of what a masked load gives where it does not read.
Value chosen(Builder& b, Value taken, Value loaded) {
  const Type t = b.type(loaded);
  return b.select(taken, loaded, b.constant(t, 0));
}

const Read reads[] = {
    {"one", [](Builder& b, Value i) { return b.load(0, i); }},
    {"even", [](Builder& b, Value i) { return b.load(0, times(b, i, 2)); }},
    {"odd", [](Builder& b, Value i) { return b.load(0, b.add(times(b, i, 4), b.u32(3))); }},
    {"constant", [](Builder& b, Value) { return b.load(0, b.u32(5)); }},
    {"run of 2", [](Builder& b, Value i) { return b.load(0, times(b, i, 2), 2); }},
    {"run of 4", [](Builder& b, Value i) { return b.load(0, times(b, i, 4), 4); }},
    {"run of 16", [](Builder& b, Value i) { return b.load(0, times(b, i, 16), 16); }},
    {"odd run", [](Builder& b, Value i) { return b.load(0, b.add(times(b, i, 4), b.u32(1)), 4); }},
    {"any run", [](Builder& b, Value i) { return b.load(0, times(b, i, 3), 4); }},
    {"rows", [](Builder& b, Value i) { return b.load(0, at_distances(b, times(b, i, 2), 8)); }},
    {"columns", [](Builder& b, Value i) { return b.load(0, at_distances(b, i, 5)); }},
    {"gather", [](Builder& b, Value i) { return b.load(0, b.load(2, times(b, i, 4), 4)); }},
    {"looked up", [](Builder& b, Value i) { return b.load(0, b.load(2, i)); }},
    {"masked",
     [](Builder& b, Value i) {
       const Value taken = b.compare(Op::lt, i, b.u32(3));
       return chosen(b, taken, b.load(0, times(b, i, 2), 1, taken));
     }},
    {"masked run",
     [](Builder& b, Value i) {
       const Value taken = some_of(b, times(b, i, 4), 4);
       return chosen(b, taken, b.load(0, times(b, i, 4), 4, taken));
     }},
    {"masked gather",
     [](Builder& b, Value i) {
       const Value taken = some_of(b, i, 4);
       return chosen(b, taken, b.load(0, at_distances(b, i, 3), 4, taken));
     }},
};

Kernel kernel_of(const Read& read, DType t) {
  Builder b("reads");
  b.buffer({t, Access::read, false, false, "x"});
  b.buffer({t, Access::write, false, false, "y"});
  b.buffer({DType::u32, Access::read, false, false, "places"});
  b.kernel().group_size = 1;
  const Value i = b.source(Op::invocation);
  const Value loaded = read.load(b, i);
  b.store(1, times(b, i, b.type(loaded).width), loaded);
  return b.take();
}

std::vector<std::uint64_t> run(const Kernel& k) {
  verify(k);
  std::vector<std::uint64_t> x(elements), y(16 * groups, 77);
  std::vector<std::uint32_t> places(elements);
  for (std::uint32_t i = 0; i < elements; ++i) {
    x[i] = (0x3ff0123456789abcULL + i) * 0x9e3779b97f4a7c15ULL;
    places[i] = i * 37 % elements;
  }
  std::span<std::byte> buffers[] = {std::as_writable_bytes(std::span(x)),
                                    std::as_writable_bytes(std::span(y)),
                                    std::as_writable_bytes(std::span(places))};
  const std::uint32_t parameters[7] = {0, groups, 0, 0, 0, 0, 0};
  interpret(k, groups, parameters, buffers);
  return y;
}

std::size_t loads_of(const Kernel& k, std::uint32_t buffer) {
  std::size_t n = 0;
  for (const Instruction& i : k.body.body) n += i.op == Op::load && i.immediate == buffer ? 1 : 0;
  return n;
}

TEST(ReadWords, TheKernelDoesTheSame) {
  for (const DType t : {DType::f64, DType::i64, DType::u64})
    for (const Read& read : reads) {
      const Kernel plain = kernel_of(read, t), words = read_words(plain);
      EXPECT_EQ(words.buffers[0].dtype, DType::u32);
      EXPECT_EQ(words.buffers[1].dtype, t);
      EXPECT_EQ(run(words), run(plain)) << read.name << "\n" << print(words);
      const Kernel wide = vectorize(words, {.texel_reads = true, .wide_access = true});
      EXPECT_TRUE(wide.buffers[0].texel);
      EXPECT_EQ(run(wide), run(plain)) << read.name << "\n" << print(wide);
    }
}

TEST(ReadWords, ATexelIsReadOnceForBothOfItsElements) {
  const auto loads = [](const char* name) {
    for (const Read& read : reads)
      if (std::string_view(read.name) == name)
        return loads_of(vectorize(read_words(kernel_of(read, DType::f64)), {.texel_reads = true}),
                        0);
    return std::size_t{0};
  };
  EXPECT_EQ(loads("one"), 1);
  EXPECT_EQ(loads("constant"), 1);
  EXPECT_EQ(loads("run of 4"), 1);
  EXPECT_EQ(loads("odd run"), 3);
  EXPECT_EQ(loads("rows"), 4);
}

TEST(ReadWords, WhatIsWrittenOrSharedStays) {
  for (const bool coherent : {false, true}) {
    Builder b("updates");
    b.buffer({DType::f64, coherent ? Access::read : Access::read_write, coherent, false, "x"});
    b.buffer({DType::f64, Access::write, false, false, "y"});
    b.kernel().group_size = 1;
    const Value i = b.source(Op::invocation);
    b.store(1, i, b.load(0, i));
    const Kernel k = b.take();
    EXPECT_EQ(print(read_words(k)), print(k));
  }
  Builder b("of words");
  b.buffer({DType::f32, Access::read, false, false, "x"});
  b.buffer({DType::f32, Access::write, false, false, "y"});
  b.kernel().group_size = 1;
  b.store(1, b.source(Op::invocation), b.load(0, b.source(Op::invocation)));
  const Kernel k = b.take();
  EXPECT_EQ(print(read_words(k)), print(k));
}

}  // namespace
}  // namespace gnomon::kernel
