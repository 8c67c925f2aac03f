// engine/library/operators/direct.h -- solves by factors of matrices.
#pragma once
#include "engine/library/operators/iteration.h"

namespace gnomon::operators::detail {

enum class Direct : std::uint8_t { diagonal, tridiagonal, triangular, cholesky, lu, qr };

/// What tags and shapes allow was checked.
Solved direct(Direct, const Operator&, const Arrays& b, bool block, Loc);

}  // namespace gnomon::operators::detail
