// engine/command/npy.cpp -- reads and writes NumPy's file format.
#include "engine/command/npy.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>

#include "gnomon/error.h"

namespace gnomon {
namespace {

static_assert(std::endian::native == std::endian::little, "file elements are copied as they are");

constexpr std::string_view magic("\x93NUMPY", 6);

struct Code {
  DType dtype;
  std::string_view text;
};
constexpr Code codes[] = {{DType::boolean, "|b1"}, {DType::i8, "|i1"},   {DType::u8, "|u1"},
                          {DType::i16, "<i2"},     {DType::u16, "<u2"},  {DType::i32, "<i4"},
                          {DType::u32, "<u4"},     {DType::i64, "<i8"},  {DType::u64, "<u8"},
                          {DType::f16, "<f2"},     {DType::bf16, "|V2"}, {DType::f32, "<f4"},
                          {DType::f64, "<f8"}};

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path), in_(path, std::ios::binary) {
    if (!in_) fail("cannot be opened");
  }

  HostArray read() {
    std::string head = take(8);
    if (head.substr(0, 6) != magic) fail("is not a .npy file");
    const int version = head[6];
    if (version < 1 || version > 3)
      fail("has version " + std::to_string(version) + " of the format; 1 to 3 are known");
    const std::string length = take(version == 1 ? 2 : 4);
    std::uint32_t bytes = 0;
    std::memcpy(&bytes, length.data(), length.size());
    header_ = take(bytes);

    const DType dtype = parse_dtype();
    const bool columns_first = value_of("fortran_order").starts_with("True");
    const Shape shape = parse_shape();
    const std::string data = take(static_cast<std::size_t>(shape.size()) * size_of(dtype));
    return columns_first ? rows_first(stored(dtype, reversed(shape), data), shape)
                         : stored(dtype, shape, data);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw FileError("gnomon::read_npy: " + path_.string() + " " + what);
  }

  std::string take(std::size_t count) {
    std::string bytes(count, '\0');
    in_.read(bytes.data(), static_cast<std::streamsize>(count));
    const auto got = static_cast<std::size_t>(in_.gcount());
    if (got != count)
      fail("ends after " + std::to_string(taken_ + got) + " bytes and should have at least " +
           std::to_string(taken_ + count));
    taken_ += count;
    return bytes;
  }

  /// What follows `'key':` in the header, a Python dictionary.
  std::string_view value_of(std::string_view key) const {
    std::size_t at = header_.find("'" + std::string(key) + "'");
    if (at != header_.npos) at = header_.find(':', at);
    if (at == header_.npos) fail("has no `" + std::string(key) + "` in its header");
    at = header_.find_first_not_of(' ', at + 1);
    return at == header_.npos ? std::string_view() : std::string_view(header_).substr(at);
  }

  DType parse_dtype() const {
    const std::string_view text = value_of("descr");
    for (const Code& c : codes)
      if (text.substr(1).starts_with(c.text)) return c.dtype;
    fail("has elements of type " + std::string(text.substr(0, text.find(','))) +
         "; little-endian numbers of 1 to 8 bytes and bool are known");
  }

  Shape parse_shape() const {
    std::string_view text = value_of("shape");
    text = text.substr(0, text.find(')'));
    Shape shape;
    for (std::size_t i = 0; i < text.size();) {
      if (text[i] < '0' || text[i] > '9') {
        ++i;
        continue;
      }
      Dim d = 0;
      const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), d);
      if (error != std::errc() || shape.rank() == Shape::max_rank)
        fail("has the shape " + std::string(text) + "); at most 8 dimensions are possible");
      shape.append(d);
      i = static_cast<std::size_t>(end - text.data());
    }
    return shape;
  }

  static HostArray stored(DType dtype, const Shape& shape, const std::string& data) {
    HostArray a(Aval{dtype, shape});
    if (dtype == DType::boolean) {
      for (Dim i = 0; i < a.size(); ++i) a.set_integer(i, data[static_cast<std::size_t>(i)] != 0);
    } else {
      std::memcpy(a.bytes.data(), data.data(), data.size());
    }
    return a;
  }

  static Shape reversed(const Shape& shape) {
    Shape r;
    for (int i = shape.rank(); i-- > 0;) r.append(shape[i]);
    return r;
  }

  /// `a`, whose axes are those of `shape` backwards, with the axes in order.
  static HostArray rows_first(const HostArray& a, const Shape& shape) {
    HostArray r(Aval{a.aval.dtype, shape});
    const std::size_t element = size_of(a.aval.dtype);
    for (Dim i = 0; i < r.size(); ++i) {
      Dim rest = i, from = 0, stride = a.size();
      for (int axis = shape.rank(); axis-- > 0;) {
        stride /= shape[axis];
        from += rest % shape[axis] * stride;
        rest /= shape[axis];
      }
      std::memcpy(r.bytes.data() + static_cast<std::size_t>(i) * element,
                  a.bytes.data() + static_cast<std::size_t>(from) * element, element);
    }
    return r;
  }

  std::filesystem::path path_;
  std::ifstream in_;
  std::size_t taken_ = 0;
  std::string header_;
};

}  // namespace

HostArray read_npy(const std::filesystem::path& path) { return Reader(path).read(); }

void write_npy(const std::filesystem::path& path, const HostArray& a) {
  std::string header = "{'descr': '";
  for (const Code& c : codes)
    if (c.dtype == a.aval.dtype) header += c.text;
  header += "', 'fortran_order': False, 'shape': (";
  for (Dim d : a.aval.shape) header += std::to_string(d) + ",";
  header += "), }";
  // The elements begin at a multiple of 64 bytes; the header ends in a newline.
  const std::size_t before = magic.size() + 4;
  header.append(63 - (before + header.size()) % 64, ' ');
  header += '\n';

  std::string text(magic);
  text += {'\x01', '\x00'};
  const auto length = static_cast<std::uint16_t>(header.size());
  text.append(reinterpret_cast<const char*>(&length), 2);
  text += header;
  text.append(reinterpret_cast<const char*>(a.bytes.data()), a.bytes.size());
  std::ofstream out(path, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!out.flush()) throw FileError("gnomon::write_npy: " + path.string() + " cannot be written");
}

}  // namespace gnomon
