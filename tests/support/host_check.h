// tests/support/host_check.h -- one random program through the compiler and the kernel interpreter,
// against the reference.
#pragma once
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "tests/support/lowering.h"
#include "tests/support/random_check.h"
#include "tests/support/rounding.h"

namespace gnomon::testing {

/// A device that nobody has built: what tunes kernels may not change what they mean.
inline Target odd_target(std::uint64_t seed) {
  Target t = seed % 2 == 0 ? Target::lavapipe() : Target::gpu();
  t.loop_coarsening = 1u << seed % 5;
  t.map_coarsening = 1u << seed / 5 % 5;
  t.group_size = 8u << seed % 3;
  t.texel_reads = seed % 3 == 0;
  t.parallel_lanes = seed % 7 == 0 ? 64 : 1u << 14;
  t.tile_rows = 1 + seed % 9;
  t.tile_columns = 1u << seed % 4;
  t.accumulators = 1u << seed % 7;
  t.team = seed % 4 == 0 ? 0 : 1u << (seed / 4 % 6 + 1);
  t.features.subgroup_basic = t.features.subgroup_arithmetic = seed % 5 < 3;
  t.features.int64 = seed % 6 < 3;
  return t;
}

/// Ways to compile one program: targets times fused, unfused, and loops sequential or apart.
constexpr std::size_t ways = 20;

/// What the program means, compiled in one of the ways (by remainder), or "" when it is the same.
/// `refused` counts programs that take too many loop trips for their target.
inline std::string mismatch_on_host(const RandomGraph& r, std::uint64_t way,
                                    const std::vector<HostArray>& want,
                                    std::atomic<std::uint64_t>& refused,
                                    const PassOptions& passes = {.verify = true}) {
  std::vector<NamedTarget> all = targets();
  all.push_back({"odd", odd_target(r.seed)});
  auto& [name, target] = all[way % all.size()];
  if (holds(r, DType::f64)) target.features.float64 = true;
  const Way how = ways_of_running()[way / all.size() % 5];
  try {
    const Program p = compile(r.graph, target,
                              {.name = "test",
                               .fuse = how.fuse,
                               .loops = how.loops,
                               .passes = passes,
                               .keep_text = true});
    const auto got = run_on_host(p, r.inputs);
    for (std::size_t i = 0; i < want.size(); ++i)
      if (const std::string d = mismatch(r, i, got[i], want); !d.empty())
        return std::string(name) + ", " + how.name + ": output " + std::to_string(i) + ": " + d +
               "\n" + p.fusion_text + print(p);
  } catch (const UsageError& e) {
    if (!beyond_budget(e)) throw;
    ++refused;
  }
  return "";
}

}  // namespace gnomon::testing
