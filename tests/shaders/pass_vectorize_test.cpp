// tests/shaders/pass_vectorize_test.cpp -- the forms that accesses take, and their summary.
#include "shaders/passes/vectorize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shaders/kernel/text.h"
#include "shaders/kernel/verify.h"
#include "shaders/passes/coarsen.h"
#include "shaders/passes/simplify.h"

namespace gnomon::kernel {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string kernel(const std::string& head, const std::string& body) {
  return "kernel \"k\" " + head +
         " group=64 {\n"
         "  buffer 0 \"x\": f32 read\n"
         "  buffer 1 \"y\": f32 read_write\n"
         "  buffer 2 \"h\": f16 read\n" +
         body + "}\n";
}

Kernel vectorized(const std::string& body, VectorizeOptions options = {}) {
  const Kernel result = simplify(vectorize(parse_kernel(kernel("", body)), options));
  verify(result);
  return result;
}

/// The accesses of a lane kernel with `width` lanes per invocation.
std::string accesses(std::uint32_t width, const std::string& body) {
  const Kernel lanes = parse_kernel(kernel("lanes=4096", body));
  return access_summary(simplify(vectorize(coarsen(lanes, {width, 64}), {})));
}

const char* const copy_lane = R"(
  %l: u32 = lane
  %v: f32 = load 0 %l
  store 1 %l %v
)";

const char* const copy_rows_of_three = R"(
  %l: u32 = lane
  %three: u32 = constant 3
  %one: u32 = constant 1
  %two: u32 = constant 2
  %i: u32 = mul %l %three
  %j: u32 = add %i %one
  %k: u32 = add %i %two
  %a: f32 = load 0 %i
  %b: f32 = load 0 %j
  %c: f32 = load 0 %k
  store 1 %i %b
  store 1 %j %c
  store 1 %k %a
)";

TEST(Vectorize, KeepsScalarAccess) {
  const std::string body = R"(  %0: u32 = invocation
  %1: f32 = load 0 %0
  store 1 %0 %1
)";
  EXPECT_THAT(print(vectorized(body)), HasSubstr(body));
}

TEST(Vectorize, ReadsWordsThatAreNeverWrittenAsTexels) {
  const Kernel k = vectorized("", {.texel_reads = true});
  EXPECT_TRUE(k.buffers[0].texel);
  EXPECT_FALSE(k.buffers[1].texel);
  EXPECT_FALSE(k.buffers[2].texel);
}

TEST(Vectorize, AnElementThatIsLoadedTwiceIsPartOfItsBlock) {
  const std::string text = print(vectorized(R"(
  %n: u32 = invocation
  %four: u32 = constant 4
  %i: u32 = mul %n %four
  %one: u32 = constant 1
  %two: u32 = constant 2
  %three: u32 = constant 3
  %j: u32 = add %i %one
  %k: u32 = add %i %two
  %l: u32 = add %i %three
  %a: f32 = load 0 %i
  %again: f32 = load 0 %i
  %b: f32 = load 0 %j
  %c: f32 = load 0 %k
  %d: f32 = load 0 %l
  %e: f32 = add %a %again
  %f: f32 = add %b %c
  %g: f32 = add %d %e
  %h: f32 = add %f %g
  store 1 %n %h
)"));
  EXPECT_THAT(text, HasSubstr("f32x4 = load 0 %2"));
  EXPECT_THAT(text, Not(HasSubstr("sub"))) << "the block begins where its first element is";
  EXPECT_THAT(text, Not(HasSubstr("4294967292"))) << text;
}

TEST(Vectorize, LanesSideBySideAreContiguous) {
  EXPECT_EQ(accesses(1, copy_lane), "load x: contiguous\nstore y: contiguous\n");
  EXPECT_EQ(accesses(4, copy_lane),
            "load x: contiguous x4 aligned\nstore y: contiguous x4 aligned\n");
  EXPECT_EQ(accesses(16, copy_lane),
            "load x: contiguous x16 aligned\nstore y: contiguous x16 aligned\n");
}

TEST(Vectorize, RowsOfSeveralLanesFillWholeBlocks) {
  EXPECT_EQ(accesses(1, copy_rows_of_three),
            "load x: gather stride 3\nload x: gather stride 3\nload x: gather stride 3\n"
            "store y: gather stride 3\nstore y: gather stride 3\nstore y: gather stride 3\n");
  std::string whole;
  for (int k = 0; k < 3; ++k) whole += "load x: block x4 aligned stride 12\n";
  for (int k = 0; k < 3; ++k) whole += "store y: block x4 aligned stride 12\n";
  EXPECT_EQ(accesses(4, copy_rows_of_three), whole);
}

TEST(Vectorize, AnUnknownRowLengthIsNotAligned) {
  const std::string column = R"(
  %l: u32 = lane
  %zero: u32 = constant 0
  %m: f32 = load 1 %zero
  %n: u32 = convert %m
  LENGTH
  %i: u32 = add %n4 %l
  %v: f32 = load 0 %i
  store 1 %l %v
)";
  const auto with = [&](const std::string& length) {
    std::string text = column;
    return accesses(4, text.replace(text.find("LENGTH"), 6, length));
  };
  EXPECT_THAT(with("%four: u32 = constant 4 %n4: u32 = mul %n %four"),
              HasSubstr("load x: contiguous x4 aligned\n"));
  EXPECT_THAT(with("%three: u32 = constant 3 %n4: u32 = mul %n %three"),
              Not(HasSubstr("load x: contiguous")));
}

