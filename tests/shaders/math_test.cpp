// tests/shaders/math_test.cpp -- elementary functions against libm in f64, through the interpreter.
#include "shaders/math/elementary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "shaders/interpret/interpret.h"
#include "shaders/support/half.h"

namespace gnomon::math {
namespace {

using kernel::Access;
using kernel::Kernel;
using kernel::Op;

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float quiet = std::numeric_limits<float>::quiet_NaN();

using Unary = Value (*)(Builder&, Value);
using Binary = Value (*)(Builder&, Value, Value);

/// f(x[i], y[i]) for all i, computed by a kernel.
template <class T, class F>
std::vector<T> run(DType t, F f, const std::vector<T>& x, const std::vector<T>& y) {
  Builder b("math");
  const std::uint32_t in = b.buffer({t, Access::read, false, false, "x"});
  const std::uint32_t in2 = b.buffer({t, Access::read, false, false, "y"});
  const std::uint32_t out = b.buffer({t, Access::write, false, false, "z"});
  b.kernel().lanes = static_cast<std::uint32_t>(x.size());
  const Value lane = b.source(Op::lane);
  b.store(out, lane, f(b, b.load(in, lane), b.load(in2, lane)));
  const Kernel k = b.take();
  std::vector<T> a = x, c = y, z(x.size());
  const auto bytes = [](std::vector<T>& v) { return std::as_writable_bytes(std::span(v)); };
  std::span<std::byte> buffers[] = {bytes(a), bytes(c), bytes(z)};
  const std::uint32_t parameters[7] = {0, 1, 0, 0, 0, 0, 0};
  interpret(k, 0, parameters, buffers);
  return z;
}

std::vector<float> run(Unary f, const std::vector<float>& x) {
  return run(
      DType::f32, [&](Builder& b, Value a, Value) { return f(b, a); }, x, x);
}
std::vector<float> run(Binary f, const std::vector<float>& x, const std::vector<float>& y) {
  return run(DType::f32, f, x, y);
}

/// Distance in units of the last place of the exact result, 2^-149 below the normal numbers.
/// Infinity counts as 2^128.
double units(float got, double exact) {
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : inf;
  if (std::isinf(got) && got == static_cast<float>(exact)) return 0;
  const double value = std::isinf(got) ? std::copysign(0x1p128, got) : got;
  const double size = std::max(std::fabs(exact), 0x1p-126);
  return std::fabs(value - exact) / std::ldexp(1.0, std::ilogb(size) - 23);
}

/// Random numbers of every magnitude between `low` and `high`, both signs if low < 0; and both
/// ends.
std::vector<float> samples(float low, float high, bool logarithmic = true) {
  std::mt19937 random(20240611);
  std::vector<float> x{low, high};
  std::uniform_real_distribution<float> flat(low, high);
  const double largest = std::max(std::fabs(low), std::fabs(high));
  std::uniform_real_distribution<double> exponent(-30, std::log2(largest));
  while (x.size() < 6000) {
    x.push_back(flat(random));
    if (!logarithmic) continue;
    auto value = static_cast<float>(std::exp2(exponent(random)));
    if (random() % 2 == 0) value = -value;
    if (value >= low && value <= high) x.push_back(value);
  }
  return x;
}

struct Case {
  const char* name;
  Unary f;
  double (*exact)(double);
  float low, high;
};

double exact_logistic(double x) { return 1 / (1 + std::exp(-x)); }
double exact_softplus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }
double exact_rsqrt(double x) { return 1 / std::sqrt(x); }

TEST(Math, StaysWithinTwoUnits) {
  const float pi = 3.14159265f;
  const Case cases[] = {
      {"exp", exp, std::exp, -104, 89},
      {"exp_nonpositive", exp_nonpositive, std::exp, -104, 0},
      {"exp2", exp2, std::exp2, -150, 128.5f},
      {"expm1", expm1, std::expm1, -30, 89},
      {"log", log, std::log, 0, 3e38f},
      {"log near 1", log, std::log, 0.5f, 2},
      {"log2", log2, std::log2, 0, 3e38f},
      {"log2 near 1", log2, std::log2, 0.5f, 2},
      {"log10", log10, std::log10, 0, 3e38f},
      {"log10 near 1", log10, std::log10, 0.5f, 2},
      {"log1p", log1p, std::log1p, -1, 3e38f},
      {"log1p near 0", log1p, std::log1p, -0.7f, 0.7f},
      {"sqrt", sqrt, std::sqrt, 0, 3e38f},
      {"rsqrt", rsqrt, exact_rsqrt, 0, 3e38f},
      {"cbrt", cbrt, std::cbrt, -3e38f, 3e38f},
      {"sin", sin, std::sin, -10, 10},
      {"sin of large arguments", sin, std::sin, -3e38f, 3e38f},
      {"sin between multiples", sin, std::sin, 0.9f * pi, 1.1f * pi},
      {"cos", cos, std::cos, -10, 10},
      {"cos of large arguments", cos, std::cos, -3e38f, 3e38f},
      {"tan", tan, std::tan, -10, 10},
      {"tan of large arguments", tan, std::tan, -3e38f, 3e38f},
      {"asin", asin, std::asin, -1, 1},
      {"acos", acos, std::acos, -1, 1},
      {"atan", atan, std::atan, -3e38f, 3e38f},
      {"atan near 1", atan, std::atan, -3, 3},
      {"sinh", sinh, std::sinh, -90, 90},
      {"sinh near 1", sinh, std::sinh, -2, 2},
      {"cosh", cosh, std::cosh, -90, 90},
      {"tanh", tanh, std::tanh, -12, 12},
      {"asinh", asinh, std::asinh, -3e38f, 3e38f},
      {"asinh near 1", asinh, std::asinh, -4, 4},
      {"acosh", acosh, std::acosh, 1, 3e38f},
      {"acosh near 1", acosh, std::acosh, 1, 3},
      {"atanh", atanh, std::atanh, -1, 1},
      {"logistic", logistic, exact_logistic, -104, 80},
      {"softplus", softplus, exact_softplus, -104, 80},
      {"erf", erf, std::erf, -6, 6},
      {"erfc", erfc, std::erfc, -6, 10.1f},
  };
  for (const Case& c : cases) {
    const std::vector<float> x = samples(c.low, c.high);
    const std::vector<float> y = run(c.f, x);
    double worst = 0;
    float where = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double e = units(y[i], c.exact(x[i]));
      if (e > worst) worst = e, where = x[i];
    }
    RecordProperty(c.name, std::to_string(worst));
    EXPECT_LE(worst, 2) << c.name << " at " << where << ", exactly " << c.exact(where);
  }
}

