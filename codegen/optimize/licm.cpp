// codegen/optimize/licm.cpp -- finds what follows from a loop's constants, and copies it in front
// of the loop.
#include "codegen/optimize/licm.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "codegen/analysis/uses.h"
#include "codegen/cost/work.h"
#include "codegen/graph/effects.h"
#include "codegen/graph/primitive.h"
#include "codegen/operations/control.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"
#include "codegen/optimize/loop_rewrite.h"

namespace gnomon {

namespace {

/// Instructions per iteration that pay for a kernel in front of the loop and for memory.
constexpr double worth_moving = 4096;
/// What is moved is no larger than what it is computed from, or than this.
constexpr Dim small_in_any_case = Dim{1} << 16;
/// Matrices that are transposed: smaller ones stay in a core's fastest cache however they lie,
/// and a copy of a larger one is memory that somebody may miss.
constexpr Dim smallest_matrix = Dim{1} << 14, largest_matrix = Dim{1} << 22;
/// Iterations that pay for a transpose: reading a matrix in rows takes a quarter longer, and
/// transposing it as long as six products.
constexpr Dim enough_iterations = 32;

/// The body of a loop that all lanes take together.
const Graph* hoistable_body(const Equation& e) {
  if (e.primitive == &scan_p) return e.params.as<ScanParams>().body.get();
  if (e.primitive == &while_p && e.params.as<WhileParams>().lanes == 0)
    return e.params.as<WhileParams>().body.get();
  return nullptr;
}

/// One loop on its way to having more constants.
class Hoister {
 public:
  Hoister(Graph& outer, const Equation& e, const Target& target)
      : outer_(outer), loop_(e), target_(target), body_(*hoistable_body(e)) {
    const LoopOperands operands = loop_operands(e);
    first_constant_ = operands.carried + operands.sequences;
    const Dim steps = e.primitive == &while_p ? e.params.as<WhileParams>().max_steps
                                              : e.params.as<ScanParams>().length;
    often_ = steps < 0 || steps >= enough_iterations;
    repeats_ = steps < 0 || steps > 1;
  }

  /// False when everything stays as it is.
  bool run() {
    loops_inside();
    find_invariants();
    for (const Equation& e : body_.equations)
      if (e.outputs.empty() || !invariant_[e.outputs[0]])  // statements have none
        for (ValueId v : e.inputs) consider(v, is_loop(e));
    for (ValueId v : body_.outputs) consider(v, false);
    if (moved_.empty()) return changed_;
    for (Equation& e : body_.equations) rename(e.inputs);
    rename(body_.outputs);
    return true;
  }

  /// The equations in front, then the loop.
  void emit(std::vector<Equation>& out) {
    out.insert(out.end(), before_.begin(), before_.end());
    Equation e = loop_;
    for (const auto& [v, input] : moved_) {
      body_.inputs.push_back(input);
      e.inputs.push_back(outside_.at(v));
    }
    out.push_back(with_body(std::move(e), std::move(body_)));
  }

 private:
  /// What loops inside have in common may be common to all iterations of this one.
  void loops_inside() {
    std::vector<Equation> equations;
    for (const Equation& e : body_.equations) {
      if (hoistable_body(e)) {
        Hoister inner(body_, e, target_);
        if (inner.run()) {
          inner.emit(equations);
          changed_ = true;
          continue;
        }
      }
      equations.push_back(e);
    }
    body_.equations = std::move(equations);
  }

