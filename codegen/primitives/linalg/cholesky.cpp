// codegen/primitives/linalg/cholesky.cpp -- table entry of cholesky: the factor L of a = L L^T.

#include "codegen/primitives/linalg/dense.h"
#include "codegen/primitives/linalg/linalg.h"
#include "codegen/primitives/matrix.h"

namespace gnomon {
using namespace matrix;
using host::Dense;

namespace linalg {
namespace {

/// The root of a pivot; NaN, which spoils all later pivots, unless it is positive.
Term pivot_root(const Term& pivot) {
  return choose(exceeds(pivot, 0), square_root(pivot), number_like(pivot, nan));
}

/// The factor.
Array tiny_factor(const Array& a) {
  Elements l = elements(a);
  const auto n = l.size();
  for (std::size_t j = 0; j < n; ++j) {
    Term d = l[j][j];
    for (std::size_t k = 0; k < j; ++k) d = d - l[j][k] * l[j][k];
    l[j][j] = pivot_root(d);
    for (std::size_t i = j + 1; i < n; ++i) {
      Term x = l[i][j];
      for (std::size_t k = 0; k < j; ++k) x = x - l[i][k] * l[j][k];
      l[i][j] = x / l[j][j];
      l[j][i] = number_like(d, 0);
    }
  }
  return matrix_of(l);
}

/// The matrix that the lower triangle stands for.
Array from_lower(const Array& a) {
  const Array above = exceeds(column_index(a.shape()), row_index(a.shape()));
  return choose(above, transposed(a), a);
}

/// Gauss on [a | more], symmetric a, rows divided by the roots of their pivots: L^T and L^-1 more.
Array eliminated(const Array& both) {
  const Dim n = rows(both);
  const Shape column_shape = both.shape().without(both.rank() - 1);
  return repeat(n, {both}, [&](const Array& j, const Arrays& state) {
    const Array& x = state[0];
    const Array row = lax::iota(DType::i32, column_shape, column_shape.rank() - 1);
    const Array pivot = lax::reshape(block_at(x, j, j, 1, 1), batch_of(x));
    const Term root = pivot_root(pivot);
    const Term own = Term(row_at(x, j)) / spread(root, x.shape().without(x.rank() - 2));
    const Array behind = exceeds(row, spread(j, column_shape));
    const Term column = Term(column_at(x, j)) / spread(root, column_shape);
    const Term factor = choose(behind, column, number_like(column, 0));
    const Array here = lax::eq(row_index(x.shape()), spread(j, x.shape()));
    const Term next = Term(x) - Term(as_columns(factor, columns(x))) * as_rows(own, n);
    return Arrays{choose(here, as_rows(own, n), next)};
  })[0];
}

/// [[x, 0], [y, z]].
Array lower_blocks(const Array& x, const Array& y, const Array& z) {
  const Shape corner = extended(batch_of(x), {rows(x), columns(z)});
  return blocks(x, lax::full({x.dtype(), corner}, 0), y, z);
}

/// One panel after the other: what is left of its columns when all columns in front are taken off,
/// its diagonal block by elimination, the rows below by that block's inverse. Columns that are not
/// known yet are zero, and so are the rows of a panel in front of it.
Array factor_by_panels(const Array& a) {
  const Dim n = rows(a);
  return repeat(n / panel, {lax::zeros_like(a)}, [&](const Array& step, const Arrays& state) {
    const Array& l = state[0];
    const Array first = lax::mul(step, panel), zero = lax::zeros_like(first);
    const Array known = product(l, block_at(l, first, zero, panel, n), false, true);
    const Array rest = lax::sub(block_at(a, zero, first, n, panel), known);
    const Array head = from_lower(block_at(rest, first, zero, panel, panel));
    const Array unit = identity(a.dtype(), batch_of(a), panel);
    const Array both = eliminated(lax::concatenate({head, unit}, head.rank() - 1));
    const Array upper = column_range(both, 0, panel);
    const Array below = product(rest, column_range(both, panel, 2 * panel), false, true);
    const Array row = lax::sub(row_index(rest.shape()), spread(first, rest.shape()));
    const Array local = lax::iota(DType::i32, extended(batch_of(a), {n}), a.rank() - 2);
    const Array own = rows_taken(transposed(upper), lax::sub(local, spread(first, local.shape())));
    const Array in_block = exceeds(number_like(row, static_cast<double>(panel)), row);
    const Array kept = at_least(row, column_index(rest.shape()));
    const Array next = choose(kept, choose(in_block, own, below), lax::zeros_like(below));
    return Arrays{with_block(l, next, zero, first)};
  })[0];
}

Array lower_factor(const Array& a) {
  const Dim n = rows(a);
  if (n <= tiny)
    return by_matrix({a}, [](const Arrays& in) { return Arrays{tiny_factor(in[0])}; })[0];
  if (n <= 2 * panel) return transposed(eliminated(from_lower(a)));
  if (n <= by_panels) {
    const Dim size = (n + panel - 1) / panel * panel;
    return block(factor_by_panels(padded(a, size, size, true)), 0, n, 0, n);
  }
  // The panels of a half touch a quarter of the elements.
  const Dim h = (n / 2 + panel - 1) / panel * panel;
  const Array first = lower_factor(block(a, 0, h, 0, h));
  const Array below =
      solve_triangular(first, block(a, h, n, 0, h), {.left = false, .transposed = true});
  const Array rest = lax::sub(block(a, h, n, h, n), product(below, below, false, true));
  return lower_blocks(first, below, lower_factor(rest));
}

std::vector<Array> expand_cholesky(const Params&, const Arrays& in, const Target&, Loc) {
  const Array& a = in[0];
  const Dim n = rows(a);
  if (a.size() == 0) return {a};
  const Array l = lower_factor(a);
  const Array last = diagonal(l);
  // A pivot that is not positive leaves NaN on the diagonal from there on.
  const Array pivot = lax::reshape(lax::slice_axis(last, last.rank() - 1, n - 1, n), batch_of(a));
  const Array failed = spread(emit1(isnan_p, {}, {pivot}, {}), a.shape());
  return {lower_part(choose(failed, lax::full_like(a, nan), l))};
}

std::vector<HostArray> reference_cholesky(const Params&, std::span<const Aval> out,
                                          std::span<const HostArray> in) {
  HostArray r(out[0]);
  for (Dim b = 0; r.size() > 0 && b < host::matrices(out[0]); ++b) {
    const Dense a = host::matrix_at(in[0], b);
    const Dim n = a.rows();
    Dense l(n, n);
    bool definite = true;
    for (Dim i = 0; i < n; ++i)
      for (Dim j = 0; j <= i; ++j) {
        double x = a(i, j);
        for (Dim k = 0; k < j; ++k) x -= l(i, k) * l(j, k);
        if (i == j) definite = definite && x > 0;
        l(i, j) = i == j ? std::sqrt(x) : x / l(j, j);
      }
    for (Dim i = 0; i < n && !definite; ++i)
      for (Dim j = 0; j <= i; ++j) l(i, j) = nan;
    host::put_matrix(r, b, l);
  }
  return {std::move(r)};
}

/// The lower triangle with its diagonal halved.
Array half_lower(const Array& x) {
  const Array half = lax::mul(identity(x.dtype(), batch_of(x), rows(x)), 0.5);
  return lower_part(lax::sub(x, lax::mul(x, half)));
}

}  // namespace
}  // namespace linalg

/// Derivative: dL = L phi(L^-1 dA L^-T), phi as `half_lower`; Murray, Differentiation of the
/// Cholesky decomposition (2016), equation 8. The lower triangle of a stands for both.
const Primitive cholesky_p{
    .name = "cholesky",
    .parse = no_params,
    .shape = [](const Params&, std::span<const Aval> in, Loc loc) -> std::vector<Aval> {
      rules::require_operands("cholesky", in, 1, loc);
      linalg::require_square("cholesky", in[0], loc);
      return {in[0]};
    },
    .jvp = [](const Params&, const Arrays&, const Arrays& out, const Tangents& d) -> Tangents {
      const Array& l = out[0];
      const Array lower = lower_part(*d[0]);
      const Array whole = lax::add(lower, transposed(lower_part(*d[0], -1)));
      const Array right = emit1(
          triangular_solve_p, TriangularParams{.left = false, .transposed = true}, {l, whole}, {});
      const Array both = emit1(triangular_solve_p, TriangularParams{}, {l, right}, {});
      return {product(l, linalg::half_lower(both))};
    },
    .transpose = rules::not_linear<cholesky_p>,
    .batch = linalg::batch_in_front<cholesky_p>,
    .lower = Lowering::expanded(linalg::over_stacks<linalg::expand_cholesky>),
    .reference = linalg::reference_cholesky,
};

}  // namespace gnomon
