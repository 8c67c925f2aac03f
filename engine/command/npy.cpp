// engine/command/npy.cpp -- NumPy's files for host arrays, by way of the library.
#include "engine/command/npy.h"

#include "gnomon/io.h"
#include "gnomon/paths.h"

namespace gnomon {

HostArray read_npy(const std::filesystem::path& path) {
  io::FileArray a = io::read_npy(text_of(path));
  HostArray r;
  r.aval = a.aval;
  r.bytes = std::move(a.bytes);
  return r;
}

void write_npy(const std::filesystem::path& path, const HostArray& a) {
  io::write_npy(text_of(path), {a.aval, a.bytes});
}

}  // namespace gnomon
