// tests/codegen/fft_test.cpp -- Fourier transforms against sums of doubles, and complex arithmetic.
#include "gnomon/fft.h"

#include <complex>
#include <numbers>
#include <random>

#include "tests/codegen/graph_host.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;
using Signal = std::vector<std::complex<double>>;

Signal noise(Dim n, std::uint32_t seed) {
  std::mt19937 g(seed);
  const auto unit = [&] { return static_cast<double>(g() >> 8) / 0x1p23 - 1; };
  Signal x;
  for (Dim i = 0; i < n; ++i) {
    const double re = unit();
    x.emplace_back(static_cast<float>(re), static_cast<float>(unit()));
  }
  return x;
}

/// The definition, with angles reduced exactly.
Signal dft(const Signal& x, bool inverse = false) {
  const auto n = static_cast<Dim>(x.size());
  Signal roots, y;
  for (Dim k = 0; k < n; ++k)
    roots.push_back(std::polar(1.0, (inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(k) /
                                        static_cast<double>(n)));
  for (Dim k = 0; k < n; ++k) {
    std::complex<double> sum = 0;
    for (Dim j = 0; j < n; ++j)
      sum += x[static_cast<std::size_t>(j)] * roots[static_cast<std::size_t>(j * k % n)];
    y.push_back(sum / (inverse ? static_cast<double>(n) : 1.0));
  }
  return y;
}

HostArray part(const Signal& x, bool imaginary, DType t) {
  Numbers v;
  for (const auto& z : x) v.push_back(imaginary ? z.imag() : z.real());
  return host(t, Shape(v.size()), v);
}
Signal joined(const std::vector<HostArray>& parts) {
  Signal r;
  for (Dim i = 0; i < parts[0].size(); ++i)
    r.emplace_back(parts[0].number(i), parts.size() > 1 ? parts[1].number(i) : 0);
  return r;
}
double largest(const Signal& x) {
  double r = 0;
  for (const auto& z : x) r = std::max(r, std::abs(z));
  return r;
}
void expect_close(const Signal& got, const Signal& want, DType t, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  const double n = static_cast<double>(want.size());
  const double tolerance =
      (t == DType::f64 ? 2e-15 : 1e-6) * std::max(1.0, std::log2(n)) * largest(want);
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_LE(std::abs(got[i] - want[i]), tolerance) << what << " element " << i;
}

template <class F>
Signal transformed(F f, const Signal& x, DType t) {
  return joined(run_arrays(
      [&](const Array& re, const Array& im) {
        return f(Complex{re, im});
      },
      part(x, false, t), part(x, true, t)));
}
template <class F>
Signal of_real(F f, const Signal& x, DType t) {
  return joined(run_arrays(f, part(x, false, t)));
}

const std::vector<Dim> lengths{1,  2,  3,  4,  5,  6,   7,   8,   9,   11,  12,  13,  15,   16,  17,
                               22, 31, 60, 64, 97, 128, 143, 210, 256, 289, 500, 729, 1024, 1331};

TEST(Fft, EveryLengthAgreesWithTheDefinition) {
  for (Dim n : lengths)
    for (DType t : {DType::f32, DType::f64}) {
      const Signal x = noise(n, 1);
      const std::string what = "length " + std::to_string(n);
      expect_close(transformed([](const Complex& z) { return fft::fft(z); }, x, t), dft(x), t,
                   what);
      expect_close(transformed([](const Complex& z) { return fft::ifft(z); }, x, t), dft(x, true),
                   t, what + " inverse");
    }
}

TEST(Fft, RealTransformsAreTheHalfOfTheComplexOne) {
  for (Dim n : lengths)
    for (DType t : {DType::f32, DType::f64}) {
      Signal x = noise(n, 2);
      for (auto& z : x) z = z.real();
      Signal want = dft(x);
      const Signal whole = want;
      want.resize(static_cast<std::size_t>(n / 2 + 1));
      const std::string what = "length " + std::to_string(n);
      const Signal half = of_real([](const Array& a) { return fft::rfft(a); }, x, t);
      expect_close(half, want, t, what);
      const Signal back =
          transformed([&](const Complex& z) { return fft::irfft(z, {.n = n}); }, want, t);
      expect_close(back, x, t, what + " inverse");
    }
}

TEST(Fft, ImaginaryEndsOfARealSpectrumDoNotCount) {
  for (Dim n : {8, 9}) {
    Signal x = noise(n / 2 + 1, 3), y = x;
    y[0] = y[0].real();
    if (n % 2 == 0) y.back() = y.back().real();
    const auto inverse = [&](const Complex& z) { return fft::irfft(z, {.n = n}); };
    expect_close(transformed(inverse, x, DType::f64), transformed(inverse, y, DType::f64),
                 DType::f64, "");
  }
}

TEST(Fft, NormsDivideWhereTheySay) {
  const Signal x = noise(12, 4);
  const auto with = [](fft::Norm norm, bool inverse) {
    return [=](const Complex& z) {
      return inverse ? fft::ifft(z, {.norm = norm}) : fft::fft(z, {.norm = norm});
    };
  };
  for (const auto& [norm, forward, inverse] :
       {std::tuple{fft::Norm::backward, 1.0, 1.0}, std::tuple{fft::Norm::forward, 1.0 / 12, 12.0},
        std::tuple{fft::Norm::ortho, 1 / std::sqrt(12), std::sqrt(12)}}) {
    Signal want = dft(x), back = dft(x, true);
    for (auto& z : want) z *= forward;
    for (auto& z : back) z *= inverse;
    expect_close(transformed(with(norm, false), x, DType::f64), want, DType::f64, "forward");
    expect_close(transformed(with(norm, true), x, DType::f64), back, DType::f64, "inverse");
  }
  const auto ortho = [](const Complex& z) {
    const Complex spectrum{z.re, z.im};
    return fft::irfft(spectrum, {.norm = fft::Norm::ortho});
  };
  Signal real = noise(8, 5);
  for (auto& z : real) z = z.real();
  const Signal there = of_real(
      [](const Array& a) { return fft::rfft(a, {.norm = fft::Norm::ortho}); }, real, DType::f64);
  expect_close(transformed(ortho, there, DType::f64), real, DType::f64, "there and back");
}

TEST(Fft, LengthsCutOffOrFillUp) {
  for (Dim n : {3, 8}) {
    const Signal x = noise(5, 6);
    Signal y = x;
    y.resize(static_cast<std::size_t>(n));
    expect_close(
        transformed([&](const Complex& z) { return fft::fft(z, {.n = n}); }, x, DType::f64), dft(y),
        DType::f64, "");
  }
}

TEST(Fft, AxesAndBatches) {
  // Rows, then columns of a 3 x 4 array.
  const Signal x = noise(12, 7);
  Signal want = x;
  const auto line = [&](Dim first, Dim step, Dim count) {
    Signal one;
    for (Dim i = 0; i < count; ++i) one.push_back(want[static_cast<std::size_t>(first + i * step)]);
    one = dft(one);
    for (Dim i = 0; i < count; ++i)
      want[static_cast<std::size_t>(first + i * step)] = one[static_cast<std::size_t>(i)];
  };
  for (Dim i = 0; i < 3; ++i) line(4 * i, 1, 4);
  const auto on_matrix = [](auto f) {
    return [=](const Complex& z) {
      const Complex y = f(Complex{reshape(z.re, {3, 4}), reshape(z.im, {3, 4})});
      return Complex{ravel(y.re), ravel(y.im)};
    };
  };
  const auto run_matrix = [&](auto f) { return transformed(on_matrix(f), x, DType::f64); };
  expect_close(run_matrix([](const Complex& z) { return fft::fft(z); }), want, DType::f64, "rows");
  for (Dim j = 0; j < 4; ++j) line(j, 4, 3);
  expect_close(run_matrix([](const Complex& z) { return fft::fft2(z); }), want, DType::f64, "both");
  expect_close(
      run_matrix([](const Complex& z) { return fft::fft(fft::fft(z, {.axis = 0}), {.axis = 1}); }),
      want, DType::f64, "one after the other");
  expect_close(run_matrix([](const Complex& z) { return fft::ifftn(fft::fftn(z)); }), x, DType::f64,
               "there and back");
  const auto mapped = [](const Complex& z) {
    return vmap([](const Complex& row) { return fft::fft(row); })(z);
  };
  Signal rows = x;
  std::swap(want, rows);
  for (Dim i = 0; i < 3; ++i) line(4 * i, 1, 4);
  expect_close(run_matrix(mapped), want, DType::f64, "vmap");
}

TEST(Fft, DerivativesAreTransforms) {
  // d/dx sum |fft x|^2 = 2 n x for real x (Parseval), by reverse mode.
  for (Dim n : {6, 17, 32}) {
    const Signal x = noise(n, 8);
    const auto energy = [](const Array& a) { return sum(norm_squared(fft::fft(a))); };
    const Numbers g =
        run([&](const Array& a) { return grad(energy)(a); }, part(x, false, DType::f64));
    for (std::size_t i = 0; i < g.size(); ++i)
      EXPECT_NEAR(g[i], 2 * static_cast<double>(n) * x[i].real(), 1e-12 * static_cast<double>(n));
  }
}

TEST(Fft, FrequenciesAndShifts) {
  EXPECT_EQ(run([](const Array&) { return fft::fftfreq(5, 0.1); }, f32(0)),
            (Numbers{0, 2, 4, -4, -2}));
  EXPECT_EQ(run([](const Array&) { return fft::fftfreq(4); }, f32(0)),
            (Numbers{0, 0.25, -0.5, -0.25}));
  EXPECT_EQ(run([](const Array&) { return fft::rfftfreq(4); }, f32(0)), (Numbers{0, 0.25, 0.5}));
  const auto shifted = [](const Array& x) { return fft::fftshift(x); };
  EXPECT_EQ(run(shifted, f32({0, 1, 2, 3, 4})), (Numbers{3, 4, 0, 1, 2}));
  EXPECT_EQ(run([&](const Array& x) { return fft::ifftshift(shifted(x)); }, f32({0, 1, 2, 3, 4})),
            (Numbers{0, 1, 2, 3, 4}));
}

TEST(Fft, ErrorsNameTheLengthAndTheRemedy) {
  const auto long_prime = [](const Array& x) { return fft::fft(x, {.n = 8388617}); };
  EXPECT_THAT(usage_error_of(long_prime, f32({1, 2})),
              ::testing::AllOf(HasSubstr("gnomon::fft::fft: length 8388617"),
                               HasSubstr("small factors"), HasSubstr("fft_test.cpp:")));
  EXPECT_THAT(usage_error_of([](const Array& x) { return fft::rfft(x); }, f32(1)),
              HasSubstr("takes arrays with an axis to transform, got f32[]"));
  EXPECT_THAT(usage_error_of([](const Array& x) { return fft::rfftn(x); }, f32(1)),
              HasSubstr("gnomon::fft::rfftn: takes arrays with an axis to transform, got f32[]"));
  const auto too_many = [](const Array& x) { return fft::rfftn(x, {.axes = {0}, .n = {2, 2}}); };
  EXPECT_THAT(usage_error_of(too_many, f32({1, 2})), HasSubstr("2 lengths for 1 axes"));
  EXPECT_THAT(usage_error_of(
                  [](const Array& x) {
                    return fft::rfftn(x, {.n = {2, 2}});
                  },
                  f32({1, 2})),
              HasSubstr("2 lengths for the axes of f32[2]"));
  EXPECT_THAT(usage_error_of([](const Array&) { return fft::fftfreq(3, 1, DType::i32); }, f32(0)),
              HasSubstr("frequencies in i32"));
  EXPECT_THAT(
      usage_error_of([](const Array& x) { return fft::irfft(complex(x)); }, f32(Numbers{1})),
      HasSubstr("length 0"));
}

// ---- complex numbers

template <class F>
std::complex<double> on_pairs(F f, std::complex<double> a, std::complex<double> b) {
  const auto r = run_all(
      [&](const Array& x) {
        const auto z = f(Complex{x[0], x[1]}, Complex{x[2], x[3]});
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(z)>, Array>)
          return Complex{z, zeros_like(z)};
        else
          return z;
      },
      host(DType::f64, {4}, {a.real(), a.imag(), b.real(), b.imag()}));
  return {r[0][0], r[1][0]};
}

