// codegen/program/saved.h -- compiled functions as they leave their process: by name, with what
// they take, for several kinds of devices; and as bytes, both ways.
//
// The form is that of program_file.h with more around it, and a head in front: a magic number, the
// version of the form, and length and SHA-256 of what follows. Whoever makes a file to do harm
// makes its digest as well, so everything inside is examined as if there were none: by the verifier
// of FlatBuffers, and by the three functions called `complaint`, of programs, of modules, and of
// what is said about them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/program/effect_table.h"
#include "codegen/program/program_file.h"
#include "codegen/program/sha256.h"
#include "codegen/program/target.h"

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
  EffectTable effects;
  std::vector<Aval> records;           // arrays of the effect table, outputs behind the results
  std::vector<SavedVariant> variants;  // the best first; the last one runs everywhere
};

struct SavedFile {
  std::vector<SavedEntry> entries;
  /// The files that statements name, where those are no literals of this process.
  std::shared_ptr<const std::deque<std::string>> file_names;
};

/// How a file of saved functions begins.
inline constexpr std::string_view saved_magic = "gnomonP\n";

/// The version of the form that is written; files of others are refused.
inline constexpr std::uint32_t saved_version = 2;

/// What is wrong with a file as far as can be told without a device, beyond what is wrong with its
/// programs alone (program_file.h): functions without a name, arguments, results and records that
/// are not those of each program, statements whose records or texts do not fit, memory of a plan
/// that overlaps or in which nothing lives, writes to what is only read, more workgroups than
/// elements, gates that count others than there are, dispatches without a module, modules with a
/// complaint or with a driver's data, targets below what Vulkan guarantees. Nothing for what
/// `aot::save` writes.
std::optional<std::string> complaint(const SavedFile&);

/// Bytes, the digest of what follows the head among them. Throws InternalError for a file with a
/// complaint.
std::vector<std::byte> to_bytes(const SavedFile&);

/// What `to_bytes` wrote. Safe for bytes of any origin: throws FileError for everything else, and
/// takes no more memory than a few times the bytes. They are aligned to 8.
SavedFile saved_file(std::span<const std::byte>);

/// The digest in the head of such bytes, which `saved_file` compares; throws FileError where there
/// is none.
Sha256 saved_digest(std::span<const std::byte>);

/// Writes the digest of what follows it into the head. For tests, which change the rest.
void seal(std::span<std::byte>);

/// What a target asks for beyond the least that Vulkan 1.1 guarantees: "64-bit floats", "workgroups
/// of 1024".
std::vector<std::string> needs(const Target&);

/// Why a device does not run what was compiled for `needed`, with both sides; nothing when it does.
std::optional<std::string> unfit(const Target& needed, const Target& device);

}  // namespace gnomon
