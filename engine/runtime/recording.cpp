// engine/runtime/recording.cpp -- Executable::build: from dispatches and the blocks of one call to
// a recording.
#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>

#include "codegen/program/copies.h"
#include "codegen/program/grid.h"
#include "engine/runtime/executable.h"
#include "gnomon/error.h"
#include "shaders/support/check.h"

namespace gnomon {
namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Inputs that were gathered stand behind the ranges of the call, as places of this kind and index.
constexpr Place gathered_place(std::uint32_t which) { return {Place::Kind::output, which, 0}; }

}  // namespace

const vulkan::Range& Executable::range_of(const Place& place) const {
  switch (place.kind) {
    case Place::Kind::input:
      return ranges_[place.index];
    case Place::Kind::output:
      return ranges_[program_.inputs.size() + place.index];
    case Place::Kind::arena:
      return arena_;
    case Place::Kind::constants:
      break;
  }
  return constants_;
}

// Windows where they reach, addresses for the rest: blocks larger than a window, and where there
// are addresses what does not fit into four windows. Without addresses a large block has several
// windows in a row. Texels need a window, so they come first.
Executable::Reach Executable::reach(const Step& step) const {
  if (const auto stored = stored_reach(step)) return *stored;
  const bool device_addresses = target_.features.addresses;
  const auto& buffers = schedule_.kernels[step.kernel].buffers;
  Reach result;
  result.windows.assign(step.operands.size(), spirv::by_address);
  for (const bool texels : {true, false}) {
    for (std::size_t o = 0; o < step.operands.size(); ++o) {
      if (buffers[o].texel != texels) continue;
      const vulkan::Block* block = range_of(step.operands[o]).block;
      if (block == nullptr) {  // an array without elements in an arena without bytes
        result.windows[o] = 0;
        continue;
      }
      // A buffer of another owner need not have one.
      const bool addresses = device_addresses && block->address != 0;
      const std::uint64_t most = context_->device.max_window_bytes();
      const bool whole = texels && block->texels != VK_NULL_HANDLE;
      const auto parts = static_cast<unsigned>(addresses ? 1 : (block->bytes + most - 1) / most);
      if (addresses && !whole && (texels || block->bytes > most)) continue;
      const auto at = std::find(result.blocks.begin(), result.blocks.end(), block);
      const auto window = static_cast<std::size_t>(at - result.blocks.begin());
      if (addresses && !buffers[o].coherent && window >= spirv::max_windows) continue;
      if (at == result.blocks.end()) result.blocks.insert(at, parts, block);
      result.windows[o] = spirv::spanning(static_cast<unsigned>(window), whole ? 1 : parts);
    }
  }
  return result;
}

std::optional<Executable::Reach> Executable::stored_reach(const Step& step) const {
  // Those behind the program's own copy, all of them alike.
  const auto kernel =
      std::min<std::uint32_t>(step.kernel, static_cast<std::uint32_t>(program_.kernels.size()));
  for (const auto& [of, windows] : arrangements_) {
    if (of != kernel || windows.size() != step.operands.size()) continue;
    Reach result{{}, windows};
    bool serves = true;
    for (std::size_t o = 0; o < windows.size() && serves; ++o) {
      const vulkan::Block* block = range_of(step.operands[o]).block;
      if (block == nullptr) continue;  // no elements
      if (result.blocks.size() <= windows[o]) result.blocks.resize(windows[o] + 1u);
      const vulkan::Block*& shown = result.blocks[windows[o]];
      serves = (shown == nullptr || shown == block) &&
               block->bytes <= context_->device.max_window_bytes();
      shown = block;
    }
    if (!serves) continue;
    // A window that nothing without elements needs shows what another shows.
    for (const vulkan::Block*& shown : result.blocks)
      if (shown == nullptr) shown = *std::ranges::find_if(result.blocks, [](auto* b) { return b; });
    return result;
  }
  return std::nullopt;
}

