// tests/vulkan/allocations.h -- how often this thread has asked for memory by `new`.
#pragma once
#include <cstdint>

namespace gnomon::testing {

std::uint64_t allocations();

}  // namespace gnomon::testing
