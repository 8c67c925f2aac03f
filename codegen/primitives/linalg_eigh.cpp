// codegen/primitives/linalg_eigh.cpp -- table entry of eigh, by Jacobi's rotations in parallel.
#include <algorithm>
#include <limits>
#include <numeric>

#include "codegen/primitives/dense.h"
#include "codegen/primitives/jacobi.h"
#include "codegen/primitives/linalg.h"
#include "codegen/primitives/matrix.h"

namespace gnomon {
using namespace matrix;
using host::Dense;

namespace linalg {

Array column_signs(const Array& v) {
  const int row_axis = v.rank() - 2;
  const Array largest = emit1(argmax_p, AxisParams{row_axis}, {magnitude(v).a}, {});
  const Array row = lax::insert_axis(largest, row_axis, rows(v));
  const Array here = lax::eq(row_index(v.shape()), row);
  return sign_of(lax::sum(choose(here, v, lax::zeros_like(v)), {row_axis}));
}

Sorted sort_columns(const Array& keys, const Array& vectors, bool descending) {
  const int axis = keys.rank() - 1;
  const Dim n = keys.shape()[axis];
  // Place of element i: how many come before it. Element of place k: the i whose place is k.
  const Term mine = as_columns(keys, n), other = as_rows(keys, n);
  const Array i = row_index(mine.a.shape()), j = column_index(mine.a.shape());
  const Array ahead = descending ? greater(other, mine) : greater(mine, other);
  // NaN compares with nothing: all elements are equal then, and the order stays.
  const Array equal = emit1(not_p, {}, {either(greater(other, mine), greater(mine, other))}, {});
  const Array before = either(ahead, lax::logical_and(equal, greater(i, j)));
  const Array place = lax::sum(lax::convert(before, DType::i32), {axis + 1});
  const Array hit = lax::eq(as_rows(place, n), i);
  const Array source = lax::sum(choose(hit, j, lax::zeros_like(j)), {axis + 1});
  const Array rows_in_order = rows_taken(transposed(vectors), source);
  return {taken(keys, source), transposed(rows_in_order)};
}

namespace {

constexpr Dim tiny_eigh = 4;

/// Eigenvalues in any order, and eigenvectors.
struct Pairs {
  Array values, vectors;
};

Pairs tiny_pairs(const Array& symmetric) {
  Elements a = elements(symmetric);
  const std::size_t n = a.size();
  Elements v = elements(identity(symmetric.dtype(), batch_of(symmetric), rows(symmetric)));
  for (int round = 0; round < tiny_sweeps(rows(symmetric)); ++round)
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        const Rotation g = rotation(a[p][p], a[p][q], a[q][q]);
        const Term shift = g.t * a[p][q];
        a[p][p] = a[p][p] - shift;
        a[q][q] = a[q][q] + shift;
        a[p][q] = a[q][p] = number_like(shift, 0);
        for (std::size_t i = 0; i < n; ++i) {
          const Term x = v[i][p], y = v[i][q];
          v[i][p] = g.c * x - g.s * y;
          v[i][q] = g.s * x + g.c * y;
          if (i == p || i == q) continue;
          const Term b = a[i][p], d = a[i][q];
          a[i][p] = a[p][i] = g.c * b - g.s * d;
          a[i][q] = a[q][i] = g.s * b + g.c * d;
        }
      }
  std::vector<Term> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(a[i][i]);
  return {vector_of(values), matrix_of(v)};
}

/// The root of the sum of squares, and 1 for zeros.
Array size_of_matrix(const Array& a) {
  const Term sum = lax::sum(lax::mul(a, a), {a.rank() - 2, a.rank() - 1});
  return choose(equals(sum, 0), number_like(sum, 1), square_root(sum));
}

/// n / 2 rotations at once: pair i is (i, i + n / 2). An odd n gets a row and a column of zeros,
/// which no rotation touches.
Pairs jacobi_pairs(const Array& symmetric) {
  const Dim n = rows(symmetric), size = n + n % 2, h = size / 2;
  const Shape batch = batch_of(symmetric);
  const int row_axis = symmetric.rank() - 2, column_axis = row_axis + 1;
  const DType dtype = symmetric.dtype();
  const auto round = [&](const Arrays& state) {
    const Array &a = state[0], &v = state[1], &scale = state[2];
    const Array p = diagonal(block(a, 0, h, 0, h)), r = diagonal(block(a, h, size, h, size));
    const Array q = diagonal(block(a, 0, h, h, size));
    const Rotation g = rotation(p, q, r);
    const Array both = rotated(rotated(a, row_axis, g.c, g.s), column_axis, g.c, g.s);
    const Array moved = next_round(next_round(both, row_axis), column_axis);
    const Array vectors = next_round(rotated(v, column_axis, g.c, g.s), column_axis);
    const Array met = emit1(reduce_max_p, AxesParams{{q.rank() - 1}}, {magnitude(q).a}, {});
    return Arrays{moved, vectors, scale, lax::div(met, scale)};
  };
  const Rounds rounds{size - 1, most_sweeps, unit_roundoff(dtype)};
  const Arrays init{padded(symmetric, size, size), identity(dtype, batch, size),
                    size_of_matrix(symmetric)};
  const Arrays end = sweep(rounds, init, batch, round);
  return {diagonal(block(end[0], 0, n, 0, n)), block(end[1], 0, n, 0, n)};
}

Arrays ordered(const Pairs& p) {
  const Sorted s = sort_columns(p.values, p.vectors, false);
  return {s.keys, lax::mul(s.vectors, as_rows(column_signs(s.vectors), rows(s.vectors)))};
}

std::vector<Array> expand(const Params&, const Arrays& in, const Target&, Loc) {
  const Array& a = in[0];
  if (a.size() == 0) return {lax::full({a.dtype(), a.shape().without(a.rank() - 1)}, 0), a};
  if (rows(a) <= tiny_eigh)
    return by_matrix({a}, [](const Arrays& x) { return ordered(tiny_pairs(symmetrized(x[0]))); });
  return ordered(jacobi_pairs(symmetrized(a)));
}

/// Jacobi's method, one rotation after the other.
std::vector<HostArray> reference(const Params&, std::span<const Aval> out,
                                 std::span<const HostArray> in) {
  std::vector<HostArray> result{HostArray(out[0]), HostArray(out[1])};
  for (Dim b = 0; result[1].size() > 0 && b < host::matrices(out[1]); ++b) {
    Dense a = host::matrix_at(in[0], b);
    const Dim n = a.rows();
    Dense v = Dense::identity(n);
    for (Dim i = 0; i < n; ++i)
      for (Dim j = 0; j < i; ++j) a(i, j) = a(j, i) = (a(i, j) + a(j, i)) / 2;
    for (Dim sweep = 0; sweep < most_sweeps; ++sweep)
      for (Dim p = 0; p < n; ++p)
        for (Dim q = p + 1; q < n; ++q) {
          if (a(p, q) == 0) continue;
          const double theta = (a(q, q) - a(p, p)) / (2 * a(p, q));
          const double t = (theta < 0 ? -1 : 1) / (std::fabs(theta) + std::hypot(theta, 1));
          const double c = 1 / std::hypot(t, 1), s = t * c;
          const auto turn = [&](double& x, double& y) {
            const double old = x;
            x = c * x - s * y;
            y = s * old + c * y;
          };
          for (Dim i = 0; i < n; ++i) turn(a(i, p), a(i, q));
          for (Dim i = 0; i < n; ++i) turn(a(p, i), a(q, i));
          for (Dim i = 0; i < n; ++i) turn(v(i, p), v(i, q));
          a(p, q) = a(q, p) = 0;
        }
    std::vector<Dim> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), Dim{0});
    std::stable_sort(order.begin(), order.end(), [&](Dim i, Dim j) { return a(i, i) < a(j, j); });
    std::vector<double> values;
    Dense vectors(n, n);
    for (Dim k = 0; k < n; ++k) {
      const Dim from = order[static_cast<std::size_t>(k)];
      values.push_back(a(from, from));
      Dim top = 0;
      for (Dim i = 1; i < n; ++i)
        if (std::fabs(v(i, from)) > std::fabs(v(top, from))) top = i;
      for (Dim i = 0; i < n; ++i) vectors(i, k) = v(top, from) < 0 ? -v(i, from) : v(i, from);
    }
    host::put_row(result[0], b, values);
    host::put_matrix(result[1], b, vectors);
  }
  return result;
}

}  // namespace
}  // namespace linalg

