// codegen/primitives/linalg/eigh.cpp -- table entry of eigh, by Jacobi's rotations in parallel.
#include <algorithm>
#include <limits>
#include <numeric>

#include "codegen/primitives/linalg/dense.h"
#include "codegen/primitives/linalg/jacobi.h"
#include "codegen/primitives/linalg/linalg.h"
#include "codegen/primitives/matrix.h"

namespace gnomon {
using namespace matrix;
using host::Dense;

namespace linalg {

Array column_signs(const Array& v) {
  const int row_axis = v.rank() - 2;
  const Array largest = emit1(argmax_p, AxisParams{row_axis}, {magnitude(v).a}, {});
  if (rows(v) <= tiny) {  // of elements in registers, none of which is asked for by a traced number
    const Array here = lax::eq(row_index(v.shape()), lax::insert_axis(largest, row_axis, rows(v)));
    return sign_of(lax::sum(choose(here, v, lax::zeros_like(v)), {row_axis}));
  }
  const Array column = lax::iota(DType::i32, largest.shape(), row_axis);
  const Array place = lax::add(lax::mul(largest, static_cast<double>(columns(v))), column);
  return sign_of(taken(lax::reshape(v, extended(batch_of(v), {rows(v) * columns(v)})), place));
}

namespace {

/// Columns from which on a lane for each of them finds its place.
constexpr Dim many_keys = 32;

/// The index of the key at each place, for keys [b, n], by a lane for each of them all.
Array order_of_many(const Array& keys, bool descending) {
  const Dim count = keys.shape()[0], n = keys.shape()[1], lanes = count * n;
  const auto own = [&](const Array& rows) {  // one row per lane
    return lax::reshape(lax::insert_axis(rows, 1, n), {lanes, n});
  };
  const auto at = [&](const Array& rows, const Array& j) {
    return lax::reshape(block_at(rows, lax::zeros_like(j), j, lanes, 1), {lanes});
  };
  const auto number = [&] {
    const Array lane = lax::iota(DType::i32, {lanes}, 0);
    return emit1(rem_p, {}, {lane, number_like(lane, static_cast<double>(n))}, {});
  };
  const Array none = lax::full({DType::i32, {lanes}}, 0);
  // Each counts what comes before it ..
  const Array all_keys = own(keys), mine = lax::reshape(keys, {lanes});
  const Array place = repeat(n, {none}, [&](const Array& j, const Arrays& state) {
    const Array other = at(all_keys, j), i = number();
    const Array ahead = descending ? exceeds(other, mine) : exceeds(mine, other);
    // NaN compares with nothing: all elements are equal then, and the order stays.
    const Array equal = emit1(not_p, {}, {either(exceeds(other, mine), exceeds(mine, other))}, {});
    const Array earlier = lax::logical_and(equal, exceeds(i, spread(j, i.shape())));
    return Arrays{lax::add(state[0], lax::convert(either(ahead, earlier), DType::i32))};
  })[0];
  // .. and each place looks for who says so.
  const Array all_places = own(lax::reshape(place, {count, n}));
  const Array source = repeat(n, {none}, [&](const Array& i, const Arrays& state) {
    const Array here = lax::eq(at(all_places, i), number());
    return Arrays{choose(here, spread(i, state[0].shape()), state[0])};
  })[0];
  return lax::reshape(source, {count, n});
}

}  // namespace

Sorted sort_columns(const Array& keys, const Array& vectors, bool descending) {
  const int axis = keys.rank() - 1;
  const Dim n = keys.shape()[axis];
  if (n >= many_keys) {
    const Array flat = lax::reshape(keys, {keys.size() / n, n});
    const Array source = lax::reshape(order_of_many(flat, descending), keys.shape());
    return {taken(keys, source), transposed(rows_taken(transposed(vectors), source))};
  }
  // Place of element i: how many come before it. Element of place k: the i whose place is k.
  const Term mine = as_columns(keys, n), other = as_rows(keys, n);
  const Array i = row_index(mine.a.shape()), j = column_index(mine.a.shape());
  const Array ahead = descending ? exceeds(other, mine) : exceeds(mine, other);
  // NaN compares with nothing: all elements are equal then, and the order stays.
  const Array equal = emit1(not_p, {}, {either(exceeds(other, mine), exceeds(mine, other))}, {});
  const Array before = either(ahead, lax::logical_and(equal, exceeds(i, j)));
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

/// The root of the sum of squares over `axes`, and 1 for zeros.
Array size_over(const Array& a, std::vector<int> axes) {
  const Term sum = lax::sum(lax::mul(a, a), std::move(axes));
  return choose(equals(sum, 0), number_like(sum, 1), square_root(sum));
}

/// An element up to here, next to 1 for the size of its matrix, is rounding.
double negligible_element(DType t) { return 8 * unit_roundoff(t); }

/// Column by column; an odd n gets a row and a column of zeros, which no rotation touches.
Pairs pairs_by_columns(const Array& symmetric) {
  const Dim n = rows(symmetric), size = n + n % 2;
  const Shape batch = batch_of(symmetric);
  const Arrays init{padded(symmetric, size, size), identity(symmetric.dtype(), batch, size),
                    size_over(symmetric, {symmetric.rank() - 2, symmetric.rank() - 1})};
  const Rounds rounds{1, most_sweeps, negligible_element(symmetric.dtype())};
  const Arrays end = sweep(rounds, init, batch, [](const Arrays& state) {
    const Swept s = swept(state[0], state[1]);
    return Arrays{s.a, s.v, state[2], lax::div(s.met, state[2])};
  });
  return {diagonal(block(end[0], 0, n, 0, n)), block(end[1], 0, n, 0, n)};
}

/// w x w blocks on the diagonal of [.., g w, g w].
Array on_diagonal(const Array& a, Dim g) {
  const Dim w = rows(a) / g;
  const int r = batch_of(a).rank();
  std::vector<int> order;
  for (int i = 0; i < r; ++i) order.push_back(i);
  for (int i : {0, 2, 1, 3}) order.push_back(r + i);
  const Array apart = lax::permute(lax::reshape(a, extended(batch_of(a), {g, w, g, w})), order);
  const Array flat = lax::reshape(apart, extended(batch_of(a), {g * g, w, w}));
  const auto group = static_cast<std::size_t>(r);
  std::vector<Dim> first(group + 3, 0), last(flat.shape().begin(), flat.shape().end()),
      step(group + 3, 1);
  step[group] = g + 1;
  return lax::slice(flat, first, last, step);
}

/// Block by block, one matrix [b, size, size] as good as several: with W the block diagonal matrix
/// of the pairs' rotations, A becomes W^T (A W) and V becomes V W. Zeros behind the n rows and
/// columns of the user's matrix stay zeros.
Pairs pairs_by_blocks(const Array& symmetric, Dim n) {
  const Dim size = rows(symmetric), count = symmetric.shape()[0];
  const Blocks cut = blocks_of(n);
  const Dim w = 2 * cut.width, p = cut.pairs;
  const DType dtype = symmetric.dtype();
  const auto round = [&](const Arrays& state) {
    // Blocks as axes of their own move together.
    const Array apart =
        lax::reshape(state[0], {count, cut.count(), cut.width, cut.count(), cut.width});
    const Array a =
        lax::reshape(next_round(next_round(apart, 1, cut), 3, cut), {count, size, size});
    const Array v = next_in_panels(state[1], cut);
    const Array met = on_diagonal(a, p);
    const Array rotated = rotated_pairs(met);  // [b, pairs, w, w]
    // [b, p, size, w]: the columns of every pair, rotated.
    const Array columns =
        lax::dot_general(lax::reshape(a, {count, size, p, w}), rotated, {{3}, {2}, {0, 2}, {0, 1}});
    const Array next = lax::dot_general(rotated, lax::reshape(columns, {count, p, p, w, w}),
                                        {{2}, {3}, {0, 1}, {0, 2}});
    // The pairs hold the whole diagonal: in the end there is nothing else.
    const Array size_met = size_over(met, {1, 2, 3});
    return Arrays{
        lax::reshape(next, {count, size, size}), product(v, rotated),
        emit1(reduce_max_p, AxesParams{{0}}, {lax::div(largest_off_diagonal(met), size_met)}, {})};
  };
  const Array start = in_panels(padded(identity(dtype, {count}, n), n, size), cut);
  const Rounds rounds{cut.count() - 1, most_sweeps, negligible_element(dtype)};
  const Arrays end = sweep(rounds, {symmetric, start}, {}, round);
  const Array vectors = orthonormalized(column_range(out_of_panels(end[1]), 0, n));
  // Rayleigh's quotients err by the square of what the vectors err by.
  const Array moved = product(block(symmetric, 0, n, 0, n), vectors);
  return {lax::sum(lax::mul(vectors, moved), {1}), vectors};
}

Arrays ordered(const Pairs& p) {
  const Sorted s = sort_columns(p.values, p.vectors, false);
  return {s.keys, lax::mul(s.vectors, as_rows(column_signs(s.vectors), rows(s.vectors)))};
}

std::vector<Array> expand_eigh(const Params&, const Arrays& in, const Target&, Loc) {
  const Array& a = in[0];
  if (a.size() == 0) return {lax::full({a.dtype(), a.shape().without(a.rank() - 1)}, 0), a};
  const Shape batch = batch_of(a);
  const Dim n = rows(a);
  // One axis of matrices, or none: lanes take a matrix each.
  const bool small = n <= in_one_piece;
  const Shape list = n <= tiny_eigh               ? batch
                     : small && batch.size() == 1 ? Shape{}
                                                  : Shape{batch.size()};
  const Dim size = small ? n : blocks_of(n).size();
  const Scaled s = scaled(symmetrized(padded(lax::reshape(a, extended(list, {n, n})), size, size)));
  const auto in_units = [&](const Arrays& f) {
    const Array factor = lax::reshape(s.factor, batch);
    return Arrays{lax::mul(f[0], spread(factor, f[0].shape())), f[1]};
  };
  if (n <= tiny_eigh)
    return in_units(by_matrix({s.a}, [](const Arrays& x) { return ordered(tiny_pairs(x[0])); }));
  const Pairs p = small ? pairs_by_columns(s.a) : pairs_by_blocks(s.a, n);
  return in_units(
      ordered({lax::reshape(p.values, extended(batch, {n})), lax::reshape(p.vectors, a.shape())}));
}

/// Jacobi's method, one rotation after the other.
std::vector<HostArray> reference_eigh(const Params&, std::span<const Aval> out,
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
          const auto rotation = [&](double& x, double& y) {
            const double old = x;
            x = c * x - s * y;
            y = s * old + c * y;
          };
          for (Dim i = 0; i < n; ++i) rotation(a(i, p), a(i, q));
          for (Dim i = 0; i < n; ++i) rotation(a(p, i), a(q, i));
          for (Dim i = 0; i < n; ++i) rotation(v(i, p), v(i, q));
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
    .lower = Lowering::expanded(linalg::over_stacks<linalg::expand_eigh>),
    .reference = linalg::reference_eigh,
};

}  // namespace gnomon
