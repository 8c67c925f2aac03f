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
