// codegen/optimize/narrow_choices.cpp -- see narrow_choices.h.
#include "codegen/optimize/narrow_choices.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/analysis/in_place.h"
#include "codegen/graph/primitive.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/control.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/trace/trace.h"

namespace gnomon {
namespace {

/// Slices of one array at places of their own.
struct Place {
  Arrays starts;
  int batch = 0;
};

Array slice_at(const Array& all, const Shape& sizes, const Place& p) {
  Arrays in{all};
  in.insert(in.end(), p.starts.begin(), p.starts.end());
  return emit1(dynamic_slice_p, DynamicSliceParams{sizes.part(p.batch, sizes.rank()), p.batch}, in,
               {});
}

/// How many leading axes of `to` hold the first `count` axes of `from`, the others being the same;
/// negative: none do.
int regrouped(const Shape& from, int count, const Shape& to) {
  const int kept = from.rank() - count, r = to.rank() - kept;
  if (r < 0 || from.part(count, from.rank()) != to.part(r, to.rank())) return -1;
  return from.part(0, count).size() == to.part(0, r).size() ? r : -1;
}

class Narrower {
 public:
  Graph run(const Graph& g) {
    return replay(g, [&](const Equation& e, const Arrays& in) { return rule(e, in); });
  }

 private:
  /// What has made a value of the trace.
  struct Made {
    const Primitive* primitive;
    Params params;
    Arrays inputs;
  };

  Arrays rule(const Equation& e, const Arrays& in) {
    if (e.primitive == &select_p) {
      if (auto r = chosen(in[0], in[1], in[2])) return {*r};
    } else if (e.primitive == &reshape_p) {
      if (auto r = reshaped(in[0], e.params.as<ReshapeParams>().shape)) return {*r};
    } else if (e.primitive == &dynamic_slice_p) {
      if (auto r = sliced(in, e.params.as<DynamicSliceParams>())) return {*r};
    } else if (e.primitive == &cond_p) {
      return branched(e, in);
    }
    std::vector<GraphPtr> graphs = e.params.graphs();
    if (graphs.empty()) return {made(*e.primitive, e.params, in, e)};
    for (GraphPtr& g : graphs) g = std::make_shared<const Graph>(narrow_choices(*g));
    return emit(*e.primitive, e.params.with_graphs(graphs), in, e.loc);
  }

  /// Emits what has one output, and remembers it.
  Array noted(const Primitive& p, const Params& params, const Arrays& in) {
    const Array r = emit1(p, params, in, {});
    made_.emplace(r.value(), Made{&p, params, in});
    return r;
  }
  Arrays made(const Primitive& p, const Params& params, const Arrays& in, const Equation& e) {
    const Arrays r = emit(p, params, in, e.loc);
    if (&p == &dynamic_update_slice_p || &p == &reshape_p || &p == &broadcast_p)
      made_.emplace(r[0].value(), Made{&p, params, in});
    return r;
  }
  const Made* maker(const Array& v, const Primitive& p) const {
    const auto m = made_.find(v.value());
    return m != made_.end() && m->second.primitive == &p ? &m->second : nullptr;
  }
  const Made* update(const Array& v) const {
    const Made* m = maker(v, dynamic_update_slice_p);
    return m != nullptr && m->inputs[1].shape() != v.shape() ? m : nullptr;
  }
  static Place place_of(const Made& update) {
    return {Arrays(update.inputs.begin() + 2, update.inputs.end()),
            update.params.as<DynamicUpdateSliceParams>().batch_dims};
  }

  Array written(const Array& all, const Array& slice, const Place& p) {
    Arrays in{all, slice};
    in.insert(in.end(), p.starts.begin(), p.starts.end());
    return noted(dynamic_update_slice_p, DynamicUpdateSliceParams{p.batch}, in);
  }

  // ---- select

