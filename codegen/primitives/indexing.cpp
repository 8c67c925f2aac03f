// codegen/primitives/indexing.cpp -- gnomon/indexing.h: signs, modes and shapes of indices,
// resolved before the strict operations see them.
#include "gnomon/indexing.h"

#include <algorithm>
#include <string>

#include "codegen/primitives/align.h"
#include "codegen/primitives/gather_scatter.h"

namespace gnomon {
namespace {

constexpr Dim i32_max = 0x7fffffff;

/// Counts from the end once; what i32 cannot hold is out of range all the same.
Dim resolve(Dim index, Dim length, bool wrap) {
  return std::clamp<Dim>(wrap && index < 0 ? index + length : index, -1, std::min(length, i32_max));
}

/// Integer positions along an axis of `length`, as i32 with negative ones resolved.
Array positions(std::string_view op, const Operand& index, Dim length, bool wrap) {
  const Loc loc = index.loc();
  if (!index.is_array()) {
    if (index.scalar().kind != Scalar::Kind::integer)
      usage_error(op, "an index is a C++ number that is no integer", loc);
    return lax::scalar_integer(DType::i32, resolve(index.scalar().integer, length, wrap), loc);
  }
  Array at = index.array();
  const DType dtype = at.dtype();
  if (!is_integer(dtype))
    usage_error(op, "indices are " + to_string(at.aval()) + "; cast them to i32", loc);
  if (bits_of(dtype) > 32 || dtype == DType::u32) {
    // Out of range stays out of range when cut to 32 bits.
    const double span = static_cast<double>(i32_max);
    if (is_signed(dtype)) at = emit1(max_p, {}, {at, lax::full_like(at, -span, loc)}, loc);
    at = emit1(min_p, {}, {at, lax::full_like(at, span, loc)}, loc);
  }
  at = lax::convert(at, DType::i32, loc);
  if (!wrap || !is_signed(dtype)) return at;
  const Array wrapped = lax::add(at, lax::full_like(at, static_cast<double>(length), loc), loc);
  return lax::select(lax::lt(at, lax::zeros_like(at, loc), loc), wrapped, at, loc);
}

Array clamped(const Array& at, Dim length, Loc loc) {
  const Array low = emit1(max_p, {}, {at, lax::zeros_like(at, loc)}, loc);
  return emit1(min_p, {}, {low, lax::full_like(at, static_cast<double>(length - 1), loc)}, loc);
}

Array in_range(const Array& at, Dim length, Loc loc) {
  const Array unsigned_at = lax::convert(at, DType::u32, loc);
  return lax::lt(unsigned_at, lax::full_like(unsigned_at, static_cast<double>(length), loc), loc);
}

void check_length(std::string_view op, const Array& x, int axis, const Array& indices, Loc loc) {
  if (x.shape()[axis] == 0 && indices.size() > 0)
    usage_error(
        op,
        "axis " + std::to_string(axis) + " of " + to_string(x.aval()) + " has no element to index",
        loc);
}

/// Gathers along `axis` behind `batch_dims` axes, in the mode that is asked for.
Array gather(std::string_view op, const Array& x, const Array& at, int axis, int batch_dims,
             const ReadOptions& options, Loc loc) {
  const Dim length = x.shape()[axis];
  const bool plain_fill = options.mode == ReadMode::fill && !options.fill_value;
  if (!plain_fill) check_length(op, x, axis, at, loc);
  const GatherMode mode = plain_fill ? GatherMode::fill : GatherMode::clip;
  const Array read = emit1(gather_p, GatherParams{axis, batch_dims, mode}, {x, at}, loc);
  if (plain_fill || options.mode == ReadMode::clip) return read;
  std::vector<int> axes;
  for (int i = 0; i < batch_dims; ++i) axes.push_back(i);
  axes.push_back(axis);
  const Array inside =
      lax::broadcast(in_range(at, length, loc), read.shape(), std::move(axes), loc);
  return lax::select(inside, read, lax::full_like(read, *options.fill_value, loc), loc);
}

/// `value` in x's dtype and in `shape`. Throws UsageError when that would lose something.
Array written_value(std::string_view op, const Array& x, const Operand& value, const Shape& shape) {
  const std::array<Operand, 2> both{Operand(x, value.loc()), value};
  const DType common = align::common_dtype(op, both);
  if (common != x.dtype())
    usage_error(
        op,
        "writes " +
            (value.is_array() ? to_string(value.array().aval()) : std::string(name(common))) +
            " into " + to_string(x.aval()) + "; cast one of them",
        value.loc());
  return align::broadcast(op, align::in_dtype(op, value, x.dtype()), shape, value.loc());
}

const Array& array_of(std::string_view op, const Operand& x) {
  if (!x.is_array()) usage_error(op, "the first operand is a number and must be an Array", x.loc());
  return x.array();
}

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
    r.push_back(positions(op, starts[i], x.shape()[static_cast<int>(i)], true));
  }
  return r;
}

