// codegen/base/text_reader.cpp -- the cursor over IR text, and numbers to text and back.
#include "codegen/base/text_reader.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

namespace gnomon {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

ParseError::ParseError(const std::string& what, int at_line, int at_column)
    : UsageError("gnomon::parse: " + what + " (line " + std::to_string(at_line) + ", column " +
                 std::to_string(at_column) + ")"),
      line(at_line),
      column(at_column) {}

void TextReader::fail(const std::string& what) {
  int line = 1, column = 1;
  for (std::size_t i = 0; i < position_; ++i) {
    if (text_[i] == '\n') {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  }
  throw ParseError(what, line, column);
}

void TextReader::skip() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == ';') {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++position_;
    } else {
      return;
    }
  }
}

bool TextReader::at_end() {
  skip();
  return position_ == text_.size();
}

bool TextReader::at(std::string_view mark) {
  skip();
  return text_.substr(position_).starts_with(mark);
}

bool TextReader::accept(std::string_view mark) {
  if (!at(mark)) return false;
  position_ += mark.size();
  return true;
}

void TextReader::expect(std::string_view mark) {
  if (!accept(mark)) {
    const std::string_view rest = text_.substr(position_, 1);
    fail("expected `" + std::string(mark) + "`, found " +
         (rest.empty() ? "the end" : "`" + std::string(rest) + "`"));
  }
}

bool TextReader::at_definition() {
  if (!at("%")) return false;
  std::size_t end = position_ + 1;
  while (end < text_.size() && is_digit(text_[end])) ++end;
  return text_.substr(end).starts_with(":");
}

std::string_view TextReader::accept_word() {
  skip();
  std::size_t end = position_;
  while (end < text_.size() &&
         (is_letter(text_[end]) || (end > position_ && is_digit(text_[end])))) {
    ++end;
  }
  const std::string_view word = text_.substr(position_, end - position_);
  position_ = end;
  return word;
}

std::string_view TextReader::word(std::string_view what) {
  const std::string_view found = accept_word();
  if (found.empty()) fail("expected " + std::string(what));
  return found;
}

std::string_view TextReader::number_text(std::string_view what) {
  skip();
  std::size_t end = position_;
  while (end < text_.size()) {
    const char c = text_[end];
    const bool exponent_sign =
        (c == '-' || c == '+') && (end == position_ || text_[end - 1] == 'e');
    // `bits:` only: elsewhere a colon follows the number.
    const bool after_bits = c == ':' && text_.substr(position_, end - position_) == "bits";
    if (!is_digit(c) && !is_letter(c) && c != '.' && !after_bits && !exponent_sign) break;
    ++end;
  }
  if (end == position_) fail("expected " + std::string(what));
  return text_.substr(position_, end - position_);
}

std::int64_t TextReader::integer(std::string_view what) {
  const std::string_view text = number_text(what);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail("expected " + std::string(what) + ", found `" + std::string(text) + "`");
  }
  position_ += text.size();
  return value;
}

std::int64_t TextReader::integer(std::int64_t low, std::int64_t high) {
  const std::size_t start = position_;
  const std::int64_t value = integer();
  if (value >= low && value <= high) return value;
  position_ = start;
  fail("expected an integer from " + std::to_string(low) + " to " + std::to_string(high) +
       ", found `" + std::to_string(value) + "`");
}

std::uint64_t TextReader::unsigned_integer(std::string_view what) {
  const std::string_view text = number_text(what);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail("expected " + std::string(what) + ", found `" + std::string(text) + "`");
  }
  position_ += text.size();
  return value;
}

double TextReader::number(std::string_view what) {
  const std::string_view text = number_text(what);
  const char* const end = text.data() + text.size();
  double value = 0;
  std::from_chars_result result{};
  if (text == "inf" || text == "-inf") {
    value = text == "inf" ? HUGE_VAL : -HUGE_VAL;
    result = {end, std::errc()};
  } else if (text == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
    result = {end, std::errc()};
  } else if (text.starts_with("bits:")) {
    std::uint64_t bits = 0;
    result = std::from_chars(text.data() + 5, end, bits, 16);
    value = std::bit_cast<double>(bits);
  } else {
    result = std::from_chars(text.data(), end, value);
  }
  if (result.ec != std::errc() || result.ptr != end) {
    fail("expected " + std::string(what) + ", found `" + std::string(text) + "`");
  }
  position_ += text.size();
  return value;
}

std::string TextReader::quoted() {
  expect("\"");
  std::string result;
  while (position_ < text_.size() && text_[position_] != '"') {
    char c = text_[position_++];
    if (c == '\\' && position_ < text_.size()) {
      c = text_[position_++];
      if (c == 'n') c = '\n';
    }
    result += c;
  }
  if (position_ == text_.size()) fail("a string in quotes does not end");
  ++position_;
  return result;
}

namespace {

template <class F, class Bits>
std::string shortest(F x) {
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  char buffer[40] = {};
  if (std::isnan(x)) {
    const Bits bits = std::bit_cast<Bits>(x);
    if (bits == std::bit_cast<Bits>(std::numeric_limits<F>::quiet_NaN())) return "nan";
    // `bits:` always spells a double, whose NaN payload holds a float's in its upper bits.
    const auto wide = std::bit_cast<std::uint64_t>(static_cast<double>(x));
    const auto end = std::to_chars(buffer, buffer + sizeof(buffer), wide, 16).ptr;
    return "bits:" + std::string(buffer, end);
  }
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof(buffer), x).ptr);
}

}  // namespace

std::string number_text(double x) { return shortest<double, std::uint64_t>(x); }
std::string number_text(float x) { return shortest<float, std::uint32_t>(x); }

std::string quoted_text(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result + "\"";
}

}  // namespace gnomon
