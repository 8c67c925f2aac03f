// shaders/library/transpose.cpp -- stores by rows, a barrier, loads by columns.
#include "shaders/library/transpose.h"

namespace gnomon::kernel {

Square Square::of(std::uint32_t group) {
  constexpr std::uint32_t most_side = 32, most_places = 8;
  std::uint32_t side = 1;
  while (2 * side <= group && 2 * side <= most_side && 4 * side * side <= most_places * group)
    side *= 2;
  while (side * side < group) side *= 2;
  return {side, group};
}

Value Square::fast(Builder& k) const { return k.rem(k.source(Op::local_index), k.u32(side)); }

Value Square::slow(Builder& k, std::uint32_t i) const {
  return k.add(k.div(k.source(Op::local_index), k.u32(side)), k.u32(i * (group / side)));
}

std::vector<Transposed> transpose(Builder& k, const Square& q,
                                  const std::vector<std::function<Value(Value, Value)>>& loads) {
  const std::uint32_t stride = q.side + 1;  // a column falls into different banks
  const auto place = [&k, stride](Value row, Value column) {
    return k.add(k.mul(row, k.u32(stride)), column);
  };
  std::vector<Transposed> transposed;
  for (const auto& load : loads) {
    std::uint32_t array = 0;
    for (std::uint32_t i = 0; i < q.places(); ++i) {
      const Value slow = q.slow(k, i), fast = q.fast(k), x = load(slow, fast);
      if (i == 0) array = k.shared_array({k.type(x).scalar, q.side * stride});
      k.shared_store(array, place(slow, fast), x);
    }
    transposed.push_back([&k, q, place, array](std::uint32_t i) {
      return k.shared_load(array, place(q.fast(k), q.slow(k, i)));
    });
  }
  k.barrier();
  return transposed;
}

}  // namespace gnomon::kernel
