// codegen/ops/fft.cpp -- public Fourier transforms.
#include <algorithm>
#include <array>
#include <cmath>

#include "codegen/lax/align.h"
#include "codegen/ops/linalg.h"
#include "codegen/primitives/linalg/fft.h"
#include "codegen/primitives/matrix.h"
#include "codegen/trace/eager.h"
#include "gnomon/fft.h"

namespace gnomon::fft {
namespace {

using fourier::Pair;
using linalg::At;

/// `f()`, both parts of one program.
template <class F>
Complex whole(std::string_view op, Loc loc, const F& f) {
  const Arrays both = at_once(op, loc, [&] {
    const At at(loc);
    const Complex c = f();
    return Arrays{c.re, c.im};
  });
  return {both[0], both[1]};
}

/// Both parts as floats of one type.
Pair parts(std::string_view op, const Operand& re, const Operand& im) {
  const std::array both{re, im};
  const Arrays x = align::aligned(op, both, align::float_dtype(align::common_dtype(op, both)));
  return {x[0], x[1]};
}

int axis_of(std::string_view op, const Array& a, int axis, Loc loc) {
  if (a.rank() == 0)
    usage_error(op, "takes arrays with an axis to transform, got " + to_string(a.aval()), loc);
  return align::axis_of(op, axis, a, loc);
}

void check_length(std::string_view op, Dim n, Loc loc) {
  if (n < 1)
    usage_error(op, "a transform of length " + std::to_string(n) + "; it needs at least 1 element",
                loc);
  if (!fourier::smooth(n) && n > fourier::longest_convolution)
    usage_error(op,
                "length " + std::to_string(n) +
                    " has a prime factor above 13 and is longer than 2^22; pad it to a length with "
                    "small factors",
                loc);
}

/// The axis behind all others, with n elements.
Array prepared(const Array& a, int axis, Dim n) {
  const int last = a.rank() - 1;
  const Array moved = lax::move_axis(a, axis, last);
  const Dim have = moved.shape()[last];
  if (n <= have) return lax::slice_axis(moved, last, 0, n);
  PadParams p;
  p.lo.assign(static_cast<std::size_t>(a.rank()), 0);
  p.hi = p.interior = p.lo;
  p.hi.back() = n - have;
  return lax::pad(moved, lax::scalar(a.dtype(), 0), std::move(p));
}

double scale_of(Norm norm, Dim n, bool inverse) {
  const double size = static_cast<double>(n);
  if (norm == Norm::ortho) return 1 / std::sqrt(size);
  return (norm == Norm::backward) == inverse ? 1 / size : 1;
}

Array scaled(const Array& a, double by) { return by == 1 ? a : lax::mul(a, by); }

/// Transforms the last axis.
Pair along_last(const Pair& x, bool inverse, double scale) {
  const Pair y = fourier::transform(inverse ? Pair{x.im, x.re} : x);
  return inverse ? Pair{scaled(y.im, scale), scaled(y.re, scale)}
                 : Pair{scaled(y.re, scale), scaled(y.im, scale)};
}

Complex back_in_place(const Pair& y, int axis) {
  const int last = y.re.rank() - 1;
  return {lax::move_axis(y.re, last, axis), lax::move_axis(y.im, last, axis)};
}

Complex one_axis(std::string_view op, const Pair& x, const Options& o, bool inverse, Loc loc) {
  const int axis = axis_of(op, x.re, o.axis, loc);
  const Dim n = o.n.value_or(x.re.shape()[axis]);
  check_length(op, n, loc);
  const Pair y = along_last({prepared(x.re, axis, n), prepared(x.im, axis, n)}, inverse,
                            scale_of(o.norm, n, inverse));
  return back_in_place(y, axis);
}

/// What to do along each axis, one after the other.
std::vector<Options> each_axis(std::string_view op, const Array& a, AxesOptions o, Loc loc) {
  const int rank = a.rank(), lengths = static_cast<int>(o.n.size());
  if (o.axes.empty()) {
    if (lengths > rank)
      usage_error(op,
                  std::to_string(lengths) + " lengths for the axes of " + to_string(a.aval()) +
                      "; give at most one for each",
                  loc);
    for (int i = lengths == 0 ? 0 : rank - lengths; i < rank; ++i) o.axes.push_back(i);
  }
  align::axes_of(op, o.axes, a, loc);
  if (!o.n.empty() && o.n.size() != o.axes.size())
    usage_error(op,
                std::to_string(lengths) + " lengths for " + std::to_string(o.axes.size()) +
                    " axes; give one for each",
                loc);
  std::vector<Options> all;
  for (std::size_t i = 0; i < o.axes.size(); ++i) {
    all.push_back({.axis = o.axes[i], .norm = o.norm});
    if (!o.n.empty()) all.back().n = o.n[i];
  }
  return all;
}

Complex along_each(std::string_view op, Complex x, std::span<const Options> axes, bool inverse,
                   Loc loc) {
  for (const Options& o : axes) x = one_axis(op, {x.re, x.im}, o, inverse, loc);
  return x;
}

Complex several(std::string_view op, const ComplexOperand& x, const AxesOptions& o, bool inverse) {
  const Loc loc = x.loc();
  return whole(op, loc, [&] {
    const Pair p = parts(op, x.re(), x.im());
    return along_each(op, {p.re, p.im}, each_axis(op, p.re, o, loc), inverse, loc);
  });
}

/// Axes of a transform of real arrays, at least one.
std::vector<Options> real_axes(std::string_view op, const Array& a, AxesOptions o, Loc loc) {
  std::vector<Options> axes = each_axis(op, a, std::move(o), loc);
  if (axes.empty())
    usage_error(op, "takes arrays with an axis to transform, got " + to_string(a.aval()), loc);
  return axes;
}

/// Elements h, h - 1, ..., 0 of the last axis, which has h + 1.
Array backwards(const Array& a) { return lax::reverse(a, {a.rank() - 1}); }

/// exp(-2 pi i k / n) for k = 0 .. h, along the last axis of `like`.
Pair half_turn(const Array& like, Dim n) {
  const Dim count = like.shape()[like.rank() - 1];
  const Pair w = fourier::roots(lax::iota(DType::i32, {count}, 0), n, like.dtype());
  const std::vector<int> last{like.rank() - 1};
  return {lax::broadcast(w.re, like.shape(), last), lax::broadcast(w.im, like.shape(), last)};
}

/// Even n: even elements as real parts and odd ones as imaginary parts of half the length, taken
/// apart by symmetry afterwards.
Pair real_by_halves(const Array& given, Dim n) {
  using matrix::Term;
  const Array x = lax::reshape(given, fourier::in_rows(given.shape()));
  const int last = x.rank() - 1;
  const Dim h = n / 2;
  const auto every_second = [&](Dim first) {
    const Array pairs = lax::reshape(x, matrix::extended(x.shape().without(last), {h, 2}));
    return lax::reshape(lax::slice_axis(pairs, last + 1, first, first + 1),
                        x.shape().with(last, h));
  };
  const Pair z = fourier::transform({every_second(0), every_second(1)});
  const auto wrapped = [&](const Array& a) {
    return lax::concatenate({a, lax::slice_axis(a, last, 0, 1)}, last);
  };
  const Term re = wrapped(z.re), im = wrapped(z.im);
  const Term re_back = backwards(re), im_back = backwards(im);
  // Transforms of the even elements, and of the odd ones.
  const Term even_re = (re + re_back) * 0.5, even_im = (im - im_back) * 0.5;
  const Term odd_re = (im + im_back) * 0.5, odd_im = (re_back - re) * 0.5;
  const Pair w = half_turn(re, n);
  const Term c = w.re, s = w.im;
  const Shape shape = given.shape().with(given.rank() - 1, h + 1);
  return {lax::reshape(even_re + c * odd_re - s * odd_im, shape),
          lax::reshape(even_im + c * odd_im + s * odd_re, shape)};
}

Array inverse_by_halves(const Pair& given, Dim n) {
  using matrix::Term;
  const Shape shape = given.re.shape(), rows = fourier::in_rows(shape);
  const Pair x{lax::reshape(given.re, rows), lax::reshape(given.im, rows)};
  const int last = x.re.rank() - 1;
  const Dim h = n / 2;
  // The ends of the spectrum of a real array are real.
  const Array k = lax::iota(DType::i32, x.im.shape(), last);
  const Array end = matrix::either(matrix::equals(k, 0), matrix::equals(k, static_cast<double>(h)));
  const Term re = x.re, im = matrix::choose(end, lax::zeros_like(x.im), x.im);
  const Term re_back = backwards(re), im_back = backwards(im);
  const Term even_re = (re + re_back) * 0.5, even_im = (im - im_back) * 0.5;
  const Term apart_re = (re - re_back) * 0.5, apart_im = (im + im_back) * 0.5;
  const Pair w = half_turn(re, n);
  const Term c = w.re, s = w.im;  // the inverse turns the other way
  const Term odd_re = c * apart_re + s * apart_im, odd_im = c * apart_im - s * apart_re;
  const auto first = [&](const Term& a) { return lax::slice_axis(a.a, last, 0, h); };
  const Pair z = along_last({first(even_re - odd_im), first(even_im + odd_re)}, true,
                            1 / static_cast<double>(h));
  const auto apart = [&](const Array& a) { return lax::insert_axis(a, last + 1, 1); };
  const Array both = lax::concatenate({apart(z.re), apart(z.im)}, last + 1);
  return lax::reshape(both, shape.with(shape.rank() - 1, n));
}

}  // namespace

Complex fft(ComplexOperand x, Options options) {
  return whole("fft::fft", x.loc(), [&] {
    return one_axis("fft::fft", parts("fft::fft", x.re(), x.im()), options, false, x.loc());
  });
}
Complex fft(Operand x, Options options) {
  return whole("fft::fft", x.loc(),
               [&] { return fft(ComplexOperand(complex(x), x.loc()), options); });
}

Complex ifft(ComplexOperand x, Options options) {
  return whole("fft::ifft", x.loc(), [&] {
    return one_axis("fft::ifft", parts("fft::ifft", x.re(), x.im()), options, true, x.loc());
  });
}
Complex ifft(Operand x, Options options) {
  return whole("fft::ifft", x.loc(),
               [&] { return ifft(ComplexOperand(complex(x), x.loc()), options); });
}

namespace {

Complex real_forward(std::string_view op, const Array& a, const Options& options, Loc loc) {
  const int axis = axis_of(op, a, options.axis, loc);
  const Dim n = options.n.value_or(a.shape()[axis]);
  check_length(op, n, loc);
  const Array line = prepared(a, axis, n);
  const int last = a.rank() - 1;
  Pair y;
  if (n % 2 == 0) {
    y = real_by_halves(line, n);
  } else {
    const Pair all = fourier::transform({line, lax::zeros_like(line)});
    y = {lax::slice_axis(all.re, last, 0, n / 2 + 1), lax::slice_axis(all.im, last, 0, n / 2 + 1)};
  }
  const double scale = scale_of(options.norm, n, false);
  return back_in_place({scaled(y.re, scale), scaled(y.im, scale)}, axis);
}

Array real_inverse(std::string_view op, const Pair& p, const Options& options, Loc loc) {
  const int axis = axis_of(op, p.re, options.axis, loc);
  const Dim n = options.n.value_or(2 * (p.re.shape()[axis] - 1));
  check_length(op, n, loc);
  const Dim h = n / 2;
  const Pair half{prepared(p.re, axis, h + 1), prepared(p.im, axis, h + 1)};
  const int last = p.re.rank() - 1;
  Array y;
  if (n % 2 == 0) {
    y = inverse_by_halves(half, n);
  } else {
    // The other half are the conjugates in reverse; element 0 is real.
    const auto mirrored = [&](const Array& a, const Array& first, bool negative) {
      const Array rest = lax::slice_axis(a, last, 1, h + 1);
      const Array back = backwards(rest);
      return lax::concatenate({first, rest, negative ? lax::neg(back) : back}, last);
    };
    const Array first = lax::slice_axis(half.re, last, 0, 1);
    y = n == 1 ? first
               : along_last({mirrored(half.re, first, false),
                             mirrored(half.im, lax::zeros_like(first), true)},
                            true, 1 / static_cast<double>(n))
                     .re;
  }
  // The inverse of the default norm is in it already.
  const double scale = scale_of(options.norm, n, true) * static_cast<double>(n);
  return lax::move_axis(scaled(y, scale), last, axis);
}

Complex real_forward(std::string_view op, const Operand& x, const AxesOptions& options) {
  const Loc loc = x.loc();
  return whole(op, loc, [&] {
    const Array a = align::as_float(op, x);
    const std::vector<Options> axes = real_axes(op, a, options, loc);
    const std::span<const Options> others(axes.data(), axes.size() - 1);
    return along_each(op, real_forward(op, a, axes.back(), loc), others, false, loc);
  });
}

Array real_inverse(std::string_view op, const ComplexOperand& x, const AxesOptions& options) {
  const Loc loc = x.loc();
  return at_once(op, loc, [&]() -> Array {
    const At at(loc);
    const Pair p = parts(op, x.re(), x.im());
    const std::vector<Options> axes = real_axes(op, p.re, options, loc);
    const std::span<const Options> others(axes.data(), axes.size() - 1);
    const Complex y = along_each(op, {p.re, p.im}, others, true, loc);
    return real_inverse(op, {y.re, y.im}, axes.back(), loc);
  });
}

}  // namespace

Complex rfft(Operand x, Options options) {
  return whole("fft::rfft", x.loc(), [&] {
    return real_forward("fft::rfft", align::as_float("fft::rfft", x), options, x.loc());
  });
}
Array irfft(ComplexOperand x, Options options) {
  return at_once("fft::irfft", x.loc(), [&]() -> Array {
    const At at(x.loc());
    return real_inverse("fft::irfft", parts("fft::irfft", x.re(), x.im()), options, x.loc());
  });
}

Complex fftn(ComplexOperand x, AxesOptions options) {
  return several("fft::fftn", x, options, false);
}
Complex ifftn(ComplexOperand x, AxesOptions options) {
  return several("fft::ifftn", x, options, true);
}
Complex fft2(ComplexOperand x, Norm norm) {
  return several("fft::fft2", x, {.axes = {-2, -1}, .norm = norm}, false);
}
Complex ifft2(ComplexOperand x, Norm norm) {
  return several("fft::ifft2", x, {.axes = {-2, -1}, .norm = norm}, true);
}
Complex rfftn(Operand x, AxesOptions options) { return real_forward("fft::rfftn", x, options); }
Array irfftn(ComplexOperand x, AxesOptions options) {
  return real_inverse("fft::irfftn", x, options);
}
Complex rfft2(Operand x, Norm norm) {
  return real_forward("fft::rfft2", x, {.axes = {-2, -1}, .norm = norm});
}
Array irfft2(ComplexOperand x, Norm norm) {
  return real_inverse("fft::irfft2", x, {.axes = {-2, -1}, .norm = norm});
}

namespace {

void check_frequencies(std::string_view op, Dim n, DType dtype, Loc loc) {
  if (n < 1)
    usage_error(op, "of length " + std::to_string(n) + "; it needs at least 1 element", loc);
  if (!is_float(dtype))
    usage_error(op,
                "frequencies in " + std::string(name(dtype)) +
                    "; they are fractions, ask for a type of floats",
                loc);
}

}  // namespace

Array fftfreq(Dim n, double d, DType dtype, Loc loc) {
  check_frequencies("fft::fftfreq", n, dtype, loc);
  return made("fft::fftfreq", loc, [&] {
    const At at(loc);
    const Array i = lax::iota(DType::i32, {n}, 0);
    const Array folded = matrix::choose(matrix::exceeds(i, static_cast<double>((n - 1) / 2)),
                                        lax::add(i, static_cast<double>(-n)), i);
    return lax::mul(lax::convert(folded, dtype), 1 / (static_cast<double>(n) * d));
  });
}

Array rfftfreq(Dim n, double d, DType dtype, Loc loc) {
  check_frequencies("fft::rfftfreq", n, dtype, loc);
  return made("fft::rfftfreq", loc, [&] {
    const At at(loc);
    return lax::mul(lax::iota(dtype, {n / 2 + 1}, 0), 1 / (static_cast<double>(n) * d));
  });
}

Array fftshift(Operand x, int axis) {
  const Array a = align::as_array("fft::fftshift", x);
  return roll(x, a.shape()[axis_of("fft::fftshift", a, axis, x.loc())] / 2, axis);
}

Array ifftshift(Operand x, int axis) {
  const Array a = align::as_array("fft::ifftshift", x);
  return roll(x, -(a.shape()[axis_of("fft::ifftshift", a, axis, x.loc())] / 2), axis);
}

}  // namespace gnomon::fft