/// Floats next to multiples of pi / 2, among them the nearest of all (16367173 2^72, from
/// continued fractions of pi).
const std::vector<float> hard_angles{3.14159274f,    1.57079637f,   -6.28318548f,   355.0f,
                                     252.898209f,    710.0f,        103993.0f,      8.77311579e33f,
                                     -4.3865579e33f, 7.7291773e22f, 2.05397882e35f, 255.999985f,
                                     256.0f,         3.40282347e38f};

TEST(Math, ReducesTheHardestAngles) {
  for (const auto& [f, exact] :
       {std::pair<Unary, double (*)(double)>{sin, std::sin}, {cos, std::cos}, {tan, std::tan}}) {
    const std::vector<float> y = run(f, hard_angles);
    for (std::size_t i = 0; i < y.size(); ++i)
      EXPECT_LE(units(y[i], exact(hard_angles[i])), 2) << hard_angles[i];
  }
}

TEST(Math, WideAnglesAreReducedComponentByComponent) {
  // Two of four components are large: those alone go through the long reduction.
  const std::vector<float> x{1.0f, 1e10f, -2.5f, 3e38f};
  Builder b("wide");
  const std::uint32_t in = b.buffer({DType::f32, Access::read, false, false, "x"});
  const std::uint32_t out = b.buffer({DType::f32, Access::write, false, false, "y"});
  b.kernel().lanes = 1;
  b.store(out, b.u32(0), sin(b, b.load(in, b.u32(0), 4)));
  const Kernel k = b.take();
  std::vector<float> a = x, y(4);
  std::span<std::byte> buffers[] = {std::as_writable_bytes(std::span(a)),
                                    std::as_writable_bytes(std::span(y))};
  const std::uint32_t parameters[6] = {0, 1, 0, 0, 0, 0};
  interpret(k, 0, parameters, buffers);
  EXPECT_EQ(y, run(sin, x));
}

TEST(Math, OddAndEvenFunctionsAreSoToTheLastBit) {
  const std::vector<float> x = samples(1e-44f, 3e38f);
  std::vector<float> mirrored = x;
  for (float& v : mirrored) v = -v;
  for (const Unary f : {Unary{sin}, Unary{tan}, Unary{asin}, Unary{atan}, Unary{sinh}, Unary{tanh},
                        Unary{asinh}, Unary{atanh}, Unary{erf}, Unary{erf_inv}, Unary{cbrt}}) {
    const std::vector<float> y = run(f, x), z = run(f, mirrored);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!std::isnan(y[i])) {
        ASSERT_EQ(y[i], -z[i]) << x[i];
      }
    }
  }
  for (const Unary f : {Unary{cos}, Unary{cosh}}) EXPECT_EQ(run(f, x), run(f, mirrored));
}

