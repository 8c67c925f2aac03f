// codegen/primitives/control/residuals.cpp -- residuals by the dominator tree of what a pullback
// computes.
#include "codegen/primitives/control/residuals.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "codegen/cost/instructions.h"
#include "codegen/graph/effects.h"
#include "codegen/graph/primitive.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/collectives.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/table.h"
#include "codegen/simplify/simplify.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"

namespace gnomon::control {
namespace {

/// Operations that a number in a history costs, written once and read once: a CPU driver addresses
/// every lane's by itself (measured on Zen 5, lavapipe 22.3: 16 and 30 alike, 8 costs a tenth).
constexpr double history_cost = 16;
/// Histories that residuals may add to those that they make needless.
constexpr int most_added = 2;
constexpr std::size_t most_residuals = 8;

using Place = std::size_t;
constexpr Place no_place = std::numeric_limits<Place>::max();

/// Two graphs over the same first inputs as one: what they have in common is there once.
struct Merged {
  Graph graph;
  std::size_t first_outputs = 0;  // outputs of the first; those of the second follow
};
Merged merged(const Graph& first, const Graph& second) {
  Trace t;
  Arrays in;
  for (ValueId v : second.inputs) in.push_back(t.input(second.avals[v]));
  const Arrays a = inline_graph(first, part(in, 0, first.inputs.size()));
  return {simplify(t.finish(joined(a, inline_graph(second, in)))), a.size()};
}

double operations(const Graph& g, const Equation& e) {
  double size = 0;
  for (ValueId v : e.outputs) size = std::max(size, static_cast<double>(g.avals[v].shape.size()));
  for (ValueId v : e.inputs) size = std::max(size, static_cast<double>(g.avals[v].shape.size()));
  return instructions(e.primitive->lower.cost) * size;
}

/// What is computed for the sake of what: the dominator tree of a graph's equations and inputs,
/// seen from its last outputs.
class Demand {
 public:
  Demand(const Merged& m, const std::vector<bool>& kept) : g_(m.graph), kept_(kept) {
    const std::size_t n = g_.equations.size();
    definer_.assign(g_.avals.size(), no_place);
    for (Place e = 0; e < n; ++e)
      for (ValueId v : g_.equations[e].outputs) definer_[v] = e;
    for (std::size_t i = 0; i < g_.inputs.size(); ++i) definer_[g_.inputs[i]] = n + 1 + i;
    roots_.assign(g_.outputs.begin() + static_cast<std::ptrdiff_t>(m.first_outputs),
                  g_.outputs.end());
    in_body_.assign(n, false);
    std::vector<bool> reached(g_.avals.size(), false);
    for (std::size_t i = 0; i < m.first_outputs; ++i) reached[g_.outputs[i]] = true;
    for (Place e = n; e-- > 0;) {
      for (ValueId v : g_.equations[e].outputs) in_body_[e] = in_body_[e] || reached[v];
      if (!in_body_[e]) continue;
      for (ValueId v : g_.equations[e].inputs) reached[v] = true;
    }
    given_.assign(g_.avals.size(), false);
  }

  /// The value that saves most when it is given, if it saves anything.
  struct Choice {
    ValueId value = 0;
    int added = 0;  // histories
  };
  std::optional<Choice> best() {
    find_dominators();
    const std::size_t n = g_.equations.size();
    std::vector<double> saved(n + 1 + g_.inputs.size(), 0);
    std::vector<int> histories(saved.size(), 0);
    for (std::size_t i = 0; i < kept_.size(); ++i)
      if (kept_[i] && parent_[n + 1 + i] != no_place) {
        saved[n + 1 + i] = history_cost * static_cast<double>(g_.avals[g_.inputs[i]].shape.size());
        histories[n + 1 + i] = 1;
      }
    const auto give = [&](Place from) {
      saved[parent_[from]] += saved[from];
      histories[parent_[from]] += histories[from];
    };
    for (std::size_t i = 0; i < g_.inputs.size(); ++i)
      if (parent_[n + 1 + i] != no_place) give(n + 1 + i);
    std::optional<Choice> choice;
    double most = history_cost;
    for (Place e = 0; e < n; ++e) {
      if (parent_[e] == no_place) continue;
      const Equation& eq = g_.equations[e];
      saved[e] += operations(g_, eq);
      const ValueId v = eq.outputs[0];
      if (in_body_[e] && eq.outputs.size() == 1 && g_.avals[v].shape.rank() == 0 &&
          saved[e] > most) {
        most = saved[e];
        choice = Choice{v, 1 - histories[e]};
      }
      give(e);
    }
    return choice;
  }
  void give(ValueId v) { given_[v] = true; }

