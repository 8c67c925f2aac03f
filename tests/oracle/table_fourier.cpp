// tests/oracle/table_fourier.cpp -- transforms against FFTW in long double, complex arithmetic
// against that of the C++ library.
#include <fftw3.h>

#include <complex>

#include "gnomon/complex.h"
#include "gnomon/fft.h"
#include "gnomon/numeric.h"
#include "rows.h"

namespace oracle {
namespace {

namespace ff = gnomon::fft;
using Z = std::complex<Number>;
using gnomon::Complex;

Complex z(A x, std::size_t k = 0) { return {x[k], x[k + 1]}; }
Results parts(const Complex& c) { return {c.re, c.im}; }
Z at(T x, I i, std::size_t k = 0) { return {x[k].at(i), x[k + 1].at(i)}; }

/// The parts of f(i), whose errors count against its magnitude.
Exacts zs(DType t, const Shape& s, const std::function<Z(I)>& f) {
  Tensor re(t, s), im(t, s);
  each(s, [&](I i) {
    const Z v = f(i);
    re.at(i) = v.real();
    im.at(i) = v.imag();
    re.scale.push_back(std::abs(v));
    im.scale.push_back(std::abs(v));
  });
  return {re, im};
}

Results all_parts(const std::vector<Complex>& c) {
  Arrays a;
  for (const Complex& one : c) a.insert(a.end(), {one.re, one.im});
  return a;
}
/// The parts of several functions of the first two inputs.
Exacts all_zs(T x, const std::function<std::vector<Z>(Z)>& f) {
  Tensors all;
  const std::size_t count = f(Z(1, 1)).size();
  for (std::size_t k = 0; k < count; ++k)
    for (const Tensor& t : zs(x[0].dtype, x[0].shape, [&](I i) { return f(at(x, i))[k]; }).all)
      all.push_back(t);
  return all;
}
/// exp(z) - 1 and log(1 + z) by sums that keep small z.
Z expm1_of(Z a) {
  const Number half = std::sin(a.imag() / 2);
  return {std::expm1(a.real()) * std::cos(a.imag()) - 2 * half * half,
          std::exp(a.real()) * std::sin(a.imag())};
}
Z log1p_of(Z a) {
  return {std::log1p(2 * a.real() + std::norm(a)) / 2, std::atan2(a.imag(), 1 + a.real())};
}

/// Every pair of a few numbers: on the axes with zeros of both signs, or special ones.
std::vector<double> grid_line(bool special) {
  if (special)
    return {0.0, -0.0, 1, -1, infinity, -infinity, std::numeric_limits<double>::quiet_NaN()};
  return {-2, -0.5, -0.0, 0.0, 0.5, 2};
}
Complex grid(bool special) {
  std::vector<double> re, im;
  for (const double a : grid_line(special))
    for (const double b : grid_line(special)) {
      re.push_back(a);
      im.push_back(b);
    }
  // Magnitudes and signs: constants that hold zeros of both signs are another matter.
  const auto column = [](const std::vector<double>& v) {
    std::vector<double> size, sign;
    for (const double x : v) {
      size.push_back(std::fabs(x));
      sign.push_back(std::signbit(x) ? -1 : 1);
    }
    return gn::copysign(gn::array(size), gn::array(sign));
  };
  return gn::complex(column(re), column(im));
}
/// Parts whose errors count against themselves.
Exacts over_grid(bool special, const std::function<std::vector<Z>(Z)>& f) {
  const std::vector<double> line = grid_line(special);
  const auto n = static_cast<Dim>(line.size());
  Tensors all;
  for (std::size_t k = 0; k < f(Z(1, 1)).size(); ++k)
    for (const bool real : {true, false})
      all.push_back(made(DType::f32, {n * n}, [&](I i) {
        const Z a = f(Z(line[static_cast<std::size_t>(i[0] / n)],
                        line[static_cast<std::size_t>(i[0] % n)]))[k];
        return real ? a.real() : a.imag();
      }));
  return all;
}

/// The unnormalised transform of v, by FFTW.
std::vector<Z> transformed(const std::vector<Z>& v, int sign) {
  std::vector<Z> out(v.size()), from = v;
  const auto raw = [](std::vector<Z>& a) { return reinterpret_cast<fftwl_complex*>(a.data()); };
  const fftwl_plan plan =
      fftwl_plan_dft_1d(static_cast<int>(v.size()), raw(from), raw(out), sign, FFTW_ESTIMATE);
  fftwl_execute(plan);
  fftwl_destroy_plan(plan);
  return out;
}
std::vector<Z> column(T x, bool real, Dim n) {
  std::vector<Z> v;
  for (Dim k = 0; k < n; ++k)
    v.push_back(k >= x[0].size() ? Z() : real ? Z(x[0](k)) : Z(x[0](k), x[1](k)));
  return v;
}
/// A result of `n` elements; errors count against the largest one.
Exacts spectrum(T x, std::vector<Z> v, Number factor, Dim n) {
  Number size = 0;
  for (const Z& c : v) size = std::max(size, std::abs(c) * factor);
  Tensor re = like(x, {n}, [&](I i) { return v[static_cast<std::size_t>(i[0])].real() * factor; });
  Tensor im = like(x, {n}, [&](I i) { return v[static_cast<std::size_t>(i[0])].imag() * factor; });
  return {scaled(re, size), scaled(im, size)};
}
constexpr Rule turns{.ulps = 16, .differentiate = true, .slope = 64};

template <Dim n>
General one_length() {
  return {"fft::fft(ComplexOperand,Options) fft::ifft(ComplexOperand,Options)",
          floats,
          {in({n}), in({n})},
          [](A x) -> Results {
            const Complex f = ff::fft(z(x)), g = ff::ifft(z(x));
            return {f.re, f.im, g.re, g.im};
          },
          [](T x) -> Exacts {
            Exacts f = spectrum(x, transformed(column(x, false, n), FFTW_FORWARD), 1, n);
            const Exacts g =
                spectrum(x, transformed(column(x, false, n), FFTW_BACKWARD), 1.0L / n, n);
            f.all.insert(f.all.end(), g.all.begin(), g.all.end());
            return f;
          },
          n > 20 ? Rule{.ulps = 32} : turns};
}
/// Transforms over rows, then columns, of a [3,4] array.
std::vector<Z> plane(T x, int sign) {
  std::vector<Z> v =
      column({made(x[0].dtype, {12}, [&](I i) { return x[0].v[static_cast<std::size_t>(i[0])]; }),
              made(x[0].dtype, {12}, [&](I i) { return x[1].v[static_cast<std::size_t>(i[0])]; })},
             false, 12);
  for (std::size_t r = 0; r < 3; ++r) {
    const std::vector<Z> row = transformed({v.begin() + static_cast<std::ptrdiff_t>(4 * r),
                                            v.begin() + static_cast<std::ptrdiff_t>(4 * r + 4)},
                                           sign);
    std::copy(row.begin(), row.end(), v.begin() + static_cast<std::ptrdiff_t>(4 * r));
  }
  for (std::size_t c = 0; c < 4; ++c) {
    const std::vector<Z> col = transformed({v[c], v[4 + c], v[8 + c]}, sign);
    for (std::size_t r = 0; r < 3; ++r) v[4 * r + c] = col[r];
  }
  return v;
}
Exacts in_plane(T x, int sign, Number factor) {
  Exacts e = spectrum(x, plane(x, sign), factor, 12);
  for (Tensor& t : e.all) t.shape = {3, 4};
  return e;
}

}  // namespace

// Rows are laid out as those of tables.
// clang-format off
Family fourier() {
  return {.name = "Fourier", .general = {
      one_length<1>(), one_length<8>(), one_length<15>(), one_length<17>(), one_length<64>(), one_length<97>(),
      {"fft::fft(Operand,Options) fft::ifft(Operand,Options)", floats, {in({6})}, [](A x) -> Results { const Complex f = ff::fft(x[0], {.n = 9}), g = ff::ifft(x[0], {.norm = ff::Norm::ortho}); return {f.re, f.im, g.re, g.im}; },
       [](T x) -> Exacts { Exacts f = spectrum(x, transformed(column(x, true, 9), FFTW_FORWARD), 1, 9); const Exacts g = spectrum(x, transformed(column(x, true, 6), FFTW_BACKWARD), 1 / std::sqrt(6.0L), 6); f.all.insert(f.all.end(), g.all.begin(), g.all.end()); return f; }, turns},
      {"fft::rfft", floats, {in({10})}, [](A x) -> Results { return parts(ff::rfft(x[0])); }, [](T x) -> Exacts { return spectrum(x, transformed(column(x, true, 10), FFTW_FORWARD), 1, 6); }, turns},
      {"fft::rfft", floats, {in({9})}, [](A x) -> Results { return parts(ff::rfft(x[0], {.norm = ff::Norm::forward})); }, [](T x) -> Exacts { return spectrum(x, transformed(column(x, true, 9), FFTW_FORWARD), 1.0L / 9, 5); }, turns},
      {"fft::irfft", floats, {in({5}), in({5})}, [](A x) -> Results { return ff::irfft(z(x)); },
       [](T x) -> Exacts { std::vector<Z> v = column(x, false, 5); v[0] = v[0].real(); v[4] = v[4].real(); for (std::size_t k = 3; k > 0; --k) v.push_back(std::conj(v[k])); return spectrum(x, transformed(v, FFTW_BACKWARD), 1.0L / 8, 8).all[0]; }, turns},
      {"fft::fftn fft::ifftn fft::fft2 fft::ifft2", floats, {in({3, 4}), in({3, 4})},
       [](A x) -> Results { const Complex a = ff::fftn(z(x)), b = ff::ifftn(z(x)), c = ff::fft2(z(x)), d = ff::ifft2(z(x)); return {a.re, a.im, b.re, b.im, c.re, c.im, d.re, d.im}; },
       [](T x) -> Exacts { const Exacts f = in_plane(x, FFTW_FORWARD, 1), g = in_plane(x, FFTW_BACKWARD, 1.0L / 12); return {f.all[0], f.all[1], g.all[0], g.all[1], f.all[0], f.all[1], g.all[0], g.all[1]}; }, turns},
      {"fft::rfftn fft::irfftn fft::rfft2 fft::irfft2", floats, {in({3, 4})},
       [](A x) -> Results { const Complex a = ff::rfftn(x[0]), b = ff::rfft2(x[0], ff::Norm::forward), c = ff::rfftn(x[0], {.axes = {1, 0}}); return {a.re, a.im, b.re, b.im, c.re, c.im, ff::irfftn(a), ff::irfft2(b, ff::Norm::forward), ff::irfftn(c, {.axes = {1, 0}, .n = {4, 3}})}; },
       [](T x) -> Exacts {
         const std::vector<Z> v = plane({x[0], made(x[0].dtype, {12}, [](I) { return 0; })}, FFTW_FORWARD);
         const auto half = [&](const Shape& s, Number factor) { std::vector<Z> u; each(s, [&](I i) { u.push_back(v[static_cast<std::size_t>(4 * i[0] + i[1])]); }); Exacts e = spectrum(x, u, factor, s.size()); for (Tensor& t : e.all) t.shape = s; return e.all; };
         const Tensors a = half({3, 3}, 1), b = half({3, 3}, 1.0L / 12), c = half({2, 4}, 1);
         const Tensor back = scaled(x[0], 4);
         return {a[0], a[1], b[0], b[1], c[0], c[1], back, back, back}; }, turns},
      {"fft::irfftn fft::irfft2", floats, {in({3, 3}), in({3, 3})}, [](A x) -> Results { return {ff::irfftn(z(x)), ff::irfft2(z(x)), ff::irfftn(z(x), {.norm = ff::Norm::ortho, .n = {3, 5}})}; },
       [](T x) -> Exacts {
         // By columns first, then each row as the half of a spectrum whose ends are real.
         std::vector<Z> v;
         each({3, 3}, [&](I i) { v.push_back(at(x, i)); });
         for (std::size_t c = 0; c < 3; ++c) { const std::vector<Z> col = transformed({v[c], v[3 + c], v[6 + c]}, FFTW_BACKWARD); for (std::size_t r = 0; r < 3; ++r) v[3 * r + c] = col[r]; }
         const auto real = [&](std::size_t n, Number factor) {
           Tensor t = like(x, {3, static_cast<Dim>(n)}, [&](I i) { std::vector<Z> line(n); for (std::size_t k = 0; k <= n / 2; ++k) { const Z c = v[static_cast<std::size_t>(3 * i[0]) + k]; line[k] = k == 0 || 2 * k == n ? Z(c.real()) : c; line[(n - k) % n] = std::conj(line[k]); } return transformed(line, FFTW_BACKWARD)[static_cast<std::size_t>(i[1])].real() * factor; });
           return scaled(t, 2); };
         return {real(4, 1.0L / 12), real(4, 1.0L / 12), real(5, 1 / std::sqrt(15.0L))}; }, turns},
      {"fft::fftn fft::ifftn", floats, {in({3, 4}), in({3, 4})}, [](A x) -> Results { const Complex a = ff::fftn(z(x), {.axes = {1}, .n = {2}}), b = ff::ifftn(z(x), {.n = {5}}); return {a.re, a.im, b.re, b.im}; },
       [](T x) -> Exacts {
         const auto rows = [&](std::size_t n, int sign, Number factor) { std::vector<Z> all; for (Dim r = 0; r < 3; ++r) { std::vector<Z> line(n); for (std::size_t k = 0; k < std::min<std::size_t>(n, 4); ++k) line[k] = at(x, {r, static_cast<Dim>(k)}); for (const Z& c : transformed(line, sign)) all.push_back(c); } Exacts e = spectrum(x, all, factor, static_cast<Dim>(3 * n)); for (Tensor& t : e.all) t.shape = {3, static_cast<Dim>(n)}; return e.all; };
         const Tensors a = rows(2, FFTW_FORWARD, 1), b = rows(5, FFTW_BACKWARD, 0.2L);
         return {a[0], a[1], b[0], b[1]}; }, turns},
      {"fft::fftfreq fft::rfftfreq", {DType::f64}, {}, [](A) -> Results { return {ff::fftfreq(7, 0.1, DType::f64), ff::rfftfreq(9, 0.3, DType::f64)}; },
       [](T) -> Exacts { return {made(DType::f64, {7}, [](I i) { return static_cast<Number>(i[0] > 3 ? i[0] - 7 : i[0]) / (7 * Number(0.1)); }), made(DType::f64, {5}, [](I i) { return static_cast<Number>(i[0]) / (9 * Number(0.3)); })}; }, {.ulps = 3}},
      {"fft::fftfreq fft::rfftfreq", single, {}, [](A) -> Results { return {ff::fftfreq(7, 0.5), ff::fftfreq(6), ff::rfftfreq(7, 0.5)}; },
       [](T) -> Exacts { const auto f = [](Dim n, Number d, Dim count) { return made(DType::f32, {count}, [=](I i) { const Dim k = count == n && i[0] > (n - 1) / 2 ? i[0] - n : i[0]; return static_cast<Number>(k) / (static_cast<Number>(n) * d); }); }; return {f(7, 0.5L, 7), f(6, 1, 6), f(7, 0.5L, 4)}; }, {.ulps = 2}},
      {"fft::fftshift fft::ifftshift", any, {in({2, 5})}, [](A x) -> Results { return {ff::fftshift(x[0]), ff::ifftshift(x[0])}; },
       [](T x) -> Exacts { return {like(x, {2, 5}, [&](I i) { return x[0](i[0], modulo(i[1] - 2, 5)); }), like(x, {2, 5}, [&](I i) { return x[0](i[0], modulo(i[1] + 2, 5)); })}; }, moves},
  }};
}

Family complex_numbers() {
  const Input p = in({6}), q = positive({6});
  constexpr Rule near{.ulps = 6, .differentiate = true, .slope = 64};
  return {.name = "Complex", .general = {
      {"complex(Operand) complex(Operand,Operand) conj", floats, {p, p}, [](A x) -> Results { const Complex a = gn::complex(x[0]), b = gn::complex(x[0], x[1]), c = gn::conj(b); return {a.re, a.im, b.re, b.im, c.re, c.im}; },
       [](T x) -> Exacts { const auto f = [&](std::size_t k, Number s) { return like(x, {6}, [&, k, s](I i) { return s * x[k].at(i); }); }; return {f(0, 1), like(x, {6}, [](I) { return 0; }), f(0, 1), f(1, 1), f(0, 1), f(1, -1)}; }, moves},
      {"polar", floats, {p, p}, [](A x) -> Results { return parts(gn::polar(x[0], x[1])); }, [](T x) -> Exacts { return zs(x[0].dtype, {6}, [&](I i) { return x[0].at(i) * std::exp(Z(0, x[1].at(i))); }); }, near},
      {"operator+(ComplexOperand,Complex)", floats, {p, p, p, p}, [](A x) -> Results { return parts(z(x) + z(x, 2)); }, [](T x) -> Exacts { return zs(x[0].dtype, {6}, [&](I i) { return at(x, i) + at(x, i, 2); }); }, near},
      {"operator-(ComplexOperand,Complex)", floats, {p, p, p, p}, [](A x) -> Results { return parts(z(x) - z(x, 2)); }, [](T x) -> Exacts { return zs(x[0].dtype, {6}, [&](I i) { return at(x, i) - at(x, i, 2); }); }, near},
      {"operator*(ComplexOperand,Complex)", floats, {p, p, p, p}, [](A x) -> Results { return parts(z(x) * z(x, 2)); }, [](T x) -> Exacts { return zs(x[0].dtype, {6}, [&](I i) { return at(x, i) * at(x, i, 2); }); }, near},
      {"operator/(ComplexOperand,Complex)", floats, {p, p, q, p}, [](A x) -> Results { return parts(z(x) / z(x, 2)); }, [](T x) -> Exacts { return zs(x[0].dtype, {6}, [&](I i) { return at(x, i) / at(x, i, 2); }); }, near},
      {"operator-(ComplexOperand)", floats, {p, p}, [](A x) -> Results { return parts(-z(x)); }, [](T x) -> Exacts { return zs(x[0].dtype, {6}, [&](I i) { return -at(x, i); }); }, near},
      {"operator+(ComplexOperand,Operand) operator+(Operand,Complex)", floats, {p, p, p}, [](A x) -> Results { const Complex a = z(x) + x[2], b = x[2] + z(x); return {a.re, a.im, b.re, b.im}; }, [](T x) -> Exacts { const Tensors a = zs(x[0].dtype, {6}, [&](I i) { return at(x, i) + x[2].at(i); }).all; return {a[0], a[1], a[0], a[1]}; }, near},
      {"operator-(ComplexOperand,Operand) operator-(Operand,Complex)", floats, {p, p, p}, [](A x) -> Results { const Complex a = z(x) - x[2], b = x[2] - z(x); return {a.re, a.im, b.re, b.im}; }, [](T x) -> Exacts { const Tensors a = zs(x[0].dtype, {6}, [&](I i) { return at(x, i) - x[2].at(i); }).all, b = zs(x[0].dtype, {6}, [&](I i) { return x[2].at(i) - at(x, i); }).all; return {a[0], a[1], b[0], b[1]}; }, near},
      {"operator*(ComplexOperand,Operand) operator*(Operand,Complex)", floats, {p, p, p}, [](A x) -> Results { const Complex a = z(x) * x[2], b = x[2] * z(x); return {a.re, a.im, b.re, b.im}; }, [](T x) -> Exacts { const Tensors a = zs(x[0].dtype, {6}, [&](I i) { return at(x, i) * x[2].at(i); }).all; return {a[0], a[1], a[0], a[1]}; }, near},
      {"operator/(ComplexOperand,Operand) operator/(Operand,Complex)", floats, {q, p, q}, [](A x) -> Results { const Complex a = z(x) / x[2], b = x[2] / z(x); return {a.re, a.im, b.re, b.im}; }, [](T x) -> Exacts { const Tensors a = zs(x[0].dtype, {6}, [&](I i) { return at(x, i) / x[2].at(i); }).all, b = zs(x[0].dtype, {6}, [&](I i) { return x[2].at(i) / at(x, i); }).all; return {a[0], a[1], b[0], b[1]}; }, near},
      {"abs(ComplexOperand) norm_squared angle", floats, {q, p}, [](A x) -> Results { return {gn::abs(z(x)), gn::norm_squared(z(x)), gn::angle(z(x))}; },
       [](T x) -> Exacts { return {like(x, {6}, [&](I i) { return std::abs(at(x, i)); }), like(x, {6}, [&](I i) { return std::norm(at(x, i)); }), like(x, {6}, [&](I i) { return std::arg(at(x, i)); })}; }, near},
      {"exp(ComplexOperand) expm1(ComplexOperand) sin(ComplexOperand) cos(ComplexOperand) tan(ComplexOperand) sinh(ComplexOperand) cosh(ComplexOperand) tanh(ComplexOperand)", floats, {p, p},
       [](A x) -> Results { return all_parts({gn::exp(z(x)), gn::expm1(z(x)), gn::sin(z(x)), gn::cos(z(x)), gn::tan(z(x)), gn::sinh(z(x)), gn::cosh(z(x)), gn::tanh(z(x))}); },
       [](T x) -> Exacts { return all_zs(x, [](Z a) -> std::vector<Z> { return {std::exp(a), expm1_of(a), std::sin(a), std::cos(a), std::tan(a), std::sinh(a), std::cosh(a), std::tanh(a)}; }); }, near},
      {"log(ComplexOperand) log1p(ComplexOperand) sqrt(ComplexOperand) asin(ComplexOperand) acos(ComplexOperand) acosh(ComplexOperand) atanh(ComplexOperand)", floats, {p, q},
       [](A x) -> Results { return all_parts({gn::log(z(x)), gn::log1p(z(x)), gn::sqrt(z(x)), gn::asin(z(x)), gn::acos(z(x)), gn::acosh(z(x)), gn::atanh(z(x))}); },
       [](T x) -> Exacts { return all_zs(x, [](Z a) -> std::vector<Z> { return {std::log(a), std::log(Number(1) + a), std::sqrt(a), std::asin(a), std::acos(a), std::acosh(a), std::atanh(a)}; }); }, near},
      {"asinh(ComplexOperand) atan(ComplexOperand)", floats, {q, p}, [](A x) -> Results { return all_parts({gn::asinh(z(x)), gn::atan(z(x))}); },
       [](T x) -> Exacts { return all_zs(x, [](Z a) -> std::vector<Z> { return {std::asinh(a), std::atan(a)}; }); }, near},
      // Near 1 and 0, where differences count, and arguments whose squares leave the range.
      {"log(ComplexOperand) log1p(ComplexOperand) expm1(ComplexOperand) sqrt(ComplexOperand)", floats, {p, p},
       [](A x) -> Results { const Complex a = z(x) * 0x1p-10; return all_parts({gn::log(1 + a), gn::log1p(a), gn::expm1(a), gn::sqrt(a)}); },
       [](T x) -> Exacts { return all_zs(x, [&](Z a) -> std::vector<Z> { const auto t = [&](Number v) { return x[0].dtype == DType::f64 ? Number(double(v)) : Number(float(v)); }; a *= 0x1p-10L; return {std::log(Z(t(1 + a.real()), a.imag())), log1p_of(a), expm1_of(a), std::sqrt(a)}; }); }, {.ulps = 6}},
      {"abs(ComplexOperand) sqrt(ComplexOperand) log(ComplexOperand) asinh(ComplexOperand) acos(ComplexOperand) atanh(ComplexOperand)", floats, {q, p},
       [](A x) -> Results { const bool wide = x[0].dtype() == DType::f64; const Complex a = z(x) * (wide ? 0x1p1021 : 0x1p125), b = z(x) * (wide ? 0x1p-1006 : 0x1p-110); return all_parts({{gn::abs(a), gn::abs(b)}, gn::sqrt(a), gn::sqrt(b), gn::log(a), gn::log(b), gn::asinh(a), gn::acos(a), gn::atanh(a)}); },
       [](T x) -> Exacts { return all_zs(x, [&](Z c) -> std::vector<Z> { const bool wide = x[0].dtype == DType::f64; const Z a = c * (wide ? 0x1p1021L : 0x1p125L), b = c * (wide ? 0x1p-1006L : 0x1p-110L); return {{std::abs(a), std::abs(b)}, std::sqrt(a), std::sqrt(b), std::log(a), std::log(b), std::asinh(a), std::acos(a), {(Number(1) / a).real(), std::copysign(std::acos(Number(0)), a.imag())}}; }); }, {.ulps = 6}},
      {"exp(ComplexOperand) sinh(ComplexOperand) cosh(ComplexOperand) sin(ComplexOperand) tanh(ComplexOperand)", floats, {in({6}, Draw::numbers, 0.01, 0.09)},
       [](A x) -> Results { const Array high = x[0] + (x[0].dtype() == DType::f64 ? 709.75 : 88.7), near_pole = gn::full_like(x[0], 1.5625); const Complex a = gn::complex(high, near_pole); return all_parts({gn::exp(a), gn::sinh(a), gn::cosh(-a), gn::sin(gn::complex(near_pole, high)), gn::tanh(a)}); },
       [](T x) -> Exacts { const Tensor zero = like(x, {6}, [](I) { return 0; }); return all_zs({x[0], zero}, [&](Z c) -> std::vector<Z> { const bool wide = x[0].dtype == DType::f64; const Number high = wide ? double(c.real() + 709.75L) : float(c.real() + 88.7f); const Z a(high, 1.5625L); return {std::exp(a), std::sinh(a), std::cosh(a), std::sin(Z(1.5625L, high)), std::tanh(a)}; }); }, {.ulps = 6}},
      // Both sides of every cut, which the sign of a zero names.
      {"log(ComplexOperand) sqrt(ComplexOperand) asin(ComplexOperand) acos(ComplexOperand) atan(ComplexOperand) asinh(ComplexOperand) acosh(ComplexOperand) atanh(ComplexOperand) tan(ComplexOperand)", single, {},
       [](A) -> Results { const Complex a = grid(false); return all_parts({gn::log(a), gn::sqrt(a), gn::asin(a), gn::acos(a), gn::atan(a), gn::asinh(a), gn::acosh(a), gn::atanh(a), gn::tan(a)}); },
       [](T) -> Exacts { return over_grid(false, [](Z a) -> std::vector<Z> { return {std::log(a), std::sqrt(a), std::asin(a), std::acos(a), std::atan(a), std::asinh(a), std::acosh(a), std::atanh(a), std::tan(a)}; }); }, {.ulps = 6}},
      // C17, annex G.6: infinities, NaN and zeros of both signs.
      {"log(ComplexOperand) sqrt(ComplexOperand) exp(ComplexOperand)", single, {}, [](A) -> Results { const Complex a = grid(true); return all_parts({gn::log(a), gn::sqrt(a)}); },
       [](T) -> Exacts { return over_grid(true, [](Z a) -> std::vector<Z> { return {std::log(a), std::sqrt(a)}; }); }, {.ulps = 4}},
      {"exp(ComplexOperand)", single, {}, [](A) -> Results { return parts(gn::exp(grid(true))); },
       [](T) -> Exacts { return over_grid(true, [](Z a) -> std::vector<Z> { return {std::exp(a)}; }); }, {.ulps = 4, .unsigned_zero = true}},
      {"pow(ComplexOperand,Complex)", floats, {p, q, p, p}, [](A x) -> Results { return parts(gn::pow(z(x), z(x, 2))); }, [](T x) -> Exacts { return zs(x[0].dtype, {6}, [&](I i) { return std::pow(at(x, i), at(x, i, 2)); }); }, {.ulps = 16, .differentiate = true, .slope = 200}},
      {"pow(ComplexOperand,Operand)", floats, {p, q, p}, [](A x) -> Results { const Complex a = gn::pow(z(x), x[2]), b = gn::pow(z(x), 3); return {a.re, a.im, b.re, b.im}; }, [](T x) -> Exacts { const Tensors a = zs(x[0].dtype, {6}, [&](I i) { return std::pow(at(x, i), Z(x[2].at(i))); }).all, b = zs(x[0].dtype, {6}, [&](I i) { return at(x, i) * at(x, i) * at(x, i); }).all; return {a[0], a[1], b[0], b[1]}; }, {.ulps = 16, .differentiate = true, .slope = 200}},
      {"pow(Operand,Complex)", floats, {q, p, p}, [](A x) -> Results { return parts(gn::pow(x[0], z(x, 1))); }, [](T x) -> Exacts { return zs(x[0].dtype, {6}, [&](I i) { return std::pow(Z(x[0].at(i)), at(x, i, 1)); }); }, {.ulps = 16, .differentiate = true, .slope = 200}},
      {"equal(ComplexOperand,Complex)", floats, {in({3, 4}, Draw::few), in({3, 4}, Draw::few), in({3, 4}, Draw::few), in({3, 4}, Draw::few)}, [](A x) -> Results { return {gn::equal(z(x), z(x, 2)), gn::equal(z(x), z(x))}; },
       [](T x) -> Exacts { return {truth({3, 4}, [&](I i) { return at(x, i) == at(x, i, 2); }), truth({3, 4}, [](I) { return 1; })}; }},
      {"sum(ComplexOperand,Axes,ReduceOptions) mean(ComplexOperand,Axes,ReduceOptions) adjoint", floats, {in({3, 4}), in({3, 4})}, [](A x) -> Results { const Complex a = gn::sum(z(x), 1), b = gn::mean(z(x), 1, {.keepdims = true}), c = gn::adjoint(z(x)); return {a.re, a.im, b.re, b.im, c.re, c.im}; },
       [](T x) -> Exacts { const auto f = [&](std::size_t k, const Shape& s, Number by) { return scaled(like(x, s, [&, k, by](I i) { return total(line(x[k], {i[0]}, 1)) * by; }), 8); }; return {f(0, {3}, 1), f(1, {3}, 1), f(0, {3, 1}, 0.25L), f(1, {3, 1}, 0.25L), like(x, {4, 3}, [&](I i) { return x[0](i[1], i[0]); }), like(x, {4, 3}, [&](I i) { return -x[1](i[1], i[0]); })}; }, near},
      {"matmul(ComplexOperand,Complex) dot(ComplexOperand,Complex) vdot(ComplexOperand,Complex)", floats, {in({3, 4}), in({3, 4}), in({4, 3}), in({4, 3})},
       [](A x) -> Results { const Complex a = gn::matmul(z(x), z(x, 2)), b = gn::dot(z(x), z(x, 2)), c = gn::vdot(z(x), z(x, 2)); return {a.re, a.im, b.re, b.im, c.re, c.im}; },
       [](T x) -> Exacts { const Tensors a = zs(x[0].dtype, {3, 3}, [&](I i) { Z s; for (Dim k = 0; k < 4; ++k) s += at(x, {i[0], k}) * at(x, {k, i[1]}, 2); return s; }).all;
                           Z s; for (Dim k = 0; k < 12; ++k) s += std::conj(at(x, {k / 4, k % 4})) * at(x, {k / 3, k % 3}, 2);
                           const auto f = [](const Tensor& t) { return scaled(t, 16); };
                           return {f(a[0]), f(a[1]), f(a[0]), f(a[1]), scaled(like(x, {}, [&](I) { return s.real(); }), 48), scaled(like(x, {}, [&](I) { return s.imag(); }), 48)}; }, near},
  }};
}
// clang-format on

}  // namespace oracle
