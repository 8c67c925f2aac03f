// tests/vulkan/shaders_test.cpp -- the words of a sample's shaders are what their text says.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "samples/own_device/shaders.h"

namespace gnomon::testing {
namespace {

std::vector<std::uint32_t> compiled(const std::string& stage, const std::string& text) {
  const std::filesystem::path base =
      std::filesystem::temp_directory_path() / ("gnomon_shaders_test_" + std::to_string(getpid()));
  const std::string source = base.string() + "." + stage, words = base.string() + ".spv";
  std::ofstream(source) << text;
  const std::string command = std::string(GNOMON_GLSLANG) +
                              " -V --quiet --target-env vulkan1.1 -S " + stage + " -o " + words +
                              " " + source;
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ifstream in(words, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::uint32_t> result(bytes.size() / 4);
  bytes.copy(reinterpret_cast<char*>(result.data()), 4 * result.size());
  std::filesystem::remove(source);
  std::filesystem::remove(words);
  return result;
}

std::vector<std::uint32_t> of(std::span<const std::uint32_t> words) {
  return {words.begin(), words.end()};
}

TEST(OwnDeviceShaders, AreWhatTheirTextSays) {
  EXPECT_EQ(compiled("vert", own_device::vertex_text), of(own_device::vertex_words));
  EXPECT_EQ(compiled("frag", own_device::fragment_text), of(own_device::fragment_words));
}

}  // namespace
}  // namespace gnomon::testing
