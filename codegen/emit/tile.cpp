// codegen/emit/tile.cpp -- memory as a kernel under construction sees it: device arrays and
// per-lane tiles.
#include <algorithm>

#include "codegen/emit/emitter.h"
#include "codegen/emit/workshop.h"

namespace gnomon {

using kernel::Op;
using kernel::Value;
using kernel::Values;

Value Emitter::position_in(const MemoryRef& m, const Shape& shape, const Index& index) {
  const auto& [order, block] = m.layout;
  if (order.empty()) return index.flat(k);
  Values c;
  for (int a : order) c.push_back(index(k, a));
  if (block > 0) {
    const Value innermost = c.back(), length = k.u32(word(block));
    c.back() = k.rem(innermost, length);
    c.insert(c.begin() + 1, k.div(innermost, length));
  }
  return Index::coordinates(m.layout.in_memory(shape), std::move(c)).flat(k);
}

Value Emitter::load(const MemoryRef& m, const Shape& shape, const Index& index) {
  auto& access = k.kernel().buffers[m.buffer].access;
  if (access == kernel::Access::write) access = kernel::Access::read_write;
  return k.load(m.buffer, position_in(m, shape, index));
}

void Emitter::store(const MemoryRef& m, const Shape& shape, const Index& index, Value value) {
  k.store(m.buffer, position_in(m, shape, index), value);
}

Tile Emitter::make_tile(DType dtype, const Shape& shape, int pinned, bool writable) {
  Tile t;
  t.dtype = dtype;
  t.shape = shape;
  t.pinned = pinned;
  const Dim count = t.count();
  if (count <= scalar_limit && !writable) {
    t.kind = Tile::Kind::elements;
  } else if (count <= private_limit) {
    t.kind = Tile::Kind::private_array;
    t.memory = k.private_array({dtype, word(std::max<Dim>(1, count))});
  } else {
    t.kind = Tile::Kind::buffer;
    const auto bytes = static_cast<std::uint64_t>(count * std::max<Dim>(1, lanes)) * size_of(dtype);
    if (lane.valid() && bytes > target.max_storage_range && !target.features.addresses)
      throw NotLaneLocal{"scratch of " + to_string(dtype, shape) + " for each of " +
                         std::to_string(lanes) + " lanes is more than " +
                         std::to_string(target.max_storage_range) + " bytes"};
    t.memory = k.buffer({dtype, kernel::Access::read_write, false, false,
                         "scratch" + std::to_string(scratch.size())});
    scratch.push_back({t.memory, dtype, count * std::max<Dim>(1, lanes)});
  }
  return t;
}

int Emitter::pinned_axis(const Index& index) const {
  if (!lane.valid() || !pins) return -1;
  for (int a = 0; a < index.rank(); ++a)
    if (index.shape()[a] == lanes && index(k, a) == lane) return a;
  return -1;
}

int Emitter::lane_axis(const Shape& shape, int axis) const {
  return lane.valid() && pins && shape.rank() > axis && shape[axis] == lanes ? axis : -1;
}

Index Emitter::tile_index(const Tile& t, Value residual) const {
  if (t.pinned < 0) return Index::flat(t.shape, residual);
  const Shape rest = t.shape.without(t.pinned);
  const Index r = Index::flat(rest, residual);
  Values c;
  for (int a = 0, b = 0; a < t.shape.rank(); ++a) c.push_back(a == t.pinned ? lane : r(k, b++));
  return Index::coordinates(t.shape, std::move(c));
}

Value Emitter::tile_offset(const Tile& t, const Index& index) const {
  if (t.pinned < 0) return index.flat(k);
  if (!(index(k, t.pinned) == lane))
    throw NotLaneLocal{"a value of " + to_string(t.dtype, t.shape) +
                       " is read at another position of its lane axis " + std::to_string(t.pinned)};
  Values c;
  for (int a = 0; a < t.shape.rank(); ++a)
    if (a != t.pinned) c.push_back(index(k, a));
  return Index::coordinates(t.shape.without(t.pinned), std::move(c)).flat(k);
}

Value Emitter::tile_load(Tile& t, const Index& index) {
  const Value offset = tile_offset(t, index);
  if (t.kind != Tile::Kind::elements) return tile_load_at(t, offset);
  if (k.is_constant(offset)) return t.elements.at(k.constant_bits(offset));
  if (t.elements.size() == 1) return t.elements[0];
  if (!t.spill) {
    // Scalars asked for at a dynamic position: copied once to a private array, where the scalars
    // are defined.
    std::uint32_t depth = 0;
    for (Value v : t.elements) depth = std::max(depth, k.depth_of(v));
    t.spill = k.private_array({t.dtype, word(static_cast<Dim>(t.elements.size()))});
    k.at_depth(std::min(depth, k.depth()), [&] {
      for (std::size_t i = 0; i < t.elements.size(); ++i)
        k.private_store(*t.spill, k.u32(static_cast<std::uint32_t>(i)), t.elements[i]);
    });
  }
  return k.private_load(*t.spill, offset);
}

Value Emitter::tile_load_at(const Tile& t, Value residual) {
  switch (t.kind) {
    case Tile::Kind::elements:
      return t.elements.at(k.constant_bits(residual));
    case Tile::Kind::private_array:
      return k.private_load(t.memory, residual);
    case Tile::Kind::buffer:
      break;
  }
  if (t.layout) return load({t.memory, *t.layout}, t.shape, tile_index(t, residual));
  auto& access = k.kernel().buffers[t.memory].access;
  if (access == kernel::Access::write) access = kernel::Access::read_write;
  if (!lane.valid()) return k.load(t.memory, residual);
  return k.load(t.memory, k.add(k.mul(residual, k.u32(word(lanes))), lane));
}

void Emitter::tile_store(const Tile& t, Value residual, Value value, Value mask) {
  switch (t.kind) {
    case Tile::Kind::elements:
      GNOMON_CHECK(false, "a scalar tile is not stored to");
      break;
    case Tile::Kind::private_array:
      k.private_store(t.memory, residual, value, mask);
      return;
    case Tile::Kind::buffer:
      break;
  }
  if (t.layout)
    residual = position_in({t.memory, *t.layout}, t.shape, tile_index(t, residual));
  else if (lane.valid())
    residual = k.add(k.mul(residual, k.u32(word(lanes))), lane);
  k.store(t.memory, residual, value, mask);
}

Dim Emitter::elements_of_trip(Dim count, Dim together) const {
  // Several where that divides evenly: loop trips are a budget on some drivers. Not so many that at
  // most 32 trips are left: Mesa unrolls those, and an array that is then indexed by hundreds of
  // constants takes LLVM seconds.
  Dim unroll = 8;
  while (unroll > 1 && (count % unroll != 0 || count / unroll <= 32)) unroll /= 2;
  return together > unroll && count % together == 0 ? together : unroll;
}

void Emitter::for_each(Dim count, const std::function<void(Value)>& body, Dim together) {
  if (count <= 16) {
    for (Dim i = 0; i < count; ++i) body(k.u32(word(i)));
    return;
  }
  const Dim unroll = elements_of_trip(count, together);
  k.count_loop(k.u32(word(count / unroll)), static_cast<std::uint64_t>(count / unroll), {},
               [&](Value trip, std::span<const Value>) {
                 const Value first = k.mul(trip, k.u32(word(unroll)));
                 for (Dim u = 0; u < unroll; ++u) body(k.add(first, k.u32(word(u))));
                 return Values{};
               });
}

void Emitter::fill(Tile& t, const std::function<Value(const Index&)>& value, Dim together) {
  if (t.kind == Tile::Kind::elements) {
    t.elements.clear();
    for (Dim i = 0; i < t.count(); ++i) t.elements.push_back(value(tile_index(t, k.u32(word(i)))));
    return;
  }
  for_each(
      t.count(), [&](Value i) { tile_store(t, i, value(tile_index(t, i)), {}); }, together);
}

std::shared_ptr<const Uses> Emitter::uses_of(const Graph& g) {
  auto& slot = uses_[&g];
  if (!slot) slot = std::make_shared<const Uses>(analyse_uses(g));
  return slot;
}

void Emitter::know_uses(const Graph& g, const Uses& uses) {
  uses_[&g] = std::shared_ptr<const Uses>(std::shared_ptr<void>(), &uses);
}

}  // namespace gnomon
