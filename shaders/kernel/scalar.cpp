// shaders/kernel/scalar.cpp -- scalar semantics of the kernel IR as function pointers.
#include "shaders/kernel/scalar.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "shaders/support/check.h"
#include "shaders/support/half.h"

namespace gnomon::kernel {
namespace {

using Bits = std::uint64_t;

/// Host type in which a dtype is computed.
template <DType D>
auto host_type() {
  if constexpr (D == DType::boolean)
    return bool{};
  else if constexpr (D == DType::i8)
    return std::int8_t{};
  else if constexpr (D == DType::u8)
    return std::uint8_t{};
  else if constexpr (D == DType::i16)
    return std::int16_t{};
  else if constexpr (D == DType::u16)
    return std::uint16_t{};
  else if constexpr (D == DType::i32)
    return std::int32_t{};
  else if constexpr (D == DType::u32)
    return std::uint32_t{};
  else if constexpr (D == DType::i64)
    return std::int64_t{};
  else if constexpr (D == DType::u64)
    return std::uint64_t{};
  else if constexpr (D == DType::f64)
    return double{};
  else
    return float{};
}
template <DType D>
using Host = decltype(host_type<D>());

template <DType D>
Host<D> decode(Bits bits) {
  if constexpr (D == DType::boolean)
    return bits != 0;
  else if constexpr (D == DType::f16)
    return f16_value(static_cast<std::uint16_t>(bits));
  else if constexpr (D == DType::bf16)
    return bf16_value(static_cast<std::uint16_t>(bits));
  else if constexpr (D == DType::f32)
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  else if constexpr (D == DType::f64)
    return std::bit_cast<double>(bits);
  else
    return static_cast<Host<D>>(bits);
}

template <DType D>
Bits encode(Host<D> x) {
  if constexpr (D == DType::boolean)
    return x ? 1 : 0;
  else if constexpr (D == DType::f16)
    return f16_bits(x);
  else if constexpr (D == DType::bf16)
    return bf16_bits(x);
  else if constexpr (D == DType::f32)
    return std::bit_cast<std::uint32_t>(x);
  else if constexpr (D == DType::f64)
    return std::bit_cast<Bits>(x);
  else
    return static_cast<std::make_unsigned_t<Host<D>>>(x);
}

/// Integer arithmetic in u64 and truncated by `encode`, so that nothing overflows.
template <DType D, Op O>
Host<D> integer(Host<D> a, Host<D> b) {
  using T = Host<D>;
  const Bits x = static_cast<Bits>(a), y = static_cast<Bits>(b);
  constexpr T lowest = std::numeric_limits<T>::min();
  constexpr unsigned width = sizeof(T) * 8;
  if constexpr (O == Op::add)
    return static_cast<T>(x + y);
  else if constexpr (O == Op::sub)
    return static_cast<T>(x - y);
  else if constexpr (O == Op::mul)
    return static_cast<T>(x * y);
  else if constexpr (O == Op::div) {
    if (b == 0) return static_cast<T>(~Bits{0});
    if (std::is_signed_v<T> && a == lowest && b == static_cast<T>(-1)) return lowest;
    return static_cast<T>(a / b);
  } else if constexpr (O == Op::rem) {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  } else if constexpr (O == Op::minimum)
    return a < b ? a : b;
  else if constexpr (O == Op::maximum)
    return a > b ? a : b;
  else if constexpr (O == Op::neg)
    return static_cast<T>(Bits{0} - x);
  else if constexpr (O == Op::abs)
    return a < T{0} ? static_cast<T>(Bits{0} - x) : a;
  else if constexpr (O == Op::band)
    return static_cast<T>(x & y);
  else if constexpr (O == Op::bor)
    return static_cast<T>(x | y);
  else if constexpr (O == Op::bxor)
    return static_cast<T>(x ^ y);
  else if constexpr (O == Op::bnot)
    return static_cast<T>(~x);
  else if constexpr (O == Op::shl)
    return static_cast<T>(x << (y % width));
  else if constexpr (O == Op::shr)
    return static_cast<T>(a >> (y % width));
  else if constexpr (O == Op::popcount) {
    return static_cast<T>(std::popcount(static_cast<std::make_unsigned_t<T>>(a)));
  } else {
    static_assert(O == Op::mul_high);
    return static_cast<T>((x * y) >> 32);
  }
}

template <Op O, class T>
T real(T a, T b, T c) {
  if constexpr (O == Op::add)
    return a + b;
  else if constexpr (O == Op::sub)
    return a - b;
  else if constexpr (O == Op::mul)
    return a * b;
  else if constexpr (O == Op::div)
    return a / b;
  else if constexpr (O == Op::rem)
    return std::fmod(a, b);
  else if constexpr (O == Op::minimum)
    return a < b ? a : b;
  else if constexpr (O == Op::maximum)
    return a > b ? a : b;
  else if constexpr (O == Op::pow)
    return std::pow(a, b);
  else if constexpr (O == Op::atan2)
    return std::atan2(a, b);
  else if constexpr (O == Op::neg)
    return -a;
  else if constexpr (O == Op::abs)
    return std::fabs(a);
  else if constexpr (O == Op::floor)
    return std::floor(a);
  else if constexpr (O == Op::ceil)
    return std::ceil(a);
  else if constexpr (O == Op::round_even)
    return std::nearbyint(a);
  else if constexpr (O == Op::trunc)
    return std::trunc(a);
  else if constexpr (O == Op::sqrt)
    return std::sqrt(a);
  else if constexpr (O == Op::rsqrt)
    return T{1} / std::sqrt(a);
  else if constexpr (O == Op::exp)
    return std::exp(a);
  else if constexpr (O == Op::exp2)
    return std::exp2(a);
  else if constexpr (O == Op::log)
    return std::log(a);
  else if constexpr (O == Op::log2)
    return std::log2(a);
  else if constexpr (O == Op::sin)
    return std::sin(a);
  else if constexpr (O == Op::cos)
    return std::cos(a);
  else if constexpr (O == Op::tan)
    return std::tan(a);
  else if constexpr (O == Op::asin)
    return std::asin(a);
  else if constexpr (O == Op::acos)
    return std::acos(a);
  else if constexpr (O == Op::atan)
    return std::atan(a);
  else if constexpr (O == Op::sinh)
    return std::sinh(a);
  else if constexpr (O == Op::cosh)
    return std::cosh(a);
  else if constexpr (O == Op::tanh)
    return std::tanh(a);
  else if constexpr (O == Op::asinh)
    return std::asinh(a);
  else if constexpr (O == Op::acosh)
    return std::acosh(a);
  else if constexpr (O == Op::atanh)
    return std::atanh(a);
  else {
    static_assert(O == Op::fma);
    return a * b + c;
  }
}

template <DType D, Op O>
Bits apply(Bits a, [[maybe_unused]] Bits b, [[maybe_unused]] Bits c) {
  if constexpr (O == Op::neg && is_float(D)) {
    return a ^ (Bits{1} << (bits_of(D) - 1));  // of NaN as well: a sign flip, not arithmetic
  } else if constexpr (O == Op::abs && is_float(D)) {
    return a & ~(Bits{1} << (bits_of(D) - 1));
  } else if constexpr (is_float(D)) {
    return encode<D>(real<O>(decode<D>(a), decode<D>(b), decode<D>(c)));
  } else if constexpr (D == DType::boolean) {
    if constexpr (O == Op::band)
      return a & b & 1;
    else if constexpr (O == Op::bor)
      return (a | b) & 1;
    else if constexpr (O == Op::bxor)
      return (a ^ b) & 1;
    else
      return ~a & 1;
  } else {
    return encode<D>(integer<D, O>(decode<D>(a), decode<D>(b)));
  }
}

template <DType D, Op O>
Bits relate(Bits left, [[maybe_unused]] Bits right, Bits) {
  const auto a = decode<D>(left);
  [[maybe_unused]] const auto b = decode<D>(right);
  if constexpr (O == Op::eq)
    return a == b;
  else if constexpr (O == Op::ne)
    return a != b;
  else if constexpr (O == Op::lt)
    return a < b;
  else if constexpr (O == Op::le)
    return a <= b;
  else if constexpr (O == Op::gt)
    return a > b;
  else if constexpr (O == Op::ge)
    return a >= b;
  else if constexpr (O == Op::is_nan)
    return std::isnan(a);
  else
    return std::isinf(a);
}

template <DType From, DType To>
Bits converted(Bits bits, Bits, Bits) {
  const auto x = decode<From>(bits);
  using T = Host<To>;
  if constexpr (To == DType::boolean)
    return x != 0;
  else if constexpr (is_float(To) && is_integer(From)) {
    if constexpr (To == DType::f16)
      return f16_bits(half_source(x));
    else if constexpr (To == DType::bf16)
      return bf16_bits(half_source(x));
    else
      return encode<To>(static_cast<T>(x));
  } else if constexpr (is_float(To)) {
    if constexpr (To == DType::f16)
      return f16_bits(static_cast<double>(x));
    else if constexpr (To == DType::bf16)
      return bf16_bits(static_cast<double>(x));
    else
      return encode<To>(static_cast<T>(x));
  } else if constexpr (is_float(From)) {
    return from_double(To, static_cast<double>(x));
  } else {
    return encode<To>(static_cast<T>(x));
  }
}

/// Defined for every numeric type.
#define GNOMON_NUMERIC_OPS(X) X(add) X(sub) X(mul) X(div) X(rem) X(minimum) X(maximum) X(neg) X(abs)
// clang-format off
#define GNOMON_FLOAT_OPS(X) \
  X(pow) X(atan2) X(floor) X(ceil) X(round_even) X(trunc) X(sqrt) X(rsqrt) X(exp) X(exp2) X(log) \
  X(log2) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) \
  X(atanh) X(fma)
// clang-format on
#define GNOMON_INTEGER_OPS(X) X(shl) X(shr) X(popcount)
#define GNOMON_LOGIC_OPS(X) X(band) X(bor) X(bxor) X(bnot)
#define GNOMON_ORDER_OPS(X) X(lt) X(le) X(gt) X(ge)

template <DType D>
ScalarFunction function_for(Op op) {
#define X(o) \
  if (op == Op::o) return relate<D, Op::o>;
  X(eq) X(ne) if constexpr (D != DType::boolean) { GNOMON_ORDER_OPS(X) }
  if constexpr (is_float(D)) {
    X(is_nan) X(is_inf)
  }
#undef X
#define X(o) \
  if (op == Op::o) return apply<D, Op::o>;
  if constexpr (D != DType::boolean) {
    GNOMON_NUMERIC_OPS(X)
  }
  if constexpr (is_float(D)) {
    GNOMON_FLOAT_OPS(X)
  } else {
    GNOMON_LOGIC_OPS(X)
  }
  if constexpr (is_integer(D)) {
    GNOMON_INTEGER_OPS(X)
  }
  if constexpr (D == DType::u32) {
    X(mul_high)
  }
#undef X
  return nullptr;
}

#undef GNOMON_NUMERIC_OPS
#undef GNOMON_FLOAT_OPS
#undef GNOMON_INTEGER_OPS
#undef GNOMON_LOGIC_OPS
#undef GNOMON_ORDER_OPS

/// Calls `f` with the dtype as a compile-time constant.
template <class F>
auto dispatch(DType t, F f) {
  switch (t) {
    case DType::boolean:
      return f(std::integral_constant<DType, DType::boolean>{});
    case DType::i8:
      return f(std::integral_constant<DType, DType::i8>{});
    case DType::u8:
      return f(std::integral_constant<DType, DType::u8>{});
    case DType::i16:
      return f(std::integral_constant<DType, DType::i16>{});
    case DType::u16:
      return f(std::integral_constant<DType, DType::u16>{});
    case DType::i32:
      return f(std::integral_constant<DType, DType::i32>{});
    case DType::u32:
      return f(std::integral_constant<DType, DType::u32>{});
    case DType::i64:
      return f(std::integral_constant<DType, DType::i64>{});
    case DType::u64:
      return f(std::integral_constant<DType, DType::u64>{});
    case DType::f16:
      return f(std::integral_constant<DType, DType::f16>{});
    case DType::bf16:
      return f(std::integral_constant<DType, DType::bf16>{});
    case DType::f32:
      return f(std::integral_constant<DType, DType::f32>{});
    case DType::f64:
      return f(std::integral_constant<DType, DType::f64>{});
  }
  GNOMON_CHECK(false, "no such dtype");
  return f(std::integral_constant<DType, DType::u32>{});
}

template <class T>
Bits saturate(double x) {
  if (std::isnan(x)) return 0;
  // The largest 64-bit values are no doubles: compare with the power of two above them.
  const double above = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (x >= above) return static_cast<std::make_unsigned_t<T>>(std::numeric_limits<T>::max());
  if (x <= static_cast<double>(std::numeric_limits<T>::min())) {
    return static_cast<std::make_unsigned_t<T>>(std::numeric_limits<T>::min());
  }
  return static_cast<std::make_unsigned_t<T>>(static_cast<T>(x));
}

}  // namespace

