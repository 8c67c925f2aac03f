// codegen/partition/other_mappings.cpp -- changes one number of the device's preferences at a time.
#include "codegen/partition/other_mappings.h"

#include <set>

namespace gnomon {

std::string mapping_text(const DraftRequest& r) {
  const std::string shape = to_string(r.graph.avals[r.roots[0]].shape);
  if (r.row > 0) return "one lane per " + std::to_string(r.row) + " elements of " + shape;
  if (r.tile)
    return "tiles of " + std::to_string(r.tile->rows) + " by " + std::to_string(r.tile->columns) +
           " elements of " + shape;
  return "one lane per element of " + shape;
}

std::vector<OtherMapping> other_mappings(const DraftRequest& chosen, const Placement& placement) {
  std::vector<OtherMapping> all;
  std::set<std::string> known{mapping_text(chosen)};
  const auto add = [&](std::optional<RegisterTile> tile) {
    DraftRequest r = chosen;
    const Shape& shape = r.graph.avals[r.roots[0]].shape;
    r.row = 0;
    r.tile = tile;
    r.lanes = tile ? tile->lanes(shape) : shape.size();
    r.value_limit = pleasant_kernel;
    const std::string name = mapping_text(r);
    if (!known.insert(name).second) return;
    try {
      all.push_back({name, draft_elements(r)});
    } catch (const KernelTooLarge&) {
      // No driver is to be asked for it.
    }
  };
  add(std::nullopt);
  if (!chosen.tile) return all;
  const auto add_with = [&](auto change) {
    Target target = chosen.target;
    change(target);
    if (const auto tile = choose_tile(placement, target, chosen.roots)) add(tile);
  };
  add_with([](Target& t) { t.tile_rows /= 2; });
  add_with([](Target& t) { t.tile_rows *= 2; });
  add_with([](Target& t) { t.tile_columns /= 2; });
  if (chosen.target.tile_columns <= 8)  // an invocation takes 16 at most
    add_with([](Target& t) { t.tile_columns *= 2; });
  return all;
}

}  // namespace gnomon
