// tests/engine/operators_matrix_market_test.cpp -- Matrix Market files: what they say, and that bad
// ones are refused in words, whatever they hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

#include "gnomon/operators.h"
#include "tests/support/temporary_folder.h"

namespace gnomon::testing {
namespace {

using operators::read_matrix_market;
using operators::Triplets;
using operators::write_matrix_market;
using ::testing::AllOf;
using ::testing::HasSubstr;

using Numbers = std::vector<double>;

const std::string banner = "%%MatrixMarket matrix ";

Triplets read(const std::string& text) {
  std::istringstream in(text);
  return read_matrix_market(in, "a.mtx");
}
/// By rows, entries of one place added up.
Numbers dense(const Triplets& t) {
  Numbers r(static_cast<std::size_t>(t.rows * t.columns));
  for (std::size_t e = 0; e < t.row.size(); ++e)
    r[static_cast<std::size_t>(t.row[e] * t.columns + t.column[e])] += t.value[e];
  return r;
}
std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const FileError& e) {
    return e.what();
  }
  return "no error";
}
std::string general(const std::string& rest) { return banner + "coordinate real general\n" + rest; }
void expect_refusal(const std::string& text, int line, const std::string& what) {
  EXPECT_THAT(refusal(text), HasSubstr("gnomon::operators::read_matrix_market: a.mtx, line " +
                                       std::to_string(line) + ": " + what))
      << text.substr(0, 200);
}

TEST(MatrixMarket, CoordinatesOfEveryFieldAndSymmetry) {
  const Triplets t = read(general("2 3 3\n1 1 1.5\n2 3 -2e1\n1 2 +.25\n"));
  EXPECT_EQ(t.rows, 2);
  EXPECT_EQ(t.columns, 3);
  EXPECT_EQ(dense(t), (Numbers{1.5, 0.25, 0, 0, 0, -20}));
  EXPECT_EQ(dense(read(banner + "coordinate integer general\n2 2 2\n1 2 -7\n2 1 +3\n")),
            (Numbers{0, -7, 3, 0}));
  EXPECT_EQ(dense(read(banner + "coordinate pattern general\n2 2 2\n1 2\n2 2\n")),
            (Numbers{0, 1, 0, 1}));
  EXPECT_EQ(dense(read(banner + "coordinate real symmetric\n2 2 2\n1 1 3\n2 1 4\n")),
            (Numbers{3, 4, 4, 0}));
  EXPECT_EQ(dense(read(banner + "coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n")),
            (Numbers{1, 1, 1, 0}));
  EXPECT_EQ(dense(read(banner + "coordinate real skew-symmetric\n2 2 1\n2 1 4\n")),
            (Numbers{0, -4, 4, 0}));
}

TEST(MatrixMarket, ArraysRunByColumns) {
  EXPECT_EQ(dense(read(banner + "array real general\n2 3\n1\n2\n3\n4\n0\n6\n")),
            (Numbers{1, 3, 0, 2, 4, 6}));
  EXPECT_EQ(read(banner + "array real general\n2 1\n0\n6\n").value, (Numbers{6}));
  EXPECT_EQ(dense(read(banner + "array integer symmetric\n2 2\n1\n2\n3\n")), (Numbers{1, 2, 2, 3}));
  EXPECT_EQ(dense(read(banner + "array real skew-symmetric\n3 3\n1\n2\n3\n")),
            (Numbers{0, -1, -2, 1, 0, -3, 2, 3, 0}));
  EXPECT_TRUE(read(banner + "array real skew-symmetric\n1 1\n").row.empty());
}

TEST(MatrixMarket, BlanksCommentsLineEndsAndCaseDoNotMatter) {
  const Numbers want{1, 0, 0, 2};
  const std::string head = "%%matrixmarket MATRIX Coordinate REAL General";
  EXPECT_EQ(dense(read(head + "\r\n% a comment\r\n\r\n2 2 2\r\n1 1 1\r\n2 2 2\r\n")), want);
  EXPECT_EQ(dense(read(head + "\n%\n\n  \t2\t2  2\n\n% between\n 1 1 1 \n2 2 2")), want);
  EXPECT_EQ(dense(read(head + "\n2 2 2\n1 1 1\n2 2 2\n\n% after\n\n")), want);
  EXPECT_TRUE(read(general("0 0 0\n")).row.empty());
  EXPECT_EQ(read(general("0 5 0\n")).columns, 5);
}

