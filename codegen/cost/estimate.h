// codegen/cost/estimate.h -- how long a dispatch should take, by what its kernel executes.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "shaders/kernel/kernel.h"

namespace gnomon {

struct DeviceModel;
struct Program;
struct Target;

/// What estimates tell apart, for each invocation but where said. Components of wide values count
/// one by one, and words of 64 bits as two.
enum class Term : std::uint8_t {
  dispatch,    // from its start to its end, whatever is in it: one for all invocations
  invocation,  // what every one of them does before and behind its body
  operation,   // arithmetic, comparisons, choices
  shift,       // of bits
  component,   // moved from values of one width to another's
  division,    // quotients, remainders, roots
  function,    // transcendental functions that the driver has
  trip,        // of a loop
  load,        // of elements, at a place of the invocation's own
  run,         // of wide loads: one for each, whatever its width
  broadcast,   // of elements, at a place that a workgroup shares
  texel,       // of 16 bytes
  store,       // of elements
  local,       // accesses of private and shared memory
  together,    // barriers, atomics, sums over subgroups
};
constexpr std::size_t terms_of_estimates = 15;

using TermCounts = std::array<double, terms_of_estimates>;

/// What one invocation executes, loops as often as they say, and no dispatch. None where how often
/// is for the data to say, as the trips of a `while` are.
std::optional<TermCounts> executed(const kernel::Kernel&);

/// Everything that it counts but moves in one number of operations, a function of the driver's as
/// many as `instructions` takes for one.
std::optional<double> operations(const kernel::Kernel&);

/// What a core executes of a dispatch of `groups` workgroups, by vectors of lanes; none where data
/// decide.
std::optional<TermCounts> executed_by_core(const kernel::Kernel&, std::uint32_t groups,
                                           const DeviceModel&);

/// Microseconds from the start of a dispatch to its end. None for a device whose model has no times
/// (DeviceModel::nanoseconds).
std::optional<double> estimated_microseconds(const TermCounts& by_core, const DeviceModel&);

/// Microseconds of the program's dispatches, one after the other; copies count as nothing. None
/// where data decide how often one runs, too.
std::optional<double> estimated_microseconds(const Program&, const Target&);

}  // namespace gnomon
