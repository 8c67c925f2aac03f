// codegen/emit/scan_rows.cpp -- see scan_rows.h.
#include "codegen/emit/scan_rows.h"

#include <set>
#include <utility>

#include "codegen/analysis/uses.h"
#include "codegen/operations/control.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"

namespace gnomon {

using kernel::Value;
using kernel::Values;

ScanRows::ScanRows(Emitter& emitter, const Frame& outer, const Equation& e)
    : e_(emitter),
      outer_(outer),
      scan_(e),
      body_(*e.params.as<ScanParams>().body),
      carried_(static_cast<std::size_t>(e.params.as<ScanParams>().carried)),
      arrays_(e.outputs.size()) {
  for (std::size_t o = carried_; o < e.outputs.size(); ++o) {
    const ValueId v = e.outputs[o];
    if (outer.uses_->count[v] == 0 || memory(o) != nullptr) continue;
    const int lanes = lane_axis(body_.avals[body_.outputs[o]].shape);
    const Aval& aval = outer.graph_.avals[v];
    arrays_[o] = e_.make_tile(aval.dtype, aval.shape, lanes < 0 ? -1 : 1 + lanes, true);
  }
}

const MemoryRef* ScanRows::memory(std::size_t output) const {
  const auto found = outer_.direct_.find(scan_.outputs[output]);
  return found == outer_.direct_.end() ? nullptr : &found->second;
}

int ScanRows::lane_axis(const Shape& row) const {
  const int first = e_.lane_axis(row, 0);
  return first >= 0 || row.rank() == 0 ? first : e_.lane_axis(row, row.rank() - 1);
}

Index ScanRows::position(std::size_t output, Value step, const Index& at) const {
  Values c{step};
  for (int a = 0; a < at.rank(); ++a) c.push_back(at(e_.k, a));
  return Index::coordinates(outer_.graph_.avals[scan_.outputs[output]].shape, std::move(c));
}

void ScanRows::store(Frame& body, Value step) const {
  const std::map<std::size_t, ValueId> with_tiles = store_with_tiles(body, step);
  for (std::size_t o = carried_; o < scan_.outputs.size(); ++o) {
    if (!arrays_[o] && memory(o) == nullptr) continue;
    const auto tile = with_tiles.find(o);
    if (tile == with_tiles.end() || !compute_tile(body, tile->second)) store_row(body, step, o);
  }
}

std::map<std::size_t, ValueId> ScanRows::store_with_tiles(Frame& body, Value step) const {
  std::map<std::size_t, ValueId> found;
  std::set<ValueId> taken;
  for (std::size_t o = carried_; o < scan_.outputs.size(); ++o) {
    const MemoryRef* const to = memory(o);
    const std::uint32_t by = body.uses_->producer[body_.outputs[o]];
    if (to == nullptr || by == Uses::none || body_.equations[by].primitive != &permute_p) continue;
    const ValueId v = body_.equations[by].inputs[0];
    const Shape& shape = body_.avals[v].shape;
    const auto& axes = body_.equations[by].params.as<AxesParams>().axes;
    if (lane_axis(shape) != 0 || axes.back() != 0 || shape.size() == 0 || !taken.insert(v).second)
      continue;
    found.emplace(o, v);
    body.also_[v] = [this, o, step, &axes, to](const Index& at, Value value) {
      Values coordinates;
      for (int a : axes) coordinates.push_back(at(e_.k, a));
      const Shape& row = body_.avals[body_.outputs[o]].shape;
      const Index there = position(o, step, Index::coordinates(row, std::move(coordinates)));
      e_.store(*to, there.shape(), there, value);
    };
  }
  return found;
}

bool ScanRows::compute_tile(Frame& body, ValueId v) const {
  if (const Equation* sums = body.also_.contains(v) ? body.sums_of(v) : nullptr) {
    body.sum_while_computing(*sums);
    return true;
  }
  if (body.also_.contains(v)) {
    // Asked for, a value that is worth a tile has one.
    Tile all;
    all.shape = body_.avals[v].shape;
    all.pinned = 0;
    body.element(v, e_.tile_index(all, e_.k.u32(0)));
  }
  return body.also_.erase(v) == 0;
}

void ScanRows::store_row(Frame& body, Value step, std::size_t output) const {
  Tile row;
  row.shape = body_.avals[body_.outputs[output]].shape;
  row.pinned = lane_axis(row.shape);
  const std::optional<Tile>& array = arrays_[output];
  const auto store = [&](Value j) {
    const Index at = e_.tile_index(row, j);
    const Value value = body.element(body_.outputs[output], at);
    const Index there = position(output, step, at);
    if (array)
      e_.tile_store(*array, e_.tile_offset(*array, there), value, {});
    else
      e_.store(*memory(output), there.shape(), there, value);
  };
  // Neighbours in memory are one wide store.
  e_.for_each(row.count(), store, array ? 0 : 4);
}

}  // namespace gnomon
