// codegen/program/saved.h -- compiled functions as they leave their process: by name, with what
// they take, for several kinds of devices; and as bytes, both ways.
//
// The form is that of program_file.h with more around it, and a head in front: a magic number, the
// version of the form, and length and digest of what follows. A digest tells damage, not malice, so
// everything inside is examined as if there were none: by the verifier of FlatBuffers, by
// `complaint`, and by `saved_file` for what lies around the programs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/program/journal.h"
#include "codegen/program/program_file.h"
#include "codegen/program/target.h"
#include "gnomon/checksum.h"

namespace gnomon {

/// One array of a function's arguments or results.
struct SavedLeaf {
  std::string path;  // "argument 0 `.layers[0].weight`", "result `.mean`"
  Aval aval;
};

/// An array that the function captured.
struct SavedCapture {
  Aval aval;
  std::vector<std::byte> bytes;
};

/// A function compiled for one kind of device.
struct SavedVariant {
  Target target;     // as far as it says where modules run and how copies are cut up
  ProgramFile file;  // of which `identity` is that of the device and driver it was saved on, or ""
};

struct SavedEntry {
  std::string name;
  std::vector<SavedLeaf> arguments, results;
  std::vector<std::string> statics;  // "path = value", of arguments
  std::vector<SavedCapture> captures;
  Journal journal;
  std::vector<Aval> records;           // arrays of the journal, outputs behind the results
  std::vector<SavedVariant> variants;  // the best first; the last one runs everywhere
};

struct SavedFile {
  std::vector<SavedEntry> entries;
  /// The files that statements name, where those are no literals of this process.
  std::shared_ptr<const std::deque<std::string>> file_names;
};

/// The version of the form that is written; files of others are refused.
inline constexpr std::uint32_t saved_version = 1;

/// Bytes, the digest of what follows the head among them. Throws InternalError for programs with
/// complaints.
std::vector<std::byte> to_bytes(const SavedFile&);

/// What `to_bytes` wrote. Safe for bytes of any origin: throws FileError for everything else, and
/// takes no more memory than a few times the bytes. They are aligned to 8.
SavedFile saved_file(std::span<const std::byte>);

/// The digest in the head of such bytes; throws FileError where there is none.
Digest saved_digest(std::span<const std::byte>);

/// Why a device does not run what was compiled for `needed`, with both sides; nothing when it does.
std::optional<std::string> unfit(const Target& needed, const Target& device);

}  // namespace gnomon
