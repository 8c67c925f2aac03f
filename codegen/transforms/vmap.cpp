// codegen/transforms/vmap.cpp -- replays a graph through the operations' batch rules.
#include "codegen/transforms/vmap.h"

#include "codegen/graph/effects.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/collectives.h"
#include "codegen/trace/trace.h"

namespace gnomon {
namespace {

std::string inherited_axis() {
  const Trace* outer = Trace::current();
  return outer ? outer->mapped_axis : std::string();
}

/// No element at all: batch rules need not know, and `lanes = 0` means something else to loops.
/// Only of what elements do together the result may be one for all, and is something.
bool is_nothing(const Equation& e) {
  return e.primitive != &psum_p && e.primitive != &all_gather_p;
}
Batched nothing(const Graph& graph, const Equation& equation) {
  Batched r;
  for (ValueId v : equation.outputs) {
    const Aval& a = graph.avals[v];
    r.values.push_back(lax::full({a.dtype, a.shape.with_inserted(0, 0)}, 0));
    r.axes.push_back(0);
  }
  return r;
}

/// Replays `graph` in the active trace, which gets the batched inputs.
Batched replay(const Graph& graph, const BatchAxes& in_axes, Dim size, Trace& trace) {
  GNOMON_CHECK(in_axes.size() == graph.inputs.size(), "one axis per input");
  Arrays values(graph.avals.size());
  BatchAxes axes(graph.avals.size());
  for (std::size_t i = 0; i < in_axes.size(); ++i) {
    const ValueId v = graph.inputs[i];
    Aval aval = graph.avals[v];
    if (in_axes[i]) aval.shape.insert(*in_axes[i], size);
    values[v] = trace.input(aval);
    axes[v] = in_axes[i];
  }
  for (const Equation& equation : graph.equations) {
    Arrays inputs;
    BatchAxes input_axes;
    // Every element makes its statements, and takes part in what all do together.
    bool varies = has_effects(equation) || speaks_of(equation, trace.mapped_axis);
    for (ValueId v : equation.inputs) {
      inputs.push_back(values[v]);
      input_axes.push_back(axes[v]);
      varies |= axes[v].has_value();
    }
    trace.loc = equation.loc;
    const std::size_t count = equation.outputs.size();
    const Batched out =
        varies && size == 0 && is_nothing(equation) ? nothing(graph, equation)
        : varies ? equation.primitive->batch(equation.params, inputs, input_axes, size)
                 : Batched{emit(*equation.primitive, equation.params, inputs, equation.loc),
                           BatchAxes(count)};
    GNOMON_CHECK(out.values.size() == count && out.axes.size() == count,
                 "the batch rule of " + std::string(equation.primitive->name) + " gives " +
                     std::to_string(out.values.size()) + " values");
    for (std::size_t i = 0; i < count; ++i) {
      const ValueId v = equation.outputs[i];
      Aval wanted = graph.avals[v];
      if (out.axes[i]) wanted.shape.insert(*out.axes[i], size);
      GNOMON_CHECK(out.values[i].aval() == wanted,
                   "the batch rule of " + std::string(equation.primitive->name) + " gives " +
                       to_string(out.values[i].aval()) + ", not " + to_string(wanted));
      values[v] = out.values[i];
      axes[v] = out.axes[i];
    }
  }
  Batched result;
  for (ValueId v : graph.outputs) {
    result.values.push_back(values[v]);
    result.axes.push_back(axes[v]);
  }
  return result;
}

}  // namespace

BatchedGraph vmap_in_place(const Graph& graph, const BatchAxes& in_axes, Dim size) {
  const std::string name = inherited_axis();
  Trace trace;
  trace.mapped_axis = name;
  Batched out = replay(graph, in_axes, size, trace);
  return {trace.finish(out.values), std::move(out.axes)};
}

Graph vmap(const Graph& graph, const BatchAxes& in_axes, const BatchAxes& out_axes, Dim size) {
  return vmap(graph, in_axes, out_axes, size, inherited_axis());
}

Graph vmap(const Graph& graph, const BatchAxes& in_axes, const BatchAxes& out_axes, Dim size,
           const std::string& axis_name, const std::vector<std::string>& paths, Loc loc) {
  GNOMON_CHECK(out_axes.size() == graph.outputs.size(), "one axis per output");
  Trace trace;
  trace.mapped_axis = axis_name;
  Batched out = replay(graph, in_axes, size, trace);
  for (std::size_t i = 0; i < out_axes.size(); ++i) {
    Array& value = out.values[i];
    if (out.axes[i] && out_axes[i]) {
      value = lax::move_axis(value, *out.axes[i], *out_axes[i]);
    } else if (out_axes[i]) {
      value = lax::insert_axis(value, *out_axes[i], size);
    } else if (out.axes[i]) {
      const bool named = i < paths.size() && !paths[i].empty();
      usage_error("vmap",
                  (named ? "`" + paths[i] + "` of the result" : std::string("the result")) +
                      " varies along the mapped axis but its out axis is `unmapped`; give it an "
                      "axis",
                  loc);
    }
  }
  return trace.finish(out.values);
}

Graph vmap(const Graph& graph, const BatchAxes& in_axes, Dim size) {
  return vmap(graph, in_axes, BatchAxes(graph.outputs.size(), 0), size);
}

}  // namespace gnomon
