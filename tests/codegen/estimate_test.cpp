// tests/codegen/estimate_test.cpp -- what estimates count, and what they make of it.
#include "codegen/cost/estimate.h"

#include <gtest/gtest.h>

#include "codegen/cost/device_model.h"
#include "shaders/kernel/text.h"

namespace gnomon {
namespace {

double count(const TermCounts& counts, Term t) { return counts[static_cast<std::size_t>(t)]; }

/// Rows of 100 that are added up, and divided by something by every other lane.
std::string sums(const std::string& condition, const std::string& next) {
  return R"(
    kernel "sums" group=16 {
      buffer 0 "x": f32 read
      buffer 1 "y": f32 write
      buffer 2 "far": f64 read
      %i: u32 = invocation
      %zero: u32 = constant 0
      %one: u32 = constant 1
      %hundred: u32 = constant 100
      %z: f32 = constant 0
      %first: u32 = mul %i %hundred
      %sum: f32, %n: u32 = loop (%s: f32 = %z, %k: u32 = %zero) max=100 {
        %go: bool = )" +
         condition + R"(
        yield %go
      } do (%t: f32, %l: u32) {
        %at: u32 = add %first %l
        %x: f32 = load 0 %at
        %more: f32 = add %t %x
        %next: u32 = )" +
         next + R"(
        yield %more %next
      }
      %bit: u32 = band %i %one
      %odd: bool = eq %bit %one
      %y: f32 = if %odd {
        %d: f64 = load 2 %zero
        %e: f64 = sqrt %d
        %f: f32 = convert %e
        %q: f32 = exp %f
        yield %q
      } else {
        yield %sum
      }
      store 1 %i %y
    })";
}

TEST(Estimates, TellShiftsAndMovedComponentsApart) {
  const auto c = executed(kernel::parse_kernel(R"(
    kernel "moves" group=16 {
      buffer 0 "y": u32 write
      %i: u32 = invocation
      %two: u32 = constant 2
      %a: u32x4 = splat %i
      %b: u32x4 = construct %i %two %two %i
      %c: u32x4 = shl %a %b
      %d: u32 = extract 3 %c
      %e: u32 = shr %d %two
      %f: u32 = add %e %d
      store 0 %i %f
    })"));
  ASSERT_TRUE(c.has_value());
  EXPECT_EQ(count(*c, Term::component), 4 + 4 + 1);
  EXPECT_EQ(count(*c, Term::shift), 4 + 1);
  EXPECT_EQ(count(*c, Term::operation), 1);
}

TEST(Estimates, CountWhatIsExecuted) {
  const kernel::Kernel k = kernel::parse_kernel(sums("lt %k %hundred", "add %l %one"));
  const auto c = executed(k);
  ASSERT_TRUE(c.has_value());
  EXPECT_EQ(count(*c, Term::invocation), 1);
  EXPECT_EQ(count(*c, Term::trip), 100);
  // Four a trip; the place of the row, whether a lane is odd, and on that side a conversion.
  EXPECT_EQ(count(*c, Term::operation), 404);
  EXPECT_EQ(count(*c, Term::load), 100);
  EXPECT_EQ(count(*c, Term::broadcast), 2);  // words of f64 at a place that all share
  EXPECT_EQ(count(*c, Term::division), 2);
  EXPECT_EQ(count(*c, Term::function), 1);
  EXPECT_EQ(count(*c, Term::store), 1);
  EXPECT_EQ(count(*c, Term::together), 0);
  EXPECT_EQ(*operations(k), 1 + 100 + 404 + 100 + 2 + 2 + 12 + 1);
}

TEST(Estimates, AreNotMadeWhereDataDecide) {
  EXPECT_TRUE(executed(kernel::parse_kernel(sums("gt %hundred %k", "add %one %l"))).has_value());
  EXPECT_FALSE(executed(kernel::parse_kernel(sums("lt %s %z", "add %l %one"))).has_value());
  EXPECT_FALSE(executed(kernel::parse_kernel(sums("lt %k %i", "add %l %one"))).has_value());
  EXPECT_FALSE(executed(kernel::parse_kernel(sums("lt %k %hundred", "add %l %l"))).has_value());
  EXPECT_FALSE(
      executed(kernel::parse_kernel(sums("lt %k %hundred", "mul %l %hundred"))).has_value());
}

TEST(Estimates, AreOfOneCoresShare) {
  const kernel::Kernel k = kernel::parse_kernel(sums("lt %k %hundred", "add %l %one"));
  DeviceModel model;
  model.cores = 2;
  // Nobody has measured such a device.
  EXPECT_FALSE(estimated_microseconds(*executed_by_core(k, 10, model), model).has_value());
  model.nanoseconds[static_cast<std::size_t>(Term::dispatch)] = 7000;
  model.nanoseconds[static_cast<std::size_t>(Term::trip)] = 50;
  // Five groups each, of two vectors, of 100 trips.
  EXPECT_DOUBLE_EQ(*estimated_microseconds(*executed_by_core(k, 10, model), model), 7 + 50);
  EXPECT_DOUBLE_EQ(*estimated_microseconds(*executed_by_core(k, 1, model), model), 7 + 10);
}

}  // namespace
}  // namespace gnomon
