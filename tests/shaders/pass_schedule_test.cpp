// tests/shaders/pass_schedule_test.cpp -- values that are needed soon are made late.
#include "shaders/passes/schedule.h"

#include <gtest/gtest.h>

#include "shaders/kernel/text.h"

namespace gnomon::kernel {
namespace {

std::string kernel(const std::string& body) {
  return "kernel \"k\" lanes=8 group=64 {\n  buffer 0 \"x\": f32 read\n  buffer 1 \"y\": f32 "
         "write\n" +
         body + "}\n";
}

std::string scheduled(const std::string& text) { return print(schedule(parse_kernel(text))); }

TEST(Schedule, LeavesAChainAsItIs) {
  const std::string chain = kernel(
      "  %0: u32 = lane\n  %1: f32 = load 0 %0\n  %2: f32 = mul %1 %1\n  %3: f32 = add %2 %1\n  "
      "store 1 %0 %3\n");
  EXPECT_EQ(scheduled(chain), print(parse_kernel(chain)));
}

TEST(Schedule, EndsALifetimeBeforeItBeginsAnother) {
  const std::string wasteful = kernel(
      "  %0: u32 = lane\n  %1: f32 = load 0 %0\n"
      "  %2: f32 = sin %1\n  %3: f32 = cos %1\n  %4: f32 = exp %1\n"
      "  %5: f32 = neg %2\n  %6: f32 = neg %3\n  %7: f32 = neg %4\n"
      "  %8: f32 = add %5 %6\n  %9: f32 = add %8 %7\n  store 1 %0 %9\n");
  const std::string frugal = kernel(
      "  %0: u32 = lane\n  %1: f32 = load 0 %0\n"
      "  %2: f32 = sin %1\n  %5: f32 = neg %2\n  %3: f32 = cos %1\n  %6: f32 = neg %3\n  %8: f32 = "
      "add %5 %6\n"
      "  %4: f32 = exp %1\n  %7: f32 = neg %4\n  %9: f32 = add %8 %7\n  store 1 %0 %9\n");
  EXPECT_EQ(scheduled(wasteful), print(parse_kernel(frugal)));
}

}  // namespace
}  // namespace gnomon::kernel
