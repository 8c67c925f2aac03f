// codegen/program/sha256.h -- SHA-256, for digests that nobody can have another file for.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace gnomon {

using Sha256 = std::array<std::uint8_t, 32>;

/// Source: FIPS 180-4, section 6.2.
Sha256 sha256(std::span<const std::byte>);

/// 64 hexadecimal digits.
std::string hex(const Sha256&);

}  // namespace gnomon
