// codegen/ops/distributions.cpp -- distributions that are one formula of uniform or
// normal draws.
#include <cmath>
#include <limits>
#include <numbers>

#include "codegen/lax/align.h"
#include "codegen/ops/random_draws.h"
#include "codegen/trace/eager.h"
#include "gnomon/numeric.h"
#include "gnomon/ops.h"

namespace gnomon::random {
namespace {

/// Smallest positive normal number, distance from 1 to the next number, and half of it.
double tiny(DType t) {
  return t == DType::f64 ? std::numeric_limits<double>::min()
                         : static_cast<double>(std::numeric_limits<float>::min());
}
double epsilon(DType t) { return t == DType::f64 ? 0x1p-52 : 0x1p-23; }

/// Never 0, whose logarithm is infinite.
Array positive_uniform(Key key, const Shape& shape, DType dtype, Loc loc) {
  return uniform(std::move(key), shape, {tiny(dtype), loc}, {1.0, loc}, dtype);
}
Array unit_uniform(Key key, const Shape& shape, DType dtype, Loc loc) {
  return uniform(std::move(key), shape, {0.0, loc}, {1.0, loc}, dtype);
}

Array negative_log1p(const Array& x, Loc loc) {
  return lax::neg(lax::unary(log1p_p, lax::neg(x, loc), loc), loc);
}

}  // namespace

Array exponential(Key key, const Shape& shape, DType dtype, Loc loc) {
  draws::require_float("random::exponential", dtype, loc);
  return negative_log1p(unit_uniform(std::move(key), shape, dtype, loc), loc);
}

Array gumbel(Key key, const Shape& shape, DType dtype, Loc loc) {
  draws::require_float("random::gumbel", dtype, loc);
  const auto negative_log = [&](const Array& x) {
    return lax::neg(lax::unary(log_p, x, loc), loc);
  };
  return negative_log(negative_log(positive_uniform(std::move(key), shape, dtype, loc)));
}

Array laplace(Key key, const Shape& shape, DType dtype, Loc loc) {
  draws::require_float("random::laplace", dtype, loc);
  const Array u = uniform(std::move(key), shape, {epsilon(dtype) / 2 - 1, loc}, {1.0, loc}, dtype);
  const Array size = lax::unary(log1p_p, lax::neg(lax::unary(abs_p, u, loc), loc), loc);
  return lax::mul(lax::unary(sign_p, u, loc), size, loc);
}

Array logistic(Key key, const Shape& shape, DType dtype, Loc loc) {
  draws::require_float("random::logistic", dtype, loc);
  const Array u = positive_uniform(std::move(key), shape, dtype, loc);
  return lax::add(lax::unary(log_p, u, loc), negative_log1p(u, loc), loc);
}

Array cauchy(Key key, const Shape& shape, DType dtype, Loc loc) {
  draws::require_float("random::cauchy", dtype, loc);
  const Array u = uniform(std::move(key), shape, {epsilon(dtype), loc}, {1.0, loc}, dtype);
  return lax::unary(tan_p, lax::mul(lax::add(u, -0.5, loc), std::numbers::pi, loc), loc);
}

Array truncated_normal(Key key, Operand lo, Operand hi, const Shape& shape, DType dtype) {
  const Loc loc = lo.loc();
  constexpr std::string_view op = "random::truncated_normal";
  return at_once(op, loc, [&]() -> Array {
    draws::require_float(op, dtype, loc);
    const Array low = draws::parameter(op, lo, shape, dtype),
                high = draws::parameter(op, hi, shape, dtype);
    const auto below = [&](const Array& x) {
      const Array scaled = lax::div(x, lax::full_like(x, std::numbers::sqrt2, loc), loc);
      return lax::unary(erf_p, scaled, loc);
    };
    const Array u = uniform(std::move(key), shape, {below(low), loc}, {below(high), loc}, dtype);
    const Array x = lax::mul(draws::erf_inv(u, loc), std::numbers::sqrt2, loc);
    // Rounding may reach the ends; the interval is open.
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const Array first = nextafter({stop_gradient({low, loc}), loc}, {infinity, loc});
    const Array last = nextafter({stop_gradient({high, loc}), loc}, {-infinity, loc});
    return emit1(clamp_p, {}, {first, x, last}, loc);
  });
}

Array lognormal(Key key, Operand sigma, const Shape& shape, DType dtype) {
  const Loc loc = sigma.loc();
  return at_once("random::lognormal", loc, [&]() -> Array {
    const Array scale = draws::parameter("random::lognormal", sigma, shape, dtype);
    return lax::unary(exp_p, lax::mul(normal(std::move(key), shape, dtype, loc), scale, loc), loc);
  });
}

Array pareto(Key key, Operand b, const Shape& shape, DType dtype) {
  const Loc loc = b.loc();
  return at_once("random::pareto", loc, [&]() -> Array {
    const Array power = draws::parameter("random::pareto", b, shape, dtype);
    const Array e = exponential(std::move(key), shape, dtype, loc);
    return lax::unary(exp_p, lax::div(e, power, loc), loc);
  });
}

Array rayleigh(Key key, Operand scale, const Shape& shape, DType dtype) {
  const Loc loc = scale.loc();
  return at_once("random::rayleigh", loc, [&]() -> Array {
    const Array s = draws::parameter("random::rayleigh", scale, shape, dtype);
    const Array u = unit_uniform(std::move(key), shape, dtype, loc);
    const Array radius = lax::unary(sqrt_p, lax::mul(lax::unary(log_p, u, loc), -2, loc), loc);
    return lax::mul(radius, s, loc);
  });
}

Array weibull(Key key, Operand scale, Operand concentration, const Shape& shape, DType dtype) {
  const Loc loc = scale.loc();
  constexpr std::string_view op = "random::weibull";
  return at_once(op, loc, [&]() -> Array {
    const Array s = draws::parameter(op, scale, shape, dtype),
                c = draws::parameter(op, concentration, shape, dtype);
    const Array e = exponential(std::move(key), shape, dtype, loc);
    const Array root = lax::div(lax::full_like(c, 1, loc), c, loc);
    return lax::mul(emit1(pow_p, {}, {e, root}, loc), s, loc);
  });
}

Array maxwell(Key key, const Shape& shape, DType dtype, Loc loc) {
  const Array z = normal(std::move(key), shape.with_inserted(shape.rank(), 3), dtype, loc);
  return norm({z, loc}, -1);
}

Array double_sided_maxwell(Key key, Operand center, Operand scale, const Shape& shape,
                           DType dtype) {
  const Loc loc = center.loc();
  constexpr std::string_view op = "random::double_sided_maxwell";
  return at_once(op, loc, [&]() -> Array {
    draws::require_float(op, dtype, loc);
    auto keys = split<2>(std::move(key), loc);
    const Array size = maxwell(std::move(keys[0]), shape, dtype, loc);
    const Array sign = rademacher(std::move(keys[1]), shape, dtype, loc);
    const Array scaled =
        lax::mul(lax::mul(sign, size, loc), draws::parameter(op, scale, shape, dtype), loc);
    return lax::add(scaled, draws::parameter(op, center, shape, dtype), loc);
  });
}

Array triangular(Key key, Operand left, Operand mode, Operand right, const Shape& shape,
                 DType dtype) {
  const Loc loc = left.loc();
  constexpr std::string_view op = "random::triangular";
  return at_once(op, loc, [&]() -> Array {
    draws::require_float(op, dtype, loc);
    const Array a = draws::parameter(op, left, shape, dtype),
                b = draws::parameter(op, right, shape, dtype),
                top = draws::parameter(op, mode, shape, dtype);
    const Array width = lax::sub(b, a, loc), rise = lax::sub(top, a, loc),
                fall = lax::sub(b, top, loc);
    const Array u = unit_uniform(std::move(key), shape, dtype, loc);
    // Each side's distribution function is a parabola.
    const auto root = [&](const Array& share, const Array& side) {
      return lax::unary(sqrt_p, lax::mul(lax::mul(share, width, loc), side, loc), loc);
    };
    const Array in_rise = lax::lt(u, lax::div(rise, width, loc), loc);
    return lax::select(in_rise, lax::add(a, root(u, rise), loc),
                       lax::sub(b, root(lax::sub_from(1, u, loc), fall), loc), loc);
  });
}

Array geometric(Key key, Operand p, const Shape& shape) {
  const Loc loc = p.loc();
  return at_once("random::geometric", loc, [&]() -> Array {
    const Array chance =
        align::broadcast("random::geometric", align::as_float("random::geometric", p), shape, loc);
    const Array u = unit_uniform(std::move(key), shape, chance.dtype(), loc);
    const Array trials =
        lax::div(lax::unary(log_p, u, loc), lax::unary(log1p_p, lax::neg(chance, loc), loc), loc);
    // The logarithms of a draw of 0 and of no chance to fail are both infinite.
    const Array certain = emit1(ge_p, {}, {chance, lax::full_like(chance, 1, loc)}, loc);
    const Array failures =
        lax::select(certain, lax::zeros_like(trials, loc), lax::unary(floor_p, trials, loc), loc);
    return draws::counted(lax::add(failures, 1, loc), loc);
  });
}

Array sphere(Key key, Dim dimension, const Shape& shape, DType dtype, Loc loc) {
  if (dimension < 1)
    usage_error("random::sphere", "in " + std::to_string(dimension) + " dimensions", loc);
  const Array z = normal(std::move(key), shape.with_inserted(shape.rank(), dimension), dtype, loc);
  return divide({z, loc}, {norm({z, loc}, -1, {.keepdims = true}), loc});
}

}  // namespace gnomon::random