 private:
  /// Parents come behind their children in program order: the users of a value. The root stands
  /// behind all equations, inputs behind it.
  void find_dominators() {
    const std::size_t n = g_.equations.size();
    const Place root = n;
    parent_.assign(n + 1 + g_.inputs.size(), no_place);
    depth_.assign(parent_.size(), 0);
    const auto used_by = [&](ValueId v, Place user) {
      const Place d = definer_[v];
      if (given_[v] || d == no_place) return;
      parent_[d] = parent_[d] == no_place ? user : common(parent_[d], user);
      depth_[d] = depth_[parent_[d]] + 1;
    };
    for (ValueId v : roots_) used_by(v, root);
    for (Place e = n; e-- > 0;)
      if (parent_[e] != no_place)
        for (ValueId v : g_.equations[e].inputs) used_by(v, e);
  }
  Place common(Place a, Place b) const {
    while (a != b) {
      if (depth_[a] < depth_[b]) std::swap(a, b);
      a = parent_[a];
    }
    return a;
  }

  const Graph& g_;
  const std::vector<bool>& kept_;
  std::vector<ValueId> roots_;
  std::vector<Place> definer_, parent_, depth_;
  std::vector<bool> in_body_, given_;
};

}  // namespace

Graph residuals_of(const Graph& body, const Graph& pullback, const std::vector<bool>& kept) {
  Graph none_of_them;
  for (ValueId v : body.inputs) none_of_them.inputs.push_back(none_of_them.fresh(body.avals[v]));
  if (has_effects(body)) return none_of_them;
  const Merged m = merged(body, pullback);
  Demand demand(m, kept);
  std::vector<ValueId> chosen;
  int added = 0;
  while (chosen.size() < most_residuals) {
    const auto next = demand.best();
    if (!next || added + next->added > most_added) break;
    added += next->added;
    demand.give(next->value);
    chosen.push_back(next->value);
  }
  if (chosen.empty()) return none_of_them;
  Graph g = m.graph;
  g.outputs = chosen;
  g.inputs.resize(body.inputs.size());
  return canonicalize(g);
}

std::optional<Skipping> skipping(const Graph& body, std::size_t carried,
                                 const std::vector<bool>& active) {
  // Elements that meet in a step all count it.
  if (has_effects(body) || elements_meet(body)) return std::nullopt;
  std::vector<const Equation*> makers(body.avals.size(), nullptr);
  for (const Equation& e : body.equations)
    for (ValueId v : e.outputs) makers[v] = &e;
  std::optional<ValueId> flag;
  for (std::size_t i = 0; i < carried; ++i) {
    if (!active[i] || body.outputs[i] == body.inputs[i]) continue;
    const Equation* choice = makers[body.outputs[i]];
    if (!choice || choice->primitive != &select_p || choice->inputs[2] != body.inputs[i])
      return std::nullopt;
    ValueId of = choice->inputs[0];
    while (body.avals[of].shape.rank() > 0) {
      const Equation* e = makers[of];
      if (!e || (e->primitive != &broadcast_p && e->primitive != &reshape_p)) return std::nullopt;
      of = e->inputs[0];
    }
    if (flag && *flag != of) return std::nullopt;
    flag = of;
  }
  if (!flag || makers[*flag] == nullptr) return std::nullopt;
  Skipping r;
  r.goes = body;
  r.goes.outputs = {*flag};
  r.goes = canonicalize(r.goes);
  Graph known = body;
  const ValueId given = known.fresh(Aval(body.avals[*flag]));
  for (Equation& e : known.equations)
    for (ValueId& v : e.inputs)
      if (v == *flag) v = given;
  for (ValueId& v : known.outputs)
    if (v == *flag) v = given;
  known.inputs.push_back(given);
  Trace t;
  Arrays in;
  for (ValueId v : body.inputs) in.push_back(t.input(body.avals[v]));
  in.push_back(lax::full(body.avals[*flag], 1));
  r.body = simplify(t.finish(inline_graph(known, in)));
  return r;
}

Graph with_residuals(const Graph& pullback, const Graph& residuals) {
  if (residuals.outputs.empty()) return pullback;
  const Merged m = merged(residuals, pullback);
  Graph g = m.graph;
  std::vector<ValueId> now(g.avals.size());
  for (std::size_t v = 0; v < now.size(); ++v) now[v] = static_cast<ValueId>(v);
  const auto behind = g.inputs.begin() + static_cast<std::ptrdiff_t>(residuals.inputs.size());
  std::vector<ValueId> inputs(g.inputs.begin(), behind);
  for (std::size_t i = 0; i < m.first_outputs; ++i) {
    const ValueId was = g.outputs[i];
    const ValueId fresh = g.fresh(Aval(g.avals[was]));
    now[was] = fresh;
    inputs.push_back(fresh);
  }
  inputs.insert(inputs.end(),
                g.inputs.begin() + static_cast<std::ptrdiff_t>(residuals.inputs.size()),
                g.inputs.end());
  g.inputs = std::move(inputs);
  for (Equation& e : g.equations)
    for (ValueId& v : e.inputs) v = now[v];
  g.outputs.erase(g.outputs.begin(),
                  g.outputs.begin() + static_cast<std::ptrdiff_t>(m.first_outputs));
  for (ValueId& v : g.outputs) v = now[v];
  return simplify(canonicalize(g));
}

}  // namespace gnomon::control
