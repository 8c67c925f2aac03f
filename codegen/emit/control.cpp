// codegen/emit/control.cpp -- loops, branches and scatters inside one kernel.
#include <algorithm>
#include <map>

#include "codegen/emit/emitter.h"
#include "codegen/emit/scan_rows.h"
#include "codegen/emit/slice_writes.h"
#include "codegen/emit/workshop.h"
#include "codegen/operations/buffer.h"
#include "codegen/operations/control.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"

namespace gnomon {

using kernel::Op;
using kernel::Value;
using kernel::Values;

namespace {

/// Carried values of a loop under construction: scalars travel as loop arguments, arrays stay in
/// their tile.
struct CarriedTiles {
  std::vector<Tile> tiles;

  Values scalars() const {
    Values r;
    for (const Tile& t : tiles)
      if (t.kind == Tile::Kind::elements) r.insert(r.end(), t.elements.begin(), t.elements.end());
    return r;
  }
  /// The same tiles with their scalars taken from loop arguments.
  CarriedTiles with(std::span<const Value> arguments) const {
    CarriedTiles r = *this;
    std::size_t at = 0;
    for (Tile& t : r.tiles) {
      t.spill.reset();
      if (t.kind == Tile::Kind::elements)
        for (Value& v : t.elements) v = arguments[at++];
    }
    return r;
  }
};

void bind_carried(Frame& frame, const Graph& graph, const CarriedTiles& carried,
                  std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) frame.bind(graph.inputs[i], carried.tiles[i]);
}

}  // namespace

/// Evaluates the next carried values; array tiles are updated in memory, scalars are returned.
class CarryUpdate {
 public:
  CarryUpdate(Emitter& e, const Graph& body)
      : e_(e), k_(e.k), body_(body), uses_(*e.uses_of(body)) {}

  /// `running`: where one invocation holds all lanes, whether a lane takes this step.
  Values run(Frame& frame, const CarriedTiles& carried, const SliceWrites::Mask& running) {
    Values scalars;
    std::vector<std::pair<std::size_t, Tile>> copies;
    SliceWrites writes(e_, frame, body_);
    for (std::size_t i = 0; i < carried.tiles.size(); ++i) {
      const Tile& t = carried.tiles[i];
      const ValueId out = body_.outputs[i];
      auto next = [&, was = t](const Index& index) mutable {
        const Value v = frame.element(out, index);
        return running ? k_.select(running(index), v, e_.tile_load(was, index)) : v;
      };
      if (t.kind == Tile::Kind::elements) {
        for (Dim j = 0; j < t.count(); ++j)
          scalars.push_back(next(e_.tile_index(t, k_.u32(word(j)))));
      } else if (out == body_.inputs[i]) {
        continue;  // stays as it is
      } else if (const auto chain = in_place(frame, t, i); chain && writes.possible(t, *chain)) {
        writes.prepare(t, *chain);
      } else {
        copies.emplace_back(i, fresh(t, next));
      }
    }
    // Every read of the old values is above this line; now they may be overwritten.
    writes.write(running);
    for (auto& [i, tile] : copies)
      e_.for_each(tile.count(), [&, &from = tile, &to = carried.tiles[i]](Value j) {
        e_.tile_store(to, j, e_.tile_load_at(from, j), {});
      });
    return scalars;
  }

 private:
  Tile fresh(const Tile& like, const std::function<Value(const Index&)>& next) {
    Tile t = e_.make_tile(like.dtype, like.shape, like.pinned, true);
    e_.fill(t, next);
    return t;
  }

  /// When body output `i` is the carried input with slices written into it one after the other, or
  /// what a loop has made of it where it lies, and nobody else needs it afterwards: the slices.
  std::optional<SliceChain> in_place(Frame& frame, const Tile& t, std::size_t i) {
    SliceChain chain = slices_below(body_, uses_, body_.outputs[i]);
    if (!chain.updates.empty() && uses_.count[body_.outputs[i]] != 1) return std::nullopt;
    if (chain.bottom == body_.inputs[i] || frame.lies_in(chain.bottom, t)) return chain;
    return std::nullopt;
  }

  Emitter& e_;
  kernel::Builder& k_;
  const Graph& body_;
  const Uses& uses_;
};

