// codegen/lax/lax.h -- strict operations for rules and transforms: equal shapes and dtypes,
// no broadcasting.
//
// The public operations (gnomon/ops.h) align their operands and end here; rules call these
// directly. Without a Loc an equation carries the one of the equation whose rule is running
// (Trace::loc).
#pragma once
#include <vector>

#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"

namespace gnomon::lax {

// ---- constants
Array constant(HostArray value, Loc loc = {});
/// A scalar of `dtype` nearest to `x`; integers wrap.
Array scalar(DType dtype, const Scalar& x, Loc loc = {});
inline Array scalar_integer(DType dtype, std::int64_t x, Loc loc = {}) {
  return scalar(dtype, x, loc);
}
Array full(const Aval& aval, const Scalar& x, Loc loc = {});
/// What no number of `dtype` is less (greater) than: infinite for floats.
Array lowest(DType dtype, Loc loc = {});
Array highest(DType dtype, Loc loc = {});
inline Array full_like(const Array& a, const Scalar& x, Loc loc = {}) {
  return full(a.aval(), x, loc);
}
inline Array zeros_like(const Array& a, Loc loc = {}) { return full(a.aval(), 0, loc); }
Array iota(DType dtype, const Shape& shape, int axis, Loc loc = {});

// ---- elementwise
inline Array add(const Array& a, const Array& b, Loc loc = {}) {
  return emit1(add_p, {}, {a, b}, loc);
}
inline Array sub(const Array& a, const Array& b, Loc loc = {}) {
  return emit1(sub_p, {}, {a, b}, loc);
}
inline Array mul(const Array& a, const Array& b, Loc loc = {}) {
  return emit1(mul_p, {}, {a, b}, loc);
}
inline Array div(const Array& a, const Array& b, Loc loc = {}) {
  return emit1(div_p, {}, {a, b}, loc);
}
inline Array add(const Array& a, const Scalar& x, Loc loc = {}) {
  return add(a, full_like(a, x, loc), loc);
}
inline Array mul(const Array& a, const Scalar& x, Loc loc = {}) {
  return mul(a, full_like(a, x, loc), loc);
}
/// x - a.
inline Array sub_from(const Scalar& x, const Array& a, Loc loc = {}) {
  return sub(full_like(a, x, loc), a, loc);
}
inline Array neg(const Array& a, Loc loc = {}) { return emit1(neg_p, {}, {a}, loc); }
inline Array eq(const Array& a, const Array& b, Loc loc = {}) {
  return emit1(eq_p, {}, {a, b}, loc);
}
inline Array lt(const Array& a, const Array& b, Loc loc = {}) {
  return emit1(lt_p, {}, {a, b}, loc);
}
inline Array logical_and(const Array& a, const Array& b, Loc loc = {}) {
  return emit1(and_p, {}, {a, b}, loc);
}
inline Array select(const Array& predicate, const Array& on_true, const Array& on_false,
                    Loc loc = {}) {
  return emit1(select_p, {}, {predicate, on_true, on_false}, loc);
}
/// Any operation of one operand without parameters.
inline Array unary(const Primitive& p, const Array& a, Loc loc = {}) {
  return emit1(p, {}, {a}, loc);
}
Array integer_pow(const Array& a, int exponent, Loc loc = {});
/// `a` itself when it has that dtype already.
Array convert(const Array& a, DType dtype, Loc loc = {});
Array bitcast(const Array& a, DType dtype, Loc loc = {});

// ---- moving data
/// Operand axis i becomes axis `axes[i]` of the result.
Array broadcast(const Array& a, const Shape& shape, std::vector<int> axes, Loc loc = {});
/// A new axis of length `size` at `axis`.
Array insert_axis(const Array& a, int axis, Dim size, Loc loc = {});
/// The functions below return `a` itself when nothing changes.
Array reshape(const Array& a, const Shape& shape, Loc loc = {});
Array permute(const Array& a, std::vector<int> axes, Loc loc = {});
Array move_axis(const Array& a, int from, int to, Loc loc = {});
Array reverse(const Array& a, std::vector<int> axes, Loc loc = {});
Array slice(const Array& a, std::vector<Dim> starts, std::vector<Dim> limits,
            std::vector<Dim> strides, Loc loc = {});
/// [start, limit) along one axis.
Array slice_axis(const Array& a, int axis, Dim start, Dim limit, Loc loc = {});
Array concatenate(const Arrays& parts, int axis, Loc loc = {});
Array pad(const Array& a, const Array& value, PadParams params, Loc loc = {});

// ---- contractions
Array sum(const Array& a, std::vector<int> axes, Loc loc = {});
Array dot_general(const Array& lhs, const Array& rhs, DotParams params, Loc loc = {});

}  // namespace gnomon::lax