  void find_invariants() {
    invariant_.assign(body_.avals.size(), false);
    producer_.assign(body_.avals.size(), Uses::none);
    for (std::size_t i = first_constant_; i < body_.inputs.size(); ++i) {
      invariant_[body_.inputs[i]] = true;
      outside_[body_.inputs[i]] = loop_.inputs[i];
    }
    for (const Equation& e : body_.equations)
      if (e.primitive == &permute_p) permuted_[e.outputs[0]] = e.params.as<AxesParams>().axes;
    std::map<ValueId, ValueId> transposed;
    std::vector<Equation> equations;
    const auto add = [&](Equation e) {
      const bool same = !has_effects(e) && std::all_of(e.inputs.begin(), e.inputs.end(),
                                                       [&](ValueId v) { return invariant_[v]; });
      for (ValueId v : e.outputs) {
        invariant_[v] = same;
        producer_[v] = static_cast<std::uint32_t>(equations.size());
      }
      equations.push_back(std::move(e));
    };
    for (Equation e : std::vector<Equation>(body_.equations)) {
      if (const auto copy = turned_copy(e)) turned_.insert(*copy);
      if (const auto side = matrix_in_rows(e)) {
        const ValueId matrix = e.inputs[*side];
        const auto [copy, fresh] = transposed.try_emplace(matrix, 0);
        if (fresh) {
          const Shape& shape = body_.avals[matrix].shape;
          std::vector<int> order(static_cast<std::size_t>(shape.rank()));
          std::iota(order.begin(), order.end(), -1);
          order.front() = shape.rank() - 1;
          Shape by_column;
          for (int a : order) by_column.append(shape[a]);
          copy->second = body_.fresh({body_.avals[matrix].dtype, by_column});
          invariant_.push_back(false);
          producer_.push_back(Uses::none);
          add({&permute_p, AxesParams{order}, {matrix}, {copy->second}, e.loc});
          turned_.insert(copy->second);
        }
        DotParams p = e.params.as<DotParams>();
        (*side == 0 ? p.lhs_contracting : p.rhs_contracting) = {0};
        e.params = std::move(p);
        e.inputs[*side] = copy->second;
      }
      add(std::move(e));
    }
    body_.equations = std::move(equations);
  }

  /// The operand that is a matrix whose neighbours are summed, if the other one is a vector, or a
  /// matrix that is like it: one of them would be transposed in every step (optimize/split.h).
  std::optional<std::size_t> matrix_in_rows(const Equation& e) const {
    if (!target_.contiguous_per_lane || e.primitive != &dot_general_p) return std::nullopt;
    const auto& p = e.params.as<DotParams>();
    if (!p.lhs_batch.empty() || p.lhs_contracting.size() != 1) return std::nullopt;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const Shape& shape = body_.avals[e.inputs[side]].shape;
      const int summed = (side == 0 ? p.lhs_contracting : p.rhs_contracting)[0];
      if (!invariant_[e.inputs[side]] || shape.rank() < 2 || summed != shape.rank() - 1 ||
          shape.size() > largest_matrix)
        continue;
      const bool vector = body_.avals[e.inputs[1 - side]].shape.rank() == 1;
      if (vector ? often_ && shape.size() >= smallest_matrix
                 : !permuted_.contains(e.inputs[side]) && turned_in_every_step(e, side))
        return side;
    }
    return std::nullopt;
  }

  /// Whether neighbours of both operands of a product are summed, and only `side` stays the same.
  bool turned_in_every_step(const Equation& e, std::size_t side) const {
    const auto& p = e.params.as<DotParams>();
    return repeats_ && target_.team == 0 && !invariant_[e.inputs[1 - side]] &&
           large_product(body_, e) && sums_neighbours(e.inputs[0], p.lhs_contracting[0]) &&
           sums_neighbours(e.inputs[1], p.rhs_contracting[0]);
  }

  /// In memory, not as a permutation shows it.
  bool sums_neighbours(ValueId v, int summed) const {
    const int last = body_.avals[v].shape.rank() - 1;
    const auto shown = permuted_.find(v);
    return last ==
           (shown == permuted_.end() ? summed : shown->second[static_cast<std::size_t>(summed)]);
  }

  /// An operand that is transposed by a permutation already, which would be undone and done
  /// again.
  std::optional<ValueId> turned_copy(const Equation& e) const {
    if (!target_.contiguous_per_lane || e.primitive != &dot_general_p) return std::nullopt;
    const auto& p = e.params.as<DotParams>();
    if (!p.lhs_batch.empty() || p.lhs_contracting.size() != 1) return std::nullopt;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const ValueId v = e.inputs[side];
      const Shape& shape = body_.avals[v].shape;
      const int summed = (side == 0 ? p.lhs_contracting : p.rhs_contracting)[0];
      if (invariant_[v] && permuted_.contains(v) && summed != shape.rank() - 1 &&
          shape.size() <= largest_matrix && turned_in_every_step(e, side))
        return v;
    }
    return std::nullopt;
  }

