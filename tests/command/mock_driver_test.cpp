// tests/command/mock_driver_test.cpp -- a driver that has the least limits and computes nothing:
// devices are chosen and made, and calls return.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/command/command.h"
#include "tests/support/temporary_folder.h"

namespace gnomon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class MockDriver : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(GNOMON_MOCK_DRIVER))
      GTEST_SKIP() << GNOMON_MOCK_DRIVER << " is not there; third_party/more_drivers.sh makes it";
  }
  const std::string driver =
      "VK_ICD_FILENAMES=" GNOMON_MOCK_DRIVER " VK_DRIVER_FILES=" GNOMON_MOCK_DRIVER;
  const std::string least =
      driver +
      " VK_INSTANCE_LAYERS=VK_LAYER_GNOMON_least_device VK_LAYER_PATH=" GNOMON_LEAST_DEVICE;
};

TEST_F(MockDriver, IsChosenOrRefusedByName) {
  const Outcome info = gnomon("info", driver);
  EXPECT_EQ(info.status, 0);
  EXPECT_THAT(info.text, AllOf(HasSubstr("0: Vulkan Mock Device  (used)"),
                               HasSubstr("128 invocations, 16 KiB shared")));
  EXPECT_THAT(gnomon("info", driver + " GNOMON_DEVICE=llvmpipe").text,
              HasSubstr("no usable GPU: \"Vulkan Mock Device\" is not `llvmpipe`"));
  EXPECT_THAT(gnomon("info", least).text,
              AllOf(HasSubstr("  Vulkan                1.1\n"), HasSubstr(" f32 i32\n")));
}

TEST_F(MockDriver, GoesThroughACall) {
  const testing::TemporaryFolder folder;
  const std::string graph = (folder / "square.graph").string();
  std::ofstream(graph) << "graph() {\n  %0: i32[5] = iota[dtype=i32 shape=[5] axis=0]\n"
                          "  %1: i32[5] = mul %0 %0\n  %2: i32[] = sum[axes=(0)] %1\n"
                          "  return %1 %2\n}\n";
  for (const std::string& variables : {driver, least, least + " GNOMON_TARGET=minimum"}) {
    const Outcome run = gnomon("run " + graph, variables + " GNOMON_CACHE=off");
    EXPECT_EQ(run.status, 0) << run.text;
    EXPECT_THAT(run.text, AllOf(HasSubstr("i32[5]\n["), HasSubstr("i32[]\n"))) << variables;
  }
}

}  // namespace
}  // namespace gnomon
