// codegen/compile/other_programs.cpp -- compiles a graph once for each of its decisions.
#include "codegen/compile/other_programs.h"

#include <algorithm>
#include <set>
#include <span>

#include "codegen/compile/candidates.h"
#include "codegen/compile/pipeline.h"
#include "codegen/cost/decisions.h"
#include "codegen/cost/estimate.h"
#include "gnomon/error.h"
#include "shaders/kernel/text.h"

namespace gnomon {
namespace {

Program compiled(const Graph& g, const Target& target, CompileOptions options,
                 Decisions& decisions) {
  options.candidates = options.keep_text = options.passes.record = false;
  options.dump = nullptr;
  options.decisions = &decisions;
  return compile(g, target, options);
}

/// Of a program as chosen, and the decisions that it took.
std::vector<OtherProgram> others(const Graph& g, const Target& target,
                                 const CompileOptions& options, const Program& chosen,
                                 std::span<const Decision> decisions) {
  std::set<std::string> known{whole_text(chosen)};
  std::vector<OtherProgram> r;
  for (const Decision& d : decisions) {
    Decisions otherwise(d);
    try {
      Program p = compiled(g, target, options, otherwise);
      if (known.insert(whole_text(p)).second)
        r.push_back({d.about, std::string(answer_text(d.question, d.answer)),
                     std::string(answer_text(d.question, !d.answer)), std::move(p)});
    } catch (const UsageError&) {
      // More loop trips than the driver takes in one kernel, for one.
    }
  }
  return r;
}

}  // namespace

std::string whole_text(const Program& p) {
  std::string s = print(p);
  for (const kernel::Kernel& k : p.kernels) s += kernel::print(k);
  return s;
}

std::vector<OtherProgram> other_programs(const Graph& g, const Target& target,
                                         const CompileOptions& options, std::size_t most) {
  Decisions made;
  const Program chosen = compiled(g, target, options, made);
  return others(g, target, options, chosen,
                std::span(made.all()).first(std::min(most, made.all().size())));
}

std::string decisions_text(const Graph& g, const Target& target, const CompileOptions& options) {
  constexpr std::size_t most = 64;
  Decisions made;
  const Program program = compiled(g, target, options, made);
  const auto chosen = estimated_microseconds(program, target);
  if (!chosen) return "";
  const std::size_t n = std::min(most, made.all().size());
  std::string s;
  for (const OtherProgram& other :
       others(g, target, options, program, std::span(made.all()).first(n)))
    if (const auto us = estimated_microseconds(other.program, target))
      s += "  " + other.about + " " + other.chosen + " | " + other.other + " " +
           microseconds_text(*us) + "\n";
  if (s.empty()) return s;
  if (made.all().size() > n)
    s += "  and " + std::to_string(made.all().size() - n) + " more decisions\n";
  return "decisions, each taken otherwise: " + microseconds_text(*chosen) + " as it is\n" + s;
}

}  // namespace gnomon
