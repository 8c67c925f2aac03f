// tests/bench/processor.h -- which processor the figures are of.
#pragma once

#include <string>

namespace bench {

/// The host's processor. Drivers for CPUs choose instructions by family and model, so figures of
/// one say little about another's.
struct Processor {
  std::string name;    // as the vendor has it; "unknown" where the system does not tell
  std::string vendor;  // CPUID's word; empty if unknown
  int family = 0;      // 0 if unknown
  int model = 0;
  unsigned threads = 0;  // that the host runs at once
};

/// Reads /proc/cpuinfo, or a file of that form: the first processor's entry.
Processor processor(const std::string& path = "/proc/cpuinfo");

/// "Intel(R) Xeon(R) Platinum 8592+ (GenuineIntel family 6 model 207), 2 threads".
std::string to_string(const Processor&);

}  // namespace bench
