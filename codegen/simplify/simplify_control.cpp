// codegen/simplify/simplify_control.cpp -- operands of loops and branches that are constant,
// doubled or unused.

#include <algorithm>

#include "codegen/graph/effects.h"
#include "codegen/operations/control.h"
#include "codegen/simplify/rewriter.h"
#include "codegen/simplify/simplify.h"

namespace gnomon {

std::vector<bool> used_inputs(const Graph& graph) {
  std::vector<bool> used(graph.avals.size(), false);
  for (const Equation& equation : graph.equations) {
    for (ValueId v : equation.inputs) used[v] = true;
  }
  for (ValueId v : graph.outputs) used[v] = true;
  std::vector<bool> result;
  for (ValueId v : graph.inputs) result.push_back(used[v]);
  return result;
}

namespace {

/// `graph` with some inputs gone: input i becomes a constant, another input, or stays.
struct Replacement {
  const HostArray* constant = nullptr;  // rank 0, repeated over the input's shape
  std::size_t stands_for = 0;           // the input to use; itself when it stays
  bool dropped = false;
};

Graph with_inputs_replaced(const Graph& graph, const std::vector<Replacement>& replacements) {
  Rewriter rewriter;
  std::vector<ValueId> to(graph.avals.size());
  std::vector<ValueId> input_of(graph.inputs.size());
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Aval& aval = graph.avals[graph.inputs[i]];
    if (!replacements[i].dropped) input_of[i] = rewriter.input(aval);
  }
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Replacement& r = replacements[i];
    const ValueId v = graph.inputs[i];
    if (r.constant) {
      to[v] = rewriter.full(*r.constant, graph.avals[v].shape, {});
    } else if (!r.dropped || r.stands_for != i) {
      to[v] = input_of[r.stands_for];
    }
  }
  for (const Equation& equation : graph.equations) {
    std::vector<ValueId> inputs;
    for (ValueId v : equation.inputs) inputs.push_back(to[v]);
    const auto results =
        rewriter.emit(*equation.primitive, equation.params, std::move(inputs), equation.loc);
    for (std::size_t i = 0; i < results.size(); ++i) to[equation.outputs[i]] = results[i];
  }
  std::vector<ValueId> outputs;
  for (ValueId v : graph.outputs) outputs.push_back(to[v]);
  return rewriter.finish(std::move(outputs));
}

template <class T>
std::vector<T> kept(const std::vector<T>& values, const std::vector<bool>& keep) {
  std::vector<T> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (keep[i]) result.push_back(values[i]);
  }
  return result;
}

/// Walks from the flagged outputs to what they depend on, inside loops and branches too, and hands
/// every equation of that to `keep`, the last one first, without outputs that nobody wants. Returns
/// which values are used.
template <class F>
std::vector<bool> walk_back(const Graph& graph, const std::vector<bool>& outputs, F&& keep) {
  std::vector<bool> used(graph.avals.size(), false), here;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i)
    if (outputs[i]) used[graph.outputs[i]] = true;
  const auto live = [&](const Equation& e) {
    for (ValueId v : e.inputs) used[v] = true;
    keep(e);
  };
  for (auto e = graph.equations.rbegin(); e != graph.equations.rend(); ++e) {
    here.clear();
    for (ValueId v : e->outputs) here.push_back(used[v]);
    if (std::find(here.begin(), here.end(), true) == here.end() && !has_effects(*e)) continue;
    if (std::find(here.begin(), here.end(), false) == here.end())
      live(*e);
    else
      live(trim_outputs(*e, here));
  }
  return used;
}

/// What the flagged outputs depend on. All inputs stay.
Graph live_part(const Graph& graph, const std::vector<bool>& outputs) {
  Graph result{graph.avals, graph.inputs, kept(graph.outputs, outputs), {}};
  walk_back(graph, outputs, [&](const Equation& e) { result.equations.push_back(e); });
  std::reverse(result.equations.begin(), result.equations.end());
  return result;
}

/// Inputs that the flagged outputs depend on.
std::vector<bool> needed_inputs(const Graph& graph, const std::vector<bool>& outputs) {
  const std::vector<bool> used = walk_back(graph, outputs, [](const Equation&) {});
  std::vector<bool> r;
  for (ValueId v : graph.inputs) r.push_back(used[v]);
  return r;
}

GraphPtr restricted(const Graph& graph, const std::vector<bool>& inputs,
                    const std::vector<bool>& outputs) {
  Graph result = live_part(graph, outputs);
  result.inputs = kept(graph.inputs, inputs);
  return std::make_shared<Graph>(canonicalize(std::move(result)));
}

/// Grows the set of carried values until it holds all that its members' next values depend on.
/// `flags` starts with one flag per output of the body, carried values first.
void close_over_body(const Graph& body, std::size_t carried, std::vector<bool>& flags) {
  for (bool grown = true; grown;) {
    grown = false;
    const std::vector<bool> inputs = needed_inputs(body, flags);
    for (std::size_t i = 0; i < carried; ++i) {
      grown = grown || (inputs[i] && !flags[i]);
      flags[i] = flags[i] || inputs[i];
    }
  }
}

int count_front(const std::vector<bool>& flags, int count) {
  return static_cast<int>(std::count(flags.begin(), flags.begin() + count, true));
}

