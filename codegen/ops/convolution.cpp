// codegen/ops/convolution.cpp -- public convolutions and pooling: layouts, padding and
// groups, resolved before the strict operations see them.
#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "codegen/lax/align.h"
#include "codegen/operations/window.h"
#include "gnomon/convolution.h"

namespace gnomon {
namespace {

/// One number per axis, all at least 1.
std::vector<Dim> per_axis(std::string_view op, const char* what, std::vector<Dim> v,
                          std::size_t axes, Loc loc) {
  if (v.empty()) v.assign(axes, 1);
  const bool positive = std::all_of(v.begin(), v.end(), [](Dim d) { return d >= 1; });
  if (v.size() != axes || !positive)
    usage_error(op,
                std::to_string(v.size()) + " numbers of `" + what + "` for " +
                    std::to_string(axes) + " axes; give one per axis, each at least 1",
                loc);
  return v;
}

/// Fills in lo and hi of the windows of axes of the given lengths.
void pad(std::string_view op, const Padding& padding, std::vector<WindowAxis>& axes, Loc loc) {
  if (padding.kind() == Padding::Kind::given && padding.widths().size() != axes.size())
    usage_error(op,
                std::to_string(padding.widths().size()) + " pairs of `padding` for " +
                    std::to_string(axes.size()) + " axes; give (before, behind) per axis",
                loc);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    WindowAxis& w = axes[i];
    if (padding.kind() == Padding::Kind::given) {
      std::tie(w.lo, w.hi) = padding.widths()[i];
    } else if (padding.kind() == Padding::Kind::same) {
      const Dim n = WindowAxis::spread(w.length, w.base), out = (n + w.stride - 1) / w.stride;
      const Dim total =
          std::max<Dim>(0, (out - 1) * w.stride + WindowAxis::spread(w.window, w.dilation) - n);
      w.lo = total / 2;
      w.hi = total - w.lo;
    }
  }
}

template <class P>
void append(P& p, const WindowAxis& w) {
  p.strides.push_back(w.stride);
  p.lo.push_back(w.lo);
  p.hi.push_back(w.hi);
  p.base.push_back(w.base);
  p.dilation.push_back(w.dilation);
}

/// [n, spatial.., c] as [n, c, spatial..] and back; [spatial.., c, o] as [o, c, spatial..].
Array channels_second(const Array& x, Loc loc) { return lax::move_axis(x, x.rank() - 1, 1, loc); }
Array channels_behind(const Array& x, Loc loc) { return lax::move_axis(x, 1, x.rank() - 1, loc); }
Array kernel_first(const Array& w, Loc loc) {
  return lax::move_axis(lax::move_axis(w, w.rank() - 1, 0, loc), w.rank() - 1, 1, loc);
}

struct Images {
  Array x, kernel;  // [n, c, spatial..] and [o, c / groups, spatial..]
  std::size_t axes = 0;
};
Images images(std::string_view op, const Operand& x, const Operand& kernel, bool channels_last) {
  const Arrays both = [&] {
    const DType t = align::common_dtype(op, std::array{x, kernel});
    return Arrays{align::in_dtype(op, x, t), align::in_dtype(op, kernel, t)};
  }();
  const Loc loc = x.loc();
  if (both[0].rank() < 2 || both[0].rank() != both[1].rank())
    usage_error(op,
                "images " + to_string(both[0].aval()) + " and a kernel " +
                    to_string(both[1].aval()) +
                    " need one rank: a batch and a channel axis, then the spatial axes",
                loc);
  Images r{both[0], both[1], static_cast<std::size_t>(both[0].rank() - 2)};
  if (channels_last) {
    r.x = channels_second(r.x, loc);
    r.kernel = kernel_first(r.kernel, loc);
  }
  return r;
}

std::vector<WindowAxis> windows(const Images& m, const std::vector<Dim>& stride,
                                const std::vector<Dim>& dilation, const std::vector<Dim>& base) {
  std::vector<WindowAxis> r;
  for (std::size_t i = 0; i < m.axes; ++i) {
    const int axis = static_cast<int>(i) + 2;
    r.push_back({m.x.shape()[axis], m.kernel.shape()[axis], stride[i], 0, 0, base[i], dilation[i]});
  }
  return r;
}

Array convolve(std::string_view op, const Images& m, const std::vector<WindowAxis>& axes,
               Dim groups, Loc loc) {
  ConvParams p;
  for (const WindowAxis& w : axes) append(p, w);
  const Dim in = m.x.shape()[1], out = m.kernel.shape()[0];
  if (groups < 1 || in != m.kernel.shape()[1] * groups || out % groups != 0)
    usage_error(op,
                "images with " + std::to_string(in) + " channels and a kernel from " +
                    std::to_string(m.kernel.shape()[1]) + " to " + std::to_string(out) +
                    " do not fit " + std::to_string(groups) +
                    " groups; the kernel has channels / groups on its input side and a multiple of "
                    "groups on its output side",
                loc);
  if (groups == 1) return emit1(conv_p, p, {m.x, m.kernel}, loc);
  // Groups are a batch axis of both.
  p.batch_dims = 1;
  const Array x = lax::reshape(m.x, m.x.shape().with(1, in / groups).with_inserted(1, groups), loc);
  const Array kernel =
      lax::reshape(m.kernel, m.kernel.shape().with(0, out / groups).with_inserted(0, groups), loc);
  const Array y =
      lax::move_axis(emit1(conv_p, p, {lax::move_axis(x, 1, 0, loc), kernel}, loc), 0, 1, loc);
  return lax::reshape(y, y.shape().without(1).with(1, out), loc);
}

}  // namespace

