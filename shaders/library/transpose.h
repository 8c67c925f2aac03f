// shaders/library/transpose.h -- a square of elements that a workgroup reads one way and uses the
// other.
#pragma once
#include <functional>
#include <vector>

#include "shaders/kernel/builder.h"

namespace gnomon::kernel {

/// A square of `side` by `side` places for a workgroup of `group` invocations; powers of two,
/// `side` at most `group`, which is at most side * side. Each invocation has `places` of them.
struct Square {
  std::uint32_t side = 1, group = 1;

  static Square of(std::uint32_t group);
  std::uint32_t places() const { return side * side / group; }
  /// Where an invocation's place number i lies: neighbouring invocations differ in `fast`.
  Value fast(Builder&) const;
  Value slow(Builder&, std::uint32_t i) const;
};

/// Calls load(slow, fast) for every place of the square and keeps what it gives in shared memory.
/// Afterwards the result gives an invocation the element that was loaded with `fast` and `slow` the
/// other way round. To be called where the whole workgroup comes along: it has a barrier, which the
/// squares of one list share.
using Transposed = std::function<Value(std::uint32_t place)>;
std::vector<Transposed> transpose(
    Builder&, const Square&,
    const std::vector<std::function<Value(Value slow, Value fast)>>& loads);

}  // namespace gnomon::kernel
