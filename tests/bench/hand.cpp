// tests/bench/hand.cpp -- buffers, dispatches and host memory of hand-written variants.
#include "hand.h"

#include <algorithm>
#include <limits>

#include "shaders.h"

namespace bench::hand {

using vk::Access;
using vk::Buffer;
using vk::Device;
using vk::Dispatch;
using vk::Kernel;
using vk::Recording;

namespace {

/// Everything one hand-written variant holds; its lambdas share it.
struct Hand {
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<std::shared_ptr<Buffer>> buffers;
  std::unique_ptr<Recording> recording;
};

/// The result of a floor is a pattern that its empty shaders must leave alone.
const std::vector<float>& untouched() {
  static const std::vector<float> pattern{0.0f, 1.0f, 2.0f, 3.0f};
  return pattern;
}

Verdict still_untouched(std::span<const float> result) {
  const bool same =
      std::equal(result.begin(), result.end(), untouched().begin(), untouched().end());
  return {same, same ? "empty shaders" : "an empty shader changed memory"};
}

}  // namespace

std::shared_ptr<Buffer> filled(const Device& device, std::span<const float> values) {
  auto buffer = std::make_shared<Buffer>(device, values.size());
  std::copy(values.begin(), values.end(), buffer->host().begin());
  return buffer;
}

std::shared_ptr<Buffer> poisoned(const Device& device, size_t floats) {
  auto buffer = std::make_shared<Buffer>(device, floats);
  std::fill(buffer->host().begin(), buffer->host().end(), std::numeric_limits<float>::quiet_NaN());
  return buffer;
}

Step step(std::span<const uint32_t> spirv, std::vector<Access> bindings,
          std::vector<size_t> buffers, std::vector<uint32_t> push, vk::Groups groups,
          uint32_t group_size) {
  Step result;
  result.spec.spirv = spirv;
  result.spec.bindings = std::move(bindings);
  result.spec.push_bytes = static_cast<uint32_t>(push.size() * sizeof(uint32_t));
  result.spec.group_size = group_size;
  result.buffers = std::move(buffers);
  result.push = std::move(push);
  result.groups = groups;
  return result;
}

Variant by_hand(const Device& device, std::string name,
                std::vector<std::shared_ptr<Buffer>> buffers, std::vector<Step> steps) {
  auto hand = std::make_shared<Hand>();
  hand->buffers = std::move(buffers);
  Variant variant;
  variant.name = std::move(name);
  const double count = static_cast<double>(steps.size());
  variant.prepare = [&device, hand, steps = std::move(steps)] {
    std::vector<Dispatch> dispatches;
    for (const Step& each : steps) {
      Dispatch& dispatch = dispatches.emplace_back();
      hand->kernels.push_back(std::make_unique<Kernel>(device, each.spec));
      dispatch.kernel = hand->kernels.back().get();
      for (size_t index : each.buffers) dispatch.buffers.push_back(hand->buffers[index].get());
      dispatch.push = each.push;
      dispatch.groups_x = each.groups.x;
      dispatch.groups_y = each.groups.y;
    }
    hand->recording = std::make_unique<Recording>(device, dispatches);
  };
  variant.run = [hand] { hand->recording->run(); };
  variant.result = [hand] {
    const std::span<const float> values = hand->buffers.back()->host();
    return std::vector<float>(values.begin(), values.end());
  };
  variant.extras = [count] { return std::map<std::string, double>{{"kernels", count}}; };
  return variant;
}

Variant floor_of(const Device& device, size_t dispatches) {
  const std::vector<Step> steps(dispatches, step(shaders::empty, {}, {}, {}, {}));
  Variant variant = by_hand(device, "floor", {filled(device, untouched())}, steps);
  variant.check = still_untouched;
  return variant;
}

Variant on_host(std::span<const float> input, size_t outputs,
                std::function<void(native::Pair&, const float*, float*)> work) {
  struct Held {
    native::PairPtr pair;
    HostArray input, output;
  };
  auto held = std::make_shared<Held>(
      Held{native::make_pair(), HostArray(input.size()), HostArray(outputs)});
  std::copy(input.begin(), input.end(), held->input.values().begin());
  std::fill(held->output.values().begin(), held->output.values().end(),
            std::numeric_limits<float>::quiet_NaN());
  Variant variant;
  variant.name = "native";
  variant.run = [held, work = std::move(work)] {
    work(*held->pair, held->input.values().data(), held->output.values().data());
  };
  variant.result = [held] {
    const std::span<const float> values = held->output.values();
    return std::vector<float>(values.begin(), values.end());
  };
  return variant;
}

}  // namespace bench::hand
