// codegen/compile/pipeline.cpp -- the stages of compilation in order.
#include "codegen/compile/pipeline.h"

#include <set>

#include "codegen/compile/graph_passes.h"
#include "codegen/compile/make_kernels.h"
#include "codegen/compile/other_programs.h"
#include "codegen/graph/text.h"
#include "codegen/optimize/kernel_passes.h"
#include "codegen/optimize/lower_effects.h"
#include "codegen/plan/schedule.h"

namespace gnomon {

namespace {

/// Throws UsageError for names of passes that are not there or that others rely on.
void check_left_out(const CompileOptions& options) {
  if (options.passes.left_out.empty()) return;
  std::string names;
  std::set<std::string_view> known;
  const auto add = [&](const auto& passes) {
    for (const auto& p : passes)
      if (may_be_left_out(p)) {
        known.insert(p.name);
        names += (names.empty() ? "" : ", ") + std::string(p.name);
      }
  };
  add(graph_passes());
  add(kernel_passes());
  for (const std::string& pass : options.passes.left_out)
    if (!known.contains(pass))
      usage_error(options.name, "there is no pass `" + pass + "` to leave out; there are " + names,
                  {});
}

}  // namespace

Program compile(const Graph& traced, const Target& device, const CompileOptions& options) {
  Graph input = lower_effects(traced, {options.print_bytes}).graph;
  Target target = device;
  target.built_in_functions |= options.fast_math;
  if (target.built_in_functions) target.refine = {};
  const auto dump = [&](const char* stage, auto text) {
    if (options.dump) options.dump(options.dump_user, stage, text());
  };
  dump("traced", [&] { return print(traced, {.source_lines = false}); });
  Program program;
  program.name = options.name;
  program.inputs = input.input_avals();
  program.outputs = input.output_avals();

  check_left_out(options);
  PassLog log(options.passes);
  Division division = run_graph_passes(std::move(input), target, options, log);
  const Graph& graph = division.graph;
  Partition& parts = division.parts;
  program.graph_hash = structural_hash(traced);
  if (options.keep_text) program.graph_text = print(graph);
  dump("graph", [&] { return print(graph); });

  const std::string kernels = make_kernels(parts, graph, target, options, log, program);
  const auto fusion = [&] {
    return print(parts, graph) +
           (options.candidates ? decisions_text(traced, device, options) : "");
  };
  if (options.keep_text) program.fusion_text = fusion();
  dump("fusion", fusion);
  if (options.passes.record) dump("passes", [&] { return log.text(); });
  dump("kernel", [&] { return kernels; });

  schedule(program, graph, parts, target);
  dump("memory", [&] { return print(program); });
  dump("plan", [&] { return print(program); });
  return program;
}

}  // namespace gnomon
