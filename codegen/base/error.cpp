// codegen/base/error.cpp -- the one form of a usage error.
#include "gnomon/error.h"

namespace gnomon {

std::string to_string(Loc loc) {
  std::string_view file = loc.file;
  // A line is found by its file's name; folders differ between machines and make messages long.
  if (auto slash = file.find_last_of("/\\"); slash != file.npos) file.remove_prefix(slash + 1);
  return std::string(file) + ":" + std::to_string(loc.line);
}

void usage_error(std::string_view op, const std::string& what, Loc loc) {
  std::string text = "gnomon::" + std::string(op) + ": " + what;
  if (loc.line > 0) text += " (" + to_string(loc) + ")";
  throw UsageError(text);
}

}  // namespace gnomon
