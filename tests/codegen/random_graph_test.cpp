// tests/codegen/random_graph_test.cpp -- random programs through the compiler, on the host, against
// the reference.
#include "tests/support/random_graph.h"

#include <gtest/gtest.h>

#include "codegen/graph/simplify.h"
#include "codegen/graph/verify.h"
#include "tests/support/lowering.h"
#include "tests/support/random_check.h"

namespace gnomon::testing {
namespace {

constexpr std::uint64_t graphs = 300;

TEST(RandomGraphs, AreSoundAndComeBackFromTheirText) {
  expect_all(graphs, [](const RandomGraph& r) {
    std::string fault = find_fault(r.graph);
    if (!fault.empty()) return fault;
    const Graph back = parse_graph(print(r.graph));
    if (!structurally_equal(back, r.graph)) return "parses as\n" + print(back);
    return std::string();
  });
}

TEST(RandomGraphs, AreTheSameForTheSameSeed) {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + 20; ++seed) {
    const RandomGraph a = random_graph(seed), b = random_graph(seed);
    EXPECT_TRUE(structurally_equal(a.graph, b.graph)) << seed;
    EXPECT_EQ(a.inputs, b.inputs) << seed;
  }
}

TEST(RandomGraphs, KeepEveryBitWhenSimplified) {
  expect_all(graphs, [](const RandomGraph& r) -> std::string {
    const Graph simple = simplify(r.graph);
    if (std::string fault = find_fault(simple); !fault.empty()) return fault;
    const auto want = evaluate(r.graph, r.inputs), got = evaluate(simple, r.inputs);
    for (std::size_t i = 0; i < want.size(); ++i)
      if (std::string d = difference(got[i], want[i], 0); !d.empty())
        return "output " + std::to_string(i) + ": " + d + "\n" + print(simple);
    return "";
  });
}

/// A device that nobody has built: what tunes kernels may not change what they mean.
Target odd_target(std::uint64_t seed) {
  Target t = seed % 2 == 0 ? Target::cpu_like() : Target::gpu_like();
  t.loop_coarsening = 1u << seed % 5;
  t.map_coarsening = 1u << seed / 5 % 5;
  t.group_size = 8u << seed % 3;
  t.texel_reads = seed % 3 == 0;
  t.parallel_lanes = seed % 7 == 0 ? 64 : 1u << 14;
  t.tile_rows = 1 + seed % 9;
  t.tile_columns = 1u << seed % 4;
  t.accumulators = 1u << seed % 7;
  return t;
}

TEST(RandomGraphs, MeanTheSameCompiled) {
  std::uint64_t programs = 0, refused = 0;
  expect_all(graphs, [&](const RandomGraph& r) -> std::string {
    const auto want = evaluate(r.graph, r.inputs);
    std::vector<NamedTarget> all = targets();
    all.push_back({"odd", odd_target(r.seed)});
    for (const auto& [name, target] : all)
      for (const char* how : {"fused", "unfused", "sequential", "device"}) {
        ++programs;
        try {
          const Program p = compile(r.graph, target,
                                    {.name = "test",
                                     .fuse = how[0] != 'u',
                                     .loops = how[0] == 's'   ? LoopMapping::sequential
                                              : how[0] == 'd' ? LoopMapping::device
                                                              : LoopMapping::automatic,
                                     .keep_text = true});
          const auto got = run_on_host(p, r.inputs);
          for (std::size_t i = 0; i < want.size(); ++i)
            if (std::string d = difference(got[i], want[i], 1e-4); !d.empty())
              return std::string(name) + ", " + how + ": output " + std::to_string(i) + ": " + d +
                     "\n" + p.fusion_text + print(p);
        } catch (const UsageError& e) {
          if (!beyond_budget(e)) throw;
          ++refused;
        }
      }
    return "";
  });
  EXPECT_LT(refused * 50, programs) << "too many programs take too many loop trips to be tested";
}

}  // namespace
}  // namespace gnomon::testing
