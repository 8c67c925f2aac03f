// codegen/cost/estimate.cpp -- how long a dispatch should take, by what its kernel executes.
#include "codegen/cost/estimate.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "codegen/cost/device_model.h"
#include "codegen/cost/instructions.h"
#include "codegen/program/program.h"
#include "shaders/kernel/uniform.h"

namespace gnomon {
namespace {

using kernel::Instruction;
using kernel::Op;
using kernel::Region;

/// Counts that are operations, a function as many as that.
double operations(const TermCounts& counts, double function) {
  double sum = 0;
  for (std::size_t t = 0; t < counts.size(); ++t) {
    const auto term = static_cast<Term>(t);
    if (term != Term::component) sum += counts[t] * (term == Term::function ? function : 1);
  }
  return sum;
}

class Executed {
 public:
  explicit Executed(const kernel::Kernel& k)
      : k_(k), varying_(kernel::varying_values(k)), constant_(k.types.size(), false) {}

  std::optional<TermCounts> all() {
    add(Term::invocation, 1);
    if (!walk(k_.body, 1)) return std::nullopt;
    return counts_;
  }

 private:
  void add(Term t, double n) { counts_[static_cast<std::size_t>(t)] += n; }

  /// Components of a type in words.
  static double words(kernel::Type t) { return t.width * (bits_of(t.scalar) > 32 ? 2.0 : 1.0); }

  bool walk(const Region& r, double times) {
    for (const Instruction& i : r.body) {
      if (i.op == Op::loop) {
        if (!counts_trips(i)) return false;
        const auto trips = static_cast<double>(i.immediate);
        add(Term::trip, times * trips);
        for (const Region& inner : i.regions)
          if (!walk(inner, times * trips)) return false;
      } else if (i.op == Op::if_) {
        if (!walk_longer(i, times)) return false;
      } else {
        one(i, times);
      }
    }
    return true;
  }

  /// The side with more to do: neighbours that differ take both, and most do not differ.
  bool walk_longer(const Instruction& branch, double times) {
    const TermCounts before = counts_;
    TermCounts longest = before;
    double most = -1;
    for (const Region& side : branch.regions) {
      counts_ = before;
      if (!walk(side, times)) return false;
      if (const double sum = operations(counts_, 1); sum > most) {
        most = sum;
        longest = counts_;
      }
    }
    counts_ = longest;
    return true;
  }

  /// Whether a loop makes the trips that it states: it compares with a constant what every trip
  /// adds a constant to.
  bool counts_trips(const Instruction& loop) const {
    const Region &condition = loop.regions[0], &body = loop.regions[1];
    // The constant, unless it stands outside, and the comparison.
    if (loop.immediate == 0 || condition.body.empty() || condition.body.size() > 2) return false;
    const auto is_constant = [&](kernel::Value v) {
      return constant_[v.index] ||
             (condition.body[0].op == Op::constant && v == condition.body[0].results[0]);
    };
    const Instruction& last = condition.body.back();
    if (last.operands.size() != 2 || is_constant(last.operands[0]) == is_constant(last.operands[1]))
      return false;
    const kernel::Value counter = last.operands[is_constant(last.operands[0]) ? 1 : 0];
    const auto at = std::find(condition.arguments.begin(), condition.arguments.end(), counter);
    if (at == condition.arguments.end()) return false;
    const auto k = static_cast<std::size_t>(at - condition.arguments.begin());
    const auto next = std::find_if(body.body.begin(), body.body.end(), [&](const Instruction& i) {
      return i.results.size() == 1 && i.results[0] == body.yields[k];
    });
    return next != body.body.end() && (next->op == Op::add || next->op == Op::sub) &&
           std::any_of(next->operands.begin(), next->operands.end(),
                       [&](kernel::Value v) { return v == body.arguments[k]; }) &&
           std::any_of(next->operands.begin(), next->operands.end(), [&](kernel::Value v) {
             return constant_[v.index] ||
                    std::any_of(body.body.begin(), next, [&](const Instruction& i) {
                      return i.op == Op::constant && i.results[0] == v;
                    });
           });
  }

