// tests/support/random_matrices.cpp -- steps of linear algebra, on matrices that are well
// conditioned: what two executions round differently stays close.
#include "gnomon/arrange.h"
#include "gnomon/linalg.h"
#include "tests/support/random_steps.h"

namespace gnomon::testing {

/// Elements between -1 / n and 1 / n.
Array Steps::square_matrix(const Value& v, const Shape& batch, Dim n) {
  Shape shape = batch;
  shape.append(n);
  shape.append(n);
  return squashed(filled(v, shape)) * (1 / static_cast<double>(n));
}

bool Steps::linear_algebra() {
  const auto a = pick([](const Value& v) { return v.floating() && v.array.size() > 0; });
  if (!a) return false;
  const auto b =
      pick([&](const Value& v) { return v.dtype() == a->dtype() && v.array.size() > 0; });
  const bool large = random_.chance(8);
  const Dim n = large ? random_.between(5, 12) : random_.between(1, 4);
  const bool many = random_.chance(50);
  const Dim count = many ? length() : 1;
  const Dim columns = random_.between(1, 3);
  if (count * n * n > max_elements_ || count == 0 || style_.most_rank < 3) return false;
  const Shape batch = many ? Shape(count) : Shape();
  const Array m = square_matrix(*a, batch, n);
  const Array identity = eye(n, {}, a->dtype());
  const Array dominant = m + identity * 2;
  Shape sides = batch;
  sides.append(n);
  sides.append(columns);
  const Array right = filled(*b, sides);
  const Dim which = random_.below(12);
  switch (which) {
    case 0:
      return rounded(linalg::cholesky(matmul(m, swapaxes(m, -1, -2)) + identity));
    case 1:
      return rounded(linalg::solve(dominant, right));
    case 2:
      return rounded(linalg::inv(dominant));
    case 3:
      return rounded(linalg::det(dominant * 0.5));
    case 4: {
      linalg::TriangularOptions options;
      options.lower = random_.chance(50);
      options.transposed = random_.chance(50);
      options.unit_diagonal = random_.chance(30);
      options.left = random_.chance(70);
      return rounded(linalg::triangular_solve(
          dominant, options.left ? right : swapaxes(right, -1, -2), options));
    }
    case 5: {
      // A column that ends in zeros keeps its sign, and one that ends next to zeros changes it:
      // with a positive diagonal the factors are unique.
      const linalg::Qr f = linalg::qr(dominant);
      const Array signs = sign(diagonal(f.r, 0, -2, -1));
      rounded(f.q * expand_dims(signs, -2));
      return rounded(f.r * expand_dims(signs, -1));
    }
    case 6: {
      const linalg::Lu f = linalg::lu(dominant);
      exact(f.permutation);
      return rounded(f.lu);
    }
    case 7:
      return rounded(linalg::slogdet(dominant).logabs);
    case 8:
      return rounded(linalg::expm(m));
    case 9:
      return rounded(linalg::matrix_power(m + identity * 0.5, 3));
    default: {
      // Eigenvalues and singular values that are apart, whatever m is: where two meet, the second
      // derivatives have a pole.
      if (n > 4) return false;
      const Array spread = m + diag(cast(arange(n) * 3 + 2, a->dtype()));
      return rounded((which == 10 ? linalg::eigvalsh(spread) : linalg::svdvals(spread)) * 0.25);
    }
  }
}

}  // namespace gnomon::testing
