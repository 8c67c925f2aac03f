// codegen/include/gnomon/ops.h -- operations on arrays, NumPy style.
//
// Broadcasting   shapes align at the last axis; an axis of length 1 stretches.
// Promotion      as in JAX without 64-bit types: bool < integers < floats, narrow < wide; u8 with
// i8
//                is i16, f16 with bf16 is f32, any integer with a float is that float. C++ numbers
//                are weak: they take the dtype of the array they meet unless their kind is higher
//                (f32 + 2 is f32, i32 + 2.0 is f32, u8 + 300 throws). Two numbers give i32, f32 or
//                bool. Nothing widens to 64 bits unasked: u32 with a signed type of up to 32 bits
//                is i32, and the upper half of u32 wraps; u64 with a signed type is f32.
// Arithmetic     integers wrap. f16 and bf16 round after every operation; sums and products of many
//                elements (reductions, dot) are made in f32 and rounded once.
// Functions of   floats convert integers and bool to f32 first, and so does `/`.
// NaN            max and min propagate it, argmax and argmin give the first one.
// Axes           negative ones count from the end.
//
// Every operation belongs inside a trace. Shapes that do not fit, wrong dtypes and axes out of
// range throw UsageError with the line of the call.
#pragma once
#include <concepts>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "gnomon/array.h"

#pragma GCC visibility push(default)
namespace gnomon {

/// Which axes an operation works on: one, several, or all of them when default-constructed.
class Axes {
 public:
  Axes() = default;
  Axes(int axis) : list_({axis}), all_(false) {}  // NOLINT: implicit on purpose
  Axes(std::initializer_list<int> axes) : list_(axes), all_(false) {}
  Axes(std::vector<int> axes) : list_(std::move(axes)), all_(false) {}  // NOLINT: likewise

  bool all() const { return all_; }
  const std::vector<int>& list() const { return list_; }

