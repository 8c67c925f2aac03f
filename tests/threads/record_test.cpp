// tests/threads/record_test.cpp -- threads that write calls of one function into command buffers of
// their own, while others call it.
#include <gtest/gtest.h>

#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "gnomon/gnomon.h"
#include "gnomon/vulkan.h"
#include "tests/threads/at_once.h"
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

void want(bool good, const char* what) {
  if (!good) throw std::runtime_error(what);
}

class RecordingThreads : public ::testing::Test {
 protected:
  RecordingThreads() : app({.validate = false}) {
    VulkanDevice device = app.described();
    device.lock_queue = [&] { queue.lock(); };
    device.unlock_queue = [&] { queue.unlock(); };
    RuntimeOptions options;
    options.cache = "off";
    rt.emplace(Runtime::adopt(device, options));
  }
  void submit(VkCommandBuffer commands) {
    const std::lock_guard lock(queue);
    app.end(commands);
    app.submit(commands);
  }
  void wait_idle() {
    const std::lock_guard lock(queue);
    app.wait_idle();
  }

  App app;
  std::mutex queue;
  std::optional<Runtime> rt;  // gone before its device
};

TEST_F(RecordingThreads, WriteIntoCommandBuffersOfTheirOwn) {
  // Two kernels and an intermediate, which all recordings and calls share.
  const auto f = jit(*rt, [](const Array& x) { return x * 2.0f + sum(x); });
  const auto record_frames = [&](float own) {
    const Pool pool(app);
    // Turns with two arrays: what was recorded before is found again.
    const Array x[2] = {rt->from_host({own, 1.0f}), rt->from_host({own, 2.0f})};
    Array y[2];
    for (int i = 0; i < frames; ++i) {
      const int which = i % 2;
      const VkCommandBuffer commands = pool.begin();
      Recording call = record(commands, y[which], f, x[which]);
      submit(commands);
      call.submitted();
      const float second = static_cast<float>(1 + which), total = own + second;
      want(rt->to_host<float>(y[which]) == std::vector<float>{2 * own + total, 2 * second + total},
           "a recording got another's numbers");
    }
    rt->wait();
    wait_idle();
  };
  const auto call_frames = [&](float own) {
    for (int i = 0; i < frames; ++i)
      want(rt->to_host<float>(f(rt->from_host({own, 0.0f}))) == std::vector<float>{3 * own, own},
           "a call got another's numbers");
  };
  at_once(recorders + callers, [&](int t) {
    const auto own = static_cast<float>(t + 1);
    t < recorders ? record_frames(own) : call_frames(own);
  });
  EXPECT_EQ(f.cache_info().traces, 1u);
  rt->clear_programs();
  rt->wait();
}

TEST_F(RecordingThreads, ShareAPreparedCall) {
  const auto f = jit(*rt, [](const Array& x) { return x * 2.0f + sum(x); });
  // All of them write the same results.
  Array y = rt->from_host({0.0f, 0.0f});
  const Array x = rt->from_host({3.0f, 4.0f});
  std::optional<Prepared> call = prepare(y, f, x);
  const std::uint64_t before = rt->counters().dispatches;
  at_once(recorders + callers, [&](int t) {
    const Pool pool(app);
    const Prepared copy = *call;
    Recording last;
    for (int i = 0; i < frames; ++i) {
      const VkCommandBuffer commands = pool.begin();
      Recording recording = copy.record(commands);
      submit(commands);
      // Some say that it is on the queue, some that it is over, some nothing.
      if (t == 0) recording.submitted();
      if (t == 1) {
        wait_idle();
        recording.finished();
      }
      last = std::move(recording);
    }
    rt->wait();
    wait_idle();
  });
  const auto kernels = static_cast<std::uint64_t>(f.kernel_count());
  EXPECT_EQ(rt->counters().dispatches - before, (recorders + callers) * frames * kernels);
  EXPECT_EQ(rt->to_host<float>(y), (std::vector<float>{13.0f, 15.0f}));
  // What was written last goes with its last holder.
  const Pool pool(app);
  const VkCommandBuffer commands = pool.begin();
  {
    const Recording left = call->record(commands);
    call.reset();
    y = {};
    submit(commands);
  }
  wait_idle();
}

}  // namespace
}  // namespace gnomon::testing
