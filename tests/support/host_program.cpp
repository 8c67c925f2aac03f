// tests/support/host_program.cpp -- the steps of a Program, one after the other, on the kernel
// interpreter.
#include "tests/support/host_program.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "gnomon/error.h"
#include "shaders/interpret/interpret.h"

namespace gnomon::testing {

std::vector<HostArray> run_on_host(const Program& p, const std::vector<HostArray>& inputs,
                                   std::uint64_t* touched) {
  const auto noise = [](std::size_t n) { return std::vector<std::byte>(n, std::byte{0xCB}); };
  // Kernels take memory to end with a whole word; on a device every array has 256 bytes at least.
  const auto words = [](std::size_t n) { return (n + 3) / 4 * 4; };
  std::vector<std::vector<std::byte>> in, out;
  for (const HostArray& a : inputs) {
    in.push_back(a.bytes);
    in.back().resize(words(a.bytes.size()));
  }
  for (const Aval& a : p.outputs) out.push_back(noise(words(HostArray(a).bytes.size())));
  std::vector<std::byte> arena = noise(p.arena_bytes);
  std::vector<std::byte> constants = p.constants;
  const auto place = [&](const Place& at) -> std::span<std::byte> {
    switch (at.kind) {
      case Place::Kind::input:
        return std::span(in.at(at.index)).subspan(at.offset);
      case Place::Kind::output:
        return std::span(out.at(at.index)).subspan(at.offset);
      case Place::Kind::arena:
        return std::span(arena).subspan(at.offset);
      case Place::Kind::constants:
        return std::span(constants).subspan(at.offset);
    }
    return {};
  };
  const auto execute = [&](const Step& s, const std::vector<std::uint64_t>& iteration) {
    if (s.counts) {
      std::uint32_t counts[3];
      std::memcpy(counts, place(*s.counts).data(), sizeof counts);
      if (counts[0] * counts[1] * counts[2] == 0) return;
    }
    if (s.kind == Step::Kind::copy) {
      std::memmove(place(s.operands[1]).data(), place(s.operands[0]).data(), s.bytes);
      if (touched != nullptr) *touched += s.bytes / 2;
      return;
    }
    const kernel::Kernel& k = p.kernels.at(s.kernel);
    std::vector<std::uint32_t> block(kernel::parameter_header_words + k.buffers.size(), 0);
    block[1] = s.groups;
    const std::size_t user = block.size();
    block.insert(block.end(), s.parameters.begin(), s.parameters.end());
    for (const IterationWord& w : s.iterations)
      block.at(user + w.word) = static_cast<std::uint32_t>(iteration.at(w.loop));
    std::vector<std::span<std::byte>> buffers;
    for (const Place& o : s.operands) buffers.push_back(place(o));
    const std::uint64_t here = kernel::interpret(k, s.groups, block, buffers);
    if (touched != nullptr) *touched += here;
  };
  // Chunks of a few iterations, as a device would make them of many.
  std::vector<std::uint64_t> iteration(p.loops.size(), 0);
  const std::function<void(std::uint32_t, std::uint32_t, std::size_t)> range =
      [&](std::uint32_t first, std::uint32_t end, std::size_t inner) {
        for (std::uint32_t i = first; i < end;) {
          const auto loop =
              std::find_if(p.loops.begin() + static_cast<std::ptrdiff_t>(inner), p.loops.end(),
                           [&](const LoopBlock& l) { return l.first == i && l.end <= end; });
          if (loop == p.loops.end()) {
            execute(p.steps[i++], iteration);
            continue;
          }
          const auto index = static_cast<std::size_t>(loop - p.loops.begin());
          std::uint64_t& n = iteration[index];
          const std::uint64_t chunk = loop->advance ? 2 * loop->phases.size() : loop->trips;
          for (std::uint64_t done = 0; done < loop->trips; done += chunk) {
            const std::uint64_t here = std::min(chunk, loop->trips - done);
            for (n = 0; n < here; ++n) {
              const std::size_t phase = n % loop->phases.size();
              range(loop->phases[phase],
                    phase + 1 < loop->phases.size() ? loop->phases[phase + 1] : loop->end,
                    index + 1);
            }
            if (!loop->advance) continue;
            Step advance = p.advances[*loop->advance];
            advance.parameters.back() = static_cast<std::uint32_t>(here);
            execute(advance, iteration);
          }
          i = loop->end;
        }
      };
  std::uint32_t at = 0;
  for (const GatedBlock& block : p.gated) {
    range(at, block.first, 0);
    std::uint32_t done = 0;
    for (std::uint64_t passes = 0; done == 0; ++passes) {
      if (block.most_passes > 0 && passes == block.most_passes)
        throw InternalError("a gated block takes more passes than it says\n" + print(p));
      // Whatever a host may have slices take, by turns.
      if (block.slices) {
        std::uint64_t steps = std::uint64_t{1} << (passes % 11);
        if (passes == 0) steps = block.slices->first;
        if (block.slices->most > 0) steps = std::min(steps, block.slices->most);
        const auto word = static_cast<std::int32_t>(steps);
        std::memcpy(place(block.slices->steps).data(), &word, sizeof word);
      }
      range(block.first, block.end, 0);
      std::memcpy(&done, place(block.done).data(), sizeof done);
    }
    range(block.first, block.end, 0);  // does nothing any more
    at = block.end;
  }
  range(at, static_cast<std::uint32_t>(p.steps.size()), 0);
  std::vector<HostArray> result;
  for (std::size_t i = 0; i < out.size(); ++i) {
    HostArray a(p.outputs[i]);
    std::copy_n(out[i].begin(), a.bytes.size(), a.bytes.begin());
    result.push_back(std::move(a));
  }
  return result;
}

}  // namespace gnomon::testing
