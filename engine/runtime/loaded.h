// engine/runtime/loaded.h -- saved functions on a device: what gnomon/aot.h and gnomon/gnomon.c.h
// have in common.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "codegen/program/saved.h"
#include "engine/runtime/executable.h"
#include "engine/runtime/state.h"
#include "gnomon/aot.h"

namespace gnomon::aot::detail {

/// One function, ready to be called; without an executable where `info.unfit` says why.
class LoadedEntry {
 public:
  EntryInfo info;
  std::shared_ptr<RuntimeState> state;
  std::shared_ptr<Executable> executable;
  std::vector<Array> captures;
  EffectTable effects;
  std::vector<Aval> records;
};

class LoadedFile {
 public:
  /// Throws as `load` does; `what` names the file in messages.
  LoadedFile(std::shared_ptr<RuntimeState>, std::span<const std::byte>, const std::string& what,
             const LoadOptions&);

  std::vector<EntryInfo> infos;
  std::vector<LoadedEntry> entries;
  std::string digest;
  std::shared_ptr<const std::deque<std::string>> file_names;
};

/// What a file holds, as far as it needs no device to know: everything is checked. Throws as `load`
/// does; `what` names the file in messages.
SavedFile examined(std::span<const std::byte>, const std::string& what, const LoadOptions& = {});

/// Why a device does not run a variant; nothing when it does.
std::optional<std::string> unfit_here(const SavedVariant&, const vulkan::Device&);

/// The bytes of a file; throws FileError.
std::vector<std::byte> read_file(const std::string& path);

}  // namespace gnomon::aot::detail
