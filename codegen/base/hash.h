// codegen/base/hash.h -- a 64-bit hash that is the same in every process: it names programs on
// disk.
#pragma once
#include <cstdint>
#include <string_view>

namespace gnomon {

/// Order matters. Not for adversaries: whoever uses a hash as an identity compares the text too.
class Hasher {
 public:
  void add(std::uint64_t word) {
    // The finaliser of splitmix64, fed with the running state.
    state_ += word + 0x9e3779b97f4a7c15u;
    state_ = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9u;
    state_ = (state_ ^ (state_ >> 27)) * 0x94d049bb133111ebu;
    state_ ^= state_ >> 31;
  }
  void add(std::string_view bytes) {
    add(bytes.size());
    std::uint64_t word = 0;
    int filled = 0;
    for (char c : bytes) {
      word |= static_cast<std::uint64_t>(static_cast<unsigned char>(c)) << (8 * filled);
      if (++filled == 8) {
        add(word);
        word = 0;
        filled = 0;
      }
    }
    if (filled) add(word);
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace gnomon
