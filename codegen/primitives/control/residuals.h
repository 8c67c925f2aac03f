// codegen/primitives/control/residuals.h -- which numbers a step of a loop hands to its pullback,
// so that the pullback does not compute them again.
#pragma once
#include <optional>
#include <vector>

#include "codegen/graph/graph.h"

namespace gnomon::control {

/// Numbers that `body` computes and that are worth a row of a history each: storing and loading
/// them costs less than what `pullback` computes for their sake alone (whether a step was accepted,
/// how long it was). A graph of the body's inputs; without outputs where there are none.
///
/// `pullback`: (inputs of the body..., more...) -> any. `kept`: per input of the body, whether it
/// has a history of its own, which is saved when nothing but residuals needs it.
Graph residuals_of(const Graph& body, const Graph& pullback, const std::vector<bool>& kept);

/// `pullback` with what `residuals` computes as inputs behind those of the body.
Graph with_residuals(const Graph& pullback, const Graph& residuals);

/// A body of which steps leave everything as it is unless a flag says that they go: `goes` computes
/// the flag from the body's inputs, `body` is the one of steps that go.
struct Skipping {
  Graph goes, body;
};
/// Of the carried values only active ones count: nothing goes back through others.
std::optional<Skipping> skipping(const Graph& body, std::size_t carried,
                                 const std::vector<bool>& active);

}  // namespace gnomon::control
