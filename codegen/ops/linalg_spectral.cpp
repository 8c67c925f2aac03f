// codegen/ops/linalg_spectral.cpp -- public orthogonal factorisations, least squares,
// norms.
#include <algorithm>
#include <array>
#include <cmath>

#include "codegen/lax/align.h"
#include "codegen/ops/linalg.h"
#include "codegen/primitives/linalg/jacobi.h"
#include "codegen/primitives/linalg/linalg.h"
#include "codegen/primitives/matrix.h"
#include "codegen/trace/eager.h"
#include "gnomon/linalg.h"

namespace gnomon::linalg {

using namespace matrix;

namespace {

/// What `rtol` says, or eps max(m, n).
double tolerance(std::string_view op, const Array& a, const RankOptions& o, Loc loc) {
  if (o.rtol && !(*o.rtol >= 0))
    usage_error(op, "rtol is " + std::to_string(*o.rtol) + " and cannot be negative", loc);
  return o.rtol.value_or(2 * unit_roundoff(a.dtype()) *
                         static_cast<double>(std::max(rows(a), columns(a))));
}

Array first_of(const Array& s) {
  const int axis = s.rank() - 1;
  return lax::reshape(lax::slice_axis(s, axis, 0, 1), s.shape().without(axis));
}
Array last_of(const Array& s) {
  const int axis = s.rank() - 1;
  const Dim n = s.shape()[axis];
  return lax::reshape(lax::slice_axis(s, axis, n - 1, n), s.shape().without(axis));
}

/// Number of elements above `rtol` times the first one.
Array count_above(const Array& s, double rtol) {
  if (s.size() == 0) return lax::full({DType::i32, s.shape().without(s.rank() - 1)}, 0);
  const Term top = spread(first_of(s), s.shape());
  return lax::sum(lax::convert(exceeds(s, top * rtol), DType::i32), {s.rank() - 1});
}

Array values_of(const Array& a, Loc loc) { return emit(svd_p, {}, {a}, loc)[1]; }

}  // namespace

Qr qr(Operand x, QrOptions options) {
  const At at(x.loc());
  const Arrays r =
      emit(qr_p, QrParams{options.complete}, {matrix_operand("linalg::qr", x)}, x.loc());
  return {r[0], r[1]};
}

Eigh eigh(Operand x) {
  const At at(x.loc());
  const Arrays r = emit(eigh_p, {}, {square_operand("linalg::eigh", x)}, x.loc());
  return {r[0], r[1]};
}

Array eigvalsh(Operand x) {
  const At at(x.loc());
  return emit(eigh_p, {}, {square_operand("linalg::eigvalsh", x)}, x.loc())[0];
}

Svd svd(Operand x) {
  const At at(x.loc());
  const Arrays r = emit(svd_p, {}, {matrix_operand("linalg::svd", x)}, x.loc());
  return {r[0], r[1], r[2]};
}

Array svdvals(Operand x) {
  const At at(x.loc());
  return values_of(matrix_operand("linalg::svdvals", x), x.loc());
}

Array pinv(Operand x, RankOptions options) {
  const At at(x.loc());
  const Array a = matrix_operand("linalg::pinv", x);
  return emit1(pinv_p, PinvParams{tolerance("linalg::pinv", a, options, x.loc())}, {a}, x.loc());
}

Array matrix_rank(Operand x, RankOptions options) {
  const At at(x.loc());
  const Array a = matrix_operand("linalg::matrix_rank", x);
  return count_above(values_of(a, x.loc()), tolerance("linalg::matrix_rank", a, options, x.loc()));
}

LeastSquares lstsq(Operand left, Operand right, RankOptions options) {
  const Loc loc = left.loc();
  constexpr std::string_view op = "linalg::lstsq";
  const At at(loc);
  const DType t = align::float_dtype(align::common_dtype(op, std::array{left, right}));
  const Array a = align::in_dtype(op, left, t);
  require_matrix(op, a.aval(), loc);
  Array b = align::in_dtype(op, right, t);
  const bool vector = b.rank() == 1;
  if (vector) b = lax::reshape(b, {b.size(), 1});
  require_matrix(op, b.aval(), loc);
  if (rows(b) != rows(a))
    usage_error(op,
                "the matrix is " + to_string(a.aval()) + " and the other side " +
                    to_string(b.aval()) + "; they need as many rows",
                loc);
  const double rtol = tolerance(op, a, options, loc);
  const Arrays found = at_once(op, loc, [&] {
    const Array p = emit1(pinv_p, PinvParams{rtol}, {a}, loc);
    const Array x = matmul({p, loc}, {b, loc});
    const Array gap =
        lax::sub(matmul({a, loc}, {x, loc}),
                 align::broadcast(op, b, extended(batch_of(x), {rows(b), columns(b)}), loc));
    const Array residuals = lax::sum(lax::mul(gap, gap), {gap.rank() - 2});
    const Array s = values_of(a, loc);
    const auto flat = [&](const Array& y) {
      return vector ? lax::reshape(y, y.shape().without(y.rank() - 1)) : y;
    };
    return Arrays{flat(x), flat(residuals), count_above(s, rtol), s};
  });
  return {found[0], found[1], found[2], found[3]};
}

Array vector_norm(Operand x, double ord, const Axes& axes, ReduceOptions options) {
  const Loc loc = x.loc();
  const At at(loc);
  const Array a = align::as_float("linalg::vector_norm", x);
  if (std::isnan(ord)) usage_error("linalg::vector_norm", "ord is NaN", loc);
  if (ord == 2) return norm({a, loc}, axes, options);
  const Array size = magnitude(a);
  if (ord == INFINITY) return max({size, loc}, axes, options);
  if (ord == -INFINITY) return min({size, loc}, axes, options);
  if (ord == 1) return sum({size, loc}, axes, options);
  if (ord == 0)
    return sum({lax::convert(emit1(ne_p, {}, {a, lax::zeros_like(a)}, {}), a.dtype()), loc}, axes,
               options);
  const Array total = sum({pow({size, loc}, {ord, loc}), loc}, axes, options);
  return pow({total, loc}, {1 / ord, loc});
}

Array matrix_norm(Operand x, MatrixNorm kind) {
  const Loc loc = x.loc();
  const At at(loc);
  const Array a = matrix_operand("linalg::matrix_norm", x);
  const int r = a.rank();
  const auto largest_sum = [&](int over) {
    const Array sums = lax::sum(magnitude(a), {over});
    return max({sums, loc}, -1);
  };
  switch (kind) {
    case MatrixNorm::frobenius:
      return norm({a, loc}, Axes{r - 2, r - 1});
    case MatrixNorm::one:
      return largest_sum(r - 2);
    case MatrixNorm::infinity:
      return largest_sum(r - 1);
    case MatrixNorm::two:
      return max({values_of(a, loc), loc}, -1);
    case MatrixNorm::nuclear:
      return sum({values_of(a, loc), loc}, -1);
  }
  return a;
}

Array condition_number(Operand x, MatrixNorm kind) {
  const Loc loc = x.loc();
  const At at(loc);
  const Array a = matrix_operand("linalg::condition_number", x);
  if (kind == MatrixNorm::two) {
    const Array s = values_of(a, loc);
    if (s.size() == 0)
      usage_error("linalg::condition_number", to_string(a.aval()) + " is empty", loc);
    return lax::div(first_of(s), last_of(s));
  }
  require_square("linalg::condition_number", a.aval(), loc);
  return lax::mul(matrix_norm({a, loc}, kind), matrix_norm({inv({a, loc}), loc}, kind));
}

}  // namespace gnomon::linalg
