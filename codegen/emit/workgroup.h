// codegen/emit/workgroup.h -- kernels whose invocations work together through shared memory.
#pragma once
#include <optional>
#include <string>

#include "codegen/analysis/backward_slice.h"
#include "codegen/emit/draft.h"

namespace gnomon {

/// A kernel in invocation form and what it does, for print.
struct WorkgroupDraft {
  Draft draft;
  std::string reason;
};

/// The kernel of these roots on a device whose workgroups have shared memory of their own
/// (Target::team > 0), where that pays:
///
/// - *teams*: an element that reduces a long range of neighbours, or one of few elements, is
/// computed
///   by up to a whole workgroup, whose members read neighbours (shaders/library/team.h).
/// - *panels*: a block of a product by a workgroup, which takes the operands through shared memory
///   and adds up in registers (shaders/library/panels.h).
///   Where lanes are to have rows (DraftRequest::row), a team has one: it computes the sums over
///   the row, then its members store neighbours.
/// - *transposed*: a square of an array that is read in another order than it is written
///   (shaders/library/transpose.h).
///
/// None where no mapping fits, where positions turn out to differ from what it expects, or where
/// shared memory does not suffice.
std::optional<WorkgroupDraft> draft_workgroup(const DraftRequest&, const Placement&);

/// Each of the mappings.
std::optional<WorkgroupDraft> draft_panels(const DraftRequest&, const Placement&);
std::optional<WorkgroupDraft> draft_teams(const DraftRequest&, const Placement&);
std::optional<WorkgroupDraft> draft_row_teams(const DraftRequest&, const Placement&);
std::optional<WorkgroupDraft> draft_transposed(const DraftRequest&, const Placement&);

/// Whether a kernel that reduces `n` elements to each of `out` results has a team for each.
bool has_team(const Target&, Dim n, Dim out, bool neighbours);

}  // namespace gnomon
