// engine/command/npy.h -- arrays in NumPy's file format.
#pragma once
#include <filesystem>

#include "codegen/graph/host_array.h"

namespace gnomon {

/// Reads a .npy file, version 1 to 3, row- or column-major, little-endian. `|V2` is bf16.
///
/// Throws FileError for a file that is missing, shorter than its header says, or of an element type
/// that arrays do not have.
/// Source: NumPy Enhancement Proposal 1, "A Simple File Format for NumPy Arrays".
HostArray read_npy(const std::filesystem::path&);

/// Writes version 1.0, row-major. Throws FileError when the file cannot be written.
void write_npy(const std::filesystem::path&, const HostArray&);

}  // namespace gnomon