Array conv(Operand x, Operand kernel, ConvOptions o) {
  const Loc loc = x.loc();
  const Images m = images("conv", x, kernel, o.channels_last);
  auto axes = windows(m, per_axis("conv", "stride", o.stride, m.axes, loc),
                      per_axis("conv", "dilation", o.dilation, m.axes, loc),
                      per_axis("conv", "input_dilation", o.input_dilation, m.axes, loc));
  pad("conv", o.padding, axes, loc);
  const Array y = convolve("conv", m, axes, o.groups, loc);
  return o.channels_last ? channels_behind(y, loc) : y;
}

Array conv_transpose(Operand x, Operand kernel, ConvTransposeOptions o) {
  constexpr std::string_view op = "conv_transpose";
  const Loc loc = x.loc();
  Images m = images(op, x, kernel, o.channels_last);
  if (o.transpose_kernel) {
    std::vector<int> spatial(m.axes);
    std::iota(spatial.begin(), spatial.end(), 2);
    m.kernel = lax::reverse(lax::move_axis(m.kernel, 0, 1, loc), spatial, loc);
  }
  const std::vector<Dim> stride = per_axis(op, "stride", o.stride, m.axes, loc);
  auto axes = windows(m, std::vector<Dim>(m.axes, 1),
                      per_axis(op, "dilation", o.dilation, m.axes, loc), stride);
  if (o.padding.kind() == Padding::Kind::given) {
    pad(op, o.padding, axes, loc);
  } else {
    for (WindowAxis& w : axes) {
      const Dim k = WindowAxis::spread(w.window, w.dilation), s = w.base;
      const bool same = o.padding.kind() == Padding::Kind::same;
      const Dim total = k + s - 2 + (same ? 0 : std::max<Dim>(k - s, 0));
      w.lo = !same || s > k - 1 ? k - 1 : (total + 1) / 2;
      w.hi = total - w.lo;
    }
  }
  const Array y = convolve(op, m, axes, 1, loc);
  return o.channels_last ? channels_behind(y, loc) : y;
}

