// codegen/optimize/sink_accumulations.cpp -- finds sums that a loop only adds to, and replays it
// without them.
#include "codegen/optimize/sink_accumulations.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/analysis/uses.h"
#include "codegen/graph/primitive.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/table.h"
#include "codegen/simplify/simplify.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"

namespace gnomon {
namespace {

constexpr Dim most_operand_bytes = Dim{256} << 20;
/// Fewer lanes than that are no reason to take a loop apart.
constexpr Dim fewest_lanes = 16;
/// A lane adds to a table of so many elements where it has them; what a step adds to a larger one
/// is less than the table.
constexpr Dim small_table = 1024;

/// A product, sum or scatter of a step, and the views through which it is added; the last one is
/// taken first.
struct Term {
  const Primitive* primitive = nullptr;
  Params params;
  std::vector<ValueId> operands;
  Aval result;
  Loc loc;
  std::vector<const Equation*> views;
};

/// What a step adds to a carried value.
struct Added {
  std::vector<Term> leaving;
  std::vector<ValueId> staying;
};

class AccumulationLoop {
 public:
  explicit AccumulationLoop(const Equation& e)
      : p_(e.params.as<ScanParams>()), body_(*p_.body), uses_(analyse_uses(body_)) {
    const auto carried = static_cast<std::size_t>(p_.carried);
    varies_.assign(body_.avals.size(), false);
    for (std::size_t i = 0; i < carried + static_cast<std::size_t>(p_.sequences); ++i)
      varies_[body_.inputs[i]] = true;
    for (const Equation& each : body_.equations)
      for (ValueId v : each.outputs)
        varies_[v] = std::any_of(each.inputs.begin(), each.inputs.end(),
                                 [&](ValueId x) { return varies_[x]; });
    Dim bytes = 0;
    std::set<ValueId> rows;
    for (std::size_t i = 0; i < carried; ++i) {
      auto found = added(i);
      if (!found || found->leaving.empty()) continue;
      std::set<ValueId> more;
      for (const Term& t : found->leaving)
        for (ValueId v : t.operands)
          if (!rows.contains(v) && !is_sequence(v)) more.insert(v);
      Dim here = bytes;
      for (ValueId v : more)
        here += p_.length * body_.avals[v].shape.size() *
                static_cast<Dim>(size_of(body_.avals[v].dtype));
      if (here > most_operand_bytes) continue;
      bytes = here;
      rows.insert(more.begin(), more.end());
      sums_.emplace(i, std::move(*found));
    }
    rows_.assign(rows.begin(), rows.end());
  }

  bool leaves() const { return !sums_.empty(); }

  /// The equation without the sums, in the active trace.
  Arrays replay(const Arrays& inputs, Loc loc) const {
    const auto carried = static_cast<std::size_t>(p_.carried);
    ScanParams q = p_;
    q.body = control::share(without_sums());
    Arrays in;
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (i < carried && gone(i)) continue;
      if (i < carried) kept.push_back(i);
      in.push_back(inputs[i]);
    }
    q.carried = static_cast<int>(kept.size());
    const Arrays out = control::emit_scan(q, in, loc);
    Arrays r = control::part(inputs, 0, carried);
    for (std::size_t i = 0; i < kept.size(); ++i) r[kept[i]] = out[i];
    const std::size_t stacked = body_.outputs.size() - carried;
    for (std::size_t i = 0; i < stacked; ++i) r.push_back(out[kept.size() + i]);
    std::map<ValueId, Array> rows;
    for (std::size_t i = 0; i < rows_.size(); ++i) rows[rows_[i]] = out[kept.size() + stacked + i];
    for (std::size_t i = carried; i < carried + static_cast<std::size_t>(p_.sequences); ++i)
      rows[body_.inputs[i]] = inputs[i];
    for (const auto& [i, sum] : sums_)
      for (const Term& t : sum.leaving) r[i] = lax::add(r[i], total(t, rows), loc);
    return r;
  }