TEST(MatrixMarket, EntriesOfOnePlaceAddUp) {
  const Triplets t = read(general("1 2 3\n1 2 1\n1 1 5\n1 2 2.5\n"));
  EXPECT_EQ(t.value, (Numbers{1, 5, 2.5}));
  EXPECT_EQ(dense(t), (Numbers{5, 3.5}));
}

TEST(MatrixMarket, BadHeadersAreRefused) {
  expect_refusal("", 1, "the file is empty");
  expect_refusal("1 1 1\n1 1 1\n", 1, "the header is \"1 1 1\"; \"%%MatrixMarket matrix <format>");
  expect_refusal("%%MatrixMarket matrix coordinate real\n", 1, "the header is ");
  expect_refusal("%%MatrixMarket matrix coordinate real general 5\n", 1, "the header is ");
  expect_refusal("%MatrixMarket matrix coordinate real general\n", 1, "the header is ");
  expect_refusal("%%MatrixMarket vector coordinate real general\n", 1,
                 "the object is \"vector\"; only \"matrix\"");
  expect_refusal(banner + "dense real general\n", 1, "the format is \"dense\"; \"coordinate\"");
  expect_refusal(banner + "array quaternion general\n", 1, "the field is \"quaternion\"; \"real\"");
  expect_refusal(banner + "array real lower\n", 1, "the symmetry is \"lower\"; \"general\"");
  expect_refusal(banner + "coordinate complex general\n1 1 1\n1 1 1 0\n", 1,
                 "the matrix is complex; only real");
  expect_refusal(banner + "coordinate complex hermitian\n", 1, "the matrix is complex");
  expect_refusal(banner + "array pattern general\n", 1, "an array has values");
  expect_refusal(banner + "coordinate pattern skew-symmetric\n", 1, "a pattern has no signs");
  expect_refusal(std::string("\x7f"
                             "ELF\0\1",
                             6),
                 1, "the header is \"?ELF??\"");
}

TEST(MatrixMarket, BadSizesAreRefused) {
  expect_refusal(general("% only\n"), 2,
                 "the file ends before its sizes; \"rows columns entries\"");
  expect_refusal(general("2 2\n"), 2, "the sizes are \"2 2\"; \"rows columns entries\"");
  expect_refusal(banner + "array real general\n2 2 4\n", 2, "the sizes are \"2 2 4\"");
  expect_refusal(general("2 x 1\n"), 2, "the number of columns is \"x\"; a whole number");
  expect_refusal(general("2.0 2 1\n"), 2, "the number of rows is \"2.0\"; a whole number");
  expect_refusal(general("-1 2 0\n"), 2, "the matrix is -1 x 2; sizes from 0");
  expect_refusal(general("2147483648 2 0\n"), 2, "the matrix is 2147483648 x 2; sizes from 0");
  expect_refusal(general("99999999999999999999 1 0\n"), 2,
                 "the number of rows \"99999999999999999999\" has no 64 bits");
  expect_refusal(general("2 2 -1\n"), 2, "there are -1 entries");
  expect_refusal(general("0 2 1\n"), 2, "there are 1 entries in a matrix of 0 x 2");
  expect_refusal(banner + "coordinate real symmetric\n2 3 0\n", 2, "the matrix is 2 x 3; a sym");
  EXPECT_EQ(read(general("2147483647 2147483647 1\n2147483647 1 3\n")).row[0], 2147483646);
}

TEST(MatrixMarket, AnnouncementsAllocateNothing) {
  expect_refusal(general("2000000000 2000000000 1099511627776\n1 1 1\n"), 3,
                 "the file ends after 1 entries; 1099511627776 were announced");
  expect_refusal(banner + "array real general\n2147483647 2147483647\n1\n", 3,
                 "the file ends after 1 entries; 4611686014132420609 were announced");
  expect_refusal(banner + "array real symmetric\n2147483647 2147483647\n1\n", 3,
                 "the file ends after 1 entries; 2305843008139952128 were announced");
}

