// codegen/primitives/ops_numeric.cpp -- everyday operations element by element: the parts of
// floats.
#include "gnomon/numeric.h"

#include <limits>

#include "codegen/primitives/align.h"
#include "gnomon/ops.h"

namespace gnomon {
namespace {

/// Floats looked at as bits: integers of the same size.
struct Bits {
  DType dtype;  // of the float
  DType word;   // the unsigned integer
  Array of(const Array& x, Loc loc) const { return lax::bitcast(x, word, loc); }
  Array back(const Array& bits, Loc loc) const { return lax::bitcast(bits, dtype, loc); }
  std::int64_t sign_bit() const {
    return word == DType::u64 ? std::numeric_limits<std::int64_t>::min() : std::int64_t{1} << 31;
  }
};
Bits bits_of_float(DType t) { return {t, t == DType::f64 ? DType::u64 : DType::u32}; }
Array integer_like(const Array& a, std::int64_t x, Loc loc) {
  return lax::broadcast(lax::scalar_integer(a.dtype(), x, loc), a.shape(), {}, loc);
}

Arrays aligned_floats(std::string_view op, const Operand& a, const Operand& b) {
  const std::array pair{a, b};
  return align::aligned(op, pair, align::float_dtype(align::common_dtype(op, pair)));
}
Array either(const Array& a, const Array& b, Loc loc) { return emit1(or_p, {}, {a, b}, loc); }
Array both(const Array& a, const Array& b, Loc loc) { return emit1(and_p, {}, {a, b}, loc); }

}  // namespace

Array nextafter(Operand x, Operand y) {
  const Loc loc = x.loc();
  const Arrays a = aligned_floats("nextafter", x, y);
  const Bits floats = bits_of_float(a[0].dtype());
  const Array from = floats.of(a[0], loc), to = floats.of(a[1], loc);
  const Array sign = integer_like(from, floats.sign_bit(), loc);
  const Array one = integer_like(from, 1, loc), zero = lax::zeros_like(from, loc);
  const Array size = both(from, lax::unary(not_p, sign, loc), loc);
  const Array grows = lax::eq(lax::lt(a[0], a[1], loc), lax::eq(from, size, loc), loc);
  const Array stepped = lax::select(grows, lax::add(from, one, loc), lax::sub(from, one, loc), loc);
  // From zero the step has the sign of the target.
  const Array leaves_zero = either(both(to, sign, loc), one, loc);
  const Array moved = lax::select(lax::eq(size, zero, loc), leaves_zero, stepped, loc);
  const Array result = lax::select(lax::eq(a[0], a[1], loc), to, moved, loc);
  const Array unordered =
      either(lax::unary(isnan_p, a[0], loc), lax::unary(isnan_p, a[1], loc), loc);
  const Array nan = lax::full_like(a[0], std::numeric_limits<double>::quiet_NaN(), loc);
  return lax::select(unordered, nan, floats.back(result, loc), loc);
}

Array signbit(Operand x) {
  const Loc loc = x.loc();
  const Array a = align::as_float("signbit", x);
  const Bits floats = bits_of_float(a.dtype());
  const Array bits = floats.of(a, loc);
  const Array sign = both(bits, integer_like(bits, floats.sign_bit(), loc), loc);
  return emit1(ne_p, {}, {sign, lax::zeros_like(sign, loc)}, loc);
}

Array copysign(Operand x, Operand y) {
  const Loc loc = x.loc();
  const Arrays a = aligned_floats("copysign", x, y);
  const Array differ = emit1(ne_p, {}, {signbit({a[0], loc}), signbit({a[1], loc})}, loc);
  return lax::select(differ, lax::neg(a[0], loc), a[0], loc);
}

}  // namespace gnomon
