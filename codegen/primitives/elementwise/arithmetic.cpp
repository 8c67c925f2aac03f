// codegen/primitives/elementwise/arithmetic.cpp -- arithmetic of two operands, rounding, sign and
// integer powers.
#include <cmath>

#include "codegen/primitives/families.h"
#include "shaders/math/elementary.h"

namespace gnomon {
using namespace rules;
using kernel::Builder;
using kernel::Op;
using kernel::Value;
using std::floating_point;

namespace {

// Truncating integer division with the kernel IR's answers where C++ has none.
template <class T>
T divide(T a, T b) {
  if constexpr (host::is_real<T>) {
    return T(a / b);
  } else {
    if (b == 0) return static_cast<T>(~T{0});
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return host::wrap_sub(T{0}, a);
    return static_cast<T>(a / b);
  }
}
template <class T>
T remainder(T a, T b) {
  if (b == 0) return a;
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
  return static_cast<T>(a % b);
}

template <class T>
T sign(T x) {
  if (x > 0) return T{1};
  return x < 0 ? static_cast<T>(-1) : x;  // keeps the sign of zero, and NaN
}

// A product is linear in each operand, not in both at once.
Tangents transpose_mul(const TransposeArgs& t) {
  Tangents r(2);
  if (t.linear[0] && t.linear[1]) throw_not_linear("mul");
  if (!t.cotangents[0]) return r;
  if (t.linear[0]) r[0] = lax::mul(*t.cotangents[0], t.inputs[1]);
  if (t.linear[1]) r[1] = lax::mul(t.inputs[0], *t.cotangents[0]);
  return r;
}

// Half of the tangent where both operands are the extremum.
Array extremum_share(const Array& mine, const Array& other, const Array& y, const Array& tangent) {
  const Array share = lax::select(lax::eq(other, y), lax::full_like(y, 0.5), lax::full_like(y, 1));
  return lax::mul(tangent, lax::select(lax::eq(mine, y), share, lax::zeros_like(y)));
}
constexpr auto extremum_left = [](const Array& a, const Array& b, const Array& y, const Array& d) {
  return extremum_share(a, b, y, d);
};
constexpr auto extremum_right = [](const Array& a, const Array& b, const Array& y, const Array& d) {
  return extremum_share(b, a, y, d);
};

}  // namespace

const Primitive add_p = linear(
    binary<add_p, Accepts::numbers, [](auto a, auto b) { return host::plus(a, b); },
           k_binary<Op::add>,
           [](const Array&, const Array&, const Array&, const Array& d) { return d; },
           [](const Array&, const Array&, const Array&, const Array& d) { return d; }>("add"),
    [](const TransposeArgs& t) {
      Tangents r(2);
      for (std::size_t i = 0; i < 2; ++i)
        if (t.linear[i]) r[i] = t.cotangents[0];
      return r;
    });

const Primitive sub_p = linear(
    binary<sub_p, Accepts::numbers,
           [](auto a, auto b) {
             if constexpr (floating_point<decltype(a)>)
               return a - b;
             else
               return host::wrap_sub(a, b);
           },
           k_binary<Op::sub>,
           [](const Array&, const Array&, const Array&, const Array& d) { return d; },
           [](const Array&, const Array&, const Array&, const Array& d) { return lax::neg(d); }>(
        "sub"),
    [](const TransposeArgs& t) {
      Tangents r(2);
      if (!t.cotangents[0]) return r;
      if (t.linear[0]) r[0] = t.cotangents[0];
      if (t.linear[1]) r[1] = lax::neg(*t.cotangents[0]);
      return r;
    });

const Primitive mul_p = linear(
    binary<
        mul_p, Accepts::numbers, [](auto a, auto b) { return host::times(a, b); },
        k_binary<Op::mul>,
        [](const Array&, const Array& b, const Array&, const Array& d) { return lax::mul(d, b); },
        [](const Array& a, const Array&, const Array&, const Array& d) { return lax::mul(a, d); }>(
        "mul"),
    transpose_mul);

const Primitive div_p = linear(
    binary<div_p, Accepts::numbers, [](auto a, auto b) { return divide(a, b); }, k_binary<Op::div>,
           [](const Array&, const Array& b, const Array&, const Array& d) {
             return lax::div(d, b);
           },
           [](const Array&, const Array& b, const Array& y, const Array& d) {
             return lax::neg(lax::mul(d, lax::div(y, b)));
           }>("div"),
    [](const TransposeArgs& t) {
      if (t.linear[1]) throw_not_linear("div");
      Tangents r(2);
      if (t.cotangents[0]) r[0] = lax::div(*t.cotangents[0], t.inputs[1]);
      return r;
    });

/// Remainder of integers divided towards zero: the sign of the dividend.
const Primitive rem_p =
    binary<rem_p, Accepts::integers, [](auto a, auto b) { return remainder(a, b); },
           k_binary<Op::rem>, no_derivative, no_derivative>("rem");

/// x^y of floats. d/dx is 0 for y == 0; d/dy takes the logarithm of 1 where x == 0.
const Primitive pow_p = lowered(
    binary<pow_p, Accepts::floats, [](auto a, auto b) { return std::pow(a, b); }, math::pow,
           [](const Array& a, const Array& b, const Array&, const Array& d) {
             const Array zero = lax::zeros_like(b), constant = lax::eq(b, zero);
             const Array lowered = lax::select(constant, lax::full_like(b, 1), lax::add(b, -1));
             const Array slope = lax::mul(b, emit1(pow_p, {}, {a, lowered}, {}));
             return lax::mul(d, lax::select(constant, zero, slope));
           },
           [](const Array& a, const Array&, const Array& y, const Array& d) {
             const Array base =
                 lax::select(lax::eq(a, lax::zeros_like(a)), lax::full_like(a, 1), a);
             return lax::mul(d, lax::mul(lax::unary(log_p, base), y));
           }>("pow"),
    Lowering::per_element(element2_or_built_in<math::pow, kernel::Op::pow>, Cost::heavy));

/// x / (a^2 + b^2), both over the larger one: their squares neither overflow nor vanish together.
static Array part_of_square(const Array& x, const Array& a, const Array& b) {
  const Array size = lax::unary(stop_gradient_p,
                                emit1(max_p, {}, {lax::unary(abs_p, a), lax::unary(abs_p, b)}, {}));
  const Array p = lax::div(a, size), q = lax::div(b, size);
  return lax::div(lax::div(lax::div(x, size), lax::add(lax::mul(p, p), lax::mul(q, q))), size);
}

const Primitive atan2_p = lowered(
    binary<atan2_p, Accepts::floats, [](auto a, auto b) { return std::atan2(a, b); }, math::atan2,
           [](const Array& a, const Array& b, const Array&, const Array& d) {
             return lax::mul(d, part_of_square(b, a, b));
           },
           [](const Array& a, const Array& b, const Array&, const Array& d) {
             return lax::neg(lax::mul(d, part_of_square(a, a, b)));
           }>("atan2"),
    Lowering::per_element(element2_or_built_in<math::atan2, kernel::Op::atan2>, Cost::heavy));

/// NaN when either operand is; equal operands share the tangent.
const Primitive max_p =
    binary<max_p, Accepts::numbers, [](auto a, auto b) { return host::larger(a, b); },
           math::maximum_nan, extremum_left, extremum_right>("max");
const Primitive min_p =
    binary<min_p, Accepts::numbers, [](auto a, auto b) { return host::smaller(a, b); },
           math::minimum_nan, extremum_left, extremum_right>("min");

/// max(x, 0), NaN for NaN; the derivative is 1 above 0 and 0 elsewhere.
const Primitive relu_p =
    unary<relu_p, Accepts::numbers, [](auto a) { return host::larger(a, decltype(a){0}); },
          [](Builder& k, Value x) { return math::maximum_nan(k, x, k.constant(k.type(x), 0)); },
          [](const Array& x, const Array&, const Array& d) {
            return lax::select(lax::lt(lax::zeros_like(x), x), d, lax::zeros_like(d));
          }>("relu");

const Primitive neg_p = linear(
    unary<neg_p, Accepts::numbers,
          [](auto a) {
            if constexpr (floating_point<decltype(a)>)
              return -a;
            else
              return host::wrap_sub(decltype(a){0}, a);
          },
          k_unary<Op::neg>, [](const Array&, const Array&, const Array& d) { return lax::neg(d); }>(
        "neg"),
    [](const TransposeArgs& t) {
      Tangents r(1);
      if (t.cotangents[0]) r[0] = lax::neg(*t.cotangents[0]);
      return r;
    });

/// The derivative at 0 is 0.
const Primitive abs_p = unary<abs_p, Accepts::signed_numbers,
                              [](auto a) {
                                if constexpr (floating_point<decltype(a)>)
                                  return std::fabs(a);
                                else
                                  return a < 0 ? host::wrap_sub(decltype(a){0}, a) : a;
                              },
                              k_unary<Op::abs>,
                              [](const Array& x, const Array&, const Array& d) {
                                return lax::mul(d, lax::unary(sign_p, x));
                              }>("abs");

const Primitive sign_p =
    unary<sign_p, Accepts::numbers, [](auto a) { return sign(a); }, math::sign, no_derivative>(
        "sign");
const Primitive floor_p = unary<floor_p, Accepts::floats, [](auto a) { return std::floor(a); },
                                k_unary<Op::floor>, no_derivative>("floor");
const Primitive ceil_p = unary<ceil_p, Accepts::floats, [](auto a) { return std::ceil(a); },
                               k_unary<Op::ceil>, no_derivative>("ceil");
/// Halves go to the even neighbour.
const Primitive round_p = unary<round_p, Accepts::floats, [](auto a) { return std::nearbyint(a); },
                                math::round_even, no_derivative>("round");
const Primitive trunc_p = unary<trunc_p, Accepts::floats, [](auto a) { return std::trunc(a); },
                                math::trunc, no_derivative>("trunc");

// ---- integer_pow

namespace {

// Squares and multiplies; host and kernel go through it in the same order, so they round alike.
template <class V, class Multiply>
V power(V base, unsigned exponent, V one, Multiply multiply) {
  V r = one;
  bool started = false;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1u) {
      r = started ? multiply(r, base) : base;
      started = true;
    }
    if (exponent > 1) base = multiply(base, base);
  }
  return r;
}
unsigned magnitude(int exponent) {
  return exponent < 0 ? 0u - static_cast<unsigned>(exponent) : static_cast<unsigned>(exponent);
}

}  // namespace

