// codegen/base/partition.cpp -- what gnomon/partition.h says when trees do not fit.
#include "gnomon/partition.h"

namespace gnomon::tree::detail {

void not_a_part(std::size_t index, Loc loc) {
  usage_error("tree::partition",
              "array " + std::to_string(index) +
                  " of what the spec gives is no part of the tree it was given; return references "
                  "to its fields, not copies",
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
                  " has another number of arrays than the first; combine what partition gave",
              loc);
}

}  // namespace gnomon::tree::detail
