// engine/runtime/executable.h -- a Program on one device: arena, recordings, and calls that only
// patch and submit.
//
// Kernels find their arrays by (window, base). The windows, which are whole pool blocks, are fixed
// when a command list is recorded; the bases are words of the parameter blocks, written at each
// call. So there is one recording per tuple of blocks that inputs and outputs lie in, usually one
// altogether, and a call that finds its recording creates no Vulkan object and allocates no device
// memory.
#pragma once
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codegen/program/program_file.h"
#include "engine/runtime/checkpoint.h"
#include "engine/runtime/context.h"
#include "engine/runtime/join.h"
#include "engine/runtime/loop_scheduler.h"
#include "engine/runtime/pace.h"
#include "engine/runtime/schedule.h"
#include "engine/runtime/watch.h"
#include "engine/vulkan/timer.h"
#include "gnomon/profile.h"

namespace gnomon {

struct ExecutableOptions {
  bool validate_modules = false;  // every module through spirv-val
  bool debug_info = false;        // names and lines in modules
  bool drop_barriers = false;     // for the negative control of the tests: record no barrier at all
};

/// What an earlier process left of a program, and what is left for later ones.
struct ProgramOrigin {
  std::vector<ProgramModule> modules;
  /// What it was compiled for; none: the target of the device.
  std::optional<Target> target;
  /// There will be no modules but these: inputs that lie so that none of them serves are copied to
  /// where one does.
  bool sealed = false;
  /// Compiles the program again, for the bodies of its kernels; empty when it has them.
  std::function<Program()> compile;
  /// Called after a run for which modules were emitted; may be empty.
  std::function<void(const Program&, std::vector<ProgramModule>)> keep;
};

class Executable;

/// What of a recorded call depends on where its arrays lie: enough to record it again with the same
/// ones.
struct BoundCall {
  std::uint64_t serial = 0;           // of its executable
  std::uint32_t entry = 0;            // id
  std::vector<std::uint32_t> values;  // of the entry's patches
};

/// A call that is written into somebody else's command buffers: parameters, and the arrays that the
/// device needs until it is done with it. Belongs to its executable, which lends it out. It is held
/// by each command buffer that it is written to, and by whoever has prepared it.
class alignas(64) RecordedCall {
 public:
  RecordedCall() = default;
  RecordedCall(const RecordedCall&) = delete;
  RecordedCall& operator=(const RecordedCall&) = delete;
  /// Writes it once more, for one more holder. From any thread. Throws UsageError for loops, as
  /// Executable::record does.
  void record(VkCommandBuffer);
  /// A command buffer is on the queue: from now on arrays know when they are ready. Throws
  /// DeviceError.
  void submitted();
  /// A holder lets go of it. Where it is not `known` when the device is done with it, by
  /// `submitted` or since that is over, it may be at work: parameters and memory are used again
  /// behind the next submission of the Runtime that follows.
  void give_back(bool known) noexcept {
    if (!known) used_to_the_end();
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) end();
  }

 private:
  friend class Executable;
  void used_to_the_end() noexcept;
  void end() noexcept;
  void write(VkCommandBuffer, const Executable&) const;
  void used_by(vulkan::Ticket);

  // What a frame touches lies together: all else would have to come into the caches first.
  std::atomic<std::uint32_t> holders_{0};
  std::uint32_t dispatches_ = 0;
  std::atomic<std::uint64_t>* dispatched_ = nullptr;  // the context's counter
  vulkan::BoundStretch whole_;                        // without loops: all of it

  std::vector<vulkan::BoundStretch> stretches_;  // with loops
  /// While it is lent: what keeps it.
  std::shared_ptr<Executable> executable_;
  std::vector<std::shared_ptr<Storage>> storages_;  // of outputs, then inputs
  std::size_t outputs_ = 0;
  void* entry_ = nullptr;    // of the executable; null where nothing is dispatched
  vulkan::Range range_;      // of its parameters
  std::uint64_t bound_ = 0;  // whose values are there
  std::atomic<vulkan::Ticket> last_use_{0};
  bool taken_ = false;  // behind the executable's lock
};

