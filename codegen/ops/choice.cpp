// codegen/ops/choice.cpp -- random indices, orders and matrices.
#include <algorithm>
#include <cmath>
#include <limits>

#include "codegen/lax/align.h"
#include "codegen/ops/random_draws.h"
#include "codegen/primitives/linalg/linalg.h"
#include "codegen/trace/eager.h"
#include "gnomon/indexing.h"
#include "gnomon/linalg.h"
#include "gnomon/ops.h"
#include "gnomon/sorting.h"

namespace gnomon::random {
namespace {

/// Sorts by random words, as often as makes equal words harmless.
Array shuffled(Key key, Array x, int axis, Loc loc) {
  const double n = std::max<double>(1, static_cast<double>(x.size()));
  const double rounds = std::ceil(3 * std::log(n) / std::log(4294967295.0));
  for (int round = 0; round < static_cast<int>(rounds); ++round) {
    auto keys = split<2>(std::move(key), loc);
    key = std::move(keys[0]);
    x = sort_together({bits(std::move(keys[1]), x.shape(), DType::u32, loc), x}, 1, axis, loc)[1];
  }
  return x;
}

/// Sums of the first 1, 2, ... elements of rank 1.
Array running_sum(Array x, Loc loc) {
  const Array zero = lax::scalar(x.dtype(), 0, loc);
  for (Dim step = 1; step < x.size(); step *= 2)
    x = lax::add(x, lax::pad(x, zero, PadParams{{step}, {-step}, {0}}, loc), loc);
  return x;
}

/// i32[shape] below n.
Array chosen(std::string_view op, Key key, Dim n, const Shape& shape, const ChoiceOptions& options,
             Loc loc) {
  const Dim count = shape.size();
  if (n < 1 && count > 0) usage_error(op, "from " + std::to_string(n) + " elements", loc);
  if (!options.replace && count > n)
    usage_error(op,
                std::to_string(count) + " of " + std::to_string(n) +
                    " elements without drawing any twice; set .replace, or draw fewer",
                loc);
  if (!options.p) {
    if (options.replace) return randint(std::move(key), shape, {0, loc}, {n, loc});
    const Array all = permutation(std::move(key), n, loc);
    return lax::reshape(lax::slice_axis(all, 0, 0, count, loc), shape, loc);
  }
  const Array p = align::as_float(op, {*options.p, loc});
  if (p.shape() != Shape{n})
    usage_error(op, "the weights of " + std::to_string(n) + " elements are " + to_string(p.aval()),
                loc);
  if (options.replace) {
    // The inverse of the distribution function.
    const Array total = running_sum(p, loc);
    const Array u = uniform(std::move(key), shape, {0.0, loc}, {1.0, loc}, p.dtype());
    const Array r = multiply({total[n - 1], loc}, {lax::sub_from(1, u, loc), loc});
    return searchsorted({total, loc}, {r, loc});
  }
  // The largest noisy logarithms are a draw without repetition.
  const Array noisy =
      lax::add(gumbel(std::move(key), {n}, p.dtype(), loc), lax::unary(log_p, p, loc), loc);
  return lax::reshape(top_k({noisy, loc}, count).indices, shape, loc);
}

}  // namespace

Array categorical(Key key, Operand logits, int axis, const std::optional<Shape>& shape) {
  const Loc loc = logits.loc();
  constexpr std::string_view op = "random::categorical";
  return at_once(op, loc, [&]() -> Array {
    const Array a = align::as_float(op, logits);
    const int along = align::axis_of(op, axis, a, loc);
    const Shape rest = a.shape().without(along);
    const Shape out = shape.value_or(rest);
    const int in_front = out.rank() - rest.rank();
    if (in_front < 0 || out.part(in_front, out.rank()) != rest)
      usage_error(op,
                  "the shape " + to_string(out) + " does not end in " + to_string(rest) +
                      ", that of the logits " + to_string(a.aval()) + " without axis " +
                      std::to_string(along),
                  loc);
    // The largest of logits with Gumbel noise is index i with probability softmax(logits)[i].
    const Shape drawn = out.with_inserted(in_front + along, a.shape()[along]);
    const Array noise = gumbel(std::move(key), drawn, a.dtype(), loc);
    const Array noisy = lax::add(noise, align::broadcast(op, a, drawn, loc), loc);
    return argmax({noisy, loc}, in_front + along);
  });
}

Array permutation(Key key, Dim n, Loc loc) {
  if (n < 0) usage_error("random::permutation", "of " + std::to_string(n) + " elements", loc);
  return shuffled(std::move(key), lax::iota(DType::i32, {n}, 0, loc), 0, loc);
}

// A key may be on no device; the array says where the whole runs.
Array permutation(Key key, Operand x, int axis) {
  const Loc loc = x.loc();
  return at_once("random::permutation", loc, [&] {
    const Array a = align::as_array("random::permutation", x);
    const int along = align::axis_of("random::permutation", axis, a, loc);
    return take({a, loc}, {permutation(std::move(key), a.shape()[along], loc), loc}, along);
  });
}

Array shuffle(Key key, Operand x, int axis) {
  const Loc loc = x.loc();
  return at_once("random::shuffle", loc, [&] {
    const Array a = align::as_array("random::shuffle", x);
    return shuffled(std::move(key), a, align::axis_of("random::shuffle", axis, a, loc), loc);
  });
}

Array choice(Key key, Dim n, const Shape& shape, ChoiceOptions options, Loc loc) {
  return chosen("random::choice", std::move(key), n, shape, options, loc);
}

Array choice(Key key, Operand x, const Shape& shape, ChoiceOptions options, int axis) {
  const Loc loc = x.loc();
  return at_once("random::choice", loc, [&] {
    const Array a = align::as_array("random::choice", x);
    const int along = align::axis_of("random::choice", axis, a, loc);
    const Array at =
        chosen("random::choice", std::move(key), a.shape()[along], shape, options, loc);
    return take({a, loc}, {at, loc}, along);
  });
}

Array multivariate_normal(Key key, Operand mean, Operand covariance, const Shape& shape,
                          DType dtype) {
  const Loc loc = mean.loc();
  constexpr std::string_view op = "random::multivariate_normal";
  return at_once(op, loc, [&]() -> Array {
    const Array center = align::in_dtype(op, mean, dtype);
    const Array spread = align::in_dtype(op, covariance, dtype);
    if (center.rank() < 1 || spread.rank() < 2 || spread.dim(-1) != center.dim(-1) ||
        spread.dim(-2) != center.dim(-1))
      usage_error(op,
                  "a mean " + to_string(center.aval()) + " and a covariance " +
                      to_string(spread.aval()) + "; they are [.., n] and [.., n, n]",
                  loc);
    const Dim n = center.dim(-1);
    const Shape drawn = shape.with_inserted(shape.rank(), n);
    const Array z = normal(std::move(key), drawn, dtype, loc);
    const Array column = lax::reshape(z, drawn.with_inserted(drawn.rank(), 1), loc);
    const Array moved = matmul({linalg::cholesky({spread, loc}), loc}, {column, loc});
    return lax::add(lax::reshape(moved, drawn, loc), align::broadcast(op, center, drawn, loc), loc);
  });
}

Array orthogonal(Key key, Dim n, const Shape& shape, DType dtype, Loc loc) {
  if (n < 1) usage_error("random::orthogonal", "of " + std::to_string(n) + " rows", loc);
  const int rank = shape.rank();
  const Shape square = shape.with_inserted(rank, n).with_inserted(rank + 1, n);
  const Arrays f = emit(qr_p, QrParams{}, {normal(std::move(key), square, dtype, loc)}, loc);
  const Array &q = f[0], &r = f[1];
  // Signs make the factorisation unique, and its first factor uniform.
  const Array on_diagonal = lax::eq(lax::iota(DType::i32, square, rank, loc),
                                    lax::iota(DType::i32, square, rank + 1, loc), loc);
  const Array diagonal =
      lax::sum(lax::select(on_diagonal, r, lax::zeros_like(r, loc), loc), {rank}, loc);
  const Array signs = lax::unary(sign_p, diagonal, loc);
  return lax::mul(q, lax::insert_axis(signs, rank, n, loc), loc);
}

}  // namespace gnomon::random
