// tests/vulkan/allocations.cpp -- `new` that counts.
#include "tests/vulkan/allocations.h"

#include <cstdlib>
#include <new>

namespace {
thread_local std::uint64_t count = 0;

void* take(std::size_t bytes) {
  ++count;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
}  // namespace

std::uint64_t gnomon::testing::allocations() { return count; }

void* operator new(std::size_t bytes) { return take(bytes); }
void* operator new[](std::size_t bytes) { return take(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
