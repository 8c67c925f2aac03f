// codegen/ops/indexing.cpp -- gnomon/indexing.h: signs, modes and shapes of indices,
// resolved before the strict operations see them.
#include "gnomon/indexing.h"

#include <algorithm>
#include <string>

#include "codegen/lax/align.h"
#include "codegen/lax/positions.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/trace/eager.h"

namespace gnomon {
namespace {

/// Starts of a slice of `sizes` as scalars.
Arrays resolve_starts(std::string_view op, const Array& x, const std::vector<Operand>& starts,
                      Loc loc) {
  if (starts.size() != static_cast<std::size_t>(x.rank()))
    usage_error(op,
                to_string(x.aval()) + " needs " + std::to_string(x.rank()) +
                    " starts, one per axis, got " + std::to_string(starts.size()),
                loc);
  Arrays r;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (starts[i].is_array() && starts[i].array().rank() > 0)
      usage_error(op,
                  "start " + std::to_string(i) + " is " + to_string(starts[i].array().aval()) +
                      " and must be one integer",
                  loc);
    r.push_back(positions::of(op, starts[i], x.shape()[static_cast<int>(i)], true));
  }
  return r;
}

Arrays with_front(Arrays front, const Arrays& rest) {
  front.insert(front.end(), rest.begin(), rest.end());
  return front;
}

/// The static start of a slice of `size` along an axis.
Dim static_start(const Operand& start, Dim length, Dim size) {
  return std::clamp<Dim>(positions::resolve(start.scalar().integer, length, true), 0,
                         length - size);
}

}  // namespace

Array dynamic_slice(Operand x, const std::vector<Operand>& starts, const Shape& sizes) {
  return at_once("dynamic_slice", x.loc(), [&]() -> Array {
    const Array& a = positions::array_of("dynamic_slice", x);
    const Arrays at = resolve_starts("dynamic_slice", a, starts, x.loc());
    bool fits = sizes.rank() == a.rank();
    for (int i = 0; fits && i < a.rank(); ++i) fits = sizes[i] >= 0 && sizes[i] <= a.shape()[i];
    if (!fits)
      usage_error("dynamic_slice",
                  "a slice of sizes " + to_string(sizes) + " does not fit into " +
                      to_string(a.aval()) + "; give one size per axis, none larger than the axis",
                  x.loc());
    if (std::any_of(starts.begin(), starts.end(), [](const Operand& s) { return s.is_array(); }))
      return emit1(dynamic_slice_p, DynamicSliceParams{sizes, 0}, with_front({a}, at), x.loc());
    std::vector<Dim> first, limit;
    for (int i = 0; i < a.rank(); ++i) {
      first.push_back(static_start(starts[static_cast<std::size_t>(i)], a.shape()[i], sizes[i]));
      limit.push_back(first.back() + sizes[i]);
    }
    return lax::slice(a, first, limit, std::vector<Dim>(first.size(), 1), x.loc());
  });
}

Array dynamic_update_slice(Operand x, Operand update, const std::vector<Operand>& starts) {
  return at_once("dynamic_update_slice", x.loc(), [&]() -> Array {
    const Array& a = positions::array_of("dynamic_update_slice", x);
    const Arrays at = resolve_starts("dynamic_update_slice", a, starts, x.loc());
    const Shape shape = update.is_array() ? update.array().shape() : Shape();
    bool fits = shape.rank() == a.rank();
    for (int i = 0; fits && i < a.rank(); ++i) fits = shape[i] <= a.shape()[i];
    if (!fits)
      usage_error("dynamic_update_slice",
                  "an update of shape " + to_string(shape) + " does not fit into " +
                      to_string(a.aval()) + "; it needs as many axes, none longer",
                  x.loc());
    const Array value = positions::written_value("dynamic_update_slice", a, update, shape);
    return emit1(dynamic_update_slice_p, DynamicUpdateSliceParams{0}, with_front({a, value}, at),
                 x.loc());
  });
}

