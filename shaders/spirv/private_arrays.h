// shaders/spirv/private_arrays.h -- how the private arrays of a kernel lie in variables.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "shaders/kernel/kernel.h"

namespace gnomon::spirv {

/// Operands of a load are (index, mask), of a store (index, value, mask).
constexpr std::size_t load_mask = 1, store_mask = 2;

/// The private array that an instruction loads from, stores to, or declares.
inline std::uint32_t array_of(const kernel::Instruction& i) {
  return static_cast<std::uint32_t>(i.immediate);
}

/// What local memory holds a truth value as.
constexpr DType in_local(DType t) { return t == DType::boolean ? DType::u32 : t; }

/// A variable for each component, but for arrays of 32 bits that go together.
struct PrivateForm {
  bool by_components = false;  // two components are one element of 64 bits
  /// The array that the other halves of 64-bit elements belong to. The lower halves are those of
  /// the one that is stored to first, and it has the variables.
  std::optional<std::uint32_t> other = std::nullopt;
  bool is_second = false;
  DType half = DType::u32;  // what both halves are seen as
};

/// Which elements of 32 bits can share one of 64: the components of an array of which all are
/// always at one position, or two arrays that are always stored to together.
///
/// A CPU driver addresses every lane's element of a private array by itself, at a constant position
/// too: some thirty instructions for its compiler and eight loads for the processor, whether they
/// are of 32 bits or of 64.
std::vector<PrivateForm> share_elements(const kernel::Kernel&);

}  // namespace gnomon::spirv
