// tests/bench/native_sde.cpp -- stochastic equations with GCC vector extensions, 16 paths wide.
#include "native_vector.h"
#include "problems.h"

namespace bench::native {
namespace {

/// The natural logarithm of normal numbers: Cephes' logf polynomial.
inline V log_of(V x) {
  I bits = bits_of<I>(x);
  I exponent = (bits >> 23) - 126;
  V m = bits_of<V>((bits & 0x007FFFFF) | 0x3F000000);  // in [1/2, 1)
  const I small = m < 0.707106781186547524f;
  exponent += small;
  m = (small ? m + m : m) - 1.0f;
  const V e = __builtin_convertvector(exponent, V), z = m * m;
  V p = all(7.0376836292e-2f);
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  return m + (p * m * z - 2.12194440e-4f * e - 0.5f * z) + 0.693359375f * e;
}

/// A standard normal number: Giles' inverse error function at the middle of one of 2^24 intervals.
inline V normal_of(U word) {
  const I middle = (bits_of<I>(word) >> 8) * 2 + 1;
  const V u = __builtin_convertvector(middle, V) * 0x1p-24f;
  // From the integer: 1 + u would lose the last bits of u, which count in the tails.
  const V w = -log_of(__builtin_convertvector(0x1000000 - middle, V) * 0x1p-24f *
                      (__builtin_convertvector(0x1000000 + middle, V) * 0x1p-24f));
  const V x = w - 2.5f;
  V p = all(2.81022636e-08f);
  p = p * x + 3.43273939e-07f;
  p = p * x - 3.5233877e-06f;
  p = p * x - 4.39150654e-06f;
  p = p * x + 0.00021858087f;
  p = p * x - 0.00125372503f;
  p = p * x - 0.00417768164f;
  p = p * x + 0.246640727f;
  p = p * x + 1.50140941f;
  const I far = w >= 5.0f;
  if (any(far)) {
    const V t = sqrt_of(w) - 3.0f;
    V q = all(-0.000200214257f);
    q = q * t + 0.000100950558f;
    q = q * t + 0.00134934322f;
    q = q * t - 0.00367342844f;
    q = q * t + 0.00573950773f;
    q = q * t - 0.0076224613f;
    q = q * t + 0.00943887047f;
    q = q * t + 1.00167406f;
    q = q * t + 2.83297682f;
    p = far ? q : p;
  }
  return p * u * 1.41421356237f;
}

}  // namespace

void sde(Pair& pair, const float* in, float* ends, size_t n) {
  const float root = __builtin_sqrtf(OdeSde::step);
  pair.halves(n, width, [&](size_t begin, size_t end) {
    const U zero{};
    U lane{};
    for (uint32_t i = 0; i < width; i++) lane[i] = i;
    for (size_t i = begin; i < end; i += width) {
      // Unchecked: n is a multiple of the width.
      const Words key =
          threefry({zero, zero + OdeSde::seed}, {zero, lane + static_cast<uint32_t>(i)});
      V y = load(in + i);
      for (uint32_t k = 0; k < OdeSde::steps; k++) {
        const V dw = root * normal_of(threefry(key, {zero, zero + k}).first);
        y = y + OdeSde::step * (OdeSde::mu * y) + (OdeSde::sigma * y) * dw;
      }
      store(ends + i, y);
    }
  });
}

}  // namespace bench::native
