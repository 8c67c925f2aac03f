// codegen/primitives/families.h -- rules that whole families of operations share, and builders of
// their entries.
#pragma once
#include <concepts>
#include <string_view>

#include "codegen/graph/host.h"
#include "codegen/lax/lax.h"
#include "shaders/kernel/builder.h"

namespace gnomon::rules {

/// Element types an operation takes.
enum class Accepts : std::uint8_t {
  any,
  numbers,
  signed_numbers,
  floats,
  integers,
  bits,
  booleans
};
constexpr bool accepts(Accepts a, DType t) {
  switch (a) {
    case Accepts::any:
      return true;
    case Accepts::numbers:
      return t != DType::boolean;
    case Accepts::signed_numbers:
      return is_float(t) || is_signed(t);
    case Accepts::floats:
      return is_float(t);
    case Accepts::integers:
      return is_integer(t);
    case Accepts::bits:
      return is_integer(t) || t == DType::boolean;
    case Accepts::booleans:
      return t == DType::boolean;
  }
  return false;
}
std::string_view words(Accepts);

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>)
    return DType::boolean;
  else if constexpr (std::is_same_v<T, float>)
    return DType::f32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::f64;
  else if constexpr (std::is_same_v<T, host::F16>)
    return DType::f16;
  else if constexpr (std::is_same_v<T, host::BF16>)
    return DType::bf16;
  else if constexpr (sizeof(T) == 1)
    return std::is_signed_v<T> ? DType::i8 : DType::u8;
  else if constexpr (sizeof(T) == 2)
    return std::is_signed_v<T> ? DType::i16 : DType::u16;
  else if constexpr (sizeof(T) == 4)
    return std::is_signed_v<T> ? DType::i32 : DType::u32;
  else
    return std::is_signed_v<T> ? DType::i64 : DType::u64;
}

// ---- shape

/// Throws UsageError unless there are `count` operands.
void require_operands(std::string_view op, std::span<const Aval> inputs, std::size_t count, Loc);
/// Throws UsageError unless `a` has an accepted element type.
void require_dtype(std::string_view op, const Aval& a, Accepts, Loc);
/// Throws UsageError unless all have one type.
void require_equal(std::string_view op, std::span<const Aval> inputs, Loc);
/// The common type of `count` equal operands.
Aval elementwise_aval(std::string_view op, std::span<const Aval> inputs, std::size_t count, Accepts,
                      Loc);

template <const Primitive& P, Accepts A, std::size_t count>
std::vector<Aval> same_shape(const Params&, std::span<const Aval> inputs, Loc loc) {
  return {elementwise_aval(P.name, inputs, count, A, loc)};
}
template <const Primitive& P, Accepts A, std::size_t count>
std::vector<Aval> boolean_shape(const Params&, std::span<const Aval> inputs, Loc loc) {
  return {{DType::boolean, elementwise_aval(P.name, inputs, count, A, loc).shape}};
}

// ---- derivatives

/// Marks an operation whose derivative is zero or that has no differentiable result.
struct NoDerivative {};
inline constexpr NoDerivative no_derivative;
template <auto F>
constexpr bool is_no_derivative = std::is_same_v<std::remove_cv_t<decltype(F)>, NoDerivative>;

Tangents zero_tangents(const Params&, const Arrays& inputs, const Arrays& outputs, const Tangents&);

/// F(x, y, dx) with y the output.
template <auto F>
Tangents jvp_unary(const Params&, const Arrays& in, const Arrays& out, const Tangents& d) {
  return {F(in[0], out[0], *d[0])};
}
/// FX(a, b, y, da) + FY(a, b, y, db).
template <auto FX, auto FY>
Tangents jvp_binary(const Params&, const Arrays& in, const Arrays& out, const Tangents& d) {
  std::optional<Array> sum;
  if (d[0]) sum = FX(in[0], in[1], out[0], *d[0]);
  if (d[1]) {
    const Array right = FY(in[0], in[1], out[0], *d[1]);
    sum = sum ? lax::add(*sum, right) : right;
  }
  return {sum};
}
/// For operations linear in their only operand: the same operation on the tangent.
template <const Primitive& P>
Tangents jvp_linear(const Params& params, const Arrays&, const Arrays&, const Tangents& d) {
  return {emit1(P, params, {*d[0]}, {})};
}

