// codegen/primitives/table.h -- every operation that has a table entry; loops, calls, indexing and
// what runs along axes or windows declare theirs next to their parameters (control.h, calls.h,
// gather_scatter.h, cumulative.h, window.h).
#pragma once
#include "codegen/graph/primitive.h"

namespace gnomon {

// Sources (constant.cpp).
extern const Primitive constant_p, iota_p;
// Two operands (arithmetic.cpp).
extern const Primitive add_p, sub_p, mul_p, div_p, rem_p, pow_p, atan2_p, max_p, min_p;
// Of floats: division with a whole quotient (division.cpp), the length of a vector (hypot.cpp).
extern const Primitive fmod_p, floor_mod_p, trunc_div_p, floor_div_p, hypot_p;
// Bits (bitwise.cpp); shr is arithmetic for signed types, logical for unsigned ones.
extern const Primitive and_p, or_p, xor_p, not_p, shl_p, shr_p, popcount_p;
// Comparisons and choice (compare.cpp).
extern const Primitive eq_p, ne_p, lt_p, le_p, gt_p, ge_p, isnan_p, isfinite_p, select_p, clamp_p;
// One operand (arithmetic.cpp, elementary.cpp).
extern const Primitive neg_p, abs_p, sign_p, floor_p, ceil_p, round_p, trunc_p, integer_pow_p;
extern const Primitive relu_p;
extern const Primitive exp_p, exp_nonpositive_p, exp2_p, expm1_p, log_p, log2_p, log10_p, log1p_p,
    sqrt_p, rsqrt_p, cbrt_p;
extern const Primitive sin_p, cos_p, tan_p, asin_p, acos_p, atan_p;
extern const Primitive sinh_p, cosh_p, tanh_p, asinh_p, acosh_p, atanh_p;
extern const Primitive logistic_p, erf_p, erfc_p, erf_inv_p, erf_inv_giles_p, softplus_p,
    logaddexp_p;
// Types and derivatives (convert.cpp).
extern const Primitive convert_p, bitcast_p, stop_gradient_p;
// Moving data (shape_ops.cpp, join_ops.cpp).
extern const Primitive broadcast_p, reshape_p, permute_p, slice_p, reverse_p, concatenate_p, pad_p;
// Sums over axes (reduce.cpp, dot.cpp).
extern const Primitive sum_p, prod_p, reduce_max_p, reduce_min_p, argmax_p, argmin_p, dot_general_p;
// Random bits (random_bits.cpp).
extern const Primitive threefry2x32_p;

}  // namespace gnomon
