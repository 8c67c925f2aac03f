// codegen/primitives/calls/custom_jvp.cpp -- table entry of custom_jvp.
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

std::vector<Aval> shape_of_custom_jvp(const Params& params, std::span<const Aval> in, Loc loc) {
  const auto& p = params.as<CustomJvpParams>();
  control::check_inputs("custom_jvp", "body", *p.body, in, loc);
  const std::vector<Aval> out = p.body->output_avals();
  std::vector<Aval> rule_in(in.begin(), in.end()), flags, rule_out;
  rule_in.insert(rule_in.end(), out.begin(), out.end());
  for (const Aval& a : in.first(static_cast<std::size_t>(p.arguments)))
    if (is_float(a.dtype)) {
      rule_in.push_back(a);
      flags.push_back({DType::boolean, {}});
    }
  rule_in.insert(rule_in.end(), flags.begin(), flags.end());
  control::check_inputs("custom_jvp", "rule", *p.rule, rule_in, loc);
  for (const Aval& a : out)
    if (is_float(a.dtype)) rule_out.push_back(a);
  if (p.rule->output_avals() != rule_out)
    usage_error("custom_jvp", "the rule gives other types than a tangent per float result", loc);
  return out;
}

/// One tangent per output.
Tangents spread(const Arrays& tangents, const std::vector<Aval>& outputs) {
  Tangents r;
  std::size_t next = 0;
  for (const Aval& a : outputs)
    r.push_back(is_float(a.dtype) ? std::optional(tangents[next++]) : std::nullopt);
  return r;
}

Tangents jvp_custom_jvp(const Params& params, const Arrays& x, const Arrays& y, const Tangents& d) {
  const auto& p = params.as<CustomJvpParams>();
  const auto arguments = static_cast<std::size_t>(p.arguments);
  std::vector<bool> moves;
  for (const auto& t : d) moves.push_back(t.has_value());
  calls::check_constants("custom_jvp", arguments, moves);
  Arrays inputs = joined(x, y);
  for (std::size_t i = 0; i < arguments; ++i)
    if (is_float(x[i].dtype())) inputs.push_back(d[i] ? *d[i] : lax::zeros_like(x[i]));
  inputs = joined(inputs, calls::flag_constants(moves, part(x, 0, arguments)));
  return spread(inline_graph(*p.rule, inputs), p.body->output_avals());
}

Batched batch_custom_jvp(const Params& params, const Arrays& x, const BatchAxes& axes, Dim n) {
  auto p = params.as<CustomJvpParams>();
  std::vector<bool> in;
  Arrays inputs;
  for (std::size_t i = 0; i < x.size(); ++i) {
    in.push_back(axes[i].has_value());
    inputs.push_back(control::axis_front(x[i], axes[i]));
  }
  const std::vector<Aval> avals = p.body->input_avals(), results = p.body->output_avals();
  std::vector<bool> out = control::batched_outputs(*p.body, in, n), rule_out;
  // A tangent varies where its value does, so a value varies where its tangent may.
  const auto rule_in = [&] {
    std::vector<bool> r = in;
    r.insert(r.end(), out.begin(), out.end());
    for (std::size_t i = 0; i < static_cast<std::size_t>(p.arguments); ++i)
      if (is_float(avals[i].dtype)) r.push_back(in[i]);
    r.resize(p.rule->inputs.size(), false);
    return r;
  };
  for (bool grown = true; grown;) {
    grown = false;
    rule_out = control::batched_outputs(*p.rule, rule_in(), n);
    std::size_t next = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (!is_float(results[i].dtype)) continue;
      grown |= rule_out[next] && !out[i];
      out[i] = out[i] || rule_out[next++];
    }
  }
  rule_out.clear();
  for (std::size_t i = 0; i < out.size(); ++i)
    if (is_float(results[i].dtype)) rule_out.push_back(out[i]);
  p.rule = control::share(control::batch(*p.rule, rule_in(), rule_out, n));
  p.body = control::share(control::batch(*p.body, in, out, n));
  return {emit(custom_jvp_p, p, inputs, {}), control::front_axes(out)};
}

}  // namespace

const Primitive custom_jvp_p{
    .name = "custom_jvp",
    .parse = parse_params<CustomJvpParams>,
    .shape = shape_of_custom_jvp,
    .jvp = jvp_custom_jvp,
    .transpose =
        [](const TransposeArgs& t) {
          return transpose_linear(*t.params.as<CustomJvpParams>().body, t.inputs, t.linear,
                                  t.cotangents);
        },
    .batch = batch_custom_jvp,
    .lower = Lowering::expanded([](const Params& params, const Arrays& x, const Target&, Loc) {
      return inline_graph(*params.as<CustomJvpParams>().body, x);
    }),
    .reference =
        [](const Params& params, std::span<const Aval>, std::span<const HostArray> in) {
          return evaluate(*params.as<CustomJvpParams>().body, {in.begin(), in.end()});
        },
};

}  // namespace gnomon
