// codegen/primitives/linalg/fft.cpp -- mixed radix Stockham stages, and Bluestein's convolution for
// lengths with large prime factors.
#include "codegen/primitives/linalg/fft.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "codegen/operations/gather_scatter.h"
#include "codegen/primitives/matrix.h"

namespace gnomon::fourier {
namespace {

using namespace matrix;

/// The roots of transforms up to this length are literals: a transform inside a lane has no table
/// to read, and where positions are constants the roots fold.
constexpr Dim literal_table = 16;

/// Butterflies of n in order; empty when a prime factor is too large. Fours first: they have the
/// fewest operations per element.
std::vector<Dim> radices(Dim n) {
  std::vector<Dim> r;
  for (Dim radix : {4, 2, 3, 5, 7, 11, 13})
    for (; n % radix == 0; n /= radix) r.push_back(radix);
  return n == 1 ? r : std::vector<Dim>{};
}

/// exp(-2 pi i k / n) rounded once: the angle is reduced to an eighth of a turn before the
/// functions see it.
struct Root {
  double re, im;
};
Root root(Dim k, Dim n) {
  const Dim quarter = (4 * k + n / 2) / n, rest = 4 * k - quarter * n;
  const double angle = std::numbers::pi / 2 * static_cast<double>(rest) / static_cast<double>(n);
  const double c = std::cos(angle), s = std::sin(angle);
  switch (quarter % 4) {
    case 0:
      return {c, -s};
    case 1:
      return {-s, -c};
    case 2:
      return {-c, s};
    default:
      return {s, c};
  }
}

template <class F>
Array literal(DType dtype, const Shape& shape, F&& element) {
  HostArray h(Aval{dtype, shape});
  for (Dim i = 0; i < h.size(); ++i) h.set_number(i, element(i));
  return lax::constant(std::move(h));
}

Array whole(const Array& like, Dim x) { return lax::full_like(like, static_cast<double>(x)); }
Array divided(const Array& a, Dim by) { return lax::div(a, whole(a, by)); }

Pair times(const Pair& x, const Pair& y) {
  const Term a = x.re, b = x.im, c = y.re, d = y.im;
  return {a * c - b * d, a * d + b * c};
}

/// The roots of one stage as [m, radix]: element (j, k) is exp(-2 pi i j k / (m radix)).
class Table {
 public:
  Table(Dim n, DType dtype) : n_(n), dtype_(dtype) {
    if (n > literal_table) all_ = roots(lax::iota(DType::i32, {n}, 0), n, dtype);
  }
  Pair stage(Dim m, Dim radix) const {
    const Shape shape{m, radix};
    if (n_ <= literal_table) {
      const auto part = [&](double Root::*which) {
        return literal(dtype_, shape,
                       [&](Dim i) { return root((i / radix) * (i % radix), m * radix).*which; });
      };
      return {part(&Root::re), part(&Root::im)};
    }
    // A stage of length m radix takes every n / (m radix)th root.
    const Array place =
        lax::mul(lax::mul(lax::iota(DType::i32, shape, 0), lax::iota(DType::i32, shape, 1)),
                 static_cast<double>(n_ / (m * radix)));
    const Array flat = lax::reshape(place, {m * radix});
    const auto part = [&](const Array& table) {
      const Array taken = emit1(gather_p, GatherParams{0, 0, GatherMode::clip}, {table, flat}, {});
      return lax::reshape(taken, shape);
    };
    return {part(all_.re), part(all_.im)};
  }

 private:
  Dim n_;
  DType dtype_;
  Pair all_;
};

/// One stage. x is [.., radix, m, s] flattened: `radix` interleaved parts of m groups of s finished
/// transforms; gives [.., m, radix, s].
class Stage {
 public:
  Stage(const Pair& x, Dim radix, Dim m, Dim s)
      : x_(x), batch_(x.re.shape().without(x.re.rank() - 1)), radix_(radix), m_(m), s_(s) {
    out_ = extended(batch_, {m, radix, s});
    k_ = lax::iota(DType::i32, out_, batch_.rank() + 1);
  }

