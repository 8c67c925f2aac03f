// codegen/program/program.h -- a compiled graph: kernels, memory plan and schedule; data only, runs
// anywhere.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gnomon/array.h"
#include "shaders/kernel/kernel.h"

namespace gnomon {

/// Where an operand of a step lives.
struct Place {
  enum class Kind : std::uint8_t { input, output, arena, constants };
  Kind kind = Kind::arena;
  std::uint32_t index = 0;  // which input or output
  std::uint64_t offset =
      0;  // bytes from the start of that input, output, arena or constant data; 256-byte aligned
  bool operator==(const Place&) const = default;
};

/// One dispatch of `groups` workgroups (linear; the engine folds them into the device's grid) or
/// one copy.
struct Step {
  enum class Kind : std::uint8_t { dispatch, copy };
  Kind kind = Kind::dispatch;
  std::uint32_t kernel = 0;  // index into Program::kernels
  std::uint32_t groups = 0;
  std::vector<Place> operands;            // dispatch: one per kernel buffer; copy: {from, to}
  std::vector<std::uint32_t> parameters;  // user words of the parameter block
  std::uint64_t bytes = 0;                // copy: size
  bool barrier_before = false;  // an earlier step since the last barrier wrote what this one
                                // touches, or read what it writes
  std::string label;  // for dumps and timings
};

/// What the memory plan decided about one array in the arena.
struct Allocation {
  std::string name;
  std::uint64_t offset = 0, bytes = 0;
  std::uint32_t first_step = 0, last_step = 0;
};

struct Program {
  std::string name = "program";
  std::vector<Aval> inputs, outputs;
  std::vector<kernel::Kernel> kernels;  // in invocation form, verified
  std::vector<Step> steps;
  std::uint64_t arena_bytes = 0;
  std::vector<Allocation> allocations;
  std::vector<std::byte> constants;  // uploaded once
  std::uint64_t graph_hash = 0;
  // Text of the earlier stages, kept when asked for (dumps, Jitted::text).
  std::string graph_text, fusion_text;
};

/// Readable list: `dispatch k0 "lorenz" groups=256 x=input0 y=output0`, barriers, copies, arena
/// map.
std::string print(const Program&);

}  // namespace gnomon
