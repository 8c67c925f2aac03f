// codegen/primitives/linalg_triangular.cpp -- table entry of triangular_solve, and checks that all
// factorisations share.
#include "codegen/primitives/dense.h"
#include "codegen/primitives/linalg.h"
#include "codegen/primitives/matrix.h"

namespace gnomon {
using namespace matrix;
using host::Dense;

namespace linalg {

void require_matrix(std::string_view op, const Aval& a, Loc loc) {
  if (a.shape.rank() < 2)
    usage_error(op,
                "takes matrices in the last two axes, got " + to_string(a) +
                    "; reshape it, or stack several vectors",
                loc);
  if (a.dtype != DType::f32 && a.dtype != DType::f64)
    usage_error(op, "takes f32 or f64, got " + to_string(a) + "; cast it", loc);
}

void require_square(std::string_view op, const Aval& a, Loc loc) {
  require_matrix(op, a, loc);
  const int r = a.shape.rank();
  if (a.shape[r - 2] != a.shape[r - 1])
    usage_error(op,
                "takes square matrices, got " + to_string(a) + " with " +
                    std::to_string(a.shape[r - 2]) + " rows and " + std::to_string(a.shape[r - 1]) +
                    " columns; lstsq, qr and svd take any",
                loc);
}

void require_system(std::string_view op, const Aval& a, const Aval& b, bool left, Loc loc) {
  require_square(op, a, loc);
  require_matrix(op, b, loc);
  const int r = a.shape.rank();
  if (a.dtype != b.dtype || r != b.shape.rank() ||
      a.shape.part(0, r - 2) != b.shape.part(0, r - 2) ||
      a.shape[r - 1] != b.shape[left ? r - 2 : r - 1])
    usage_error(op,
                "the matrix is " + to_string(a) + " and the other side " + to_string(b) +
                    "; they need one dtype, equal leading axes and as many " +
                    (left ? "rows" : "columns"),
                loc);
}

namespace {

/// Blocks on the diagonal that are inverted at once; products do the rest.
constexpr Dim diagonal_block = 32;
/// This many blocks are walked while the graph is built; more in a loop.
constexpr Dim unrolled_blocks = 8;
/// Larger systems are halved first: the loop multiplies with rows that are not known yet.
constexpr Dim in_one_loop = 1024;

/// Forward substitution on a lower triangular matrix of tiny size.
Array substitute(const Array& a, const Array& b, bool unit) {
  const Elements l = elements(a);
  Elements x = elements(b);
  for (std::size_t i = 0; i < l.size(); ++i)
    for (std::size_t j = 0; j < x[i].size(); ++j) {
      Term sum = x[i][j];
      for (std::size_t k = 0; k < i; ++k) sum = sum - l[i][k] * x[k][j];
      x[i][j] = unit ? sum : sum / l[i][i];
    }
  return matrix_of(x);
}

/// The inverses of g lower triangular blocks [.., g, n, n], n a power of two: every level turns the
/// inverses of 2g halves into those of g blocks with two products.
Array invert_blocks(const Array& a, bool unit) {
  const Dim n = rows(a), h = n / 2;
  if (n <= tiny)
    return by_matrix(
        {a}, [&](const Arrays& in) { return Arrays{tiny_inverse_of_lower(in[0], unit)}; })[0];
  const Shape batch = batch_of(a);
  const int group = batch.rank() - 1;
  const auto in_pairs = [&](const Array& x,
                            const Array& y) {  // [.., g, h, h] twice as [.., 2g, ..]
    const Array pair = lax::concatenate(
        {lax::insert_axis(x, group + 1, 1), lax::insert_axis(y, group + 1, 1)}, group + 1);
    return lax::reshape(pair, extended(batch.with(group, 2 * batch[group]), {h, h}));
  };
  const Array both = invert_blocks(in_pairs(block(a, 0, h, 0, h), block(a, h, n, h, n)), unit);
  const Array split = lax::reshape(both, extended(batch, {2, h, h}));
  const auto half = [&](Dim i) {
    return lax::reshape(lax::slice_axis(split, group + 1, i, i + 1), extended(batch, {h, h}));
  };
  const Array corner = lax::neg(product(half(1), product(block(a, h, n, 0, h), half(0))));
  return blocks(half(0), lax::zeros_like(corner), corner, half(1));
}

/// Diagonal blocks [.., g, s, s] of [.., g s, g s].
Array diagonal_blocks(const Array& a, Dim s) {
  const Shape batch = batch_of(a);
  const Dim g = rows(a) / s;
  Arrays parts;
  if (g <= unrolled_blocks) {
    for (Dim i = 0; i < g; ++i)
      parts.push_back(
          lax::insert_axis(block(a, i * s, i * s + s, i * s, i * s + s), batch.rank(), 1));
    return lax::concatenate(parts, batch.rank());
  }
  // As the diagonal of [g, s, g, s] over both g: every g + 1st of g * g slices.
  const Array apart = lax::reshape(a, extended(batch, {g, s, g, s}));
  std::vector<int> order;
  for (int i = 0; i < batch.rank(); ++i) order.push_back(i);
  for (int i : {0, 2, 1, 3}) order.push_back(batch.rank() + i);
  const Array flat = lax::reshape(lax::permute(apart, order), extended(batch, {g * g, s, s}));
  const auto rank = static_cast<std::size_t>(flat.rank());
  std::vector<Dim> first(rank, 0), last(flat.shape().begin(), flat.shape().end()), step(rank, 1);
  step[rank - 3] = g + 1;
  return lax::slice(flat, first, last, step);
}

Array one_of(const Array& groups, Dim i) {
  const int axis = groups.rank() - 3;
  return lax::reshape(lax::slice_axis(groups, axis, i, i + 1), groups.shape().without(axis));
}

/// Rows by blocks: what earlier blocks contribute is one product with the rows known so far, the
/// block itself a product with its inverse.
Array solve_by_blocks(const Array& a, const Array& b, bool unit) {
  const Dim s = diagonal_block, n = rows(a), g = n / s;
  const Array inverses = invert_blocks(diagonal_blocks(a, s), unit);
  if (g <= unrolled_blocks) {
    Array x = product(one_of(inverses, 0), row_range(b, 0, s));
    for (Dim i = 1; i < g; ++i) {
      const Array known = product(block(a, i * s, i * s + s, 0, i * s), x);
      const Array rest = lax::sub(row_range(b, i * s, i * s + s), known);
      x = lax::concatenate({x, product(one_of(inverses, i), rest)}, x.rank() - 2);
    }
    return x;
  }
  const Shape flat_inverses = extended(batch_of(a), {n, s});
  const Array stacked = lax::reshape(inverses, flat_inverses);
  return repeat(g, {lax::zeros_like(b)}, [&](const Array& step, const Arrays& state) {
    const Array first = lax::mul(step, static_cast<double>(s)), zero = lax::zeros_like(first);
    // Rows that are not known yet are zero.
    const Array known = product(block_at(a, first, zero, s, n), state[0]);
    const Array rest = lax::sub(block_at(b, first, zero, s, columns(b)), known);
    const Array now = product(block_at(stacked, first, zero, s, s), rest);
    return Arrays{with_block(state[0], now, first, zero)};
  })[0];
}

/// a^-1 b for lower triangular a.
Array solve_lower(const Array& a, const Array& b, bool unit) {
  const Dim n = rows(a);
  if (b.size() == 0) return b;
  if (n <= tiny && columns(b) <= tiny)
    return by_matrix({a, b},
                     [&](const Arrays& in) { return Arrays{substitute(in[0], in[1], unit)}; })[0];
  Dim size = diagonal_block;
  if (n < size) {
    size = 1;
    while (size < n) size *= 2;
    return row_range(product(inverse_of_lower(a, unit), b), 0, n);
  }
  if (n > in_one_loop) {
    const Dim h = (n / 2 + diagonal_block - 1) / diagonal_block * diagonal_block;
    const Array first = solve_lower(block(a, 0, h, 0, h), row_range(b, 0, h), unit);
    const Array rest = lax::sub(row_range(b, h, n), product(block(a, h, n, 0, h), first));
    return lax::concatenate({first, solve_lower(block(a, h, n, h, n), rest, unit)}, b.rank() - 2);
  }
  size = (n + diagonal_block - 1) / diagonal_block * diagonal_block;
  const Array x =
      solve_by_blocks(lower_part(padded(a, size, size, true)), padded(b, size, columns(b)), unit);
  return row_range(x, 0, n);
}

/// Rows and columns in reverse: upper triangular becomes lower.
Array turned(const Array& a) { return lax::reverse(a, {a.rank() - 2, a.rank() - 1}); }

}  // namespace

Array tiny_inverse_of_lower(const Array& a, bool unit) {
  const Elements l = elements(a);
  const std::size_t n = l.size();
  const Term zero = number_like(l[0][0], 0), one = number_like(l[0][0], 1);
  Elements x(n, std::vector<Term>(n, zero));
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = j; i < n; ++i) {
      Term sum = i == j ? one : -(l[i][j] * x[j][j]);
      for (std::size_t k = j + 1; k < i; ++k) sum = sum - l[i][k] * x[k][j];
      x[i][j] = unit ? sum : sum / l[i][i];
    }
  return matrix_of(x);
}

Array inverse_of_lower(const Array& a, bool unit) {
  const Dim n = rows(a);
  Dim size = tiny;
  while (size < n) size *= 2;
  if (n <= tiny) size = n;
  const Array square = padded(a, size, size, true);
  const Array group = lax::reshape(square, extended(batch_of(a), {1, size, size}));
  return block(lax::reshape(invert_blocks(group, unit), square.shape()), 0, n, 0, n);
}

Array solve_triangular(const Array& a, const Array& b, const TriangularParams& p) {
  // x a = b is a^T x^T = b^T.
  if (!p.left)
    return transposed(
        solve_triangular(a, transposed(b), {true, p.lower, !p.transposed, p.unit_diagonal}));
  const Array m = p.transposed ? transposed(a) : a;
  if (p.lower != p.transposed) return solve_lower(m, b, p.unit_diagonal);
  const int rows_axis = b.rank() - 2;
  return lax::reverse(solve_lower(turned(m), lax::reverse(b, {rows_axis}), p.unit_diagonal),
                      {rows_axis});
}

namespace {

std::vector<Array> expand(const Params& params, const Arrays& in, const Target&, Loc) {
  return {solve_triangular(in[0], in[1], params.as<TriangularParams>())};
}

std::vector<HostArray> reference(const Params& params, std::span<const Aval> out,
                                 std::span<const HostArray> in) {
  const auto& p = params.as<TriangularParams>();
  HostArray r(out[0]);
  for (Dim batch = 0; r.size() > 0 && batch < host::matrices(out[0]); ++batch) {
    Dense a = host::matrix_at(in[0], batch), b = host::matrix_at(in[1], batch);
    if (!p.left) b = b.transposed();
    bool lower = p.lower;
    if (p.left == p.transposed) {
      a = a.transposed();
      lower = !lower;
    }
    const Dim n = a.rows();
    for (Dim c = 0; c < b.columns(); ++c)
      for (Dim step = 0; step < n; ++step) {
        const Dim i = lower ? step : n - 1 - step;
        double x = b(i, c);
        for (Dim k = lower ? 0 : i + 1; k < (lower ? i : n); ++k) x -= a(i, k) * b(k, c);
        b(i, c) = p.unit_diagonal ? x : x / a(i, i);
      }
    host::put_matrix(r, batch, p.left ? b : b.transposed());
  }
  return {std::move(r)};
}

/// The triangle the operation reads; without the diagonal when that is taken for ones.
Array triangle(const Array& a, const TriangularParams& p) {
  return p.lower ? lower_part(a, p.unit_diagonal ? -1 : 0) : upper_part(a, p.unit_diagonal ? 1 : 0);
}

/// -op(da) x, or -x op(da) on the right.
Array moved_by(const Array& da, const Array& x, const TriangularParams& p) {
  const Array t = triangle(da, p);
  return lax::neg(p.left ? product(t, x, p.transposed, false) : product(x, t, false, p.transposed));
}

}  // namespace
}  // namespace linalg

