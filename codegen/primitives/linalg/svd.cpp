// codegen/primitives/linalg/svd.cpp -- table entry of svd, by one-sided rotations.
#include <algorithm>
#include <numeric>

#include "codegen/primitives/linalg/dense.h"
#include "codegen/primitives/linalg/jacobi.h"
#include "codegen/primitives/linalg/linalg.h"
#include "codegen/primitives/matrix.h"

namespace gnomon {
using namespace matrix;
using host::Dense;

namespace linalg {
namespace {

// What follows gives [a V; V], a V with orthogonal columns. Hestenes, Inversion of matrices by
// biorthogonalization and related results (1958): the rotation of two columns is that of their Gram
// matrix.

Array tiny_orthogonal(const Array& a) {
  Elements x = elements(a), v = elements(identity(a.dtype(), batch_of(a), columns(a)));
  const std::size_t n = v.size();
  const auto dot = [&](std::size_t p, std::size_t q) {
    Term sum = x[0][p] * x[0][q];
    for (std::size_t i = 1; i < x.size(); ++i) sum = sum + x[i][p] * x[i][q];
    return sum;
  };
  // One sweep more than for a symmetric matrix: its rotations meet rounded products.
  for (int i = 0; i <= tiny_sweeps(columns(a)); ++i)
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        const Rotation g = rotation(dot(p, p), dot(p, q), dot(q, q));
        for (Elements* m : {&x, &v})
          for (auto& row : *m) {
            const Term old = row[p];
            row[p] = g.c * old - g.s * row[q];
            row[q] = g.s * old + g.c * row[q];
          }
      }
  x.insert(x.end(), v.begin(), v.end());
  return matrix_of(x);
}

/// How far two columns are from orthogonal, from their Gram matrix: the largest cosine, where both
/// are more than rounding (longer than `floor`, a square; one number for all columns).
Array largest_cosine(const Term& square, const Term& other, const Term& between, const Term& floor,
                     std::vector<int> axes) {
  const Array counts = lax::logical_and(exceeds(square, floor), exceeds(other, floor));
  const Term lengths = square_root(square) * square_root(other);
  const Term cosine =
      choose(counts, magnitude(between) / choose(counts, lengths, number_like(square, 1)),
             // What is no number compares with nothing, and counts.
             between - between);
  return emit1(reduce_max_p, AxesParams{std::move(axes)}, {cosine.a}, {});
}

/// Cosines up to here are rounding.
double negligible_cosine(const Array& a) {
  return unit_roundoff(a.dtype()) * static_cast<double>(rows(a) + 16);
}
/// Squares of columns that are nothing but rounding, per matrix, from squares that add up to that
/// of its norm.
Array floor_of_squares(const Array& squares, std::vector<int> axes) {
  const double eps = unit_roundoff(squares.dtype());
  return lax::mul(lax::sum(squares, std::move(axes)), eps * eps);
}

/// Column by column; an odd n gets a column of zeros.
Array by_columns(const Array& a) {
  const Dim m = rows(a), n = columns(a), size = n + n % 2;
  const Shape batch = batch_of(a);
  const int axis = a.rank() - 2;
  const auto round = [&](const Array& index, const Arrays& state) {
    const Array &y = state[0], &floor = state[2];
    const Array partner = partners(index, size);
    const Array x = row_range(y, 0, m);
    const Array own = lax::sum(lax::mul(x, x), {axis});
    const Array between = lax::sum(lax::mul(x, at_indices(x, partner)), {axis});
    const RoundRotations t = round_rotations(own, between, partner);
    const Array met =
        largest_cosine(own, at_indices(own, partner), between, spread(floor, own.shape()), {axis});
    return Arrays{with_columns_rotated(y, t), larger(state[1], met), floor};
  };
  const Array none = lax::full({a.dtype(), batch}, 0);
  const Array start =
      lax::concatenate({padded(a, m, size), identity(a.dtype(), batch, size)}, axis);
  const Rounds rounds{1, most_sweeps, negligible_cosine(a)};
  const Array floor = floor_of_squares(lax::mul(a, a), {axis, axis + 1});
  const Array end = sweep(rounds, {start, floor}, batch, [&](const Arrays& state) {
    const Arrays r = repeat(size - 1, {state[0], lax::zeros_like(state[1]), state[1]}, round);
    return Arrays{r[0], state[1], r[1]};
  })[0];
  return block(end, 0, m + n, 0, n);
}

/// Block by block, of matrices [b, m, n]: every pair of blocks is rotated by what diagonalises its
/// Gram matrix, nearly. Rows of V stand below those of the matrix.
Array by_blocks(const Array& a) {
  const Dim m = rows(a), n = columns(a);
  const Shape batch = a.shape()[0] == 1 ? Shape{} : batch_of(a);  // of numbers per matrix
  const Blocks cut = blocks_of(n);
  const Dim w = 2 * cut.width, size = cut.size();
  const auto round = [&](const Arrays& state) {
    const Array y = next_in_panels(state[0], cut);  // [b, pairs, m + n, w]
    const Array x = row_range(y, 0, m);
    const Array gram = product(x, x, true);
    const Array square = diagonal(gram);
    const Array on = lax::eq(row_index(gram.shape()), column_index(gram.shape()));
    const Array met = largest_cosine(as_columns(square, w), as_rows(square, w),
                                     choose(on, lax::zeros_like(gram), gram),
                                     spread(state[1], gram.shape()), {0, 1, 2, 3});
    // The pairs hold all columns, whose squares add up to the same in all rounds.
    const Array floor = lax::reshape(floor_of_squares(square, {1, 2}), batch);
    return Arrays{product(y, rotated_pairs(gram)), floor, met};
  };
  const Array basis = identity(a.dtype(), batch_of(a), n);
  const Array start =
      in_panels(lax::concatenate({padded(a, m, size), padded(basis, n, size)}, a.rank() - 2), cut);
  const Rounds rounds{cut.count() - 1, most_sweeps, negligible_cosine(a)};
  const Array no_floor = lax::full({a.dtype(), batch}, 0);
  return column_range(out_of_panels(sweep(rounds, {start, no_floor}, {}, round)[0]), 0, n);
}

Array jacobi_orthogonal(const Array& a) {
  const Dim m = rows(a), n = columns(a);
  const Shape batch = batch_of(a);
  // One axis of matrices, or none: lanes take a matrix each.
  const bool small = n <= in_one_piece;
  const Shape list = small && batch.size() == 1 ? Shape{} : Shape{batch.size()};
  const Array flat = lax::reshape(a, extended(list, {m, n}));
  return lax::reshape(small ? by_columns(flat) : by_blocks(flat), extended(batch, {m + n, n}));
}

/// u, s, vt of at least as many rows as columns, from [a V; V].
Arrays from_orthogonal(const Array& both, double eps) {
  const Dim n = columns(both), m = rows(both) - n;
  const int axis = both.rank() - 2;
  const Array own = row_range(both, 0, m);
  const Array lengths = square_root(lax::sum(lax::mul(own, own), {axis}));
  const Sorted sorted = sort_columns(lengths, both, true);
  const Array& s = sorted.keys;
  const Array x = row_range(sorted.vectors, 0, m), v = row_range(sorted.vectors, m, m + n);
  // Columns of length zero, up to rounding, leave their place in u to any orthonormal ones.
  const Term top = spread(lax::reshape(lax::slice_axis(s, axis, 0, 1), batch_of(x)), s.shape());
  const Array counts = exceeds(s, top * (eps * static_cast<double>(m)));
  const Term scale = choose(counts, 1.0 / choose(counts, s, number_like(s, 1)), number_like(s, 0));
  const Array unit = lax::mul(x, as_rows(scale, m));
  if (n > in_one_piece) {
    const Bases bases = completed(unit, counts, v);
    return {bases.u, s, transposed(bases.v)};
  }
  // Householder's reflections of the others bring them along.
  const Reduced f = expand_qr(unit, false);
  const Array along = as_rows(sign_of(diagonal(f.r)), m);
  return {lax::mul(f.q, along), s, transposed(v)};
}

Arrays with_signs(const Array& u, const Array& s, const Array& vt) {
  const Array signs = column_signs(u);
  return {lax::mul(u, as_rows(signs, rows(u))), s, lax::mul(vt, as_columns(signs, columns(vt)))};
}

Arrays tall_svd(const Array& a) {
  const double eps = unit_roundoff(a.dtype());
  const Dim m = rows(a), n = columns(a);
  if (m <= tiny_rows && n <= tiny_columns)
    return by_matrix(
        {a}, [&](const Arrays& in) { return from_orthogonal(tiny_orthogonal(in[0]), eps); });
  if (m == n) return from_orthogonal(jacobi_orthogonal(a), eps);
  const Reduced f = expand_qr(a, false);
  const Arrays inner = from_orthogonal(jacobi_orthogonal(f.r), eps);
  return {product(f.q, inner[0]), inner[1], inner[2]};
}

std::vector<Array> expand_svd(const Params&, const Arrays& in, const Target&, Loc) {
  const Array& a = in[0];
  const Dim m = rows(a), n = columns(a), k = std::min(m, n);
  if (a.size() == 0) {
    const auto zeros = [&](std::initializer_list<Dim> last) {
      return lax::full({a.dtype(), extended(batch_of(a), last)}, 0);
    };
    return {zeros({m, k}), zeros({k}), zeros({k, n})};
  }
  const Scaled scale = scaled(a);
  const auto in_units = [&](const Array& s) {
    return lax::mul(s, spread(scale.factor, s.shape()));
  };
  if (m >= n) {
    const Arrays f = tall_svd(scale.a);
    return with_signs(f[0], in_units(f[1]), f[2]);
  }
  const Arrays f = tall_svd(transposed(scale.a));
  return with_signs(transposed(f[2]), in_units(f[1]), transposed(f[0]));
}

/// One rotation after the other; columns of u for singular values of zero by Gram and Schmidt from
/// unit vectors.
struct HostSvd {
  Dense u, vt;
  std::vector<double> s;
};
HostSvd tall_on_host(Dense a) {
  const Dim m = a.rows(), n = a.columns();
  Dense v = Dense::identity(n);
  for (Dim sweep = 0; sweep < 2 * most_sweeps; ++sweep)
    for (Dim p = 0; p < n; ++p)
      for (Dim q = p + 1; q < n; ++q) {
        double pp = 0, pq = 0, qq = 0;
        for (Dim i = 0; i < m; ++i) {
          pp += a(i, p) * a(i, p);
          pq += a(i, p) * a(i, q);
          qq += a(i, q) * a(i, q);
        }
        if (pq == 0) continue;
        const double theta = (qq - pp) / (2 * pq);
        const double t = (theta < 0 ? -1 : 1) / (std::fabs(theta) + std::hypot(theta, 1));
        const double c = 1 / std::hypot(t, 1), s = t * c;
        for (Dense* x : {&a, &v})
          for (Dim i = 0; i < x->rows(); ++i) {
            const double old = (*x)(i, p);
            (*x)(i, p) = c * old - s * (*x)(i, q);
            (*x)(i, q) = s * old + c * (*x)(i, q);
          }
      }
  std::vector<double> lengths;
  for (Dim j = 0; j < n; ++j) {
    double sum = 0;
    for (Dim i = 0; i < m; ++i) sum += a(i, j) * a(i, j);
    lengths.push_back(std::sqrt(sum));
  }
  std::vector<Dim> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Dim{0});
  const auto length = [&](Dim j) { return lengths[static_cast<std::size_t>(j)]; };
  std::stable_sort(order.begin(), order.end(), [&](Dim i, Dim j) { return length(i) > length(j); });
  HostSvd r{Dense(m, n), Dense(n, n), {}};
  for (Dim k = 0; k < n; ++k) {
    const Dim from = order[static_cast<std::size_t>(k)];
    const double s = length(from);
    r.s.push_back(s);
    for (Dim i = 0; i < n; ++i) r.vt(k, i) = v(i, from);
    const bool counts = s > 0x1p-53 * static_cast<double>(m) * r.s[0];
    for (Dim i = 0; counts && i < m; ++i) r.u(i, k) = a(i, from) / s;
    for (Dim unit = 0; !counts && unit < m; ++unit) {
      std::vector<double> x(static_cast<std::size_t>(m), 0.0);
      x[static_cast<std::size_t>(unit)] = 1;
      double left = 0;
      for (int twice = 0; twice < 2; ++twice)
        for (Dim j = 0; j < k; ++j) {
          double dot = 0;
          for (Dim i = 0; i < m; ++i) dot += r.u(i, j) * x[static_cast<std::size_t>(i)];
          for (Dim i = 0; i < m; ++i) x[static_cast<std::size_t>(i)] -= dot * r.u(i, j);
        }
      for (double e : x) left += e * e;
      if (left < 1.0 / static_cast<double>(2 * m)) continue;
      for (Dim i = 0; i < m; ++i) r.u(i, k) = x[static_cast<std::size_t>(i)] / std::sqrt(left);
      break;
    }
  }
  return r;
}

std::vector<HostArray> reference_svd(const Params&, std::span<const Aval> out,
                                     std::span<const HostArray> in) {
  std::vector<HostArray> result{HostArray(out[0]), HostArray(out[1]), HostArray(out[2])};
  for (Dim b = 0; in[0].size() > 0 && b < host::matrices(in[0].aval); ++b) {
    const Dense a = host::matrix_at(in[0], b);
    const bool tall = a.rows() >= a.columns();
    HostSvd f = tall_on_host(tall ? a : a.transposed());
    if (!tall) {
      const Dense u = f.u;
      f.u = f.vt.transposed();
      f.vt = u.transposed();
    }
    for (Dim k = 0; k < f.u.columns(); ++k) {
      Dim top = 0;
      for (Dim i = 1; i < f.u.rows(); ++i)
        if (std::fabs(f.u(i, k)) > std::fabs(f.u(top, k))) top = i;
      if (f.u(top, k) >= 0) continue;
      for (Dim i = 0; i < f.u.rows(); ++i) f.u(i, k) = -f.u(i, k);
      for (Dim i = 0; i < f.vt.columns(); ++i) f.vt(k, i) = -f.vt(k, i);
    }
    host::put_matrix(result[0], b, f.u);
    host::put_row(result[1], b, f.s);
    host::put_matrix(result[2], b, f.vt);
  }
  return result;
}

Tangents tangents_of_svd(const Array& u, const Array& s, const Array& vt, const Array& da) {
  const Dim m = rows(u), k = columns(u), n = columns(vt);
  const Array v = transposed(vt);
  const Array inner = product(u, product(da, v), true);  // [.., k, k]
  const Term row = as_columns(s, k), column = as_rows(s, k);
  const Array same = lax::eq(row_index(inner.shape()), column_index(inner.shape()));
  const Term one = lax::full_like(inner, 1), zero = lax::zeros_like(inner);
  const Term gap = choose(same, one, (column + row) * (column - row));
  const Term f = choose(same, zero, one / gap);
  const Term right = column * inner, left = row * inner;
  Term du = product(u, f * (right + transposed(right)));
  Term dv = product(v, f * (left + transposed(left)));
  if (m > k) {
    const Term moved = product(da, v);
    du = du + (moved - product(u, product(u, moved, true))) / as_rows(s, m);
  }
  if (n > k) {
    const Term moved = product(da, u, true);
    dv = dv + (moved - product(v, product(v, moved, true))) / as_rows(s, n);
  }
  return {du.a, diagonal(inner), transposed(dv)};
}

}  // namespace
}  // namespace linalg

