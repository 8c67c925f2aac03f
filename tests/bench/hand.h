// tests/bench/hand.h -- what hand-written variants are made of: buffers, recorded dispatches, host
// memory.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "harness.h"
#include "native.h"
#include "vk.h"

namespace bench::hand {

std::shared_ptr<vk::Buffer> filled(const vk::Device& device, std::span<const float> values);
/// A result buffer full of NaN: what no run wrote is noticed.
std::shared_ptr<vk::Buffer> poisoned(const vk::Device& device, size_t floats);

/// One dispatch before it has a kernel: the kernels are made in `prepare`.
struct Step {
  vk::KernelSpec spec;
  std::vector<size_t> buffers;
  std::vector<uint32_t> push;
  vk::Groups groups;
};
Step step(std::span<const uint32_t> spirv, std::vector<vk::Access> bindings,
          std::vector<size_t> buffers, std::vector<uint32_t> push, vk::Groups groups,
          uint32_t group_size = 64);

/// A variant that runs `steps` over `buffers` and whose result is the last buffer.
Variant by_hand(const vk::Device& device, std::string name,
                std::vector<std::shared_ptr<vk::Buffer>> buffers, std::vector<Step> steps);

/// One submit of `dispatches` empty shaders of one invocation each.
Variant floor_of(const vk::Device& device, size_t dispatches);

/// Host memory at the start of a page: a vector that straddles cache lines would halve the speed.
class HostArray {
 public:
  explicit HostArray(size_t floats)
      : values_(new (std::align_val_t{page}) float[floats]), floats_(floats) {}
  std::span<float> values() const { return {values_.get(), floats_}; }

 private:
  static constexpr size_t page = 4096;
  struct Delete {
    void operator()(float* values) const { ::operator delete[](values, std::align_val_t{page}); }
  };
  std::unique_ptr<float[], Delete> values_;
  size_t floats_;
};

/// A host variant: `work(pair, input, output)` on the two threads of `pair`.
Variant on_host(std::span<const float> input, size_t outputs,
                std::function<void(native::Pair&, const float*, float*)> work);

inline const std::vector<vk::Access> storage2{vk::Access::Storage, vk::Access::Storage};
inline const std::vector<vk::Access> texels1{vk::Access::Texels, vk::Access::Storage};
inline const std::vector<vk::Access> storage3(3, vk::Access::Storage);
inline const std::vector<vk::Access> texels2{vk::Access::Texels, vk::Access::Texels,
                                             vk::Access::Storage};

}  // namespace bench::hand
