// engine/runtime/compiler.h -- what the engine needs a compiler for, as an interface: the library
// that only runs programs has none.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codegen/program/module_options.h"
#include "codegen/program/target.h"
#include "shaders/kernel/kernel.h"

namespace gnomon {

/// Kernels to SPIR-V. Without state: contexts and executables outlive the Runtime that brought it.
class Compiler {
 public:
  virtual ~Compiler() = default;
  /// See codegen/modules/module.h.
  virtual std::vector<std::uint32_t> words(const kernel::Kernel&, const Target&,
                                           std::span<const std::uint8_t> windows,
                                           ModuleOptions) const = 0;
  virtual void validate(std::span<const std::uint32_t> words, const std::string& kernel) const = 0;
  virtual std::string text(std::span<const std::uint32_t> words) const = 0;
  /// Kernels that the engine itself runs.
  virtual kernel::Kernel copy_kernel(const Target&) const = 0;
  virtual kernel::Kernel rounding_kernel() const = 0;
};

}  // namespace gnomon
