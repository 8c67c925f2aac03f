// codegen/partition/materialization.cpp -- weighs what an element costs against how often it is
// asked for.
#include "codegen/partition/materialization.h"

#include <algorithm>
#include <optional>

#include "codegen/analysis/backward_slice.h"
#include "codegen/analysis/in_place.h"
#include "codegen/base/lists.h"
#include "codegen/cost/decisions.h"
#include "codegen/cost/device_model.h"
#include "codegen/cost/instructions.h"
#include "codegen/cost/work.h"
#include "codegen/emit/mapping.h"
#include "codegen/emit/workgroup.h"
#include "codegen/graph/primitive.h"
#include "codegen/operations/calls.h"
#include "codegen/operations/control.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"

namespace gnomon {

namespace {

constexpr double unbounded_cost = 1e9;

/// A number that so many elements need is computed by a kernel in front of theirs: that takes about
/// ten microseconds, as much as a dozen instructions in each of the invocations.
constexpr Dim many_elements = 1 << 15;

/// How often consumers in other positions ask for an element: not, by broadcasting, or by a
/// product, gather or loop.
enum class Demand : std::uint8_t { once, broadcast, repeated };

class Chooser {
 public:
  Chooser(const Graph& g, const Uses& uses, const Target& target, const CompileOptions& options)
      : g_(g),
        uses_(uses),
        target_(target),
        options_(options),
        in_memory_(g.avals.size(), false),
        layouts_(g.avals.size()),
        cost_(g.avals.size(), 0),
        demand_(g.avals.size(), Demand::once),
        asked_by_many_(g.avals.size(), false) {}

  Materialization run() {
    for (ValueId v : g_.inputs) in_memory_[v] = true;
    // Many windows show an element of an image: the border is put around it once.
    for (const Equation& e : g_.equations)
      if (e.primitive == &conv_p)
        for (std::size_t i = 0; i < 2; ++i) keep_bordered(e.inputs[i], i == 1);
    find_demand();
    choose_memory();
    if (options_.decisions != nullptr && options_.fuse) ask_about_memory();
    Rows rows;
    if (options_.fuse) rows = fuse_rows(g_, uses_, target_, cost_, in_memory_, options_.decisions);
    choose_layouts();
    return {std::move(in_memory_), std::move(layouts_), std::move(rows)};
  }

 private:
  /// A product whose operands pass through shared memory: few workgroups ask for each element.
  bool in_panels(const Equation& e) const {
    return target_.team > 0 && e.primitive == &dot_general_p && large_product(g_, e);
  }

  /// Slices written into an array of which only slices are read: they are worked out.
  bool shows_slices(const Equation& e) const {
    return e.primitive == &dynamic_update_slice_p && read_in_slices(g_, e.outputs[0]) &&
           std::find(g_.outputs.begin(), g_.outputs.end(), e.outputs[0]) == g_.outputs.end();
  }

  void find_demand() {
    for (std::size_t i = g_.equations.size(); i-- > 0;) {
      const Equation& e = g_.equations[i];
      const Lowering& lower = e.primitive->lower;
      Demand out = Demand::once;
      for (ValueId v : e.outputs) out = std::max(out, demand_[v]);
      for (std::size_t j = 0; j < e.inputs.size(); ++j) {
        Demand d = Demand::once;
        switch (lower.kind) {
          case Lowering::Kind::element:
            if (lower.reuse == Reuse::many)
              d = e.primitive->name == "broadcast" || in_panels(e) ? Demand::broadcast
                                                                   : Demand::repeated;
            if (g_.avals[e.outputs[0]].shape.size() >= many_elements)
              asked_by_many_[e.inputs[j]] = true;
            if (lower.cost == Cost::view && !in_memory_[e.outputs[0]] &&
                (j == 0 || e.primitive != &optimization_barrier_p))
              d = std::max(d, out);
            break;
          case Lowering::Kind::cond:
            d = j == 0 ? Demand::broadcast : Demand::once;
            break;
          case Lowering::Kind::scatter:
            d = j == 1 ? Demand::repeated : Demand::once;
            break;
          case Lowering::Kind::while_loop:
            d = static_cast<int>(j) < e.params.as<WhileParams>().carried ? Demand::once
                                                                         : Demand::repeated;
            break;
          case Lowering::Kind::scan: {
            const auto& p = e.params.as<ScanParams>();
            d = static_cast<int>(j) < p.carried + p.sequences ? Demand::once : Demand::repeated;
            break;
          }
          case Lowering::Kind::expand:
            break;
        }
        demand_[e.inputs[j]] = std::max(demand_[e.inputs[j]], d);
      }
    }
  }

