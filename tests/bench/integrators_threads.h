// tests/bench/integrators_threads.h -- two threads for what is many times the start of one.
#pragma once
#include <cstddef>
#include <thread>

namespace bench::integrators {

/// work(from, to) for both halves of n at once.
template <class Work>
void in_halves(size_t n, const Work& work) {
  std::thread other([&] { work(n / 2, n); });
  work(0, n / 2);
  other.join();
}

}  // namespace bench::integrators
