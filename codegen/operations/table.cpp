// codegen/operations/table.cpp -- the list of all operations.
#include "codegen/operations/table.h"

#include <algorithm>
#include <vector>

namespace gnomon {
namespace {

std::vector<const Primitive*> sorted_table() {
  std::vector<const Primitive*> all{
#define GNOMON_ENTRY(primitive) &primitive,
#include "codegen/operations/entries.inc"
#undef GNOMON_ENTRY
  };
  std::sort(all.begin(), all.end(),
            [](const Primitive* a, const Primitive* b) { return a->name < b->name; });
  return all;
}

}  // namespace

std::span<const Primitive* const> primitives() {
  static const std::vector<const Primitive*> table = sorted_table();
  return table;
}

const Primitive* find_primitive(std::string_view name) {
  const auto table = primitives();
  const auto it =
      std::lower_bound(table.begin(), table.end(), name,
                       [](const Primitive* p, std::string_view n) { return p->name < n; });
  return it != table.end() && (*it)->name == name ? *it : nullptr;
}

}  // namespace gnomon
