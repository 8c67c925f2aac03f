// engine/vulkan/rounding_probe.cpp -- hard operands, a dispatch, and the verdict.
#include "engine/vulkan/rounding_probe.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "engine/vulkan/buffer_pool.h"
#include "engine/vulkan/pipeline_cache.h"
#include "engine/vulkan/recorder.h"

namespace gnomon::vulkan {
namespace {

/// Numbers that differ from run to run in nothing.
class Sequence {
 public:
  std::uint32_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 32);
  }

 private:
  std::uint64_t state_ = 1;
};

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// A quotient 2^-49 of its size from the middle between two floats, as near as there is: of whole
/// numbers x and y of 24 bits with 2^25 x = m y + 1 or - 1, where m is odd and has 25 bits. False
/// when this y has none.
bool hard_quotient(std::uint32_t y, bool above, float& numerator) {
  std::uint32_t inverse = y;  // of y modulo a power of two; each step doubles its right bits
  for (int step = 0; step < 5; ++step) inverse *= 2 - y * inverse;
  const std::uint32_t mask = (1u << 25) - 1;
  const std::uint32_t m = (above ? 0 - inverse : inverse) & mask;
  if (m < (1u << 24)) return false;
  const std::uint64_t product = static_cast<std::uint64_t>(m) * y;
  const std::uint64_t x = (above ? product + 1 : product - 1) >> 25;
  if (x < (1u << 23)) return false;
  numerator = static_cast<float>(x);
  return true;
}

BufferPool pool_of(Device& device, Queue& queue, MemoryKind kind, VkBufferUsageFlags usage) {
  PoolOptions options;
  options.usage = usage;
  options.kind = kind;
  options.alignment = std::max<std::uint64_t>(
      {256, device.description().uniform_alignment, device.description().storage_alignment});
  options.block_bytes = options.max_block_bytes = 1u << 18;
  options.texel_view = (usage & VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT) != 0;
  return {device, queue, options};
}

/// Memory of a pool for as long as the probe runs.
struct Held {
  Held(BufferPool& from, std::uint64_t bytes) : pool(from) {
    Request request;
    request.bytes = bytes;
    request.what = "rounding probe";
    request.host_writes = true;
    range = pool.allocate(request);
  }
  ~Held() { pool.release(range, 0); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  BufferPool& pool;
  Range range;
};

}  // namespace

RoundingOperands rounding_operands() {
  RoundingOperands r;
  Sequence random;
  const auto add = [&](float x, float y) { r.x.push_back(x), r.y.push_back(y); };
  while (r.x.size() < 1024) {
    const std::uint32_t y = (random.next() >> 9) | (1u << 23) | 1;
    float x = 0;
    if (hard_quotient(y, random.next() >> 31 != 0, x)) add(x, static_cast<float>(y));
  }
  // Roots next to the middle of two floats: of 1 + d and 4 - d for small odd d.
  for (std::uint32_t d = 1; d < 512; d += 2) {
    add(from_bits(0x3f800000 + d), from_bits(0x3f800000 + 3 * d));
    add(from_bits(0x40800000 - d), from_bits(0x40000000 - 5 * d));
  }
  // Divisors whose inverses are no normal numbers, and very small ones.
  for (int k = 0; k < 128; ++k) {
    const float m = from_bits(0x3f800000 | random.next() >> 9);
    add(from_bits(0x7e800000 | random.next() >> 9), std::ldexp(m, 126 + k % 2));
    add(from_bits(0x00800000 | random.next() >> 9), std::ldexp(m, -126));
  }
  // Anything else whose quotient is a normal number.
  while (r.x.size() < 2560) {
    const float x = from_bits(random.next()), y = from_bits(random.next());
    if (std::isnormal(x) && std::isnormal(y) && std::isnormal(x / y)) add(x, y);
  }
  return r;
}

kernel::RefineOptions judge_rounding(const RoundingOperands& o, std::span<const float> quotients,
                                     std::span<const float> roots) {
  kernel::RefineOptions wrong;
  for (std::size_t i = 0; i < o.x.size(); ++i) {
    wrong.division |= !(quotients[i] == o.x[i] / o.y[i]);
    wrong.root |= !(roots[i] == std::sqrt(std::fabs(o.x[i])));
  }
  return wrong;
}

kernel::RefineOptions probe_rounding(Device& device, Queue& queue, std::vector<std::uint32_t> words,
                                     std::uint32_t group_size) {
  const RoundingOperands operands = rounding_operands();
  const std::size_t count = operands.x.size();
  VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  if (device.target().texel_reads) usage |= VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT;
  BufferPool arrays = pool_of(device, queue, MemoryKind::staging, usage);
  BufferPool uniforms =
      pool_of(device, queue, MemoryKind::upload, VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT);
  const Held memory(arrays, 4 * count * sizeof(float));
  const std::uint32_t block_words = kernel::parameter_header_words + 4;
  const Held parameters(uniforms, block_words * sizeof(std::uint32_t));

  const auto groups = static_cast<std::uint32_t>(count / group_size);
  std::vector<std::uint32_t> block{0, groups, 0, 0};
  for (std::size_t k = 0; k < 4; ++k)
    block.push_back(static_cast<std::uint32_t>(memory.range.offset / 4 + k * count));
  std::memcpy(parameters.range.mapped(), block.data(), block_words * sizeof(std::uint32_t));
  auto* const bytes = memory.range.mapped();
  std::memcpy(bytes, operands.x.data(), count * 4);
  std::memcpy(bytes + count * 4, operands.y.data(), count * 4);

  PipelineCache pipelines(device);
  const auto pipeline = pipelines.pipeline(std::move(words), "rounding_probe");
  Dispatch dispatch;
  dispatch.pipeline = pipeline->handle();
  dispatch.groups_x = groups;
  const auto block_bytes = static_cast<std::uint32_t>(block_words * sizeof(std::uint32_t));
  Recording recording(device, {Windows{memory.range.block}}, {{{dispatch}}, {}}, parameters.range,
                      block_bytes, block_bytes, false);
  recording.add_instance();
  queue.wait(queue.submit(recording.commands(0, 0)));

  std::vector<float> quotients(count), roots(count);
  std::memcpy(quotients.data(), bytes + 2 * count * 4, count * 4);
  std::memcpy(roots.data(), bytes + 3 * count * 4, count * 4);
  return judge_rounding(operands, quotients, roots);
}

}  // namespace gnomon::vulkan
