// tests/engine/division_test.cpp -- whole quotients and remainders on the device, bit for bit those
// of the C library and MPFR; lengths of vectors; numbers that keep their digits on the way there.
#include <functional>

#include "gnomon/complex.h"
#include "gnomon/gnomon.h"
#include "tests/engine/fixture.h"
#include "tests/support/float_pairs.h"
#include "tests/support/subnormals.h"

namespace gnomon::testing {
namespace {

template <class T>
struct Function {
  const char* name;
  Array (*f)(Operand, Operand);
  T (*exact)(T, T);
};

template <class T>
bool is_subnormal(T x) {
  return std::fpclassify(x) == FP_SUBNORMAL;
}
template <class T>
T flushed(T x) {
  return is_subnormal(x) ? std::copysign(T(0), x) : x;
}

class DivisionOnDevice : public DeviceTest {
 protected:
  explicit DivisionOnDevice(const RuntimeOptions& options = validated()) : DeviceTest(options) {}

  /// `count` pairs, which are those of the seed.
  template <class T>
  void expect_exact(std::size_t count, std::uint64_t seed) {
    if (sizeof(T) == 8 && !rt.target().features.float64) return;
    const Function<T> functions[] = {{"fmod", fmod, exact_fmod<T>},
                                     {"remainder", remainder, exact_remainder<T>},
                                     {"floor_divide", floor_divide, exact_floor_divide<T>},
                                     {"trunc_divide", trunc_divide, exact_trunc_divide<T>}};
    const bool keeps = keeps_subnormals<T>(rt);
    const auto [x, y] = float_pairs<T>(count, seed);
    const Array a = rt.from_host(x), b = rt.from_host(y);
    for (const Function<T>& each : functions) {
      const auto f = jit(rt, [&](const Array& u, const Array& v) { return each.f(u, v); });
      const std::vector<T> z = rt.to_host<T>(f(a, b));
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < count && wrong < 5; ++i) {
        const T exact = each.exact(x[i], y[i]);
        if (same_bits(z[i], exact)) continue;
        // A device that flushes may do so on the way in and on the way out.
        if (!keeps && (same_bits(z[i], flushed(exact)) ||
                       same_bits(flushed(z[i]), flushed(each.exact(flushed(x[i]), flushed(y[i]))))))
          continue;
        ++wrong;
        ADD_FAILURE() << std::hexfloat << each.name << "(" << x[i] << ", " << y[i] << ") is "
                      << z[i] << ", not " << exact;
      }
    }
  }
};

TEST_F(DivisionOnDevice, IsExactForAMillionPairs) {
  expect_exact<float>(1000003, 11);
  expect_exact<double>(1000003, 12);
}

TEST_F(DivisionOnDevice, IsExactInLoopsOfLanes) {
  // Exponents that differ from lane to lane, within a loop on the device that does it many times.
  const auto [x, y] = float_pairs<float>(5000, 13);
  const auto repeated = jit(rt, [](const Array& a, const Array& b) {
    return vmap([](const Array& u, const Array& v) {
      return fori_loop(
          0, 40, [&](const Array&, const Array& s) { return fmod(s * 1.5 + u, v); }, u);
    })(a, b);
  });
  const std::vector<float> z = rt.to_host<float>(repeated(rt.from_host(x), rt.from_host(y)));
  const bool keeps = keeps_subnormals<float>(rt);
  std::size_t compared = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    float s = x[i];
    bool small = is_subnormal(y[i]);
    for (int step = 0; step < 40; ++step) {
      small |= is_subnormal(s) || is_subnormal(s * 1.5f);
      s = std::fmod(s * 1.5f + x[i], y[i]);
    }
    if (!keeps && (small || is_subnormal(s))) continue;
    ++compared;
    ASSERT_TRUE(same_bits(z[i], s))
        << std::hexfloat << x[i] << ", " << y[i] << ": " << z[i] << ", not " << s;
  }
  EXPECT_GT(compared, x.size() / 2);
}

TEST_F(DivisionOnDevice, RoundingLeavesIntegersAtEveryMagnitude) {
  // Of doubles beyond 2^31 the fraction stayed where it was.
  const auto expect = [&]<class T>(T) {
    std::vector<T> x = float_pairs<T>(20000, 14).first;
    for (int e = -3; e < std::numeric_limits<T>::digits + 2; ++e)
      for (const T by : {T(0.25), T(0.5), T(0.75), T(1), T(1.5)})
        for (const T sign : {T(1), T(-1)}) x.push_back(sign * (std::ldexp(T(1), e) + by));
    const Array a = rt.from_host(x);
    const auto check = [&](const char* name, auto f, T (*exact)(T)) {
      const std::vector<T> y = rt.to_host<T>(jit(rt, f)(a));
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_TRUE(same_bits(y[i], exact(x[i])) || (is_subnormal(x[i]) && y[i] == 0))
            << std::hexfloat << name << "(" << x[i] << ") is " << y[i];
    };
    check(
        "round", [](const Array& v) { return round(v); }, [](T v) { return std::nearbyint(v); });
    check(
        "round away", [](const Array& v) { return round(v, RoundingMethod::away_from_zero); },
        [](T v) { return std::round(v); });
    check(
        "trunc", [](const Array& v) { return trunc(v); }, [](T v) { return std::trunc(v); });
    check(
        "floor", [](const Array& v) { return floor(v); }, [](T v) { return std::floor(v); });
    check(
        "ceil", [](const Array& v) { return ceil(v); }, [](T v) { return std::ceil(v); });
  };
  expect(float{});
  if (rt.target().features.float64) expect(double{});
}