TEST(Complex, ArithmeticAgreesWithTheStandardLibrary) {
  using Number = std::complex<double>;
  const Number a{1.5, -2}, b{-0.25, 3};
  const auto expect = [&](Number got, Number want) {
    EXPECT_LE(std::abs(got - want), 1e-15 * (1 + std::abs(want)));
  };
  using C = const Complex&;
  expect(on_pairs([](C x, C y) { return x + y; }, a, b), a + b);
  expect(on_pairs([](C x, C y) { return x - y; }, a, b), a - b);
  expect(on_pairs([](C x, C y) { return x * y; }, a, b), a * b);
  expect(on_pairs([](C x, C y) { return x / y; }, a, b), a / b);
  expect(on_pairs([](C x, C) { return -x; }, a, b), -a);
  expect(on_pairs([](C x, C) { return x + 2; }, a, b), a + 2.0);
  expect(on_pairs([](C x, C y) { return y.re - x; }, a, b), b.real() - a);
  expect(on_pairs([](C x, C) { return 2 * x; }, a, b), 2.0 * a);
  expect(on_pairs([](C x, C) { return 1 / x; }, a, b), 1.0 / a);
  expect(on_pairs([](C x, C) { return x / 4; }, a, b), a / 4.0);
  expect(on_pairs([](C x, C) { return conj(x); }, a, b), std::conj(a));
  expect(on_pairs([](C x, C) { return exp(x); }, a, b), std::exp(a));
  expect(on_pairs([](C x, C) { return abs(x); }, a, b), std::abs(a));
  expect(on_pairs([](C x, C) { return angle(x); }, a, b), std::arg(a));
  expect(on_pairs([](C x, C) { return norm_squared(x); }, a, b), std::norm(a));
  expect(on_pairs([](C x, C y) { return polar(x.re, y.im); }, a, b), std::polar(1.5, 3.0));
}

TEST(Complex, QuotientsOfLargeNumbersDoNotOverflow) {
  const std::complex<double> a{1e200, 1e200}, b{1e200, -1e200};
  const auto q = on_pairs([](const Complex& x, const Complex& y) { return x / y; }, a, b);
  EXPECT_NEAR(q.real(), 0, 1e-15);
  EXPECT_NEAR(q.imag(), 1, 1e-15);
}

TEST(Complex, QuotientsHaveTheRightDerivative) {
  // The derivative of Re(1 / z) in (x, y) is (y^2 - x^2, -2 x y) / |z|^4.
  const auto f = [](const Complex& z) { return (1 / z).re; };
  const auto g = run_all(
      [&](const Array& x) {
        return grad(f)(Complex{x[0], x[1]});
      },
      host(DType::f64, {2}, {3, 4}));
  EXPECT_NEAR(g[0][0], 7.0 / 625, 1e-15);
  EXPECT_NEAR(g[1][0], -24.0 / 625, 1e-15);
}

}  // namespace
}  // namespace gnomon::test
