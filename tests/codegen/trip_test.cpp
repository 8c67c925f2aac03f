// tests/codegen/trip_test.cpp -- chains of operations and values that wait, of a loop's trip.
#include "codegen/cost/trip.h"

#include <gtest/gtest.h>

#include "shaders/kernel/text.h"

namespace gnomon {
namespace {

/// A loop of 100 trips around `body`, which makes %a of %t.
kernel::Kernel loop(const std::string& body, const std::string& type = "f32") {
  return kernel::parse_kernel(R"(
    kernel "loop" lanes=64 {
      buffer 0 "x": )" + type +
                              R"( read_write
      %i: u32 = lane
      %zero: u32 = constant 0
      %hundred: u32 = constant 100
      %one: u32 = constant 1
      %x: )" + type + R"( = load 0 %i
      %last: )" + type + R"(, %n: u32 = loop (%s: )" +
                              type + R"( = %x, %k: u32 = %zero) max=100 {
        %go: bool = lt %k %hundred
        yield %go
      } do (%t: )" + type + R"(, %l: u32) {
        )" + body + R"(
        %next: u32 = add %l %one
        yield %a %next
      }
      store 0 %i %last
    })");
}

TEST(Trips, OfOneChainHaveItsLength) {
  const Trip t = longest_trip(loop(R"(
        %two: f32 = constant 2
        %b: f32 = mul %t %two
        %c: f32 = add %b %x
        %a: f32 = mul %c %c)"));
  EXPECT_EQ(t.instructions, 5u);
  EXPECT_EQ(t.operations, 4u);  // the counter's as well
  EXPECT_EQ(t.accesses, 0u);
  EXPECT_EQ(t.span, 3u);
  EXPECT_EQ(t.live, 2u);  // what the chain has come to, and the counter
  EXPECT_DOUBLE_EQ(t.parallelism(), 4.0 / 3);
}

TEST(Trips, OfSeveralChainsKeepWhatTheyMeetWith) {
  const std::string tree = R"(
        %b: TYPE = mul %t %t
        %c: TYPE = add %t %x
        %d: TYPE = sub %t %x
        %e: TYPE = add %b %c
        %f: TYPE = mul %e %d
        %a: TYPE = add %f %t)";
  const auto of = [&](const std::string& type) {
    std::string body = tree;
    for (std::size_t at; (at = body.find("TYPE")) != std::string::npos;) body.replace(at, 4, type);
    return longest_trip(loop(body, type));
  };
  EXPECT_EQ(of("f32").operations, 7u);
  EXPECT_EQ(of("f32").span, 4u);
  EXPECT_EQ(of("f32").live, 5u);  // %b, %c, %d, %t and the counter
  EXPECT_EQ(of("f64").live, 9u);  // words of 32 bits
}

TEST(Trips, AreTheLongestAndCountAccessesInside) {
  const Trip t = longest_trip(loop(R"(
        %y: f32 = load 0 %l
        %b: f32, %m: u32 = loop (%p: f32 = %t, %q: u32 = %zero) max=100 {
          %more: bool = lt %q %hundred
          yield %more
        } do (%r: f32, %o: u32) {
          %z: f32 = load 0 %o
          %w: f32 = add %r %z
          %then: u32 = add %o %one
          yield %w %then
        }
        %c: f32 = add %b %y
        %a: f32 = mul %c %c)"));
  EXPECT_EQ(t.instructions, 5u);
  EXPECT_EQ(t.accesses, 2u);
  EXPECT_EQ(t.span, 3u);  // the loop inside is one of them
}

TEST(Trips, AreNoneWithoutLoops) {
  const Trip t = longest_trip(kernel::parse_kernel(R"(
    kernel "straight" lanes=64 {
      buffer 0 "x": f32 read_write
      %i: u32 = lane
      %x: f32 = load 0 %i
      %zero: f32 = constant 0
      %less: bool = lt %x %zero
      %y: f32 = if %less {
        %square: f32 = mul %x %x
        yield %square
      } else {
        yield %x
      }
      store 0 %i %y
    })"));
  EXPECT_EQ(t.instructions, 0u);
  EXPECT_EQ(t.operations, 0u);
  EXPECT_DOUBLE_EQ(t.parallelism(), 0);
}

}  // namespace
}  // namespace gnomon