  /// Instructions per element but for its operands.
  static double own_cost_of(const Equation& e) {
    if (e.primitive == &iota_p) return 0;  // the position, which whoever asks for it knows
    // What a reduction costs are its operand's elements.
    return instructions(reduces(e) ? Cost::cheap : e.primitive->lower.cost);
  }

  /// Instructions per element, operands included up to memory.
  double cost_of(const Equation& e) const {
    double inputs = 0;
    for (ValueId v : e.inputs) {
      inputs += in_memory_[v] ? 0 : cost_[v];
      if (e.primitive == &optimization_barrier_p) break;  // it waits for the others
    }
    switch (e.primitive->lower.kind) {
      case Lowering::Kind::element:
        break;
      case Lowering::Kind::cond:
        return is_loop(e) ? unbounded_cost : inputs + 16;
      case Lowering::Kind::scatter:
      case Lowering::Kind::while_loop:
      case Lowering::Kind::scan:
      case Lowering::Kind::expand:
        return unbounded_cost;
    }
    const double own = own_cost_of(e);
    return std::min(unbounded_cost, terms_per_element(g_, e) * (own + inputs));
  }

  bool expensive_for(ValueId v, Demand demand) const {
    const bool scalar = g_.avals[v].shape.size() <= 1;
    switch (demand) {
      case Demand::once:
        return false;
      case Demand::broadcast:
        return cost_[v] > (scalar ? (asked_by_many_[v] ? 12 : 80) : 4);
      case Demand::repeated:
        return cost_[v] > (scalar ? 40 : 0);
    }
    return false;
  }

  /// Puts what `v` shows, itself or through views, in memory when it costs a lot.
  void keep_if_costly(ValueId v) {
    const std::uint32_t p = uses_.producer[v];
    if (p == Uses::none || in_memory_[v] || cost_[v] < 64) return;
    const Equation& e = g_.equations[p];
    if (e.primitive->lower.kind != Lowering::Kind::element ||
        e.primitive->lower.cost != Cost::view) {
      in_memory_[v] = true;
    } else {
      for (ValueId in : e.inputs) keep_if_costly(in);
      cost_[v] = cost_of(e);
    }
  }

  /// Whether an element of `e` needs those of its operands at its own place.
  static bool by_element(const Equation& e) {
    const Lowering& lower = e.primitive->lower;
    return lower.kind == Lowering::Kind::element &&
           (e.primitive == &reshape_p || (lower.cost != Cost::view && lower.reuse == Reuse::once));
  }

