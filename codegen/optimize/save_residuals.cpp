// codegen/optimize/save_residuals.cpp -- finds what the steps of a loop repeat of those of an
// earlier one.
#include "codegen/optimize/save_residuals.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/analysis/uses.h"
#include "codegen/cost/work.h"
#include "codegen/graph/primitive.h"
#include "codegen/operations/table.h"
#include "codegen/operations/window.h"
#include "codegen/simplify/rewriter.h"
#include "codegen/simplify/simplify.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"

namespace gnomon {
namespace {

/// Operations of products from which on an element is rather written and read than computed again.
constexpr double worth_a_row = 12;

/// A scan's operands and outputs in parts.
struct Scan {
  explicit Scan(const Equation& equation)
      : e(equation),
        p(equation.params.as<ScanParams>()),
        body(*p.body),
        carried(static_cast<std::size_t>(p.carried)),
        first_constant(carried + static_cast<std::size_t>(p.sequences)) {}

  /// The value of the body that the rows of `v` show: a stacked output's or a sequence's.
  std::optional<ValueId> row_of(ValueId v) const {
    for (std::size_t o = carried; o < e.outputs.size(); ++o)
      if (e.outputs[o] == v) return body.outputs[o];
    return input_of(v, carried, first_constant);
  }
  std::optional<ValueId> constant_of(ValueId v) const {
    return input_of(v, first_constant, e.inputs.size());
  }

  const Equation& e;
  const ScanParams& p;
  const Graph& body;
  std::size_t carried, first_constant;

 private:
  std::optional<ValueId> input_of(ValueId v, std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i)
      if (e.inputs[i] == v) return body.inputs[i];
    return std::nullopt;
  }
};

/// Whether `later` goes over rows that `first` gave.
bool goes_over(const Scan& later, const Scan& first) {
  if (later.p.length != first.p.length) return false;
  for (std::size_t i = later.carried; i < later.first_constant; ++i)
    for (std::size_t o = first.carried; o < first.e.outputs.size(); ++o)
      if (later.e.inputs[i] == first.e.outputs[o]) return true;
  return false;
}

using Correspondence = std::map<ValueId, ValueId>;

/// What the later body computes that the first one computed for the same row: its values, and whose
/// copies they are.
Correspondence repeated(const Scan& first, const Scan& later) {
  // One graph of both: what comes twice in it is merged.
  Rewriter both;
  const auto replayed = [&](const Graph& g, std::vector<ValueId>& to) {
    for (const Equation& e : g.equations) {
      std::vector<ValueId> in;
      for (ValueId v : e.inputs) in.push_back(to[v]);
      const auto out = both.emit(*e.primitive, e.params, std::move(in), e.loc);
      for (std::size_t i = 0; i < out.size(); ++i) to[e.outputs[i]] = out[i];
    }
  };
  std::vector<ValueId> of_first(first.body.avals.size()), of_later(later.body.avals.size());
  for (ValueId v : first.body.inputs) of_first[v] = both.input(first.body.avals[v]);
  replayed(first.body, of_first);
  for (std::size_t i = 0; i < later.e.inputs.size(); ++i) {
    std::optional<ValueId> known;
    if (i >= later.first_constant)
      known = first.constant_of(later.e.inputs[i]);
    else if (i >= later.carried)
      known = first.row_of(later.e.inputs[i]);
    const ValueId v = later.body.inputs[i];
    of_later[v] = known ? of_first[*known] : both.input(later.body.avals[v]);
  }
  replayed(later.body, of_later);

  std::map<ValueId, ValueId> originals;
  for (const Equation& e : first.body.equations)
    for (ValueId v : e.outputs) originals.emplace(of_first[v], v);
  Correspondence r;
  for (const Equation& e : later.body.equations)
    for (ValueId v : e.outputs)
      if (const auto it = originals.find(of_later[v]); it != originals.end())
        r.emplace(v, it->second);
  return r;
}

/// Those of them that the rest of the later body looks at and that take long to compute again.
std::vector<ValueId> worth_keeping(const Scan& later, const Correspondence& copies,
                                   std::uint64_t most_bytes, Decisions* decisions) {
  const Graph& g = later.body;
  const Uses uses = analyse_uses(g);
  std::set<ValueId> looked_at(g.outputs.begin(), g.outputs.end()), kept;
  for (const Equation& e : g.equations)
    if (!std::all_of(e.outputs.begin(), e.outputs.end(),
                     [&](ValueId v) { return copies.contains(v); }))
      looked_at.insert(e.inputs.begin(), e.inputs.end());
  const auto effort = [&](ValueId root) {
    double sum = 0;
    bool product = false;
    std::set<std::uint32_t> seen;
    std::vector<ValueId> open{root};
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      const std::uint32_t e = uses.producer[v];
      if (e == Uses::none || kept.contains(v) || !seen.insert(e).second) continue;
      // Straight-line arithmetic stays in registers and is cheaper than memory, long as it may be;
      // not so that of arrays, which products make.
      const Primitive* p = g.equations[e].primitive;
      const bool here = p == &dot_general_p || p == &conv_p;
      product = product || here;
      if (here || p->lower.cost == Cost::heavy) sum += work(g, g.equations[e]);
      for (ValueId in : g.equations[e].inputs) open.push_back(in);
    }
    return product ? sum : 0;
  };
  std::vector<ValueId> r;
  std::uint64_t bytes = 0;
  for (const Equation& e : g.equations)
    for (ValueId v : e.outputs) {
      if (!looked_at.contains(v) || !copies.contains(v)) continue;
      const Aval& a = g.avals[v];
      const auto more =
          static_cast<std::uint64_t>(later.p.length * a.shape.size()) * size_of(a.dtype);
      if (bytes + more > most_bytes) continue;
      const double again = effort(v);
      if (again == 0 || !decide(decisions, Question::row_kept, g, v,
                                again >= worth_a_row * static_cast<double>(a.shape.size())))
        continue;
      bytes += more;
      kept.insert(v);
      r.push_back(v);
    }
  return r;
}

