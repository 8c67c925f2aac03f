// tests/threads/at_once.h -- work in several threads that start together.
#pragma once
#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace gnomon::testing {

/// `work(t)` in each of `count` threads; what one of them throws fails the test.
template <class Work>
void at_once(int count, const Work& work) {
  std::atomic<int> ready{0};
  std::mutex mutex;
  std::vector<std::string> errors;
  std::vector<std::thread> all;
  for (int t = 0; t < count; ++t)
    all.emplace_back([&, t] {
      ++ready;
      while (ready < count) std::this_thread::yield();
      try {
        work(t);
      } catch (const std::exception& e) {
        const std::lock_guard lock(mutex);
        errors.emplace_back(e.what());
      }
    });
  for (std::thread& t : all) t.join();
  for (const std::string& e : errors) ADD_FAILURE() << e;
}

}  // namespace gnomon::testing
