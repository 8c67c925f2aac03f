// codegen/primitives/shapes/shape_ops.cpp -- views of one operand: broadcast, reshape, permute,
// slice, reverse.
#include <algorithm>

#include "codegen/base/lists.h"
#include "codegen/primitives/families.h"

namespace gnomon {
using namespace rules;
using host::Coordinates;
using kernel::Builder;
using kernel::Op;
using kernel::Value;
using kernel::Values;

namespace {

std::string text(const std::vector<int>& axes) {
  std::string s = "(";
  for (std::size_t i = 0; i < axes.size(); ++i) s += (i ? "," : "") + std::to_string(axes[i]);
  return s + ")";
}

// Axes of the operand that broadcasting repeats, as axes of the output.
std::vector<int> new_axes(const BroadcastParams& p) {
  std::vector<int> r;
  for (int a = 0; a < p.shape.rank(); ++a)
    if (std::find(p.axes.begin(), p.axes.end(), a) == p.axes.end()) r.push_back(a);
  return r;
}

// Distinct axes within a rank.
void require_axes(std::string_view op, const std::vector<int>& axes, const Aval& a, Loc loc) {
  std::vector<bool> seen(at(a.shape.rank()));
  for (int axis : axes) {
    const bool in_range = axis >= 0 && axis < a.shape.rank();
    if (!in_range || seen[at(axis)])
      usage_error(op, "axes " + text(axes) + " are not distinct axes of " + to_string(a), loc);
    seen[at(axis)] = true;
  }
}

std::vector<int> inverse(const std::vector<int>& axes) {
  std::vector<int> r(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) r[at(axes[i])] = static_cast<int>(i);
  return r;
}

Dim sliced(Dim start, Dim limit, Dim stride) {
  return limit <= start ? 0 : (limit - start + stride - 1) / stride;
}

template <class F>
std::vector<HostArray> rearranged(std::span<const Aval> out, std::span<const HostArray> in,
                                  F&& source) {
  return {host::rearrange(out[0], in[0], source)};
}

}  // namespace

const Primitive broadcast_p{
    .name = "broadcast",
    .parse = parse_params<BroadcastParams>,
    .shape =
        [](const Params& params, std::span<const Aval> in, Loc loc) {
          require_operands("broadcast", in, 1, loc);
          const auto& p = params.as<BroadcastParams>();
          bool fits = static_cast<int>(p.axes.size()) == in[0].shape.rank();
          int above = -1;
          for (std::size_t i = 0; fits && i < p.axes.size(); ++i) {
            fits = p.axes[i] > above && p.axes[i] < p.shape.rank() &&
                   p.shape[p.axes[i]] == in[0].shape[static_cast<int>(i)];
            above = p.axes[i];
          }
          if (!fits)
            usage_error("broadcast",
                        to_string(in[0]) + " on axes " + text(p.axes) + " does not fit " +
                            to_string(p.shape),
                        loc);
          return std::vector<Aval>{{in[0].dtype, p.shape}};
        },
    .jvp = jvp_linear<broadcast_p>,
    .transpose =
        [](const TransposeArgs& t) {
          Tangents r(1);
          if (t.cotangents[0])
            r[0] = lax::sum(*t.cotangents[0], new_axes(t.params.as<BroadcastParams>()));
          return r;
        },
    .batch =
        [](const Params& params, const Arrays& in, const BatchAxes& axes, Dim size) {
          // The batch axis goes right after the output axis of the operand axis before it.
          const auto& p = params.as<BroadcastParams>();
          const int b = *axes[0], to = b == 0 ? 0 : p.axes[at(b - 1)] + 1;
          std::vector<int> shifted = shift_axes(p.axes, to);
          shifted.insert(shifted.begin() + b, to);
          return Batched{
              {lax::broadcast(in[0], p.shape.with_inserted(to, size), std::move(shifted))}, {to}};
        },
    .lower = Lowering::per_element(
        [](ElementContext& c, const Params& params, std::size_t, const Index& i) {
          const auto& p = params.as<BroadcastParams>();
          const Shape& shape = c.inputs[0].shape;
          if (shape.size() == p.shape.size()) return c.operand(0, i.reshaped(c.k, shape));
          Values from;
          for (int axis : p.axes) from.push_back(i(c.k, axis));
          return c.operand(0, Index::coordinates(shape, std::move(from)));
        },
        Cost::view, Reuse::many),
    .reference =
        [](const Params& params, std::span<const Aval> out, std::span<const HostArray> in) {
          const auto& p = params.as<BroadcastParams>();
          return rearranged(out, in, [&](const Coordinates& c) {
            Coordinates from;
            for (int axis : p.axes) from.push_back(c[at(axis)]);
            return from;
          });
        },
};

const Primitive reshape_p{
    .name = "reshape",
    .parse = parse_params<ReshapeParams>,
    .shape =
        [](const Params& params, std::span<const Aval> in, Loc loc) {
          require_operands("reshape", in, 1, loc);
          const Shape& shape = params.as<ReshapeParams>().shape;
          if (shape.size() != in[0].shape.size())
            usage_error("reshape",
                        to_string(in[0]) + " has " + std::to_string(in[0].shape.size()) +
                            " elements and " + to_string(shape) + " has " +
                            std::to_string(shape.size()),
                        loc);
          return std::vector<Aval>{{in[0].dtype, shape}};
        },
    .jvp = jvp_linear<reshape_p>,
    .transpose =
        [](const TransposeArgs& t) {
          Tangents r(1);
          if (t.cotangents[0]) r[0] = lax::reshape(*t.cotangents[0], t.inputs[0].shape());
          return r;
        },
    .batch =
        [](const Params& params, const Arrays& in, const BatchAxes& axes, Dim size) {
          const Array front = lax::move_axis(in[0], *axes[0], 0);
          return Batched{
              {lax::reshape(front, params.as<ReshapeParams>().shape.with_inserted(0, size))}, {0}};
        },
    .lower = Lowering::per_element(
        [](ElementContext& c, const Params&, std::size_t, const Index& i) {
          return c.operand(0, i.reshaped(c.k, c.inputs[0].shape));
        },
        Cost::view),
    .reference =
        [](const Params&, std::span<const Aval> out, std::span<const HostArray> in) {
          HostArray r(out[0]);
          r.bytes = in[0].bytes;
          return std::vector<HostArray>{std::move(r)};
        },
};

const Primitive permute_p{
    .name = "permute",
    .parse = parse_params<AxesParams>,
    .shape =
        [](const Params& params, std::span<const Aval> in, Loc loc) {
          require_operands("permute", in, 1, loc);
          const auto& axes = params.as<AxesParams>().axes;
          require_axes("permute", axes, in[0], loc);
          if (static_cast<int>(axes.size()) != in[0].shape.rank())
            usage_error("permute",
                        "axes " + text(axes) + " are not all axes of " + to_string(in[0]), loc);
          Shape shape;
          for (int axis : axes) shape.append(in[0].shape[axis]);
          return std::vector<Aval>{{in[0].dtype, shape}};
        },
    .jvp = jvp_linear<permute_p>,
    .transpose =
        [](const TransposeArgs& t) {
          Tangents r(1);
          if (t.cotangents[0])
            r[0] = lax::permute(*t.cotangents[0], inverse(t.params.as<AxesParams>().axes));
          return r;
        },
    .batch =
        [](const Params& params, const Arrays& in, const BatchAxes& batch, Dim) {
          std::vector<int> axes = shift_axes(params.as<AxesParams>().axes, *batch[0]);
          axes.insert(axes.begin(), *batch[0]);
          return Batched{{lax::permute(in[0], std::move(axes))}, {0}};
        },
    .lower = Lowering::per_element(
        [](ElementContext& c, const Params& params, std::size_t, const Index& i) {
          const auto& axes = params.as<AxesParams>().axes;
          Values from(axes.size());
          for (std::size_t a = 0; a < axes.size(); ++a)
            from[at(axes[a])] = i(c.k, static_cast<int>(a));
          return c.operand(0, Index::coordinates(c.inputs[0].shape, std::move(from)));
        },
        Cost::view),
    .reference =
        [](const Params& params, std::span<const Aval> out, std::span<const HostArray> in) {
          const auto& axes = params.as<AxesParams>().axes;
          return rearranged(out, in, [&](const Coordinates& c) {
            Coordinates from(c.size());
            for (std::size_t a = 0; a < axes.size(); ++a) from[at(axes[a])] = c[a];
            return from;
          });
        },
};

const Primitive slice_p{
    .name = "slice",
    .parse = parse_params<SliceParams>,
    .shape =
        [](const Params& params, std::span<const Aval> in, Loc loc) {
          require_operands("slice", in, 1, loc);
          const auto& p = params.as<SliceParams>();
          const Shape& from = in[0].shape;
          const std::size_t rank = at(from.rank());
          if (p.starts.size() != rank || p.limits.size() != rank || p.strides.size() != rank)
            usage_error("slice",
                        "needs a start, a limit and a stride for each axis of " + to_string(in[0]),
                        loc);
          Shape shape;
          for (int a = 0; a < from.rank(); ++a) {
            const Dim start = p.starts[at(a)], limit = p.limits[at(a)], stride = p.strides[at(a)];
            if (start < 0 || start > limit || limit > from[a] || stride < 1)
              usage_error("slice",
                          "[" + std::to_string(start) + ":" + std::to_string(limit) + ":" +
                              std::to_string(stride) + "] is no slice of axis " +
                              std::to_string(a) + " of " + to_string(in[0]),
                          loc);
            shape.append(sliced(start, limit, stride));
          }
          return std::vector<Aval>{{in[0].dtype, shape}};
        },
    .jvp = jvp_linear<slice_p>,
    .transpose =
        [](const TransposeArgs& t) {
          Tangents r(1);
          if (!t.cotangents[0]) return r;
          const auto& p = t.params.as<SliceParams>();
          const Array& ct = *t.cotangents[0];
          const Shape& shape = t.inputs[0].shape();
          PadParams pad{p.starts, {}, {}};
          for (int a = 0; a < shape.rank(); ++a) {
            const Dim n = ct.shape()[a], stride = p.strides[at(a)];
            pad.hi.push_back(shape[a] - p.starts[at(a)] - (n == 0 ? 0 : (n - 1) * stride + 1));
            pad.interior.push_back(stride - 1);
          }
          r[0] = lax::pad(ct, lax::scalar(ct.dtype(), 0), std::move(pad));
          return r;
        },
    .batch =
        [](const Params& params, const Arrays& in, const BatchAxes& axes, Dim size) {
          SliceParams p = params.as<SliceParams>();
          const int b = *axes[0];
          p.starts.insert(p.starts.begin() + b, 0);
          p.limits.insert(p.limits.begin() + b, size);
          p.strides.insert(p.strides.begin() + b, 1);
          return Batched{emit(slice_p, std::move(p), in, {}), {b}};
        },
    .lower = Lowering::per_element(
        [](ElementContext& c, const Params& params, std::size_t, const Index& i) {
          const auto& p = params.as<SliceParams>();
          Values from;
          for (int a = 0; a < i.rank(); ++a)
            from.push_back(
                c.k.add(c.k.mul(i(c.k, a), u32(c.k, p.strides[at(a)])), u32(c.k, p.starts[at(a)])));
          return c.operand(0, Index::coordinates(c.inputs[0].shape, std::move(from)));
        },
        Cost::view),
    .reference =
        [](const Params& params, std::span<const Aval> out, std::span<const HostArray> in) {
          const auto& p = params.as<SliceParams>();
          return rearranged(out, in, [&](Coordinates c) {
            for (std::size_t a = 0; a < c.size(); ++a) c[a] = p.starts[a] + c[a] * p.strides[a];
            return c;
          });
        },
};

const Primitive reverse_p{
    .name = "reverse",
    .parse = parse_params<AxesParams>,
    .shape =
        [](const Params& params, std::span<const Aval> in, Loc loc) {
          require_operands("reverse", in, 1, loc);
          require_axes("reverse", params.as<AxesParams>().axes, in[0], loc);
          return std::vector<Aval>{in[0]};
        },
    .jvp = jvp_linear<reverse_p>,
    .transpose =
        [](const TransposeArgs& t) {
          Tangents r(1);
          if (t.cotangents[0])
            r[0] = lax::reverse(*t.cotangents[0], t.params.as<AxesParams>().axes);
          return r;
        },
    .batch =
        [](const Params& params, const Arrays& in, const BatchAxes& axes, Dim) {
          return Batched{{lax::reverse(in[0], shift_axes(params.as<AxesParams>().axes, *axes[0]))},
                         axes};
        },
    .lower = Lowering::per_element(
        [](ElementContext& c, const Params& params, std::size_t, const Index& i) {
          const auto& axes = params.as<AxesParams>().axes;
          Values from;
          for (int a = 0; a < i.rank(); ++a) {
            const bool flip = std::find(axes.begin(), axes.end(), a) != axes.end();
            from.push_back(flip ? c.k.sub(u32(c.k, i.shape()[a] - 1), i(c.k, a)) : i(c.k, a));
          }
          return c.operand(0, Index::coordinates(i.shape(), std::move(from)));
        },
        Cost::view),
    .reference =
        [](const Params& params, std::span<const Aval> out, std::span<const HostArray> in) {
          const auto& axes = params.as<AxesParams>().axes;
          return rearranged(out, in, [&](Coordinates c) {
            for (int axis : axes) c[at(axis)] = out[0].shape[axis] - 1 - c[at(axis)];
            return c;
          });
        },
};

}  // namespace gnomon