/// Derivative for distinct eigenvalues: with t = V^T da V, dw = diag t and dV = V (F o t),
/// F[i,j] = 1 / (w[j] - w[i]) off the diagonal and 0 on it; Giles, An extended collection of matrix
/// derivative results (2008), 3.1. That of the eigenvalues alone is finite always.
const Primitive eigh_p{
    .name = "eigh",
    .parse = no_params,
    .shape = [](const Params&, std::span<const Aval> in, Loc loc) -> std::vector<Aval> {
      rules::require_operands("eigh", in, 1, loc);
      linalg::require_square("eigh", in[0], loc);
      return {{in[0].dtype, in[0].shape.without(in[0].shape.rank() - 1)}, in[0]};
    },
    .jvp = [](const Params&, const Arrays&, const Arrays& out, const Tangents& d) -> Tangents {
      const Array &w = out[0], &v = out[1];
      const Dim n = rows(v);
      const Array t = product(v, product(symmetrized(*d[0]), v), true);
      const Array same = lax::eq(row_index(v.shape()), column_index(v.shape()));
      const Term one = lax::full_like(v, 1);
      const Term gap = choose(same, one, Term(as_rows(w, n)) - as_columns(w, n));
      const Term f = choose(same, lax::zeros_like(v), one / gap);
      return {diagonal(t), product(v, f * t)};
    },
    .transpose = rules::not_linear<eigh_p>,
    .batch = linalg::batch_in_front<eigh_p>,
    .lower = Lowering::expanded(linalg::expand),
    .reference = linalg::reference,
};

}  // namespace gnomon
