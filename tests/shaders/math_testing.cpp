// tests/shaders/math_testing.cpp -- see math_testing.h.
#include "tests/shaders/math_testing.h"

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <tuple>

#include "shaders/interpret/interpret.h"

namespace gnomon::math {
namespace {

using kernel::Access;
using kernel::Kernel;
using kernel::Op;

template <class T, class F, class... Operands>
std::vector<double> run_kernel(F f, const Operands&... operands) {
  constexpr DType t = sizeof(T) == 8 ? DType::f64 : DType::f32;
  Builder b("math");
  std::vector<std::vector<T>> data{{operands.begin(), operands.end()}...};
  const std::size_t lanes = data[0].size();
  for (std::size_t k = 0; k < data.size(); ++k)
    b.buffer({t, Access::read, false, false, "x" + std::to_string(k)});
  const std::uint32_t out = b.buffer({t, Access::write, false, false, "y"});
  b.kernel().lanes = static_cast<std::uint32_t>(lanes);
  const Value lane = b.source(Op::lane);
  std::uint32_t next = 0;
  const auto load = [&](const std::vector<double>&) { return b.load(next++, lane); };
  const std::array<Value, sizeof...(Operands)> x{load(operands)...};
  b.store(out, lane, std::apply([&](auto... v) { return f(b, v...); }, x));
  const Kernel k = b.take();
  data.emplace_back(lanes);
  std::vector<std::span<std::byte>> buffers;
  for (std::vector<T>& v : data) buffers.push_back(std::as_writable_bytes(std::span(v)));
  std::vector<std::uint32_t> parameters(kernel::parameter_header_words + data.size());
  parameters[1] = 1;
  interpret(k, 0, parameters, buffers);
  return {data.back().begin(), data.back().end()};
}

class Number {
 public:
  explicit Number(mpfr_prec_t bits) { mpfr_init2(value_, bits); }
  ~Number() { mpfr_clear(value_); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  operator mpfr_ptr() { return value_; }

 private:
  mpfr_t value_;
};

constexpr mpfr_prec_t precision = 128;

double distance(double got, mpfr_ptr exact, double least = 0, int digits = 53) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const bool narrow = digits == 24;
  const double nearest = narrow ? mpfr_get_flt(exact, MPFR_RNDN) : mpfr_get_d(exact, MPFR_RNDN);
  if (std::isnan(got) || std::isnan(nearest))
    return std::isnan(got) && std::isnan(nearest) ? 0 : inf;
  if (mpfr_zero_p(exact)) {
    if (got != 0) return std::fabs(got) / (narrow ? 0x1p-149 : 0x1p-1074);
    return std::signbit(got) == std::signbit(nearest) ? 0 : inf;
  }
  if (std::isinf(got)) {
    // Infinity stands for 2^1024.
    if (mpfr_inf_p(exact)) return (got > 0) == (nearest > 0) ? 0 : inf;
    if ((got > 0) != (mpfr_sgn(exact) > 0)) return inf;
    if (std::isinf(nearest)) return 0;
    Number largest(precision);
    mpfr_set_ui_2exp(largest, 1, narrow ? 128 : 1024, MPFR_RNDN);
    mpfr_abs(exact, exact, MPFR_RNDN);
    mpfr_sub(largest, largest, exact, MPFR_RNDN);
    mpfr_mul_2si(largest, largest, narrow ? -104 : -971, MPFR_RNDN);
    return mpfr_get_d(largest, MPFR_RNDN);
  }
  if (mpfr_inf_p(exact)) return inf;
  long exponent = std::max<long>(mpfr_get_exp(exact) - digits, narrow ? -149 : -1074);
  if (std::fabs(nearest) < least) exponent = std::ilogb(least) + 1 - digits;
  Number error(precision);
  mpfr_d_sub(error, got, exact, MPFR_RNDN);
  mpfr_mul_2si(error, error, -exponent, MPFR_RNDN);
  return std::fabs(mpfr_get_d(error, MPFR_RNDN));
}

}  // namespace

std::vector<double> run(Value (*f)(Builder&, Value), const std::vector<double>& x) {
  return run_kernel<double>(f, x);
}
std::vector<double> run(Value (*f)(Builder&, Value, Value), const std::vector<double>& x,
                        const std::vector<double>& y) {
  return run_kernel<double>(f, x, y);
}
std::vector<double> run(Value (*f)(Builder&, Value, Value, Value), const std::vector<double>& x,
                        const std::vector<double>& y, const std::vector<double>& z) {
  return run_kernel<double>(f, x, y, z);
}
std::vector<double> run_f32(Value (*f)(Builder&, Value), const std::vector<double>& x) {
  return run_kernel<float>(f, x);
}
std::vector<double> run_f32(Value (*f)(Builder&, Value, Value), const std::vector<double>& x,
                            const std::vector<double>& y) {
  return run_kernel<float>(f, x, y);
}
std::vector<double> run_f32(Value (*f)(Builder&, Value, Value, Value), const std::vector<double>& x,
                            const std::vector<double>& y, const std::vector<double>& z) {
  return run_kernel<float>(f, x, y, z);
}
std::vector<double> rounded_to_f32(std::vector<double> x) {
  for (double& v : x) v = static_cast<float>(v);
  return x;
}

double units(double got, int (*exact)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t), double x, double least,
             int digits) {
  Number argument(53), result(precision);
  mpfr_set_d(argument, x, MPFR_RNDN);
  exact(result, argument, MPFR_RNDN);
  return distance(got, result, least, digits);
}
double units(double got, int (*exact)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t), double x,
             double y) {
  Number left(53), right(53), result(precision);
  mpfr_set_d(left, x, MPFR_RNDN);
  mpfr_set_d(right, y, MPFR_RNDN);
  exact(result, left, right, MPFR_RNDN);
  return distance(got, result);
}