const Primitive integer_pow_p{
    .name = "integer_pow",
    .parse = parse_params<IntegerPowParams>,
    .shape =
        [](const Params& params, std::span<const Aval> in, Loc loc) {
          const Aval a = elementwise_aval("integer_pow", in, 1, Accepts::numbers, loc);
          const int n = params.as<IntegerPowParams>().exponent;
          if (n < 0 && !is_float(a.dtype))
            usage_error("integer_pow",
                        to_string(a) + " to the power " + std::to_string(n) +
                            " is not an integer; cast to a float first",
                        loc);
          return std::vector<Aval>{a};
        },
    .jvp =
        [](const Params& params, const Arrays& in, const Arrays&, const Tangents& d) {
          const int n = params.as<IntegerPowParams>().exponent;
          if (n == 0) return Tangents(1);
          if (n == 1) return Tangents{d[0]};
          return Tangents{lax::mul(*d[0], lax::mul(lax::integer_pow(in[0], n - 1), n))};
        },
    .transpose = not_linear<integer_pow_p>,
    .batch = batch_elementwise<integer_pow_p>,
    .lower = Lowering::per_element([](ElementContext& c, const Params& params, std::size_t,
                                      const Index& i) {
      const int n = params.as<IntegerPowParams>().exponent;
      Builder& k = c.k;
      const Value x = c.operand(0, i), one = k.number(k.type(x).scalar, 1);
      const Value r = power(x, magnitude(n), one, [&](Value a, Value b) { return k.mul(a, b); });
      return n < 0 ? k.div(one, r) : r;
    }),
    .reference =
        [](const Params& params, std::span<const Aval> out, std::span<const HostArray> in) {
          const int n = params.as<IntegerPowParams>().exponent;
          HostArray r(out[0]);
          host::dispatch(out[0].dtype, "integer_pow", [&]<class T>() {
            if constexpr (!std::is_same_v<T, bool>)
              for (Dim i = 0; i < r.size(); ++i) {
                const T p = power(host::get<T>(in[0], i), magnitude(n), T{1},
                                  [](T a, T b) { return host::times(a, b); });
                host::put<T>(r, i, n < 0 ? divide(T{1}, p) : p);
              }
          });
          return std::vector<HostArray>{std::move(r)};
        },
};

}  // namespace gnomon