Arrays with_front(Arrays front, const Arrays& rest) {
  front.insert(front.end(), rest.begin(), rest.end());
  return front;
}

/// The static start of a slice of `size` along an axis.
Dim static_start(const Operand& start, Dim length, Dim size) {
  return std::clamp<Dim>(resolve(start.scalar().integer, length, true), 0, length - size);
}

}  // namespace

Array dynamic_slice(Operand x, const std::vector<Operand>& starts, const Shape& sizes) {
  const Array& a = array_of("dynamic_slice", x);
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
}

Array dynamic_update_slice(Operand x, Operand update, const std::vector<Operand>& starts) {
  const Array& a = array_of("dynamic_update_slice", x);
  const Arrays at = resolve_starts("dynamic_update_slice", a, starts, x.loc());
  const Shape shape = update.is_array() ? update.array().shape() : Shape();
  bool fits = shape.rank() == a.rank();
  for (int i = 0; fits && i < a.rank(); ++i) fits = shape[i] <= a.shape()[i];
  if (!fits)
    usage_error("dynamic_update_slice",
                "an update of shape " + to_string(shape) + " does not fit into " +
                    to_string(a.aval()) + "; it needs as many axes, none longer",
                x.loc());
  const Array value = written_value("dynamic_update_slice", a, update, shape);
  return emit1(dynamic_update_slice_p, DynamicUpdateSliceParams{0}, with_front({a, value}, at),
               x.loc());
}

Array take(Operand x, Operand indices, int axis, ReadOptions options) {
  const Array& a = array_of("take", x);
  const Loc loc = x.loc();
  const int along = align::axis_of("take", axis, a, loc);
  const Array at = positions("take", indices, a.shape()[along], options.wrap_negative);
  const Array read =
      gather("take", a, lax::reshape(at, Shape(at.size()), loc), along, 0, options, loc);
  Shape shape = a.shape().part(0, along);
  for (Dim d : at.shape()) shape.append(d);
  for (Dim d : a.shape().part(along + 1, a.rank())) shape.append(d);
  return lax::reshape(read, shape, loc);
}

Array take_along_axis(Operand x, Operand indices, int axis, ReadOptions options) {
  const Array& a = array_of("take_along_axis", x);
  const Loc loc = x.loc();
  const int along = align::axis_of("take_along_axis", axis, a, loc);
  const int last = a.rank() - 1;
  Array at = positions("take_along_axis", indices, a.shape()[along], options.wrap_negative);
  if (at.rank() != a.rank() || at.shape().without(along) != a.shape().without(along))
    usage_error("take_along_axis",
                "indices " + to_string(at.shape()) + " and " + to_string(a.aval()) +
                    " must agree outside axis " + std::to_string(along),
                loc);
  at = lax::move_axis(at, along, last, loc);
  const Array read =
      gather("take_along_axis", lax::move_axis(a, along, last, loc), at, last, last, options, loc);
  return lax::move_axis(read, last, along, loc);
}

