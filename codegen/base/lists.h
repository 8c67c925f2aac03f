// codegen/base/lists.h -- axes and positions, and the lists that hold them.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gnomon/shape.h"

namespace gnomon {

/// An axis or a position, neither being negative, as the standard library indexes.
constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

template <class List>
bool contains(const List& list, const typename List::value_type& x) {
  return std::find(list.begin(), list.end(), x) != list.end();
}

/// The dimensions of these axes.
inline Shape sizes(const Shape& shape, const std::vector<int>& axes) {
  Shape r;
  for (int a : axes) r.append(shape[a]);
  return r;
}

}  // namespace gnomon