TEST(Math, SubnormalNumbersKeepTheirDigits) {
  const std::vector<float> x{1.4e-45f, -1.4e-45f, 1e-40f, -1e-40f, 1.1754942e-38f};
  for (const Unary f : {Unary{sin}, Unary{tan}, Unary{asin}, Unary{atan}, Unary{sinh}, Unary{tanh},
                        Unary{asinh}, Unary{atanh}, Unary{expm1}, Unary{log1p}})
    EXPECT_EQ(run(f, x), x);
  EXPECT_EQ(run(exp, {-103.0f, -90.0f, -104.0f}),
            (std::vector<float>{static_cast<float>(std::exp(-103.0)),
                                static_cast<float>(std::exp(-90.0)), 0.0f}));
}

TEST(Math, SpecialValuesAreThoseOfC) {
  const struct {
    const char* name;
    Unary f;
    double (*exact)(double);
  } cases[] = {
      {"exp", exp, std::exp},        {"exp2", exp2, std::exp2},
      {"expm1", expm1, std::expm1},  {"log", log, std::log},
      {"log2", log2, std::log2},     {"log10", log10, std::log10},
      {"log1p", log1p, std::log1p},  {"sqrt", sqrt, std::sqrt},
      {"rsqrt", rsqrt, exact_rsqrt}, {"cbrt", cbrt, std::cbrt},
      {"asin", asin, std::asin},     {"acos", acos, std::acos},
      {"atan", atan, std::atan},     {"sinh", sinh, std::sinh},
      {"cosh", cosh, std::cosh},     {"tanh", tanh, std::tanh},
      {"asinh", asinh, std::asinh},  {"acosh", acosh, std::acosh},
      {"atanh", atanh, std::atanh},  {"logistic", logistic, exact_logistic},
      {"erf", erf, std::erf},        {"erfc", erfc, std::erfc},
  };
  const std::vector<float> x{0.0f,  -0.0f,  inf,  -inf,  quiet,  1.0f,   -1.0f,
                             1e30f, -1e30f, 2.0f, -2.0f, 100.0f, -200.0f};
  for (const auto& c : cases) {
    const std::vector<float> y = run(c.f, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = c.exact(x[i]);
      EXPECT_LE(units(y[i], exact), 2)
          << c.name << "(" << x[i] << ") = " << y[i] << ", not " << exact;
      if (exact == 0 && !std::isnan(y[i])) {
        EXPECT_EQ(std::signbit(y[i]), std::signbit(exact)) << c.name << "(" << x[i] << ")";
      }
    }
  }
  for (const Unary f : {Unary{sin}, Unary{cos}, Unary{tan}}) {
    const std::vector<float> y = run(f, {0.0f, -0.0f, inf, -inf, quiet});
    EXPECT_EQ(std::signbit(y[1]), f != Unary{cos});
    for (std::size_t i = 2; i < 5; ++i) EXPECT_TRUE(std::isnan(y[i]));
  }
}

TEST(Math, PowFollowsC) {
  std::vector<float> x, y;
  const float special[] = {0.0f, -0.0f, 1.0f,  -1.0f, 2.0f,  -2.0f, 0.5f,  -0.5f,
                           inf,  -inf,  quiet, 3.0f,  -3.0f, 2.5f,  1e10f, 16777217.0f};
  for (const float a : special) {
    for (const float b : special) x.push_back(a), y.push_back(b);
  }
  const std::vector<float> z = run(pow, x, y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = std::pow(double{x[i]}, double{y[i]});
    EXPECT_LE(units(z[i], exact), 2) << x[i] << "^" << y[i] << " = " << z[i] << ", not " << exact;
    if (exact == 0) {
      EXPECT_EQ(std::signbit(z[i]), std::signbit(exact)) << x[i] << "^" << y[i];
    }
  }
}

TEST(Math, PowStaysWithinTwoUnitsWhereItsLogarithmIsMagnified) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> flat(-1, 1);
  std::vector<float> x, y;
  for (int i = 0; i < 20000; ++i) {
    const double size = i % 3 == 0 ? 1e-4 : i % 3 == 1 ? 1 : 100;
    x.push_back(static_cast<float>(std::exp2(flat(random) * size)));
    y.push_back(static_cast<float>(flat(random) * 150 / std::log2(double{x.back()})));
  }
  const std::vector<float> z = run(pow, x, y);
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_LE(units(z[i], std::pow(double{x[i]}, double{y[i]})), 2) << x[i] << "^" << y[i];
}