namespace {

/// A history, whose rows a loop writes one by one: as scalars, every one of them would be chosen
/// from at every step.
bool is_history(const Graph& body, const Uses& uses, std::size_t carried, const Tile& t) {
  constexpr Dim few = 4;
  if (t.count() <= few) return false;
  if (uses.count[body.outputs[carried]] != 1 || body.outputs[carried] == body.inputs[carried])
    return false;
  return written_in_slices(body, carried);
}

/// What loops begin with. `taken`: memory that already holds it. `empty`: whether a value has
/// nothing in it that anybody looks at. `by_step`: whether a step writes a row of its own. `home`:
/// the buffer that an empty array may lie in.
CarriedTiles initial(
    Emitter& e, const Graph& body, int carried, const std::function<int(const Aval&)>& pinned_axis,
    bool frozen, const std::vector<std::optional<Tile>>& taken,
    const std::function<bool(std::size_t)>& empty, const std::function<bool(std::size_t)>& by_step,
    const std::function<std::optional<std::uint32_t>(std::size_t, const Tile&)>& home,
    const std::function<Value(std::size_t, const Index&)>& element) {
  CarriedTiles c;
  const auto uses = e.uses_of(body);
  for (std::size_t i = 0; i < static_cast<std::size_t>(carried); ++i) {
    if (taken[i]) {
      c.tiles.push_back(*taken[i]);
      continue;
    }
    const Aval& a = body.avals[body.inputs[i]];
    const int pinned = pinned_axis(a);
    Tile t;
    t.dtype = a.dtype;
    t.shape = a.shape;
    t.pinned = pinned;
    const bool history = !frozen && is_history(body, *uses, i, t);
    // Nobody else reads or writes there while one invocation fills it.
    const bool at_home = history && (empty(i) || !e.lane.valid());
    if (const auto buffer = at_home ? home(i, t) : std::nullopt) {
      t.kind = Tile::Kind::buffer;
      t.memory = *buffer;
    } else if (history || t.count() > e.scalar_limit) {
      t = e.make_tile(t.dtype, t.shape, pinned, true);
    }
    if (t.kind == Tile::Kind::elements || !empty(i)) {
      e.fill(t, [&](const Index& index) { return element(i, index); });
    } else if (history && by_step(i)) {
      kernel::Kernel& k = e.k.kernel();
      if (t.kind == Tile::Kind::private_array)
        k.privates[t.memory].history = true;
      else
        k.buffers[t.memory].history = true;
    }
    c.tiles.push_back(std::move(t));
  }
  return c;
}

}  // namespace

bool Frame::is_empty(ValueId v) const {
  const std::uint32_t producer = uses_->producer[v];
  return producer != Uses::none && graph_.equations[producer].primitive == &unwritten_p;
}

std::optional<std::uint32_t> Frame::take_home(ValueId output, const Tile& t) {
  const auto home = homes_.find(output);
  if (home == homes_.end() || size_of(t.dtype) < sizeof(std::uint32_t)) return std::nullopt;
  const auto& [order, block] = home->second.layout;
  if (e_.lane.valid()) {
    if (!e_.pins || t.pinned != 0 || order.empty() || block > 0) return std::nullopt;
    const auto last = order.size() - 1;
    for (std::size_t a = 0; a < order.size(); ++a)
      if (order[a] != (a == last ? 0 : static_cast<int>(a) + 1)) return std::nullopt;
  } else if (t.pinned >= 0 || !order.empty()) {
    return std::nullopt;
  }
  direct_[output] = home->second;
  return home->second.buffer;
}

