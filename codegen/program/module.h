// codegen/program/module.h -- a kernel of a Program as the SPIR-V words that the engine hands to a
// driver.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codegen/program/target.h"

namespace gnomon {

struct ModuleOptions {
  bool debug_info = false;         // names and source lines; they change the words
  std::uint64_t window_bytes = 0;  // what a window shows; for buffers that span several
  bool validate = false;           // through spirv-val
};

/// The module of `kernel` for `target`; `windows` is the window of each buffer.
///
/// Throws InternalError, with the module's text, when validation is asked for and fails.
std::vector<std::uint32_t> module_words(const kernel::Kernel& kernel, const Target& target,
                                        std::span<const std::uint8_t> windows, ModuleOptions);

/// Throws InternalError, with the module's text, when spirv-val finds it wrong.
void validate_module(std::span<const std::uint32_t> words, const std::string& kernel);

/// The disassembly of a module.
std::string module_text(std::span<const std::uint32_t> words);

}  // namespace gnomon
