// codegen/operations/window.h -- parameters of the operations that slide a window over an operand.
//
// Along one axis element k of the window at output position o is at o * stride + k * dilation - lo
// of the operand spread out with `base - 1` gaps between its elements; outside, and in a gap, there
// is nothing. `lo` and `hi` may be negative.
//
// Semantics
//   window_sum, window_max, window_min: all axes of the operand have a window; nothing counts as
//   the
//                                       identity (0, -inf, inf; integers: the extreme numbers).
//   window_argmax, window_argmin:       which element of the window it is, flat (i32): the first of
//                                       equals, the first NaN; -1 in a window with nothing in it.
//   conv: lhs[B.., n, c, s..], rhs[B.., o, c, k..] -> [B.., n, o, t..], the sum over c and k of
//         lhs[.., n, c, position of k in window t] * rhs[.., o, c, k] in row-major order of (c,
//         k..); windows over the axes s. B: `batch_dims` leading axes of both.
#pragma once
#include "codegen/graph/primitive.h"

namespace gnomon {

struct WindowParams {
  std::vector<Dim> window, strides, lo, hi, base, dilation;
};

struct ConvParams {
  int batch_dims = 0;
  std::vector<Dim> strides, lo, hi, base, dilation;
};

extern const Primitive window_sum_p, window_max_p, window_min_p, window_argmax_p, window_argmin_p;
extern const Primitive conv_p;

/// One axis of a window.
struct WindowAxis {
  Dim length = 0;  // of the operand
  Dim window = 1, stride = 1, lo = 0, hi = 0, base = 1, dilation = 1;

  /// Length of an axis with gaps.
  static Dim spread(Dim n, Dim gap) { return n == 0 ? 0 : (n - 1) * gap + 1; }
  /// Number of windows.
  Dim count() const;
  /// Where element `k` of window `o` is, or -1.
  Dim source(Dim o, Dim k) const;
  /// The same in a kernel: a position in bounds, and `inside` becomes false where there is nothing.
  kernel::Value source(kernel::Builder&, kernel::Value o, kernel::Value k,
                       kernel::Value& inside) const;
  /// The window that carries cotangents of the outputs back to the operand.
  WindowAxis adjoint() const;
};

WindowAxis window_axis(const WindowParams&, const Shape& operand, int axis);
/// Spatial axis `i` of a convolution.
WindowAxis window_axis(const ConvParams&, const Shape& lhs, const Shape& rhs, int i);

/// Whether the windows of a convolution are larger than its results are many, as those of a
/// kernel's cotangent: sums run over positions rather than channels.
bool sums_positions(const Shape& window, const Shape& results);

/// conv as a product: what the windows show, lhs[B.., n, c, k, t] with k and t flat, zero where
/// there is nothing.
Array conv_patches(const ConvParams&, const Array& lhs, const Shape& rhs, Loc);

}  // namespace gnomon
