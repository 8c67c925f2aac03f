// shaders/passes/schedule.cpp -- list scheduling by lifetimes.
#include "shaders/passes/schedule.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "shaders/passes/rewrite.h"

namespace gnomon::kernel {
namespace {

constexpr std::uint32_t no_producer = ~0u;

/// Whether an instruction may change places with its like: no memory and no regions.
bool movable(const Instruction& i) {
  // Constants stand at the front of the kernel, and nowhere else.
  return i.op != Op::constant && i.regions.empty() && !has_effects(i);
}

class Scheduler {
 public:
  explicit Scheduler(const Kernel& k)
      : uses_(use_counts(k)), producer_(k.types.size(), no_producer) {}

  void reorder(Region& r) {
    std::vector<Instruction> body;
    body.reserve(r.body.size());
    for (auto at = r.body.begin(); at != r.body.end();) {
      const auto end = std::find_if_not(at, r.body.end(), movable);
      reorder(std::span(at, end), body);
      at = end;
      if (at == r.body.end()) break;
      for (Region& inner : at->regions) reorder(inner);
      body.push_back(std::move(*at++));
    }
    r.body = std::move(body);
  }

 private:
  /// Operands from within the run that nothing else still needs.
  int lifetimes_ended(const Instruction& i) const {
    int ended = 0;
    for (auto v = i.operands.begin(); v != i.operands.end(); ++v) {
      if (producer_[v->index] == no_producer || std::find(i.operands.begin(), v, *v) != v) continue;
      ended += static_cast<std::ptrdiff_t>(uses_[v->index]) == std::count(v, i.operands.end(), *v);
    }
    return ended;
  }

  void reorder(std::span<Instruction> run, std::vector<Instruction>& out) {
    std::vector<std::uint32_t> waiting(run.size(), 0);  // operands from the run that are to come
    std::vector<SmallVector<std::uint32_t, 4>> users(run.size());
    std::vector<std::uint32_t> ready;
    for (std::uint32_t i = 0; i < run.size(); ++i) {
      for (Value v : run[i].operands) {
        if (producer_[v.index] == no_producer) continue;
        ++waiting[i];
        users[producer_[v.index]].push_back(i);
      }
      producer_[run[i].results[0].index] = i;
      if (waiting[i] == 0) ready.push_back(i);
    }
    std::vector<std::uint32_t> results;
    while (!ready.empty()) {
      // The first of those that end most.
      auto best = ready.begin();
      int ends = lifetimes_ended(run[*best]);
      for (auto at = best + 1; at != ready.end(); ++at) {
        const int e = lifetimes_ended(run[*at]);
        if (e > ends || (e == ends && *at < *best)) {
          best = at;
          ends = e;
        }
      }
      const std::uint32_t chosen = *best;
      ready.erase(best);
      for (Value v : run[chosen].operands) --uses_[v.index];
      for (std::uint32_t u : users[chosen])
        if (--waiting[u] == 0) ready.push_back(u);
      results.push_back(run[chosen].results[0].index);
      out.push_back(std::move(run[chosen]));
    }
    for (std::uint32_t v : results) producer_[v] = no_producer;
  }

  std::vector<std::uint32_t> uses_;      // by instructions that are not placed yet, and by yields
  std::vector<std::uint32_t> producer_;  // place in the run at hand
};

}  // namespace

Kernel schedule(Kernel k) {
  Scheduler(k).reorder(k.body);
  return k;
}

}  // namespace gnomon::kernel
