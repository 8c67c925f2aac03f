// codegen/ops/linalg.cpp -- public factorisations, systems, powers.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "codegen/lax/align.h"
#include "codegen/ops/linalg.h"
#include "codegen/primitives/linalg/linalg.h"
#include "codegen/primitives/matrix.h"
#include "codegen/trace/trace.h"
#include "gnomon/linalg.h"

namespace gnomon::linalg {

using namespace matrix;

Array matrix_operand(std::string_view op, const Operand& x) {
  const Array a = align::as_float(op, x);
  require_matrix(op, a.aval(), x.loc());
  return a;
}
Array square_operand(std::string_view op, const Operand& x) {
  const Array a = matrix_operand(op, x);
  require_square(op, a.aval(), x.loc());
  return a;
}

namespace {

/// Both sides of a system in one dtype and batch; a vector on the right becomes a column.
struct System {
  Array a, b;
  bool vector = false;
};

System system(std::string_view op, const Operand& left, const Operand& right, bool on_left) {
  const Loc loc = left.loc();
  const DType t = align::float_dtype(align::common_dtype(op, std::array{left, right}));
  System s{align::in_dtype(op, left, t), align::in_dtype(op, right, t)};
  require_square(op, s.a.aval(), loc);
  const Dim n = rows(s.a);
  if (s.b.rank() == 1 && on_left) {
    s.vector = true;
    s.b = lax::reshape(s.b, {s.b.size(), 1}, loc);
  }
  require_matrix(op, s.b.aval(), loc);
  if ((on_left ? rows(s.b) : columns(s.b)) != n)
    usage_error(op,
                "the matrix is " + to_string(s.a.aval()) + " and the other side " +
                    to_string(right.is_array() ? right.array().aval() : s.b.aval()) +
                    ", which needs " + std::to_string(n) + (on_left ? " rows" : " columns"),
                loc);
  Shape batch = batch_of(s.a);
  const Shape other = batch_of(s.b);
  while (batch.rank() < other.rank()) batch.insert(0, 1);
  for (int i = 0; i < other.rank(); ++i) {
    Dim& d = batch[batch.rank() - other.rank() + i];
    if (d != other[i] && d != 1 && other[i] != 1)
      usage_error(op,
                  "leading axes of " + to_string(s.a.aval()) + " and " + to_string(s.b.aval()) +
                      " do not broadcast",
                  loc);
    if (d == 1) d = other[i];
  }
  s.a = align::broadcast(op, s.a, extended(batch, {n, n}), loc);
  s.b = align::broadcast(op, s.b, extended(batch, {rows(s.b), columns(s.b)}), loc);
  return s;
}

Array answer(const System& s, const Array& x) {
  return s.vector ? lax::reshape(x, x.shape().without(x.rank() - 1)) : x;
}

}  // namespace

Array cholesky(Operand x) {
  const At at(x.loc());
  const Array a = square_operand("linalg::cholesky", x);
  return emit1(cholesky_p, {}, {symmetrized(a)}, x.loc());
}

Array triangular_solve(Operand left, Operand right, TriangularOptions o) {
  const At at(left.loc());
  const System s = system("linalg::triangular_solve", left, right, o.left);
  const TriangularParams p{o.left, o.lower, o.transposed, o.unit_diagonal};
  return answer(s, emit1(triangular_solve_p, p, {s.a, s.b}, left.loc()));
}

Lu lu(Operand x) {
  const At at(x.loc());
  const Arrays r = emit(lu_p, {}, {matrix_operand("linalg::lu", x)}, x.loc());
  return {r[0], r[1], r[2]};
}

Array solve(Operand left, Operand right) {
  const At at(left.loc());
  const System s = system("linalg::solve", left, right, true);
  return answer(s, emit1(solve_p, SolveParams{}, {s.a, s.b}, left.loc()));
}

Array inv(Operand x) {
  const At at(x.loc());
  const Array a = square_operand("linalg::inv", x);
  return emit1(solve_p, SolveParams{}, {a, identity(a.dtype(), batch_of(a), rows(a))}, x.loc());
}

namespace {

/// The real matrix that does to (re, im) what a complex one does.
Array as_real(std::string_view op, const ComplexOperand& z) {
  const Complex a = complex(z.re(), z.im());
  require_square(op, a.re.aval(), z.loc());
  return blocks(a.re, lax::neg(a.im), a.im, a.re);
}

}  // namespace

Complex solve(ComplexOperand a, const Complex& b) {
  const Loc loc = a.loc();
  const At at(loc);
  const Array whole = as_real("linalg::solve", a);
  const Complex y = complex(Operand{b.re, loc}, Operand{b.im, loc});
  const int axis = std::max(0, y.re.rank() - 2);
  if (y.re.rank() == 0 || y.re.shape()[axis] != rows(whole) / 2)
    usage_error("linalg::solve",
                "the matrix has " + std::to_string(rows(whole) / 2) +
                    " rows and the other side is " + to_string(y.re.aval()) +
                    ", which needs as many",
                loc);
  const Dim n = y.re.shape()[axis];
  const Array x = solve(Operand{whole, loc}, Operand{lax::concatenate({y.re, y.im}, axis), loc});
  const int out = x.rank() - (y.re.rank() == 1 ? 1 : 2);
  return {lax::slice_axis(x, out, 0, n), lax::slice_axis(x, out, n, 2 * n)};
}

Complex inv(ComplexOperand a) {
  const At at(a.loc());
  const Array whole = as_real("linalg::inv", a);
  const Dim n = rows(whole) / 2;
  // The first block column of the inverse has all of it.
  const Array unit = padded(identity(whole.dtype(), batch_of(whole), n), 2 * n, n);
  const Array x = emit1(solve_p, SolveParams{}, {whole, unit}, a.loc());
  return {row_range(x, 0, n), row_range(x, n, 2 * n)};
}

namespace {

/// 1 or -1, by the number of rows that the factorisation swapped.
Array parity(const Array& pivots, DType dtype) {
  const Array own = lax::iota(DType::i32, pivots.shape(), pivots.rank() - 1);
  const Array swapped = lax::convert(emit1(ne_p, {}, {pivots, own}, {}), DType::i32);
  const Term count = lax::sum(swapped, {pivots.rank() - 1});
  const Term odd = emit1(and_p, {}, {count.a, number_like(count, 1)}, {});
  return lax::convert(lax::add(lax::mul(odd.a, -2), 1), dtype);
}

Term polynomial_det(const Elements& e) {
  switch (e.size()) {
    case 1:
      return e[0][0];
    case 2:
      return e[0][0] * e[1][1] - e[0][1] * e[1][0];
    default:
      return e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) -
             e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0]) +
             e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0]);
  }
}

}  // namespace

