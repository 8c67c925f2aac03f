// shaders/support/hash_chains.h -- a multimap by hash whose keys are with whoever asks.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gnomon {

/// What was added, in chains by hash, the latest first. Every instruction that is built passes
/// here.
template <class T>
class HashChains {
 public:
  /// About so many will be added.
  void expect(std::size_t n) {
    links_.reserve(n);
    if (heads_.size() < n) grow(n);
  }

  void add(std::uint64_t hash, T x) {
    if (links_.size() >= heads_.size()) grow(2 * links_.size() + 64);
    std::uint32_t& head = heads_[place(hash)];
    links_.push_back({hash, std::move(x), head});
    head = static_cast<std::uint32_t>(links_.size() - 1);
  }

  /// The latest of this hash for which `wanted` holds, or null.
  template <class F>
  const T* find(std::uint64_t hash, F&& wanted) const {
    if (heads_.empty()) return nullptr;
    for (std::uint32_t at = heads_[place(hash)]; at != none; at = links_[at].next)
      if (links_[at].hash == hash && wanted(links_[at].entry)) return &links_[at].entry;
    return nullptr;
  }

 private:
  static constexpr std::uint32_t none = ~0u;
  struct Link {
    std::uint64_t hash;
    T entry;
    std::uint32_t next;
  };

  std::size_t place(std::uint64_t hash) const { return (hash ^ hash >> 32) & (heads_.size() - 1); }
  void grow(std::size_t places) {
    heads_.assign(std::bit_ceil(places), none);
    for (std::uint32_t i = 0; i < links_.size(); ++i) {
      std::uint32_t& head = heads_[place(links_[i].hash)];
      links_[i].next = head;
      head = i;
    }
  }

  std::vector<std::uint32_t> heads_;  // by place, a power of two of them
  std::vector<Link> links_;
};

}  // namespace gnomon
