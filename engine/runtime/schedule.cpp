// engine/runtime/schedule.cpp -- from Program steps to dispatches, and what can be said about them
// beforehand.
#include "engine/runtime/schedule.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

#include "codegen/program/copies.h"
#include "engine/runtime/bytes.h"
#include "shaders/support/check.h"

namespace gnomon {
namespace {

constexpr std::uint32_t none = ~0u;

struct Touch {
  Place::Kind kind = Place::Kind::arena;
  std::uint32_t index = 0;
  std::uint64_t begin = 0, end = 0;
  bool writes = false;

  bool conflicts(const Touch& other) const {
    return (writes || other.writes) && kind == other.kind && index == other.index &&
           begin < other.end && other.begin < end;
  }
};

// How far an operand reaches: to the end of its array, or of its allocation in the arena.
std::uint64_t end_of(const Program& program, const Place& place, std::uint32_t step) {
  switch (place.kind) {
    case Place::Kind::input:
      return bytes_of(program.inputs[place.index]);
    case Place::Kind::output:
      return bytes_of(program.outputs[place.index]);
    case Place::Kind::constants:
      return program.constants.size();
    case Place::Kind::arena:
      break;
  }
  for (const Allocation& a : program.allocations) {
    const bool alive = a.first_step <= step && step <= a.last_step;
    if (alive && (a.offset == place.offset ||
                  (a.offset < place.offset && place.offset < a.offset + a.bytes)))
      return a.offset + a.bytes;
  }
  return program.arena_bytes;
}

std::vector<Touch> touches(const Program& program, std::uint32_t index) {
  const Step& step = program.steps[index];
  std::vector<Touch> result;
  for (std::size_t i = 0; i < step.operands.size(); ++i) {
    const Place& place = step.operands[i];
    Touch touch{place.kind, place.index, place.offset, end_of(program, place, index), i == 1};
    if (step.kind == Step::Kind::copy) {
      touch.end = place.offset + step.bytes;
    } else {
      touch.writes = program.kernels[step.kernel].buffers[i].access != kernel::Access::read;
    }
    result.push_back(touch);
  }
  if (step.counts)
    result.push_back({step.counts->kind, 0, step.counts->offset, step.counts->offset + 12, false});
  return result;
}

// Per step, whether it writes where counts of others lie.
std::vector<bool> steering(const Program& program) {
  std::vector<Touch> counts;
  for (const Step& step : program.steps)
    if (step.counts)
      counts.push_back(
          {step.counts->kind, 0, step.counts->offset, step.counts->offset + 12, false});
  std::vector<bool> result(program.steps.size(), false);
  if (counts.empty()) return result;
  for (std::uint32_t s = 0; s < program.steps.size(); ++s)
    for (const Touch& touch : touches(program, s))
      result[s] = result[s] ||
                  (touch.writes && std::any_of(counts.begin(), counts.end(),
                                               [&](const Touch& c) { return c.conflicts(touch); }));
  return result;
}

// The steps in the order of execution, every loop's steps twice.
std::vector<std::uint32_t> walk(const Program& program) {
  std::vector<std::uint32_t> order;
  const std::function<void(std::uint32_t, std::uint32_t, std::size_t)> range =
      [&](std::uint32_t first, std::uint32_t end, std::size_t inner) {
        for (std::uint32_t i = first; i < end;) {
          std::size_t l = inner;
          while (l < program.loops.size() &&
                 !(program.loops[l].first == i && program.loops[l].end <= end))
            ++l;
          if (l == program.loops.size()) {
            order.push_back(i++);
            continue;
          }
          for (int time = 0; time < 2; ++time)
            range(program.loops[l].first, program.loops[l].end, l + 1);
          i = program.loops[l].end;
        }
      };
  range(0, static_cast<std::uint32_t>(program.steps.size()), 0);
  return order;
}

}  // namespace

Step copy_step(std::uint32_t kernel, const Target& target, Place from, Place to,
               std::uint64_t bytes) {
  // Rounding up stays within the 256 bytes that every place is aligned and padded to.
  const std::uint64_t units = (bytes + copy_unit(target) - 1) / copy_unit(target);
  Step step;
  step.kernel = kernel;
  step.groups = copy_groups(bytes, target);
  step.operands = {from, to};
  step.parameters = {static_cast<std::uint32_t>(units)};
  step.label = "copy";
  return step;
}

Schedule schedule_of(const Program& program, const Target& target) {
  Schedule schedule;
  schedule.kernels = program.kernels;
  std::uint32_t copy = none;
  const auto dispatch_of = [&](const Step& step) {
    Step result = step;
    if (step.kind == Step::Kind::copy) {
      GNOMON_CHECK(step.operands.size() == 2, "a copy has two operands: " + step.label);
      if (copy == none) {
        copy = static_cast<std::uint32_t>(schedule.kernels.size());
        schedule.kernels.push_back(copy_frame(target));
      }
      result = copy_step(copy, target, step.operands[0], step.operands[1], step.bytes);
      if (!step.label.empty()) result.label = step.label;
      result.barrier_before = step.barrier_before;
      result.counts = step.counts;
    } else {
      GNOMON_CHECK(step.kernel < program.kernels.size(), "no such kernel: " + step.label);
      const kernel::Kernel& kernel = program.kernels[step.kernel];
      GNOMON_CHECK(kernel.lanes == 0, "kernel `" + kernel.name + "` is in lane form");
      GNOMON_CHECK(step.operands.size() == kernel.buffers.size(),
                   "kernel `" + kernel.name + "` has " + std::to_string(kernel.buffers.size()) +
                       " buffers and step " + step.label + " has " +
                       std::to_string(step.operands.size()) + " operands");
      GNOMON_CHECK(step.parameters.size() == kernel.parameters,
                   "kernel `" + kernel.name + "` has " + std::to_string(kernel.parameters) +
                       " parameters and step " + step.label + " has " +
                       std::to_string(step.parameters.size()));
      if (step.label.empty()) result.label = kernel.name;
    }
    for (const Place& place : result.operands) {
      GNOMON_CHECK(place.offset % 256 == 0,
                   "a place of step " + result.label + " is not aligned to 256 bytes");
    }
    return result;
  };
  for (const Step& step : program.steps) schedule.steps.push_back(dispatch_of(step));
  schedule.first_advance = static_cast<std::uint32_t>(schedule.steps.size());
  for (const Step& step : program.advances) {
    schedule.steps.push_back(dispatch_of(step));
    schedule.steps.back().barrier_before = true;
  }
  schedule.steers = steering(program);
  schedule.steers.resize(schedule.steps.size());
  schedule.loops = program.loops;
  schedule.gated = program.gated;
  return schedule;
}

std::vector<Hazard> missing_barriers(const Program& program) {
  std::vector<Hazard> hazards;
  struct Seen {
    std::uint32_t step;
    std::vector<Touch> touches;
  };
  std::vector<Seen> since;  // what ran since the last planned barrier
  std::vector<bool> reported(program.steps.size(), false);
  for (const std::uint32_t i : walk(program)) {
    if (program.steps[i].barrier_before) since.clear();
    auto mine = touches(program, i);
    for (const Seen& seen : since) {
      const bool conflict = std::any_of(mine.begin(), mine.end(), [&](const Touch& a) {
        return std::any_of(seen.touches.begin(), seen.touches.end(),
                           [&](const Touch& b) { return a.conflicts(b); });
      });
      if (conflict && !reported[i]) {
        reported[i] = true;
        hazards.push_back({seen.step, i,
                           "program `" + program.name + "`: step " + std::to_string(i) + " `" +
                               program.steps[i].label + "` touches what step " +
                               std::to_string(seen.step) + " `" + program.steps[seen.step].label +
                               "` writes or reads, without a barrier between them"});
        break;
      }
    }
    since.push_back({i, std::move(mine)});
  }
  return hazards;
}

std::vector<std::vector<std::uint32_t>> reusable_inputs(const Program& program) {
  // In a loop, what is read at all is read at its end, and what is written, at its beginning.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> around(program.steps.size());
  for (std::uint32_t i = 0; i < around.size(); ++i) around[i] = {i, i};
  std::uint32_t covered = 0;  // by the loops so far, of which outer ones come first
  for (const LoopBlock& loop : program.loops) {
    if (loop.first < covered) continue;
    for (std::uint32_t i = loop.first; i < loop.end; ++i) around[i] = {loop.first, loop.end - 1};
    covered = loop.end;
  }
  std::vector<std::uint32_t> barriers(program.steps.size());  // up to a step, its own among them
  for (std::uint32_t i = 0; i < barriers.size(); ++i)
    barriers[i] = (i > 0 ? barriers[i - 1] : 0) + (program.steps[i].barrier_before ? 1 : 0);

  std::vector<std::uint32_t> last_read(program.inputs.size(), none), read_before = last_read;
  std::vector<std::uint32_t> first_write(program.outputs.size(), none);
  for (std::uint32_t i = 0; i < program.steps.size(); ++i) {
    const auto [first, last] = around[i];
    for (const Place& place : program.steps[i].operands) {
      if (place.kind == Place::Kind::input) {
        std::uint32_t& read = last_read[place.index];
        if (read != none && read < last) read_before[place.index] = read;
        read = read == none ? last : std::max(read, last);
      }
      if (place.kind == Place::Kind::output) {
        std::uint32_t& write = first_write[place.index];
        write = write == none ? first : std::min(write, first);
      }
    }
  }
  const auto barrier_between = [&](std::uint32_t read, std::uint32_t write) {
    return read < write && barriers[write] > barriers[read];
  };
  // An input that is copied to an output and not read again, as carries of loops are.
  std::vector<std::uint32_t> copied(program.outputs.size(), none);
  for (std::uint32_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (step.kind != Step::Kind::copy) continue;
    const Place &from = step.operands[0], &to = step.operands[1];
    if (from.kind == Place::Kind::input && to.kind == Place::Kind::output && from.offset == 0 &&
        to.offset == 0 && last_read[from.index] == i && first_write[to.index] == i &&
        (read_before[from.index] == none || barrier_between(read_before[from.index], i)) &&
        bytes_of(program.inputs[from.index]) == bytes_of(program.outputs[to.index]))
      copied[to.index] = from.index;
  }
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> of_size;
  for (std::uint32_t i = 0; i < program.inputs.size(); ++i)
    of_size[bytes_of(program.inputs[i])].push_back(i);
  std::vector<std::vector<std::uint32_t>> result(program.outputs.size());
  for (std::uint32_t o = 0; o < program.outputs.size(); ++o) {
    if (first_write[o] == none) continue;
    // The copy is one onto itself then: each invocation reads what it writes before it does.
    if (copied[o] != none) {
      result[o].push_back(copied[o]);
      continue;
    }
    for (const std::uint32_t i : of_size[bytes_of(program.outputs[o])]) {
      const bool unread = last_read[i] == none;
      if (unread ||
          (last_read[i] < first_write[o] && barrier_between(last_read[i], first_write[o]))) {
        result[o].push_back(i);
      }
    }
  }
  return result;
}

}  // namespace gnomon
