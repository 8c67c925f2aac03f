// engine/library/io_npy.cpp -- NumPy's file format.
#include <charconv>
#include <cstring>

#include "engine/library/file_source.h"

namespace gnomon::io {
namespace {

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

/// The dictionary that describes the elements, as Python writes it.
class Header {
 public:
  Header(std::string_view text, const Source& source) : text_(text), source_(source) {
    require('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      require(':');
      if (key == "descr")
        parse_dtype();
      else if (key == "fortran_order")
        columns_first = parse_bool();
      else if (key == "shape")
        parse_shape();
      else
        source_.fail("has `" + std::string(key) + "` in its header, which is not known");
      if (!accept(',') && !next_is('}')) bad();
    }
    skip();
    if (at_ != text_.size()) bad();
    if (!dtype_) missing("descr");
    if (!columns_first) missing("fortran_order");
    if (!shape_) missing("shape");
  }
  Aval aval() const { return {*dtype_, *shape_}; }

  std::optional<bool> columns_first;

 private:
  [[noreturn]] void bad() const { source_.fail("has a header that NumPy does not write"); }
  [[noreturn]] void missing(const char* key) const {
    source_.fail("has no `" + std::string(key) + "` in its header");
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool next_is(char c) {
    skip();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool accept(char c) {
    const bool here = next_is(c);
    at_ += here;
    return here;
  }
  void require(char c) {
    if (!accept(c)) bad();
  }
  std::string_view quoted() {
    const char quote = next_is('"') ? '"' : '\'';
    require(quote);
    const std::size_t end = text_.find(quote, at_);
    if (end == text_.npos) bad();
    const std::string_view found = text_.substr(at_, end - at_);
    at_ = end + 1;
    return found;
  }
  void parse_dtype() {
    if (next_is('[')) source_.fail("has elements of several fields; arrays have elements of one");
    const std::string_view text = quoted();
    for (const Code& c : codes) {
      // The first letter says in which order bytes are, where there are several.
      if (text == c.text || (text.size() == 3 && text.substr(1) == c.text.substr(1) &&
                             (text[0] == '<' || text[0] == '=' || text[0] == '|')))
        dtype_ = c.dtype;
    }
    if (!dtype_)
      source_.fail("has elements of type '" + std::string(text) +
                   "'; little-endian numbers of 1 to 8 bytes and bool are known");
  }
  bool parse_bool() {
    skip();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    bad();
  }
  void parse_shape() {
    require('(');
    Shape shape;
    while (!accept(')')) {
      skip();
      Dim d = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), d);
      if (error != std::errc() || d < 0) bad();
      if (shape.rank() == Shape::max_rank)
        source_.fail("has more dimensions than arrays; at most 8 dimensions are possible");
      shape.append(d);
      at_ = static_cast<std::size_t>(end - text_.data());
      accept('L');  // Python 2
      // A number in parentheses is no tuple without one.
      if (!accept(',') && (shape.rank() == 1 || !next_is(')'))) bad();
    }
    shape_ = shape;
  }

  std::string_view text_;
  const Source& source_;
  std::size_t at_ = 0;
  std::optional<DType> dtype_;
  std::optional<Shape> shape_;
};

/// `a`, whose axes are those of `shape` backwards, with the axes in order.
FileArray rows_first(const FileArray& a, const Shape& shape) {
  FileArray r{{a.aval.dtype, shape}, std::vector<std::byte>(a.bytes.size())};
  const std::size_t element = size_of(a.aval.dtype);
  const Dim size = shape.size();
  for (Dim i = 0; i < size; ++i) {
    Dim rest = i, from = 0, stride = size;
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

}  // namespace

FileArray read_npy_from(Source& source) {
  const std::string head = source.take(8);
  if (head.substr(0, 6) != magic) source.fail("is not a .npy file");
  const int version = static_cast<unsigned char>(head[6]);
  if (version < 1 || version > 3)
    source.fail("has version " + std::to_string(version) + " of the format; 1 to 3 are known");
  const std::string length = source.take(version == 1 ? 2 : 4);
  const std::string text = source.take(version == 1 ? number_at<std::uint16_t>(length, 0)
                                                    : number_at<std::uint32_t>(length, 0));
  const Header header(text, source);
  const Aval aval = header.aval();
  const auto wanted = bytes_of(aval);
  if (!wanted || *wanted != source.left())
    source.fail("should have at least " + (wanted ? std::to_string(*wanted) : "2^56") +
                " bytes of elements, and no more, for " + to_string(aval) + ", but has " +
                std::to_string(source.left()));
  const FileArray elements = read_elements(source, aval);
  return *header.columns_first && aval.shape.rank() > 1 ? rows_first(elements, aval.shape)
                                                        : elements;
}

std::string npy_header(const Aval& aval) {
  std::string header = "{'descr': '";
  for (const Code& c : codes)
    if (c.dtype == aval.dtype) header += c.text;
  header += "', 'fortran_order': False, 'shape': (";
  for (Dim d : aval.shape) header += std::to_string(d) + ",";
  header += "), }";
  // The elements begin at a multiple of 64 bytes; the header ends in a newline.
  const std::size_t before = magic.size() + 4;
  header.append(63 - (before + header.size()) % 64, ' ');
  header += '\n';

  std::string text(magic);
  text += {'\x01', '\x00'};
  append_number<std::uint16_t>(text, header.size());
  return text + header;
}

FileArray read_npy(const std::string& path) {
  FileSource source("read_npy", path);
  return read_npy_from(source);
}

void write_npy(const std::string& path, const FileArray& a) {
  check_bytes("write_npy", "", a);
  Sink sink("write_npy", path);
  sink.write(npy_header(a.aval));
  sink.write(a.bytes.data(), a.bytes.size());
  sink.close();
}

}  // namespace gnomon::io