/// Seconds to minutes on a CPU: ctest runs it under the label `slow`.
class SlowDivision : public DivisionOnDevice {
 protected:
  SlowDivision() : DivisionOnDevice(RuntimeOptions{}) {}
};

TEST_F(SlowDivision, IsExactForTenMillionPairs) {
  for (std::uint64_t seed = 100; seed < 110; ++seed) {
    expect_exact<float>(1000003, seed);
    expect_exact<double>(1000003, seed);
  }
}

using LengthsOnDevice = DeviceTest;

template <class T>
void expect_lengths(Runtime& rt, T large, T small) {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> x{3 * large, 3 * small, 0, inf, nan, nan, -5, 0},
      y{4 * large, -4 * small, 0, nan, -inf, 1, 12, -7};
  const auto all = jit(rt, [](const Array& a, const Array& b) {
    const auto length = [](const std::pair<Array, Array>& p) {
      return sum(hypot(p.first, p.second));
    };
    const auto slopes = grad(length)(std::pair{a, b});
    return std::vector<Array>{abs(complex(a, b)), slopes.first, slopes.second};
  });
  const std::vector<Array> y_all = all(rt.from_host(x), rt.from_host(y));
  const auto numbers = [&](std::size_t i) { return rt.to_host<T>(y_all[i]); };
  const std::vector<T> length = numbers(0), dx = numbers(1), dy = numbers(2);
  const T unit = 4 * std::numeric_limits<T>::epsilon();
  EXPECT_NEAR(length[0] / large, 5, 5 * unit);
  EXPECT_NEAR(length[1] / small, 5, 5 * unit);
  EXPECT_EQ(length[2], 0);
  EXPECT_EQ(length[3], inf);
  EXPECT_EQ(length[4], inf);
  EXPECT_TRUE(std::isnan(length[5]));
  EXPECT_EQ(length[6], 13);
  EXPECT_EQ(length[7], 7);
  // The cosine and the sine of the direction.
  for (const std::size_t i : {0u, 1u}) {
    EXPECT_NEAR(dx[i], T(0.6), unit);
    EXPECT_NEAR(std::fabs(dy[i]), T(0.8), unit);
  }
  EXPECT_EQ(dx[2], 0);
  EXPECT_EQ(dy[2], 0);
  EXPECT_EQ(dx[3], 1);
  EXPECT_EQ(dy[3], 0);
  EXPECT_EQ(dx[4], 0);
  EXPECT_EQ(dy[4], -1);
  EXPECT_NEAR(dx[6], T(-5) / 13, unit);
  EXPECT_EQ(dy[7], -1);
}

TEST_F(LengthsOnDevice, AndDirectionsNeitherOverflowNorUnderflow) {
  expect_lengths<float>(rt, 1e20f, 1e-30f);
  if (rt.target().features.float64) expect_lengths<double>(rt, 1e200, 1e-250);
}

using ZerosOnDevice = DeviceTest;

/// Functions of x and the number 0, which is a constant of their kernels.
struct OfZero {
  const char* name;
  Array (*f)(const Array& x);
  double (*exact)(double x);
};

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
const OfZero of_zero[] = {
    {"x / 0", [](const Array& x) { return x / 0.0; }, [](double x) { return x / 0.0; }},
    {"0 / x", [](const Array& x) { return 0.0 / x; }, [](double x) { return 0.0 / x; }},
    {"x * 0", [](const Array& x) { return x * 0.0; }, [](double x) { return x * 0.0; }},
    {"0 - x", [](const Array& x) { return 0.0 - x; }, [](double x) { return 0.0 - x; }},
    {"1 / (x + 0)", [](const Array& x) { return 1.0 / (x + 0.0); },
     [](double x) { return 1.0 / (x + 0.0); }},
    {"x / zeros", [](const Array& x) { return x / zeros_like(x); },
     [](double x) { return x / 0.0; }},
    {"x % 0", [](const Array& x) { return x % 0.0; }, [](double) { return no_number; }},
    {"fmod(x, 0)", [](const Array& x) { return fmod(x, 0.0); }, [](double) { return no_number; }},
    {"trunc_divide(x, 0)", [](const Array& x) { return trunc_divide(x, 0.0); },
     [](double x) { return x / 0.0; }},
    {"floor_divide(x, 0)", [](const Array& x) { return floor_divide(x, 0.0); },
     [](double x) { return x / 0.0; }},
    {"where(x > 0, x / 0, 7)", [](const Array& x) { return where(x > 0, x / 0.0, 7.0); },
     [](double x) { return x > 0 ? x / 0.0 : 7.0; }},
    {"zeros(n, 1) * x",
     [](const Array& x) { return matmul(zeros_like(expand_dims(x, 1)), expand_dims(x, 0))[0]; },
     [](double x) { return 0.0 * x; }},
};

