// tests/vulkan/c_interface_test.cpp -- the C interface on an application's device, its callbacks,
// and a device that is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"
#include "tests/vulkan/app.h"
#include "tests/vulkan/faults.h"
// What may be used of Vulkan has to be known before.
#include "gnomon/aot.h"
#include "gnomon/gnomon.c.h"
#include "gnomon/gnomon.h"

namespace gnomon::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t n = 65536;

class CInterface : public ::testing::Test {
 protected:
  CInterface() {
    faults().reset();
    faults().instance = nullptr;
    faults().queue = VK_NULL_HANDLE;
  }
  // What a process with the compiler leaves for the others.
  static void SetUpTestSuite() {
    RuntimeOptions o;
    o.cache = "off";
    Runtime rt(o);
    const Array x = rt.from_host(std::vector<float>(n, 1.0f));
    const auto twice = jit(rt, [](const Array& v) { return v * 2.0f; });
    const auto steps = jit(rt, [](const Array& v) {
      return while_loop([](const Array& u) { return sum(u) < 250.0f * n; },
                        [](const Array& u) { return u + 1.0f; }, v, {.max_steps = 10000});
    });
    digest = aot::save(file(), {{"twice", twice.lower(x)}, {"steps", steps.lower(x)}});
  }
  static inline std::string digest;
  // Each test is a process: what one removes, another has never read.
  static std::string file() {
    static const TemporaryFolder folder;
    return (folder / "c_interface.gnomon").string();
  }
  void TearDown() override {
    gnomon_array_destroy(x);
    gnomon_program_destroy(program);
    gnomon_runtime_destroy(runtime);
    EXPECT_EQ(faults().objects(), 0) << faults().text();
  }

  void start() {
    options.on_log = [](void*, const char*) {};
    ASSERT_EQ(gnomon_runtime_create(&options, &runtime), GNOMON_OK) << gnomon_last_error();
    ASSERT_EQ(gnomon_program_load(runtime, file().c_str(), nullptr, &program), GNOMON_OK)
        << gnomon_last_error();
    const std::vector<float> ones(n, 1.0f);
    const std::int64_t shape = n;
    ASSERT_EQ(gnomon_array_create(runtime, GNOMON_F32, 1, &shape, ones.data(), 4 * n, &x),
              GNOMON_OK);
  }
  gnomon_status call(const char* entry, gnomon_array* with, float* seventh) {
    gnomon_array* y = nullptr;
    gnomon_status status = gnomon_call(program, entry, &with, 1, &y, 1);
    std::vector<float> host(n);
    if (status == GNOMON_OK) status = gnomon_array_read(runtime, y, host.data(), 4 * n);
    gnomon_array_destroy(y);
    *seventh = host[7];
    return status;
  }

  gnomon_runtime_options options = GNOMON_RUNTIME_OPTIONS_INIT;
  gnomon_runtime* runtime = nullptr;
  gnomon_program* program = nullptr;
  gnomon_array* x = nullptr;
  float got = 0;
};

class COnAnApplicationsDevice : public CInterface {
 protected:
  COnAnApplicationsDevice() : app({.validate = true}) {
    const VulkanDevice d = app.described();
    device.get_instance_proc_addr = reinterpret_cast<void (*)()>(d.get_instance_proc_addr);
    device.instance = d.instance;
    device.physical_device = d.physical_device;
    device.device = d.device;
    device.queue = d.queue;
    device.queue_family = d.queue_family;
    device.api_version = d.api_version;
    device.features = d.features;
    device.lock_queue = [](void* user) { ++static_cast<COnAnApplicationsDevice*>(user)->depth; };
    device.unlock_queue = [](void* user) {
      auto* self = static_cast<COnAnApplicationsDevice*>(user);
      --self->depth, ++self->locked;
    };
    device.queue_user = this;
    options.adopted = &device;
    options.validate = 1;
  }
  void TearDown() override {
    CInterface::TearDown();
    for (const std::string& m : app.messages()) ADD_FAILURE() << m;
  }

  App app;
  gnomon_adopted_device device = GNOMON_ADOPTED_DEVICE_INIT;
  int depth = 0, locked = 0;
};

TEST_F(COnAnApplicationsDevice, RunsPrograms) {
  start();
  EXPECT_EQ(call("twice", x, &got), GNOMON_OK) << gnomon_last_error();
  EXPECT_EQ(got, 2.0f);
  EXPECT_EQ(call("steps", x, &got), GNOMON_OK) << gnomon_last_error();
  EXPECT_EQ(got, 250.0f);
  EXPECT_EQ(depth, 0);
  EXPECT_GT(locked, 1);
  EXPECT_EQ(gnomon_runtime_modules_emitted(runtime), 0u);
  EXPECT_EQ(gnomon_runtime_recover(runtime), GNOMON_USAGE);
  EXPECT_THAT(gnomon_last_error(), HasSubstr("the device is the application's"));
}

