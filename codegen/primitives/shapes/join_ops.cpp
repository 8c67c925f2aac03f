// codegen/primitives/shapes/join_ops.cpp -- operations whose elements come from one of several
// operands: concatenate, pad.
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

Values coordinates_of(Builder& k, const Index& i) {
  Values c;
  for (int a = 0; a < i.rank(); ++a) c.push_back(i(k, a));
  return c;
}

}  // namespace

const Primitive concatenate_p{
    .name = "concatenate",
    .parse = parse_params<AxisParams>,
    .shape =
        [](const Params& params, std::span<const Aval> in, Loc loc) {
          const int axis = params.as<AxisParams>().axis;
          if (in.empty()) usage_error("concatenate", "needs at least one array", loc);
          if (axis < 0 || axis >= in[0].shape.rank())
            usage_error("concatenate",
                        "axis " + std::to_string(axis) + " is out of range for " + to_string(in[0]),
                        loc);
          Aval out = in[0];
          out.shape[axis] = 0;
          for (const Aval& a : in) {
            const bool fits = a.dtype == out.dtype && a.shape.rank() == out.shape.rank() &&
                              a.shape.with(axis, 0) == out.shape.with(axis, 0);
            if (!fits)
              usage_error("concatenate",
                          to_string(in[0]) + " and " + to_string(a) +
                              " must agree except on axis " + std::to_string(axis),
                          loc);
            out.shape[axis] += a.shape[axis];
          }
          return std::vector<Aval>{out};
        },
    .jvp =
        [](const Params& params, const Arrays& in, const Arrays&, const Tangents& d) {
          Arrays parts;
          for (std::size_t i = 0; i < in.size(); ++i)
            parts.push_back(d[i] ? *d[i] : lax::zeros_like(in[i]));
          return Tangents{emit1(concatenate_p, params, parts, {})};
        },
    .transpose =
        [](const TransposeArgs& t) {
          const int axis = t.params.as<AxisParams>().axis;
          Tangents r(t.inputs.size());
          if (!t.cotangents[0]) return r;
          Dim start = 0;
          for (std::size_t i = 0; i < r.size(); ++i) {
            const Dim n = t.inputs[i].shape()[axis];
            if (t.linear[i]) r[i] = lax::slice_axis(*t.cotangents[0], axis, start, start + n);
            start += n;
          }
          return r;
        },
    .batch =
        [](const Params& params, const Arrays& in, const BatchAxes& axes, Dim size) {
          const Aligned a = align_batch(in, axes, size);
          const int axis = params.as<AxisParams>().axis;
          return Batched{
              emit(concatenate_p, AxisParams{axis >= a.axis ? axis + 1 : axis}, a.values, {}),
              {a.axis}};
        },
    // Not a view: an element costs a read of every operand, and towers of concatenations that a
    // product reads would multiply them.
    .lower = Lowering::per_element([](ElementContext& c, const Params& params, std::size_t,
                                      const Index& i) {
      const int axis = params.as<AxisParams>().axis;
      Builder& k = c.k;
      const Values position = coordinates_of(k, i);
      const Value along = position[at(axis)];
      Value result;
      Dim start = 0;
      for (std::size_t n = 0; n < c.inputs.size(); ++n) {
        const Dim size = c.inputs[n].shape[axis], first = start;
        start += size;
        if (size == 0) continue;
        Values from = position;
        if (k.is_constant(along)) {
          const auto x = static_cast<Dim>(k.constant_bits(along));
          if (x < first || x >= start) continue;
          from[at(axis)] = u32(k, x - first);
          return c.operand(n, Index::coordinates(c.inputs[n].shape, std::move(from)));
        }
        // Every operand is read on every element, at a position clamped into it.
        const Value above = first == 0 ? k.boolean(true) : k.compare(Op::ge, along, u32(k, first));
        Value inside = k.sub(along, u32(k, first));
        if (start < i.shape()[axis]) inside = k.binary(Op::minimum, inside, u32(k, size - 1));
        from[at(axis)] = k.select(above, inside, k.u32(0));
        const Value element = c.operand(n, Index::coordinates(c.inputs[n].shape, std::move(from)));
        result = result.valid() ? k.select(above, element, result) : element;
      }
      return result;
    }),
    .reference =
        [](const Params& params, std::span<const Aval> out, std::span<const HostArray> in) {
          const int axis = params.as<AxisParams>().axis;
          HostArray r(out[0]);
          for (Dim i = 0; i < r.size(); ++i) {
            Coordinates c = host::unravel(out[0].shape, i);
            std::size_t n = 0;
            for (; c[at(axis)] >= in[n].aval.shape[axis]; ++n)
              c[at(axis)] -= in[n].aval.shape[axis];
            host::copy_element(r, i, in[n], host::ravel(in[n].aval.shape, c));
          }
          return std::vector<HostArray>{std::move(r)};
        },
};