/// A value of a later body, and the scan and value of whose body it is a copy.
struct Taken {
  ValueId value = 0;
  std::size_t from = 0;
  ValueId original = 0;
};

/// Per equation that is a scan: what it gives besides, and what it takes.
struct Plan {
  std::map<std::size_t, std::vector<ValueId>> given;
  std::map<std::size_t, std::vector<Taken>> taken;
};

Plan plan(const Graph& g, std::uint64_t most_bytes, Decisions* decisions) {
  Plan r;
  for (std::size_t l = 0; l < g.equations.size(); ++l) {
    if (g.equations[l].primitive != &scan_p) continue;
    const Scan later(g.equations[l]);
    for (std::size_t f = 0; f < l; ++f) {
      if (g.equations[f].primitive != &scan_p) continue;
      const Scan first(g.equations[f]);
      if (!goes_over(later, first)) continue;
      const Correspondence copies = repeated(first, later);
      for (ValueId v : worth_keeping(later, copies, most_bytes, decisions)) {
        const ValueId original = copies.at(v);
        r.taken[l].push_back({v, f, original});
        std::vector<ValueId>& rows = r.given[f];
        if (std::find(rows.begin(), rows.end(), original) == rows.end()) rows.push_back(original);
      }
      break;  // the backward pass of one loop
    }
  }
  return r;
}

/// The body with values as further rows that it is given.
Graph with_rows_for(const Scan& scan, const std::vector<Taken>& values) {
  Graph g = scan.body;
  std::map<ValueId, ValueId> now;
  std::vector<ValueId> rows;
  for (const Taken& t : values) rows.push_back(now[t.value] = g.fresh(g.avals[t.value]));
  const auto rename = [&](std::vector<ValueId>& all) {
    for (ValueId& v : all)
      if (const auto it = now.find(v); it != now.end()) v = it->second;
  };
  for (Equation& e : g.equations) rename(e.inputs);
  rename(g.outputs);
  g.inputs.insert(g.inputs.begin() + static_cast<std::ptrdiff_t>(scan.first_constant), rows.begin(),
                  rows.end());
  return g;
}

bool holds_two_scans(const Graph& g) {
  const auto scans = std::count_if(g.equations.begin(), g.equations.end(),
                                   [](const Equation& e) { return e.primitive == &scan_p; });
  return scans > 1 || std::any_of(g.equations.begin(), g.equations.end(), [](const Equation& e) {
           const auto subs = e.params.graphs();
           return std::any_of(subs.begin(), subs.end(),
                              [](const GraphPtr& s) { return holds_two_scans(*s); });
         });
}

/// The same in the bodies of loops and in branches.
Graph inside(const Graph& g, std::uint64_t most_bytes, Decisions* decisions) {
  return replay(g, [&](const Equation& e, const Arrays& in) {
    std::vector<GraphPtr> graphs = e.params.graphs();
    for (GraphPtr& sub : graphs)
      if (holds_two_scans(*sub)) sub = control::share(save_residuals(*sub, most_bytes, decisions));
    return emit(*e.primitive, graphs.empty() ? e.params : e.params.with_graphs(graphs), in, e.loc);
  });
}

}  // namespace

Graph save_residuals(const Graph& graph, std::uint64_t most_bytes, Decisions* decisions) {
  if (!holds_two_scans(graph)) return graph;
  const Graph g = inside(graph, most_bytes, decisions);
  const Plan p = plan(g, most_bytes, decisions);
  if (p.taken.empty()) return g;
  std::map<std::pair<std::size_t, ValueId>, Array> rows;
  return simplify(replay(g, [&](const Equation& e, const Arrays& inputs) {
    const auto at = static_cast<std::size_t>(&e - g.equations.data());
    const auto given = p.given.find(at);
    const auto taken = p.taken.find(at);
    if (given == p.given.end() && taken == p.taken.end())
      return emit(*e.primitive, e.params, inputs, e.loc);
    const Scan scan(e);
    ScanParams q = scan.p;
    Graph body = taken == p.taken.end() ? scan.body : with_rows_for(scan, taken->second);
    Arrays in = inputs;
    if (taken != p.taken.end()) {
      Arrays more;
      for (const Taken& t : taken->second) more.push_back(rows.at({t.from, t.original}));
      in.insert(in.begin() + static_cast<std::ptrdiff_t>(scan.first_constant), more.begin(),
                more.end());
      q.sequences += static_cast<int>(more.size());
    }
    if (given != p.given.end())
      body.outputs.insert(body.outputs.end(), given->second.begin(), given->second.end());
    q.body = control::share(simplify(body));
    Arrays out = control::emit_scan(q, in, e.loc);
    if (given != p.given.end())
      for (std::size_t i = 0; i < given->second.size(); ++i)
        rows[{at, given->second[i]}] = out[e.outputs.size() + i];
    out.resize(e.outputs.size());
    return out;
  }));
}

}  // namespace gnomon
