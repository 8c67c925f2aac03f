// tests/structure/include_rules.h -- which file may include what; reads no files.
#pragma once

#include <map>
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
/// `public_floor` is the floor to which an include of <gnomon/...> belongs.
std::optional<std::string> violation(std::string_view file, std::string_view include,
                                     std::string_view public_floor);

/// Whether the folder of `path` has a place in the order of rooms, and so a say in what it may
/// include.
bool has_room(std::string_view path);

/// Whether the file at `path` is installed.
bool is_public(std::string_view path);

/// Sources by their path from the root.
using Texts = std::map<std::string, std::string>;
/// What a public header includes, directly or through others, that is neither installed with it nor
/// part of the language: each with the way to it.
std::vector<std::string> not_installed(const Texts& files, const std::string& header);

}  // namespace gnomon::structure
