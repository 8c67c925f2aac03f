// codegen/emit/frame_in_place.cpp -- loops inside one kernel that work in the memory of what they
// are handed.
//
// A loop overwrites an array that the body around it carries, so whatever else reads the array has
// to be emitted before. Such loops therefore come first in a body, and what else is computed from
// the array is held in tiles from then on, wherever and whenever it is asked for.
#include "codegen/emit/emitter.h"
#include "codegen/emit/slice_writes.h"
#include "codegen/operations/control.h"

namespace gnomon {

void Frame::own_carried(std::size_t count, const Tile* running) {
  owned_ = count;
  if (running != nullptr) running_ = *running;
}

void Frame::run_loops_in_place() {
  for (std::uint32_t i = 0; i < graph_.equations.size(); ++i) {
    const Equation& e = graph_.equations[i];
    if (!carries(e)) continue;
    const std::size_t carried = loop_operands(e).carried;
    for (std::size_t c = 0; c < carried; ++c) {
      if (!uses_->live[e.outputs[c]]) continue;
      const auto t = gnomon::take_over(graph_, *uses_, i, c);
      if (!t || !own_array(t->chain.bottom)) continue;
      results(i);
      break;
    }
  }
}

std::optional<Tile> Frame::own_array(ValueId v) {
  const std::uint32_t producer = uses_->producer[v];
  if (producer == Uses::none) {
    for (std::size_t i = 0; i < owned_; ++i)
      if (graph_.inputs[i] == v && tiles_.at(v).kind != Tile::Kind::elements) return tiles_.at(v);
    return std::nullopt;
  }
  // What a loop of the same body has left, in memory that is written anew in every step.
  if (base_depth_ == 0 || !carries(graph_.equations[producer]) || direct_.contains(v))
    return std::nullopt;
  const auto& tile = results(producer)[uses_->output[v]];
  return tile && tile->kind != Tile::Kind::elements ? tile : std::nullopt;
}

bool Frame::lies_in(ValueId v, const Tile& t) const {
  const std::uint32_t producer = uses_->producer[v];
  if (producer == Uses::none) return false;
  const auto r = results_.find(producer);
  if (r == results_.end()) return false;
  const auto& tile = r->second[uses_->output[v]];
  return tile && tile->is_array_of(t);
}

Frame::Taken Frame::take_over(const Equation& e, std::size_t carried,
                              const std::function<int(const Aval&)>& pinned) {
  Taken r{std::vector<std::optional<Tile>>(carried), std::vector<SliceChain>(carried)};
  // Lanes that do not take the step keep what they have: only a loop that knows them may go on.
  if (running_ && (e.primitive != &while_p ||
                   Shape(e.params.as<WhileParams>().lanes) != running_->shape || e_.lane.valid()))
    return r;
  const auto index = static_cast<std::uint32_t>(&e - graph_.equations.data());
  std::vector<std::pair<ValueId, int>> earlier;
  for (std::size_t i = 0; i < carried; ++i) {
    const ValueId start = e.inputs[i], end = e.outputs[i];
    const Aval& a = graph_.avals[start];
    const int axis = pinned(a);
    const auto home = takeovers_.find(end);
    auto t = gnomon::take_over(graph_, *uses_, index, i,
                               home == takeovers_.end() ? nullptr : among_, open_);
    if (!t) continue;
    std::optional<Tile> tile;
    if (home == takeovers_.end()) {
      tile = own_array(t->chain.bottom);
    } else if (t->chain.updates.empty() && (!e_.lane.valid() || (e_.pins && axis >= 0))) {
      Tile& place = tile.emplace();
      place.kind = Tile::Kind::buffer;
      place.dtype = a.dtype;
      place.shape = a.shape;
      place.pinned = axis;
      place.memory = home->second.buffer;
      place.layout = home->second.layout;
    }
    if (!tile || tile->dtype != a.dtype || tile->shape != a.shape || tile->pinned != axis ||
        !SliceWrites(e_, *this, graph_).possible(*tile, t->chain))
      continue;
    if (home != takeovers_.end()) {
      // Like a tile of the lane's own, so that no other lane's part is read.
      bind(start, *tile);
      direct_[end] = home->second;
    }
    for (ValueId v : t->earlier) earlier.emplace_back(v, axis);
    r.tiles[i] = std::move(tile);
    r.chains[i] = std::move(t->chain);
  }
  open_.insert(index);
  for (const auto& [v, axis] : earlier)
    hold(v, axis < 0 ? -1 : e_.lane_axis(graph_.avals[v].shape, axis));
  open_.erase(index);
  return r;
}

void Frame::hold(ValueId v, int pinned) {
  const std::uint32_t producer = uses_->producer[v];
  if (tiles_.contains(v) || producer == Uses::none) return;
  if (carries(graph_.equations[producer])) {
    results(producer);
    return;
  }
  const Aval& a = graph_.avals[v];
  Tile t = e_.make_tile(a.dtype, a.shape, pinned, false);
  e_.fill(t, [&](const Index& at) { return element(v, at); });
  tiles_[v] = std::move(t);
}

void Frame::write_before(const Taken& taken) {
  SliceWrites writes(e_, *this, graph_);
  for (std::size_t i = 0; i < taken.tiles.size(); ++i)
    if (taken.tiles[i]) writes.prepare(*taken.tiles[i], taken.chains[i]);
  SliceWrites::Mask mask;
  if (running_)
    mask = [&](const Index& at) {
      return e_.tile_load(*running_, Index::coordinates(running_->shape, {at(e_.k, 0)}));
    };
  writes.write(mask);
}

}  // namespace gnomon
