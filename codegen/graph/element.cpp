// codegen/graph/element.cpp -- positions: coordinates and flat indices, each derived from the other
// once.
#include "codegen/graph/element.h"

#include <algorithm>

namespace gnomon {

using kernel::Builder;
using kernel::Op;
using kernel::Value;

Index Index::coordinates(const Shape& shape, kernel::Values coordinates) {
  GNOMON_CHECK(static_cast<int>(coordinates.size()) == shape.rank(),
               "an index needs one coordinate per axis");
  Index r;
  r.shape_ = shape;
  r.coordinates_ = std::move(coordinates);
  return r;
}

Index Index::flat(const Shape& shape, Value flat) {
  Index r;
  r.shape_ = shape;
  r.flat_ = flat;
  return r;
}

Value Index::operator()(Builder& k, int axis) const {
  GNOMON_CHECK(axis >= 0 && axis < rank(),
               "coordinate " + std::to_string(axis) + " of " + to_string(shape_));
  if (coordinates_.empty()) {
    // Emitted where the flat index is defined, so that the cached coordinates are visible wherever
    // it is.
    kernel::Values c(static_cast<std::size_t>(rank()));
    k.at_depth(std::min(k.depth(), k.depth_of(flat_)), [&] {
      Value rest = flat_;
      int first =
          0;  // the outermost axis longer than one: what is left of the index is its coordinate
      while (first + 1 < rank() && shape_[first] == 1) ++first;
      for (int a = rank() - 1; a >= 0; --a) {
        auto& slot = c[static_cast<std::size_t>(a)];
        if (shape_[a] <= 1) {
          slot = k.u32(0);
        } else if (a == first) {
          slot = rest;
        } else {
          const Value d = k.u32(static_cast<std::uint32_t>(shape_[a]));
          slot = k.rem(rest, d);
          rest = k.div(rest, d);
        }
      }
    });
    coordinates_ = std::move(c);
  }
  return coordinates_[static_cast<std::size_t>(axis)];
}

Value Index::flat(Builder& k) const {
  if (!flat_.valid()) {
    std::uint32_t depth = 0;
    for (Value c : coordinates_) depth = std::max(depth, k.depth_of(c));
    k.at_depth(std::min(depth, k.depth()), [&] {
      Value sum = k.u32(0);
      Dim stride = 1;
      for (int a = rank() - 1; a >= 0; --a) {
        const Value c = coordinates_[static_cast<std::size_t>(a)];
        sum = k.add(sum, k.mul(c, k.u32(static_cast<std::uint32_t>(stride))));
        stride *= shape_[a];
      }
      flat_ = sum;
    });
  }
  return flat_;
}

Index Index::reshaped(Builder& k, const Shape& shape) const {
  if (coordinates_.empty()) return Index::flat(shape, flat(k));
  // Axes that are merged or split stay among themselves, so that the coordinates of the others, a
  // lane's above all, come through as they are. Ends of groups are where the products of the
  // leading axes agree.
  struct Group {
    int from, from_end, to, to_end;
  };
  std::vector<Group> groups;
  for (int from = 0, to = 0; from < rank() && to < shape.rank();) {
    Group g{from, from + 1, to, to + 1};
    for (Dim a = shape_[from], b = shape[to]; a != b;) {
      const bool grow_from = a < b;
      if (a == 0 || b == 0 || (grow_from ? g.from_end == rank() : g.to_end == shape.rank()))
        return Index::flat(shape, flat(k));
      if (grow_from)
        a *= shape_[g.from_end++];
      else
        b *= shape[g.to_end++];
    }
    groups.push_back(g);
    from = g.from_end;
    to = g.to_end;
  }
  if (groups.size() <= 1 && flat_.valid()) return Index::flat(shape, flat_);
  kernel::Values c(static_cast<std::size_t>(shape.rank()),
                   k.u32(0));  // what is in no group has length 1
  std::uint32_t depth = 0;
  for (Value v : coordinates_) depth = std::max(depth, k.depth_of(v));
  k.at_depth(std::min(depth, k.depth()), [&] {
    for (const Group& g : groups) {
      Value all = coordinates_[static_cast<std::size_t>(g.from)];
      for (int a = g.from + 1; a < g.from_end; ++a)
        all = k.add(k.mul(all, k.u32(static_cast<std::uint32_t>(shape_[a]))),
                    coordinates_[static_cast<std::size_t>(a)]);
      for (int a = g.to_end - 1; a > g.to; --a) {
        const Value d = k.u32(static_cast<std::uint32_t>(shape[a]));
        c[static_cast<std::size_t>(a)] = k.rem(all, d);
        all = k.div(all, d);
      }
      c[static_cast<std::size_t>(g.to)] = all;
    }
  });
  return Index::coordinates(shape, std::move(c));
}

}  // namespace gnomon
