// codegen/ops/random_draws.h -- what distributions share below the public interface: single
// elements of a draw, and the checks.
#pragma once
#include <string_view>

#include "codegen/lax/lax.h"
#include "gnomon/random.h"

namespace gnomon::draws {

/// Throws UsageError unless `dtype` can be drawn.
void require_float(std::string_view op, DType dtype, Loc loc);
/// A parameter of a distribution, in its dtype and shape.
Array parameter(std::string_view op, const Operand& x, const Shape& shape, DType dtype);

/// Elements `positions` (u32, any shape) of `random::bits(key, [size], dtype)`: what a loop that
/// runs by lane draws for its own lane. Does not use the key up.
Array bits_at(const Key& key, const Array& positions, Dim size, DType dtype, Loc loc);
/// The same of `random::uniform(key, [size])`.
Array uniform_at(const Key& key, const Array& positions, Dim size, DType dtype, Loc loc);

/// Numbers from 0 on, of a float type, as i32: its largest one for what it cannot hold.
Array counted(const Array&, Loc);

/// The inverse error function by Giles' polynomial, which normal draws are defined by.
Array erf_inv(const Array& x, Loc loc);

}  // namespace gnomon::draws