  Pair run(const Table& table) const {
    Pair y = radix_ == 2 ? two() : radix_ == 4 ? four() : any();
    if (m_ > 1) {
      const Pair w = table.stage(m_, radix_);
      const auto over = [&](const Array& a) {
        return lax::broadcast(a, out_, {batch_.rank(), batch_.rank() + 1});
      };
      y = times(y, {over(w.re), over(w.im)});
    }
    const Shape flat = extended(batch_, {m_ * radix_ * s_});
    return {lax::reshape(y.re, flat), lax::reshape(y.im, flat)};
  }

 private:
  /// Part j, repeated for every output of the butterfly.
  Pair part(Dim j) const {
    const auto take = [&](const Array& a) {
      const int axis = batch_.rank();
      const Array apart = lax::reshape(a, extended(batch_, {radix_, m_, s_}));
      const Array one =
          lax::reshape(lax::slice_axis(apart, axis, j, j + 1), extended(batch_, {m_, s_}));
      return lax::insert_axis(one, axis + 1, radix_);
    };
    return {take(x_.re), take(x_.im)};
  }
  /// 1 where output k has this bit clear, -1 where it is set.
  Term sign(Dim bit) const {
    const Array set = emit1(and_p, {}, {k_, whole(k_, bit)}, {});
    return choose(lax::eq(set, whole(k_, 0)), lax::full({x_.re.dtype(), out_}, 1),
                  lax::full({x_.re.dtype(), out_}, -1));
  }

  Pair two() const {
    const Pair a = part(0), b = part(1);
    const Term s = sign(1);
    return {Term(a.re) + s * b.re, Term(a.im) + s * b.im};
  }

  /// y[k] = (x0 + (-1)^k x2) + (-i)^k (x1 + (-1)^k x3).
  Pair four() const {
    const Pair a = part(0), b = part(1), c = part(2), d = part(3);
    const Term s = sign(1), t = sign(2);
    const Term even_re = Term(a.re) + s * c.re, even_im = Term(a.im) + s * c.im;
    const Term odd_re = Term(b.re) + s * d.re, odd_im = Term(b.im) + s * d.im;
    const Array straight = exceeds(s, 0);
    return {even_re + t * choose(straight, odd_re, odd_im),
            even_im + t * choose(straight, odd_im, -odd_re)};
  }

  Pair any() const {
    Pair sum = part(0);
    for (Dim j = 1; j < radix_; ++j) {
      const auto factor = [&](double Root::*which) {
        const Array row = literal(x_.re.dtype(), {radix_},
                                  [&](Dim k) { return root(j * k % radix_, radix_).*which; });
        return lax::broadcast(row, out_, {batch_.rank() + 1});
      };
      const Pair p = times(part(j), {factor(&Root::re), factor(&Root::im)});
      sum = {lax::add(sum.re, p.re), lax::add(sum.im, p.im)};
    }
    return sum;
  }

