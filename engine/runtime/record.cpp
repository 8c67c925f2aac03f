// engine/runtime/record.cpp -- calls written into somebody else's command buffers, and the public
// face of recordings.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "engine/runtime/executable.h"
#include "gnomon/error.h"
#include "gnomon/vulkan.h"

namespace gnomon {
namespace {

/// Loops that would need more are left to calls, which look whether they have ended.
constexpr std::uint64_t most_dispatches = std::uint64_t{1} << 16;

/// Calls that went without a word, of which nobody knows when the device is done: with so many a
/// fence is submitted to ask. It has passed when as many more have gone, or nearly.
constexpr std::size_t most_unknown = 16;

// The user's line of the first thing that a gated block computes; empty when none is known.
std::string line_of(const Program& program, const GatedBlock& block) {
  for (const Allocation& a : program.allocations) {
    if (a.where.line > 0 && block.first <= a.first_step && a.first_step < block.end)
      return " (" + std::string(a.where.file) + ":" + std::to_string(a.where.line) + ")";
  }
  return {};
}

}  // namespace

Pace::Chunk Executable::bound_of(std::uint32_t which, std::uint64_t dispatches) const {
  const GatedBlock& block = schedule_.gated[which];
  Pace::Chunk c;
  c.steps = block.slices ? slice_steps_[which] : 1;
  c.passes = most_passes_of(which);
  const std::string loop = "gnomon::record: the loop `" + schedule_.steps[block.first].label +
                           "` of `" + program_.name + "`";
  if (c.passes == 0)
    throw UsageError(loop +
                     " has no bound that is known beforehand; give it max_steps, or call the "
                     "function instead" +
                     line_of(program_, block));
  if (c.passes > most_dispatches / std::max<std::uint64_t>(1, dispatches))
    throw UsageError(loop + " may take " + std::to_string(c.passes) + " passes of " +
                     std::to_string(dispatches) + " dispatches and " +
                     std::to_string(most_dispatches) +
                     " dispatches are recorded at most; lower its max_steps, or call the function "
                     "instead" +
                     line_of(program_, block));
  return c;
}

void Executable::append(VkCommandBuffer commands, const Entry& entry,
                        std::span<const vulkan::BoundStretch> stretches) const {
  const vulkan::Recording& recording = *entry.recording;
  std::uint64_t all = 0;
  for (const Segment& segment : entry.segments) {
    std::uint64_t dispatches = 0;
    for (const std::uint32_t s : segment.order) dispatches += recording.dispatches(s).size();
    if (!segment.gated) {
      all += dispatches;
      if (all > most_dispatches)
        throw UsageError("gnomon::record: the loops of `" + program_.name + "` take more than " +
                         std::to_string(most_dispatches) +
                         " dispatches, which is what is recorded at most; record a part of their "
                         "steps, or call the function instead");
      for (const std::uint32_t s : segment.order) stretches[s].append(commands);
      continue;
    }
    const Pace::Chunk bound = bound_of(*segment.gated, dispatches);
    if (const auto& slices = schedule_.gated[*segment.gated].slices)
      recording.append(commands, *arena_.block, arena_.offset + slices->steps.offset,
                       static_cast<std::uint32_t>(bound.steps));
    for (std::uint64_t pass = 0; pass < bound.passes; ++pass)
      for (const std::uint32_t s : segment.order) stretches[s].append(commands);
  }
}

RecordedCall& Executable::free_call(Entry& entry) {
  const auto last_of = [](auto& list, auto at) {
    RecordedCall* const call = *at;
    list.erase(at);
    return call;
  };
  if (!entry.free.empty()) return *last_of(entry.free, entry.free.end() - 1);
  vulkan::Queue& queue = context_->queue;
  if (entry.unknown >= most_unknown) {
    queue.mark();
    entry.unknown = 0;
  }
  if (!entry.waiting.empty()) {
    const vulkan::Ticket oldest = entry.waiting.front()->last_use_.load(std::memory_order_relaxed);
    if (queue.submitted(oldest) && queue.done(oldest))
      return *last_of(entry.waiting, entry.waiting.begin());
  }
  vulkan::Request request;
  request.bytes = std::uint64_t{4} * entry.instance_words;
  request.what = "parameter blocks of a recorded call";
  request.host_writes = true;
  auto call = std::make_unique<RecordedCall>();
  call->entry_ = &entry;
  entry.calls.reserve(entry.calls.size() + 1);
  // Letting go of it allocates nothing.
  entry.free.reserve(entry.calls.capacity());
  entry.waiting.reserve(entry.calls.capacity());
  call->range_ = context_->parameters.allocate(request);
  try {
    const vulkan::Recording& recording = *entry.recording;
    const auto parameters = entry.recording->parameters_in(call->range_);
    call->dispatches_ = entry.dispatches;
    call->dispatched_ = &context_->counters.dispatches;
    if (entry.whole)
      call->whole_ = recording.bind(parameters, *entry.whole);
    else
      for (std::uint32_t s = 0; s < recording.stretches(); ++s)
        call->stretches_.push_back(recording.bind(parameters, s));
  } catch (...) {
    context_->parameters.release(call->range_, 0);
    throw;
  }
  std::memcpy(call->range_.mapped(), entry.words.data(), entry.words.size() * 4);
  return *entry.calls.emplace_back(std::move(call));
}

RecordedCall& Executable::take(Entry& entry, const BoundCall& bound) {
  RecordedCall& call = free_call(entry);
  if (call.bound_ != bound.serial) {
    auto* words = reinterpret_cast<std::uint32_t*>(call.range_.mapped());
    for (std::size_t i = 0; i < entry.patches.size(); ++i)
      words[entry.patches[i].word] = bound.values[i];
    call.bound_ = bound.serial;
  }
  entry.last_call = ++calls_;
  call.taken_ = true;
  call.holders_.store(1, std::memory_order_relaxed);
  return call;
}

RecordedCall& Executable::write(VkCommandBuffer commands, Entry& entry, const BoundCall& bound) {
  RecordedCall& call = take(entry, bound);
  try {
    call.write(commands, *this);
  } catch (...) {
    call.taken_ = false;
    entry.free.push_back(&call);
    throw;
  }
  return call;
}

// A call of nothing, which belongs to its holders.
RecordedCall& Executable::nobodys() {
  RecordedCall& call = *std::make_unique<RecordedCall>().release();
  call.holders_.store(1, std::memory_order_relaxed);
  return call;
}

std::vector<std::shared_ptr<Storage>> Executable::place(std::span<const Array> inputs,
                                                        std::vector<Array>& outputs) {
  const std::size_t in = program_.inputs.size(), out = program_.outputs.size();
  if (outputs.size() != out)
    throw UsageError("gnomon::record: `" + program_.name + "` gives " + std::to_string(out) +
                     " arrays and there is room for " + std::to_string(outputs.size()) +
                     "; give a tree of what it returns, whose arrays may be empty");
  ranges_.resize(in + out);
  for (std::size_t i = 0; i < in; ++i)
    ranges_[i] = static_cast<DeviceStorage&>(*inputs[i].storage()).range();
  for (std::size_t o = 0; o < out; ++o) {
    const Aval& aval = program_.outputs[o];
    const std::string name = "result " + std::to_string(o) + " of `" + program_.name + "`";
    if (outputs[o].empty()) {
      vulkan::Request request;
      request.bytes = bytes_of(aval);
      request.what = "an output";
      request.aval = &aval;
      request.context = out_of_memory_text_;
      ranges_[in + o] = context_->arrays.allocate(request);
      outputs[o] = Array(aval, std::make_shared<DeviceStorage>(context_, ranges_[in + o], 0));
      continue;
    }
    const vulkan::Range& range = storage_of(outputs[o], *context_, "record").range();
    if (outputs[o].aval() != aval)
      throw UsageError("gnomon::record: " + name + " is " + to_string(aval.dtype, aval.shape) +
                       " and the array to write it to is " +
                       to_string(outputs[o].dtype(), outputs[o].shape()) +
                       "; give one of its type, or an empty one");
    const auto meets = [&](std::size_t other) {
      const vulkan::Range& r = ranges_[other];
      return r.block->buffer == range.block->buffer && r.offset < range.offset + range.bytes &&
             range.offset < r.offset + r.bytes;
    };
    for (std::size_t i = 0; i < in; ++i) {
      if (!meets(i)) continue;
      const bool same = ranges_[i].offset == range.offset && ranges_[i].block == range.block;
      if (!same || std::find(reusable_[o].begin(), reusable_[o].end(), i) == reusable_[o].end())
        throw UsageError("gnomon::record: " + name + " would overwrite input " + std::to_string(i) +
                         " while it is read; write it to another array, and take turns");
    }
    for (std::size_t other = in; other < in + o; ++other)
      if (meets(other))
        throw UsageError("gnomon::record: " + name + " would overwrite result " +
                         std::to_string(other - in) + "; give each an array of its own");
    ranges_[in + o] = range;
  }
  std::vector<std::shared_ptr<Storage>> storages;
  for (const Array& a : outputs) storages.push_back(a.storage());
  for (const Array& a : inputs) storages.push_back(a.storage());
  return storages;
}

Executable::Entry& Executable::bind(BoundCall& bound) {
  Entry& found = entry();
  if (found.id == 0) found.id = ++recorded_entries_;
  bound.entry = found.id;
  bound.serial = ++bound_calls_;
  bound.values.clear();
  for (const Patch& patch : found.patches)
    bound.values.push_back(
        static_cast<std::uint32_t>((ranges_[patch.source].offset + patch.offset) >> patch.shift));
  return found;
}

Executable::Entry* Executable::entry_of(const BoundCall& bound) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const auto& e) { return e->id == bound.entry; });
  return bound.entry == 0 || found == entries_.end() ? nullptr : found->get();
}

