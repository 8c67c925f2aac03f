// codegen/primitives/calls/custom_vmap.cpp -- table entry of custom_vmap.
#include "codegen/operations/custom_vmap.h"

#include "codegen/graph/evaluate.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/calls.h"
#include "codegen/trace/trace.h"
#include "codegen/transforms/control_graphs.h"
#include "codegen/transforms/jvp.h"
#include "codegen/transforms/vjp.h"

namespace gnomon {

bool BatchCodeRef::operator==(const BatchCodeRef& other) const {
  if (code_ == other.code_) return true;
  return code_ && other.code_ && code_->identity() == other.code_->identity() &&
         code_->statics == other.code_->statics;
}

BatchCodeRef BatchCodeRef::parse(ParamParser& p) {
  if (!p.in.accept("none")) p.in.expect("code");
  return {};
}

namespace {

Tangents jvp_custom_vmap(const Params& params, const Arrays& x, const Arrays& y,
                         const Tangents& d) {
  const Graph& body = *params.as<CustomVmapParams>().body;
  std::vector<bool> active;
  Arrays inputs = x;
  for (const auto& t : d) {
    active.push_back(t.has_value());
    if (t) inputs.push_back(*t);
  }
  const std::vector<bool> moving = active_outputs(body, active);
  const Arrays all = inline_graph(gnomon::jvp(body, active, moving), inputs);
  Tangents r(y.size());
  for (std::size_t i = 0, next = y.size(); i < y.size(); ++i)
    if (moving[i]) r[i] = all[next++];
  return r;
}

Batched batch_custom_vmap(const Params& params, const Arrays& x, const BatchAxes& axes, Dim size) {
  const auto& p = params.as<CustomVmapParams>();
  std::vector<bool> in;
  Arrays inputs;
  for (std::size_t i = 0; i < x.size(); ++i) {
    in.push_back(axes[i].has_value());
    inputs.push_back(control::axis_front(x[i], axes[i]));
  }
  const std::vector<Aval> results = p.body->output_avals();
  const std::vector<bool> all(results.size(), true);
  if (!p.rule.get())
    return {inline_graph(control::batch(*p.body, in, all, size), inputs), control::front_axes(all)};
  const Loc loc = Trace::where();
  const Arrays out = p.rule.get()->call(size, in, inputs, loc);
  const auto wrong = [&](std::size_t i, const std::string& given) {
    usage_error("custom_vmap",
                "array " + std::to_string(i) + " of the rule's result is " + given + " and " +
                    std::to_string(size) + " elements of the function's are " +
                    to_string(results[i].dtype, results[i].shape.with_inserted(0, size)),
                loc);
  };
  if (out.size() != results.size())
    usage_error("custom_vmap",
                "the rule gives " + std::to_string(out.size()) + " arrays and the function " +
                    std::to_string(results.size()),
                loc);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].empty() || out[i].is_hole()) wrong(i, "missing");
    if (out[i].aval() != Aval{results[i].dtype, results[i].shape.with_inserted(0, size)})
      wrong(i, to_string(out[i].aval()));
  }
  return {out, control::front_axes(all)};
}

}  // namespace

const Primitive custom_vmap_p{
    .name = "custom_vmap",
    .parse = parse_params<CustomVmapParams>,
    .shape =
        [](const Params& params, std::span<const Aval> in, Loc loc) {
          const auto& p = params.as<CustomVmapParams>();
          control::check_inputs("custom_vmap", "body", *p.body, in, loc);
          return p.body->output_avals();
        },
    .jvp = jvp_custom_vmap,
    .transpose =
        [](const TransposeArgs& t) {
          return transpose_linear(*t.params.as<CustomVmapParams>().body, t.inputs, t.linear,
                                  t.cotangents);
        },
    .batch = batch_custom_vmap,
    .lower = Lowering::expanded([](const Params& params, const Arrays& x, const Target&, Loc) {
      return inline_graph(*params.as<CustomVmapParams>().body, x);
    }),
    .reference =
        [](const Params& params, std::span<const Aval>, std::span<const HostArray> in) {
          return evaluate(*params.as<CustomVmapParams>().body, {in.begin(), in.end()});
        },
};

namespace detail {

Arrays emit_custom_vmap(const Graph& body, const Arrays& captures, const Arrays& arguments,
                        std::shared_ptr<const BatchCode> code, Loc loc) {
  if (!captures.empty())
    usage_error("custom_vmap",
                "the function captured a " + to_string(captures[0].aval()) +
                    ", which its rule would not get; pass it as an argument",
                loc);
  return emit(custom_vmap_p, CustomVmapParams{control::share(body), BatchCodeRef(std::move(code))},
              arguments, loc);
}

}  // namespace detail
}  // namespace gnomon
