// shaders/library/team.h -- invocations of a workgroup that fold a range together.
#pragma once
#include <functional>
#include <optional>

#include "shaders/kernel/builder.h"

namespace gnomon::kernel {

/// `size` neighbouring invocations of a workgroup of `group` that compute one thing. Both are
/// powers of two.
struct Team {
  std::uint32_t size = 1;
  std::uint32_t group = 1;
  bool subgroups = false;  // combine within subgroups first, where the operation allows it
  Value member;            // which of the team's invocations this is

  static Team of(Builder&, std::uint32_t size, std::uint32_t group, bool subgroups);
  /// Which of the dispatch's teams this is.
  Value number(Builder&) const;
};

/// Has the members of a team do `count` things: member m does m, m + size, ..., so that neighbours
/// read and write neighbours, a few of them at once: `body(positions, exists)`. Positions beyond
/// the end are the last one once more, where `exists`, which is valid only then, is false. A loop
/// in any case: what depends on the position is then known to differ between members.
void for_members(Builder&, const Team&, std::uint64_t count,
                 const std::function<void(const Values& positions, Value exists)>& body);

/// What runs over a range: `body(n, carried)` takes one position more, `join` combines two results
/// of disjoint parts.
struct Fold {
  std::uint64_t count = 0;
  Values identity;
  std::function<Values(Value n, const Values& carried)> body;
  std::function<Values(const Values&, const Values&)> join;
  /// The instruction that does the same as `join` over a subgroup, for one value of 32 bits.
  std::optional<Op> over_subgroup;
};

/// Member m takes positions m, m + size, ...: neighbours read neighbours. Then all parts are
/// joined, by the subgroup's instruction and a walk over the subgroups' results where the team is a
/// whole workgroup, else by a tree in shared memory. Every member gets the result.
///
/// To be called where all invocations of the workgroup come along: it has barriers. The order of
/// joining depends on sizes only, save within a subgroup.
Values fold(Builder&, const Team&, const Fold&);

}  // namespace gnomon::kernel
