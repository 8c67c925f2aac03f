// engine/vulkan/buffer_pool.cpp -- best-fit sub-allocation within blocks, first block first.
#include "engine/vulkan/buffer_pool.h"

#include <algorithm>
#include <cstdio>

#include "engine/vulkan/result.h"
#include "gnomon/error.h"

namespace gnomon::vulkan {
namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

std::string byte_text(std::uint64_t bytes) {
  const char* const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  char text[64];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text;
}

BufferPool::BufferPool(Device& device, Queue& queue, PoolOptions options)
    : device_(device), queue_(queue), options_(options) {}

BufferPool::~BufferPool() {
  for (Slot& slot : slots_) destroy_block(*slot.block);
}

Range BufferPool::allocate(const Request& request) {
  // An array without elements still has a place, so that kernels need no special case.
  const std::uint64_t bytes =
      round_up(std::max<std::uint64_t>(request.bytes, 1), options_.alignment);
  Range range;
  Ticket last_use = 0;
  {
    const std::lock_guard lock(mutex_);
    if (free_entry_ == ~0u && live_.size() == live_.capacity())
      live_.reserve(2 * live_.size() + 16);
    // First what needs no waiting, then anything.
    for (const bool only_done : {true, false}) {
      if (range) break;
      if (only_done && !request.host_writes) continue;
      if (request.beside != nullptr) {
        for (Slot& slot : slots_) {
          if (slot.block.get() == request.beside) take(slot, bytes, only_done, range, last_use);
        }
      }
      for (std::size_t i = 0; i < slots_.size() && !range; ++i)
        take(slots_[i], bytes, only_done, range, last_use);
    }
    if (!range) take(grow(request, bytes), bytes, false, range, last_use);
    range.entry = enter(request, bytes, last_use);
    stats_.live_bytes += bytes;
    stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.live_bytes);
    ++stats_.live_ranges;
  }
  if (request.host_writes && last_use != 0) {
    try {
      queue_.wait(last_use);
    } catch (...) {
      release(range, last_use);
      throw;
    }
  }
  return range;
}

bool BufferPool::take(Slot& slot, std::uint64_t bytes, bool only_done, Range& range,
                      Ticket& last_use) {
  // Blocks that no window shows are for what needs one.
  if (slot.block->bytes > options_.max_block_bytes && bytes <= options_.max_block_bytes)
    return false;
  std::size_t best = slot.free.size();
  for (std::size_t i = 0; i < slot.free.size(); ++i) {
    const Piece& piece = slot.free[i];
    if (piece.bytes < bytes || (only_done && !queue_.done(piece.last_use))) continue;
    if (best == slot.free.size() || piece.bytes < slot.free[best].bytes) best = i;
  }
  if (best == slot.free.size()) return false;
  // Free pieces never outnumber live ranges by more than one; with room for them `release` cannot
  // fail.
  const std::size_t room = stats_.live_ranges + 2;
  if (slot.free.capacity() < room) slot.free.reserve(2 * room);
  Piece& piece = slot.free[best];
  range = {slot.block.get(), piece.offset, bytes, 0};
  last_use = piece.last_use;
  piece.offset += bytes;
  piece.bytes -= bytes;
  if (piece.bytes == 0) slot.free.erase(slot.free.begin() + static_cast<std::ptrdiff_t>(best));
  return true;
}

void BufferPool::release(const Range& range, Ticket last_use) noexcept {
  if (!range) return;
  const std::lock_guard lock(mutex_);
  last_use = std::max(last_use, live_[range.entry].last_use);
  const auto slot = std::find_if(slots_.begin(), slots_.end(),
                                 [&](const Slot& s) { return s.block.get() == range.block; });
  auto& free = slot->free;
  auto next = std::find_if(free.begin(), free.end(),
                           [&](const Piece& p) { return p.offset > range.offset; });
  const bool joins_next = next != free.end() && range.offset + range.bytes == next->offset;
  const bool joins_previous =
      next != free.begin() && std::prev(next)->offset + std::prev(next)->bytes == range.offset;
  if (joins_previous) {
    auto previous = std::prev(next);
    previous->bytes += range.bytes;
    previous->last_use = std::max(previous->last_use, last_use);
    if (joins_next) {
      previous->bytes += next->bytes;
      previous->last_use = std::max(previous->last_use, next->last_use);
      free.erase(next);
    }
  } else if (joins_next) {
    next->offset = range.offset;
    next->bytes += range.bytes;
    next->last_use = std::max(next->last_use, last_use);
  } else {
    free.insert(next, {range.offset, range.bytes, last_use});
  }
  stats_.live_bytes -= range.bytes;
  --stats_.live_ranges;
  live_[range.entry].bytes = 0;
  live_[range.entry].next_free = free_entry_;
  free_entry_ = range.entry;
}

