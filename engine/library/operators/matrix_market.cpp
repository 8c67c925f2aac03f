// engine/library/operators/matrix_market.cpp -- Matrix Market files, read with suspicion.
#include "gnomon/operators/matrix_market.h"
#include "gnomon/paths.h"

#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <istream>
#include <limits>
#include <ostream>
#include <string_view>

namespace gnomon::operators {
namespace {

using Words = std::vector<std::string_view>;

/// The format's limit is 1024; a longer line is no matrix, and is not kept.
constexpr std::size_t longest_line = 4096;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

Words words_of(std::string_view line) {
  Words words;
  for (std::size_t i = 0; i < line.size();) {
    while (i < line.size() && is_blank(line[i])) ++i;
    const std::size_t start = i;
    while (i < line.size() && !is_blank(line[i])) ++i;
    if (i > start) words.push_back(line.substr(start, i - start));
  }
  return words;
}

/// What a message shows of a file, which may hold anything.
std::string shown(std::string_view text) {
  constexpr std::size_t most = 40;
  std::string r = "\"";
  for (char c : text.substr(0, most)) r += c >= ' ' && c <= '~' ? c : '?';
  return r + (text.size() > most ? "...\"" : "\"");
}

std::string lower_case(std::string_view text) {
  std::string r(text);
  for (char& c : r)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return r;
}

enum class Symmetry { general, symmetric, skew };

class Reader {
 public:
  Reader(std::istream& in, const std::string& name) : in_(in), name_(name) {}

  Triplets read() {
    read_header();
    read_sizes();
    if (coordinate_)
      read_coordinates();
    else
      read_array();
    if (next()) fail("more entries than the " + number(announced_) + " announced");
    return std::move(t_);
  }

 private:
  static std::string number(Dim n) { return std::to_string(n); }

  [[noreturn]] void fail(const std::string& what) const {
    throw FileError("gnomon::operators::read_matrix_market: " + name_ + ", line " +
                    std::to_string(line_number_) + ": " + what);
  }

  /// A directory opens as a file does, and throws when it is read.
  int taken(std::streambuf& source) const {
    try {
      return source.sbumpc();
    } catch (const std::ios_base::failure&) {
      throw FileError("gnomon::operators::read_matrix_market: " + name_ + " cannot be read");
    }
  }

  /// The next line into line_; false at the end.
  bool take_line() {
    line_.clear();
    bool any = false;
    std::streambuf* source = in_.rdbuf();
    if (source == nullptr || !in_.good()) return false;
    while (true) {
      const auto c = taken(*source);
      if (c == std::char_traits<char>::eof()) break;
      if (!any) ++line_number_;
      any = true;
      if (c == '\n') break;
      if (line_.size() == longest_line)
        fail("longer than " + std::to_string(longest_line) + " characters; no line of a matrix is");
      line_ += static_cast<char>(c);
    }
    return any;
  }

  /// The words of the next line that is neither blank nor a comment; false at the end.
  bool next() {
    while (take_line()) {
      words_ = words_of(line_);
      if (!words_.empty() && words_[0][0] != '%') return true;
    }
    return false;
  }

  void read_header() {
    if (!take_line()) {
      line_number_ = 1;
      fail("the file is empty; a header \"%%MatrixMarket matrix ...\" was expected");
    }
    const Words words = words_of(line_);
    if (words.size() != 5 || lower_case(words[0]) != "%%matrixmarket")
      fail("the header is " + shown(line_) +
           "; \"%%MatrixMarket matrix <format> <field> <symmetry>\" was expected");
    if (lower_case(words[1]) != "matrix")
      fail("the object is " + shown(words[1]) + "; only \"matrix\" is read");
    const std::string format = lower_case(words[2]), field = lower_case(words[3]),
                      symmetry = lower_case(words[4]);
    if (format != "coordinate" && format != "array")
      fail("the format is " + shown(words[2]) + "; \"coordinate\" or \"array\" was expected");
    coordinate_ = format == "coordinate";
    if (field == "complex" || symmetry == "hermitian")
      fail("the matrix is complex; only real, integer and pattern matrices are read");
    // Files written before the format was settled say "double".
    if (field != "real" && field != "double" && field != "integer" && field != "pattern")
      fail("the field is " + shown(words[3]) +
           "; \"real\", \"integer\" or \"pattern\" was expected");
    pattern_ = field == "pattern";
    integer_ = field == "integer";
    if (pattern_ && !coordinate_) fail("an array has values; \"pattern\" goes with \"coordinate\"");
    if (symmetry == "symmetric")
      symmetry_ = Symmetry::symmetric;
    else if (symmetry == "skew-symmetric")
      symmetry_ = Symmetry::skew;
    else if (symmetry != "general")
      fail("the symmetry is " + shown(words[4]) +
           "; \"general\", \"symmetric\" or \"skew-symmetric\" was expected");
    if (pattern_ && symmetry_ == Symmetry::skew)
      fail("a pattern has no signs; it is \"general\" or \"symmetric\"");
  }