  /// Instead of `v`, puts what it is made of in memory, where others need that as well and the rest
  /// costs little. False when there is nothing like that.
  bool keep_shared_part(ValueId v) {
    std::optional<ValueId> kept;
    std::vector<std::uint32_t> path;  // from `v` down
    std::size_t above = 0;            // of the path
    bool shown = false;               // by a view that others need
    for (ValueId at = v; uses_.producer[at] != Uses::none && !in_memory_[at];) {
      const double cost = cost_[at];
      if (cost < 64 || cost >= unbounded_cost || cost_[v] - cost >= 64) break;
      const Equation& e = g_.equations[uses_.producer[at]];
      const bool view = e.primitive->lower.cost == Cost::view;
      shown = at != v && (uses_.count[at] > 1 || shown);
      if (shown && !view) {
        kept = at;
        above = path.size();
        shown = false;
      }
      if (!by_element(e) || e.inputs.empty()) break;
      path.push_back(uses_.producer[at]);
      at = *std::max_element(e.inputs.begin(), e.inputs.end(), [&](ValueId a, ValueId b) {
        return (in_memory_[a] ? 0 : cost_[a]) < (in_memory_[b] ? 0 : cost_[b]);
      });
      if (g_.avals[at].shape.size() != g_.avals[v].shape.size()) break;
    }
    if (!kept) return false;
    in_memory_[*kept] = true;
    while (above-- > 0)
      cost_[g_.equations[path[above]].outputs[0]] = cost_of(g_.equations[path[above]]);
    return true;
  }

  /// Puts what a convolution reads through views in memory where that has a border, or is a kernel
  /// that was transposed for it.
  void keep_bordered(ValueId v, bool kernel) {
    for (bool permuted = false; uses_.producer[v] != Uses::none;) {
      const Equation& e = g_.equations[uses_.producer[v]];
      const bool permutes = e.primitive == &permute_p;
      if (e.primitive == &pad_p || (kernel && permutes && permuted)) in_memory_[v] = true;
      permuted |= permutes;
      if (!permutes && e.primitive != &reshape_p && e.primitive != &slice_p) return;
      v = e.inputs[0];
    }
  }

  bool shows_large_product(ValueId v) const {
    if (in_memory_[v]) return false;
    const BackwardSlice slice = backward_slice_of({g_, uses_, in_memory_, layouts_}, v);
    return std::any_of(slice.equations.begin(), slice.equations.end(), [&](std::uint32_t i) {
      const Equation& e = g_.equations[i];
      return e.primitive == &dot_general_p && large_product(g_, e);
    });
  }

  /// Puts what `v` takes of convolutions in memory: those that are asked for several times, or `v`
  /// itself, which a tile of the convolution then computes.
  void keep_convolutions(ValueId v) {
    if (in_memory_[v]) return;
    const auto slice = backward_slice_of({g_, uses_, in_memory_, layouts_}, v).equations;
    for (std::uint32_t i : slice) {
      const Equation& e = g_.equations[i];
      const ValueId result = e.outputs[0];
      if (e.primitive != &conv_p || cost_[result] < 64) continue;
      if (uses_.count[result] > 1) {
        in_memory_[result] = true;
      } else {
        keep_if_costly(v);
      }
    }
    for (std::uint32_t i : slice)
      for (ValueId o : g_.equations[i].outputs) cost_[o] = cost_of(g_.equations[i]);
  }

  /// Whether the lanes of a reduction fill a CPU, or there is next to nothing for them to do: what
  /// they reduce is then best computed where it is needed. (Neighbouring lanes of a GPU would read
  /// distant elements.)
  bool lanes_suffice(const Equation& e) const {
    if (!runs_on_cores(target_) && target_.team == 0) return false;
    // Products have tiles of their own, and what is not computed element by element has no choice.
    for (ValueId v : e.inputs)
      if (!in_memory_[v])
        for (std::uint32_t i : backward_slice_of({g_, uses_, in_memory_, layouts_}, v).equations)
          if (g_.equations[i].primitive == &dot_general_p || g_.equations[i].primitive == &conv_p ||
              g_.equations[i].primitive->lower.kind != Lowering::Kind::element)
            return false;
    const Dim out = g_.avals[e.outputs[0]].shape.size();
    double work = 0;
    for (ValueId v : e.inputs) {
      const Dim lanes = g_.avals[v].shape.size();
      // No more of them than run in step anyway: the running sums of one lane, most often.
      if (!in_memory_[v] && lanes > simd_lanes) work += cost_[v] * static_cast<double>(lanes);
    }
    // Eight microseconds' worth for a lane, which is what another kernel takes to start.
    constexpr double start = 2048;
    if (!runs_on_cores(target_))
      return out * target_.team >= target_.parallel_lanes &&
             (!reduces(e) || takes_teams(e) || work <= start * static_cast<double>(out));
    return out >= target_.parallel_lanes ||
           work <= start * static_cast<double>(std::min<Dim>(out, 64));
  }

