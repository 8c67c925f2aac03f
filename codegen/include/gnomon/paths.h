// codegen/include/gnomon/paths.h -- file names: UTF-8 in all interfaces of Gnomon, whatever the
// system calls its own narrow text.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace gnomon {

/// The path that this text names. On Windows narrow text is of a code page, which does not have all
/// letters of file names; elsewhere names are the bytes that they are.
inline std::filesystem::path path_of(std::string_view utf8) {
#ifdef _WIN32
  return std::filesystem::path(std::u8string(utf8.begin(), utf8.end()));
#else
  return std::filesystem::path(utf8);
#endif
}

/// The other way.
inline std::string text_of(const std::filesystem::path& path) {
#ifdef _WIN32
  const std::u8string text = path.u8string();
  return std::string(text.begin(), text.end());
#else
  return path.string();
#endif
}

}  // namespace gnomon
#pragma GCC visibility pop