  /// What an iteration does for `v`, and the elements of the constants it follows from.
  struct BackwardSlice {
    std::set<ValueId> values;
    std::set<std::uint32_t> equations;
    double work = 0;
    Dim elements = 0;
  };
  void gather(ValueId v, BackwardSlice& slice) const {
    if (!slice.values.insert(v).second) return;
    if (producer_[v] == Uses::none) {
      slice.elements += body_.avals[v].shape.size();
      return;
    }
    const Equation& e = body_.equations[producer_[v]];
    if (slice.equations.insert(producer_[v]).second) slice.work += work(body_, e);
    for (ValueId in : e.inputs) gather(in, slice);
  }

  /// `v` is read in every iteration; `by_loop`: by a loop inside, which reads it in memory.
  void consider(ValueId v, bool by_loop) {
    if (!invariant_[v] || producer_[v] == Uses::none || moved_.contains(v)) return;
    const Equation& e = body_.equations[producer_[v]];
    const Dim size = body_.avals[v].shape.size();
    const bool view =
        e.primitive->lower.kind == Lowering::Kind::element && e.primitive->lower.cost == Cost::view;
    if (turned_.contains(v) ||
        (by_loop && e.primitive == &permute_p && static_cast<double>(size) >= worth_moving))
      return move(v);
    if (!considered_.insert(v).second) return;
    if (!view) {
      BackwardSlice slice;
      gather(v, slice);
      if (slice.work < worth_moving) return;  // and so is that of all it follows from
      // What follows from positions alone takes no longer than reading it.
      if (slice.elements == 0 && slice.work <= 4 * static_cast<double>(size)) return;
      if (size <= std::max(small_in_any_case, slice.elements)) return move(v);
    }
    for (ValueId in : e.inputs) consider(in, false);
  }

  void move(ValueId v) {
    copy_outside(v);
    moved_.emplace(v, body_.fresh(Aval(body_.avals[v])));
  }

  ValueId copy_outside(ValueId v) {
    if (const auto known = outside_.find(v); known != outside_.end()) return known->second;
    Equation e = body_.equations[producer_[v]];
    for (ValueId& in : e.inputs) in = copy_outside(in);
    for (ValueId& out : e.outputs) {
      const ValueId inside = out;
      out = outer_.fresh(body_.avals[inside]);
      outside_[inside] = out;
    }
    before_.push_back(std::move(e));
    return outside_.at(v);
  }

  void rename(std::vector<ValueId>& values) const {
    for (ValueId& v : values)
      if (const auto m = moved_.find(v); m != moved_.end()) v = m->second;
  }

  Graph& outer_;
  Equation loop_;
  const Target& target_;
  Graph body_;
  std::size_t first_constant_ = 0;
  bool often_ = false;    // enough iterations
  bool repeats_ = false;  // more than one
  bool changed_ = false;  // loops inside
  std::vector<bool> invariant_;
  std::vector<std::uint32_t> producer_;
  std::map<ValueId, std::vector<int>> permuted_;  // what permutations make, and their axes
  std::set<ValueId> turned_, considered_;
  std::map<ValueId, ValueId> moved_;    // to inputs of the body
  std::map<ValueId, ValueId> outside_;  // invariants that exist outside
  std::vector<Equation> before_;
};

}  // namespace

std::optional<Graph> hoist_invariants(const Graph& g,
                                      const std::function<bool(const Equation&)>& in_kernels,
                                      const Target& target) {
  return with_loops_rewritten(g, [&](Graph& r, const Equation& e) {
    if (!hoistable_body(e)) return false;
    Hoister loop(r, e, target);
    if (!loop.run() || !in_kernels(e)) return false;
    loop.emit(r.equations);
    return true;
  });
}

}  // namespace gnomon
