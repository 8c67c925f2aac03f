// shaders/passes/fuse_loops.cpp -- levels of dependence decide what may go together.
#include "shaders/passes/fuse_loops.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "shaders/passes/affine.h"
#include "shaders/passes/rewrite.h"

namespace gnomon::kernel {
namespace {

/// A place in memory as far as the order of accesses matters: a buffer or a private array.
using Place = std::pair<bool, std::uint64_t>;

/// What an instruction needs and does, its regions included.
struct Footprint {
  std::uint32_t level = 0;  // the highest of what it uses
  std::vector<Place> reads, writes;
};

class LoopFuser {
  /// First value, bound and step of a counting loop and its most trips.
  using Range = std::tuple<Value, Value, Value, std::uint64_t>;

 public:
  LoopFuser(const Kernel& k, FuseLoopsOptions options) : kernel_(k), options_(options) {}

  /// Whether two loops of one region count over one range.
  bool finds_some(const Region& region) const {
    return has_alike(region) ||
           std::any_of(region.body.begin(), region.body.end(), [&](const Instruction& i) {
             return std::any_of(i.regions.begin(), i.regions.end(),
                                [&](const Region& inner) { return finds_some(inner); });
           });
  }

  void fuse_loops(Region& region) {
    if (has_alike(region)) merge(region);
    for (Instruction& i : region.body)
      for (Region& inner : i.regions) fuse_loops(inner);
  }

  static bool synchronises(const Region& region) {
    return std::any_of(region.body.begin(), region.body.end(), [](const Instruction& i) {
      return is_collective(i.op) || i.op == Op::atomic_add || space(i.op) == Space::shared_array ||
             std::any_of(i.regions.begin(), i.regions.end(), synchronises);
    });
  }

  /// Replaces the counters of loops that are gone.
  void rename(Region& region) const {
    if (renamed_.empty()) return;
    const auto current = [&](Value& v) {
      for (auto it = renamed_.find(v.index); it != renamed_.end(); it = renamed_.find(v.index))
        v = it->second;
    };
    for (Instruction& i : region.body) {
      for (Value& v : i.operands) current(v);
      for (Region& r : i.regions) rename(r);
    }
    for (Value& v : region.yields) current(v);
  }

 private:
  /// `levels`: per value.
  void collect(const Instruction& i, const std::vector<std::uint32_t>& levels, Footprint& f) const {
    for (Value v : i.operands) f.level = std::max(f.level, levels[v.index]);
    const bool is_private = space(i.op) == Space::private_array;
    if (form(i.op) == Form::store || is_atomic(i.op))
      f.writes.emplace_back(is_private, i.immediate);
    else if (is_load(i.op) && (is_private || kernel_.buffers[i.immediate].access != Access::read))
      f.reads.emplace_back(is_private, i.immediate);
    for (const Region& r : i.regions) {
      for (const Instruction& inner : r.body) collect(inner, levels, f);
      for (Value v : r.yields) f.level = std::max(f.level, levels[v.index]);
    }
  }

  /// The range of a loop whose first carried value counts, and whose condition looks at nothing
  /// else.
  std::optional<Range> range(const Instruction& i) const {
    if (i.op != Op::loop || i.operands.empty()) return std::nullopt;
    const Region &condition = i.regions[0], &body = i.regions[1];
    if (condition.body.size() != 1) return std::nullopt;
    const Instruction& test = condition.body[0];
    if (test.op != Op::lt || condition.yields[0] != test.results[0] ||
        test.operands[0] != condition.arguments[0])
      return std::nullopt;
    const auto step = std::find_if(body.body.rbegin(), body.body.rend(), [&](const Instruction& x) {
      return !x.results.empty() && x.results[0] == body.yields[0];
    });
    if (step == body.body.rend() || step->op != Op::add || step->operands[0] != body.arguments[0])
      return std::nullopt;
    const Value bound = test.operands[1], by = step->operands[1];
    const auto inner = [&](Value v) {  // changes from trip to trip
      const auto of = [&](const Region& r) {
        return std::count(r.arguments.begin(), r.arguments.end(), v) > 0 ||
               std::any_of(r.body.begin(), r.body.end(), [&](const Instruction& x) {
                 return std::count(x.results.begin(), x.results.end(), v) > 0;
               });
      };
      return of(condition) || of(body);
    };
    if (inner(bound) || inner(by)) return std::nullopt;
    return Range{i.operands[0], bound, by, i.immediate};
  }

  bool has_alike(const Region& region) const {
    std::set<Range> ranges;
    return std::any_of(region.body.begin(), region.body.end(), [&](const Instruction& i) {
      const std::optional<Range> r = range(i);
      return r && !ranges.insert(*r).second;
    });
  }

