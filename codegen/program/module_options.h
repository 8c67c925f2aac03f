// codegen/program/module_options.h -- how a kernel of a Program becomes a SPIR-V module.
#pragma once
#include <cstdint>

namespace gnomon {

struct ModuleOptions {
  bool debug_info = false;         // names and source lines; they change the words
  std::uint64_t window_bytes = 0;  // what a window shows; for buffers that span several
  bool validate = false;           // through spirv-val
};

}  // namespace gnomon
