// engine/include/gnomon/operators/algebra.h -- operators made of operators. None of them forms a
// matrix; products with them are products with their parts.
//
//   const Operator shifted = a + 0.1 * identity(b);   // a: a Dense, a Csr, any Operator
//   const Operator normal = gram(a) + operators::Diagonal{ridge};
//
// Tags follow where they do: the sum of symmetric operators is symmetric, a negative number makes a
// positive semidefinite operator a negative one; what else is known is promised with `tagged`.
#pragma once
#include <concepts>
#include <vector>

#include "gnomon/array.h"
#include "gnomon/operators/operator.h"

#pragma GCC visibility push(default)
namespace gnomon::operators {

/// An operator, or what becomes one, as an argument, with the line of the call.
class Term {
 public:
  template <class T>
  requires std::convertible_to<const T&, Operator> Term(const T& a, Loc loc = Loc::here())
      : operator_(a), loc_(loc) {}  // NOLINT: implicit
  const Operator& get() const { return operator_; }
  Loc loc() const { return loc_; }

 private:
  Operator operator_;
  Loc loc_;
};

/// Throws UsageError naming both spaces where they differ.
Operator operator+(Term a, Term b);
Operator operator-(Term a, Term b);
Operator operator-(Term a);
/// A B: first B, then A. Throws UsageError naming both where A does not take what B gives.
Operator operator*(Term a, Term b);
/// c A for a number or a scalar array c, of any float dtype. The sign of a number is known, and the
/// tags follow it; that of an array is not.
/// Throws UsageError when c is an array of some shape.
Operator operator*(Operand c, Term a);
Operator operator*(Term a, Operand c);
Operator operator/(Term a, Operand c);

/// A^T A: positive semidefinite.
Operator gram(Term a);
/// A^T M A: symmetric or semidefinite as M is.
Operator gram(Term a, Term middle);

/// The Kronecker product: blocks a[i, j] B, of vectors f[columns of A x columns of B]. With B for
/// every column of A and A for every row of B: (m + n) products of vectors for the m n rows of two
/// square ones.
/// Throws UsageError for operators of trees of several arrays, or of different dtypes.
Operator kron(Term a, Term b);

/// Operators side by side: of trees with the arrays of all of them, in order.
/// Throws UsageError for none.
Operator block_diagonal(const std::vector<Term>& parts, Loc loc = Loc::here());

}  // namespace gnomon::operators
#pragma GCC visibility pop