Equation trim_while(const Equation& equation, std::vector<bool> used) {
  auto p = equation.params.as<WhileParams>();
  const std::vector<bool> tested = used_inputs(*p.condition);
  for (std::size_t i = 0; i < used.size(); ++i) used[i] = used[i] || tested[i];
  close_over_body(*p.body, used.size(), used);
  std::vector<bool> inputs(equation.inputs.size(), true);
  std::copy(used.begin(), used.end(), inputs.begin());
  p.condition = restricted(*p.condition, inputs, {true});
  p.body = restricted(*p.body, inputs, used);
  p.carried = count_front(used, p.carried);
  return {equation.primitive, Params(p), kept(equation.inputs, inputs),
          kept(equation.outputs, used), equation.loc};
}

Equation trim_scan(const Equation& equation, std::vector<bool> used) {
  auto p = equation.params.as<ScanParams>();
  close_over_body(*p.body, static_cast<std::size_t>(p.carried), used);
  std::vector<bool> inputs = needed_inputs(*p.body, used);
  std::copy(used.begin(), used.begin() + p.carried, inputs.begin());
  p.body = restricted(*p.body, inputs, used);
  const int front = count_front(inputs, p.carried + p.sequences);
  p.carried = count_front(used, p.carried);
  p.sequences = front - p.carried;
  return {equation.primitive, Params(p), kept(equation.inputs, inputs),
          kept(equation.outputs, used), equation.loc};
}

}  // namespace

std::vector<bool> closed_over_body(const Graph& body, std::size_t carried,
                                   const std::vector<bool>& flags) {
  std::vector<bool> r = flags;
  r.resize(body.outputs.size(), false);
  close_over_body(body, carried, r);
  r.resize(carried);
  return r;
}

Equation trim_outputs(const Equation& equation, const std::vector<bool>& used) {
  if (std::find(used.begin(), used.end(), false) == used.end()) return equation;
  if (equation.primitive == &while_p) return trim_while(equation, used);
  if (equation.primitive == &scan_p) return trim_scan(equation, used);
  if (equation.primitive != &cond_p) return equation;
  Equation result = equation;
  auto p = equation.params.as<CondParams>();
  for (GraphPtr& branch : p.branches) {
    branch = restricted(*branch, std::vector<bool>(branch->inputs.size(), true), used);
  }
  result.params = Params(p);
  result.outputs = kept(equation.outputs, used);
  return result;
}

std::optional<std::vector<ValueId>> without_steps(Rewriter& rewriter, const Primitive& primitive,
                                                  const Params& params,
                                                  const std::vector<ValueId>& inputs,
                                                  const std::vector<Aval>& out, Loc loc) {
  std::size_t carried = 0;
  if (&primitive == &while_p && params.as<WhileParams>().max_steps == 0) {
    carried = out.size();
  } else if (&primitive == &scan_p && params.as<ScanParams>().length == 0) {
    carried = static_cast<std::size_t>(params.as<ScanParams>().carried);
  } else {
    return std::nullopt;
  }
  std::vector<ValueId> r(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(carried));
  for (std::size_t i = carried; i < out.size(); ++i)
    r.push_back(rewriter.full(HostArray(Aval{out[i].dtype, {}}), out[i].shape, loc));
  return r;
}

void sink_constants(const Rewriter& rewriter, const Primitive& primitive, Params& params,
                    std::vector<ValueId>& inputs) {
  // Operand k of the equation is input k - skipped of the graphs; the first `fixed` inputs are not
  // constants.
  std::size_t skipped = 0, fixed = 0;
  if (&primitive == &while_p) {
    fixed = static_cast<std::size_t>(params.as<WhileParams>().carried);
  } else if (&primitive == &scan_p) {
    const auto& p = params.as<ScanParams>();
    fixed = static_cast<std::size_t>(p.carried + p.sequences);
  } else if (&primitive == &cond_p) {
    skipped = 1;
  } else {
    return;
  }
  std::vector<GraphPtr> graphs = params.graphs();
  const std::size_t count = inputs.size() - skipped;
  std::vector<bool> used(count, false);
  for (const GraphPtr& g : graphs) {
    const std::vector<bool> here = used_inputs(*g);
    for (std::size_t i = 0; i < count; ++i) used[i] = used[i] || here[i];
  }
  std::vector<Replacement> replacements(count);
  for (std::size_t i = 0; i < count; ++i) {
    Replacement& r = replacements[i];
    r.stands_for = i;
    if (i < fixed) continue;
    r.constant = rewriter.uniform(inputs[skipped + i]);
    for (std::size_t k = fixed; k < i && !r.constant; ++k) {
      if (inputs[skipped + k] != inputs[skipped + i]) continue;
      r.stands_for = k;
      used[k] = used[k] || used[i];
      break;
    }
  }
  bool changed = false;
  std::vector<ValueId> left(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(skipped));
  for (std::size_t i = 0; i < count; ++i) {
    Replacement& r = replacements[i];
    r.dropped = i >= fixed && (r.constant || r.stands_for != i || !used[i]);
    changed |= r.dropped;
    if (!r.dropped) left.push_back(inputs[skipped + i]);
  }
  if (!changed) return;
  for (GraphPtr& g : graphs) {
    g = std::make_shared<Graph>(with_inputs_replaced(*g, replacements));
  }
  params = params.with_graphs(graphs);
  inputs = std::move(left);
}

}  // namespace gnomon