// ---- pad

namespace {

Dim padded(Dim n, Dim lo, Dim hi, Dim interior) {
  return lo + hi + n + (n > 1 ? (n - 1) * interior : 0);
}

bool negative(const PadParams& p) {
  for (std::size_t a = 0; a < p.lo.size(); ++a)
    if (p.lo[a] < 0 || p.hi[a] < 0) return true;
  return false;
}

// The elements of `ct` that come from the operand, in the operand's shape.
Array unpad(const Array& ct, const PadParams& p, const Shape& operand) {
  std::vector<Dim> starts, limits, strides;
  Array whole = ct;
  if (negative(p)) {
    // What was cut off gets zeros back; what was added goes away.
    PadParams back;
    for (std::size_t a = 0; a < p.lo.size(); ++a) {
      back.lo.push_back(-p.lo[a]);
      back.hi.push_back(-p.hi[a]);
      back.interior.push_back(0);
    }
    whole = lax::pad(ct, lax::scalar(ct.dtype(), 0), std::move(back));
  }
  for (int a = 0; a < operand.rank(); ++a) {
    const Dim start = negative(p) ? 0 : p.lo[at(a)], stride = p.interior[at(a)] + 1;
    starts.push_back(start);
    limits.push_back(start + (operand[a] == 0 ? 0 : (operand[a] - 1) * stride + 1));
    strides.push_back(stride);
  }
  return lax::slice(whole, std::move(starts), std::move(limits), std::move(strides));
}

std::vector<int> all_axes(int rank) {
  std::vector<int> r;
  for (int a = 0; a < rank; ++a) r.push_back(a);
  return r;
}

}  // namespace

