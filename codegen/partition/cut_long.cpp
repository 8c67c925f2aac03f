// codegen/partition/cut_long.cpp -- one root after the other, each in the order of the program.
#include "codegen/partition/cut_long.h"

#include <algorithm>
#include <optional>

#include "codegen/cost/instructions.h"
#include "codegen/graph/primitive.h"

namespace gnomon {
namespace {

double own_instructions(const Equation& e) { return instructions(e.primitive->lower.cost); }

class Cutter {
 public:
  Cutter(const Placement& p, const CutLimits& limits, std::vector<bool>& in_memory)
      : p_(p),
        g_(p.graph),
        limits_(limits),
        in_memory_(in_memory),
        cost_(g_.avals.size(), 0),
        last_use_(g_.avals.size(), 0) {}

  void cut(ValueId root) {
    const BackwardSlice slice = backward_slice_of(p_, root);
    if (!slice.loops.empty() || straight_instructions(g_, slice.equations) <= limits_.instructions)
      return;
    equations_.assign(slice.equations.begin(), slice.equations.end());
    size_ = g_.avals[root].shape.size();
    stored_.clear();
    for (std::size_t i = 0; i < equations_.size(); ++i)
      for (ValueId v : g_.equations[equations_[i]].inputs) last_use_[v] = i;
    for (std::size_t from = 0; from < equations_.size();) from = cut_behind(from);
  }

 private:
  /// Cuts the equations from this one on where the first part ends; its end.
  std::size_t cut_behind(std::size_t from) {
    std::size_t end = from, middle = from;
    double sum = 0;
    for (; end < equations_.size(); ++end) {
      const Equation& e = g_.equations[equations_[end]];
      if (sum + own_instructions(e) > limits_.instructions) break;
      sum += own_instructions(e);
      if (sum <= limits_.instructions / 2) middle = end;
      find_cost(e);
    }
    if (end == equations_.size()) return end;
    // needed[i]: how many values have to go to memory where equation from + i ends a part.
    std::vector<int> needed(end - from + 1, 0);
    for (std::size_t i = from; i < end; ++i)
      if (const auto v = stored_value(i)) {
        ++needed[i - from];
        --needed[std::min(last_use_[*v], end) - from];
      }
    for (std::size_t i = 1; i < needed.size(); ++i) needed[i] += needed[i - 1];
    std::size_t best = middle;
    for (std::size_t i = middle; i < end; ++i)
      if (needed[i - from] <= needed[best - from]) best = i;
    std::erase_if(stored_, [&](ValueId v) { return last_use_[v] <= best; });
    std::vector<ValueId> more;
    for (std::size_t i = from; i <= best; ++i)
      if (const auto v = stored_value(i); v && last_use_[*v] > best) more.push_back(*v);
    std::uint64_t bytes = 0;
    for (const auto* values : {&stored_, &more})
      for (ValueId v : *values)
        bytes += static_cast<std::uint64_t>(size_) * size_of(g_.avals[v].dtype);
    if (bytes > limits_.bytes) return equations_.size();
    for (ValueId v : more) in_memory_[v] = true;
    stored_.insert(stored_.end(), more.begin(), more.end());
    return best + 1;
  }

  /// Instructions that the results take from memory, each time they are computed.
  void find_cost(const Equation& e) {
    double cost = own_instructions(e);
    for (ValueId v : e.inputs) cost += in_memory_[v] ? 0 : cost_[v];
    for (ValueId v : e.outputs) cost_[v] = std::min(cost, limits_.instructions);
  }

  /// The result of an equation that is stored where it is needed in a later part: an element for
  /// each of the root's, which costs more to compute than to read.
  std::optional<ValueId> stored_value(std::size_t i) const {
    constexpr double next_to_nothing = 8;
    const Equation& e = g_.equations[equations_[i]];
    const ValueId v = e.outputs[0];
    if (e.outputs.size() > 1 || e.primitive->lower.kind != Lowering::Kind::element ||
        e.primitive->lower.cost == Cost::view || g_.avals[v].shape.size() != size_ ||
        in_memory_[v] || cost_[v] <= next_to_nothing)
      return std::nullopt;
    return v;
  }

  const Placement& p_;
  const Graph& g_;
  const CutLimits limits_;
  std::vector<bool>& in_memory_;
  std::vector<double> cost_;
  std::vector<std::size_t> last_use_;     // in `equations_`
  std::vector<std::uint32_t> equations_;  // of one root
  Dim size_ = 0;                          // elements of the root
  std::vector<ValueId> stored_;           // that the parts to come still need
};

}  // namespace

double straight_instructions(const Graph& g, const IndexSet& equations) {
  double sum = 0;
  for (std::uint32_t i : equations) sum += own_instructions(g.equations[i]);
  return sum;
}

void cut_long(const Placement& p, const CutLimits& limits, std::vector<bool>& in_memory) {
  Cutter cutter(p, limits, in_memory);
  for (const Equation& e : p.graph.equations)
    for (ValueId v : e.outputs)
      if (in_memory[v] && p.uses.live[v]) cutter.cut(v);
}

}  // namespace gnomon
