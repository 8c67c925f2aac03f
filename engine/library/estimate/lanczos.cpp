// engine/library/estimate/lanczos.cpp -- three-term recurrences of blocks.
#include "engine/library/estimate/lanczos.h"

#include <limits>

#include "engine/library/estimate/blocks.h"
#include "gnomon/implicit.h"
#include "gnomon/indexing.h"
#include "gnomon/linalg.h"

namespace gnomon::estimate::detail {
namespace {

double epsilon(DType t) {
  return t == DType::f64 ? std::numeric_limits<double>::epsilon()
                         : std::numeric_limits<float>::epsilon();
}

/// The block without what it has of the basis; twice, which is enough (Golub and Van Loan, 10.3.3).
Array orthogonal_to(const Array& basis, Array w) {
  for (int times = 0; times < 2; ++times)
    w = w - einsum("mnb,mb->nb", basis, einsum("mnb,nb->mb", basis, w));
  return w;
}

/// The symmetric tridiagonal matrices [b, m, m] of alpha and beta [m, b].
Array tridiagonal(const Array& alpha, const Array& beta) {
  const Dim m = alpha.dim(0);
  const Array rows = iota({m, m}, 0), columns = iota({m, m}, 1);
  const Array a = expand_dims(transpose(alpha), 2), b = expand_dims(transpose(beta), 2);
  const Array upper = where(columns == rows + 1, b, 0);
  return where(columns == rows, a, 0) + upper + swapaxes(upper, 1, 2);
}

/// The weights of nodes: squares of the first numbers of the vectors.
Array weights(const Rule& r) { return square(squeeze(slice_axis(r.vectors, 1, 0, 1), {1})); }

}  // namespace

Rule lanczos(const Product& a, const Array& z, const LanczosOptions& o, Loc loc) {
  const DType dtype = z.dtype();
  const Dim n = z.dim(0), b = z.dim(1);
  const bool kept = o.keep || o.reorthogonalise;
  struct State {
    Array before, v, beta;  // the last two vectors of the basis, what the last was divided by
    Array first, largest;   // the first alpha; a bound of the norm of T so far
    Arrays basis;
  };
  Rule r;
  r.squares = dots(z, z);
  const Array nothing = zeros({b}, dtype);
  State start{zeros({n, b}, dtype),
              z * rsqrt(where(r.squares > 0, r.squares, 1)),
              nothing,
              nothing,
              nothing,
              {}};
  if (kept) start.basis = {zeros({o.steps, n, b}, dtype)};
  const auto step = [&](const State& s, const Array& j) {
    Arrays basis = s.basis;
    if (kept) basis[0] = dynamic_update_slice(basis[0], expand_dims(s.v, 0), {j, 0, 0});
    Array w = a(s.v);
    const Array alpha = dots(w, s.v);
    w = w - alpha * s.v - s.beta * s.before;
    if (o.reorthogonalise) w = orthogonal_to(basis[0], w);
    const Array squares = dots(w, w);
    const Array beta = sqrt(where(squares > 0, squares, 1));
    const Array largest = maximum(s.largest, abs(alpha) + s.beta + beta * (squares > 0));
    // What rounding leaves of a vector that has no part outside the basis.
    const Array more = (squares > 0) && (beta > 64 * epsilon(dtype) * largest);
    const Array first = where(j == 0, alpha, s.first);
    // Past the end T goes on with a number that `f` can take, at weight 0.
    const Array here = where(dots(s.v, s.v) > 0.5, alpha, first);
    const Array below = where(more, beta, 0);
    const State next{s.v, where(more, w / beta, 0), below, first, stop_gradient(largest), basis};
    return std::pair{next, std::pair{here, below}};
  };
  const auto [end, rows] = scan(step, start, arange(o.steps), ScanOptions{}, loc);
  const linalg::Eigh e = linalg::eigh(tridiagonal(rows.first, rows.second));
  r.nodes = e.eigenvalues;
  r.vectors = e.eigenvectors;
  if (kept) r.basis = end.basis[0];
  return r;
}

Array integral(const Rule& r, const Handler<Array(const Array&)>& f) {
  const Array w = weights(r);
  // f may be infinite where the weight is 0.
  return r.squares * sum(w * where(w > 0, f(r.nodes), 0), {1});
}

Array applied(const Rule& r, const Handler<Array(const Array&)>& f) {
  const Array first = squeeze(slice_axis(r.vectors, 1, 0, 1), {1});  // [b, steps]
  const Array at = first * where(square(first) > 0, f(r.nodes), 0);
  const Array y = sqrt(expand_dims(r.squares, 1)) * einsum("bij,bj->bi", r.vectors, at);
  return einsum("mnb,bm->nb", r.basis, y);
}

Array solved(const Product& a, const Array& rhs, const SolveOptions& o, Loc loc) {
  struct State {
    Array x, r, p, squares, forms;  // forms: r . M r, M the preconditioner
  };
  const auto preconditioned = [&](const Array& r) {
    return o.preconditioner ? (*o.preconditioner)(r) : r;
  };
  const auto solve = [&](const auto& product, const Array& b) {
    const Array enough = o.rtol * o.rtol * dots(b, b);
    const auto more = [&](const State& s) { return any(s.squares > enough); };
    const auto step = [&](const State& s) {
      const Array ap = product(s.p), moves = s.squares > enough;
      const Array length = where(moves, s.forms / where(moves, dots(s.p, ap), 1), 0);
      const Array r = s.r - length * ap, mr = preconditioned(r), forms = dots(r, mr);
      const Array keep = where(moves, forms / where(moves, s.forms, 1), 0);
      return State{s.x + length * s.p, r, mr + keep * s.p, dots(r, r), forms};
    };
    const Array mb = preconditioned(b);
    const State start{zeros_like(b), b, mb, dots(b, b), dots(b, mb)};
    return while_loop(more, step, start, {.max_steps = o.max_steps}, loc).x;
  };
  const auto matvec = [&](const Array& x) { return a(x); };
  return custom_linear_solve(matvec, rhs, solve, {.symmetric = true}, loc);
}

}  // namespace gnomon::estimate::detail
