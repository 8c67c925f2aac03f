// engine/include/gnomon/operators/preconditioner.h -- operators near the inverse of another one.
#pragma once
#include "gnomon/operators/operator.h"

namespace gnomon::operators {

/// 1 / diagonal(a), 1 where the diagonal has a zero. As cheap as Operator::diagonal is.
///
/// Positive semidefinite, or negative, where `a` has that tag. Throws UsageError for an operator
/// that is not square.
/// Source: Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, 2003, section 10.2.
Operator jacobi(const Operator& a, Loc loc = Loc::here());

/// The inverses of the blocks of `block` rows along the diagonal; the last block is smaller where
/// `block` does not divide the size. Takes the matrix: as many products as there are columns where
/// it is not stored.
///
/// Unchecked: that the blocks are not singular. Throws UsageError for an operator that is not
/// square or of more than one array, for a block below 1.
/// Source: as above, section 12.2.
Operator block_jacobi(const Operator& a, Dim block, Loc loc = Loc::here());
/// The same from the blocks themselves, f[m, size, size], for vectors f[m size].
/// `tags` are those of A; they say what is promised of the inverse.
Operator block_jacobi(const Array& blocks, Tags tags = {}, Loc loc = Loc::here());

}  // namespace gnomon::operators
