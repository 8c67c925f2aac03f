// codegen/cost/instructions.h -- the unit that estimates of work count in.
#pragma once
#include "codegen/graph/element.h"

namespace gnomon {

/// Instructions that an element takes, its operands apart. The middle of what transcendental
/// functions take once they are written out, from exp to atan2; a view costs who reads it.
constexpr int instructions(Cost c) {
  switch (c) {
    case Cost::view:
      return 0;
    case Cost::cheap:
      return 1;
    case Cost::heavy:
      return 12;
  }
  return 0;
}

}  // namespace gnomon
