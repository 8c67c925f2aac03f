// codegen/primitives/reductions/window.cpp -- where windows are, and the table entries of
// reductions over them.
#include "codegen/operations/window.h"

#include <algorithm>
#include <numeric>

#include "codegen/operations/gather_scatter.h"
#include "codegen/primitives/families.h"
#include "codegen/primitives/folding.h"
#include "codegen/primitives/monoid.h"
#include "shaders/math/elementary.h"

namespace gnomon {
using namespace rules;
using kernel::Builder;
using kernel::Op;
using kernel::Value;
using kernel::Values;

Dim WindowAxis::count() const {
  const Dim room = spread(length, base) + lo + hi - spread(window, dilation);
  return room < 0 ? 0 : room / stride + 1;
}

Dim WindowAxis::source(Dim o, Dim k) const {
  const Dim x = o * stride + k * dilation - lo;
  return x >= 0 && x % base == 0 && x / base < length ? x / base : -1;
}

Value WindowAxis::source(Builder& b, Value o, Value k, Value& inside) const {
  const auto u32 = [&](Dim x) { return b.u32(static_cast<std::uint32_t>(x)); };
  Value x = b.mul(o, u32(stride));
  // What is before the operand wraps around, so one comparison covers both ends.
  bool within =
      lo <= 0 && (count() - 1) * stride + (window - 1) * dilation - lo < spread(length, base);
  if (b.is_constant(k)) {
    const Dim shift = static_cast<Dim>(b.constant_bits(k)) * dilation - lo;
    x = b.add(x, u32(shift));
    within |= shift >= 0 && (count() - 1) * stride + shift < spread(length, base);
  } else {
    x = b.add(x, b.add(b.mul(k, u32(dilation)), u32(-lo)));
  }
  if (!within) inside = b.land(inside, b.compare(Op::lt, x, u32(spread(length, base))));
  if (base > 1) {
    inside = b.land(inside, b.compare(Op::eq, b.rem(x, u32(base)), u32(0)));
    x = b.div(x, u32(base));
  }
  return within ? x : b.binary(Op::minimum, x, u32(length - 1));
}

WindowAxis WindowAxis::adjoint() const {
  WindowAxis r{count(), window, base, 0, 0, stride, dilation};
  r.lo = (window - 1) * dilation - lo;
  r.hi = (length - 1) * base + (window - 1) * dilation + 1 - spread(r.length, r.base) - r.lo;
  return r;
}

WindowAxis window_axis(const WindowParams& p, const Shape& operand, int axis) {
  const auto a = static_cast<std::size_t>(axis);
  return {operand[axis], p.window[a], p.strides[a], p.lo[a], p.hi[a], p.base[a], p.dilation[a]};
}

namespace {

using namespace monoid;

void push(WindowParams& p, const WindowAxis& w) {
  p.window.push_back(w.window);
  p.strides.push_back(w.stride);
  p.lo.push_back(w.lo);
  p.hi.push_back(w.hi);
  p.base.push_back(w.base);
  p.dilation.push_back(w.dilation);
}

Shape windows_of(const WindowParams& p, const Shape& s) {
  Shape r;
  for (int a = 0; a < s.rank(); ++a) r.append(window_axis(p, s, a).count());
  return r;
}
Shape window_shape(const WindowParams& p) { return Shape(std::span<const Dim>(p.window)); }

std::vector<Aval> window_avals(std::string_view op, const Params& params, std::span<const Aval> in,
                               bool positions, Loc loc) {
  require_operands(op, in, 1, loc);
  require_dtype(op, in[0], Accepts::numbers, loc);
  const auto& p = params.as<WindowParams>();
  const auto rank = static_cast<std::size_t>(in[0].shape.rank());
  bool fits = true;
  for (const auto* v : {&p.window, &p.strides, &p.lo, &p.hi, &p.base, &p.dilation})
    fits &= v->size() == rank;
  for (const auto* v : {&p.window, &p.strides, &p.base, &p.dilation})
    fits &= std::all_of(v->begin(), v->end(), [](Dim d) { return d >= 1; });
  if (!fits)
    usage_error(op, "every axis of " + to_string(in[0]) + " needs a window of 1 or more", loc);
  return {{positions ? DType::i32 : in[0].dtype, windows_of(p, in[0].shape)}};
}

/// body(carried, offset n, position, inside) over the elements of the window at `i`.
template <class Body>
Values over_window(ElementContext& c, const WindowParams& p, const Index& i, Values carried,
                   Body&& body) {
  Builder& k = c.k;
  const Shape& shape = c.inputs[0].shape;
  const Shape window = window_shape(p);
  return fold_range(c, window.size(), std::move(carried), [&](Value n, const Values& now) {
    const Values offset = unravel(k, window, n);
    Value inside = k.boolean(true);
    Values from;
    for (int a = 0; a < shape.rank(); ++a)
      from.push_back(
          window_axis(p, shape, a).source(k, i(k, a), offset[static_cast<std::size_t>(a)], inside));
    return body(now, n, Index::coordinates(shape, std::move(from)), inside);
  });
}

template <auto Identity, auto Combine>
Value window_element(ElementContext& c, const Params& params, std::size_t, const Index& i) {
  Builder& k = c.k;
  const Value nothing = Identity(k, c.inputs[0].dtype);
  if (c.inputs[0].shape.size() == 0) return nothing;
  return over_window(c, params.as<WindowParams>(), i, {nothing},
                     [&](const Values& now, Value, const Index& at, Value inside) {
                       const Value x = k.select(inside, c.operand(0, at), nothing);
                       return Values{Combine(k, now[0], x)};
                     })[0];
}

/// f(output, flat offset within the window, operand position or -1) for all pairs, in order.
template <class F>
void for_each_in_windows(const WindowParams& p, const Shape& operand, const Shape& out, F&& f) {
  const Shape window = window_shape(p);
  for (Dim o = 0; o < out.size(); ++o) {
    const host::Coordinates at = host::unravel(out, o);
    for (Dim n = 0; n < window.size(); ++n) {
      host::Coordinates from = host::unravel(window, n);
      bool inside = true;
      for (std::size_t a = 0; a < from.size(); ++a) {
        from[a] = window_axis(p, operand, static_cast<int>(a)).source(at[a], from[a]);
        inside &= from[a] >= 0;
      }
      f(o, n, inside ? host::ravel(operand, from) : -1);
    }
  }
}

template <const Primitive& P, class Host>
std::vector<HostArray> window_reference(const Params& params, std::span<const Aval> out,
                                        std::span<const HostArray> in) {
  HostArray r(out[0]);
  host::dispatch(out[0].dtype, P.name, [&]<class T>() {
    if constexpr (accepts(Accepts::numbers, dtype_of<T>())) {
      for (Dim o = 0; o < r.size(); ++o) host::put<T>(r, o, Host::template identity<T>());
      for_each_in_windows(
          params.as<WindowParams>(), in[0].aval.shape, out[0].shape, [&](Dim o, Dim, Dim from) {
            if (from < 0) return;
            host::put<T>(r, o, Host::combine(host::get<T>(r, o), host::get<T>(in[0], from)));
          });
    }
  });
  return {std::move(r)};
}

template <const Primitive& P>
Batched batch_window(const Params& params, const Arrays& in, const BatchAxes& batch, Dim) {
  auto p = params.as<WindowParams>();
  const auto insert = [&](std::vector<Dim>& v, Dim x) { v.insert(v.begin() + *batch[0], x); };
  for (auto* v : {&p.window, &p.strides, &p.base, &p.dilation}) insert(*v, 1);
  for (auto* v : {&p.lo, &p.hi}) insert(*v, 0);
  return {emit(P, p, in, {}), {*batch[0]}};
}

Tangents transpose_window_sum(const TransposeArgs& t) {
  Tangents r(1);
  if (!t.cotangents[0]) return r;
  const Shape& shape = t.inputs[0].shape();
  const auto& p = t.params.as<WindowParams>();
  if (shape.size() == 0 || t.cotangents[0]->size() == 0) {
    r[0] = lax::full({t.cotangents[0]->dtype(), shape}, 0);
    return r;
  }
  WindowParams q;
  for (int a = 0; a < shape.rank(); ++a) push(q, window_axis(p, shape, a).adjoint());
  r[0] = emit1(window_sum_p, q, {*t.cotangents[0]}, {});
  return r;
}

/// The elements of `d` that the windows show at flat offset `n`, zero where there is nothing.
Array shown(const Array& d, const WindowParams& p, Dim n, const Shape& out) {
  const Shape& shape = d.shape();
  const host::Coordinates offset = host::unravel(window_shape(p), n);
  PadParams pad;
  std::vector<Dim> starts, limits;
  for (int a = 0; a < shape.rank(); ++a) {
    const auto i = static_cast<std::size_t>(a);
    const WindowAxis w = window_axis(p, shape, a);
    // From the first element shown to the last one.
    const Dim first = offset[i] * w.dilation - w.lo, last = first + (out[a] - 1) * w.stride;
    pad.lo.push_back(-first);
    pad.hi.push_back(last + 1 - WindowAxis::spread(w.length, w.base));
    pad.interior.push_back(w.base - 1);
    starts.push_back(0);
    limits.push_back(last - first + 1);
  }
  return lax::slice(lax::pad(d, lax::scalar(d.dtype(), 0), pad), starts, limits, p.strides);
}

/// The same at offsets that differ by window; zero where `which` is -1.
Array shown_at(const Array& d, const WindowParams& p, const Array& which) {
  const Shape& shape = d.shape();
  Array rest = which;
  std::optional<Array> flat;
  Dim stride = 1;
  for (int a = shape.rank(); a-- > 0;) {
    const auto i = static_cast<std::size_t>(a);
    const WindowAxis w = window_axis(p, shape, a);
    const Array length = lax::full_like(rest, static_cast<double>(w.window));
    const Array k = emit1(rem_p, {}, {rest, length}, {});
    rest = lax::div(rest, length);
    const Array o = lax::iota(DType::i32, which.shape(), a);
    Array x = lax::add(lax::mul(o, static_cast<double>(p.strides[i])),
                       lax::mul(k, static_cast<double>(w.dilation)));
    x = lax::add(x, static_cast<double>(-w.lo));
    if (w.base > 1) x = lax::div(x, lax::full_like(x, static_cast<double>(w.base)));
    x = lax::mul(x, static_cast<double>(stride));
    flat = flat ? lax::add(*flat, x) : x;
    stride *= shape[a];
  }
  const Array none = lax::full_like(which, -1);
  const Array at = lax::select(lax::eq(which, none), none, *flat);
  const Array read =
      gather_or_zero(lax::reshape(d, {d.size()}), lax::reshape(at, {at.size()}), 0, 0);
  return lax::reshape(read, which.shape());
}

/// Whether no two windows have an element in common, nor anything but elements, so that the operand
/// is windows in rows with a rest behind them.
bool side_by_side(const WindowParams& p, const Shape& shape) {
  for (int a = 0; a < shape.rank(); ++a) {
    const WindowAxis w = window_axis(p, shape, a);
    if (w.stride != w.window || w.base != 1 || w.lo != 0 || w.count() * w.window > w.length ||
        (w.dilation != 1 && w.window > 1))
      return false;
  }
  return true;
}

/// As the sum of `shown` where it is what `which` says, for windows side by side: these become axes
/// of their own. Backwards an element looks at one cotangent, instead of one for each offset.
Array shown_apart(const Array& d, const WindowParams& p, const Array& which) {
  Array x = d;
  Shape split, offsets;
  std::vector<int> positions, within;  // axes of `split`
  for (int a = 0; a < d.rank(); ++a) {
    const WindowAxis w = window_axis(p, d.shape(), a);
    x = lax::slice_axis(x, a, 0, w.count() * w.window);
    positions.push_back(split.rank());
    split.append(w.count());
    if (w.window == 1) continue;
    within.push_back(split.rank());
    split.append(w.window);
    offsets.append(w.window);
  }
  const Array n = lax::reshape(lax::iota(DType::i32, {offsets.size()}, 0), offsets);
  const Array here =
      lax::eq(lax::broadcast(which, split, positions), lax::broadcast(n, split, within));
  x = lax::reshape(x, split);
  return lax::sum(lax::select(here, x, lax::zeros_like(x)), within);
}

template <const Primitive& Arg>
Tangents jvp_window_extremum(const Params& params, const Arrays& in, const Arrays& out,
                             const Tangents& d) {
  const auto& p = params.as<WindowParams>();
  if (out[0].size() == 0 || in[0].size() == 0) return Tangents(1);
  const Array which = emit1(Arg, p, {in[0]}, {});
  const Dim elements = window_shape(p).size();
  if (elements > 1 && side_by_side(p, in[0].shape())) return {shown_apart(*d[0], p, which)};
  // Selections of shifted copies fuse, backwards too; for many it is one gather.
  if (elements > 32 || in[0].rank() == 0) return {shown_at(*d[0], p, which)};
  std::optional<Array> sum;
  for (Dim n = 0; n < elements; ++n) {
    const Array here = lax::eq(which, lax::full_like(which, static_cast<double>(n)));
    const Array x = shown(*d[0], p, n, out[0].shape());
    const Array part = lax::select(here, x, lax::zeros_like(x));
    sum = sum ? lax::add(*sum, part) : part;
  }
  return {sum};
}

template <const Primitive& P, auto Identity, auto Combine, class Host>
constexpr Primitive window_reduction(
    std::string_view name,
    Rule<Tangents(const Params&, const Arrays&, const Arrays&, const Tangents&)> jvp) {
  return {
      .name = name,
      .parse = parse_params<WindowParams>,
      .shape = [](const Params& params, std::span<const Aval> in,
                  Loc loc) { return window_avals(P.name, params, in, false, loc); },
      .jvp = jvp,
      .transpose = not_linear<P>,
      .batch = batch_window<P>,
      .lower = Lowering::per_element(window_element<Identity, Combine>, Cost::heavy, Reuse::many),
      .reference = window_reference<P, Host>,
  };
}

template <const Primitive& P, Op better>
constexpr Primitive window_arg(std::string_view name) {
  return {
      .name = name,
      .parse = parse_params<WindowParams>,
      .shape = [](const Params& params, std::span<const Aval> in,
                  Loc loc) { return window_avals(P.name, params, in, true, loc); },
      .jvp = zero_tangents,
      .transpose = not_linear<P>,
      .batch = batch_window<P>,
      .lower = Lowering::per_element(
          [](ElementContext& c, const Params& params, std::size_t, const Index& i) {
            Builder& k = c.k;
            const DType t = c.inputs[0].dtype;
            if (c.inputs[0].shape.size() == 0) return k.i32(-1);
            return over_window(
                c, params.as<WindowParams>(), i, {k.number(t, 0), k.i32(-1)},
                [&](const Values& now, Value n, const Index& at, Value inside) {
                  const Value x = c.operand(0, at);
                  Value wins =
                      k.lor(k.compare(Op::lt, now[1], k.i32(0)), k.compare(better, x, now[0]));
                  if (is_float(t))
                    wins = k.lor(wins, k.land(k.unary(Op::is_nan, x),
                                              k.unary(Op::bnot, k.unary(Op::is_nan, now[0]))));
                  wins = k.land(inside, wins);
                  return Values{k.select(wins, x, now[0]),
                                k.select(wins, k.convert(n, DType::i32), now[1])};
                })[1];
          },
          Cost::heavy, Reuse::many),
      .reference = [](const Params& params, std::span<const Aval> out,
                      std::span<const HostArray> in) -> std::vector<HostArray> {
        HostArray r(out[0]);
        host::dispatch(in[0].aval.dtype, P.name, [&]<class T>() {
          if constexpr (accepts(Accepts::numbers, dtype_of<T>())) {
            std::vector<T> best(static_cast<std::size_t>(r.size()), T{});
            for (Dim o = 0; o < r.size(); ++o) r.set_integer(o, -1);
            for_each_in_windows(params.as<WindowParams>(), in[0].aval.shape, out[0].shape,
                                [&](Dim o, Dim n, Dim from) {
                                  if (from < 0) return;
                                  T& b = best[static_cast<std::size_t>(o)];
                                  const T x = host::get<T>(in[0], from);
                                  const bool wins = better == Op::gt ? x > b : x < b;
                                  if (r.integer(o) >= 0 && !wins && !(x != x && b == b)) return;
                                  b = x;
                                  r.set_integer(o, n);
                                });
          }
        });
        return {std::move(r)};
      },
  };
}

}  // namespace

const Primitive window_sum_p =
    linear(window_reduction<window_sum_p, k_zero, k_binary<Op::add>, Sum>("window_sum",
                                                                          jvp_linear<window_sum_p>),
           transpose_window_sum);
const Primitive window_max_p = window_reduction<window_max_p, k_lowest, k_larger, Maximum>(
    "window_max", jvp_window_extremum<window_argmax_p>);
const Primitive window_min_p = window_reduction<window_min_p, k_highest, k_smaller, Minimum>(
    "window_min", jvp_window_extremum<window_argmin_p>);
const Primitive window_argmax_p = window_arg<window_argmax_p, Op::gt>("window_argmax");
const Primitive window_argmin_p = window_arg<window_argmin_p, Op::lt>("window_argmin");

}  // namespace gnomon
