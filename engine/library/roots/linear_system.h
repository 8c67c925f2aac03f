// engine/library/roots/linear_system.h -- small matrices of what solvers iterate on: the numbers of
// a tree as one vector, matrices of linear functions, factors that are used again.
#pragma once
#include <vector>

#include "gnomon/control.h"
#include "gnomon/ops.h"

namespace gnomon::roots::detail {

using Arrays = std::vector<Array>;

/// The numbers of some arrays of floats as one vector.
///
/// Few of them stay apart, one array of rank 0 each: elimination is written out operation by
/// operation, so that a lane of an ensemble has all of it in registers, its pivots included. Many
/// are one array.
class Layout {
 public:
  /// `dtype`: of the vector.
  Layout(const Arrays& like, DType dtype);

  static constexpr Dim most_written_out = 12;
  Dim size() const { return size_; }
  bool written_out() const { return size_ <= most_written_out; }
  DType dtype() const { return dtype_; }

  /// size() numbers, or one array [size()].
  Arrays flat(const Arrays& leaves) const;
  Arrays leaves(const Arrays& flat) const;

  /// Leaves that are 0 but for one number, which is 1; `with_holes`: a hole for an array of zeros.
  Arrays unit(Dim number, bool with_holes) const;
  /// The matrix of a linear function of leaves: written out row by row, or one array [n, n].
  using Linear = control::FunctionRef<Arrays(const Arrays&)>;
  Arrays matrix(Linear, bool with_holes) const;
  /// The identity times `diagonal` plus `factor` times a matrix.
  Arrays shifted(const Array& factor, const Arrays& matrix, double diagonal = 1) const;

 private:
  struct Leaf {
    Aval aval;
    Dim first;
  };
  std::vector<Leaf> leaves_;
  Dim size_ = 0;
  DType dtype_;
};

/// What a linear system is solved with more than once: A = P L U, or for a matrix in one array its
/// inverse, and a step of iterative refinement: a product is one kernel where a triangular system
/// is one after the other row.
class Factors {
 public:
  Factors() = default;
  /// Partial pivoting. A singular matrix gives inf or NaN.
  Factors(const Layout&, Arrays matrix);
  /// x with A x = b; linear in b operation by operation.
  Arrays solve(Arrays b) const;
  /// x with A^T x = b.
  Arrays solve_transposed(Arrays b) const;

  /// All there is to it, to carry through a loop, and back.
  Arrays state() const;
  static Factors of_state(const Layout&, const Arrays& state);

 private:
  std::size_t n_ = 0;
  bool written_out_ = true;
  /// Written out: L (without its ones) and U, [i * n + j]; reciprocals of U's diagonal; whether
  /// step k swapped rows k and i, [k * n + i]. Else the inverse and the matrix.
  Arrays lu_, pivots_, swaps_;
};

/// Of flat vectors and matrices: sum a_i b_i; M v; M^T v; M + u v^T; M^-1.
Array dot(const Arrays& a, const Arrays& b);
Arrays product(const Arrays& matrix, const Arrays& v);
Arrays product_transposed(const Arrays& matrix, const Arrays& v);
Arrays with_outer(const Arrays& matrix, const Arrays& u, const Arrays& v);
Arrays inverse(const Layout&, const Arrays& matrix);

/// Element by element.
Arrays plus(const Arrays& a, const Arrays& b);
Arrays minus(const Arrays& a, const Arrays& b);
Arrays times(const Operand& factor, const Arrays& a);
/// Where `condition` holds the first, else the second.
Arrays choose(const Array& condition, const Arrays& yes, const Arrays& no);

}  // namespace gnomon::roots::detail
