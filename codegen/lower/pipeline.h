// codegen/lower/pipeline.h -- the compiler's table of contents: Graph and Target in, Program out.
#pragma once
#include <string>

#include "codegen/graph/graph.h"
#include "codegen/optimize/pass_log.h"
#include "codegen/program/program.h"
#include "codegen/program/target.h"
#include "gnomon/refill.h"

namespace gnomon {

/// How loops run: as the cost model says, each in one invocation, or each as kernels of its own
/// per iteration where such a form exists, which the device starts or one workgroup plays.
enum class LoopMapping : std::uint8_t { automatic, sequential, workgroup, device };

struct CompileOptions {
  std::string name = "program";
  bool fuse = true;  // off: every equation is its own kernel (tests)
  LoopMapping loops = LoopMapping::automatic;
  Refill refill = Refill::off;  // automatic: count trips where it is in doubt (Program::trips)
  bool fast_math = false;       // sets Target::built_in_functions
  std::uint64_t print_bytes = std::uint64_t{1} << 20;  // see lower/record.h
  /// Bytes of results that a loop keeps for a later one which would compute them again, at most and
  /// for one pair of loops (lower/kept_rows.h); and of what lies between the kernels that straight
  /// code of one result is cut into (lower/cut_long.h).
  std::uint64_t kept_row_bytes = std::uint64_t{256} << 20;
  PassOptions passes = {};
  bool keep_text = false;  // fill Program::graph_text and fusion_text
  /// Called with ("graph" | "fusion" | "kernel" | "memory" | "plan", text) as stages complete, and
  /// where they are recorded with ("passes", text); may be null.
  void (*dump)(void* user, const std::string& stage, const std::string& text) = nullptr;
  void* dump_user = nullptr;
};

/// Compiles a canonical graph; what its statements record are outputs behind its own. Pure: the
/// same graph, target and options give the same program. Throws UsageError when the device cannot
/// run it (64-bit floats it lacks, a loop beyond the driver's budget).
Program compile(const Graph&, const Target&, const CompileOptions& = {});

}  // namespace gnomon
