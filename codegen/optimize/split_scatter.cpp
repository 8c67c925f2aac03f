// codegen/optimize/split_scatter.cpp -- rewrites scatters of many updates.
#include "codegen/optimize/split_scatter.h"

#include <algorithm>

#include "codegen/analysis/uses.h"
#include "codegen/lax/lax.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/table.h"
#include "codegen/optimize/split_reduce.h"

namespace gnomon {
namespace {

constexpr Dim long_scatter = 8192;  // updates
constexpr Dim least_part = 256;

/// What combines with anything to that thing.
Array neutral_element(const Primitive& p, DType t, Loc loc) {
  return identity(&p == &scatter_add_p   ? sum_p
                  : &p == &scatter_mul_p ? prod_p
                  : &p == &scatter_max_p ? reduce_max_p
                                         : reduce_min_p,
                  t, loc);
}

struct Pair {
  const Primitive &reduce, &combine;
};
Pair reduction_of(const Primitive& p) {
  if (&p == &scatter_add_p) return {sum_p, add_p};
  if (&p == &scatter_mul_p) return {prod_p, mul_p};
  if (&p == &scatter_max_p) return {reduce_max_p, max_p};
  GNOMON_CHECK(&p == &scatter_min_p, std::string(p.name) + " has no reduction");
  return {reduce_min_p, min_p};
}

/// Parts of a scatter of `n` updates along an axis of `length` in `columns` columns: lanes enough
/// for the device, but neither much more memory than the updates take nor parts of a few.
Dim parts_for(Dim n, Dim length, Dim columns, const Target& target) {
  const Dim lanes = scatter_lanes(target);
  const Dim memory = std::max(16 * n / length, (Dim{1} << 20) / (length * columns));
  return std::min({lanes / columns, n / least_part, memory});
}

Dim columns_of(const ScatterParams& p, const Shape& operand) {
  return operand.with(p.axis, 1).size();
}

/// A scatter that combines, in parts.
Array combine_parts(const Primitive& p, const ScatterParams& params, const Arrays& in,
                    const Target& target, Loc loc) {
  const int b = params.batch_dims, axis = params.axis;
  const Dim n = in[1].shape()[b];
  const Shape& out = in[0].shape();
  const Dim parts = parts_for(n, out[axis], columns_of(params, out), target);
  if (parts < 2) return emit1(p, params, in, loc);
  // Parts are read sixteen bytes at a time; what is left over comes last, as it does in order.
  const Dim size = n / parts / 16 * 16, whole = parts * size;
  const Array indices = lax::slice_axis(in[1], b, 0, whole, loc);
  const Array updates = lax::slice_axis(in[2], axis, 0, whole, loc);
  const Shape cut = indices.shape().with(b, parts).with_inserted(b + 1, size);
  const Array rows =
      lax::reshape(updates, updates.shape().with(axis, parts).with_inserted(axis + 1, size), loc);
  const Array nothing =
      lax::broadcast(neutral_element(p, in[0].dtype(), loc), out.with_inserted(b, parts), {}, loc);
  const Array partial =
      emit1(p, ScatterParams{axis + 1, b + 1},
            {nothing, lax::reshape(indices, cut, loc), lax::move_axis(rows, axis, b, loc)}, loc);
  const auto [reduce, combine] = reduction_of(p);
  const Array all =
      emit1(combine, {}, {in[0], emit1(reduce, AxesParams{{b}}, {partial}, loc)}, loc);
  if (whole == n) return all;
  return emit1(
      p, params,
      {all, lax::slice_axis(in[1], b, whole, n, loc), lax::slice_axis(in[2], axis, whole, n, loc)},
      loc);
}

/// Updates that are chosen element by element.
constexpr Dim few_updates = 4;

}  // namespace

bool wants_parts(const Graph& g, const Equation& e, const Target& target) {
  if (e.primitive->lower.kind != Lowering::Kind::scatter) return false;
  const auto& p = e.params.as<ScatterParams>();
  if (p.unique) return false;  // a lane for every update already
  const Shape& out = g.avals[e.inputs[0]].shape;
  const Dim n = g.avals[e.inputs[1]].shape[p.batch_dims];
  if (n < long_scatter || out.size() == 0 || out.rank() == Shape::max_rank) return false;
  if (e.primitive == &scatter_set_p) {
    Shape indexed = out.part(0, p.batch_dims);
    indexed.append(out[p.axis]);
    return parts_for(n, out[p.axis], indexed.part(0, p.batch_dims).size(), target) >= 2;
  }
  return parts_for(n, out[p.axis], columns_of(p, out), target) >= 2;
}

Array scatter_in_parts(const Equation& e, const std::vector<Array>& in, const Target& target) {
  const auto& p = e.params.as<ScatterParams>();
  if (e.primitive != &scatter_set_p) return combine_parts(*e.primitive, p, in, target, e.loc);
  const int b = p.batch_dims;
  const Loc loc = e.loc;
  const Shape& out = in[0].shape();
  Shape indexed = out.part(0, b);
  indexed.append(out[p.axis]);
  const Array untouched = lax::full({DType::i32, indexed}, -1, loc);
  const Array last =
      combine_parts(scatter_max_p, ScatterParams{b, b},
                    {untouched, in[1], lax::iota(DType::i32, in[1].shape(), b, loc)}, target, loc);
  std::vector<int> axes;
  for (int i = 0; i < b; ++i) axes.push_back(i);
  axes.push_back(p.axis);
  const Array written =
      lax::broadcast(emit1(ge_p, {}, {last, lax::zeros_like(last, loc)}, loc), out, axes, loc);
  const Array fresh =
      emit1(gather_p, GatherParams{p.axis, b, GatherMode::clip}, {in[2], last}, loc);
  return lax::select(written, fresh, in[0], loc);
}

bool wants_choices(const Graph& g, const Equation& e, const std::vector<std::uint32_t>& producer) {
  if (e.primitive->lower.kind != Lowering::Kind::scatter) return false;
  const auto& p = e.params.as<ScatterParams>();
  const std::uint32_t made = producer[e.inputs[0]];
  if (g.avals[e.inputs[0]].dtype == DType::boolean && e.primitive != &scatter_set_p) return false;
  return made != Uses::none && g.equations[made].primitive == &broadcast_p &&
         g.avals[g.equations[made].inputs[0]].shape.size() == 1 &&
         g.avals[e.inputs[2]].shape[p.axis] <= few_updates;
}

Array scatter_by_choice(const Equation& e, const std::vector<Array>& in) {
  const auto& p = e.params.as<ScatterParams>();
  const Loc loc = e.loc;
  const Shape& out = in[0].shape();
  const Array position = lax::iota(in[1].dtype(), out, p.axis, loc);
  std::vector<int> batch, others;
  for (int a = 0; a < out.rank(); ++a) {
    if (a < p.batch_dims) batch.push_back(a);
    if (a != p.axis) others.push_back(a);
  }
  Array r = in[0];
  for (Dim n = 0; n < in[2].dim(p.axis); ++n) {
    const Array index = lax::slice_axis(in[1], p.batch_dims, n, n + 1, loc);
    const Array update = lax::slice_axis(in[2], p.axis, n, n + 1, loc);
    const Array here = lax::eq(
        position,
        lax::broadcast(lax::reshape(index, out.part(0, p.batch_dims), loc), out, batch, loc), loc);
    const Array value =
        lax::broadcast(lax::reshape(update, update.shape().without(p.axis), loc), out, others, loc);
    const Array changed = e.primitive == &scatter_set_p
                              ? value
                              : emit1(reduction_of(*e.primitive).combine, {}, {r, value}, loc);
    r = lax::select(here, changed, r, loc);
  }
  return r;
}

}  // namespace gnomon
