// tests/shaders/division_test.cpp -- whole quotients and remainders of floats and lengths of
// vectors, through the interpreter, against the C library and MPFR.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "shaders/interpret/interpret.h"
#include "shaders/math/elementary.h"
#include "tests/shaders/math_testing.h"
#include "tests/support/float_pairs.h"

namespace gnomon::math {
namespace {

using kernel::Access;
using testing::float_pairs;
using Binary = Value (*)(Builder&, Value, Value);

/// f(x[i], y[i]), `width` of them at a time.
template <class T>
std::vector<T> run(Binary f, std::vector<T> x, std::vector<T> y, std::uint8_t width) {
  constexpr DType t = sizeof(T) == 8 ? DType::f64 : DType::f32;
  Builder b("division");
  b.buffer({t, Access::read, false, false, "x"});
  b.buffer({t, Access::read, false, false, "y"});
  b.buffer({t, Access::write, false, false, "z"});
  b.kernel().lanes = static_cast<std::uint32_t>(x.size() / width);
  const Value at = b.mul(b.source(kernel::Op::lane), b.u32(width));
  b.store(2, at, f(b, b.load(0, at, width), b.load(1, at, width)));
  const kernel::Kernel k = b.take();
  std::vector<T> z(x.size());
  const auto bytes = [](std::vector<T>& v) { return std::as_writable_bytes(std::span(v)); };
  std::span<std::byte> buffers[] = {bytes(x), bytes(y), bytes(z)};
  const std::uint32_t parameters[7] = {0, 1, 0, 0, 0, 0, 0};
  interpret(k, 0, parameters, buffers);
  return z;
}

template <class T>
void expect_exact(Binary f, T (*exact)(T, T), std::uint8_t width) {
  const auto [x, y] = float_pairs<T>(40000, 5);
  const std::vector<T> z = run(f, x, y, width);
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_TRUE(testing::same_bits(z[i], exact(x[i], y[i])))
        << std::hexfloat << x[i] << ", " << y[i] << " gives " << z[i] << ", not "
        << exact(x[i], y[i]);
}

TEST(Division, IsExactForAllPairs) {
  for (const std::uint8_t width : {1, 4}) {
    expect_exact<float>(fmod, testing::exact_fmod, width);
    expect_exact<double>(fmod, testing::exact_fmod, width);
    expect_exact<float>(floor_mod, testing::exact_remainder, width);
    expect_exact<double>(floor_mod, testing::exact_remainder, width);
    expect_exact<float>(floor_div, testing::exact_floor_divide, width);
    expect_exact<double>(floor_div, testing::exact_floor_divide, width);
    expect_exact<float>(trunc_div, testing::exact_trunc_divide, width);
    expect_exact<double>(trunc_div, testing::exact_trunc_divide, width);
  }
}

TEST(Division, MakesFewTrips) {
  Builder b("trips");
  b.kernel().lanes = 1;
  b.buffer({DType::f32, Access::read_write, false, false, "x"});
  b.buffer({DType::f64, Access::read_write, false, false, "y"});
  const Value x = b.load(0, b.u32(0)), y = b.load(1, b.u32(0));
  b.store(0, b.u32(0), fmod(b, x, b.load(0, b.u32(1))));
  b.store(1, b.u32(0), fmod(b, y, b.load(1, b.u32(1))));
  // 3 and 11, and the last ones that end them.
  EXPECT_EQ(worst_case_trips(b.take()), 3u + 1 + 11 + 1);
}

TEST(Hypot, NeitherOverflowsNorUnderflows) {
  constexpr float inf = std::numeric_limits<float>::infinity(),
                  nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x{3e20f, 3e-30f, 0x1p-149f, -3, 0, inf, nan, -inf, 1, 3e38f},
      y{4e20f, -4e-30f, 0x1p-148f, 4, 0, nan, -inf, 2, nan, 3e38f};
  const std::vector<float> z = run<float>(hypot, x, y, 1);
  EXPECT_EQ(z[0], 5e20f);
  EXPECT_EQ(z[1], 5e-30f);
  EXPECT_EQ(z[2], 0x1p-148f);
  EXPECT_EQ(z[3], 5);
  EXPECT_EQ(z[4], 0);
  for (std::size_t i : {5u, 6u, 7u, 9u}) EXPECT_EQ(z[i], inf) << i;
  EXPECT_TRUE(std::isnan(z[8]));
}

TEST(Hypot, IsWithinTwoUnitsAtEveryMagnitude) {
  std::mt19937_64 random(3);
  const auto mantissa = [&] { return 1 + static_cast<double>(random() >> 11) * 0x1p-53; };
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<double> x, y;
  for (int i = 0; i < 20000; ++i) {
    x.push_back(std::ldexp(mantissa(), below(2090) - 1070));
    y.push_back(std::ldexp(x.back() * mantissa(), below(60) - 30));
  }
  const std::vector<double> z = run<double>(hypot, x, y, 1);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (std::isfinite(z[i])) worst = std::max(worst, units(z[i], mpfr_hypot, x[i], y[i]));
  EXPECT_LE(worst, 1.25);

  std::vector<float> u, v;
  for (int i = 0; i < 20000; ++i) {
    u.push_back(static_cast<float>(std::ldexp(mantissa(), below(270) - 145)));
    v.push_back(static_cast<float>(std::ldexp(u.back() * mantissa(), below(30) - 15)));
  }
  const std::vector<float> w = run<float>(hypot, u, v, 1);
  worst = 0;
  for (std::size_t i = 0; i < u.size(); ++i) {
    const double exact = std::hypot(double{u[i]}, double{v[i]});
    int exponent = 0;
    std::frexp(exact, &exponent);
    if (std::isfinite(w[i]))
      worst =
          std::max(worst, std::fabs(w[i] - exact) / std::ldexp(1.0, std::max(exponent - 24, -149)));
  }
  EXPECT_LE(worst, 1.25);
}

}  // namespace
}  // namespace gnomon::math