 private:
  bool is_sequence(ValueId v) const {
    const auto first = body_.inputs.begin() + p_.carried;
    return std::find(first, first + p_.sequences, v) != first + p_.sequences;
  }

  bool gone(std::size_t i) const {
    const auto sum = sums_.find(i);
    return sum != sums_.end() && sum->second.staying.empty();
  }

  /// The lanes that loops of this kind run over: the leading axis of another carried value.
  bool are_lanes(Dim length, std::size_t but) const {
    return some_lanes(but, [&](Dim lanes) { return lanes == length; });
  }

  template <class F>
  bool some_lanes(std::size_t but, const F& fit) const {
    for (std::size_t i = 0; i < static_cast<std::size_t>(p_.carried); ++i) {
      const Shape& s = body_.avals[body_.inputs[i]].shape;
      if (i != but && s.rank() > 0 && s[0] >= fewest_lanes && fit(s[0]) && !sums_.contains(i))
        return true;
    }
    return false;
  }

  /// Nothing unless a step only adds to carried value i.
  std::optional<Added> added(std::size_t i) const {
    const ValueId carry = body_.inputs[i];
    if (body_.outputs[i] == carry || uses_.count[carry] != 1) return std::nullopt;
    Added r;
    bool found = false;
    std::vector<ValueId> open{body_.outputs[i]};
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      if (v == carry) {
        found = true;
        continue;
      }
      const Equation* e = maker(v);
      if (e && e->primitive == &add_p && uses_.count[v] == 1) {
        open.insert(open.end(), e->inputs.rbegin(), e->inputs.rend());
      } else if (is_zero(v)) {
        // What a loop inside began with, whose sums have left it.
      } else if (auto terms = products(v, i)) {
        r.leaving.insert(r.leaving.end(), terms->begin(), terms->end());
      } else {
        r.staying.push_back(v);
      }
    }
    return found ? std::optional(r) : std::nullopt;
  }

  bool is_zero(ValueId v) const {
    const Equation* e = maker(v);
    while (e && (e->primitive == &broadcast_p || e->primitive == &reshape_p))
      e = maker(e->inputs[0]);
    if (!e || e->primitive != &constant_p) return false;
    const HostArray& value = e->params.as<ConstantParams>().value.array();
    for (Dim i = 0; i < value.size(); ++i)
      if (value.number(i) != 0) return false;
    return true;
  }

  /// Whether what a scatter adds to zeros is to be added behind the loop: because lanes meet in
  /// it, or because every step would go through a whole table for a few rows.
  bool adds_rows(const Equation& e, std::size_t carry) const {
    const auto& p = e.params.as<ScatterParams>();
    const Shape& whole = body_.avals[e.inputs[0]].shape;
    if (!is_zero(e.inputs[0]) || !varies_[e.inputs[1]] || !varies_[e.inputs[2]] ||
        whole.rank() == Shape::max_rank)
      return false;
    if (whole.part(p.batch_dims, whole.rank()).size() > small_table) return true;
    const Dim updates = body_.avals[e.inputs[1]].shape[p.batch_dims];
    return p.batch_dims == 0 &&
           some_lanes(carry, [&](Dim lanes) { return updates > 0 && updates % lanes == 0; });
  }

