// tests/codegen/index_set_test.cpp -- sets of numbers against the standard library's.
#include "codegen/base/index_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace gnomon {
namespace {

TEST(IndexSet, IsWhatAStandardSetIs) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::uint32_t most = 1 + random() % 40;
    std::vector<std::uint32_t> first(random() % 30);
    for (std::uint32_t& x : first) x = random() % most;
    IndexSet set(first);
    std::set<std::uint32_t> standard(first.begin(), first.end());
    for (int step = 0; step < 10; ++step) {
      std::vector<std::uint32_t> more(random() % 4);
      for (std::uint32_t& x : more) x = random() % most;
      if (step % 2 == 0) {
        set.insert(more.begin(), more.end());
        standard.insert(more.begin(), more.end());
      } else {
        for (std::uint32_t x : more) {
          set.insert(x);
          standard.insert(x);
        }
      }
      ASSERT_TRUE(std::equal(set.begin(), set.end(), standard.begin(), standard.end()));
      ASSERT_EQ(set.size(), standard.size());
      ASSERT_EQ(set.empty(), standard.empty());
      for (std::uint32_t x = 0; x <= most; ++x) ASSERT_EQ(set.contains(x), standard.contains(x));
    }
  }
}

}  // namespace
}  // namespace gnomon