ScalarFunction scalar_function(Op op, DType operand) {
  return dispatch(operand, [&](auto d) { return function_for<d()>(op); });
}

ScalarFunction convert_function(DType from, DType to) {
  return dispatch(from, [&](auto f) {
    return dispatch(to,
                    [](auto t) -> ScalarFunction { return converted<decltype(f)::value, t()>; });
  });
}

ScalarFunction words_function(Op op) {
  switch (op) {
    case Op::low_word:
      return [](Bits x, Bits, Bits) -> Bits { return x & 0xffffffffu; };
    case Op::high_word:
      return [](Bits x, Bits, Bits) -> Bits { return x >> 32; };
    default:
      GNOMON_CHECK(op == Op::from_words, "`" + std::string(name(op)) + "` is not about words");
      return [](Bits low, Bits high, Bits) -> Bits { return high << 32 | low; };
  }
}

double to_double(DType t, std::uint64_t bits) {
  return dispatch(t, [&](auto d) { return static_cast<double>(decode<d()>(bits)); });
}

std::uint64_t from_double(DType t, double x) {
  return dispatch(t, [&](auto d) -> Bits {
    constexpr DType D = d();
    if constexpr (D == DType::boolean)
      return x != 0;
    else if constexpr (D == DType::f16)
      return f16_bits(x);
    else if constexpr (D == DType::bf16)
      return bf16_bits(x);
    else if constexpr (is_float(D))
      return encode<D>(static_cast<Host<D>>(x));
    else
      return saturate<Host<D>>(x);
  });
}

}  // namespace gnomon::kernel