Array take(Operand x, Operand indices, int axis, ReadOptions options) {
  const Loc loc = x.loc();
  return at_once("take", loc, [&]() -> Array {
    const Array& a = positions::array_of("take", x);
    const int along = align::axis_of("take", axis, a, loc);
    const Array at = positions::of("take", indices, a.shape()[along], options.wrap_negative);
    const Array read = positions::gather("take", a, lax::reshape(at, Shape(at.size()), loc), along,
                                         0, options, loc);
    Shape shape = a.shape().part(0, along);
    for (Dim d : at.shape()) shape.append(d);
    for (Dim d : a.shape().part(along + 1, a.rank())) shape.append(d);
    return lax::reshape(read, shape, loc);
  });
}

Array take_along_axis(Operand x, Operand indices, int axis, ReadOptions options) {
  const Loc loc = x.loc();
  return at_once("take_along_axis", loc, [&]() -> Array {
    const Array& a = positions::array_of("take_along_axis", x);
    const int along = align::axis_of("take_along_axis", axis, a, loc);
    const int last = a.rank() - 1;
    Array at = positions::of("take_along_axis", indices, a.shape()[along], options.wrap_negative);
    if (at.rank() != a.rank() || at.shape().without(along) != a.shape().without(along))
      usage_error("take_along_axis",
                  "indices " + to_string(at.shape()) + " and " + to_string(a.aval()) +
                      " must agree outside axis " + std::to_string(along),
                  loc);
    at = lax::move_axis(at, along, last, loc);
    const Array read = positions::gather("take_along_axis", lax::move_axis(a, along, last, loc), at,
                                         last, last, options, loc);
    return lax::move_axis(read, last, along, loc);
  });
}

Array put_along_axis(Operand x, Operand indices, Operand values, int axis, WriteOptions options) {
  const Loc loc = x.loc();
  return at_once("put_along_axis", loc, [&]() -> Array {
    const Array& a = positions::array_of("put_along_axis", x);
    const int along = align::axis_of("put_along_axis", axis, a, loc), last = a.rank() - 1;
    const Dim length = a.shape()[along];
    Array at = positions::of("put_along_axis", indices, length, options.wrap_negative);
    if (at.rank() != a.rank() || at.shape().without(along) != a.shape().without(along))
      usage_error("put_along_axis",
                  "indices " + to_string(at.shape()) + " and " + to_string(a.aval()) +
                      " must agree outside axis " + std::to_string(along),
                  loc);
    if (length == 0) return a;
    if (options.mode == WriteMode::clip) at = positions::clamped(at, length, loc);
    const Array value = positions::written_value("put_along_axis", a, values, at.shape());
    const auto to_last = [&](const Array& m) { return lax::move_axis(m, along, last, loc); };
    const Array written = emit1(scatter_set_p, ScatterParams{last, last, options.unique_indices},
                                {to_last(a), to_last(at), to_last(value)}, loc);
    return lax::move_axis(written, last, along, loc);
  });
}

Array at_set(Operand x, Operand index, Operand value, WriteOptions options) {
  return At(positions::array_of("at_set", x), {AxisIndex(index)}).set(value, options);
}

Array at_add(Operand x, Operand index, Operand value, WriteOptions options) {
  return At(positions::array_of("at_add", x), {AxisIndex(index)}).add(value, options);
}

Array scatter_add(Operand x, Operand indices, Operand updates, int axis, WriteOptions options) {
  const Loc loc = x.loc();
  return at_once("scatter_add", loc, [&]() -> Array {
    const Array& a = positions::array_of("scatter_add", x);
    const int along = align::axis_of("scatter_add", axis, a, loc);
    Array at = positions::of("scatter_add", indices, a.shape()[along], options.wrap_negative);
    if (at.rank() != 1)
      usage_error("scatter_add",
                  "indices are " + to_string(at.shape()) + " and must have one axis; ravel them",
                  loc);
    if (options.mode == WriteMode::clip && a.shape()[along] > 0)
      at = positions::clamped(at, a.shape()[along], loc);
    const Array values =
        positions::written_value("scatter_add", a, updates, a.shape().with(along, at.size()));
    return emit1(scatter_add_p, ScatterParams{along, 0, options.unique_indices}, {a, at, values},
                 loc);
  });
}

}  // namespace gnomon
