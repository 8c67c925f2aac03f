// tests/codegen/division_test.cpp -- the host reference of whole quotients and remainders against
// the C library and MPFR; their derivatives, and rounding.
#include "gnomon/numeric.h"
#include "tests/codegen/graph_host.h"
#include "tests/support/float_pairs.h"
#include "tests/support/lowering.h"

namespace gnomon {
namespace {

using test::f32;
using test::host;
using test::inf;
using test::nan;
using test::Numbers;
using test::run;

template <class T>
HostArray array_of(const std::vector<T>& x) {
  HostArray h(Aval{sizeof(T) == 8 ? DType::f64 : DType::f32, Shape{static_cast<Dim>(x.size())}});
  std::copy(x.begin(), x.end(), h.as<T>().begin());
  return h;
}

template <class T>
void expect_exact(Array (*f)(Operand, Operand), T (*exact)(T, T)) {
  const auto [x, y] = testing::float_pairs<T>(100000, 9);
  const HostArray z = test::run_arrays(f, array_of(x), array_of(y))[0];
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_TRUE(testing::same_bits(z.as<T>()[i], exact(x[i], y[i])))
        << std::hexfloat << x[i] << ", " << y[i] << " gives " << z.as<T>()[i] << ", not "
        << exact(x[i], y[i]);
}

TEST(DivisionOnTheHost, IsExactForAllPairs) {
  expect_exact<float>(fmod, testing::exact_fmod);
  expect_exact<double>(fmod, testing::exact_fmod);
  expect_exact<float>(remainder, testing::exact_remainder);
  expect_exact<double>(remainder, testing::exact_remainder);
  expect_exact<float>(floor_divide, testing::exact_floor_divide);
  expect_exact<double>(floor_divide, testing::exact_floor_divide);
  expect_exact<float>(trunc_divide, testing::exact_trunc_divide);
  expect_exact<double>(trunc_divide, testing::exact_trunc_divide);
}

TEST(Divmod, HasNumPysSignsAndSpecialValues) {
  // numpy.divmod of all pairs of these.
  const Numbers values{-inf, -2, -0.0, 0, 3, inf};
  Numbers a, b;
  for (double x : values)
    for (double y : values) {
      a.push_back(x);
      b.push_back(y);
    }
  const Numbers quotients{nan, nan, inf,  -inf, nan,  nan,                               // -inf
                          0,   1,   inf,  -inf, -1,   -1,                                // -2
                          0,   0,   nan,  nan,  -0.0, -0.0, -0.0, -0.0, nan, nan, 0, 0,  // 0
                          -1,  -2,  -inf, inf,  1,    0,                                 // 3
                          nan, nan, -inf, inf,  nan,  nan};
  const Numbers remainders{nan,  nan,  nan, nan, nan, nan,  //
                           -2,   -0.0, nan, nan, 1,   inf,  //
                           -0.0, -0.0, nan, nan, 0,   0,    //
                           -0.0, -0.0, nan, nan, 0,   0,    //
                           -inf, -1,   nan, nan, 0,   3,    //
                           nan,  nan,  nan, nan, nan, nan};
  for (DType t : {DType::f16, DType::f32, DType::f64}) {
    const Shape shape(a.size());
    const auto got = test::run_all([](const Array& x, const Array& y) { return divmod(x, y); },
                                   host(t, shape, a), host(t, shape, b));
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_TRUE(testing::same_bits(got[0][i], quotients[i]))
          << a[i] << " // " << b[i] << " is " << got[0][i];
      EXPECT_TRUE(testing::same_bits(got[1][i], remainders[i]))
          << a[i] << " % " << b[i] << " is " << got[1][i];
    }
  }
}

TEST(TruncDivide, RoundsIntegersTowardsZero) {
  const HostArray a = test::i32({7, -7, 7, -7, 5, 0, -2147483648.0}),
                  b = test::i32({2, 2, -2, -2, 0, 0, -1});
  EXPECT_EQ(run([](const Array& x, const Array& y) { return trunc_divide(x, y); }, a, b),
            (Numbers{3, -3, -3, 3, -1, -1, -2147483648.0}));
  const auto whole = [](const Array& x, const Array& y) {
    return all(trunc_divide(x, y) * y + fmod(x, y) == x);
  };
  EXPECT_EQ(run(whole, a, b), Numbers{1});
  EXPECT_EQ(run([](const Array& x) { return trunc_divide(x, 2); }, f32({7, -7, 1, -1})),
            (Numbers{3, -3, 0, -0.0}));
}

TEST(Division, DerivativesAreThoseOfThePieces) {
  const HostArray a = f32({7, -7, 7, -7, 1, -1, 1e30}), b = f32({2, 2, -2, -2, 0.1, inf, 3});
  const auto gradients = [](Array (*f)(Operand, Operand)) {
    return [f](const Array& x, const Array& y) {
      return grad([f](const std::pair<Array, Array>& p) { return sum(f(p.first, p.second)); })(
          std::pair{x, y});
    };
  };
  const auto of_fmod = test::run_all(gradients(fmod), a, b);
  EXPECT_EQ(of_fmod[0], Numbers(7, 1.0));
  // 0.1 as a float is a little more, and goes into 1 nine times.
  EXPECT_EQ(of_fmod[1], (Numbers{-3, 3, 3, -3, -9, 0, -static_cast<double>(1e30f / 3)}));
  const auto of_remainder = test::run_all(gradients(remainder), a, b);
  EXPECT_EQ(of_remainder[0], Numbers(7, 1.0));
  EXPECT_EQ(of_remainder[1], (Numbers{-3, 4, 4, -3, -9, 1, -static_cast<double>(1e30f / 3)}));
  for (Array (*f)(Operand, Operand) : {floor_divide, trunc_divide})
    for (const Numbers& zero : test::run_all(gradients(f), a, b)) EXPECT_EQ(zero, Numbers(7, 0.0));
}

TEST(Round, TakesHalvesAwayFromZeroWhenAsked) {
  const Numbers x{0.5,  -0.5, 1.5, 2.5,  -2.5, 0.49999997, 8388609, 4503599627370497,
                  -0.2, -0.0, inf, -inf, nan};
  const auto away = [](const Array& a) { return round(a, RoundingMethod::away_from_zero); };
  for (DType t : {DType::f32, DType::f64, DType::f16}) {
    const HostArray in = host(t, Shape(x.size()), x);
    const Numbers got = run(away, in);
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_TRUE(testing::same_bits(got[i], std::round(in.number(static_cast<Dim>(i)))))
          << in.number(static_cast<Dim>(i)) << " gives " << got[i];
  }
  testing::expect_lowering(test::graph_of(away, f32(x)), {f32(x)});
  EXPECT_EQ(run([](const Array& a) { return round(a, -1, RoundingMethod::away_from_zero); },
                f32({25, 35, -45})),
            (Numbers{30, 40, -50}));
  EXPECT_EQ(run([](const Array& a) { return round(a); }, f32({0.5, 1.5, -2.5})),
            (Numbers{0, 2, -2}));
}

}  // namespace
}  // namespace gnomon
