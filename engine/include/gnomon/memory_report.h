// engine/include/gnomon/memory_report.h -- what a compiled function needs of the device's memory.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace gnomon {

/// What one call needs, in bytes. Known when the function is compiled: nothing is taken from the
/// device while kernels run.
struct MemoryReport {
  /// An intermediate result, a carried value or a history.
  struct Value {
    std::string what;                             // its number in the graph, dtype and shape
    std::string where;                            // "file:line" that computes it; may be empty
    std::uint64_t offset = 0, bytes = 0;          // in the arena; two share bytes in turn
    std::uint32_t first_step = 0, last_step = 0;  // from when to when it is needed
  };

  std::uint64_t inputs = 0;     // arguments and captured arrays
  std::uint64_t outputs = 0;    // also where donated arguments give their memory to them
  std::uint64_t constants = 0;  // kept from the first call on
  std::uint64_t arena = 0;      // intermediates, kept from the first call on
  std::vector<Value> values;    // of the arena, the largest first

  std::uint64_t peak() const { return inputs + outputs + constants + arena; }
};

/// The sums and the `most` largest values, a line each.
std::string to_string(const MemoryReport&, std::size_t most = 10);

}  // namespace gnomon
#pragma GCC visibility pop
