// codegen/ops/sequence.cpp -- numbers along an axis: differences, integrals,
// polynomials, interpolation, sliding products; products of vectors; evenly spaced numbers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "codegen/lax/align.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/trace/eager.h"
#include "gnomon/numeric.h"
#include "gnomon/sorting.h"

namespace gnomon {
namespace {

Array part(const Array& a, int axis, Dim from, Dim to, Loc loc) {
  return lax::slice_axis(a, axis, from, to, loc);
}

Array minus(const Array& a, const Array& b, Loc loc) {
  return emit1(a.dtype() == DType::boolean ? ne_p : sub_p, {}, {a, b}, loc);
}

/// Rank 1, spread along `axis` of `shape`.
Array along(const Array& v, const Shape& shape, int axis, Loc loc) {
  return lax::broadcast(v, shape, {axis}, loc);
}

Array vector_of(std::string_view op, std::string_view what, const Operand& x) {
  const Array a = align::as_array(op, x);
  if (a.rank() != 1)
    usage_error(op, std::string(what) + " has rank 1, got " + to_string(a.aval()), x.loc());
  return a;
}

/// x[i + 1] - x[i] of coordinates for an axis of length n.
Array spacings(std::string_view op, const Operand& at, Dim n, DType t) {
  const Array x = lax::convert(vector_of(op, "the array of coordinates", at), t, at.loc());
  if (x.size() != n)
    usage_error(op,
                to_string(x.aval()) + " are no coordinates for " + std::to_string(n) + " values",
                at.loc());
  return minus(part(x, 0, 1, n, at.loc()), part(x, 0, 0, n - 1, at.loc()), at.loc());
}

/// Row j is `v` from element j on, `length` elements of it: [rows, length].
Array windows(const Array& v, Dim rows, Dim length, Loc loc) {
  // Rows of v one element too long shift by one each; views only, so that derivatives are sums.
  const Dim n = v.size();
  const Array repeated = lax::broadcast(v, {rows, n}, {1}, loc);
  const Array zero = lax::scalar(v.dtype(), 0, loc);
  const Array longer =
      lax::pad(lax::reshape(repeated, {rows * n}, loc), zero, PadParams{{0}, {rows}, {0}}, loc);
  return part(lax::reshape(longer, {rows, n + 1}, loc), 1, 0, length, loc);
}

/// out[k] = sum of a[k - (m - 1) + i] v[i] for all k where they touch: n + m - 1 elements.
Array slide(const Array& a, const Array& v, Loc loc) {
  const Dim n = a.size(), m = v.size();
  const Array zero = lax::scalar(a.dtype(), 0, loc);
  const Array padded = lax::pad(a, zero, PadParams{{m - 1}, {m - 1}, {0}}, loc);
  return lax::dot_general(v, windows(padded, m, n + m - 1, loc), DotParams{{0}, {0}, {}, {}}, loc);
}

Array overlapping(const Array& full, Dim n, Dim m, Overlap overlap, Loc loc) {
  if (overlap == Overlap::full) return full;
  const Dim shorter = std::min(n, m), longer = std::max(n, m);
  const Dim from = overlap == Overlap::same ? (shorter - 1) / 2 : shorter - 1;
  const Dim count = overlap == Overlap::same ? longer : longer - shorter + 1;
  return part(full, 0, from, from + count, loc);
}

Arrays vectors_to_slide(std::string_view op, const Operand& a, const Operand& v) {
  const std::array pair{a, v};
  DType t = align::common_dtype(op, pair);
  if (t == DType::boolean) t = DType::i32;
  Arrays r{lax::convert(vector_of(op, "a", a), t, a.loc()),
           lax::convert(vector_of(op, "v", v), t, a.loc())};
  if (r[0].size() == 0 || r[1].size() == 0)
    usage_error(op, to_string(r[0].aval()) + " and " + to_string(r[1].aval()) + ": one is empty",
                a.loc());
  return r;
}

}  // namespace

// ---- making arrays

Array linspace(double start, double stop, Dim count, LinspaceOptions options, Loc loc) {
  if (count < 0) usage_error("linspace", std::to_string(count) + " values; give 0 or more", loc);
  if (!is_float(options.dtype)) {
    options.dtype = DType::f32;
    usage_error("linspace", "values between numbers are floats; cast the result", loc);
  }
  const Shape shape{count};
  const Dim steps = options.endpoint ? count - 1 : count;
  const Aval aval{options.dtype, shape};
  return made("linspace", loc, [&] {
    if (steps < 1) return lax::full(aval, start, loc);
    const Array t = lax::div(lax::iota(options.dtype, shape, 0, loc),
                             lax::full(aval, static_cast<double>(steps), loc), loc);
    return lax::add(lax::mul(lax::sub_from(1, t, loc), start, loc), lax::mul(t, stop, loc), loc);
  });
}

Array logspace(double start, double stop, Dim count, double base, LinspaceOptions options,
               Loc loc) {
  return made("logspace", loc, [&] {
    const Array x = linspace(start, stop, count, options, loc);
    return emit1(pow_p, {}, {lax::full_like(x, base, loc), x}, loc);
  });
}

Array geomspace(double start, double stop, Dim count, LinspaceOptions options, Loc loc) {
  if (!(start * stop > 0))
    usage_error("geomspace",
                "from " + std::to_string(start) + " to " + std::to_string(stop) +
                    " there are no equal factors; both have one sign and are not 0",
                loc);
  const double sign = start < 0 ? -1 : 1;
  return made("geomspace", loc, [&] {
    const Array logs =
        linspace(std::log(std::fabs(start)), std::log(std::fabs(stop)), count, options, loc);
    const Array y = lax::mul(lax::unary(exp_p, logs, loc), sign, loc);
    // Both ends exactly.
    const Array at = lax::iota(DType::i32, y.shape(), 0, loc);
    const auto where_at = [&](Dim i, double value, const Array& other) {
      return lax::select(lax::eq(at, lax::full_like(at, static_cast<double>(i), loc), loc),
                         lax::full_like(y, value, loc), other, loc);
    };
    const Array first = where_at(0, start, y);
    return options.endpoint && count > 1 ? where_at(count - 1, stop, first) : first;
  });
}

Array one_hot(Operand x, Dim classes, DType dtype) {
  const Loc loc = x.loc();
  const Array a = align::as_array("one_hot", x);
  if (!is_integer(a.dtype()) || classes < 0)
    usage_error("one_hot",
                to_string(a.aval()) + " as one of " + std::to_string(classes) +
                    " classes; classes are counted by integers",
                loc);
  // Types of fewer bits cannot count all classes.
  const bool narrow = bits_of(a.dtype()) < 32;
  const Array ids = narrow ? lax::convert(a, DType::i32, loc) : a;
  const Array spread = lax::insert_axis(ids, a.rank(), classes, loc);
  const Array number = lax::iota(DType::i32, spread.shape(), a.rank(), loc);
  return lax::convert(lax::eq(spread, lax::convert(number, ids.dtype(), loc), loc), dtype, loc);
}

// ---- along an axis

Array diff(Operand x, int n, int axis) {
  const Loc loc = x.loc();
  Array a = align::as_array("diff", x);
  const int at = align::axis_of("diff", axis, a, loc);
  if (n < 0) usage_error("diff", std::to_string(n) + " times", loc);
  for (int i = 0; i < n; ++i) {
    const Dim length = a.shape()[at];
    if (length == 0) return a;
    a = minus(part(a, at, 1, length, loc), part(a, at, 0, length - 1, loc), loc);
  }
  return a;
}

Array ediff1d(Operand x) { return diff({ravel(x), x.loc()}); }

namespace {

/// `before` and `behind` are the spacings on both sides of the inner elements.
Array gradient_of(const Array& a, int at, const Array& steps, Loc loc) {
  const Dim n = a.shape()[at];
  const Array slopes =
      lax::div(minus(part(a, at, 1, n, loc), part(a, at, 0, n - 1, loc), loc), steps, loc);
  const Array before = part(steps, at, 0, n - 2, loc), behind = part(steps, at, 1, n - 1, loc);
  // The slopes on both sides, the nearer neighbour's weighing more.
  const Array inner =
      lax::div(lax::add(lax::mul(part(slopes, at, 0, n - 2, loc), behind, loc),
                        lax::mul(part(slopes, at, 1, n - 1, loc), before, loc), loc),
               lax::add(before, behind, loc), loc);
  return lax::concatenate({part(slopes, at, 0, 1, loc), inner, part(slopes, at, n - 2, n - 1, loc)},
                          at, loc);
}

int gradient_axis(std::string_view op, int axis, const Array& a, Loc loc) {
  const int at = align::axis_of(op, axis, a, loc);
  if (a.shape()[at] < 2)
    usage_error(op,
                "axis " + std::to_string(at) + " of " + to_string(a.aval()) +
                    " has fewer than two elements",
                loc);
  return at;
}

}  // namespace

Array gradient(Operand x, double spacing, int axis) {
  const Loc loc = x.loc();
  return at_once("gradient", loc, [&]() -> Array {
    const Array a = align::as_float("gradient", x);
    const int at = gradient_axis("gradient", axis, a, loc);
    const Shape steps = a.shape().with(at, a.shape()[at] - 1);
    return gradient_of(a, at, lax::full({a.dtype(), steps}, spacing, loc), loc);
  });
}

Array gradient(Operand x, Operand coordinates, int axis) {
  const Loc loc = x.loc();
  return at_once("gradient", loc, [&]() -> Array {
    const Array a = align::as_float("gradient", x);
    const int at = gradient_axis("gradient", axis, a, loc);
    const Dim n = a.shape()[at];
    const Array steps = spacings("gradient", coordinates, n, a.dtype());
    return gradient_of(a, at, along(steps, a.shape().with(at, n - 1), at, loc), loc);
  });
}

namespace {
Array middles(const Array& a, int at, Loc loc) {
  const Dim n = a.shape()[at];
  return lax::mul(lax::add(part(a, at, 1, n, loc), part(a, at, 0, n - 1, loc), loc), 0.5, loc);
}
}  // namespace

Array trapezoid(Operand y, double spacing, int axis) {
  const Loc loc = y.loc();
  return at_once("trapezoid", loc, [&]() -> Array {
    const Array a = align::as_float("trapezoid", y);
    const int at = align::axis_of("trapezoid", axis, a, loc);
    if (a.shape()[at] == 0) return lax::sum(a, {at}, loc);
    return lax::mul(lax::sum(middles(a, at, loc), {at}, loc), spacing, loc);
  });
}

Array trapezoid(Operand y, Operand x, int axis) {
  const Loc loc = y.loc();
  return at_once("trapezoid", loc, [&]() -> Array {
    const Array a = align::as_float("trapezoid", y);
    const int at = align::axis_of("trapezoid", axis, a, loc);
    const Dim n = a.shape()[at];
    if (n == 0) return lax::sum(a, {at}, loc);
    const Array steps = spacings("trapezoid", x, n, a.dtype());
    const Array weight = along(steps, a.shape().with(at, n - 1), at, loc);
    return lax::sum(lax::mul(middles(a, at, loc), weight, loc), {at}, loc);
  });
}

Array unwrap(Operand x, int axis, double period) {
  const Loc loc = x.loc();
  const Array a = align::as_float("unwrap", x);
  const int at = align::axis_of("unwrap", axis, a, loc);
  const Dim n = a.shape()[at];
  if (n < 2) return a;
  const Array jumps = minus(part(a, at, 1, n, loc), part(a, at, 0, n - 1, loc), loc);
  const Array turns =
      lax::unary(round_p, lax::div(jumps, lax::full_like(jumps, period, loc), loc), loc);
  // Halves keep their jump's sign: jumps of exactly half a period stay. Whole turns add up exactly.
  const Array left_over = lax::sub(jumps, lax::mul(turns, period, loc), loc);
  const Array half = lax::full_like(jumps, period / 2, loc);
  const Array stays = emit1(le_p, {}, {lax::unary(abs_p, jumps, loc), half}, loc);
  const Array flips = lax::logical_and(lax::eq(lax::unary(abs_p, left_over, loc), half, loc),
                                       emit1(ne_p, {},
                                             {lax::lt(left_over, lax::zeros_like(jumps, loc), loc),
                                              lax::lt(jumps, lax::zeros_like(jumps, loc), loc)},
                                             loc),
                                       loc);
  Array count =
      lax::select(flips, lax::add(turns, lax::unary(sign_p, left_over, loc), loc), turns, loc);
  count = lax::select(stays, lax::zeros_like(turns, loc), count, loc);
  Array total = lax::unary(stop_gradient_p, count, loc);
  const Array zero = lax::scalar(a.dtype(), 0, loc);
  const auto rank = static_cast<std::size_t>(a.rank()), k = static_cast<std::size_t>(at);
  const auto shifted = [&](const Array& v, Dim by, Dim cut) {
    PadParams p{std::vector<Dim>(rank, 0), std::vector<Dim>(rank, 0), std::vector<Dim>(rank, 0)};
    p.lo[k] = by;
    p.hi[k] = -cut;
    return lax::pad(v, zero, std::move(p), loc);
  };
  for (Dim step = 1; step < n - 1; step *= 2)
    total = lax::add(total, shifted(total, step, step), loc);
  return lax::sub(a, lax::mul(shifted(total, 1, 0), period, loc), loc);
}

Array polyval(Operand coefficients, Operand x) {
  const Loc loc = x.loc();
  return at_once("polyval", loc, [&]() -> Array {
    const std::array pair{coefficients, x};
    const DType t = align::common_dtype("polyval", pair);
    const Array c =
        lax::convert(vector_of("polyval", "the array of coefficients", coefficients), t, loc);
    const Array v = align::in_dtype("polyval", x, t);
    Array y = lax::zeros_like(v, loc);
    for (Dim i = 0; i < c.size(); ++i)
      y = lax::add(lax::mul(y, v, loc), lax::broadcast(c[i], v.shape(), {}, loc), loc);
    return y;
  });
}

Array interp(Operand x, Operand xp, Operand fp, std::optional<double> left,
             std::optional<double> right) {
  const Loc loc = x.loc();
  return at_once("interp", loc, [&]() -> Array {
    const std::array all{x, xp, fp};
    const DType t = align::float_dtype(align::common_dtype("interp", all));
    const Array v = align::in_dtype("interp", x, t);
    const Array px = lax::convert(vector_of("interp", "xp", xp), t, loc);
    const Array pf = lax::convert(vector_of("interp", "fp", fp), t, loc);
    const Dim n = px.size();
    if (n == 0 || pf.size() != n)
      usage_error("interp",
                  to_string(px.aval()) + " and " + to_string(pf.aval()) +
                      " are no points; give one value for each coordinate",
                  loc);
    const auto pick = [&](const Array& from, const Array& at) {
      const Array flat = lax::reshape(at, {at.size()}, loc);
      return lax::reshape(emit1(gather_p, GatherParams{0, 0, GatherMode::clip}, {from, flat}, loc),
                          at.shape(), loc);
    };
    const auto full = [&](double value) { return lax::full_like(v, value, loc); };
    Array y = lax::broadcast(pf[0], v.shape(), {}, loc);
    if (n > 1) {
      // The segment that starts at the last point not behind x.
      const Array behind = searchsorted({lax::unary(stop_gradient_p, px, loc), loc},
                                        {lax::unary(stop_gradient_p, v, loc), loc}, Side::right);
      const auto index = [&](double number) { return lax::full_like(behind, number, loc); };
      const Array upper =
          emit1(clamp_p, {}, {index(1), behind, index(static_cast<double>(n - 1))}, loc);
      const Array lower = lax::add(upper, -1, loc);
      const Array x0 = pick(px, lower), f0 = pick(pf, lower);
      const Array width = minus(pick(px, upper), x0, loc), rise = minus(pick(pf, upper), f0, loc);
      const Array no_width = lax::eq(width, full(0), loc);
      const Array safe = lax::select(no_width, full(1), width, loc);
      const Array slope = lax::div(minus(v, x0, loc), safe, loc);
      y = lax::select(no_width, f0, lax::add(f0, lax::mul(slope, rise, loc), loc), loc);
    }
    const auto end = [&](const std::optional<double>& given, Dim i) {
      return given ? full(*given) : lax::broadcast(pf[i], v.shape(), {}, loc);
    };
    const Array first = lax::broadcast(px[0], v.shape(), {}, loc),
                last = lax::broadcast(px[n - 1], v.shape(), {}, loc);
    y = lax::select(lax::lt(v, first, loc), end(left, 0), y, loc);
    y = lax::select(lax::lt(last, v, loc), end(right, n - 1), y, loc);
    const Array nan = full(std::numeric_limits<double>::quiet_NaN());
    return lax::select(lax::unary(isnan_p, v, loc), nan, y, loc);
  });
}

Array convolve(Operand a, Operand v, Overlap overlap) {
  const Loc loc = a.loc();
  return at_once("convolve", loc, [&]() -> Array {
    Arrays x = vectors_to_slide("convolve", a, v);
    // The shorter one slides.
    if (x[0].size() < x[1].size()) std::swap(x[0], x[1]);
    const Array full = slide(x[0], lax::reverse(x[1], {0}, loc), loc);
    return overlapping(full, x[0].size(), x[1].size(), overlap, loc);
  });
}

Array correlate(Operand a, Operand v, Overlap overlap) {
  const Loc loc = a.loc();
  return at_once("correlate", loc, [&]() -> Array {
    const Arrays x = vectors_to_slide("correlate", a, v);
    const Dim n = x[0].size(), m = x[1].size();
    if (n >= m) return overlapping(slide(x[0], x[1], loc), n, m, overlap, loc);
    // Exchanged operands give the result backwards.
    return lax::reverse(overlapping(slide(x[1], x[0], loc), n, m, overlap, loc), {0}, loc);
  });
}

// ---- products of vectors

Array cross(Operand a, Operand b) {
  const Loc loc = a.loc();
  return at_once("cross", loc, [&]() -> Array {
    const std::array pair{a, b};
    const DType t = align::common_dtype("cross", pair);
    const Array x = align::in_dtype("cross", a, t), y = align::in_dtype("cross", b, t);
    const auto length = [](const Array& v) { return v.rank() == 0 ? 0 : v.dim(-1); };
    const Dim n = length(x), m = length(y);
    if (n < 2 || n > 3 || m < 2 || m > 3)
      usage_error("cross",
                  to_string(x.aval()) + " and " + to_string(y.aval()) +
                      ": the last axes have length 2 or 3",
                  loc);
    const auto component = [&](const Array& v, Dim i) -> Array {
      const int last = v.rank() - 1;
      const Array c = lax::reshape(part(v, last, i, i + 1, loc), v.shape().without(last), loc);
      return c;
    };
    // The products of components i of x and j of y; a missing third one is 0.
    const auto term = [&](Dim i, Dim j) -> Array {
      const auto at = [&](const Array& v, Dim k) {
        return k < v.dim(-1) ? component(v, k) : lax::zeros_like(component(v, 0), loc);
      };
      return subtract({multiply({at(x, i), loc}, {at(y, j), loc}), loc},
                      {multiply({at(x, j), loc}, {at(y, i), loc}), loc});
    };
    if (n == 2 && m == 2) return term(0, 1);
    return stack({term(1, 2), term(2, 0), term(0, 1)}, -1, loc);
  });
}

Array vdot(Operand a, Operand b) { return dot({ravel(a), a.loc()}, {ravel(b), b.loc()}); }

Array inner(Operand a, Operand b) {
  const Loc loc = a.loc();
  return at_once("inner", loc, [&]() -> Array {
    const Array x = align::as_array("inner", a), y = align::as_array("inner", b);
    if (x.rank() == 0 || y.rank() == 0) return multiply(a, b);
    return tensordot({x, loc}, {y, loc}, {x.rank() - 1}, {y.rank() - 1});
  });
}

}  // namespace gnomon
