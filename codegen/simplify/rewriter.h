// codegen/simplify/rewriter.h -- builds a graph equation by equation and simplifies each as it
// comes.
#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "codegen/base/host_array.h"
#include "codegen/graph/graph.h"
#include "codegen/graph/primitive.h"

namespace gnomon {

/// The graph under construction. Values handed to `emit` and returned by it are values of this
/// graph.
class Rewriter {
 public:
  ValueId input(const Aval&);
  /// The outputs of the operation: of a new equation, of an equal one above, or of something
  /// simpler.
  std::vector<ValueId> emit(const Primitive&, Params, std::vector<ValueId> inputs, Loc);
  ValueId emit1(const Primitive& p, Params params, std::vector<ValueId> inputs, Loc loc) {
    return emit(p, std::move(params), std::move(inputs), loc)[0];
  }
  /// `scalar` repeated over `shape`.
  ValueId full(const HostArray& scalar, const Shape& shape, Loc);

  const Aval& aval(ValueId v) const { return graph_.avals[v]; }
  /// The equation that makes `v`, none for inputs of the graph.
  const Equation* maker(ValueId v) const;
  /// That equation when it is of that operation.
  const Equation* maker(ValueId v, const Primitive&) const;
  /// The elements of `v` when it is a literal.
  const HostArray* literal(ValueId v) const;
  /// The one value (rank 0) that all elements of `v` have, when it is known.
  const HostArray* uniform(ValueId v) const;
  /// Whether that value is `x`; floats by bits, so 0 is not -0.
  bool is_uniform(ValueId v, double x) const;

  Graph finish(std::vector<ValueId> outputs);

 private:
  struct Facts {
    std::optional<std::size_t> equation;
    std::optional<HostArray> uniform;
  };
  std::optional<ValueId> fold(const Primitive&, const Params&, const std::vector<ValueId>& inputs,
                              const Aval& out, Loc);
  void learn(const Equation&);

  Graph graph_;
  std::vector<Facts> facts_;                                       // indexed by ValueId
  std::unordered_multimap<std::uint64_t, std::size_t> equations_;  // by hash of what they compute
};

/// A value that equals the operation's only output without it, or nothing. In identities.cpp.
std::optional<ValueId> apply_identities(Rewriter&, const Primitive&, const Params&,
                                        const std::vector<ValueId>& inputs, const Aval& out, Loc);

/// The sum of two arrays, of which each is a number around a part of it, as one array joined of the
/// sums of their parts; nothing where parts meet, or it has another form. In join_sums.cpp.
std::optional<ValueId> joined_sum(Rewriter&, ValueId left, ValueId right, Loc);

/// What a loop of no steps gives: the state it begins with, and stacked outputs of length 0.
/// Nothing for anything else. In simplify_control.cpp.
std::optional<std::vector<ValueId>> without_steps(Rewriter&, const Primitive&, const Params&,
                                                  const std::vector<ValueId>& inputs,
                                                  const std::vector<Aval>& out, Loc);

/// Loops and branches: drops operands that their graphs do not use or that come twice, and writes
/// known constants into the graphs. In simplify_control.cpp. Changes `params` and `inputs`.
void sink_constants(const Rewriter&, const Primitive&, Params& params,
                    std::vector<ValueId>& inputs);

/// Loops and branches: the equation without outputs that are not used, nor what only they need.
/// Other equations come back as they are. In simplify_control.cpp.
Equation trim_outputs(const Equation&, const std::vector<bool>& used);

}  // namespace gnomon
