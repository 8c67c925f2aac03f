// codegen/include/gnomon/convolution.h -- convolutions and pooling: windows that slide over arrays.
//
// Layout   images are [n, c, spatial..], kernels [o, c, spatial..], results [n, o, spatial..], with
//          any number of spatial axes. `channels_last`: [n, spatial.., c], [spatial.., c, o] and
//          [n, spatial.., o].
// Kernels are not flipped (a cross-correlation, as everywhere in machine learning).
// All are differentiable any number of times. Shapes that do not fit throw UsageError with the line
// of the call.
#pragma once
#include <initializer_list>
#include <utility>
#include <vector>

#include "gnomon/array.h"

#pragma GCC visibility push(default)
namespace gnomon {

/// What surrounds the spatial axes: nothing (`valid`), as much as makes the result ceil(n / stride)
/// long (`same`; the larger half behind), or given numbers of elements (before, behind) per axis,
/// negative ones cut off.
class Padding {
 public:
  enum class Kind : std::uint8_t { valid, same, given };
  Padding() = default;
  Padding(Kind kind) : kind_(kind) {}  // NOLINT: implicit on purpose
  Padding(std::initializer_list<std::pair<Dim, Dim>> widths)
      : kind_(Kind::given), widths_(widths) {}
  Padding(std::vector<std::pair<Dim, Dim>> widths)  // NOLINT: implicit on purpose
      : kind_(Kind::given), widths_(std::move(widths)) {}

  static const Padding valid, same;
  Kind kind() const { return kind_; }
  const std::vector<std::pair<Dim, Dim>>& widths() const { return widths_; }

 private:
  Kind kind_ = Kind::valid;
  std::vector<std::pair<Dim, Dim>> widths_;
};
inline const Padding Padding::valid{Padding::Kind::valid};
inline const Padding Padding::same{Padding::Kind::same};

/// Lists have one number per spatial axis; empty means all 1.
struct ConvOptions {
  std::vector<Dim> stride = {};
  Padding padding = {};
  std::vector<Dim> dilation = {};        // distance of neighbours in the kernel
  std::vector<Dim> input_dilation = {};  // distance of neighbours in the image, zeros between
  Dim groups = 1;                        // channels in groups of their own
  bool channels_last = false;
};
/// Sums of products of a kernel with every window of the images. With groups the kernel has
/// c / groups input channels, and output channel i belongs to group i / (o / groups).
Array conv(Operand x, Operand kernel, ConvOptions options = {});

struct ConvTransposeOptions {
  std::vector<Dim> stride = {};
  Padding padding =
      {};  // of the forward convolution; given widths are those of the result's window
  std::vector<Dim> dilation = {};
  bool channels_last = false;
  bool transpose_kernel = false;  // the kernel of the convolution this one is the adjoint of
};
/// A convolution that enlarges by `stride`: result lengths are n * stride (`same`) or
/// (n - 1) * stride + kernel (`valid`; at least n * stride). The kernel is [o, c, spatial..] as for
/// `conv`; with `transpose_kernel` it is that of a forward convolution from o to c channels,
/// flipped.
Array conv_transpose(Operand x, Operand kernel, ConvTransposeOptions options = {});

struct WindowOptions {
  std::vector<Dim> stride = {};
  Padding padding = {};
  std::vector<Dim> dilation = {};
};
enum class WindowKind : std::uint8_t { sum, max, min, mean };
/// Reduces the windows of `window` (one length per axis of x). Padding counts as the identity; the
/// mean divides by the full window. The derivative of max and min goes to the first of equals.
Array reduce_window(Operand x, WindowKind kind, const Shape& window, WindowOptions options = {});

struct PoolOptions {
  std::vector<Dim> stride = {};  // empty: the window's lengths
  Padding padding = {};
  bool channels_last = false;
  bool count_padding = true;  // avg_pool divides by the full window; else by what is in the image
};
/// Pooling over the spatial axes of images; `window` has one length per spatial axis.
Array max_pool(Operand x, const Shape& window, PoolOptions options = {});
Array min_pool(Operand x, const Shape& window, PoolOptions options = {});
Array avg_pool(Operand x, const Shape& window, PoolOptions options = {});

}  // namespace gnomon
#pragma GCC visibility pop