TEST(Math, PowWithARootAsExponentIsAccurateOverTheWholeRange) {
  std::vector<float> x = samples(1e-44f, 3e38f);
  for (const float a : {1.0f, 2.0f, 1e-37f, 1.2e-38f, 3.4e38f, 1e-3f}) x.push_back(a);
  for (int n = 3; n <= 10; ++n)
    for (const float exponent : {1.0f / static_cast<float>(n), -1.0f / static_cast<float>(n)}) {
      const auto power = [&](const std::vector<float>& at) {
        return run(
            DType::f32, [&](Builder& b, Value a, Value) { return pow(b, a, b.f32(exponent)); }, at,
            at);
      };
      const std::vector<float> y = power(x);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double exact = std::pow(double{x[i]}, double{exponent});
        ASSERT_LE(units(y[i], exact), 2) << x[i] << "^" << exponent;
      }
      const std::vector<float> edge = power({0.0f, -0.0f, inf, quiet, -1.0f, -inf});
      EXPECT_EQ(edge[0], exponent > 0 ? 0.0f : inf);
      EXPECT_EQ(edge[1], exponent > 0 ? 0.0f : inf);
      EXPECT_EQ(edge[2], exponent > 0 ? inf : 0.0f);
      EXPECT_TRUE(std::isnan(edge[3]) && std::isnan(edge[4]));
      EXPECT_EQ(edge[5], std::pow(-inf, exponent));
    }
}

TEST(Math, Atan2FollowsC) {
  std::vector<float> x, y;
  for (const float a : {0.0f, -0.0f, 1.0f, -1.0f, inf, -inf, quiet, 3.0f, -1e-20f}) {
    for (const float b : {0.0f, -0.0f, 1.0f, -1.0f, inf, -inf, quiet, 0.5f, -1e20f}) {
      y.push_back(a), x.push_back(b);
    }
  }
  const std::vector<float> random = samples(-10, 10);
  for (std::size_t i = 0; i + 1 < random.size(); i += 2)
    y.push_back(random[i]), x.push_back(random[i + 1]);
  const std::vector<float> z = run(atan2, y, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = std::atan2(double{y[i]}, double{x[i]});
    EXPECT_LE(units(z[i], exact), 2) << y[i] << ", " << x[i];
    if (exact == 0) {
      EXPECT_EQ(std::signbit(z[i]), std::signbit(exact)) << y[i] << ", " << x[i];
    }
  }
}

TEST(Math, ErfInvTakesErfBack) {
  const std::vector<float> x = samples(-0.99999994f, 0.99999994f);
  const std::vector<float> y = run(erf_inv, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    // One step of Newton's method to the exact inverse, on the side where erfc has the digits.
    const double a = std::fabs(x[i]), z = std::fabs(y[i]);
    const double error = a < 0.5 ? std::erf(z) - a : (1 - a) - std::erfc(z);
    const double exact = z - error * std::sqrt(M_PI) / 2 * std::exp(z * z);
    ASSERT_LE(units(std::fabs(y[i]), exact), 2) << x[i];
  }
  const std::vector<float> ends = run(erf_inv, {1.0f, -1.0f, 0.0f, -0.0f, 1.5f, quiet});
  EXPECT_EQ(ends[0], inf);
  EXPECT_EQ(ends[1], -inf);
  EXPECT_EQ(std::signbit(ends[2]), false);
  EXPECT_EQ(std::signbit(ends[3]), true);
  EXPECT_TRUE(std::isnan(ends[4]) && std::isnan(ends[5]));
}

TEST(Math, SumsOfExponentialsHaveNoOverflow) {
  const std::vector<float> x{1, -1, 100, -100, inf, -inf, inf, -inf, quiet, 1, -0.1f},
      y{1, 2, 99, 100, inf, -inf, -inf, 3, 1, quiet, -0.69f};
  const std::vector<float> z = run(logaddexp, x, y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double larger = std::fmax(x[i], y[i]);
    const double exact =
        std::isnan(x[i] + y[i] * 0.0f) && !std::isinf(y[i]) ? std::nan("")
        : std::isnan(y[i])                                  ? std::nan("")
        : std::isinf(larger)
            ? larger
            : larger + std::log1p(std::exp(-std::fabs(double{x[i]} - double{y[i]})));
    EXPECT_LE(units(z[i], exact), 2) << x[i] << ", " << y[i];
  }
}