/// All members may be called from any thread; calls of one executable are ordered, but those that a
/// handler makes: they come before the end of the call that it hears of.
class Executable final : public std::enable_shared_from_this<Executable>, private OnDevice {
 public:
  /// Takes the arena from the pool and uploads the constants. Throws DeviceError.
  Executable(std::shared_ptr<Context>, Program, const ExecutableOptions& = {}, ProgramOrigin = {});
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  /// Submits the program and returns without waiting, unless the device decides how often a loop
  /// runs: then it returns when that is known. `outputs` are replaced by its results.
  /// `donated[i]` nonzero allows the memory of input i to become an output's, provided `inputs[i]`
  /// is its only owner; the handle is then empty afterwards.
  ///
  /// Throws UsageError when an input is not what the program was compiled for, DeviceError when the
  /// device fails, Cancelled when the watch says so, and what its handler throws. Outputs are
  /// unchanged then and the executable stays usable. Where the device is lost on the way and the
  /// context is resumable, the next call with the same arrays goes on from the last checkpoint.
  /// Where the watch ends a call, outputs that hold what the loop under way has made so far are
  /// given, the others empty; what was donated may be overwritten.
  ///
  /// With a `profile` it runs dispatch by dispatch, waits for each, and says there what each took.
  void run(std::span<Array> inputs, std::vector<Array>& outputs,
           std::span<const std::uint8_t> donated = {}, const Watch& = {},
           Profile* profile = nullptr);

  /// Records the program into a command buffer that is being recorded for the device's queue, in
  /// record.cpp. Of `outputs`, empty arrays get memory; others are written to, whose memory may be
  /// that of an input only where the program reads it before. The command buffer may be submitted
  /// again while the call is kept, not twice at once. `bound`, where it is given, gets what
  /// `record_again` needs.
  ///
  /// Throws UsageError for arrays that do not fit and for loops that the device may run more often
  /// than is recorded, DeviceError when the device fails; the command buffer may hold a part then.
  RecordedCall& record(VkCommandBuffer, std::span<const Array> inputs, std::vector<Array>& outputs,
                       BoundCall* bound = nullptr);
  /// The same but for the writing, which RecordedCall::record does as often as it is asked.
  RecordedCall& prepare(std::span<const Array> inputs, std::vector<Array>& outputs);
  /// The same with the arrays of a call that was recorded before, of which nothing is looked at.
  /// `arrays`: outputs, then inputs but for `captures`. Creates and allocates nothing once as many
  /// calls were recorded as are under way at a time. Null where too much has happened since; then
  /// `record` does it.
  RecordedCall* record_again(VkCommandBuffer, const std::shared_ptr<Executable>& self,
                             const BoundCall&, std::span<const Array* const> arrays,
                             std::size_t outputs, std::span<const Array> captures);

  const Program& program() const { return program_; }
  const Target& target() const { return target_; }
  const std::shared_ptr<Context>& context() const { return context_; }
  /// Whether an earlier process has compiled it.
  bool from_disk() const { return from_disk_; }
  /// Milliseconds spent so far on SPIR-V and in the driver's pipeline compiler.
  struct Times {
    double emit_ms = 0, pipeline_ms = 0;
  };
  Times times() const;
  /// Trips that lanes of loops made or waited for, over those they made: the most among the kernels
  /// that count them. Nothing when none does, or before the first run has ended. Reads them from
  /// the device.
  std::optional<double> waiting();
  /// Bytes that it keeps while it does not run: arena, constants, and its modules as SPIR-V.
  std::uint64_t footprint() const { return footprint_; }
  /// Disassembly of every module made so far.
  std::string spirv_text() const;

 private:
  static constexpr std::size_t max_recordings = 32;

  /// A kernel for one arrangement of windows.
  struct Module {
    std::uint32_t kernel = 0;
    std::vector<std::uint8_t> windows;
    std::uint32_t joined_rows = 0;  // of a joined dispatch's parameter block; 0: of one part
    std::shared_ptr<const vulkan::Pipeline> pipeline = nullptr;
    bool gone = false;  // with a lost device

    /// Of another Module or of a ProgramModule.
    template <class M>
    bool same_as(const M& m) const {
      return kernel == m.kernel && windows == m.windows && joined_rows == m.joined_rows;
    }
  };

  /// A word of the parameter block that depends on where an input or output lies.
  struct Patch {
    std::uint32_t word = 0;    // from the start of an instance's parameters
    std::uint32_t source = 0;  // index into the call's ranges: inputs, then outputs
    std::uint32_t shift = 0;   // log2 of the element size
    std::uint64_t offset = 0;  // bytes from the start of the range
  };

  struct Entry {
    std::vector<std::uint32_t> key;       // ids of the blocks of inputs and outputs
    std::vector<vulkan::Range> gathered;  // memory for inputs that are copied to save windows
    vulkan::Range parameters;
    std::uint32_t instance_words = 0;
    std::vector<std::uint32_t> words;  // initial parameters of an instance
    std::vector<Patch> patches;
    std::uint32_t dispatches = 0, window_copies = 0;
    std::map<std::uint32_t, std::vector<std::uint32_t>> joined;  // by the first of them: steps
    std::unique_ptr<vulkan::Recording> recording;
    std::vector<Segment> segments;
    std::optional<std::uint32_t> whole;  // the stretch that is all of it
    /// Words per gated block: is it done, the number of its iteration, the steps of its slices.
    static constexpr std::uint32_t words_per_block = 6;
    vulkan::Range shared;
    std::vector<vulkan::Ticket> tickets;  // newest submission of each instance
    std::uint32_t id = 0;                 // of entries that were ever recorded elsewhere
    std::vector<std::unique_ptr<RecordedCall>> calls;
    /// Of them, those that nobody has: free, and in the order of their last use, which may not have
    /// ended; and how many of these wait for a ticket that nobody has submitted yet, or had when
    /// they came.
    std::vector<RecordedCall*> free, waiting;
    std::size_t unknown = 0;
    bool recorded() const {
      return std::any_of(calls.begin(), calls.end(), [](const auto& c) { return c->taken_; });
    }
    std::uint64_t last_call = 0;

