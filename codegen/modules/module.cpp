// codegen/modules/module.cpp -- emitting, validating and printing the modules of a Program.
#include "codegen/modules/module.h"

#include "gnomon/error.h"
#include "shaders/spirv/emit.h"
#include "shaders/spirv/tools.h"

namespace gnomon {

std::vector<std::uint32_t> module_words(const kernel::Kernel& kernel, const Target& target,
                                        std::span<const std::uint8_t> windows,
                                        ModuleOptions options) {
  auto words = spirv::emit(kernel, {.features = target.features,
                                    .windows = {windows.begin(), windows.end()},
                                    .window_bytes = options.window_bytes,
                                    .joined_rows = options.joined_rows,
                                    .debug_info = options.debug_info});
  if (options.validate) validate_module(words, kernel.name);
  return words;
}

bool has_validator() { return spirv::has_tools(); }

void validate_module(std::span<const std::uint32_t> words, const std::string& kernel) {
  if (const auto complaint = spirv::validate(words)) {
    throw InternalError("gnomon::module_words: the module of kernel `" + kernel +
                        "` is not valid: " + *complaint + "\n" + spirv::disassemble(words));
  }
}

std::string module_text(std::span<const std::uint32_t> words) { return spirv::disassemble(words); }

}  // namespace gnomon