[[noreturn]] void throw_not_linear(std::string_view op);
template <const Primitive& P>
Tangents not_linear(const TransposeArgs&) {
  throw_not_linear(P.name);
}

// ---- batch

/// Inputs of equal rank with the batch axis in one place in all of them.
struct Aligned {
  Arrays values;
  int axis = 0;
};
/// Leaves the axis where it is when all batched inputs agree; else moves it to the front. Others
/// are broadcast.
Aligned align_batch(const Arrays& inputs, const BatchAxes& axes, Dim size);
/// `x` with its batch axis in front, broadcast when it has none.
Array batch_front(const Array& x, std::optional<int> axis, Dim size);
/// Axes of an unbatched array as axes of the batched one.
std::vector<int> shift_axes(std::vector<int> axes, int batch_axis);

template <const Primitive& P>
Batched batch_elementwise(const Params& params, const Arrays& inputs, const BatchAxes& axes,
                          Dim size) {
  Aligned a = align_batch(inputs, axes, size);
  Arrays out = emit(P, params, a.values, {});
  return {out, BatchAxes(out.size(), a.axis)};
}

// ---- lower: F(builder, operands...) on the elements at one index

template <auto F>
kernel::Value element1(ElementContext& c, const Params&, std::size_t, const Index& i) {
  return F(c.k, c.operand(0, i));
}
template <auto F>
kernel::Value element2(ElementContext& c, const Params&, std::size_t, const Index& i) {
  const kernel::Value a = c.operand(0, i);
  return F(c.k, a, c.operand(1, i));
}
/// The driver's own function where fast_math asks for it and the driver has one.
template <auto F, kernel::Op op>
kernel::Value element1_or_built_in(ElementContext& c, const Params&, std::size_t, const Index& i) {
  const kernel::Value a = c.operand(0, i);
  const bool loose = c.built_ins && c.inputs[0].dtype == DType::f32;
  return loose ? c.k.unary(op, a) : F(c.k, a);
}
template <auto F, kernel::Op op>
kernel::Value element2_or_built_in(ElementContext& c, const Params&, std::size_t, const Index& i) {
  const kernel::Value a = c.operand(0, i), b = c.operand(1, i);
  const bool loose = c.built_ins && c.inputs[0].dtype == DType::f32;
  return loose ? c.k.binary(op, a, b) : F(c.k, a, b);
}
template <kernel::Op op>
kernel::Value k_unary(kernel::Builder& k, kernel::Value a) {
  return k.unary(op, a);
}
template <kernel::Op op>
kernel::Value k_binary(kernel::Builder& k, kernel::Value a, kernel::Value b) {
  return k.binary(op, a, b);
}
template <kernel::Op op>
kernel::Value k_compare(kernel::Builder& k, kernel::Value a, kernel::Value b) {
  return k.compare(op, a, b);
}

// ---- reference: F(elements...) for every element; a bool result makes a bool array

template <const Primitive& P, Accepts A, auto F>
std::vector<HostArray> map1(const Params&, std::span<const Aval> out,
                            std::span<const HostArray> in) {
  HostArray r(out[0]);
  host::dispatch(in[0].aval.dtype, P.name, [&]<class T>() {
    if constexpr (accepts(A, dtype_of<T>())) {
      using C = host::Computed<T>;
      using R = std::conditional_t<std::is_same_v<decltype(F(C{})), bool>, bool, T>;
      for (Dim i = 0; i < r.size(); ++i)
        host::put<R>(r, i, static_cast<R>(F(static_cast<C>(host::get<T>(in[0], i)))));
    }
  });
  return {std::move(r)};
}
template <const Primitive& P, Accepts A, auto F>
std::vector<HostArray> map2(const Params&, std::span<const Aval> out,
                            std::span<const HostArray> in) {
  HostArray r(out[0]);
  host::dispatch(in[0].aval.dtype, P.name, [&]<class T>() {
    if constexpr (accepts(A, dtype_of<T>())) {
      using C = host::Computed<T>;
      using R = std::conditional_t<std::is_same_v<decltype(F(C{}, C{})), bool>, bool, T>;
      for (Dim i = 0; i < r.size(); ++i)
        host::put<R>(r, i,
                     static_cast<R>(F(static_cast<C>(host::get<T>(in[0], i)),
                                      static_cast<C>(host::get<T>(in[1], i)))));
    }
  });
  return {std::move(r)};
}