// Inputs to copy next to one another until no dispatch sees more than four blocks; the smallest
// first.
std::vector<bool> Executable::inputs_to_gather() const {
  std::vector<bool> chosen(program_.inputs.size());
  for (const Step& step : schedule_.steps) {
    if (sealed_ && step.groups > 0 && !stored_reach(step)) {
      for (const Place& place : step.operands)
        if (place.kind == Place::Kind::input) chosen[place.index] = true;
      continue;
    }
    const auto blocks = reach(step).blocks;
    if (blocks.size() <= spirv::max_windows) continue;
    struct Candidate {
      const vulkan::Block* block;
      std::uint64_t bytes = 0;
      bool movable = true;
    };
    std::vector<Candidate> candidates;
    for (const vulkan::Block* block : blocks) {
      Candidate candidate{block};
      // Many windows of one block would not become fewer.
      candidate.movable = std::count(blocks.begin(), blocks.end(), block) == 1;
      std::vector<bool> counted(chosen.size());
      for (const Place& place : step.operands) {
        if (range_of(place).block != block) continue;
        if (place.kind != Place::Kind::input) {
          candidate.movable = false;
        } else if (!counted[place.index]) {
          counted[place.index] = true;
          candidate.bytes += ranges_[place.index].bytes;
        }
      }
      if (candidate.movable) candidates.push_back(candidate);
    }
    std::sort(candidates.begin(), candidates.end(),
              [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    // The copies take one window themselves.
    const std::size_t moved = blocks.size() + 1 - spirv::max_windows;
    if (candidates.size() < moved) {
      throw DeviceError("gnomon::run: `" + step.label + "` of `" + program_.name + "` needs " +
                        std::to_string(blocks.size()) +
                        " windows to its arrays and a kernel has 4; use smaller arrays");
    }
    for (const Place& place : step.operands) {
      if (place.kind != Place::Kind::input) continue;
      for (std::size_t c = 0; c < moved; ++c) {
        if (candidates[c].block == ranges_[place.index].block) chosen[place.index] = true;
      }
    }
  }
  return chosen;
}

// Puts copies in front and lets everything read those. Gathered inputs are addressed like outputs
// that follow the program's own: their ranges are appended to the call's while the recording is
// built.
void Executable::gather(Entry& entry, const std::vector<bool>& chosen, Schedule& schedule,
                        std::vector<bool>& extra) {
  std::vector<Step>& steps = schedule.steps;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < chosen.size(); ++i) total += chosen[i] ? ranges_[i].bytes : 0;
  vulkan::Request request;
  request.bytes = total;
  request.what = "inputs gathered into one window";
  request.context = out_of_memory_text_;
  request.beside = ranges_.back().block;
  entry.gathered.push_back(context_->arrays.allocate(request));

  if (gather_kernel_ == ~0u) {
    gather_kernel_ = static_cast<std::uint32_t>(schedule_.kernels.size());
    schedule_.kernels.push_back(copy_frame(target_));
  }
  std::vector<Step> copies;
  vulkan::Range piece = entry.gathered[0];
  for (std::uint32_t i = 0; i < chosen.size(); ++i) {
    if (!chosen[i]) continue;
    piece.bytes = ranges_[i].bytes;
    const Place to =
        gathered_place(static_cast<std::uint32_t>(ranges_.size() - program_.inputs.size()));
    ranges_.push_back(piece);
    piece.offset += piece.bytes;
    for (Step& step : steps) {
      for (Place& place : step.operands) {
        if (place.kind == Place::Kind::input && place.index == i) {
          place = {to.kind, to.index, place.offset};
        }
      }
    }
    copies.push_back(copy_step(gather_kernel_, target_, {Place::Kind::input, i, 0}, to,
                               bytes_of(program_.inputs[i])));
  }
  entry.window_copies = static_cast<std::uint32_t>(copies.size());
  steps.front().barrier_before = true;
  steps.insert(steps.begin(), copies.begin(), copies.end());
  const auto shift = static_cast<std::uint32_t>(copies.size());
  schedule.first_advance += shift;
  schedule.steers.insert(schedule.steers.begin(), shift, false);
  for (LoopBlock& loop : schedule.loops) {
    loop.first += shift;
    loop.end += shift;
    for (std::uint32_t& phase : loop.phases) phase += shift;
  }
  for (GatedBlock& block : schedule.gated) {
    block.first += shift;
    block.end += shift;
  }
  const bool validating = context_->device.instance().validating();
  extra.insert(extra.begin(), copies.size(), validating);
}

// What all dispatches of one step have in common.
struct Executable::Prepared {
  std::vector<std::uint8_t> window_of;   // per operand
  std::uint32_t windows = 0;             // index into the window tuples
  std::vector<std::uint32_t> block;      // the parameter block up to the user words
  std::vector<std::uint32_t> addresses;  // what follows them
  std::vector<Patch> patches;
};

Executable::Prepared Executable::prepare(const Step& step, std::size_t own_ranges,
                                         std::vector<vulkan::Windows>& window_tuples) {
  Prepared result;
  const kernel::Kernel& kernel = schedule_.kernels[step.kernel];
  const auto reached = reach(step);
  const auto& blocks = reached.blocks;
  const auto& window_of = reached.windows;
  GNOMON_CHECK(blocks.size() <= spirv::max_windows,
               "gathering left more than four windows: " + step.label);
  vulkan::Windows windows{};
  std::copy(blocks.begin(), blocks.end(), windows.begin());
  auto tuple = std::find(window_tuples.begin(), window_tuples.end(), windows);
  if (tuple == window_tuples.end()) tuple = window_tuples.insert(tuple, windows);
  result.windows = static_cast<std::uint32_t>(tuple - window_tuples.begin());

  result.block.assign(kernel::parameter_header_words + step.operands.size(), 0);
  for (std::size_t o = 0; o < step.operands.size(); ++o) {
    const Place& place = step.operands[o];
    Patch patch;
    patch.word = static_cast<std::uint32_t>(kernel::parameter_header_words + o);
    patch.shift = static_cast<std::uint32_t>(std::countr_zero(size_of(kernel.buffers[o].dtype)));
    patch.offset = place.offset;
    if (place.kind == Place::Kind::input) patch.source = place.index;
    if (place.kind == Place::Kind::output)
      patch.source = static_cast<std::uint32_t>(program_.inputs.size() + place.index);
    const vulkan::Range& range = range_of(place);
    result.block[patch.word] =
        static_cast<std::uint32_t>((range.offset + place.offset) >> patch.shift);
    const bool moves = place.kind == Place::Kind::input ||
                       (place.kind == Place::Kind::output && patch.source < own_ranges);
    if (moves) result.patches.push_back(patch);
    // The block belongs to the recording's key, so its address needs no patch.
    if (window_of[o] == spirv::by_address) {
      result.addresses.push_back(static_cast<std::uint32_t>(range.block->address));
      result.addresses.push_back(static_cast<std::uint32_t>(range.block->address >> 32));
    }
  }
  result.window_of = window_of;
  return result;
}

// A recording that comes into being.
struct Executable::Building {
  Entry& entry;
  const Schedule& schedule;
  const std::vector<Prepared>& prepared;
  const std::vector<bool>& extra;
  std::uint64_t alignment;
  std::uint32_t last = 0, range = 0;  // where the last block begins, in words; most bytes of one

  /// Appends a parameter block; where it begins.
  std::uint32_t append(std::span<const std::uint32_t> block) {
    last = static_cast<std::uint32_t>(entry.words.size());
    const auto bytes = static_cast<std::uint32_t>(round_up(4 * block.size(), alignment));
    range = std::max(range, bytes);
    entry.words.insert(entry.words.end(), block.begin(), block.end());
    entry.words.resize(last + bytes / 4);
    return last;
  }
  void patch(const Prepared& part, std::uint32_t first) {
    for (Patch p : part.patches) {
      p.word += first;
      entry.patches.push_back(p);
    }
  }
  std::vector<std::uint32_t> block_of(const Stretch& stretch, std::uint32_t which) const {
    const Prepared& ready = prepared[stretch.steps[which]];
    const auto parameters = stretch.parameters(which);
    std::vector<std::uint32_t> block = ready.block;
    block.insert(block.end(), parameters.begin(), parameters.end());
    block.insert(block.end(), ready.addresses.begin(), ready.addresses.end());
    return block;
  }
  vulkan::Dispatch dispatch_of(std::uint32_t step, bool first) const {
    vulkan::Dispatch dispatch;
    dispatch.step = step;
    dispatch.windows = prepared[step].windows;
    dispatch.barrier_before = schedule.steps[step].barrier_before || (extra[step] && !first);
    dispatch.writes_counts = schedule.steers[step];
    return dispatch;
  }
};

void Executable::add_single(Building& to, const Stretch& stretch, std::uint32_t which,
                            std::vector<vulkan::Dispatch>& dispatches) {
  const bool validating = context_->device.instance().validating();
  const Step& step = to.schedule.steps[stretch.steps[which]];
  const Prepared& ready = to.prepared[stretch.steps[which]];
  std::vector<std::uint32_t> block = to.block_of(stretch, which);
  vulkan::Dispatch dispatch = to.dispatch_of(stretch.steps[which], dispatches.empty());
  dispatch.pipeline = module(step.kernel, ready.window_of, 0)->pipeline->handle();
  std::uint64_t counts = step.counts ? arena_.offset + step.counts->offset : 0;
  for (const GridPiece& piece : grid_of(step.groups, target_.max_groups)) {
    dispatch.groups_x = piece.x;
    dispatch.groups_y = piece.y;
    if (step.counts) dispatch.counts = arena_.block;
    dispatch.counts_offset = counts;
    counts += 12;
    block[0] = piece.base;
    block[1] = piece.x;
    const std::uint32_t first = to.append(block);
    dispatch.parameter_offset = 4 * first;
    to.patch(ready, first);
    dispatches.push_back(dispatch);
    // The parts touch different elements; only the validation layer, which sees whole windows,
    // needs an order.
    dispatch.barrier_before = validating;
  }
}

void Executable::add_joined(Building& to, const Stretch& stretch, const Joined& plan,
                            std::vector<vulkan::Dispatch>& dispatches) {
  const std::uint32_t groups = plan.slots << plan.shift;
  std::vector<std::uint32_t> block{0, groups, plan.shift, 0};
  block.resize(std::size_t{4} * plan.first_row());
  std::vector<std::uint32_t> steps;
  std::uint32_t slot = 0;
  const auto slots_of = [&](const Step& s) {
    return Joined::slots_of({false, {}, s.groups}, plan.shift);
  };
  for (const std::uint32_t p : plan.parts) {
    const Step& part = to.schedule.steps[stretch.steps[p]];
    steps.push_back(stretch.steps[p]);
    const std::uint32_t slots = slots_of(part);
    std::fill_n(block.begin() + kernel::parameter_header_words + slot, slots,
                static_cast<std::uint32_t>(block.size() / 4));
    std::vector<std::uint32_t> own = to.block_of(stretch, p);
    own[0] = 0u - (slot << plan.shift);
    own[1] = part.groups;
    own.resize(round_up(own.size(), 4));
    slot += slots;
    block.insert(block.end(), own.begin(), own.end());
  }
  block.resize(std::size_t{4} * std::bit_ceil(plan.rows));
  const std::uint32_t first = to.append(block);
  for (std::uint32_t p = 0, slots = 0; p < plan.parts.size(); ++p) {
    const Step& part = to.schedule.steps[steps[p]];
    to.patch(to.prepared[steps[p]], first + 4 * block[kernel::parameter_header_words + slots]);
    slots += slots_of(part);
  }
  const std::uint32_t lead = steps[0];
  vulkan::Dispatch dispatch = to.dispatch_of(lead, dispatches.empty());
  for (const std::uint32_t s : steps) dispatch.writes_counts |= to.schedule.steers[s];
  dispatch.pipeline =
      module(to.schedule.steps[lead].kernel, to.prepared[lead].window_of, std::bit_ceil(plan.rows))
          ->pipeline->handle();
  dispatch.joined = true;
  dispatch.groups_x = groups;
  dispatch.parameter_offset = 4 * first;
  dispatches.push_back(dispatch);
  to.entry.joined.emplace(lead, std::move(steps));
}

// A sealed program has modules for single dispatches. What the device counts stays alone as well,
// and where a barrier is missing, which validation is to see.
std::vector<std::vector<Joined>> Executable::joined(const Submission& submission,
                                                    const Schedule& schedule,
                                                    const std::vector<Prepared>& prepared) const {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::vector<std::uint8_t>>, std::uint32_t>
      kinds;
  const std::size_t copies = schedule.steps.size() - extra_barriers_.size();
  const auto hazardous = [&](std::size_t s) {
    return context_->device.instance().validating() && s >= copies && !extra_barriers_[s - copies];
  };
  std::vector<Part> parts;
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    const Step& step = schedule.steps[s];
    Part part{step.barrier_before, {}, step.groups};
    const Prepared& ready = prepared[s];
    if (step.groups > 0 && !step.counts && !sealed_ && !hazardous(s)) {
      part.alike = kinds
                       .try_emplace({step.kernel, ready.windows, ready.window_of},
                                    static_cast<std::uint32_t>(kinds.size()))
                       .first->second;
      const std::size_t words =
          ready.block.size() + step.parameters.size() + ready.addresses.size();
      part.rows = static_cast<std::uint32_t>((words + 3) / 4);
    }
    parts.push_back(part);
  }
  std::vector<std::vector<Joined>> plans;
  for (const Stretch& stretch : submission.stretches) {
    std::vector<Part> played;
    for (const std::uint32_t step : stretch.steps) played.push_back(parts[step]);
    plans.push_back(join(played, target_.max_groups));
  }
  return plans;
}

