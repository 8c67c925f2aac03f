// codegen/lax/lax.cpp -- emission of the strict operations.
#include "codegen/lax/lax.h"

#include <limits>
#include <numeric>

namespace gnomon::lax {

Array constant(HostArray value, Loc loc) {
  return emit1(constant_p, ConstantParams{Literal(std::move(value))}, {}, loc);
}

Array scalar(DType dtype, const Scalar& x, Loc loc) {
  HostArray h(Aval{dtype, {}});
  h.set(0, x);
  return constant(std::move(h), loc);
}

Array full(const Aval& aval, const Scalar& x, Loc loc) {
  const Array value = scalar(aval.dtype, x, loc);
  return aval.shape.rank() == 0 ? value : broadcast(value, aval.shape, {}, loc);
}

Array lowest(DType dtype, Loc loc) {
  if (is_float(dtype)) return scalar(dtype, -std::numeric_limits<double>::infinity(), loc);
  return scalar_integer(dtype, integer_range(dtype).first, loc);
}
Array highest(DType dtype, Loc loc) {
  if (is_float(dtype)) return scalar(dtype, std::numeric_limits<double>::infinity(), loc);
  return scalar_integer(dtype, integer_range(dtype).second, loc);
}

Array iota(DType dtype, const Shape& shape, int axis, Loc loc) {
  return emit1(iota_p, IotaParams{dtype, shape, axis}, {}, loc);
}

Array integer_pow(const Array& a, int exponent, Loc loc) {
  return emit1(integer_pow_p, IntegerPowParams{exponent}, {a}, loc);
}

Array convert(const Array& a, DType dtype, Loc loc) {
  return a.dtype() == dtype ? a : emit1(convert_p, DTypeParams{dtype}, {a}, loc);
}

Array bitcast(const Array& a, DType dtype, Loc loc) {
  return a.dtype() == dtype ? a : emit1(bitcast_p, DTypeParams{dtype}, {a}, loc);
}

Array broadcast(const Array& a, const Shape& shape, std::vector<int> axes, Loc loc) {
  return a.shape() == shape ? a
                            : emit1(broadcast_p, BroadcastParams{shape, std::move(axes)}, {a}, loc);
}

Array insert_axis(const Array& a, int axis, Dim size, Loc loc) {
  std::vector<int> axes;
  for (int i = 0; i < a.rank(); ++i) axes.push_back(i < axis ? i : i + 1);
  return broadcast(a, a.shape().with_inserted(axis, size), std::move(axes), loc);
}

Array reshape(const Array& a, const Shape& shape, Loc loc) {
  return a.shape() == shape ? a : emit1(reshape_p, ReshapeParams{shape}, {a}, loc);
}

Array permute(const Array& a, std::vector<int> axes, Loc loc) {
  bool identity = true;
  for (std::size_t i = 0; i < axes.size(); ++i) identity &= axes[i] == static_cast<int>(i);
  return identity ? a : emit1(permute_p, AxesParams{std::move(axes)}, {a}, loc);
}

Array move_axis(const Array& a, int from, int to, Loc loc) {
  std::vector<int> axes(static_cast<std::size_t>(a.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  axes.erase(axes.begin() + from);
  axes.insert(axes.begin() + to, from);
  return permute(a, std::move(axes), loc);
}

Array reverse(const Array& a, std::vector<int> axes, Loc loc) {
  return axes.empty() ? a : emit1(reverse_p, AxesParams{std::move(axes)}, {a}, loc);
}

Array slice(const Array& a, std::vector<Dim> starts, std::vector<Dim> limits,
            std::vector<Dim> strides, Loc loc) {
  bool whole = true;
  for (int i = 0; i < a.rank(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    whole &= starts[k] == 0 && limits[k] == a.shape()[i] && strides[k] == 1;
  }
  if (whole) return a;
  return emit1(slice_p, SliceParams{std::move(starts), std::move(limits), std::move(strides)}, {a},
               loc);
}

Array slice_axis(const Array& a, int axis, Dim start, Dim limit, Loc loc) {
  const auto rank = static_cast<std::size_t>(a.rank());
  std::vector<Dim> starts(rank, 0), limits(a.shape().begin(), a.shape().end());
  starts[static_cast<std::size_t>(axis)] = start;
  limits[static_cast<std::size_t>(axis)] = limit;
  return slice(a, std::move(starts), std::move(limits), std::vector<Dim>(rank, 1), loc);
}

Array concatenate(const Arrays& parts, int axis, Loc loc) {
  return parts.size() == 1 ? parts[0] : emit1(concatenate_p, AxisParams{axis}, parts, loc);
}

Array pad(const Array& a, const Array& value, PadParams params, Loc loc) {
  bool nothing = true;
  for (std::size_t i = 0; i < params.lo.size(); ++i)
    nothing &= params.lo[i] == 0 && params.hi[i] == 0 && params.interior[i] == 0;
  return nothing ? a : emit1(pad_p, std::move(params), {a, value}, loc);
}

Array sum(const Array& a, std::vector<int> axes, Loc loc) {
  return axes.empty() ? a : emit1(sum_p, AxesParams{std::move(axes)}, {a}, loc);
}

Array dot_general(const Array& lhs, const Array& rhs, DotParams params, Loc loc) {
  return emit1(dot_general_p, std::move(params), {lhs, rhs}, loc);
}

}  // namespace gnomon::lax
