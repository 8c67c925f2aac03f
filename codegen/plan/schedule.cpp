// codegen/plan/schedule.cpp -- lifetimes, places, barriers.
#include "codegen/plan/schedule.h"

#include <algorithm>
#include <map>

#include "codegen/plan/memory.h"

namespace gnomon {

namespace {

std::uint64_t bytes_of(const Aval& a) {
  return static_cast<std::uint64_t>(a.shape.size()) * size_of(a.dtype);
}

struct Range {
  Place place;
  std::uint64_t bytes;
  bool overlaps(const Range& o) const {
    return place.kind == o.place.kind && place.index == o.place.index &&
           place.offset < o.place.offset + o.bytes && o.place.offset < place.offset + bytes;
  }
};

/// Puts a barrier before each step that touches what a step since the last barrier wrote, or writes
/// what one read.
void place_barriers(Program& p, const std::vector<std::vector<std::uint64_t>>& sizes) {
  std::vector<Range> written, read;
  for (std::size_t s = 0; s < p.steps.size(); ++s) {
    Step& step = p.steps[s];
    std::vector<Range> reads, writes;
    for (std::size_t o = 0; o < step.operands.size(); ++o) {
      const Range r{step.operands[o], sizes[s][o]};
      const auto access = step.kind == Step::Kind::copy
                              ? (o == 0 ? kernel::Access::read : kernel::Access::write)
                              : p.kernels[step.kernel].buffers[o].access;
      if (access != kernel::Access::write) reads.push_back(r);
      if (access != kernel::Access::read) writes.push_back(r);
    }
    const auto hit = [](const std::vector<Range>& a, const std::vector<Range>& b) {
      return std::any_of(a.begin(), a.end(), [&](const Range& x) {
        return std::any_of(b.begin(), b.end(), [&](const Range& y) { return x.overlaps(y); });
      });
    };
    step.barrier_before = hit(reads, written) || hit(writes, written) || hit(writes, read);
    if (step.barrier_before) {
      written.clear();
      read.clear();
    }
    written.insert(written.end(), writes.begin(), writes.end());
    read.insert(read.end(), reads.begin(), reads.end());
  }
}

}  // namespace

void schedule(Program& program, const Graph& g, const Partition& p,
              const std::vector<std::uint32_t>& groups) {
  std::map<ValueId, Place> places;
  for (std::size_t i = g.inputs.size(); i-- > 0;)
    places[g.inputs[i]] = {Place::Kind::input, static_cast<std::uint32_t>(i), 0};
  for (std::size_t i = g.outputs.size(); i-- > 0;)
    if (!places.contains(g.outputs[i]) || places[g.outputs[i]].kind != Place::Kind::input)
      places[g.outputs[i]] = {Place::Kind::output, static_cast<std::uint32_t>(i), 0};

  // Steps of each cluster are consecutive; lifetimes count in steps.
  std::vector<Lifetime> lifetimes;
  std::map<ValueId, std::size_t> value_lifetime;
  std::vector<std::vector<std::size_t>> scratch_lifetime(p.clusters.size());
  std::uint32_t step = 0;
  for (std::size_t c = 0; c < p.clusters.size(); ++c) {
    const Cluster& cluster = p.clusters[c];
    const auto last = step + static_cast<std::uint32_t>(cluster.draft.parameters.size()) - 1;
    for (const DraftOperand& o : cluster.draft.operands) {
      if (o.scratch) {
        scratch_lifetime[c].push_back(lifetimes.size());
        lifetimes.push_back({cluster.draft.kernel.name + " scratch", o.scratch_bytes, step, last});
        continue;
      }
      if (places.contains(o.value)) continue;
      auto [it, fresh] = value_lifetime.try_emplace(o.value, lifetimes.size());
      if (fresh)
        lifetimes.push_back({"%" + std::to_string(o.value) + " " +
                                 to_string(g.avals[o.value].dtype, g.avals[o.value].shape),
                             bytes_of(g.avals[o.value]), step, last});
      lifetimes[it->second].last_step = last;
    }
    step = last + 1;
  }
  ArenaPlan arena = plan_arena(lifetimes);
  for (const auto& [v, l] : value_lifetime)
    places[v] = {Place::Kind::arena, 0, arena.allocations[l].offset};

  std::vector<std::vector<std::uint64_t>> sizes;
  for (std::size_t c = 0; c < p.clusters.size(); ++c) {
    const Draft& d = p.clusters[c].draft;
    Step s;
    s.kernel = static_cast<std::uint32_t>(c);
    s.groups = groups[c];
    s.label = d.kernel.name;
    std::vector<std::uint64_t> bytes;
    std::size_t scratch = 0;
    for (const DraftOperand& o : d.operands) {
      s.operands.push_back(o.scratch
                               ? Place{Place::Kind::arena, 0,
                                       arena.allocations[scratch_lifetime[c][scratch++]].offset}
                               : places.at(o.value));
      bytes.push_back(o.scratch ? o.scratch_bytes : bytes_of(g.avals[o.value]));
    }
    for (const auto& words : d.parameters) {
      s.parameters = words;
      program.steps.push_back(s);
      sizes.push_back(bytes);
    }
  }
  // Outputs that are inputs, or another output once more, are copied.
  for (std::size_t i = 0; i < g.outputs.size(); ++i) {
    const Place from = places.at(g.outputs[i]);
    const Place to{Place::Kind::output, static_cast<std::uint32_t>(i), 0};
    const std::uint64_t n = bytes_of(g.avals[g.outputs[i]]);
    if (from == to || n == 0) continue;
    Step s;
    s.kind = Step::Kind::copy;
    s.operands = {from, to};
    s.bytes = n;
    s.label = "copy";
    program.steps.push_back(std::move(s));
    sizes.push_back({n, n});
  }
  program.arena_bytes = arena.bytes;
  program.allocations = std::move(arena.allocations);
  place_barriers(program, sizes);
}

}  // namespace gnomon
