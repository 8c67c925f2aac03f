// codegen/lax/align.h -- from what the user passes to what the strict operations take.
#pragma once
#include <initializer_list>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "codegen/lax/lax.h"
#include "gnomon/ops.h"

namespace gnomon::align {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// The dtype of a C++ number that nothing says more about.
DType default_dtype(Scalar::Kind);
/// Whether `t` holds a C++ number: floats hold every one, rounded, and a float is cut to any type.
bool holds(DType t, const Scalar&);
/// The dtype two arrays meet in: their join in JAX's lattice, with i32 in the place of an i64 that
/// neither of them is (u32 with a signed type) and f32 in the place of its weak float (u64 with a
/// signed type).
DType promote(DType a, DType b);
/// The dtype operands meet in: arrays by `promote`, numbers weakly.
DType common_dtype(std::string_view op, std::span<const Operand> operands);
/// `t` itself when it is a float, else f32.
DType float_dtype(DType t);
/// What many elements of type `t` are added or multiplied in: f32 for the 16-bit floats.
DType summed_in(DType t);

/// The shape all broadcast to.
Shape broadcast_shape(std::string_view op, std::span<const Operand> operands);
/// Stretches axes of length 1 and adds leading axes. Throws UsageError when it does not fit.
Array broadcast(std::string_view op, const Array& a, const Shape& shape, Loc loc);

/// The operand in `dtype`, with its own shape. A number must be representable.
Array in_dtype(std::string_view op, const Operand& x, DType dtype);
/// The operand as it is; a number has its default dtype.
Array as_array(std::string_view op, const Operand& x);
/// As an array of floats.
Array as_float(std::string_view op, const Operand& x);

/// All operands in one shape, in the given dtype or in the common one.
Arrays aligned(std::string_view op, std::span<const Operand> operands);
Arrays aligned(std::string_view op, std::span<const Operand> operands, DType dtype);

/// `axis` within [0, rank); negative ones count from the end. Throws UsageError.
int axis_of(std::string_view op, int axis, const Array& a, Loc loc);
/// Sorted, distinct.
std::vector<int> axes_of(std::string_view op, std::span<const int> axes, const Array& a, Loc loc);
std::vector<int> resolved(std::string_view op, const Axes& axes, const Array& a, Loc loc);

}  // namespace gnomon::align
