// codegen/primitives/linalg/triangular.cpp -- table entry of triangular_solve, and checks that all
// factorisations share.
#include "codegen/primitives/linalg/dense.h"
#include "codegen/primitives/linalg/linalg.h"
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

/// Rows that are solved for at once, with the inverse of their block on the diagonal.
constexpr Dim diagonal_block = 32;
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

/// Forward substitution by blocks of rows: what the known rows contribute is one product, the block
/// itself a product with its inverse. The last block may reach back over rows that are known
/// already, and finds them once more.
Array solve_by_blocks(const Array& a, const Array& b) {
  const Dim n = rows(a), s = std::min(n, diagonal_block), count = (n + s - 1) / s;
  if (count == 1) return product(inverse_of_lower(a, false), b);
  return repeat(count, {lax::zeros_like(b)}, [&](const Array& step, const Arrays& state) {
    const Array &x = state[0], zero = lax::zeros_like(step);
    const Array first = smaller(lax::mul(step, static_cast<double>(s)),
                                number_like(zero, static_cast<double>(n - s)));
    const Array all = block_at(a, first, zero, s, n);
    const Array known = exceeds(spread(first, all.shape()), column_index(all.shape()));
    const Array rest = lax::sub(block_at(b, first, zero, s, columns(b)),
                                product(choose(known, all, lax::zeros_like(all)), x));
    const Array now = product(inverse_of_lower(block_at(a, first, first, s, s), false), rest);
    return Arrays{with_block(x, now, first, zero)};
  })[0];
}

Array solve_lower(const Array& a, const Array& b) {
  const Dim n = rows(a);
  if (n <= in_one_loop) return solve_by_blocks(a, b);
  const Dim half = (n / 2 + diagonal_block - 1) / diagonal_block * diagonal_block;
  const Array first = solve_lower(block(a, 0, half, 0, half), row_range(b, 0, half));
  const Array rest = lax::sub(row_range(b, half, n), product(block(a, half, n, 0, half), first));
  return lax::concatenate({first, solve_lower(block(a, half, n, half, n), rest)}, b.rank() - 2);
}

/// Rows and columns in reverse: upper triangular becomes lower.
Array flipped(const Array& a) { return lax::reverse(a, {a.rank() - 2, a.rank() - 1}); }

/// By elements; a is op(a) already.
Array solve_tiny(const Array& a, const Array& b, bool lower, bool unit) {
  const int rows_axis = b.rank() - 2;
  return by_matrix({a, b}, [&](const Arrays& in) {
    if (lower) return Arrays{substitute(in[0], in[1], unit)};
    const Array x = substitute(flipped(in[0]), lax::reverse(in[1], {rows_axis}), unit);
    return Arrays{lax::reverse(x, {rows_axis})};
  })[0];
}

Array with_ones_on_diagonal(const Array& a) {
  const Array on = lax::eq(row_index(a.shape()), column_index(a.shape()));
  return choose(on, number_like(a, 1), a);
}

}  // namespace

Array inverse_of_lower(const Array& a, bool unit) {
  const Dim n = rows(a);
  // Columns in front of what they consist of: they are lanes where there is no batch.
  const Shape batch = batch_of(a).size() == 1 ? Shape{} : batch_of(a);
  const Shape column_shape = extended(batch, {n}), shape = extended(batch, {n, n});
  const int last = column_shape.rank();
  // Ones are written down and divided by: the kernel is the same whatever the diagonal.
  const Array own =
      lax::insert_axis(lax::reshape(unit ? with_ones_on_diagonal(a) : a, shape), batch.rank(), n);
  const auto row = [&](const Array& i, const Arrays& state) {
    const Array &known = state[0], zero = lax::zeros_like(i);
    const Array l = lax::reshape(block_at(own, i, zero, 1, n), shape);
    const Array in_front = exceeds(spread(i, shape), column_index(shape));
    const Term sum = lax::sum(choose(in_front, Term(l) * known, lax::zeros_like(known)), {last});
    const Array is_own =
        lax::eq(lax::iota(DType::i32, column_shape, last - 1), spread(i, column_shape));
    const Term next = (choose(is_own, number_like(sum, 1), number_like(sum, 0)) - sum) /
                      lax::reshape(block_at(own, i, i, 1, 1), column_shape);
    return Arrays{with_block(known, lax::reshape(next.a, extended(column_shape, {1})), zero, i)};
  };
  return lax::reshape(transposed(repeat(n, {lax::full({a.dtype(), shape}, 0)}, row)[0]), a.shape());
}

Array solve_triangular(const Array& a, const Array& b, const TriangularParams& p) {
  // x a = b is a^T x^T = b^T.
  if (!p.left)
    return transposed(
        solve_triangular(a, transposed(b), {true, p.lower, !p.transposed, p.unit_diagonal}));
  if (b.size() == 0) return b;
  const bool lower = p.lower != p.transposed;
  if (rows(a) <= tiny && columns(b) <= tiny)
    return solve_tiny(p.transposed ? transposed(a) : a, b, lower, p.unit_diagonal);
  // Upper triangles become lower ones, and ones on the diagonal are written down: systems of one
  // size share all kernels of the loop, which a copy of the matrix costs less than.
  const Array op = p.transposed ? transposed(a) : a;
  const Array full = p.unit_diagonal ? with_ones_on_diagonal(op) : op;
  if (lower) return solve_lower(full, b);
  const int rows_axis = b.rank() - 2;
  return lax::reverse(solve_lower(flipped(full), lax::reverse(b, {rows_axis})), {rows_axis});
}

namespace {

std::vector<Array> expand_triangular_solve(const Params& params, const Arrays& in, const Target&,
                                           Loc) {
  return {solve_triangular(in[0], in[1], params.as<TriangularParams>())};
}

std::vector<HostArray> reference_triangular_solve(const Params& params, std::span<const Aval> out,
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
    .lower = Lowering::expanded(linalg::over_stacks<linalg::expand_triangular_solve>),
    .reference = linalg::reference_triangular_solve,
};

}  // namespace gnomon
