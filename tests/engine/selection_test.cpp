// tests/engine/selection_test.cpp -- choosing a device among made-up ones; needs no Vulkan.
#include "engine/vulkan/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/vulkan/quirks.h"
#include "gnomon/error.h"

namespace gnomon::vulkan {
namespace {

using ::testing::HasSubstr;
using Kind = DeviceDescription::Kind;

DeviceDescription device(const std::string& name, Kind kind) {
  DeviceDescription d;
  d.name = name;
  d.kind = kind;
  d.api_minor = 3;
  d.compute_queue = true;
  d.max_storage_range = 1u << 27;
  d.max_texel_elements = 1u << 27;
  d.max_group_invocations = 1024;
  d.max_group_size_x = 1024;
  d.max_groups = 65535;
  return d;
}

std::string refusal(const std::vector<DeviceDescription>& devices, std::string_view wanted = "") {
  try {
    select_device(devices, wanted);
  } catch (const DeviceError& e) {
    return e.what();
  }
  return "no DeviceError";
}

TEST(Selection, TakesTheOnlyDevice) {
  EXPECT_EQ(select_device(std::vector{device("A", Kind::cpu)}, ""), 0u);
}

TEST(Selection, PrefersDiscreteToIntegratedToVirtualToCpu) {
  const std::vector all = {device("C", Kind::cpu), device("V", Kind::virtual_device),
                           device("I", Kind::integrated), device("D", Kind::discrete),
                           device("D2", Kind::discrete)};
  EXPECT_EQ(select_device(all, ""), 3u);
  EXPECT_EQ(select_device(std::span(all).first(3), ""), 2u);
  EXPECT_EQ(select_device(std::span(all).first(2), ""), 1u);
}

TEST(Selection, FollowsAnIndexOrAPartOfTheName) {
  const std::vector all = {device("NVIDIA H100", Kind::discrete),
                           device("llvmpipe (LLVM 15)", Kind::cpu)};
  EXPECT_EQ(select_device(all, "1"), 1u);
  EXPECT_EQ(select_device(all, "LLVMpipe"), 1u);
  EXPECT_EQ(select_device(all, "nvidia"), 0u);
}

TEST(Selection, SaysWhyEachDeviceWasRejected) {
  auto old = device("A", Kind::discrete), silent = device("B", Kind::discrete),
       small = device("C", Kind::cpu);
  old.api_minor = 0;
  silent.compute_queue = false;
  small.max_storage_range = 1000;
  const std::string text = refusal({old, silent, small});
  EXPECT_THAT(
      text,
      HasSubstr(
          "gnomon::Runtime: no usable GPU: \"A\" has Vulkan 1.0 and 1.1 is required; "
          "\"B\" has no queue that computes; \"C\" has maxStorageBufferRange 1000 and 134217728 "
          "is required (GNOMON_DEVICE picks one)"));
}

TEST(Selection, NamesWhatWasWantedWhenNothingMatches) {
  EXPECT_THAT(refusal({device("A", Kind::cpu)}, "radeon"), HasSubstr("\"A\" is not `radeon`"));
  EXPECT_THAT(refusal({device("A", Kind::cpu)}, "7"), HasSubstr("\"A\" is not `7`"));
  auto old = device("A", Kind::cpu);
  old.api_minor = 0;
  EXPECT_THAT(refusal({old, device("B", Kind::cpu)}, "a"), HasSubstr("\"A\" has Vulkan 1.0"));
}

TEST(Selection, SaysThatThereIsNoDevice) {
  EXPECT_THAT(refusal({}), HasSubstr("lists no device; install a driver"));
}

TEST(Quirks, LimitLoopsOnOldLavapipeOnly) {
  auto lavapipe = device("llvmpipe (LLVM 15.0.6, 256 bits)", Kind::cpu);
  lavapipe.driver_info = "Mesa 22.3.6 (LLVM 15.0.6)";
  EXPECT_EQ(target_of(lavapipe).loop_budget, 65000u);
  EXPECT_EQ(target_of(lavapipe).loop_coarsening, 4u);
  EXPECT_TRUE(target_of(lavapipe).texel_reads);
  lavapipe.driver_info = "Mesa 25.0.7-2~bpo12+1 (LLVM 15.0.6)";
  EXPECT_EQ(target_of(lavapipe).loop_budget, 0u);
  lavapipe.driver_info = "";
  // Without a name for its version, whatever is worse.
  EXPECT_EQ(target_of(lavapipe).loop_budget, 65000u);
}

TEST(Quirks, LeaveSwiftShaderOneLanePerInvocationAndNoTexels) {
  auto swiftshader = device("SwiftShader Device (Subzero)", Kind::cpu);
  swiftshader.max_texel_elements = 65536;
  const Target target = target_of(swiftshader);
  EXPECT_EQ(target.loop_coarsening, 1u);
  EXPECT_FALSE(target.texel_reads);
}

TEST(Quirks, ReadNoTexelsWhereWindowsWouldNotReach) {
  auto lavapipe = device("llvmpipe", Kind::cpu);
  lavapipe.max_texel_elements = 65536;
  EXPECT_FALSE(target_of(lavapipe).texel_reads);
}

TEST(Quirks, KeepAGpuCoalesced) {
  const Target target = target_of(device("NVIDIA H100", Kind::discrete));
  EXPECT_FALSE(target.contiguous_per_lane);
  EXPECT_EQ(target.loop_coarsening, 1u);
  EXPECT_EQ(target.loop_budget, 0u);
}

TEST(Quirks, KnowMobileGpusByTheirMakers) {
  auto mali = device("Mali-G710", Kind::integrated);
  EXPECT_EQ(target_of(mali).kind, KnownTarget::gpu) << "as any integrated one";
  mali.vendor_id = 0x13b5;
  EXPECT_EQ(target_of(mali).kind, KnownTarget::mobile_gpu);
  EXPECT_EQ(target_of(mali).parallel_lanes, 8192u);
  mali.kind = Kind::discrete;
  EXPECT_EQ(target_of(mali).kind, KnownTarget::gpu);
}

TEST(Quirks, FillWhatADeviceSaysThatItHolds) {
  auto h100 = device("NVIDIA H100", Kind::discrete);
  const std::uint32_t unknown = target_of(h100).parallel_lanes;
  h100.resident_lanes = 132 * 64 * 32;
  EXPECT_EQ(target_of(h100).parallel_lanes, 1u << 18);
  EXPECT_LT(unknown, 1u << 18);
  h100.resident_lanes = std::uint64_t{1} << 40;
  EXPECT_EQ(target_of(h100).parallel_lanes, 1u << 24) << "a number that fits";
  auto lavapipe = device("llvmpipe", Kind::cpu);
  const std::uint32_t of_cores = target_of(lavapipe).parallel_lanes;
  lavapipe.resident_lanes = 1024;
  EXPECT_EQ(target_of(lavapipe).parallel_lanes, of_cores);
}

TEST(Quirks, LetWorkgroupsOfAGpuWorkTogetherAsFarAsItOffers) {
  auto gpu = device("a GPU", Kind::discrete);
  gpu.max_group_invocations = gpu.max_group_size_x = 192;
  gpu.subgroup_arithmetic = true;
  EXPECT_EQ(target_of(gpu).team, 128u) << "the largest power of two";
  EXPECT_FALSE(target_of(gpu).features.subgroup_arithmetic) << "subgroups have no numbers there";
  gpu.subgroup_basic = true;
  EXPECT_TRUE(target_of(gpu).features.subgroup_arithmetic);
  EXPECT_EQ(target_of(device("llvmpipe", Kind::cpu)).team, 0u);
}

}  // namespace
}  // namespace gnomon::vulkan