  std::optional<Array> chosen(const Array& flags, const Array& a, const Array& b) {
    if (a.value() == b.value()) return a;
    std::set<std::uint32_t> below{b.value()};
    for (const Made* m = update(b); m != nullptr; m = update(m->inputs[0]))
      below.insert(m->inputs[0].value());
    Array bottom = a;
    for (const Made* m = update(a); m != nullptr && !below.contains(bottom.value());
         m = update(bottom))
      bottom = m->inputs[0];
    if (!below.contains(bottom.value())) return std::nullopt;
    return chosen_above(flags, a, b, bottom);
  }

  /// Both lie above `bottom`.
  Array chosen_above(const Array& flags, const Array& a, const Array& b, const Array& bottom) {
    if (a.value() == b.value()) return a;
    const bool first = a.value() != bottom.value();
    const Made& m = *update(first ? a : b);
    const Array below = m.inputs[0], slice = m.inputs[1];
    const Place p = place_of(m);
    const Array rest =
        first ? chosen_above(flags, below, b, bottom) : chosen_above(flags, a, below, bottom);
    const Array old = slice_at(rest, slice.shape(), p), here = flags_of(flags, slice.shape(), p);
    return written(rest, first ? lax::select(here, slice, old) : lax::select(here, old, slice), p);
  }

  /// The flags where a slice lies.
  Array flags_of(const Array& flags, const Shape& slice, const Place& p) const {
    if (const Made* m = maker(flags, broadcast_p)) {
      const auto& axes = m->params.as<BroadcastParams>().axes;
      const Array& of = m->inputs[0];
      bool whole = true;
      for (std::size_t i = 0; i < axes.size(); ++i)
        whole &= slice[axes[i]] == flags.shape()[axes[i]];
      if (whole) return lax::broadcast(of, slice, axes);
    }
    return slice_at(flags, slice, p);
  }

  // ---- leading axes grouped in another way

  Place regrouped_place(const Place& p, const Shape& leading) const {
    Place r{{}, leading.rank()};
    for (const Array& s : p.starts) r.starts.push_back(lax::reshape(s, leading));
    return r;
  }
  static Shape with_leading(const Shape& leading, const Shape& s, int from) {
    Shape r = leading;
    for (int a = from; a < s.rank(); ++a) r.append(s[a]);
    return r;
  }

  /// Slices that were written into a view of `shape`, and the view undone.
  std::optional<Array> reshaped(const Array& a, const Shape& shape) {
    std::vector<const Made*> updates;
    Array bottom = a;
    for (const Made* m = update(a); m != nullptr; m = update(bottom)) {
      updates.push_back(m);
      if (regrouped(a.shape(), place_of(*m).batch, shape) < 0) return std::nullopt;
      bottom = m->inputs[0];
    }
    const Made* view = maker(bottom, reshape_p);
    if (updates.empty() || view == nullptr || view->inputs[0].shape() != shape) return std::nullopt;
    Array r = view->inputs[0];
    std::reverse(updates.begin(), updates.end());
    for (const Made* m : updates) {
      const Place p = place_of(*m);
      const Shape leading = shape.part(0, regrouped(a.shape(), p.batch, shape));
      const Array slice = m->inputs[1];
      r = written(r, lax::reshape(slice, with_leading(leading, slice.shape(), p.batch)),
                  regrouped_place(p, leading));
    }
    return r;
  }

  /// A slice of a view is a view of a slice.
  std::optional<Array> sliced(const Arrays& in, const DynamicSliceParams& params) {
    const Made* view = maker(in[0], reshape_p);
    if (view == nullptr) return std::nullopt;
    const Array& of = view->inputs[0];
    const int count = regrouped(in[0].shape(), params.batch_dims, of.shape());
    if (count < 0) return std::nullopt;
    const Shape leading = of.shape().part(0, count);
    const Place p = regrouped_place({Arrays(in.begin() + 1, in.end()), params.batch_dims}, leading);
    const Array slice = slice_at(of, with_leading(leading, params.sizes, 0), p);
    return lax::reshape(slice,
                        with_leading(in[0].shape().part(0, params.batch_dims), params.sizes, 0));
  }

