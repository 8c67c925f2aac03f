// codegen/partition/rows.cpp -- follows rows from a root up through elementwise equations, views,
// sums over rows and their broadcasts.
#include "codegen/partition/rows.h"

#include <algorithm>
#include <optional>
#include <set>

#include "codegen/cost/device_model.h"
#include "codegen/cost/instructions.h"
#include "codegen/cost/work.h"
#include "codegen/emit/workgroup.h"
#include "codegen/graph/primitive.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"

namespace gnomon {

namespace {

/// Rows of that many elements stay in a core's cache, those of all lanes of a SIMD group together.
constexpr Dim longest_row = 8192;
/// Shorter ones are unrolled, and walking memory is what they cost. A lane takes less time for such
/// a row than a kernel to start, so that this is all that counts where there are few.
constexpr Dim shortest_row = 16;
/// Each member of a team takes so many elements of a row at most, one after the other, where rows
/// are too few for all of the device: what stays in memory otherwise takes a kernel to start for
/// every walk.
constexpr Dim most_of_member = 8;
/// Sums over a row that a team has room for in shared memory: 4 bytes of each member, for every
/// one.
constexpr Dim most_walks = 8;
/// Instructions per element that it may cost to compute the row again instead of storing it.
constexpr double worth_storing = 48;
/// Values beyond which nobody looks further: a row of so many would cost too much anyway.
constexpr std::size_t most_values = 256;

/// How many leading axes of `shape` number `rows` rows; none when they do not.
std::optional<int> row_axes(const Shape& shape, Dim rows) {
  Dim n = 1;
  int axes = 0;
  while (n < rows && axes < shape.rank()) n *= shape[axes++];
  if (n != rows) return std::nullopt;
  return axes;
}

/// The walk up from one root.
class Walk {
 public:
  Walk(const Graph& g, const Uses& uses, const std::vector<bool>& outputs, ValueId root, Dim rows)
      : g_(g), uses_(uses), outputs_(outputs), root_(root), rows_(rows) {
    // What somebody else needs as well stays where it is; what only that asked for leaves with it.
    do {
      inside.clear();
      border.clear();
      visit(root);
    } while (!too_long() && keep_shared());
  }

  bool too_long() const { return inside.size() >= most_values; }

  /// Computed by the lane of their row, and all that ask for it.
  std::set<ValueId> inside;
  /// What they read.
  std::set<ValueId> border;

 private:
  void visit(ValueId v) {
    if (inside.count(v) > 0 || border.count(v) > 0 || too_long()) return;
    if (!follows(v)) {
      border.insert(v);
      return;
    }
    inside.insert(v);
    for (ValueId in : g_.equations[uses_.producer[v]].inputs) visit(in);
  }

  /// Whether row r of `v` follows from rows r of its operands.
  bool follows(ValueId v) const {
    if (uses_.producer[v] == Uses::none || kept_.count(v) > 0) return false;
    const Equation& e = g_.equations[uses_.producer[v]];
    const Lowering& l = e.primitive->lower;
    const Shape& shape = g_.avals[v].shape;
    const std::optional<int> axes = row_axes(shape, rows_);
    if (l.kind != Lowering::Kind::element || !axes) return false;
    if (e.inputs.empty()) return false;
    const Shape& from = g_.avals[e.inputs[0]].shape;
    const std::optional<int> source = row_axes(from, rows_);
    if (reduces(e)) return source && e.params.as<AxesParams>().axes.front() >= *source;
    if (e.primitive == &reshape_p) return source.has_value();
    if (e.primitive == &broadcast_p) {
      // Along rows, the operand's axes are the result's, all of them.
      Dim along = 1;
      const auto& to = e.params.as<BroadcastParams>().axes;
      for (std::size_t i = 0; i < to.size(); ++i)
        if (to[i] < *axes) along *= from[static_cast<int>(i)];
      return along == rows_;
    }
    if (e.primitive == &slice_p) {
      const auto& p = e.params.as<SliceParams>();
      for (int a = 0; a < *axes; ++a)
        if (shape[a] != from[a] || p.strides[static_cast<std::size_t>(a)] != 1) return false;
      return true;
    }
    return l.cost != Cost::view && l.reuse == Reuse::once &&
           std::all_of(e.inputs.begin(), e.inputs.end(), [&](ValueId in) {
             return g_.avals[in].shape == shape || g_.avals[in].shape.size() == 1;
           });
  }

  bool keep_shared() {
    std::vector<std::uint32_t> uses(g_.avals.size(), 0);  // by equations inside
    std::set<std::uint32_t> seen;
    for (ValueId w : inside)
      if (const std::uint32_t p = uses_.producer[w]; seen.insert(p).second)
        for (ValueId v : g_.equations[p].inputs) ++uses[v];
    const std::size_t before = kept_.size();
    for (ValueId v : inside)
      if (v != root_ && (outputs_[v] || uses[v] < uses_.count[v])) kept_.insert(v);
    return kept_.size() > before;
  }

