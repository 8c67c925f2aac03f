// codegen/primitives/indexing/dynamic_slice.cpp -- table entries of dynamic_slice and
// dynamic_update_slice.
#include <algorithm>
#include <numeric>

#include "codegen/operations/gather_scatter.h"
#include "codegen/primitives/families.h"

namespace gnomon {
namespace {

/// Checks starts behind `first` operands against the axes they move along.
void check_starts(std::string_view op, std::span<const Aval> in, std::size_t first,
                  const Shape& sizes, int batch_dims, Loc loc) {
  const Shape& shape = in[0].shape;
  if (batch_dims < 0 || batch_dims > shape.rank() || sizes.rank() != shape.rank() - batch_dims)
    usage_error(op,
                "a slice of " + to_string(in[0]) + " needs " +
                    std::to_string(shape.rank() - batch_dims) + " sizes, got " +
                    std::to_string(sizes.rank()),
                loc);
  const std::size_t starts = in.size() - std::min(first, in.size());
  if (starts != static_cast<std::size_t>(sizes.rank()))
    usage_error(op,
                "a slice of " + to_string(in[0]) + " needs " + std::to_string(sizes.rank()) +
                    " starts, one per axis, got " + std::to_string(starts),
                loc);
  const Aval want{DType::i32, shape.part(0, batch_dims)};
  for (std::size_t i = first; i < in.size(); ++i)
    if (in[i] != want)
      usage_error(op,
                  "start " + std::to_string(i - first) + " is " + to_string(in[i]) +
                      " and must be " + to_string(want),
                  loc);
  for (int a = 0; a < sizes.rank(); ++a)
    if (sizes[a] < 0 || sizes[a] > shape[batch_dims + a])
      usage_error(op,
                  "a slice of sizes " + to_string(sizes) + " does not fit into " + to_string(in[0]),
                  loc);
}

Shape update_sizes(std::span<const Aval> in, int batch_dims) {
  return in[1].shape.part(batch_dims, in[1].shape.rank());
}

/// Start along axis `a` (counted behind the batch axes), clamped so that the slice fits.
kernel::Value start_at(ElementContext& c, std::size_t first, int a, Dim size, int batch_dims,
                       const Index& at) {
  auto& k = c.k;
  const Dim last = c.inputs[0].shape[batch_dims + a] - size;
  if (last == 0) return k.u32(0);
  kernel::Values batch;
  for (int i = 0; i < batch_dims; ++i) batch.push_back(at(k, i));
  const std::size_t operand = first + static_cast<std::size_t>(a);
  const kernel::Value start =
      c.operand(operand, Index::coordinates(c.inputs[operand].shape, std::move(batch)));
  const kernel::Value low = k.binary(kernel::Op::maximum, start, k.i32(0));
  return k.convert(k.binary(kernel::Op::minimum, low, k.i32(static_cast<std::int32_t>(last))),
                   DType::u32);
}

kernel::Value slice_element(ElementContext& c, const Params& params, std::size_t, const Index& at) {
  auto& k = c.k;
  const auto& p = params.as<DynamicSliceParams>();
  const Shape& shape = c.inputs[0].shape;
  kernel::Values position;
  for (int i = 0; i < shape.rank(); ++i) {
    kernel::Value x = at(k, i);
    if (i >= p.batch_dims)
      x = k.add(x, start_at(c, 1, i - p.batch_dims, p.sizes[i - p.batch_dims], p.batch_dims, at));
    position.push_back(x);
  }
  return c.operand(0, Index::coordinates(shape, std::move(position)));
}

kernel::Value update_element(ElementContext& c, const Params& params, std::size_t,
                             const Index& at) {
  auto& k = c.k;
  const int batch_dims = params.as<DynamicUpdateSliceParams>().batch_dims;
  const Shape& shape = c.inputs[0].shape;
  const Shape& update = c.inputs[1].shape;
  if (update.size() == 0) return c.operand(0, at);
  kernel::Value inside = k.boolean(true);
  kernel::Values position;
  for (int i = 0; i < shape.rank(); ++i) {
    kernel::Value x = at(k, i);
    if (i >= batch_dims && update[i] != shape[i]) {
      // Before the window the difference wraps around, so one comparison covers both ends.
      x = k.sub(x, start_at(c, 2, i - batch_dims, update[i], batch_dims, at));
      const kernel::Value here =
          k.compare(kernel::Op::lt, x, k.u32(static_cast<std::uint32_t>(update[i])));
      x = update[i] == 1 ? k.u32(0) : k.select(here, x, k.u32(0));
      inside = k.land(inside, here);
    }
    position.push_back(x);
  }
  const kernel::Value fresh = c.operand(1, Index::coordinates(update, std::move(position)));
  return k.select(inside, fresh, c.operand(0, at));
}

/// Clamped starts of every axis of the operand (0 for the batch axes) at the batch position of `c`.
host::Coordinates host_starts(std::span<const HostArray> in, std::size_t first, const Shape& window,
                              int batch_dims, const host::Coordinates& c) {
  const Shape& shape = in[0].aval.shape;
  host::Coordinates starts(static_cast<std::size_t>(shape.rank()), 0);
  const host::Coordinates batch(c.begin(), c.begin() + batch_dims);
  for (int i = batch_dims; i < shape.rank(); ++i) {
    const HostArray& start = in[first + static_cast<std::size_t>(i - batch_dims)];
    const Dim at = start.integer(host::ravel(start.aval.shape, batch));
    starts[static_cast<std::size_t>(i)] = std::max<Dim>(0, std::min(at, shape[i] - window[i]));
  }
  return starts;
}

Arrays starts_of(const Arrays& in, std::size_t first) {
  return {in.begin() + static_cast<std::ptrdiff_t>(first), in.end()};
}

Arrays joined(Arrays head, const Arrays& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

Arrays all_front(const Arrays& x, const BatchAxes& axes, Dim size) {
  Arrays front;
  for (std::size_t i = 0; i < x.size(); ++i)
    front.push_back(rules::batch_front(x[i], axes[i], size));
  return front;
}

/// Slices of what all elements share, each at starts of its own, as one gather along the axes that
/// are not taken whole: copies of the operand would be as many as there are elements.
Batched slices_of_shared(const DynamicSliceParams& p, const Arrays& x, const BatchAxes& axes,
                         Dim size) {
  const Shape& shape = x[0].shape();
  const int b = p.batch_dims, rank = p.sizes.rank();
  const auto whole = [&](int a) { return p.sizes[a] == shape[b + a]; };
  int first = 0, end = rank;
  while (first < rank && whole(first)) ++first;
  if (first == rank) return {{x[0]}, {std::nullopt}};
  while (whole(end - 1)) --end;
  const Shape window = shape.part(b + first, b + end);
  Shape indices = shape.part(0, b).with_inserted(b, size);
  for (int a = first; a < end; ++a) indices.append(p.sizes[a]);
  Array at = lax::full({DType::i32, indices}, 0);
  Dim stride = window.size();
  for (int a = first; a < end; ++a) {
    stride = window[a - first] == 0 ? 0 : stride / window[a - first];
    const auto step = static_cast<double>(stride);
    Array along = lax::iota(DType::i32, Shape{p.sizes[a]}, 0);
    along = lax::mul(along, lax::full_like(along, step));
    at = lax::add(at, lax::broadcast(along, indices, {b + 1 + a - first}));
    if (whole(a)) continue;
    const auto which = static_cast<std::size_t>(1 + a);
    std::vector<int> onto(static_cast<std::size_t>(axes[which] ? b + 1 : b));
    std::iota(onto.begin(), onto.end(), 0);
    Array start = axes[which] ? lax::move_axis(x[which], *axes[which], b) : x[which];
    start = rules::clamp_indices(start, shape[b + a] - p.sizes[a] + 1);
    start = lax::mul(start, lax::full_like(start, step));
    at = lax::add(at, lax::broadcast(start, indices, std::move(onto)));
  }
  Shape joined_axes = shape.part(0, b + first);
  joined_axes.append(window.size());
  for (int a = end; a < rank; ++a) joined_axes.append(shape[b + a]);
  return {emit(gather_p, GatherParams{b + first, b, GatherMode::clip},
               {lax::reshape(x[0], joined_axes), at}, {}),
          {b + first}};
}

}  // namespace

namespace rules {

Array rows_of(const Array& all, const Array& at, Dim count, Loc loc) {
  Arrays in{all, at};
  for (int a = 1; a < all.rank(); ++a) in.push_back(lax::scalar_integer(DType::i32, 0, loc));
  return emit1(dynamic_slice_p, DynamicSliceParams{all.shape().with(0, count), 0}, in, loc);
}

Array with_rows(const Array& all, const Array& rows, const Array& at, Loc loc) {
  Arrays in{all, rows, at};
  for (int a = 1; a < all.rank(); ++a) in.push_back(lax::scalar_integer(DType::i32, 0, loc));
  return emit1(dynamic_update_slice_p, DynamicUpdateSliceParams{}, in, loc);
}

Array row_of(const Array& all, const Array& at, Loc loc) {
  return lax::reshape(rows_of(all, at, 1, loc), all.shape().without(0), loc);
}

Array with_row(const Array& all, const Array& row, const Array& at, Loc loc) {
  return with_rows(all, lax::reshape(row, all.shape().with(0, 1), loc), at, loc);
}

}  // namespace rules

const Primitive dynamic_slice_p{
    .name = "dynamic_slice",
    .parse = parse_params<DynamicSliceParams>,
    .shape = [](const Params& params, std::span<const Aval> in, Loc loc) -> std::vector<Aval> {
      const auto& p = params.as<DynamicSliceParams>();
      if (in.empty()) rules::require_operands("dynamic_slice", in, 1, loc);
      check_starts("dynamic_slice", in, 1, p.sizes, p.batch_dims, loc);
      Shape shape = in[0].shape.part(0, p.batch_dims);
      for (Dim d : p.sizes) shape.append(d);
      return {{in[0].dtype, shape}};
    },
    .jvp = [](const Params& params, const Arrays& x, const Arrays&, const Tangents& d) -> Tangents {
      if (!d[0]) return {std::nullopt};
      return {emit1(dynamic_slice_p, params, joined({*d[0]}, starts_of(x, 1)), {})};
    },
    .transpose = [](const TransposeArgs& t) -> Tangents {
      Tangents r(t.inputs.size());
      if (!t.cotangents[0] || !t.linear[0]) return r;
      const Array zeros = lax::full({t.cotangents[0]->dtype(), t.inputs[0].shape()}, 0);
      r[0] = emit1(dynamic_update_slice_p,
                   DynamicUpdateSliceParams{t.params.as<DynamicSliceParams>().batch_dims},
                   joined({zeros, *t.cotangents[0]}, starts_of(t.inputs, 1)), {});
      return r;
    },
    .batch = [](const Params& params, const Arrays& x, const BatchAxes& axes, Dim size) -> Batched {
      auto p = params.as<DynamicSliceParams>();
      if (!axes[0]) return slices_of_shared(p, x, axes, size);
      ++p.batch_dims;
      return {emit(dynamic_slice_p, p, all_front(x, axes, size), {}), {0}};
    },
    .lower = Lowering::per_element(slice_element, Cost::view, Reuse::many),
    .reference = [](const Params& params, std::span<const Aval> out,
                    std::span<const HostArray> in) -> std::vector<HostArray> {
      const auto& p = params.as<DynamicSliceParams>();
      return {host::rearrange(out[0], in[0], [&](host::Coordinates c) {
        const host::Coordinates starts = host_starts(in, 1, out[0].shape, p.batch_dims, c);
        for (std::size_t i = 0; i < c.size(); ++i) c[i] += starts[i];
        return c;
      })};
    },
};

const Primitive dynamic_update_slice_p{
    .name = "dynamic_update_slice",
    .parse = parse_params<DynamicUpdateSliceParams>,
    .shape = [](const Params& params, std::span<const Aval> in, Loc loc) -> std::vector<Aval> {
      const int batch_dims = params.as<DynamicUpdateSliceParams>().batch_dims;
      if (in.size() < 2) rules::require_operands("dynamic_update_slice", in, 2, loc);
      if (in[1].dtype != in[0].dtype || in[1].shape.rank() != in[0].shape.rank() ||
          batch_dims < 0 || batch_dims > in[0].shape.rank() ||
          in[1].shape.part(0, batch_dims) != in[0].shape.part(0, batch_dims))
        usage_error("dynamic_update_slice",
                    "an update " + to_string(in[1]) + " cannot be written into " +
                        to_string(in[0]) + "; they need one dtype and rank",
                    loc);
      check_starts("dynamic_update_slice", in, 2, update_sizes(in, batch_dims), batch_dims, loc);
      return {in[0]};
    },
    .jvp = [](const Params& params, const Arrays& x, const Arrays&, const Tangents& d) -> Tangents {
      if (!d[0] && !d[1]) return {std::nullopt};
      const Array operand = d[0] ? *d[0] : lax::zeros_like(x[0]);
      const Array update = d[1] ? *d[1] : lax::zeros_like(x[1]);
      return {
          emit1(dynamic_update_slice_p, params, joined({operand, update}, starts_of(x, 2)), {})};
    },
    .transpose = [](const TransposeArgs& t) -> Tangents {
      Tangents r(t.inputs.size());
      if (!t.cotangents[0]) return r;
      const Array& ct = *t.cotangents[0];
      const Arrays starts = starts_of(t.inputs, 2);
      const Shape& update = t.inputs[1].shape();
      if (t.linear[0]) {
        const Array zeros = lax::full({ct.dtype(), update}, 0);
        r[0] = emit1(dynamic_update_slice_p, t.params, joined({ct, zeros}, starts), {});
      }
      if (t.linear[1]) {
        const int batch_dims = t.params.as<DynamicUpdateSliceParams>().batch_dims;
        const DynamicSliceParams p{update.part(batch_dims, update.rank()), batch_dims};
        r[1] = emit1(dynamic_slice_p, p, joined({ct}, starts), {});
      }
      return r;
    },
    .batch = [](const Params& params, const Arrays& x, const BatchAxes& axes, Dim size) -> Batched {
      auto p = params.as<DynamicUpdateSliceParams>();
      ++p.batch_dims;
      return {emit(dynamic_update_slice_p, p, all_front(x, axes, size), {}), {0}};
    },
    .lower = Lowering::per_element(update_element),
    .reference = [](const Params& params, std::span<const Aval>,
                    std::span<const HostArray> in) -> std::vector<HostArray> {
      const int batch_dims = params.as<DynamicUpdateSliceParams>().batch_dims;
      HostArray r = in[0];
      const Shape& update = in[1].aval.shape;
      for (Dim i = 0; i < update.size(); ++i) {
        host::Coordinates c = host::unravel(update, i);
        const host::Coordinates starts = host_starts(in, 2, update, batch_dims, c);
        for (std::size_t a = 0; a < c.size(); ++a) c[a] += starts[a];
        host::copy_element(r, host::ravel(r.aval.shape, c), in[1], i);
      }
      return {std::move(r)};
    },
};

}  // namespace gnomon