std::uint32_t BufferPool::enter(const Request& request, std::uint64_t bytes, Ticket last_use) {
  std::uint32_t entry = free_entry_;
  if (entry == ~0u) {
    entry = static_cast<std::uint32_t>(live_.size());
    live_.emplace_back();
  } else {
    free_entry_ = live_[entry].next_free;
  }
  Live& live = live_[entry];
  live.bytes = bytes;
  live.last_use = last_use;
  live.what = request.what;
  live.has_aval = request.aval != nullptr;
  if (request.aval != nullptr) live.aval = *request.aval;
  return entry;
}

BufferPool::Slot& BufferPool::grow(const Request& request, std::uint64_t bytes) {
  const bool large = bytes > options_.max_block_bytes;
  const std::uint64_t most = std::max(options_.max_block_bytes, options_.max_large_bytes);
  if (bytes > most) {
    throw DeviceError(
        "gnomon::Runtime: " + std::string(request.what) +
        (request.aval ? " " + to_string(request.aval->dtype, request.aval->shape) : "") +
        " needs " + byte_text(request.bytes) + " and this device binds at most " + byte_text(most) +
        " at once; split it");
  }
  // Growing with what is in use keeps the number of blocks, and so of windows, small.
  const std::uint64_t usual = options_.fixed_blocks
                                  ? options_.block_bytes
                                  : std::max(options_.block_bytes, stats_.reserved_bytes);
  const std::uint64_t wanted =
      large ? bytes
            : round_up(std::clamp(usual, bytes, options_.max_block_bytes), options_.alignment);
  for (std::uint64_t size = wanted;;) {
    const bool within =
        options_.limit_bytes == 0 || stats_.reserved_bytes + size <= options_.limit_bytes;
    Slot slot;
    slot.block = std::make_unique<Block>();
    const auto [result, call] =
        within ? create_block(size, *slot.block) : Outcome{VK_ERROR_OUT_OF_DEVICE_MEMORY};
    if (result == VK_SUCCESS) {
      slot.block->id = next_id_++;
      slot.free.push_back({0, size, 0});
      stats_.reserved_bytes += size;
      ++stats_.blocks;
      slots_.push_back(std::move(slot));
      return slots_.back();
    }
    if (result != VK_ERROR_OUT_OF_DEVICE_MEMORY && result != VK_ERROR_OUT_OF_HOST_MEMORY &&
        result != VK_ERROR_TOO_MANY_OBJECTS) {
      device_.failed(result, call);
    }
    if (size > bytes) {
      size = std::max(bytes, round_up(size / 2, options_.alignment));
    } else if (!trim()) {
      throw DeviceError(out_of_memory(request, bytes));
    }
  }
}