TEST_F(COnAnApplicationsDevice, SaysWhatIsMissing) {
  device.queue = nullptr;
  EXPECT_EQ(gnomon_runtime_create(&options, &runtime), GNOMON_USAGE);
  EXPECT_THAT(gnomon_last_error(), HasSubstr("has no queue"));
  EXPECT_EQ(runtime, nullptr);
  device.queue = app.described().queue;
  device.unlock_queue = nullptr;
  EXPECT_EQ(gnomon_runtime_create(&options, &runtime), GNOMON_USAGE);
  EXPECT_THAT(gnomon_last_error(), HasSubstr("both or neither"));
  device.unlock_queue = device.lock_queue;
  device.extension_count = 1;
  EXPECT_EQ(gnomon_runtime_create(&options, &runtime), GNOMON_USAGE);
  EXPECT_THAT(gnomon_last_error(), HasSubstr("`extensions` is null"));
}

TEST_F(COnAnApplicationsDevice, IsLostForGood) {
  faults().instance = app.described().get_instance_proc_addr;
  faults().queue = app.queue();
  device.get_instance_proc_addr = reinterpret_cast<void (*)()>(&failing_function);
  start();
  faults().arm(0, "vkQueueSubmit", VK_ERROR_DEVICE_LOST);
  EXPECT_EQ(call("twice", x, &got), GNOMON_DEVICE_LOST);
  EXPECT_THAT(gnomon_last_error(), HasSubstr("adopt the new device"));
  faults().rest();
  EXPECT_EQ(call("twice", x, &got), GNOMON_DEVICE_LOST);
  EXPECT_EQ(gnomon_runtime_recover(runtime), GNOMON_USAGE);
}

TEST_F(CInterface, RecoversAndGoesOn) {
  options.vulkan_loader = reinterpret_cast<void (*)()>(&failing_function);
  options.resumable = 1;
  options.checkpoint_ms = 1e-3;
  start();
  gnomon_array* y = nullptr;
  ASSERT_EQ(gnomon_call(program, "twice", &x, 1, &y, 1), GNOMON_OK);
  faults().arm(5, "vkQueueSubmit", VK_ERROR_DEVICE_LOST);
  EXPECT_EQ(call("steps", x, &got), GNOMON_DEVICE_LOST);
  EXPECT_THAT(gnomon_last_error(), HasSubstr("Runtime::recover()"));
  faults().rest();
  EXPECT_EQ(gnomon_wait(runtime), GNOMON_DEVICE_LOST);
  EXPECT_EQ(gnomon_runtime_recover(runtime), GNOMON_OK) << gnomon_last_error();
  EXPECT_EQ(call("steps", x, &got), GNOMON_OK) << gnomon_last_error();
  EXPECT_EQ(got, 250.0f);
  EXPECT_EQ(call("twice", y, &got), GNOMON_DEVICE_LOST);
  EXPECT_THAT(gnomon_last_error(), HasSubstr("f32[65536]"));
  gnomon_array_destroy(y);
}

TEST_F(CInterface, SharesMemoryWithOthers) {
  start();
  gnomon_memory *here = nullptr, *there = nullptr;
  const gnomon_status made = gnomon_memory_create(runtime, 4 * n, GNOMON_OPAQUE_FD, &here);
  if (made == GNOMON_USAGE) {
    ASSERT_THAT(gnomon_last_error(), HasSubstr("VK_KHR_external_memory_fd"));
    GTEST_SKIP() << gnomon_last_error();
  }
  ASSERT_EQ(made, GNOMON_OK) << gnomon_last_error();
  ASSERT_EQ(gnomon_memory_put(here, 0, x, nullptr), GNOMON_OK) << gnomon_last_error();
  ASSERT_EQ(gnomon_memory_release(here), GNOMON_OK);
  ASSERT_EQ(gnomon_wait(runtime), GNOMON_OK);
  gnomon_memory_handle handle = GNOMON_MEMORY_HANDLE_INIT;
  ASSERT_EQ(gnomon_memory_export(here, &handle), GNOMON_OK) << gnomon_last_error();
  EXPECT_GE(handle.bytes, 4 * n);

  gnomon_runtime* other = nullptr;
  ASSERT_EQ(gnomon_runtime_create(&options, &other), GNOMON_OK);
  handle.bytes = 1;
  EXPECT_EQ(gnomon_memory_import(other, &handle, &there), GNOMON_USAGE);
  EXPECT_THAT(gnomon_last_error(), HasSubstr("the handle is of 1 bytes"));
  EXPECT_EQ(there, nullptr);
  handle.bytes = 4 * n;
  EXPECT_EQ(gnomon_memory_import(other, &handle, &there), GNOMON_OK) << gnomon_last_error();
  ASSERT_EQ(gnomon_memory_acquire(there), GNOMON_OK);
  gnomon_array *whole = nullptr, *beyond = nullptr;
  const std::int64_t shape = n;
  ASSERT_EQ(gnomon_memory_array(there, 0, GNOMON_F32, 1, &shape, &whole), GNOMON_OK);
  EXPECT_EQ(gnomon_memory_array(there, 256, GNOMON_F32, 1, &shape, &beyond), GNOMON_USAGE);
  EXPECT_THAT(gnomon_last_error(), HasSubstr("f32[65536] at byte 256"));
  EXPECT_EQ(gnomon_memory_array(there, 0, GNOMON_F32, 9, &shape, &beyond), GNOMON_USAGE);
  EXPECT_EQ(gnomon_memory_export(there, &handle), GNOMON_USAGE);
  std::vector<float> host(n);
  ASSERT_EQ(gnomon_array_read(other, whole, host.data(), 4 * n), GNOMON_OK);
  EXPECT_EQ(host, std::vector<float>(n, 1.0f));
  gnomon_memory_destroy(there);
  gnomon_memory_destroy(here);
  gnomon_array_destroy(whole);
  gnomon_runtime_destroy(other);
}

