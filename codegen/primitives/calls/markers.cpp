// codegen/primitives/calls/markers.cpp -- table entries of identities that only transforms and the
// compiler look at: optimization_barrier, checkpoint_name, nondifferentiable*.
#include "codegen/operations/calls.h"
#include "codegen/primitives/families.h"
#include "codegen/trace/trace.h"

namespace gnomon {
namespace {

using namespace rules;

std::vector<HostArray> first_operand(const Params&, std::span<const Aval>,
                                     std::span<const HostArray> in) {
  return {in[0]};
}

Arrays first_array(const Params&, const Arrays& x, const Target&, Loc) { return {x[0]}; }

/// An identity with a name, gone when kernels are made.
template <const Primitive& P>
constexpr Primitive named_identity(
    std::string_view name,
    Rule<Tangents(const Params&, const Arrays&, const Arrays&, const Tangents&)> jvp,
    Rule<Tangents(const TransposeArgs&)> transpose) {
  return {
      .name = name,
      .parse = parse_params<NameParams>,
      .shape = same_shape<P, Accepts::any, 1>,
      .jvp = jvp,
      .transpose = transpose,
      .batch = batch_elementwise<P>,
      .lower = Lowering::expanded(first_array),
      .reference = first_operand,
  };
}

[[noreturn]] void refuse(std::string_view op, const Params& params, const char* what) {
  const std::string& name = params.as<NameParams>().name;
  const Trace* trace = Trace::current();
  usage_error(op,
              (name.empty() ? "a value that is marked so" : "`" + name + "`") + what +
                  "; keep it out of what is differentiated, or take stop_gradient of it",
              trace ? trace->loc : Loc{});
}

}  // namespace

const Primitive optimization_barrier_p{
    .name = "optimization_barrier",
    .parse = no_params,
    .shape =
        [](const Params&, std::span<const Aval> in, Loc loc) {
          if (in.empty()) usage_error("optimization_barrier", "needs an operand", loc);
          return std::vector<Aval>{in[0]};
        },
    .jvp =
        [](const Params&, const Arrays& x, const Arrays&, const Tangents& d) {
          if (!d[0]) return Tangents{std::nullopt};
          Arrays operands = x;
          operands[0] = *d[0];
          return Tangents{emit1(optimization_barrier_p, {}, operands, {})};
        },
    .transpose =
        [](const TransposeArgs& t) {
          Tangents r(t.inputs.size());
          if (!t.linear[0]) return r;
          Arrays operands{*t.cotangents[0]};
          for (std::size_t i = 1; i < t.inputs.size(); ++i)
            if (!t.linear[i]) operands.push_back(t.inputs[i]);
          r[0] = emit1(optimization_barrier_p, {}, operands, {});
          return r;
        },
    .batch =
        [](const Params&, const Arrays& x, const BatchAxes& axes, Dim) {
          return Batched{emit(optimization_barrier_p, {}, x, {}), {axes[0]}};
        },
    .lower = Lowering::per_element([](ElementContext& c, const Params&, std::size_t,
                                      const Index& i) { return c.operand(0, i); },
                                   Cost::view),
    .reference = first_operand,
};

const Primitive checkpoint_name_p = named_identity<checkpoint_name_p>(
    "checkpoint_name", jvp_linear<checkpoint_name_p>,
    [](const TransposeArgs& t) { return Tangents{t.cotangents[0]}; });

const Primitive nondifferentiable_p = named_identity<nondifferentiable_p>(
    "nondifferentiable",
    [](const Params& params, const Arrays&, const Arrays&, const Tangents&) -> Tangents {
      refuse("nondifferentiable", params, " is not differentiable, and is differentiated here");
    },
    not_linear<nondifferentiable_p>);

const Primitive nondifferentiable_backward_p = named_identity<nondifferentiable_backward_p>(
    "nondifferentiable_backward", jvp_linear<nondifferentiable_backward_p>,
    [](const TransposeArgs& t) -> Tangents {
      refuse("nondifferentiable_backward", t.params,
             " has no derivative in reverse mode, and one is asked for here; use jvp");
    });

}  // namespace gnomon