TEST(Vectorize, ALoopCounterInStepsOfFourStaysAligned) {
  const std::string loop = R"(
  %g: u32 = invocation
  %zero: u32 = constant 0
  %step: u32 = constant STEP
  %n: u32 = constant 64
  %i: u32 = loop (%j: u32 = %zero) max=64 {
    %p: bool = lt %j %n
    yield %p
  } do (%k: u32) {
    %v: f32x4 = load 0 %k
    store 1 %k %v
    %m: u32 = add %k %step
    yield %m
  }
)";
  const auto with = [&](const std::string& step) {
    std::string text = loop;
    return access_summary(vectorized(text.replace(text.find("STEP"), 4, step)));
  };
  EXPECT_EQ(with("4"), "load x: uniform x4 aligned\nstore y: uniform x4 aligned\n");
  EXPECT_THAT(with("2"), Not(HasSubstr("x4")));
}

TEST(Vectorize, FourScalarLoadsOfABlockBecomeOne) {
  EXPECT_THAT(print(vectorized(R"(
  %g: u32 = invocation
  %four: u32 = constant 4
  %one: u32 = constant 1
  %two: u32 = constant 2
  %three: u32 = constant 3
  %i: u32 = mul %g %four
  %i1: u32 = add %i %one
  %i2: u32 = add %i %two
  %i3: u32 = add %i %three
  %a: f32 = load 0 %i1
  %b: f32 = load 0 %i
  %c: f32 = load 0 %i3
  %d: f32 = load 0 %i2
  %s: f32 = sub %a %b
  %t: f32 = sub %c %d
  %u: f32 = sub %s %t
  store 1 %g %u
)")),
              HasSubstr(R"(  %2: u32 = shl %1 %0
  %3: f32x4 = load 0 %2
  %4: f32 = extract 1 %3
  %5: f32 = extract 0 %3
  %6: f32 = extract 3 %3
  %7: f32 = extract 2 %3
)"));
}

TEST(Vectorize, AStoreElsewhereInTheBufferKeepsItsPlace) {
  const std::string stores = R"(
  %g: u32 = invocation
  %four: u32 = constant 4
  %one: u32 = constant 1
  %two: u32 = constant 2
  %three: u32 = constant 3
  %i: u32 = mul %g %four
  %i1: u32 = add %i %one
  %i2: u32 = add %i %two
  %i3: u32 = add %i %three
  %v: f32 = load 0 %g
  store 1 %i %v
  store 1 %i1 %v
  MIDDLE
  store 1 %i2 %v
  store 1 %i3 %v
)";
  const auto with = [&](const std::string& middle) {
    std::string text = stores;
    return access_summary(vectorized(text.replace(text.find("MIDDLE"), 6, middle)));
  };
  EXPECT_THAT(with(""), HasSubstr("store y: contiguous x4 aligned\n"));
  EXPECT_THAT(with("store 1 %g %v"), Not(HasSubstr("x4")));
  EXPECT_THAT(with("%w: f32 = load 1 %g"), Not(HasSubstr("x4")));
}

TEST(Vectorize, HalvesAreReadOneByOne) {
  const Kernel k = vectorized(R"(
  %g: u32 = invocation
  %four: u32 = constant 4
  %i: u32 = mul %g %four
  %v: f16x4 = load 2 %i
  %w: f32x4 = convert %v
  store 1 %i %w
)");
  EXPECT_THAT(access_summary(k), HasSubstr("load h: gather stride 4\n"));
  EXPECT_THAT(access_summary(k), HasSubstr("store y: contiguous x4 aligned\n"));
}

TEST(Vectorize, WithoutWideAccessEverythingIsScalar) {
  const Kernel lanes = parse_kernel(kernel("lanes=4096", copy_lane));
  const Kernel k = vectorize(coarsen(lanes, {4, 64}), {.wide_access = false});
  EXPECT_THAT(access_summary(k), Not(HasSubstr("x4")));
}

}  // namespace
}  // namespace gnomon::kernel
