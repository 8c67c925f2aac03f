// engine/runtime/profiling.cpp -- Executable::play_profiled: a call dispatch by dispatch, and what
// each took.
#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "engine/runtime/executable.h"

namespace gnomon {
namespace {

std::string_view file_name(std::string_view path) {
  return path.substr(path.find_last_of("/\\") + 1);
}

/// "model.cpp:12, 14; loss.cpp:3": the first few of them.
class Lines {
 public:
  void add(std::string_view file, int line) {
    if (line > 0) lines_.emplace(std::string(file_name(file)), line);
  }
  std::string text() const {
    constexpr std::size_t most = 4;
    std::string text, last;
    std::size_t shown = 0;
    for (const auto& [file, line] : lines_) {
      if (shown++ == most) return text + ", ...";
      text += (shown == 1     ? ""
               : file == last ? ", "
                              : "; ") +
              (file == last ? "" : file + ":") + std::to_string(line);
      last = file;
    }
    return text;
  }

 private:
  std::set<std::pair<std::string, int>> lines_;
};

}  // namespace

std::uint64_t Executable::most_passes_of(std::uint32_t which) const {
  const GatedBlock& block = schedule_.gated[which];
  if (!block.slices || block.slices->per_pass == 0) return block.most_passes;
  if (block.most_steps == 0) return 0;
  // One pass more for what stands behind the loop.
  const std::uint64_t pass = slice_steps_[which] * block.slices->per_pass;
  return (block.most_steps + pass - 1) / pass + 1;
}

vulkan::Ticket Executable::play_profiled(Entry& entry, std::uint32_t instance, Profile& profile) {
  using Clock = std::chrono::steady_clock;
  const auto begun = Clock::now();
  vulkan::Request request;
  request.bytes = vulkan::Timer::bytes;
  request.what = "counts that a profile looks at";
  request.host_writes = true;
  struct Counts {
    Context& context;
    vulkan::Range range;
    ~Counts() { context.staging.release(range, context.queue.last()); }
  } counts{*context_, context_->staging.allocate(request)};
  vulkan::Timer timer(context_->device, context_->queue, counts.range);
  const auto parameters = entry.recording->parameters(instance);
  std::vector<VkCommandBuffer> commands;
  const auto submit = [&] {
    last_ticket_ = context_->queue.submit(commands);
    context_->queue.wait(last_ticket_);
    commands.clear();
  };
  const auto pass = [&](const Segment& segment) {
    for (const std::uint32_t s : segment.order)
      for (const vulkan::Dispatch& d : entry.recording->dispatches(s))
        timer.add(*entry.recording, parameters, d);
  };
  for (const Segment& segment : entry.segments) {
    if (!segment.gated) {
      pass(segment);
      continue;
    }
    const std::uint32_t block = *segment.gated, look = entry.done_word(block, 0);
    const std::uint64_t most = most_passes_of(block);
    timer.finish();
    tell(entry, block, 0, slice_steps_[block], commands);
    if (!commands.empty()) submit();
    bool done = false;
    for (std::uint64_t n = 0; !done && (most == 0 || n < most); ++n) {
      pass(segment);
      timer.finish();
      commands.push_back(entry.recording->transfer(look));
      submit();
      done = entry.word(look) != 0;
    }
  }
  timer.finish();
  last_ticket_ = context_->queue.last();
  profile.wall_us = std::chrono::duration<double, std::micro>(Clock::now() - begun).count();
  profile.device_clock = timer.device_clock();
  summarize(timer.timed(), entry, profile);
  return last_ticket_;
}

void Executable::summarize(const std::vector<vulkan::Timer::Timed>& timed, const Entry& entry,
                           Profile& profile) const {
  const std::uint32_t copies = entry.window_copies;
  profile.program = program_.name;
  profile.device = context_->device.description().name;
  struct Row {
    ProfileRow row;
    Lines lines;
    std::uint32_t number = 0;
  };
  std::map<std::string, Row> rows;
  std::vector<Row*> of(copies + schedule_.steps.size());
  const auto row_of = [&](std::uint32_t step) -> Row& {
    if (of[step] != nullptr) return *of[step];
    // Inputs that are copied to save windows stand in front of the program's own steps.
    const Step* own = step < copies ? nullptr : &schedule_.steps[step - copies];
    std::vector<std::uint32_t> parts{step};
    if (const auto at = entry.joined.find(step); at != entry.joined.end()) parts = at->second;
    const std::string label = own == nullptr ? "copy of an input" : own->label;
    Row& row =
        rows[parts.size() == 1 ? label
                               : label + " and " + std::to_string(parts.size() - 1) + " more"];
    if (own != nullptr) {
      for (const kernel::SourceLine& l : schedule_.kernels[own->kernel].lines)
        row.lines.add(l.file, l.line);
      for (const std::uint32_t part : parts)
        for (const Allocation& a : program_.allocations)
          if (a.first_step == part - copies)
            row.lines.add(a.where.file, static_cast<int>(a.where.line));
    }
    return *(of[step] = &row);
  };
  for (const auto& t : timed) {
    Row& row = row_of(t.step);
    ++row.row.count;
    row.row.total_us += t.took_us;
  }
  for (auto& [name, row] : rows) {
    row.row.kernel = name;
    row.row.where = row.lines.text();
    profile.rows.push_back(row.row);
  }
  std::stable_sort(
      profile.rows.begin(), profile.rows.end(),
      [](const ProfileRow& a, const ProfileRow& b) { return a.total_us > b.total_us; });
  for (std::uint32_t i = 0; i < profile.rows.size(); ++i) rows[profile.rows[i].kernel].number = i;
  for (const auto& t : timed)
    profile.events.push_back({row_of(t.step).number, t.start_us, t.took_us});
}

Profile detail::profile(Executable& executable, std::vector<Array> inputs) {
  Profile result;
  std::vector<Array> outputs;
  // Drivers translate a kernel when it runs first.
  executable.run(inputs, outputs);
  outputs.clear();
  executable.context()->queue.wait_idle();
  executable.run(inputs, outputs, {}, {}, &result);
  return result;
}

}  // namespace gnomon
