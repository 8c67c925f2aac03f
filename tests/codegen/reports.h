// tests/codegen/reports.h -- what a graph's statements say, by the reference and by every way of
// running compiled programs on the host.
#pragma once
#include "codegen/compile/pipeline.h"
#include "codegen/optimize/lower_effects.h"
#include "tests/codegen/graph_host.h"
#include "tests/support/lowering.h"

namespace gnomon::test {

/// Results and report agree however the graph is run.
inline Told told_by_every_way(const Graph& g, const std::vector<HostArray>& inputs) {
  EXPECT_TRUE(structurally_equal(g, parse_graph(print(g)))) << print(g);
  Told told = tell(g, inputs);
  const LoweredEffects lowered = lower_effects(g);
  verify(lowered.graph);
  for (const auto& [name, target] : gnomon::testing::targets())
    for (const gnomon::testing::Way& way : gnomon::testing::ways_of_running()) {
      const Program p = compile(
          g, target, {.name = "test", .fuse = way.fuse, .loops = way.loops, .keep_text = true});
      std::vector<HostArray> got = gnomon::testing::run_on_host(p, inputs);
      const std::string label =
          std::string(name) + ", " + way.name + "\n" + print(lowered.graph) + p.fusion_text;
      const Report report =
          lowered.effects.read(std::span<const HostArray>(got).subspan(g.outputs.size()));
      EXPECT_EQ(report.lines, told.report.lines) << label;
      EXPECT_EQ(report.failure, told.report.failure) << label;
      for (std::size_t i = 0; i < g.outputs.size(); ++i)
        EXPECT_EQ(gnomon::testing::difference(got[i], told.outputs[i], 1e-5), "") << label;
    }
  return told;
}

}  // namespace gnomon::test
