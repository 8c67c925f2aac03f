// tests/support/host_program.h -- runs a Program on the host with the kernel interpreter: the
// compiler without a driver.
#pragma once
#include <cstring>
#include <vector>

#include "codegen/graph/host_array.h"
#include "codegen/program/program.h"
#include "shaders/interpret/interpret.h"

namespace gnomon::testing {

/// Executes the steps in order. Memory starts as NaN-like noise, so that reading what was never
/// written shows.
inline std::vector<HostArray> run_on_host(const Program& p, const std::vector<HostArray>& inputs) {
  const auto noise = [](std::size_t n) { return std::vector<std::byte>(n, std::byte{0xCB}); };
  std::vector<std::vector<std::byte>> in, out;
  for (const HostArray& a : inputs) in.push_back(a.bytes);
  for (const Aval& a : p.outputs) out.push_back(HostArray(a).bytes);
  for (auto& o : out) o = noise(o.size());
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
  for (const Step& s : p.steps) {
    if (s.kind == Step::Kind::copy) {
      std::memmove(place(s.operands[1]).data(), place(s.operands[0]).data(), s.bytes);
      continue;
    }
    const kernel::Kernel& k = p.kernels.at(s.kernel);
    std::vector<std::uint32_t> block(kernel::parameter_header_words + k.buffers.size(), 0);
    block[1] = s.groups;
    block.insert(block.end(), s.parameters.begin(), s.parameters.end());
    std::vector<std::span<std::byte>> buffers;
    for (const Place& o : s.operands) buffers.push_back(place(o));
    kernel::interpret(k, s.groups, block, buffers);
  }
  std::vector<HostArray> result;
  for (std::size_t i = 0; i < out.size(); ++i) {
    HostArray a(p.outputs[i]);
    a.bytes = std::move(out[i]);
    result.push_back(std::move(a));
  }
  return result;
}

}  // namespace gnomon::testing
