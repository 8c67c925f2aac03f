// tests/engine/disk_cache_test.cpp -- checked files in a folder of bounded size.
#include "engine/runtime/disk_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <random>
#include <string>
#include <thread>

#include "tests/support/platform.h"
#include "tests/support/temporary_folder.h"

namespace gnomon::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t plenty = 1 << 30;

Digest key(std::uint64_t i) { return digest("entry " + std::to_string(i)); }

std::vector<std::byte> bytes(std::size_t size, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<std::byte> result(size);
  for (std::byte& b : result) b = static_cast<std::byte>(random());
  return result;
}

std::vector<char> read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write_file(const fs::path& path, const std::vector<char>& content) {
  std::ofstream(path, std::ios::binary)
      .write(content.data(), static_cast<std::streamsize>(content.size()));
}

// So long ago that the entry counts as unused since then.
void age(const DiskCache& cache, std::uint64_t i, std::chrono::minutes by) {
  fs::last_write_time(cache.path(key(i)), fs::file_time_type::clock::now() - by);
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(DiskCache, GivesBackWhatWasWritten) {
  const TemporaryFolder folder;
  DiskCache cache(folder / "made" / "when needed", plenty);
  EXPECT_EQ(cache.read(key(0)), std::nullopt);
  for (const std::size_t size : {0u, 1u, 7u, 4096u, 100001u}) {
    cache.write(key(size), bytes(size));
    EXPECT_EQ(cache.read(key(size)), bytes(size));
  }
  cache.write(key(1), bytes(9, 2));
  EXPECT_EQ(cache.read(key(1)), bytes(9, 2));
  EXPECT_EQ(DiskCache(cache.folder(), plenty).read(key(7)), bytes(7));
  EXPECT_EQ(cache.damaged() + cache.dropped(), 0u);
  EXPECT_EQ(files_in(cache.folder()), 5u);
}

TEST(DiskCache, DropsWhatIsDamagedWhereverItIs) {
  const TemporaryFolder folder;
  DiskCache cache(folder.path, plenty);
  const fs::path path = cache.path(key(1));
  std::uint64_t damaged = 0;
  const auto expect_dropped = [&](const std::vector<char>& content, const std::string& how) {
    write_file(path, content);
    EXPECT_EQ(cache.read(key(1)), std::nullopt) << how;
    EXPECT_EQ(cache.damaged(), ++damaged) << how;
    EXPECT_FALSE(fs::exists(path)) << how;
  };
  cache.write(key(1), bytes(100));
  const std::vector<char> good = read_file(path);
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<char> bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 1 << bit);
      expect_dropped(bad, "bit " + std::to_string(8 * i + static_cast<std::size_t>(bit)));
    }
    expect_dropped({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(i)},
                   "first " + std::to_string(i));
  }
  std::vector<char> longer = good;
  longer.push_back(0);
  expect_dropped(longer, "longer");
  write_file(path, good);
  fs::resize_file(path, vast_file);  // takes no room, and no memory either
  EXPECT_EQ(cache.read(key(1)), std::nullopt);
  EXPECT_EQ(cache.damaged(), ++damaged);
  cache.write(key(2), bytes(100));
  expect_dropped(read_file(cache.path(key(2))), "another's");
  cache.write(key(1), bytes(100));
  EXPECT_EQ(cache.read(key(1)), bytes(100));
}

TEST(DiskCache, DropsTheLeastRecentlyUsedAboveItsBound) {
  const TemporaryFolder folder;
  DiskCache cache(folder.path, 10'500);
  write_file(folder / "somebody's file", std::vector<char>(100'000));
  for (std::uint64_t i = 0; i < 10; ++i) cache.write(key(i), bytes(952));
  EXPECT_EQ(cache.dropped(), 0u);
  for (std::uint64_t i = 0; i < 10; ++i)
    age(cache, i, std::chrono::minutes(100 - static_cast<int>(i)));
  EXPECT_NE(cache.read(key(0)), std::nullopt);  // used, so no longer the oldest
  cache.write(key(10), bytes(952));
  EXPECT_GT(cache.dropped(), 0u);
  EXPECT_EQ(cache.read(key(1)), std::nullopt);
  EXPECT_NE(cache.read(key(0)), std::nullopt);
  EXPECT_NE(cache.read(key(9)), std::nullopt);
  EXPECT_NE(cache.read(key(10)), std::nullopt);
  EXPECT_TRUE(fs::exists(folder / "somebody's file"));
  cache.write(key(11), bytes(20'000));  // more than all of it
  EXPECT_EQ(cache.read(key(11)), std::nullopt);
  EXPECT_NE(cache.read(key(10)), std::nullopt);
}

TEST(DiskCache, StaysWithinItsBoundWhatOthersWriteThere) {
  const TemporaryFolder folder;
  DiskCache cache(folder.path, 20'000), other(folder.path, plenty);
  for (std::uint64_t i = 0; i < 50; ++i) other.write(key(i), bytes(1000));
  cache.write(key(50), bytes(1000));
  std::uint64_t sum = 0;
  for (const auto& file : fs::directory_iterator(folder.path)) sum += file.file_size();
  EXPECT_LE(sum, 20'000u);
  EXPECT_NE(cache.read(key(50)), std::nullopt);
}

TEST(DiskCache, RemovesWhatOthersNeverFinished) {
  const TemporaryFolder folder;
  write_file(folder / "a.gnomon-part", {1, 2, 3});
  write_file(folder / "b.gnomon-part", {1, 2, 3});
  fs::last_write_time(folder / "a.gnomon-part",
                      fs::file_time_type::clock::now() - std::chrono::hours(2));
  DiskCache cache(folder.path, plenty);
  cache.write(key(1), bytes(10));
  EXPECT_FALSE(fs::exists(folder / "a.gnomon-part"));
  EXPECT_TRUE(fs::exists(folder / "b.gnomon-part"));
}

TEST(DiskCache, IsWithoutEffectWhereNothingCanBeWritten) {
  const TemporaryFolder folder;
  write_file(folder / "a file", {1});
  DiskCache cache(folder / "a file", plenty);
  cache.write(key(1), bytes(10));
  EXPECT_EQ(cache.read(key(1)), std::nullopt);
  EXPECT_EQ(read_file(folder / "a file"), std::vector<char>{1});
}

TEST(DiskCache, IsReadAndWrittenByManyAtOnce) {
  const TemporaryFolder folder;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0}, found{0};
  std::atomic<std::uint64_t> damaged{0};
  for (unsigned t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      // Of its own, as every process has; small enough that entries go all the time.
      DiskCache cache(folder.path, 60'000);
      std::mt19937 random(t);
      for (int i = 0; i < 300; ++i) {
        const std::uint64_t which = random() % 16;
        const auto want = bytes(4000 + which, static_cast<unsigned>(which));
        if (random() % 3 == 0) cache.write(key(which), want);
        const auto got = cache.read(key(which));
        found += got.has_value();
        wrong += got && *got != want;
      }
      damaged += cache.damaged();
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(damaged, 0u);
  EXPECT_GT(found, 100);
  for (const auto& file : fs::directory_iterator(folder.path))
    EXPECT_EQ(file.path().extension(), ".gnomon") << file.path();
}

}  // namespace
}  // namespace gnomon::testing
