// codegen/analysis/in_place.h -- which loops may work in the memory of what they are handed: chains
// of slices written, and who reads what in between.
//
// An array of which every step writes slices costs a step a slice only if nobody copies it: neither
// the step, nor a loop inside of it that carries the array on, nor what starts that loop.
#pragma once
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "codegen/analysis/uses.h"

namespace gnomon {

/// Whether an equation is a loop, which carries arrays from step to step.
bool carries(const Equation&);

/// Slices written one after the other: dynamic_update_slices in order, the first one into `bottom`.
struct SliceChain {
  ValueId bottom = 0;
  std::vector<const Equation*> updates;
};
SliceChain slices_below(const Graph&, const Uses&, ValueId);

/// Whether all that a body does with this carried value is writing slices into it, itself or by
/// loops inside.
bool written_in_slices(const Graph& body, std::size_t carried);

/// Whether all elements of an array of i32 are this number, written in the graph.
bool is_everywhere(const Graph&, const Uses&, ValueId, std::int32_t number);

/// Whether the next value of this carried value is the old one with a row of the step written: the
/// row that another carried value counts up to, which begins at 0 as `starts_at_zero` says, of
/// `steps` or more.
bool writes_row_of_step(const Graph& body, const Uses&, std::size_t carried, Dim steps,
                        const std::function<bool(std::size_t carried)>& starts_at_zero);

/// Whether an array is looked at in slices only, before more is written into it or a loop goes on
/// with it: then nobody needs slices written into another array as an array by itself.
bool read_in_slices(const Graph&, ValueId);

/// How a loop comes by the memory of an array that nobody needs afterwards.
struct TakeOver {
  SliceChain chain;              // what is written into the array before
  std::vector<ValueId> earlier;  // what is computed from it otherwise: has to be before the loop
};

/// Carried value `carried` of the loop with this index; nothing where somebody reads the array
/// later, or more of it than is worth keeping apart. `among`: the equations of the kernel; null:
/// all of the graph's. `open`: other loops that begin only when this one is over.
std::optional<TakeOver> take_over(const Graph&, const Uses&, std::uint32_t loop,
                                  std::size_t carried,
                                  const std::set<std::uint32_t>* among = nullptr,
                                  const std::set<std::uint32_t>& open = {});

}  // namespace gnomon
