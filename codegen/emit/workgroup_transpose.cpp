// codegen/emit/workgroup_transpose.cpp -- a square of a root per workgroup, where memory is read in
// another order than it is written.
#include <algorithm>

#include "codegen/analysis/follow.h"
#include "codegen/base/lists.h"
#include "codegen/emit/workgroup.h"
#include "codegen/emit/workshop.h"
#include "codegen/graph/primitive.h"
#include "shaders/library/transpose.h"

namespace gnomon {

using kernel::Op;
using kernel::Value;
using kernel::Values;

namespace {

/// A value in memory whose neighbours are a root's along an axis that is not its own innermost.
struct Source {
  ValueId value = 0;
  int axis = -1;      // of the root
  AxisMap root_axis;  // per axis of the value; -1 where it has length 1
};

std::vector<Source> sources(const DraftRequest& r, const Placement& p, int inner) {
  std::vector<Source> found;
  for (ValueId root : r.roots)
    walk(p, root, [&](ValueId v, const AxisMap& axes) {
      // What this kernel computes itself is not there to be read.
      if (!p.in_memory[v] || std::find(r.roots.begin(), r.roots.end(), v) != r.roots.end())
        return true;
      if (r.iterations != nullptr && r.iterations->contains(v)) return false;
      const Shape& shape = p.graph.avals[v].shape;
      Source s{v, -1, {}};
      const int neighbours = innermost(shape, p.layouts[v]);
      for (int a = 0; a < shape.rank(); ++a) {
        const auto mine = std::find(axes.begin(), axes.end(), a);
        if (mine == axes.end() && shape[a] > 1) return false;
        s.root_axis.push_back(shape[a] > 1 ? static_cast<int>(mine - axes.begin()) : -1);
        if (a == neighbours) s.axis = s.root_axis.back();
      }
      const bool known =
          std::any_of(found.begin(), found.end(), [&](const Source& x) { return x.value == v; });
      if (s.axis >= 0 && s.axis != inner && !known && (found.empty() || found[0].axis == s.axis))
        found.push_back(std::move(s));
      return false;
    });
  return found;
}

/// The squares that a shape is divided into, a workgroup for each: `square.side` elements long
/// along two axes, 1 along the others.
struct Squares {
  Squares(kernel::Builder& builder, const kernel::Square& each, const Shape& of, int outer_axis,
          int inner_axis)
      : k(builder), square(each), shape(of), outer(outer_axis), inner(inner_axis) {
    const Dim side = square.side;
    Shape walked;
    for (int a = 0; a < shape.rank(); ++a)
      walked.append(divides(a) ? (shape[a] + side - 1) / side : shape[a]);
    count = walked.size();
    const Index group = Index::flat(walked, k.source(Op::group_index));
    for (int a = 0; a < shape.rank(); ++a)
      corner.push_back(divides(a) ? k.mul(group(k, a), k.u32(square.side)) : group(k, a));
  }

  /// Coordinates of an element of the workgroup's square; the last one's behind the end of an axis.
  Values element(Value along_outer, Value along_inner) const {
    Values c = corner;
    c[at(outer)] = within(outer, along_outer);
    c[at(inner)] = within(inner, along_inner);
    return c;
  }
  /// Of all the elements that an invocation has.
  std::vector<Values> elements() const {
    std::vector<Values> r;
    for (std::uint32_t i = 0; i < square.places(); ++i)
      r.push_back(element(square.slow(k, i), square.fast(k)));
    return r;
  }
  /// Whether the shape has the invocation's element number i.
  Value exists(std::uint32_t i) const {
    Value r = k.boolean(true);
    const auto below = [&](int axis, Value offset) {
      if (ragged(axis))
        r = k.land(r, k.compare(Op::lt, beyond(axis, offset), k.u32(word(shape[axis]))));
    };
    below(outer, square.slow(k, i));
    below(inner, square.fast(k));
    return r;
  }

  kernel::Builder& k;
  const kernel::Square& square;
  const Shape& shape;
  int outer = 0, inner = 0;  // neighbours in memory along these: where it is read, and written
  Dim count = 0;
  Values corner;  // of the workgroup's square, the one that is nearest to the origin