  /// Whether the results of a reduction on a GPU fill it with an invocation each, or have teams.
  bool takes_teams(const Equation& e) const {
    const Shape& in = g_.avals[e.inputs[0]].shape;
    const Dim out = g_.avals[e.outputs[0]].shape.size();
    const auto& axes = e.params.as<AxesParams>().axes;
    const bool neighbours =
        !axes.empty() && axes.front() + static_cast<int>(axes.size()) == in.rank();
    return out >= target_.parallel_lanes ||
           has_team(target_, in.size() / std::max<Dim>(out, 1), out, neighbours);
  }

  /// What an element may cost to be computed for each of several roots.
  static constexpr double next_to_nothing = 4;

  bool defined(ValueId v) const { return uses_.producer[v] != Uses::none; }

  /// Operands that an equation had better read from memory.
  void keep_operands(const Equation& e) {
    // A reduction has fewer lanes than its operand: what costs a lot there is computed by the
    // operand's lanes.
    if (e.primitive->lower.kind == Lowering::Kind::element && e.primitive->lower.cost != Cost::view)
      for (ValueId v : e.inputs)
        if (g_.avals[v].shape.size() >= 4 * g_.avals[e.outputs[0]].shape.size() &&
            !lanes_suffice(e) && !keep_shared_part(v))
          keep_if_costly(v);
    // Operands that were transposed for the sake of a product (optimize/split.h).
    if (e.primitive == &dot_general_p && large_product(g_, e))
      for (ValueId v : e.inputs)
        if (defined(v) && g_.equations[uses_.producer[v]].primitive == &permute_p)
          in_memory_[v] = true;
    // And for the sake of a loop's (optimize/transpose_for_lanes.h).
    if (e.primitive == &scan_p || e.primitive == &while_p) {
      const LoopOperands operands = loop_operands(e);
      for (std::size_t i = operands.carried + operands.sequences; i < e.inputs.size(); ++i)
        if (defined(e.inputs[i]) &&
            g_.equations[uses_.producer[e.inputs[i]]].primitive == &permute_p)
          in_memory_[e.inputs[i]] = true;
    }
    // No tile fits a product or a convolution that is one part of something larger, or is reversed.
    if (e.primitive == &concatenate_p || e.primitive == &pad_p || e.primitive == &reverse_p)
      for (ValueId v : e.inputs) {
        if (shows_large_product(v)) keep_if_costly(v);
        keep_convolutions(v);
      }
    // Results that complete vectors are cut off a convolution (optimize/split_conv.h).
    if (e.primitive == &slice_p && defined(e.inputs[0]) &&
        g_.equations[uses_.producer[e.inputs[0]]].primitive == &conv_p)
      keep_if_costly(e.inputs[0]);
  }

  /// Results that are stored, whoever reads them.
  void keep_results(const Equation& e) {
    const double cost = cost_of(e);
    const auto kind = e.primitive->lower.kind;
    for (std::size_t o = 0; o < e.outputs.size(); ++o) {
      const ValueId v = e.outputs[o];
      cost_[v] = cost;
      if (!uses_.live[v]) continue;
      const bool stacked =
          kind == Lowering::Kind::scan && static_cast<int>(o) >= e.params.as<ScanParams>().carried;
      // Stages that read the one before at two positions each, as those of a running result do:
      // the instructions of an element double with every stage that is not stored.
      const bool doubled = uses_.many[v] && cost > 256 && kind == Lowering::Kind::element;
      if (options_.fuse && shows_slices(e)) continue;
      if (kind == Lowering::Kind::scatter || stacked || !options_.fuse || doubled ||
          expensive_for(v, demand_[v]))
        in_memory_[v] = true;
    }
  }

