// tests/shaders/pass_coarsen_test.cpp -- bounds, what becomes wide, and where masks appear.
#include "shaders/passes/coarsen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "shaders/kernel/text.h"
#include "shaders/kernel/verify.h"
#include "shaders/passes/simplify.h"
#include "shaders/support/check.h"

namespace gnomon::kernel {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string kernel(std::uint32_t lanes, const std::string& body) {
  return "kernel \"k\" lanes=" + std::to_string(lanes) +
         " group=64 {\n"
         "  buffer 0 \"x\": f32 read\n"
         "  buffer 1 \"y\": f32 read_write\n"
         "  private 0: f32[4]\n"
         "  %l: u32 = lane\n"
         "  %zero: u32 = constant 0\n"
         "  %one: u32 = constant 1\n" +
         body + "}\n";
}

/// Text of the instructions with constants in the place of their names, whose order means nothing.
std::string with_constants_in_place(const std::string& text) {
  std::map<std::string, std::string> names;
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t name = line.find_first_not_of(' ');
    const std::size_t bits = line.find("constant ");
    if (bits != std::string::npos) {
      names[line.substr(name, line.find(':') - name)] = line.substr(bits + 9);
      continue;
    }
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t end = std::max(line.find_first_not_of("%0123456789", at), at + 1);
      const std::string word = line.substr(at, end - at);
      const bool is_name = word.size() > 1 && word[0] == '%';
      std::string& as = names[word];
      if (is_name && as.empty()) {
        const auto constants = std::count_if(names.begin(), names.end(), [](const auto& n) {
          return !n.second.empty() && n.second[0] != '%';
        });
        as = "%" + std::to_string(std::stoi(word.substr(1)) - static_cast<int>(constants));
      }
      result += is_name ? as : word;
      at = end;
    }
    result += "\n";
  }
  return result;
}

/// Text of the coarsened kernel from its first instruction on.
std::string coarsened(std::uint32_t lanes, CoarsenOptions options, const std::string& body) {
  const Kernel result = simplify(coarsen(parse_kernel(kernel(lanes, body)), options));
  verify(result);
  EXPECT_EQ(result.lanes, 0u);
  EXPECT_EQ(result.group_size, options.group_size);
  const std::string text = print(result);
  return with_constants_in_place(text.substr(text.find("  %0")));
}

const char* const twice = R"(
  %v: f32 = load 0 %l
  %w: f32 = add %v %v
  store 1 %l %w
)";

TEST(Coarsen, WidthOneNeedsAGuardOnlyForSurplusInvocations) {
  EXPECT_EQ(coarsened(128, {1, 64}, twice), R"(  %0: u32 = invocation
  %1: f32 = load 0 %0
  %2: f32 = add %1 %1
  store 1 %0 %2
}
)");
  EXPECT_EQ(coarsened(100, {1, 64}, twice), R"(  %0: u32 = invocation
  %1: bool = lt %0 100
  if %1 {
    %2: f32 = load 0 %0
    %3: f32 = add %2 %2
    store 1 %0 %3
  }
}
)");
}

TEST(Coarsen, FourLanesAreOneContiguousAccess) {
  EXPECT_EQ(coarsened(256, {4, 64}, twice), R"(  %0: u32 = invocation
  %1: u32 = shl %0 2
  %2: f32x4 = load 0 %1
  %3: f32x4 = add %2 %2
  store 1 %1 %3
}
)");
}

TEST(Coarsen, LanesThatAreLeftOverHaveAnInvocationEach) {
  EXPECT_EQ(coarsened(10, {4, 64}, twice), R"(  %0: u32 = invocation
  %1: bool = lt %0 2
  if %1 {
    %2: u32 = shl %0 2
    %3: f32x4 = load 0 %2
    %4: f32x4 = add %3 %3
    store 1 %2 %4
  } else {
    %5: bool = lt %0 4
    if %5 {
      %6: u32 = add %0 6
      %7: f32 = load 0 %6
      %8: f32 = add %7 %7
      store 1 %6 %8
    }
  }
}
)");
  EXPECT_EQ(invocations(10, 4), 4u);
  EXPECT_EQ(invocations(8, 4), 2u);
}

TEST(Coarsen, FewerLanesThanTheWidthHaveNoWideBody) {
  EXPECT_THAT(coarsened(3, {4, 64}, twice), Not(HasSubstr("x4")));
}

