// tests/support/shrink_graph.cpp -- greedy: the first smaller graph that still fails is the next
// one.
#include "tests/support/shrink_graph.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "codegen/graph/evaluate.h"
#include "codegen/graph/primitive.h"
#include "codegen/graph/verify.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/control.h"
#include "codegen/trace/trace.h"

namespace gnomon::testing {
namespace {

std::size_t equations_in(const Graph& g) {
  std::size_t n = g.equations.size();
  for (const Equation& e : g.equations)
    for (const GraphPtr& sub : e.params.graphs()) n += equations_in(*sub);
  return n;
}

/// Smaller is better: equations, then outputs and inputs.
std::size_t weight(const Graph& g) {
  return 100 * equations_in(g) + 10 * g.outputs.size() + g.inputs.size();
}

RandomGraph without_unused_inputs(RandomGraph r) {
  std::vector<bool> used(r.graph.avals.size(), false);
  for (const Equation& e : r.graph.equations)
    for (ValueId v : e.inputs) used[v] = true;
  for (ValueId v : r.graph.outputs) used[v] = true;
  std::vector<ValueId> inputs;
  std::vector<HostArray> values;
  for (std::size_t i = 0; i < r.inputs.size(); ++i) {
    if (!used[r.graph.inputs[i]]) continue;
    inputs.push_back(r.graph.inputs[i]);
    values.push_back(std::move(r.inputs[i]));
  }
  r.graph.inputs = std::move(inputs);
  r.inputs = std::move(values);
  r.graph = canonicalize(r.graph);
  return r;
}

/// `g` with `from` read as `to`.
Graph renamed(Graph g, ValueId from, ValueId to) {
  for (Equation& e : g.equations) std::replace(e.inputs.begin(), e.inputs.end(), from, to);
  std::replace(g.outputs.begin(), g.outputs.end(), from, to);
  return g;
}

/// Variants of a sub-graph, of the same type, each without one of its equations.
std::vector<Graph> smaller_bodies(const Graph& g) {
  std::vector<Graph> r;
  for (std::size_t i = g.equations.size(); i-- > 0;) {
    const Equation& e = g.equations[i];
    // Another value of the same type takes the place of the result.
    bool all = true;
    Graph next = g;
    for (ValueId out : e.outputs) {
      bool found = false;
      const auto stand_in = [&](ValueId v) {
        if (found || v == out || !(g.avals[v] == g.avals[out])) return;
        next = renamed(std::move(next), out, v);
        found = true;
      };
      for (ValueId v : e.inputs) stand_in(v);
      for (ValueId v : g.inputs) stand_in(v);
      all = all && found;
    }
    if (all) {
      r.push_back(canonicalize(next));
    } else if (e.primitive != &constant_p && e.outputs.size() == 1) {
      // One everywhere.
      Trace t;
      const Graph ones = t.finish({lax::full(g.avals[e.outputs[0]], 1)});
      if (ones.equations.size() < 2 || e.primitive != &broadcast_p) {
        next = g;
        std::vector<ValueId> names;
        for (const Aval& a : ones.avals) names.push_back(next.fresh(a));
        std::vector<Equation> replacement = ones.equations;
        for (Equation& o : replacement) {
          for (ValueId& v : o.inputs) v = names[v];
          for (ValueId& v : o.outputs) v = names[v];
        }
        next.equations.erase(next.equations.begin() + static_cast<std::ptrdiff_t>(i));
        next.equations.insert(next.equations.begin(), replacement.begin(), replacement.end());
        r.push_back(canonicalize(renamed(std::move(next), e.outputs[0], names[ones.outputs[0]])));
      }
    }
    const std::vector<GraphPtr> subs = e.params.graphs();
    for (std::size_t s = 0; s < subs.size(); ++s)
      for (Graph& body : smaller_bodies(*subs[s])) {
        std::vector<GraphPtr> changed = subs;
        changed[s] = std::make_shared<const Graph>(std::move(body));
        Graph outer = g;
        outer.equations[i].params = e.params.with_graphs(changed);
        r.push_back(std::move(outer));
      }
  }
  return r;
}

template <class T>
void erase_at(std::vector<T>& v, std::size_t i) {
  v.erase(v.begin() + static_cast<std::ptrdiff_t>(i));
}

/// A loop without the carried value `i`, which must not matter to what is left.
std::optional<Equation> without_carried(const Equation& e, std::size_t i) {
  Equation r = e;
  const auto drop = [&](GraphPtr& g, bool output) {
    Graph copy = *g;
    erase_at(copy.inputs, i);
    if (output) erase_at(copy.outputs, i);
    copy = canonicalize(copy);
    if (!find_fault(copy).empty()) return false;
    g = std::make_shared<const Graph>(std::move(copy));
    return true;
  };
  if (e.primitive == &while_p) {
    WhileParams p = e.params.as<WhileParams>();
    if (static_cast<int>(i) >= p.carried || p.carried < 2) return std::nullopt;
    if (!drop(p.condition, false) || !drop(p.body, true)) return std::nullopt;
    --p.carried;
    r.params = p;
  } else if (e.primitive == &scan_p) {
    ScanParams p = e.params.as<ScanParams>();
    if (static_cast<int>(i) >= p.carried || e.outputs.size() < 2) return std::nullopt;
    if (!drop(p.body, true)) return std::nullopt;
    --p.carried;
    r.params = p;
  } else {
    return std::nullopt;
  }
  erase_at(r.inputs, i);
  erase_at(r.outputs, i);
  return r;
}

class Shrinker {
 public:
  Shrinker(RandomGraph start, const GraphCheck& check, int attempts)
      : best_(std::move(start)), check_(check), attempts_(attempts) {}