 private:
  bool divides(int axis) const { return axis == inner || axis == outer; }
  bool ragged(int axis) const { return shape[axis] % Dim{square.side} != 0; }
  Value beyond(int axis, Value offset) const { return k.add(corner[at(axis)], offset); }
  Value within(int axis, Value offset) const {
    const Value v = beyond(axis, offset);
    return ragged(axis) ? k.binary(Op::minimum, v, k.u32(word(shape[axis] - 1))) : v;
  }
};

/// Reads the square of each source in the order of its memory.
std::vector<kernel::Transposed> read_transposed(Workshop& w, const Squares& squares,
                                                const std::vector<Source>& from) {
  std::vector<std::function<Value(Value, Value)>> loads;
  for (const Source& s : from)
    loads.push_back([&](Value slow, Value fast) {
      const Values c = squares.element(fast, slow);
      const Shape& own = w.request.graph.avals[s.value].shape;
      Values position;
      for (int root : s.root_axis) position.push_back(root < 0 ? w.k.u32(0) : c[at(root)]);
      return w.emitter.load(w.memory(s.value, kernel::Access::read), own,
                            Index::coordinates(own, std::move(position)));
    });
  return kernel::transpose(w.k, squares.square, loads);
}

/// Elements of a source are the transposed ones at the places that the invocation has, and loaded
/// elsewhere. All arguments outlive what `f` is asked for.
void bind_transposed(Workshop& w, Frame& f, const Source& s, const kernel::Transposed& transposed,
                     const std::vector<Values>& places) {
  f.bind(s.value, [&](const Index& index) {
    const auto asked = [&](const Values& c) {
      for (int a = 0; a < index.rank(); ++a)
        if (s.root_axis[at(a)] >= 0 && index(w.k, a) != c[at(s.root_axis[at(a)])]) return false;
      return true;
    };
    const auto mine = std::find_if(places.begin(), places.end(), asked);
    if (mine != places.end()) return transposed(static_cast<std::uint32_t>(mine - places.begin()));
    // The same array the other way round, or another part of it.
    return w.emitter.load(w.memory(s.value, kernel::Access::read),
                          w.request.graph.avals[s.value].shape, index);
  });
}

/// Computes the roots at all places, then stores them where the shape has such an element.
void store_squares(Workshop& w, Frame& f, const Squares& squares,
                   const std::vector<Values>& places) {
  const DraftRequest& r = w.request;
  std::vector<Values> elements;
  for (const Values& c : places) {
    Values values;
    for (ValueId v : r.roots) values.push_back(f.element(v, Index::coordinates(squares.shape, c)));
    elements.push_back(std::move(values));
  }
  for (std::uint32_t i = 0; i < places.size(); ++i)
    w.k.if_(
        squares.exists(i),
        [&] {
          for (std::size_t n = 0; n < r.roots.size(); ++n)
            if (r.stored[n])
              w.emitter.store(w.memory(r.roots[n], kernel::Access::write), squares.shape,
                              Index::coordinates(squares.shape, places[i]), elements[i][n]);
          return Values{};
        },
        [] { return Values{}; });
}

}  // namespace

std::optional<WorkgroupDraft> draft_transposed(const DraftRequest& r, const Placement& p) {
  const Shape& shape = r.graph.avals[r.roots[0]].shape;
  const int inner = innermost(shape, r.layouts[r.roots[0]]);
  if (inner < 0) return std::nullopt;
  // Lanes for themselves own whole words of small elements; here each would need an atomic.
  for (ValueId v : r.roots)
    if (size_of(r.graph.avals[v].dtype) < 4) return std::nullopt;
  const std::vector<Source> from = sources(r, p, inner);
  const kernel::Square square = kernel::Square::of(r.target.team);
  const Dim side = square.side;
  if (from.empty() || 2 * shape[inner] < side || 2 * shape[from[0].axis] < side || side < 2 ||
      shape.size() < 4 * side * side)
    return std::nullopt;

  DraftRequest request = r;
  request.mapping = Mapping::group;
  request.tile.reset();
  Workshop w(request);
  w.k.kernel().group_size = r.target.team;
  Frame f(w.emitter, r.graph);
  w.bind_inputs(f);

  const Squares squares(w.k, square, shape, from[0].axis, inner);
  const std::vector<kernel::Transposed> transposed = read_transposed(w, squares, from);
  const std::vector<Values> places = squares.elements();
  for (std::size_t n = 0; n < from.size(); ++n)
    bind_transposed(w, f, from[n], transposed[n], places);
  store_squares(w, f, squares, places);

  Draft d = w.finish("group");
  d.disjoint = false;
  d.groups = word(squares.count);
  return WorkgroupDraft{std::move(d), "transposed: a workgroup per " + std::to_string(side) +
                                          " by " + std::to_string(side) + " elements of " +
                                          to_string(shape)};
}

}  // namespace gnomon
