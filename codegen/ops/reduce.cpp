// codegen/ops/reduce.cpp -- public reductions.
#include <limits>
#include <numeric>

#include "codegen/lax/align.h"
#include "codegen/trace/eager.h"
#include "gnomon/ops.h"

namespace gnomon {
namespace {

/// Gives the reduced axes back with length 1.
Array keep(const Array& y, const Shape& from, const std::vector<int>& axes, bool keepdims,
           Loc loc) {
  if (!keepdims) return y;
  Shape shape = from;
  for (int a : axes) shape[a] = 1;
  return lax::reshape(y, shape, loc);
}

Array reduce(const Primitive& p, const Array& a, const std::vector<int>& axes, bool keepdims,
             Loc loc) {
  const Array y = axes.empty() ? a : emit1(p, AxesParams{axes}, {a}, loc);
  return keep(y, a.shape(), axes, keepdims, loc);
}

double count_of(const Array& a, const std::vector<int>& axes) {
  double n = 1;
  for (int axis : axes) n *= static_cast<double>(a.shape()[axis]);
  return n;
}

/// Sums and products of narrow integers and bool are made, and stay, in 32 bits; those of 16-bit
/// floats are made in f32 and rounded once.
Array widened_reduce(std::string_view op, const Primitive& p, const Operand& x, const Axes& axes,
                     ReduceOptions options) {
  Array a = align::as_array(op, x);
  const DType t = a.dtype();
  a = lax::convert(a, align::summed_in(t), x.loc());
  if (!is_float(t) && bits_of(t) < 32)
    a = lax::convert(a, is_unsigned(t) ? DType::u32 : DType::i32, x.loc());
  const Array y = reduce(p, a, align::resolved(op, axes, a, x.loc()), options.keepdims, x.loc());
  return is_float(t) ? lax::convert(y, t, x.loc()) : y;
}

/// `f` of an array of floats, computed in f32 where that has 16 bits.
template <class F>
Array in_f32(std::string_view op, const Operand& x, F f) {
  return at_once(op, x.loc(), [&] {
    const Array a = align::as_float(op, x);
    const DType made = align::summed_in(a.dtype());
    return lax::convert(f(lax::convert(a, made, x.loc())), a.dtype(), x.loc());
  });
}

Array extremum(std::string_view op, const Primitive& p, const Operand& x, const Axes& axes,
               ReduceOptions options) {
  const Array a = align::as_array(op, x);
  const std::vector<int> over = align::resolved(op, axes, a, x.loc());
  if (count_of(a, over) == 0)
    usage_error(op, "of no elements: the reduced axes of " + to_string(a.aval()) + " are empty",
                x.loc());
  return reduce(p, a, over, options.keepdims, x.loc());
}

Array quantifier(std::string_view op, const Primitive& p, const Operand& x, const Axes& axes,
                 ReduceOptions options) {
  Array a = align::as_array(op, x);
  if (a.dtype() != DType::boolean) a = emit1(ne_p, {}, {a, lax::zeros_like(a, x.loc())}, x.loc());
  return reduce(p, a, align::resolved(op, axes, a, x.loc()), options.keepdims, x.loc());
}

Array arg_extremum(std::string_view op, const Primitive& p, const Operand& x,
                   std::optional<int> axis) {
  Array a = align::as_array(op, x);
  if (a.dtype() == DType::boolean) a = lax::convert(a, DType::i32, x.loc());
  if (!axis) a = lax::reshape(a, {a.size()}, x.loc());
  const int along = align::axis_of(op, axis.value_or(0), a, x.loc());
  if (a.shape()[along] == 0)
    usage_error(op,
                "of no elements: axis " + std::to_string(along) + " of " + to_string(a.aval()) +
                    " is empty",
                x.loc());
  return emit1(p, AxisParams{along}, {a}, x.loc());
}

Array mean_over(const Array& a, const std::vector<int>& axes, double divisor, bool keepdims,
                Loc loc) {
  const Array total = reduce(sum_p, a, axes, keepdims, loc);
  return lax::div(total, lax::full_like(total, divisor, loc), loc);
}

/// The maximum along `axes`, kept in place, as a constant; 0 where it is infinite.
Array shift_for_exp(const Array& a, const std::vector<int>& axes, Loc loc) {
  const Array top = lax::unary(stop_gradient_p, reduce(reduce_max_p, a, axes, true, loc), loc);
  return lax::select(lax::unary(isfinite_p, top, loc), top, lax::zeros_like(top, loc), loc);
}

}  // namespace

Array sum(Operand x, const Axes& axes, ReduceOptions options) {
  return widened_reduce("sum", sum_p, x, axes, options);
}

Array prod(Operand x, const Axes& axes, ReduceOptions options) {
  return widened_reduce("prod", prod_p, x, axes, options);
}

Array mean(Operand x, const Axes& axes, ReduceOptions options) {
  return in_f32("mean", x, [&](const Array& a) {
    const std::vector<int> over = align::resolved("mean", axes, a, x.loc());
    return mean_over(a, over, count_of(a, over), options.keepdims, x.loc());
  });
}

Array max(Operand x, const Axes& axes, ReduceOptions options) {
  return extremum("max", reduce_max_p, x, axes, options);
}
Array min(Operand x, const Axes& axes, ReduceOptions options) {
  return extremum("min", reduce_min_p, x, axes, options);
}
Array any(Operand x, const Axes& axes, ReduceOptions options) {
  return quantifier("any", reduce_max_p, x, axes, options);
}
Array all(Operand x, const Axes& axes, ReduceOptions options) {
  return quantifier("all", reduce_min_p, x, axes, options);
}
Array argmax(Operand x, std::optional<int> axis) {
  return arg_extremum("argmax", argmax_p, x, axis);
}
Array argmin(Operand x, std::optional<int> axis) {
  return arg_extremum("argmin", argmin_p, x, axis);
}

Array var(Operand x, const Axes& axes, VarianceOptions options) {
  return in_f32("var", x, [&](const Array& a) {
    const Loc loc = x.loc();
    const std::vector<int> over = align::resolved("var", axes, a, loc);
    const double n = count_of(a, over);
    const Array center = align::broadcast("var", mean_over(a, over, n, true, loc), a.shape(), loc);
    const Array squares = lax::integer_pow(lax::sub(a, center, loc), 2, loc);
    return mean_over(squares, over, n - options.ddof, options.keepdims, loc);
  });
}

Array standard_deviation(Operand x, const Axes& axes, VarianceOptions options) {
  return lax::unary(sqrt_p, var(x, axes, options), x.loc());
}

Array norm(Operand x, const Axes& axes, ReduceOptions options) {
  return in_f32("norm", x, [&](const Array& a) {
    const Array total =
        reduce(sum_p, lax::integer_pow(a, 2, x.loc()), align::resolved("norm", axes, a, x.loc()),
               options.keepdims, x.loc());
    return lax::unary(sqrt_p, total, x.loc());
  });
}

Array logsumexp(Operand x, const Axes& axes, ReduceOptions options) {
  return in_f32("logsumexp", x, [&](const Array& a) {
    const Loc loc = x.loc();
    const std::vector<int> over = align::resolved("logsumexp", axes, a, loc);
    const Array top = shift_for_exp(a, over, loc);
    const Array shifted = lax::sub(a, align::broadcast("logsumexp", top, a.shape(), loc), loc);
    const Array total = reduce(sum_p, lax::unary(exp_p, shifted, loc), over, true, loc);
    const Array y = lax::add(lax::unary(log_p, total, loc), top, loc);
    return options.keepdims ? y : squeeze({y, loc}, over);
  });
}

Array softmax(Operand x, int axis) {
  return in_f32("softmax", x, [&](const Array& a) {
    const Loc loc = x.loc();
    const std::vector<int> over{align::axis_of("softmax", axis, a, loc)};
    const Array most = lax::unary(stop_gradient_p, reduce(reduce_max_p, a, over, true, loc), loc);
    const Array top = align::broadcast("softmax", most, a.shape(), loc);
    const Array e = lax::unary(exp_p, lax::sub(a, top, loc), loc);
    const Array total = reduce(sum_p, e, over, true, loc);
    // One division per row; the sum is at least 1, so its inverse is a normal number.
    const Array share = lax::div(lax::full_like(total, 1, loc), total, loc);
    return lax::mul(e, align::broadcast("softmax", share, a.shape(), loc), loc);
  });
}

Array log_softmax(Operand x, int axis) {
  return in_f32("log_softmax", x, [&](const Array& a) {
    const Loc loc = x.loc();
    const std::vector<int> over{align::axis_of("log_softmax", axis, a, loc)};
    const Array top = align::broadcast("log_softmax", shift_for_exp(a, over, loc), a.shape(), loc);
    const Array shifted = lax::sub(a, top, loc);
    const Array total = reduce(sum_p, lax::unary(exp_p, shifted, loc), over, true, loc);
    const Array log_total = lax::unary(log_p, total, loc);
    return lax::sub(shifted, align::broadcast("log_softmax", log_total, a.shape(), loc), loc);
  });
}

}  // namespace gnomon