void Executable::wait_to_record(std::unique_lock<std::mutex>& lock) {
  if (handlers_of_thread() == 0) ended_.wait(lock, [&] { return !under_way_; });
  if (under_way_)
    throw UsageError("gnomon::record: a call of `" + program_.name +
                     "` is under way and this is its on_step handler, or another that it waits "
                     "for; record it before the call or behind it");
}

RecordedCall& Executable::record(VkCommandBuffer commands, std::span<const Array> inputs,
                                 std::vector<Array>& outputs, BoundCall* bound) {
  check_inputs(inputs);
  std::unique_lock lock(mutex_);
  wait_to_record(lock);
  const Gate::Use inside(context_->gate);
  auto storages = place(inputs, outputs);
  BoundCall own;
  RecordedCall& call = schedule_.steps.empty() ? nobodys() : write(commands, bind(own), own);
  call.storages_ = std::move(storages);
  call.outputs_ = outputs.size();
  call.executable_ = shared_from_this();
  if (bound != nullptr) *bound = std::move(own);
  return call;
}

RecordedCall& Executable::prepare(std::span<const Array> inputs, std::vector<Array>& outputs) {
  check_inputs(inputs);
  std::unique_lock lock(mutex_);
  wait_to_record(lock);
  const Gate::Use inside(context_->gate);
  auto storages = place(inputs, outputs);
  BoundCall own;
  RecordedCall& call = schedule_.steps.empty() ? nobodys() : take(bind(own), own);
  call.storages_ = std::move(storages);
  call.outputs_ = outputs.size();
  call.executable_ = shared_from_this();
  return call;
}

