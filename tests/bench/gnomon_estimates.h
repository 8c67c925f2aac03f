// tests/bench/gnomon_estimates.h -- what the compiler's model of the device says that kernels take,
// held against what they take; and the numbers that it should have.
#pragma once
#include <string>
#include <vector>

#include "harness.h"

namespace bench {

/// One kernel of a workload.
struct TimedKernel {
  std::string workload, kernel;
  double measured_us = 0;        // the median of five calls, of each the mean; cores are awake
  double estimated_us = 0;       // 0: the model says nothing
  std::vector<double> executed;  // what the estimate weighs, in the order of gnomon::Term
};

/// Those of all variants that are the library's, or of those with these names.
std::vector<TimedKernel> time_kernels(const std::vector<Workload>&,
                                      const std::vector<std::string>& variants);

/// A table in Markdown of the longer kernels, the worst last, with the median of how far estimates
/// are off: of two numbers, how much more the larger one is.
std::string estimates_table(std::vector<TimedKernel>, const std::string& head);

/// The model's times (DeviceModel::nanoseconds) for which the mean of |log(estimate / measured)|
/// is least, weighed by the logarithm of what kernels take: a descent along one coordinate after
/// the other.
std::string calibrated(const std::vector<TimedKernel>&);

}  // namespace bench
