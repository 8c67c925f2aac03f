// codegen/ops/at.cpp -- x.at(...): what indices name, as static slices around one gather or
// scatter.
//
// Static parts (integers and slices) come first: the array they leave is read, or changed and put
// back. Index arrays over several axes are one index into those axes merged.
#include <algorithm>
#include <functional>
#include <numeric>
#include <string>

#include "codegen/lax/positions.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/trace/eager.h"
#include "gnomon/indexing.h"
#include "gnomon/ops.h"

namespace gnomon {

AxisIndex::AxisIndex(const Operand& x) : kind_(Kind::integer) {
  if (x.is_array()) {
    kind_ = Kind::array;
    array_ = x.array();
    return;
  }
  if (x.scalar().kind != Scalar::Kind::integer)
    usage_error("at", "an index is a C++ number that is no integer", x.loc());
  integer_ = x.scalar().integer;
}

namespace {

using IndexKind = AxisIndex::Kind;

/// A static slice of one axis: `count` elements from `first` on, `stride` > 0 apart, perhaps
/// backwards.
struct AxisRange {
  Dim first = 0, count = 0, stride = 1;
  bool reversed = false;
  bool drop = false;  // an integer: the axis does not reach the result
  Dim limit() const { return count == 0 ? first : first + (count - 1) * stride + 1; }
};

AxisRange axis_range(std::string_view op, const Slice& s, Dim length, Loc loc) {
  if (s.step == 0) usage_error(op, "a slice has step 0; use 1, or -1 to go backwards", loc);
  const auto clamped = [&](std::optional<Dim> at, Dim otherwise, Dim low, Dim high) {
    if (!at) return otherwise;
    return std::clamp<Dim>(*at < 0 ? *at + length : *at, low, high);
  };
  AxisRange r;
  if (s.step > 0) {
    r.first = clamped(s.start, 0, 0, length);
    const Dim stop = clamped(s.stop, length, 0, length);
    r.count = stop <= r.first ? 0 : (stop - r.first + s.step - 1) / s.step;
    r.stride = s.step;
    return r;
  }
  const Dim start = clamped(s.start, length - 1, -1, length - 1);
  const Dim stop = clamped(s.stop, -1, -1, length - 1);
  r.stride = -s.step;
  r.count = start <= stop ? 0 : (start - stop + r.stride - 1) / r.stride;
  r.first = r.count == 0 ? 0 : start - (r.count - 1) * r.stride;
  r.reversed = true;
  return r;
}

/// Indices of an array, resolved axis by axis.
struct Named {
  Array x;      // with the new axes
  Shape given;  // its shape without them
  Array part;   // of x, behind the static slices
  std::vector<AxisRange> ranges;
  std::vector<int> indexed;  // axes with index arrays
  Arrays at;                 // those, i32, negative ones resolved
  bool outside = false;      // a static integer is out of range
  Loc loc;