  Dim whole(std::string_view word, const char* what) const {
    Dim n = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), n);
    if (error == std::errc::result_out_of_range)
      fail(std::string(what) + " " + shown(word) + " has no 64 bits");
    if (error != std::errc() || end != word.data() + word.size())
      fail(std::string(what) + " is " + shown(word) + "; a whole number was expected");
    return n;
  }

  double value(std::string_view given) const {
    const std::string_view word = given.size() > 1 && given[0] == '+' && given[1] != '-'
                                      ? given.substr(1)  // from_chars knows no plus
                                      : given;
    if (integer_) return static_cast<double>(whole(word, "the value"));
    double x = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), x);
    if (error == std::errc::result_out_of_range)
      fail("the value " + shown(given) + " is beyond the range of f64");
    if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(x))
      fail("the value is " + shown(given) + "; a finite number was expected");
    return x;
  }

  void read_sizes() {
    const std::string expected =
        coordinate_ ? "\"rows columns entries\" was expected" : "\"rows columns\" was expected";
    if (!next()) fail("the file ends before its sizes; " + expected);
    if (words_.size() != (coordinate_ ? 3U : 2U))
      fail("the sizes are " + shown(line_) + "; " + expected);
    t_.rows = whole(words_[0], "the number of rows");
    t_.columns = whole(words_[1], "the number of columns");
    constexpr Dim most = std::numeric_limits<std::int32_t>::max();
    if (t_.rows < 0 || t_.columns < 0 || t_.rows > most || t_.columns > most)
      fail("the matrix is " + number(t_.rows) + " x " + number(t_.columns) +
           "; sizes from 0 to 2^31 - 1 have indices of 32 bits");
    if (symmetry_ != Symmetry::general && t_.rows != t_.columns)
      fail("the matrix is " + number(t_.rows) + " x " + number(t_.columns) +
           "; a symmetric or skew-symmetric one is square");
    const Dim m = t_.rows, n = t_.columns;  // their product is below 2^62
    if (coordinate_)
      announced_ = whole(words_[2], "the number of entries");
    else if (symmetry_ == Symmetry::general)
      announced_ = m * n;
    else
      announced_ = symmetry_ == Symmetry::symmetric ? m * (m + 1) / 2 : m * (m - 1) / 2;
    if (announced_ < 0)
      fail("there are " + number(announced_) + " entries; 0 or more was expected");
    if (announced_ > 0 && (m == 0 || n == 0))
      fail("there are " + number(announced_) + " entries in a matrix of " + number(m) + " x " +
           number(n));
  }

  /// The words of the next entry.
  void entry(Dim read, std::size_t count, const char* expected) {
    if (!next())
      fail("the file ends after " + number(read) + " entries; " + number(announced_) +
           " were announced");
    if (words_.size() != count)
      fail("the entry is " + shown(line_) + "; \"" + expected + "\" was expected");
  }

  Dim index(std::string_view word, const char* what, Dim size) const {
    const Dim i = whole(word, what);
    if (i < 1 || i > size)
      fail(std::string(what) + " is " + number(i) + "; 1 to " + number(size) + " was expected");
    return i - 1;
  }

  void add(Dim i, Dim j, double x) {
    t_.add(i, j, x);
    if (i != j && symmetry_ != Symmetry::general)
      t_.add(j, i, symmetry_ == Symmetry::skew ? -x : x);
  }

  void read_coordinates() {
    for (Dim e = 0; e < announced_; ++e) {
      entry(e, pattern_ ? 2 : 3, pattern_ ? "row column" : "row column value");
      const Dim i = index(words_[0], "the row", t_.rows);
      const Dim j = index(words_[1], "the column", t_.columns);
      const std::string place = "(" + number(i + 1) + ", " + number(j + 1) + ")";
      if (symmetry_ != Symmetry::general && i < j)
        fail("the entry " + place + " is above the diagonal; of a symmetric or skew-symmetric " +
             "matrix only those below are stored");
      const double x = pattern_ ? 1 : value(words_[2]);
      if (symmetry_ == Symmetry::skew && i == j)
        fail("the entry " + place + " is on the diagonal; there a skew-symmetric matrix is 0");
      add(i, j, x);
    }
  }

  void read_array() {
    Dim e = 0;
    const Dim below = symmetry_ == Symmetry::skew ? 1 : 0;
    if (announced_ == 0) return;
    for (Dim j = 0; j < t_.columns; ++j)
      for (Dim i = symmetry_ == Symmetry::general ? 0 : j + below; i < t_.rows; ++i) {
        entry(e++, 1, "value");
        if (const double x = value(words_[0]); x != 0) add(i, j, x);
      }
  }

  std::istream& in_;
  const std::string& name_;
  std::size_t line_number_ = 0;
  std::string line_;
  Words words_;  // of line_
  bool coordinate_ = false, pattern_ = false, integer_ = false;
  Symmetry symmetry_ = Symmetry::general;
  Dim announced_ = 0;
  Triplets t_;
};

