// shaders/spirv/tools.h -- checking and printing modules, by SPIRV-Tools. Not needed to emit one.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace gnomon::spirv {

/// What spirv-val says against a module in the oldest Vulkan that takes its version; empty if it is
/// valid.
std::optional<std::string> validate(std::span<const std::uint32_t> words);

/// The module as text, with the names it carries.
///
/// Throws InternalError if the words are no module at all.
std::string disassemble(std::span<const std::uint32_t> words);

}  // namespace gnomon::spirv
