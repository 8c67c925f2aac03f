// codegen/ops/create.cpp -- public operations that make arrays.
#include <cmath>

#include "codegen/lax/align.h"
#include "codegen/operations/buffer.h"
#include "codegen/trace/eager.h"
#include "gnomon/buffer.h"
#include "gnomon/ops.h"

namespace gnomon {
namespace {

void require_sizes(std::string_view op, const Shape& shape, Loc loc) {
  for (Dim d : shape)
    if (d < 0) usage_error(op, "shape " + to_string(shape) + " has a negative size", loc);
}

/// Of a number that was given together with a dtype: as NumPy's np.full, which refuses integers
/// that do not fit.
Array in_named_dtype(std::string_view op, const Operand& value, DType dtype) {
  const Loc loc = value.loc();
  if (!value.is_array() && dtype == DType::boolean)
    return lax::scalar(dtype, value.scalar().floating != 0, loc);
  if (!value.is_array() && !align::holds(dtype, value.scalar()))
    usage_error(op,
                to_string(value.scalar()) + " does not fit " + std::string(name(dtype)) +
                    "; name a type that holds it, or cast it, which wraps",
                loc);
  return align::in_dtype(op, value, dtype);
}

const Scalar& number_of(std::string_view op, const Operand& x) {
  if (x.is_array())
    usage_error(op,
                "a bound is " + to_string(x.array().aval()) +
                    ", and shapes are fixed when the function is traced; use C++ numbers",
                x.loc());
  return x.scalar();
}

}  // namespace

Array zeros(const Shape& shape, DType dtype, Loc loc) {
  require_sizes("zeros", shape, loc);
  return made("zeros", loc, [&] { return lax::full({dtype, shape}, 0, loc); });
}

Array ones(const Shape& shape, DType dtype, Loc loc) {
  require_sizes("ones", shape, loc);
  return made("ones", loc, [&] { return lax::full({dtype, shape}, 1, loc); });
}

Array buffer(const Shape& shape, DType dtype, Loc loc) {
  require_sizes("buffer", shape, loc);
  return made("buffer", loc, [&] { return emit1(buffer_p, BufferParams{dtype, shape}, {}, loc); });
}

Array full(const Shape& shape, Operand value) {
  require_sizes("full", shape, value.loc());
  return made("full", value.loc(), [&] {
    return align::broadcast("full", align::as_array("full", value), shape, value.loc());
  });
}

Array full(const Shape& shape, Operand value, DType dtype) {
  require_sizes("full", shape, value.loc());
  return made("full", value.loc(), [&] {
    return align::broadcast("full", in_named_dtype("full", value, dtype), shape, value.loc());
  });
}

Array zeros_like(Operand x) {
  const Array like = align::as_array("zeros_like", x);
  return beside(like, lax::zeros_like(like, x.loc()));
}
Array ones_like(Operand x) {
  const Array like = align::as_array("ones_like", x);
  return beside(like, lax::full_like(like, 1, x.loc()));
}
Array full_like(Operand x, Operand value) {
  const Array like = align::as_array("full_like", x);
  const Array one = in_named_dtype("full_like", value, like.dtype());
  return beside(like, align::broadcast("full_like", one, like.shape(), value.loc()));
}

namespace {

/// How many of first, first + by, ... come before `last`: exact for integers.
double count_of(const Scalar& first, const Scalar& last, const Scalar& by) {
  using Kind = Scalar::Kind;
  if (first.kind == Kind::floating || last.kind == Kind::floating || by.kind == Kind::floating ||
      by.floating == 0)
    return std::ceil((last.floating - first.floating) / by.floating);
  const auto before = [](const Scalar& x, const Scalar& y) {
    return x.beyond_i64 != y.beyond_i64 ? y.beyond_i64 : x.integer < y.integer;
  };
  const bool up = by.beyond_i64 || by.integer > 0;
  if (!(up ? before(first, last) : before(last, first))) return 0;
  const auto bits = [](const Scalar& x) { return static_cast<std::uint64_t>(x.integer); };
  const std::uint64_t span = up ? bits(last) - bits(first) : bits(first) - bits(last);
  const std::uint64_t step = up ? bits(by) : 0 - bits(by);
  return static_cast<double>((span - 1) / step + 1);
}

Array arange_of(const Operand& start, const Operand& stop, const Operand& step,
                std::optional<DType> dtype) {
  const Scalar &first = number_of("arange", start), &last = number_of("arange", stop);
  const Scalar& by = number_of("arange", step);
  const Loc loc = start.loc();
  const DType met = align::common_dtype("arange", std::array{start, stop, step});
  const DType t = dtype.value_or(is_float(met) ? DType::f32 : DType::i32);
  if (t == DType::boolean || (!is_float(t) && is_float(met)))
    usage_error("arange",
                "from " + to_string(first) + " to " + to_string(last) + " by " + to_string(by) +
                    " in " + std::string(name(t)) + "; name a type of floats, or give integers",
                loc);
  const double count = count_of(first, last, by);
  if (!(std::fabs(count) < 2147483648.0))
    usage_error("arange",
                "from " + to_string(first) + " to " + to_string(last) + " by " + to_string(by) +
                    " has no usable length",
                loc);
  const Shape shape{static_cast<Dim>(std::fmax(count, 0))};
  return made("arange", loc, [&] {
    Array x = lax::iota(t, shape, 0, loc);
    const auto constant = [&](const Operand& v) {
      return align::broadcast("arange", align::in_dtype("arange", v, t), shape, loc);
    };
    if (by.floating != 1) x = lax::mul(x, constant(step), loc);
    if (first.floating != 0) x = lax::add(x, constant(start), loc);
    return x;
  });
}

}  // namespace

Array arange(Operand stop) {
  return arange_of({0, stop.loc()}, stop, {1, stop.loc()}, std::nullopt);
}
Array arange(Operand stop, DType dtype) {
  return arange_of({0, stop.loc()}, stop, {1, stop.loc()}, dtype);
}
Array arange(Operand start, Operand stop, Operand step) {
  return arange_of(start, stop, step, std::nullopt);
}
Array arange(Operand start, Operand stop, Operand step, DType dtype) {
  return arange_of(start, stop, step, dtype);
}

Array linspace(double start, double stop, Dim count, Loc loc) {
  if (count < 0) usage_error("linspace", std::to_string(count) + " values; give 0 or more", loc);
  const Shape shape{count};
  return made("linspace", loc, [&] {
    if (count < 2) return lax::full({DType::f32, shape}, start, loc);
    // Both ends come out exactly: the weights are 1 and 0 there.
    const Array t =
        lax::div(lax::iota(DType::f32, shape, 0, loc),
                 lax::full({DType::f32, shape}, static_cast<double>(count - 1), loc), loc);
    return lax::add(lax::mul(lax::sub_from(1, t, loc), start, loc), lax::mul(t, stop, loc), loc);
  });
}

Array iota(const Shape& shape, int axis, DType dtype, Loc loc) {
  require_sizes("iota", shape, loc);
  if (axis < -shape.rank() || axis >= shape.rank())
    usage_error("iota", "axis " + std::to_string(axis) + " is out of range for " + to_string(shape),
                loc);
  return made("iota", loc,
              [&] { return lax::iota(dtype, shape, axis < 0 ? axis + shape.rank() : axis, loc); });
}

Array eye(Dim rows, std::optional<Dim> columns, DType dtype, Loc loc) {
  const Shape shape{rows, columns.value_or(rows)};
  require_sizes("eye", shape, loc);
  return made("eye", loc, [&] {
    const Array diagonal =
        lax::eq(lax::iota(DType::i32, shape, 0, loc), lax::iota(DType::i32, shape, 1, loc), loc);
    return lax::convert(diagonal, dtype, loc);
  });
}

Array eye(Dim rows, DType dtype, Loc loc) { return eye(rows, std::nullopt, dtype, loc); }

Array detail::array_of(const std::vector<Scalar>& values, DType dtype, Loc loc) {
  constexpr std::size_t largest = 1024;
  if (values.size() > largest)
    usage_error("array",
                std::to_string(values.size()) + " constants, and each becomes part of a kernel; " +
                    "pass more than " + std::to_string(largest) + " as an argument",
                loc);
  HostArray h(Aval{dtype, {static_cast<Dim>(values.size())}});
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!align::holds(dtype, values[i]) ||
        (values[i].kind == Scalar::Kind::floating && !is_float(dtype)))
      usage_error("array",
                  to_string(values[i]) + " does not fit " + std::string(name(dtype)) +
                      "; name a type that holds it: array({...}, dtype)",
                  loc);
    h.set(static_cast<Dim>(i), values[i]);
  }
  return made("array", loc, [&] { return lax::constant(std::move(h), loc); });
}

}  // namespace gnomon
