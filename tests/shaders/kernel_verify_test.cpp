// tests/shaders/kernel_verify_test.cpp -- what the verifier accepts and refuses.
#include "shaders/kernel/verify.h"

#include <gtest/gtest.h>

#include "shaders/kernel/text.h"
#include "shaders/support/check.h"

namespace gnomon::kernel {
namespace {

std::string complaint(const Kernel& k) {
  try {
    verify(k);
  } catch (const InternalError& e) {
    return e.what();
  }
  return "";
}

std::string complaint(const std::string& text) { return complaint(parse_kernel(text)); }

const char* const header = R"(kernel "k" group=64 parameters=1 {
  buffer 0 "in": f32 read
  buffer 1 "out": f32 write
  buffer 2 "both": f32 read_write
  buffer 3 "seen": f32 read_write coherent
  buffer 4 "count": u32 read_write
  private 0: f32[8]
  shared 0: f32[64]
  %i: u32 = local_index
  %n: u32 = parameter 0
  %one: u32 = constant 1
  %p: bool = lt %i %n
  %q: bool = lt %n %one
  %x: f32 = load 0 %i
  %w: f32x4 = load 0 %i
)";

std::string in_kernel(const std::string& body) { return header + body + "}\n"; }

TEST(KernelVerify, AcceptsAKernelWithEverything) {
  EXPECT_EQ(complaint(in_kernel(R"(
    %a: f32, %k: u32 = loop (%c: f32 = %x, %t: u32 = %n) max=9 {
      %go: bool = lt %t %n
      yield %go
    } do (%d: f32, %u: u32) {
      shared_store 0 %i %d
      barrier
      %e: f32 = shared_load 0 %i
      %v: u32 = add %u %one
      yield %e %v
    }
    %b: f32 = if %p { yield %a } else { yield %x }
    store 2 %i %b %p
    %m: bool = lt %b %x
    %old: u32 = atomic_add 4 %one %one
    private_store 0 %one %w
    %y: f32x4 = private_load 0 %one
    store 1 %i %y %m
  )")),
            "");
}

TEST(KernelVerify, AcceptsLaneForm) {
  EXPECT_EQ(complaint("kernel \"k\" lanes=8 group=4 { %i: u32 = lane }"), "");
}

TEST(KernelVerify, AcceptsABarrierUnderUniformControl) {
  EXPECT_EQ(complaint(in_kernel("if %q { barrier }")), "");
  EXPECT_EQ(complaint(in_kernel(R"(
    %f: f32 = load 0 %n
    %r: bool = gt %f %f
    if %r { barrier }
  )")),
            "")
      << "a load from one place of a read-only buffer is the same for all";
}

TEST(KernelVerify, RefusesWrongTypes) {
  const struct {
    const char *body, *message;
  } cases[] = {
      {"%y: f32 = add %x %i", "the operands have types f32 and u32, in: %7: f32 = add %5 %0"},
      {"%y: f32x4 = add %w %x", "the operands have types f32x4 and f32"},
      {"%y: u32 = neg %x", "the result is not f32"},
      {"%y: f32 = lt %x %x", "the result is not bool"},
      {"%y: f32 = band %x %x", "it is not defined for f32"},
      {"%y: u32 = fma %i %i %i", "it is not defined for u32"},
      {"%y: f32 = neg %x %x", "wrong number of operands"},
      {"%y: f32 = select %i %x %x", "the types do not fit"},
      {"%y: f32x4 = convert %i", "the widths differ"},
      {"%y: f64 = bitcast %i", "the numbers of bits differ"},
      {"%y: u32 = low_word %i", "the types do not fit"},
      {"%y: f32 = from_words %i %i", "the types do not fit"},
      {"%y: f32x3 = splat %x", "there is a value of type f32x3"},
      {"%y: f32 = extract 4 %w", "there is no such component"},
      {"%y: f32x2 = construct %x", "one operand per component is due"},
      {"%y: f32x2 = constant 1", "a constant is wide"},
      {"%y: f32 = load 0 %x", "the index does not fit"},
      {"%y: u32 = load 0 %i", "the array has another type"},
      {"%y: f32 = load 0 %i %x", "the mask does not fit"},
      {"%y: f32 = load 9 %i", "there is no such buffer"},
      {"%y: f32 = private_load 1 %i", "there is no such array"},
      {"store 0 %i %x", "the buffer is only read"},
      {"%y: f32 = load 1 %i", "the buffer is only written"},
      {"%y: f32 = atomic_add 2 %i %x", "the types do not fit"},
      {"%y: u32 = parameter 1", "there is no such parameter"},
      {"%y: u32 = lane", "invocation form has a lane"},
      {"if %i { }", "a branch's predicate is one bool"},
      {"%y: f32 = if %p { yield %x } else { yield %i }", "sides and results differ"},
      {"%y: f32 = if %p { yield %x }", "sides and results differ"},
      {"%y: f32 = loop (%c: f32 = %x) { yield %x } do (%d: f32) { yield %d }",
       "a loop's condition is one bool"},
      {"%y: f32 = loop (%c: f32 = %x) { yield %p } do (%d: f32) { yield %i }",
       "carried values change their number or types"},
      {"private_store 0 %one %x %y: f32x4 = private_load 0 %one", "accessed with another width"},
  };
  for (const auto& c : cases) {
    const std::string text = complaint(in_kernel(c.body));
    EXPECT_NE(text.find(c.message), std::string::npos) << c.body << "\n" << text;
  }
}

TEST(KernelVerify, RefusesValuesOfClosedRegions) {
  const std::string text = complaint(in_kernel(R"(
    if %p { %y: f32 = neg %x }
    %z: f32 = neg %y
  )"));
  EXPECT_NE(text.find("an operand is a value of a closed region, in: %8: f32 = neg %7"),
            std::string::npos)
      << text;
}

TEST(KernelVerify, RefusesASecondDefinitionAndAnEarlyUse) {
  Kernel k = parse_kernel(in_kernel("%y: f32 = neg %x"));
  Kernel twice = k;
  twice.body.body.push_back(k.body.body.back());
  EXPECT_NE(complaint(twice).find("a value is defined twice"), std::string::npos);
  std::swap(k.body.body.back(), k.body.body.front());
  EXPECT_NE(complaint(k).find("an operand is not defined before"), std::string::npos);
}

TEST(KernelVerify, RefusesWorkgroupsInLaneForm) {
  const auto lanes = [](const std::string& body) {
    return complaint("kernel \"k\" lanes=8 group=4 {" + body + "}");
  };
  EXPECT_NE(lanes("barrier").find("lane form has a barrier"), std::string::npos);
  EXPECT_NE(lanes("shared 0: f32[4]").find("lane form has shared memory"), std::string::npos);
  EXPECT_NE(lanes("%0: u32 = local_index").find("lane form knows"), std::string::npos);
}

TEST(KernelVerify, RefusesADivergentBarrier) {
  const char* const message = "not all invocations of a workgroup reach a barrier together";
  EXPECT_NE(complaint(in_kernel("if %p { barrier }")).find(message), std::string::npos);
  EXPECT_NE(complaint(in_kernel(R"(
    %k: u32 = loop (%t: u32 = %n) {
      %go: bool = lt %t %n
      yield %go
    } do (%u: u32) {
      barrier
      %v: u32 = add %u %i
      yield %v
    }
  )"))
                .find(message),
            std::string::npos)
      << "the trip count depends on the invocation through the carried value";
}

TEST(KernelVerify, RefusesAReloadThatNeedsACoherentBuffer) {
  const char* const message = "the buffer is not coherent";
  EXPECT_NE(complaint(in_kernel("store 2 %i %x barrier %y: f32 = load 2 %n")).find(message),
            std::string::npos);
  EXPECT_EQ(complaint(in_kernel("store 3 %i %x barrier %y: f32 = load 3 %n")), "");
  EXPECT_EQ(complaint(in_kernel("store 2 %i %x %y: f32 = load 2 %n barrier")), "");
  EXPECT_EQ(complaint(in_kernel("store 2 %i %x barrier %y: f32 = load 2 %i")), "")
      << "an invocation reads back its own";
  EXPECT_NE(complaint(in_kernel(R"(
    %k: u32 = loop (%t: u32 = %n) {
      yield %q
    } do (%u: u32) {
      %y: f32 = load 2 %n
      store 2 %i %y
      barrier
      yield %u
    }
  )"))
                .find(message),
            std::string::npos)
      << "the barrier of one trip comes before the load of the next";
}

TEST(KernelVerify, RefusesTexelsOfAWrittenBuffer) {
  EXPECT_NE(complaint("kernel \"k\" group=1 { buffer 0 \"x\": f32 read_write texel }")
                .find("read as texels but not only read"),
            std::string::npos);
}

}  // namespace
}  // namespace gnomon::kernel
