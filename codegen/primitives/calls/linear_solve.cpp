// codegen/primitives/calls/linear_solve.cpp -- table entry of custom_linear_solve.
#include <algorithm>

#include "codegen/graph/evaluate.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/calls.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"
#include "codegen/transforms/jvp.h"
#include "codegen/transforms/vjp.h"

namespace gnomon {
namespace {

using control::joined;
using control::part;

std::vector<Aval> shape_of_linear_solve(const Params& params, std::span<const Aval> in, Loc loc) {
  const auto& p = params.as<LinearSolveParams>();
  const auto size = static_cast<std::size_t>(p.size);
  if (in.size() < size) usage_error("custom_linear_solve", "lacks right-hand sides", loc);
  const std::vector<Aval> x(in.begin(), in.begin() + p.size);
  const auto check = [&](const char* what, const Graph& g) {
    control::check_inputs("custom_linear_solve", what, g, in, loc);
    if (g.output_avals() != x)
      usage_error("custom_linear_solve", std::string(what) + " gives other types than it is given",
                  loc);
  };
  check("matvec", *p.matvec);
  check("solve", *p.solve);
  for (const GraphPtr& g : p.transpose_solve) check("transpose_solve", *g);
  return x;
}

/// A x = b moves by A dx = db - dA x.
Tangents jvp_linear_solve(const Params& params, const Arrays& in, const Arrays& x,
                          const Tangents& d) {
  const auto& p = params.as<LinearSolveParams>();
  const std::size_t size = x.size();
  const Arrays constants = part(in, size, in.size() - size);
  Tangents rhs(d.begin(), d.begin() + p.size);
  std::vector<bool> moves(in.size(), false);
  Arrays inputs = joined(x, constants);
  for (std::size_t i = size; i < in.size(); ++i) {
    moves[i] = d[i].has_value();
    if (d[i]) inputs.push_back(*d[i]);
  }
  const std::vector<bool> moved = active_outputs(*p.matvec, moves);
  if (std::find(moved.begin(), moved.end(), true) != moved.end()) {
    const Graph both = gnomon::jvp(*p.matvec, moves, moved);
    const Arrays all = inline_graph(both, inputs);
    for (std::size_t i = 0, next = size; i < size; ++i) {
      if (!moved[i]) continue;
      const Array& change = all[next++];
      rhs[i] = rhs[i] ? lax::sub(*rhs[i], change) : lax::neg(change);
    }
  }
  Tangents r(size);
  if (std::none_of(rhs.begin(), rhs.end(), [](const auto& t) { return t.has_value(); })) return r;
  Arrays operands;
  for (std::size_t i = 0; i < size; ++i)
    operands.push_back(rhs[i] ? *rhs[i] : lax::zeros_like(x[i]));
  const Arrays found = emit(custom_linear_solve_p, params, joined(operands, constants), {});
  return {found.begin(), found.end()};
}

/// The graph of A' for the graph of A.
Graph transposed(const Graph& matvec, std::size_t size) {
  Trace t;
  Tangents cotangents;
  Arrays inputs;
  std::vector<bool> linear(matvec.inputs.size(), false);
  for (std::size_t i = 0; i < size; ++i) {
    const Aval& a = matvec.avals[matvec.inputs[i]];
    cotangents.push_back(t.input(a));
    inputs.push_back(placeholder(a));
    linear[i] = true;
  }
  for (std::size_t i = size; i < matvec.inputs.size(); ++i)
    inputs.push_back(t.input(matvec.avals[matvec.inputs[i]]));
  const Tangents found = transpose_linear(matvec, inputs, linear, cotangents);
  Arrays r;
  for (std::size_t i = 0; i < size; ++i)
    r.push_back(found[i] ? *found[i] : lax::full(inputs[i].aval(), 0));
  return t.finish(r);
}

Tangents transpose(const TransposeArgs& t) {
  auto p = t.params.as<LinearSolveParams>();
  const auto size = static_cast<std::size_t>(p.size);
  const Trace* trace = Trace::current();
  for (std::size_t i = size; i < t.inputs.size(); ++i)
    if (t.linear[i])
      usage_error("custom_linear_solve", "is not linear in what its functions captured",
                  trace ? trace->loc : Loc{});
  if (p.transpose_solve.empty())
    usage_error("custom_linear_solve",
                "reverse mode needs transpose_solve, which solves A' x = b; pass one, or say "
                "{.symmetric = true}",
                trace ? trace->loc : Loc{});
  Arrays operands;
  for (std::size_t i = 0; i < size; ++i)
    operands.push_back(t.cotangents[i] ? *t.cotangents[i] : lax::full(t.inputs[i].aval(), 0));
  operands = joined(operands, part(t.inputs, size, t.inputs.size() - size));
  p.matvec = control::share(transposed(*p.matvec, size));
  std::swap(p.solve, p.transpose_solve[0]);
  const Arrays found = emit(custom_linear_solve_p, p, operands, {});
  Tangents r(t.inputs.size());
  for (std::size_t i = 0; i < size; ++i)
    if (t.linear[i]) r[i] = found[i];
  return r;
}

Batched batch_linear_solve(const Params& params, const Arrays& in, const BatchAxes& axes, Dim n) {
  auto p = params.as<LinearSolveParams>();
  const auto size = static_cast<std::size_t>(p.size);
  std::vector<bool> batched;
  Arrays inputs;
  for (std::size_t i = 0; i < in.size(); ++i) {
    batched.push_back(axes[i].has_value() || i < size);
    inputs.push_back(axes[i]    ? lax::move_axis(in[i], *axes[i], 0)
                     : i < size ? lax::insert_axis(in[i], 0, n)
                                : in[i]);
  }
  const std::vector<bool> out(size, true);
  const auto over = [&](GraphPtr& g) { g = control::share(control::batch(*g, batched, out, n)); };
  over(p.matvec);
  over(p.solve);
  for (GraphPtr& g : p.transpose_solve) over(g);
  return {emit(custom_linear_solve_p, p, inputs, {}), control::front_axes(out)};
}

}  // namespace

const Primitive custom_linear_solve_p{
    .name = "custom_linear_solve",
    .parse = parse_params<LinearSolveParams>,
    .shape = shape_of_linear_solve,
    .jvp = jvp_linear_solve,
    .transpose = transpose,
    .batch = batch_linear_solve,
    .lower = Lowering::expanded([](const Params& params, const Arrays& x, const Target&, Loc) {
      return inline_graph(*params.as<LinearSolveParams>().solve, x);
    }),
    .reference =
        [](const Params& params, std::span<const Aval>, std::span<const HostArray> in) {
          return evaluate(*params.as<LinearSolveParams>().solve, {in.begin(), in.end()});
        },
};

}  // namespace gnomon
