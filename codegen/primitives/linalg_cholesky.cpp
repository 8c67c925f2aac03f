// codegen/primitives/linalg_cholesky.cpp -- table entry of cholesky: the factor L of a = L L^T.

#include "codegen/primitives/dense.h"
#include "codegen/primitives/linalg.h"
#include "codegen/primitives/matrix.h"

namespace gnomon {
using namespace matrix;
using host::Dense;

namespace linalg {
namespace {

/// Up to here the matrix is halved while the graph is built; beyond, a loop over panels.
constexpr Dim halved = 256;
constexpr Dim panel = 64;

/// The root of a pivot; NaN, which spoils all later pivots, unless it is positive.
Term pivot_root(const Term& pivot) {
  return choose(greater(pivot, 0), square_root(pivot), number_like(pivot, nan));
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

struct Factor {
  Array l, inverse;
};

/// [[x, 0], [y, z]].
Array lower_blocks(const Array& x, const Array& y, const Array& z) {
  const Shape corner = extended(batch_of(x), {rows(x), columns(z)});
  return blocks(x, lax::full({x.dtype(), corner}, 0), y, z);
}

/// The factor and its inverse, halved down to tiny matrices; n is tiny or even at every level.
Factor halved_factor(const Array& a) {
  const Dim n = rows(a), h = n / 2;
  if (n <= tiny) {
    const Arrays f = by_matrix({a}, [](const Arrays& in) {
      const Array l = tiny_factor(in[0]);
      return Arrays{l, tiny_inverse_of_lower(l, false)};
    });
    return {f[0], f[1]};
  }
  const Factor first = halved_factor(block(a, 0, h, 0, h));
  const Array below = product(block(a, h, n, 0, h), first.inverse, false, true);
  const Array rest = lax::sub(block(a, h, n, h, n), product(below, below, false, true));
  const Factor second = halved_factor(rest);
  const Array corner = lax::neg(product(second.inverse, product(below, first.inverse)));
  return {lower_blocks(first.l, below, second.l),
          lower_blocks(first.inverse, corner, second.inverse)};
}

/// The smallest size of at least n that halving turns into tiny matrices.
Dim halvable(Dim n) {
  Dim leaves = 1;
  while ((n + leaves - 1) / leaves > tiny) leaves *= 2;
  return (n + leaves - 1) / leaves * leaves;
}

/// One panel after the other: its diagonal block by halves, the rows below it by that block's
/// inverse, then one product updates everything to the right of it. Elements of the update that lie
/// in front of the panel are zero by themselves.
Array factor_by_panels(const Array& a) {
  const Dim n = rows(a);
  const Array init = lower_part(a);
  return repeat(n / panel, {init}, [&](const Array& step, const Arrays& state) {
    const Array& m = state[0];
    const Array first = lax::mul(step, panel), zero = lax::zeros_like(first);
    const Factor head = halved_factor(block_at(m, first, first, panel, panel));
    const Array column = block_at(m, zero, first, n, panel);
    const Array row = lax::sub(row_index(column.shape()), spread(first, column.shape()));
    const Array below = choose(at_least(row, lax::full_like(row, panel)),
                               product(column, head.inverse, false, true), lax::zeros_like(column));
    const Array updated = lax::sub(m, product(below, below, false, true));
    return Arrays{with_block(with_block(updated, below, zero, first), head.l, first, first)};
  })[0];
}

Array factor(const Array& a) {
  const Dim n = rows(a);
  if (n <= tiny)
    return by_matrix({a}, [](const Arrays& in) { return Arrays{tiny_factor(in[0])}; })[0];
  if (n <= halved) {
    const Dim size = halvable(n);
    return block(halved_factor(padded(a, size, size, true)).l, 0, n, 0, n);
  }
  if (n <= 2 * halved) {
    const Dim size = (n + panel - 1) / panel * panel;
    return block(factor_by_panels(padded(a, size, size, true)), 0, n, 0, n);
  }
  // The panels of a half touch a quarter of the elements.
  const Dim h = (n / 2 + panel - 1) / panel * panel;
  const Array first = factor(block(a, 0, h, 0, h));
  const Array below =
      solve_triangular(first, block(a, h, n, 0, h), {.left = false, .transposed = true});
  const Array rest = lax::sub(block(a, h, n, h, n), product(below, below, false, true));
  return lower_blocks(first, below, factor(rest));
}

std::vector<Array> expand_cholesky(const Params&, const Arrays& in, const Target&, Loc) {
  const Array& a = in[0];
  const Dim n = rows(a);
  if (a.size() == 0) return {a};
  const Array l = factor(a);
  const Array last = diagonal(l);
  // A pivot that is not positive leaves NaN on the diagonal from there on.
  const Array pivot = lax::reshape(lax::slice_axis(last, last.rank() - 1, n - 1, n), batch_of(a));
  const Array failed = spread(emit1(isnan_p, {}, {pivot}, {}), a.shape());
  return {lower_part(choose(failed, lax::full_like(a, nan), l))};
}

std::vector<HostArray> reference(const Params&, std::span<const Aval> out,
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
    .reference = linalg::reference,
};

}  // namespace gnomon