namespace {

/// x[index] replaced by `update(x[index])` for one index.
template <class Update>
Array update_row(std::string_view op, const Array& x, const Operand& index,
                 const WriteOptions& options, Update&& update) {
  const Loc loc = index.loc();
  if (x.rank() == 0) usage_error(op, to_string(x.aval()) + " has no axis to index", loc);
  const Dim length = x.shape()[0];
  const Array at = positions(op, index, length, options.wrap_negative);
  if (length == 0) return x;
  Arrays starts{clamped(at, length, loc)};
  for (int i = 1; i < x.rank(); ++i) starts.push_back(lax::scalar_integer(DType::i32, 0, loc));
  const Shape row = x.shape().with(0, 1);
  const Array old =
      emit1(dynamic_slice_p, DynamicSliceParams{row, 0}, with_front({x}, starts), loc);
  Array next = lax::reshape(update(lax::reshape(old, x.shape().without(0), loc)), row, loc);
  // The slice is chosen, not the array: the write stays in place.
  if (options.mode == WriteMode::drop)
    next = lax::select(lax::broadcast(in_range(at, length, loc), row, {}, loc), next, old, loc);
  return emit1(dynamic_update_slice_p, DynamicUpdateSliceParams{0}, with_front({x, next}, starts),
               loc);
}

}  // namespace

Array at_set(Operand x, Operand index, Operand value, WriteOptions options) {
  const Array& a = array_of("at_set", x);
  if (index.is_array() && index.array().rank() > 0)
    usage_error("at_set",
                "takes one index, got " + to_string(index.array().aval()) +
                    "; several writes need an order, so loop",
                x.loc());
  return update_row("at_set", a, index, options, [&](const Array& old) {
    return written_value("at_set", a, value, old.shape());
  });
}

Array at_add(Operand x, Operand index, Operand value, WriteOptions options) {
  const Array& a = array_of("at_add", x);
  if (!index.is_array() || index.array().rank() == 0)
    return update_row("at_add", a, index, options, [&](const Array& old) {
      return lax::add(old, written_value("at_add", a, value, old.shape()), x.loc());
    });
  if (a.rank() == 0) usage_error("at_add", to_string(a.aval()) + " has no axis to index", x.loc());
  const Array& at = index.array();
  Shape shape = at.shape(), flat{at.size()};
  for (Dim d : a.shape().without(0)) {
    shape.append(d);
    flat.append(d);
  }
  const Array updates = lax::reshape(written_value("at_add", a, value, shape), flat, x.loc());
  return scatter_add(x, Operand(lax::reshape(at, Shape(at.size()), x.loc()), x.loc()),
                     Operand(updates, x.loc()), 0, options);
}

Array scatter_add(Operand x, Operand indices, Operand updates, int axis, WriteOptions options) {
  const Array& a = array_of("scatter_add", x);
  const Loc loc = x.loc();
  const int along = align::axis_of("scatter_add", axis, a, loc);
  Array at = positions("scatter_add", indices, a.shape()[along], options.wrap_negative);
  if (at.rank() != 1)
    usage_error("scatter_add",
                "indices are " + to_string(at.shape()) + " and must have one axis; ravel them",
                loc);
  if (options.mode == WriteMode::clip && a.shape()[along] > 0)
    at = clamped(at, a.shape()[along], loc);
  const Array values = written_value("scatter_add", a, updates, a.shape().with(along, at.size()));
  return emit1(scatter_add_p, ScatterAddParams{along, 0}, {a, at, values}, loc);
}

Array segment_sum(Operand data, Operand segment_ids, Dim num_segments) {
  const Array& a = array_of("segment_sum", data);
  const Loc loc = data.loc();
  if (num_segments < 0)
    usage_error("segment_sum",
                "num_segments is " + std::to_string(num_segments) + " and cannot be negative", loc);
  const Array ids = positions("segment_sum", segment_ids, num_segments, false);
  if (a.rank() == 0 || ids.rank() != 1 || ids.shape()[0] != a.shape()[0])
    usage_error("segment_sum",
                "segment ids " + to_string(ids.shape()) + " do not go along the first axis of " +
                    to_string(a.aval()),
                loc);
  const Array zeros = lax::full({a.dtype(), a.shape().with(0, num_segments)}, 0, loc);
  return emit1(scatter_add_p, ScatterAddParams{0, 0}, {zeros, ids, a}, loc);
}

}  // namespace gnomon
