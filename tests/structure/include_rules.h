// tests/structure/include_rules.h -- which file may include what; reads no files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gnomon::structure {

struct Include {
  std::string path;  // as written between the quotes or brackets
  int line = 0;
};

/// Lists the includes of a source text, those in comments left out.
std::vector<Include> includes_of(std::string_view source);

/// Says what is wrong with `file` (a path from the root) including `include`, or nothing.
///
/// `public_codegen` tells whether a <gnomon/...> header belongs to codegen rather than engine.
std::optional<std::string> violation(std::string_view file, std::string_view include,
                                     bool public_codegen);

}  // namespace gnomon::structure
