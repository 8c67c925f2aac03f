// tests/engine/random_graph_test.cpp -- random programs on the device against the host reference.
#include <gtest/gtest.h>

#include "tests/engine/fixture.h"
#include "tests/fuzz/device_check.h"
#include "tests/support/random_check.h"

namespace gnomon::testing {
namespace {

class RandomGraphs : public DeviceTest {
 protected:
  explicit RandomGraphs(const RuntimeOptions& options = validated()) : DeviceTest(options) {}

  std::string check(const RandomGraph& r) { return mismatch_on_device(rt, r).value_or(""); }
};

// Four tests, so that a machine with several cores may run them side by side.
constexpr std::uint64_t parts = 4;
class RandomGraphsPart : public RandomGraphs,
                         public ::testing::WithParamInterface<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Parts, RandomGraphsPart, ::testing::Range(std::uint64_t{0}, parts));

TEST_P(RandomGraphsPart, MeanOnTheDeviceWhatTheReferenceSays) {
  int refused = 0, all = 0;
  const auto checked = [&](const RandomGraph& r) -> std::string {
    if (r.seed % parts != GetParam()) return "";
    ++all;
    try {
      return check(r);
    } catch (const UsageError& e) {
      if (!beyond_budget(e)) throw;
      ++refused;
      return "";
    }
  };
  // The slow tests take ten times as many.
  expect_all(100, checked, 300);
  EXPECT_LE(refused * 15, all) << "too many programs take too many loop trips to be tested";
}

// Every array is larger than a window: kernels reach all they write, and what they do not read as
// texels, by address.
class RandomGraphsByAddress : public RandomGraphs {
 protected:
  RandomGraphsByAddress()
      : RandomGraphs([] {
          RuntimeOptions options = validated();
          options.window_bytes = 256;
          return options;
        }()) {}
};

TEST_F(RandomGraphsByAddress, MeanTheSame) {
  if (!rt.target().features.addresses)
    GTEST_SKIP() << rt.device_name() << " has no buffer device addresses";
  const auto checked = [&](const RandomGraph& r) -> std::string {
    try {
      return check(r);
    } catch (const UsageError& e) {
      if (!beyond_budget(e)) throw;
      return "";
    }
  };
  expect_all(30, checked, 5000);
}

}  // namespace
}  // namespace gnomon::testing