Array reduce_window(Operand x, WindowKind kind, const Shape& window, WindowOptions o) {
  constexpr std::string_view op = "reduce_window";
  Array a = align::as_array(op, x);
  const Loc loc = x.loc();
  if (kind == WindowKind::mean) a = align::as_float(op, {a, loc});
  const auto rank = static_cast<std::size_t>(a.rank());
  const auto lengths = per_axis(op, "window", {window.begin(), window.end()}, rank, loc);
  const auto stride = per_axis(op, "stride", o.stride, rank, loc);
  const auto dilation = per_axis(op, "dilation", o.dilation, rank, loc);
  std::vector<WindowAxis> axes;
  for (std::size_t i = 0; i < rank; ++i)
    axes.push_back({a.shape()[static_cast<int>(i)], lengths[i], stride[i], 0, 0, 1, dilation[i]});
  pad(op, o.padding, axes, loc);
  WindowParams p;
  p.window = lengths;
  for (const WindowAxis& w : axes) append(p, w);
  switch (kind) {
    case WindowKind::sum:
      return emit1(window_sum_p, p, {a}, loc);
    case WindowKind::max:
      return emit1(window_max_p, p, {a}, loc);
    case WindowKind::min:
      return emit1(window_min_p, p, {a}, loc);
    case WindowKind::mean:
      break;
  }
  const Array total = emit1(window_sum_p, p, {a}, loc);
  return lax::div(total, lax::full_like(total, static_cast<double>(window.size()), loc), loc);
}

namespace {

Array pool(std::string_view op, const Operand& x, WindowKind kind, const Shape& window,
           const PoolOptions& o) {
  const Array a = align::as_array(op, x);
  const Loc loc = x.loc();
  const int axes = a.rank() - 2;
  if (axes < 1 || window.rank() != axes)
    usage_error(op,
                "a window " + to_string(window) + " for " + to_string(a.aval()) + ", which has " +
                    std::to_string(std::max(axes, 0)) + " spatial axes",
                loc);
  const int first = o.channels_last ? 1 : 2;
  Shape all;
  for (int i = 0; i < a.rank(); ++i) all.append(1);
  WindowOptions w;
  w.stride.assign(static_cast<std::size_t>(a.rank()), 1);
  const std::vector<Dim> stride =
      o.stride.empty() ? std::vector<Dim>(window.begin(), window.end())
                       : per_axis(op, "stride", o.stride, static_cast<std::size_t>(axes), loc);
  for (int i = 0; i < axes; ++i) {
    all[first + i] = window[i];
    w.stride[static_cast<std::size_t>(first + i)] = stride[static_cast<std::size_t>(i)];
  }
  w.padding = o.padding;
  if (o.padding.kind() == Padding::Kind::given) {
    if (o.padding.widths().size() != static_cast<std::size_t>(axes))
      usage_error(op,
                  std::to_string(o.padding.widths().size()) + " pairs of `padding` for " +
                      std::to_string(axes) + " spatial axes",
                  loc);
    std::vector<std::pair<Dim, Dim>> widths(static_cast<std::size_t>(a.rank()));
    std::copy(o.padding.widths().begin(), o.padding.widths().end(), widths.begin() + first);
    w.padding = Padding(widths);
  }
  const Array y = reduce_window({a, loc}, kind, all, w);
  if (kind != WindowKind::mean || o.count_padding) return y;
  // The mean of ones is the share of the window that lies in the image.
  const Array share = reduce_window({lax::full_like(a, 1, loc), loc}, kind, all, w);
  return lax::div(y, lax::convert(share, y.dtype(), loc), loc);
}

}  // namespace

Array max_pool(Operand x, const Shape& window, PoolOptions options) {
  return pool("max_pool", x, WindowKind::max, window, options);
}
Array min_pool(Operand x, const Shape& window, PoolOptions options) {
  return pool("min_pool", x, WindowKind::min, window, options);
}
Array avg_pool(Operand x, const Shape& window, PoolOptions options) {
  return pool("avg_pool", x, WindowKind::mean, window, options);
}

}  // namespace gnomon
