// codegen/program/program.cpp -- a program as text.
#include "codegen/program/program.h"

#include <algorithm>

namespace gnomon {

namespace {

std::string text(const Place& p) {
  const std::string at = p.offset ? "+" + std::to_string(p.offset) : "";
  switch (p.kind) {
    case Place::Kind::input:
      return "input" + std::to_string(p.index) + at;
    case Place::Kind::output:
      return "output" + std::to_string(p.index) + at;
    case Place::Kind::arena:
      return "arena+" + std::to_string(p.offset);
    case Place::Kind::constants:
      return "constants+" + std::to_string(p.offset);
  }
  return "?";
}

}  // namespace

std::string print(const Program& p) {
  std::string s = "program \"" + p.name + "\" {\n";
  for (std::size_t i = 0; i < p.inputs.size(); ++i)
    s += "  input" + std::to_string(i) + ": " + to_string(p.inputs[i].dtype, p.inputs[i].shape) +
         "\n";
  s += "  arena: " + std::to_string(p.arena_bytes) + " bytes\n";
  for (const Allocation& a : p.allocations)
    s += "    +" + std::to_string(a.offset) + " " + std::to_string(a.bytes) + " bytes, steps " +
         std::to_string(a.first_step) + ".." + std::to_string(a.last_step) + "  " + a.name +
         (a.where.line > 0 ? "  ; " + to_string(a.where) : "") + "\n";
  std::string indent = "  ";
  for (std::size_t i = 0; i < p.steps.size(); ++i) {
    for (const LoopBlock& loop : p.loops)
      if (loop.end == i) {
        indent.resize(indent.size() - 2);
        s += indent + "}\n";
      }
    for (const GatedBlock& block : p.gated) {
      if (block.end == i) {
        indent.resize(indent.size() - 2);
        s += indent + "}\n";
      }
      if (block.first == i) {
        s += indent + "until " + text(block.done) +
             (block.slices ? ", steps per slice " + text(block.slices->steps) : "") + " {\n";
        indent += "  ";
      }
    }
    for (const LoopBlock& loop : p.loops) {
      if (loop.first == i) {
        s += indent + "loop " + std::to_string(&loop - p.loops.data()) + ": " +
             std::to_string(loop.trips) + " iterations" +
             (loop.advance ? ", counter " + text(p.advances[*loop.advance].operands[0]) : "") +
             " {\n";
        indent += "  ";
      } else if (std::find(loop.phases.begin(), loop.phases.end(), i) != loop.phases.end()) {
        s += indent + "next iteration, places exchanged\n";
      }
    }
    const Step& step = p.steps[i];
    if (step.barrier_before) s += indent + "barrier\n";
    s += indent + std::to_string(i) + ": ";
    if (step.kind == Step::Kind::copy) {
      s += "copy " + std::to_string(step.bytes) + " bytes " + text(step.operands[0]) + " -> " +
           text(step.operands[1]);
    } else {
      s += "dispatch \"" + step.label + "\" groups=" + std::to_string(step.groups);
      const auto& buffers = p.kernels[step.kernel].buffers;
      for (std::size_t o = 0; o < step.operands.size(); ++o) {
        const auto a = buffers[o].access;
        s += " " + buffers[o].name +
             (a == kernel::Access::read    ? "<-"
              : a == kernel::Access::write ? "->"
                                           : "<->") +
             text(step.operands[o]);
      }
      if (step.counts) s += " counts " + text(*step.counts);
      for (std::size_t w = 0; w < step.parameters.size(); ++w) {
        std::string word = std::to_string(step.parameters[w]);
        for (const IterationWord& counted : step.iterations)
          if (counted.word == w) word = "iteration" + std::to_string(counted.loop);
        s += " " + word;
      }
    }
    s += "\n";
  }
  for (; indent.size() > 2;) {
    indent.resize(indent.size() - 2);
    s += indent + "}\n";
  }
  for (std::size_t i = 0; i < p.outputs.size(); ++i)
    s += "  output" + std::to_string(i) + ": " + to_string(p.outputs[i].dtype, p.outputs[i].shape) +
         "\n";
  return s + "}\n";
}

}  // namespace gnomon
