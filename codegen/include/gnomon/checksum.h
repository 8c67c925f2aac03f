// codegen/include/gnomon/checksum.h -- XXH3 of bytes: checksums of files, and names of what they
// hold.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace gnomon {

/// 64 bits.
std::uint64_t checksum(std::span<const std::byte>);

/// 128 bits: enough to take equal digests for equal texts where nobody means harm.
struct Digest {
  std::uint64_t low = 0, high = 0;
  bool operator==(const Digest&) const = default;
  /// 32 hexadecimal digits.
  std::string text() const;
};
Digest digest(std::string_view);

}  // namespace gnomon
#pragma GCC visibility pop
