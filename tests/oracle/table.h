// tests/oracle/table.h -- the table of all operations: what each computes, said by somebody else.
//
// A row names the operations it covers as tests/oracle/coverage.h reads them from the public
// headers, calls them, and states the exact result from another origin: MPFR, the C library,
// LAPACK, FFTW, or loops written from the definition. One of three forms:
//
//   Elementwise  functions of floats; the exact value is a Real. Derivatives follow from it by
//                differences of hundreds of digits, unless the row states them.
//   Whole        functions of integers (and bool), whose exact value is an integer of 128 bits.
//   General      anything: arrays in, arrays out. The oracle computes in long double, so that
//                extrapolated differences of it give the derivatives.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/base/host_array.h"
#include "gnomon/array.h"
#include "gnomon/random.h"
#include "real.h"

namespace oracle {

using gnomon::Array;
using gnomon::Dim;
using gnomon::DType;
using gnomon::HostArray;
using gnomon::Operand;
using gnomon::Shape;
using Arrays = std::vector<Array>;

inline constexpr double infinity = std::numeric_limits<double>::infinity();

// ---- functions of floats, element by element

using Reals = std::vector<Real>;

struct Bounds {
  double ulps = 2;         // units of the last place by which values may be off
  double slope = 8;        // the same for derivatives
  double spread = 0;       // derivatives may also be those of arguments as many units away
  double slope_least = 0;  // no finer unit than that of derivatives of this size
  double slope_value = 0;  // nor than that of the value times this: differences of such terms
  double shift = 0;        // values may be those of arguments as many units away
  double tiny = 0;     // and off by as many of the smallest numbers; infinity: a subnormal number
  double least = 0;    // no finer unit than that of results of this size
  double operand = 0;  // may also be off by this share of the largest argument
  double low = -infinity, high = infinity;  // of random arguments
  int every = 1;                            // arguments that are tried: every n-th
  bool flat = false;                        // the derivative is 0
  bool normal_slope = false;                // derivatives at subnormal arguments do not count
  bool no_slope = false;                    // there is none, or the row is about values
  bool unsigned_zero = false;               // zeros of either sign are right
  bool halves = false;                      // also f16 and bf16, rounded once
};

struct Elementwise {
  using One = Array (*)(Operand);
  using Two = Array (*)(Operand, Operand);
  using Three = Array (*)(Operand, Operand, Operand);
  using Exact1 = Real (*)(const Real&);
  using Exact2 = Real (*)(const Real&, const Real&);
  using Exact3 = Real (*)(const Real&, const Real&, const Real&);
  using Slopes = std::vector<std::function<Real(const Reals&)>>;

  Elementwise(std::string_view n, One f, Exact1 e, Bounds b = {}, Slopes s = {})
      : names(n), arity(1), bounds(b), slopes(std::move(s)) {
    apply = [f](const Arrays& x) { return f(x[0]); };
    exact = [e](const Reals& x) { return e(x[0]); };
  }
  Elementwise(std::string_view n, Two f, Exact2 e, Bounds b = {}, Slopes s = {})
      : names(n), arity(2), bounds(b), slopes(std::move(s)) {
    apply = [f](const Arrays& x) { return f(x[0], x[1]); };
    exact = [e](const Reals& x) { return e(x[0], x[1]); };
  }
  Elementwise(std::string_view n, Three f, Exact3 e, Bounds b = {}, Slopes s = {})
      : names(n), arity(3), bounds(b), slopes(std::move(s)) {
    apply = [f](const Arrays& x) { return f(x[0], x[1], x[2]); };
    exact = [e](const Reals& x) { return e(x[0], x[1], x[2]); };
  }

  std::string_view names;
  int arity = 1;
  Bounds bounds;
  Slopes slopes;  // derivatives in each argument, where differences do not show them
  std::function<Array(const Arrays&)> apply;
  std::function<Real(const Reals&)> exact;
};

/// Functions whose result is a float, an integer or bool by IEEE arithmetic: bit for bit those of
/// the C library. The slow test tries ten million pairs of each.
struct Exact {
  using F1 = float (*)(float);
  using D1 = double (*)(double);
  using F2 = float (*)(float, float);
  using D2 = double (*)(double, double);

  Exact(std::string_view n, Elementwise::One f, F1 s, D1 d, DType r = DType::f32)
      : names(n), arity(1), one32(s), one64(d), result(r) {
    apply = [f](const Arrays& x) { return f(x[0]); };
  }
  Exact(std::string_view n, Elementwise::Two f, F2 s, D2 d, DType r = DType::f32, bool z = false)
      : names(n), arity(2), two32(s), two64(d), result(r), unsigned_zero(z) {
    apply = [f](const Arrays& x) { return f(x[0], x[1]); };
  }

