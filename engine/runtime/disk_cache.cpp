// engine/runtime/disk_cache.cpp -- reading, replacing and dropping the files of a cache.
#include "engine/runtime/disk_cache.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <system_error>

namespace gnomon {
namespace {

namespace fs = std::filesystem;

constexpr char extension[] = ".gnomon";
constexpr char unfinished[] = ".gnomon-part";

/// The first bytes of a file. Everything behind `checksum` is what it sums up, the bytes included.
struct Head {
  std::uint64_t magic = 0;
  std::uint64_t checksum = 0;
  std::uint64_t version = 0;
  std::uint64_t length = 0;  // of the bytes behind the head
  Digest key;
};
static_assert(sizeof(Head) == 48);

constexpr std::uint64_t magic = 0x0a0d6e6f6d6f6e67;  // "gnomon\r\n"
constexpr std::uint64_t version = 1;
constexpr std::streamoff most_file = std::streamoff{1} << 31;  // nobody writes more

std::span<const std::byte> summed(std::span<const std::byte> file) {
  return file.subspan(offsetof(Head, version));
}

Head head_of(const Digest& key, std::uint64_t length) {
  Head head;
  head.magic = magic;
  head.version = version;
  head.length = length;
  head.key = key;
  return head;
}

// The whole file, its end where the file ends; no bytes for what is no file of the cache. Nothing
// when there is none or it cannot be read.
std::optional<std::vector<std::byte>> contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return std::nullopt;
  const std::streamoff size = in.tellg();
  if (size < 0 || size > most_file) return std::vector<std::byte>();
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(bytes.data()), size);
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, in.gcount())));
  return bytes;
}

bool whole(const Digest& key, std::span<const std::byte> file) {
  if (file.size() < sizeof(Head)) return false;
  Head head;
  std::memcpy(&head, file.data(), sizeof head);
  return head.magic == magic && head.version == version && head.key == key &&
         head.length == file.size() - sizeof(Head) && head.checksum == checksum(summed(file));
}

// A name that no other writer takes, in this process or another.
std::string unique_suffix() {
  std::random_device random;
  std::string text = ".";
  for (int i = 0; i < 4; ++i) text += std::to_string(random()) + (i < 3 ? "-" : "");
  return text + unfinished;
}

}  // namespace

DiskCache::DiskCache(fs::path folder, std::uint64_t most_bytes)
    : folder_(std::move(folder)), most_bytes_(most_bytes) {}

fs::path DiskCache::path(const Digest& key) const { return folder_ / (key.text() + extension); }

std::optional<std::vector<std::byte>> DiskCache::read(const Digest& key) {
  const fs::path file = path(key);
  auto bytes = contents(file);
  if (!bytes) return std::nullopt;
  if (!whole(key, *bytes)) {
    drop_damaged(key);
    return std::nullopt;
  }
  std::error_code ignored;  // then it counts as older than it is
  fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
  bytes->erase(bytes->begin(), bytes->begin() + sizeof(Head));
  return bytes;
}

void DiskCache::write(const Digest& key, std::span<const std::byte> bytes) {
  std::vector<std::byte> file(sizeof(Head) + bytes.size());
  if (file.size() > std::min<std::uint64_t>(most_bytes_, most_file)) return;
  Head head = head_of(key, bytes.size());
  std::memcpy(file.data(), &head, sizeof head);
  std::ranges::copy(bytes, file.begin() + sizeof(Head));
  head.checksum = checksum(summed(file));
  std::memcpy(file.data(), &head, sizeof head);

  std::error_code error;
  if (!fs::is_directory(folder_, error)) {
    fs::create_directories(folder_, error);
    if (error) return;
    // What a driver is fed is nobody else's business.
    fs::permissions(folder_, fs::perms::owner_all, error);
  }
  const fs::path part = folder_ / (key.text() + unique_suffix());
  {
    std::ofstream out(part, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(file.data()),
              static_cast<std::streamsize>(file.size()));
    out.close();
    if (!out) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) fs::rename(part, path(key), error);
  if (error) {
    fs::remove(part, error);
    return;
  }
  keep_within_bounds(path(key), file.size());
}

void DiskCache::drop_damaged(const Digest& key) {
  ++damaged_;
  std::error_code ignored;  // it is as damaged for the next who reads it
  fs::remove(path(key), ignored);
}

void DiskCache::keep_within_bounds(const fs::path& last, std::uint64_t written) {
  const std::lock_guard lock(mutex_);
  if (bytes_) {
    *bytes_ += written;  // what it replaces counts until the folder is looked at again
    if (*bytes_ <= most_bytes_) return;
  }
  struct File {
    fs::path path;
    fs::file_time_type time;
    std::uint64_t bytes;
  };
  std::vector<File> files;
  std::uint64_t sum = 0;
  const auto now = fs::file_time_type::clock::now();
  std::error_code error;
  // Other processes drop and add files meanwhile: what is gone when it is looked at is left out.
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    const fs::path& file = it->path();
    std::error_code gone;
    const bool part = file.native().ends_with(fs::path(unfinished).native());
    if (!part && file.extension() != extension) continue;
    const auto time = it->last_write_time(gone);
    const std::uint64_t bytes = gone ? 0 : it->file_size(gone);
    if (gone) continue;
    // Whoever began it is dead: nobody takes an hour.
    if (part && now - time > std::chrono::hours(1)) fs::remove(file, gone);
    if (part) continue;
    files.push_back({file, time, bytes});
    sum += bytes;
  }
  if (sum > most_bytes_) {
    // A little more than necessary, so that the next few entries find room without a look around.
    const std::uint64_t enough = most_bytes_ - most_bytes_ / 8;
    // Clocks of file systems tick slowly: of files of one time, what was written last stays.
    std::ranges::sort(files, {}, [&](const File& f) { return std::pair(f.path == last, f.time); });
    for (std::size_t i = 0; i + 1 < files.size() && sum > enough; ++i) {
      std::error_code gone;
      if (fs::remove(files[i].path, gone)) ++dropped_;
      sum -= files[i].bytes;
    }
  }
  bytes_ = sum;
}

}  // namespace gnomon
