// tests/oracle/table_ieee.cpp -- what IEEE arithmetic and the integers define to the last bit.
#include <bit>
#include <cmath>
#include <limits>

#include "gnomon/numeric.h"
#include "gnomon/ops.h"
#include "real.h"
#include "table.h"

namespace oracle {
namespace {

namespace gn = gnomon;
using O = Operand;
constexpr DType truth = DType::boolean;

template <class T>
T larger_of(T a, T b) {
  return std::isnan(a) || std::isnan(b) ? a + b : std::fmax(a, b);
}

// NumPy's, from C's: npy_divmod, numpy/core/src/npymath/npy_math_internal.h.src, in words: the
// remainder has the divisor's sign, also where it is 0.
template <class T>
T remainder_of(T a, T b) {
  T r = std::fmod(a, b);
  if (b == 0 || std::isnan(r)) return r;
  if (r == 0) return std::copysign(T{0}, b);
  return (r < 0) != (b < 0) ? r + b : r;
}
// NumPy's again for zeros, infinities and NaN. The quotient that NumPy makes of the remainder is
// rounded twice and up to one unit off (8.81922348e-31f by 5.46826009e-38f is 16128024.9 and
// NumPy's floor of it 16128023), so that the integer is taken from MPFR.
template <class T>
T quotient_of(T a, T b) {
  if (b == 0) return a / b;
  if (!std::isfinite(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  if (std::isinf(b)) return a != 0 && (a < 0) != (b < 0) ? T{-1} : a / b;
  const Real q = floor_of_quotient(a, b);
  if (q.zero()) return std::copysign(T{0}, a / b);
  if constexpr (sizeof(T) == sizeof(float)) return mpfr_get_flt(q.get(), MPFR_RNDN);
  return mpfr_get_d(q.get(), MPFR_RNDN);
}

template <class T>
int exponent_of(T y) {
  return std::isnan(y) ? 0 : static_cast<int>(std::fmin(std::fmax(y, T{-300}), T{300}));
}
template <class T>
T sign_of(T x) {
  return std::isnan(x) || x == 0 ? x : std::copysign(T{1}, x);
}
template <class T>
T frexp_mantissa(T x) {
  int e = 0;
  return std::frexp(x, &e);
}
template <class T>
T frexp_exponent(T x) {
  int e = 0;
  if (x == 0 || !std::isfinite(x)) return 0;
  std::frexp(x, &e);
  return static_cast<T>(e);
}

Int gcd(Int a, Int b) {
  while (b != 0) {
    const Int r = a % b;
    a = b;
    b = r;
  }
  return a < 0 ? -a : a;
}
Int modulus(Int a, Int b) { return b == 0 ? a : a % b; }
Int quotient(Int a, Int b, const Type& t) {
  if (b == 0) return t.is_signed ? -1 : t.high;
  return a / b;
}

}  // namespace

#define GNOMON_EXACT_1(expression) \
  [](float x) -> float { return expression; }, [](double x) -> double { return expression; }
#define GNOMON_EXACT_2(expression)                      \
  [](float x, float y) -> float { return expression; }, \
      [](double x, double y) -> double { return expression; }

// Rows are laid out as those of tables.
// clang-format off
Family ieee() {
  return {.name = "Ieee",
          .exact = {
              {"floor", gn::floor, GNOMON_EXACT_1(std::floor(x))},
              {"ceil", gn::ceil, GNOMON_EXACT_1(std::ceil(x))},
              {"round(Operand,RoundingMethod)", [](O x) { return gn::round(x); }, GNOMON_EXACT_1(std::nearbyint(x))},
              {"trunc", gn::trunc, GNOMON_EXACT_1(std::trunc(x))},
              {"sqrt(Operand)", gn::sqrt, GNOMON_EXACT_1(std::sqrt(x))},
              {"reciprocal", gn::reciprocal, GNOMON_EXACT_1(1 / x)},
              {"square", gn::square, GNOMON_EXACT_1(x * x)},
              {"abs(Operand)", [](O x) { return gn::abs(x); }, GNOMON_EXACT_1(std::fabs(x))},
              {"negative", gn::negative, GNOMON_EXACT_1(-x)},
              {"sign", gn::sign, GNOMON_EXACT_1(sign_of(x))},
              {"frexp", [](O x) { return gn::frexp(x).mantissa; }, GNOMON_EXACT_1(frexp_mantissa(x))},
              {"frexp", [](O x) { return gn::frexp(x).exponent; }, GNOMON_EXACT_1(frexp_exponent(x)),
               DType::i32},
              {"isnan", gn::isnan, GNOMON_EXACT_1(std::isnan(x)), truth},
              {"isinf", gn::isinf, GNOMON_EXACT_1(std::isinf(x)), truth},
              {"isfinite", gn::isfinite, GNOMON_EXACT_1(std::isfinite(x)), truth},
              {"isposinf", gn::isposinf, GNOMON_EXACT_1(std::isinf(x) && x > 0), truth},
              {"isneginf", gn::isneginf, GNOMON_EXACT_1(std::isinf(x) && x < 0), truth},
              {"signbit", gn::signbit, GNOMON_EXACT_1(std::signbit(x)), truth},
              {"add", gn::add, GNOMON_EXACT_2(x + y)},
              {"subtract", gn::subtract, GNOMON_EXACT_2(x - y)},
              {"multiply", gn::multiply, GNOMON_EXACT_2(x* y)},
              {"divide", gn::divide, GNOMON_EXACT_2(x / y)},
              {"fmod", gn::fmod, GNOMON_EXACT_2(std::fmod(x, y))},
              {"remainder operator% operator%=", gn::remainder, GNOMON_EXACT_2(remainder_of(x, y))},
              {"floor_divide", gn::floor_divide, GNOMON_EXACT_2(quotient_of(x, y))},
              {"divmod", [](O a, O b) { return gn::divmod(a, b).first; },
               GNOMON_EXACT_2(quotient_of(x, y))},
              {"divmod", [](O a, O b) { return gn::divmod(a, b).second; },
               GNOMON_EXACT_2(remainder_of(x, y))},
              {"nextafter", gn::nextafter, GNOMON_EXACT_2(std::nextafter(x, y))},
              {"copysign", gn::copysign, GNOMON_EXACT_2(std::copysign(x, y))},
              {"equal(Operand,Operand) operator==", gn::equal, GNOMON_EXACT_2(x == y), truth},
              {"not_equal operator!=", gn::not_equal, GNOMON_EXACT_2(x != y), truth},
              {"less operator<", gn::less, GNOMON_EXACT_2(x < y), truth},
              {"less_equal operator<=", gn::less_equal, GNOMON_EXACT_2(x <= y), truth},
              {"greater operator>", gn::greater, GNOMON_EXACT_2(x > y), truth},
              {"greater_equal operator>=", gn::greater_equal, GNOMON_EXACT_2(x >= y), truth},
              // Of zeros of both signs either is the larger one.
              {"maximum", gn::maximum, GNOMON_EXACT_2(larger_of(x, y)), DType::f32, true},
              {"minimum", gn::minimum, GNOMON_EXACT_2(-larger_of(-x, -y)), DType::f32, true},
              {"fmax", gn::fmax, GNOMON_EXACT_2(std::fmax(x, y)), DType::f32, true},
              {"fmin", gn::fmin, GNOMON_EXACT_2(std::fmin(x, y)), DType::f32, true},
              {"ldexp",
               [](O x, O y) {
                 return gn::ldexp(x, gn::cast(gn::clip(gn::nan_to_num(y), -300, 300), DType::i32));
               },
               GNOMON_EXACT_2(std::ldexp(x, exponent_of(y)))},
          }};
}

Family integers() {
  return {.name = "Integers",
          .whole = {
              {"add", gn::add, [](Int a, Int b, Type) { return a + b; }, DType::f32, true},
              {"subtract", gn::subtract, [](Int a, Int b, Type) { return a - b; }},
              {"multiply", gn::multiply,
               // The low 64 bits are all that any type keeps.
               [](Int a, Int b, Type) {
                 return static_cast<Int>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
               }, DType::f32, true},
              {"floor_divide", gn::floor_divide, [](Int a, Int b, Type t) {
                 const Int q = quotient(a, b, t);
                 return b != 0 && a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
               }},
              {"remainder", gn::remainder, [](Int a, Int b, Type) {
                 const Int r = modulus(a, b);
                 return b != 0 && r != 0 && (r < 0) != (b < 0) ? r + b : r;
               }},
              {"operator%=", [](O a, O b) { Array x = a.array(); return x %= b; }, [](Int a, Int b, Type) {
                 const Int r = modulus(a, b);
                 return b != 0 && r != 0 && (r < 0) != (b < 0) ? r + b : r;
               }},
              {"fmod", gn::fmod, [](Int a, Int b, Type) { return modulus(a, b); }},
              {"divmod", [](O a, O b) { return gn::divmod(a, b).first; }, [](Int a, Int b, Type t) {
                 const Int q = quotient(a, b, t);
                 return b != 0 && a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
               }},
              {"negative", gn::negative, [](Int a, Type) { return -a; }},
              {"abs(Operand)", [](O x) { return gn::abs(x); }, [](Int a, Type) { return a < 0 ? -a : a; }},
              {"sign", gn::sign, [](Int a, Type) -> Int { return (a > 0) - (a < 0); }},
              {"square", gn::square, [](Int a, Type) {
                 return static_cast<Int>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(a));
               }},
              {"pow(Operand,Operand)", [](O x) { return gn::pow(x, 3); }, [](Int a, Type) {
                 const auto u = static_cast<std::uint64_t>(a);
                 return static_cast<Int>(u * u * u);
               }},
              {"floor", gn::floor, [](Int a, Type) { return a; }},
              {"round(Operand,RoundingMethod)", [](O x) { return gn::round(x); }, [](Int a, Type) { return a; }},
              {"maximum", gn::maximum, [](Int a, Int b, Type) { return a < b ? b : a; }, DType::f32, true},
              {"minimum", gn::minimum, [](Int a, Int b, Type) { return b < a ? b : a; }, DType::f32, true},
              {"fmax", gn::fmax, [](Int a, Int b, Type) { return a < b ? b : a; }},
              {"fmin", gn::fmin, [](Int a, Int b, Type) { return b < a ? b : a; }},
              {"equal(Operand,Operand)", gn::equal, [](Int a, Int b, Type) -> Int { return a == b; }, truth, true},
              {"not_equal", gn::not_equal, [](Int a, Int b, Type) -> Int { return a != b; }, truth, true},
              {"less", gn::less, [](Int a, Int b, Type) -> Int { return a < b; }, truth, true},
              {"less_equal", gn::less_equal, [](Int a, Int b, Type) -> Int { return a <= b; }, truth, true},
              {"greater", gn::greater, [](Int a, Int b, Type) -> Int { return a > b; }, truth, true},
              {"greater_equal", gn::greater_equal, [](Int a, Int b, Type) -> Int { return a >= b; }, truth, true},
              {"bitwise_and operator&", gn::bitwise_and, [](Int a, Int b, Type) { return a & b; }, DType::f32, true},
              {"bitwise_or operator|", gn::bitwise_or, [](Int a, Int b, Type) { return a | b; }, DType::f32, true},
              {"bitwise_xor operator^", gn::bitwise_xor, [](Int a, Int b, Type) { return a ^ b; }, DType::f32, true},
              {"bitwise_not operator~", gn::bitwise_not,
               [](Int a, Type t) { return t.dtype == truth ? Int{1} - a : ~a; }, DType::f32, true},
              {"left_shift operator<<", gn::left_shift, [](Int a, Int b, Type t) {
                 const auto n = static_cast<unsigned>(static_cast<std::uint64_t>(b) % static_cast<unsigned>(t.bits));
                 return static_cast<Int>(static_cast<std::uint64_t>(a) << n);
               }},
              {"right_shift operator>>", gn::right_shift, [](Int a, Int b, Type t) {
                 return a >> static_cast<unsigned>(static_cast<std::uint64_t>(b) % static_cast<unsigned>(t.bits));
               }},
              {"popcount", gn::popcount, [](Int a, Type t) {
                 Int n = 0;
                 for (int i = 0; i < t.bits; ++i) n += (a >> i) & 1;
                 return n;
               }},
              {"clz", gn::clz, [](Int a, Type t) {
                 Int n = 0;
                 while (n < t.bits && ((a >> (t.bits - 1 - static_cast<int>(n))) & 1) == 0) ++n;
                 return n;
               }},
              {"gcd", gn::gcd, [](Int a, Int b, Type) { return gcd(a, b); }},
              {"lcm", gn::lcm, [](Int a, Int b, Type t) -> Int {
                 if (a == 0 || b == 0) return 0;
                 const Int p = t.wrapped(a / gcd(a, b) * b);
                 return p < 0 ? -p : p;
               }},
              {"logical_and operator&&(Array,Array) operator&&(Array,bool) operator&&(bool,Array)",
               [](O a, O b) { return gn::logical_and(a != 0, b != 0) && true; },
               [](Int a, Int b, Type) -> Int { return a != 0 && b != 0; }, truth},
              {"logical_or operator||(Array,Array) operator||(Array,bool) operator||(bool,Array)",
               [](O a, O b) { return false || gn::logical_or(a != 0, b != 0); },
               [](Int a, Int b, Type) -> Int { return a != 0 || b != 0; }, truth},
              {"logical_xor", [](O a, O b) { return gn::logical_xor(a != 0, b != 0); },
               [](Int a, Int b, Type) -> Int { return (a != 0) != (b != 0); }, truth},
              {"logical_not operator!", [](O a) { return gn::logical_not(a != 0); },
               [](Int a, Type) -> Int { return a == 0; }, truth},
              {"clip", [](O a) { return gn::clip(a, 2, 9); },
               [](Int a, Type) -> Int { return a < 2 ? 2 : a > 9 ? 9 : a; }},
          }};
}
// clang-format on

}  // namespace oracle
