// codegen/primitives/linalg/jacobi.h -- plane rotations in parallel: what eigh and svd share.
//
// A round rotates disjoint pairs of columns; w - 1 rounds, a *sweep*, let every two of w columns
// meet (w even). Matrices of up to `in_one_piece` columns are rotated column by column. Larger ones
// are cut into blocks of columns: a round lets disjoint pairs of blocks meet, each pair by one
// sweep over its own columns whose product of rotations is then multiplied into everything else, so
// that nearly all the work is products of matrices.
#pragma once
#include "codegen/primitives/matrix.h"

namespace gnomon::linalg {

/// Half the distance between 1 and the next number.
inline double unit_roundoff(DType t) { return t == DType::f64 ? 0x1p-53 : 0x1p-24; }
/// Sweeps after which Jacobi's iteration ends in any case; ten are many.
inline constexpr Dim most_sweeps = 30;
/// Steps of `completed` at most: each multiplies small singular values by 1.5.
inline constexpr Dim most_completing_steps = 100;
/// Sweeps over matrices that are written out element by element.
inline int tiny_sweeps(Dim n) { return n <= 2 ? 1 : 7; }
/// Columns that are rotated one by one, and of a pair of blocks: sweeps over pairs are done by few
/// lanes, and cost more than the products from here on.
inline constexpr Dim in_one_piece = 16;

/// Cosine and sine of the rotation that makes the element q between the diagonal elements p and r
/// zero: p' = p - t q, r' = r + t q. Rutishauser, The Jacobi method for real symmetric matrices
/// (1966). An element that is nothing next to matrices of norm 1 counts as zero. `rest` is 1 - c
/// without cancellation: x - rest x errs by much less than c x where the rotation is small.
struct Rotation {
  matrix::Term c, s, t, rest;
};
Rotation rotation(const matrix::Term& p, const matrix::Term& q, const matrix::Term& r);

/// `a` times a power of two per matrix, so that its largest element lies in [1, 2): squares
/// neither overflow nor vanish. NaN all over where an element is not finite: what has no
/// factorisation ends after one sweep.
struct Scaled {
  Array a, factor;  // the operand is a * factor; factor has the batch's shape
};
Scaled scaled(const Array& a);

/// The rotations of a round: column j of w becomes (1 - rest[j]) times itself plus s[j] times its
/// partner.
struct RoundRotations {
  Array partner;         // i32[w]
  matrix::Term rest, s;  // [.., w]
};
/// Who meets whom in round `index` (a traced i32[]) of a sweep over w columns.
Array partners(const Array& index, Dim w);
/// Elements of x[.., w] at `indices`, the same for the whole batch.
Array at_indices(const Array& x, const Array& indices);
/// Rotations for columns whose Gram matrix (or symmetric matrix itself) has `own` on its diagonal
/// and `between` where a column meets its partner; both [.., w], equal for both of a pair.
RoundRotations round_rotations(const Array& own, const Array& between, const Array& partner);
Array with_columns_rotated(const Array& y, const RoundRotations&);

/// A sweep over symmetric matrices [.., w, w], w even: the matrices after it, `v` [.., m, w] with
/// its columns rotated alike, and the magnitude of the largest element that was met, per matrix.
struct Swept {
  Array a, v, met;
};
Swept swept(const Array& a, const Array& v);

/// How n columns are cut: 2 `pairs` blocks of `width` columns, neighbouring blocks being a pair.
struct Blocks {
  Dim pairs = 0, width = 0;
  Dim count() const { return 2 * pairs; }
  Dim size() const { return count() * width; }
};
Blocks blocks_of(Dim n);
/// Blocks along `axis` in the order in which they meet in the next round. After count() - 1 rounds
/// all are where they were, and every two have been neighbours.
Array next_round(const Array& a, int axis, const Blocks&);
/// The columns of [b, m, size] pair by pair, [b, pairs, m, columns of a pair], and back.
Array in_panels(const Array& a, const Blocks&);
Array out_of_panels(const Array& panels);
Array next_in_panels(const Array& panels, const Blocks&);
/// Nearly orthonormal columns brought closer by one step of Newton's method for the polar factor,
/// v (3 - v^T v) / 2: what is lost in thousands of products of rotations comes back.
Array orthonormalized(const Array& v);
/// Square matrices [.., n, n]: u, whose columns are nearly orthonormal where `known` (bool[.., n])
/// says so, and v, all of whose columns are. These as by `orthonormalized`, and others that
/// complete them in place of the rest of u. The rest begins as numbers without a pattern; each of
/// Newton's steps takes what is along known columns from them and leaves these alone, so that there
/// is one step where all are known.
struct Bases {
  Array u, v;
};
Bases completed(const Array& u, const Array& known, const Array& v);
/// Product of the rotations of one sweep over each of the symmetric matrices [.., w, w].
Array rotated_pairs(const Array& a);
/// Largest magnitude off the diagonal of the matrices [b, .., w, w], as [b].
Array largest_off_diagonal(const Array& a);

}  // namespace gnomon::linalg