/// pad(operand, scalar value): elements of `value` around and between those of the operand.
const Primitive pad_p{
    .name = "pad",
    .parse = parse_params<PadParams>,
    .shape =
        [](const Params& params, std::span<const Aval> in, Loc loc) {
          require_operands("pad", in, 2, loc);
          const auto& p = params.as<PadParams>();
          const std::size_t rank = at(in[0].shape.rank());
          if (p.lo.size() != rank || p.hi.size() != rank || p.interior.size() != rank)
            usage_error("pad", "needs lo, hi and interior for each axis of " + to_string(in[0]),
                        loc);
          if (in[1] != Aval{in[0].dtype, {}})
            usage_error(
                "pad",
                "the value must be " + to_string(in[0].dtype, {}) + ", got " + to_string(in[1]),
                loc);
          Shape shape;
          for (int a = 0; a < in[0].shape.rank(); ++a) {
            const Dim n = padded(in[0].shape[a], p.lo[at(a)], p.hi[at(a)], p.interior[at(a)]);
            if (n < 0 || p.interior[at(a)] < 0)
              usage_error("pad",
                          "axis " + std::to_string(a) + " of " + to_string(in[0]) + " with lo=" +
                              std::to_string(p.lo[at(a)]) + " hi=" + std::to_string(p.hi[at(a)]) +
                              " interior=" + std::to_string(p.interior[at(a)]) + " has no size",
                          loc);
            shape.append(n);
          }
          return std::vector<Aval>{{in[0].dtype, shape}};
        },
    .jvp =
        [](const Params& params, const Arrays& in, const Arrays&, const Tangents& d) {
          const Array a = d[0] ? *d[0] : lax::zeros_like(in[0]),
                      v = d[1] ? *d[1] : lax::zeros_like(in[1]);
          return Tangents{emit1(pad_p, params, {a, v}, {})};
        },
    .transpose =
        [](const TransposeArgs& t) {
          Tangents r(2);
          if (!t.cotangents[0]) return r;
          const Array& ct = *t.cotangents[0];
          const Array inner = unpad(ct, t.params.as<PadParams>(), t.inputs[0].shape());
          const std::vector<int> axes = all_axes(ct.rank());
          if (t.linear[0]) r[0] = inner;
          if (t.linear[1]) r[1] = lax::sub(lax::sum(ct, axes), lax::sum(inner, axes));
          return r;
        },
    .batch =
        [](const Params& params, const Arrays& in, const BatchAxes& axes, Dim size) {
          PadParams p = params.as<PadParams>();
          const int b = axes[0].value_or(0);
          for (auto* list : {&p.lo, &p.hi, &p.interior}) list->insert(list->begin() + b, 0);
          const Array a = axes[0] ? in[0] : lax::insert_axis(in[0], b, size);
          if (!axes[1]) return Batched{{lax::pad(a, in[1], std::move(p))}, {b}};
          // One value per lane: pad a mask along, and choose.
          const Array mask = lax::pad(lax::full({DType::boolean, a.shape()}, 1),
                                      lax::scalar(DType::boolean, 0), p);
          const Array inner = lax::pad(a, lax::scalar(a.dtype(), 0), p);
          return Batched{{lax::select(mask, inner, lax::broadcast(in[1], inner.shape(), {b}))},
                         {b}};
        },
    .lower = Lowering::per_element(
        [](ElementContext& c, const Params& params, std::size_t, const Index& i) {
          const auto& p = params.as<PadParams>();
          const Shape& shape = c.inputs[0].shape;
          Builder& k = c.k;
          const Value outside = c.operand(1, Index::coordinates({}, {}));
          if (shape.size() == 0) return outside;
          Value inside = k.boolean(true);
          Values from;
          for (int a = 0; a < shape.rank(); ++a) {
            const Dim lo = p.lo[at(a)], step = p.interior[at(a)] + 1, last = (shape[a] - 1) * step;
            // Below `lo` the difference wraps to a large number, which is beyond the last element
            // as well.
            Value x = i(k, a);
            x = lo >= 0 ? k.sub(x, u32(k, lo)) : k.add(x, u32(k, -lo));
            const bool around = lo > 0 || p.hi[at(a)] > 0;
            if (around) inside = k.land(inside, k.compare(Op::le, x, u32(k, last)));
            if (step > 1) {
              inside = k.land(inside, k.compare(Op::eq, k.rem(x, u32(k, step)), k.u32(0)));
              x = k.div(x, u32(k, step));
            }
            from.push_back(around ? k.binary(Op::minimum, x, u32(k, shape[a] - 1)) : x);
          }
          if (k.is_constant(inside) && k.constant_bits(inside) == 0) return outside;
          return k.select(inside, c.operand(0, Index::coordinates(shape, std::move(from))),
                          outside);
        },
        Cost::view),
    .reference =
        [](const Params& params, std::span<const Aval> out, std::span<const HostArray> in) {
          const auto& p = params.as<PadParams>();
          const Shape& shape = in[0].aval.shape;
          HostArray r(out[0]);
          for (Dim i = 0; i < r.size(); ++i) {
            Coordinates c = host::unravel(out[0].shape, i);
            bool inside = true;
            for (std::size_t a = 0; a < c.size(); ++a) {
              const Dim step = p.interior[a] + 1, x = c[a] - p.lo[a];
              inside &= x >= 0 && x % step == 0 && x / step < shape[static_cast<int>(a)];
              c[a] = x / step;
            }
            if (inside)
              host::copy_element(r, i, in[0], host::ravel(shape, c));
            else
              host::copy_element(r, i, in[1], 0);
          }
          return std::vector<HostArray>{std::move(r)};
        },
};

}  // namespace gnomon