TEST(Coarsen, UniformValuesStayScalarAndAffineOnesKeepAScalarBase) {
  EXPECT_EQ(coarsened(256, {4, 64}, R"(
  %three: u32 = constant 3
  %a: f32 = load 0 %zero
  %b: f32 = exp %a
  %i: u32 = mul %l %three
  %c: f32 = load 0 %i
  %d: f32 = mul %c %b
  store 1 %l %d
)"),
            R"(  %0: u32 = invocation
  %1: u32 = shl %0 2
  %2: f32 = load 0 0
  %3: f32 = exp %2
  %4: u32 = mul %1 3
  %5: u32x4 = splat %4
  %6: u32x4 = construct 0 3 6 9
  %7: u32x4 = add %5 %6
  %8: f32x4 = load 0 %7
  %9: f32x4 = splat %3
  %10: f32x4 = mul %8 %9
  store 1 %1 %10
}
)");
}

TEST(Coarsen, ALoopOfOneLengthForAllLanesHasNoMask) {
  const std::string text = coarsened(256, {4, 64}, R"(
  %n: u32 = constant 1000
  %v: f32 = load 0 %l
  %c: u32, %r: f32 = loop (%i: u32 = %zero, %s: f32 = %v) max=1000 {
    %p: bool = lt %i %n
    yield %p
  } do (%j: u32, %t: f32) {
    %u: f32 = mul exact %t %t
    %k: u32 = add %j %one
    yield %k %u
  }
  store 1 %l %r
)");
  EXPECT_THAT(text, Not(HasSubstr("select")));
  EXPECT_THAT(text, Not(HasSubstr("any")));
  EXPECT_THAT(text, HasSubstr("loop (%5: u32 = 0, %6: f32x4 = %2) max=1000"));
  EXPECT_THAT(text, HasSubstr("f32x4 = mul exact"));
}

const char* const own_length = R"(
  %v: f32 = load 0 %l
  %f: f32 = abs %v
  %n: u32 = convert %f
  %c: u32, %r: f32 = loop (%i: u32 = %zero, %s: f32 = %v) max=9 {
    %p: bool = lt %i %n
    yield %p
  } do (%j: u32, %t: f32) {
    %u: f32 = load 0 %j
    %w: f32 = mul %t %u
    %k: u32 = add %j %one
    yield %k %w
  }
  store 1 %l %r
)";

TEST(Coarsen, ALoopOfManyLengthsFreezesTheLanesThatHaveLeft) {
  EXPECT_EQ(coarsened(256, {4, 64}, own_length), R"(  %0: u32 = invocation
  %1: u32 = shl %0 2
  %2: f32x4 = load 0 %1
  %3: f32x4 = abs %2
  %4: u32x4 = convert %3
  %5: u32x4 = splat 0
  %6: boolx4 = lt %5 %4
  %7: boolx4, %8: u32, %9: f32x4 = loop (%10: boolx4 = %6, %11: u32 = 0, %12: f32x4 = %2) max=9 {
    %13: bool = any %10
    yield %13
  } do (%14: boolx4, %15: u32, %16: f32x4) {
    %17: f32 = load 0 %15
    %18: f32x4 = splat %17
    %19: f32x4 = mul %16 %18
    %20: u32 = add %15 1
    %21: f32x4 = select %14 %19 %16
    %22: u32x4 = splat %20
    %23: boolx4 = lt %22 %4
    %24: boolx4 = band %14 %23
    yield %24 %20 %21
  }
  store 1 %1 %9
}
)") << "the counter is one number for all lanes that still run, and loads through it are one load";
}

/// A loop of as many trips as the lane's element says, in each of which it does `step`; %place is
/// the lane's place of the trip.
std::string rows(bool history, const std::string& step) {
  std::string text = kernel(256, R"(
  %v: f32 = load 0 %l
  %n: u32 = convert %v
  %all: u32 = constant 256
  %i: u32 = loop (%i0: u32 = %zero) max=9 {
    %go: bool = lt %i0 %n
    yield %go
  } do (%i1: u32) {
    %row: u32 = mul %i1 %all
    %place: u32 = add %row %l
)" + step + R"(
    %i2: u32 = add %i1 %one
    yield %i2
  }
)");
  if (history) {
    text.replace(text.find("read_write"), 10, "read_write history");
    text.replace(text.find("f32[4]"), 6, "f32[4] history");
  }
  const Kernel result = simplify(coarsen(parse_kernel(text), {4, 64}));
  verify(result);
  return print(result);
}

