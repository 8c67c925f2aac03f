// shaders/passes/merge_counters.cpp -- carried integers that grow by one are found, their bounds
// joined.
#include "shaders/passes/merge_counters.h"

#include <algorithm>
#include <set>

#include "shaders/passes/affine.h"
#include "shaders/passes/rewrite.h"
#include "shaders/passes/simplify.h"

namespace gnomon::kernel {
namespace {

class MergeCounters : public Rewriter {
 public:
  using Rewriter::copy;
  MergeCounters(const Kernel& source, Builder& out)
      : Rewriter(source, out), definitions_(definitions(source)) {}

  /// Whether a loop has several counters or bounds.
  bool finds_some(const Region& region) const {
    return std::any_of(region.body.begin(), region.body.end(), [&](const Instruction& i) {
      return (i.op == Op::loop && count(i).several()) ||
             std::any_of(i.regions.begin(), i.regions.end(),
                         [&](const Region& r) { return finds_some(r); });
    });
  }

 protected:
  void visit(const Instruction& i) override {
    if (i.op != Op::loop) return copy(i);
    const Counted counted = count(i);
    if (!counted.several()) return copy(i);
    rebuild(i, counted);
  }

 private:
  /// Carried value `counter` is below `limit`.
  struct Bound {
    std::size_t counter = 0;
    Value limit;
  };
  struct Counted {
    std::set<std::size_t> counters;  // carried values that grow by one
    std::vector<Bound> bounds;       // all of them hold when the condition does ...
    std::vector<Value> others;       // ... and so do these

    bool several() const { return counters.size() > 1 || bounds.size() > 1; }
  };

  bool is_one(Value v) const {
    const Instruction* i = definitions_[v.index];
    return i != nullptr && i->op == Op::constant && i->immediate == 1;
  }

  Counted count(const Instruction& loop) const {
    const Region &condition = loop.regions[0], &body = loop.regions[1];
    Counted r;
    for (std::size_t k = 0; k < loop.operands.size(); ++k) {
      const Type t = source_.type(loop.operands[k]);
      if (t.width != 1 || (t.scalar != DType::u32 && t.scalar != DType::i32)) continue;
      const Instruction* step = definitions_[body.yields[k].index];
      if (step == nullptr || step->op != Op::add) continue;
      const Value a = step->operands[0], b = step->operands[1], self = body.arguments[k];
      if ((a == self && is_one(b)) || (b == self && is_one(a))) r.counters.insert(k);
    }
    // What stays is defined neither by the loop nor in it.
    std::set<std::uint32_t> inside;
    for (Value v : condition.arguments) inside.insert(v.index);
    for (const Instruction& i : condition.body)
      for (Value v : i.results) inside.insert(v.index);
    const auto counter = [&](Value v) {
      const auto at = std::find(condition.arguments.begin(), condition.arguments.end(), v);
      const auto k = static_cast<std::size_t>(at - condition.arguments.begin());
      return at != condition.arguments.end() && r.counters.contains(k) ? k : loop.operands.size();
    };
    std::vector<Value> open{condition.yields[0]};
    while (!open.empty()) {
      const Value v = open.back();
      open.pop_back();
      const Instruction* i = inside.contains(v.index) ? definitions_[v.index] : nullptr;
      if (i != nullptr && i->op == Op::band) {
        open.insert(open.end(), {i->operands[1], i->operands[0]});
        continue;
      }
      if (i != nullptr && (i->op == Op::lt || i->op == Op::gt)) {
        const bool less = i->op == Op::lt;
        const std::size_t k = counter(i->operands[less ? 0 : 1]);
        const Value limit = i->operands[less ? 1 : 0];
        if (k < loop.operands.size() && !inside.contains(limit.index)) {
          r.bounds.push_back({k, limit});
          continue;
        }
      }
      r.others.push_back(v);
    }
    return r;
  }

  /// Trips until a counter that starts at `first` has reached `limit`.
  Value distance(Value first, Value limit) {
    const Value trips = out_.bitcast(out_.sub(limit, first), DType::u32);
    return out_.select(out_.compare(Op::lt, first, limit), trips, out_.u32(0));
  }

  void rebuild(const Instruction& loop, const Counted& counted) {
    const Region &condition = loop.regions[0], &body = loop.regions[1];
    Value most;
    for (const Bound& b : counted.bounds) {
      const Value trips = distance(mapped(loop.operands[b.counter]), mapped(b.limit));
      most = most.valid() ? out_.binary(Op::minimum, most, trips) : trips;
    }
    Values init{out_.u32(0)};
    std::vector<std::size_t> kept;
    for (std::size_t k = 0; k < loop.operands.size(); ++k)
      if (!counted.counters.contains(k)) {
        kept.push_back(k);
        init.push_back(mapped(loop.operands[k]));
      }
    // `trips`: those before; all values that the loop carries follow from it and the others.
    const auto enter = [&](std::span<const Value> names, std::span<const Value> carried) {
      for (std::size_t j = 0; j < kept.size(); ++j) map(names[kept[j]], carried[1 + j]);
      for (std::size_t k : counted.counters) {
        const Value first = mapped(loop.operands[k]);
        map(names[k], out_.add(first, out_.bitcast(carried[0], out_.type(first).scalar)));
      }
    };
    const Values end = out_.loop(
        init, loop.immediate,
        [&](std::span<const Value> carried) {
          enter(condition.arguments, carried);
          copy(condition);
          Value go;
          if (most.valid()) go = out_.compare(Op::lt, carried[0], most);
          for (Value v : counted.others) go = go.valid() ? out_.land(go, mapped(v)) : mapped(v);
          return go;
        },
        [&](std::span<const Value> carried) {
          enter(body.arguments, carried);
          copy(body);
          Values next{out_.add(carried[0], out_.u32(1))};
          for (std::size_t k : kept) next.push_back(mapped(body.yields[k]));
          return next;
        });
    enter(loop.results, end);
  }

  std::vector<const Instruction*> definitions_;
};

}  // namespace

Kernel merge_counters(const Kernel& source) { return rewritten_by<MergeCounters>(source); }

Kernel counters_merged(Kernel kernel) {
  if (count_loops(kernel) == 0) return kernel;
  Builder out(kernel.name);
  MergeCounters pass(kernel, out);
  if (!pass.finds_some(kernel.body)) return kernel;
  copy_header(kernel, out);
  out.kernel().lanes = kernel.lanes;
  pass.copy(kernel.body);
  return simplify(out.take());
}

}  // namespace gnomon::kernel