void Executable::make_modules_of(const Submission& submission, const Schedule& schedule,
                                 const std::vector<Prepared>& prepared,
                                 const std::vector<std::vector<Joined>>& plans) {
  std::vector<Module> wanted;
  for (std::size_t s = 0; s < plans.size(); ++s)
    for (const Joined& plan : plans[s]) {
      const std::uint32_t step = submission.stretches[s].steps[plan.parts[0]];
      const std::uint32_t rows = plan.parts.size() == 1 ? 0 : std::bit_ceil(plan.rows);
      const Module module{schedule.steps[step].kernel, prepared[step].window_of, rows};
      if (std::ranges::none_of(wanted, [&](const Module& m) { return m.same_as(module); }))
        wanted.push_back(module);
    }
  make_modules(std::move(wanted));
}

vulkan::Stretches Executable::stretches_of(Building& building, const Submission& submission,
                                           const std::vector<std::vector<Joined>>& plans) {
  const bool validating = context_->device.instance().validating();
  vulkan::Stretches result;
  if (context_->device.labels())
    for (const Step& step : building.schedule.steps)
      result.labels.push_back(program_.name + ": " + step.label);
  for (std::size_t s = 0; s < plans.size(); ++s) {
    const Stretch& stretch = submission.stretches[s];
    std::vector<vulkan::Dispatch> dispatches;
    for (const Joined& plan : plans[s])
      if (plan.parts.size() == 1)
        add_single(building, stretch, plan.parts[0], dispatches);
      else
        add_joined(building, stretch, plan, dispatches);
    // Parts that stand elsewhere than they did need barriers elsewhere; see extra_barriers_.
    if (validating && dispatches.size() < stretch.size())
      for (std::size_t d = 1; d < dispatches.size(); ++d) dispatches[d].barrier_before = true;
    // The layer sees whole windows: what writes to one may have written counts that lie there.
    if (validating)
      for (vulkan::Dispatch& d : dispatches) d.writes_counts = true;
    result.stretches.push_back(std::move(dispatches));
  }
  return result;
}

