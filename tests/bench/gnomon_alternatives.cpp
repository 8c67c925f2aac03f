// tests/bench/gnomon_alternatives.cpp -- one choice of the compiler changed at a time.
#include "gnomon_alternatives.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>

#include "codegen/base/host_array.h"
#include "codegen/compile/other_programs.h"
#include "codegen/compile/pipeline.h"
#include "codegen/cost/device_model.h"
#include "codegen/cost/estimate.h"
#include "codegen/graph/element.h"
#include "codegen/graph/text.h"
#include "engine/runtime/executable.h"
#include "engine/runtime/state.h"
#include "gnomon/runtime.h"

namespace bench {
namespace {

namespace fs = std::filesystem;
using gnomon::CompileOptions;
using gnomon::LoopMapping;
using gnomon::Program;
using gnomon::Target;

/// One choice, made otherwise. What a target has none of stays none.
struct Alternative {
  const char* name;
  void (*change)(Target&, CompileOptions&);
};

constexpr Alternative alternatives[] = {
    {"one element per lane, no tiles", [](Target& t, CompileOptions&) { t.tile_rows = 1; }},
    {"tiles of half the rows", [](Target& t, CompileOptions&) { t.tile_rows /= 2; }},
    {"tiles of twice the rows", [](Target& t, CompileOptions&) { t.tile_rows *= 2; }},
    {"tiles of half the columns", [](Target& t, CompileOptions&) { t.tile_columns /= 2; }},
    {"tiles of twice the columns",
     [](Target& t, CompileOptions&) { t.tile_columns = std::min(2 * t.tile_columns, 16u); }},
    {"a quarter of the elements at a time",
     [](Target& t, CompileOptions&) { t.map_coarsening = std::max(t.map_coarsening / 4, 1u); }},
    {"half of the elements at a time",
     [](Target& t, CompileOptions&) { t.map_coarsening = std::max(t.map_coarsening / 2, 1u); }},
    {"16 elements at a time", [](Target& t, CompileOptions&) { t.map_coarsening = 16; }},
    {"half of a loop's lanes at a time",
     [](Target& t, CompileOptions&) { t.loop_coarsening = std::max(t.loop_coarsening / 2, 1u); }},
    {"twice a loop's lanes at a time", [](Target& t, CompileOptions&) { t.loop_coarsening *= 2; }},
    {"half of the registers", [](Target& t, CompileOptions&) { t.accumulators /= 2; }},
    {"twice the registers", [](Target& t, CompileOptions&) { t.accumulators *= 2; }},
    {"a quarter of the lanes fills it", [](Target& t, CompileOptions&) { t.parallel_lanes /= 4; }},
    {"four times the lanes fill it", [](Target& t, CompileOptions&) { t.parallel_lanes *= 4; }},
    {"workgroups of half the size", [](Target& t, CompileOptions&) { t.group_size /= 2; }},
    {"workgroups of twice the size", [](Target& t, CompileOptions&) { t.group_size *= 2; }},
    {"no teams, no panels", [](Target& t, CompileOptions&) { t.team = 0; }},
    {"no rows kept", [](Target&, CompileOptions& o) { o.residual_bytes = 0; }},
    {"loops by one workgroup",
     [](Target&, CompileOptions& o) { o.loops = LoopMapping::workgroup; }},
    {"loops by the device", [](Target&, CompileOptions& o) { o.loops = LoopMapping::device; }},
};

std::string read(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Elements that most programs compute something finite of.
gnomon::HostArray at_random(const gnomon::Aval& aval, std::uint32_t seed) {
  gnomon::HostArray r(aval);
  std::mt19937 g(seed);
  for (gnomon::Dim i = 0; i < r.size(); ++i) {
    const double u = static_cast<double>(g() >> 8) / (1 << 24);
    if (gnomon::is_float(aval.dtype))
      r.set_number(i, 0.1 + 0.2 * u);
    else
      r.set_integer(i, u < 0.5);
  }
  return r;
}

/// A way to run a graph, and the shortest of its calls.
struct Candidate {
  std::string name;
  std::optional<double> estimated_us;
  std::shared_ptr<gnomon::Executable> executable;
  double measured_us = 0;

  void run(gnomon::Runtime& rt, std::vector<gnomon::Array>& inputs) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<gnomon::Array> outputs;
    executable->run(inputs, outputs);
    gnomon::HostArray first(outputs.at(0).aval());
    rt.to_bytes(outputs[0], first.bytes);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    measured_us = measured_us == 0 ? took.count() : std::min(measured_us, took.count());
  }
};

std::vector<Candidate> candidates_of(gnomon::Runtime& rt, const gnomon::Graph& graph) {
  std::vector<Candidate> all;
  std::set<std::string> known;
  const auto add = [&](const std::string& name, const Program& p) {
    if (!known.insert(whole_text(p)).second) return;
    all.push_back({name, estimated_microseconds(p, rt.target()),
                   std::make_shared<gnomon::Executable>(rt.state()->context, p,
                                                        gnomon::ExecutableOptions{})});
  };
  add("as chosen", compile(graph, rt.target(), {}));
  for (const Alternative& a : alternatives) {
    Target target = rt.target();
    CompileOptions options;
    a.change(target, options);
    try {
      add(a.name, compile(graph, target, options));
    } catch (const gnomon::UsageError&) {
      // More loop trips than the driver takes in one kernel, for one.
    }
  }
  constexpr std::size_t most_decisions = 64;
  for (const gnomon::OtherProgram& other : other_programs(graph, rt.target(), {}, most_decisions))
    add(other.about + " " + other.other, other.program);
  return all;
}

void print_one(const Candidate& c, const Candidate& chosen) {
  std::printf("  %-60s", c.name.c_str());
  if (c.estimated_us && chosen.estimated_us)
    std::printf(" %10.0f %5.2f", *c.estimated_us, *c.estimated_us / *chosen.estimated_us);
  else
    std::printf(" %10s %5s", "-", "");
  std::printf(" %10.0f %5.2f\n", c.measured_us, c.measured_us / chosen.measured_us);
}

}  // namespace

void compare_alternatives(const std::string& folder, const std::vector<std::string>& workloads,
                          int rounds) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string stem = entry.path().stem().string();
    const std::string workload = stem.substr(0, stem.find('.'));
    if (entry.path().extension() == ".graph" &&
        (workloads.empty() || std::ranges::find(workloads, workload) != workloads.end()))
      files.push_back(entry.path());
  }
  if (files.empty()) throw std::runtime_error("bench: no graph of these workloads in " + folder);
  std::sort(files.begin(), files.end());
  gnomon::Runtime rt;
  std::printf("  %-60s %10s %5s %10s\n", "", "estimated", "", "us");
  for (const fs::path& file : files) {
    const gnomon::Graph graph = gnomon::parse_graph(read(file));
    std::vector<gnomon::Array> inputs;
    for (const gnomon::Aval& aval : graph.input_avals())
      inputs.push_back(rt.from_bytes(
          aval, at_random(aval, static_cast<std::uint32_t>(inputs.size() + 1)).bytes));
    std::printf("%s\n", file.stem().string().c_str());
    std::vector<Candidate> all = candidates_of(rt, graph);
    for (Candidate& c : all) c.run(rt, inputs);  // the driver compiles
    for (Candidate& c : all) c.measured_us = 0;
    for (int i = 0; i < rounds; ++i)
      for (Candidate& c : all) c.run(rt, inputs);
    for (const Candidate& c : all) print_one(c, all[0]);
    std::fflush(stdout);
  }
}

}  // namespace bench
