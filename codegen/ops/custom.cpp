// codegen/ops/custom.cpp -- what gnomon/custom.h and gnomon/checkpoint.h do with arrays once
// trees are taken apart.
#include "gnomon/custom.h"

#include <algorithm>

#include "codegen/lax/lax.h"
#include "codegen/operations/calls.h"
#include "codegen/transforms/control_graphs.h"
#include "codegen/transforms/control_trace.h"

namespace gnomon::detail {
namespace {

/// "`y.a` f32[3], `y.b` i32[]".
std::string structure(const Described& d) {
  std::string r;
  for (std::size_t i = 0; i < d.arrays.size(); ++i)
    r += (i ? ", `" : "`") + d.paths[i] + "` " +
         (d.arrays[i].is_hole() ? "a hole" : to_string(d.arrays[i].aval()));
  return r.empty() ? "no arrays" : r;
}

[[noreturn]] void differ(std::string_view op, std::string_view like_what, const Described& like,
                         std::string_view given_what, const Described& given, Loc loc) {
  usage_error(op,
              std::string(like_what) + " " + structure(like) + " and " + std::string(given_what) +
                  " " + structure(given) + "; they need the same arrays of the same types",
              loc);
}

/// Moves the inputs [from, from + count) to the end.
GraphPtr with_inputs_last(const Graph& g, std::size_t from, std::size_t count) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < g.inputs.size(); ++i)
    if (i < from || i >= from + count) order.push_back(i);
  for (std::size_t i = from; i < from + count; ++i) order.push_back(i);
  return control::share(control::reordered(g, order, control::indices(g.outputs.size())));
}
/// Moves the last `count` inputs to `to`.
GraphPtr with_last_inputs_at(const Graph& g, std::size_t to, std::size_t count) {
  const std::size_t first = g.inputs.size() - count;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < to; ++i) order.push_back(i);
  for (std::size_t i = 0; i < count; ++i) order.push_back(first + i);
  for (std::size_t i = to; i < first; ++i) order.push_back(i);
  return control::share(control::reordered(g, order, control::indices(g.outputs.size())));
}

std::size_t count_floats(const std::vector<Aval>& avals) {
  return static_cast<std::size_t>(
      std::count_if(avals.begin(), avals.end(), [](const Aval& a) { return is_float(a.dtype); }));
}

}  // namespace

Arrays shared_captures(const std::vector<Piece*>& pieces, std::vector<Graph>& graphs) {
  std::vector<control::Part> parts;
  std::vector<control::Part*> pointers;
  std::vector<std::size_t> own;
  for (Piece* p : pieces) {
    parts.push_back({*p->graph, std::move(p->captures)});
    own.push_back(p->own);
  }
  for (control::Part& part : parts) pointers.push_back(&part);
  Arrays captures = control::share_captures(pointers, own);
  for (control::Part& part : parts) graphs.push_back(std::move(part.graph));
  return captures;
}

void check_same(std::string_view op, std::string_view like_what, const Described& like,
                std::string_view given_what, const Described& given, Loc loc) {
  bool same = like.arrays.size() == given.arrays.size();
  for (std::size_t i = 0; same && i < like.arrays.size(); ++i) {
    const Array &a = like.arrays[i], &b = given.arrays[i];
    if (b.empty()) empty_leaf(-1, given.paths[i], loc);
    same = a.is_hole() == b.is_hole() && (a.is_hole() || a.aval() == b.aval());
  }
  if (!same) differ(op, like_what, like, given_what, given, loc);
}

Arrays matched(std::string_view op, std::string_view like_what, const Described& like,
               std::string_view given_what, const Described& given, Loc loc) {
  bool same = like.arrays.size() == given.arrays.size();
  Arrays result;
  for (std::size_t i = 0; same && i < like.arrays.size(); ++i) {
    const Array &a = like.arrays[i], &b = given.arrays[i];
    if (a.is_hole() || !is_float(a.dtype())) continue;
    if (b.empty()) empty_leaf(-1, given.paths[i], loc);
    same = b.is_hole() || a.aval() == b.aval();
    result.push_back(b.is_hole() ? lax::full(a.aval(), 0, loc) : b);
  }
  if (!same) differ(op, like_what, like, given_what, given, loc);
  return result;
}