TEST(MatrixMarket, BadEntriesAreRefused) {
  expect_refusal(general("2 2 2\n1 1 1\n"), 3, "the file ends after 1 entries; 2 were announced");
  expect_refusal(general("2 2 1\n1 1 1\n\n2 2 2\n"), 5, "more entries than the 1 announced");
  expect_refusal(banner + "array real general\n1 1\n1\n2\n", 4, "more entries than the 1");
  expect_refusal(general("2 2 1\n0 1 1\n"), 3, "the row is 0; 1 to 2 was expected");
  expect_refusal(general("2 3 1\n1 4 1\n"), 3, "the column is 4; 1 to 3 was expected");
  expect_refusal(general("2 2 1\n-1 1 1\n"), 3, "the row is -1; 1 to 2");
  expect_refusal(general("2 2 1\n4294967297 1 1\n"), 3, "the row is 4294967297; 1 to 2");
  expect_refusal(general("2 2 1\n1 1\n"), 3, "the entry is \"1 1\"; \"row column value\"");
  expect_refusal(general("2 2 1\n1 1 1 0\n"), 3, "the entry is \"1 1 1 0\"; \"row column value\"");
  expect_refusal(banner + "coordinate pattern general\n2 2 1\n1 1 1\n", 3,
                 "the entry is \"1 1 1\"; \"row column\" was");
  expect_refusal(banner + "array real general\n2 2\n1 2\n", 3, "the entry is \"1 2\"; \"value\"");
  expect_refusal(general("2 2 1\n1 1 one\n"), 3, "the value is \"one\"; a finite number");
  expect_refusal(general("2 2 1\n1 1 1.5x\n"), 3, "the value is \"1.5x\"; a finite number");
  for (const char* word : {"nan", "NaN", "inf", "-Infinity", "nan(7)", "+-1", "++1", "+", "0x10"})
    expect_refusal(general("2 2 1\n1 1 " + std::string(word) + "\n"), 3,
                   "the value is \"" + std::string(word) + "\"; a finite number");
  expect_refusal(general("2 2 1\n1 1 1e999\n"), 3, "the value \"1e999\" is beyond the range");
  expect_refusal(banner + "coordinate integer general\n2 2 1\n1 1 1.5\n", 3,
                 "the value is \"1.5\"; a whole number");
  expect_refusal(banner + "coordinate real symmetric\n% x\n2 2 1\n1 2 1\n", 4,
                 "the entry (1, 2) is above the diagonal");
  expect_refusal(banner + "coordinate real skew-symmetric\n2 2 1\n2 2 0\n", 3,
                 "the entry (2, 2) is on the diagonal");
  expect_refusal(general(std::string(1 << 20, '1')), 2, "longer than 4096 characters");
  expect_refusal(general("2 2 1\n" + std::string(100, 'z')), 3,
                 "the entry is \"" + std::string(40, 'z') + "...\"");
}

/// Values that are hard to write, at random places.
Triplets random_entries(std::mt19937_64& bits, Dim rows, Dim columns, int count) {
  Triplets t;
  t.rows = rows;
  t.columns = columns;
  while (static_cast<int>(t.row.size()) < count) {
    const double x = std::bit_cast<double>(bits());
    if (!std::isfinite(x)) continue;
    t.add(static_cast<Dim>(bits() % static_cast<std::uint64_t>(rows)),
          static_cast<Dim>(bits() % static_cast<std::uint64_t>(columns)), x);
  }
  return t;
}

TEST(MatrixMarket, WhatIsWrittenReadsBackBitForBit) {
  std::mt19937_64 bits(5);
  TemporaryFolder folder;
  for (const Dim columns : {1, 7, 2147483647}) {
    Triplets t = random_entries(bits, 1000, columns, 500);
    for (double x :
         {0.0, 0.1, 5e-324, 2.2250738585072014e-308, std::numeric_limits<double>::max(), 1.0 / 3})
      t.add(0, 0, -x);
    std::stringstream stream;
    write_matrix_market(stream, t);
    const std::string path = (folder.path / "a.mtx").string();
    write_matrix_market(path, t);
    for (const Triplets& r : {read_matrix_market(stream), read_matrix_market(path)}) {
      EXPECT_EQ(r.rows, t.rows);
      EXPECT_EQ(r.columns, t.columns);
      EXPECT_EQ(r.row, t.row);
      EXPECT_EQ(r.column, t.column);
      EXPECT_EQ(r.value, t.value);
    }
  }
}

