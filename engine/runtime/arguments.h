// engine/runtime/arguments.h -- arrays that a call is given, some of them for good.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "gnomon/detail/leaf_ref.h"

namespace gnomon::detail {

/// Empties the leaves that are given away, which the caller holds as the call's inputs by now: one
/// object may be several arguments, f(std::move(x), x). Nonzero for each of them; empty where there
/// are none.
std::vector<std::uint8_t> take_donated(std::span<const LeafRef>);
/// Puts them back from the inputs of a call that threw, as far as these are whole.
void put_back(std::span<const LeafRef>, std::span<Array> inputs) noexcept;

}  // namespace gnomon::detail
