// codegen/primitives/linalg/lu.cpp -- table entries of lu (partial pivoting) and solve.
#include <limits>

#include "codegen/primitives/linalg/dense.h"
#include "codegen/primitives/linalg/linalg.h"
#include "codegen/primitives/matrix.h"

namespace gnomon {
using namespace matrix;
using host::Dense;

namespace linalg {
namespace {

/// Matrices up to this size are factored element by element.
constexpr Dim tiny_lu = 6;
/// Up to here all columns are one panel.
constexpr Dim one_panel = 64;

Dim steps(const Array& a) { return std::min(rows(a), columns(a)); }

struct Factors {
  Array lu, pivots, permutation;
};

/// x / pivot; x itself, which is zero then, when the pivot is.
Term divided_by_pivot(const Term& x, const Term& pivot) {
  return choose(equals(pivot, 0), x, x / pivot);
}

/// Swaps rows k and p (p >= k, traced) of all columns.
void swap_rows(std::vector<std::vector<Term>>& a, std::size_t k, const Term& p) {
  for (std::size_t j = 0; j < a[k].size(); ++j) {
    const Term old = a[k][j];
    for (std::size_t i = k + 1; i < a.size(); ++i) {
      const Array here = equals(p, static_cast<double>(i));
      const Term other = a[i][j];
      a[i][j] = choose(here, old, other);
      a[k][j] = choose(here, other, a[k][j]);
    }
  }
}

/// Row of the largest magnitude among the elements k, k + 1, ... of column k.
Term pivot_row(const Elements& a, std::size_t k, const Term& like_index) {
  Term best = magnitude(a[k][k]), row = number_like(like_index, static_cast<double>(k));
  for (std::size_t i = k + 1; i < a.size(); ++i) {
    const Term x = magnitude(a[i][k]);
    const Array better = exceeds(x, best);
    best = choose(better, x, best);
    row = choose(better, number_like(row, static_cast<double>(i)), row);
  }
  return row;
}

/// Eliminates below pivot k in the columns behind it; the factors of L take the place of the zeros.
void eliminate(Elements& a, std::size_t k) {
  for (std::size_t i = k + 1; i < a.size(); ++i) {
    a[i][k] = divided_by_pivot(a[i][k], a[k][k]);
    for (std::size_t j = k + 1; j < a[i].size(); ++j) a[i][j] = a[i][j] - a[i][k] * a[k][j];
  }
}

Arrays tiny_factors(const Array& m) {
  Elements a = elements(m);
  const Term index = lax::full({DType::i32, batch_of(m)}, 0);
  Elements order;
  for (std::size_t i = 0; i < a.size(); ++i)
    order.push_back({number_like(index, static_cast<double>(i))});
  std::vector<Term> pivots;
  for (std::size_t k = 0; k < static_cast<std::size_t>(steps(m)); ++k) {
    const Term p = pivot_row(a, k, index);
    swap_rows(a, k, p);
    swap_rows(order, k, p);
    pivots.push_back(p);
    eliminate(a, k);
  }
  std::vector<Term> permutation;
  for (const auto& row : order) permutation.push_back(row[0]);
  return {matrix_of(a), vector_of(pivots), vector_of(permutation)};
}

/// Gauss on [a | b], then back substitution.
Array tiny_solution(const Array& left, const Array& right) {
  Elements a = elements(left);
  const Elements b = elements(right);
  const std::size_t n = a.size(), m = b[0].size();
  for (std::size_t i = 0; i < n; ++i) a[i].insert(a[i].end(), b[i].begin(), b[i].end());
  const Term index = lax::full({DType::i32, batch_of(left)}, 0);
  for (std::size_t k = 0; k < n; ++k) {
    swap_rows(a, k, pivot_row(a, k, index));
    eliminate(a, k);
  }
  Elements x(n, std::vector<Term>(m));
  for (std::size_t i = n; i-- > 0;)
    for (std::size_t j = 0; j < m; ++j) {
      Term sum = a[i][n + j];
      for (std::size_t k = i + 1; k < n; ++k) sum = sum - a[i][k] * x[k][j];
      x[i][j] = sum / a[i][i];
    }
  return matrix_of(x);
}

/// Columns first, first + 1, ... of the whole matrix as [.., m, w]: pivots are looked for in rows
/// `first` and below. The order of the rows afterwards, and the pivot of every column. Of the whole
/// matrix only the first m0 rows and n0 columns are the user's; those behind them are zero, are no
/// pivots and have none.
struct Panel {
  Array lu, order, pivots;
};
Panel factor_panel(const Array& a, const Array& first, Dim m0, Dim n0) {
  const Dim m = rows(a), w = columns(a);
  const Shape column_shape = extended(batch_of(a), {m}), pivot_shape = extended(batch_of(a), {w});
  const auto rows_in_order = [&] {
    return lax::iota(DType::i32, column_shape, column_shape.rank() - 1);
  };
  const auto body = [&](const Array& j, const Arrays& state) {
    const Array &x = state[0], row = rows_in_order();
    const Array pivot_index = lax::iota(DType::i32, pivot_shape, pivot_shape.rank() - 1);
    const Array own = lax::add(first, j), top = spread(own, column_shape);
    const Array column = column_at(x, j);
    Array candidate = at_least(row, top);
    if (m0 < m)
      candidate =
          lax::logical_and(candidate, exceeds(number_like(row, static_cast<double>(m0)), row));
    const Term size = choose(candidate, magnitude(column), number_like(column, -1));
    Array p = emit1(argmax_p, AxisParams{column_shape.rank() - 1}, {size.a}, {});
    if (m0 < m) {
      const Array place = spread(own, p.shape());
      p = choose(exceeds(number_like(place, static_cast<double>(n0)), place), p, place);
    }
    const Array pivot_of_row = spread(p, column_shape);
    const Array source =
        choose(lax::eq(row, top), pivot_of_row, choose(lax::eq(row, pivot_of_row), top, row));
    const Array swapped = rows_taken(x, source);
    const Array pivots = rows_taken(x, lax::reshape(p, extended(p.shape(), {1})));  // [.., 1, w]
    const Array pivot_row = lax::reshape(pivots, extended(batch_of(a), {w}));
    const Array pivot = taken(column, lax::reshape(p, extended(p.shape(), {1})));  // [.., 1]
    const Array pivot_here = spread(lax::reshape(pivot, p.shape()), column_shape);
    const Term below =
        choose(exceeds(row, top), divided_by_pivot(taken(column, source), pivot_here),
               number_like(column, 0));
    const Array at = column_index(x.shape()), here = spread(j, x.shape());
    const Array below_rows = as_columns(below, w);
    const Term updated = Term(swapped) - Term(below_rows) * as_rows(pivot_row, m);
    const Array is_below = exceeds(as_columns(row, w), as_columns(top, w));
    const Array kept = choose(lax::logical_and(lax::eq(at, here), is_below), below_rows, swapped);
    return Arrays{
        choose(exceeds(at, here), updated, kept), taken(state[1], source),
        choose(lax::eq(pivot_index, spread(j, pivot_shape)), spread(p, pivot_shape), state[2])};
  };
  const Arrays r = repeat(w, {a, rows_in_order(), lax::full({DType::i32, pivot_shape}, 0)}, body);
  return {r[0], r[1], r[2]};
}

/// Factors the `width` columns from `first` on and updates what is behind them; see factor_panel.
Factors with_panel(const Factors& f, const Array& first, Dim width, Dim m0, Dim n0) {
  const Dim m = rows(f.lu), n = columns(f.lu);
  const Array zero = lax::zeros_like(first);
  const Panel p = factor_panel(block_at(f.lu, zero, first, m, width), first, m0, n0);
  Array a = with_block(rows_taken(f.lu, p.order), p.lu, zero, first);

  const Array top = block_at(a, first, zero, width, n);
  const Array end = lax::add(first, static_cast<double>(width));
  const Array behind = at_least(column_index(top.shape()), spread(end, top.shape()));
  const Array head = block_at(p.lu, first, zero, width, width);
  const Array solved = product(inverse_of_lower(head, true), top);
  a = with_block(a, choose(behind, solved, top), first, zero);

  const Array below = choose(at_least(row_index(p.lu.shape()), spread(end, p.lu.shape())), p.lu,
                             lax::zeros_like(p.lu));
  a = lax::sub(a, product(below, choose(behind, solved, lax::zeros_like(top))));

  const Shape whole = f.pivots.shape();
  const Array at = lax::iota(DType::i32, whole, whole.rank() - 1);
  const Array local = lax::sub(at, spread(first, whole));
  const Array inside =
      lax::logical_and(at_least(at, spread(first, whole)), exceeds(spread(end, whole), at));
  return {a, choose(inside, taken(p.pivots, local), f.pivots), taken(f.permutation, p.order)};
}

Factors factor(const Array& a);

/// Toledo, Locality of reference in LU decomposition with partial pivoting (1997), at the top
/// levels; a has at least as many rows as columns.
Factors factor_by_halves(const Array& a) {
  const Dim m = rows(a), n = columns(a), h = (n / 2 + panel - 1) / panel * panel;
  const int last = a.rank() - 2;  // of pivots and permutations
  const Factors left = factor(column_range(a, 0, h));
  const Array right = rows_taken(column_range(a, h, n), left.permutation);
  const Array upper =
      solve_triangular(row_range(left.lu, 0, h), row_range(right, 0, h), {.unit_diagonal = true});
  const Array below = row_range(left.lu, h, m);
  const Factors rest = factor(lax::sub(row_range(right, h, m), product(below, upper)));
  const Array moved = rows_taken(below, rest.permutation);
  const Array own = taken(lax::slice_axis(left.permutation, last, h, m), rest.permutation);
  return {blocks(row_range(left.lu, 0, h), upper, moved, rest.lu),
          lax::concatenate({left.pivots, lax::add(rest.pivots, static_cast<double>(h))}, last),
          lax::concatenate({lax::slice_axis(left.permutation, last, 0, h), own}, last)};
}

Factors factor(const Array& a) {
  const Dim m = rows(a), n = columns(a), k = steps(a);
  if (m <= tiny_lu && n <= tiny_lu) {
    const Arrays r = by_matrix({a}, [](const Arrays& in) { return tiny_factors(in[0]); });
    return {r[0], r[1], r[2]};
  }
  if (n > m) {
    // The columns behind the square follow from its factors.
    const Factors f = factor(column_range(a, 0, m));
    const Array rest = rows_taken(column_range(a, m, n), f.permutation);
    const Array u = solve_triangular(f.lu, rest, {.unit_diagonal = true});
    return {lax::concatenate({f.lu, u}, a.rank() - 1), f.pivots, f.permutation};
  }
  if (k > by_panels) return factor_by_halves(a);
  const Array zero = lax::scalar_integer(DType::i32, 0);
  if (k <= one_panel) {
    const Panel p = factor_panel(a, zero, m, n);
    return {p.lu, p.pivots, p.order};
  }
  // Whole panels: zeros behind the last column, and as many rows.
  const Dim size = (n + panel - 1) / panel * panel, height = m + size - n;
  const Shape row_shape = extended(batch_of(a), {height});
  const Shape pivot_shape = extended(batch_of(a), {size});
  const Arrays init{padded(a, height, size), lax::full({DType::i32, pivot_shape}, 0),
                    lax::iota(DType::i32, row_shape, row_shape.rank() - 1)};
  const Arrays r = repeat(size / panel, init, [&](const Array& step, const Arrays& state) {
    const Array first = lax::mul(step, static_cast<double>(panel));
    const Factors next = with_panel({state[0], state[1], state[2]}, first, panel, m, n);
    return Arrays{next.lu, next.pivots, next.permutation};
  });
  const int last = a.rank() - 2;
  return {block(r[0], 0, m, 0, n), lax::slice_axis(r[1], last, 0, k),
          lax::slice_axis(r[2], last, 0, m)};
}

std::vector<Array> expand_lu(const Params&, const Arrays& in, const Target&, Loc) {
  const Array& a = in[0];
  if (a.size() == 0) {
    const Shape row_shape = extended(batch_of(a), {rows(a)});
    return {a, lax::full({DType::i32, extended(batch_of(a), {steps(a)})}, 0),
            lax::iota(DType::i32, row_shape, row_shape.rank() - 1)};
  }
  const Factors f = factor(a);
  return {f.lu, f.pivots, f.permutation};
}

std::vector<int> factor_on_host(Dense& a, std::vector<double>& pivots) {
  std::vector<int> order;
  for (Dim i = 0; i < a.rows(); ++i) order.push_back(static_cast<int>(i));
  for (Dim k = 0; k < std::min(a.rows(), a.columns()); ++k) {
    Dim p = k;
    for (Dim i = k + 1; i < a.rows(); ++i)
      if (std::fabs(a(i, k)) > std::fabs(a(p, k))) p = i;
    pivots.push_back(static_cast<double>(p));
    a.swap_rows(k, p);
    std::swap(order[static_cast<std::size_t>(k)], order[static_cast<std::size_t>(p)]);
    for (Dim i = k + 1; i < a.rows(); ++i) {
      if (a(k, k) != 0) a(i, k) /= a(k, k);
      for (Dim j = k + 1; j < a.columns(); ++j) a(i, j) -= a(i, k) * a(k, j);
    }
  }
  return order;
}

std::vector<HostArray> lu_reference(const Params&, std::span<const Aval> out,
                                    std::span<const HostArray> in) {
  std::vector<HostArray> r{HostArray(out[0]), HostArray(out[1]), HostArray(out[2])};
  for (Dim b = 0; b < host::matrices(out[0]); ++b) {
    Dense a = host::matrix_at(in[0], b);
    std::vector<double> pivots;
    const std::vector<int> order = factor_on_host(a, pivots);
    host::put_matrix(r[0], b, a);
    host::put_row(r[1], b, pivots);
    host::put_row(r[2], b, {order.begin(), order.end()});
  }
  return r;
}

/// With L and U made square by ones on their diagonals, dL = L low(t) and dU = upp(t) U where
/// t = L^-1 (P da) U^-1; low is strictly lower.
Array lu_tangent(const Array& lu, const Array& permutation, const Array& da) {
  const Dim m = rows(lu), n = columns(lu), k = steps(lu);
  const Shape batch = batch_of(lu);
  const Array l = lax::add(padded(lower_part(column_range(lu, 0, k), -1), m, m),
                           identity(lu.dtype(), batch, m));
  Array u = upper_part(row_range(lu, 0, k));
  if (n > k) {
    const Array corner = identity(lu.dtype(), batch, n - k);
    const Shape left = extended(batch, {n - k, k});
    const Array ones = lax::concatenate({lax::full({lu.dtype(), left}, 0), corner}, lu.rank() - 1);
    u = lax::concatenate({u, ones}, lu.rank() - 2);
  }
  const Array first = emit1(triangular_solve_p, TriangularParams{.unit_diagonal = true},
                            {l, rows_taken(da, permutation)}, {});
  const Array t =
      emit1(triangular_solve_p, TriangularParams{.left = false, .lower = false}, {u, first}, {});
  return lax::add(product(l, lower_part(t, -1)), product(upper_part(t), u));
}

// ---- solve

std::vector<Array> expand_solve(const Params& params, const Arrays& in, const Target&, Loc) {
  const bool transpose = params.as<SolveParams>().transposed;
  const Array &a = in[0], &b = in[1];
  if (b.size() == 0) return {b};
  if (rows(a) <= tiny_lu && columns(b) <= tiny)
    return by_matrix({transpose ? transposed(a) : a, b},
                     [](const Arrays& x) { return Arrays{tiny_solution(x[0], x[1])}; });
  // Two solutions with one matrix share this factorisation: the second is found to be the same.
  const Arrays f = emit(lu_p, {}, {a}, {});
  const Array &lu = f[0], &permutation = f[2];
  const TriangularParams l{.unit_diagonal = true}, u{.lower = false};
  if (!transpose)
    return {solve_triangular(lu, solve_triangular(lu, rows_taken(b, permutation), l), u)};
  TriangularParams lt = l, ut = u;
  lt.transposed = ut.transposed = true;
  const Array x = solve_triangular(lu, solve_triangular(lu, b, ut), lt);
  // Row i of x belongs to row permutation[i]: taken back by the inverse permutation.
  const Dim n = rows(a);
  const Array to = as_rows(permutation, n), from = column_index(a.shape());
  const Array hit = lax::eq(to, row_index(a.shape()));
  const Array inverse = lax::sum(choose(hit, from, lax::zeros_like(from)), {a.rank() - 1});
  return {rows_taken(x, inverse)};
}

std::vector<HostArray> solve_reference(const Params& params, std::span<const Aval> out,
                                       std::span<const HostArray> in) {
  HostArray r(out[0]);
  for (Dim batch = 0; r.size() > 0 && batch < host::matrices(out[0]); ++batch) {
    Dense a = host::matrix_at(in[0], batch);
    const Dense b = host::matrix_at(in[1], batch);
    if (params.as<SolveParams>().transposed) a = a.transposed();
    std::vector<double> pivots;
    const std::vector<int> order = factor_on_host(a, pivots);
    const Dim n = a.rows();
    Dense x(n, b.columns());
    for (Dim c = 0; c < b.columns(); ++c) {
      for (Dim i = 0; i < n; ++i) {
        x(i, c) = b(order[static_cast<std::size_t>(i)], c);
        for (Dim k = 0; k < i; ++k) x(i, c) -= a(i, k) * x(k, c);
      }
      for (Dim i = n; i-- > 0;) {
        for (Dim k = i + 1; k < n; ++k) x(i, c) -= a(i, k) * x(k, c);
        x(i, c) /= a(i, i);
      }
    }
    host::put_matrix(r, batch, x);
  }
  return {std::move(r)};
}

}  // namespace
}  // namespace linalg

const Primitive lu_p{
    .name = "lu",
    .parse = no_params,
    .shape = [](const Params&, std::span<const Aval> in, Loc loc) -> std::vector<Aval> {
      rules::require_operands("lu", in, 1, loc);
      linalg::require_matrix("lu", in[0], loc);
      const Shape& s = in[0].shape;
      const int r = s.rank();
      const Shape batch = s.part(0, r - 2);
      return {in[0],
              {DType::i32, extended(batch, {std::min(s[r - 2], s[r - 1])})},
              {DType::i32, extended(batch, {s[r - 2]})}};
    },
    .jvp = [](const Params&, const Arrays&, const Arrays& out, const Tangents& d) -> Tangents {
      return {linalg::lu_tangent(out[0], out[2], *d[0]), std::nullopt, std::nullopt};
    },
    .transpose = rules::not_linear<lu_p>,
    .batch = linalg::batch_in_front<lu_p>,
    .lower = Lowering::expanded(linalg::over_stacks<linalg::expand_lu>),
    .reference = linalg::lu_reference,
};

/// Derivative: a dx = db - da x, by the same factorisation.
const Primitive solve_p{
    .name = "solve",
    .parse = parse_params<SolveParams>,
    .shape = [](const Params&, std::span<const Aval> in, Loc loc) -> std::vector<Aval> {
      rules::require_operands("solve", in, 2, loc);
      linalg::require_system("solve", in[0], in[1], true, loc);
      return {in[1]};
    },
    .jvp = [](const Params& params, const Arrays& in, const Arrays& out,
              const Tangents& d) -> Tangents {
      std::optional<Array> side = d[1];
      if (d[0]) {
        const bool transpose = params.as<SolveParams>().transposed;
        const Array moved = lax::neg(product(*d[0], out[0], transpose));
        side = side ? lax::add(*side, moved) : moved;
      }
      return {emit1(solve_p, params, {in[0], *side}, {})};
    },
    .transpose = [](const TransposeArgs& t) -> Tangents {
      if (t.linear[0]) rules::throw_not_linear("solve");
      Tangents r(2);
      if (!t.cotangents[0]) return r;
      auto p = t.params.as<SolveParams>();
      p.transposed = !p.transposed;
      r[1] = emit1(solve_p, p, {t.inputs[0], *t.cotangents[0]}, {});
      return r;
    },
    .batch = linalg::batch_in_front<solve_p>,
    .lower = Lowering::expanded(linalg::over_stacks<linalg::expand_solve>),
    .reference = linalg::solve_reference,
};

}  // namespace gnomon
