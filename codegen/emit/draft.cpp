// codegen/emit/draft.cpp -- binds memory, asks the emitter for every element a kernel stores.
#include "codegen/emit/draft.h"

#include <algorithm>

#include "codegen/analysis/backward_slice.h"
#include "codegen/cost/device_model.h"
#include "codegen/emit/workshop.h"
#include "codegen/graph/primitive.h"
#include "codegen/operations/control.h"
#include "codegen/operations/table.h"
#include "shaders/passes/fuse_loops.h"
#include "shaders/passes/simplify.h"

namespace gnomon {

using kernel::Op;
using kernel::Value;
using kernel::Values;

namespace {

/// Axis of a root's shape that runs over the lanes; -1 when there is none.
int root_axis(const Shape& s, Dim lanes) {
  for (int a = 0; a < s.rank(); ++a)
    if (s[a] == lanes) return a;
  return -1;
}

/// The elements a lane of a tiled map kernel computes.
std::vector<Index> tile_positions(Workshop& w, ValueId v) {
  const RegisterTile& tile = *w.request.tile;
  const Shape& shape = w.request.graph.avals[v].shape;
  auto& k = w.k;
  const bool vector = tile.row == tile.column;
  const auto blocks = [](Dim n, Dim length) { return (n + length - 1) / length; };
  // Outer axes, panels of columns, blocks of rows, columns: what the columns of a panel read stays
  // in the cache while the rows pass. Outer axes are inner ones where lanes go in step, or where
  // they are walked behind the rows.
  const Dim panel =
      tile.panel > 0 ? tile.panel : blocks(shape[tile.column], tile.columns) * tile.columns;
  Shape walked;
  std::vector<int> place(static_cast<std::size_t>(shape.rank()), -1);
  const auto walk_others = [&](bool behind) {
    for (int a = 0; a < shape.rank(); ++a) {
      if (!tile.walks(a) || (tile.behind >> a & 1u) != static_cast<unsigned>(behind)) continue;
      place[static_cast<std::size_t>(a)] = walked.rank();
      walked.append(shape[a]);
    }
  };
  if (!tile.in_step) walk_others(false);
  const int outer = walked.rank();
  if (!vector) walked.append(blocks(shape[tile.column], panel));
  const int rows = walked.rank();
  walked.append(blocks(shape[tile.row], tile.rows));
  walk_others(true);
  const int across = walked.rank();
  if (!vector) walked.append(panel / tile.columns);
  if (tile.in_step) walk_others(false);
  const int column = walked.rank();
  if (!vector) walked.append(tile.columns);
  const Index at = Index::flat(walked, w.emitter.lane);
  // Where block number `block` of `length` neighbours starts; the last one ends with the axis.
  const auto first = [&](Value block, Dim n, Dim length) {
    const Value start = k.mul(block, k.u32(word(length)));
    return n % length == 0 ? start : k.binary(Op::minimum, start, k.u32(word(n - length)));
  };
  Values c(static_cast<std::size_t>(shape.rank()));
  for (std::size_t a = 0; a < c.size(); ++a)
    if (place[a] >= 0) c[a] = at(k, place[a]);
  const Value row = first(at(k, rows), shape[tile.row], tile.rows);
  if (!vector) {
    Value block = k.add(k.mul(at(k, outer), k.u32(word(panel / tile.columns))), at(k, across));
    // What a last panel has too much does the last columns once more.
    const Dim whole = blocks(shape[tile.column], tile.columns);
    if (whole % (panel / tile.columns) != 0)
      block = k.binary(Op::minimum, block, k.u32(word(whole - 1)));
    c[static_cast<std::size_t>(tile.column)] =
        k.add(first(block, shape[tile.column], tile.columns), at(k, column));
  }
  std::vector<int> whole;
  Shape all;
  for (int a = 0; a < shape.rank(); ++a)
    if ((tile.whole >> a & 1u) != 0) {
      whole.push_back(a);
      all.append(shape[a]);
    }
  std::vector<Index> positions;
  for (Dim r = 0; r < tile.rows; ++r) {
    c[static_cast<std::size_t>(tile.row)] = k.add(row, k.u32(word(r)));
    for (Dim n = 0; n < all.size(); ++n) {
      const Index one = Index::flat(all, k.u32(word(n)));
      for (std::size_t i = 0; i < whole.size(); ++i)
        c[static_cast<std::size_t>(whole[i])] = one(k, static_cast<int>(i));
      positions.push_back(Index::coordinates(shape, c));
    }
  }
  return positions;
}

/// What a loop writes slices into, the same ones in every lane: each has an array of its own, which
/// costs a lane what it writes.
bool held_by_all(const DraftRequest& r, ValueId v) {
  const std::uint32_t producer = r.uses.producer[v];
  if (producer == Uses::none) return false;
  const Equation& e = r.graph.equations[producer];
  if (e.primitive != &while_p && e.primitive != &scan_p) return false;
  const LoopOperands loop = loop_operands(e);
  return r.uses.output[v] < loop.carried && written_in_slices(loop.body, r.uses.output[v]);
}

/// A few elements that every lane has computed alike, such as a count of steps: the first one
/// stores them.
void store_shared_root(Workshop& w, Frame& f, ValueId v) {
  const DraftRequest& r = w.request;
  const Shape& shape = r.graph.avals[v].shape;
  if (shape.size() > w.emitter.scalar_limit && held_by_all(r, v)) {
    f.force(v);
    w.k.if_(
        w.k.compare(Op::eq, w.emitter.lane, w.k.u32(0)),
        [&] {
          w.emitter.for_each(shape.size(), [&](Value i) {
            const Index at = Index::flat(shape, i);
            w.emitter.store(w.memory(v, kernel::Access::write), shape, at, f.element(v, at));
          });
          return Values{};
        },
        [] { return Values{}; });
    return;
  }
  if (shape.size() > w.emitter.scalar_limit)
    throw NotLaneLocal{to_string(shape) + " has no axis of " + std::to_string(r.lanes) + " lanes"};
  std::vector<std::pair<Index, Value>> values;
  for (Dim j = 0; j < shape.size(); ++j) {
    const Index at = Index::flat(shape, w.k.u32(word(j)));
    values.emplace_back(at, f.element(v, at));
  }
  w.k.if_(
      w.k.compare(Op::eq, w.emitter.lane, w.k.u32(0)),
      [&] {
        for (const auto& [at, value] : values)
          w.emitter.store(w.memory(v, kernel::Access::write), shape, at, value);
        return Values{};
      },
      [] { return Values{}; });
}

void store_root(Workshop& w, Frame& f, ValueId v) {
  const DraftRequest& r = w.request;
  const Shape& shape = r.graph.avals[v].shape;
  const auto put = [&](const Index& index) {
    const Value value = f.element(v, index);
    w.emitter.store(w.memory(v, kernel::Access::write), shape, index, value);
  };
  if (shape.size() == 0) return;
  switch (r.mapping) {
    case Mapping::map: {
      if (!r.tile) {
        put(w.position(v));
        return;
      }
      std::vector<std::pair<Index, Value>> tile;
      for (const Index& at : tile_positions(w, v)) tile.emplace_back(at, f.element(v, at));
      for (const auto& [at, value] : tile)
        w.emitter.store(w.memory(v, kernel::Access::write), shape, at, value);
      return;
    }
    case Mapping::sequential:
      w.emitter.for_each(shape.size(), [&](Value i) { put(Index::flat(shape, i)); });
      return;
    case Mapping::lane:
      break;
    case Mapping::group:
      GNOMON_CHECK(false, "workgroups have drafts of their own");
  }
  // A root that shows another shape of what the lanes have is stored from there.
  const auto uses = w.emitter.uses_of(r.graph);
  ValueId own = v;
  const auto made_by = [&](const Primitive& p) {
    const std::uint32_t e = uses->producer[own];
    return e != Uses::none && r.graph.equations[e].primitive == &p;
  };
  Tile t;
  t.shape = shape;
  while ((t.pinned = root_axis(t.shape, r.lanes)) < 0 && made_by(reshape_p)) {
    own = r.graph.equations[uses->producer[own]].inputs[0];
    t.shape = r.graph.avals[own].shape;
  }
  if (t.pinned < 0) {
    store_shared_root(w, f, v);
    return;
  }
  const auto store = [&](const Index& at, Value value) {
    w.emitter.store(w.memory(v, kernel::Access::write), shape,
                    own == v ? at : at.reshaped(w.k, shape), value);
  };
  // What a loop gives is in the lane already; anything else has a kernel with a lane per element.
  const std::uint32_t producer = uses->producer[own];
  const bool by_loop = producer != Uses::none && is_loop(r.graph.equations[producer]);
  constexpr Dim few = 16;
  if (by_loop && (t.count() > 4 * w.emitter.scalar_limit || (t.count() > few && f.is_array(own)))) {
    w.emitter.for_each(t.count(), [&](Value j) {
      const Index at = w.emitter.tile_index(t, j);
      store(at, f.element(own, at));
    });
    return;
  }
  if (t.count() > 4 * w.emitter.scalar_limit) {
    throw NotLaneLocal{"each lane would write " + std::to_string(t.count()) + " elements of " +
                       to_string(shape)};
  }
  // All elements first, stores after: a root that reads another root's memory must not see half of
  // it.
  std::vector<std::pair<Index, Value>> values;
  for (Dim j = 0; j < t.count(); ++j) {
    const Index at = w.emitter.tile_index(t, w.k.u32(word(j)));
    values.emplace_back(at, f.element(own, at));
  }
  for (const auto& [at, value] : values) store(at, value);
}

/// Every lane stores a row of each root, a few neighbours at a time: what they need of the whole
/// row does not depend on the trip and lands in front of this loop.
void store_rows(Workshop& w, Frame& f) {
  const DraftRequest& r = w.request;
  auto& k = w.k;
  constexpr Dim side_by_side = 16;
  const auto put = [&](Value from, Dim n) {
    std::vector<std::pair<Index, Value>> values;
    for (ValueId v : r.roots)
      for (Dim i = 0; i < n; ++i) {
        const Index at = w.row_position(v, k.add(from, k.u32(word(i))));
        values.emplace_back(at, f.element(v, at));
      }
    auto next = values.begin();
    for (std::size_t root = 0; root < r.roots.size(); ++root)
      for (Dim i = 0; i < n; ++i, ++next)
        if (const ValueId v = r.roots[root]; r.stored[root])
          w.emitter.store(w.memory(v, kernel::Access::write), r.graph.avals[v].shape, next->first,
                          next->second);
  };
  const Dim trips = r.row / side_by_side;
  if (trips > 0)
    k.count_loop(k.u32(word(trips)), static_cast<std::uint64_t>(trips), {},
                 [&](Value trip, std::span<const Value>) {
                   put(k.mul(trip, k.u32(word(side_by_side))), side_by_side);
                   return Values{};
                 });
  put(k.u32(word(trips * side_by_side)), r.row % side_by_side);
}

bool stacked_output(const Graph& g, const Uses& uses, ValueId v) {
  const std::uint32_t p = uses.producer[v];
  if (p == Uses::none) return false;
  const Equation& e = g.equations[p];
  if (e.primitive->lower.kind != Lowering::Kind::scan) return false;
  return static_cast<int>(uses.output[v]) >= e.params.as<ScanParams>().carried;
}

/// What a loop carries out.
bool carried_output(const Graph& g, const Uses& uses, ValueId v) {
  const std::uint32_t p = uses.producer[v];
  if (p == Uses::none) return false;
  const auto kind = g.equations[p].primitive->lower.kind;
  return kind == Lowering::Kind::while_loop ||
         (kind == Lowering::Kind::scan && !stacked_output(g, uses, v));
}

/// What a kernel writes out instead of walking it by a loop.
struct WrittenOut {
  Dim scalars;            // tiles of up to so many elements are scalars
  Dim unrolled = 16;      // reductions and products of up to so many terms
  bool products = false;  // and those of a lane's vectors, up to longest_written_product
};

/// Has loops give their results where these lie in memory, instead of handing them to the stores.
void offer_memory(Workshop& w, Frame& f, const Uses& uses,
                  const std::set<std::uint32_t>& equations) {
  const DraftRequest& r = w.request;
  for (std::size_t i = 0; i < r.roots.size(); ++i) {
    const ValueId v = r.roots[i];
    if (stacked_output(r.graph, uses, v))
      f.store_directly(v, w.memory(v, kernel::Access::write));
    else if (r.takeovers.contains(v))
      f.offer_takeover(v, w.memory(v, kernel::Access::write), equations);
    else if (((r.mapping == Mapping::lane && r.stored[i]) || r.mapping == Mapping::sequential) &&
             carried_output(r.graph, uses, v))
      f.offer_home(v, w.memory(v, kernel::Access::write));
  }
}

/// Calls `emit`, which computes `v`; when no lane can, that is the failure.
template <class F>
bool succeeds(F emit, ValueId v, DraftFailure& failure) {
  try {
    emit();
    return true;
  } catch (const NotLaneLocal& reason) {
    failure = {v, reason.why};
    return false;
  }
}

/// Roots of an element per lane: all elements first, stores after, as a root may come to lie where
/// another one is read from.
bool store_elements(Workshop& w, Frame& f, DraftFailure& failure) {
  const DraftRequest& r = w.request;
  std::vector<std::pair<Index, Value>> values;
  for (ValueId v : r.roots) {
    const Index at = w.position(v);
    if (!succeeds([&] { values.emplace_back(at, f.element(v, at)); }, v, failure)) return false;
  }
  for (std::size_t i = 0; i < r.roots.size(); ++i)
    if (r.stored[i])
      w.emitter.store(w.memory(r.roots[i], kernel::Access::write), r.graph.avals[r.roots[i]].shape,
                      values[i].first, values[i].second);
  return true;
}

/// One root after the other.
bool store_roots(Workshop& w, Frame& f, const Uses& uses, DraftFailure& failure) {
  const DraftRequest& r = w.request;
  for (std::size_t i = 0; i < r.roots.size(); ++i) {
    const ValueId v = r.roots[i];
    const auto emit = [&] {
      if (carried_output(r.graph, uses, v) || stacked_output(r.graph, uses, v)) f.force(v);
      if (r.stored[i] && !f.is_at_home(v)) store_root(w, f, v);
    };
    if (!succeeds(emit, v, failure)) return false;
  }
  return true;
}

std::optional<Draft> attempt(const DraftRequest& r, DraftFailure& failure, WrittenOut most) {
  Workshop w(r);
  w.emitter.scalar_limit = most.scalars;
  w.emitter.unroll_limit = most.unrolled;
  if (r.mapping == Mapping::lane && runs_on_cores(r.target))
    w.emitter.product_limit = longest_written_product;
  w.emitter.writes_products = most.products;
  Frame f(w.emitter, r.graph);
  const auto uses = w.emitter.uses_of(r.graph);
  w.bind_inputs(f);
  std::set<std::uint32_t> equations;  // of this kernel
  if (!r.takeovers.empty())
    for (ValueId v : r.roots)
      for (std::uint32_t i :
           backward_slice_of({r.graph, r.uses, r.in_memory, r.layouts}, v).equations)
        equations.insert(i);
  if (r.stand_in)
    f.bind(r.roots.at(0),
           [&f, v = *r.stand_in](const Index& index) { return f.element(v, index); });
  offer_memory(w, f, *uses, equations);
  for (const auto& takeover : r.takeovers) {
    const ValueId v = takeover.first;
    if (!succeeds([&] { f.force(v); }, v, failure)) return std::nullopt;
  }
  if (r.row > 0) {
    if (!succeeds([&] { store_rows(w, f); }, r.roots[0], failure)) return std::nullopt;
    Draft d = w.finish("rows");
    d.width = 1;
    return d;
  }
  if (r.mapping == Mapping::map && !r.tile && r.roots.size() > 1) {
    if (!store_elements(w, f, failure)) return std::nullopt;
    return w.finish("map");
  }
  if (!store_roots(w, f, *uses, failure)) return std::nullopt;
  Draft d = w.finish(r.tile                       ? "tile"
                     : r.mapping == Mapping::map  ? "map"
                     : r.mapping == Mapping::lane ? "lane"
                                                  : "sequential");
  d.written_terms = w.emitter.written_terms;
  for (const auto& [v, start] : r.takeovers)
    if (f.is_at_home(v)) d.in_place.push_back(v);
  if (r.tile) {
    d.width = word(r.tile->columns);
    d.carried = word(r.tile->elements(r.graph.avals[r.roots[0]].shape));
    for (ValueId v : r.roots) d.disjoint = d.disjoint && r.tile->disjoint(r.graph.avals[v].shape);
  }
  return d;
}

/// Instructions from which on a kernel of one lane has its arrays in memory.
constexpr std::size_t most_alone = 2048;

/// The draft with its sums in loops, where that makes a large kernel half as large or less. Each
/// term that is written out is another copy of all that computes it, for which drivers take more
/// than linear time (a sum of 1,000 times four sines on lavapipe: 6.1 s, in loops 0.6 s), and terms
/// of so many instructions overlap as they are.
Draft rolled(Draft d, DraftRequest r) {
  constexpr std::size_t large = 2048;
  const std::size_t size = d.kernel.types.size();
  if (r.mapping != Mapping::map || r.tile || r.row > 0 || size <= large) return d;
  r.value_limit = size / 2;
  try {
    DraftFailure failure;
    if (auto smaller = attempt(r, failure, {1, 1})) return std::move(*smaller);
  } catch (const KernelTooLarge&) {
    // Something else makes it large.
  }
  return d;
}

}  // namespace

std::optional<Draft> draft(const DraftRequest& r, DraftFailure& failure) {
  // Arrays unrolled into scalars are what makes kernels grow: fewer of them, before anything else
  // is given up. A lone lane is slow anyway, and large functions keep drivers busy for seconds.
  DraftRequest smaller = r;
  smaller.value_limit =
      std::min(r.value_limit, r.mapping == Mapping::sequential ? most_alone : pleasant_kernel);
  // A CPU's lanes write out products with vectors of their own, unless those are many.
  const bool products = r.mapping == Mapping::lane && runs_on_cores(r.target);
  for (bool written = products, too_long = true; too_long; written = false) {
    too_long = false;
    for (const Dim scalars : {64, 8, 1}) {
      try {
        auto d = attempt(smaller, failure, {scalars, 16, written});
        if (d && d->written_terms > 0 &&
            !decide(r.decisions, Question::written, r.graph, r.roots[0], true))
          throw ProductsTooLong{};  // as if they were
        return d ? std::optional(rolled(std::move(*d), r)) : d;
      } catch (const KernelTooLarge&) {
        continue;
      } catch (const ProductsTooLong&) {
        too_long = written;  // without them, otherwise the same again
      }
    }
  }
  try {
    return attempt(r, failure, {1});
  } catch (const KernelTooLarge&) {
    // Short sums of short sums: what each of them writes out multiplies.
    return attempt(r, failure, {1, 1});
  }
}

Draft draft_elements(DraftRequest r) {
  DraftFailure failure;
  auto d = draft(r, failure);
  if (!d) {
    // A branch asked for other positions than its lane's: every lane computes all it needs by
    // itself.
    r.pins = false;
    d = draft(r, failure);
  }
  GNOMON_CHECK(d.has_value(), "an elementwise kernel has no loop to fail: " + failure.why);
  return std::move(*d);
}

kernel::Kernel loops_merged(kernel::Kernel k, const Draft& d, const Target& t) {
  const std::size_t loops = kernel::count_loops(k);
  if (loops < 2) return k;
  const std::uint32_t of_lane =
      d.has_loop ? std::max(1u, t.accumulators / t.loop_coarsening) : t.accumulators;
  k = kernel::fuse_loops(std::move(k), {d.carried > 0 ? d.carried : of_lane});
  return kernel::count_loops(k) < loops ? kernel::simplify(k) : std::move(k);
}

namespace {

void rename_buffer(kernel::Region& region, std::uint32_t from, std::uint32_t to) {
  for (kernel::Instruction& i : region.body) {
    if (i.op == Op::load || i.op == Op::store || i.op == Op::atomic_add) {
      if (i.immediate == from) i.immediate = to;
      if (i.immediate > from) --i.immediate;
    }
    for (kernel::Region& inner : i.regions) rename_buffer(inner, from, to);
  }
}

}  // namespace

void share_buffer(Draft& d, ValueId from, ValueId to) {
  const auto find = [&](ValueId v) {
    return std::find_if(d.operands.begin(), d.operands.end(),
                        [&](const DraftOperand& o) { return !o.scratch && o.value == v; });
  };
  const auto a = find(from), b = find(to);
  if (a == d.operands.end() || b == d.operands.end()) return;
  const auto gone = a - d.operands.begin(), kept = b - d.operands.begin();
  d.kernel.buffers[static_cast<std::size_t>(kept)].access = kernel::Access::read_write;
  rename_buffer(d.kernel.body, static_cast<std::uint32_t>(gone), static_cast<std::uint32_t>(kept));
  d.kernel.buffers.erase(d.kernel.buffers.begin() + gone);
  d.operands.erase(d.operands.begin() + gone);
}

}  // namespace gnomon
