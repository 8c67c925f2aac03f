// tests/shaders/pass_simplify_test.cpp -- what simplify removes, moves, and leaves alone.
#include "shaders/passes/simplify.h"

#include <gtest/gtest.h>

#include "shaders/kernel/text.h"
#include "shaders/kernel/verify.h"

namespace gnomon::kernel {
namespace {

std::string kernel(const std::string& body) {
  return "kernel \"k\" lanes=64 group=64 {\n"
         "  buffer 0 \"x\": f32 read\n"
         "  buffer 1 \"y\": f32 read_write\n"
         "  private 0: f32[4]\n" +
         body + "}\n";
}

/// Simplifies the body of a kernel and gives the body of the result.
std::string simplified(const std::string& body) {
  const Kernel result = simplify(parse_kernel(kernel(body)));
  verify(result);
  const std::string text = print(result);
  const std::string head = kernel("");
  const std::size_t start = head.size() - 2;
  EXPECT_EQ(text.substr(0, start), head.substr(0, start));
  return text.substr(start, text.size() - start - 2);
}

TEST(Simplify, KeepsWhatHasNothingToRemove) {
  const std::string body = R"(  %0: f32 = constant 1.5
  %1: u32 = lane
  %2: f32 = load 0 %1
  %3: f32 = mul exact %2 %0
  store 1 %1 %3
)";
  EXPECT_EQ(simplified(body), body);
}

TEST(Simplify, DropsUnusedValuesLoadsAndPrivateArraysThatNobodyReads) {
  EXPECT_EQ(simplified(R"(
  %0: u32 = lane
  %1: f32 = load 0 %0
  %2: f32 = sin %1
  private_store 0 %0 %2
)"),
            "");
}

TEST(Simplify, DropsLoopsAndBranchesWithoutEffects) {
  EXPECT_EQ(simplified(R"(
  %n: u32 = constant 9
  %one: u32 = constant 1
  %r: u32 = loop (%i: u32 = %one) max=9 { %c: bool = lt %i %n yield %c } do (%j: u32) {
    %k: u32 = add %j %one
    %q: bool = lt %k %n
    %v: f32 = if %q { %w: f32 = load 0 %k yield %w } else { %z: f32 = constant 0 yield %z }
    yield %k
  }
)"),
            "");
}

TEST(Simplify, ComputesEqualValuesOncePerRegion) {
  EXPECT_EQ(simplified(R"(
  %0: u32 = lane
  %1: f32 = load 0 %0
  %2: f32 = load 0 %0
  %3: f32 = add %1 %2
  %4: f32 = add %2 %1
  %5: f32 = sub %3 %4
  store 1 %0 %5
)"),
            R"(  %0: u32 = lane
  %1: f32 = load 0 %0
  %2: f32 = add %1 %1
  %3: f32 = sub %2 %2
  store 1 %0 %3
)");
}

TEST(Simplify, LoadsABufferThatIsWrittenEveryTime) {
  const std::string body = R"(  %0: u32 = lane
  %1: f32 = load 1 %0
  %2: f32 = add %1 %1
  store 1 %0 %2
  %3: f32 = load 1 %0
  %4: f32 = add %3 %3
  store 1 %0 %4
)";
  EXPECT_EQ(simplified(body), body);
}

TEST(Simplify, FoldsConstantsAndTheBranchTheyDecide) {
  EXPECT_EQ(simplified(R"(
  %0: u32 = constant 3
  %1: u32 = constant 4
  %2: bool = lt %0 %1
  %3: u32 = lane
  %4: f32 = load 0 %3
  %5: f32 = if %2 { %6: f32 = neg %4 yield %6 } else { yield %4 }
  store 1 %3 %5
)"),
            R"(  %0: u32 = lane
  %1: f32 = load 0 %0
  %2: f32 = neg %1
  store 1 %0 %2
)");
}

TEST(Simplify, TurnsCarriesThatNeverChangeIntoOuterValuesAndDropsUnusedOnes) {
  EXPECT_EQ(simplified(R"(
  %zero: u32 = constant 0
  %one: u32 = constant 1
  %n: u32 = constant 8
  %l: u32 = lane
  %x: f32 = load 0 %l
  %a: u32, %b: f32, %c: f32, %d: u32 = loop (%i: u32 = %zero, %s: f32 = %x, %same: f32 = %x, %dead: u32 = %l) max=8 {
    %p: bool = lt %i %n
    yield %p
  } do (%j: u32, %t: f32, %u: f32, %v: u32) {
    %k: u32 = add %j %one
    %w: f32 = mul %t %u
    %e: u32 = add %v %one
    yield %k %w %u %e
  }
  store 1 %l %b
)"),
            R"(  %0: u32 = constant 0
  %1: u32 = constant 1
  %2: u32 = constant 8
  %3: u32 = lane
  %4: f32 = load 0 %3
  %5: u32, %6: f32 = loop (%7: u32 = %0, %8: f32 = %4) max=8 {
    %9: bool = lt %7 %2
    yield %9
  } do (%10: u32, %11: f32) {
    %12: u32 = add %10 %1
    %13: f32 = mul %11 %4
    yield %12 %13
  }
  store 1 %3 %6
)");
}

const char* const loop_with_a_load = R"(
  %zero: u32 = constant 0
  %one: u32 = constant 1
  %three: u32 = constant 3
  %l: u32 = lane
  %n: u32 = COUNT
  %x: f32 = load 0 %zero
  %a: u32, %b: f32 = loop (%i: u32 = %zero, %s: f32 = %x) max=8 {
    %p: bool = lt %i %n
    yield %p
  } do (%j: u32, %t: f32) {
    %at: u32 = add %l %one
    %y: f32 = load 0 %at
    %e: f32 = exp %y
    %w: f32 = mul %t %e
    %k: u32 = add %j %one
    yield %k %w
  }
  store 1 %l %b
)";

std::string with_count(const std::string& count) {
  std::string text = loop_with_a_load;
  return text.replace(text.find("COUNT"), 5, count);
}

TEST(Simplify, MovesALoadOutOfALoopThatReachesIt) {
  const std::string text = simplified(with_count("constant 8"));
  EXPECT_LT(text.find("exp"), text.find("loop")) << text;
}

TEST(Simplify, KeepsALoadInALoopThatMayMakeNoTrip) {
  const std::string text = simplified(with_count("rem %l %three"));
  EXPECT_LT(text.find("loop"), text.find("exp")) << text;
  EXPECT_LT(text.find("add"), text.find("loop")) << "the index is free to leave:\n" << text;
}

TEST(Simplify, ExpensiveArithmeticStaysInItsBranch) {
  const std::string text = simplified(R"(
  %zero: u32 = constant 0
  %one: u32 = constant 1
  %n: u32 = constant 8
  %l: u32 = lane
  %x: f32 = load 0 %l
  %a: u32, %b: f32 = loop (%i: u32 = %zero, %s: f32 = %x) max=8 {
    %p: bool = lt %i %n
    yield %p
  } do (%j: u32, %t: f32) {
    %q: bool = eq %j %l
    %r: f32 = if %q { %e: f32 = exp %x yield %e } else { yield %t }
    %k: u32 = add %j %one
    yield %k %r
  }
  store 1 %l %b
)");
  EXPECT_LT(text.find("if"), text.find("exp")) << text;
}

}  // namespace
}  // namespace gnomon::kernel