 private:
  std::vector<int> list_;
  bool all_ = true;
};

// ---- making arrays

/// Arrays of zeros, of ones, of one value. Without a dtype a value has that of a lone C++ number;
/// in the dtype that is named a number keeps all the digits it holds, and an integer that does not
/// fit throws UsageError.
Array zeros(const Shape& shape, DType dtype = DType::f32, Loc loc = Loc::here());
Array ones(const Shape& shape, DType dtype = DType::f32, Loc loc = Loc::here());
Array full(const Shape& shape, Operand value);
Array full(const Shape& shape, Operand value, DType dtype);
Array zeros_like(Operand x);
Array ones_like(Operand x);
Array full_like(Operand x, Operand value);
/// start, start + step, ... before `stop`: i32 when all are integers, else f32, or `dtype`. C++
/// numbers only.
Array arange(Operand stop);
Array arange(Operand stop, DType dtype);
Array arange(Operand start, Operand stop, Operand step = 1);
Array arange(Operand start, Operand stop, Operand step, DType dtype);
/// `count` evenly spaced f32 values from `start` to `stop`, both included.
Array linspace(double start, double stop, Dim count, Loc loc = Loc::here());
/// 0, 1, 2, ... along `axis`.
Array iota(const Shape& shape, int axis, DType dtype = DType::i32, Loc loc = Loc::here());
/// Ones on the diagonal; square unless `columns` is given.
Array eye(Dim rows, std::optional<Dim> columns = {}, DType dtype = DType::f32,
          Loc loc = Loc::here());
Array eye(Dim rows, DType dtype, Loc loc = Loc::here());

namespace detail {
Array array_of(const std::vector<Scalar>& values, DType dtype, Loc loc);
template <class T>
inline constexpr DType default_dtype_of = std::is_same_v<T, bool>       ? DType::boolean
                                          : std::is_floating_point_v<T> ? DType::f32
                                                                        : DType::i32;
}  // namespace detail
/// A small constant array of rank 1 from C++ numbers: f32, i32 or bool, or what `dtype` says. In a
/// trace its elements become part of the kernels that use it: pass larger data as an argument.
///
/// Throws UsageError for a number that the type does not hold, and for more than 1,024 of them.
template <class T>
requires std::is_arithmetic_v<T> Array array(const std::vector<T>& values, DType dtype,
                                             Loc loc = Loc::here()) {
  return detail::array_of({values.begin(), values.end()}, dtype, loc);
}
template <class T>
requires std::is_arithmetic_v<T> Array array(const std::vector<T>& values, Loc loc = Loc::here()) {
  return array(values, detail::default_dtype_of<T>, loc);
}
template <class T>
requires std::is_arithmetic_v<T> Array array(std::initializer_list<T> values, DType dtype,
                                             Loc loc = Loc::here()) {
  return array(std::vector<T>(values), dtype, loc);
}
template <class T>
requires std::is_arithmetic_v<T> Array array(std::initializer_list<T> values,
                                             Loc loc = Loc::here()) {
  return array(std::vector<T>(values), loc);
}

// ---- arithmetic. On bool, + is `or`, * is `and`; - does not exist.

Array add(Operand a, Operand b);
Array subtract(Operand a, Operand b);
Array multiply(Operand a, Operand b);
/// True division: integers give f32 (64-bit ones as well).
Array divide(Operand a, Operand b);
/// The quotient rounded towards minus infinity; x / 0 of integers has all bits set. Of floats it is
/// made of the exact quotient: the integer itself up to 2^24 (2^53 in f64), beyond it the nearest
/// float to it. Zeros and infinities as in NumPy: x / 0 is infinite, inf / x is NaN. Derivative
/// zero.
Array floor_divide(Operand a, Operand b);
/// The quotient rounded towards zero: of integers C's `/` and JAX's lax.div, which goes with `fmod`
/// as floor_divide does with `remainder`. Of floats as exact as floor_divide; trunc(a / b) where b
/// is 0 or an operand infinite. Derivative zero.
Array trunc_divide(Operand a, Operand b);
/// a - floor(a / b) * b: the sign of the divisor, zeros included, as in NumPy. x % 0 of integers is
/// x. Of floats that is exact for every pair where the signs agree, and rounded once where they do
/// not; x % 0 is NaN, x % inf is x or inf. The derivative in b is -floor(a / b).
/// Cost: about 60 instructions, and a loop where |a / b| > 2^24 (2^53), which is skipped elsewhere.
Array remainder(Operand a, Operand b);
Array negative(Operand x);
/// x^y. A C++ integer exponent multiplies out (integers too, when it is not negative); otherwise
/// floats. d/dx is 0 where y == 0; d/dy is 0 where x == 0.
Array pow(Operand x, Operand y);
/// The larger (smaller) element; NaN when either is. Equal elements share the derivative.
Array maximum(Operand a, Operand b);
Array minimum(Operand a, Operand b);
/// min(max(x, lo), hi). The derivative in x is 1 strictly inside and 0 elsewhere.
Array clip(Operand x, Operand lo, Operand hi);
/// The angle of the point (x, y).
Array atan2(Operand y, Operand x);
/// sqrt(a^2 + b^2) without overflow or underflow on the way, within 2 units of the last place:
/// infinite where either operand is, also beside a NaN. The derivative is (a, b) / hypot(a, b), 0
/// at the origin.
Array hypot(Operand a, Operand b);
/// log(exp(a) + exp(b)) without overflow.
Array logaddexp(Operand a, Operand b);

inline Array operator+(Operand a, Operand b) { return add(a, b); }
inline Array operator-(Operand a, Operand b) { return subtract(a, b); }
inline Array operator*(Operand a, Operand b) { return multiply(a, b); }
inline Array operator/(Operand a, Operand b) { return divide(a, b); }
inline Array operator%(Operand a, Operand b) { return remainder(a, b); }
inline Array operator-(Operand x) { return negative(x); }
inline Array& operator+=(Array& a, Operand b) { return a = add({a, b.loc()}, b); }
inline Array& operator-=(Array& a, Operand b) { return a = subtract({a, b.loc()}, b); }
inline Array& operator*=(Array& a, Operand b) { return a = multiply({a, b.loc()}, b); }
inline Array& operator/=(Array& a, Operand b) { return a = divide({a, b.loc()}, b); }
inline Array& operator%=(Array& a, Operand b) { return a = remainder({a, b.loc()}, b); }

namespace detail {
template <class T>
concept NoAxis = std::is_same_v<T, Array> || std::is_floating_point_v<T>;
/// Calls of max and the like that were meant to be of two operands: the second is no axis.
template <class A, class B>
concept Pairwise = (std::is_same_v<A, Array> || std::is_same_v<B, Array>)&&NoAxis<B>;
}  // namespace detail

// What looks like another library's name does not compile, and says which one is meant.
template <class A, class B>
requires detail::Pairwise<A, B> Array max(const A&, const B&) {
  static_assert(
      always_false<A>,
      "gnomon::max: it takes one array and axes, and gives the largest element; the larger "
      "one of each pair is gnomon::maximum(a, b)");
  return {};
}
template <class A, class B>
requires detail::Pairwise<A, B> Array min(const A&, const B&) {
  static_assert(always_false<A>,
                "gnomon::min: it takes one array and axes, and gives the smallest element; the "
                "smaller one of each pair is gnomon::minimum(a, b)");
  return {};
}
template <class A, class B, class C>
requires(std::is_same_v<A, Array> || std::is_same_v<B, Array> || std::is_same_v<C, Array>) Array
    clamp(const A&, const B&, const C&) {
  static_assert(always_false<A>, "gnomon: clamp of arrays is gnomon::clip(x, lo, hi)");
  return {};
}
template <class A>
requires std::is_same_v<A, Array> Array fabs(const A&) {
  static_assert(always_false<A>, "gnomon: fabs of arrays is gnomon::abs(x)");
  return {};
}

// ---- comparison and logic

Array equal(Operand a, Operand b);
Array not_equal(Operand a, Operand b);
Array less(Operand a, Operand b);
Array less_equal(Operand a, Operand b);
Array greater(Operand a, Operand b);
Array greater_equal(Operand a, Operand b);
/// Of bool arrays. Both sides are evaluated: there is no short circuit.
Array logical_and(Operand a, Operand b);
Array logical_or(Operand a, Operand b);
Array logical_xor(Operand a, Operand b);
Array logical_not(Operand x);
/// Of integers or bool.
Array bitwise_and(Operand a, Operand b);
Array bitwise_or(Operand a, Operand b);
Array bitwise_xor(Operand a, Operand b);
Array bitwise_not(Operand x);
/// Shift counts are taken modulo the bit width; >> is arithmetic on signed types.
Array left_shift(Operand a, Operand b);
Array right_shift(Operand a, Operand b);
/// Number of bits that are set.
Array popcount(Operand x);

inline Array operator==(Operand a, Operand b) { return equal(a, b); }
inline Array operator!=(Operand a, Operand b) { return not_equal(a, b); }
inline Array operator<(Operand a, Operand b) { return less(a, b); }
inline Array operator<=(Operand a, Operand b) { return less_equal(a, b); }
inline Array operator>(Operand a, Operand b) { return greater(a, b); }
inline Array operator>=(Operand a, Operand b) { return greater_equal(a, b); }
// Exact parameters: the built-in operators would accept an Array too, through its conversion to
// bool that exists for its message. The named functions above know the line of the call.
inline Array operator&&(const Array& a, const Array& b) { return logical_and({a, {}}, {b, {}}); }
inline Array operator&&(const Array& a, bool b) { return logical_and({a, {}}, {b, {}}); }
inline Array operator&&(bool a, const Array& b) { return logical_and({a, {}}, {b, {}}); }
inline Array operator||(const Array& a, const Array& b) { return logical_or({a, {}}, {b, {}}); }
inline Array operator||(const Array& a, bool b) { return logical_or({a, {}}, {b, {}}); }
inline Array operator||(bool a, const Array& b) { return logical_or({a, {}}, {b, {}}); }
inline Array operator!(const Array& x) { return logical_not({x, {}}); }
inline Array operator&(Operand a, Operand b) { return bitwise_and(a, b); }
inline Array operator|(Operand a, Operand b) { return bitwise_or(a, b); }
inline Array operator^(Operand a, Operand b) { return bitwise_xor(a, b); }
inline Array operator~(Operand x) { return bitwise_not(x); }
inline Array operator<<(Operand a, Operand b) { return left_shift(a, b); }
inline Array operator>>(Operand a, Operand b) { return right_shift(a, b); }

/// `a` where `condition` holds, else `b`. Both are evaluated: a side with an infinite or NaN
/// derivative spoils the gradient even where it is not taken; make its input harmless there.
Array where(Operand condition, Operand a, Operand b);
Array isnan(Operand x);
Array isinf(Operand x);
Array isfinite(Operand x);

// ---- functions of one array

/// The derivative at 0 is 0.
Array abs(Operand x);
/// -1, 0 or 1; NaN and signed zeros stay.
Array sign(Operand x);
/// Where `round` takes halves.
enum class RoundingMethod : std::uint8_t {
  to_nearest_even,  // 0.5 to 0, 1.5 to 2, as NumPy, JAX and IEEE 754
  away_from_zero,   // 0.5 to 1, -0.5 to -1, as C's round
};
/// Integers stay as they are.
Array floor(Operand x);
Array ceil(Operand x);
Array round(Operand x, RoundingMethod method = RoundingMethod::to_nearest_even);
Array trunc(Operand x);
Array square(Operand x);
Array reciprocal(Operand x);

// Within 2 units of the last place of the exact value, for every argument and on every driver:
// tests/ulp measures it. Integers and bool become f32.
Array exp(Operand x);
Array exp2(Operand x);
Array expm1(Operand x);
Array log(Operand x);
Array log2(Operand x);
Array log10(Operand x);
Array log1p(Operand x);
Array sqrt(Operand x);
Array rsqrt(Operand x);
Array cbrt(Operand x);
Array sin(Operand x);
Array cos(Operand x);
Array tan(Operand x);
Array asin(Operand x);
Array acos(Operand x);
Array atan(Operand x);
Array sinh(Operand x);
Array cosh(Operand x);
Array tanh(Operand x);
Array asinh(Operand x);
Array acosh(Operand x);
Array atanh(Operand x);
/// 1 / (1 + exp(-x)).
Array sigmoid(Operand x);
/// max(x, 0), NaN for NaN, with derivative 0 at both.
Array relu(Operand x);
/// log(1 + exp(x)) without overflow; its derivative is `sigmoid`.
Array softplus(Operand x);
Array erf(Operand x);
Array erfc(Operand x);
/// The inverse of erf on [-1, 1]; NaN outside. JAX's `normal` uses a less accurate polynomial, and
/// so does random::normal.
Array erfinv(Operand x);

/// The identity, with derivative zero.
Array stop_gradient(Operand x);

// ---- types

/// Numeric conversion: floats to integers truncate, integers wrap, to bool is x != 0. A C++ number
/// goes there directly: cast(0.1, DType::f64) has all digits.
Array cast(Operand x, DType dtype);
inline Array astype(Operand x, DType dtype) { return cast(x, dtype); }
/// The same bits as another dtype. To a type of half, a quarter or an eighth of the size a last
/// axis is added that holds the parts, lowest bits first; to a type of several times the size the
/// last axis, which has to be as long, is taken away: f32[n] <-> u8[n,4]. bool has no bits.
Array bitcast(Operand x, DType dtype);

// ---- shapes

/// The same elements in row-major order; one dimension may be -1 and follows from the others.
Array reshape(Operand x, const Shape& shape);
Array ravel(Operand x);
/// Axis i of the result is axis `axes[i]` of `x`; without `axes` the order is reversed.
Array transpose(Operand x);
Array transpose(Operand x, const std::vector<int>& axes);
Array swapaxes(Operand x, int a, int b);
Array moveaxis(Operand x, int from, int to);
/// A new axis of length 1 in front of `axis`; -1 appends it.
Array expand_dims(Operand x, int axis);
/// Drops axes of length 1: those given, or all.
Array squeeze(Operand x, const Axes& axes = {});
Array broadcast_to(Operand x, const Shape& shape);
Array flip(Operand x, const Axes& axes = {});
/// Moves elements towards higher indices along `axis`, around the end.
Array roll(Operand x, Dim shift, int axis);
Array concatenate(const std::vector<Array>& parts, int axis = 0, Loc loc = Loc::here());
/// Joins arrays of one shape along a new axis.
Array stack(const std::vector<Array>& parts, int axis = 0, Loc loc = Loc::here());
/// Equal parts along `axis`.
std::vector<Array> split(Operand x, int parts, int axis = 0);
/// What `pad` adds to an axis: `interior` elements between every two, then `low` in front and
/// `high` behind. Negative `low` and `high` cut off, of what is between elements as well.
struct PadWidths {
  Dim low = 0, high = 0, interior = 0;
};
/// Adds elements of `value` to every axis: n elements become low + n + (n - 1) interior + high.
///
/// pad(x, {{1, 2}, {0, 0, 1}}, 9). Differentiable in x and in the value, which is a scalar.
/// Throws UsageError unless there are widths for each axis, `interior` is not negative, and every
/// axis keeps a length of 0 or more.
Array pad(Operand x, const std::vector<PadWidths>& widths, Operand value = 0);
/// The same with (low, high) for every axis.
template <std::same_as<std::pair<Dim, Dim>> P>
Array pad(Operand x, const std::vector<P>& widths, Operand value = 0) {
  std::vector<PadWidths> w;
  for (const P& p : widths) w.push_back({p.first, p.second});
  return pad(x, w, value);
}
/// Elements start, start + stride, ... below limit of every axis; negative positions count from
/// the end. Static: see dynamic_slice for traced starts.
Array slice(Operand x, const std::vector<Dim>& starts, const std::vector<Dim>& limits,
            const std::vector<Dim>& strides = {});
/// [start, limit) along one axis; negative positions count from the end.
Array slice_axis(Operand x, int axis, Dim start, Dim limit, Dim stride = 1);

// ---- reductions over `axes` (all by default), in row-major order

struct ReduceOptions {
  bool keepdims = false;  // leave the axes in place with length 1
};

/// Integers narrower than 32 bits and bool add up as i32 (u32).
Array sum(Operand x, const Axes& axes = {}, ReduceOptions options = {});
Array prod(Operand x, const Axes& axes = {}, ReduceOptions options = {});
Array mean(Operand x, const Axes& axes = {}, ReduceOptions options = {});
/// NaN when an element is. All maxima share the derivative. Throws UsageError for no elements.
Array max(Operand x, const Axes& axes = {}, ReduceOptions options = {});
Array min(Operand x, const Axes& axes = {}, ReduceOptions options = {});
Array any(Operand x, const Axes& axes = {}, ReduceOptions options = {});
Array all(Operand x, const Axes& axes = {}, ReduceOptions options = {});
/// Index (i32) of the largest (smallest) element along `axis`, or in the flattened array; the first
/// of equals.
Array argmax(Operand x, std::optional<int> axis = {});
Array argmin(Operand x, std::optional<int> axis = {});

struct VarianceOptions {
  int ddof = 0;  // divides by count - ddof
  bool keepdims = false;
};
/// The mean squared distance from the mean; `standard_deviation` is its root.
Array var(Operand x, const Axes& axes = {}, VarianceOptions options = {});
Array standard_deviation(Operand x, const Axes& axes = {}, VarianceOptions options = {});

/// The root of the sum of squares. Its derivative at 0 is NaN.
Array norm(Operand x, const Axes& axes = {}, ReduceOptions options = {});
/// log(sum(exp(x))) without overflow.
Array logsumexp(Operand x, const Axes& axes = {}, ReduceOptions options = {});
/// Along the last axis, or another.
Array softmax(Operand x, int axis);
inline Array softmax(Operand x) { return softmax(x, -1); }
Array log_softmax(Operand x, int axis);
inline Array log_softmax(Operand x) { return log_softmax(x, -1); }

// ---- products

/// As NumPy's: inner product of rank 1, matrix product of rank 2, else the last axis of `a` with
/// the last but one of `b`.
Array dot(Operand a, Operand b);
/// Matrix product of the last two axes; leading axes broadcast. Rank 1 operands are a row on the
/// left and a column on the right.
Array matmul(Operand a, Operand b);
/// Axes of two arrays in pairs of one length; they may count from the back.
struct DotAxes {
  std::vector<int> a_contracting, b_contracting;  // summed over
  std::vector<int> a_batch = {}, b_batch = {};    // gone along together
};
/// The product that the others are made of, as XLA's DotGeneral: the batch axes, then the rest of
/// `a`, then the rest of `b`.
Array dot_general(Operand a, Operand b, const DotAxes& axes);
/// Sums over pairs of axes; the rest of `a`, then the rest of `b`.
Array tensordot(Operand a, Operand b, const std::vector<int>& a_axes,
                const std::vector<int>& b_axes);
/// a[i] * b[j] of the flattened operands.
Array outer(Operand a, Operand b);
/// Products named by letters, `einsum("bij,bjk->bik", a, b)`: letters that are not in the result
/// are summed over. A letter that comes twice in one operand takes its diagonal; `...` stands for
/// axes without letters, which broadcast; without `->` the result has the letters that come once,
/// in alphabetical order behind those axes. Several operands are contracted in pairs, the pair
/// whose product saves most memory first.
Array einsum(std::string_view subscripts, Operand a);
Array einsum(std::string_view subscripts, Operand a, Operand b);
Array einsum(std::string_view subscripts, Operand a, Operand b, Operand c);
Array einsum(std::string_view subscripts, const std::vector<Operand>& operands,
             Loc loc = Loc::here());

}  // namespace gnomon
#pragma GCC visibility pop