  /// `v` as products, sums over lanes and scatters under views; nothing where there is anything
  /// else in it.
  std::optional<std::vector<Term>> products(ValueId v, std::size_t carry) const {
    const Equation* e = maker(v);
    if (!e) return std::nullopt;
    const auto is = [&](const auto&... one_of) { return ((e->primitive == &one_of) || ...); };
    const auto below = [&](ValueId x) { return products(x, carry); };
    if (is(add_p)) {
      auto a = below(e->inputs[0]), b = below(e->inputs[1]);
      if (!a || !b) return std::nullopt;
      a->insert(a->end(), b->begin(), b->end());
      return a;
    }
    if (is(reshape_p, permute_p, neg_p)) {
      auto r = below(e->inputs[0]);
      if (r)
        for (Term& t : *r) t.views.insert(t.views.begin(), e);
      return r;
    }
    if (is(scatter_add_p)) {
      if (!adds_rows(*e, carry)) return std::nullopt;
      return std::vector<Term>{
          {e->primitive, e->params, {e->inputs[1], e->inputs[2]}, body_.avals[v], e->loc, {}}};
    }
    if (!is(dot_general_p, sum_p)) return std::nullopt;
    for (ValueId x : e->inputs)
      if (!varies_[x]) return std::nullopt;
    const std::vector<int>& axes = is(sum_p) ? e->params.template as<AxesParams>().axes
                                             : e->params.template as<DotParams>().lhs_contracting;
    const Shape& s = body_.avals[e->inputs[0]].shape;
    if (std::none_of(axes.begin(), axes.end(), [&](int a) { return are_lanes(s[a], carry); }))
      return std::nullopt;
    return std::vector<Term>{term(*e)};
  }

  /// `e` on what its operands are transposed views of.
  Term term(const Equation& e) const {
    std::vector<ValueId> operands = e.inputs;
    const auto unturned = [&](std::size_t i, std::vector<std::vector<int>*> all) {
      const Equation* permutation = maker(operands[i]);
      if (!permutation || permutation->primitive != &permute_p) return;
      operands[i] = permutation->inputs[0];
      const auto& from = permutation->params.as<AxesParams>().axes;
      for (std::vector<int>* axes : all)
        for (int& a : *axes) a = from[static_cast<std::size_t>(a)];
    };
    const Aval& result = body_.avals[e.outputs[0]];
    if (e.primitive == &sum_p) return {e.primitive, e.params, operands, result, e.loc, {}};
    auto p = e.params.as<DotParams>();
    // Free axes keep their order, which is that of the result.
    const auto free_in_order = [&](ValueId v, const std::vector<int>& batch,
                                   const std::vector<int>& summed) {
      const Equation* permutation = maker(v);
      if (!permutation || permutation->primitive != &permute_p) return false;
      int last = -1;
      const auto& from = permutation->params.as<AxesParams>().axes;
      for (int a = 0; a < static_cast<int>(from.size()); ++a) {
        if (std::count(batch.begin(), batch.end(), a) ||
            std::count(summed.begin(), summed.end(), a))
          continue;
        if (from[static_cast<std::size_t>(a)] < last) return false;
        last = from[static_cast<std::size_t>(a)];
      }
      return true;
    };
    if (free_in_order(e.inputs[0], p.lhs_batch, p.lhs_contracting))
      unturned(0, {&p.lhs_batch, &p.lhs_contracting});
    if (free_in_order(e.inputs[1], p.rhs_batch, p.rhs_contracting))
      unturned(1, {&p.rhs_batch, &p.rhs_contracting});
    return {e.primitive, p, operands, result, e.loc, {}};
  }

  const Equation* maker(ValueId v) const {
    const std::uint32_t e = uses_.producer[v];
    return e == Uses::none ? nullptr : &body_.equations[e];
  }

  Graph without_sums() const {
    const auto carried = static_cast<std::size_t>(p_.carried);
    Graph g = body_;
    g.inputs.clear();
    g.outputs.clear();
    for (std::size_t i = 0; i < body_.inputs.size(); ++i)
      if (i >= carried || !gone(i)) g.inputs.push_back(body_.inputs[i]);
    for (std::size_t i = 0; i < body_.outputs.size(); ++i) {
      const auto sum = i < carried ? sums_.find(i) : sums_.end();
      if (sum == sums_.end()) {
        g.outputs.push_back(body_.outputs[i]);
      } else if (!gone(i)) {
        ValueId v = body_.inputs[i];
        for (ValueId more : sum->second.staying) {
          const ValueId next = g.fresh(g.avals[v]);
          g.equations.push_back({&add_p, {}, {v, more}, {next}, {}});
          v = next;
        }
        g.outputs.push_back(v);
      }
    }
    g.outputs.insert(g.outputs.end(), rows_.begin(), rows_.end());
    return simplify(g);
  }