namespace {

/// Where one invocation holds all lanes, each with a flag: those for which `holds` is true, as far
/// as they are among the lanes that run around here.
Tile lanes_for_which(Emitter& e, Dim lanes, std::optional<Tile>& around,
                     const std::function<Value(const Index&)>& holds) {
  Tile active;
  active.dtype = DType::boolean;
  active.shape = Shape(lanes);
  if (active.count() > e.scalar_limit) active = e.make_tile(DType::boolean, active.shape, -1, true);
  e.fill(active, [&](const Index& at) {
    const Value go = holds(at);
    return around && around->shape == active.shape ? e.k.land(e.tile_load(*around, at), go) : go;
  });
  return active;
}

Value any_of(Emitter& e, const Tile& flags) {
  auto& k = e.k;
  const Value no = k.boolean(false);
  if (flags.kind == Tile::Kind::elements) {
    Value any = no;
    for (Value v : flags.elements) any = k.lor(any, v);
    return any;
  }
  return k.count_loop(k.u32(word(flags.count())), static_cast<std::uint64_t>(flags.count()),
                      std::span(&no, 1), [&](Value i, std::span<const Value> c) {
                        return Values{k.lor(c[0], e.tile_load_at(flags, i))};
                      })[0];
}

/// Takes the flag of those that run and for which `holds` is false. Gives the flags that are
/// scalars; others are changed in their array.
Values still_running(Emitter& e, Tile& running, const std::function<Value(const Index&)>& holds) {
  Tile still = running;
  if (still.kind != Tile::Kind::elements)
    still = e.make_tile(DType::boolean, running.shape, -1, true);
  e.fill(still, [&](const Index& at) { return e.k.land(e.tile_load(running, at), holds(at)); });
  if (still.kind == Tile::Kind::elements) return {still.elements.begin(), still.elements.end()};
  e.for_each(still.count(),
             [&](Value i) { e.tile_store(running, i, e.tile_load_at(still, i), {}); });
  return {};
}

}  // namespace

/// What a while loop inside `around` decides and does in a step, for given carried values.
class WhileGraphs {
 public:
  WhileGraphs(Emitter& e, Frame& around, const Equation& loop)
      : e_(e),
        around_(around),
        loop_(loop),
        p_(loop.params.as<WhileParams>()),
        carried_(static_cast<std::size_t>(p_.carried)) {}

  /// Whether there is another step, at `at` of the lanes.
  Value condition(const CarriedTiles& c, const Index& at) const {
    Frame f(e_, *p_.condition);
    bind(f, *p_.condition, c);
    return f.element(p_.condition->outputs[0], at);
  }

  /// The carried values behind a step: scalars, arrays being updated where they lie. `running`:
  /// where one invocation holds all lanes, those that take the step.
  Values body(const CarriedTiles& c, Tile* running) const {
    Frame f(e_, *p_.body);
    bind(f, *p_.body, c);
    SliceWrites::Mask goes_on;
    if (running != nullptr)
      goes_on = [&](const Index& at) {
        return e_.tile_load(*running, Index::coordinates(Shape(p_.lanes), {at(e_.k, 0)}));
      };
    f.own_carried(carried_, running);
    f.run_loops_in_place();
    return CarryUpdate(e_, *p_.body).run(f, c, goes_on);
  }

 private:
  void bind(Frame& f, const Graph& graph, const CarriedTiles& c) const {
    bind_carried(f, graph, c, carried_);
    around_.bind_constants(f, loop_, carried_, carried_);
  }

  Emitter& e_;
  Frame& around_;
  const Equation& loop_;
  const WhileParams& p_;
  const std::size_t carried_;
};

