// engine/runtime/executable.cpp -- calls: place outputs, find the recording, patch the bases,
// submit.
#include "engine/runtime/executable.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/runtime/memory_report.h"
#include "gnomon/error.h"

namespace gnomon {
namespace {

std::string plan_text(const Program& program) {
  std::string text =
      "the plan of `" + program.name + "` keeps " + vulkan::byte_text(program.arena_bytes);
  const MemoryReport report = memory_report(program);
  if (!report.values.empty()) text += " (largest: " + line(report.values[0]) + ")";
  return text;
}

DeviceStorage& storage_in(const Array& a) { return static_cast<DeviceStorage&>(*a.storage()); }

}  // namespace

Executable::Executable(std::shared_ptr<Context> context, Program program,
                       const ExecutableOptions& options, ProgramOrigin origin)
    : context_(std::move(context)),
      program_(std::move(program)),
      options_(options),
      target_(origin.target.value_or(context_->device.target())),
      schedule_(schedule_of(program_, target_)),
      reusable_(reusable_inputs(program_)),
      out_of_memory_text_(plan_text(program_)),
      from_disk_(origin.compile != nullptr),
      sealed_(origin.sealed),
      origin_(std::move(origin)) {
  for (const GatedBlock& block : schedule_.gated)
    slice_steps_.push_back(block.slices ? block.slices->first : 1);
  if (sealed_)
    for (const ProgramModule& m : origin_.modules) arrangements_.emplace_back(m.kernel, m.windows);
  extra_barriers_.resize(schedule_.steps.size());
  if (context_->device.instance().validating()) {
    // The layer compares whole windows, so steps that share a block look like a hazard even when
    // they touch different arrays. Where the exact check finds none, a barrier that only validation
    // gets keeps the layer quiet; where it finds one, the missing barrier stays missing and the
    // layer reports it too.
    std::vector<bool> hazardous(schedule_.steps.size());
    for (const Hazard& hazard : missing_barriers(program_)) {
      hazardous[hazard.second] = true;
      context_->device.instance().messages().add(hazard.text);
    }
    for (std::size_t i = 0; i < hazardous.size(); ++i) extra_barriers_[i] = !hazardous[i];
  }
  const Gate::Use inside(context_->gate);
  context_->device.require();
  vulkan::Request request;
  request.context = out_of_memory_text_;
  request.host_writes = true;
  if (program_.arena_bytes > 0) {
    request.bytes = program_.arena_bytes;
    request.what = "the arena";
    request.host_writes = false;
    arena_ = context_->arrays.allocate(request);
  }
  try {
    if (!program_.constants.empty()) {
      request.bytes = program_.constants.size();
      request.what = "constants";
      request.host_writes = true;
      request.beside = arena_.block;
      constants_ = context_->arrays.allocate(request);
      upload(*context_, constants_, program_.constants);
    }
    footprint_ = arena_.bytes + constants_.bytes;
    context_->add(*this);
  } catch (...) {
    context_->arrays.release(constants_, context_->queue.last());
    context_->arrays.release(arena_, 0);
    throw;
  }
}

Executable::~Executable() {
  const Gate::Use inside(context_->gate);
  context_->remove(*this);
  try {
    context_->queue.wait(last_ticket_);
  } catch (const Error&) {
    // The device is lost and runs nothing any more.
  }
  for (auto& entry : entries_) release(*entry);
  modules_.clear();  // inside of the gate
  context_->arrays.release(constants_, last_ticket_);
  context_->arrays.release(arena_, last_ticket_);
}

void Executable::release(Entry& entry) noexcept {
  entry.recording.reset();
  for (const auto& call : entry.calls)
    context_->parameters.release(call->range_, std::max(last_ticket_, call->last_use_.load()));
  for (const vulkan::Range& range : entry.gathered) context_->arrays.release(range, last_ticket_);
  context_->parameters.release(entry.parameters, last_ticket_);
  context_->staging.release(entry.shared, last_ticket_);
}

void Executable::check_inputs(std::span<const Array> inputs) const {
  if (inputs.size() != program_.inputs.size()) {
    throw UsageError("gnomon::run: `" + program_.name + "` takes " +
                     std::to_string(program_.inputs.size()) + " arrays and was given " +
                     std::to_string(inputs.size()) + "; pass one for each input");
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (belongs_to_another(inputs[i], *context_))
      throw UsageError(
          "gnomon::run: " +
          another_text("input " + std::to_string(i) + " of `" + program_.name + "`", inputs[i]));
    storage_of(inputs[i], *context_, "run");
    const Aval& expected = program_.inputs[i];
    if (inputs[i].aval() == expected) continue;
    throw UsageError("gnomon::run: input " + std::to_string(i) + " of `" + program_.name + "` is " +
                     to_string(inputs[i].dtype(), inputs[i].shape()) + " and was compiled for " +
                     to_string(expected.dtype, expected.shape) +
                     "; compile the program for these types");
  }
}

// Memory for the outputs of the current call: that of an input which was given away, or fresh.
void Executable::place_outputs(std::span<const Array> inputs,
                               std::span<const std::uint8_t> donated) {
  const std::size_t in = program_.inputs.size();
  taken_.assign(in, 0);
  for (std::size_t o = 0; o < program_.outputs.size(); ++o) {
    std::shared_ptr<Storage> storage;
    for (const std::uint32_t i : reusable_[o]) {
      if (i >= donated.size() || !donated[i] || taken_[i]) continue;
      if (inputs[i].storage().use_count() != 1) continue;
      taken_[i] = 1;
      storage = inputs[i].storage();
      break;
    }
    if (!storage) {
      vulkan::Request request;
      request.bytes = bytes_of(program_.outputs[o]);
      request.what = "an output";
      request.aval = &program_.outputs[o];
      request.context = out_of_memory_text_;
      // Arrays of one call in one block need one window.
      request.beside = o > 0    ? ranges_[in + o - 1].block
                       : arena_ ? arena_.block
                       : in > 0 ? ranges_[0].block
                                : nullptr;
      const vulkan::Range range = context_->arrays.allocate(request);
      try {
        storage = std::make_shared<DeviceStorage>(context_, range, 0);
      } catch (...) {
        context_->arrays.release(range, 0);
        throw;
      }
    }
    ranges_[in + o] = static_cast<DeviceStorage&>(*storage).range();
    fresh_.push_back(std::move(storage));
  }
}

vulkan::Ticket Executable::play_call(std::span<Array> inputs, std::vector<Array>& outputs,
                                     const Watch& watch, Profile* profile, Turn& turn) {
  Entry& found = entry();
  const std::uint32_t instance = free_instance(found);
  auto* words = reinterpret_cast<std::uint32_t*>(found.parameters.mapped()) +
                std::size_t{instance} * found.instance_words;
  for (const Patch& patch : found.patches) {
    words[patch.word] =
        static_cast<std::uint32_t>((ranges_[patch.source].offset + patch.offset) >> patch.shift);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (taken_[i]) storage_in(inputs[i]).drop_copy();
  const std::uint32_t life = context_->life();
  std::optional<Checkpoint> checkpoint = checkpoint_of(inputs);
  vulkan::Ticket ticket = 0;
  const auto failed = [&](bool goes_on) {
    // A part of it may be under way. Where the device is another by now, all of it is over.
    if (life == context_->life()) found.tickets[instance] = last_ticket_;
    for (const Array& a : inputs) storage_in(a).used_by(last_ticket_);
    for (const auto& s : fresh_) static_cast<DeviceStorage&>(*s).used_by(last_ticket_);
    if (goes_on && checkpoint && !checkpoint->empty()) left_.push_back(std::move(*checkpoint));
    // These may have been overwritten.
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (taken_[i]) inputs[i] = Array();
    if (!held_.empty()) outputs.assign(program_.outputs.size(), Array());
    for (const std::uint32_t o : std::exchange(held_, {})) {
      static_cast<DeviceStorage&>(*fresh_[o]).written_by(last_ticket_);
      outputs[o] = Array(program_.outputs[o], fresh_[o]);
    }
  };
  try {
    Checkpoint* const kept = checkpoint ? &*checkpoint : nullptr;
    ticket = profile != nullptr    ? play_profiled(found, instance, *profile)
             : watch.any() || kept ? play_watched(found, instance, watch, kept, turn)
                                   : play(found, instance);
  } catch (const DeviceError&) {
    failed(true);
    throw;
  } catch (...) {
    failed(false);
    throw;
  }
  found.tickets[instance] = ticket;
  found.last_call = ++calls_;
  last_ticket_ = ticket;
  context_->counters.dispatches.fetch_add(found.dispatches, std::memory_order_relaxed);
  if (found.window_copies > 0) context_->counters.window_copies += found.window_copies;
  return ticket;
}

std::uint32_t& Executable::handlers_of_thread() {
  thread_local std::uint32_t count = 0;
  return count;
}

// A thread that is inside of a handler waits for no other call: that may be the handler's own, or
// one whose handler waits for this one.
std::shared_ptr<Executable> Executable::stand_in(std::unique_lock<std::mutex>& lock) {
  if (handlers_of_thread() == 0) ended_.wait(lock, [&] { return !under_way_; });
  if (!under_way_) return nullptr;
  if (stand_in_) return stand_in_;
  Program program = program_;
  // Their bodies may have been compiled again.
  std::copy_n(schedule_.kernels.begin(), program.kernels.size(), program.kernels.begin());
  ProgramOrigin origin;
  origin.modules = all_modules();
  origin.target = target_;
  origin.sealed = sealed_;
  origin.compile = origin_.compile;
  return stand_in_ = std::make_shared<Executable>(context_, std::move(program), options_,
                                                  std::move(origin));
}

void Executable::run(std::span<Array> inputs, std::vector<Array>& outputs,
                     std::span<const std::uint8_t> donated, const Watch& watch, Profile* profile) {
  std::unique_lock lock(mutex_);
  if (const std::shared_ptr<Executable> other = stand_in(lock)) {
    lock.unlock();
    return other->run(inputs, outputs, donated, watch, profile);
  }
  Turn turn{nullptr, std::move(lock), Gate::Use(context_->gate)};
  context_->device.require();
  check_inputs(inputs);
  if (watch.cancelled())
    throw Cancelled("gnomon::run: `" + program_.name +
                    "` does not start: calls are cancelled, by a CancelToken or the cancel "
                    "callback; reset the one, or have the other return 0");
  const std::size_t in = program_.inputs.size(), out = program_.outputs.size();
  ranges_.resize(in + out);
  for (std::size_t i = 0; i < in; ++i) ranges_[i] = storage_in(inputs[i]).range();

  // Empty when this returns, also by an exception: memory of outputs that never came to be goes
  // back to the pool.
  struct Clear {
    std::vector<std::shared_ptr<Storage>>& list;
    ~Clear() { list.clear(); }
  } clear{fresh_};
  // A call that may have to go on from a checkpoint needs its inputs again.
  place_outputs(inputs, resumable() ? std::span<const std::uint8_t>() : donated);
  const vulkan::Ticket ticket =
      schedule_.steps.empty() ? last_ticket_ : play_call(inputs, outputs, watch, profile, turn);
  for (std::size_t i = 0; i < in; ++i) {
    storage_in(inputs[i]).used_by(ticket);
    if (i >= donated.size() || !donated[i]) continue;
    if (taken_[i]) {
      context_->counters.donated.fetch_add(1, std::memory_order_relaxed);
    } else if (inputs[i].storage().use_count() != 1) {
      context_->counters.shared_donations.fetch_add(1, std::memory_order_relaxed);
    }
    inputs[i] = Array();
  }
  // The device is at work meanwhile.
  if (to_keep_) keep_modules();
  outputs.clear();
  outputs.reserve(out);
  for (std::size_t o = 0; o < out; ++o) {
    static_cast<DeviceStorage&>(*fresh_[o]).written_by(ticket);
    outputs.emplace_back(program_.outputs[o], std::move(fresh_[o]));
  }
}

std::int32_t Executable::Entry::word(std::uint32_t which) const {
  std::int32_t value = 0;
  std::memcpy(&value, shared.mapped() + std::size_t{4} * which, sizeof value);
  return value;
}

std::uint32_t Executable::free_instance(Entry& entry) {
  for (std::uint32_t i = 0; i < entry.tickets.size(); ++i) {
    if (context_->queue.done(entry.tickets[i])) return i;
  }
  const auto count = static_cast<std::uint32_t>(entry.tickets.size());
  if (count < vulkan::Recording::max_instances) {
    entry.recording->add_instance();
    std::memcpy(entry.parameters.mapped() + std::size_t{4} * count * entry.instance_words,
                entry.words.data(), entry.words.size() * 4);
    entry.tickets.push_back(0);
    return count;
  }
  const auto oldest = std::min_element(entry.tickets.begin(), entry.tickets.end());
  context_->queue.wait(*oldest);
  return static_cast<std::uint32_t>(oldest - entry.tickets.begin());
}

Executable::Entry& Executable::entry() {
  key_.resize(ranges_.size());
  for (std::size_t i = 0; i < ranges_.size(); ++i) key_[i] = ranges_[i].block->id;
  for (auto& entry : entries_) {
    if (entry->key == key_) return *entry;
  }
  // What is recorded elsewhere may be submitted at any time.
  const auto idle =
      std::find_if(entries_.begin(), entries_.end(), [](const auto& e) { return !e->recorded(); });
  if (entries_.size() >= max_recordings && idle != entries_.end()) {
    const auto oldest =
        std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
          return a->recorded() != b->recorded() ? b->recorded() : a->last_call < b->last_call;
        });
    for (const auto& call : (*oldest)->calls) context_->queue.wait(call->last_use_);
    context_->queue.wait(*std::max_element((*oldest)->tickets.begin(), (*oldest)->tickets.end()));
    release(**oldest);
    entries_.erase(oldest);
  }
  auto fresh = std::make_unique<Entry>();
  fresh->key = key_;
  try {
    build(*fresh);
  } catch (...) {
    release(*fresh);
    throw;
  }
  entries_.push_back(std::move(fresh));
  ++context_->counters.recordings;
  return *entries_.back();
}

}  // namespace gnomon