void check(const Triplets& t, Loc loc) {
  constexpr std::string_view op = "operators::write_matrix_market";
  const auto number = [](auto n) { return std::to_string(n); };
  if (t.row.size() != t.column.size() || t.row.size() != t.value.size())
    usage_error(op,
                "there are " + number(t.row.size()) + " rows, " + number(t.column.size()) +
                    " columns and " + number(t.value.size()) + " values; each entry has one of all",
                loc);
  for (std::size_t e = 0; e < t.row.size(); ++e) {
    if (t.row[e] < 0 || t.row[e] >= t.rows || t.column[e] < 0 || t.column[e] >= t.columns)
      usage_error(op,
                  "entry " + number(e) + " is at (" + number(t.row[e]) + ", " +
                      number(t.column[e]) + "), outside of the " + number(t.rows) + " x " +
                      number(t.columns) + " matrix; indices count from 0",
                  loc);
    if (!std::isfinite(t.value[e]))
      usage_error(op,
                  "entry " + number(e) + " is " + number(t.value[e]) +
                      "; the format has finite numbers only",
                  loc);
  }
}

void write(std::ostream& out, const Triplets& t, const std::string& name) {
  out << "%%MatrixMarket matrix coordinate real general\n"
      << std::to_string(t.rows) << ' ' << std::to_string(t.columns) << ' '
      << std::to_string(t.row.size()) << '\n';
  std::array<char, 32> digits{};
  for (std::size_t e = 0; e < t.row.size(); ++e) {
    const auto [end, error] =
        std::to_chars(digits.data(), digits.data() + digits.size(), t.value[e]);
    out << std::to_string(t.row[e] + std::int64_t{1}) << ' '
        << std::to_string(t.column[e] + std::int64_t{1}) << ' '
        << std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())) << '\n';
    static_cast<void>(error);  // 24 characters hold any double
  }
  out.flush();
  if (!out)
    throw FileError("gnomon::operators::write_matrix_market: " + name + " cannot be written");
}

}  // namespace

Triplets read_matrix_market(std::istream& in, const std::string& name) {
  return Reader(in, name).read();
}

Triplets read_matrix_market(const std::string& path) {
  std::ifstream in(path_of(path), std::ios::binary);
  if (!in) throw FileError("gnomon::operators::read_matrix_market: " + path + " cannot be opened");
  return read_matrix_market(in, path);
}

void write_matrix_market(std::ostream& out, const Triplets& t, Loc loc) {
  check(t, loc);
  write(out, t, "the stream");
}

void write_matrix_market(const std::string& path, const Triplets& t, Loc loc) {
  check(t, loc);
  std::ofstream out(path_of(path), std::ios::binary);
  write(out, t, path);
}

}  // namespace gnomon::operators
