// codegen/trace/trace.cpp -- recording, and arrays that cross from one trace into another.
#include "codegen/trace/trace.h"

#include <atomic>
#include <map>
#include <string>
#include <utility>

#include "codegen/base/traced_line.h"
#include "codegen/graph/primitive.h"
#include "codegen/operations/table.h"
#include "codegen/trace/eager.h"

namespace gnomon {
namespace {

// Serials count over all threads, so that an array carried into another thread is no value of a
// trace there.
std::atomic<std::uint64_t> last_serial{0};
thread_local Trace* newest = nullptr;

constexpr std::uint64_t placeholder_serial = ~std::uint64_t{0};

Arrays walk(const Graph& graph, const Arrays& inputs, const EquationRule& rule) {
  GNOMON_CHECK(inputs.size() == graph.inputs.size(), std::to_string(inputs.size()) +
                                                         " inputs for a graph of " +
                                                         std::to_string(graph.inputs.size()));
  Arrays values(graph.avals.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[graph.inputs[i]] = inputs[i];
  for (const Equation& equation : graph.equations) {
    Arrays operands;
    operands.reserve(equation.inputs.size());
    for (ValueId v : equation.inputs) operands.push_back(values[v]);
    Arrays results = rule(equation, operands);
    GNOMON_CHECK(results.size() == equation.outputs.size(),
                 std::string(equation.primitive->name) + " has " +
                     std::to_string(equation.outputs.size()) + " outputs and gets " +
                     std::to_string(results.size()));
    for (std::size_t i = 0; i < results.size(); ++i)
      values[equation.outputs[i]] = std::move(results[i]);
  }
  Arrays outputs;
  outputs.reserve(graph.outputs.size());
  for (ValueId v : graph.outputs) outputs.push_back(values[v]);
  return outputs;
}

/// Whether it brings operands to one type and shape, before operations proper.
bool aligns(const Primitive& p) {
  return &p == &convert_p || &p == &broadcast_p || &p == &reshape_p;
}

}  // namespace

struct Trace::Captured {
  std::map<ValueId, ValueId> values;  // the parent's value -> the input here
  std::map<const Storage*, ValueId> storages;
  std::vector<std::shared_ptr<Storage>> replayed;  // keys of `storages` that are no captures
};

Trace::Trace(Numbers numbers)
    : parent_(newest),
      numbers_(numbers),
      serial_(++last_serial),
      captured_(std::make_unique<Captured>()) {
  newest = this;
  traced_line() = &loc;
}

Trace::~Trace() {
  newest = parent_;
  traced_line() = parent_ ? &parent_->loc : nullptr;
}

Trace* Trace::current() { return newest; }

Trace* Trace::outermost() {
  Trace* t = newest;
  while (t && t->parent_) t = t->parent_;
  return t;
}

Loc Trace::where() { return newest ? newest->loc : Loc{}; }

Trace& Trace::active(std::string_view op, Loc loc) {
  if (!newest) {
    usage_error(op.empty() ? "trace" : op,
                "works on what is being traced, and nothing is traced here; call it inside a "
                "jitted function, or once with `rt.run([&] { return ...; })`",
                loc);
  }
  return *newest;
}

Array Trace::input(const Aval& aval) {
  const ValueId v = graph.fresh(aval);
  graph.inputs.push_back(v);
  return record(v);
}

Array Trace::own(const Array& a, Loc where) {
  const Aval& aval = a.aval();  // rejects an empty handle
  if (a.concrete()) {
    const auto [entry, added] = captured_->storages.try_emplace(a.storage().get(), 0);
    if (!added) return record(entry->second);
    if (const Unplaced* made = a.storage()->unplaced()) {
      captured_->replayed.push_back(a.storage());
      used_made_array_ |= made->origin() == Unplaced::Origin::user;
      return record(entry->second = replayed(*made).value());
    }
    entry->second = input(aval).value();
    captures.push_back(a);
    return record(entry->second);
  }
  if (a.trace_serial() == serial_) return a;
  for (Trace* outer = parent_; outer; outer = outer->parent_) {
    if (outer->serial_ != a.trace_serial()) continue;
    // Level by level: each trace between captures it once, from its own parent.
    const Array outside = parent_->own(a, where);
    const auto [entry, added] = captured_->values.try_emplace(outside.value(), 0);
    if (added) {
      entry->second = input(aval).value();
      captures.push_back(outside);
    }
    return record(entry->second);
  }
  usage_error("trace",
              a.trace_serial() == placeholder_serial
                  ? "an abstract " + to_string(aval) + " has no elements; pass it as an argument"
                  : "this " + to_string(aval) +
                        " belongs to a trace that has ended or runs in another thread; return it "
                        "from the traced function instead of storing it outside",
              where.line > 0 ? where : loc);
}

Array Trace::replayed(const Unplaced& made) {
  return walk(made.graph(), {}, [&](const Equation& e, const Arrays& operands) -> Arrays {
    if (numbers_ == Numbers::constants || e.primitive != &constant_p || few_of_its_kind(e))
      return emit(*e.primitive, e.params, operands, e.loc);
    captures.push_back(unplaced_constant(e));
    return {input(captures.back().aval())};
  })[0];
}

const NamedAxis& Trace::axis(std::string_view op, const std::string& name, Loc where) const {
  std::string known;
  for (const Trace* t = this; t; t = t->parent_) {
    if (!t->own_axis) continue;
    if (t->own_axis->name == name) return *t->own_axis;
    known += (known.empty() ? "`" : ", `") + t->own_axis->name + "`";
  }
  usage_error(op,
              "there is no axis `" + name + "` here; " +
                  (known.empty() ? "no vmap around this has an axis_name"
                                 : "vmaps around this have " + known),
              where.line > 0 ? where : loc);
}

Graph Trace::finish(const Arrays& outputs) {
  for (const Array& a : outputs) {
    const ValueId v = own(a).value();
    graph.outputs.push_back(v);
  }
  Graph result = canonicalize(std::move(graph));
  if (captures.empty()) return result;

  // Captures were numbered in order of tracing, which depends on the compiler: put them in order of
  // first use, and leave out those that nothing needs.
  const std::size_t first = result.inputs.size() - captures.size();
  std::map<ValueId, std::size_t> unplaced;
  for (std::size_t i = 0; i < captures.size(); ++i) unplaced[result.inputs[first + i]] = i;
  std::vector<ValueId> inputs(result.inputs.begin(),
                              result.inputs.begin() + static_cast<std::ptrdiff_t>(first));
  Arrays used;
  auto place = [&](const std::vector<ValueId>& values) {
    for (ValueId v : values) {
      const auto found = unplaced.find(v);
      if (found == unplaced.end()) continue;
      inputs.push_back(v);
      used.push_back(captures[found->second]);
      unplaced.erase(found);
    }
  };
  for (const Equation& equation : result.equations) place(equation.inputs);
  place(result.outputs);
  result.inputs = std::move(inputs);
  captures = std::move(used);
  return canonicalize(std::move(result));
}

Array placeholder(const Aval& aval) { return Array(placeholder_serial, 0, aval); }

Arrays emit(const Primitive& primitive, Params params, const Arrays& inputs, Loc loc) {
  if (!newest) {
    const auto record = [&] { return emit(primitive, std::move(params), inputs, loc); };
    return at_once(primitive.name, loc, record, aligns(primitive) ? Alone::stays : Alone::refused);
  }
  Trace& trace = *newest;
  if (loc.line == 0) loc = trace.loc;
  Equation equation{&primitive, std::move(params), {}, {}, loc};
  std::vector<Aval> avals;
  avals.reserve(inputs.size());
  for (const Array& a : inputs) {
    equation.inputs.push_back(trace.own(a, loc).value());
    avals.push_back(a.aval());
  }
  Arrays outputs;
  for (const Aval& aval : primitive.shape(equation.params, avals, loc)) {
    equation.outputs.push_back(trace.graph.fresh(aval));
    outputs.push_back(trace.record(equation.outputs.back()));
  }
  trace.graph.equations.push_back(std::move(equation));
  return outputs;
}

Arrays inline_graph(const Graph& graph, const Arrays& inputs) {
  if (!newest) return at_once("call", {}, [&] { return inline_graph(graph, inputs); });
  return walk(graph, inputs, [](const Equation& e, const Arrays& operands) {
    return emit(*e.primitive, e.params, operands, e.loc);
  });
}

Graph replay(const Graph& graph, const EquationRule& rule) {
  Trace t;
  Arrays inputs;
  for (ValueId v : graph.inputs) inputs.push_back(t.input(graph.avals[v]));
  return t.finish(walk(graph, inputs, [&](const Equation& e, const Arrays& operands) {
    t.loc = e.loc;
    return rule(e, operands);
  }));
}

}  // namespace gnomon
