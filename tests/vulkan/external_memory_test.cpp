// tests/vulkan/external_memory_test.cpp -- memory that two Runtimes, two processes or another API
// have: what is in it, who owns the handle, what is asked of Vulkan, and what is refused.
#include "gnomon/external_memory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <numeric>
#include <optional>
#include <vector>

#include "engine/runtime/state.h"
#include "gnomon/gnomon.h"
#include "tests/support/message.h"
#include "tests/vulkan/app.h"
#include "tests/vulkan/faults.h"
#include "tests/vulkan/memory_child.h"
#include "tests/vulkan/watched_memory.h"

namespace gnomon::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RuntimeOptions validated() {
  RuntimeOptions o;
  o.validate = true;
  return o;
}

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }
bool has_fds(const Runtime& rt) { return rt.state()->context->device.description().external_fd; }

std::vector<float> counted(std::size_t n) {
  std::vector<float> v(n);
  std::iota(v.begin(), v.end(), 0.0f);
  return v;
}

class ExternalMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_fds(a)) GTEST_SKIP() << a.device_name() << " has no VK_KHR_external_memory_fd";
  }
  void TearDown() override {
    EXPECT_THAT(a.validation_messages(), ElementsAre());
    EXPECT_THAT(b.validation_messages(), ElementsAre());
  }
  Runtime a{validated()}, b{validated()};
  const Aval floats{DType::f32, Shape(shared_floats)};
};

TEST_F(ExternalMemory, IsSharedByTwoRuntimes) {
  const SharedMemory here(a, 16384);
  EXPECT_EQ(here.bytes(), 16384u);
  const auto values = counted(shared_floats);
  const Array x = here.put(0, a.from_host(values));
  EXPECT_EQ(a.to_host<float>(x), values);
  here.release();
  a.wait();

  const MemoryHandle handle = here.handle();
  ASSERT_TRUE(is_open(handle.fd));
  const SharedMemory there(b, handle);
  there.acquire();
  const Array theirs = there.array(0, floats);
  EXPECT_EQ(b.to_host<float>(theirs), values);
  // Kernels read it where it lies.
  const auto square = jit(b, [](const Array& v) { return v * v; });
  const Array y = square(theirs);
  const Array z = there.put(answer_at, y);
  there.release();
  b.wait();

  here.acquire();
  std::vector<float> squares;
  for (const float v : values) squares.push_back(v * v);
  EXPECT_EQ(a.to_host<float>(here.array(answer_at, floats)), squares);
  EXPECT_EQ(a.to_host<float>(x), values);
}

TEST_F(ExternalMemory, IsSharedByTwoProcesses) {
  const SharedMemory here(a, 16384);
  here.put(0, a.from_host(counted(shared_floats)));
  here.release();
  a.wait();
  const MemoryHandle handle = here.handle();
  EXPECT_EQ(run_memory_child(handle), 0);
  ::close(handle.fd);
  here.acquire();
  const auto answer = a.to_host<float>(here.array(answer_at, floats));
  for (std::size_t i = 0; i < answer.size(); ++i)
    ASSERT_EQ(answer[i], 2.0f * static_cast<float>(i) + 1.0f) << i;
}

TEST_F(ExternalMemory, OutlivesWhoMadeItWhileOthersHaveIt) {
  std::optional<SharedMemory> there;
  {
    Runtime c(validated());
    const SharedMemory here(c, 4096);
    here.put(0, c.from_host(counted(1000)));
    here.release();
    c.wait();
    there.emplace(b, here.handle());
  }
  there->acquire();
  Array x = there->array(0, floats);
  there.reset();  // its array has it
  EXPECT_EQ(b.to_host<float>(x), counted(1000));
}

TEST_F(ExternalMemory, TakesADescriptorThatItImportsAndNoOther) {
  const SharedMemory here(a, 4096);
  const MemoryHandle right = here.handle();
  MemoryHandle wrong = right;
  wrong.device[3] ^= 1;
  EXPECT_THAT(message([&] { SharedMemory(b, wrong); }), HasSubstr("another device or driver"));
  wrong = right, wrong.bytes = 100;
  EXPECT_THAT(message([&] { SharedMemory(b, wrong); }), HasSubstr("less than 256 hold no array"));
  wrong = right, wrong.memory_type = 31;
  EXPECT_THAT(message([&] { SharedMemory(b, wrong); }), HasSubstr("of memory of type 31"));
  wrong = right, wrong.fd = -1;
  EXPECT_THAT(message([&] { SharedMemory(b, wrong); }), HasSubstr("descriptor -1 is not open"));
  EXPECT_TRUE(is_open(right.fd));
  {
    const SharedMemory there(b, right);
    EXPECT_FALSE(is_open(right.fd));
    EXPECT_THAT(message([&] { (void)there.handle(); }), HasSubstr("the memory was imported"));
  }
  EXPECT_THAT(message([&] { SharedMemory(b, right); }), HasSubstr("is not open"));
}

