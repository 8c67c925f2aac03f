// engine/runtime/disk_cache.h -- a folder of checked files with names of their content, of bounded
// size, that any number of processes use at once. Knows nothing of what they hold.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "gnomon/checksum.h"

namespace gnomon {

/// Each entry is one file: a head with version, key, length and checksum, and the bytes behind it.
/// Files come to be under another name and are renamed when they are whole, so nobody reads half of
/// one; who reads one that another process drops has it whole. What is damaged is dropped, counted,
/// and like what was never there. No member throws for anything that is wrong with the folder: the
/// cache is then without effect. Thread safe.
class DiskCache {
 public:
  /// `folder` is made when it is first written to. Above `most_bytes` altogether, entries go that
  /// nobody has read or written for longest.
  DiskCache(std::filesystem::path folder, std::uint64_t most_bytes);

  /// The bytes kept under `key`, aligned to 8.
  std::optional<std::vector<std::byte>> read(const Digest& key);
  /// Replaces what is kept under `key`.
  void write(const Digest& key, std::span<const std::byte> bytes);
  /// For bytes that turned out to be no use: drops and counts them as damaged.
  void drop_damaged(const Digest& key);

  std::filesystem::path path(const Digest& key) const;
  const std::filesystem::path& folder() const { return folder_; }
  std::uint64_t damaged() const { return damaged_; }
  std::uint64_t dropped() const { return dropped_; }  // entries that went for lack of room

 private:
  void keep_within_bounds(const std::filesystem::path& last, std::uint64_t written);

  const std::filesystem::path folder_;
  const std::uint64_t most_bytes_;
  std::atomic<std::uint64_t> damaged_{0}, dropped_{0};
  std::mutex mutex_;  // what follows
  /// Bytes in the folder as far as this process knows; nothing before it has looked.
  std::optional<std::uint64_t> bytes_;
};

}  // namespace gnomon
