// codegen/lax/positions.cpp -- signs, ranges and dtypes of indices and of what they write.
#include "codegen/lax/positions.h"

#include <algorithm>
#include <array>
#include <string>

#include "codegen/operations/gather_scatter.h"

namespace gnomon::positions {

namespace {
constexpr Dim i32_max = 0x7fffffff;
}

// What i32 cannot hold is out of range all the same.
Dim resolve(Dim index, Dim length, bool wrap) {
  return std::clamp<Dim>(wrap && index < 0 ? index + length : index, -1, std::min(length, i32_max));
}

Array cut_to_i32(const Array& x, Loc loc) {
  const DType dtype = x.dtype();
  Array cut = x;
  if (bits_of(dtype) > 32 || dtype == DType::u32) {
    const double span = static_cast<double>(i32_max);
    if (is_signed(dtype)) cut = emit1(max_p, {}, {cut, lax::full_like(cut, -span, loc)}, loc);
    cut = emit1(min_p, {}, {cut, lax::full_like(cut, span, loc)}, loc);
  }
  return lax::convert(cut, DType::i32, loc);
}

Array of(std::string_view op, const Operand& index, Dim length, bool wrap) {
  const Loc loc = index.loc();
  if (!index.is_array()) {
    if (index.scalar().kind != Scalar::Kind::integer)
      usage_error(op, "an index is a C++ number that is no integer", loc);
    return lax::scalar_integer(DType::i32, resolve(index.scalar().integer, length, wrap), loc);
  }
  const DType dtype = index.array().dtype();
  if (!is_integer(dtype))
    usage_error(op, "indices are " + to_string(index.array().aval()) + "; cast them to i32", loc);
  // Out of range stays out of range when cut to 32 bits.
  const Array at = cut_to_i32(index.array(), loc);
  if (!wrap || !is_signed(dtype)) return at;
  const Array wrapped = lax::add(at, lax::full_like(at, static_cast<double>(length), loc), loc);
  return lax::select(lax::lt(at, lax::zeros_like(at, loc), loc), wrapped, at, loc);
}

Array clamped(const Array& at, Dim length, Loc loc) {
  const Array low = emit1(max_p, {}, {at, lax::zeros_like(at, loc)}, loc);
  return emit1(min_p, {}, {low, lax::full_like(at, static_cast<double>(length - 1), loc)}, loc);
}

Array in_range(const Array& at, Dim length, Loc loc) {
  const Array unsigned_at = lax::convert(at, DType::u32, loc);
  return lax::lt(unsigned_at, lax::full_like(unsigned_at, static_cast<double>(length), loc), loc);
}

Array over_rows(const Array& per_index, const Shape& shape, int axis, int batch_dims, Loc loc) {
  std::vector<int> axes;
  for (int i = 0; i < batch_dims; ++i) axes.push_back(i);
  for (int i = batch_dims; i < per_index.rank(); ++i) axes.push_back(axis + i - batch_dims);
  return lax::broadcast(per_index, shape, std::move(axes), loc);
}

void check_length(std::string_view op, const Array& x, int axis, const Array& indices, Loc loc) {
  if (x.shape()[axis] == 0 && indices.size() > 0)
    usage_error(
        op,
        "axis " + std::to_string(axis) + " of " + to_string(x.aval()) + " has no element to index",
        loc);
}

Array written_value(std::string_view op, const Array& x, const Operand& value, const Shape& shape) {
  const std::array<Operand, 2> both{Operand(x, value.loc()), value};
  const DType common = align::common_dtype(op, both);
  // u32 meets i32 in i32, but does not fit it.
  const bool wraps =
      common == DType::i32 && value.is_array() && value.array().dtype() == DType::u32;
  if (common != x.dtype() || wraps)
    usage_error(
        op,
        "writes " +
            (value.is_array() ? to_string(value.array().aval()) : std::string(name(common))) +
            " into " + to_string(x.aval()) + "; cast one of them",
        value.loc());
  return align::broadcast(op, align::in_dtype(op, value, x.dtype()), shape, value.loc());
}

const Array& array_of(std::string_view op, const Operand& x) {
  if (!x.is_array()) usage_error(op, "the first operand is a number and must be an Array", x.loc());
  return x.array();
}

Array gather(std::string_view op, const Array& x, const Array& at, int axis, int batch_dims,
             const ReadOptions& options, Loc loc) {
  const Dim length = x.shape()[axis];
  const bool plain_fill = options.mode == ReadMode::fill && !options.fill_value;
  if (!plain_fill) check_length(op, x, axis, at, loc);
  const GatherMode mode = plain_fill ? GatherMode::fill : GatherMode::clip;
  const Array read = emit1(gather_p, GatherParams{axis, batch_dims, mode}, {x, at}, loc);
  if (plain_fill || options.mode != ReadMode::fill) return read;
  const Array inside = over_rows(in_range(at, length, loc), read.shape(), axis, batch_dims, loc);
  return lax::select(inside, read, lax::full_like(read, *options.fill_value, loc), loc);
}

}  // namespace gnomon::positions
