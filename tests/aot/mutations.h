// tests/aot/mutations.h -- program files that somebody has tampered with, who knows where the
// checksums are.
#pragma once
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace gnomon::testing {

/// A file that was changed, and how, for messages.
struct Mutation {
  std::vector<std::byte> bytes;
  std::string how;
  bool sealed = false;  // length and digest of the head, and the modules' checksums, are right
};

/// Changes bits, words and ranges of a file that is in order, or its length.
class Mutator {
 public:
  explicit Mutator(std::vector<std::byte> file);
  Mutation mutation(std::mt19937_64&) const;

 private:
  struct Module {
    std::size_t first = 0, end = 0;  // of its words in the file
    std::size_t checksum = 0;        // where that lies
  };
  std::size_t place(std::mt19937_64&, std::size_t alignment, std::size_t size) const;
  void change(std::mt19937_64&, Mutation&) const;

  std::vector<std::byte> file_;
  std::vector<Module> modules_;
  std::vector<std::pair<std::size_t, std::size_t>> rest_;  // ranges without modules
};

}  // namespace gnomon::testing
