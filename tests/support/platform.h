// tests/support/platform.h -- the one file of the tests' that knows systems apart.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "gnomon/paths.h"

namespace gnomon::testing {

#ifdef _WIN32

/// Whether Vulkan has layers for programs: Wine, which runs these, shows them none.
inline constexpr bool shows_layers = false;
/// Says where caches of the user lie.
inline constexpr char cache_variable[] = "LOCALAPPDATA";
/// Larger than memory, where the C++ library makes files so large; this one stops at 2^31.
inline constexpr std::uintmax_t vast_file = std::uintmax_t{1} << 30;

/// As a shell sets it, in UTF-8; null: not at all.
inline void set_variable(const char* name, const char* value) {
  _wputenv_s(path_of(name).c_str(), path_of(value == nullptr ? "" : value).c_str());
}

/// The output of a command in UTF-8, to be read. Its words may be in double quotes.
inline std::FILE* open_pipe(const std::string& command) {
  // cmd takes the outermost quotes away.
  return _wpopen(path_of("\"" + command + "\"").c_str(), L"r");
}
/// What the command returned.
inline int close_pipe(std::FILE* pipe) { return _pclose(pipe); }

/// The file of this program.
inline std::filesystem::path own_program() { return _pgmptr; }

#else

inline constexpr bool shows_layers = true;
inline constexpr char cache_variable[] = "XDG_CACHE_HOME";
inline constexpr std::uintmax_t vast_file = std::uintmax_t{1} << 40;

inline void set_variable(const char* name, const char* value) {
  if (value == nullptr)
    unsetenv(name);
  else
    setenv(name, value, 1);
}

inline std::FILE* open_pipe(const std::string& command) { return popen(command.c_str(), "r"); }
inline int close_pipe(std::FILE* pipe) { return WEXITSTATUS(pclose(pipe)); }

inline std::filesystem::path own_program() {
  return std::filesystem::read_symlink("/proc/self/exe");
}

#endif

}  // namespace gnomon::testing
