// codegen/optimize/loop_body.h -- one iteration of a loop as a graph, see LoopBody.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/cost/decisions.h"
#include "codegen/cost/slicing.h"
#include "codegen/graph/graph.h"
#include "codegen/program/target.h"

namespace gnomon {

/// One iteration as a graph. Its inputs are the carried values, the number of the iteration
/// (i32[]), where it is paced how many steps it takes (i32[]), then constants; its outputs are the
/// next carried values, each defined by an equation of its own unless it is the carried value
/// itself.
///
/// Sequences of a scan are constants that the graph slices at the iteration; stacked outputs are
/// carried values that it updates one row at a time, with nothing to start from. A carried integer
/// that only counts becomes a function of the iteration.
struct LoopBody {
  static constexpr ValueId none = ~0u;
  struct Carried {
    ValueId init = none;    // of the outer graph; none: every element is written before it is read
    ValueId result = none;  // of the outer graph; none: nobody wants it
  };
  Graph graph;
  /// Whether there is one more iteration: the same inputs, the iteration being the one in question;
  /// one bool[]. Empty: there is, up to `trips`.
  std::optional<Graph> condition;
  /// Whether the graph has one more output, one bool[]: whether there is another iteration. There
  /// always is a first one, and there are at most `trips`.
  bool decides = false;
  std::vector<Carried> carried;
  std::vector<ValueId> constants;      // of the outer graph
  std::optional<std::uint64_t> trips;  // exactly, or with a condition at most
  /// An iteration is a slice, of as many steps as an input says: a word that the host writes.
  bool paced = false;
  std::uint64_t steps = 1;           // of the outer graph's loop, in an iteration
  std::uint64_t most_per_slice = 0;  // where it is paced; 0: any number
  std::uint64_t most_steps = 0;      // of them; 0: no bound
  bool all_steps = false;            // it takes as many as it may

  ValueId iteration() const { return graph.inputs[carried.size()]; }
  std::size_t first_constant() const { return carried.size() + (paced ? 2 : 1); }
  ValueId decision() const { return decides ? graph.outputs.back() : condition->outputs[0]; }
};

/// The body of loop `e`; nothing when it has another form.
std::optional<LoopBody> loop_body(const Graph& outer, const Equation& e,
                                  const std::vector<bool>& wanted, const Target&,
                                  Decisions* = nullptr);

/// The same with an iteration that is a loop of a slice's steps itself: for kernels that may not
/// run for as long as the whole loop takes. Every lane of a loop by lanes must be independent. A
/// slice that has nothing to do changes nothing, so that it may say itself whether there is another
/// one.
std::optional<LoopBody> sliced_loop_body(const Graph& outer, const Equation& e,
                                         const std::vector<bool>& wanted, const Target&,
                                         const Slicing&, Decisions* = nullptr);

/// The branches of `e` with the outputs that are wanted, each defined by an equation of its own.
std::vector<Graph> branch_graphs(const Equation& e, const std::vector<bool>& wanted, const Target&,
                                 Decisions* = nullptr);

}  // namespace gnomon
