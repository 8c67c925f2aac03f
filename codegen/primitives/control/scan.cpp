// codegen/primitives/control/scan.cpp -- table entry of scan.
#include <algorithm>

#include "codegen/graph/effects.h"
#include "codegen/graph/evaluate.h"
#include "codegen/operations/effects.h"
#include "codegen/primitives/control/reverse.h"
#include "codegen/primitives/families.h"
#include "codegen/transforms/control_graphs.h"
#include "codegen/transforms/jvp.h"

namespace gnomon {
namespace {

using control::joined;
using control::part;

/// How the inputs of a scan and the outputs of its body split up.
struct Parts {
  explicit Parts(const ScanParams& p, std::size_t inputs)
      : carried(static_cast<std::size_t>(p.carried)),
        sequences(static_cast<std::size_t>(p.sequences)),
        constants(inputs - carried - sequences),
        outputs(p.body->outputs.size()) {}
  std::size_t carried, sequences, constants, outputs;
};

std::vector<Aval> shape_of_scan(const Params& params, std::span<const Aval> in, Loc loc) {
  const auto& p = params.as<ScanParams>();
  if (!p.body) usage_error("scan", "needs a body", loc);
  if (p.length < 0)
    usage_error("scan", "length is " + std::to_string(p.length) + " and cannot be negative", loc);
  const auto carried = static_cast<std::size_t>(p.carried);
  const auto sequences = static_cast<std::size_t>(p.sequences);
  if (in.size() < carried + sequences)
    usage_error("scan",
                "has " + std::to_string(carried) + " carried values and " +
                    std::to_string(sequences) + " sequences but " + std::to_string(in.size()) +
                    " inputs",
                loc);
  std::vector<Aval> body(in.begin(), in.end());
  for (std::size_t i = carried; i < carried + sequences; ++i) {
    if (in[i].shape.rank() == 0 || in[i].shape[0] != p.length)
      usage_error("scan",
                  "sequence " + std::to_string(i - carried) + " is " + to_string(in[i]) +
                      " and needs a leading axis of length " + std::to_string(p.length),
                  loc);
    body[i].shape.erase(0);
  }
  control::check_inputs("scan", "body", *p.body, body, loc);
  control::check_carries("scan", *p.body, carried, loc);
  std::vector<Aval> out = p.body->output_avals();
  for (std::size_t i = carried; i < out.size(); ++i) out[i].shape.insert(0, p.length);
  return out;
}

/// What the body gives, with the flags of its carried values replaced by those they enter with.
std::vector<bool> output_flags(std::vector<bool> out, const std::vector<bool>& in,
                               std::size_t carried) {
  for (std::size_t i = 0; i < carried; ++i) out[i] = in[i];
  return out;
}

struct Activity {
  std::vector<bool> inputs, outputs;
};
Activity activity(const ScanParams& p, std::size_t carried, std::vector<bool> inputs) {
  inputs = control::carried_flags(std::move(inputs), carried, [&](const std::vector<bool>& flags) {
    return active_outputs(*p.body, flags);
  });
  std::vector<bool> outputs = output_flags(active_outputs(*p.body, inputs), inputs, carried);
  return {std::move(inputs), std::move(outputs)};
}

Tangents jvp_scan(const Params& params, const Arrays& x, const Arrays&, const Tangents& d) {
  auto p = params.as<ScanParams>();
  const Parts n(p, x.size());
  std::vector<bool> given;
  for (const auto& t : d) given.push_back(t.has_value());
  const auto [active, moving] = activity(p, n.carried, std::move(given));
  const Arrays dc = control::flagged_tangents(x, d, active, 0, n.carried);
  const Arrays ds = control::flagged_tangents(x, d, active, n.carried, n.sequences);
  const Arrays dk = control::flagged_tangents(x, d, active, n.carried + n.sequences, n.constants);

  // The joint body maps (c, s, k, dc, ds, dk) to (c', y, dc', dy); a scan takes (c, dc, s, ds, k,
  // dk) and gives (c', dc', y, dy).
  std::vector<std::size_t> inputs, outputs;
  const auto append = [](std::vector<std::size_t>& to, std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) to.push_back(first + i);
  };
  const std::size_t tangents = x.size();
  append(inputs, 0, n.carried);
  append(inputs, tangents, dc.size());
  append(inputs, n.carried, n.sequences);
  append(inputs, tangents + dc.size(), ds.size());
  append(inputs, n.carried + n.sequences, n.constants);
  append(inputs, tangents + dc.size() + ds.size(), dk.size());
  const Graph joint = without_effects(gnomon::jvp(*p.body, active, moving));
  append(outputs, 0, n.carried);
  append(outputs, n.outputs, dc.size());
  // Rows of the primal are stacked by the primal scan already.
  append(outputs, n.outputs + dc.size(), joint.outputs.size() - n.outputs - dc.size());
  p.body = control::share(control::reordered(joint, inputs, outputs));
  p.carried += static_cast<int>(dc.size());
  p.sequences += static_cast<int>(ds.size());

