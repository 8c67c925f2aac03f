// engine/jit/lowering.cpp -- Lowered: stages and memory of a function that was not run.
#include "engine/jit/lowering.h"

#include <algorithm>
#include <utility>

#include "codegen/modules/module.h"
#include "engine/jit/compiling.h"
#include "engine/runtime/memory_report.h"
#include "gnomon/aot.h"
#include "gnomon/error.h"
#include "gnomon/jit.h"

namespace gnomon {

namespace detail {

Lowered JitCore::lower(const aot::detail::Described& arguments,
                       const aot::detail::Described& results, const Graph& graph,
                       Arrays captures) const {
  programs_of(*state_, "lower");
  auto function = std::make_shared<LoweredFunction>();
  function->state = state_;
  function->name = options_.name;
  // Nobody measures what lanes wait for.
  function->options =
      compile_options(options_.refill == Refill::automatic ? Refill::off : options_.refill);
  function->graph = graph;
  function->captures = std::move(captures);
  function->arguments = arguments.leaves;
  function->results = results.leaves;
  function->statics = arguments.statics;
  return Lowered(std::move(function));
}

}  // namespace detail

namespace {

bool has_doubles(const Graph& graph) {
  if (std::ranges::any_of(graph.avals, [](const Aval& a) { return a.dtype == DType::f64; }))
    return true;
  for (const Equation& e : graph.equations)
    for (const GraphPtr& inner : e.params.graphs())
      if (inner && has_doubles(*inner)) return true;
  return false;
}

Program compiled(const detail::LoweredFunction& f) {
  return compile(f.graph, f.state->context->device.target(), f.options);
}

}  // namespace

bool detail::uses_doubles(const LoweredFunction& f) { return has_doubles(f.graph); }

const std::string& Lowered::name() const { return function_->name; }
const std::vector<aot::Leaf>& Lowered::arguments() const { return function_->arguments; }
const std::vector<aot::Leaf>& Lowered::results() const { return function_->results; }

std::string Lowered::text(std::string_view stage) const {
  const std::string_view stages[] = {"passes", "graph", "fusion", "kernel",
                                     "memory", "plan",  "spirv"};
  if (std::find(std::begin(stages), std::end(stages), stage) == std::end(stages))
    throw UsageError("gnomon::lower: there is no stage `" + std::string(stage) +
                     "`; use passes, graph, fusion, kernel, spirv, memory or plan");
  const Target& target = function_->state->context->device.target();
  struct Kept {
    std::string_view stage;
    std::string text;
  } kept{stage, {}};
  CompileOptions options = function_->options;
  options.dump_user = &kept;
  options.passes.record = stage == "passes";
  options.candidates = stage == "fusion";
  options.dump = [](void* user, const std::string& name, const std::string& text) {
    Kept& k = *static_cast<Kept*>(user);
    if (name == k.stage) k.text += text;
  };
  const Program program = compile(function_->graph, target, options);
  if (stage != "spirv") return kept.text;
  for (const kernel::Kernel& k : program.kernels) {
    const std::vector<std::uint8_t> windows(k.buffers.size(), 0);
    kept.text += "; kernel " + k.name + "\n" +
                 module_text(module_words(k, target, windows, {.debug_info = true}));
  }
  return kept.text;
}

MemoryReport Lowered::memory_report() const { return gnomon::memory_report(compiled(*function_)); }

int Lowered::kernel_count() const { return static_cast<int>(compiled(*function_).steps.size()); }

}  // namespace gnomon
