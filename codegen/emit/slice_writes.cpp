// codegen/emit/slice_writes.cpp -- see slice_writes.h.
#include "codegen/emit/slice_writes.h"

#include <algorithm>

#include "codegen/emit/workshop.h"
#include "codegen/operations/gather_scatter.h"

namespace gnomon {

using kernel::Op;
using kernel::Value;
using kernel::Values;

namespace {

int batch_of(const Equation& e) { return e.params.as<DynamicUpdateSliceParams>().batch_dims; }

}  // namespace

/// The lane's axis is not one along which a slice lies somewhere.
bool SliceWrites::has_lane(const Tile& t, const Equation& e) const {
  const Shape& update = graph_.avals[e.inputs[1]].shape;
  return t.pinned < 0 || t.pinned < batch_of(e) || update[t.pinned] == t.shape[t.pinned];
}

bool SliceWrites::possible(const Tile& t, const SliceChain& chain) const {
  return std::all_of(chain.updates.begin(), chain.updates.end(),
                     [&](const Equation* e) { return has_lane(t, *e); });
}

/// The slice as the lane holds it.
Tile SliceWrites::slice_of(const Tile& t, const Equation& e) const {
  Tile r;
  r.dtype = t.dtype;
  r.shape = graph_.avals[e.inputs[1]].shape;
  r.pinned = t.pinned;
  return r;
}

Value SliceWrites::clamped(Value start, Dim last) {
  const Value limit = k_.i32(static_cast<std::int32_t>(last));
  start = k_.binary(Op::maximum, k_.convert(start, DType::i32), k_.i32(0));
  return k_.convert(k_.binary(Op::minimum, start, limit), DType::u32);
}

Index SliceWrites::position(const Tile& t, const Equation& e, const Index& in_slice,
                            const std::function<Value(int, const Index&)>& start) {
  const Shape& update = graph_.avals[e.inputs[1]].shape;
  const int batch = batch_of(e);
  Values b;
  for (int a = 0; a < batch; ++a) b.push_back(in_slice(k_, a));
  const Index lanes = Index::coordinates(update.part(0, batch), std::move(b));
  Values position;
  for (int a = 0; a < t.shape.rank(); ++a) {
    Value c = in_slice(k_, a);
    if (a >= batch && update[a] != t.shape[a])
      c = k_.add(c, clamped(start(a, lanes), t.shape[a] - update[a]));
    position.push_back(c);
  }
  return Index::coordinates(t.shape, std::move(position));
}

void SliceWrites::prepare(const Tile& t, const SliceChain& chain) {
  for (const Equation* e : chain.updates) {
    const Shape& update = graph_.avals[e->inputs[1]].shape;
    const int batch = batch_of(*e);
    const auto start_of = [&](int axis) {
      return e->inputs[2 + static_cast<std::size_t>(axis - batch)];
    };
    Write w{t, e, {}, {}, {}};
    Tile slice = slice_of(t, *e);
    if (slice.count() <= e_.scalar_limit) {
      for (Dim j = 0; j < slice.count(); ++j) {
        const Index at = e_.tile_index(slice, k_.u32(word(j)));
        const Index to = position(t, *e, at, [&](int axis, const Index& lanes) {
          return frame_.element(start_of(axis), lanes);
        });
        w.elements.emplace_back(to, frame_.element(e->inputs[1], at));
      }
      writes_.push_back(std::move(w));
      continue;
    }
    // One of many elements waits in memory, with its places.
    w.values = e_.make_tile(slice.dtype, slice.shape, slice.pinned, true);
    e_.fill(w.values, [&](const Index& at) { return frame_.element(e->inputs[1], at); });
    w.starts.resize(static_cast<std::size_t>(t.shape.rank()));
    for (int a = batch; a < t.shape.rank(); ++a) {
      if (update[a] == t.shape[a]) continue;
      const Shape lanes = update.part(0, batch);
      Tile& s = w.starts[static_cast<std::size_t>(a)].emplace();
      s.dtype = DType::i32;
      s.shape = lanes;
      s.pinned = t.pinned < batch ? t.pinned : -1;
      if (s.count() > e_.scalar_limit) s = e_.make_tile(DType::i32, lanes, s.pinned, true);
      e_.fill(s, [&, v = start_of(a)](const Index& at) {
        return k_.convert(frame_.element(v, at), DType::i32);
      });
    }
    writes_.push_back(std::move(w));
  }
}

void SliceWrites::write(const Mask& mask) {
  for (Write& w : writes_) {
    const auto put = [&](const Index& at, Value value) {
      e_.tile_store(w.into, e_.tile_offset(w.into, at), value, mask ? mask(at) : Value{});
    };
    for (const auto& [at, value] : w.elements) put(at, value);
    if (!w.elements.empty() || w.values.shape.rank() == 0) continue;
    e_.for_each(w.values.count(), [&](Value j) {
      const Index at = e_.tile_index(w.values, j);
      put(position(w.into, *w.update, at,
                   [&](int axis, const Index& lanes) {
                     return e_.tile_load(*w.starts[static_cast<std::size_t>(axis)], lanes);
                   }),
          e_.tile_load_at(w.values, j));
    });
  }
  writes_.clear();
}

}  // namespace gnomon
