// codegen/ops/elementwise.cpp -- public operations that work element by element and are
// more than their entry, or made of several.
#include <bit>
#include <limits>

#include "codegen/lax/elementwise.h"
#include "codegen/trace/eager.h"
#include "gnomon/ops.h"

namespace gnomon {
namespace {

using align::aligned;
using elementwise::binary;
using elementwise::binary_float;
using elementwise::unary_float;

/// For operations that NumPy defines on bool as another one.
Array binary_or_logic(std::string_view op, const Primitive& p, const Primitive& on_bool,
                      const Operand& a, const Operand& b) {
  const Arrays x = aligned(op, std::array{a, b});
  return emit1(x[0].dtype() == DType::boolean ? on_bool : p, {}, x, a.loc());
}

/// Comparisons by size count false as 0 and true as 1.
Array ordered(std::string_view op, const Primitive& p, const Operand& a, const Operand& b) {
  const std::array both{a, b};
  const DType t = align::common_dtype(op, both);
  return emit1(p, {}, aligned(op, both, t == DType::boolean ? DType::i32 : t), a.loc());
}

/// Functions that leave integers as they are.
Array rounding(std::string_view op, const Primitive& p, const Operand& x) {
  const Array a = align::as_array(op, x);
  return is_float(a.dtype()) ? emit1(p, {}, {a}, x.loc()) : a;
}

Array truth(std::string_view op, const Operand& x) {
  const Array a = align::as_array(op, x);
  if (a.dtype() != DType::boolean)
    usage_error(op,
                "takes bool, got " + to_string(a.aval()) +
                    "; compare it first (x != 0), or use the bitwise operators",
                x.loc());
  return a;
}

Array logic(std::string_view op, const Primitive& p, const Operand& a, const Operand& b) {
  return binary(op, p, {truth(op, a), a.loc()}, {truth(op, b), b.loc()});
}

Array bits(std::string_view op, const Primitive& p, const Operand& a, const Operand& b) {
  const Arrays x = aligned(op, std::array{a, b});
  if (is_float(x[0].dtype()))
    usage_error(op, "takes integers or bool, got " + to_string(x[0].aval()) + "; cast it first",
                a.loc());
  return emit1(p, {}, x, a.loc());
}

DType unsigned_like(DType t) {
  constexpr DType of_size[] = {DType::u8, DType::u16, DType::u32, DType::u64};
  return of_size[std::countr_zero(size_of(t))];
}

/// The bits in front of part 0, 1, ... along the last axis of `shape`.
Array bits_before(DType whole, DType part, const Shape& shape, Loc loc) {
  return lax::mul(lax::iota(whole, shape, shape.rank() - 1, loc), bits_of(part), loc);
}

Array split_bits(const Array& a, DType to, Loc loc) {
  const DType whole = unsigned_like(a.dtype());
  Shape shape = a.shape();
  shape.append(size_of(whole) / size_of(to));
  const Array bits = lax::insert_axis(lax::bitcast(a, whole, loc), a.rank(), shape[a.rank()], loc);
  const Array parts = emit1(shr_p, {}, {bits, bits_before(whole, to, shape, loc)}, loc);
  return lax::bitcast(lax::convert(parts, unsigned_like(to), loc), to, loc);
}

Array joined_bits(const Array& a, DType to, Loc loc) {
  const DType whole = unsigned_like(to), part = unsigned_like(a.dtype());
  const Dim parts = size_of(to) / size_of(part);
  if (a.rank() == 0 || a.shape()[a.rank() - 1] != parts)
    usage_error("bitcast",
                "the last axis of " + to_string(a.aval()) + " must be " + std::to_string(parts) +
                    " long to be read as " + std::string(name(to)) + "; reshape it",
                loc);
  const Array bits = lax::convert(lax::bitcast(a, part, loc), whole, loc);
  const Array moved = emit1(shl_p, {}, {bits, bits_before(whole, part, a.shape(), loc)}, loc);
  return lax::bitcast(lax::sum(moved, {a.rank() - 1}, loc), to, loc);
}

}  // namespace

// ---- arithmetic

Array add(Operand a, Operand b) { return binary_or_logic("add", add_p, or_p, a, b); }
Array multiply(Operand a, Operand b) { return binary_or_logic("multiply", mul_p, and_p, a, b); }
Array maximum(Operand a, Operand b) { return binary_or_logic("maximum", max_p, or_p, a, b); }
Array minimum(Operand a, Operand b) { return binary_or_logic("minimum", min_p, and_p, a, b); }
Array divide(Operand a, Operand b) { return binary_float("divide", div_p, a, b); }
Array atan2(Operand y, Operand x) { return binary_float("atan2", atan2_p, y, x); }

Array subtract(Operand a, Operand b) {
  const Arrays x = aligned("subtract", std::array{a, b});
  if (x[0].dtype() == DType::boolean)
    usage_error("subtract", "is not defined on bool; use logical_xor or cast", a.loc());
  return lax::sub(x[0], x[1], a.loc());
}

Array negative(Operand x) {
  const Array a = align::as_array("negative", x);
  if (a.dtype() == DType::boolean)
    usage_error("negative", "is not defined on bool; use logical_not or cast", x.loc());
  return lax::neg(a, x.loc());
}

Array pow(Operand x, Operand y) {
  const bool whole = !y.is_array() && y.scalar().kind == Scalar::Kind::integer;
  if (whole && std::abs(y.scalar().integer) <= std::numeric_limits<int>::max()) {
    Array base = align::as_array("pow", x);
    if (base.dtype() == DType::boolean) base = lax::convert(base, DType::i32, x.loc());
    return lax::integer_pow(base, static_cast<int>(y.scalar().integer), x.loc());
  }
  const DType t = align::common_dtype("pow", std::array{x, y});
  if (!is_float(t))
    usage_error("pow",
                "an integer to the power of an integer array; cast the base to a float, or use a "
                "C++ integer as exponent",
                x.loc());
  return binary_float("pow", pow_p, x, y);
}

Array clip(Operand x, Operand lo, Operand hi) {
  return emit1(clamp_p, {}, aligned("clip", std::array{lo, x, hi}), x.loc());
}

// ---- comparison and logic

Array equal(Operand a, Operand b) { return binary("equal", eq_p, a, b); }
Array not_equal(Operand a, Operand b) { return binary("not_equal", ne_p, a, b); }
Array less(Operand a, Operand b) { return ordered("less", lt_p, a, b); }
Array less_equal(Operand a, Operand b) { return ordered("less_equal", le_p, a, b); }
Array greater(Operand a, Operand b) { return ordered("greater", gt_p, a, b); }
Array greater_equal(Operand a, Operand b) { return ordered("greater_equal", ge_p, a, b); }

Array logical_and(Operand a, Operand b) { return logic("logical_and", and_p, a, b); }
Array logical_or(Operand a, Operand b) { return logic("logical_or", or_p, a, b); }
Array logical_xor(Operand a, Operand b) { return logic("logical_xor", xor_p, a, b); }
Array logical_not(Operand x) { return emit1(not_p, {}, {truth("logical_not", x)}, x.loc()); }

Array bitwise_and(Operand a, Operand b) { return bits("bitwise_and", and_p, a, b); }
Array bitwise_or(Operand a, Operand b) { return bits("bitwise_or", or_p, a, b); }
Array bitwise_xor(Operand a, Operand b) { return bits("bitwise_xor", xor_p, a, b); }
Array bitwise_not(Operand x) {
  return emit1(not_p, {}, {align::as_array("bitwise_not", x)}, x.loc());
}
Array left_shift(Operand a, Operand b) { return bits("left_shift", shl_p, a, b); }
Array right_shift(Operand a, Operand b) { return bits("right_shift", shr_p, a, b); }
Array popcount(Operand x) {
  return emit1(popcount_p, {}, {align::as_array("popcount", x)}, x.loc());
}

Array where(Operand condition, Operand a, Operand b) {
  const Loc loc = condition.loc();
  return at_once("where", loc, [&]() -> Array {
    Array predicate = condition.is_array() ? condition.array()
                                           : lax::scalar(DType::boolean, condition.scalar(), loc);
    if (predicate.dtype() != DType::boolean)
      predicate = emit1(ne_p, {}, {predicate, lax::zeros_like(predicate, loc)}, loc);
    const std::array all{Operand(predicate, loc), a, b};
    const Shape shape = align::broadcast_shape("where", all);
    const DType t = align::common_dtype("where", std::array{a, b});
    const auto fit = [&](const Operand& x, DType dtype) {
      return align::broadcast("where", align::in_dtype("where", x, dtype), shape, x.loc());
    };
    return lax::select(fit(all[0], DType::boolean), fit(a, t), fit(b, t), loc);
  });
}

Array isnan(Operand x) { return unary_float("isnan", isnan_p, x); }
Array isfinite(Operand x) { return unary_float("isfinite", isfinite_p, x); }
Array isinf(Operand x) {
  const Array a = align::as_float("isinf", x), size = lax::unary(abs_p, a, x.loc());
  return lax::eq(size, lax::full_like(a, std::numeric_limits<double>::infinity(), x.loc()),
                 x.loc());
}

// ---- functions of one array

Array abs(Operand x) {
  const Array a = align::as_array("abs", x);
  const bool never_negative = is_unsigned(a.dtype()) || a.dtype() == DType::boolean;
  return never_negative ? a : emit1(abs_p, {}, {a}, x.loc());
}
Array sign(Operand x) { return emit1(sign_p, {}, {align::as_array("sign", x)}, x.loc()); }
Array floor(Operand x) { return rounding("floor", floor_p, x); }
Array ceil(Operand x) { return rounding("ceil", ceil_p, x); }
Array round(Operand x, RoundingMethod method) {
  const Array near =
      rounding("round", method == RoundingMethod::to_nearest_even ? round_p : trunc_p, x);
  if (method == RoundingMethod::to_nearest_even || !is_float(near.dtype())) return near;
  // What truncating cut off is exact. Zeros keep the sign of x.
  const Loc loc = x.loc();
  const Array a = align::as_array("round", x), half = lax::full_like(a, 0.5, loc);
  const Array outwards =
      emit1(le_p, {}, {half, lax::unary(abs_p, lax::sub(a, near, loc), loc)}, loc);
  return lax::select(outwards, lax::add(near, lax::unary(sign_p, a, loc), loc), near, loc);
}
Array trunc(Operand x) { return rounding("trunc", trunc_p, x); }
Array square(Operand x) { return lax::integer_pow(align::as_array("square", x), 2, x.loc()); }
Array reciprocal(Operand x) {
  const Array a = align::as_float("reciprocal", x);
  return lax::div(lax::full_like(a, 1, x.loc()), a, x.loc());
}

Array relu(Operand x) { return emit1(relu_p, {}, {align::as_array("relu", x)}, x.loc()); }

Array stop_gradient(Operand x) {
  return emit1(stop_gradient_p, {}, {align::as_array("stop_gradient", x)}, x.loc());
}

Array cast(Operand x, DType dtype) {
  if (!x.is_array()) return lax::scalar(dtype, x.scalar(), x.loc());
  return lax::convert(x.array(), dtype, x.loc());
}
Array bitcast(Operand x, DType dtype) {
  const Array a = align::as_array("bitcast", x);
  const DType from = a.dtype();
  if (from == DType::boolean || dtype == DType::boolean || size_of(from) == size_of(dtype))
    return lax::bitcast(a, dtype, x.loc());
  return size_of(from) > size_of(dtype) ? split_bits(a, dtype, x.loc())
                                        : joined_bits(a, dtype, x.loc());
}

}  // namespace gnomon
