// tests/shaders/small_vector_test.cpp -- lists that keep few elements in place do as std::vector
// does, and chains by hash hold what was added.
#include "shaders/support/small_vector.h"

#include <gtest/gtest.h>

#include <random>

#include "shaders/support/hash_chains.h"

namespace gnomon {
namespace {

using Small = SmallVector<std::uint32_t, 3>;

void expect_same(const Small& a, const std::vector<std::uint32_t>& b) {
  EXPECT_EQ(std::vector<std::uint32_t>(a.begin(), a.end()), b);
  EXPECT_EQ(a.size(), b.size());
  EXPECT_EQ(a.empty(), b.empty());
}

TEST(SmallVectors, DoAsVectorsDo) {
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int round = 0; round < 200; ++round) {
    Small a, kept;
    std::vector<std::uint32_t> b, kept_b;
    for (int step = 0; step < 40; ++step) {
      const auto x = static_cast<std::uint32_t>(random());
      const std::size_t at = below(b.size() + 1);
      const std::vector<std::uint32_t> more(below(5), x);
      switch (below(10)) {
        case 0:
        case 1:
        case 2:
          a.push_back(x);
          b.push_back(x);
          break;
        case 3:
          a.insert(a.begin() + at, more.begin(), more.end());
          b.insert(b.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
          break;
        case 4:
          if (b.empty()) break;
          a.erase(a.begin() + at % b.size());
          b.erase(b.begin() + static_cast<std::ptrdiff_t>(at % b.size()));
          break;
        case 5:
          a.resize(at);
          b.resize(at);
          break;
        case 6:
          kept = a;
          kept_b = b;
          break;
        case 7:
          a = std::move(kept);
          b = kept_b;
          kept = Small();
          kept_b.clear();
          break;
        case 8:
          std::swap(a, kept);
          std::swap(b, kept_b);
          break;
        default:
          a.assign(more.begin(), more.end());
          b = more;
      }
      expect_same(a, b);
      expect_same(kept, kept_b);
    }
  }
}

TEST(SmallVectors, CompareByElements) {
  const Small a{1, 2, 3, 4}, b{1, 2, 3, 4}, c{1, 2, 3};
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
}

TEST(SmallVectors, AreOrderedByElements) {
  const Small a{1, 2, 3, 4}, b{1, 2, 4}, c{1, 2};
  EXPECT_LT(a, b);
  EXPECT_LT(c, a);
  EXPECT_FALSE(a < a);
}

TEST(HashChains, FindTheLatestThatIsWanted) {
  HashChains<std::uint32_t> chains;
  const auto any = [](std::uint32_t) { return true; };
  EXPECT_EQ(chains.find(5, any), nullptr);
  for (std::uint32_t i = 0; i < 1000; ++i) chains.add(i % 100, i);
  for (std::uint32_t hash = 0; hash < 100; ++hash) {
    EXPECT_EQ(*chains.find(hash, any), 900 + hash);
    const auto early = [](std::uint32_t x) { return x < 300; };
    EXPECT_EQ(*chains.find(hash, early), 200 + hash);
    EXPECT_EQ(chains.find(hash + 100, any), nullptr);
  }
}

}  // namespace
}  // namespace gnomon
