// codegen/transforms/control_graphs.h -- what the rules of loops and branches do to the graphs they
// hold.
#pragma once
#include <functional>
#include <vector>

#include "codegen/operations/control.h"

namespace gnomon::control {

GraphPtr share(Graph);
/// What `f` records, of inputs with the types of a loop's own values and of its constants.
GraphPtr traced(const Arrays& own, const Arrays& constants, Loc,
                const std::function<Arrays(const Arrays& own, const Arrays& constants)>& f);
/// Input i of the result is input `inputs[i]`, output i is output `outputs[i]`.
Graph reordered(const Graph&, const std::vector<std::size_t>& inputs,
                const std::vector<std::size_t>& outputs);
/// A graph with inputs that it does not look at: of the types of `more` behind the first `before`
/// (a loop's condition: its carried values), of those of `constants` behind all.
Graph widened(const Graph&, std::size_t before, const Arrays& more, const Arrays& constants);
/// 0, 1, ... , count - 1.
std::vector<std::size_t> indices(std::size_t count);
/// `a` with `b` behind it.
Arrays joined(Arrays a, const Arrays& b);
/// [first, first + count).
Arrays part(const Arrays&, std::size_t first, std::size_t count);

/// A loop without the carried values that its body hands back unchanged; those are constants.
struct Hoisted {
  std::vector<std::size_t> kept;    // carried values that stay carried
  std::vector<std::size_t> inputs;  // input i of the new loop is input `inputs[i]` of the old one
};
/// Nothing when there is nothing to hoist. `sequences` follow the carried values.
std::optional<Hoisted> hoist(const Graph& body, std::size_t carried, std::size_t sequences);

/// Emits a loop with what is invariant hoisted out of it. Inputs as the primitives take them.
Arrays emit_while(WhileParams, Arrays inputs, Loc = {});
Arrays emit_scan(ScanParams, Arrays inputs, Loc = {});

/// The smallest set of flags that holds `flags` and that the body keeps on its carried values: a
/// carried value has the flag when it enters with it or when `outputs(flags)` says that it leaves
/// with it.
template <class Outputs>
std::vector<bool> carried_flags(std::vector<bool> flags, std::size_t carried, Outputs&& outputs) {
  while (true) {
    const std::vector<bool> out = outputs(flags);
    bool grown = false;
    for (std::size_t i = 0; i < carried; ++i) {
      grown |= out[i] && !flags[i];
      flags[i] = flags[i] || out[i];
    }
    if (!grown) return flags;
  }
}

// ---- batching

/// `x` with its batch axis in front; as it is when it has none.
Array axis_front(const Array& x, std::optional<int> axis);
/// 0 where the flag is set.
BatchAxes front_axes(const std::vector<bool>& batched);
/// Whether each output carries the batch axis when these inputs carry it in front.
std::vector<bool> batched_outputs(const Graph&, const std::vector<bool>& inputs, Dim size);
/// The graph over flagged inputs with the batch axis in front; flagged outputs have it in front
/// too. Flag every output that `batched_outputs` flags.
Graph batch(const Graph&, const std::vector<bool>& inputs, const std::vector<bool>& outputs,
            Dim size);
/// [n * m, ...] as [n, m, ...].
Array split_lanes(const Array&, Dim n);
/// [n, m, ...] as [n * m, ...].
Array merge_lanes(const Array&);

// ---- tangents

/// The tangents of flagged arrays, zeros where they are symbolic.
Arrays flagged_tangents(const Arrays& x, const Tangents& d, const std::vector<bool>& flags,
                        std::size_t first, std::size_t count);

// ---- checks of shape rules

/// Throws UsageError unless the graph takes `inputs`.
void check_inputs(std::string_view op, std::string_view graph_name, const Graph&,
                  std::span<const Aval> inputs, Loc);
/// Throws UsageError unless the first outputs of `body` have the types of its first inputs.
void check_carries(std::string_view op, const Graph& body, std::size_t carried, Loc);

}  // namespace gnomon::control
