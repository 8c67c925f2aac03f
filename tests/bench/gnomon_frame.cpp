// tests/bench/gnomon_frame.cpp -- what it costs to record a program into an application's command
// buffer, frame by frame: by Gnomon, and by hand.
//
// Two frames are under way at a time, as in an application that draws: each has a command buffer
// and a fence, and is submitted. Timed is what stands between the beginning and the end of its
// command buffer, letting go of what the frame before last has recorded included; a run gives the
// median of its frames.
#include <gnomon/gnomon.h>
#include <gnomon/vulkan.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>

#include "checking.h"
#include "hand.h"
#include "harness.h"
#include "shaders.h"
#include "vk.h"

namespace bench {
namespace {

namespace gn = gnomon;
using gn::Array;

constexpr uint32_t elements = 4096;
constexpr int frames = 300;

float input(size_t i) { return static_cast<float>(i % 64); }

/// Command buffers and fences of the frames that are under way.
class Frames {
 public:
  explicit Frames(const vk::Device& device) : device_(device) {
    VkCommandPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.queueFamilyIndex = device.family();
    VkFenceCreateInfo fence{};
    fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    fence.flags = VK_FENCE_CREATE_SIGNALED_BIT;
    for (Frame& f : frames_) {
      vkCreateCommandPool(device.handle(), &pool, nullptr, &f.pool);
      VkCommandBufferAllocateInfo commands{};
      commands.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
      commands.commandPool = f.pool;
      commands.commandBufferCount = 1;
      vkAllocateCommandBuffers(device.handle(), &commands, &f.commands);
      vkCreateFence(device.handle(), &fence, nullptr, &f.done);
    }
  }
  ~Frames() {
    vkDeviceWaitIdle(device_.handle());
    for (const Frame& f : frames_) {
      vkDestroyFence(device_.handle(), f.done, nullptr);
      vkDestroyCommandPool(device_.handle(), f.pool, nullptr);
    }
  }
  Frames(const Frames&) = delete;
  Frames& operator=(const Frames&) = delete;

  /// Milliseconds that `record(commands, which)` takes at the median.
  template <class Record>
  double run(const Record& record) {
    std::vector<double> times;
    times.reserve(frames);
    for (int i = 0; i < frames; ++i) {
      const Frame& f = frames_[i % 2];
      vkWaitForFences(device_.handle(), 1, &f.done, VK_TRUE, UINT64_MAX);
      vkResetFences(device_.handle(), 1, &f.done);
      vkResetCommandPool(device_.handle(), f.pool, 0);
      VkCommandBufferBeginInfo begin{};
      begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
      begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
      vkBeginCommandBuffer(f.commands, &begin);
      const auto start = std::chrono::steady_clock::now();
      record(f.commands, i % 2);
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - start;
      times.push_back(took.count());
      vkEndCommandBuffer(f.commands);
      VkSubmitInfo submit{};
      submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
      submit.commandBufferCount = 1;
      submit.pCommandBuffers = &f.commands;
      vkQueueSubmit(device_.queue(), 1, &submit, f.done);
    }
    vkQueueWaitIdle(device_.queue());
    std::nth_element(times.begin(), times.begin() + frames / 2, times.end());
    return times[frames / 2];
  }