    static std::uint32_t done_word(std::uint32_t block, std::uint32_t chunk) {
      return words_per_block * block + chunk % 2;
    }
    static std::uint32_t iteration_word(std::uint32_t block, std::uint32_t chunk) {
      return done_word(block, chunk) + 2;
    }
    static std::uint32_t pace_word(std::uint32_t block, std::uint32_t chunk) {
      return done_word(block, chunk) + 4;
    }
    std::int32_t word(std::uint32_t which) const;
  };

  void check_inputs(std::span<const Array> inputs) const;
  void place_outputs(std::span<const Array> inputs, std::span<const std::uint8_t> donated);
  /// What a call holds: this executable, and the device. A handler is called without either.
  struct Turn {
    std::shared_ptr<Executable> stand_in;  // of the call, which goes outside of both
    std::unique_lock<std::mutex> lock;
    Gate::Use inside;
  };
  vulkan::Ticket play_call(std::span<Array> inputs, std::vector<Array>& outputs, const Watch&,
                           Profile*, Turn&);
  /// Behind the lock: waits while a call is under way whose handler has the lock open. What calls
  /// of handlers do instead, who would wait for themselves: another executable of the program.
  std::shared_ptr<Executable> stand_in(std::unique_lock<std::mutex>&);
  /// The same for what none stands in for.
  void wait_to_record(std::unique_lock<std::mutex>&);
  /// How many handlers the thread is inside of, of whatever executables.
  static std::uint32_t& handlers_of_thread();
  Entry& entry();
  std::uint32_t free_instance(Entry&);
  /// In play.cpp: submits everything, and for gated blocks as often as it takes.
  vulkan::Ticket play(Entry&, std::uint32_t instance);
  /// The same in parts, looking at the watch between them, keeping checkpoints if there is a place
  /// for them, and going on from what is there. In watched.cpp.
  vulkan::Ticket play_watched(Entry&, std::uint32_t instance, const Watch&, Checkpoint*, Turn&);
  class Parts;
  /// In profiling.cpp.
  vulkan::Ticket play_profiled(Entry&, std::uint32_t instance, Profile&);
  void summarize(const std::vector<vulkan::Timer::Timed>&, const Entry&, Profile&) const;
  /// Passes of a gated block with slices as calls have measured them; 0: any number.
  std::uint64_t most_passes_of(std::uint32_t block) const;
  Pace pace_of(std::uint32_t block, bool watched);
  /// Has slices of a gated block take so many steps from here on.
  void tell(Entry&, std::uint32_t block, std::uint32_t chunk, std::uint64_t steps,
            std::vector<VkCommandBuffer>& next);
  friend class RecordedCall;
  // In record.cpp.
  std::vector<std::shared_ptr<Storage>> place(std::span<const Array> inputs,
                                              std::vector<Array>& outputs);
  Entry& bind(BoundCall&);
  Entry* entry_of(const BoundCall&) const;
  RecordedCall& free_call(Entry&);
  static RecordedCall& nobodys();
  RecordedCall& take(Entry&, const BoundCall&);
  RecordedCall& write(VkCommandBuffer, Entry&, const BoundCall&);
  void append(VkCommandBuffer, const Entry&, std::span<const vulkan::BoundStretch>) const;
  /// How often a gated block is recorded, and with how many steps of a slice.
  Pace::Chunk bound_of(std::uint32_t block, std::uint64_t dispatches) const;
  void give_back(RecordedCall&) noexcept;
  // In recording.cpp: what a new entry needs.
  void build(Entry&);
  std::vector<bool> inputs_to_gather() const;
  const vulkan::Range& range_of(const Place&) const;
  /// How the operands of one dispatch are reached.
  struct Reach {
    std::vector<const vulkan::Block*> blocks;  // the windows
    std::vector<std::uint8_t> windows;         // per operand: which, or spirv::by_address
  };
  Reach reach(const Step&) const;
  /// By a module that is there; nothing when none serves.
  std::optional<Reach> stored_reach(const Step&) const;
  void gather(Entry&, const std::vector<bool>& chosen, Schedule&, std::vector<bool>& extra);
  struct Prepared;
  Prepared prepare(const Step&, std::size_t own_ranges, std::vector<vulkan::Windows>&);
  struct Building;
  std::vector<std::vector<Joined>> joined(const Submission&, const Schedule&,
                                          const std::vector<Prepared>&) const;
  void make_modules_of(const Submission&, const Schedule&, const std::vector<Prepared>&,
                       const std::vector<std::vector<Joined>>&);
  void add_single(Building&, const Stretch&, std::uint32_t which, std::vector<vulkan::Dispatch>&);
  void add_joined(Building&, const Stretch&, const Joined&, std::vector<vulkan::Dispatch>&);
  vulkan::Stretches stretches_of(Building&, const Submission&,
                                 const std::vector<std::vector<Joined>>&);
  /// Makes the words that the host and gated blocks share, and gives the transfers between them and
  /// the arena: `Entry::words_per_block` per block, in the order of the words.
  std::vector<vulkan::BufferCopy> share_words(Entry&, const Schedule&);
  void record(const Building&, std::vector<vulkan::Windows>, vulkan::Stretches);
  // In modules.cpp.
  const Module* module(std::uint32_t kernel, std::span<const std::uint8_t> windows,
                       std::uint32_t joined_rows) const;
  /// Emits what is not there yet and has the driver compile it, side by side on the host's cores.
  void make_modules(std::vector<Module> wanted);
  /// Those that are made, and stored ones that nobody has asked for yet.
  std::vector<ProgramModule> all_modules() const;
  /// Hands what was emitted to whoever keeps it.
  void keep_modules();
  void restore_modules(std::span<const Module> wanted);
  /// A module to be made, of words that are there or of a kernel.
  struct ModuleTask;
  std::vector<ModuleTask> missing_modules(std::vector<Module> wanted) const;
  /// Throws where modules have to be emitted and nobody can.
  void require_compiler(std::span<const ModuleTask>) const;
  void emit_words(std::span<ModuleTask>);
  void compile_pipelines(std::span<ModuleTask>);
  void release(Entry&) noexcept;
  // In resume.cpp.
  void device_gone() noexcept override;
  void device_back() override;
  /// Whether calls can go on after the device was lost: where there are loops in parts.
  bool resumable() const {
    return context_->resumable && (!schedule_.loops.empty() || !schedule_.gated.empty());
  }
  /// What a call with these inputs goes on from, or an empty one; none where calls cannot go on.
  std::optional<Checkpoint> checkpoint_of(std::span<const Array> inputs);
  /// What a checkpoint keeps of the current call.
  std::vector<vulkan::Range> state(const Entry&) const;

