// codegen/lax/positions.h -- from indices and values as users write them to those that
// gathers and scatters take.
#pragma once
#include "codegen/lax/align.h"
#include "gnomon/indexing.h"

namespace gnomon::positions {

/// A static index with negative ones counted from the end once; out of range is -1 or `length`.
Dim resolve(Dim index, Dim length, bool wrap);
/// Integers as i32; those that it cannot hold become its largest number or minus that.
Array cut_to_i32(const Array&, Loc);
/// Integer positions along an axis of `length`, as i32 with negative ones resolved. Throws
/// UsageError for other dtypes.
Array of(std::string_view op, const Operand& index, Dim length, bool wrap);
/// `at` moved into [0, length).
Array clamped(const Array& at, Dim length, Loc);
/// Whether `at` is in [0, length).
Array in_range(const Array& at, Dim length, Loc);
/// `per_index` (leading batch axes, then those of the indices) repeated over the other axes of
/// `shape`, in which those of the indices begin at `axis`.
Array over_rows(const Array& per_index, const Shape& shape, int axis, int batch_dims, Loc);
/// Throws UsageError when there are indices but no elements along `axis`.
void check_length(std::string_view op, const Array& x, int axis, const Array& indices, Loc);
/// `value` in x's dtype and in `shape`. Throws UsageError when that would lose something.
Array written_value(std::string_view op, const Array& x, const Operand& value, const Shape& shape);
/// The elements of x at `at`, positions along `axis` behind `batch_dims` axes, in the mode that is
/// asked for.
Array gather(std::string_view op, const Array& x, const Array& at, int axis, int batch_dims,
             const ReadOptions&, Loc);
/// The array of an operand. Throws UsageError for a number.
const Array& array_of(std::string_view op, const Operand& x);

}  // namespace gnomon::positions
