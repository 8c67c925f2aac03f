// shaders/passes/pair.h -- 64-bit integers as two 32-bit words. Internal to legalize.
#pragma once
#include <cstdint>

#include "shaders/kernel/builder.h"

namespace gnomon::kernel {

/// Two u32 of one width. Signed numbers are in two's complement.
struct Pair {
  Value low, high;
};

Pair pair_constant(Builder&, std::uint8_t width, std::uint64_t bits);
/// Any operation of kernel.h that is defined for i64 (`with_sign`) and u64, with its semantics.
Pair pair_unary(Builder&, Op, Pair, bool with_sign);
Pair pair_binary(Builder&, Op, Pair, Pair, bool with_sign);
Value pair_compare(Builder&, Op, Pair, Pair, bool with_sign);
Pair pair_select(Builder&, Value predicate, Pair, Pair);

/// `convert` from bool, i32, u32, f32 or f64. Floats truncate; out of range is unspecified.
Pair pair_from(Builder&, Value, bool with_sign);
/// `convert` to bool, i32, u32, f32 or f64, rounded once.
Value pair_to(Builder&, Pair, bool with_sign, DType to);
/// The f32 that rounds to a 16-bit float as the number itself does; see to_odd_f32.
Value pair_to_odd_f32(Builder&, Pair, bool with_sign);

}  // namespace gnomon::kernel
