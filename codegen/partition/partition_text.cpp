// codegen/partition/partition_text.cpp -- what was decided about a graph, one line per kernel.
#include <sstream>

#include "codegen/partition/fuse.h"
#include "codegen/partition/loop_region.h"

namespace gnomon {

std::string print(const Partition& p, const Graph& g) {
  std::string s;
  for (const Cluster& c : p.clusters) {
    s += c.branch ? "branch of " + std::to_string(c.branch->sides.size()) + " sides on the device"
         : c.loop
             ? std::string(c.loop->gated ? "gated " : "") + "loop of " +
                   (c.loop->body.trips ? std::to_string(*c.loop->body.trips) : "any number of") +
                   " iterations on the device"
             : "kernel \"" + c.draft.kernel.name + "\" " + c.draft.mapping +
                   (c.draft.groups > 0 ? " groups=" + std::to_string(c.draft.groups)
                                       : " lanes=" + std::to_string(c.draft.kernel.lanes));
    s += " writes";
    for (ValueId v : c.writes)
      s += " %" + std::to_string(v) + ":" + to_string(g.avals[v].dtype, g.avals[v].shape);
    s += " reads";
    for (ValueId v : c.reads) s += " %" + std::to_string(v);
    s += "  ; " + c.reason + "\n";
    if (c.branch)
      for (const BranchRegion::Side& side : c.branch->sides) {
        s += "  side " + std::to_string(&side - c.branch->sides.data()) + "\n";
        std::istringstream lines(print(side.parts, side.graph));
        for (std::string line; std::getline(lines, line);) s += "    " + line + "\n";
      }
    if (!c.loop) continue;
    if (c.loop->body.condition) {
      std::istringstream lines(print(c.loop->condition, *c.loop->body.condition));
      for (std::string line; std::getline(lines, line);) s += "  while " + line + "\n";
    }
    std::istringstream lines(print(c.loop->parts, c.loop->body.graph));
    for (std::string line; std::getline(lines, line);) s += "  " + line + "\n";
    for (std::size_t i = 0; i < c.loop->body.carried.size(); ++i)
      if (!c.loop->in_place(i))
        s += "  carried %" + std::to_string(c.loop->body.graph.inputs[i]) + " is double-buffered\n";
  }
  return s;
}

}  // namespace gnomon
