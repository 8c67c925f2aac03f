// codegen/primitives/reductions/cumulative.cpp -- table entries of running sums, products, extrema
// and linear recurrences. The derivative of each is a linear recurrence, which is closed under
// derivatives.
#include "codegen/operations/cumulative.h"

#include <cmath>
#include <limits>

#include "codegen/primitives/families.h"
#include "codegen/primitives/monoid.h"
#include "codegen/primitives/reductions/blocked_scan.h"

namespace gnomon {
using namespace rules;

namespace {

using namespace monoid;

constexpr double inf = std::numeric_limits<double>::infinity();

Params reversed(const Params& params) {
  auto p = params.as<CumulativeParams>();
  p.reverse = !p.reverse;
  return p;
}

/// The element that comes before each one (behind each one, for `before` < 0) in the order of the
/// operation; `value` at the end.
Array shifted(const Array& a, const CumulativeParams& p, double value, Dim before = 1) {
  const auto rank = static_cast<std::size_t>(a.rank());
  PadParams pad{std::vector<Dim>(rank, 0), std::vector<Dim>(rank, 0), std::vector<Dim>(rank, 0)};
  const auto axis = static_cast<std::size_t>(p.axis);
  pad.lo[axis] = p.reverse ? -before : before;
  pad.hi[axis] = -pad.lo[axis];
  if (a.shape()[p.axis] == 0) return a;
  return lax::pad(a, lax::scalar(a.dtype(), value), pad);
}

Array recurrence(const Array& a, const Array& b, const CumulativeParams& p) {
  return emit1(linear_recurrence_p, p, {a, b}, {});
}

Tangents jvp_running_product(const Params& params, const Arrays& x, const Arrays& y,
                             const Tangents& d) {
  const auto& p = params.as<CumulativeParams>();
  return {recurrence(x[0], lax::mul(shifted(y[0], p, 1), *d[0]), p)};
}

/// All elements that equal the extremum so far share its derivative.
Tangents jvp_running_extremum(const Params& params, const Arrays& x, const Arrays& y,
                              const Tangents& d) {
  const auto& p = params.as<CumulativeParams>();
  const DType t = x[0].dtype();
  // Nothing equals the NaN in front of the first element.
  const Array same = lax::convert(lax::eq(y[0], shifted(y[0], p, std::nan(""))), t);
  const Array hit = lax::convert(lax::eq(x[0], y[0]), t);
  return {lax::div(recurrence(same, lax::mul(hit, *d[0]), p), recurrence(same, hit, p))};
}

Tangents jvp_logsumexp(const Params& params, const Arrays& x, const Arrays& y, const Tangents& d) {
  const auto& p = params.as<CumulativeParams>();
  // Where nothing but -inf has come so far the weights are 0.
  const Array top = lax::select(lax::unary(isfinite_p, y[0]), y[0], lax::zeros_like(y[0]));
  const Array keep = lax::unary(exp_p, lax::sub(shifted(y[0], p, -inf), top));
  const Array weight = lax::unary(exp_p, lax::sub(x[0], top));
  return {recurrence(keep, lax::mul(weight, *d[0]), p)};
}

Tangents jvp_recurrence(const Params& params, const Arrays& x, const Arrays& y, const Tangents& d) {
  const auto& p = params.as<CumulativeParams>();
  std::optional<Array> input = d[1];
  if (d[0]) {
    const Array moved = lax::mul(*d[0], shifted(y[0], p, 0));
    input = input ? lax::add(*input, moved) : moved;
  }
  return {input ? std::optional(recurrence(x[0], *input, p)) : std::nullopt};
}

Tangents transpose_recurrence(const TransposeArgs& t) {
  Tangents r(2);
  GNOMON_CHECK(!t.linear[0], "linear_recurrence is not linear in its factors");
  const auto& p = t.params.as<CumulativeParams>();
  if (t.cotangents[0])
    r[1] = emit1(linear_recurrence_p, reversed(t.params),
                 {shifted(t.inputs[0], p, 0, -1), *t.cotangents[0]}, {});
  return r;
}

Tangents transpose_running_sum(const TransposeArgs& t) {
  Tangents r(1);
  if (t.cotangents[0]) r[0] = emit1(cumsum_p, reversed(t.params), {*t.cotangents[0]}, {});
  return r;
}

// ---- on the device

Array join_logsumexp(const Array& a, const Array& b) {
  const Array high = emit1(max_p, {}, {a, b}, {}), low = emit1(min_p, {}, {a, b}, {});
  const Array more = lax::unary(log1p_p, lax::unary(exp_p, lax::sub(low, high)));
  return lax::select(lax::unary(isfinite_p, high), lax::add(high, more), high);
}

Array join_sum(const Array& a, const Array& b) { return lax::add(a, b); }
Array join_product(const Array& a, const Array& b) { return lax::mul(a, b); }
Array join_max(const Array& a, const Array& b) { return emit1(max_p, {}, {a, b}, {}); }
Array join_min(const Array& a, const Array& b) { return emit1(min_p, {}, {a, b}, {}); }
Array zero(DType t) { return lax::scalar(t, 0); }
Array one(DType t) { return lax::scalar(t, 1); }
Array lowest(DType t) { return lax::lowest(t); }
Array highest(DType t) { return lax::highest(t); }

template <auto Join, auto Identity>
constexpr Running single{[](const Arrays& a, const Arrays& b) { return Arrays{Join(a[0], b[0])}; },
                         [](const Arrays& like) { return Arrays{Identity(like[0].dtype())}; }};

// The maps y -> a y + b, one after the other.
constexpr Running affine{
    [](const Arrays& f, const Arrays& g) {
      return Arrays{lax::mul(f[0], g[0]), lax::add(lax::mul(g[0], f[1]), g[1])};
    },
    [](const Arrays& like) {
      return Arrays{one(like[0].dtype()), zero(like[0].dtype())};
    }};

template <const Running& R>
Arrays expand_single(const Params& params, const Arrays& in, const Target& target, Loc loc) {
  const auto& p = params.as<CumulativeParams>();
  return blocked_scan(R, in, p.axis, p.reverse, target, loc);
}

Arrays expand_recurrence(const Params& params, const Arrays& in, const Target& target, Loc loc) {
  const auto& p = params.as<CumulativeParams>();
  return {blocked_scan(affine, in, p.axis, p.reverse, target, loc)[1]};
}

// ---- on the host

/// step(output position, input position of the element before, or -1) along every line.
template <class F>
void for_each_line(const Shape& shape, const CumulativeParams& p, F&& step) {
  const Dim n = shape[p.axis], behind = shape.part(p.axis + 1, shape.rank()).size();
  for (Dim before = 0; before < shape.part(0, p.axis).size(); ++before)
    for (Dim s = 0; s < behind; ++s)
      for (Dim i = 0; i < n; ++i) {
        const auto at = [&](Dim j) {
          return (before * n + (p.reverse ? n - 1 - j : j)) * behind + s;
        };
        step(at(i), i == 0 ? -1 : at(i - 1));
      }
}

struct LogSumExp {
  template <class T>
  static T combine(T a, T b) {
    const T high = host::larger(a, b), low = host::smaller(a, b);
    return std::isfinite(high) ? high + std::log1p(std::exp(low - high)) : high;
  }
};

template <const Primitive& P, Accepts A, class Host>
std::vector<HostArray> single_reference(const Params& params, std::span<const Aval> out,
                                        std::span<const HostArray> in) {
  HostArray r(out[0]);
  host::dispatch(out[0].dtype, P.name, [&]<class T>() {
    if constexpr (accepts(A, dtype_of<T>()))
      for_each_line(out[0].shape, params.as<CumulativeParams>(), [&](Dim i, Dim before) {
        using C = host::Computed<T>;
        const C x = static_cast<C>(host::get<T>(in[0], i));
        const C next = before < 0 ? x : Host::combine(static_cast<C>(host::get<T>(r, before)), x);
        host::put<T>(r, i, static_cast<T>(next));
      });
  });
  return {std::move(r)};
}

std::vector<Aval> shape_of(std::string_view op, const Params& params, std::span<const Aval> in,
                           std::size_t operands, Accepts accepted, Loc loc) {
  const Aval a = elementwise_aval(op, in, operands, accepted, loc);
  const int axis = params.as<CumulativeParams>().axis;
  if (axis < 0 || axis >= a.shape.rank())
    usage_error(op, "axis " + std::to_string(axis) + " is out of range for " + to_string(a), loc);
  return {a};
}

template <const Primitive& P>
Batched batch_line(const Params& params, const Arrays& in, const BatchAxes& batch, Dim size) {
  const Aligned a = align_batch(in, batch, size);
  auto p = params.as<CumulativeParams>();
  if (p.axis >= a.axis) ++p.axis;
  return {emit(P, p, a.values, {}), {a.axis}};
}

template <const Primitive& P, Accepts A, const Running& R, class Host>
constexpr Primitive cumulative(
    std::string_view name,
    Rule<Tangents(const Params&, const Arrays&, const Arrays&, const Tangents&)> jvp) {
  return {
      .name = name,
      .parse = parse_params<CumulativeParams>,
      .shape = [](const Params& params, std::span<const Aval> in,
                  Loc loc) { return shape_of(P.name, params, in, 1, A, loc); },
      .jvp = jvp,
      .transpose = not_linear<P>,
      .batch = batch_line<P>,
      .lower = Lowering::expanded(expand_single<R>),
      .reference = single_reference<P, A, Host>,
  };
}

}  // namespace

const Primitive cumsum_p =
    linear(cumulative<cumsum_p, Accepts::numbers, single<join_sum, zero>, Sum>(
               "cumsum", jvp_linear<cumsum_p>),
           transpose_running_sum);
const Primitive cumprod_p =
    cumulative<cumprod_p, Accepts::numbers, single<join_product, one>, Product>(
        "cumprod", jvp_running_product);
const Primitive cummax_p =
    cumulative<cummax_p, Accepts::numbers, single<join_max, lowest>, Maximum>("cummax",
                                                                              jvp_running_extremum);
const Primitive cummin_p =
    cumulative<cummin_p, Accepts::numbers, single<join_min, highest>, Minimum>(
        "cummin", jvp_running_extremum);
const Primitive cumlogsumexp_p =
    cumulative<cumlogsumexp_p, Accepts::floats, single<join_logsumexp, lowest>, LogSumExp>(
        "cumlogsumexp", jvp_logsumexp);

const Primitive linear_recurrence_p{
    .name = "linear_recurrence",
    .parse = parse_params<CumulativeParams>,
    .shape =
        [](const Params& params, std::span<const Aval> in, Loc loc) {
          return shape_of("linear_recurrence", params, in, 2, Accepts::numbers, loc);
        },
    .jvp = jvp_recurrence,
    .transpose = transpose_recurrence,
    .batch = batch_line<linear_recurrence_p>,
    .lower = Lowering::expanded(expand_recurrence),
    .reference = [](const Params& params, std::span<const Aval> out,
                    std::span<const HostArray> in) -> std::vector<HostArray> {
      HostArray r(out[0]);
      host::dispatch(out[0].dtype, "linear_recurrence", [&]<class T>() {
        if constexpr (accepts(Accepts::numbers, dtype_of<T>()))
          for_each_line(out[0].shape, params.as<CumulativeParams>(), [&](Dim i, Dim before) {
            const T y = before < 0 ? T{0} : host::get<T>(r, before);
            host::put<T>(
                r, i, host::plus(host::times(host::get<T>(in[0], i), y), host::get<T>(in[1], i)));
          });
      });
      return {std::move(r)};
    },
};

}  // namespace gnomon
