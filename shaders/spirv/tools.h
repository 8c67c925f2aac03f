// shaders/spirv/tools.h -- checking and printing modules, by SPIRV-Tools. Not needed to emit one.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace gnomon::spirv {

/// Whether this build has SPIRV-Tools: the CMake option GNOMON_SPIRV_TOOLS.
bool has_tools();

/// What spirv-val says against a module in the oldest Vulkan that takes its version; empty if it is
/// valid, and where this build has no tools.
std::optional<std::string> validate(std::span<const std::uint32_t> words);

/// The module as text, with the names it carries; its words in hexadecimal where this build has no
/// tools.
///
/// With tools throws InternalError if the words are no module at all.
std::string disassemble(std::span<const std::uint32_t> words);

}  // namespace gnomon::spirv
