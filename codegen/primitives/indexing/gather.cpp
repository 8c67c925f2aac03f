// codegen/primitives/indexing/gather.cpp -- the table entry of gather, whose transpose is
// scatter_add.
#include "codegen/operations/gather_scatter.h"

#include <algorithm>
#include <limits>

#include "codegen/lax/positions.h"
#include "codegen/primitives/families.h"

namespace gnomon {

std::string_view name(GatherMode mode) {
  switch (mode) {
    case GatherMode::clip:
      return "clip";
    case GatherMode::fill:
      return "fill";
  }
  return "?";
}

namespace rules {

void check_indices(std::string_view op, const Aval& operand, const Aval& indices, int axis,
                   int batch_dims, Loc loc) {
  if (batch_dims < 0 || axis < batch_dims || axis >= operand.shape.rank())
    usage_error(op,
                "axis " + std::to_string(axis) + " is not an axis of " + to_string(operand) +
                    " behind " + std::to_string(batch_dims) + " batch axes",
                loc);
  if (indices.dtype != DType::i32)
    usage_error(op, "indices are i32, got " + to_string(indices) + "; cast them", loc);
  if (indices.shape.rank() <= batch_dims ||
      indices.shape.part(0, batch_dims) != operand.shape.part(0, batch_dims))
    usage_error(op,
                "indices " + to_string(indices) + " do not have the " + std::to_string(batch_dims) +
                    " batch axes of " + to_string(operand) + " and one more",
                loc);
}

Shape gathered_shape(const Shape& operand, const Shape& indices, int axis, int batch_dims) {
  Shape r = operand.part(0, axis);
  for (int i = batch_dims; i < indices.rank(); ++i) r.append(indices[i]);
  for (int i = axis + 1; i < operand.rank(); ++i) r.append(operand[i]);
  return r;
}

Array clamp_indices(const Array& indices, Dim length) {
  const Array low = emit1(max_p, {}, {indices, lax::zeros_like(indices)}, {});
  return emit1(min_p, {}, {low, lax::full_like(indices, static_cast<double>(length - 1))}, {});
}

Array gather_or_zero(const Array& a, const Array& indices, int axis, int batch_dims) {
  const Shape shape = gathered_shape(a.shape(), indices.shape(), axis, batch_dims);
  const Dim length = a.shape()[axis];
  if (length == 0) return lax::full({a.dtype(), shape}, 0);
  const Array read =
      emit1(gather_p, GatherParams{axis, batch_dims, GatherMode::clip}, {a, indices}, {});
  const Array inside = positions::in_range(indices, length, {});
  return lax::select(positions::over_rows(inside, shape, axis, batch_dims, {}), read,
                     lax::zeros_like(read));
}

}  // namespace rules

namespace {

void put_fill(HostArray& a, Dim i) {
  const DType t = a.aval.dtype;
  if (is_float(t))
    a.set_number(i, std::numeric_limits<double>::quiet_NaN());
  else if (t == DType::boolean)
    a.set_integer(i, 1);
  else if (is_unsigned(t))
    a.set_integer(i, -1);
  else
    a.set_integer(i, static_cast<std::int64_t>(-(1ull << (bits_of(t) - 1))));
}

kernel::Value fill_value(kernel::Builder& k, DType t) {
  if (t == DType::boolean) return k.boolean(true);
  if (is_float(t)) return k.number(t, std::numeric_limits<double>::quiet_NaN());
  const std::uint64_t ones = ~0ull >> (64 - bits_of(t));
  return k.constant({t, 1}, is_unsigned(t) ? ones : ones ^ (ones >> 1));
}

kernel::Value gather_element(ElementContext& c, const Params& params, std::size_t,
                             const Index& at) {
  auto& k = c.k;
  const auto& p = params.as<GatherParams>();
  const Shape& shape = c.inputs[0].shape;
  const Dim length = shape[p.axis];
  if (length == 0) return fill_value(k, c.inputs[0].dtype);
  const int axes = c.inputs[1].shape.rank() - p.batch_dims;  // of the indices
  const auto read = [&](kernel::Value along) {
    kernel::Values position;
    for (int i = 0; i < shape.rank(); ++i)
      position.push_back(i == p.axis ? along : at(k, i < p.axis ? i : i + axes - 1));
    return c.operand(0, Index::coordinates(shape, std::move(position)));
  };
  if (length == 1 && p.mode == GatherMode::clip) return read(k.u32(0));
  kernel::Values where;
  for (int i = 0; i < p.batch_dims; ++i) where.push_back(at(k, i));
  for (int i = 0; i < axes; ++i) where.push_back(at(k, p.axis + i));
  const kernel::Value index = c.operand(1, Index::coordinates(c.inputs[1].shape, std::move(where)));
  const kernel::Value last = k.i32(static_cast<std::int32_t>(length - 1));
  const kernel::Value safe =
      k.binary(kernel::Op::minimum, k.binary(kernel::Op::maximum, index, k.i32(0)), last);
  const kernel::Value value = read(k.convert(safe, DType::u32));
  if (p.mode == GatherMode::clip) return value;
  return k.select(k.compare(kernel::Op::eq, index, safe), value, fill_value(k, c.inputs[0].dtype));
}

}  // namespace

const Primitive gather_p{
    .name = "gather",
    .parse = parse_params<GatherParams>,
    .shape = [](const Params& params, std::span<const Aval> in, Loc loc) -> std::vector<Aval> {
      rules::require_operands("gather", in, 2, loc);
      const auto& p = params.as<GatherParams>();
      rules::check_indices("gather", in[0], in[1], p.axis, p.batch_dims, loc);
      if (in[1].shape.size() > 0 && in[0].shape[p.axis] == 0 && p.mode == GatherMode::clip)
        usage_error(
            "gather",
            "axis " + std::to_string(p.axis) + " of " + to_string(in[0]) + " has nothing to read",
            loc);
      return {{in[0].dtype, rules::gathered_shape(in[0].shape, in[1].shape, p.axis, p.batch_dims)}};
    },
    .jvp = [](const Params& params, const Arrays& x, const Arrays&, const Tangents& d) -> Tangents {
      const auto& p = params.as<GatherParams>();
      if (!d[0]) return {std::nullopt};
      if (p.mode == GatherMode::fill)
        return {rules::gather_or_zero(*d[0], x[1], p.axis, p.batch_dims)};
      return {emit1(gather_p, params, {*d[0], x[1]}, {})};
    },
    .transpose = [](const TransposeArgs& t) -> Tangents {
      const auto& p = t.params.as<GatherParams>();
      if (!t.cotangents[0] || !t.linear[0]) return {std::nullopt, std::nullopt};
      // Reads clip but writes drop: what was read from the edge goes back to the edge.
      Array indices = t.inputs[1];
      if (p.mode == GatherMode::clip && t.inputs[0].shape()[p.axis] > 0)
        indices = rules::clamp_indices(indices, t.inputs[0].shape()[p.axis]);
      const Shape& shape = t.inputs[0].shape();
      const Shape one_axis =
          indices.shape()
              .part(0, p.batch_dims)
              .with_inserted(p.batch_dims,
                             indices.shape().part(p.batch_dims, indices.rank()).size());
      const Array ct = lax::reshape(*t.cotangents[0], shape.with(p.axis, one_axis[p.batch_dims]));
      return {emit1(scatter_add_p, ScatterParams{p.axis, p.batch_dims},
                    {lax::full({ct.dtype(), shape}, 0), lax::reshape(indices, one_axis), ct}, {}),
              std::nullopt};
    },
    .batch = [](const Params& params, const Arrays& x, const BatchAxes& axes, Dim size) -> Batched {
      auto p = params.as<GatherParams>();
      if (!axes[0]) {
        // One gather from what all share: copies of it would be as many as there are elements.
        const Array indices = lax::move_axis(x[1], *axes[1], p.batch_dims);
        return {emit(gather_p, p, {x[0], indices}, {}), {p.axis}};
      }
      ++p.axis;
      if (!axes[1]) {
        const Array operand = lax::move_axis(x[0], *axes[0], p.batch_dims);
        return {emit(gather_p, p, {operand, x[1]}, {}), {p.batch_dims}};
      }
      ++p.batch_dims;
      return {
          emit(gather_p, p,
               {rules::batch_front(x[0], axes[0], size), rules::batch_front(x[1], axes[1], size)},
               {}),
          {0}};
    },
    .lower = Lowering::per_element(gather_element, Cost::view, Reuse::many),
    .reference = [](const Params& params, std::span<const Aval> out,
                    std::span<const HostArray> in) -> std::vector<HostArray> {
      const auto& p = params.as<GatherParams>();
      const Shape& shape = in[0].aval.shape;
      const Dim length = shape[p.axis];
      const int more = in[1].aval.shape.rank() - p.batch_dims - 1;
      HostArray r(out[0]);
      host::for_each_indexed(out[0].shape, in[1].aval.shape, p.axis, p.batch_dims,
                             [&](Dim i, host::Coordinates c, Dim which) {
                               const Dim index = in[1].integer(which);
                               const Dim safe = std::max<Dim>(0, std::min(index, length - 1));
                               const auto along = c.begin() + p.axis;
                               *along = safe;
                               c.erase(along + 1, along + 1 + more);
                               if (p.mode == GatherMode::fill && (index != safe || length == 0))
                                 put_fill(r, i);
                               else
                                 host::copy_element(r, i, in[0], host::ravel(shape, c));
                             });
      return {std::move(r)};
    },
};

}  // namespace gnomon
