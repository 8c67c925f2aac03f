// engine/runtime/context.h -- everything of one device that arrays and executables keep alive.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/runtime/bytes.h"
#include "engine/runtime/compiler.h"
#include "engine/runtime/disk_cache.h"
#include "engine/runtime/gate.h"
#include "engine/runtime/host_copies.h"
#include "engine/vulkan/buffer_pool.h"
#include "engine/vulkan/device.h"
#include "engine/vulkan/pipeline_cache.h"
#include "engine/vulkan/queue.h"
#include "engine/vulkan/recorder.h"
#include "gnomon/array.h"

namespace gnomon {

/// Only ever count up.
struct ContextCounters {
  std::atomic<std::uint64_t> modules_emitted{0};
  std::atomic<std::uint64_t> recordings{0};  // command lists recorded: new tuple of windows
  std::atomic<std::uint64_t> dispatches{0};  // workloads sent, not recorded
  std::atomic<std::uint64_t> window_copies{
      0};  // inputs copied because a dispatch met more than 4 windows
  std::atomic<std::uint64_t> donated{0};           // inputs whose memory became an output's
  std::atomic<std::uint64_t> shared_donations{0};  // moved inputs that somebody else still held
  std::atomic<std::uint64_t> staged_bytes{0};      // through staging memory
};

/// What RuntimeOptions say of the same name.
struct ContextOptions {
  double time_slice_ms = 50;
  std::size_t compile_threads = 0;
  bool resumable = false;
  double checkpoint_ms = 1000;
  std::uint64_t host_copies = 0;
  std::shared_ptr<DiskCache> disk;           // none: what drivers make of modules is not collected
  std::shared_ptr<const Compiler> compiler;  // none: only what was compiled before runs
};

/// Who has something of the device beside the pools and the pipelines.
class OnDevice {
 public:
  /// The device is about to go: lets go of everything.
  virtual void device_gone() noexcept = 0;
  /// It is there again, with nothing in its memory. Throws DeviceError.
  virtual void device_back() = 0;

 protected:
  ~OnDevice() = default;
};

/// Shared by the Runtime, its executables and its arrays, so they may be destroyed in any order.
struct Context {
  explicit Context(const vulkan::DeviceOptions&, const ContextOptions& = {});
  ~Context();

  const double time_slice_ms;
  const std::size_t compile_threads;
  const bool resumable;
  const double checkpoint_ms;
  const std::shared_ptr<DiskCache> disk;
  const std::shared_ptr<const Compiler> compiler;
  mutable vulkan::Device device;
  vulkan::Queue queue;
  vulkan::BufferPool arrays;
  vulkan::BufferPool parameters;
  vulkan::BufferPool staging;
  vulkan::PipelineCache pipelines;
  std::mutex copy_mutex;
  vulkan::CopyRecorder copies;  // behind copy_mutex
  ContextCounters counters;
  std::weak_ptr<Executor> executor;  // the Runtime, which owns this; set once, before any array is

  /// Makes a lost device again; what came from the host and programs come back. Does nothing to one
  /// that is not lost. Throws UsageError where the device is another owner's, DeviceError when it
  /// cannot be made; it stays lost then. In recover.cpp.
  void recover();
  /// How often the device was made again. Elements written in an earlier life are lost.
  std::uint32_t life() const { return life_.load(std::memory_order_acquire); }
  void add(OnDevice&);
  void remove(OnDevice&) noexcept;
  /// Everything that uses the device, its pools or its queue stands inside, as a Gate::Use.
  Gate gate;
  HostCopies copies_of_host;

