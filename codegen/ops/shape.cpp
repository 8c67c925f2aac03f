// codegen/ops/shape.cpp -- public operations that move elements about.
#include <algorithm>
#include <numeric>

#include "codegen/lax/align.h"
#include "gnomon/ops.h"

namespace gnomon {
namespace {

/// A position from either end as one from the start. Throws UsageError when out of range.
Dim position_of(std::string_view op, Dim x, int axis, const Array& a, Loc loc) {
  const Dim n = a.shape()[axis];
  const Dim r = x < 0 ? x + n : x;
  if (r < 0 || r > n)
    usage_error(op,
                "position " + std::to_string(x) + " is out of range for axis " +
                    std::to_string(axis) + " of " + to_string(a.aval()),
                loc);
  return r;
}

Arrays in_common_dtype(std::string_view op, const Arrays& parts, Loc loc) {
  if (parts.empty()) usage_error(op, "needs at least one array", loc);
  DType t = parts[0].dtype();
  for (const Array& a : parts) t = align::promote(t, a.dtype());
  Arrays r;
  for (const Array& a : parts) r.push_back(lax::convert(a, t, loc));
  return r;
}

}  // namespace

Array reshape(Operand x, const Shape& shape) {
  const Array a = align::as_array("reshape", x);
  Shape to = shape;
  int open = -1;
  Shape others;
  for (int i = 0; i < to.rank(); ++i) {
    if (to[i] >= 0) {
      others.append(to[i]);
      continue;
    }
    if (to[i] != -1 || open >= 0)
      usage_error("reshape", to_string(shape) + " is no shape; one dimension may be -1", x.loc());
    open = i;
  }
  const Dim rest = others.size();
  if (open >= 0 && rest > 0) to[open] = a.size() / rest;
  if (open >= 0 && rest == 0) to[open] = 0;
  if (to.size() != a.size())
    usage_error("reshape",
                to_string(a.aval()) + " has " + std::to_string(a.size()) +
                    " elements and does not fill " + to_string(shape),
                x.loc());
  return lax::reshape(a, to, x.loc());
}

Array ravel(Operand x) { return reshape(x, {Dim{-1}}); }

Array transpose(Operand x) {
  const Array a = align::as_array("transpose", x);
  std::vector<int> axes(static_cast<std::size_t>(a.rank()));
  std::iota(axes.rbegin(), axes.rend(), 0);
  return lax::permute(a, std::move(axes), x.loc());
}

Array transpose(Operand x, const std::vector<int>& axes) {
  const Array a = align::as_array("transpose", x);
  align::axes_of("transpose", axes, a, x.loc());
  if (static_cast<int>(axes.size()) != a.rank())
    usage_error(
        "transpose",
        std::to_string(axes.size()) + " axes for " + to_string(a.aval()) + "; name each once",
        x.loc());
  std::vector<int> order;
  for (int axis : axes) order.push_back(axis < 0 ? axis + a.rank() : axis);
  return lax::permute(a, std::move(order), x.loc());
}

Array swapaxes(Operand x, int first, int second) {
  const Array a = align::as_array("swapaxes", x);
  std::vector<int> axes(static_cast<std::size_t>(a.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[static_cast<std::size_t>(align::axis_of("swapaxes", first, a, x.loc()))],
            axes[static_cast<std::size_t>(align::axis_of("swapaxes", second, a, x.loc()))]);
  return lax::permute(a, std::move(axes), x.loc());
}

Array moveaxis(Operand x, int from, int to) {
  const Array a = align::as_array("moveaxis", x);
  return lax::move_axis(a, align::axis_of("moveaxis", from, a, x.loc()),
                        align::axis_of("moveaxis", to, a, x.loc()), x.loc());
}

Array expand_dims(Operand x, int axis) {
  const Array a = align::as_array("expand_dims", x);
  const int rank = a.rank() + 1;
  if (axis < -rank || axis >= rank)
    usage_error("expand_dims",
                "axis " + std::to_string(axis) + " is out of range for the result of rank " +
                    std::to_string(rank),
                x.loc());
  return lax::reshape(a, a.shape().with_inserted(axis < 0 ? axis + rank : axis, 1), x.loc());
}

Array squeeze(Operand x, const Axes& axes) {
  const Array a = align::as_array("squeeze", x);
  const std::vector<int> drop = align::resolved("squeeze", axes, a, x.loc());
  Shape shape;
  for (int i = 0; i < a.rank(); ++i) {
    const bool named = std::find(drop.begin(), drop.end(), i) != drop.end();
    if (named && !axes.all() && a.shape()[i] != 1)
      usage_error(
          "squeeze",
          "axis " + std::to_string(i) + " of " + to_string(a.aval()) + " is not of length 1",
          x.loc());
    if (!named || a.shape()[i] != 1) shape.append(a.shape()[i]);
  }
  return lax::reshape(a, shape, x.loc());
}

Array broadcast_to(Operand x, const Shape& shape) {
  return align::broadcast("broadcast_to", align::as_array("broadcast_to", x), shape, x.loc());
}

Array flip(Operand x, const Axes& axes) {
  const Array a = align::as_array("flip", x);
  return lax::reverse(a, align::resolved("flip", axes, a, x.loc()), x.loc());
}

Array roll(Operand x, Dim shift, int axis) {
  const Array a = align::as_array("roll", x);
  const int along = align::axis_of("roll", axis, a, x.loc());
  const Dim n = a.shape()[along];
  const Dim cut = n == 0 ? 0 : (n - shift % n) % n;
  if (cut == 0) return a;
  return lax::concatenate(
      {lax::slice_axis(a, along, cut, n, x.loc()), lax::slice_axis(a, along, 0, cut, x.loc())},
      along, x.loc());
}

Array concatenate(const std::vector<Array>& parts, int axis, Loc loc) {
  const Arrays same = in_common_dtype("concatenate", parts, loc);
  return lax::concatenate(same, align::axis_of("concatenate", axis, same[0], loc), loc);
}

Array stack(const std::vector<Array>& parts, int axis, Loc loc) {
  Arrays rows;
  for (const Array& a : in_common_dtype("stack", parts, loc)) {
    if (a.shape() != parts[0].shape())
      usage_error("stack",
                  to_string(parts[0].aval()) + " and " + to_string(a.aval()) +
                      " differ in shape; broadcast or pad them first",
                  loc);
    rows.push_back(expand_dims({a, loc}, axis));
  }
  return lax::concatenate(rows, axis < 0 ? axis + rows[0].rank() : axis, loc);
}

std::vector<Array> split(Operand x, int parts, int axis) {
  const Array a = align::as_array("split", x);
  const int along = align::axis_of("split", axis, a, x.loc());
  const Dim n = a.shape()[along];
  if (parts < 1 || n % parts != 0)
    usage_error("split",
                "axis " + std::to_string(along) + " of " + to_string(a.aval()) +
                    " does not split into " + std::to_string(parts) + " equal parts",
                x.loc());
  Arrays r;
  for (int i = 0; i < parts; ++i)
    r.push_back(lax::slice_axis(a, along, n / parts * i, n / parts * (i + 1), x.loc()));
  return r;
}

Array pad(Operand x, const std::vector<PadWidths>& widths, Operand value) {
  const Array a = align::as_array("pad", x);
  if (static_cast<int>(widths.size()) != a.rank())
    usage_error("pad",
                std::to_string(widths.size()) + " pairs of widths for " + to_string(a.aval()) +
                    "; give one per axis",
                x.loc());
  PadParams p;
  for (const PadWidths& w : widths) {
    p.lo.push_back(w.low);
    p.hi.push_back(w.high);
    p.interior.push_back(w.interior);
  }
  const Array filler = align::in_dtype("pad", value, a.dtype());
  return lax::pad(a, filler, std::move(p), x.loc());
}

Array slice(Operand x, const std::vector<Dim>& starts, const std::vector<Dim>& limits,
            const std::vector<Dim>& strides) {
  const Array a = align::as_array("slice", x);
  const auto rank = static_cast<std::size_t>(a.rank());
  if (starts.size() != rank || limits.size() != rank ||
      (!strides.empty() && strides.size() != rank))
    usage_error("slice", "needs a start and a limit for each axis of " + to_string(a.aval()),
                x.loc());
  std::vector<Dim> from, to;
  for (int i = 0; i < a.rank(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    from.push_back(position_of("slice", starts[k], i, a, x.loc()));
    to.push_back(std::max(from[k], position_of("slice", limits[k], i, a, x.loc())));
  }
  return lax::slice(a, std::move(from), std::move(to),
                    strides.empty() ? std::vector<Dim>(rank, 1) : strides, x.loc());
}

Array slice_axis(Operand x, int axis, Dim start, Dim limit, Dim stride) {
  const Array a = align::as_array("slice_axis", x);
  const int along = align::axis_of("slice_axis", axis, a, x.loc());
  const auto rank = static_cast<std::size_t>(a.rank()), k = static_cast<std::size_t>(along);
  std::vector<Dim> starts(rank, 0), limits(a.shape().begin(), a.shape().end()), strides(rank, 1);
  starts[k] = start;
  limits[k] = limit;
  strides[k] = stride;
  return slice({a, x.loc()}, starts, limits, strides);
}

}  // namespace gnomon