Frame::Tiles Frame::emit_while(const Equation& e) {
  auto& k = e_.k;
  const auto& p = e.params.as<WhileParams>();
  const bool laned = p.lanes > 0;
  const bool by_lane = e_.lane.valid() && e_.pins;
  if (laned && by_lane && e_.lanes != p.lanes)
    throw NotLaneLocal{"a loop over " + std::to_string(p.lanes) + " lanes inside a kernel of " +
                       std::to_string(e_.lanes)};
  const bool frozen = laned && !by_lane;
  const auto carried_count = static_cast<std::size_t>(p.carried);
  const auto pinned = [&](const Aval& a) {
    return frozen ? -1 : laned ? 0 : e_.lane_axis(a.shape, 0);
  };
  const Taken taken = take_over(e, carried_count, pinned);
  CarriedTiles start = initial(
      e_, *p.body, p.carried, pinned, frozen, taken.tiles,
      [&](std::size_t i) { return is_empty(e.inputs[i]); },
      [&](std::size_t i) {
        return p.max_steps >= 0 &&
               writes_row_of_step(
                   *p.body, *e_.uses_of(*p.body), i, p.max_steps,
                   [&](std::size_t c) { return is_everywhere(graph_, *uses_, e.inputs[c], 0); });
      },
      [&](std::size_t i, const Tile& t) { return take_home(e.outputs[i], t); },
      [&](std::size_t i, const Index& index) { return element(e.inputs[i], index); });
  write_before(taken);

  const WhileGraphs graphs(e_, *this, e);
  if (frozen)
    start.tiles.push_back(lanes_for_which(
        e_, p.lanes, running_, [&](const Index& at) { return graphs.condition(start, at); }));

  Values init = start.scalars();
  init.push_back(k.u32(0));
  const auto lane_shape =
      laned && !frozen ? Index::coordinates(Shape(p.lanes), {e_.lane}) : Index::coordinates({}, {});
  const Values last = k.loop(
      init, p.max_steps < 0 ? 0 : static_cast<std::uint64_t>(p.max_steps),
      [&](std::span<const Value> arguments) {
        CarriedTiles c = start.with(arguments.first(arguments.size() - 1));
        Value go = frozen ? any_of(e_, c.tiles.back()) : graphs.condition(c, lane_shape);
        if (p.max_steps >= 0)
          go = k.land(k.compare(Op::lt, arguments.back(), k.u32(word(p.max_steps))), go);
        return go;
      },
      [&](std::span<const Value> arguments) {
        CarriedTiles c = start.with(arguments.first(arguments.size() - 1));
        Tile running;
        if (frozen) {
          running = c.tiles.back();
          c.tiles.pop_back();
        }
        Values next = graphs.body(c, frozen ? &running : nullptr);
        if (frozen) {
          const CarriedTiles after = c.with(next);
          const Values still = still_running(
              e_, running, [&](const Index& at) { return graphs.condition(after, at); });
          next.insert(next.end(), still.begin(), still.end());
        }
        next.push_back(k.add(arguments.back(), k.u32(1)));
        return next;
      });
  const CarriedTiles end = start.with(std::span(last).first(last.size() - 1));
  Tiles r;
  for (std::size_t i = 0; i < carried_count; ++i) r.emplace_back(end.tiles[i]);
  return r;
}

Frame::Tiles Frame::emit_scan(const Equation& e) {
  auto& k = e_.k;
  const auto& p = e.params.as<ScanParams>();
  const Graph& body = *p.body;
  const auto carried_count = static_cast<std::size_t>(p.carried);
  const auto sequences = static_cast<std::size_t>(p.sequences);
  const auto axis = [&](const Aval& a) { return e_.lane_axis(a.shape, 0); };
  const Taken taken = take_over(e, carried_count, axis);
  const CarriedTiles start = initial(
      e_, body, p.carried, axis, false, taken.tiles,
      [&](std::size_t i) { return is_empty(e.inputs[i]); }, [](std::size_t) { return false; },
      [&](std::size_t i, const Tile& t) { return take_home(e.outputs[i], t); },
      [&](std::size_t i, const Index& index) { return element(e.inputs[i], index); });
  write_before(taken);
  const ScanRows rows(e_, *this, e);
  const auto trip_body = [&](Value trip, std::span<const Value> arguments) {
    const Value step = p.reverse ? k.sub(k.u32(word(p.length - 1)), trip) : trip;
    const CarriedTiles c = start.with(arguments);
    Frame f(e_, body);
    bind_carried(f, body, c, carried_count);
    for (std::size_t s = 0; s < sequences; ++s) {
      const ValueId sequence = e.inputs[carried_count + s];
      f.bind(body.inputs[carried_count + s], [this, sequence, step](const Index& at) {
        Values position{step};
        for (int a = 0; a < at.rank(); ++a) position.push_back(at(e_.k, a));
        return element(sequence,
                       Index::coordinates(graph_.avals[sequence].shape, std::move(position)));
      });
    }
    bind_constants(f, e, carried_count + sequences, carried_count + sequences);
    f.own_carried(carried_count, nullptr);
    f.run_loops_in_place();
    rows.store(f, step);
    return CarryUpdate(e_, body).run(f, c, {});
  };
  // A loop of one trip says that one lane computes all of it (matrix::by_matrix), and is no loop.
  const Values first = start.scalars();
  const Values last = p.length == 1
                          ? trip_body(k.u32(0), first)
                          : k.count_loop(k.u32(word(p.length)),
                                         static_cast<std::uint64_t>(p.length), first, trip_body);
  const CarriedTiles end = start.with(last);
  Tiles r;
  for (std::size_t o = 0; o < e.outputs.size(); ++o)
    r.push_back(o < carried_count ? end.tiles[o] : rows.array(o));
  return r;
}