RecordedCall* Executable::record_again(VkCommandBuffer commands,
                                       const std::shared_ptr<Executable>& self,
                                       const BoundCall& bound, std::span<const Array* const> arrays,
                                       std::size_t outputs, std::span<const Array> captures) {
  const std::lock_guard lock(mutex_);
  Entry* const found = entry_of(bound);
  if (found == nullptr) return nullptr;
  RecordedCall& call = write(commands, *found, bound);
  for (const Array* a : arrays) call.storages_.push_back(a->storage());
  for (const Array& a : captures) call.storages_.push_back(a.storage());
  call.outputs_ = outputs;
  call.executable_ = self;
  return &call;
}

void Executable::give_back(RecordedCall& call) noexcept {
  const std::lock_guard lock(mutex_);
  Entry& entry = *static_cast<Entry*>(call.entry_);
  const auto last_use_of = [](const RecordedCall& c) {
    return c.last_use_.load(std::memory_order_relaxed);
  };
  const vulkan::Ticket last = last_use_of(call);
  last_ticket_ = std::max(last_ticket_, last);
  call.taken_ = false;
  if (context_->queue.ended(last)) {
    entry.free.push_back(&call);
    return;
  }
  // Others may have come with later tickets in between.
  const auto later = [&](vulkan::Ticket t, const RecordedCall* c) { return t < last_use_of(*c); };
  entry.waiting.insert(std::upper_bound(entry.waiting.begin(), entry.waiting.end(), last, later),
                       &call);
  if (!context_->queue.submitted(last)) ++entry.unknown;
}

