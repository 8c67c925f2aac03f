// tests/bench/awake.cpp -- see awake.h.
#include "awake.h"

#ifdef __linux__
#include <sched.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bench {
namespace {

/// Whether the calling thread runs from now on only where nobody else wants to.
bool make_way() {
#ifdef __linux__
  const sched_param none{};
  return sched_setscheduler(0, SCHED_IDLE, &none) == 0;
#else
  return false;
#endif
}

void wait_a_moment() {
#if defined(__x86_64__)
  _mm_pause();  // leaves the core's units to another thread of it
#endif
}

}  // namespace

AwakeCores::AwakeCores() {
  for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i)
    threads_.emplace_back([](const std::stop_token& stop) {
      if (!make_way()) return;
      while (!stop.stop_requested()) wait_a_moment();
    });
}

AwakeCores::~AwakeCores() = default;

}  // namespace bench
