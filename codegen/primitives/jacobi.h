// codegen/primitives/jacobi.h -- plane rotations in parallel: what eigh and svd share.
#pragma once
#include "codegen/primitives/matrix.h"

namespace gnomon::linalg {

/// Half the distance between 1 and the next number.
inline double unit_roundoff(DType t) { return t == DType::f64 ? 0x1p-53 : 0x1p-24; }
/// Sweeps after which Jacobi's iteration ends in any case; ten are many.
inline constexpr Dim most_sweeps = 30;
/// Sweeps over matrices that are written out element by element.
inline int tiny_sweeps(Dim n) { return n <= 2 ? 1 : 7; }

/// Cosine and sine of the rotation that makes the element q between the diagonal elements p and r
/// zero: p' = p - t q, r' = r + t q. Rutishauser, The Jacobi method for real symmetric matrices
/// (1966).
struct Rotation {
  matrix::Term c, s, t;
};
inline Rotation rotation(const matrix::Term& p, const matrix::Term& q, const matrix::Term& r) {
  using namespace matrix;
  const Array nothing = equals(q, 0);
  const Term one = number_like(q, 1);
  const Term theta = (r - p) / choose(nothing, one, q * 2);
  // The square may be infinite; t is zero then, as it should.
  const Term t = choose(nothing, number_like(q, 0),
                        sign_of(theta) / (magnitude(theta) + square_root(theta * theta + 1)));
  const Term c = 1.0 / square_root(t * t + 1);
  return {c, t * c, t};
}

/// Moves the columns (rows) of the second half of an even number one place on, round-robin: the
/// first stays, every other one visits all places. After n - 1 moves all are where they were, and
/// every two have met in the places i and i + n / 2.
inline Array next_round(const Array& a, int axis) {
  const Dim n = a.shape()[axis], h = n / 2;
  const auto part = [&](Dim from, Dim to) { return lax::slice_axis(a, axis, from, to); };
  if (h == 1) return a;
  Arrays parts{part(0, 1), part(h, h + 1)};
  if (h > 2) parts.push_back(part(1, h - 1));
  parts.push_back(part(h + 1, n));
  parts.push_back(part(h - 1, h));
  return lax::concatenate(parts, axis);
}

/// x and y for the two halves along `axis`, rotated: c x - s y and s x + c y.
inline Array rotated(const Array& a, int axis, const Array& c, const Array& s) {
  using namespace matrix;
  const Dim h = a.shape()[axis] / 2;
  const Term x = lax::slice_axis(a, axis, 0, h), y = lax::slice_axis(a, axis, h, 2 * h);
  const auto along = [&](const Array& v) -> matrix::Term {
    return axis == a.rank() - 1 ? as_rows(v, rows(x.a)) : as_columns(v, columns(x.a));
  };
  const Term cc = along(c), ss = along(s);
  return lax::concatenate({cc * x - ss * y, ss * x + cc * y}, axis);
}

}  // namespace gnomon::linalg