/// Bit for bit, but for the bits of NaNs. `signs`: of zeros as well.
template <class T>
void expect_equal(const char* name, const std::vector<T>& x, const std::vector<T>& got,
                  double (*exact)(double), bool signs) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const T want = static_cast<T>(exact(static_cast<double>(x[i])));
    EXPECT_TRUE(std::isnan(want) ? std::isnan(got[i])
                : signs          ? same_bits(got[i], want)
                                 : got[i] == want)
        << name << " of " << x[i] << " is " << got[i] << ", not " << want;
  }
}

template <class T>
void expect_functions_of_zero(Runtime& rt) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  const std::vector<T> x{3, -1, 0, -0.0, inf, -inf, std::numeric_limits<T>::quiet_NaN(), 5};
  const Array a = rt.from_host(x);
  for (const OfZero& each : of_zero) {
    expect_equal(each.name, x, rt.to_host<T>(jit(rt, each.f)(a)), each.exact,
                 std::string(each.name) != "zeros(n, 1) * x");
    // A value that nobody else has a use for, in a loop's body.
    const auto in_loop = jit(rt, [&](const Array& v) {
      return fori_loop(
          0, 3, [&](const Array&, const Array&) { return each.f(v); }, v);
    });
    expect_equal(each.name, x, rt.to_host<T>(in_loop(a)), each.exact,
                 std::string(each.name) != "zeros(n, 1) * x");
  }
}

TEST_F(ZerosOnDevice, AreDividedByAsIeeeHasIt) {
  expect_functions_of_zero<float>(rt);
  if (rt.target().features.float64) expect_functions_of_zero<double>(rt);
}

TEST_F(ZerosOnDevice, OfHalves) {
  const auto f = jit(rt, [](const Array& x) {
    const Array h = cast(x, DType::f16);
    return std::pair{cast(h / 0.0, DType::f32), cast(h * 0.0, DType::f32)};
  });
  const std::vector<float> x{3, -1, 0};
  const auto [quotient, product] = f(rt.from_host(x));
  expect_equal<float>(
      "x / 0", x, rt.to_host<float>(quotient), [](double v) { return v / 0.0; }, true);
  expect_equal<float>(
      "x * 0", x, rt.to_host<float>(product), [](double v) { return v * 0.0; }, true);
}

TEST_F(ZerosOnDevice, OfDegreesOfFreedom) {
  const auto f = jit(rt, [](const Array& x) {
    return std::pair{var(x, {}, {.ddof = 1}), var(x * 2.0, {}, {.ddof = 1})};
  });
  EXPECT_TRUE(std::isnan(rt.item<float>(f(rt.from_host({3.0f})).first)));
  const auto g = jit(rt, [](const Array& x) { return var(x, {}, {.ddof = 3}); });
  EXPECT_EQ(rt.item<float>(g(rt.from_host({3.0f, -1.0f, 0.0f}))),
            std::numeric_limits<float>::infinity());
}

using NumbersOnDevice = DeviceTest;

TEST_F(NumbersOnDevice, KeepTheirDigits) {
  constexpr std::int64_t large = (std::int64_t{1} << 53) + 1;
  const auto integers = jit(rt, [](const Array& x) {
    return std::vector<Array>{full({1}, 3000000000u, DType::u32), full({1}, large, DType::i64),
                              maximum(x, 1LL << 40), cast(18446744073709551615u, DType::u64)};
  });
  const std::vector<Array> y = integers(rt.from_host(std::vector<std::int64_t>{1}));
  EXPECT_EQ(rt.to_host<std::uint32_t>(y[0])[0], 3000000000u);
  EXPECT_EQ(rt.to_host<std::int64_t>(y[1])[0], large);
  EXPECT_EQ(rt.to_host<std::int64_t>(y[2])[0], 1LL << 40);
  EXPECT_EQ(rt.to_host<std::uint64_t>(y[3])[0], 18446744073709551615u);
  if (!rt.target().features.float64) return;
  const auto doubles = jit(rt, [](const Array& x) {
    return std::vector<Array>{full({1}, 0.1, DType::f64), full({1}, 1e300, DType::f64),
                              full_like(x, 0.1), x * 0.1, where(x > 0, 0.1, x)};
  });
  const std::vector<Array> z = doubles(rt.from_host(std::vector<double>{1}));
  for (const std::size_t i : {0u, 2u, 3u, 4u}) EXPECT_EQ(rt.to_host<double>(z[i])[0], 0.1) << i;
  EXPECT_EQ(rt.to_host<double>(z[1])[0], 1e300);
}

}  // namespace
}  // namespace gnomon::testing
