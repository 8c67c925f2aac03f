// codegen/base/error.cpp -- the one form of a usage error.
#include "gnomon/error.h"

#include "codegen/base/traced_line.h"

namespace gnomon {
namespace {

/// The line of an operation that the library's own headers called, because it was handed a function
/// as it is (`vmap(relu)`, `vmap(layer)`): where the user asked for the transform.
Loc users_line(Loc loc) {
  if (std::string_view(loc.file).find("include/gnomon/") == std::string_view::npos) return loc;
  const Loc* const transform = traced_line();
  return transform != nullptr && transform->line > 0 ? *transform : loc;
}

}  // namespace

const Loc*& traced_line() {
  thread_local const Loc* line = nullptr;
  return line;
}

std::string to_string(Loc loc) {
  std::string_view file = loc.file;
  // A line is found by its file's name; folders differ between machines and make messages long.
  if (auto slash = file.find_last_of("/\\"); slash != file.npos) file.remove_prefix(slash + 1);
  return std::string(file) + ":" + std::to_string(loc.line);
}

void usage_error(std::string_view op, const std::string& what, Loc loc) {
  std::string text = "gnomon::" + std::string(op) + ": " + what;
  loc = users_line(loc);
  if (loc.line > 0) text += " (" + to_string(loc) + ")";
  throw UsageError(text);
}

}  // namespace gnomon
