// codegen/compile/other_programs.h -- what a program would be if one thing had been decided
// otherwise.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "codegen/cost/compile_options.h"
#include "codegen/graph/graph.h"
#include "codegen/program/program.h"
#include "codegen/program/target.h"

namespace gnomon {

/// All that tells two programs apart: the steps and the kernels.
std::string whole_text(const Program&);

/// A program that gives the same results.
struct OtherProgram {
  std::string about;   // "exp %7:f32[64,64] (model.cpp:12)"
  std::string chosen;  // "in memory"
  std::string other;   // "computed where it is read", in this program
  Program program;
};

/// For each of the first `most` decisions (cost/decisions.h) that compiling the graph takes the
/// program in which that one alone was taken otherwise. Programs that are the same as without, or
/// as another one of them, are left out, as are those that the device could not run. Compiles the
/// graph once for each.
std::vector<OtherProgram> other_programs(const Graph&, const Target&, const CompileOptions&,
                                         std::size_t most);

/// "decisions, each taken otherwise: 120 us\n  exp %7:f32[64,64] in memory | computed where it is
/// read 340 us\n", by estimate of whole programs. Empty where there are none, where data decide how
/// long the program takes, and for kinds of devices whose times nobody has measured.
std::string decisions_text(const Graph&, const Target&, const CompileOptions&);

}  // namespace gnomon
