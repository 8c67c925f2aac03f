// codegen/compile/make_kernels.h -- the kernels of a program, from a graph that is divided.
#pragma once
#include <string>

#include "codegen/base/pass_log.h"
#include "codegen/cost/compile_options.h"
#include "codegen/partition/fuse.h"
#include "codegen/program/program.h"
#include "codegen/program/target.h"

namespace gnomon {

/// Adds the kernels of all clusters, those of loops' bodies and of branches' sides included, to the
/// program, from lane form to what is run; clusters of one kernel share it. Sets what clusters say
/// of how theirs is started. Their text, where the options have somebody to take it. Throws
/// UsageError for one that takes more loop trips than the device's driver lets it take.
std::string make_kernels(Partition&, const Graph&, const Target&, const CompileOptions&, PassLog&,
                         Program&);

}  // namespace gnomon
