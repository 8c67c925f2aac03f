// codegen/modules/module.h -- a kernel of a Program as the SPIR-V words that the engine hands to a
// driver.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codegen/program/module_options.h"
#include "codegen/program/target.h"

namespace gnomon {

/// The module of `kernel` for `target`; `windows` is the window of each buffer.
///
/// Throws InternalError, with the module's text, when validation is asked for and fails.
std::vector<std::uint32_t> module_words(const kernel::Kernel& kernel, const Target& target,
                                        std::span<const std::uint8_t> windows, ModuleOptions);

/// Whether this build has spirv-val; where not, modules are taken for valid.
bool has_validator();

/// Throws InternalError, with the module's text, when spirv-val finds it wrong.
void validate_module(std::span<const std::uint32_t> words, const std::string& kernel);

/// The disassembly of a module.
std::string module_text(std::span<const std::uint32_t> words);

}  // namespace gnomon
