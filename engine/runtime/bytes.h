// engine/runtime/bytes.h -- how large arrays are.
#pragma once
#include <cstdint>

#include "gnomon/array.h"

namespace gnomon {

/// Of its elements.
inline std::uint64_t bytes_of(const Aval& aval) {
  return static_cast<std::uint64_t>(aval.shape.size()) * size_of(aval.dtype);
}

}  // namespace gnomon