  Pair x_;
  Shape batch_;
  Dim radix_, m_, s_;
  Shape out_;
  Array k_;
};

/// Stockham's order: every stage leaves its outputs where the next one finds them, and the last one
/// in natural order. Van Loan, Computational Frameworks for the Fast Fourier Transform (1992), 1.7.
Pair by_stages(Pair x, Dim n) {
  const Table table(n, x.re.dtype());
  Dim m = n, s = 1;
  for (Dim radix : radices(n)) {
    m /= radix;
    x = Stage(x, radix, m, s).run(table);
    s *= radix;
  }
  return x;
}

/// j^2 mod 2n for j = 0 .. n - 1, exact in 32 bits: j is multiplied by bytes of itself.
Array squares(Dim n) {
  const Array j = lax::iota(DType::u32, {n}, 0);
  const Dim modulus = 2 * n;
  const auto mod = [&](const Array& a) { return emit1(rem_p, {}, {a, whole(a, modulus)}, {}); };
  const auto byte = [&](int which) {
    const Array shifted = emit1(shr_p, {}, {j, whole(j, 8 * which)}, {});
    return emit1(and_p, {}, {shifted, whole(j, 255)}, {});
  };
  Array r = whole(j, 0);
  for (int which : {2, 1, 0}) r = mod(lax::add(lax::mul(r, 256.0), lax::mul(byte(which), j)));
  return lax::convert(r, DType::i32);
}

/// The last axis from `from` to `to` elements, zeros behind.
Array resized(const Array& a, Dim to) {
  const int axis = a.rank() - 1;
  const Dim from = a.shape()[axis];
  if (to <= from) return lax::slice_axis(a, axis, 0, to);
  PadParams p;
  p.lo.assign(static_cast<std::size_t>(a.rank()), 0);
  p.hi = p.interior = p.lo;
  p.hi.back() = to - from;
  return lax::pad(a, lax::scalar(a.dtype(), 0), std::move(p));
}

/// j k = (j^2 + k^2 - (k - j)^2) / 2 turns the sum into a convolution with a chirp; Bluestein, A
/// linear filtering approach to the computation of the discrete Fourier transform (1970).
Pair by_convolution(const Pair& x, Dim n) {
  Dim size = 1;
  while (size < 2 * n - 1) size *= 2;
  const DType dtype = x.re.dtype();
  const Pair chirp = roots(squares(n), 2 * n, dtype);  // exp(-pi i j^2 / n)
  const auto over = [&](const Array& a, const Array& like) {
    return lax::broadcast(a, like.shape(), {like.rank() - 1});
  };
  const Pair down{over(chirp.re, x.re), over(chirp.im, x.re)};
  const Pair bent = times(x, down);
  const Pair signal = by_stages({resized(bent.re, size), resized(bent.im, size)}, size);
  // conj(chirp) at 0, 1, ..., n - 1, zeros, n - 1, ..., 1.
  const auto wrapped = [&](const Array& a) {
    const Array back = lax::reverse(lax::slice_axis(a, 0, 1, n), {0});
    return lax::concatenate({resized(a, size - n + 1), back}, 0);
  };
  const Pair filter = by_stages({wrapped(chirp.re), wrapped(lax::neg(chirp.im))}, size);
  const Pair product = times(signal, {over(filter.re, signal.re), over(filter.im, signal.re)});
  // The inverse is the forward transform of the exchanged parts.
  const Pair back = by_stages({product.im, product.re}, size);
  const double scale = 1.0 / static_cast<double>(size);
  const Pair y{lax::mul(resized(back.im, n), scale), lax::mul(resized(back.re, n), scale)};
  return times(y, down);
}

}  // namespace

bool smooth(Dim n) { return n == 1 || !radices(n).empty(); }

Pair roots(const Array& k, Dim n, DType dtype) {
  // Quarters of a turn, and what is left between -1/8 and 1/8 of one.
  const Array four = lax::mul(k, 4.0);
  const Array quarter = divided(lax::add(four, static_cast<double>(n / 2)), n);
  const Array rest = lax::sub(four, lax::mul(quarter, static_cast<double>(n)));
  const Array angle =
      lax::mul(lax::convert(rest, dtype), std::numbers::pi / 2 / static_cast<double>(n));
  const Term c = lax::unary(cos_p, angle), s = lax::unary(sin_p, angle);
  const auto has = [&](Dim bit) {
    const Array set = emit1(and_p, {}, {quarter, whole(quarter, bit)}, {});
    return lax::eq(set, whole(quarter, bit));
  };
  // A quarter turn: (c, s) -> (-s, c); half a turn: both negative.
  const Array odd = has(1), half = has(2);
  const Term re = choose(odd, -s, c), im = choose(odd, c, s);
  return {choose(half, -re, re), choose(half, im, -im)};
}

Shape in_rows(const Shape& shape) {
  const int last = shape.rank() - 1;
  return last > 2 ? Shape{shape.part(0, last).size(), shape[last]} : shape;
}

Pair transform(const Pair& x) {
  const Shape shape = x.re.shape();
  const Dim n = shape[shape.rank() - 1];
  if (n == 1) return x;
  const Shape rows = in_rows(shape);
  const Pair in{lax::reshape(x.re, rows), lax::reshape(x.im, rows)};
  const Pair y = smooth(n) ? by_stages(in, n) : by_convolution(in, n);
  return {lax::reshape(y.re, shape), lax::reshape(y.im, shape)};
}

}  // namespace gnomon::fourier