TEST_F(ExternalMemory, RefusesWhatDoesNotFit) {
  const SharedMemory here(a, 4096);
  EXPECT_THAT(message([&] { (void)here.array(16, floats); }),
              HasSubstr("the offset is 16 and has to be a multiple of 256"));
  EXPECT_THAT(
      message([&] { (void)here.array(256, floats); }),
      HasSubstr("f32[1000] at byte 256 takes 4096 bytes with its padding and the buffer has "
                "4096"));
  EXPECT_THAT(message([&] { (void)here.array(~std::uint64_t{255}, floats); }),
              HasSubstr("takes 4096 bytes"));
  const Array x = here.array(0, {DType::f32, Shape(10)});
  EXPECT_THAT(message([&] { (void)here.put(0, x); }),
              HasSubstr("lies at byte 0 of the memory itself"));
  EXPECT_THAT(message([&] { (void)here.put(0, b.from_host({1.0f})); }),
              HasSubstr("belongs to another Runtime"));
  EXPECT_THAT(message([&] { SharedMemory(a, std::uint64_t{1} << 62); }), HasSubstr("split it"));
  EXPECT_THAT(message([&] { SharedMemory().release(); }), HasSubstr("there is no memory"));
}

TEST_F(ExternalMemory, IsForApplicationsWhichEnableIt) {
  App without, with({.external_fd = true});
  Runtime bare = Runtime::adopt(without.described(), validated());
  EXPECT_THAT(message([&] { SharedMemory(bare, 4096); }),
              HasSubstr("does not have VK_KHR_external_memory_fd enabled; enable it and name it"));
  {
    Runtime rt = Runtime::adopt(with.described(), validated());
    const SharedMemory theirs(rt, 4096);
    Array y = theirs.array(0, floats);
    const auto f = jit(rt, [](const Array& v) { return v * 3.0f; });
    const VkCommandBuffer commands = with.begin();
    const Recording call = record(commands, y, f, rt.from_host(counted(1000)));
    with.end(commands);
    with.submit(commands);
    with.wait_idle();
    theirs.release();
    rt.wait();
    const SharedMemory mine(a, theirs.handle());
    mine.acquire();
    EXPECT_EQ(a.to_host<float>(mine.array(0, floats))[5], 15.0f);
  }
  EXPECT_THAT(with.messages(), ElementsAre());
}

/// What is asked of Vulkan, and what drivers answer that are not at hand.
class WatchedMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override { watched_memory() = {}; }
  Runtime start() {
    RuntimeOptions o;
    o.vulkan_loader = reinterpret_cast<void (*)()>(&watching_function);
    return Runtime(o);
  }
  WatchedMemory& seen = watched_memory();
  static constexpr auto fd_bit = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
  static constexpr auto win32_bit = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT;
};

