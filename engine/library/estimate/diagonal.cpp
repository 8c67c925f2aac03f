// engine/library/estimate/diagonal.cpp -- diagonals, number by number.
#include "gnomon/estimate/diagonal.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/library/estimate/blocks.h"
#include "engine/library/estimate/leave_one_out.h"

namespace gnomon::estimate {
namespace {

using detail::Arrays;
using detail::Source;
using operators::Operator;

Array not_a_number(const Array& like) {
  return full(like.shape(), std::numeric_limits<double>::quiet_NaN(), like.dtype());
}

/// Sums over probes so far, each [n]: of x = z (A z), of y = z z, and of the distances x - d y from
/// their ratio d: of their squares, of their products with y; of y y.
struct Sums {
  Array x, y, squares, products, yy;
};

/// The sums for another ratio.
Sums moved(const Sums& s, const Array& by) {
  return {s.x, s.y, s.squares - by * (2 * s.products - by * s.yy), s.products - by * s.yy, s.yy};
}
Array ratio(const Sums& s) { return s.x / where(s.y > 0, s.y, 1); }

Sums sums(const Array& z, const Array& az) {
  const Array x = z * az, y = square(z);
  Sums s{sum(x, {1}), sum(y, {1}), {}, {}, {}};
  const Array apart = stop_gradient(x - expand_dims(ratio(s), 1) * y);
  s.squares = sum(square(apart), {1});
  s.products = sum(apart * y, {1});
  s.yy = sum(square(y), {1});
  return s;
}
Sums joined(const Sums& a, const Sums& b) {
  const Array x = a.x + b.x, y = a.y + b.y;
  const Array all = stop_gradient(x / where(y > 0, y, 1));
  const Sums p = moved(a, all - stop_gradient(ratio(a)));
  const Sums q = moved(b, all - stop_gradient(ratio(b)));
  return {x, y, p.squares + q.squares, p.products + q.products, p.yy + q.yy};
}

DiagonalEstimate bekas(const Operator& a, const Source& source, Dim k, Dim batch, Loc loc) {
  const Dim used = std::min(k, a.columns());
  const auto b = detail::batches(used, a.in(), batch, source.together());
  const auto block = [&](const Operand& index, Dim size) {
    const Array z = detail::flat(source.block(index, size, loc), a.in());
    return sums(z, detail::product(a, z, loc));
  };
  Sums s = block(0, b.size);
  if (b.count > 1) {
    const auto step = [&](const Array& i, const Sums& so_far) {
      return joined(so_far, block(i, b.size));
    };
    s = fori_loop(1, b.count, step, s, ForiOptions{}, loc);
  }
  if (b.rest > 0) s = joined(s, block(static_cast<std::int32_t>(b.count), b.rest));
  const Array value = ratio(s);
  if (used < 2) return {value, not_a_number(value), used};
  const double unbiased = double(used) / double(used - 1);
  return {value, stop_gradient(sqrt(maximum(s.squares, 0) * unbiased) / s.y), used};
}

/// Number by number the covariance of XDiag's estimates of two probes, [n]: see
/// detail::mean_of_exchangeable.
///
/// The range without probes i and j lacks of that without i the direction (s_j - c s_i) /
/// sqrt(1 - c^2), c = s_i . s_j. So much less of it in both parts of the estimate is
///   e_i - f_ij = (Q_j - c Q_i) (Z_j - c Z_i + c w_i) / (1 - c^2)
/// with Q = Q S, Z = A^T Q S and w_i = omega_i (s_i . Q^T A omega_i) / mean omega^2; s_j is at
/// right angles to A omega_i.
Array covariance_of(const Array& s, const Array& qs, const Array& zs, const Array& w) {
  const Dim m = s.dim(1);
  const double eps = s.dtype() == DType::f64 ? std::numeric_limits<double>::epsilon()
                                             : std::numeric_limits<float>::epsilon();
  const Array c = matmul(transpose(s), s), sine2 = maximum(1 - square(c), eps);
  const auto first = [](const Array& x) { return expand_dims(x, 2); };
  const auto second = [](const Array& x) { return expand_dims(x, 1); };
  const auto apart = [&](const auto& i, const auto& j) {
    return (j(qs) - c * i(qs)) * (j(zs) - c * (i(zs) - i(w)));
  };
  const Array weight = where(eye(m, DType::boolean), 0, 1 / square(sine2));
  return sum(weight * apart(first, second) * apart(second, first), {1, 2}) /
         (double(m) * double(m - 1));
}

DiagonalEstimate x_diag(const Operator& a, const Source& source, Dim k, bool fixed, Loc loc) {
  const Dim m = std::clamp<Dim>(k / 2, 1, a.columns());
  detail::require_independent("XDiag", source, m, loc);
  const Array omega = detail::flat(source.all(m, loc), a.in());
  const Array y = detail::product(a, omega, loc);
  const detail::LeaveOneOut range(fixed ? stop_gradient(y) : y, fixed);
  const Array &q = range.q(), &s = range.s();
  const Array z = detail::product(a.transpose(loc), q, loc);
  // For each probe: diag(P_i A), and omega_i * (1 - P_i) A omega_i.
  const Array qs = matmul(q, s), zs = matmul(z, s);
  const Array left = y - matmul(q, range.without(matmul(transpose(q), y)));
  const Array squares = mean(square(omega), {1}, {.keepdims = true});
  const Array each =
      expand_dims(sum(q * z, {1}), 1) - qs * zs + omega * left / where(squares > 0, squares, 1);
  const Array value = mean(each, {1});
  if (m < 2) return {value, not_a_number(value), 2 * m};
  const Array deviation = standard_deviation(stop_gradient(each), {1}, {.ddof = 1});
  const Array along = detail::dots(s, matmul(transpose(q), y)) / where(squares > 0, squares, 1);
  const Array covariance = covariance_of(stop_gradient(s), stop_gradient(qs), stop_gradient(zs),
                                         stop_gradient(omega * along));
  return {value, sqrt(square(deviation) / double(m) + maximum(covariance, 0)), 2 * m};
}

}  // namespace

DiagonalEstimate diagonal(Key key, const Operator& a, Dim k, const DiagonalMethod& method,
                          const TraceOptions& options, Loc loc) {
  operators::require_square("estimate::diagonal", a, loc);
  detail::require_positive("estimate::diagonal", "k", k, loc);
  const auto sampler = std::visit([](const auto& m) { return m.sampler; }, method);
  const Source source(sampler, std::move(key), a.in());
  if (options.derivative == Derivative::exact)
    usage_error("estimate::diagonal",
                "an exact derivative is for traces; take Operator::diagonal, which is exact", loc);
  if (std::holds_alternative<Bekas>(method)) return bekas(a, source, k, options.batch, loc);
  return x_diag(a, source, k, options.derivative == Derivative::same_probes, loc);
}

}  // namespace gnomon::estimate
