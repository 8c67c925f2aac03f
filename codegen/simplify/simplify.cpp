// codegen/simplify/simplify.cpp -- replays a graph through the rewriter.
#include "codegen/simplify/simplify.h"

#include <algorithm>

#include "codegen/graph/effects.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"
#include "codegen/simplify/rewriter.h"

namespace gnomon {
namespace {

// Literals become instructions of kernels: none grows beyond this many elements, or beyond what it
// was.
constexpr Dim largest_literal = 64;

bool same_uniform_bytes(const HostArray& a) {
  const std::size_t n = size_of(a.aval.dtype);
  for (std::size_t i = n; i < a.bytes.size(); ++i) {
    if (a.bytes[i] != a.bytes[i - n]) return false;
  }
  return a.size() > 0;
}

HostArray first_element(const HostArray& a) {
  HostArray scalar(Aval{a.aval.dtype, {}});
  std::copy_n(a.bytes.begin(), scalar.bytes.size(), scalar.bytes.begin());
  return scalar;
}

/// Operands in either order give the same bits, NaN payloads apart.
bool commutes(const Primitive& p) {
  for (const Primitive* c : {&add_p, &mul_p, &max_p, &min_p, &and_p, &or_p, &xor_p, &eq_p, &ne_p}) {
    if (&p == c) return true;
  }
  return false;
}

/// Every output element depends on the operands' elements at the same place only.
bool is_elementwise(const Primitive& p, const Params& params) {
  return params.empty() || &p == &convert_p || &p == &bitcast_p || &p == &integer_pow_p;
}

std::uint64_t equation_hash(const Primitive& p, const Params& params,
                            const std::vector<ValueId>& inputs) {
  Hasher hasher;
  hasher.add(p.name);
  hasher.add(params.hash());
  for (ValueId v : inputs) hasher.add(v);
  return hasher.value();
}

}  // namespace

ValueId Rewriter::input(const Aval& aval) {
  graph_.inputs.push_back(graph_.fresh(aval));
  facts_.emplace_back();
  return graph_.inputs.back();
}

const Equation* Rewriter::maker(ValueId v) const {
  const auto& at = facts_[v].equation;
  return at ? &graph_.equations[*at] : nullptr;
}

const Equation* Rewriter::maker(ValueId v, const Primitive& primitive) const {
  const Equation* equation = maker(v);
  return equation != nullptr && equation->primitive == &primitive ? equation : nullptr;
}

const HostArray* Rewriter::literal(ValueId v) const {
  const Equation* equation = maker(v, constant_p);
  return equation ? &equation->params.as<ConstantParams>().value.array() : nullptr;
}

const HostArray* Rewriter::uniform(ValueId v) const {
  return facts_[v].uniform ? &*facts_[v].uniform : nullptr;
}

bool Rewriter::is_uniform(ValueId v, double x) const {
  const HostArray* scalar = uniform(v);
  if (!scalar) return false;
  HostArray wanted(scalar->aval);
  wanted.set_number(0, x);
  return *scalar == wanted;
}

ValueId Rewriter::full(const HostArray& scalar, const Shape& shape, Loc loc) {
  const ValueId v = emit1(constant_p, ConstantParams{Literal(scalar)}, {}, loc);
  return shape.rank() == 0 ? v : emit1(broadcast_p, BroadcastParams{shape, {}}, {v}, loc);
}

std::optional<ValueId> Rewriter::fold(const Primitive& p, const Params& params,
                                      const std::vector<ValueId>& inputs, const Aval& out,
                                      Loc loc) {
  if (inputs.empty() || p.lower.kind != Lowering::Kind::element) return std::nullopt;
  std::vector<HostArray> scalars, literals;
  bool same_shape = true;
  Dim largest = 1;
  for (ValueId v : inputs) {
    same_shape &= aval(v).shape == out.shape;
    if (const HostArray* scalar = uniform(v)) scalars.push_back(*scalar);
    if (const HostArray* array = literal(v)) {
      literals.push_back(*array);
      largest = std::max(largest, array->size());
    }
  }
  try {
    if (same_shape && is_elementwise(p, params) && scalars.size() == inputs.size()) {
      const Aval scalar{out.dtype, {}};
      return full(p.reference(params, std::span(&scalar, 1), scalars)[0], out.shape, loc);
    }
    if (literals.size() == inputs.size() &&
        out.shape.size() <= std::min(largest, largest_literal)) {
      HostArray result = p.reference(params, std::span(&out, 1), literals)[0];
      return emit1(constant_p, ConstantParams{Literal(std::move(result))}, {}, loc);
    }
  } catch (const UsageError&) {
    // The host has no arithmetic for this element type; the device may.
  }
  return std::nullopt;
}

void Rewriter::learn(const Equation& equation) {
  const Primitive* p = equation.primitive;
  const ValueId out = equation.outputs[0];
  if (p == &constant_p) {
    const HostArray& array = *literal(out);
    if (same_uniform_bytes(array)) facts_[out].uniform = first_element(array);
    return;
  }
  const bool moves_data =
      p == &broadcast_p || p == &reshape_p || p == &permute_p || p == &slice_p || p == &reverse_p;
  if (moves_data) facts_[out].uniform = facts_[equation.inputs[0]].uniform;
}

std::vector<ValueId> Rewriter::emit(const Primitive& p, Params params, std::vector<ValueId> inputs,
                                    Loc loc) {
  if (p.lower.kind != Lowering::Kind::element) sink_constants(*this, p, params, inputs);
  if (commutes(p) && inputs.size() == 2 && inputs[0] > inputs[1]) std::swap(inputs[0], inputs[1]);
  std::vector<Aval> avals;
  avals.reserve(inputs.size());
  for (ValueId v : inputs) avals.push_back(aval(v));
  const std::vector<Aval> out = p.shape(params, avals, loc);
  if (auto state = without_steps(*this, p, params, inputs, out, loc)) return *state;
  if (out.size() == 1) {
    if (const auto v = fold(p, params, inputs, out[0], loc)) return {*v};
    if (const auto v = apply_identities(*this, p, params, inputs, out[0], loc)) return {*v};
  }
  const std::uint64_t hash = equation_hash(p, params, inputs);
  const auto [first, last] = equations_.equal_range(hash);
  // Doing something twice is not doing it once.
  const bool merges = first != last && !has_effects(Equation{&p, params, {}, {}, loc});
  for (auto it = first; merges && it != last; ++it) {
    const Equation& same = graph_.equations[it->second];
    if (same.primitive == &p && same.inputs == inputs && same.params == params) return same.outputs;
  }
  Equation equation{&p, std::move(params), std::move(inputs), {}, loc};
  const std::size_t index = graph_.equations.size();
  for (const Aval& a : out) {
    equation.outputs.push_back(graph_.fresh(a));
    facts_.push_back({index, std::nullopt});
  }
  equations_.emplace(hash, index);
  const Equation& made = graph_.equations.emplace_back(std::move(equation));
  if (!made.outputs.empty()) learn(made);
  return made.outputs;
}

Graph Rewriter::finish(std::vector<ValueId> outputs) {
  graph_.outputs = std::move(outputs);
  return canonicalize(std::move(graph_));
}

Graph simplify(const Graph& graph) {
  Graph live = canonicalize(graph);  // dead equations would cost work below
  std::vector<bool> used(live.avals.size(), false);
  for (ValueId v : live.outputs) used[v] = true;
  for (auto e = live.equations.rbegin(); e != live.equations.rend(); ++e) {
    if (std::vector<GraphPtr> graphs = e->params.graphs(); !graphs.empty()) {
      for (GraphPtr& g : graphs) g = std::make_shared<Graph>(simplify(*g));
      e->params = e->params.with_graphs(graphs);
      std::vector<bool> here;
      for (ValueId v : e->outputs) here.push_back(used[v]);
      *e = trim_outputs(*e, here);
    }
    for (ValueId v : e->inputs) used[v] = true;
  }

  Rewriter rewriter;
  std::vector<ValueId> to(live.avals.size());
  auto mapped = [&](const std::vector<ValueId>& values) {
    std::vector<ValueId> result;
    result.reserve(values.size());
    for (ValueId v : values) result.push_back(to[v]);
    return result;
  };
  for (ValueId v : live.inputs) to[v] = rewriter.input(live.avals[v]);
  for (Equation& equation : live.equations) {
    const std::vector<ValueId> results = rewriter.emit(
        *equation.primitive, std::move(equation.params), mapped(equation.inputs), equation.loc);
    for (std::size_t i = 0; i < results.size(); ++i) to[equation.outputs[i]] = results[i];
  }
  return rewriter.finish(mapped(live.outputs));
}

}  // namespace gnomon
