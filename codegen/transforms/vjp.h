// codegen/transforms/vjp.h -- reverse mode, derived: the transpose of each equation's jvp, last
// equation first; loops and branches have a backward pass of their own (ReverseMode).
#pragma once
#include <map>
#include <vector>

#include "codegen/graph/primitive.h"

namespace gnomon {

/// A graph replayed in the active trace with every value kept, for `pull_back`.
struct ForwardPass {
  Graph graph;
  std::vector<bool> wanted;             // per input: whether its cotangent is
  Arrays values;                        // indexed by ValueId of `graph`
  std::vector<bool> active;             // likewise: between a wanted input and an output
  Buffers buffers;                      // likewise
  std::map<std::size_t, Arrays> saved;  // by number of equation
  Arrays outputs() const;
  /// Values and what was saved in one list, and back.
  Arrays flat() const;
  static ForwardPass from_flat(const Graph& graph, const std::vector<bool>& wanted, Arrays,
                               const Buffers& = {});
};
/// `buffers`: what the inputs are; empty: none has to do with a buffer.
ForwardPass run_forward(const Graph& graph, const Arrays& inputs, const std::vector<bool>& wanted,
                        const Buffers& buffers = {});
/// The same with some values given, which are not computed again.
using GivenValues = std::map<ValueId, Array>;
ForwardPass run_forward(const Graph& graph, const Arrays& inputs, const std::vector<bool>& wanted,
                        const Buffers& buffers, const GivenValues& given);

/// Cotangents of the wanted inputs (nullopt: symbolically zero, or not wanted) from those of the
/// outputs. Emits into the active trace, which may be nested in the one of the forward pass.
Tangents pull_back(const ForwardPass& forward, const Tangents& cotangents);

/// Both in one graph: (inputs..., cotangents of the outputs that have one...) -> cotangents of the
/// wanted inputs. The statements of `graph` are left out.
Graph pullback(const Graph& graph, const std::vector<bool>& wanted, const std::vector<bool>& given,
               const Buffers& buffers = {});

/// The sum of two cotangents made in the active trace. Where one of them is a slice among zeros,
/// only that is added: O(slice) in a loop that carries the other.
Array add_cotangents(const Array&, const Array&);

/// Transposes a graph that is linear in the flagged inputs, whose arrays are only types; emits into
/// the active trace. Cotangents of the flagged inputs, nullopt where symbolically zero.
Tangents transpose_linear(const Graph& graph, const Arrays& inputs, const std::vector<bool>& linear,
                          const Tangents& cotangents);

}  // namespace gnomon
