// codegen/include/gnomon/indexing.h -- reads and writes at positions known only when a program
// runs.
//
// Negative     a negative index of a signed type has the length of its axis added once. Indices of
//              unsigned types are taken as they are.
// Out of range reads clip to the nearest element unless told otherwise, writes are dropped; slices
//              are moved so that they fit. Nothing here fails when a program runs.
// Derivatives  go to the elements that were read or written; what was clipped goes to the edge,
//              what was dropped to nobody.
//
// Wrong shapes and dtypes throw UsageError with the line of the call.
#pragma once
#include <optional>
#include <vector>

#include "gnomon/array.h"

namespace gnomon {

/// The block of `sizes` that begins at `starts`, one integer per axis of x; moved to fit.
Array dynamic_slice(Operand x, const std::vector<Operand>& starts, const Shape& sizes);
/// `x` with the block that begins at `starts` replaced by `update`, which has x's rank; moved to
/// fit. O(update) where x is not used again, as in a loop that carries it.
Array dynamic_update_slice(Operand x, Operand update, const std::vector<Operand>& starts);

enum class ReadMode : std::uint8_t {
  clip,  // the nearest element
  fill,  // `fill_value`, or NaN, the smallest signed or largest unsigned number, true
};
struct ReadOptions {
  ReadMode mode = ReadMode::clip;
  bool wrap_negative = true;
  std::optional<double> fill_value = {};
};
enum class WriteMode : std::uint8_t {
  drop,  // changes nothing
  clip,  // writes to the nearest element
};
struct WriteOptions {
  WriteMode mode = WriteMode::drop;
  bool wrap_negative = true;
};

/// x[.., indices[i..], ..] along `axis`, which the axes of `indices` replace.
Array take(Operand x, Operand indices, int axis = 0, ReadOptions options = {});
/// out[.., i, ..] = x[.., indices[.., i, ..], ..] along `axis`; the other axes agree.
Array take_along_axis(Operand x, Operand indices, int axis, ReadOptions options = {});

/// `x` with x[index] replaced by `value`, which broadcasts; one integer index along the first axis.
/// O(x[index]) where x is not used again.
Array at_set(Operand x, Operand index, Operand value, WriteOptions options = {});
/// `x` with `value` added to x[index], which broadcasts to the shape of x[index]. Indices of any
/// shape; those that occur twice add twice, in order.
Array at_add(Operand x, Operand index, Operand value, WriteOptions options = {});
/// `x` with updates[.., i, ..] added to x[.., indices[i], ..] along `axis`, in order of i.
Array scatter_add(Operand x, Operand indices, Operand updates, int axis = 0,
                  WriteOptions options = {});
/// out[s, ..] = the sum of data[i, ..] over all i with segment_ids[i] == s, for s below
/// `num_segments`, in order of i. Other ids, negative ones too, are dropped.
Array segment_sum(Operand data, Operand segment_ids, Dim num_segments);

}  // namespace gnomon
