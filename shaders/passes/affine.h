// shaders/passes/affine.h -- how integers differ between neighbouring lanes, and what divides them.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "shaders/kernel/kernel.h"

namespace gnomon::kernel {

/// What is known of one value over `span` neighbouring lanes.
struct Affine {
  bool varying = false;     // no relation between the lanes is known
  std::int32_t stride = 0;  // lane k holds the first lane's value plus k * stride, modulo 2^32
  std::uint8_t alignment =
      0;  // 2^alignment divides the first lane's value (every lane's when varying)

  bool uniform() const { return !varying && stride == 0; }
  /// log2 of a power of two that divides the value in every lane.
  std::uint8_t alignment_everywhere() const;
  bool operator==(const Affine&) const = default;
};

struct AffineOptions {
  Op source = Op::lane;    // `lane` or `invocation`: the value that numbers the lanes
  std::uint32_t span = 1;  // power of two; groups of `span` lanes start at its multiples
};

struct AffineFacts {
  std::vector<Affine> values;        // indexed by Value
  std::vector<bool> private_varies;  // per private array: each lane needs its own

  const Affine& operator[](Value v) const { return values[v.index]; }
};

/// The greatest fixed point over loop-carried values. A value carried by a loop that some lanes
/// leave earlier is described over the lanes that are still in it; the loop's results are described
/// over all lanes.
AffineFacts analyse(const Kernel&, AffineOptions);

/// Defining instruction of each value; null for region arguments. Points into the kernel.
std::vector<const Instruction*> definitions(const Kernel&);

/// A scalar as `root + offset` modulo 2^32; no root when it is the constant `offset`.
struct Offset {
  Value root;
  std::uint32_t offset = 0;
};
Offset split_offset(const std::vector<const Instruction*>& definitions, Value scalar);

/// Splits each component of a wide index that is built from splats, constructs, and sums and
/// products of these. Empty when some component has no scalar of its own.
std::vector<Offset> split_components(const Kernel&,
                                     const std::vector<const Instruction*>& definitions,
                                     Value wide);

/// A u32 index as a sum of multiples of values and a constant, modulo 2^32.
struct Linear {
  struct Term {
    Value value;
    std::uint32_t times = 0;
    auto operator<=>(const Term&) const = default;
  };
  using Terms = SmallVector<Term, 4>;
  Terms terms;  // by value, no coefficient is zero
  std::uint32_t offset = 0;
};

/// Looks through sums, differences and multiples by constants; what is made otherwise, or would
/// have more than a few terms, is a term itself.
Linear linear(const std::vector<const Instruction*>& definitions, Value scalar);

}  // namespace gnomon::kernel