  std::shared_ptr<Context> context_;
  Program program_;
  ExecutableOptions options_;
  Target target_;  // that the program was compiled for
  Schedule schedule_;
  std::vector<bool>
      extra_barriers_;  // per step: only for the validation layer, see the constructor
  std::vector<std::vector<std::uint32_t>> reusable_;
  std::string out_of_memory_text_;
  vulkan::Range arena_;
  vulkan::Range constants_;
  std::atomic<std::uint64_t> footprint_{0};
  bool from_disk_ = false;
  /// Of a sealed program: the arrangements of windows that there are modules for, by kernel.
  std::vector<std::pair<std::uint32_t, std::vector<std::uint8_t>>> arrangements_;
  bool sealed_ = false;

  mutable std::mutex mutex_;  // everything below
  /// Since the call under way has called a handler: arena, recordings and the state of "the current
  /// call" are its own even where the lock is open.
  bool under_way_ = false;
  std::condition_variable ended_;         // it is no longer
  std::shared_ptr<Executable> stand_in_;  // for calls of its handlers; null: nobody needed it
  std::vector<Module> modules_;
  ProgramOrigin origin_;
  bool to_keep_ = false;               // modules that nobody keeps yet
  std::uint32_t gather_kernel_ = ~0u;  // index into schedule_.kernels once it was needed
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<vulkan::Range> ranges_;  // of the current call: inputs, then outputs
  std::vector<std::uint32_t> key_;
  std::vector<std::uint8_t> taken_;  // per input of the current call: it became an output
  std::vector<std::shared_ptr<Storage>> fresh_;  // outputs of the current call
  std::vector<std::uint32_t> held_;         // outputs that a watched call left as good as they are
  std::vector<std::uint64_t> slice_steps_;  // per gated block: of a call's first slice
  std::vector<Checkpoint> left_;            // by calls that a lost device has ended
  std::uint64_t calls_ = 0;
  std::uint32_t recorded_entries_ = 0;
  std::uint64_t bound_calls_ = 0;
  vulkan::Ticket last_ticket_ = 0;
  Times times_;
};

}  // namespace gnomon
