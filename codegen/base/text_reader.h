// codegen/base/text_reader.h -- reads the words, numbers and marks that IR text is made of.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "gnomon/error.h"

namespace gnomon {

/// IR text that does not parse. Line and column count from 1.
class ParseError : public UsageError {
 public:
  ParseError(const std::string& what, int at_line, int at_column);
  int line = 0, column = 0;
};

/// A cursor over text. Blanks and comments (from `;` to the end of the line) separate words and
/// mean nothing else.
class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}

  bool at_end();
  /// Whether the next characters are `mark`; does not move.
  bool at(std::string_view mark);
  /// Moves past `mark` when it is next.
  bool accept(std::string_view mark);
  void expect(std::string_view mark);
  /// Whether `%<number>:` is next, the definition of a value; does not move.
  bool at_definition();
  /// Letters, digits and underscores, starting with no digit; empty when something else is next.
  std::string_view accept_word();
  /// Throws ParseError "expected <what>".
  std::string_view word(std::string_view what);
  std::int64_t integer(std::string_view what = "an integer");
  /// Throws ParseError for what is outside low..high, too.
  std::int64_t integer(std::int64_t low, std::int64_t high);
  std::uint64_t unsigned_integer(std::string_view what = "a number");
  /// Also `inf`, `nan` and `bits:<hex>`, the last for any bit pattern of a double.
  double number(std::string_view what = "a number");
  /// "in quotes", with \" \\ and \n.
  std::string quoted();
  [[noreturn]] void fail(const std::string& what);

 private:
  void skip();
  std::string_view number_text(std::string_view what);
  std::string_view text_;
  std::size_t position_ = 0;
};

/// The shortest text that `TextReader::number` reads back to the same bits.
std::string number_text(double);
std::string number_text(float);
/// Text as `TextReader::quoted` reads it.
std::string quoted_text(std::string_view);

}  // namespace gnomon