  /// Loops of one level never depend on one another: `level` counts the candidates that must be
  /// done before.
  void merge(Region& region) {
    struct Memory {
      std::uint32_t after_reads = 0, after_writes = 0;
    };
    const std::size_t n = region.body.size();
    std::vector<std::uint32_t> level(n, 0);
    std::vector<std::optional<Range>> ranges(n);
    std::vector<std::uint32_t> known(kernel_.types.size(), 0);  // per value: level of its users
    std::map<Place, Memory> memory;
    std::map<std::pair<std::uint32_t, Range>, std::vector<std::size_t>> groups;
    bool worth = false;
    for (std::size_t at = 0; at < n; ++at) {
      const Instruction& i = region.body[at];
      Footprint f;
      collect(i, known, f);
      std::uint32_t l = f.level;
      for (const Place& p : f.reads) l = std::max(l, memory[p].after_writes);
      for (const Place& p : f.writes)
        l = std::max({l, memory[p].after_writes, memory[p].after_reads});
      level[at] = l;
      if (f.writes.empty()) ranges[at] = range(i);
      if (ranges[at]) {
        auto& group = groups[{l, *ranges[at]}];
        group.push_back(at);
        worth = worth || group.size() > 1;
      }
      const std::uint32_t next = l + (ranges[at] ? 1 : 0);
      for (Value v : i.results) known[v.index] = next;
      for (const Place& p : f.reads) memory[p].after_reads = std::max(memory[p].after_reads, next);
      for (const Place& p : f.writes)
        memory[p].after_writes = std::max(memory[p].after_writes, next);
    }
    if (!worth) return;

    std::vector<bool> gone(n, false);
    for (auto& [key, members] : groups) {
      side_by_side(region, members);
      std::size_t host = members[0];
      for (std::size_t m = 1; m < members.size(); ++m) {
        const std::size_t carried = region.body[host].operands.size() - 1;
        const std::size_t more = region.body[members[m]].operands.size() - 1;
        if (carried + more > options_.most_carried) {
          host = members[m];
          continue;
        }
        absorb(region.body[host], std::move(region.body[members[m]]));
        gone[members[m]] = true;
      }
    }
    std::vector<std::size_t> order;
    for (std::size_t at = 0; at < n; ++at)
      if (!gone[at]) order.push_back(at);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(level[a], ranges[a].has_value()) <
             std::pair(level[b], ranges[b].has_value());
    });
    std::vector<Instruction> body;
    body.reserve(order.size());
    for (std::size_t at : order) body.push_back(std::move(region.body[at]));
    region.body = std::move(body);
  }

  /// Where not all of these loops fit in one, those that read the same buffers come together: the
  /// rows of one product share what they read, rows of several share nothing.
  void side_by_side(const Region& region, std::vector<std::size_t>& members) const {
    std::size_t carried = 0;
    for (std::size_t m : members) carried += region.body[m].operands.size() - 1;
    if (carried <= options_.most_carried) return;
    std::map<std::size_t, std::set<std::uint64_t>> reads;
    for (std::size_t m : members) add_buffers(region.body[m], reads[m]);
    std::stable_sort(members.begin(), members.end(),
                     [&](std::size_t a, std::size_t b) { return reads[a] < reads[b]; });
  }
  static void add_buffers(const Instruction& i, std::set<std::uint64_t>& read) {
    if (i.op == Op::load) read.insert(i.immediate);
    for (const Region& r : i.regions)
      for (const Instruction& inner : r.body) add_buffers(inner, read);
  }

  /// Both loops in one; the counter of the second is that of the first.
  void absorb(Instruction& host, Instruction guest) {
    const auto same = [&](Value a, Value b) { renamed_[a.index] = b; };
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin() + 1, from.end());
    };
    same(guest.results[0], host.results[0]);
    for (std::size_t r = 0; r < 2; ++r) {
      Region &to = host.regions[r], &from = guest.regions[r];
      same(from.arguments[0], to.arguments[0]);
      append(to.arguments, from.arguments);
    }
    append(host.operands, guest.operands);
    append(host.results, guest.results);
    Region &to = host.regions[1], &from = guest.regions[1];
    std::move(from.body.begin(), from.body.end(), std::back_inserter(to.body));
    append(to.yields, from.yields);
  }

  const Kernel& kernel_;
  FuseLoopsOptions options_;
  std::unordered_map<std::uint32_t, Value> renamed_;
};

}  // namespace

Kernel fuse_loops(Kernel kernel, FuseLoopsOptions options) {
  LoopFuser fuser(kernel, options);
  if (options.most_carried == 0 || !fuser.finds_some(kernel.body) ||
      fuser.synchronises(kernel.body))
    return kernel;
  fuser.fuse_loops(kernel.body);
  fuser.rename(kernel.body);
  return kernel;
}

std::uint32_t most_carried(const Kernel& kernel) {
  std::uint32_t most = 0;
  for (const Instruction& i : kernel.body.body)
    if (i.op == Op::loop && i.immediate != 1)
      most = std::max(most, static_cast<std::uint32_t>(i.operands.size()) - 1);
  return most;
}

}  // namespace gnomon::kernel