struct Heard {
  int calls = 0, end_at = 1 << 30;
  std::uint64_t steps = 0, bound = 0;
  std::string function;
};

TEST_F(CInterface, TellsHowFarALoopIsAndEndsIt) {
  Heard heard;
  options.on_step = [](void* user, const char* function, std::uint64_t steps, std::uint64_t bound) {
    auto& h = *static_cast<Heard*>(user);
    EXPECT_GE(steps, h.steps);
    h.steps = steps, h.bound = bound, h.function = function;
    return ++h.calls == h.end_at ? 1 : 0;
  };
  options.step_user = &heard;
  start();
  EXPECT_EQ(call("steps", x, &got), GNOMON_OK) << gnomon_last_error();
  EXPECT_EQ(got, 250.0f);
  EXPECT_GT(heard.calls, 0);
  EXPECT_EQ(heard.bound, 10000u);
  EXPECT_FALSE(heard.function.empty());
  heard = {};
  heard.end_at = 1;
  EXPECT_EQ(call("steps", x, &got), GNOMON_CANCELLED);
  EXPECT_THAT(gnomon_last_error(), HasSubstr("on_step has ended"));
  EXPECT_EQ(call("twice", x, &got), GNOMON_OK) << gnomon_last_error();
}

TEST_F(CInterface, AsksWhetherToGoOn) {
  int asked = 0;
  options.cancel = [](void* user) { return ++*static_cast<int*>(user) > 3 ? 1 : 0; };
  options.cancel_user = &asked;
  start();
  EXPECT_EQ(call("twice", x, &got), GNOMON_OK) << gnomon_last_error();
  EXPECT_EQ(call("steps", x, &got), GNOMON_CANCELLED);
  EXPECT_EQ(call("twice", x, &got), GNOMON_CANCELLED);
  EXPECT_THAT(gnomon_last_error(), HasSubstr("does not start"));
  EXPECT_THAT(gnomon_last_error(), HasSubstr("the cancel callback"));
}

TEST_F(CInterface, LoadsWithADigestOrNullAndNothingBetween) {
  start();
  std::ifstream in(file(), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  for (const std::string& wrong : {std::string(), std::string("0123"), std::string(64, 'g')}) {
    gnomon_program* other = nullptr;
    EXPECT_EQ(gnomon_program_load(runtime, file().c_str(), wrong.c_str(), &other), GNOMON_USAGE);
    EXPECT_THAT(gnomon_last_error(), HasSubstr("is not 64 hexadecimal digits"));
    EXPECT_EQ(
        gnomon_program_load_memory(runtime, bytes.data(), bytes.size(), wrong.c_str(), &other),
        GNOMON_USAGE);
    EXPECT_EQ(other, nullptr);
  }
  gnomon_program* other = nullptr;
  EXPECT_EQ(gnomon_program_load(runtime, file().c_str(), std::string(64, 'a').c_str(), &other),
            GNOMON_FILE);
  std::string upper = digest;
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (const std::string& right : {digest, upper}) {
    EXPECT_EQ(gnomon_program_load(runtime, file().c_str(), right.c_str(), &other), GNOMON_OK)
        << gnomon_last_error();
    gnomon_program_destroy(other);
  }
}

TEST_F(CInterface, SaysHowManyArraysAFunctionTakes) {
  start();
  gnomon_array* two[] = {x, x};
  gnomon_array* y = nullptr;
  EXPECT_EQ(gnomon_call(program, "twice", two, 2, &y, 1), GNOMON_USAGE);
  EXPECT_THAT(gnomon_last_error(), HasSubstr("takes 1 arrays and is called with 2; pass one for"));
}

TEST_F(CInterface, TakesTheOptionsOfItsFirstVersion) {
  // What was compiled with that has room for no more than this.
  constexpr std::size_t first = offsetof(gnomon_runtime_options, on_step);
  alignas(gnomon_runtime_options) std::byte old[first];
  options.size = first;
  options.on_log = [](void*, const char*) {};
  std::memcpy(old, &options, first);
  ASSERT_EQ(gnomon_runtime_create(reinterpret_cast<const gnomon_runtime_options*>(old), &runtime),
            GNOMON_OK)
      << gnomon_last_error();
  EXPECT_NE(gnomon_runtime_device(runtime), nullptr);
}

}  // namespace
}  // namespace gnomon::testing