 private:
  struct Frame {
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkFence done = VK_NULL_HANDLE;
  };
  const vk::Device& device_;
  Frame frames_[2];
};

/// `count` dispatches that add 1, from one buffer to another and on between that and a third.
/// Pipelines take turns, as those of different kernels would; each dispatch has a descriptor set
/// that was made before, push constants, and a barrier in front.
class Hand {
 public:
  Hand(const vk::Device& device, uint32_t count)
      : device_(device), frames_(device), count_(count), buffers_{from(device), {}, {}} {
    for (size_t i = 1; i < 3; ++i) buffers_[i] = hand::poisoned(device, elements);
    const auto load = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          vkGetDeviceProcAddr(device.handle(), name));
    };
    load(bind_, "vkCmdBindPipeline");
    load(bind_sets_, "vkCmdBindDescriptorSets");
    load(push_, "vkCmdPushConstants");
    load(dispatch_, "vkCmdDispatch");
    load(barrier_, "vkCmdPipelineBarrier");
    vk::KernelSpec spec;
    spec.spirv = shaders::call_textbook;
    spec.bindings = hand::storage2;
    spec.push_bytes = sizeof(uint32_t);
    for (auto& k : kernels_) k = std::make_unique<vk::Kernel>(device, spec);
    make_sets();
  }
  ~Hand() { vkDestroyDescriptorPool(device_.handle(), pool_, nullptr); }

  void run() {
    took_ = frames_.run([this](VkCommandBuffer commands, int) { record(commands); });
  }
  double took() const { return took_; }
  std::vector<float> result() const {
    const auto host = buffers_[1 + (count_ + 1) % 2]->host();
    return {host.begin(), host.end()};
  }
  static std::shared_ptr<vk::Buffer> from(const vk::Device& device) {
    std::vector<float> values(elements);
    for (size_t i = 0; i < elements; ++i) values[i] = input(i);
    return hand::filled(device, values);
  }

 private:
  void make_sets() {
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2 * count_};
    VkDescriptorPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    pool.maxSets = count_;
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    vkCreateDescriptorPool(device_.handle(), &pool, nullptr, &pool_);
    sets_.resize(count_);
    for (uint32_t i = 0; i < count_; ++i) {
      const VkDescriptorSetLayout layout = kernels_[i % 2]->set_layout();
      VkDescriptorSetAllocateInfo allocate{};
      allocate.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
      allocate.descriptorPool = pool_;
      allocate.descriptorSetCount = 1;
      allocate.pSetLayouts = &layout;
      vkAllocateDescriptorSets(device_.handle(), &allocate, &sets_[i]);
      const size_t source = i == 0 ? 0 : 1 + (i + 1) % 2, target = 1 + i % 2;
      const VkDescriptorBufferInfo buffers[] = {{buffers_[source]->handle(), 0, VK_WHOLE_SIZE},
                                                {buffers_[target]->handle(), 0, VK_WHOLE_SIZE}};
      VkWriteDescriptorSet write{};
      write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
      write.dstSet = sets_[i];
      write.descriptorCount = 2;
      write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
      write.pBufferInfo = buffers;
      vkUpdateDescriptorSets(device_.handle(), 1, &write, 0, nullptr);
    }
  }
  void record(VkCommandBuffer commands) const {
    constexpr uint32_t n = elements;
    const VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr,
                                 VK_ACCESS_SHADER_WRITE_BIT,
                                 VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    for (uint32_t i = 0; i < count_; ++i) {
      const vk::Kernel& kernel = *kernels_[i % 2];
      barrier_(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
               0, 1, &memory, 0, nullptr, 0, nullptr);
      bind_(commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.pipeline());
      bind_sets_(commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout(), 0, 1, &sets_[i], 0,
                 nullptr);
      push_(commands, kernel.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof n, &n);
      dispatch_(commands, n / 64, 1, 1);
    }
  }

  const vk::Device& device_;
  Frames frames_;
  uint32_t count_;
  std::shared_ptr<vk::Buffer> buffers_[3];
  std::unique_ptr<vk::Kernel> kernels_[2];
  VkDescriptorPool pool_ = VK_NULL_HANDLE;
  std::vector<VkDescriptorSet> sets_;
  PFN_vkCmdBindPipeline bind_ = nullptr;
  PFN_vkCmdBindDescriptorSets bind_sets_ = nullptr;
  PFN_vkCmdPushConstants push_ = nullptr;
  PFN_vkCmdDispatch dispatch_ = nullptr;
  PFN_vkCmdPipelineBarrier barrier_ = nullptr;
  double took_ = 0;
};

