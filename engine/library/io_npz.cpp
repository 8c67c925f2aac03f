// engine/library/io_npz.cpp -- NumPy's archives: .npy files in a zip file.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "engine/library/file_source.h"

namespace gnomon::io {
namespace {

constexpr std::uint32_t local_mark = 0x04034b50, entry_mark = 0x02014b50, end_mark = 0x06054b50,
                        end64_mark = 0x06064b50, locator_mark = 0x07064b50;
constexpr std::uint32_t in_extra = 0xffffffff;  // a size or place that did not fit in 32 bits
constexpr std::size_t local_bytes = 30, entry_bytes = 46, end_bytes = 22, end64_bytes = 56,
                      locator_bytes = 20;

/// What the directory says of a file.
struct Member {
  std::string name;
  int flags = 0, method = 0;
  std::uint32_t checksum = 0;
  std::uint64_t packed = 0, size = 0, header = 0;
};

/// A file of the archive, unpacked.
class EntrySource final : public Source {
 public:
  EntrySource(FileSource& file, const Member& entry) : file_(file), entry_(entry) {
    end_ = entry.size;
    checksum_ = static_cast<std::uint32_t>(crc32(0, nullptr, 0));
    if (entry.method == 0) return;
    deflated_ = true;
    // Negative: without the frame of a zlib file.
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) fail("cannot be unpacked");
  }
  ~EntrySource() override {
    if (deflated_) inflateEnd(&stream_);
  }
  std::string message(const std::string& what) const override {
    return file_.message("holds `" + entry_.name + "`, which " + what);
  }
  /// Throws unless everything was read and is what was written.
  void finish() {
    if (left() > 0) fail("has " + std::to_string(left()) + " bytes too many");
    if (deflated_) {
      char none = 0;  // there is room for nothing
      stream_.next_out = reinterpret_cast<Bytef*>(&none);
      stream_.avail_out = 0;
      while (!ended_ && step()) {
      }
      if (!ended_) fail("does not end where it should");
    }
    if (file_.left() > 0 || (deflated_ && stream_.avail_in > 0)) fail("has bytes behind its end");
    if (checksum_ != entry_.checksum) fail("does not have the checksum it should have");
  }

 private:
  void fetch(char* to, std::uint64_t count) override {
    if (deflated_)
      inflate_to(to, count);
    else
      file_.read(to, count);
    for (std::uint64_t done = 0; done < count;) {
      const std::uint64_t part = std::min<std::uint64_t>(count - done, 1u << 30);
      checksum_ = static_cast<std::uint32_t>(
          crc32(checksum_, reinterpret_cast<const Bytef*>(to + done), static_cast<uInt>(part)));
      done += part;
    }
  }
  void inflate_to(char* to, std::uint64_t count) {
    while (count > 0) {
      const auto part = static_cast<uInt>(std::min<std::uint64_t>(count, 1u << 30));
      stream_.next_out = reinterpret_cast<Bytef*>(to);
      stream_.avail_out = part;
      while (stream_.avail_out > 0)
        if (ended_ || !step()) fail("ends too early");
      to += part;
      count -= part;
    }
  }
  /// Unpacks as much as there is room for; false when there is nothing more.
  bool step() {
    if (stream_.avail_in == 0 && file_.left() > 0) {
      const std::uint64_t part = std::min<std::uint64_t>(file_.left(), packed_.size());
      file_.read(packed_.data(), part);
      stream_.next_in = reinterpret_cast<Bytef*>(packed_.data());
      stream_.avail_in = static_cast<uInt>(part);
    }
    const uInt before_in = stream_.avail_in, before_out = stream_.avail_out;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) ended_ = true;
    if (result != Z_OK && result != Z_BUF_ERROR && !ended_) fail("cannot be unpacked");
    return ended_ || stream_.avail_in != before_in || stream_.avail_out != before_out;
  }

  FileSource& file_;
  const Member& entry_;
  bool deflated_ = false, ended_ = false;
  std::uint32_t checksum_ = 0;
  z_stream stream_{};
  std::array<char, 1 << 14> packed_{};
};

