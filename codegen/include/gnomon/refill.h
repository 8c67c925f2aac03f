// codegen/include/gnomon/refill.h -- whether lanes of a loop wait for one another.
#pragma once
#include <cstdint>

#pragma GCC visibility push(default)
namespace gnomon {

/// What a lane of a vmapped loop does whose steps are done while its neighbours go on: wait, or, as
/// a persistent lane, begin the next element. No bit of a result depends on it. `automatic`: wait;
/// where a first call is measured to have waited for longer than it worked, later calls have
/// persistent lanes.
enum class Refill : std::uint8_t { automatic, off, on };

}  // namespace gnomon
#pragma GCC visibility pop
