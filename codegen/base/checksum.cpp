// codegen/base/checksum.cpp -- the only place that includes xxhash.
#include "gnomon/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace gnomon {

std::uint64_t checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

Digest digest(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return {hash.low64, hash.high64};
}

std::string Digest::text() const {
  std::string result;
  for (const std::uint64_t half : {high, low}) {
    for (int shift = 60; shift >= 0; shift -= 4) result += "0123456789abcdef"[half >> shift & 15];
  }
  return result;
}

}  // namespace gnomon