// With loops: behind the executable's lock.
void RecordedCall::write(VkCommandBuffer commands, const Executable& executable) const {
  if (whole_)
    whole_.append(commands);
  else
    executable.append(commands, *static_cast<const Executable::Entry*>(entry_), stretches_);
  dispatched_->fetch_add(dispatches_, std::memory_order_relaxed);
}

// What frames run over and over is marked as hot, so that it lies together. What is counted is
// counted first: behind the commands it would wait until all that they have
// written is in the caches.
[[gnu::hot]] void RecordedCall::record(VkCommandBuffer commands) {
  if (whole_) {
    holders_.fetch_add(1, std::memory_order_relaxed);
    dispatched_->fetch_add(dispatches_, std::memory_order_relaxed);
    whole_.append(commands);
    return;
  }
  if (entry_ != nullptr) {
    // How far loops are written out, calls have measured.
    const std::lock_guard lock(executable_->mutex_);
    write(commands, *executable_);
  }
  holders_.fetch_add(1, std::memory_order_relaxed);
}

void RecordedCall::used_by(vulkan::Ticket ticket) {
  vulkan::Ticket seen = last_use_.load(std::memory_order_relaxed);
  while (seen < ticket &&
         !last_use_.compare_exchange_weak(seen, ticket, std::memory_order_relaxed)) {
  }
  for (std::size_t i = 0; i < storages_.size(); ++i) {
    auto& storage = static_cast<DeviceStorage&>(*storages_[i]);
    if (i < outputs_)
      storage.written_by(ticket);
    else
      storage.used_by(ticket);
  }
}

void RecordedCall::submitted() { used_by(executable_->context()->queue.mark()); }

void RecordedCall::used_to_the_end() noexcept { used_by(executable_->context()->queue.upcoming()); }

void RecordedCall::end() noexcept {
  // Whoever is last takes with it what may be this call's executable.
  const std::shared_ptr<Executable> own = std::move(executable_);
  storages_.clear();
  if (entry_ != nullptr)
    own->give_back(*this);
  else
    delete this;  // nobody lent it
}

void Recording::submitted() {
  if (!call_) return;
  call_->submitted();
  call_.get_deleter().known = true;
}
[[gnu::hot]] void Recording::finished() {
  call_.get_deleter().known = true;
  call_.reset();
}

[[gnu::hot]] Recording Prepared::record(VkCommandBuffer commands) const {
  call_->record(commands);
  return Recording(call_.get());
}

Prepared detail::prepare(Executable& executable, std::span<const Array> inputs,
                         std::vector<Array>& outputs) {
  return Prepared(&executable.prepare(inputs, outputs));
}

[[gnu::hot]] void detail::GiveBack::operator()(RecordedCall* call) const { call->give_back(known); }

}  // namespace gnomon