std::vector<vulkan::BufferCopy> Executable::share_words(Entry& entry, const Schedule& schedule) {
  vulkan::Request request;
  request.bytes = 4 * Entry::words_per_block * schedule.gated.size();
  request.what = "what the host and loops tell each other";
  request.host_writes = true;
  entry.shared = context_->staging.allocate(request);
  std::memset(entry.shared.mapped(), 0, request.bytes);
  // A chunk uses one of two words of each kind, the next one the other.
  std::vector<vulkan::BufferCopy> transfers;
  const auto look = [&](const Place& at) {
    transfers.push_back({arena_.block->buffer, entry.shared.block->buffer,
                         arena_.offset + at.offset, entry.shared.offset + 4 * transfers.size(), 4});
  };
  const auto tell = [&](const Place& at) {
    look(at);
    vulkan::BufferCopy& copy = transfers.back();
    std::swap(copy.from, copy.to);
    std::swap(copy.from_offset, copy.to_offset);
  };
  for (const GatedBlock& block : schedule.gated) {
    for (int chunk = 0; chunk < 2; ++chunk) look(block.done);
    for (int chunk = 0; chunk < 2; ++chunk) look(block.iterations.value_or(block.done));
    for (int chunk = 0; chunk < 2; ++chunk)
      block.slices ? tell(block.slices->steps) : look(block.done);
  }
  return transfers;
}

