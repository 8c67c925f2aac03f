// tests/threads/record_test.cpp -- threads that write calls of one function into command buffers of
// their own, while others call it.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gnomon/gnomon.h"
#include "gnomon/vulkan.h"
#include "tests/vulkan/app.h"

namespace gnomon::testing {
namespace {

constexpr int recorders = 2, callers = 2, frames = 12;

/// Command pools are used by one thread at a time.
class Pool {
 public:
  explicit Pool(const App& app) : app_(app) {
    VkCommandPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    info.queueFamilyIndex = app.described().queue_family;
    if (app.function<PFN_vkCreateCommandPool>("vkCreateCommandPool")(app.device(), &info, nullptr,
                                                                     &pool_) != VK_SUCCESS)
      throw std::runtime_error("vkCreateCommandPool");
  }
  ~Pool() {
    app_.function<PFN_vkDestroyCommandPool>("vkDestroyCommandPool")(app_.device(), pool_, nullptr);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  VkCommandBuffer begin() const {
    VkCommandBufferAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = pool_;
    info.commandBufferCount = 1;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    if (app_.function<PFN_vkAllocateCommandBuffers>("vkAllocateCommandBuffers")(
            app_.device(), &info, &commands) != VK_SUCCESS ||
        app_.function<PFN_vkBeginCommandBuffer>("vkBeginCommandBuffer")(commands, &begin) !=
            VK_SUCCESS)
      throw std::runtime_error("vkBeginCommandBuffer");
    return commands;
  }

 private:
  const App& app_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
};

TEST(RecordingThreads, WriteIntoCommandBuffersOfTheirOwn) {
  App app({.validate = false});
  std::mutex queue;
  VulkanDevice device = app.described();
  device.lock_queue = [&] { queue.lock(); };
  device.unlock_queue = [&] { queue.unlock(); };
  RuntimeOptions options;
  options.cache = "off";
  {
    Runtime rt = Runtime::adopt(device, options);
    // Two kernels and an intermediate, which all recordings and calls share.
    const auto f = jit(rt, [](const Array& x) { return x * 2.0f + sum(x); });
    std::atomic<int> ready{0};
    std::mutex mutex;
    std::vector<std::string> errors;
    const auto want = [](bool good, const char* what) {
      if (!good) throw std::runtime_error(what);
    };
    const auto record_frames = [&](float own) {
      const Pool pool(app);
      // Turns with two arrays: what was recorded before is found again.
      const Array x[2] = {rt.from_host({own, 1.0f}), rt.from_host({own, 2.0f})};
      Array y[2];
      for (int i = 0; i < frames; ++i) {
        const int which = i % 2;
        const VkCommandBuffer commands = pool.begin();
        Recording call = record(commands, y[which], f, x[which]);
        {
          const std::lock_guard lock(queue);
          app.end(commands);
          app.submit(commands);
        }
        call.submitted();
        const float second = static_cast<float>(1 + which), total = own + second;
        want(rt.to_host<float>(y[which]) == std::vector<float>{2 * own + total, 2 * second + total},
             "a recording got another's numbers");
      }
      rt.wait();
      const std::lock_guard lock(queue);
      app.wait_idle();
    };
    const auto call_frames = [&](float own) {
      for (int i = 0; i < frames; ++i)
        want(rt.to_host<float>(f(rt.from_host({own, 0.0f}))) == std::vector<float>{3 * own, own},
             "a call got another's numbers");
    };
    std::vector<std::thread> all;
    for (int t = 0; t < recorders + callers; ++t)
      all.emplace_back([&, t] {
        ++ready;
        while (ready < recorders + callers) std::this_thread::yield();
        try {
          const auto own = static_cast<float>(t + 1);
          t < recorders ? record_frames(own) : call_frames(own);
        } catch (const std::exception& e) {
          const std::lock_guard lock(mutex);
          errors.emplace_back(e.what());
        }
      });
    for (std::thread& t : all) t.join();
    for (const std::string& e : errors) ADD_FAILURE() << e;
    EXPECT_EQ(f.cache_info().traces, 1u);
    rt.clear_programs();
    rt.wait();
  }
}

}  // namespace
}  // namespace gnomon::testing
