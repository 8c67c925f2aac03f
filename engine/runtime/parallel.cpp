// engine/runtime/parallel.cpp -- threads that live as long as one piece of work.
#include "engine/runtime/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace gnomon {

void in_parallel(std::size_t count, std::size_t threads,
                 const std::function<void(std::size_t)>& work) {
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::exception_ptr error;  // behind the lock, like the number it belongs to
  std::size_t error_number = count;
  const auto take = [&] {
    while (!failed.load(std::memory_order_relaxed)) {
      const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= count) return;
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failed = true;
        if (i >= error_number) continue;
        error_number = i;
        error = std::current_exception();
      }
    }
  };
  std::vector<std::thread> helpers;
  helpers.reserve(std::min(threads, count));
  try {
    for (std::size_t i = 1; i < std::min(threads, count); ++i) helpers.emplace_back(take);
  } catch (const std::system_error&) {
    // The host gives no more threads: those there are do the work.
  }
  take();
  for (std::thread& helper : helpers) helper.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace gnomon