Tile Frame::emit_scatter(const Equation& e, int pinned) {
  auto& k = e_.k;
  const auto& p = e.params.as<ScatterParams>();
  const Aval& out = graph_.avals[e.outputs[0]];
  const Shape& updates = graph_.avals[e.inputs[2]].shape;
  if (pinned == p.axis) throw NotLaneLocal{"a scatter writes along the lane axis"};
  Tile t = e_.make_tile(out.dtype, out.shape, pinned, true);
  e_.fill(t, [&](const Index& at) { return element(e.inputs[0], at); });
  Tile rest;  // every axis of the updates but the scattered one, as this lane holds them
  rest.shape = updates.with(p.axis, 1);
  rest.pinned = pinned;
  const Dim n = updates[p.axis];
  const Dim length = out.shape[p.axis];
  if (n == 0 || length == 0) return t;
  k.count_loop(
      k.u32(word(n)), static_cast<std::uint64_t>(n), {}, [&](Value i, std::span<const Value>) {
        e_.for_each(rest.count(), [&](Value j) {
          const Index at = e_.tile_index(rest, j);
          Values batch, source, target;
          Shape indices;
          for (int a = 0; a < p.batch_dims; ++a) {
            batch.push_back(at(k, a));
            indices.append(updates[a]);
          }
          batch.push_back(i);
          indices.append(n);
          const Value index = k.convert(
              element(e.inputs[1], Index::coordinates(indices, std::move(batch))), DType::u32);
          const Value inside = k.compare(Op::lt, index, k.u32(word(length)));
          const Value safe = k.select(inside, index, k.u32(0));
          for (int a = 0; a < updates.rank(); ++a) {
            source.push_back(a == p.axis ? i : at(k, a));
            target.push_back(a == p.axis ? safe : at(k, a));
          }
          const Value offset = e_.tile_offset(t, Index::coordinates(out.shape, std::move(target)));
          const Value update = element(e.inputs[2], Index::coordinates(updates, std::move(source)));
          const auto old = [&] { return e_.tile_load_at(t, offset); };
          e_.tile_store(t, offset, rules::combine_update(k, *e.primitive, old, update), inside);
        });
        return Values{};
      });
  return t;
}

Value Frame::branch_index(const Equation& e, std::size_t output, const Index& at) {
  const auto& p = e.params.as<CondParams>();
  if (p.lanes == 0) return element(e.inputs[0], Index::coordinates({}, {}));
  GNOMON_CHECK(graph_.avals[e.outputs[output]].shape.rank() > 0,
               "a branch by lanes gives values by lanes");
  return element(e.inputs[0], Index::coordinates(Shape(p.lanes), {at(e_.k, 0)}));
}

Values Frame::choose(Value index, bool boolean, std::size_t branches,
                     const std::function<Values(std::size_t)>& branch) {
  auto& k = e_.k;
  if (boolean)
    return k.if_(
        index, [&] { return branch(1); }, [&] { return branch(0); });
  const std::function<Values(std::size_t)> from = [&](std::size_t i) -> Values {
    if (i + 1 >= branches) return branch(i);
    const Value here = k.compare(Op::le, index, k.i32(static_cast<std::int32_t>(i)));
    return k.if_(
        here, [&] { return branch(i); }, [&] { return from(i + 1); });
  };
  return from(0);
}

Value Frame::emit_cond(const Equation& e, std::size_t output, const Index& at) {
  const auto& p = e.params.as<CondParams>();
  const bool boolean = graph_.avals[e.inputs[0]].dtype == DType::boolean;
  // The position's coordinates must exist outside the branches that use them.
  for (int a = 0; a < at.rank(); ++a) at(e_.k, a);
  return choose(branch_index(e, output, at), boolean, p.branches.size(), [&](std::size_t b) {
    const Graph& branch = *p.branches[b];
    Frame f(e_, branch);
    bind_constants(f, e, 0, 1);
    return Values{f.element(branch.outputs[output], at)};
  })[0];
}