  /// What one element takes beside values that are computed once as well, or cost next to nothing.
  std::vector<double> costs_beside_others() const {
    std::vector<double> beside = cost_;
    for (const Equation& e : g_.equations) {
      if (e.primitive->lower.kind != Lowering::Kind::element || e.outputs.size() > 1 ||
          (e.primitive->lower.cost != Cost::view && !by_element(e)))
        continue;
      double cost = own_cost_of(e);
      for (ValueId in : e.inputs)
        if (!in_memory_[in] && (beside[in] <= next_to_nothing || cost_[in] >= unbounded_cost))
          cost += beside[in];
      beside[e.outputs[0]] = cost;
    }
    return beside;
  }

  /// A value that several roots need is computed once, unless it costs next to nothing beside what
  /// is computed once as well.
  void keep_what_several_need() {
    const std::vector<double> beside = costs_beside_others();
    constexpr ValueId nobody = ~0u;
    constexpr ValueId several = ~0u - 1;
    std::vector<ValueId> owner(g_.avals.size(), nobody);
    for (std::size_t i = g_.equations.size(); i-- > 0;) {
      const Equation& e = g_.equations[i];
      const bool loop = is_loop(e);
      for (ValueId v : e.outputs) {
        // One number takes no memory to speak of.
        const double cost = g_.avals[v].shape.size() <= 1 ? cost_[v] : beside[v];
        if (owner[v] == several && !loop && cost > next_to_nothing && !shows_slices(e))
          in_memory_[v] = true;
        if (in_memory_[v]) owner[v] = v;
      }
      for (ValueId v : e.outputs) {
        // Outputs of a loop come together: one owner for all that feeds it.
        const ValueId o = loop ? e.outputs[0] : owner[v];
        if (o == nobody) continue;
        for (ValueId in : e.inputs)
          if (defined(in)) owner[in] = owner[in] == nobody || owner[in] == o ? o : several;
      }
    }
  }

  void choose_memory() {
    for (ValueId v : g_.outputs) in_memory_[v] = true;
    for (const Equation& e : g_.equations) {
      keep_operands(e);
      keep_results(e);
    }
    keep_what_several_need();
  }

  /// What could as well lie in memory or be computed where it is read.
  void ask_about_memory() {
    // Instructions for an element, once for each reader: nobody would compute that again.
    constexpr double hopeless = 4096;
    std::vector<bool> reduced(g_.avals.size(), false);
    for (const Equation& e : g_.equations)
      if (terms_per_element(g_, e) > 1)
        for (ValueId v : e.inputs) reduced[v] = true;
    for (const Equation& e : g_.equations) {
      if (e.primitive->lower.kind != Lowering::Kind::element || e.outputs.size() > 1) continue;
      const ValueId v = e.outputs[0];
      const bool shared = uses_.count[v] > 1 || reduced[v];
      if (!uses_.live[v] || contains(g_.outputs, v) || cost_[v] <= next_to_nothing ||
          cost_[v] * uses_.count[v] > hopeless || (!in_memory_[v] && !shared))
        continue;
      in_memory_[v] = decide(options_.decisions, Question::in_memory, g_, v, in_memory_[v]);
    }
  }