/// Derivative for distinct singular values, none of them zero when a is not square: with
/// t = u^T da v and F[i,j] = 1 / (s[j]^2 - s[i]^2) off the diagonal, ds = diag t,
/// du = u (F o (t S + S t^T)) + (1 - u u^T) da v S^-1 and dv likewise; Townsend, Differentiating
/// the singular value decomposition (2016). That of the singular values alone is finite always.
const Primitive svd_p{
    .name = "svd",
    .parse = no_params,
    .shape = [](const Params&, std::span<const Aval> in, Loc loc) -> std::vector<Aval> {
      rules::require_operands("svd", in, 1, loc);
      linalg::require_matrix("svd", in[0], loc);
      const Shape& s = in[0].shape;
      const int r = s.rank();
      const Shape batch = s.part(0, r - 2);
      const Dim m = s[r - 2], n = s[r - 1], k = std::min(m, n);
      const DType t = in[0].dtype;
      return {
          {t, extended(batch, {m, k})}, {t, extended(batch, {k})}, {t, extended(batch, {k, n})}};
    },
    .jvp = [](const Params&, const Arrays&, const Arrays& out, const Tangents& d) -> Tangents {
      return linalg::tangents_of_svd(out[0], out[1], out[2], *d[0]);
    },
    .transpose = rules::not_linear<svd_p>,
    .batch = linalg::batch_in_front<svd_p>,
    .lower = Lowering::expanded(linalg::over_stacks<linalg::expand_svd>),
    .reference = linalg::reference_svd,
};

}  // namespace gnomon