 private:
  std::atomic<std::uint32_t> life_{0};
  std::mutex users_mutex_;
  std::vector<OnDevice*> users_;
};

/// Device memory of one array.
class DeviceStorage final : public Storage {
 public:
  DeviceStorage(std::shared_ptr<Context> context, const vulkan::Range& range, vulkan::Ticket ready)
      : context_(std::move(context)),
        range_(range),
        ready_(ready),
        last_use_(ready),
        life_(context_->life()) {}
  /// In a buffer of another owner.
  DeviceStorage(std::shared_ptr<Context> context, std::shared_ptr<vulkan::Block> block,
                std::uint64_t offset, std::uint64_t bytes)
      : context_(std::move(context)),
        adopted_(std::move(block)),
        range_{adopted_.get(), offset, bytes, 0},
        ready_(0),
        last_use_(0),
        life_(context_->life()) {}
  ~DeviceStorage() override;
  DeviceStorage(const DeviceStorage&) = delete;
  DeviceStorage& operator=(const DeviceStorage&) = delete;

  std::shared_ptr<Executor> executor() const override { return context_->executor.lock(); }
  bool is_ready() const override;
  void block_until_ready() const override;

  const std::shared_ptr<Context>& context() const { return context_; }
  const vulkan::Range& range() const { return range_; }
  bool adopted() const { return adopted_ != nullptr; }
  /// The submission that writes it; reading waits for it.
  vulkan::Ticket ready() const { return ready_.load(std::memory_order_acquire); }
  void written_by(vulkan::Ticket ticket) {
    ready_.store(ticket, std::memory_order_release);
    used_by(ticket);
  }
  void used_by(vulkan::Ticket ticket) {
    vulkan::Ticket seen = last_use_.load(std::memory_order_relaxed);
    while (seen < ticket &&
           !last_use_.compare_exchange_weak(seen, ticket, std::memory_order_relaxed)) {
    }
  }

  /// Its elements went with the device.
  bool lost() const { return life_.load(std::memory_order_acquire) != context_->life(); }
  /// They are there again.
  void written_again() { life_.store(context_->life(), std::memory_order_release); }
  /// What its elements came from, kept on the host as far as there is room; `always`: anyway.
  void keep_copy(std::span<const std::byte>, bool always);
  /// It gets other elements.
  void drop_copy() noexcept;
  /// Of elements that came from the host.
  enum class Copy : std::uint8_t { no, kept, no_room };
  Copy copy() const { return copy_.load(std::memory_order_acquire); }

 private:
  std::shared_ptr<Context> context_;
  std::shared_ptr<vulkan::Block> adopted_;  // null: the range is the pool's
  vulkan::Range range_;
  std::atomic<vulkan::Ticket> ready_;
  std::atomic<vulkan::Ticket> last_use_;
  std::atomic<std::uint32_t> life_;
  std::atomic<Copy> copy_{Copy::no};
};

/// The storage of a concrete array of `context`. Throws UsageError, in the name of `op`, for an
/// empty or traced array and for one of another Runtime, DeviceLost for one that went with a lost
/// device.
DeviceStorage& storage_of(const Array&, const Context&, const char* op, Loc = {});
/// Whether an array with elements lies on the device of another Runtime.
bool belongs_to_another(const Array&, const Context&);
/// What to say of one, which `what` names: "argument 0 `.x` of `f`".
std::string another_text(const std::string& what, const Array&);

/// An array of these elements on the device. A copy stays on the host while there is room for it,
/// or anyway where it `always_comes_back`.
Array on_device(const std::shared_ptr<Context>&, const Aval&, std::span<const std::byte>,
                bool always_comes_back = false);
/// The elements of an array, which has as many bytes; waits for it. Throws as storage_of does.
void download(Context&, const Array&, const char* op, std::span<std::byte>);

/// Host to device, inside of the gate; waits until the bytes are taken. Unchecked: the device no
/// longer uses what lay there.
void upload(Context&, const vulkan::Range&, std::span<const std::byte>);
/// Device to host, inside of the gate; waits for `ready`.
void download(Context&, const vulkan::Range&, vulkan::Ticket ready, std::span<std::byte>);

}  // namespace gnomon
