// engine/jit/estimates.h -- profiles with what the compiler says that their kernels take.
#pragma once
#include "codegen/program/program.h"
#include "codegen/program/target.h"
#include "gnomon/profile.h"

namespace gnomon {

/// Fills in ProfileRow::estimated_us and `executed` where all steps of a row's name are dispatches
/// of kernels with bodies, which those of programs from a file do not have.
void add_estimates(Profile&, const Program&, const Target&);

}  // namespace gnomon