void Executable::record(const Building& building, std::vector<vulkan::Windows> window_tuples,
                        vulkan::Stretches stretches) {
  Entry& entry = building.entry;
  const std::uint32_t range =
      std::max(building.range, static_cast<std::uint32_t>(building.alignment));
  entry.instance_words = building.last + range / 4;
  entry.words.resize(entry.instance_words);
  vulkan::Request request;
  request.bytes = std::uint64_t{4} * entry.instance_words * vulkan::Recording::max_instances;
  request.what = "parameter blocks";
  request.host_writes = true;
  entry.parameters = context_->parameters.allocate(request);
  entry.recording = std::make_unique<vulkan::Recording>(
      context_->device, std::move(window_tuples), std::move(stretches), entry.parameters,
      4 * entry.instance_words, range, options_.drop_barriers);
  entry.recording->add_instance();
  std::memcpy(entry.parameters.mapped(), entry.words.data(), 4 * entry.words.size());
  entry.tickets.assign(1, 0);
}

void Executable::build(Entry& entry) {
  const std::size_t own_ranges = ranges_.size();
  Schedule schedule{{},
                    schedule_.steps,
                    schedule_.first_advance,
                    schedule_.steers,
                    schedule_.loops,
                    schedule_.gated};
  std::vector<bool> extra = extra_barriers_;
  const auto chosen = inputs_to_gather();
  struct Restore {
    std::vector<vulkan::Range>& ranges;
    std::size_t size;
    ~Restore() { ranges.resize(size); }
  } restore{ranges_, own_ranges};
  if (std::find(chosen.begin(), chosen.end(), true) != chosen.end())
    gather(entry, chosen, schedule, extra);

  std::vector<vulkan::Windows> window_tuples;
  std::vector<Prepared> prepared;
  for (const Step& step : schedule.steps)
    prepared.push_back(step.groups == 0 ? Prepared{} : prepare(step, own_ranges, window_tuples));

  Submission submission = write_out(schedule);
  const auto plans = joined(submission, schedule, prepared);
  make_modules_of(submission, schedule, prepared, plans);
  // What a dispatch sees of its block is whole 16-byte vectors; blocks start where a dynamic offset
  // may point.
  const std::uint64_t alignment =
      std::max<std::uint64_t>(16, context_->device.description().uniform_alignment);
  Building building{entry, schedule, prepared, extra, alignment};
  vulkan::Stretches stretches = stretches_of(building, submission, plans);
  entry.segments = std::move(submission.segments);
  if (entry.segments.size() == 1 && !entry.segments[0].gated && entry.segments[0].order.size() == 1)
    entry.whole = entry.segments[0].order[0];
  for (const Segment& segment : entry.segments)
    for (const std::uint32_t s : segment.order)
      entry.dispatches += static_cast<std::uint32_t>(stretches.stretches[s].size());
  if (!schedule.gated.empty()) stretches.transfers = share_words(entry, schedule);
  record(building, std::move(window_tuples), std::move(stretches));
}

}  // namespace gnomon