  RandomGraph run() {
    bool progress = true;
    while (progress && attempts_ > 0) {
      progress = one_output() || fewer_outputs() || inputs_for_equations() || shortcuts() ||
                 smaller_loops();
    }
    return std::move(best_);
  }

 private:
  bool accept(RandomGraph candidate) {
    if (attempts_ <= 0) return false;
    try {
      candidate = without_unused_inputs(std::move(candidate));
      if (weight(candidate.graph) >= weight(best_.graph)) return false;
      if (!find_fault(candidate.graph).empty()) return false;
    } catch (const std::exception&) {
      return false;  // no graph at all
    }
    --attempts_;
    if (failure(check_, candidate).empty()) return false;
    best_ = std::move(candidate);
    return true;
  }

  /// Any single value as the only output, the earliest first.
  bool one_output() {
    const RandomGraph base = best_;
    if (base.graph.equations.size() < 2) return false;
    for (const Equation& e : base.graph.equations)
      for (ValueId v : e.outputs) {
        RandomGraph candidate = base;
        candidate.graph.outputs = {v};
        if (accept(std::move(candidate))) return true;
      }
    return false;
  }

  bool fewer_outputs() {
    const RandomGraph base = best_;
    for (std::size_t i = 0; base.graph.outputs.size() > 1 && i < base.graph.outputs.size(); ++i) {
      RandomGraph candidate = base;
      erase_at(candidate.graph.outputs, i);
      if (accept(std::move(candidate))) return true;
    }
    return false;
  }

  /// The results of an equation as inputs.
  bool inputs_for_equations() {
    const RandomGraph base = best_;
    Graph everything = base.graph;
    everything.outputs.clear();
    for (const Equation& e : base.graph.equations)
      everything.outputs.insert(everything.outputs.end(), e.outputs.begin(), e.outputs.end());
    const std::vector<HostArray> values = evaluate(everything, base.inputs);
    std::vector<std::size_t> first;
    std::size_t at = 0;
    for (const Equation& e : base.graph.equations) {
      first.push_back(at);
      at += e.outputs.size();
    }
    for (std::size_t i = base.graph.equations.size(); i-- > 0;) {
      RandomGraph candidate = base;
      const Equation& e = base.graph.equations[i];
      for (std::size_t o = 0; o < e.outputs.size(); ++o) {
        candidate.graph.inputs.push_back(e.outputs[o]);
        candidate.inputs.push_back(values[first[i] + o]);
      }
      erase_at(candidate.graph.equations, i);
      if (accept(std::move(candidate))) return true;
    }
    return false;
  }

  /// An equation replaced by one of its operands, or by something inside it that is smaller.
  bool shortcuts() {
    const RandomGraph base = best_;
    for (Graph& g : smaller_bodies(base.graph)) {
      RandomGraph candidate = base;
      candidate.graph = std::move(g);
      if (accept(std::move(candidate))) return true;
    }
    return false;
  }

  bool smaller_loops() {
    const RandomGraph base = best_;
    for (std::size_t i = 0; i < base.graph.equations.size(); ++i)
      for (std::size_t c = 0; c < base.graph.equations[i].outputs.size(); ++c) {
        try {
          auto e = without_carried(base.graph.equations[i], c);
          if (!e) continue;
          RandomGraph candidate = base;
          candidate.graph.equations[i] = std::move(*e);
          if (accept(std::move(candidate))) return true;
        } catch (const std::exception&) {
          continue;  // the rest needed it
        }
      }
    return false;
  }

  RandomGraph best_;
  const GraphCheck& check_;
  int attempts_;
};

}  // namespace

std::string failure(const GraphCheck& check, const RandomGraph& r) {
  try {
    return check(r);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "what was thrown is no std::exception";
  }
}

RandomGraph shrink(RandomGraph failing, const GraphCheck& check, int attempts) {
  return Shrinker(std::move(failing), check, attempts).run();
}

}  // namespace gnomon::testing
