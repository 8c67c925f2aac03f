// shaders/kernel/scalar.h -- what an arithmetic instruction computes for one component, on the
// host.
//
// The builder folds with it and the interpreter runs on it, so folding cannot disagree with
// running.
#pragma once
#include <cstdint>

#include "shaders/kernel/kernel.h"

namespace gnomon::kernel {

/// Operands and result are bit patterns, zero-extended. Unused operands are ignored.
using ScalarFunction = std::uint64_t (*)(std::uint64_t, std::uint64_t, std::uint64_t);

/// The function of an arithmetic, bit, comparison or fma instruction on operands of type `operand`;
/// nullptr when the instruction is not defined for that type.
ScalarFunction scalar_function(Op, DType operand);
/// The function of `convert`. Out-of-range float to integer saturates here, NaN gives 0.
ScalarFunction convert_function(DType from, DType to);

/// The function of `low_word`, `high_word` or `from_words`.
ScalarFunction words_function(Op);

/// The value of a bit pattern as a double; exact except for 64-bit integers above 2^53.
double to_double(DType, std::uint64_t bits);
/// The bit pattern of `x` rounded to `DType`; integers truncate and saturate.
std::uint64_t from_double(DType, double x);

}  // namespace gnomon::kernel