TEST_F(WatchedMemoryTest, DescriptorsAreExportedAndImportedAsVulkanHasIt) {
  Runtime rt = start();
  if (!has_fds(rt)) GTEST_SKIP() << rt.device_name() << " has no VK_KHR_external_memory_fd";
  const SharedMemory here(rt, 5000);
  EXPECT_EQ(here.bytes(), 5120u);
  const MemoryHandle handle = here.handle();
  const SharedMemory there(rt, handle);
  ASSERT_EQ(seen.asked.size(), 2u);
  const auto& exported = seen.asked[0];
  const auto& imported = seen.asked[1];
  EXPECT_EQ(exported.buffer_types, VkFlags{fd_bit});
  EXPECT_EQ(exported.exported_types, VkFlags{fd_bit});
  EXPECT_EQ(exported.imported_type, 0u);
  EXPECT_FALSE(exported.dedicated);
  EXPECT_EQ(imported.buffer_types, VkFlags{fd_bit});
  EXPECT_EQ(imported.imported_type, VkFlags{fd_bit});
  EXPECT_EQ(imported.exported_types, 0u);
  EXPECT_NE(imported.fd, handle.fd) << "Vulkan gets one of its own";
  // What the specification asks of both sides: VkImportMemoryFdInfoKHR, of opaque handles.
  EXPECT_EQ(imported.bytes, exported.bytes);
  EXPECT_EQ(imported.memory_type, exported.memory_type);
  for (const auto& a : seen.asked) EXPECT_EQ(a.addressable, rt.target().features.addresses);
  for (const VkBufferUsageFlags usage : seen.usages)
    EXPECT_TRUE(usage & VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
}

TEST_F(WatchedMemoryTest, HandlesOfWindowsAreExportedAndImportedAsVulkanHasIt) {
  seen.win32 = true;
  int something = 0;
  seen.exported = &something;
  Runtime rt = start();
  const SharedMemory here(rt, 4096, HandleKind::opaque_win32);
  const MemoryHandle handle = here.handle();
  EXPECT_EQ(handle.win32, &something);
  EXPECT_EQ(handle.fd, -1);
  const SharedMemory there(rt, handle);
  ASSERT_EQ(seen.asked.size(), 2u);
  EXPECT_EQ(seen.asked[0].buffer_types, VkFlags{win32_bit});
  EXPECT_EQ(seen.asked[0].exported_types, VkFlags{win32_bit});
  EXPECT_EQ(seen.asked[1].buffer_types, VkFlags{win32_bit});
  EXPECT_EQ(seen.asked[1].imported_type, VkFlags{win32_bit});
  EXPECT_EQ(seen.asked[1].win32, &something);
  EXPECT_EQ(seen.asked[1].name, nullptr);
  EXPECT_EQ(seen.asked[1].bytes, seen.asked[0].bytes);
  MemoryHandle none = handle;
  none.win32 = nullptr;
  EXPECT_THAT(message([&] { SharedMemory(rt, none); }), HasSubstr("handle of Windows is null"));
  // The commands that hand it over, and a kernel that writes to it.
  Array x = here.put(0, rt.from_host(counted(1000)));
  here.release();
  here.acquire();
  const Array y = jit(rt, [](const Array& v) { return v + 1.0f; })(std::move(x));
  EXPECT_EQ(rt.to_host<float>(y)[1], 2.0f);
}

TEST_F(WatchedMemoryTest, IsAllocatedForOneBufferAloneWhereTheDeviceWantsIt) {
  seen.win32 = true;
  seen.exported = &seen;
  for (const bool only : {false, true}) {
    seen.asked.clear();
    seen.requires_dedicated = !only;
    seen.features = VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT |
                    VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT |
                    (only ? VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT : 0);
    Runtime rt = start();
    const SharedMemory here(rt, 4096, HandleKind::opaque_win32);
    MemoryHandle handle = here.handle();
    EXPECT_TRUE(handle.dedicated);
    const SharedMemory there(rt, handle);
    ASSERT_EQ(seen.asked.size(), 2u);
    for (const auto& a : seen.asked) EXPECT_TRUE(a.dedicated_to_the_buffer);
    handle.dedicated = false;
    EXPECT_THAT(message([&] { SharedMemory(rt, handle); }), HasSubstr("for one buffer alone"));
  }
}

TEST_F(WatchedMemoryTest, SaysWhatADeviceDoesNotDo) {
  seen.fd = false;
  {
    Runtime rt = start();
    EXPECT_THAT(
        message([&] { SharedMemory(rt, 4096, HandleKind::opaque_fd); }),
        HasSubstr("does not have VK_KHR_external_memory_fd; copy by to_host and from_host"));
    EXPECT_THAT(message([&] { SharedMemory(rt, 4096, HandleKind::opaque_win32); }),
                HasSubstr("does not have VK_KHR_external_memory_win32; copy"));
  }
  seen.win32 = true;
  seen.exported = &seen;
  Runtime rt = start();
  const MemoryHandle handle = SharedMemory(rt, 4096, HandleKind::opaque_win32).handle();
  seen.features = VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
  EXPECT_THAT(message([&] { SharedMemory(rt, 4096, HandleKind::opaque_win32); }),
              HasSubstr("does not export the memory of buffers with the usage 0x"));
  seen.features = VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT;
  EXPECT_THAT(message([&] { SharedMemory(rt, handle); }), HasSubstr("does not import the memory"));
  seen = {};
  seen.allocating = VK_ERROR_INVALID_EXTERNAL_HANDLE;
  EXPECT_THAT(message([&] { SharedMemory(rt, handle); }),
              HasSubstr("does not take the handle (VK_ERROR_INVALID_EXTERNAL_HANDLE)"));
  seen.allocating = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  EXPECT_THAT(message([&] { SharedMemory(rt, handle); }),
              HasSubstr("vkAllocateMemory failed: VK_ERROR_OUT_OF_DEVICE_MEMORY"));
  seen.allocating = VK_SUCCESS;
  seen.extra_bytes = 4096;
  EXPECT_THAT(message([&] { SharedMemory(rt, handle); }),
              HasSubstr("a buffer of 4096 takes 8192 here; pass the allocationSize"));
}

TEST_F(WatchedMemoryTest, KeepsTheDescriptorTheCallersWhereItFails) {
  Runtime rt = start();
  if (!has_fds(rt)) GTEST_SKIP() << rt.device_name() << " has no VK_KHR_external_memory_fd";
  const SharedMemory here(rt, 4096);
  here.put(0, rt.from_host(counted(1000)));
  const MemoryHandle handle = here.handle();
  const auto descriptors = [] {
    int open = 0;
    for (int fd = 0; fd < 256; ++fd) open += is_open(fd);
    return open;
  };
  const int before = descriptors();
  seen.allocating = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  EXPECT_THAT(message([&] { SharedMemory(rt, handle); }), HasSubstr("OUT_OF_DEVICE_MEMORY"));
  EXPECT_EQ(descriptors(), before);
  seen.allocating = VK_SUCCESS;
  // Behind the import, when Vulkan has got a descriptor.
  if (rt.target().texel_reads) {
    seen.no_views = true;
    EXPECT_THAT(message([&] { SharedMemory(rt, handle); }), HasSubstr("vkCreateBufferView failed"));
    EXPECT_EQ(descriptors(), before);
    seen.no_views = false;
  }
  const SharedMemory there(rt, handle);
  EXPECT_FALSE(is_open(handle.fd));
  EXPECT_EQ(rt.to_host<float>(there.array(0, {DType::f32, Shape(1000)})), counted(1000));
}

/// Of a Runtime whose calls fail when they are told to.
RuntimeOptions failing() {
  faults().reset();
  faults().instance = nullptr;
  faults().queue = VK_NULL_HANDLE;
  RuntimeOptions o;
  o.vulkan_loader = reinterpret_cast<void (*)()>(&failing_function);
  o.on_log = [](std::string_view) {};
  return o;
}

TEST(LostExternalMemory, SaysSoAndLeavesNothing) {
  const RuntimeOptions o = failing();
  {
    Runtime rt(o);
    if (!has_fds(rt)) GTEST_SKIP() << rt.device_name() << " has no VK_KHR_external_memory_fd";
    const auto f = jit(rt, [](const Array& v) { return v + 1.0f; });
    std::optional<SharedMemory> memory(std::in_place, rt, 8192u);
    const Array x = memory->put(0, rt.from_host(counted(1000)));
    EXPECT_EQ(rt.to_host<float>(f(x))[3], 4.0f);
    const int objects = faults().objects();
    faults().arm(0, "vkQueueSubmit");
    EXPECT_THROW(memory->release(), DeviceLost);
    EXPECT_THROW(memory->acquire(), DeviceLost);
    faults().rest();
    rt.recover();
    EXPECT_LT(faults().objects(), objects);
    EXPECT_THAT(message([&] { memory->acquire(); }), HasSubstr("make it or import it again"));
    EXPECT_THAT(message([&] { (void)memory->handle(); }), HasSubstr("make it or import it again"));
    EXPECT_THAT(message([&] { rt.to_host<float>(x); }), HasSubstr("went with a device"));
    EXPECT_THAT(message([&] { rt.wait(x); }), HasSubstr("went with a device"));
    memory.emplace(rt, 8192u);
    const Array y = memory->put(0, rt.from_host(counted(1000)));
    EXPECT_EQ(rt.to_host<float>(f(y))[3], 4.0f);
  }
  EXPECT_EQ(faults().objects(), 0) << faults().text();
}

TEST(LostExternalMemory, LeavesNothingWhereACallFails) {
  const RuntimeOptions o = failing();
  {
    Runtime rt(o);
    if (!has_fds(rt)) GTEST_SKIP() << rt.device_name() << " has no VK_KHR_external_memory_fd";
    const int objects = faults().objects();
    int failures = 0;
    for (int k = 0;; ++k) {
      faults().arm(k);
      std::string said = message([&] { SharedMemory(rt, 8192); });
      faults().rest();
      EXPECT_EQ(faults().objects(), objects) << faults().failed << ": " << faults().text();
      if (said == "no error") break;
      EXPECT_THAT(said, HasSubstr(faults().failed + " failed: VK_ERROR")) << k;
      ++failures;
    }
    EXPECT_GE(failures, 5);
  }
  EXPECT_EQ(faults().objects(), 0) << faults().text();
}

}  // namespace
}  // namespace gnomon::testing
