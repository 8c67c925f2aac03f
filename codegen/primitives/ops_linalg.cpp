// codegen/primitives/ops_linalg.cpp -- public factorisations, systems, powers.
#include <array>
#include <cmath>
#include <limits>

#include "codegen/primitives/align.h"
#include "codegen/primitives/linalg.h"
#include "codegen/primitives/matrix.h"
#include "codegen/primitives/ops_linalg.h"
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
  const At at("linalg::cholesky", x.loc());
  const Array a = square_operand("linalg::cholesky", x);
  return emit1(cholesky_p, {}, {symmetrized(a)}, x.loc());
}

Array triangular_solve(Operand left, Operand right, TriangularOptions o) {
  const At at("linalg::triangular_solve", left.loc());
  const System s = system("linalg::triangular_solve", left, right, o.left);
  const TriangularParams p{o.left, o.lower, o.transposed, o.unit_diagonal};
  return answer(s, emit1(triangular_solve_p, p, {s.a, s.b}, left.loc()));
}

Lu lu(Operand x) {
  const At at("linalg::lu", x.loc());
  const Arrays r = emit(lu_p, {}, {matrix_operand("linalg::lu", x)}, x.loc());
  return {r[0], r[1], r[2]};
}

Array solve(Operand left, Operand right) {
  const At at("linalg::solve", left.loc());
  const System s = system("linalg::solve", left, right, true);
  return answer(s, emit1(solve_p, SolveParams{}, {s.a, s.b}, left.loc()));
}

Array inv(Operand x) {
  const At at("linalg::inv", x.loc());
  const Array a = square_operand("linalg::inv", x);
  return emit1(solve_p, SolveParams{}, {a, identity(a.dtype(), batch_of(a), rows(a))}, x.loc());
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
  const At at("linalg::det", x.loc());
  const Array a = square_operand("linalg::det", x);
  const Dim n = rows(a);
  if (n == 0) return lax::full({a.dtype(), batch_of(a)}, 1);
  if (n <= 3) return polynomial_det(elements(a));
  const Arrays f = emit(lu_p, {}, {a}, x.loc());
  const Array d = diagonal(f[0]);
  return lax::mul(emit1(prod_p, AxesParams{{d.rank() - 1}}, {d}, {}), parity(f[1], a.dtype()));
}

SlogDet slogdet(Operand x) {
  const At at("linalg::slogdet", x.loc());
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
  const At at("linalg::matrix_power", x.loc());
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
  const At at("linalg::expm", loc);
  Array a = square_operand("linalg::expm", x);
  if (options.max_squarings < 0 || options.max_squarings > 60)
    usage_error("linalg::expm",
                "max_squarings is " + std::to_string(options.max_squarings) +
                    " and must be between 0 and 60",
                loc);
  if (a.size() == 0) return a;
  const Shape batch = batch_of(a), whole = a.shape();
  const Array one = identity(a.dtype(), batch, rows(a));
  // Largest column sum. It chooses between constants only: nothing is differentiated through it.
  const Array sums = lax::sum(magnitude(a), {a.rank() - 2});
  const Array norm = emit1(reduce_max_p, AxesParams{{sums.rank() - 1}}, {sums}, {});
  // Below this norm degree 13 is exact to the unit roundoff of f64 (table 2.3) and beyond f32's.
  constexpr double theta = 5.371920351148152;
  Array scale = lax::full_like(norm, 1);
  Array squarings = lax::full({DType::i32, batch}, 0);
  for (int s = 1; s <= options.max_squarings; ++s) {
    const Array more = greater(norm, theta * std::ldexp(1.0, s - 1));
    scale = choose(more, lax::full_like(norm, std::ldexp(1.0, -s)), scale);
    squarings = choose(more, lax::full_like(squarings, s), squarings);
  }
  const Array small = lax::mul(a, spread(scale, whole));

  constexpr std::array<double, 14> b{64764752532480000,
                                     32382376266240000,
                                     7771770303897600,
                                     1187353796428800,
                                     129060195264000,
                                     10559470521600,
                                     670442572800,
                                     33522128640,
                                     1323241920,
                                     40840800,
                                     960960,
                                     16380,
                                     182,
                                     1};
  // Divided by the first one: f32 holds the products then.
  const auto c = [&](std::size_t i) { return b[i] / b[0]; };
  const Term a2 = product(small, small), a4 = product(a2, a2), a6 = product(a4, a2), id = one;
  const Term high_odd = a6 * c(13) + a4 * c(11) + a2 * c(9);
  const Term u_inner = Term(product(a6, high_odd)) + a6 * c(7) + a4 * c(5) + a2 * c(3) + id * c(1);
  const Term u = product(small, u_inner);
  const Term high_even = a6 * c(12) + a4 * c(10) + a2 * c(8);
  const Term v = Term(product(a6, high_even)) + a6 * c(6) + a4 * c(4) + a2 * c(2) + id * c(0);
  Array r = emit1(solve_p, SolveParams{}, {v - u, u + v}, loc);

  // Every squaring is computed for the whole batch and kept by the matrices that need it.
  for (int s = 1; s <= options.max_squarings; ++s) {
    const Array wanted = at_least(squarings, lax::full_like(squarings, s));
    r = choose(spread(wanted, whole), product(r, r), r);
  }
  const Array out_of_reach = greater(norm, theta * std::ldexp(1.0, options.max_squarings));
  return choose(spread(out_of_reach, whole),
                lax::full_like(r, std::numeric_limits<double>::quiet_NaN()), r);
}

}  // namespace gnomon::linalg
