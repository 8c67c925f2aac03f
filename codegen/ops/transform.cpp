// codegen/ops/transform.cpp -- what gnomon/transform.h does with arrays once trees are taken
// apart.
#include "gnomon/transform.h"

#include <algorithm>

#include "codegen/base/path_visitor.h"
#include "codegen/lax/lax.h"
#include "codegen/ops/linearize.h"
#include "codegen/trace/eager.h"
#include "codegen/transforms/control_graphs.h"
#include "codegen/transforms/control_trace.h"
#include "codegen/transforms/jvp.h"
#include "codegen/transforms/vmap.h"

namespace gnomon {

Array abstract_array(DType dtype, const Shape& shape) { return placeholder({dtype, shape}); }

MappedAxes::MappedAxes(tree::detail::AnyTree axes) {
  struct Each final : tree::PathVisitor {
    explicit Each(std::vector<std::pair<std::string, Axis>>& to) : PathVisitor(""), entries(to) {}
    void leaf(const Array& a) override {
      entries.emplace_back(path_, a.is_hole() ? Axis() : Axis(0));
    }
    void value(const tree::StaticValue& x) override {
      if (x.integer) entries.emplace_back(path_, static_cast<int>(*x.integer));
    }
    void presence(bool present) override {
      if (!present) entries.emplace_back(path_, std::nullopt);
    }
    void nothing() override { entries.emplace_back(path_, std::nullopt); }
    std::vector<std::pair<std::string, Axis>>& entries;
  } each(entries_);
  axes.walk_by(each);
}

std::optional<Axis> MappedAxes::find(std::string_view path) const {
  for (const auto& [part, axis] : entries_) {
    if (!path.starts_with(part)) continue;
    const std::string_view rest = path.substr(part.size());
    if (rest.empty() || rest[0] == '.' || rest[0] == '[') return axis;
  }
  return std::nullopt;
}

std::string MappedAxes::text() const {
  if (entries_.empty()) return "nothing";
  std::string all;
  for (const auto& entry : entries_) {
    if (!all.empty()) all += ", ";
    all += entry.first.empty() ? "all of it" : "`" + entry.first + "`";
  }
  return all;
}

namespace detail {
namespace {

std::string argument_text(std::size_t index, const std::string& path) {
  return "argument " + std::to_string(index) + (path.empty() ? "" : " `" + path + "`");
}

int resolved(int axis, int rank) { return axis < 0 ? axis + rank : axis; }

/// A path within the top-level element that it begins with.
std::string_view below_top(std::string_view path) {
  const std::size_t end = path.find_first_of(".[", 1);
  return end == path.npos ? std::string_view() : path.substr(end);
}

}  // namespace

VmapPlan::VmapPlan(const VmapOptions& options, std::size_t arguments, Loc loc)
    : options_(options), loc_(loc) {
  if (options_.in_axes.empty()) options_.in_axes.assign(arguments, 0);
  if (options_.in_axes.size() != arguments) {
    usage_error("vmap",
                "in_axes has " + std::to_string(options_.in_axes.size()) +
                    " entries and the function gets " + std::to_string(arguments) +
                    " arguments; give one per argument",
                loc);
  }
  if (options_.axis_size < 0) {
    usage_error("vmap", "axis_size is " + std::to_string(options_.axis_size), loc);
  }
  if (options_.axis_size > 0) {
    size_ = options_.axis_size;
    size_from_ = "axis_size is " + std::to_string(size_);
  }
}

Axis VmapPlan::axis_of(const std::string& path) const {
  const MappedAxes& axes = options_.in_axes[argument_];
  if (const auto found = axes.find(path)) return *found;
  usage_error(
      "vmap",
      "in_axes says nothing of " + argument_text(argument_, path) + "; it speaks of " + axes.text(),
      loc_);
}

Arrays VmapPlan::elements(tree::detail::AnyTree argument) {
  Arrays result;
  const auto add = [&](const Array& a, const std::string& path) {
    result.push_back(element(a, path));
  };
  tree::detail::visit_arrays(argument, false, "", add);
  ++argument_;
  return result;
}

void VmapPlan::require_mapped(const std::vector<std::string>& paths) const {
  for (const std::string& path : paths) {
    if (axis_of(path)) continue;
    usage_error(
        "vmap",
        argument_text(argument_, path) +
            " holds one thing per element and is `unmapped`; map it, or pass what all elements "
            "share",
        loc_);
  }
}

Array VmapPlan::element(const Array& a, const std::string& path) {
  const Axis axis = axis_of(path);
  const std::string where = argument_text(argument_, path);
  if (a.empty()) empty_leaf(static_cast<int>(argument_), path, loc_);
  inputs_.push_back(a);
  if (!axis) {
    axes_.push_back(std::nullopt);
    return placeholder(a.aval());
  }
  const int at = resolved(*axis, a.rank());
  if (at < 0 || at >= a.rank()) {
    usage_error("vmap",
                where + " is " + to_string(a.aval()) + ", which has no axis " +
                    std::to_string(*axis) + "; pass `unmapped` for what all elements share",
                loc_);
  }
  const Dim size = a.shape()[at];
  if (size_ >= 0 && size != size_) {
    usage_error("vmap",
                size_from_ + " but " + where + " has " + std::to_string(size) + " along axis " +
                    std::to_string(at) + "; mapped axes need one length",
                loc_);
  }
  if (size_ < 0) {
    size_ = size;
    size_from_ = where + " has " + std::to_string(size) + " along axis " + std::to_string(at);
  }
  axes_.push_back(at);
  return placeholder({a.dtype(), a.shape().without(at)});
}

void VmapPlan::enter() const {
  if (options_.axis_name.empty()) return;
  if (size_ < 0) {
    usage_error("vmap", "no argument is mapped; give in_axes, or axis_size for the length", loc_);
  }
  Trace::active("vmap", loc_).own_axis = NamedAxis{options_.axis_name, size_};
}

Arrays VmapPlan::run(const Graph& graph, const Arrays& captures,
                     const std::vector<std::string>& paths,
                     const std::vector<std::size_t>& counts) {
  if (size_ < 0) {
    usage_error("vmap", "no argument is mapped; give in_axes, or axis_size for the length", loc_);
  }
  if (options_.out_axes.empty()) options_.out_axes = {0};
  const std::size_t given = options_.out_axes.size();
  if (given != 1 && given != counts.size()) {
    usage_error("vmap",
                "out_axes has " + std::to_string(given) + " entries and the result has " +
                    std::to_string(counts.size()) + " elements; give one for all or one for each",
                loc_);
  }
  BatchAxes out_axes;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    for (std::size_t k = 0; k < counts[i]; ++k) {
      const std::string& path = paths[out_axes.size()];
      const MappedAxes& axes = options_.out_axes[given == 1 ? 0 : i];
      const auto found = axes.find(given == 1 ? std::string_view(path) : below_top(path));
      if (!found) {
        usage_error(
            "vmap",
            "out_axes says nothing of `" + path + "` of the result; it speaks of " + axes.text(),
            loc_);
      }
      Axis axis = *found;
      const Aval& aval = graph.avals[graph.outputs[out_axes.size()]];
      const int rank = aval.shape.rank() + 1;
      if (axis && (*axis < -rank || *axis >= rank)) {
        usage_error("vmap",
                    "out axis " + std::to_string(*axis) +
                        " is out of range for a result whose "
                        "elements are " +
                        to_string(aval),
                    loc_);
      }
      if (axis) axis = resolved(*axis, rank);
      out_axes.push_back(axis);
    }
  }
  Arrays inputs = inputs_;
  BatchAxes axes = axes_;
  for (const Array& a : captures) {
    inputs.push_back(a);
    axes.push_back(std::nullopt);
  }
  return inline_graph(gnomon::vmap(graph, axes, out_axes, size_, options_.axis_name, paths, loc_),
                      inputs);
}

void wrong_structure(std::string_view op, std::string_view what, Loc loc) {
  usage_error(op,
              "the " + std::string(what) +
                  " has another number of arrays than what it belongs to; vectors in it need the "
                  "same lengths",
              loc);
}

Arrays jvp_arrays(const Linearizable& f, const Arrays& tangents,
                  const std::vector<std::string>& paths, Loc loc) {
  GNOMON_CHECK(tangents.size() == f.first, "one tangent per array of the point");
  std::vector<bool> active(f.inputs.size(), false);
  Arrays inputs = f.inputs;
  for (std::size_t i = 0; i < f.first; ++i) {
    const Aval& aval = f.inputs[i].aval();
    if (!is_float(aval.dtype) || tangents[i].is_hole()) continue;
    if (tangents[i].aval() != aval) {
      usage_error("jvp",
                  "the tangent of " + (paths[i].empty() ? "the point" : "`" + paths[i] + "`") +
                      " is " + to_string(tangents[i].aval()) + " and the point is " +
                      to_string(aval),
                  loc);
    }
    active[i] = true;
    inputs.push_back(tangents[i]);
  }
  Arrays result = inline_graph(gnomon::jvp(f.graph, active), inputs);
  for (std::size_t i = result.size() / 2; i < result.size(); ++i)
    if (!is_float(result[i].dtype())) result[i] = Array::hole();
  return result;
}

namespace {

/// Cotangents of the arrays to differentiate in, given one for each output.
Arrays pulled_back(const ForwardPass& forward, std::size_t first, const Tangents& given, Loc loc) {
  const Tangents found = pull_back(forward, given);
  const Graph& graph = forward.graph;
  Arrays result;
  for (std::size_t i = 0; i < first; ++i) {
    const Aval& aval = graph.avals[graph.inputs[i]];
    result.push_back(!is_float(aval.dtype) ? Array::hole()
                     : found[i]            ? *found[i]
                                           : lax::full(aval, 0, loc));
  }
  return result;
}

Arrays without_holes(const Arrays& arrays) {
  Arrays r;
  for (const Array& a : arrays)
    if (!a.is_hole()) r.push_back(a);
  return r;
}

/// Both passes as graphs: the first is run here, the second by whoever has cotangents.
std::shared_ptr<PullbackState> start_vjp_at_once(const Linearizable& f,
                                                 const std::vector<bool>& wanted, Loc loc) {
  auto state = std::make_shared<PullbackState>();
  state->first = f.first;
  std::size_t outputs = 0;
  const Arrays all = at_once("vjp", loc, [&] {
    state->forward = run_forward(f.graph, f.inputs, wanted);
    const Arrays results = state->forward.outputs();
    outputs = results.size();
    Trace inner;
    inner.loc = loc;
    Tangents given(outputs);
    for (std::size_t i = 0; i < outputs; ++i)
      if (is_float(results[i].dtype())) given[i] = inner.input(results[i].aval());
    control::Part pull =
        control::finish(inner, without_holes(pulled_back(state->forward, f.first, given, loc)));
    state->pull = std::move(pull.graph);
    return control::joined(results, pull.captures);
  });
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(outputs);
  state->results = {all.begin(), end};
  state->residuals = {end, all.end()};
  state->forward.values.clear();  // of a trace that has ended
  state->forward.saved.clear();
  return state;
}

}  // namespace

std::shared_ptr<const PullbackState> start_vjp(const Linearizable& f, Loc loc) {
  std::vector<bool> wanted(f.inputs.size(), false);
  std::fill_n(wanted.begin(), f.first, true);
  Trace* trace = Trace::current();
  if (!trace) return start_vjp_at_once(f, wanted, loc);
  if (loc.line > 0) trace->loc = loc;
  auto state = std::make_shared<PullbackState>();
  state->forward = run_forward(f.graph, f.inputs, wanted);
  state->first = f.first;
  state->results = state->forward.outputs();
  return state;
}

Arrays vjp_outputs(const PullbackState& state) { return state.results; }

Arrays vjp_cotangents(const PullbackState& state, const Arrays& cotangents, Loc loc) {
  const Graph& graph = state.forward.graph;
  GNOMON_CHECK(cotangents.size() <= graph.outputs.size(), "no more cotangents than outputs");
  Tangents given(graph.outputs.size());
  for (std::size_t i = 0; i < cotangents.size(); ++i) {
    const Aval& aval = graph.avals[graph.outputs[i]];
    if (!is_float(aval.dtype) || cotangents[i].is_hole()) continue;
    given[i] = cotangents[i];
    if (cotangents[i].aval() == aval) continue;
    usage_error("vjp",
                "array " + std::to_string(i) + " of the cotangent is " +
                    to_string(cotangents[i].aval()) + " and the result is " + to_string(aval),
                loc);
  }
  if (!state.pull) return pulled_back(state.forward, state.first, given, loc);
  const Arrays found = at_once("vjp", loc, [&] {
    Arrays inputs;
    for (std::size_t i = 0; i < given.size(); ++i) {
      const Aval& aval = graph.avals[graph.outputs[i]];
      if (is_float(aval.dtype)) inputs.push_back(given[i] ? *given[i] : lax::full(aval, 0, loc));
    }
    return inline_graph(*state.pull, control::joined(inputs, state.residuals));
  });
  Arrays result;
  auto next = found.begin();
  for (std::size_t i = 0; i < state.first; ++i)
    result.push_back(is_float(graph.avals[graph.inputs[i]].dtype) ? *next++ : Array::hole());
  return result;
}

void check_scalar(const Aval& aval, Loc loc) {
  if (is_float(aval.dtype) && aval.shape.rank() == 0) return;
  const std::string returned = "the function returns " + to_string(aval);
  if (!is_float(aval.dtype))
    usage_error("grad",
                returned + ", and only floats have a derivative; " +
                    (aval.shape.rank() == 0 ? "" : "reduce it to one number and ") +
                    "compute it in floats (a cast of the result has derivative 0)",
                loc);
  usage_error("grad",
              returned + " and a gradient is of one float; reduce it with sum or mean, or use vjp",
              loc);
}

Array one_like(const Array& a) { return lax::full_like(a, 1); }

}  // namespace detail
}  // namespace gnomon
