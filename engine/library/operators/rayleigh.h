// engine/library/operators/rayleigh.h -- what methods for eigenpairs have in common.
#pragma once
#include "gnomon/handler.h"
#include "gnomon/operators/operator.h"

namespace gnomon::operators::detail {

/// Throws UsageError unless the operator is square and k is 1 to its size.
void require_pairs(std::string_view op, const Operator&, Dim k, Loc);
void require_symmetric(std::string_view op, const Operator&, Loc);

/// A X for X f[columns of A, k], all that the operator depends on held fixed: what is made of such
/// products is never differentiated.
Handler<Array(const Array&)> fixed_product(const Operator&, Dim k, DType, Loc);

/// v^T A v for each column of orthonormal `vectors` [n, k], which are held fixed: f[k].
Array rayleigh_quotients(const Operator&, const Array& vectors, Loc);

}  // namespace gnomon::operators::detail
