// codegen/partition/loop_placement.h -- where the iterations of a loop run: in the lanes of one
// kernel, as kernels of their own, or all in one workgroup; and whether a branch is part of a
// kernel. Estimates, on which no result depends.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "codegen/partition/loop_region.h"

namespace gnomon {

/// Whether an iteration does enough to pay for kernels of its own, where each of `lanes` lanes
/// would do its operations one after the other. `may_play`: instead of kernels it may be one
/// workgroup.
bool worth_kernels(const Equation& loop, Dim lanes, const Target&, bool may_play);

/// Whether so few lanes would do all the work of an iteration that many could share, as with a
/// batch of a few large matrices.
bool too_much_for(Dim lanes, const Equation& loop, const Target&, bool may_play);

/// Why the iterations of a loop of `g` should be kernels although `lanes` lanes could each run
/// their own; nothing where they should not.
std::optional<std::string> better_as_kernels(const Graph& g, const Equation& loop, Dim lanes,
                                             const Target&, const LoopNest&);

/// Why the branches of a `cond` without loops should be kernels of their own, one of which runs, or
/// where lanes choose, all; nothing where the kernel that asks for their elements should hold them.
std::optional<std::string> better_as_kernels(const Equation& cond, const Target&);

/// Whether one workgroup plays a loop: where that is asked for, or starting its kernels costs more
/// than running them on one core. Notes it, and how long an iteration takes, in the region.
bool choose_players(LoopRegion&, const Equation& loop, const Target&, LoopMapping);

/// Drafts the kernels of a loop that one workgroup plays once more by `again`, for as many
/// invocations as it has, where that pays.
void fit_players(LoopRegion&, const Target&,
                 const std::function<std::shared_ptr<LoopRegion>(const Target&)>& again);

}  // namespace gnomon
