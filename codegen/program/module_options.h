// codegen/program/module_options.h -- how a kernel of a Program becomes a SPIR-V module.
#pragma once
#include <cstdint>

namespace gnomon {

struct ModuleOptions {
  bool debug_info = false;         // names and source lines; they change the words
  std::uint64_t window_bytes = 0;  // what a window shows; for buffers that span several
  std::uint32_t joined_rows = 0;   // of the parameter block, where dispatches are joined
  bool validate = false;           // through spirv-val
};

}  // namespace gnomon
