// codegen/base/partition.cpp -- what gnomon/partition.h says when trees do not fit.
#include "gnomon/partition.h"

#include <algorithm>

namespace gnomon::tree::detail {

void not_a_part(std::size_t index, Loc loc) {
  usage_error("tree::separate",
              "array " + std::to_string(index) +
                  " of what the spec gives is no part of the tree it was given; return references "
                  "to its fields, not copies",
              loc);
}

void check_parts(std::vector<const Array*> slots, const std::vector<const Array*>& parts, Loc loc) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (std::find(slots.begin(), slots.end(), parts[i]) == slots.end()) {
      usage_error("tree::at",
                  "array " + std::to_string(i) +
                      " of what the selector gives is not in the tree it was given; return "
                      "references to its fields, not copies",
                  loc);
    }
    if (std::find(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(i), parts[i]) !=
        parts.begin() + static_cast<std::ptrdiff_t>(i)) {
      usage_error("tree::at",
                  "the selector names one array twice; parts that are replaced must not overlap",
                  loc);
    }
  }
}

namespace {

bool below(const std::string& path, const std::string& part) {
  return path.starts_with(part) &&
         (path.size() == part.size() || path[part.size()] == '.' || path[part.size()] == '[');
}

std::string quoted(const std::string& path) { return "`" + path + "`"; }

/// "`.weight`, `.bias`"; the first few.
std::string list(const std::vector<std::string>& paths) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < paths.size() && i < most; ++i)
    text += (i ? ", " : "") + quoted(paths[i]);
  return text + (paths.size() > most ? ", ..." : "");
}

}  // namespace

std::vector<std::vector<std::size_t>> slots_at(AnyTree tree, const Paths& where, Loc loc) {
  std::vector<std::string> paths;
  const auto add = [&](const Array&, const std::string& path) { paths.push_back(path); };
  visit_arrays(tree, true, "", add);
  std::vector<bool> named(paths.size(), false);
  std::vector<std::vector<std::size_t>> result;
  for (const std::string& given : where.all()) {
    const bool whole = given.empty() || given[0] == '.' || given[0] == '[';
    const std::string part = whole ? given : "." + given;
    std::vector<std::size_t>& some = result.emplace_back();
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (!below(paths[i], part)) continue;
      if (named[i])
        usage_error("tree::at",
                    quoted(paths[i]) + " is named twice; parts that are replaced must not overlap",
                    loc);
      named[i] = true;
      some.push_back(i);
    }
    if (some.empty())
      usage_error("tree::at", "no array is at " + quoted(part) + "; the tree has " + list(paths),
                  loc);
  }
  return result;
}

void check_values(const Paths& where, const std::vector<std::vector<std::size_t>>& found,
                  std::size_t values, Loc loc) {
  if (values != found.size())
    usage_error("tree::at",
                std::to_string(found.size()) + " places are named and " + std::to_string(values) +
                    " arrays given; give one for each",
                loc);
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i].size() != 1)
      usage_error("tree::at",
                  quoted(where.all()[i]) + " is " + std::to_string(found[i].size()) +
                      " arrays; name one, or give a function of an Array",
                  loc);
}

void filled_twice(const std::string& path, std::size_t first, std::size_t second, Loc loc) {
  usage_error("tree::combine",
              (path.empty() ? "the array" : "`" + path + "`") + " is in tree " +
                  std::to_string(first) + " and in tree " + std::to_string(second) +
                  "; each array comes from one tree, the others have a hole there",
              loc);
}

void other_structure(std::size_t tree, Loc loc) {
  usage_error("tree::combine",
              "tree " + std::to_string(tree) +
                  " has another number of arrays than the first; combine what separate gave",
              loc);
}

}  // namespace gnomon::tree::detail
