// codegen/include/gnomon/indexing.h -- reads and writes at positions known only when a program
// runs.
//
// Negative     a negative index of a signed type has the length of its axis added once. Indices of
//              unsigned types are taken as they are.
// Out of range reads clip to the nearest element unless told otherwise, writes are dropped; slices
//              are moved so that they fit. Nothing here fails when a program runs.
// Repeated     indices meet an element in the order of the indices (the last value set stays); many
//              floats add up in parts that depend on shapes and device only: reproducible.
// Derivatives  go to the elements that were read or written; what was clipped goes to the edge,
//              what was dropped to nobody.
//
// Wrong shapes and dtypes throw UsageError with the line of the call.
#pragma once
#include <concepts>
#include <optional>
#include <type_traits>
#include <vector>

#include "gnomon/array.h"

#pragma GCC visibility push(default)
namespace gnomon {

/// The block of `sizes` that begins at `starts`, one integer per axis of x; moved to fit.
Array dynamic_slice(Operand x, const std::vector<Operand>& starts, const Shape& sizes);
/// `x` with the block that begins at `starts` replaced by `update`, which has x's rank; moved to
/// fit. O(update) where x is not used again, as in a loop that carries it.
Array dynamic_update_slice(Operand x, Operand update, const std::vector<Operand>& starts);

enum class ReadMode : std::uint8_t {
  clip,               // the nearest element
  fill,               // `fill_value`, or NaN, the smallest signed or largest unsigned number, true
  promise_in_bounds,  // unchecked: all indices are in range
  drop = fill,
};
struct ReadOptions {
  ReadMode mode = ReadMode::clip;
  bool wrap_negative = true;
  std::optional<Scalar> fill_value = {};
};
enum class WriteMode : std::uint8_t {
  drop,               // changes nothing
  clip,               // writes to the nearest element
  promise_in_bounds,  // unchecked: all indices are in range
  fill = drop,
};
struct WriteOptions {
  WriteMode mode = WriteMode::drop;
  bool wrap_negative = true;
  bool unique_indices = false;  // unchecked: no element is written twice
};

/// x[.., indices[i..], ..] along `axis`, which the axes of `indices` replace.
Array take(Operand x, Operand indices, int axis = 0, ReadOptions options = {});
/// out[.., i, ..] = x[.., indices[.., i, ..], ..] along `axis`; the other axes agree.
Array take_along_axis(Operand x, Operand indices, int axis, ReadOptions options = {});
/// `x` with x[.., indices[.., i, ..], ..] replaced by values[.., i, ..] along `axis`; `values`
/// broadcasts to the shape of `indices`, whose other axes are those of x.
Array put_along_axis(Operand x, Operand indices, Operand values, int axis,
                     WriteOptions options = {});

// ---- x.at(...)

/// The elements start, start + step, ... in front of `stop` of one axis, as in Python: what is left
/// out means the end, negative positions count from the end, nothing is out of range.
struct Slice {
  std::optional<Dim> start = {};
  std::optional<Dim> stop = {};
  Dim step = 1;
};
/// A whole axis.
inline constexpr Slice every{};
/// As many whole axes as the other indices leave.
struct Ellipsis {};
inline constexpr Ellipsis ellipsis{};
/// A new axis of length 1.
struct NewAxis {};
inline constexpr NewAxis new_axis{};

/// What names elements along one axis: a C++ integer, an Array of integers, a Slice, `every`,
/// `ellipsis` or `new_axis`; or a bool Array, a mask over one or more axes.
class AxisIndex {
 public:
  enum class Kind : std::uint8_t { integer, array, slice, rest, inserted };
  template <class I>
  requires(std::integral<I> && !std::same_as<I, bool>) AxisIndex(I i)
      : kind_(Kind::integer), integer_(static_cast<Dim>(i)) {}  // NOLINT: implicit on purpose
  AxisIndex(const Array& a) : kind_(Kind::array), array_(a) {}  // NOLINT: likewise
  AxisIndex(const Slice& s) : slice_(s) {}                      // NOLINT: likewise
  AxisIndex(Ellipsis) : kind_(Kind::rest) {}                    // NOLINT: likewise
  AxisIndex(NewAxis) : kind_(Kind::inserted) {}                 // NOLINT: likewise
  /// Throws UsageError for a C++ number that is no integer.
  explicit AxisIndex(const Operand&);

  Kind kind() const { return kind_; }
  Dim integer() const { return integer_; }
  const Array& array() const { return array_; }
  const Slice& slice() const { return slice_; }

 private:
  Kind kind_ = Kind::slice;
  Dim integer_ = 0;
  Array array_;
  Slice slice_;
};

/// The elements of an array that indices name, for reading them or for the array with them changed:
/// `x.at(i, j).add(v)`. As NumPy's indexing: index arrays broadcast together and stand for elements
/// one by one; their axes take the place of the axes they index, or go to the front when a slice is
/// between them. Axes without an index are whole.
///
/// The writes leave x as it is and return a changed copy of x's shape and dtype; O(values) where x
/// is not used again and the index arrays are scalars. `value` broadcasts to the shape that `get`
/// has. A mask (a bool Array, the only index) writes where it is true; `value` then broadcasts to
/// the axes behind those of the mask.
/// Derivatives: of equal elements `min` and `max` share it. The derivative of `mul` in `value`
/// needs
/// `.unique_indices = true` for index arrays of more than one element, else UsageError.
class At {
 public:
  At(Array x, std::vector<AxisIndex> indices) : x_(std::move(x)), indices_(std::move(indices)) {}

  /// Throws UsageError for a mask: how many elements it names is known only when a program runs.
  Array get(ReadOptions options = {}, Loc loc = Loc::here()) const;
  Array set(Operand value, WriteOptions options = {}) const;
  Array add(Operand value, WriteOptions options = {}) const;
  Array mul(Operand value, WriteOptions options = {}) const;
  Array min(Operand value, WriteOptions options = {}) const;
  Array max(Operand value, WriteOptions options = {}) const;

 private:
  Array x_;
  std::vector<AxisIndex> indices_;
};

template <class... I>
At Array::at(const I&... indices) const {
  return At(*this, {AxisIndex(indices)...});
}
/// The same as x.at(indices...).
template <class... I>
At at(const Array& x, const I&... indices) {
  return At(x, {AxisIndex(indices)...});
}

/// x.at(index).set(value) and x.at(index).add(value).
Array at_set(Operand x, Operand index, Operand value, WriteOptions options = {});
Array at_add(Operand x, Operand index, Operand value, WriteOptions options = {});
/// `x` with updates[.., i, ..] added to x[.., indices[i], ..] along `axis`, in order of i.
Array scatter_add(Operand x, Operand indices, Operand updates, int axis = 0,
                  WriteOptions options = {});

// ---- segments

/// out[s, ..] = the sum of data[i, ..] over all i with segment_ids[i] == s, for s below
/// `num_segments`, in order of i. Other ids, negative ones too, are dropped. A segment without
/// elements has sum 0, product 1, maximum -inf and minimum inf (integers: the smallest and
/// largest). segment_prod has no derivative unless every segment has at most one element.
Array segment_sum(Operand data, Operand segment_ids, Dim num_segments);
Array segment_prod(Operand data, Operand segment_ids, Dim num_segments, WriteOptions options = {});
Array segment_max(Operand data, Operand segment_ids, Dim num_segments);
Array segment_min(Operand data, Operand segment_ids, Dim num_segments);

}  // namespace gnomon
#pragma GCC visibility pop
