// codegen/include/gnomon/error.h -- what the library throws, one class per party to blame, and
// source locations.
#pragma once
#include <string>
#include <string_view>

#include "gnomon/detail/error_base.h"

#pragma GCC visibility push(default)
namespace gnomon {

/// The caller's mistake, found while tracing or calling. The text names the operation, both sides,
/// the remedy and the caller's source line.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// The environment: no usable device, lost device, out of memory.
class DeviceError : public Error {
 public:
  using Error::Error;
};

/// A file that is missing, malformed or not ours.
class FileError : public Error {
 public:
  using Error::Error;
};

/// A line of the user's source. `file` has static storage duration.
struct Loc {
  const char* file = "";
  int line = 0;
  static constexpr Loc here(const char* f = __builtin_FILE(), int l = __builtin_LINE()) {
    return {f, l};
  }
};

/// "file:line", the file without its folders.
std::string to_string(Loc);

/// Throws UsageError "gnomon::<op>: <what> (file:line)"; the place is left out when `loc` has no
/// line.
[[noreturn]] void usage_error(std::string_view op, const std::string& what, Loc loc);

}  // namespace gnomon
#pragma GCC visibility pop
