// engine/vulkan/buffer_pool.h -- device memory in large blocks, handed out in ranges.
//
// A block is one VkBuffer over one VkDeviceMemory, small enough that one window of a kernel shows
// all of it, so every range is (block, offset) and kernels address it from the block's start. What
// is larger than a window gets a block of its own size where the device has buffer addresses.
// Ranges are given back while the device may still use them: a free piece remembers the ticket of
// its last use, and so does the range that it becomes, whose owner may never use it. Kernels may
// reuse it at once, since submissions are ordered by barriers; the host waits for the ticket before
// it writes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/vulkan/device.h"
#include "engine/vulkan/functions.h"
#include "engine/vulkan/queue.h"
#include "gnomon/array.h"

namespace gnomon::vulkan {

struct Block {
  std::uint32_t id = 0;  // never used again in the life of the pool
  std::uint64_t bytes = 0;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkBufferView texels = VK_NULL_HANDLE;  // the whole block as rgba32ui; null without texel reads
  std::uint64_t address = 0;             // for kernels; 0 where the pool keeps none
  std::byte* mapped = nullptr;           // null when the host cannot see it
};

struct Range {
  Block* block = nullptr;
  std::uint64_t offset = 0, bytes = 0;
  std::uint32_t entry = 0;  // of the pool's table of live ranges

  std::byte* mapped() const { return block->mapped + offset; }
  explicit operator bool() const { return block != nullptr; }
};

struct PoolOptions {
  VkBufferUsageFlags usage = 0;
  MemoryKind kind = MemoryKind::device;
  bool texel_view = false;
  std::uint64_t alignment = 256;
  std::uint64_t block_bytes = 0;      // what a block usually has
  std::uint64_t max_block_bytes = 0;  // what one may have so that a window shows it
  std::uint64_t max_large_bytes = 0;  // what the block of a single larger array may have
  bool addresses = false;             // blocks have addresses
  bool fixed_blocks = false;          // a new block is no larger than it must be
  const char* name = "gnomon";        // of blocks in tools; static storage
  std::uint64_t limit_bytes = 0;      // all blocks together; 0: what the device gives
};

/// What an allocation is for; all but `bytes` serves messages and placement.
struct Request {
  std::uint64_t bytes = 0;
  const char* what = "array";  // static storage
  const Aval* aval = nullptr;  // of an array
  std::string_view context;    // appended to an out-of-memory message: the plan's peak, for example
  const Block* beside = nullptr;  // try this block first: fewer windows per dispatch
  bool host_writes = false;       // wait until the device is done with what lay there
};

struct PoolStats {
  std::uint64_t live_bytes = 0, peak_bytes = 0, reserved_bytes = 0;
  std::uint64_t live_ranges = 0, blocks = 0;
};

/// All members may be called from any thread.
class BufferPool {
 public:
  BufferPool(Device&, Queue&, PoolOptions);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  /// Throws DeviceError when the request is larger than a window or the device has no memory left.
  /// The pool is unchanged then.
  Range allocate(const Request&);
  /// `last_use`: the newest submission that touches the range; 0 where its owner made none.
  void release(const Range&, Ticket last_use) noexcept;
  /// A buffer of another owner as a block that is none of the pool's, with a view of its texels if
  /// the pool's blocks have one. The block must go before the buffer, when the device is done with
  /// it. While it is there, the same buffer is the same block. With `owned`, its memory, both go
  /// with the block, once this has returned. Throws DeviceError.
  std::shared_ptr<Block> adopt(VkBuffer, std::uint64_t bytes, bool addressable, std::byte* mapped,
                               VkDeviceMemory owned = VK_NULL_HANDLE);
  /// The type of the array that a range was allocated for; none for what is no array.
  std::optional<Aval> aval_of(const Range&) const;
  PoolStats stats() const;
  void reset_peak();
  /// For a device that is to be made again: destroys what the blocks have of it, and blocks that
  /// hold nothing altogether. Those that were adopted with their memory are empty from then on;
  /// others must be gone.
  void forget() noexcept;
  /// Makes all of that again on the new device, with nothing in it: ranges stay where they are.
  /// Throws DeviceError; what is missing then comes by the next call.
  void make_again();
  const PoolOptions& options() const { return options_; }

 private:
  struct Piece {
    std::uint64_t offset = 0, bytes = 0;
    Ticket last_use = 0;
  };
  struct Slot {
    std::unique_ptr<Block> block;
    std::vector<Piece> free;  // by offset, neighbours merged
  };
  struct Live {
    std::uint64_t bytes = 0;
    Ticket last_use = 0;  // of owners before
    const char* what = "";
    Aval aval;
    bool has_aval = false;
    std::uint32_t next_free = 0;
  };

  bool take(Slot&, std::uint64_t bytes, bool only_done, Range&, Ticket& last_use);
  Slot& grow(const Request&, std::uint64_t bytes);
  /// Of a call that failed: its name besides.
  struct Outcome {
    VkResult result = VK_SUCCESS;
    const char* call = "";
  };
  /// Fills all of it but the id; nothing where it fails.
  Outcome create_block(std::uint64_t bytes, Block&);
  void destroy_block(Block&) noexcept;
  /// What a block of another owner has of the device; nothing a second time.
  void destroy_adopted(Block&) noexcept;
  /// Destroys the blocks that hold nothing, after waiting for their last use. True when there were
  /// any.
  bool trim();
  std::string out_of_memory(const Request&, std::uint64_t bytes) const;
  std::uint32_t enter(const Request&, std::uint64_t bytes, Ticket last_use);

  Device& device_;
  Queue& queue_;
  PoolOptions options_;
  mutable std::mutex mutex_;
  std::vector<Slot> slots_;
  struct Adopted {
    std::weak_ptr<Block> block;
    Block* raw;  // as long as it is in the list
  };
  std::vector<Adopted> adopted_;
  std::vector<Live> live_;
  std::uint32_t free_entry_ = ~0u;
  std::uint32_t next_id_ = 1;
  PoolStats stats_;
};

/// "64.0 MiB".
std::string byte_text(std::uint64_t bytes);

}  // namespace gnomon::vulkan
