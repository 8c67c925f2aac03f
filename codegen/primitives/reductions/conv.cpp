// codegen/primitives/reductions/conv.cpp -- the table entry of convolutions. Its transposes are
// convolutions with other windows; groups are batch axes, so no rule knows them.
#include <algorithm>
#include <numeric>

#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/window.h"
#include "codegen/primitives/families.h"
#include "codegen/primitives/folding.h"

namespace gnomon {
using namespace rules;
using kernel::Builder;
using kernel::Value;
using kernel::Values;

WindowAxis window_axis(const ConvParams& p, const Shape& lhs, const Shape& rhs, int i) {
  const auto a = static_cast<std::size_t>(i);
  const int axis = p.batch_dims + 2 + i;
  return {lhs[axis], rhs[axis], p.strides[a], p.lo[a], p.hi[a], p.base[a], p.dilation[a]};
}

bool sums_positions(const Shape& window, const Shape& results) {
  if (window.size() > 2 * results.size()) return true;
  return window.size() > results.size() && results[results.rank() - 1] < 4;
}

namespace {

/// Products that are written out inside the loop over the others.
constexpr Dim unrolled_window = 32;
/// As many where they are part of an axis.
constexpr Dim unrolled_part = 12;

Shape spatial(const Shape& s, const ConvParams& p) { return s.part(p.batch_dims + 2, s.rank()); }

Array swap_leading(const Array& a, int batch_dims) {
  return lax::move_axis(a, batch_dims, batch_dims + 1);
}

template <class F>
ConvParams with_windows(const ConvParams& p, int axes, F&& window) {
  ConvParams r;
  r.batch_dims = p.batch_dims;
  for (int i = 0; i < axes; ++i) {
    const WindowAxis w = window(i);
    r.strides.push_back(w.stride);
    r.lo.push_back(w.lo);
    r.hi.push_back(w.hi);
    r.base.push_back(w.base);
    r.dilation.push_back(w.dilation);
  }
  return r;
}

/// The cotangent of lhs: the kernel flipped, input and output channels swapped.
Array transpose_lhs(const ConvParams& p, const Array& ct, const Shape& lhs, const Array& rhs) {
  const int axes = static_cast<int>(p.strides.size());
  std::vector<int> flipped(p.strides.size());
  std::iota(flipped.begin(), flipped.end(), p.batch_dims + 2);
  const ConvParams q =
      with_windows(p, axes, [&](int i) { return window_axis(p, lhs, rhs.shape(), i).adjoint(); });
  return emit1(conv_p, q, {ct, lax::reverse(swap_leading(rhs, p.batch_dims), flipped)}, {});
}

/// The cotangent of rhs: the cotangent of the output is the kernel, its strides are gaps.
Array transpose_rhs(const ConvParams& p, const Array& ct, const Array& lhs, const Shape& rhs) {
  const int axes = static_cast<int>(p.strides.size());
  const ConvParams q = with_windows(p, axes, [&](int i) {
    const WindowAxis w = window_axis(p, lhs.shape(), rhs, i);
    WindowAxis r{w.length, w.count(), w.dilation, w.lo, 0, w.base, w.stride};
    r.hi = (w.window - 1) * w.dilation + (r.window - 1) * w.stride + 1 -
           WindowAxis::spread(w.length, w.base) - w.lo;
    return r;
  });
  const int b = p.batch_dims;
  return swap_leading(emit1(conv_p, q, {swap_leading(lhs, b), swap_leading(ct, b)}, {}), b);
}

std::vector<Aval> conv_shape(const Params& params, std::span<const Aval> in, Loc loc) {
  require_operands("conv", in, 2, loc);
  require_dtype("conv", in[0], Accepts::numbers, loc);
  const auto& p = params.as<ConvParams>();
  const Shape &lhs = in[0].shape, &rhs = in[1].shape;
  const auto axes = static_cast<std::size_t>(std::max(0, lhs.rank() - p.batch_dims - 2));
  bool fits = in[0].dtype == in[1].dtype && p.batch_dims >= 0 && lhs.rank() == rhs.rank() &&
              lhs.rank() >= p.batch_dims + 2 &&
              lhs.part(0, p.batch_dims) == rhs.part(0, p.batch_dims) &&
              lhs[p.batch_dims + 1] == rhs[p.batch_dims + 1];
  for (const auto* v : {&p.strides, &p.lo, &p.hi, &p.base, &p.dilation}) fits &= v->size() == axes;
  for (const auto* v : {&p.strides, &p.base, &p.dilation})
    fits &= std::all_of(v->begin(), v->end(), [](Dim d) { return d >= 1; });
  if (!fits)
    usage_error("conv",
                to_string(in[0]) + " and a kernel " + to_string(in[1]) +
                    " do not fit: they need one dtype, the same batch axes and channels, and a "
                    "window for each spatial axis",
                loc);
  Shape out = lhs.part(0, p.batch_dims + 1);
  out.append(rhs[p.batch_dims]);
  for (std::size_t i = 0; i < axes; ++i)
    out.append(window_axis(p, lhs, rhs, static_cast<int>(i)).count());
  return {{in[0].dtype, out}};
}

Value conv_element(ElementContext& c, const Params& params, std::size_t, const Index& at) {
  Builder& k = c.k;
  const auto& p = params.as<ConvParams>();
  const Shape &lhs = c.inputs[0].shape, &rhs = c.inputs[1].shape;
  const int b = p.batch_dims;
  const Shape window = spatial(rhs, p);
  const Dim channels = lhs[b + 1];
  const Value zero = k.number(c.inputs[0].dtype, 0);
  if (lhs.size() == 0 || rhs.size() == 0) return zero;
  const auto product = [&](Value channel, const Values& offset, Value sum) {
    Value inside = k.boolean(true);
    Values left, right;
    for (int a = 0; a < b; ++a) {
      left.push_back(at(k, a));
      right.push_back(at(k, a));
    }
    left.insert(left.end(), {at(k, b), channel});
    right.insert(right.end(), {at(k, b + 1), channel});
    for (int i = 0; i < window.rank(); ++i) {
      const Value o = offset[static_cast<std::size_t>(i)];
      left.push_back(window_axis(p, lhs, rhs, i).source(k, at(k, b + 2 + i), o, inside));
      right.push_back(o);
    }
    const Value x = c.operand(0, Index::coordinates(lhs, std::move(left)));
    const Value w = c.operand(1, Index::coordinates(rhs, std::move(right)));
    return k.multiply_add(k.select(inside, x, zero), w, sum);
  };
  Shape all = window;
  all.insert(0, channels);
  const auto term = [&](Values offset, Value sum) {
    const Value channel = offset[0];
    offset.erase(offset.begin());
    return product(channel, offset, sum);
  };
  const bool written_out = all.size() <= c.unroll_limit || c.unroll_limit <= 1;
  if (written_out)
    return fold_range(c, all.size(), {zero}, [&](Value n, const Values& carried) {
      return Values{term(unravel(k, all, n), carried[0])};
    })[0];
  if (c.team != nullptr && k.depth() == 0) {
    const auto join = [&](const Values& x, const Values& y) { return Values{k.add(x[0], y[0])}; };
    return fold_jointly(
        c, all.size(), {zero},
        [&](Value n, const Values& sum) { return Values{term(unravel(k, all, n), sum[0])}; }, join,
        kernel::Op::subgroup_add)[0];
  }
  // The last axes are unrolled inside a loop over those in front, of the next one a part: offsets
  // in them are constants, and neighbours are read at once. Where positions are summed to few
  // results, a lane has many of these, and four neighbours are enough.
  const Dim most = window.rank() > 0 && sums_positions(window, spatial(c.outputs[0].shape, p))
                       ? 4
                       : unrolled_window;
  int outer = all.rank();
  Dim inner = 1;
  while (outer > 0 && inner * all[outer - 1] <= most) inner *= all[--outer];
  Dim part = 1;
  if (outer > 0)
    for (Dim d = 2; inner * d <= std::min(most, unrolled_part); ++d)
      if (all[outer - 1] % d == 0) part = d;
  const Shape back = all.part(outer, all.rank()).with_inserted(0, part);
  Shape front = all.part(0, outer);
  if (outer > 0) front = front.with(outer - 1, front[outer - 1] / part);
  const Dim trips = front.size();
  return k.count_loop(
      k.u32(static_cast<std::uint32_t>(trips)), static_cast<std::uint64_t>(trips), Values{zero},
      [&](Value trip, std::span<const Value> carried) {
        Value sum = carried[0];
        const Values far = unravel(k, front, trip);
        for (Dim n = 0; n < back.size(); ++n) {
          Values offset = far;
          const Values near = unravel(k, back, k.u32(static_cast<std::uint32_t>(n)));
          if (outer > 0)
            offset.back() =
                k.add(k.mul(offset.back(), k.u32(static_cast<std::uint32_t>(part))), near[0]);
          offset.insert(offset.end(), near.begin() + 1, near.end());
          sum = term(std::move(offset), sum);
        }
        return Values{sum};
      })[0];
}

std::vector<HostArray> conv_reference(const Params& params, std::span<const Aval> out,
                                      std::span<const HostArray> in) {
  const auto& p = params.as<ConvParams>();
  const Shape &lhs = in[0].aval.shape, &rhs = in[1].aval.shape;
  const auto b = static_cast<std::size_t>(p.batch_dims);
  Shape all = spatial(rhs, p);
  all.insert(0, lhs[p.batch_dims + 1]);
  HostArray r(out[0]);
  host::dispatch(out[0].dtype, "conv", [&]<class T>() {
    for (Dim o = 0; o < r.size(); ++o) {
      const host::Coordinates at = host::unravel(out[0].shape, o);
      T sum{0};
      for (Dim n = 0; n < all.size(); ++n) {
        const host::Coordinates k = host::unravel(all, n);
        host::Coordinates left = at, right = at;
        left[b + 1] = right[b + 1] = k[0];
        right[b] = at[b + 1];
        bool inside = true;
        for (std::size_t i = 0; i + 1 < k.size(); ++i) {
          const Dim from =
              window_axis(p, lhs, rhs, static_cast<int>(i)).source(at[b + 2 + i], k[i + 1]);
          inside &= from >= 0;
          left[b + 2 + i] = from;
          right[b + 2 + i] = k[i + 1];
        }
        const T x = inside ? host::get<T>(in[0], host::ravel(lhs, left)) : T{0};
        sum = host::plus(sum, host::times(x, host::get<T>(in[1], host::ravel(rhs, right))));
      }
      host::put<T>(r, o, sum);
    }
  });
  return {std::move(r)};
}

Batched batch_conv(const Params& params, const Arrays& in, const BatchAxes& axes, Dim size) {
  auto p = params.as<ConvParams>();
  const int b = p.batch_dims;
  if (axes[0] && axes[1]) {
    ++p.batch_dims;
    return {
        emit(conv_p, p, {batch_front(in[0], axes[0], size), batch_front(in[1], axes[1], size)}, {}),
        {0}};
  }
  // One side alone: more images, or more output channels.
  const std::size_t side = axes[0] ? 0 : 1;
  const Array x = lax::move_axis(in[side], *axes[side], b);
  const Dim rows = x.shape()[b + 1];
  Arrays operands = in;
  operands[side] = lax::reshape(x, x.shape().without(b).with(b, size * rows));
  const Array y = emit1(conv_p, p, operands, {});
  const int axis = b + static_cast<int>(side);
  return {{lax::reshape(y, y.shape().with(axis, rows).with_inserted(axis, size))}, {axis}};
}

}  // namespace

Array conv_patches(const ConvParams& p, const Array& lhs, const Shape& rhs, Loc loc) {
  const int b = p.batch_dims;
  const Shape window = spatial(rhs, p), from = spatial(lhs.shape(), p);
  Shape out;
  for (int i = 0; i < from.rank(); ++i) out.append(window_axis(p, lhs.shape(), rhs, i).count());
  const Shape pairs{window.size(), out.size()};
  Array k = lax::iota(DType::i32, pairs, 0, loc), t = lax::iota(DType::i32, pairs, 1, loc);
  const auto number = [&](Dim x) { return lax::full_like(k, static_cast<double>(x), loc); };
  const auto digit = [&](Array& rest, Dim base) {
    const Array r = emit1(rem_p, {}, {rest, number(base)}, loc);
    rest = lax::div(rest, number(base), loc);
    return r;
  };
  Array flat = number(0), inside = lax::full({DType::boolean, pairs}, 1, loc);
  const auto require = [&](const Array& condition) {
    inside = lax::logical_and(inside, condition, loc);
  };
  Dim stride = 1;
  for (int i = from.rank(); i-- > 0;) {
    const WindowAxis w = window_axis(p, lhs.shape(), rhs, i);
    Array x = lax::add(lax::mul(digit(t, out[i]), number(w.stride), loc),
                       lax::mul(digit(k, window[i]), number(w.dilation), loc), loc);
    x = lax::sub(x, number(w.lo), loc);
    require(emit1(ge_p, {}, {x, number(0)}, loc));
    require(lax::lt(x, number(WindowAxis::spread(w.length, w.base)), loc));
    if (w.base > 1) {
      require(lax::eq(emit1(rem_p, {}, {x, number(w.base)}, loc), number(0), loc));
      x = lax::div(x, number(w.base), loc);
    }
    flat = lax::add(flat, lax::mul(x, number(stride), loc), loc);
    stride *= w.length;
  }
  const Array at = lax::select(inside, flat, number(-1), loc);
  Shape merged = lhs.shape().part(0, b + 2);
  merged.append(from.size());
  const Array read = gather_or_zero(lax::reshape(lhs, merged, loc),
                                    lax::reshape(at, {pairs.size()}, loc), b + 2, 0);
  Shape patches = lhs.shape().part(0, b + 2);
  patches.append(pairs[0]);
  patches.append(pairs[1]);
  return lax::reshape(read, patches, loc);
}

const Primitive conv_p{
    .name = "conv",
    .parse = parse_params<ConvParams>,
    .shape = conv_shape,
    .jvp = [](const Params& params, const Arrays& x, const Arrays&, const Tangents& d) -> Tangents {
      std::optional<Array> sum;
      if (d[0]) sum = emit1(conv_p, params, {*d[0], x[1]}, {});
      if (d[1]) {
        const Array right = emit1(conv_p, params, {x[0], *d[1]}, {});
        sum = sum ? lax::add(*sum, right) : right;
      }
      return {sum};
    },
    .transpose = [](const TransposeArgs& t) -> Tangents {
      Tangents r(2);
      if (!t.cotangents[0]) return r;
      const auto& p = t.params.as<ConvParams>();
      const Array& ct = *t.cotangents[0];
      const bool nothing = ct.size() == 0 || t.inputs[0].size() == 0 || t.inputs[1].size() == 0;
      for (std::size_t i = 0; i < 2; ++i) {
        if (!t.linear[i]) continue;
        const Shape& shape = t.inputs[i].shape();
        r[i] = nothing  ? lax::full({ct.dtype(), shape}, 0)
               : i == 0 ? transpose_lhs(p, ct, shape, t.inputs[1])
                        : transpose_rhs(p, ct, t.inputs[0], shape);
      }
      return r;
    },
    .batch = batch_conv,
    .lower = Lowering::per_element(conv_element, Cost::heavy, Reuse::many),
    .reference = conv_reference,
};

}  // namespace gnomon
