// engine/include/gnomon/io.h -- arrays and models in files: NumPy's .npy and .npz, and safetensors.
//
// Every size and element type is checked against the length of the file before memory is taken for
// it, so that a damaged file is a FileError that names the file and what is wrong with it: never a
// crash, and never more memory than the file could hold. Files are little-endian.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gnomon/runtime.h"
#include "gnomon/tree.h"

#pragma GCC visibility push(default)
namespace gnomon::io {

/// An array in host memory, as files hold it: elements in row-major order, as many bytes each as
/// the dtype has; bool is a byte of 0 or 1.
struct FileArray {
  Aval aval;
  std::vector<std::byte> bytes;
  bool operator==(const FileArray&) const = default;
};
using NamedFileArrays = std::vector<std::pair<std::string, FileArray>>;
using NamedArrays = std::vector<std::pair<std::string, Array>>;

// ---- files and host memory

/// Reads a .npy file, version 1 to 3, row- or column-major. `|V2` is bf16.
///
/// Throws FileError for a file that is missing, longer or shorter than its header says, or of an
/// element type that arrays do not have.
/// Source: NumPy Enhancement Proposal 1, "A Simple File Format for NumPy Arrays".
FileArray read_npy(const std::string& path);
/// Writes version 1.0, row-major. Throws FileError when the file cannot be written, UsageError for
/// an array of more or fewer bytes than its type has, as all that write do.
void write_npy(const std::string& path, const FileArray&);

/// Reads a .npz file (np.savez, np.savez_compressed): .npy files in a zip archive, stored or
/// deflated, in the order of its directory, by names without `.npy`.
///
/// Throws FileError for archives that are damaged (checksums are compared), encrypted or in several
/// parts, or hold something else.
/// Source: PKWARE, ".ZIP File Format Specification", version 6.3.10; P. Deutsch, RFC 1951.
NamedFileArrays read_npz(const std::string& path);
/// Writes them stored, as np.savez does. Throws FileError when the file cannot be written,
/// UsageError for a name that is empty or comes twice.
void write_npz(const std::string& path, const NamedFileArrays&);

/// The arrays of a safetensors file and what else it says of itself.
struct Safetensors {
  NamedFileArrays arrays;                                     // in the order of their bytes
  std::vector<std::pair<std::string, std::string>> metadata;  // "__metadata__"
};
struct SafetensorsOptions {
  /// An entry `xxh3` in the metadata: XXH3-128 over everything else in the file. Reading: a file
  /// without one is refused.
  bool checksum = false;
};
/// Throws FileError for element types that arrays do not have (8-bit floats), for headers that are
/// no JSON of the format, overlap, or leave bytes out, and for a file that has a checksum of
/// another content; `metadata` leaves the checksum out. What an entry has besides dtype, shape and
/// data_offsets is passed over. Source: Hugging Face, "safetensors", format of version 0.4.
Safetensors read_safetensors(const std::string& path, SafetensorsOptions = {});
/// Larger element types come first, so that all are aligned. Throws FileError when the file cannot
/// be written, UsageError for a name that comes twice or is `__metadata__`, and for metadata of one
/// key twice or named as the checksum is.
void write_safetensors(const std::string& path, const Safetensors&, SafetensorsOptions = {});

// ---- files and device memory

/// Throw as read_... and write_... do; saving waits for what computes the arrays.
Array load_npy(Runtime&, const std::string& path);
void save_npy(const Runtime&, const std::string& path, const Array&);
NamedArrays load_npz(Runtime&, const std::string& path);
void save_npz(const Runtime&, const std::string& path, const NamedArrays&);
NamedArrays load_safetensors(Runtime&, const std::string& path);
void save_safetensors(const Runtime&, const std::string& path, const NamedArrays&);

struct LoadOptions {
  /// What stands in front of the names in the file, `encoder` (or `encoder.`) of `encoder.weight`:
  /// loads this part of it, and looks at no other. Of one Array that is the whole tree its name.
  std::string prefix = {};
  bool keep_missing = false;   // arrays of `like` that the file lacks stay as they are
  bool ignore_others = false;  // what the tree has no place for is left out
};

namespace detail {

/// "layers.0.weight" of ".layers[0].weight"; "arr_0" of an Array that is the whole tree.
std::string name_in_file(std::string_view path);
std::vector<Array> load_arrays(Runtime&, const std::string& path,
                               const std::vector<std::pair<std::string, Aval>>& wanted,
                               const std::vector<Array>& present, const LoadOptions&, Loc);
void save_arrays(const Runtime&, const std::string& path, const NamedArrays&, Loc);

}  // namespace detail

/// Writes the arrays of a tree under names of their places (`layers.0.weight`), as PyTorch and
/// others name parameters; the end of `path` says how: `.safetensors` or `.npz`.
///
/// Holes and static values are not written. The file is written aside (`.part` behind its name) and
/// renamed: a failure leaves the one that was there. Throws UsageError for another end of `path`,
/// FileError when the file cannot be written.
template <class T>
void save_tree(const Runtime& rt, const std::string& path, const T& tree, Loc loc = Loc::here()) {
  NamedArrays arrays;
  tree::for_each_leaf(tree, [&](const Array& a, const std::string& place) {
    arrays.emplace_back(detail::name_in_file(place), a);
  });
  detail::save_arrays(rt, path, arrays, loc);
}

/// The tree that save_tree wrote: `like` with the arrays of the file. Of the arrays in `like` only
/// the types matter (eval_shape gives such a tree).
///
/// Throws FileError unless the file has all arrays of `like`, of these types, and no others, as far
/// as `options` do not say otherwise; it names what is missing, what is too much, and both types.
template <class T>
T load_tree(Runtime& rt, const std::string& path, const T& like, const LoadOptions& options = {},
            Loc loc = Loc::here()) {
  std::vector<std::pair<std::string, Aval>> wanted;
  tree::for_each_leaf(like, [&](const Array& a, const std::string& place) {
    wanted.emplace_back(detail::name_in_file(place), a.aval());
  });
  return tree::with_leaves(like,
                           detail::load_arrays(rt, path, wanted, tree::leaves(like), options, loc));
}

}  // namespace gnomon::io
#pragma GCC visibility pop