BufferPool::Outcome BufferPool::create_block(std::uint64_t bytes, Block& block) {
  const DeviceTable& vk = device_.vk();
  Block made;
  Outcome last;
  const auto call = [&](const char* name, auto function, auto... arguments) {
    if (last.result == VK_SUCCESS) last = {function(device_.handle(), arguments...), name};
  };
  auto buffer = make<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  buffer.size = bytes;
  buffer.usage = options_.usage;
  call("vkCreateBuffer", vk.vkCreateBuffer, &buffer, nullptr, &made.buffer);
  auto memory = make<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  auto flags = make<VkMemoryAllocateFlagsInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  if (options_.addresses) memory.pNext = &flags;
  if (last.result == VK_SUCCESS) {
    VkMemoryRequirements needs;
    vk.vkGetBufferMemoryRequirements(device_.handle(), made.buffer, &needs);
    memory.allocationSize = needs.size;
    memory.memoryTypeIndex = device_.memory_type(needs.memoryTypeBits, options_.kind);
    if (memory.memoryTypeIndex == ~0u) last = {VK_ERROR_FEATURE_NOT_PRESENT, "vkAllocateMemory"};
  }
  call("vkAllocateMemory", vk.vkAllocateMemory, &memory, nullptr, &made.memory);
  call("vkBindBufferMemory", vk.vkBindBufferMemory, made.buffer, made.memory, VkDeviceSize{0});
  if (options_.kind != MemoryKind::device || device_.unified()) {
    void* mapped = nullptr;
    call("vkMapMemory", vk.vkMapMemory, made.memory, VkDeviceSize{0}, VK_WHOLE_SIZE,
         VkMemoryMapFlags{0}, &mapped);
    made.mapped = static_cast<std::byte*>(mapped);
  }
  const bool texels = options_.texel_view && bytes / 16 <= device_.target().max_texel_elements;
  if (texels) {
    auto view = make<VkBufferViewCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO);
    view.buffer = made.buffer;
    view.format = VK_FORMAT_R32G32B32A32_UINT;
    view.range = bytes;
    call("vkCreateBufferView", vk.vkCreateBufferView, &view, nullptr, &made.texels);
  }
  if (last.result != VK_SUCCESS) {
    destroy_block(made);
    return last;
  }
  if (options_.addresses) made.address = device_.address(made.buffer);
  device_.name(VK_OBJECT_TYPE_BUFFER, reinterpret_cast<std::uint64_t>(made.buffer), options_.name);
  made.bytes = bytes;
  made.id = block.id;
  block = made;
  device_.counters().objects += texels ? 3 : 2;
  ++device_.counters().allocations;
  return last;
}

std::shared_ptr<Block> BufferPool::adopt(VkBuffer buffer, std::uint64_t bytes, bool addressable,
                                         std::byte* mapped, VkDeviceMemory owned) {
  const DeviceTable& vk = device_.vk();
  // What is destroyed here is destroyed behind the lock, which that takes.
  std::vector<std::shared_ptr<Block>> held;
  std::shared_ptr<Block> block;
  const std::lock_guard lock(mutex_);
  held.reserve(adopted_.size());
  for (const auto& known : adopted_) {
    const auto& same = held.emplace_back(known.block.lock());
    if (same && same->buffer == buffer && same->bytes == bytes && same->mapped == mapped)
      return same;
  }
  adopted_.reserve(adopted_.size() + 1);
  const auto forget = [this](Block* gone) {
    const std::lock_guard behind(mutex_);
    std::erase_if(adopted_, [&](const Adopted& a) { return a.raw == gone; });
    destroy_adopted(*gone);
    delete gone;
  };
  block = std::shared_ptr<Block>(new Block, forget);
  block->bytes = bytes;
  block->buffer = buffer;
  block->mapped = mapped;
  if (options_.texel_view && bytes / 16 <= device_.target().max_texel_elements) {
    auto view = make<VkBufferViewCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO);
    view.buffer = buffer;
    view.format = VK_FORMAT_R32G32B32A32_UINT;
    view.range = bytes / 16 * 16;
    device_.check(vk.vkCreateBufferView(device_.handle(), &view, nullptr, &block->texels),
                  "vkCreateBufferView");
    ++device_.counters().objects;
  }
  if (addressable && options_.addresses) block->address = device_.address(buffer);
  block->id = next_id_++;
  block->memory = owned;
  adopted_.push_back({block, block.get()});
  return block;
}

void BufferPool::destroy_adopted(Block& block) noexcept {
  const DeviceTable& vk = device_.vk();
  if (block.texels != VK_NULL_HANDLE)
    vk.vkDestroyBufferView(device_.handle(), block.texels, nullptr);
  if (block.memory != VK_NULL_HANDLE) {
    vk.vkDestroyBuffer(device_.handle(), block.buffer, nullptr);
    vk.vkFreeMemory(device_.handle(), block.memory, nullptr);
  }
  const std::uint32_t id = block.id;
  const std::uint64_t bytes = block.bytes;
  block = {};
  block.id = id;
  block.bytes = bytes;
}

