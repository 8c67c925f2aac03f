// engine/library/file_source.cpp -- bytes of files, and how many there are.
#include "engine/library/file_source.h"

#include <algorithm>
#include <bit>

#include "gnomon/paths.h"

namespace gnomon::io {

static_assert(std::endian::native == std::endian::little, "file elements are copied as they are");

void Source::read(char* to, std::uint64_t count) {
  if (count > left())
    fail("ends after " + std::to_string(end_) + " bytes and should have at least " +
         std::to_string(at_ + count));
  fetch(to, count);
  at_ += count;
}

std::string Source::take(std::uint64_t count) {
  if (count > left()) read(nullptr, count);  // says so before anything is allocated
  std::string bytes(static_cast<std::size_t>(count), '\0');
  read(bytes.data(), count);
  return bytes;
}

FileSource::FileSource(std::string op, const std::string& path)
    : op_(std::move(op)), path_(path), in_(path_of(path), std::ios::binary | std::ios::ate) {
  const auto end = in_ ? static_cast<std::streamoff>(in_.tellg()) : -1;
  // A folder opens, and has a size that nobody could read.
  if (end < 0 || !in_.seekg(0) || (end > 0 && in_.peek() == std::ifstream::traits_type::eof()))
    fail("cannot be opened");
  in_.clear();
  size_ = end_ = static_cast<std::uint64_t>(end);
}

void FileSource::select(std::uint64_t begin, std::uint64_t end) {
  if (begin > end || end > size_)
    fail("has " + std::to_string(size_) + " bytes, and bytes " + std::to_string(begin) + " to " +
         std::to_string(end) + " are spoken of");
  in_.clear();
  if (!in_.seekg(static_cast<std::streamoff>(begin))) fail("cannot be read");
  at_ = begin;
  end_ = end;
}

std::string FileSource::message(const std::string& what) const {
  return "gnomon::" + op_ + ": " + path_ + " " + what;
}

void FileSource::fetch(char* to, std::uint64_t count) {
  in_.read(to, static_cast<std::streamsize>(count));
  if (static_cast<std::uint64_t>(in_.gcount()) != count) fail("cannot be read to its end");
}

Sink::Sink(std::string op, const std::string& path)
    : op_(std::move(op)), path_(path), out_(path_of(path), std::ios::binary) {
  if (!out_) fail();
}

void Sink::write(const void* data, std::uint64_t count) {
  out_.write(static_cast<const char*>(data), static_cast<std::streamsize>(count));
  written_ += count;
}

void Sink::close() {
  out_.close();
  if (!out_) fail();
}

void Sink::fail() const { throw FileError("gnomon::" + op_ + ": " + path_ + " cannot be written"); }

std::optional<std::uint64_t> bytes_of(const Aval& aval) {
  // Dimensions of 0 do not excuse the others: shapes multiply in any order.
  constexpr std::uint64_t most = std::uint64_t{1} << 56;
  std::uint64_t product = 1;
  bool none = false;
  for (Dim d : aval.shape) {
    if (d < 0) return std::nullopt;
    none |= d == 0;
    const auto n = static_cast<std::uint64_t>(std::max<Dim>(d, 1));
    if (n > most / product) return std::nullopt;
    product *= n;
  }
  return none ? 0 : product * size_of(aval.dtype);
}

void check_bytes(std::string_view op, std::string_view name, const FileArray& a) {
  const auto wanted = bytes_of(a.aval);
  if (wanted == a.bytes.size()) return;
  usage_error(op,
              (name.empty() ? std::string("the array") : "`" + std::string(name) + "`") + " is " +
                  to_string(a.aval) + " and has " + std::to_string(a.bytes.size()) +
                  " bytes of elements" +
                  (wanted ? " instead of " + std::to_string(*wanted) : std::string()),
              {});
}

FileArray read_elements(Source& source, const Aval& aval) {
  FileArray a{aval, {}};
  a.bytes.resize(static_cast<std::size_t>(source.left()));
  source.read(reinterpret_cast<char*>(a.bytes.data()), source.left());
  if (aval.dtype == DType::boolean)
    for (std::byte& b : a.bytes) b = std::byte{b != std::byte{0}};
  return a;
}

}  // namespace gnomon::io