Array once(const Array& x) { return x + 1.0f; }
/// Every step needs the sum of what the last one made: ten kernels, two of which keep that. What
/// a step adds is 1.
Array ten_kernels(const Array& from) {
  constexpr float mean = 31.5f;  // of the input
  Array x = from;
  for (int i = 0; i < 8; ++i)
    x = x + gn::sum(x) * (1.0f / (elements * (mean + static_cast<float>(i))));
  return x;
}

gn::VulkanDevice described(const vk::Device& device) {
  gn::VulkanDevice d;
  d.get_instance_proc_addr = vkGetInstanceProcAddr;
  d.instance = device.instance();
  d.physical_device = device.physical();
  d.device = device.handle();
  d.queue = device.queue();
  d.queue_family = device.family();
  return d;
}

/// The same buffers in every frame: as a prepared call, or recorded as if they were others.
template <bool prepared>
class Embedded {
 public:
  Embedded(const vk::Device& device, uint32_t count)
      : rt_(gn::Runtime::adopt(described(device))),
        frames_(device),
        count_(count),
        from_(Hand::from(device)),
        to_(hand::poisoned(device, elements)),
        x_(array(*from_)),
        y_(array(*to_)),
        f_(gn::jit(rt_, count == 1 ? once : ten_kernels)),
        call_(gn::prepare(y_, f_, x_)) {}

  void run() {
    took_ = frames_.run([this](VkCommandBuffer commands, int which) {
      under_way_[which].finished();  // its fence has passed
      under_way_[which] = prepared ? call_.record(commands) : gn::record(commands, y_, f_, x_);
    });
  }
  double took() const { return took_; }
  std::vector<float> result() const {
    if (static_cast<uint32_t>(f_.kernel_count()) != count_)
      throw std::runtime_error("bench: embed_frame has " + std::to_string(f_.kernel_count()) +
                               " kernels");
    return {to_->host().begin(), to_->host().end()};
  }

 private:
  Array array(const vk::Buffer& b) {
    return gn::array_in(rt_, {b.handle(), b.host().size_bytes(), b.usage(), b.host().data()}, 0,
                        {gn::DType::f32, gn::Shape(elements)});
  }
  gn::Runtime rt_;
  Frames frames_;
  uint32_t count_;
  std::shared_ptr<vk::Buffer> from_, to_;
  Array x_, y_;
  gn::Jitted<Array (*)(const Array&)> f_;
  gn::Prepared call_;
  gn::Recording under_way_[2];
  double took_ = 0;
};

template <class T>
Variant variant(const vk::Device& device, std::string name, uint32_t count, double added) {
  auto held = std::make_shared<std::unique_ptr<T>>();
  Variant v;
  v.name = std::move(name);
  v.prepare = [=, &device] { *held = std::make_unique<T>(device, count); };
  v.run = [held] { (*held)->run(); };
  v.took = [held] { return (*held)->took(); };
  v.result = [held] { return (*held)->result(); };
  v.extras = [count] { return std::map<std::string, double>{{"kernels", count}}; };
  std::vector<double> wanted(elements);
  for (size_t i = 0; i < elements; ++i) wanted[i] = static_cast<double>(input(i)) + added;
  v.check = against(std::move(wanted), 1e-4, 1e-5);
  return v;
}

}  // namespace

void add_frames(std::vector<Workload>& workloads, const vk::Device& device) {
  const auto add = [&](const char* id, uint32_t count, double added) {
    find_workload(workloads, id).makers.push_back([=, &device] {
      return std::vector<Variant>{variant<Embedded<true>>(device, "gnomon", count, added),
                                  variant<Embedded<false>>(device, "record", count, added),
                                  variant<Hand>(device, "hand", count, count)};
    });
  };
  add("embed_frame", 1, 1);
  add("embed_frame_10", 10, 8);
}

}  // namespace bench
