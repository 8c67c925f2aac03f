// codegen/ops/jacobian.cpp -- what gnomon/jacobian.h does with arrays once trees are taken
// apart.
#include "gnomon/jacobian.h"

#include <algorithm>

#include "codegen/lax/lax.h"
#include "codegen/ops/linearize.h"
#include "codegen/trace/eager.h"
#include "codegen/transforms/control_graphs.h"
#include "codegen/transforms/control_trace.h"
#include "codegen/transforms/jvp.h"
#include "codegen/transforms/vmap.h"

namespace gnomon {

Split split_known(const Graph& graph, const Arrays& inputs, const std::vector<bool>& known) {
  GNOMON_CHECK(inputs.size() == graph.inputs.size() && known.size() == inputs.size(),
               "one array and one flag per input");
  Arrays values(graph.avals.size());
  std::vector<bool> is_known(graph.avals.size(), false);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    is_known[graph.inputs[i]] = known[i];
    if (known[i]) values[graph.inputs[i]] = inputs[i];
  }
  const auto replay = [&](const Equation& e) {
    Arrays operands;
    for (ValueId v : e.inputs) operands.push_back(values[v]);
    const Arrays results = emit(*e.primitive, e.params, operands, e.loc);
    for (std::size_t i = 0; i < results.size(); ++i) values[e.outputs[i]] = results[i];
  };
  std::vector<const Equation*> later;
  for (const Equation& e : graph.equations) {
    if (std::all_of(e.inputs.begin(), e.inputs.end(), [&](ValueId v) { return is_known[v]; })) {
      replay(e);
      for (ValueId v : e.outputs) is_known[v] = true;
    } else {
      later.push_back(&e);
    }
  }
  Trace inner;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!known[i]) values[graph.inputs[i]] = inner.input(graph.avals[graph.inputs[i]]);
  for (const Equation* e : later) replay(*e);
  Arrays outputs;
  for (ValueId v : graph.outputs) outputs.push_back(values[v]);
  Split result{inner.finish(outputs), {}};
  result.captures = inner.captures;
  return result;
}

namespace detail {
namespace {

/// One direction per element of an array of that type, along a new axis in front.
Array basis(const Aval& a, Loc loc) {
  const Dim n = a.shape.size();
  const Array row = lax::iota(DType::i32, Shape(n, n), 0, loc),
              column = lax::iota(DType::i32, Shape(n, n), 1, loc);
  return lax::reshape(lax::convert(lax::eq(row, column, loc), a.dtype, loc),
                      a.shape.with_inserted(0, n), loc);
}

Shape joined_shape(const Shape& a, const Shape& b) {
  Shape r = a;
  for (Dim d : b) r.insert(r.rank(), d);
  return r;
}

std::vector<bool> floats_among(const Linearizable& f) {
  std::vector<bool> r(f.inputs.size(), false);
  for (std::size_t i = 0; i < f.first; ++i) r[i] = is_float(f.inputs[i].dtype());
  return r;
}

void set_line(Loc loc) {
  Trace* trace = Trace::current();
  if (trace && loc.line > 0) trace->loc = loc;
}

/// `make()`, of one shape whatever it computes, as one program where there is no trace.
template <class Make>
Blocks blocks_at_once(std::string_view op, Loc loc, Make make) {
  Blocks blocks;
  const Arrays found = at_once(op, loc, [&] {
    blocks = make();
    Arrays all;
    for (const Arrays& row : blocks)
      for (const Array& a : row)
        if (!a.is_hole()) all.push_back(a);
    return all;
  });
  auto next = found.begin();
  for (Arrays& row : blocks)
    for (Array& a : row)
      if (!a.is_hole()) a = *next++;
  return blocks;
}

}  // namespace

void no_part_of_result(Loc loc) {
  usage_error(
      "Jacobian::of",
      "the selector does not name a part of the result that has arrays; take a reference to "
      "its parameter's fields",
      loc);
}

namespace {

Blocks traced_forward_blocks(const Linearizable& f, Loc loc) {
  set_line(loc);
  const std::vector<Aval> results = f.graph->output_avals();
  Blocks blocks(results.size(), Arrays(f.first, Array::hole()));
  for (std::size_t j = 0; j < f.first; ++j) {
    const Aval& x = f.inputs[j].aval();
    if (!is_float(x.dtype)) continue;
    std::vector<bool> active(f.inputs.size(), false);
    active[j] = true;
    const Graph both = gnomon::jvp(f.graph, active);
    std::vector<std::size_t> tangents;
    for (std::size_t i = 0; i < results.size(); ++i) tangents.push_back(results.size() + i);
    const Graph push = control::reordered(both, control::indices(both.inputs.size()), tangents);
    BatchAxes axes(f.inputs.size());
    axes.push_back(0);
    Arrays inputs = f.inputs;
    inputs.push_back(basis(x, loc));
    const Arrays columns = inline_graph(
        gnomon::vmap(push, axes, BatchAxes(results.size(), 0), x.shape.size(), ""), inputs);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!is_float(results[i].dtype)) continue;
      const Array last = lax::move_axis(columns[i], 0, results[i].shape.rank());
      blocks[i][j] = lax::reshape(last, joined_shape(results[i].shape, x.shape), loc);
    }
  }
  return blocks;
}