  /// A scatter of the updates of all steps.
  static Array scattered(const Term& t, const Array& indices, const Array& updates) {
    const auto& p = t.params.as<ScatterParams>();
    const auto joined = [&](const Array& rows, int axis) {
      const Array moved = lax::move_axis(rows, 0, axis, t.loc);
      const Dim n = moved.shape()[axis] * moved.shape()[axis + 1];
      return lax::reshape(moved, moved.shape().without(axis).with(axis, n), t.loc);
    };
    return emit1(
        scatter_add_p, ScatterParams{p.axis, p.batch_dims},
        {lax::full(t.result, 0, t.loc), joined(indices, p.batch_dims), joined(updates, p.axis)},
        t.loc);
  }

  /// The sum of a term over all steps.
  static Array total(const Term& t, const std::map<ValueId, Array>& rows) {
    const auto behind = [](std::vector<int> axes, bool steps) {
      for (int& a : axes) ++a;
      if (steps) axes.insert(axes.begin(), 0);
      return axes;
    };
    Arrays in;
    for (ValueId v : t.operands) in.push_back(rows.at(v));
    Array r;
    if (t.primitive == &scatter_add_p) {
      r = scattered(t, in[0], in[1]);
    } else if (t.primitive == &sum_p) {
      r = emit1(sum_p, AxesParams{behind(t.params.as<AxesParams>().axes, true)}, in, t.loc);
    } else {
      const auto& p = t.params.as<DotParams>();
      r = emit1(dot_general_p,
                DotParams{behind(p.lhs_contracting, true), behind(p.rhs_contracting, true),
                          behind(p.lhs_batch, false), behind(p.rhs_batch, false)},
                in, t.loc);
    }
    for (auto view = t.views.rbegin(); view != t.views.rend(); ++view)
      r = emit1(*(*view)->primitive, (*view)->params, {r}, (*view)->loc);
    return r;
  }

  const ScanParams& p_;
  const Graph& body_;
  Uses uses_;
  std::vector<bool> varies_;
  std::map<std::size_t, Added> sums_;  // by carried value
  std::vector<ValueId> rows_;  // of the body: what becomes further stacked outputs; sequences are
                               // rows already
};

bool holds_scan(const Graph& g) {
  return std::any_of(g.equations.begin(), g.equations.end(), [](const Equation& e) {
    const auto subs = e.params.graphs();
    return e.primitive == &scan_p ||
           std::any_of(subs.begin(), subs.end(), [](const GraphPtr& s) { return holds_scan(*s); });
  });
}

/// Whether sums leave a loop, here or further in.
bool has_leaving(const Graph& g) {
  return std::any_of(g.equations.begin(), g.equations.end(), [](const Equation& e) {
    const auto subs = e.params.graphs();
    return (e.primitive == &scan_p && AccumulationLoop(e).leaves()) ||
           std::any_of(subs.begin(), subs.end(), [](const GraphPtr& s) { return has_leaving(*s); });
  });
}

}  // namespace

Graph sink_accumulations(const Graph& g) {
  if (!holds_scan(g)) return g;
  if (!has_leaving(g)) return simplify(g);
  return simplify(replay(g, [](const Equation& e, const Arrays& in) {
    Equation inner = e;
    std::vector<GraphPtr> graphs = e.params.graphs();
    for (GraphPtr& sub : graphs)
      if (holds_scan(*sub)) sub = control::share(simplify(sink_accumulations(*sub)));
    if (!graphs.empty()) inner.params = e.params.with_graphs(graphs);
    std::optional<AccumulationLoop> loop;
    if (e.primitive == &scan_p) loop.emplace(inner);
    return loop && loop->leaves() ? loop->replay(in, e.loc)
                                  : emit(*inner.primitive, inner.params, in, e.loc);
  }));
}

}  // namespace gnomon
