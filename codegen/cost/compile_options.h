// codegen/cost/compile_options.h -- what a user decides about how a graph is compiled.
#pragma once
#include <cstdint>
#include <string>

#include "codegen/base/pass_log.h"
#include "gnomon/refill.h"

namespace gnomon {

class Decisions;

/// How loops run: as the cost model says, each in one invocation, or each as kernels of its own
/// per iteration where such a form exists, which the device starts or one workgroup plays.
enum class LoopMapping : std::uint8_t { automatic, sequential, workgroup, device };

struct CompileOptions {
  std::string name = "program";
  bool fuse = true;  // off: every equation is its own kernel (tests)
  LoopMapping loops = LoopMapping::automatic;
  Refill refill = Refill::off;  // automatic: count trips where it is in doubt (Program::trips)
  bool fast_math = false;       // sets Target::built_in_functions
  std::uint64_t print_bytes = std::uint64_t{1} << 20;  // see optimize/lower_effects.h
  /// Bytes of results that a loop keeps for a later one which would compute them again, at most and
  /// for one pair of loops (optimize/save_residuals.h); and of what lies between the kernels that
  /// straight code of one result is cut into (partition/cut_long.h).
  std::uint64_t residual_bytes = std::uint64_t{256} << 20;
  PassOptions passes = {};
  /// The fusion text says what else kernels could be, in estimated microseconds: compiling takes
  /// many times as long. The program is the same.
  bool candidates = false;
  Decisions* decisions = nullptr;  // notes what is decided, and may change it; may be null
  bool keep_text = false;          // fill Program::graph_text and fusion_text
  /// Called with ("graph" | "fusion" | "kernel" | "memory" | "plan", text) as stages complete, and
  /// where they are recorded with ("passes", text); may be null.
  void (*dump)(void* user, const std::string& stage, const std::string& text) = nullptr;
  void* dump_user = nullptr;
};

}  // namespace gnomon
