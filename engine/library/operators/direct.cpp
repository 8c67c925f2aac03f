// engine/library/operators/direct.cpp -- factors of matrices, and the solutions they give.
#include "engine/library/operators/direct.h"

#include "engine/library/operators/flat.h"
#include "gnomon/arrange.h"
#include "gnomon/custom.h"
#include "gnomon/implicit.h"
#include "gnomon/indexing.h"
#include "gnomon/linalg.h"
#include "gnomon/sorting.h"

namespace gnomon::operators::detail {
namespace {

/// x of right sides [n, k], with the matrix or its transpose.
using Factors = Handler<Array(const Array& b, bool transposed)>;

Array column(const Array& v) { return reshape(v, {v.size(), 1}); }

/// A with one product: that with the sum of some unit vectors.
Array product_with(const Operator& a, const Array& block, Loc loc) {
  const Flat flat(a.in(), true);
  return flat.matrix(a.mm(flat.vectors(block), loc), block.dtype());
}

Array diagonal_of(const Operator& a, DType dtype, Loc loc) {
  const auto stored = a.map().diagonal(loc);
  if (stored) return cast(*stored, dtype);
  return reshape(product_with(a, ones({a.rows(), 1}, dtype), loc), {a.rows()});
}

/// All of length n, as linalg::tridiagonal_solve has them.
Map::Bands bands_of(const Operator& a, DType dtype, Loc loc) {
  const Dim n = a.rows();
  if (const auto stored = a.map().bands(loc)) {
    const Array none = zeros({1}, dtype);
    return {concatenate({none, cast(stored->lower, dtype)}), cast(stored->diag, dtype),
            concatenate({cast(stored->upper, dtype), none})};
  }
  // Every third unit vector in one product: what they give does not overlap.
  const Array kind = arange(n) % 3;
  const Array comb = cast(reshape(kind, {n, 1}) == reshape(arange(3), {1, 3}), dtype);
  const Array all = product_with(a, comb, loc);
  const auto beside = [&](int shift) {
    const Array wanted = reshape((arange(n) + shift) % 3, {n, 1}) == reshape(arange(3), {1, 3});
    return sum(where(wanted, all, 0), {1});
  };
  return {beside(2), beside(0), beside(1)};
}

Factors factors_of(Direct method, const Operator& a, DType dtype, Loc loc) {
  const Tags& tags = a.tags();
  const auto matrix = [&] { return cast(stop_gradient(a.as_matrix(loc)), dtype); };
  switch (method) {
    case Direct::diagonal: {
      if (tags.unit_diagonal) return [](const Array& b, bool) { return b; };
      return [d = column(stop_gradient(diagonal_of(a, dtype, loc)))](const Array& b, bool) {
        return b / d;
      };
    }
    case Direct::tridiagonal: {
      const Map::Bands all = bands_of(a, dtype, loc);
      const Map::Bands bands{stop_gradient(all.lower), stop_gradient(all.diag),
                             stop_gradient(all.upper)};
      const Dim n = a.rows();
      return [=](const Array& b, bool transposed) {
        if (!transposed) return linalg::tridiagonal_solve(bands.lower, bands.diag, bands.upper, b);
        // What stands above a row's diagonal stands below that of the row behind it.
        const Array none = zeros({1}, dtype);
        return linalg::tridiagonal_solve(concatenate({none, slice(bands.upper, {0}, {n - 1})}),
                                         bands.diag,
                                         concatenate({slice(bands.lower, {1}, {n}), none}), b);
      };
    }
    case Direct::triangular:
      return [m = matrix(), lower = tags.lower_triangular, unit = tags.unit_diagonal](
                 const Array& b, bool transposed) {
        return linalg::triangular_solve(
            m, b, {.lower = lower, .transposed = transposed, .unit_diagonal = unit});
      };
    case Direct::cholesky: {
      const bool negative = tags.negative_semidefinite && !tags.positive_semidefinite;
      const Array l = linalg::cholesky(negative ? -matrix() : matrix());
      return [=](const Array& b, bool) {
        const Array half = linalg::triangular_solve(l, negative ? -b : b);
        return linalg::triangular_solve(l, half, {.transposed = true});
      };
    }
    case Direct::lu: {
      const linalg::Lu f = linalg::lu(matrix());
      const Array back = argsort(f.permutation);
      return [=](const Array& b, bool transposed) {
        if (!transposed) {
          const Array half =
              linalg::triangular_solve(f.lu, take(b, f.permutation, 0), {.unit_diagonal = true});
          return linalg::triangular_solve(f.lu, half, {.lower = false});
        }
        const Array half = linalg::triangular_solve(f.lu, b, {.lower = false, .transposed = true});
        const Array x =
            linalg::triangular_solve(f.lu, half, {.transposed = true, .unit_diagonal = true});
        return take(x, back, 0);
      };
    }
    case Direct::qr:
      break;
  }
  return {};
}

Arrays square_solution(Direct method, const Operator& a, const Arrays& b, bool block, DType dtype,
                       Loc loc) {
  const Flat flat(a.out(), block);
  const Factors factors = factors_of(method, a, dtype, loc);
  const auto product = [&](const Arrays& v) { return block ? a.mm(v, loc) : a.mv(v, loc); };
  const auto forward = [&](const auto&, const Arrays& v) {
    return flat.vectors(factors(flat.matrix(v, dtype), false));
  };
  if (a.tags().is_symmetric())
    return custom_linear_solve(product, b, forward, {.symmetric = true}, loc);
  const auto transposed = [&](const auto&, const Arrays& v) {
    return flat.vectors(factors(flat.matrix(v, dtype), true));
  };
  return custom_linear_solve(product, b, forward, transposed, loc);
}

/// Least squares, or the shortest solution; `q`, `r` are of A or, of fewer rows than columns, A^T.
Arrays least_squares(const Operator& a, const Arrays& b, bool block, DType dtype, Loc loc) {
  const bool tall = a.rows() >= a.columns();
  const Flat in_space(a.in(), block), out_space(a.out(), block);
  const Array m = cast(stop_gradient(a.as_matrix(loc)), dtype);
  const linalg::Qr f = linalg::qr(tall ? m : transpose(m));
  const auto upper = [&](const Array& v, bool transposed) {
    return linalg::triangular_solve(f.r, v, {.lower = false, .transposed = transposed});
  };
  const Operator at = a.transpose(loc);
  const auto times = [&](const Operator& o, const Arrays& v) {
    return block ? o.mm(v, loc) : o.mv(v, loc);
  };
  // R^T R, of A^T A or A A^T.
  const auto normal = [&](const Flat& flat) {
    return [&](const auto&, const Arrays& v) {
      return flat.vectors(upper(upper(flat.matrix(v, dtype), true), false));
    };
  };
  if (!tall) {
    // x = A^T y with A A^T y = b.
    const auto product = [&](const Arrays& v) { return times(a, times(at, v)); };
    const auto shortest = [&] {
      return times(at,
                   custom_linear_solve(product, b, normal(out_space), {.symmetric = true}, loc));
    };
    Arrays x = in_space.vectors(
        matmul(f.q, upper(out_space.matrix(
                              tree::map([](const Array& v) { return stop_gradient(v); }, b), dtype),
                          true)));
    return custom_root([&](const Arrays& v) { return minus(v, shortest()); }, x,
                       [](const auto&, const Arrays& found) { return tree::clone(found); },
                       [](const auto&, const Arrays& y) { return tree::clone(y); }, loc);
  }
  Arrays x = in_space.vectors(upper(
      matmul(
          transpose(f.q),
          out_space.matrix(tree::map([](const Array& v) { return stop_gradient(v); }, b), dtype)),
      false));
  const auto slope = [&](const Arrays& v) { return times(at, minus(times(a, v), b)); };
  return custom_root(
      slope, x, [](const auto&, const Arrays& found) { return tree::clone(found); },
      [&](const auto& linear, const Arrays& y) {
        const auto product = [&](const Arrays& v) { return linear(v); };
        return custom_linear_solve(product, y, normal(in_space), {.symmetric = true}, loc);
      },
      loc);
}

}  // namespace

Solved direct(Direct method, const Operator& a, const Arrays& b, bool block, Loc loc) {
  const DType dtype =
      a.in().dtype() == DType::f64 || a.out().dtype() == DType::f64 ? DType::f64 : DType::f32;
  Solved s;
  s.x = method == Direct::qr ? least_squares(a, b, block, dtype, loc)
                             : square_solution(method, a, b, block, dtype, loc);
  const Flat in_space(a.in(), block), out_space(a.out(), block);
  const Array x = stop_gradient(in_space.matrix(s.x, dtype));
  const Array finite = all(isfinite(x), {0});
  const Arrays left = minus(b, block ? a.mm(s.x, loc) : a.mv(s.x, loc));
  const Array r = out_space.matrix(left, dtype);
  s.residual = stop_gradient(sqrt(sum(r * r, {0})));
  s.result = where(finite, code(SolveResult::converged), code(SolveResult::nonfinite));
  s.steps = zeros({x.dim(1)}, DType::i32);
  if (!block)
    for (Array* v : {&s.residual, &s.result, &s.steps}) *v = reshape(*v, {});
  return s;
}

}  // namespace gnomon::operators::detail
