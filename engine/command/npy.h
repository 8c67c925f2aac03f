// engine/command/npy.h -- arrays in NumPy's file format.
#pragma once
#include <filesystem>

#include "codegen/base/host_array.h"

namespace gnomon {

/// As io::read_npy and io::write_npy (gnomon/io.h).
HostArray read_npy(const std::filesystem::path&);
void write_npy(const std::filesystem::path&, const HostArray&);

}  // namespace gnomon