/// The directory of an archive.
class Directory {
 public:
  explicit Directory(FileSource& file) : file_(file) {
    const std::uint64_t tail = std::min<std::uint64_t>(file.size(), end_bytes + 0xffff);
    file.select(file.size() - tail, file.size());
    const std::string text = file.take(tail);
    std::size_t at = text.size();
    for (std::size_t i = text.size(); i-- > 0 && at == text.size();)
      if (i + end_bytes <= text.size() && number_at<std::uint32_t>(text, i) == end_mark &&
          i + end_bytes + number_at<std::uint16_t>(text, i + 20) == text.size())
        at = i;
    if (at == text.size()) file.fail("is not a .npz file, or its end is missing");
    const std::uint64_t end_at = file.size() - tail + at;
    std::uint64_t count = number_at<std::uint16_t>(text, at + 10),
                  bytes = number_at<std::uint32_t>(text, at + 12),
                  begin = number_at<std::uint32_t>(text, at + 16), limit = end_at;
    const bool one_part =
        number_at<std::uint16_t>(text, at + 4) == 0 && number_at<std::uint16_t>(text, at + 6) == 0;
    if (at >= locator_bytes && number_at<std::uint32_t>(text, at - locator_bytes) == locator_mark) {
      const auto where = number_at<std::uint64_t>(text, at - locator_bytes + 8);
      if (where > file.size() || file.size() - where < end64_bytes)
        file.fail("has no directory where it should");
      file.select(where, file.size());
      const std::string end64 = file.take(end64_bytes);
      if (number_at<std::uint32_t>(end64, 0) != end64_mark)
        file.fail("has no directory where it should");
      count = number_at<std::uint64_t>(end64, 32);
      bytes = number_at<std::uint64_t>(end64, 40);
      begin = number_at<std::uint64_t>(end64, 48);
      limit = where;
    } else if (!one_part) {
      file.fail("is one of several parts of an archive");
    }
    if (begin > limit || bytes != limit - begin)
      file.fail("has a directory of another length than it should");
    if (count > bytes / entry_bytes) file.fail("has a directory too short for its entries");
    file.select(begin, begin + bytes);
    std::uint64_t together = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      entries.push_back(next());
      if (entries.back().packed > file.size() - together)
        file.fail("is shorter than what it holds");
      together += entries.back().packed;
    }
    if (file.left() > 0) file.fail("has a directory longer than its entries");
  }

  std::vector<Member> entries;

 private:
  Member next() {
    const std::string text = file_.take(entry_bytes);
    if (number_at<std::uint32_t>(text, 0) != entry_mark) file_.fail("has a damaged directory");
    Member e;
    e.flags = number_at<std::uint16_t>(text, 8);
    e.method = number_at<std::uint16_t>(text, 10);
    e.checksum = number_at<std::uint32_t>(text, 16);
    e.packed = number_at<std::uint32_t>(text, 20);
    e.size = number_at<std::uint32_t>(text, 24);
    e.header = number_at<std::uint32_t>(text, 42);
    e.name = file_.take(number_at<std::uint16_t>(text, 28));
    const std::string extra = file_.take(number_at<std::uint16_t>(text, 30));
    file_.take(number_at<std::uint16_t>(text, 32));
    for (std::size_t at = 0; at + 4 <= extra.size();) {
      const std::size_t length = number_at<std::uint16_t>(extra, at + 2), end = at + 4 + length;
      if (end > extra.size()) file_.fail("has a damaged directory");
      if (number_at<std::uint16_t>(extra, at) == 1) {
        std::size_t from = at + 4;
        for (std::uint64_t* n : {&e.size, &e.packed, &e.header}) {
          if (*n != in_extra) continue;
          if (from + 8 > end) file_.fail("has a damaged directory");
          *n = number_at<std::uint64_t>(extra, from);
          from += 8;
        }
      }
      at = end;
    }
    return e;
  }

  FileSource& file_;
};

FileArray read_entry(FileSource& file, const Member& e) {
  const auto fail = [&](const std::string& what) {
    file.fail("holds `" + e.name + "`, which " + what);
  };
  if (e.flags & 1) fail("is encrypted");
  if (e.method != 0 && e.method != 8)
    fail("is packed in a way that is not known (" + std::to_string(e.method) +
         "); stored and deflated files are");
  if (!e.name.ends_with(".npy")) fail("is no array");
  // Deflate makes 258 bytes of two bits at best.
  if (e.method == 0 ? e.size != e.packed : e.size / 1032 > e.packed)
    fail("cannot have " + std::to_string(e.size) + " bytes, packed in " + std::to_string(e.packed));
  if (e.header > file.size() || file.size() - e.header < local_bytes)
    fail("is not where it should");
  file.select(e.header, file.size());
  const std::string local = file.take(local_bytes);
  if (number_at<std::uint32_t>(local, 0) != local_mark) fail("is not where it should");
  const std::uint64_t begin = e.header + local_bytes + number_at<std::uint16_t>(local, 26) +
                              number_at<std::uint16_t>(local, 28);
  if (begin > file.size() || e.packed > file.size() - begin) fail("ends behind the file");
  file.select(begin, begin + e.packed);
  EntrySource source(file, e);
  FileArray array = read_npy_from(source);
  source.finish();
  return array;
}

std::uint32_t checksum_of(std::string_view header, const FileArray& a) {
  auto sum =
      crc32(0, reinterpret_cast<const Bytef*>(header.data()), static_cast<uInt>(header.size()));
  for (std::size_t done = 0; done < a.bytes.size();) {
    const std::size_t part = std::min<std::size_t>(a.bytes.size() - done, 1u << 30);
    sum =
        crc32(sum, reinterpret_cast<const Bytef*>(a.bytes.data() + done), static_cast<uInt>(part));
    done += part;
  }
  return static_cast<std::uint32_t>(sum);
}

