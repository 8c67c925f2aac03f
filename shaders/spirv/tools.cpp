// shaders/spirv/tools.cpp -- checking and printing modules, by SPIRV-Tools.
#include "shaders/spirv/tools.h"

#include <spirv-tools/libspirv.hpp>

#include "shaders/support/check.h"

namespace gnomon::spirv {
namespace {

spv_target_env environment(std::span<const std::uint32_t> words) {
  const std::uint32_t version = words.size() > 1 ? words[1] : 0;
  if (version <= 0x00010300) return SPV_ENV_VULKAN_1_1;
  if (version == 0x00010400) return SPV_ENV_VULKAN_1_1_SPIRV_1_4;
  if (version == 0x00010500) return SPV_ENV_VULKAN_1_2;
  return SPV_ENV_VULKAN_1_3;
}

}  // namespace

bool has_tools() { return true; }

std::optional<std::string> validate(std::span<const std::uint32_t> words) {
  spvtools::SpirvTools tools(environment(words));
  // Names made up for messages take more than a quarter of the time.
  spvtools::ValidatorOptions quick;
  quick.SetFriendlyNames(false);
  if (tools.Validate(words.data(), words.size(), quick)) return std::nullopt;
  std::string messages;
  tools.SetMessageConsumer(
      [&](spv_message_level_t, const char*, const spv_position_t& position, const char* message) {
        messages += "word " + std::to_string(position.index) + ": " + message + "\n";
      });
  if (tools.Validate(words.data(), words.size())) return std::nullopt;
  return messages.empty() ? "spirv-val refuses the module without a message" : messages;
}

std::string disassemble(std::span<const std::uint32_t> words) {
  spvtools::SpirvTools tools(environment(words));
  std::string text;
  const bool read =
      tools.Disassemble(words.data(), words.size(), &text,
                        SPV_BINARY_TO_TEXT_OPTION_INDENT | SPV_BINARY_TO_TEXT_OPTION_NO_HEADER |
                            SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES);
  GNOMON_CHECK(read, std::to_string(words.size()) + " words do not form a SPIR-V module");
  return text;
}

}  // namespace gnomon::spirv
