// shaders/interpret/flatten.h -- a kernel as a flat list of steps with jumps. Internal to
// interpret.
#pragma once
#include <cstdint>
#include <vector>

#include "shaders/kernel/scalar.h"

namespace gnomon::kernel {

enum class StepKind : std::uint8_t {
  compute,    // registers[to + k] = function(registers[a + k], registers[b + k], registers[c + k])
  set,        // registers[to] = immediate
  copy,       // registers[to + k] = registers[a + k]
  broadcast,  // registers[to + k] = registers[a]
  gather,     // registers[to + k] = registers[operands[k]]
  select,
  bitcast,  // between different widths
  any,
  all,
  parameter,
  lane,
  invocation,
  group_index,
  local_index,
  load,  // and the local ones
  store,
  atomic,  // registers[to + k] = what was there; there = function(what was there, registers[b + k])
  subgroup_index,
  subgroup_count,
  subgroup_first,
  combine,  // registers[to] = what function makes of registers[a] in all of a subgroup
  barrier,
  jump,
  jump_unless,  // registers[a] is 0
  enter,        // registers[to] counts the trips of a loop from here
  trip,         // one more; at most `immediate` when that is not 0
};

struct Step {
  StepKind kind = StepKind::set;
  std::uint8_t width = 1;
  Space space = Space::none;
  DType dtype = DType::u32;     // of a memory access, or what a bitcast starts from
  DType dtype_to = DType::u32;  // what a bitcast makes
  bool wide_index = false;
  std::uint8_t mask_width = 0;  // 0: no mask
  std::uint32_t to = 0, a = 0, b = 0,
                c = 0;       // registers; of a store: index, value, mask in a, b, c
  std::uint32_t target = 0;  // of a jump; array of an access
  std::uint64_t immediate = 0;
  ScalarFunction function = nullptr;
  std::vector<std::uint32_t> operands;
  const Instruction* source = nullptr;
};

struct FlatKernel {
  std::vector<Step> steps;
  std::uint32_t registers = 0;
  std::vector<std::uint8_t> private_widths;  // arrays of each private array: one per component
  bool stops = false;                        // at barriers, or where a subgroup combines
};

/// `k` must verify, and outlive the result.
FlatKernel flatten(const Kernel& k);

}  // namespace gnomon::kernel