Arrays emit_custom_jvp(Piece body, Piece rule, const Arrays& arguments, Loc loc, Captures meaning) {
  const std::size_t count = arguments.size();
  std::vector<Graph> graphs;
  Arrays captures = shared_captures({&body, &rule}, graphs);
  CustomJvpParams p;
  p.arguments = static_cast<int>(count);
  p.body = control::share(graphs[0]);
  // The rule's inputs are arguments, results, tangents, flags, constants; constants belong behind
  // the arguments.
  p.rule = with_last_inputs_at(graphs[1], count, captures.size());
  if (meaning == Captures::are_fixed)
    for (Array& a : captures) a = lax::unary(stop_gradient_p, a, loc);
  return emit(custom_jvp_p, p, control::joined(arguments, captures), loc);
}

Arrays emit_custom_vjp(Piece body, Piece forward, Piece backward, const Arrays& arguments,
                       Loc loc) {
  const std::size_t count = arguments.size();
  const std::size_t flags = count_floats(types_of(arguments));
  const std::size_t residuals_and_cotangents = backward.own - flags;
  std::vector<Graph> graphs;
  const Arrays captures = shared_captures({&body, &forward, &backward}, graphs);
  CustomVjpParams p;
  p.arguments = static_cast<int>(count);
  p.body = control::share(graphs[0]);
  p.forward = with_inputs_last(graphs[1], count, flags);
  p.backward = with_inputs_last(graphs[2], residuals_and_cotangents, flags);
  return emit(custom_vjp_p, p, control::joined(arguments, captures), loc);
}

Arrays marked(const Arrays& arrays, bool backward_only, const std::string& name, Loc loc) {
  Arrays r;
  for (const Array& a : arrays)
    r.push_back(emit1(backward_only ? nondifferentiable_backward_p : nondifferentiable_p,
                      NameParams{name}, {a}, loc));
  return r;
}

std::vector<Aval> types_of(const Arrays& arrays) {
  std::vector<Aval> r;
  for (const Array& a : arrays) r.push_back(a.aval());
  return r;
}

Arrays call_converted(const Conversion& conversion, const std::vector<Aval>& captured_types,
                      const Arrays& captured, const std::vector<Arrays>& args, bool same_statics) {
  const std::vector<std::vector<Aval>>& types = conversion.types;
  const Loc loc = conversion.loc;
  const auto list = [](const std::vector<Aval>& avals) {
    std::string r;
    for (const Aval& a : avals) r += (r.empty() ? "" : ", ") + to_string(a);
    return r.empty() ? std::string("no arrays") : r;
  };
  const auto check = [&](const std::string& what, const std::vector<Aval>& want,
                         const Arrays& got) {
    if (types_of(got) != want)
      usage_error("closure_convert",
                  what + " had " + list(want) + " and has " + list(types_of(got)) +
                      "; convert the function again for other types",
                  loc);
  };
  if (args.size() != types.size())
    usage_error("closure_convert",
                "the function was converted for " + std::to_string(types.size()) +
                    " arguments and gets " + std::to_string(args.size()),
                loc);
  Arrays inputs;
  for (std::size_t i = 0; i < args.size(); ++i) {
    check("argument " + std::to_string(i), types[i], args[i]);
    inputs = control::joined(inputs, args[i]);
  }
  if (!same_statics)
    usage_error("closure_convert",
                "the arguments have other structures or static values than those the function was "
                "converted for; convert it again",
                loc);
  check("the list of captures", captured_types, captured);
  return inline_graph(conversion.graph, control::joined(inputs, captured));
}

Arrays emit_checkpoint(const Graph& graph, const Arrays& inputs, const CheckpointOptions& options,
                       Loc loc) {
  return emit(checkpoint_p, CheckpointParams{control::share(graph), options.keep, options.names},
              inputs, loc);
}

Arrays emit_barriers(const Arrays& arrays, Loc loc) {
  Arrays r;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    Arrays operands{arrays[i]};
    for (std::size_t k = 0; k < arrays.size(); ++k)
      if (k != i) operands.push_back(arrays[k]);
    r.push_back(emit1(optimization_barrier_p, {}, operands, loc));
  }
  return r;
}

Array named(const Array& a, const std::string& name, Loc loc) {
  return emit1(checkpoint_name_p, NameParams{name}, {a}, loc);
}

}  // namespace gnomon::detail