std::optional<Frame::Tiles> Frame::try_cond_tiles(const Equation& e) {
  auto& k = e_.k;
  const auto& p = e.params.as<CondParams>();
  const bool by_lane = e_.lane.valid() && e_.pins && e_.lanes == p.lanes;
  if (p.lanes > 0 && !by_lane) {
    if (e_.lane.valid() && e_.pins && is_loop(e))
      throw NotLaneLocal{"a branch over " + std::to_string(p.lanes) + " lanes inside a kernel of " +
                         std::to_string(e_.lanes)};
    if (!is_loop(e)) return std::nullopt;
    return all_branches(e);
  }
  std::vector<std::size_t> live;
  Tiles tiles(e.outputs.size());
  for (std::size_t o = 0; o < e.outputs.size(); ++o) {
    if (uses_->count[e.outputs[o]] == 0) continue;
    const Aval& a = graph_.avals[e.outputs[o]];
    Tile t;
    t.dtype = a.dtype;
    t.shape = a.shape;
    t.pinned = p.lanes > 0 ? 0 : e_.lane_axis(a.shape, 0);
    if (t.count() > e_.scalar_limit) {
      // Loops run once for all elements; anything else is as well computed where it is read.
      if (!is_loop(e)) return std::nullopt;
      t = e_.make_tile(t.dtype, t.shape, t.pinned, true);
    }
    live.push_back(o);
    tiles[o] = std::move(t);
  }
  if (live.empty()) return tiles;
  const bool boolean = graph_.avals[e.inputs[0]].dtype == DType::boolean;
  const Index at =
      p.lanes > 0 ? Index::coordinates(Shape(p.lanes), {e_.lane}) : Index::coordinates({}, {});
  const Values all =
      choose(element(e.inputs[0], at), boolean, p.branches.size(), [&](std::size_t b) {
        const Graph& branch = *p.branches[b];
        Frame f(e_, branch);
        bind_constants(f, e, 0, 1);
        Values r;
        for (std::size_t o : live) {
          const auto value = [&](const Index& i) { return f.element(branch.outputs[o], i); };
          if (tiles[o]->kind != Tile::Kind::elements) {
            e_.fill(*tiles[o], value);
            continue;
          }
          for (Dim j = 0; j < tiles[o]->count(); ++j)
            r.push_back(value(e_.tile_index(*tiles[o], k.u32(word(j)))));
        }
        return r;
      });
  std::size_t next = 0;
  for (std::size_t o : live)
    if (tiles[o]->kind == Tile::Kind::elements)
      for (Dim j = 0; j < tiles[o]->count(); ++j) tiles[o]->elements.push_back(all[next++]);
  return tiles;
}

/// A branch by lanes where one invocation holds all lanes: every branch runs, each lane keeps its
/// own branch's values.
Frame::Tiles Frame::all_branches(const Equation& e) {
  const auto& p = e.params.as<CondParams>();
  Tiles tiles(e.outputs.size());
  for (std::size_t b = 0; b < p.branches.size(); ++b) {
    const Graph& branch = *p.branches[b];
    Frame f(e_, branch);
    bind_constants(f, e, 0, 1);
    for (std::size_t o = 0; o < e.outputs.size(); ++o) {
      const Aval& a = graph_.avals[e.outputs[o]];
      if (uses_->count[e.outputs[o]] == 0) continue;
      if (!tiles[o]) tiles[o] = e_.make_tile(a.dtype, a.shape, -1, true);
      e_.for_each(a.shape.size(), [&](Value j) {
        const Index at = e_.tile_index(*tiles[o], j);
        e_.tile_store(*tiles[o], j, f.element(branch.outputs[o], at), takes(e, o, at, b));
      });
    }
  }
  return tiles;
}

/// Whether the lane of a position takes branch `b`.
Value Frame::takes(const Equation& e, std::size_t output, const Index& at, std::size_t b) {
  auto& k = e_.k;
  const Value index = branch_index(e, output, at);
  if (k.type(index).scalar == DType::boolean) return b == 1 ? index : k.unary(Op::bnot, index);
  const auto last = e.params.as<CondParams>().branches.size() - 1;
  const Value number = k.i32(static_cast<std::int32_t>(b));
  return b == 0      ? k.compare(Op::le, index, number)
         : b == last ? k.compare(Op::ge, index, number)
                     : k.compare(Op::eq, index, number);
}

}  // namespace gnomon