  // ---- branches

  /// What a branch writes into an operand that it hands on.
  struct Handed {
    std::size_t operand = 0;
    std::vector<SliceChain> chains;  // per branch
  };

  static std::optional<Handed> handed(const CondParams& p, std::size_t output) {
    Handed r;
    bool writes = false;
    for (std::size_t b = 0; b < p.branches.size(); ++b) {
      const Graph& g = *p.branches[b];
      const ValueId v = g.outputs[output];
      r.chains.push_back(slices_below(g, analyse_uses(g), v));
      const auto at = std::find(g.inputs.begin(), g.inputs.end(), r.chains.back().bottom);
      const auto operand = static_cast<std::size_t>(at - g.inputs.begin());
      if (at == g.inputs.end() || (b > 0 && operand != r.operand)) return std::nullopt;
      r.operand = operand;
      for (const Equation* e : r.chains.back().updates) {
        const Shape& slice = g.avals[e->inputs[1]].shape;
        if (slice == g.avals[v].shape) return std::nullopt;
        const int batch = e->params.as<DynamicUpdateSliceParams>().batch_dims;
        if (p.lanes > 0 && batch == 0 && slice[0] != p.lanes) return std::nullopt;
        writes = true;
      }
    }
    return writes ? std::optional(r) : std::nullopt;
  }

  /// Whether a lane takes branch `b`.
  static Array takes(const Array& index, std::size_t b, std::size_t count) {
    if (index.dtype() == DType::boolean) return b == 1 ? index : lax::unary(not_p, index);
    const Array number = lax::full_like(index, static_cast<double>(b));
    if (b == 0) return lax::unary(not_p, lax::lt(number, index));
    if (b + 1 == count) return lax::unary(not_p, lax::lt(index, number));
    return lax::eq(index, number);
  }

  /// A slice that a branch gives instead of the array that it has written it into, and its place.
  struct Slot {
    std::size_t output, branch;
    Aval slice, start;
    int batch = 0;
    std::size_t starts = 0;
  };

  static std::vector<Slot> slots_of(const CondParams& p,
                                    const std::vector<std::optional<Handed>>& narrow) {
    std::vector<Slot> slots;
    for (std::size_t o = 0; o < narrow.size(); ++o) {
      if (!narrow[o]) continue;
      for (std::size_t b = 0; b < p.branches.size(); ++b)
        for (const Equation* u : narrow[o]->chains[b].updates) {
          const Graph& g = *p.branches[b];
          int batch = u->params.as<DynamicUpdateSliceParams>().batch_dims;
          std::size_t starts = u->inputs.size() - 2;
          Aval start = starts == 0 ? Aval{DType::i32, {}} : g.avals[u->inputs[2]];
          if (p.lanes > 0 && batch == 0) {
            // Lanes have places of their own.
            batch = 1;
            --starts;
            start.shape = Shape(p.lanes);
          }
          slots.push_back({o, b, g.avals[u->inputs[1]], start, batch, starts});
        }
    }
    return slots;
  }