TEST(Math, GilesErfInvIsThePolynomialOfTheRandomNormals) {
  const std::vector<float> x = samples(-0.99999994f, 0.99999994f);
  const std::vector<float> y = run(erf_inv_giles, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double slope = 2 / std::sqrt(M_PI) * std::exp(-double{y[i]} * y[i]);
    // The polynomial, and what the rounding of x * x costs near the ends.
    const double error = std::fabs(std::erf(double{y[i]}) - x[i]) / slope;
    ASSERT_LE(error, 3e-6 * std::fabs(y[i]) + 1e-7 / slope) << x[i];
  }
  const std::vector<float> ends = run(erf_inv, {1.0f, -1.0f, 0.0f, -0.0f, 1.5f, quiet});
  EXPECT_EQ(ends[0], inf);
  EXPECT_EQ(ends[1], -inf);
  EXPECT_EQ(std::signbit(ends[2]), false);
  EXPECT_EQ(std::signbit(ends[3]), true);
  EXPECT_TRUE(std::isnan(ends[4]) && std::isnan(ends[5]));
}

TEST(Math, ExtremaKeepNaN) {
  const std::vector<float> x{1, quiet, 1, inf, quiet, -2}, y{2, 1, quiet, -inf, quiet, -2};
  const std::vector<float> low = run(minimum_nan, x, y), high = run(maximum_nan, x, y);
  EXPECT_EQ(low[0], 1);
  EXPECT_EQ(high[0], 2);
  for (const std::size_t i : {1, 2, 4}) EXPECT_TRUE(std::isnan(low[i]) && std::isnan(high[i])) << i;
  EXPECT_EQ(low[3], -inf);
  EXPECT_EQ(high[3], inf);
  EXPECT_EQ(low[5], -2);
}

TEST(Math, SignKeepsZerosAndNaN) {
  const std::vector<float> y = run(sign, {3, -0.5f, 0.0f, -0.0f, quiet, -inf});
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1], -1);
  EXPECT_FALSE(std::signbit(y[2]));
  EXPECT_TRUE(std::signbit(y[3]));
  EXPECT_TRUE(std::isnan(y[4]));
  EXPECT_EQ(y[5], -1);
}

TEST(Math, FloorDivisionRoundsDown) {
  using Ints = std::vector<std::int32_t>;
  const Ints x{7, -7, 7, -7, 6, -6, 0, 5, -5}, y{2, 2, -2, -2, 3, 3, 4, 0, 0};
  EXPECT_EQ(run(DType::i32, floor_div, x, y), (Ints{3, -4, -4, 3, 2, -2, 0, -1, -1}));
  EXPECT_EQ(run(DType::i32, floor_mod, x, y), (Ints{1, 1, -1, -1, 0, 0, 0, 5, -5}));
  const std::vector<float> real = run(floor_mod, {5.5f, -5.5f, 5.5f, -5.5f, 4}, {2, 2, -2, -2, 2});
  EXPECT_EQ(real, (std::vector<float>{1.5f, 0.5f, -0.5f, -1.5f, 0}));
}

TEST(Math, SixteenBitFloatsTravelThroughF32) {
  using Halves = std::vector<std::uint16_t>;
  const Halves x{f16_bits(1.5)};
  const auto square = [](Builder& b, Value a, Value) { return exp(b, a); };
  EXPECT_EQ(run(DType::f16, square, x, x), Halves{f16_bits(std::exp(1.5))});
  const Halves y{bf16_bits(1.5)};
  EXPECT_EQ(run(DType::bf16, square, y, y), Halves{bf16_bits(std::exp(1.5))});
}

TEST(Math, WorksOnWideValues) {
  Builder b("wide");
  const std::uint32_t in = b.buffer({DType::f32, Access::read, false, false, "x"});
  const Value x = b.load(in, b.source(Op::lane), 4);
  EXPECT_EQ(b.type(pow(b, tan(b, x), erf_inv(b, x))), (kernel::Type{DType::f32, 4}));
}

TEST(Math, KeepsDoublesDoubles) {
  Builder b("wide");
  const std::uint32_t in = b.buffer({DType::f64, Access::read, false, false, "x"});
  const Value x = b.load(in, b.source(Op::lane), 4);
  EXPECT_EQ(b.type(pow(b, tan(b, x), erf_inv(b, x))), (kernel::Type{DType::f64, 4}));
  EXPECT_EQ(b.type(minimum_nan(b, x, rsqrt(b, sqrt(b, x)))), (kernel::Type{DType::f64, 4}));
}

}  // namespace
}  // namespace gnomon::math
