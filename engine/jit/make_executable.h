// engine/jit/make_executable.h -- from a graph to what runs it: compiled, or found on disk.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "codegen/compile/pipeline.h"
#include "engine/runtime/executable.h"
#include "engine/runtime/state.h"

namespace gnomon {

/// How a graph is to be compiled and run.
struct MakeOptions {
  CompileOptions compile;
  ExecutableOptions executable;
  /// Bytes that a call may need; 0: any number. Rows that were kept to save time are computed again
  /// where a call needs more.
  std::uint64_t memory_limit = 0;
  /// Text that tells `compile`, `executable` and `memory_limit` from others.
  std::string identity;
  /// May throw for a program that is not to be run.
  std::function<void(const Program&)> check;
};

/// Counted as compiled or as loaded. Programs that nobody holds make room where the device has no
/// memory left. Throws what `compile` and Executable throw.
std::shared_ptr<Executable> make_executable(RuntimeState&, const Graph&, const MakeOptions&);

}  // namespace gnomon
