// codegen/primitives/linalg/linalg.h -- the factorisations: parameters, table entries, and what
// their rules share.
//
// Semantics (matrices in the last two axes, any batch in front, f32 or f64)
//   cholesky:         a[n,n] -> L[n,n] with L L^T = a; reads the lower triangle. NaN in the lower
//                     triangle when a is not positive definite.
//   triangular_solve: a[n,n], b[n,m] -> a^-1 b, or b[m,n] -> b a^-1 on the right; reads one
//                     triangle.
//   lu:               a[m,n] -> L and U in one array, pivots i32[k], permutation i32[m] with
//                     k = min(m,n): a[permutation] = L U; step i swapped row i with row pivots[i].
//   solve:            a[n,n], b[n,m] -> a^-1 b (a^-T b).
//   qr:               a[m,n] -> q[m,k], r[k,n] by Householder's reflections, k = min(m,n), or m
//                     when `complete`. r[i,i] has the sign opposite to the element it came from.
//   eigh:             a[n,n], of which the symmetric part counts -> eigenvalues[n] ascending,
//                     eigenvectors in the columns of [n,n].
//   svd:              a[m,n] -> u[m,k], s[k] descending, vt[k,n].
//   pinv:             a[m,n] -> [n,m]; singular values up to rtol times the largest count as zero.
//   expm:             a[n,n] -> its exponential; NaN beyond the reach of `max_squarings`.
//   expm_tangent:     a[n,n], e[n,n] -> the derivative of the exponential at a in direction e.
//   Eigenvectors and columns of u have their element of largest magnitude positive, the first of
//   equals.
#pragma once
#include <limits>
#include <string_view>

#include "codegen/graph/primitive.h"
#include "codegen/primitives/families.h"
#include "codegen/primitives/matrix.h"

namespace gnomon {

struct TriangularParams {
  bool left = true;
  bool lower = true;
  bool transposed = false;
  bool unit_diagonal = false;
};
struct SolveParams {
  bool transposed = false;
};
struct QrParams {
  bool complete = false;
};
struct PinvParams {
  double rtol = 0;
};

struct ExpmParams {
  Dim max_squarings = 16;
};

extern const Primitive cholesky_p, triangular_solve_p, lu_p, solve_p, qr_p, eigh_p, svd_p, pinv_p;
extern const Primitive expm_p, expm_tangent_p;

namespace linalg {

/// Throws UsageError unless `a` is a matrix of floats, square when asked for.
void require_matrix(std::string_view op, const Aval& a, Loc);
void require_square(std::string_view op, const Aval& a, Loc);
/// Throws UsageError unless both have one dtype and batch, and a's rows are as many as b's.
void require_system(std::string_view op, const Aval& a, const Aval& b, bool left, Loc);

/// The operation over operands whose batch axis moves to the front.
template <const Primitive& P>
Batched batch_in_front(const Params& params, const Arrays& in, const BatchAxes& axes, Dim size) {
  Arrays front;
  for (std::size_t i = 0; i < in.size(); ++i)
    front.push_back(rules::batch_front(in[i], axes[i], size));
  Arrays out = emit(P, params, front, {});
  return {out, BatchAxes(out.size(), 0)};
}

/// The expansion `rule` with all batch axes made one where there are more than two: what rules do
/// with blocks of matrices takes axes of its own, of which an array has eight. All operands have
/// the first one's batch.
template <ExpandRule* rule>
Arrays over_stacks(const Params& params, const Arrays& in, const Target& target, Loc loc) {
  const Shape batch = matrix::batch_of(in[0]);
  if (batch.rank() <= 2) return rule(params, in, target, loc);
  Arrays flat;
  for (const Array& a : in) {
    Shape s{batch.size()};
    for (int i = batch.rank(); i < a.rank(); ++i) s.append(a.shape()[i]);
    flat.push_back(lax::reshape(a, s, loc));
  }
  Arrays out = rule(params, flat, target, loc);
  for (Array& a : out) {
    Shape s = batch;
    for (int i = 1; i < a.rank(); ++i) s.append(a.shape()[i]);
    a = lax::reshape(a, s, loc);
  }
  return out;
}

// ---- expansions that others build on

inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
/// Systems up to this size are written out element by element.
inline constexpr Dim tiny = 8;
/// Matrices of up to this many rows and columns are orthogonalized element by element.
inline constexpr Dim tiny_rows = 6, tiny_columns = 4;
/// Columns that a factorisation eliminates one by one; more are taken in panels of so many.
inline constexpr Dim panel = 32;
/// Up to here panels update all columns; more columns are halved, and the right half waits for the
/// left one: the loop over panels multiplies with columns that are not known yet.
inline constexpr Dim by_panels = 512;

Array solve_triangular(const Array& a, const Array& b, const TriangularParams&);
/// The inverses of small lower triangular matrices by forward substitution, a lane for each column;
/// what is above the diagonal is not read.
Array inverse_of_lower(const Array& a, bool unit_diagonal);

struct Reduced {
  Array q, r;
};
Reduced expand_qr(const Array& a, bool complete);
/// `v` with its columns in the order of `keys` (ascending, or descending), and the keys so ordered;
/// equal keys keep their order. O(n^2).
struct Sorted {
  Array keys, vectors;
};
Sorted sort_columns(const Array& keys, const Array& vectors, bool descending);
/// Signs (1 or -1) that make the element of largest magnitude of every column positive.
Array column_signs(const Array& v);

}  // namespace linalg
}  // namespace gnomon
