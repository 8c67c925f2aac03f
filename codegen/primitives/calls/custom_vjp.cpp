// codegen/primitives/calls/custom_vjp.cpp -- table entry of custom_vjp.
#include <algorithm>

#include "codegen/graph/evaluate.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/calls.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"
#include "codegen/transforms/vjp.h"

namespace gnomon {
namespace {

using control::joined;
using control::part;

std::size_t count_floats(const std::vector<Aval>& avals) {
  return static_cast<std::size_t>(
      std::count_if(avals.begin(), avals.end(), [](const Aval& a) { return is_float(a.dtype); }));
}

/// How inputs and outputs of the three graphs split up.
struct Counts {
  explicit Counts(const CustomVjpParams& p)
      : arguments(static_cast<std::size_t>(p.arguments)),
        constants(p.body->inputs.size() - arguments),
        outputs(p.body->outputs.size()),
        residuals(p.forward->outputs.size() - outputs),
        cotangents(count_floats(p.body->output_avals())) {}
  std::size_t arguments, constants, outputs, residuals, cotangents;
};

std::vector<Aval> shape_of_custom_vjp(const Params& params, std::span<const Aval> in, Loc loc) {
  const auto& p = params.as<CustomVjpParams>();
  control::check_inputs("custom_vjp", "body", *p.body, in, loc);
  const auto arguments = static_cast<std::size_t>(p.arguments);
  const std::vector<Aval> out = p.body->output_avals();
  std::vector<Aval> floats;
  for (const Aval& a : in.first(arguments))
    if (is_float(a.dtype)) floats.push_back(a);
  const std::vector<Aval> flags(floats.size(), Aval{DType::boolean, {}});
  std::vector<Aval> forward_in(in.begin(), in.end());
  forward_in.insert(forward_in.end(), flags.begin(), flags.end());
  control::check_inputs("custom_vjp", "forward pass", *p.forward, forward_in, loc);
  const std::vector<Aval> kept = p.forward->output_avals();
  if (kept.size() < out.size() || !std::equal(out.begin(), out.end(), kept.begin()))
    usage_error("custom_vjp", "the forward pass gives other results than the body", loc);
  std::vector<Aval> backward_in(kept.begin() + static_cast<std::ptrdiff_t>(out.size()), kept.end());
  for (const Aval& a : out)
    if (is_float(a.dtype)) backward_in.push_back(a);
  backward_in.insert(backward_in.end(), in.begin() + p.arguments, in.end());
  backward_in.insert(backward_in.end(), flags.begin(), flags.end());
  control::check_inputs("custom_vjp", "backward pass", *p.backward, backward_in, loc);
  if (p.backward->output_avals() != floats)
    usage_error("custom_vjp",
                "the backward pass gives other types than a cotangent per float argument", loc);
  return out;
}

/// The forward pass: results, then residuals.
Arrays ahead(const CustomVjpParams& p, const Arrays& x, const std::vector<bool>& active) {
  const Counts n(p);
  return inline_graph(*p.forward,
                      joined(x, calls::flag_constants(active, part(x, 0, n.arguments))));
}

/// What the forward pass gives, its results as those of a call, so that they have the rule's
/// derivative here as well as where a loop or a branch computes them. The call is given them: what
/// computes them and the residuals stays one piece.
Arrays forward_custom_vjp(const Params& params, const Arrays& x, const std::vector<bool>& active,
                          const Buffers&, Loc loc) {
  auto p = params.as<CustomVjpParams>();
  const Counts n(p);
  calls::check_constants("custom_vjp", n.arguments, active);
  Arrays r = ahead(p, x, active), given;
  for (const Array& y : part(r, 0, n.outputs))
    given.push_back(is_float(y.dtype()) ? lax::unary(stop_gradient_p, y, loc) : y);
  p.body = control::share([&] {
    Trace t;
    for (const Array& a : x) t.input(a.aval());
    Arrays own;
    for (const Array& y : given) own.push_back(t.input(y.aval()));
    return t.finish(own);
  }());
  p.forward = control::share(control::widened(*p.forward, x.size(), given, {}));
  p.backward = control::share(
      control::widened(*p.backward, n.residuals + n.cotangents + n.constants, given, {}));
  const Arrays y = emit(custom_vjp_p, p, joined(x, given), loc);
  std::copy(y.begin(), y.end(), r.begin());
  return r;
}

/// Operands of the backward graph.
Arrays backward_inputs(const Counts& n, const Arrays& residuals, const Arrays& cotangents,
                       const Arrays& x, const std::vector<bool>& active) {
  return joined(joined(residuals, cotangents),
                joined(part(x, n.arguments, n.constants),
                       calls::flag_constants(active, part(x, 0, n.arguments))));
}

Tangents backward_custom_vjp(const ReverseArgs& a) {
  const auto& p = a.params.as<CustomVjpParams>();
  const Counts n(p);
  const std::vector<Aval> out = p.body->output_avals();
  Arrays cotangents;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (is_float(out[i].dtype))
      cotangents.push_back(a.cotangents[i] ? *a.cotangents[i] : lax::full(out[i], 0));
  const Arrays found =
      inline_graph(*p.backward, backward_inputs(n, a.saved, cotangents, a.inputs, a.active));
  Tangents r(a.inputs.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < n.arguments; ++i) {
    if (!is_float(a.inputs[i].dtype())) continue;
    if (a.active[i]) r[i] = found[next];
    ++next;
  }
  return r;
}

/// <backward(cotangents), dx> = <cotangents, dy>.
Tangents jvp_custom_vjp(const Params& params, const Arrays& x, const Arrays& y, const Tangents& d) {
  const auto& p = params.as<CustomVjpParams>();
  const Counts n(p);
  std::vector<bool> active;
  for (const auto& t : d) active.push_back(t.has_value());
  calls::check_constants("custom_vjp", n.arguments, active);
  const Arrays all = ahead(p, x, active);
  Arrays cotangents;
  for (const Array& a : calls::only_floats(y, y.size()))
    cotangents.push_back(placeholder(a.aval()));
  const Arrays inputs =
      backward_inputs(n, part(all, n.outputs, n.residuals), cotangents, x, active);
  std::vector<bool> linear(inputs.size(), false);
  std::fill_n(linear.begin() + static_cast<std::ptrdiff_t>(n.residuals), n.cotangents, true);
  Tangents directions, r;
  for (std::size_t i = 0; i < n.arguments; ++i)
    if (is_float(x[i].dtype())) directions.push_back(d[i]);
  Tangents found;
  try {
    found = transpose_linear(*p.backward, inputs, linear, directions);
  } catch (const UsageError& error) {
    const Trace* trace = Trace::current();
    usage_error("custom_vjp",
                "forward mode is the transpose of the backward pass, which has to be linear in the "
                "cotangent for it; use custom_jvp, or grad alone (" +
                    std::string(error.what()) + ")",
                trace ? trace->loc : Loc{});
  }
  std::size_t next = n.residuals;
  for (const Array& a : y) r.push_back(is_float(a.dtype()) ? found[next++] : std::nullopt);
  return r;
}

Batched batch_custom_vjp(const Params& params, const Arrays& x, const BatchAxes& axes, Dim size) {
  auto p = params.as<CustomVjpParams>();
  const Counts n(p);
  const std::vector<Aval> avals = p.body->input_avals(), results = p.body->output_avals();
  std::vector<bool> in;
  Arrays inputs;
  for (std::size_t i = 0; i < x.size(); ++i) {
    in.push_back(axes[i].has_value());
    inputs.push_back(control::axis_front(x[i], axes[i]));
  }
  std::vector<bool> forward_in = in;
  forward_in.resize(p.forward->inputs.size(), false);
  // Every element has results of its own, so that each has a cotangent of its own.
  const std::vector<bool> out(n.outputs, true);
  std::vector<bool> forward_out = out;
  forward_out.resize(p.forward->outputs.size(), false);
  const Graph ahead = calls::batch(*p.forward, forward_in, forward_out, size);
  p.body = control::share(control::batch(*p.body, in, out, size));

  std::vector<bool> back_in(forward_out.begin() + static_cast<std::ptrdiff_t>(n.outputs),
                            forward_out.end());
  for (std::size_t i = 0; i < results.size(); ++i)
    if (is_float(results[i].dtype)) back_in.push_back(out[i]);
  back_in.insert(back_in.end(), in.begin() + p.arguments, in.end());
  back_in.resize(p.backward->inputs.size(), false);
  std::vector<bool> varies(p.backward->outputs.size(), false);
  const Graph back = calls::batch(*p.backward, back_in, varies, size);
  p.forward = control::share(ahead);
  // What all elements share gets the sum of their cotangents, also when they are all the same.
  p.backward = control::share([&] {
    Trace t;
    Arrays own, found;
    for (ValueId v : back.inputs) own.push_back(t.input(back.avals[v]));
    const Arrays cotangents = inline_graph(back, own);
    std::size_t next = 0;
    for (std::size_t i = 0; i < n.arguments; ++i) {
      if (!is_float(avals[i].dtype)) continue;
      const Array& c = cotangents[next];
      const bool here = varies[next++];
      if (in[i])
        found.push_back(here ? c : lax::insert_axis(c, 0, size));
      else
        found.push_back(here ? lax::sum(c, {0}) : lax::mul(c, static_cast<double>(size)));
    }
    return t.finish(found);
  }());
  return {emit(custom_vjp_p, p, inputs, {}), control::front_axes(out)};
}

std::vector<bool> moving_of_custom_vjp(const Params& params, const std::vector<bool>& active) {
  const std::vector<Aval> out = params.as<CustomVjpParams>().body->output_avals();
  const bool any = std::find(active.begin(), active.end(), true) != active.end();
  std::vector<bool> r;
  for (const Aval& a : out) r.push_back(any && is_float(a.dtype));
  return r;
}

const ReverseMode reverse_of_custom_vjp{forward_custom_vjp, backward_custom_vjp,
                                        moving_of_custom_vjp};

}  // namespace

const Primitive custom_vjp_p{
    .name = "custom_vjp",
    .parse = parse_params<CustomVjpParams>,
    .shape = shape_of_custom_vjp,
    .jvp = jvp_custom_vjp,
    .transpose =
        [](const TransposeArgs& t) {
          return transpose_linear(*t.params.as<CustomVjpParams>().body, t.inputs, t.linear,
                                  t.cotangents);
        },
    .batch = batch_custom_vjp,
    .lower = Lowering::expanded([](const Params& params, const Arrays& x, const Target&, Loc) {
      return inline_graph(*params.as<CustomVjpParams>().body, x);
    }),
    .reference =
        [](const Params& params, std::span<const Aval>, std::span<const HostArray> in) {
          return evaluate(*params.as<CustomVjpParams>().body, {in.begin(), in.end()});
        },
    .reverse = &reverse_of_custom_vjp,
};

}  // namespace gnomon
