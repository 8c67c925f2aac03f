// codegen/emit/pieces.h -- what the lanes of an elementwise kernel store: rows of histories and
// the parts of joined arrays, beside the elements of arrays of their own shape.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "codegen/analysis/backward_slice.h"
#include "codegen/emit/draft.h"

namespace gnomon {

/// How the lanes of a kernel store a root, each an element of every piece.
struct Pieces {
  ValueId root = 0;
  const Equation* update = nullptr;  // that writes `value` as a row into its operand, in place
  ValueId value = 0;                 // the root, or the row without reshapes around it
  std::vector<ValueId> parts;        // of one shape, that `value` joins; or `value` alone
  int axis = -1;                     // along which it joins them; -1: it is one piece

  bool in_parts() const { return axis >= 0; }
};

/// Which of the values that kernels compute are dynamic_update_slices in place: by output.
using InPlace = std::map<ValueId, ValueId>;

/// The pieces of `roots`, in their order: with the parts of joined arrays where all roots then have
/// a lane for each element of one shape, otherwise in one piece each if that is so; nothing where
/// neither is. Parts that lie in memory are read there, unless a root of the same kernel joins
/// them.
std::optional<std::vector<Pieces>> pieces_of(const Placement&, const InPlace&,
                                             const std::vector<ValueId>& roots);

/// Whether a kernel of this root alone has such a form: it writes a row, or joins equal parts.
bool has_pieces(const Placement&, const InPlace&, ValueId root);

/// The shape that kernels of such roots have a lane for each element of.
const Shape& lanes_of(const Graph&, const Pieces&);

/// Whether `root` is computed element by element from streams: arrays read in order, slices of such
/// and what is broadcast to all. Neither tiles nor workgroups that work together win anything.
bool streams(const Placement&, ValueId root);

/// Whether it takes a kernel of pieces to store these, or pays.
bool stored_in_pieces(const Placement&, const std::vector<Pieces>&);

/// Whether all that `pieces` reads of `target`, in memory or a root of the same kernel, is at the
/// lane's own place: its elements have the shape that the lanes have.
bool at_own_place(const Placement&, const Pieces&, ValueId target);

/// The kernel of these pieces. What is read of the operand of an update must be read by the lane
/// that overwrites it.
Draft draft_pieces(const DraftRequest&, const std::vector<Pieces>&);

}  // namespace gnomon
