// tests/engine/parallel_test.cpp -- work for many numbers on several threads.
#include "engine/runtime/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace gnomon {
namespace {

TEST(InParallel, CallsForEveryNumberOnce) {
  for (const std::size_t threads : {0u, 1u, 2u, 7u}) {
    for (const std::size_t count : {0u, 1u, 5u, 300u}) {
      std::vector<std::atomic<int>> calls(count);
      in_parallel(count, threads, [&](std::size_t i) { ++calls[i]; });
      for (const auto& n : calls) EXPECT_EQ(n, 1);
    }
  }
}

TEST(InParallel, WorksInSoManyThreadsAtMost) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  const auto look = [&](std::size_t) {
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  };
  in_parallel(100, 1, look);
  EXPECT_EQ(seen, std::set{std::this_thread::get_id()});
  in_parallel(100, 3, look);
  EXPECT_LE(seen.size(), 3u);
}

TEST(InParallel, WorksSideBySide) {
  // Each waits for the other, so that a single thread would never end.
  std::atomic<int> here{0};
  in_parallel(2, 2, [&](std::size_t) {
    ++here;
    while (here < 2) std::this_thread::yield();
  });
  EXPECT_EQ(here, 2);
}

TEST(InParallel, ThrowsWhatTheLowestNumberThrows) {
  for (int round = 0; round < 200; ++round) {
    std::string what;
    try {
      in_parallel(64, 4, [](std::size_t i) {
        if (i % 8 == 5) throw std::runtime_error(std::to_string(i));
      });
    } catch (const std::runtime_error& e) {
      what = e.what();
    }
    ASSERT_EQ(what, "5");
  }
}

}  // namespace
}  // namespace gnomon
