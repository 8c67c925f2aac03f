// engine/library/estimate/lanczos.h -- Lanczos' method for a block of vectors, each on its own.
#pragma once
#include <optional>

#include "gnomon/estimate/sampler.h"
#include "gnomon/handler.h"

namespace gnomon::estimate::detail {

/// A X for a symmetric A and X[n, b].
using Product = Handler<Array(const Array&)>;

/// Nodes and weights of Gauss' rule of a symmetric matrix and b vectors z.
struct Rule {
  Array nodes, vectors;  // [b, steps], [b, steps, steps]: eigenvalues and vectors of T
  Array squares;         // |z|^2: [b]
  Array basis;           // [steps, n, b], orthonormal for each z; empty where it was not kept
};
struct LanczosOptions {
  Dim steps = 1;
  bool reorthogonalise = true, keep = false;
};
/// Where a vector spans fewer dimensions than there are steps, what follows is cut off: weight 0.
/// Source: Golub and Van Loan, Matrix Computations, 4th edition, algorithm 10.1.1 and section
/// 10.3.1.
Rule lanczos(const Product&, const Array& z, const LanczosOptions&, Loc);

/// z^T f(A) z: [b].
Array integral(const Rule&, const Handler<Array(const Array&)>& f);
/// f(A) z: [n, b]; of a rule with its basis.
Array applied(const Rule&, const Handler<Array(const Array&)>& f);

struct SolveOptions {
  double rtol = 0;
  Dim max_steps = 0;
  std::optional<Product> preconditioner;  // near A^-1, held constant
};
/// x with A x = b for a positive definite A and every column of b[n, k], by conjugate gradients;
/// columns stop on their own. With the derivatives of the solution.
Array solved(const Product&, const Array& b, const SolveOptions&, Loc);

}  // namespace gnomon::estimate::detail
