// codegen/primitives/calls/collectives.cpp -- table entries of psum, all_gather and axis_index.
#include "codegen/operations/collectives.h"

#include <algorithm>

#include "codegen/graph/evaluate.h"
#include "codegen/primitives/families.h"
#include "codegen/trace/trace.h"

namespace gnomon {
namespace {

using namespace rules;

/// Whether the batch rule that runs belongs to the vmap of that axis.
bool is_mapped(const std::string& axis) {
  const Trace* trace = Trace::current();
  return trace && trace->mapped_axis == axis && !axis.empty();
}

/// psum of an operand that is the same for all elements.
Array times(const Array& x, Dim size) { return lax::mul(x, static_cast<double>(size)); }

Shape gathered(const Shape& s, const GatherAxisParams& p) {
  return s.with_inserted(p.position, p.size);
}

/// What an operation computes when no vmap maps its axis, as operations.
using Alike = Arrays(const Params&, const Arrays&);
template <Alike* F>
Arrays expand_collective(const Params& params, const Arrays& x, const Target&, Loc) {
  return F(params, x);
}
template <Alike* F>
std::vector<HostArray> evaluate_alike(const Params& params, std::span<const Aval>,
                                      std::span<const HostArray> in) {
  Trace t;
  Arrays x;
  for (const HostArray& a : in) x.push_back(t.input(a.aval));
  return evaluate(t.finish(F(params, x)), {in.begin(), in.end()});
}

Arrays sum_alike(const Params& params, const Arrays& x) {
  return {times(x[0], params.as<CollectiveParams>().size)};
}
Arrays gather_alike(const Params& params, const Arrays& x) {
  const auto& p = params.as<GatherAxisParams>();
  return {lax::insert_axis(x[0], p.position, p.size)};
}
Arrays index_alike(const Params&, const Arrays&) { return {lax::scalar(DType::i32, 0)}; }

}  // namespace

bool speaks_of(const Equation& e, const std::string& axis) {
  if (axis.empty()) return false;
  if (e.primitive == &psum_p || e.primitive == &axis_index_p)
    return e.params.as<CollectiveParams>().axis == axis;
  if (e.primitive == &all_gather_p) return e.params.as<GatherAxisParams>().axis == axis;
  if (e.primitive->lower.kind == Lowering::Kind::element) return false;
  const std::vector<GraphPtr> graphs = e.params.graphs();
  return std::any_of(graphs.begin(), graphs.end(), [&](const GraphPtr& g) {
    return std::any_of(g->equations.begin(), g->equations.end(),
                       [&](const Equation& inner) { return speaks_of(inner, axis); });
  });
}

void add_axes_met(const Graph& g, std::vector<CollectiveParams>& axes) {
  const auto add = [&](const CollectiveParams& along) {
    if (std::none_of(axes.begin(), axes.end(), [&](const auto& a) { return a.axis == along.axis; }))
      axes.push_back(along);
  };
  for (const Equation& e : g.equations) {
    if (e.primitive == &psum_p) add(e.params.as<CollectiveParams>());
    if (e.primitive == &all_gather_p) {
      const auto& p = e.params.as<GatherAxisParams>();
      add({p.axis, p.size});
    }
    if (e.primitive->lower.kind == Lowering::Kind::element) continue;
    for (const GraphPtr& inner : e.params.graphs()) add_axes_met(*inner, axes);
  }
}

bool elements_meet(const Graph& g) {
  std::vector<CollectiveParams> axes;
  add_axes_met(g, axes);
  return !axes.empty();
}

const Primitive psum_p{
    .name = "psum",
    .parse = parse_params<CollectiveParams>,
    .shape = same_shape<psum_p, Accepts::numbers, 1>,
    .jvp = jvp_linear<psum_p>,
    .transpose =
        [](const TransposeArgs& t) {
          return Tangents{emit1(psum_p, t.params, {*t.cotangents[0]}, {})};
        },
    .batch =
        [](const Params& params, const Arrays& x, const BatchAxes& axes, Dim size) {
          if (!is_mapped(params.as<CollectiveParams>().axis))
            return batch_elementwise<psum_p>(params, x, axes, size);
          return Batched{{axes[0] ? lax::sum(x[0], {*axes[0]}) : times(x[0], size)},
                         {std::nullopt}};
        },
    .lower = Lowering::expanded(expand_collective<sum_alike>),
    .reference = evaluate_alike<sum_alike>,
};

const Primitive all_gather_p{
    .name = "all_gather",
    .parse = parse_params<GatherAxisParams>,
    .shape =
        [](const Params& params, std::span<const Aval> in, Loc loc) {
          const auto& p = params.as<GatherAxisParams>();
          require_operands("all_gather", in, 1, loc);
          if (p.position < 0 || p.position > in[0].shape.rank())
            usage_error("all_gather",
                        "axis " + std::to_string(p.position) +
                            " is out of range for the result of " + to_string(in[0]) +
                            "; it has one axis more",
                        loc);
          return std::vector<Aval>{{in[0].dtype, gathered(in[0].shape, p)}};
        },
    .jvp = jvp_linear<all_gather_p>,
    .transpose =
        [](const TransposeArgs& t) {
          // What all elements say about this one.
          const auto& p = t.params.as<GatherAxisParams>();
          const CollectiveParams along{p.axis, p.size};
          const Array all = emit1(psum_p, along, {*t.cotangents[0]}, {});
          const Array mine =
              lax::eq(lax::iota(DType::i32, all.shape(), p.position),
                      lax::broadcast(emit1(axis_index_p, along, {}, {}), all.shape(), {}));
          return Tangents{lax::sum(lax::select(mine, all, lax::zeros_like(all)), {p.position})};
        },
    .batch =
        [](const Params& params, const Arrays& x, const BatchAxes& axes, Dim size) {
          auto p = params.as<GatherAxisParams>();
          if (is_mapped(p.axis))
            return Batched{{axes[0] ? lax::move_axis(x[0], *axes[0], p.position)
                                    : lax::insert_axis(x[0], p.position, size)},
                           {std::nullopt}};
          ++p.position;
          return Batched{{emit1(all_gather_p, p, {batch_front(x[0], axes[0], size)}, {})}, {0}};
        },
    .lower = Lowering::expanded(expand_collective<gather_alike>),
    .reference = evaluate_alike<gather_alike>,
};

const Primitive axis_index_p{
    .name = "axis_index",
    .parse = parse_params<CollectiveParams>,
    .shape =
        [](const Params&, std::span<const Aval> in, Loc loc) {
          require_operands("axis_index", in, 0, loc);
          return std::vector<Aval>{{DType::i32, {}}};
        },
    .jvp = zero_tangents,
    .transpose = not_linear<axis_index_p>,
    .batch =
        [](const Params& params, const Arrays&, const BatchAxes&, Dim size) {
          if (!is_mapped(params.as<CollectiveParams>().axis))
            return Batched{emit(axis_index_p, params, {}, {}), {std::nullopt}};
          return Batched{{lax::iota(DType::i32, Shape(size), 0)}, {0}};
        },
    .lower = Lowering::expanded(expand_collective<index_alike>),
    .reference = evaluate_alike<index_alike>,
};

}  // namespace gnomon
