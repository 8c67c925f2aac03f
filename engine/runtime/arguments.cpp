// engine/runtime/arguments.cpp -- what calls of jitted and of saved functions do with arguments
// that are moved in.
#include "engine/runtime/arguments.h"

#include <utility>

namespace gnomon::detail {

void append_leaves(tree::detail::AnyTree tree, bool donate, std::vector<LeafRef>& out) {
  const auto add = [&](const Array& a) { out.push_back({const_cast<Array*>(&a), donate}); };
  tree::detail::visit_arrays(tree, false, add);
}

std::vector<std::uint8_t> take_donated(std::span<const LeafRef> leaves) {
  std::vector<std::uint8_t> donated;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const LeafRef& leaf = leaves[i];
    if (!leaf.donate || leaf.array->empty() || leaf.array->storage()->unplaced()) continue;
    donated.resize(leaves.size());
    donated[i] = 1;
    *leaf.array = {};
  }
  return donated;
}

void put_back(std::span<const LeafRef> leaves, std::span<Array> inputs) noexcept {
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (leaves[i].donate && leaves[i].array->empty()) *leaves[i].array = std::move(inputs[i]);
}

}  // namespace gnomon::detail
