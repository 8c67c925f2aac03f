// codegen/plan/memory.h -- assigns arena offsets from lifetimes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/program/program.h"

namespace gnomon {

/// A request for arena memory, alive from `first_step` to `last_step` inclusive.
struct Lifetime {
  std::string name;
  Loc where = {};
  std::uint64_t bytes = 0;
  std::uint32_t first_step = 0, last_step = 0;
};

struct ArenaPlan {
  std::vector<Allocation> allocations;  // one per lifetime, same order
  std::uint64_t bytes = 0;
};

/// Greedy best fit by size over lifetimes: the largest first, each at the lowest offset where it
/// overlaps no placed allocation that is alive at the same time. Offsets are multiples of 256.
/// Source: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020,
/// algorithm 3.
ArenaPlan plan_arena(const std::vector<Lifetime>&);

}  // namespace gnomon