/// Derivative: a dx = db - da x.
const Primitive triangular_solve_p{
    .name = "triangular_solve",
    .parse = parse_params<TriangularParams>,
    .shape = [](const Params& params, std::span<const Aval> in, Loc loc) -> std::vector<Aval> {
      rules::require_operands("triangular_solve", in, 2, loc);
      linalg::require_system("triangular_solve", in[0], in[1], params.as<TriangularParams>().left,
                             loc);
      return {in[1]};
    },
    .jvp = [](const Params& params, const Arrays& in, const Arrays& out,
              const Tangents& d) -> Tangents {
      std::optional<Array> side = d[1];
      if (d[0]) {
        const Array moved = linalg::moved_by(*d[0], out[0], params.as<TriangularParams>());
        side = side ? lax::add(*side, moved) : moved;
      }
      return {emit1(triangular_solve_p, params, {in[0], *side}, {})};
    },
    .transpose = [](const TransposeArgs& t) -> Tangents {
      if (t.linear[0]) rules::throw_not_linear("triangular_solve");
      Tangents r(2);
      if (!t.cotangents[0]) return r;
      auto p = t.params.as<TriangularParams>();
      p.transposed = !p.transposed;
      r[1] = emit1(triangular_solve_p, p, {t.inputs[0], *t.cotangents[0]}, {});
      return r;
    },
    .batch = [](const Params& params, const Arrays& in, const BatchAxes& axes,
                Dim size) -> Batched {
      const auto& p = params.as<TriangularParams>();
      // Broadcasting a small matrix keeps the elements of the batch apart, lane by lane.
      if (axes[0] || rows(in[0]) <= linalg::diagonal_block)
        return linalg::batch_in_front<triangular_solve_p>(params, in, axes, size);
      // One large matrix for the whole batch: more columns (rows) to solve for.
      const int to = in[0].rank() - (p.left ? 1 : 2);
      const Array apart = lax::move_axis(in[1], *axes[1], to);
      Shape merged = apart.shape().without(to);
      merged[to] *= size;
      const Array x = emit1(triangular_solve_p, params, {in[0], lax::reshape(apart, merged)}, {});
      return {{lax::reshape(x, apart.shape())}, {to}};
    },
    .lower = Lowering::expanded(linalg::over_stacks<linalg::expand>),
    .reference = linalg::reference,
};

}  // namespace gnomon
