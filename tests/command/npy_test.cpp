// tests/command/npy_test.cpp -- NumPy files, both ways and damaged.
#include "engine/command/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "gnomon/error.h"
#include "tests/support/temporary_folder.h"

namespace gnomon {
namespace {

std::filesystem::path file(const std::string& name) {
  static const testing::TemporaryFolder folder;
  return folder / (name + ".npy");
}

std::string bytes_of_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// A file of version 1 with this header dictionary.
std::string npy(const std::string& dictionary, const std::string& data) {
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(dictionary.size());
  text += '\0';
  return text + dictionary + data;
}

std::string error_of(const std::string& name, const std::string& bytes) {
  write(file(name), bytes);
  try {
    read_npy(file(name));
  } catch (const FileError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Npy, GivesBackEveryElementTypeAndRank) {
  for (DType t :
       {DType::boolean, DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32,
        DType::i64, DType::u64, DType::f16, DType::bf16, DType::f32, DType::f64}) {
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{0, 4}, Shape{1, 2, 1, 3}}) {
      HostArray a(Aval{t, shape});
      for (Dim i = 0; i < a.size(); ++i) a.set_integer(i, t == DType::boolean ? i % 2 : i + 1);
      write_npy(file("round"), a);
      EXPECT_EQ(read_npy(file("round")), a) << to_string(a.aval);
    }
  }
}

TEST(Npy, WritesWhatTheFormatSays) {
  HostArray a(Aval{DType::f32, {2, 1}});
  a.set_number(0, 1.0);
  a.set_number(1, -2.0);
  write_npy(file("format"), a);
  const std::string text = bytes_of_file(file("format"));
  EXPECT_EQ(text.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_THAT(text,
              ::testing::HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (2,1,), }"));
  // Elements start at a multiple of 64 bytes and end the file.
  ASSERT_EQ(text.size() % 64, 8u);
  EXPECT_EQ(text.substr(text.size() - 8), std::string("\x00\x00\x80\x3f\x00\x00\x00\xc0", 8));
}

TEST(Npy, ReadsColumnsFirst) {
  std::string data;
  for (int column = 0; column < 3; ++column)
    for (int row = 0; row < 2; ++row) data += static_cast<char>(10 * row + column);
  write(file("columns"), npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n", data));
  const HostArray a = read_npy(file("columns"));
  ASSERT_EQ(a.aval, (Aval{DType::u8, {2, 3}}));
  for (int row = 0; row < 2; ++row)
    for (int column = 0; column < 3; ++column)
      EXPECT_EQ(a.integer(3 * row + column), 10 * row + column);
}

TEST(Npy, SaysWhatIsWrongWithAFile) {
  EXPECT_THROW(read_npy(file("missing")), FileError);
  EXPECT_THAT(error_of("text", "not an array"), ::testing::HasSubstr("is not a .npy file"));
  EXPECT_THAT(error_of("empty", ""), ::testing::HasSubstr("ends after 0 bytes"));
  const std::string good = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", "");
  EXPECT_THAT(error_of("short", good + "1234567"), ::testing::HasSubstr("should have at least"));
  EXPECT_THAT(
      error_of("type", npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }\n", "1234")),
      ::testing::HasSubstr("has elements of type '>f4'"));
  EXPECT_THAT(error_of("no shape", npy("{'descr': '<f4', 'fortran_order': False}\n", "1234")),
              ::testing::HasSubstr("has no `shape` in its header"));
  EXPECT_THAT(error_of("rank", npy("{'descr': '<f4', 'fortran_order': False, 'shape': "
                                   "(1,1,1,1,1,1,1,1,1), }\n",
                                   "1234")),
              ::testing::HasSubstr("at most 8 dimensions"));
}

}  // namespace
}  // namespace gnomon
