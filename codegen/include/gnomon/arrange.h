// codegen/include/gnomon/arrange.h -- NumPy's rearrangements: diagonals and triangles, tiles and
// repetitions, grids, choices, joining and splitting.
//
// Axes count from the end when negative; dtypes meet as in gnomon/ops.h. All are compositions of
// views and selections: differentiable where their elements are, free to fuse. Shapes that do not
// fit throw UsageError with the line of the call.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "gnomon/ops.h"

#pragma GCC visibility push(default)
namespace gnomon {

// ---- diagonals and triangles

/// x[.., i, .., i + offset, ..] over `axis1` and `axis2`, as the last axis of the result.
Array diagonal(Operand x, Dim offset = 0, int axis1 = 0, int axis2 = 1);
/// The diagonal of a matrix; of a vector the square matrix that has it there, zero elsewhere.
Array diag(Operand x, Dim offset = 0);
/// The sum of a diagonal.
Array trace(Operand x, Dim offset = 0, int axis1 = 0, int axis2 = 1);
/// The last two axes with zeros above (below) diagonal `offset`.
Array tril(Operand x, Dim offset = 0);
Array triu(Operand x, Dim offset = 0);

// ---- repetition

/// Blocks a[i..] * b, as many axes as the longer operand has.
Array kron(Operand a, Operand b);
/// `x` repeated along every axis; a shorter side gets leading ones.
Array tile(Operand x, const Shape& repetitions);
/// Every element along `axis` `count` times in a row; without an axis of the flattened array.
Array repeat(Operand x, Dim count, std::optional<int> axis = {});
/// Element i along `axis` counts[i] times; at most 1024 counts, known when tracing.
Array repeat(Operand x, const std::vector<Dim>& counts, std::optional<int> axis = {});

// ---- grids

struct GridOptions {
  bool matrix =
      false;  // axes in the order of the vectors ("ij"); else the first two swapped ("xy")
  bool sparse = false;  // length 1 along the other axes
};
/// Coordinates of the grid that vectors span: one array per vector, each over all axes.
std::vector<Array> meshgrid(const std::vector<Array>& vectors, GridOptions options = {},
                            Loc loc = Loc::here());
/// out[a, i..] = i_a: the position along every axis of `shape`.
Array indices(const Shape& shape, DType dtype = DType::i32, Loc loc = Loc::here());

// ---- choices

/// The choice of the first condition that holds, else `otherwise`; all are evaluated.
Array select(const std::vector<Array>& conditions, const std::vector<Array>& choices,
             Operand otherwise = 0);
enum class ChooseMode : std::uint8_t { clip, wrap };
/// choices[index], element by element; index and choices broadcast. Out of range: the nearest
/// choice, or the remainder.
Array choose(Operand index, const std::vector<Array>& choices, ChooseMode mode = ChooseMode::clip);

// ---- turning

/// Moves elements around the end: of the flattened array, or along several axes.
Array roll(Operand x, Dim shift);
Array roll(Operand x, const std::vector<Dim>& shifts, const std::vector<int>& axes);
/// A quarter turn, `times` times, from the first axis towards the second.
Array rot90(Operand x, int times = 1, std::pair<int, int> axes = {0, 1});
/// Rows (columns) in reverse order: the first (second) axis.
Array flipud(Operand x);
Array fliplr(Operand x);

// ---- joining and splitting

/// Along the second axis (vectors: the only one), the first (vectors: as rows), the third (matrices
/// get one); vectors as columns.
Array hstack(const std::vector<Array>& parts, Loc loc = Loc::here());
Array vstack(const std::vector<Array>& parts, Loc loc = Loc::here());
Array dstack(const std::vector<Array>& parts, Loc loc = Loc::here());
Array column_stack(const std::vector<Array>& parts, Loc loc = Loc::here());
/// `parts` of as equal lengths as possible, longer ones first; or cut in front of `positions`.
std::vector<Array> array_split(Operand x, int parts, int axis = 0);
std::vector<Array> array_split(Operand x, const std::vector<Dim>& positions, int axis = 0);
/// Equal parts along the second (vectors: the only), first, third axis.
std::vector<Array> hsplit(Operand x, int parts);
std::vector<Array> vsplit(Operand x, int parts);
std::vector<Array> dsplit(Operand x, int parts);

}  // namespace gnomon
#pragma GCC visibility pop
