// shaders/spirv/shared_reads.cpp -- see shared_reads.h.
#include "shaders/spirv/shared_reads.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "shaders/passes/affine.h"

namespace gnomon::spirv {
namespace {

using kernel::Instruction;
using kernel::Op;
using kernel::Region;
using kernel::Value;

/// Handing one round costs about as much as a quarter of fetching it.
constexpr std::size_t fewest = 2;

/// Reads of one buffer whose places differ by constants.
struct Open {
  std::uint32_t buffer = 0;
  kernel::Linear place;  // of the first one
  std::vector<std::uint32_t> distances;
  std::vector<std::pair<const Instruction*, std::uint32_t>> members;
};

class Collector {
 public:
  using Found = std::function<void(const Open&)>;

  Collector(const kernel::Kernel& k, std::uint32_t size, Found found)
      : kernel_(k),
        size_(size),
        found_(std::move(found)),
        facts_(kernel::analyse(k, {Op::invocation, size})),
        definitions_(kernel::definitions(k)) {
    if (k.group_size % size == 0) together(k.body);
  }

 private:
  /// A region that all invocations of a subgroup go through together, or none.
  void together(const Region& region) {
    for (const Instruction& i : region.body) {
      if (i.op == Op::load) read(i);
      if (i.op == Op::store || kernel::is_atomic(i.op) || kernel::is_collective(i.op) ||
          !i.regions.empty())
        close();
      const bool alike = i.regions.empty() || is_alike(i);
      for (const Region& r : i.regions)
        if (alike) together(r);
    }
    close();
  }

  bool is_alike(const Instruction& i) const {
    const Value decides = i.op == Op::loop ? i.regions[0].yields[0] : i.operands[0];
    if (facts_[decides].uniform()) return true;
    // Below a multiple of the subgroup's size: all of them are, or none.
    const Instruction* below = definitions_[decides.index];
    if (!below || below->op != Op::lt) return false;
    const kernel::Affine &number = facts_[below->operands[0]], &end = facts_[below->operands[1]];
    const auto fits = static_cast<std::uint8_t>(std::countr_zero(size_));
    return kernel_.type(below->operands[0]).scalar == DType::u32 && !number.varying &&
           number.stride == 1 && number.alignment >= fits && end.uniform() && end.alignment >= fits;
  }

  void read(const Instruction& i) {
    const kernel::Buffer& buffer = kernel_.buffers[i.immediate];
    const kernel::Type t = kernel_.type(i.results[0]);
    if (!buffer.texel || buffer.coherent || t.width < 4 || i.operands.size() > 1 ||
        kernel_.type(i.operands[0]).width > 1 || !facts_[i.operands[0]].uniform())
      return;
    kernel::Linear place = kernel::linear(definitions_, i.operands[0]);
    for (std::uint32_t part = 0; part < t.width / 4u; ++part, place.offset += 4) {
      Open& block = block_for(static_cast<std::uint32_t>(i.immediate), place);
      // Both are multiples of four; the difference may be negative.
      const auto apart = static_cast<std::int32_t>(place.offset - block.place.offset) / 4;
      block.distances.push_back(static_cast<std::uint32_t>(apart));
      block.members.emplace_back(&i, part);
      if (block.members.size() == size_) {
        found_(block);
        open_.erase(open_.begin() + (&block - open_.data()));
      }
    }
  }

  Open& block_for(std::uint32_t buffer, const kernel::Linear& place) {
    const auto known = std::find_if(open_.begin(), open_.end(), [&](const Open& o) {
      return o.buffer == buffer && o.place.terms == place.terms;
    });
    if (known != open_.end()) return *known;
    return open_.emplace_back(Open{buffer, place, {}, {}});
  }

  void close() {
    for (const Open& block : open_)
      if (block.members.size() >= fewest) found_(block);
    open_.clear();
  }

  const kernel::Kernel& kernel_;
  std::uint32_t size_;
  Found found_;
  kernel::AffineFacts facts_;
  std::vector<const Instruction*> definitions_;
  std::vector<Open> open_;
};

}  // namespace

SharedReads::SharedReads(const kernel::Kernel& k, std::uint32_t size) {
  if (size < 2 || !std::has_single_bit(size)) return;
  Collector(k, size, [&](const Open& open) {
    for (std::uint32_t p = 0; p < open.members.size(); ++p)
      members_[open.members[p]] = {static_cast<std::uint32_t>(blocks_.size()), p};
    blocks_.push_back(open.distances);
  });
}

std::optional<SharedReads::Member> SharedReads::find(const Instruction& load,
                                                     std::uint32_t part) const {
  const auto it = members_.find({&load, part});
  if (it == members_.end()) return std::nullopt;
  return it->second;
}

}  // namespace gnomon::spirv