Array det(Operand x) {
  const At at(x.loc());
  const Array a = square_operand("linalg::det", x);
  const Dim n = rows(a);
  if (n == 0) return lax::full({a.dtype(), batch_of(a)}, 1);
  if (n <= 3) return polynomial_det(elements(a));
  const Arrays f = emit(lu_p, {}, {a}, x.loc());
  const Array d = diagonal(f[0]);
  return lax::mul(emit1(prod_p, AxesParams{{d.rank() - 1}}, {d}, {}), parity(f[1], a.dtype()));
}

SlogDet slogdet(Operand x) {
  const At at(x.loc());
  const Array a = square_operand("linalg::slogdet", x);
  const Shape batch = batch_of(a);
  if (rows(a) == 0) return {lax::full({a.dtype(), batch}, 1), lax::full({a.dtype(), batch}, 0)};
  const Arrays f = emit(lu_p, {}, {a}, x.loc());
  const Array d = diagonal(f[0]);
  const std::vector<int> last{d.rank() - 1};
  const Array signs = emit1(prod_p, AxesParams{last}, {lax::unary(sign_p, d)}, {});
  return {lax::mul(signs, parity(f[1], a.dtype())),
          lax::sum(lax::unary(log_p, magnitude(d)), last)};
}

Array matrix_power(Operand x, int n) {
  const At at(x.loc());
  Array a = square_operand("linalg::matrix_power", x);
  if (n == 0) return identity(a.dtype(), batch_of(a), rows(a));
  if (n < 0) a = inv({a, x.loc()});
  // Unsigned: the magnitude of the smallest integer is no int.
  unsigned left = n < 0 ? 0u - static_cast<unsigned>(n) : static_cast<unsigned>(n);
  std::optional<Array> result;
  for (; left > 0; left /= 2) {
    if (left % 2 == 1) result = result ? product(*result, a) : a;
    if (left > 1) a = product(a, a);
  }
  return *result;
}

Array expm(Operand x, ExpmOptions options) {
  const Loc loc = x.loc();
  const At at(loc);
  const Array a = square_operand("linalg::expm", x);
  if (options.max_squarings < 0 || options.max_squarings > 60)
    usage_error("linalg::expm",
                "max_squarings is " + std::to_string(options.max_squarings) +
                    " and must be between 0 and 60",
                loc);
  return emit1(expm_p, ExpmParams{options.max_squarings}, {a}, loc);
}

}  // namespace gnomon::linalg
