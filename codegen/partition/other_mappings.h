// codegen/partition/other_mappings.h -- how the lanes of a kernel without loops share its elements,
// and how else they could.
#pragma once
#include <string>
#include <vector>

#include "codegen/analysis/backward_slice.h"
#include "codegen/emit/draft.h"

namespace gnomon {

/// A draft that was not chosen.
struct OtherMapping {
  std::string name;
  Draft draft;
};

/// "one lane per element of [64]", "tiles of 8 by 4 elements of [64,64]".
std::string mapping_text(const DraftRequest&);

/// The same roots with a lane for each element, and in tiles of half and twice the rows and
/// columns, where these are other mappings. What would be too large a kernel is left out.
std::vector<OtherMapping> other_mappings(const DraftRequest& chosen, const Placement&);

}  // namespace gnomon