TEST(MatrixMarket, WhatTheFormatCannotSayIsNotWritten) {
  const auto refused = [](const Triplets& t) {
    std::ostringstream out;
    try {
      write_matrix_market(out, t);
    } catch (const UsageError& e) {
      EXPECT_EQ(out.str(), "");
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(refused({2, 2, {0, 1}, {0, 2}, {1, 1}}), HasSubstr("entry 1 is at (1, 2), outside"));
  EXPECT_THAT(refused({2, 2, {0}, {0, 1}, {1}}), HasSubstr("1 rows, 2 columns and 1 values"));
  EXPECT_THAT(refused({2, 2, {0}, {0}, {std::nan("")}}), HasSubstr("entry 0 is nan"));
  EXPECT_THAT(refused({2, 2, {0}, {0}, {-INFINITY}}), HasSubstr("entry 0 is -inf"));
}

TEST(MatrixMarket, FilesThatCannotBeOpenedAreNamed) {
  TemporaryFolder folder;
  const std::string missing = (folder.path / "no" / "such.mtx").string();
  const auto message = [](auto f) {
    try {
      f();
    } catch (const FileError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(message([&] { read_matrix_market(missing); }),
              AllOf(HasSubstr(missing), HasSubstr("cannot be opened")));
  EXPECT_THAT(message([&] { write_matrix_market(missing, Triplets{}); }),
              AllOf(HasSubstr(missing), HasSubstr("cannot be written")));
  const std::string directory = folder.path.string();
  EXPECT_THAT(message([&] { read_matrix_market(directory); }),
              AllOf(HasSubstr(directory), HasSubstr("cannot be read")));
}

// Whatever bytes a file has: entries inside of the matrix and finite, or a FileError.
TEST(MatrixMarket, ChangedBytesGiveAMatrixOrAFileError) {
  const std::vector<std::string> files = {
      general("% c\n3 4 3\n1 1 1.5\n3 4 -2e-3\r\n2 2 7\n"),
      banner + "array integer symmetric\n2 2\n1\n2\n3\n",
      banner + "coordinate real skew-symmetric\n3 3 2\n2 1 1\n3 2 -1\n",
      banner + "coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n"};
  const std::string likely = "0123456789+-.eE \n\r\t%nai\xff";
  std::mt19937 random(11);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  int read_well = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = files[below(files.size())];
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      // Mostly behind the header: a header that is wrong hides all the rest.
      const std::size_t header = below(8) == 0 ? 0 : text.find('\n') + 1;
      const std::size_t at = header < text.size() ? header + below(text.size() - header) : 0;
      const char c = below(4) == 0 ? static_cast<char>(below(256)) : likely[below(likely.size())];
      switch (below(5)) {
        case 0:
          text.erase(at, 1 + below(5));
          break;
        case 1:
          text.insert(at, 1, c);
          break;
        case 2:
          text.insert(at, text.substr(below(text.size()), below(20)));
          break;
        case 3:
          text.resize(at + 1);
          break;
        default:
          text[at] = c;
      }
      if (text.empty()) text = "%";
    }
    try {
      const Triplets t = read(text);
      ++read_well;
      ASSERT_EQ(t.row.size(), t.value.size()) << text;
      ASSERT_EQ(t.column.size(), t.value.size()) << text;
      for (std::size_t e = 0; e < t.row.size(); ++e)
        ASSERT_TRUE(t.row[e] >= 0 && t.row[e] < t.rows && t.column[e] >= 0 &&
                    t.column[e] < t.columns && std::isfinite(t.value[e]))
            << text;
    } catch (const FileError& e) {
      ++refused;
      ASSERT_THAT(e.what(), HasSubstr("a.mtx, line ")) << text;
    }
  }
  EXPECT_GT(read_well, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace gnomon::testing