  const Arrays carried = joined(part(x, 0, n.carried), dc);
  const Arrays sequences = joined(part(x, n.carried, n.sequences), ds);
  const Arrays constants = joined(part(x, n.carried + n.sequences, n.constants), dk);
  const Arrays y = control::emit_scan(p, joined(joined(carried, sequences), constants));
  Tangents r(n.outputs);
  for (std::size_t i = 0, next = n.carried; i < n.outputs; ++i)
    if (moving[i]) r[i] = y[next++];
  return r;
}

Batched batch_scan(const Params& params, const Arrays& x, const BatchAxes& axes, Dim size) {
  auto p = params.as<ScanParams>();
  const Parts n(p, x.size());
  std::vector<bool> batched;
  for (const auto& axis : axes) batched.push_back(axis.has_value());
  const auto outputs = [&](const std::vector<bool>& flags) {
    return control::batched_outputs(*p.body, flags, size);
  };
  batched = control::carried_flags(std::move(batched), n.carried, outputs);
  const std::vector<bool> out = output_flags(outputs(batched), batched, n.carried);
  p.body = control::share(effects::inside_loop(control::batch(*p.body, batched, out, size)));
  Arrays inputs;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool sequence = i >= n.carried && i < n.carried + n.sequences;
    if (!batched[i])
      inputs.push_back(x[i]);
    else if (sequence)
      inputs.push_back(lax::move_axis(x[i], *axes[i], 1));  // time stays in front
    else
      inputs.push_back(rules::batch_front(x[i], axes[i], size));
  }
  Batched r{control::emit_scan(p, inputs), control::front_axes(out)};
  for (std::size_t i = n.carried; i < r.axes.size(); ++i)
    if (r.axes[i]) r.axes[i] = 1;
  return r;
}

std::vector<HostArray> reference_scan(const Params& params, std::span<const Aval> out,
                                      std::span<const HostArray> in) {
  const auto& p = params.as<ScanParams>();
  const Parts n(p, in.size());
  std::vector<HostArray> values(in.begin(), in.begin() + p.carried);
  for (std::size_t i = n.carried; i < out.size(); ++i) values.emplace_back(out[i]);
  for (Dim step = 0; step < p.length; ++step) {
    const auto at = static_cast<std::size_t>(p.reverse ? p.length - 1 - step : step);
    std::vector<HostArray> inputs(values.begin(), values.begin() + p.carried);
    for (std::size_t i = n.carried; i < in.size(); ++i) {
      if (i >= n.carried + n.sequences) {
        inputs.push_back(in[i]);
        continue;
      }
      HostArray row(p.body->avals[p.body->inputs[i]]);
      std::copy_n(in[i].bytes.data() + at * row.bytes.size(), row.bytes.size(), row.bytes.data());
      inputs.push_back(std::move(row));
    }
    std::vector<HostArray> next = evaluate(*p.body, std::move(inputs));
    for (std::size_t i = 0; i < next.size(); ++i) {
      if (i < n.carried)
        values[i] = std::move(next[i]);
      else
        std::copy_n(next[i].bytes.data(), next[i].bytes.size(),
                    values[i].bytes.data() + at * next[i].bytes.size());
    }
  }
  return values;
}

}  // namespace

std::vector<bool> moving_of_scan(const Params& params, const std::vector<bool>& active) {
  const auto& p = params.as<ScanParams>();
  return activity(p, static_cast<std::size_t>(p.carried), active).outputs;
}

const Primitive scan_p{
    .name = "scan",
    .parse = parse_params<ScanParams>,
    .shape = shape_of_scan,
    .jvp = jvp_scan,
    .transpose = [](const TransposeArgs& t) { return control::transposed(scan_reverse, t); },
    .batch = batch_scan,
    .lower = Lowering::structured(Lowering::Kind::scan),
    .reference = reference_scan,
    .reverse = &scan_reverse,
};

}  // namespace gnomon