  void one(const Instruction& i, double times) {
    const kernel::Type type =
        i.results.empty() ? (i.operands.size() > 1 ? k_.type(i.operands[1]) : kernel::bool_type)
                          : k_.type(i.results[0]);
    const double n = times * words(type);
    if (i.op == Op::constant) constant_[i.results[0].index] = true;
    if (kernel::is_atomic(i.op) || kernel::is_collective(i.op)) return add(Term::together, times);
    switch (kernel::space(i.op)) {
      case kernel::Space::buffer:
        return kernel::is_load(i.op) ? load(i, type, times) : add(Term::store, n);
      case kernel::Space::private_array:
      case kernel::Space::shared_array:
        return add(Term::local, n);
      case kernel::Space::none:
        break;
    }
    switch (kernel::effort(i.op)) {
      case kernel::Effort::nothing:
        return;
      case kernel::Effort::component:
        return add(Term::component, n);
      case kernel::Effort::shift:
        return add(Term::shift, n);
      case kernel::Effort::operation:
        return add(Term::operation, n);
      case kernel::Effort::division:
        return add(Term::division, n);
      case kernel::Effort::function:
        return add(Term::function, n);
    }
  }

  void load(const Instruction& i, kernel::Type type, double times) {
    const kernel::Buffer& buffer = k_.buffers[i.immediate];
    if (buffer.texel) return add(Term::texel, times * std::max(1.0, words(type) / 4));
    const bool own = varying_[i.operands[0].index];
    add(own ? Term::load : Term::broadcast, times * words(type));
    if (own && type.width > 1) add(Term::run, times);
  }

  const kernel::Kernel& k_;
  std::vector<bool> varying_;
  std::vector<bool> constant_;
  TermCounts counts_ = {};
};

}  // namespace

std::optional<TermCounts> executed(const kernel::Kernel& k) { return Executed(k).all(); }

std::optional<double> operations(const kernel::Kernel& k) {
  const auto counts = executed(k);
  if (!counts) return std::nullopt;
  return operations(*counts, instructions(Cost::heavy));
}

std::optional<TermCounts> executed_by_core(const kernel::Kernel& k, std::uint32_t groups,
                                           const DeviceModel& model) {
  auto counts = executed(k);
  if (!counts) return std::nullopt;
  // A core runs one workgroup after the other, and a workgroup's invocations by vectors of lanes;
  // for memory these run one after the other.
  const double full = k.group_size / static_cast<double>(simd_lanes);
  const double rounds = std::ceil(groups / model.cores);
  for (std::size_t t = 0; t < counts->size(); ++t) {
    const auto term = static_cast<Term>(t);
    const bool by_lane = term == Term::load || term == Term::texel || term == Term::store;
    (*counts)[t] *= rounds * (by_lane ? full : std::ceil(full));
  }
  (*counts)[static_cast<std::size_t>(Term::dispatch)] = 1;
  return counts;
}

std::optional<double> estimated_microseconds(const TermCounts& by_core, const DeviceModel& model) {
  if (model.nanoseconds[static_cast<std::size_t>(Term::dispatch)] == 0) return std::nullopt;
  double sum = 0;
  for (std::size_t t = 0; t < by_core.size(); ++t) sum += by_core[t] * model.nanoseconds[t];
  return 1e-3 * sum;
}

std::optional<double> estimated_microseconds(const Program& p, const Target& target) {
  const DeviceModel& model = device_model(target);
  if (!p.gated.empty()) return std::nullopt;
  double sum = 0;
  for (std::uint32_t i = 0; i < p.steps.size(); ++i) {
    const Step& step = p.steps[i];
    if (step.kind == Step::Kind::copy) continue;
    const auto by_core = executed_by_core(p.kernels[step.kernel], step.groups, model);
    const auto once = by_core ? estimated_microseconds(*by_core, model) : std::nullopt;
    if (!once) return std::nullopt;
    double times = 1;
    for (const LoopBlock& loop : p.loops)
      if (loop.first <= i && i < loop.end)
        times *= static_cast<double>(loop.trips) / static_cast<double>(loop.phases.size());
    sum += times * *once;
  }
  return sum;
}

}  // namespace gnomon
