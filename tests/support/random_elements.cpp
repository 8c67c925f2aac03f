// tests/support/random_elements.cpp -- steps on one element at a time: types, arithmetic, choices.
#include <algorithm>

#include "gnomon/numeric.h"
#include "gnomon/special.h"
#include "tests/support/random_steps.h"

namespace gnomon::testing {

bool Steps::convert() {
  const DType to = dtype();
  const auto v = pick([&](const Value& x) { return x.dtype() != to && convertible(x, to); });
  return v && add(converted(*v, to), v->trust);
}

/// The bits of a value as another dtype.
bool Steps::reinterpret() {
  const auto v = pick([](const Value& x) { return x.exact() && !x.boolean(); });
  if (!v) return false;
  const DType to = dtype();
  if (!is_integer(to)) {
    // Some bits of an integer as those of a float between 1 and 1.5.
    if (to != DType::f32 || !v->integer() || size_of(v->dtype()) != 4) return false;
    const Array mantissa = v->array & 0x3fffff;
    return exact(bitcast(mantissa | 0x3f800000, DType::f32) - 1.25);
  }
  // The sign of a zero is the device's choice.
  const Array x = v->integer() ? v->array : where(v->array == 0, 1, v->array);
  const auto from_size = static_cast<Dim>(size_of(v->dtype()));
  const auto to_size = static_cast<Dim>(size_of(to));
  if (to_size <= from_size) {
    const bool fits = v->rank() < style_.most_rank;
    return (to_size == from_size || fits) && exact(bitcast(x, to));
  }
  const Dim parts = to_size / from_size;
  if (x.size() == 0 || x.size() % parts != 0) return false;
  return exact(bitcast(reshape(x, {x.size() / parts, parts}), to));
}

bool Steps::unary_integer(const Value& v) {
  const Array& x = v.array;
  const bool negative = is_signed(v.dtype());
  const Dim small = random_.between(1, 7);
  const Dim count = random_.between(0, 67);
  switch (random_.below(16)) {
    case 0:
      return exact(-x);
    case 1:
      return exact(~x);
    case 2:
      return exact(popcount(x));
    case 3:
      return exact(abs(x));
    case 4:
      return exact(sign(x));
    case 5:
      return exact(x * x);
    case 6:
      return exact(x % (negative && count % 2 == 0 ? -small : small));
    case 7:
      return exact(x >> count);
    case 8:
      return exact(x << count);
    case 9:
      return exact(clz(x));
    case 10:
      return exact(pow(x, 3));
    case 11:
      return exact(clip(x, 1, 5 + small));
    case 12:
      return exact(fmod(x, negative && count % 2 == 0 ? -small : small));
    case 13:
      return exact(x * 37 + 101);
    default:
      return exact(floor_divide(x, negative && count % 2 == 0 ? -small : small));
  }
}

/// Of floats that are exact everywhere, and so are the results.
bool Steps::unary_exact(const Value& v) {
  const Array& x = v.array;
  switch (random_.below(8)) {
    case 0:
      return exact(floor(x));
    case 1:
      return exact(round(x));
    case 2:
      return exact(sign(x));
    case 3:
      return exact(trunc(x));
    case 4:
      return exact(ceil(x));
    case 5:
      return exact(clip(x, -0.5, 1.25));
    case 6:
      return v.narrow() ? exact(relu(x)) : exact(frexp(x).mantissa);
    default:
      return v.narrow() ? exact(abs(x)) : exact(frexp(x).exponent);
  }
}

bool Steps::unary_narrow(const Value& v) {
  const Array& x = v.array;
  switch (random_.below(12)) {
    case 0:
      return exact(-x);
    case 1:
      return exact(abs(x));
    case 2:
      return exact(relu(x));
    case 3:
      return exact(clip(x * 3, -8, 8));
    case 4:
      return exact(x * 0.5 + 0.25);
    case 5:
      return exact(clip(square(x), 0.0625, 16));
    case 6:
      return coarse(sin(x));
    case 7:
      return coarse(exp(-abs(x)));
    case 8:
      return coarse(sqrt(abs(x) + 1));
    case 9:
      return coarse(sigmoid(x));
    default:
      return unary_exact(v);
  }
}

bool Steps::unary() {
  const auto v = pick([](const Value&) { return true; });
  if (!v) return false;
  const Array& x = v->array;
  if (v->boolean()) return exact(!x);
  if (v->integer()) return unary_integer(*v);
  if (v->narrow()) return unary_narrow(*v);
  if (v->exact() && random_.chance(30)) return unary_exact(*v);
  const Dim kind = random_.below(24);
  const std::array kinks{1, 2, 3, 8, 9, 11, 12};
  if (!may_kink(*v) && std::find(kinks.begin(), kinks.end(), kind) != kinks.end()) return false;
  switch (kind) {
    case 0:
      return add(-x, v->trust);
    case 1:
      return add(abs(x), v->trust);
    case 2:
      return add(relu(x), v->trust);
    case 3:
      return add(clip(x, -0.5, 1.25), v->trust);
    case 4:
      return rounded(sin(x));
    case 5:
      return rounded(cos(x));
    case 6:
      return rounded(tanh(x));
    case 7:
      return rounded(atan(x));
    case 8:
      return rounded(exp(-abs(x)));
    case 9:
      return rounded(sqrt(abs(x) + 1));
    case 10:
      return rounded(rsqrt(square(x) + 0.5));
    case 11:
      return rounded(log1p(abs(x)));
    case 12:
      return rounded(log(abs(x) + 0.5) * 0.5);
    case 13:
      return rounded(sigmoid(x));
    case 14:
      return rounded(erf(x));
    case 15:
      return rounded(reciprocal(1 + x * x));
    case 16:
      return rounded(x * 0.5 + 0.25);
    case 17:
      return rounded(pow(x * 0.5, 3) * 0.5);
    case 18:
      return rounded(asinh(x));
    case 19:
      return rounded(expm1(tanh(x)) * 0.4);
    case 20:
      return rounded(softplus(x) - 1);
    case 21:
      return rounded(cbrt(square(x) + 0.5));
    case 22:
      return rounded(sinc(x * 0.5));
    default:
      return rounded(asin(tanh(x) * 0.75));
  }
}

bool Steps::special_function() {
  const auto v = pick_float();
  if (!v) return false;
  const Array& x = v->array;
  const Array positive = square(x) * 0.25 + 0.5;
  switch (random_.below(10)) {
    case 0:
      return rounded(lgamma(positive));
    case 1:
      return rounded(digamma(positive) * 0.5);
    case 2:
      return rounded(polygamma(1, positive + 0.5) * 0.25);
    case 3:
      return rounded(gammainc(1.5, positive));
    case 4:
      return rounded(gammaincc(2.5, 0.75 + positive));
    case 5:
      return rounded(betainc(1.5, 2.5, sigmoid(x)));
    case 6:
      return rounded(betaln(positive, 1.25));
    case 7:
      return rounded(i0e(positive));  // its derivative jumps at 0
    case 8:
      return rounded(i1e(x));
    default:
      return rounded(erfinv(tanh(x) * 0.75));
  }
}

bool Steps::binary_integer(const Value& a, const Value& b) {
  const Array& x = a.array;
  const Array& y = b.array;
  switch (random_.below(15)) {
    case 0:
      return exact(x + y);
    case 1:
      return exact(x - y);
    case 2:
      return exact(x * y);
    case 3:
      return exact(maximum(x, y));
    case 4:
      return exact(minimum(x, y));
    case 5:
      return exact(x % y);
    case 6:
      return exact(floor_divide(x, y));
    case 7:
      return exact(x & y);
    case 8:
      return exact(x | y);
    case 9:
      return exact(x ^ y);
    case 10:
      return exact(x << y);
    case 11:
      return exact(fmod(x, y));
    case 12:
      return exact(clip(x, y, y + 3));
    case 13:
      return exact(gcd(x % 50, y % 50));
    default:
      return exact(x >> y);
  }
}

bool Steps::binary_narrow(const Value& a, const Value& b) {
  const Array& x = a.array;
  const Array& y = b.array;
  switch (random_.below(7)) {
    case 0:
      return exact(maximum(x, y));
    case 1:
      return exact(minimum(x, y));
    case 2:
      return exact(clip(x + y, -8, 8));
    case 3:
      return exact(clip(x - y, -8, 8));
    case 4:
      // By whole numbers: products of products do not underflow.
      return exact(clip(x * round(y), -8, 8));
    case 5:
      return coarse(x / (1 + abs(y)));
    default:
      return coarse(x * y + x);
  }
}

bool Steps::binary() {
  const auto both = two();
  if (!both) return false;
  const Array& x = both->first.array;
  const Array& y = both->second.array;
  if (both->first.boolean()) {
    switch (random_.below(3)) {
      case 0:
        return exact(x && y);
      case 1:
        return exact(x || y);
      default:
        return exact(logical_xor(x, y));
    }
  }
  if (both->first.integer()) return binary_integer(both->first, both->second);
  if (both->first.narrow()) return binary_narrow(both->first, both->second);
  const Trust trust = worse(both->first, both->second);
  const Dim kind = random_.below(11);
  if (style_.smooth && trust != Trust::exact && (kind < 2 || kind == 8)) return false;
  switch (kind) {
    case 0:
      return add(maximum(x, y), trust);
    case 1:
      return add(minimum(x, y), trust);
    case 2:
      return rounded((x + y) * 0.5);
    case 3:
      return rounded((x - y) * 0.5);
    case 4:
      return rounded(x * y * 0.25);
    case 5:
      return rounded(atan2(x, y + 5));
    case 6:
      return rounded(hypot(x, y + 0.01) * 0.7);
    case 7:
      return rounded(x / (1 + y * y) * 0.6);
    case 8:
      return rounded(pow(abs(x) * 0.25 + 1, tanh(y)));
    case 9:
      return rounded(logaddexp(x, y) * 0.5);
    default:
      return rounded((sin(x) + cos(y)) * 0.5);
  }
}

bool Steps::compare() {
  const auto both = two();
  if (!both || !both->first.exact() || !both->second.exact()) return false;
  const Array& x = both->first.array;
  const Array& y = both->second.array;
  if (both->first.boolean()) return exact(x == y);
  switch (random_.below(7)) {
    case 0:
      return exact(x == y);
    case 1:
      return exact(x != y);
    case 2:
      return exact(x < y);
    case 3:
      return exact(x <= y);
    case 4:
      return exact(x > y);
    case 5:
      return exact(both->first.integer() ? x >= 1 : isfinite(x));
    default:
      return exact(x >= y);
  }
}

bool Steps::choose() {
  const auto condition = pick([](const Value& v) { return v.boolean(); });
  const auto both = two();
  if (!condition || !both) return false;
  const Shape& wide =
      both->first.rank() > both->second.rank() ? both->first.shape() : both->second.shape();
  if (!broadcasts(condition->shape(), wide)) return false;
  return add(where(condition->array, both->first.array, both->second.array),
             worse(both->first, both->second));
}

bool Steps::create() {
  const Dim n = length();
  const DType t = dtype();
  switch (random_.below(5)) {
    case 0:
      return exact(cast(iota(Shape(n), 0) % 5, t));
    case 1:
      return exact(full({n, 2}, 1, t));
    case 2:
      return exact(arange(n) * 3 - 4);
    case 3:
      return exact(eye(std::min<Dim>(n, 20), {}, t));
    default:
      return exact(array({0.5, -1.0, 0.25, 1.5}));
  }
}

}  // namespace gnomon::testing