  /// Branch `b` with the outputs that are not narrow, then slices and their places: what it writes,
  /// and zeros for what other branches do.
  static Graph narrowed(const CondParams& p, std::size_t b,
                        const std::vector<std::optional<Handed>>& narrow,
                        const std::vector<Slot>& slots, Loc loc) {
    Graph g = *p.branches[b];
    std::vector<ValueId> raw;
    for (std::size_t o = 0; o < narrow.size(); ++o)
      if (!narrow[o]) raw.push_back(g.outputs[o]);
    const std::size_t plain = raw.size();
    // Slices and places as outputs first; then the graph anew, with zeros and broadcasts.
    std::map<std::size_t, std::size_t> next;  // update of an output
    std::vector<std::size_t> first_raw;
    for (const Slot& s : slots) {
      first_raw.push_back(raw.size());
      if (s.branch != b) continue;
      const Equation* u = narrow[s.output]->chains[b].updates[next[s.output]++];
      raw.insert(raw.end(), u->inputs.begin() + 1, u->inputs.end());
    }
    g.outputs = raw;
    Trace t;
    t.loc = loc;
    Arrays inputs;
    for (ValueId v : g.inputs) inputs.push_back(t.input(g.avals[v]));
    const Arrays found = inline_graph(g, inputs);
    Arrays results(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(plain));
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const Slot& s = slots[i];
      if (s.branch != b) {
        results.push_back(lax::full(s.slice, 0));
        for (std::size_t k = 0; k < s.starts; ++k) results.push_back(lax::full(s.start, 0));
        continue;
      }
      const std::size_t end = i + 1 < slots.size() ? first_raw[i + 1] : raw.size();
      results.push_back(found[first_raw[i]]);
      for (std::size_t k = end - s.starts; k < end; ++k) {
        const Array& start = found[k];
        results.push_back(
            start.shape() == s.start.shape ? start : lax::broadcast(start, s.start.shape, {}));
      }
    }
    return t.finish(results);
  }

  /// The outputs of a cond from those of its narrowed branches, `all`: each slice is written where
  /// the branch is the one that was taken.
  Arrays widened(const CondParams& p, const Arrays& in, const Arrays& all,
                 const std::vector<std::optional<Handed>>& narrow, const std::vector<Slot>& slots) {
    Arrays out(narrow.size());
    std::size_t at = 0;
    for (std::size_t o = 0; o < narrow.size(); ++o)
      out[o] = narrow[o] ? in[1 + narrow[o]->operand] : all[at++];
    for (const Slot& s : slots) {
      const Array slice = all[at++];
      const Place place{Arrays(all.begin() + static_cast<std::ptrdiff_t>(at),
                               all.begin() + static_cast<std::ptrdiff_t>(at + s.starts)),
                        s.batch};
      at += s.starts;
      const Array flag = takes(in[0], s.branch, p.branches.size());
      const Array here = lax::broadcast(flag, slice.shape(),
                                        p.lanes > 0 ? std::vector<int>{0} : std::vector<int>{});
      const Array old = slice_at(out[s.output], slice.shape(), place);
      out[s.output] = written(out[s.output], lax::select(here, slice, old), place);
    }
    return out;
  }

  Arrays branched(const Equation& e, const Arrays& in) {
    const auto& p = e.params.as<CondParams>();
    std::vector<std::optional<Handed>> narrow;
    bool any = false;
    for (std::size_t o = 0; o < e.outputs.size(); ++o) {
      narrow.push_back(handed(p, o));
      any |= narrow.back().has_value();
    }
    const std::vector<Slot> slots = slots_of(p, narrow);
    CondParams q = p;
    for (std::size_t b = 0; b < q.branches.size(); ++b)
      q.branches[b] =
          std::make_shared<const Graph>(any ? narrow_choices(narrowed(p, b, narrow, slots, e.loc))
                                            : narrow_choices(*p.branches[b]));
    const Arrays all = emit(cond_p, q, in, e.loc);
    return any ? widened(p, in, all, narrow, slots) : all;
  }

  std::map<std::uint32_t, Made> made_;  // by value of the trace
};

/// Whether there is something to choose from: slices that are written, or what branches hand on.
bool has_choices(const Graph& g) {
  return std::any_of(g.equations.begin(), g.equations.end(), [](const Equation& e) {
    if (e.primitive == &dynamic_update_slice_p || e.primitive == &cond_p) return true;
    if (e.primitive == &select_p && e.inputs[1] == e.inputs[2]) return true;
    const auto subs = e.params.graphs();
    return std::any_of(subs.begin(), subs.end(), [](const GraphPtr& s) { return has_choices(*s); });
  });
}

}  // namespace

Graph narrow_choices(const Graph& g) { return has_choices(g) ? Narrower().run(g) : g; }

}  // namespace gnomon