/// The entry as a header in front of the file (`local`) or in the directory; numbers of more than
/// 32 bits are in an extra field, in which both have all of those the format wants.
std::string header_of(const Member& e, bool local) {
  const bool large = std::max({e.size, local ? 0 : e.header}) >= in_extra;
  std::string extra;
  if (large) {
    append_number<std::uint16_t>(extra, 1);
    append_number<std::uint16_t>(extra, local ? 16 : 24);
    append_number<std::uint64_t>(extra, e.size);
    append_number<std::uint64_t>(extra, e.packed);
    if (!local) append_number<std::uint64_t>(extra, e.header);
  }
  const auto number = [&](std::uint64_t n) { return large ? in_extra : n; };
  std::string text;
  append_number<std::uint32_t>(text, local ? local_mark : entry_mark);
  if (!local) append_number<std::uint16_t>(text, 45);  // made by
  append_number<std::uint16_t>(text, large ? 45 : 20);
  append_number<std::uint16_t>(text, 1 << 11);  // names are UTF-8
  append_number<std::uint16_t>(text, 0);        // stored
  append_number<std::uint16_t>(text, 0);
  append_number<std::uint16_t>(text, 0x21);  // the first day that the format knows
  append_number<std::uint32_t>(text, e.checksum);
  append_number<std::uint32_t>(text, number(e.packed));
  append_number<std::uint32_t>(text, number(e.size));
  append_number<std::uint16_t>(text, e.name.size());
  append_number<std::uint16_t>(text, extra.size());
  if (!local) {
    append_number<std::uint64_t>(text, 0);  // no comment, first part, kind of file
    append_number<std::uint16_t>(text, 0);
    append_number<std::uint32_t>(text, number(e.header));
  }
  return text + e.name + extra;
}

}  // namespace

NamedFileArrays read_npz(const std::string& path) {
  FileSource file("read_npz", path);
  const Directory directory(file);
  NamedFileArrays arrays;
  std::set<std::string> names;
  for (const Member& e : directory.entries) {
    if (!names.insert(e.name).second) file.fail("holds `" + e.name + "` twice");
    FileArray a = read_entry(file, e);
    arrays.emplace_back(e.name.substr(0, e.name.size() - 4), std::move(a));
  }
  return arrays;
}

void write_npz(const std::string& path, const NamedFileArrays& arrays) {
  std::set<std::string> names;
  for (const auto& named : arrays) {
    if (named.first.empty() || named.first.size() > 0xffff - 4)
      usage_error("write_npz", "an array has a name that is empty or too long", {});
    if (!names.insert(named.first).second)
      usage_error("write_npz", "two arrays have the name `" + named.first + "`", {});
    check_bytes("write_npz", named.first, named.second);
  }
  Sink sink("write_npz", path);
  std::string directory;
  for (const auto& [name, array] : arrays) {
    const std::string header = npy_header(array.aval);
    Member e;
    e.name = name + ".npy";
    e.checksum = checksum_of(header, array);
    e.size = e.packed = header.size() + array.bytes.size();
    e.header = sink.written();
    sink.write(header_of(e, true));
    sink.write(header);
    sink.write(array.bytes.data(), array.bytes.size());
    directory += header_of(e, false);
  }
  const std::uint64_t begin = sink.written(), count = arrays.size(), bytes = directory.size();
  sink.write(directory);
  std::string end;
  if (std::max(begin, bytes) >= in_extra || count >= 0xffff) {
    append_number<std::uint32_t>(end, end64_mark);
    append_number<std::uint64_t>(end, end64_bytes - 12);
    append_number<std::uint16_t>(end, 45);
    append_number<std::uint16_t>(end, 45);
    append_number<std::uint64_t>(end, 0);  // of one part
    append_number<std::uint64_t>(end, count);
    append_number<std::uint64_t>(end, count);
    append_number<std::uint64_t>(end, bytes);
    append_number<std::uint64_t>(end, begin);
    append_number<std::uint32_t>(end, locator_mark);
    append_number<std::uint32_t>(end, 0);
    append_number<std::uint64_t>(end, begin + bytes);
    append_number<std::uint32_t>(end, 1);
  }
  append_number<std::uint32_t>(end, end_mark);
  append_number<std::uint32_t>(end, 0);
  append_number<std::uint16_t>(end, std::min<std::uint64_t>(count, 0xffff));
  append_number<std::uint16_t>(end, std::min<std::uint64_t>(count, 0xffff));
  append_number<std::uint32_t>(end, std::min<std::uint64_t>(bytes, in_extra));
  append_number<std::uint32_t>(end, std::min<std::uint64_t>(begin, in_extra));
  append_number<std::uint16_t>(end, 0);
  sink.write(end);
  sink.close();
}

}  // namespace gnomon::io
