// codegen/emit/workgroup_team.cpp -- a team of invocations per element.
#include <algorithm>
#include <bit>

#include "codegen/analysis/follow.h"
#include "codegen/base/lists.h"
#include "codegen/emit/workgroup.h"
#include "codegen/emit/workshop.h"
#include "codegen/graph/primitive.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"
#include "codegen/operations/window.h"
#include "shaders/library/team.h"

namespace gnomon {

using kernel::Op;
using kernel::Team;
using kernel::Value;
using kernel::Values;

namespace {

/// Elements that go into one of a value's, and whether neighbours in memory are among them.
struct TeamRange {
  Dim length = 1;
  bool neighbours = false;
};

/// Whether one of the axes is where neighbours are; taken for granted of what is computed.
bool inside(const Placement& p, ValueId operand, const std::vector<int>& axes) {
  const int inner = contiguous_axis(p, operand);
  return contains(axes, inner < 0 ? p.graph.avals[operand].shape.rank() - 1 : inner);
}

std::optional<TeamRange> team_range(const Placement& p, const Equation& e) {
  const Primitive* f = e.primitive;
  if (e.inputs.empty()) return std::nullopt;
  const Shape& in = p.graph.avals[e.inputs[0]].shape;
  std::vector<int> axes;
  if (f == &dot_general_p) {
    const auto& d = e.params.as<DotParams>();
    // Where only one operand has neighbours in the sum, those of the other are results'.
    const bool both =
        inside(p, e.inputs[0], d.lhs_contracting) && inside(p, e.inputs[1], d.rhs_contracting);
    return TeamRange{terms(d, in), both};
  }
  if (f == &conv_p) {
    const Shape& window = p.graph.avals[e.inputs[1]].shape;
    return TeamRange{window.part(e.params.as<ConvParams>().batch_dims + 1, window.rank()).size(),
                     false};
  }
  if (f == &sum_p || f == &prod_p || f == &reduce_max_p || f == &reduce_min_p)
    axes = e.params.as<AxesParams>().axes;
  else if (f == &argmax_p || f == &argmin_p)
    axes = {e.params.as<AxisParams>().axis};
  else
    return std::nullopt;
  Dim length = 1;
  for (int a : axes) length *= in[a];
  return TeamRange{length, inside(p, e.inputs[0], axes)};
}

/// The longest range that a root's elements take in and that is worth a team; 0 when there is none.
Dim longest(const DraftRequest& r, const Placement& p, Dim out) {
  Dim n = 0;
  for (ValueId root : r.roots)
    walk(p, root, [&](ValueId v, const AxisMap&) {
      if (p.in_memory[v] && v != root) return false;
      if (p.uses.producer[v] == Uses::none) return false;
      const auto range = team_range(p, p.graph.equations[p.uses.producer[v]]);
      if (!range) return true;
      if (has_team(r.target, range->length, out, range->neighbours)) n = std::max(n, range->length);
      return false;
    });
  return n;
}

}  // namespace

bool has_team(const Target& target, Dim n, Dim out, bool neighbours) {
  constexpr Dim short_run = 32, short_range = 128;
  if (target.team == 0) return false;
  if (neighbours) return n >= short_run;
  return n >= short_range && out < static_cast<Dim>(target.parallel_lanes) / 8;
}

namespace {

/// The draft of a kernel in which each of `out` things is done by a team whose members walk `n`
/// elements together.
class TeamShop {
 public:
  TeamShop(const DraftRequest& r, Dim out, Dim n)
      : w(r),
        team_(Team::of(w.k, members(r.target, out, n), r.target.team,
                       r.target.features.subgroup_arithmetic)),
        out_(out) {
    auto& k = w.k;
    k.kernel().group_size = team_.group;
    w.emitter.team = &team_;
    w.emitter.lanes = out;
    // The last workgroup's surplus teams do the last one once more: barriers want everybody.
    const Value number = team_.number(k), last = k.u32(word(out - 1));
    w.emitter.lane = number;
    if (out % per_group() == 0) return;
    w.emitter.lane = k.binary(Op::minimum, number, last);
    wanted_ = k.compare(Op::le, number, last);
  }
  TeamShop(const TeamShop&) = delete;
  TeamShop& operator=(const TeamShop&) = delete;

