// codegen/lax/align.cpp -- promotion and broadcasting.
#include "codegen/lax/align.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "shaders/support/check.h"

namespace gnomon::align {
namespace {

std::string text(DType t) { return std::string(name(t)); }

DType integer_of(std::uint32_t bits, bool with_sign) {
  switch (bits) {
    case 8:
      return with_sign ? DType::i8 : DType::u8;
    case 16:
      return with_sign ? DType::i16 : DType::u16;
    case 32:
      return with_sign ? DType::i32 : DType::u32;
    default:
      return with_sign ? DType::i64 : DType::u64;
  }
}

/// bool < integers < floats.
int rank_of(DType t) { return t == DType::boolean ? 0 : is_float(t) ? 2 : 1; }

}  // namespace

bool holds(DType t, const Scalar& x) {
  if (x.kind == Scalar::Kind::floating || is_float(t)) return true;
  if (x.beyond_i64) return t == DType::u64;
  if (t == DType::boolean) return x.integer == 0 || x.integer == 1;
  if (t == DType::u64) return x.integer >= 0;
  const auto bits = bits_of(t);
  if (bits == 64) return true;
  const std::int64_t span = std::int64_t{1} << (is_signed(t) ? bits - 1 : bits);
  return x.integer < span && x.integer >= (is_signed(t) ? -span : 0);
}

DType default_dtype(Scalar::Kind kind) {
  switch (kind) {
    case Scalar::Kind::boolean:
      return DType::boolean;
    case Scalar::Kind::integer:
      return DType::i32;
    case Scalar::Kind::floating:
      return DType::f32;
  }
  return DType::f32;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (rank_of(a) != rank_of(b)) return rank_of(a) > rank_of(b) ? a : b;
  if (is_float(a)) {
    if (bits_of(a) == bits_of(b)) return DType::f32;  // f16 and bf16
    return bits_of(a) > bits_of(b) ? a : b;
  }
  if (is_signed(a) == is_signed(b)) return bits_of(a) > bits_of(b) ? a : b;
  const DType plus = is_signed(a) ? b : a, signed_one = is_signed(a) ? a : b;
  if (plus == DType::u64) return DType::f32;
  const std::uint32_t bits = std::max(bits_of(signed_one), 2 * bits_of(plus));
  // u32 with a narrower type would join in i64, which is only there where it is asked for.
  return integer_of(bits > 32 && bits_of(signed_one) < 64 ? 32 : bits, true);
}

DType common_dtype(std::string_view op, std::span<const Operand> operands) {
  GNOMON_CHECK(!operands.empty(), "`" + std::string(op) + "` has no operands");
  std::optional<DType> arrays;
  Scalar::Kind kind = Scalar::Kind::boolean;
  for (const Operand& x : operands) {
    if (x.is_array())
      arrays = arrays ? promote(*arrays, x.array().dtype()) : x.array().dtype();
    else
      kind = std::max(kind, x.scalar().kind);
  }
  const DType weak = default_dtype(kind);
  return arrays && rank_of(*arrays) >= rank_of(weak) ? *arrays : weak;
}

DType float_dtype(DType t) { return is_float(t) ? t : DType::f32; }
DType summed_in(DType t) { return t == DType::f16 || t == DType::bf16 ? DType::f32 : t; }

Shape broadcast_shape(std::string_view op, std::span<const Operand> operands) {
  Shape out;
  const Array* shaped_by = nullptr;
  for (const Operand& x : operands) {
    if (!x.is_array()) continue;
    const Shape& s = x.array().shape();
    while (out.rank() < s.rank()) out.insert(0, 1);
    for (int a = 0; a < s.rank(); ++a) {
      Dim& d = out[out.rank() - s.rank() + a];
      if (d != s[a] && d != 1 && s[a] != 1)
        usage_error(op,
                    "cannot broadcast " +
                        (operands.size() == 2 && shaped_by ? to_string(shaped_by->aval())
                                                           : to_string(out)) +
                        " with " + to_string(x.array().aval()) +
                        "; axes pair up from the last and must be equal or 1",
                    x.loc());
      if (d == 1) d = s[a];
    }
    shaped_by = &x.array();
  }
  return out;
}

Array broadcast(std::string_view op, const Array& a, const Shape& shape, Loc loc) {
  const Shape& from = a.shape();
  if (from == shape) return a;
  const int offset = shape.rank() - from.rank();
  Shape kept;
  std::vector<int> axes;
  for (int i = 0; i < from.rank(); ++i) {
    const bool same = offset + i >= 0 && from[i] == shape[offset + i];
    if (offset < 0 || (!same && from[i] != 1))
      usage_error(op,
                  "cannot broadcast " + to_string(a.aval()) + " to " + to_string(shape) +
                      "; axes pair up from the last and must be equal or 1",
                  loc);
    if (!same) continue;
    kept.append(from[i]);
    axes.push_back(offset + i);
  }
  if (offset < 0)
    usage_error(op, "cannot broadcast " + to_string(a.aval()) + " to " + to_string(shape), loc);
  return lax::broadcast(lax::reshape(a, kept, loc), shape, std::move(axes), loc);
}

Array in_dtype(std::string_view op, const Operand& x, DType dtype) {
  if (x.is_array()) return lax::convert(x.array(), dtype, x.loc());
  if (!holds(dtype, x.scalar()))
    usage_error(op,
                to_string(x.scalar()) + " does not fit " + text(dtype) +
                    "; cast the array to a type that holds it",
                x.loc());
  return lax::scalar(dtype, x.scalar(), x.loc());
}

Array as_array(std::string_view op, const Operand& x) {
  if (x.is_array()) return x.array();
  const DType t = default_dtype(x.scalar().kind);
  if (!holds(t, x.scalar()))
    usage_error(op,
                to_string(x.scalar()) + " does not fit " + text(t) +
                    ", the type of C++ integers that meet no array; name one that holds it: "
                    "full({}, " +
                    to_string(x.scalar()) + ", DType::" +
                    (holds(DType::u32, x.scalar())   ? "u32"
                     : holds(DType::i64, x.scalar()) ? "i64"
                                                     : "u64") +
                    ")",
                x.loc());
  return lax::scalar(t, x.scalar(), x.loc());
}

Array as_float(std::string_view op, const Operand& x) {
  return in_dtype(op, x, x.is_array() ? float_dtype(x.array().dtype()) : DType::f32);
}

Arrays aligned(std::string_view op, std::span<const Operand> operands) {
  return aligned(op, operands, common_dtype(op, operands));
}

Arrays aligned(std::string_view op, std::span<const Operand> operands, DType dtype) {
  const Shape shape = broadcast_shape(op, operands);
  Arrays r;
  for (const Operand& x : operands)
    r.push_back(broadcast(op, in_dtype(op, x, dtype), shape, x.loc()));
  return r;
}

int axis_of(std::string_view op, int axis, const Array& a, Loc loc) {
  const int n = a.rank();
  if (axis < -n || axis >= n)
    usage_error(op,
                "axis " + std::to_string(axis) + " is out of range for " + to_string(a.aval()) +
                    ", which has " + std::to_string(n) + (n == 1 ? " axis" : " axes"),
                loc);
  return axis < 0 ? axis + n : axis;
}

std::vector<int> axes_of(std::string_view op, std::span<const int> axes, const Array& a, Loc loc) {
  std::vector<int> r;
  for (int axis : axes) {
    const int resolved = axis_of(op, axis, a, loc);
    if (std::find(r.begin(), r.end(), resolved) != r.end())
      usage_error(op, "axis " + std::to_string(axis) + " is given twice", loc);
    r.push_back(resolved);
  }
  std::sort(r.begin(), r.end());
  return r;
}

std::vector<int> resolved(std::string_view op, const Axes& axes, const Array& a, Loc loc) {
  if (!axes.all()) return axes_of(op, axes.list(), a, loc);
  std::vector<int> r(static_cast<std::size_t>(a.rank()));
  std::iota(r.begin(), r.end(), 0);
  return r;
}

}  // namespace gnomon::align
