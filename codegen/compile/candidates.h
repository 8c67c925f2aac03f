// codegen/compile/candidates.h -- what else a kernel could have been.
#pragma once
#include <string>

#include "codegen/partition/fuse.h"
#include "codegen/program/target.h"

namespace gnomon {

/// "120 us", to the nearest one.
std::string microseconds_text(double);

/// ": 120 us | one lane per element of [64,64] 310 us | 4 side by side 150 us", by estimate
/// (cost/estimate.h): the cluster's kernel as chosen, with other mappings, and with more and fewer
/// lanes for each invocation. Estimates know nothing of a driver's registers. Empty where data
/// decide how long it takes, and for kinds of devices whose times nobody has measured.
std::string candidates_text(const Cluster&, const Target&);

}  // namespace gnomon
