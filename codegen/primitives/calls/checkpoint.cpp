// codegen/primitives/calls/checkpoint.cpp -- table entry of checkpoint: a call whose backward pass
// computes again what its forward pass did not keep.
#include <algorithm>

#include "codegen/graph/effects.h"
#include "codegen/graph/evaluate.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/calls.h"
#include "codegen/primitives/control/reverse.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"
#include "codegen/transforms/jvp.h"
#include "codegen/transforms/vjp.h"

namespace gnomon {
namespace {

using control::joined;
using control::part;

/// Results of equations of the body that the backward pass finds kept.
std::vector<ValueId> kept_values(const CheckpointParams& p, const Graph& body) {
  std::vector<ValueId> r;
  for (const Equation& e : body.equations) {
    const bool named =
        e.primitive == &checkpoint_name_p &&
        std::find(p.names.begin(), p.names.end(), e.params.as<NameParams>().name) != p.names.end();
    const bool product = p.keep == Keep::products && e.primitive == &dot_general_p;
    if (named || product) r.insert(r.end(), e.outputs.begin(), e.outputs.end());
  }
  return r;
}

Arrays forward_checkpoint(const Params& params, const Arrays& x, const std::vector<bool>& active,
                          const Buffers& buffers, Loc loc) {
  auto p = params.as<CheckpointParams>();
  if (p.keep == Keep::everything) return control::forward_by(*p.body, x, active, buffers);
  const bool speaks = has_effects(*p.body);
  const Arrays said = speaks ? emit(checkpoint_p, p, x, loc) : Arrays{};
  // The values are kept by the body, so that a derivative of this is a checkpoint again.
  Graph body = without_effects(*p.body);
  const std::vector<ValueId> kept = kept_values(p, body);
  body.outputs.insert(body.outputs.end(), kept.begin(), kept.end());
  p.body = control::share(canonicalize(body));
  const Arrays all = emit(checkpoint_p, p, x, loc);
  return speaks ? joined(said, part(all, said.size(), all.size() - said.size())) : all;
}

Tangents backward_checkpoint(const ReverseArgs& a) {
  const auto& p = a.params.as<CheckpointParams>();
  if (p.keep == Keep::everything) return control::backward_by(*p.body, a);
  Arrays cotangents;
  for (const auto& c : a.cotangents)
    if (c) cotangents.push_back(*c);
  // Behind the cotangents: nothing is computed again before it is needed, nor found among what the
  // forward pass computed.
  const auto later = [&](const Array& x) { return calls::behind(x, cotangents); };
  Arrays inputs;
  for (const Array& x : a.inputs) inputs.push_back(later(x));
  GivenValues given;
  const Graph body = without_effects(*p.body);
  const std::vector<ValueId> kept = kept_values(p, body);
  for (std::size_t i = 0; i < kept.size(); ++i) given.emplace(kept[i], later(a.saved[i]));
  return pull_back(run_forward(body, inputs, a.active, a.buffers, given), a.cotangents);
}

const ReverseMode reverse_of_checkpoint{forward_checkpoint, backward_checkpoint};

Tangents jvp_checkpoint(const Params& params, const Arrays& x, const Arrays& y, const Tangents& d) {
  auto p = params.as<CheckpointParams>();
  std::vector<bool> active;
  Arrays inputs = x;
  for (const auto& t : d) {
    active.push_back(t.has_value());
    if (t) inputs.push_back(*t);
  }
  const std::vector<bool> moving = active_outputs(*p.body, active);
  const Graph joint = without_effects(gnomon::jvp(*p.body, active, moving));
  std::vector<std::size_t> tangents;  // the values are there already
  for (std::size_t i = y.size(); i < joint.outputs.size(); ++i) tangents.push_back(i);
  p.body =
      control::share(control::reordered(joint, control::indices(joint.inputs.size()), tangents));
  const Arrays dy = tangents.empty() ? Arrays{} : emit(checkpoint_p, p, inputs, {});
  Tangents r(y.size());
  for (std::size_t i = 0, next = 0; i < y.size(); ++i)
    if (moving[i]) r[i] = dy[next++];
  return r;
}

Batched batch_checkpoint(const Params& params, const Arrays& x, const BatchAxes& axes, Dim n) {
  auto p = params.as<CheckpointParams>();
  std::vector<bool> in;
  Arrays inputs;
  for (std::size_t i = 0; i < x.size(); ++i) {
    in.push_back(axes[i].has_value());
    inputs.push_back(control::axis_front(x[i], axes[i]));
  }
  std::vector<bool> out(p.body->outputs.size(), false);
  p.body = control::share(calls::batch(*p.body, in, out, n));
  return {emit(checkpoint_p, p, inputs, {}), control::front_axes(out)};
}

}  // namespace

const Primitive checkpoint_p{
    .name = "checkpoint",
    .parse = parse_params<CheckpointParams>,
    .shape =
        [](const Params& params, std::span<const Aval> in, Loc loc) {
          const auto& p = params.as<CheckpointParams>();
          control::check_inputs("checkpoint", "body", *p.body, in, loc);
          return p.body->output_avals();
        },
    .jvp = jvp_checkpoint,
    .transpose =
        [](const TransposeArgs& t) {
          return transpose_linear(*t.params.as<CheckpointParams>().body, t.inputs, t.linear,
                                  t.cotangents);
        },
    .batch = batch_checkpoint,
    .lower = Lowering::expanded([](const Params& params, const Arrays& x, const Target&, Loc) {
      return inline_graph(*params.as<CheckpointParams>().body, x);
    }),
    .reference =
        [](const Params& params, std::span<const Aval>, std::span<const HostArray> in) {
          return evaluate(*params.as<CheckpointParams>().body, {in.begin(), in.end()});
        },
    .reverse = &reverse_of_checkpoint,
};

}  // namespace gnomon
