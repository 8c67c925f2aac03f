// codegen/base/index_set.h -- a set of values' or equations' numbers.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gnomon {

/// Numbers in order, each once, in one piece of memory: what compilers ask of such sets is mostly
/// whether they contain a number, and all of them in order.
class IndexSet {
 public:
  using value_type = std::uint32_t;
  using const_iterator = std::vector<value_type>::const_iterator;

  IndexSet() = default;
  /// Of numbers in any order.
  explicit IndexSet(std::vector<value_type> numbers) : numbers_(std::move(numbers)) { normalise(); }

  bool contains(value_type x) const {
    return std::binary_search(numbers_.begin(), numbers_.end(), x);
  }
  void insert(value_type x) {
    const auto at = std::lower_bound(numbers_.begin(), numbers_.end(), x);
    if (at == numbers_.end() || *at != x) numbers_.insert(at, x);
  }
  template <class Iterator>
  void insert(Iterator from, Iterator to) {
    if (from == to) return;
    numbers_.insert(numbers_.end(), from, to);
    normalise();
  }

  const_iterator begin() const { return numbers_.begin(); }
  const_iterator end() const { return numbers_.end(); }
  std::size_t size() const { return numbers_.size(); }
  bool empty() const { return numbers_.empty(); }
  bool operator==(const IndexSet&) const = default;

 private:
  void normalise() {
    std::sort(numbers_.begin(), numbers_.end());
    numbers_.erase(std::unique(numbers_.begin(), numbers_.end()), numbers_.end());
  }

  std::vector<value_type> numbers_;
};

}  // namespace gnomon
