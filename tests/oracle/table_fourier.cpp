// tests/oracle/table_fourier.cpp -- transforms against FFTW in long double, complex arithmetic
// against that of the C++ library.
#include <fftw3.h>

#include <complex>

#include "gnomon/complex.h"
#include "gnomon/fft.h"
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

/// The unnormalised transform of v, by FFTW.
std::vector<Z> transformed(const std::vector<Z>& v, int sign) {
  std::vector<Z> out(v.size()), from = v;
  const auto raw = [](std::vector<Z>& a) { return reinterpret_cast<fftwl_complex*>(a.data()); };
  const fftwl_plan plan = fftwl_plan_dft_1d(static_cast<int>(v.size()), raw(from), raw(out), sign, FFTW_ESTIMATE);
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
  return {"fft::fft(ComplexOperand,Options) fft::ifft(ComplexOperand,Options)", floats, {in({n}), in({n})},
          [](A x) -> Results { const Complex f = ff::fft(z(x)), g = ff::ifft(z(x)); return {f.re, f.im, g.re, g.im}; },
          [](T x) -> Exacts {
            Exacts f = spectrum(x, transformed(column(x, false, n), FFTW_FORWARD), 1, n);
            const Exacts g = spectrum(x, transformed(column(x, false, n), FFTW_BACKWARD), 1.0L / n, n);
            f.all.insert(f.all.end(), g.all.begin(), g.all.end());
            return f;
          }, n > 20 ? Rule{.ulps = 32} : turns};
}
/// Transforms over rows, then columns, of a [3,4] array.
std::vector<Z> plane(T x, int sign) {
  std::vector<Z> v = column({made(x[0].dtype, {12}, [&](I i) { return x[0].v[static_cast<std::size_t>(i[0])]; }),
                             made(x[0].dtype, {12}, [&](I i) { return x[1].v[static_cast<std::size_t>(i[0])]; })}, false, 12);
  for (std::size_t r = 0; r < 3; ++r) {
    const std::vector<Z> row = transformed({v.begin() + static_cast<std::ptrdiff_t>(4 * r), v.begin() + static_cast<std::ptrdiff_t>(4 * r + 4)}, sign);
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
      {"exp(ComplexOperand)", floats, {p, p}, [](A x) -> Results { return parts(gn::exp(z(x))); }, [](T x) -> Exacts { return zs(x[0].dtype, {6}, [&](I i) { return std::exp(at(x, i)); }); }, near},
  }};
}

}  // namespace oracle
