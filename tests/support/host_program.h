// tests/support/host_program.h -- runs a Program on the host with the kernel interpreter: the
// compiler without a driver.
#pragma once
#include <cstdint>
#include <vector>

#include "codegen/base/host_array.h"
#include "codegen/program/program.h"

namespace gnomon::testing {

/// Executes the steps in order. Memory starts as NaN-like noise, so that reading what was never
/// written shows. `touched`: if given, the elements that kernels and copies read and write are
/// added to it.
std::vector<HostArray> run_on_host(const Program&, const std::vector<HostArray>& inputs,
                                   std::uint64_t* touched = nullptr);

}  // namespace gnomon::testing