TEST(Coarsen, LanesThatHaveLeftALoopWriteInAHistoryAsWell) {
  const auto masked = testing::ContainsRegex("store [01] %[0-9]+ %[0-9]+ %[0-9]+\n");
  const auto whole = testing::ContainsRegex("store [01] %[0-9]+ %[0-9]+\n");
  const std::string store = "    store 1 %place %v\n";
  const std::string keep =
      "    private_store 0 %i1 %v\n    %got: f32 = private_load 0 %zero\n"
      "    store 1 %place %got\n";
  for (const std::string& step : {store, keep}) {
    EXPECT_THAT(rows(false, step), AllOf(masked, Not(whole))) << step;
    EXPECT_THAT(rows(true, step), AllOf(whole, Not(masked))) << step;
  }
  EXPECT_THAT(rows(true, store), Not(HasSubstr("history"))) << "only lanes know what that is";
  // A lane that takes another branch has not left: its place is that of an earlier trip.
  const std::string sometimes = "    %p: bool = lt %v %v\n    if %p {\n  " + store + "    }\n";
  EXPECT_THAT(rows(true, sometimes), AllOf(masked, Not(whole)));
  // Neither may lanes of different places write in each other's.
  const std::string own = "    %mine: u32 = mul %place %n\n    store 1 %mine %v\n";
  EXPECT_THAT(rows(true, own), AllOf(masked, Not(whole)));
}

TEST(Coarsen, ABranchThatLanesDisagreeOnIsASelectOfBothSides) {
  EXPECT_EQ(coarsened(256, {4, 64}, R"(
  %three: u32 = constant 3
  %p: bool = lt %l %three
  %v: f32 = if %p { %a: f32 = load 0 %l yield %a } else { %b: f32 = load 0 %zero yield %b }
  store 1 %l %v
)"),
            R"(  %0: u32 = invocation
  %1: u32 = shl %0 2
  %2: u32x4 = splat %1
  %3: u32x4 = construct 0 1 2 3
  %4: u32x4 = add %2 %3
  %5: u32x4 = splat 3
  %6: boolx4 = lt %4 %5
  %7: f32x4 = load 0 %1 %6
  %8: boolx4 = bnot %6
  %9: bool = any %8
  %10: f32 = load 0 0 %9
  %11: f32x4 = splat %10
  %12: f32x4 = select %6 %7 %11
  store 1 %1 %12
}
)");
}

TEST(Coarsen, ASideThatStoresIsSkippedWhenNoLaneWantsIt) {
  const std::string text = coarsened(256, {4, 64}, R"(
  %three: u32 = constant 3
  %p: bool = lt %l %three
  %v: f32 = load 0 %l
  if %p { store 1 %l %v }
)");
  EXPECT_THAT(text, HasSubstr("any"));
  EXPECT_THAT(text,
              testing::ContainsRegex("if %[0-9]+ \\{\n    store 1 %[0-9]+ %[0-9]+ %[0-9]+\n"));
}

TEST(Coarsen, ABranchThatLanesAgreeOnStaysABranch) {
  const std::string text = coarsened(256, {4, 64}, R"(
  %four: u32 = constant 4
  %row: u32 = div %l %four
  %p: bool = lt %row %one
  %v: f32 = if %p { %a: f32 = load 0 %l yield %a } else { %b: f32 = load 0 %zero yield %b }
  store 1 %l %v
)");
  EXPECT_THAT(text, HasSubstr("f32x4 = if"));
  EXPECT_THAT(text, Not(HasSubstr("any")));
}

TEST(Coarsen, TheLastLaneWinsAnElementThatAllStore) {
  const std::string text = coarsened(256, {4, 256}, R"(
  %v: f32 = load 0 %l
  store 1 %zero %v
)");
  EXPECT_THAT(text, HasSubstr("extract 3"));
}

TEST(Coarsen, PrivateArraysAreOnePerComponentWhenLanesDiffer) {
  const std::string text = coarsened(256, {4, 64}, R"(
  %v: f32 = load 0 %l
  private_store 0 %one %v
  %w: f32 = private_load 0 %one
  store 1 %l %w
)");
  EXPECT_THAT(text, HasSubstr("f32x4 = private_load 0"));
}

TEST(Coarsen, RejectsWhatSpeaksOfInvocations) {
  Kernel k = parse_kernel(kernel(64, "%g: u32 = load 2 %zero"));
  k.body.body.back().op = Op::group_index;
  k.body.body.back().operands.clear();
  EXPECT_THROW(coarsen(k, {1, 64}), InternalError);
}

}  // namespace
}  // namespace gnomon::kernel
