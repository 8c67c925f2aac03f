// engine/runtime/record.cpp -- Executable::record: a call written into somebody else's command
// buffer.
#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/runtime/executable.h"
#include "gnomon/error.h"

namespace gnomon {
namespace {

/// Loops that would need more are left to calls, which look whether they have ended.
constexpr std::uint64_t most_dispatches = std::uint64_t{1} << 16;

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
  if (block.slices && block.slices->per_pass > 0) {
    // Slices as calls have measured them. One pass more for what stands behind the loop.
    c.steps = slice_steps_[which];
    const std::uint64_t pass = c.steps * block.slices->per_pass;
    if (block.most_steps > 0) c.passes = (block.most_steps + pass - 1) / pass + 1;
  } else {
    c.steps = block.slices ? slice_steps_[which] : 1;
    c.passes = block.most_passes;
  }
  const std::string loop = "gnomon::record: the loop `" + schedule_.works[block.first].label +
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
                        const vulkan::Recording& recording) const {
  std::uint64_t all = 0;
  for (const Turn& turn : entry.turns) {
    std::uint64_t dispatches = 0;
    for (const std::uint32_t s : turn.order) dispatches += recording.dispatches(s);
    if (!turn.gated) {
      all += dispatches;
      if (all > most_dispatches)
        throw UsageError("gnomon::record: the loops of `" + program_.name + "` take more than " +
                         std::to_string(most_dispatches) +
                         " dispatches, which is what is recorded at most; record a part of their "
                         "steps, or call the function instead");
      for (const std::uint32_t s : turn.order) recording.append(commands, s);
      continue;
    }
    const Pace::Chunk bound = bound_of(*turn.gated, dispatches);
    if (const auto& slices = schedule_.gated[*turn.gated].slices)
      recording.append(commands, *arena_.block, arena_.offset + slices->steps.offset,
                       static_cast<std::uint32_t>(bound.steps));
    for (std::uint64_t pass = 0; pass < bound.passes; ++pass)
      for (const std::uint32_t s : turn.order) recording.append(commands, s);
  }
}

std::uint32_t Executable::free_slot(Entry& entry) {
  for (std::uint32_t i = 0; i < entry.slots.size(); ++i)
    if (!entry.slots[i].taken && context_->queue.done(entry.slots[i].last_use)) return i;
  vulkan::Request request;
  request.bytes = std::uint64_t{4} * entry.instance_words;
  request.what = "parameter blocks of a recorded call";
  request.host_writes = true;
  Slot slot;
  entry.slots.reserve(entry.slots.size() + 1);
  slot.parameters = context_->parameters.allocate(request);
  try {
    slot.recording = entry.recording->apart(slot.parameters);
  } catch (...) {
    context_->parameters.release(slot.parameters, 0);
    throw;
  }
  std::memcpy(slot.parameters.mapped(), entry.words.data(), entry.words.size() * 4);
  entry.slots.push_back(std::move(slot));
  return static_cast<std::uint32_t>(entry.slots.size() - 1);
}

std::unique_ptr<RecordedCall> Executable::record(VkCommandBuffer commands,
                                                 std::span<const Array> inputs,
                                                 std::vector<Array>& outputs) {
  check_inputs(inputs);
  const std::size_t in = program_.inputs.size(), out = program_.outputs.size();
  outputs.resize(out);
  auto call = std::make_unique<RecordedCall>();
  const std::lock_guard lock(mutex_);
  const Gate::Use inside(context_->gate);
  ranges_.resize(in + out);
  for (std::size_t i = 0; i < in; ++i) {
    ranges_[i] = static_cast<DeviceStorage&>(*inputs[i].storage()).range();
    call->inputs_.push_back(inputs[i].storage());
  }
  for (std::size_t o = 0; o < out; ++o) {
    const Aval& aval = program_.outputs[o];
    const std::string name = "result " + std::to_string(o) + " of `" + program_.name + "`";
    if (outputs[o].empty()) {
      vulkan::Request request;
      request.bytes = bytes_of(aval);
      request.what = "an output";
      request.aval = &aval;
      request.context = out_of_memory_text_;
      const vulkan::Range range = context_->arrays.allocate(request);
      call->outputs_.push_back(std::make_shared<DeviceStorage>(context_, range, 0));
      ranges_[in + o] = range;
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
    call->outputs_.push_back(outputs[o].storage());
  }
  if (!schedule_.works.empty()) {
    Entry& found = entry();
    if (found.id == 0) found.id = ++recorded_entries_;
    const std::uint32_t slot = free_slot(found);
    auto* words = reinterpret_cast<std::uint32_t*>(found.slots[slot].parameters.mapped());
    for (const Patch& patch : found.patches)
      words[patch.word] =
          static_cast<std::uint32_t>((ranges_[patch.source].offset + patch.offset) >> patch.shift);
    append(commands, found, *found.slots[slot].recording);
    found.last_call = ++calls_;
    found.slots[slot].taken = true;
    call->entry_ = found.id;
    call->slot_ = slot;
    context_->counters.dispatches.fetch_add(found.dispatches, std::memory_order_relaxed);
  }
  call->executable_ = shared_from_this();
  for (std::size_t o = 0; o < out; ++o)
    if (outputs[o].empty()) outputs[o] = Array(program_.outputs[o], call->outputs_[o]);
  return call;
}

void Executable::give_back(std::uint32_t id, std::uint32_t slot, vulkan::Ticket last_use,
                           bool free) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e->id == id; });
  if (found == entries_.end()) return;  // went with a lost device
  Slot& s = (*found)->slots[slot];
  s.last_use = std::max(s.last_use, last_use);
  last_ticket_ = std::max(last_ticket_, last_use);
  if (free) s.taken = false;
}

RecordedCall::~RecordedCall() {
  if (executable_ && entry_ != 0) executable_->give_back(entry_, slot_, 0, true);
}

void RecordedCall::submitted() {
  if (!executable_) return;
  const vulkan::Ticket ticket = executable_->context()->queue.mark();
  for (const auto& s : inputs_) static_cast<DeviceStorage&>(*s).used_by(ticket);
  for (const auto& s : outputs_) static_cast<DeviceStorage&>(*s).written_by(ticket);
  if (entry_ != 0) executable_->give_back(entry_, slot_, ticket, false);
}

}  // namespace gnomon
