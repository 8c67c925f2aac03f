// shaders/spirv/shared_reads.h -- which 16-byte reads the invocations of a subgroup make for one
// another. Internal to spirv.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "shaders/kernel/kernel.h"

namespace gnomon::spirv {

/// A driver for CPUs fetches a texel once for each invocation of a subgroup, also where they all
/// ask for the same one. So the reads that a subgroup makes alike come in blocks of as many as it
/// has invocations: each of them fetches another one of the block, and hands it to all.
///
/// Reads are of one block when they stand in one straight run of instructions without stores, are
/// of one buffer, and lie at known distances. Only where all invocations of a subgroup get there
/// together, which is known where subgroups are runs of neighbours and of one size.
class SharedReads {
 public:
  /// One 16-byte part of a load: the how-manieth of which block.
  struct Member {
    std::uint32_t block = 0, position = 0;
  };

  SharedReads() = default;
  /// `size`: invocations of a subgroup, a power of two.
  SharedReads(const kernel::Kernel& invocation_form, std::uint32_t size);

  std::optional<Member> find(const kernel::Instruction& load, std::uint32_t part) const;
  /// How many 16-byte units the members of a block lie behind its first one, which is 0 for that
  /// one itself.
  const std::vector<std::uint32_t>& distances(std::uint32_t block) const { return blocks_[block]; }

 private:
  std::map<std::pair<const kernel::Instruction*, std::uint32_t>, Member> members_;
  std::vector<std::vector<std::uint32_t>> blocks_;
};

}  // namespace gnomon::spirv