// ---- whole entries

/// One operand, same type out. Host(x), Kernel(builder, x), Derivative(x, y, dx) or
/// `no_derivative`.
template <const Primitive& P, Accepts A, auto Host, auto Kernel, auto Derivative>
constexpr Primitive unary(std::string_view name, Cost cost = Cost::cheap) {
  Rule<Tangents(const Params&, const Arrays&, const Arrays&, const Tangents&)> jvp = zero_tangents;
  if constexpr (!is_no_derivative<Derivative>) jvp = jvp_unary<Derivative>;
  return {
      .name = name,
      .parse = no_params,
      .shape = same_shape<P, A, 1>,
      .jvp = jvp,
      .transpose = not_linear<P>,
      .batch = batch_elementwise<P>,
      .lower = Lowering::per_element(element1<Kernel>, cost),
      .reference = map1<P, A, Host>,
  };
}
/// One operand, bool out.
template <const Primitive& P, Accepts A, auto Host, auto Kernel>
constexpr Primitive predicate(std::string_view name) {
  return {
      .name = name,
      .parse = no_params,
      .shape = boolean_shape<P, A, 1>,
      .jvp = zero_tangents,
      .transpose = not_linear<P>,
      .batch = batch_elementwise<P>,
      .lower = Lowering::per_element(element1<Kernel>),
      .reference = map1<P, A, Host>,
  };
}
/// Two operands of one type, same type out. Derivatives as in `jvp_binary`.
template <const Primitive& P, Accepts A, auto Host, auto Kernel, auto Left, auto Right>
constexpr Primitive binary(std::string_view name, Cost cost = Cost::cheap) {
  Rule<Tangents(const Params&, const Arrays&, const Arrays&, const Tangents&)> jvp = zero_tangents;
  if constexpr (!is_no_derivative<Left>) jvp = jvp_binary<Left, Right>;
  return {
      .name = name,
      .parse = no_params,
      .shape = same_shape<P, A, 2>,
      .jvp = jvp,
      .transpose = not_linear<P>,
      .batch = batch_elementwise<P>,
      .lower = Lowering::per_element(element2<Kernel>, cost),
      .reference = map2<P, A, Host>,
  };
}
/// Two operands of one type, bool out.
template <const Primitive& P, Accepts A, auto Host, kernel::Op op>
constexpr Primitive comparison(std::string_view name) {
  return {
      .name = name,
      .parse = no_params,
      .shape = boolean_shape<P, A, 2>,
      .jvp = zero_tangents,
      .transpose = not_linear<P>,
      .batch = batch_elementwise<P>,
      .lower = Lowering::per_element(element2<k_compare<op>>),
      .reference = map2<P, A, Host>,
  };
}
inline kernel::Value u32(kernel::Builder& k, Dim x) { return k.u32(static_cast<std::uint32_t>(x)); }
/// `entry` with another lowering.
constexpr Primitive lowered(Primitive entry, Lowering lower) {
  entry.lower = lower;
  return entry;
}
/// `entry` with its own transpose rule: for the operations that are linear.
constexpr Primitive linear(Primitive entry, Rule<Tangents(const TransposeArgs&)> transpose) {
  entry.transpose = transpose;
  return entry;
}

}  // namespace gnomon::rules
