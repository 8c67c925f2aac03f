// tests/support/temporary_folder.h -- a folder for one test.
#pragma once
#include <filesystem>
#include <random>
#include <string>

namespace gnomon::testing {

/// Empty at first, gone with everything in it afterwards.
struct TemporaryFolder {
  TemporaryFolder()
      : path(std::filesystem::temp_directory_path() /
             ("gnomon_test_" + std::to_string(std::random_device()()) +
              std::to_string(std::random_device()()))) {
    std::filesystem::create_directories(path);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path / name; }

  const std::filesystem::path path;
};

}  // namespace gnomon::testing