void BufferPool::destroy_block(Block& block) noexcept {
  if (block.buffer == VK_NULL_HANDLE) return;  // of a device that is no more
  const DeviceTable& vk = device_.vk();
  vk.vkDestroyBufferView(device_.handle(), block.texels, nullptr);
  vk.vkDestroyBuffer(device_.handle(), block.buffer, nullptr);
  vk.vkFreeMemory(device_.handle(), block.memory, nullptr);
}

void BufferPool::forget() noexcept {
  const std::lock_guard lock(mutex_);
  for (const Adopted& a : adopted_) destroy_adopted(*a.raw);
  std::erase_if(slots_, [&](Slot& slot) {
    Block& block = *slot.block;
    destroy_block(block);
    block.texels = VK_NULL_HANDLE;
    block.buffer = VK_NULL_HANDLE;
    block.memory = VK_NULL_HANDLE;
    block.address = 0;
    block.mapped = nullptr;
    const bool empty = slot.free.size() == 1 && slot.free[0].bytes == block.bytes;
    if (empty) {
      stats_.reserved_bytes -= block.bytes;
      --stats_.blocks;
    }
    return empty;
  });
}

void BufferPool::make_again() {
  const std::lock_guard lock(mutex_);
  for (Slot& slot : slots_) {
    if (slot.block->buffer != VK_NULL_HANDLE) continue;
    const auto [result, call] = create_block(slot.block->bytes, *slot.block);
    if (result != VK_SUCCESS) device_.failed(result, call);
  }
}

bool BufferPool::trim() {
  bool any = false;
  for (std::size_t i = slots_.size(); i-- > 0;) {
    Slot& slot = slots_[i];
    if (slot.free.size() != 1 || slot.free[0].bytes != slot.block->bytes) continue;
    queue_.wait(slot.free[0].last_use);
    stats_.reserved_bytes -= slot.block->bytes;
    --stats_.blocks;
    destroy_block(*slot.block);
    slots_.erase(slots_.begin() + static_cast<std::ptrdiff_t>(i));
    any = true;
  }
  return any;
}

std::string BufferPool::out_of_memory(const Request& request, std::uint64_t bytes) const {
  const auto describe = [](const char* what, const Aval* aval, std::uint64_t size) {
    return std::string(what) + (aval ? " " + to_string(aval->dtype, aval->shape) : "") + " (" +
           byte_text(size) + ")";
  };
  std::uint64_t largest_piece = 0;
  for (const Slot& slot : slots_) {
    for (const Piece& piece : slot.free) largest_piece = std::max(largest_piece, piece.bytes);
  }
  std::string text =
      "gnomon::Runtime: out of device memory: " + describe(request.what, request.aval, bytes) +
      " does not fit; " + byte_text(stats_.live_bytes) + " of " + byte_text(stats_.reserved_bytes) +
      " are in use";
  if (options_.limit_bytes != 0) text += " (limit " + byte_text(options_.limit_bytes) + ")";
  text += ", the largest free piece has " + byte_text(largest_piece);
  if (!request.context.empty()) text += ", " + std::string(request.context);
  std::vector<const Live*> largest;
  for (const Live& live : live_) {
    if (live.bytes > 0) largest.push_back(&live);
  }
  const std::size_t shown = std::min<std::size_t>(3, largest.size());
  std::partial_sort(largest.begin(), largest.begin() + static_cast<std::ptrdiff_t>(shown),
                    largest.end(),
                    [](const Live* a, const Live* b) { return a->bytes > b->bytes; });
  for (std::size_t i = 0; i < shown; ++i) {
    text += i == 0 ? "; largest: " : ", ";
    text += describe(largest[i]->what, largest[i]->has_aval ? &largest[i]->aval : nullptr,
                     largest[i]->bytes);
  }
  return text + "; free arrays or split the work";
}

std::optional<Aval> BufferPool::aval_of(const Range& range) const {
  const std::lock_guard lock(mutex_);
  const Live& live = live_[range.entry];
  return live.has_aval ? std::optional(live.aval) : std::nullopt;
}

PoolStats BufferPool::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void BufferPool::reset_peak() {
  const std::lock_guard lock(mutex_);
  stats_.peak_bytes = stats_.live_bytes;
}

}  // namespace gnomon::vulkan