  std::string_view names;
  int arity = 1;
  std::function<Array(const Arrays&)> apply;
  F1 one32 = nullptr;
  D1 one64 = nullptr;
  F2 two32 = nullptr;
  D2 two64 = nullptr;
  DType result;                // f32 stands for the type of the arguments
  bool unsigned_zero = false;  // zeros of either sign are right
};

// ---- functions of integers

using Int = __int128;

/// An integer type: its width and range.
struct Type {
  DType dtype;
  int bits;
  bool is_signed;
  Int low, high;
  Int wrapped(Int x) const;
};
Type type_of(DType);

struct Whole {
  using Two = Array (*)(Operand, Operand);
  using One = Array (*)(Operand);
  Whole(std::string_view n, One f, Int (*e)(Int, Type), DType r = DType::f32, bool b = false)
      : names(n), arity(1), result(r), booleans(b) {
    apply = [f](const Arrays& x) { return f(x[0]); };
    exact = [e](const Int* x, Type t) { return e(x[0], t); };
  }
  Whole(std::string_view n, Two f, Int (*e)(Int, Int, Type), DType r = DType::f32, bool b = false)
      : names(n), arity(2), result(r), booleans(b) {
    apply = [f](const Arrays& x) { return f(x[0], x[1]); };
    exact = [e](const Int* x, Type t) { return e(x[0], x[1], t); };
  }
  std::string_view names;
  int arity = 1;
  DType result;   // f32 stands for the type of the arguments
  bool booleans;  // of bool as well
  std::function<Array(const Arrays&)> apply;
  std::function<Int(const Int*, Type)> exact;  // wraps by itself
};

// ---- arrays

using Index = std::vector<Dim>;

/// An array of exact numbers: a long double holds those of every dtype.
struct Tensor {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<long double> v;
  std::vector<long double> scale;  // of each element: what its error is relative to; may be empty

  Tensor() = default;
  Tensor(DType t, const Shape& s) : dtype(t), shape(s), v(static_cast<std::size_t>(s.size())) {}
  long double& at(const Index&);
  long double at(const Index&) const;
  template <class... I>
  long double operator()(I... i) const {
    return at({static_cast<Dim>(i)...});
  }
  Dim size() const { return static_cast<Dim>(v.size()); }
  Dim dim(int axis) const { return shape[axis]; }
};
using Tensors = std::vector<Tensor>;

/// The array whose element at i is f(i).
Tensor made(DType, const Shape&, const std::function<long double(const Index&)>& f);
/// Calls f(i) for every index in row-major order.
void each(const Shape&, const std::function<void(const Index&)>& f);

/// What a row's program gives: an array, or several.
struct Results {
  Arrays all;
  Results(const Array& a) : all{a} {}       // NOLINT: implicit on purpose
  Results(Arrays a) : all(std::move(a)) {}  // NOLINT
  Results(std::initializer_list<Array> a) : all(a) {}
  template <class P>
  requires requires(const P& p) {
    p.first;
    p.second;
  }
  Results(const P& p) : all{p.first, p.second} {}  // NOLINT
};
struct Exacts {
  Tensors all;
  Exacts(const Tensor& t) : all{t} {}       // NOLINT: implicit on purpose
  Exacts(Tensors t) : all(std::move(t)) {}  // NOLINT
  Exacts(std::initializer_list<Tensor> t) : all(t) {}
};

/// How an input is drawn.
enum class Draw : std::uint8_t {
  numbers,   // in [low, high]; of integers whole ones
  distinct,  // no two closer than a hundredth of high - low over their number
  special,   // NaN, infinities and zeros of both signs among few different numbers
  few,       // so few different numbers that many are equal
  definite,  // symmetric positive definite matrices (last two axes)
  dominant,  // matrices with a large diagonal
};
struct Input {
  Shape shape;
  Draw draw = Draw::numbers;
  double low = -2, high = 2;
  bool own = false;  // of `dtype` whatever the row's type is
  DType dtype = DType::i32;
};
/// An input of the row's type, of whole numbers [low, high) in i32, of bool.
inline Input in(const Shape& s, Draw d = Draw::numbers, double low = -2, double high = 2) {
  return {s, d, low, high};
}
inline Input positive(const Shape& s) { return {s, Draw::numbers, 0.5, 2.5}; }
inline Input whole(const Shape& s, double low, double high, DType t = DType::i32) {
  return {s, Draw::numbers, low, high, true, t};
}
inline Input mask(const Shape& s) { return {s, Draw::numbers, 0, 2, true, DType::boolean}; }

/// Dtypes a row is run for.
using Types = std::vector<DType>;
extern const Types single, floats, numbers, any, all_integers;

struct Rule {
  double ulps = 0;             // of max(|exact|, scale)
  bool differentiate = false;  // in all inputs of floats
  double slope = 16;           // units of derivatives, relative to the sum of their terms
  double noise = 1e-19;        // relative error of the oracle
  bool unsigned_zero = false;
  bool any_dtype = false;  // the oracle does not say which dtype results have
};

struct General {
  std::string_view names;
  Types types;
  std::vector<Input> inputs;
  Results (*program)(const Arrays&);
  Exacts (*exact)(const Tensors&);
  Rule rule = {};
};

// ---- random numbers

/// How many draws a distribution is judged by.
inline constexpr Dim draws = 1024;

/// Draws from one key, f32[draws], and the function they are distributed by.
struct Drawn {
  std::string_view names;
  Array (*draw)(gnomon::Key);
  double (*distribution)(double);
  bool discrete = false;
};

// ---- the table, by families

struct Family {
  std::string_view name;
  std::vector<Elementwise> elementwise = {};
  std::vector<Exact> exact = {};
  std::vector<Whole> whole = {};
  std::vector<General> general = {};
  std::vector<Drawn> drawn = {};
};

Family elementary();
Family special();
Family activations();
Family ieee();
Family integers();
Family shapes();
Family making();
Family reductions();
Family statistics();
Family running_along();
Family products();
Family sorting();
Family indexing();
Family windows();
Family fourier();
Family complex_numbers();
Family linear_algebra();
Family control();
Family random_numbers();

/// Every family.
std::vector<Family> table();

}  // namespace oracle