  const Graph& g_;
  const Uses& uses_;
  const std::vector<bool>& outputs_;
  ValueId root_;
  Dim rows_;
  std::set<ValueId> kept_;
};

/// Rows of the sum nearest to `root` that one of its elements needs as a whole; 0: there is none.
Dim nearest_rows(const Graph& g, const Uses& uses, ValueId root) {
  std::vector<ValueId> open{root};
  std::vector<bool> seen(g.avals.size(), false);
  std::size_t looked_at = 0;
  for (std::size_t at = 0; at < open.size() && looked_at < most_values; ++at) {
    const ValueId v = open[at];
    if (seen[v]) continue;
    seen[v] = true;
    ++looked_at;
    if (uses.producer[v] == Uses::none) continue;
    const Equation& e = g.equations[uses.producer[v]];
    if (reduces(e)) return g.avals[v].shape.size();
    if (e.primitive->lower.kind == Lowering::Kind::element &&
        (e.primitive->lower.reuse == Reuse::once || e.primitive == &broadcast_p))
      open.insert(open.end(), e.inputs.begin(), e.inputs.end());
  }
  return 0;
}

/// What a kernel over rows would have to do.
struct Load {
  Dim rows = 0, length = 0;
  Dim walks = 0;    // over a row, for its sums
  double work = 0;  // instructions per element
};

/// Whether that takes less time than the kernels that it replaces.
bool worthwhile(const Target& target, const Load& l) {
  const bool costs_too_much = static_cast<double>(l.walks) * l.work > worth_storing;
  if (runs_on_cores(target)) {
    if (l.rows < target.parallel_lanes) return l.length <= shortest_row && l.work <= worth_storing;
    return l.length >= shortest_row && l.length <= longest_row && !costs_too_much;
  }
  // A lane reads a short row before a kernel has started; where there are many, neighbours are what
  // lanes should read.
  if (!has_team(target, l.length, l.rows, true))
    return l.length <= shortest_row && l.work <= worth_storing &&
           l.rows * l.length <= Dim{target.parallel_lanes} * 4;
  const bool few = l.rows * target.team * 4 < target.parallel_lanes;
  const Dim longest = few ? most_of_member * target.team : longest_row;
  return l.length <= longest && l.walks <= most_walks && !costs_too_much;
}

}  // namespace

Rows fuse_rows(const Graph& g, const Uses& uses, const Target& target,
               const std::vector<double>& cost, std::vector<bool>& in_memory,
               Decisions* decisions) {
  Rows found;
  const bool teams = !runs_on_cores(target);
  if (teams && target.team == 0) return found;
  std::vector<bool> outputs(g.avals.size(), false);
  for (ValueId v : g.outputs) outputs[v] = true;
  for (std::size_t i = g.equations.size(); i-- > 0;) {
    const Equation& e = g.equations[i];
    if (e.outputs.size() != 1 || !in_memory[e.outputs[0]] || !uses.live[e.outputs[0]]) continue;
    const ValueId root = e.outputs[0];
    const Shape& shape = g.avals[root].shape;
    const Dim rows = nearest_rows(g, uses, root);
    if (rows == 0 || shape.size() % rows != 0) continue;
    const Walk walk(g, uses, outputs, root, rows);
    if (walk.too_long()) continue;
    Dim length = 1, walks = 0;
    double work = 0;
    bool leaves = false;
    const auto per_row = [&](ValueId v) { return g.avals[v].shape.size() / rows; };
    for (ValueId v : walk.inside) {
      length = std::max(length, per_row(v));
      leaves = leaves || (in_memory[v] && v != root);
    }
    for (ValueId v : walk.inside) {
      const Equation& from = g.equations[uses.producer[v]];
      if (reduces(from))
        walks += 2 * per_row(from.inputs[0]) >= length;
      else if (per_row(v) > 1)
        work += instructions(from.primitive->lower.cost);
    }
    const Dim own = shape.size() / rows;
    // Rows of small elements that end within a word would share it; lanes own theirs.
    const bool by_team = teams && has_team(target, length, rows, true);
    if (own > 1 && !by_team && own * size_of(g.avals[root].dtype) % 4 != 0) continue;
    if (!leaves || walks == 0 || (own > 1 && own != length)) continue;
    const bool gains = worthwhile(target, {rows, length, walks, work});
    if (!decide(decisions, Question::rows, g, root, gains)) continue;
    for (ValueId v : walk.inside) in_memory[v] = v == root;
    for (ValueId v : walk.border)
      if (uses.producer[v] != Uses::none && cost[v] > 4) in_memory[v] = true;
    if (own > 1) found[root] = own;
  }
  return found;
}

}  // namespace gnomon
