// tests/bench/cold_process.h -- first calls that are measured in processes of their own.
#pragma once
#include <string>
#include <vector>

namespace bench {

/// What a process finds out about its first call of a factorisation.
struct FirstCall {
  double milliseconds = 0.0;  // from the traced function to the result on the device
  double pipelines = 0.0;     // kernels that the driver was asked for
  std::vector<float> result;
};

/// Runs the factorisation `name` for the first time in this process.
FirstCall first_call(const std::string& name);

/// The same in a new process, with the driver's cache of shaders and the library's own off. Throws
/// std::runtime_error when it fails.
FirstCall first_call_elsewhere(const std::string& name);

/// What that process does: writes the FirstCall to standard output.
void write_first_call(const std::string& name);

}  // namespace bench
