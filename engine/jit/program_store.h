// engine/jit/program_store.h -- programs that outlive their process: what names them, and what
// is made of what is found.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/graph/graph.h"
#include "codegen/program/program_file.h"
#include "engine/runtime/disk_cache.h"
#include "engine/vulkan/device.h"

namespace gnomon {

/// Programs with their modules and what the driver made of them, in a DiskCache. Thread safe.
class ProgramStore {
 public:
  /// For programs of this device and driver, by this version of the compiler.
  ProgramStore(std::shared_ptr<DiskCache>, const vulkan::Device&);

  struct Key {
    Digest name;
    std::string identity;     // everything but the graph's text
    std::uint64_t graph = 0;  // its structural hash
    std::uint64_t lines = 0;  // hash of the source lines of its equations, which are no part of it
  };
  /// `options` is text that tells compile options apart.
  Key key(const Graph&, const std::string& options) const;

  /// The program and its modules. The places in its allocations are left out when the sources'
  /// lines have moved since.
  std::optional<ProgramFile> load(const Key&);
  /// Replaces what is there. What goes wrong with it is no concern of the caller.
  void keep(const Key&, const Program&, std::vector<ProgramModule>) noexcept;

 private:
  std::shared_ptr<DiskCache> disk_;
  std::string device_;
};

}  // namespace gnomon