  Workshop w;
  const Team& team() const { return team_; }

  /// Does something where this team is none of the surplus and `mine`, if given, holds.
  void where(Value mine, const std::function<void()>& f) {
    if (wanted_.valid()) mine = mine.valid() ? w.k.land(mine, wanted_) : wanted_;
    if (!mine.valid()) return f();
    w.k.if_(
        mine,
        [&] {
          f();
          return Values{};
        },
        [] { return Values{}; });
  }

  WorkgroupDraft finish(const std::string& what) {
    Draft d = w.finish("group");
    d.disjoint = false;
    d.groups = static_cast<std::uint32_t>((out_ + per_group() - 1) / per_group());
    return {std::move(d), "teams of " + std::to_string(team_.size) + " invocations for " + what};
  }

 private:
  /// A few elements for each member where that leaves enough for all lanes; much smaller teams
  /// where there are more things than lanes anyway.
  static std::uint32_t members(const Target& target, Dim out, Dim n) {
    const auto lanes = static_cast<Dim>(target.parallel_lanes);
    const Dim most = out * n < 4 * lanes ? n : std::min(n / 4, std::max<Dim>(32, 16 * lanes / out));
    return static_cast<std::uint32_t>(std::min<Dim>(
        target.team, static_cast<Dim>(std::bit_floor(static_cast<std::uint64_t>(most)))));
  }
  Dim per_group() const { return team_.group / team_.size; }

  const Team team_;
  Dim out_;
  Value wanted_;
};

}  // namespace

std::optional<WorkgroupDraft> draft_teams(const DraftRequest& r, const Placement& p) {
  const Dim out = r.graph.avals[r.roots[0]].shape.size();
  const Dim n = longest(r, p, out);
  if (n == 0) return std::nullopt;
  DraftRequest request = r;
  request.mapping = Mapping::group;
  request.lanes = out;
  TeamShop shop(request, out, n);
  Workshop& w = shop.w;
  Frame f(w.emitter, r.graph);
  w.bind_inputs(f);
  std::vector<std::pair<Index, Value>> values;
  for (ValueId v : r.roots) {
    const Index at = w.position(v);
    values.emplace_back(at, f.element(v, at));
  }
  shop.where(w.k.compare(Op::eq, shop.team().member, w.k.u32(0)), [&] {
    for (std::size_t i = 0; i < r.roots.size(); ++i)
      if (r.stored[i])
        w.emitter.store(w.memory(r.roots[i], kernel::Access::write),
                        r.graph.avals[r.roots[i]].shape, values[i].first, values[i].second);
  });
  return shop.finish("elements of " + to_string(r.graph.avals[r.roots[0]].shape));
}

std::optional<WorkgroupDraft> draft_row_teams(const DraftRequest& r, const Placement&) {
  const Shape& shape = r.graph.avals[r.roots[0]].shape;
  if (!has_team(r.target, r.row, shape.size() / r.row, true)) return std::nullopt;
  DraftRequest request = r;
  request.mapping = Mapping::group;
  request.lanes = shape.size() / r.row;
  TeamShop shop(request, request.lanes, r.row);
  Workshop& w = shop.w;
  Frame f(w.emitter, r.graph);
  w.bind_inputs(f);
  // What is needed of the whole row does not depend on the member and lands in front of this.
  const auto row = static_cast<std::uint64_t>(r.row);
  for_members(w.k, shop.team(), row, [&](const Values& positions, Value exists) {
    std::vector<std::pair<Index, Value>> values;
    for (ValueId v : r.roots)
      for (const Value n : positions) {
        const Index at = w.row_position(v, n);
        values.emplace_back(at, f.element(v, at));
      }
    shop.where(exists, [&] {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t root = i / positions.size();
        if (r.stored[root])
          w.emitter.store(w.memory(r.roots[root], kernel::Access::write),
                          r.graph.avals[r.roots[root]].shape, values[i].first, values[i].second);
      }
    });
  });
  return shop.finish("rows of " + std::to_string(r.row) + " elements of " + to_string(shape));
}

}  // namespace gnomon
