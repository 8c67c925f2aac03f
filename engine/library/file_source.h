// engine/library/file_source.h -- bytes of files, read with an eye on how many there are, and what
// the formats in gnomon/io.h share.
#pragma once
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "gnomon/io.h"

namespace gnomon::io {

/// Bytes in order, of which it is known how many there are.
class Source {
 public:
  virtual ~Source() = default;
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  /// Fills `to`; throws FileError where fewer are left.
  void read(char* to, std::uint64_t count);
  std::string take(std::uint64_t count);
  std::uint64_t left() const { return end_ - at_; }
  /// Throws FileError about this file.
  [[noreturn]] void fail(const std::string& what) const { throw FileError(message(what)); }
  virtual std::string message(const std::string& what) const = 0;

 protected:
  virtual void fetch(char* to, std::uint64_t count) = 0;
  std::uint64_t at_ = 0, end_ = 0;
};

/// A file, or a range of it.
class FileSource final : public Source {
 public:
  FileSource(std::string op, const std::string& path);
  /// From here on bytes [begin, end) of the file, which has as many.
  void select(std::uint64_t begin, std::uint64_t end);
  std::uint64_t size() const { return size_; }
  std::string message(const std::string& what) const override;

 private:
  void fetch(char* to, std::uint64_t count) override;
  std::string op_, path_;
  std::ifstream in_;
  std::uint64_t size_ = 0;
};

/// A file that is being written. Throws FileError when that fails, at the end at the latest.
class Sink {
 public:
  Sink(std::string op, const std::string& path);
  void write(const void* data, std::uint64_t count);
  void write(std::string_view text) { write(text.data(), text.size()); }
  std::uint64_t written() const { return written_; }
  void close();

 private:
  [[noreturn]] void fail() const;
  std::string op_, path_;
  std::ofstream out_;
  std::uint64_t written_ = 0;
};

/// Little-endian numbers.
template <class N>
N number_at(std::string_view bytes, std::size_t at) {
  N n{};
  for (std::size_t i = sizeof(N); i-- > 0;)
    n = static_cast<N>(static_cast<std::uint64_t>(n) << 8 |
                       static_cast<unsigned char>(bytes[at + i]));
  return n;
}
template <class N>
void append_number(std::string& bytes, std::uint64_t n) {
  for (std::size_t i = 0; i < sizeof(N); ++i) bytes += static_cast<char>(n >> (8 * i) & 0xff);
}

/// The bytes of an array; nothing when there are more than any memory has.
std::optional<std::uint64_t> bytes_of(const Aval&);
/// Elements of `source` in row-major order, as many as it has left. bool becomes 0 and 1.
FileArray read_elements(Source& source, const Aval&);

/// Throws UsageError when it has not as many bytes as its type asks for. `name`: its own, where it
/// has one.
void check_bytes(std::string_view op, std::string_view name, const FileArray&);

/// Everything that is left in `source` is one .npy file.
FileArray read_npy_from(Source& source);
/// What stands in front of the elements.
std::string npy_header(const Aval&);

}  // namespace gnomon::io
