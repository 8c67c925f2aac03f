// tests/vulkan/memory_child.h -- this program once more, as another process that gets memory.
#pragma once
#include "gnomon/external_memory.h"

namespace gnomon::testing {

/// How many floats the processes share: i in front, where the child puts 2 i + 1 behind them.
inline constexpr Dim shared_floats = 1000;
inline constexpr std::uint64_t answer_at = 4096;

/// Whether the arguments are those of `run_memory_child`.
bool is_memory_child(int argc, char** argv);
/// Imports the memory, computes from what is in it, and puts the answer there; 0 when all is right.
int memory_child(char** argv);
/// Starts that with a handle whose file descriptor it inherits, and waits; what it returned.
int run_memory_child(const MemoryHandle&);

}  // namespace gnomon::testing
