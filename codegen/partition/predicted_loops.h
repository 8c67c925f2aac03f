// codegen/partition/predicted_loops.h -- where loops will run, before their graph is divided.
#pragma once
#include <map>
#include <optional>

#include "codegen/analysis/uses.h"
#include "codegen/cost/compile_options.h"
#include "codegen/graph/graph.h"
#include "codegen/program/target.h"

namespace gnomon {

struct Draft;
struct Slicing;

/// Where the partition will have the loops of a whole program run, for passes that prepare them:
/// found when asked, for each loop by itself, by the rules and the trial that the partition goes
/// by. What loops have in common with others the partition alone sees, so that it may still choose
/// otherwise: that changes no result.
class PredictedLoops {
 public:
  /// Keeps references to all three.
  PredictedLoops(const Graph&, const Target&, const CompileOptions&);

  /// Whether the iterations of an equation of the graph have kernels of their own, each one's
  /// whole step. False for what is no loop.
  bool in_kernels(const Equation& loop);
  /// How many lanes run all its iterations, each its own, in one kernel; 0: no lanes do.
  Dim by_lanes(const Equation& loop);

 private:
  struct Place {
    bool in_kernels = false;
    Dim lanes = 0;
  };
  const Place& place(const Equation& loop);
  Place predicted(const Equation& loop);
  /// Whether there are such slices of the loop.
  bool can_be_cut(const Equation& loop, const Slicing&) const;
  /// Of a kernel whose lanes may run the loop.
  Place whole_or_slices(const Equation& loop, Dim lanes) const;
  /// Of a kernel whose lanes run the loop: it may take more trips than the driver allows, or long.
  Place of_draft(const Equation& loop, const Draft&) const;

  const Graph& graph_;
  const Target& target_;
  const CompileOptions& options_;
  std::optional<Uses> uses_;
  std::map<const Equation*, Place> places_;
};

/// Whether a program has a branch by lanes that should be operations of the graph around it
/// (if_convert), since they take less time as kernels of their own.
bool wants_if_conversion(const Graph&, const Target&, const CompileOptions&);

}  // namespace gnomon
