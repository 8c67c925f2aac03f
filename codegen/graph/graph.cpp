// codegen/graph/graph.cpp -- canonical order and structural identity.
#include "codegen/graph/graph.h"

#include "codegen/graph/effects.h"
#include "codegen/graph/primitive.h"

namespace gnomon {
namespace {

constexpr ValueId unnumbered = ~0u;

std::vector<Aval> avals_of(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<Aval> result;
  result.reserve(values.size());
  for (ValueId v : values) result.push_back(graph.avals[v]);
  return result;
}

/// A value whose definition is being placed: the equation and how many of its inputs were looked
/// at.
struct Visit {
  std::size_t equation;
  std::size_t next_input = 0;
};

}  // namespace

std::vector<Aval> Graph::input_avals() const { return avals_of(*this, inputs); }
std::vector<Aval> Graph::output_avals() const { return avals_of(*this, outputs); }

namespace {

Equation taken(const Equation& e) { return e; }
Equation taken(Equation& e) { return std::move(e); }

/// Equations of a graph that is nobody else's go over to the result.
template <class G>
Graph canonical(G& graph) {
  constexpr std::size_t no_equation = ~std::size_t{0};
  std::vector<std::size_t> maker(graph.avals.size(), no_equation);
  for (std::size_t i = 0; i < graph.equations.size(); ++i) {
    for (ValueId v : graph.equations[i].outputs) maker[v] = i;
  }
  Graph result;
  result.avals.reserve(graph.avals.size());
  result.equations.reserve(graph.equations.size());
  std::vector<bool> placed(graph.equations.size(), false);
  std::vector<ValueId> number(graph.avals.size(), unnumbered);
  auto assign = [&](ValueId v) {
    if (number[v] == unnumbered) number[v] = result.fresh(graph.avals[v]);
    return number[v];
  };
  for (ValueId v : graph.inputs) result.inputs.push_back(assign(v));

  // An explicit stack: unrolled programs are deeper than the machine's.
  std::vector<Visit> stack;
  auto push = [&](ValueId v) {
    if (number[v] != unnumbered) return;
    GNOMON_CHECK(maker[v] != no_equation, "value %" + std::to_string(v) + " is never defined");
    stack.push_back({maker[v]});
  };
  const auto place = [&] {
    while (!stack.empty()) {
      Visit& top = stack.back();
      const Equation& equation = graph.equations[top.equation];
      if (top.next_input < equation.inputs.size()) {
        push(equation.inputs[top.next_input++]);
        continue;
      }
      placed[top.equation] = true;
      Equation& here = result.equations.emplace_back(taken(graph.equations[top.equation]));
      stack.pop_back();
      for (ValueId& v : here.inputs) v = number[v];
      for (ValueId& v : here.outputs) v = assign(v);
    }
  };
  // Statements first, so that their order is that of the equations.
  for (std::size_t i = 0; i < graph.equations.size(); ++i) {
    if (placed[i] || !has_effects(graph.equations[i])) continue;
    stack.push_back({i});
    place();
  }
  for (ValueId output : graph.outputs) {
    push(output);
    place();
    result.outputs.push_back(number[output]);
  }
  return result;
}

}  // namespace

Graph canonicalize(const Graph& graph) { return canonical(graph); }
Graph canonicalize(Graph&& graph) { return canonical(graph); }

std::uint64_t structural_hash(const Graph& graph) {
  Hasher hasher;
  auto add_values = [&](const std::vector<ValueId>& values) {
    hasher.add(values.size());
    for (ValueId v : values) hasher.add(v);
  };
  hasher.add(graph.avals.size());
  for (const Aval& aval : graph.avals) {
    hasher.add(static_cast<std::uint64_t>(aval.dtype));
    param_fields::Field<Shape>::hash(hasher, aval.shape);
  }
  add_values(graph.inputs);
  add_values(graph.outputs);
  for (const Equation& equation : graph.equations) {
    hasher.add(equation.primitive->name);
    hasher.add(equation.params.hash());
    add_values(equation.inputs);
    add_values(equation.outputs);
  }
  return hasher.value();
}

bool structurally_equal(const Graph& a, const Graph& b) {
  if (a.avals != b.avals || a.inputs != b.inputs || a.outputs != b.outputs ||
      a.equations.size() != b.equations.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.equations.size(); ++i) {
    const Equation& x = a.equations[i];
    const Equation& y = b.equations[i];
    if (x.primitive != y.primitive || x.inputs != y.inputs || x.outputs != y.outputs ||
        !(x.params == y.params)) {
      return false;
    }
  }
  return true;
}

}  // namespace gnomon