std::vector<double> arguments(double low, double high, std::size_t count) {
  std::mt19937_64 random(20240611);
  std::vector<double> x{low, high};
  std::uniform_real_distribution<double> unit(0, 1);
  const double most = std::log2(std::max(std::fabs(low), std::fabs(high)));
  while (x.size() < count) {
    x.push_back(low + (high - low) * unit(random));
    if (!std::isfinite(x.back())) x.back() = high * unit(random);
    // Half of the magnitudes within 2^40 of the largest, half anywhere.
    const double span = x.size() % 4 < 2 ? 40 : most + 1074;
    double value = std::exp2(most - span * unit(random));
    if (random() % 2 == 0) value = -value;
    if (value >= low && value <= high) x.push_back(value);
    // And near the ends.
    value = high * (1 - std::exp2(-53 * unit(random)));
    if (value >= low) x.push_back(value);
  }
  return x;
}

std::vector<double> hard_angles() {
  std::vector<double> x{6381956970095103.0 * 0x1p797, 0x1.921fb54442d18p+0, 0x1.921fb54442d18p+1};
  Number quarter(1400), ratio(1400), whole(1400), p(1400), q(1400), p1(1400), q1(1400), t(1400);
  for (int exponent = -52; exponent < 971; exponent += 7) {
    // Convergents p / q of pi / 2 / 2^exponent: p 2^exponent is near a multiple of pi / 2.
    mpfr_const_pi(quarter, MPFR_RNDN);
    mpfr_mul_2si(ratio, quarter, -1 - exponent, MPFR_RNDN);
    mpfr_set_ui(p1, 1, MPFR_RNDN), mpfr_set_ui(q1, 0, MPFR_RNDN);
    mpfr_floor(p, ratio), mpfr_set_ui(q, 1, MPFR_RNDN);
    mpfr_sub(ratio, ratio, p, MPFR_RNDN);
    double before = 0;
    for (int step = 0; step < 600 && mpfr_get_exp(p) <= 53; ++step) {
      before = std::ldexp(mpfr_get_d(p, MPFR_RNDN), exponent);
      mpfr_ui_div(ratio, 1, ratio, MPFR_RNDN);
      mpfr_floor(whole, ratio);
      mpfr_sub(ratio, ratio, whole, MPFR_RNDN);
      mpfr_mul(t, whole, p, MPFR_RNDN), mpfr_add(t, t, p1, MPFR_RNDN);
      mpfr_set(p1, p, MPFR_RNDN), mpfr_set(p, t, MPFR_RNDN);
      mpfr_mul(t, whole, q, MPFR_RNDN), mpfr_add(t, t, q1, MPFR_RNDN);
      mpfr_set(q1, q, MPFR_RNDN), mpfr_set(q, t, MPFR_RNDN);
    }
    if (before > 0 && std::isfinite(before)) x.push_back(before);
  }
  return x;
}

}  // namespace gnomon::math