  Shape broadcast;  // of the index arrays
  /// The axes of `part` that reach the result and are not indexed, in order.
  std::vector<int> kept() const {
    std::vector<int> r;
    for (int a = 0; a < part.rank(); ++a)
      if (!ranges[static_cast<std::size_t>(a)].drop &&
          std::find(indexed.begin(), indexed.end(), a) == indexed.end())
        r.push_back(a);
    return r;
  }
  /// Where the axes of the index arrays go among the kept axes.
  int place() const {
    if (indexed.empty()) return 0;
    const bool adjacent = indexed.back() - indexed.front() + 1 == static_cast<int>(indexed.size());
    const auto keep = kept();
    return adjacent ? static_cast<int>(std::count_if(keep.begin(), keep.end(),
                                                     [&](int a) { return a < indexed.front(); }))
                    : 0;
  }
  Shape result() const {
    Shape r;
    for (int a : kept()) r.append(part.shape()[a]);
    const int at_axis = place();
    for (int i = 0; i < broadcast.rank(); ++i) r.insert(at_axis + i, broadcast[i]);
    return r;
  }
};

Array sliced(const Array& x, const std::vector<AxisRange>& ranges, Loc loc) {
  std::vector<Dim> starts, limits, strides;
  std::vector<int> backwards;
  for (std::size_t a = 0; a < ranges.size(); ++a) {
    starts.push_back(ranges[a].first);
    limits.push_back(ranges[a].limit());
    strides.push_back(ranges[a].stride);
    if (ranges[a].reversed) backwards.push_back(static_cast<int>(a));
  }
  return lax::reverse(lax::slice(x, starts, limits, strides, loc), backwards, loc);
}

/// x with `part` in place of what `ranges` name.
Array put_back(const Array& x, Array part, const std::vector<AxisRange>& ranges, Loc loc) {
  if (part.size() == 0) return x;
  std::vector<int> backwards;
  bool runs = true, whole = true;
  PadParams pad;
  Arrays operands{x, part};
  for (std::size_t a = 0; a < ranges.size(); ++a) {
    const AxisRange& r = ranges[a];
    const Dim length = x.shape()[static_cast<int>(a)];
    if (r.reversed) backwards.push_back(static_cast<int>(a));
    runs &= r.stride == 1;
    whole &= r.stride == 1 && r.count == length;
    pad.lo.push_back(r.first);
    pad.hi.push_back(length - r.limit());
    pad.interior.push_back(r.stride - 1);
    operands.push_back(lax::scalar_integer(DType::i32, r.first, loc));
  }
  part = lax::reverse(part, backwards, loc);
  if (whole) return part;
  operands[1] = part;
  if (runs) return emit1(dynamic_update_slice_p, DynamicUpdateSliceParams{0}, operands, loc);
  const Array mask = lax::full({DType::boolean, part.shape()}, 1, loc);
  const Array named = lax::pad(mask, lax::scalar_integer(DType::boolean, 0, loc), pad, loc);
  return lax::select(named, lax::pad(part, lax::scalar(x.dtype(), 0, loc), pad, loc), x, loc);
}

bool is_mask(const AxisIndex& i) {
  return i.kind() == IndexKind::array && i.array().dtype() == DType::boolean;
}

/// The mask when it is the only index, else nothing. Throws UsageError for a mask among others.
std::optional<Array> lone_mask(std::string_view op, const Array& x,
                               const std::vector<AxisIndex>& indices, Loc loc) {
  if (std::none_of(indices.begin(), indices.end(), is_mask)) return std::nullopt;
  if (indices.size() != 1)
    usage_error(op, "a mask is the only index or none; combine conditions with `where`", loc);
  const Array& mask = indices[0].array();
  if (mask.rank() > x.rank() || mask.shape() != x.shape().part(0, mask.rank()))
    usage_error(op,
                "mask " + to_string(mask.aval()) + " does not have the first axes of " +
                    to_string(x.aval()),
                loc);
  return mask;
}

Named resolve(std::string_view op, const Array& x, const std::vector<AxisIndex>& indices, bool wrap,
              Loc loc) {
  int used = 0, open = 0;
  bool arrays = false;
  for (const AxisIndex& i : indices) {
    used += i.kind() != IndexKind::rest && i.kind() != IndexKind::inserted;
    open += i.kind() == IndexKind::rest;
    arrays |= i.kind() == IndexKind::array;
  }
  if (used > x.rank())
    usage_error(op, std::to_string(used) + " indices for " + to_string(x.aval()), loc);
  if (open > 1) usage_error(op, "more than one ellipsis; leave one", loc);
  std::vector<AxisIndex> all;
  const auto rest = [&] {
    all.insert(all.end(), static_cast<std::size_t>(x.rank() - used), every);
  };
  for (const AxisIndex& i : indices) {
    if (i.kind() == IndexKind::rest)
      rest();
    else
      all.push_back(i);
  }
  if (open == 0) rest();

  Named n;
  n.loc = loc;
  n.given = x.shape();
  Shape shape;
  int axis = 0;
  std::vector<Operand> scalars_and_arrays;
  for (std::size_t a = 0; a < all.size(); ++a) {
    const AxisIndex& i = all[a];
    const Dim length = i.kind() == IndexKind::inserted ? 1 : x.shape()[axis++];
    shape.append(length);
    AxisRange r{0, length};
    if (i.kind() == IndexKind::slice) r = axis_range(op, i.slice(), length, loc);
    if (i.kind() == IndexKind::integer && !arrays) {
      const Dim at = positions::resolve(i.integer(), length, wrap);
      n.outside |= at < 0 || at >= length;
      if (length == 0)
        usage_error(op,
                    "axis " + std::to_string(axis - 1) + " of " + to_string(x.aval()) +
                        " has no element to index",
                    loc);
      r = {std::clamp<Dim>(at, 0, length - 1), 1, 1, false, true};
    } else if (i.kind() == IndexKind::integer || i.kind() == IndexKind::array) {
      n.indexed.push_back(static_cast<int>(a));
      n.at.push_back(positions::of(
          op, i.kind() == IndexKind::array ? Operand(i.array(), loc) : Operand(i.integer(), loc),
          length, wrap));
      scalars_and_arrays.emplace_back(n.at.back(), loc);
    }
    n.ranges.push_back(r);
  }
  if (arrays) {
    n.broadcast = align::broadcast_shape(op, scalars_and_arrays);
    for (Array& i : n.at) i = align::broadcast(op, i, n.broadcast, loc);
  }
  n.x = lax::reshape(x, shape, loc);
  n.part = sliced(n.x, n.ranges, loc);
  return n;
}

/// Whether all scalar indices are in range.
Array all_in_range(const Named& n) {
  std::optional<Array> all;
  for (std::size_t i = 0; i < n.at.size(); ++i) {
    const Array here = positions::in_range(n.at[i], n.part.shape()[n.indexed[i]], n.loc);
    all = all ? lax::logical_and(*all, here, n.loc) : here;
  }
  return *all;
}

Arrays block_starts(const Named& n) {
  Arrays starts(static_cast<std::size_t>(n.part.rank()), lax::scalar_integer(DType::i32, 0, n.loc));
  for (std::size_t i = 0; i < n.at.size(); ++i)
    starts[static_cast<std::size_t>(n.indexed[i])] =
        positions::clamped(n.at[i], n.part.shape()[n.indexed[i]], n.loc);
  return starts;
}

Shape block_shape(const Named& n) {
  Shape s = n.part.shape();
  for (int a : n.indexed) s[a] = 1;
  return s;
}

/// The indexed axes of `part` merged into one, at the place where the index arrays go.
struct Merged {
  std::vector<int> order;  // of the axes of `part`
  Array x;
  int axis = 0;
  Dim length = 1;
};
Merged merge(const Named& n) {
  Merged m;
  m.axis = n.place();
  m.order = n.kept();
  m.order.insert(m.order.begin() + m.axis, n.indexed.begin(), n.indexed.end());
  Shape shape;
  for (int a : n.kept()) shape.append(n.part.shape()[a]);
  Shape indexed;
  for (int a : n.indexed) indexed.append(n.part.shape()[a]);
  m.length = indexed.size();
  shape.insert(m.axis, m.length);
  m.x = lax::reshape(lax::permute(n.part, m.order, n.loc), shape, n.loc);
  return m;
}

/// One index, flat, along the merged axis; -1 where one of several is out of range, unless `clip`.
Array flat_index(const Named& n, bool clip) {
  const auto flat = [&](const Array& i) {
    return lax::reshape(i, Shape(n.broadcast.size()), n.loc);
  };
  if (n.at.size() == 1) {
    const Dim length = n.part.shape()[n.indexed[0]];
    return flat(clip && length > 0 ? positions::clamped(n.at[0], length, n.loc) : n.at[0]);
  }
  std::optional<Array> sum;
  for (std::size_t i = 0; i < n.at.size(); ++i) {
    const Dim length = n.part.shape()[n.indexed[i]];
    const Array at = clip && length > 0 ? positions::clamped(n.at[i], length, n.loc) : n.at[i];
    sum = sum ? lax::add(lax::mul(*sum, static_cast<double>(length), n.loc), at, n.loc) : at;
  }
  if (!clip) sum = lax::select(all_in_range(n), *sum, lax::full_like(*sum, -1, n.loc), n.loc);
  return flat(*sum);
}

/// `x` in the shape `get` gives: without the axes of integers.
Array without_dropped(const Named& n, const Array& x) { return lax::reshape(x, n.result(), n.loc); }

using Combine = Array (*)(const Array& old, const Array& value, Loc);

struct Update {
  std::string_view op;
  const Primitive& scatter;
  Combine combine;
};

/// `x` with `value` combined into what is named.
Array updated(const Update& u, const Array& x, const std::vector<AxisIndex>& indices,
              const Operand& value, const WriteOptions& options) {
  const Loc loc = value.loc();
  if (const auto mask = lone_mask(u.op, x, indices, loc)) {
    const int r = mask->rank();
    const Array v = positions::written_value(u.op, x, value, x.shape().part(r, x.rank()));
    std::vector<int> front(static_cast<std::size_t>(r)), back(static_cast<std::size_t>(v.rank()));
    std::iota(front.begin(), front.end(), 0);
    std::iota(back.begin(), back.end(), r);
    const Array next = u.combine(x, lax::broadcast(v, x.shape(), back, loc), loc);
    return lax::select(lax::broadcast(*mask, x.shape(), front, loc), next, x, loc);
  }
  const Named n = resolve(u.op, x, indices, options.wrap_negative, loc);
  const Array v = positions::written_value(u.op, x, value, n.result());
  const bool clip = options.mode == WriteMode::clip, drop = options.mode == WriteMode::drop;
  if ((n.outside && !clip) || v.size() == 0 || x.size() == 0) return x;
  Array part;
  if (n.indexed.empty()) {
    part = u.combine(n.part, lax::reshape(v, n.part.shape(), loc), loc);
  } else if (n.broadcast.rank() == 0) {
    // One block: the array it is in stays in place.
    Arrays operands = block_starts(n);
    operands.insert(operands.begin(), n.part);
    const Shape shape = block_shape(n);
    const Array old = emit1(dynamic_slice_p, DynamicSliceParams{shape, 0}, operands, loc);
    Array next = u.combine(old, lax::reshape(v, shape, loc), loc);
    if (drop) next = lax::select(lax::broadcast(all_in_range(n), shape, {}, loc), next, old, loc);
    operands.insert(operands.begin() + 1, next);
    part = emit1(dynamic_update_slice_p, DynamicUpdateSliceParams{0}, operands, loc);
  } else {
    const Merged m = merge(n);
    const Array at = flat_index(n, clip);
    const Array updates = lax::reshape(v, m.x.shape().with(m.axis, at.size()), loc);
    const Array written =
        emit1(u.scatter, ScatterParams{m.axis, 0, options.unique_indices}, {m.x, at, updates}, loc);
    Shape split;
    std::vector<int> back(m.order.size());
    for (std::size_t i = 0; i < m.order.size(); ++i) {
      split.append(n.part.shape()[m.order[i]]);
      back[static_cast<std::size_t>(m.order[i])] = static_cast<int>(i);
    }
    part = lax::permute(lax::reshape(written, split, loc), back, loc);
  }
  return lax::reshape(put_back(n.x, part, n.ranges, loc), n.given, loc);
}

Array update(const Update& u, const Array& x, const std::vector<AxisIndex>& indices,
             const Operand& value, const WriteOptions& options) {
  return at_once(u.op, value.loc(), [&] { return updated(u, x, indices, value, options); });
}

Array replace(const Array&, const Array& value, Loc) { return value; }
Array plus(const Array& old, const Array& value, Loc loc) { return lax::add(old, value, loc); }
Array times(const Array& old, const Array& value, Loc loc) { return lax::mul(old, value, loc); }
Array lower(const Array& old, const Array& value, Loc loc) {
  return emit1(min_p, {}, {old, value}, loc);
}
Array higher(const Array& old, const Array& value, Loc loc) {
  return emit1(max_p, {}, {old, value}, loc);
}

Array read(const Array& x, const std::vector<AxisIndex>& indices, const ReadOptions& options,
           Loc loc) {
  constexpr std::string_view op = "at.get";
  if (lone_mask(op, x, indices, loc))
    usage_error(op,
                "how many elements a mask names is known only when a program runs; use `where`, or "
                "write with the mask",
                loc);
  const Named n = resolve(op, x, indices, options.wrap_negative, loc);
  const bool fill = options.mode == ReadMode::fill;
  const auto filler = [&](const Shape& shape) {
    if (options.fill_value) return lax::full({x.dtype(), shape}, *options.fill_value, loc);
    // What a gather fills with, read from nowhere.
    const Array nothing = lax::full({x.dtype(), {0}}, 0, loc);
    const Array one = emit1(gather_p, GatherParams{0, 0, GatherMode::fill},
                            {nothing, lax::full({DType::i32, {1}}, 0, loc)}, loc);
    return lax::broadcast(lax::reshape(one, {}, loc), shape, {}, loc);
  };
  if (n.indexed.empty()) return n.outside && fill ? filler(n.result()) : without_dropped(n, n.part);
  for (std::size_t i = 0; i < n.at.size() && !fill; ++i)
    positions::check_length(op, n.part, n.indexed[i], n.at[i], loc);
  if (n.broadcast.rank() == 0 && !fill) {
    Arrays operands = block_starts(n);
    operands.insert(operands.begin(), n.part);
    return without_dropped(
        n, emit1(dynamic_slice_p, DynamicSliceParams{block_shape(n), 0}, operands, loc));
  }
  const Merged m = merge(n);
  const Array at = flat_index(n, !fill);
  return lax::reshape(positions::gather(op, m.x, at, m.axis, 0, options, loc), n.result(), loc);
}

}  // namespace

Array At::get(ReadOptions options, Loc loc) const {
  return at_once("at.get", loc, [&] { return read(x_, indices_, options, loc); });
}

Array At::set(Operand value, WriteOptions options) const {
  return update({"at.set", scatter_set_p, replace}, x_, indices_, value, options);
}
Array At::add(Operand value, WriteOptions options) const {
  return update({"at.add", scatter_add_p, plus}, x_, indices_, value, options);
}
Array At::mul(Operand value, WriteOptions options) const {
  return update({"at.mul", scatter_mul_p, times}, x_, indices_, value, options);
}
Array At::min(Operand value, WriteOptions options) const {
  return update({"at.min", scatter_min_p, lower}, x_, indices_, value, options);
}
Array At::max(Operand value, WriteOptions options) const {
  return update({"at.max", scatter_max_p, higher}, x_, indices_, value, options);
}

}  // namespace gnomon