Blocks traced_reverse_blocks(const Linearizable& f, Loc loc) {
  const auto state = start_vjp(f, loc);
  const std::vector<Aval> results = f.graph->output_avals();
  const auto pullback_of = [&](std::size_t i) {
    Trace inner;
    inner.loc = loc;
    Arrays cotangents(results.size(), Array::hole());
    cotangents[i] = inner.input(results[i]);
    Arrays found;
    for (const Array& a : vjp_cotangents(*state, cotangents, loc))
      if (!a.is_hole()) found.push_back(a);
    return control::finish(inner, found);
  };
  Blocks blocks(results.size(), Arrays(f.first, Array::hole()));
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!is_float(results[i].dtype)) continue;
    const control::Part pull = pullback_of(i);
    BatchAxes axes(pull.graph.inputs.size());
    axes[0] = 0;
    const Graph all = gnomon::vmap(pull.graph, axes, BatchAxes(pull.graph.outputs.size(), 0),
                                   results[i].shape.size(), "");
    const Arrays rows = inline_graph(all, control::joined({basis(results[i], loc)}, pull.captures));
    std::size_t next = 0;
    for (std::size_t j = 0; j < f.first; ++j) {
      const Aval& x = f.inputs[j].aval();
      if (!is_float(x.dtype)) continue;
      blocks[i][j] = lax::reshape(rows[next++], joined_shape(results[i].shape, x.shape), loc);
    }
  }
  return blocks;
}

}  // namespace

Blocks forward_blocks(const Linearizable& f, Loc loc) {
  return blocks_at_once("jacfwd", loc, [&] { return traced_forward_blocks(f, loc); });
}

Blocks reverse_blocks(const Linearizable& f, Loc loc) {
  return blocks_at_once("jacrev", loc, [&] { return traced_reverse_blocks(f, loc); });
}

struct LinearMap {
  Split tangents;            // (tangents of the float arrays..., captures...) -> of the results
  std::vector<Aval> points;  // arrays of the argument
};

Arrays linearize_arrays(const Linearizable& f, std::shared_ptr<const LinearMap>& map, Loc loc) {
  set_line(loc);
  const std::vector<bool> active = floats_among(f);
  const Graph both = gnomon::jvp(f.graph, active);
  const std::size_t count = f.graph->outputs.size();
  Arrays inputs = f.inputs;
  std::vector<bool> known(inputs.size(), true);
  LinearMap made;
  for (std::size_t i = 0; i < f.first; ++i) {
    made.points.push_back(f.inputs[i].aval());
    if (!active[i]) continue;
    inputs.push_back(placeholder(f.inputs[i].aval()));
    known.push_back(false);
  }
  const auto outputs = [&](std::size_t first) {
    std::vector<std::size_t> r;
    for (std::size_t i = 0; i < count; ++i) r.push_back(first + i);
    return control::reordered(both, control::indices(both.inputs.size()), r);
  };
  Graph value = outputs(0);  // of which no equation looks at a tangent
  value.inputs.resize(f.inputs.size());
  Arrays result = at_once("linearize", loc, [&] {
    made.tangents = split_known(outputs(count), inputs, known);
    return control::joined(inline_graph(value, f.inputs), made.tangents.captures);
  });
  const auto values = result.begin() + static_cast<std::ptrdiff_t>(count);
  made.tangents.captures = {values, result.end()};
  result.erase(values, result.end());
  map = std::make_shared<const LinearMap>(std::move(made));
  return result;
}

Arrays apply(const LinearMap& map, const Arrays& tangents, Loc loc) {
  set_line(loc);
  Arrays inputs;
  for (std::size_t i = 0; i < tangents.size(); ++i) {
    const Aval& x = map.points[i];
    if (!is_float(x.dtype)) continue;
    const bool zero = tangents[i].is_hole();
    if (!zero && tangents[i].aval() != x)
      usage_error("linearize",
                  "array " + std::to_string(i) + " of the tangent is " +
                      to_string(tangents[i].aval()) + " and the point is " + to_string(x),
                  loc);
    inputs.push_back(zero ? lax::full(x, 0, loc) : tangents[i]);
  }
  Arrays result = inline_graph(map.tangents.graph, control::joined(inputs, map.tangents.captures));
  for (Array& a : result)
    if (!is_float(a.dtype())) a = Array::hole();
  return result;
}

struct TransposedMap {
  Linearizable f;
  std::vector<bool> linear;  // per input
};

std::shared_ptr<const TransposedMap> transpose_arrays(const Linearizable& f, Loc loc) {
  set_line(loc);
  TransposedMap map{f, floats_among(f)};
  for (std::size_t i = 0; i < f.first; ++i)
    if (map.linear[i]) map.f.inputs[i] = placeholder(f.inputs[i].aval());
  return std::make_shared<const TransposedMap>(std::move(map));
}

Arrays apply(const TransposedMap& map, const Arrays& cotangents, Loc loc) {
  set_line(loc);
  const Graph& g = map.f.graph;
  const std::vector<Aval> results = g.output_avals();
  Tangents given(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!is_float(results[i].dtype) || cotangents[i].is_hole()) continue;
    given[i] = cotangents[i];
    if (cotangents[i].aval() != results[i])
      usage_error("linear_transpose",
                  "array " + std::to_string(i) + " of the cotangent is " +
                      to_string(cotangents[i].aval()) + " and the function gives " +
                      to_string(results[i]),
                  loc);
  }
  const Arrays found = at_once("linear_transpose", loc, [&] {
    const Tangents all = transpose_linear(g, map.f.inputs, map.linear, given);
    Arrays of_floats;
    for (std::size_t i = 0; i < map.f.first; ++i)
      if (map.linear[i])
        of_floats.push_back(all[i] ? *all[i] : lax::full(map.f.inputs[i].aval(), 0, loc));
    return of_floats;
  });
  Arrays result;
  auto next = found.begin();
  for (std::size_t i = 0; i < map.f.first; ++i)
    result.push_back(map.linear[i] ? *next++ : Array::hole());
  return result;
}

}  // namespace detail
}  // namespace gnomon
