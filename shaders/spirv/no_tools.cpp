// shaders/spirv/no_tools.cpp -- in place of tools.cpp where the build is without SPIRV-Tools
// (GNOMON_SPIRV_TOOLS=OFF).
#include <cstdio>

#include "shaders/spirv/tools.h"

namespace gnomon::spirv {

bool has_tools() { return false; }

std::optional<std::string> validate(std::span<const std::uint32_t>) { return std::nullopt; }

std::string disassemble(std::span<const std::uint32_t> words) {
  std::string text = "; words of the module: this build has no SPIRV-Tools to print it\n";
  constexpr std::size_t row = 8;
  for (std::size_t i = 0; i < words.size(); ++i) {
    char word[16];
    std::snprintf(word, sizeof word, "%08x", words[i]);
    text += word;
    text += (i + 1) % row == 0 || i + 1 == words.size() ? '\n' : ' ';
  }
  return text;
}

}  // namespace gnomon::spirv