  /// Intermediates that lanes read or write get the lane axis innermost. Inputs and outputs are
  /// row-major.
  void choose_layouts() {
    std::vector<bool> fixed(g_.avals.size(), false);
    for (ValueId v : g_.inputs) fixed[v] = true;
    for (ValueId v : g_.outputs) fixed[v] = true;
    const auto outermost =
        [&](ValueId v, int axis) {  // the axis that lanes walk, in front of those they share
          const int rank = g_.avals[v].shape.rank();
          if (fixed[v] || rank < 2 || axis == 0) return;
          layouts_[v] = {{axis}};
          for (int a = 0; a < rank; ++a)
            if (a != axis) layouts_[v].order.push_back(a);
        };
    for (const Equation& e : g_.equations) {
      // Lanes that see the same indices write neighbours; those of a batch have their own.
      if (e.primitive->lower.kind == Lowering::Kind::scatter &&
          e.params.as<ScatterParams>().axis > e.params.as<ScatterParams>().batch_dims)
        outermost(e.outputs[0], e.params.as<ScatterParams>().axis);
      if (e.primitive == &gather_p) outermost(e.inputs[0], e.params.as<GatherParams>().axis);
      if (e.primitive == &while_p && e.params.as<WhileParams>().lanes > 0)
        for (ValueId v : e.outputs) {
          const int rank = g_.avals[v].shape.rank();
          if (fixed[v] || rank < 2) continue;
          layouts_[v] = {};
          for (int a = 1; a < rank; ++a) layouts_[v].order.push_back(a);
          layouts_[v].order.push_back(0);
        }
      if (e.primitive == &scan_p && target_.contiguous_per_lane)
        for (std::size_t o = static_cast<std::size_t>(e.params.as<ScanParams>().carried);
             o < e.outputs.size(); ++o)
          if (!fixed[e.outputs[o]]) rows_in_blocks(e, o);
    }
    for (const Equation& e : g_.equations)
      if (e.primitive == &permute_p && !fixed[e.outputs[0]]) turn_at_once(e, fixed);
  }

  /// Rows with the lanes last (optimize/transpose_for_lanes.h): what a SIMD group of lanes stores
  /// in a step lies together, so that it goes through pages one after the other and caches see it
  /// coming. Rows of all lanes are one stream for each unit, and every step waits for memory at
  /// each.
  void rows_in_blocks(const Equation& scan, std::size_t output) {
    constexpr Dim group = simd_lanes * 8;
    const Graph& body = *scan.params.as<ScanParams>().body;
    const ValueId row = body.outputs[output], v = scan.outputs[output];
    const Shape& shape = body.avals[row].shape;
    const auto made = std::find_if(
        body.equations.begin(), body.equations.end(),
        [&](const auto& e) { return e.primitive == &permute_p && e.outputs[0] == row; });
    if (made == body.equations.end() || made->params.as<AxesParams>().axes.back() != 0) return;
    const Dim lanes = shape[shape.rank() - 1];
    if (lanes <= group || lanes % group != 0) return;
    layouts_[v] = {{}, group};
    for (int a = 0; a <= shape.rank(); ++a) layouts_[v].order.push_back(a);
  }

  /// A permutation that goes to memory of something that lies there anyway: whoever computes that
  /// writes it in the wanted order. A few that read it the other way cost less than a copy.
  void turn_at_once(const Equation& permutation, const std::vector<bool>& fixed) {
    const ValueId permuted = permutation.outputs[0], v = permutation.inputs[0];
    constexpr std::uint32_t few = 2;
    if (!in_memory_[permuted] || !in_memory_[v] || fixed[v] || !layouts_[v].row_major() ||
        uses_.count[v] > few)
      return;
    const Lowering& lower = g_.equations[uses_.producer[v]].primitive->lower;
    if (lower.kind != Lowering::Kind::element || lower.cost == Cost::view) return;
    layouts_[v] = {permutation.params.as<AxesParams>().axes};
    in_memory_[permuted] = false;
  }

  const Graph& g_;
  const Uses& uses_;
  const Target& target_;
  const CompileOptions& options_;
  std::vector<bool> in_memory_;
  std::vector<Layout> layouts_;
  std::vector<double> cost_;
  std::vector<Demand> demand_;
  std::vector<bool> asked_by_many_;  // by an equation of at least many_elements
};

}  // namespace

Materialization choose_materialization(const Graph& g, const Uses& uses, const Target& target,
                                       const CompileOptions& options) {
  return Chooser(g, uses, target, options).run();
}

}  // namespace gnomon
