// codegen/simplify/join_sums.cpp -- sums of arrays that lie beside one another, which are one array
// joined of them.
//
// The cotangent of an array that is taken apart by slices is such a sum: each slice's, with zeros
// around. As a sum every element costs all of the parts, and what lies where is lost to whoever
// writes it.
#include <algorithm>

#include "codegen/base/lists.h"
#include "codegen/operations/op_params.h"
#include "codegen/operations/table.h"
#include "codegen/simplify/rewriter.h"

namespace gnomon {
namespace {

constexpr std::size_t most_segments = 8;
/// Neighbours in memory that a segment has at least: shorter ones are a lane's own few numbers.
constexpr Dim shortest_run = 16;

/// A part of an array along an axis: elements of `part`, or one number everywhere.
struct Segment {
  std::optional<ValueId> part;
  std::optional<HostArray> number;
  Dim length = 0;
};
struct Joined {
  int axis = -1;
  std::vector<Segment> segments;
};

std::optional<Joined> joined(const Rewriter& r, ValueId v) {
  Joined j;
  if (const Equation* e = r.maker(v, concatenate_p)) {
    j.axis = e->params.as<AxisParams>().axis;
    for (ValueId part : e->inputs) {
      const Dim length = r.aval(part).shape[j.axis];
      const HostArray* number = r.uniform(part);
      j.segments.push_back(number ? Segment{{}, *number, length} : Segment{part, {}, length});
    }
    return j;
  }
  const Equation* e = r.maker(v, pad_p);
  if (!e || !r.uniform(e->inputs[1])) return std::nullopt;
  const auto& p = e->params.as<PadParams>();
  for (std::size_t a = 0; a < p.lo.size(); ++a) {
    if (p.interior[a] != 0 || p.lo[a] < 0 || p.hi[a] < 0) return std::nullopt;
    if (p.lo[a] == 0 && p.hi[a] == 0) continue;
    if (j.axis >= 0) return std::nullopt;
    j.axis = static_cast<int>(a);
    const HostArray& number = *r.uniform(e->inputs[1]);
    if (p.lo[a] > 0) j.segments.push_back({{}, number, p.lo[a]});
    j.segments.push_back({e->inputs[0], {}, r.aval(e->inputs[0]).shape[j.axis]});
    if (p.hi[a] > 0) j.segments.push_back({{}, number, p.hi[a]});
  }
  return j.axis >= 0 ? std::optional(std::move(j)) : std::nullopt;
}

}  // namespace

std::optional<ValueId> joined_sum(Rewriter& r, ValueId left, ValueId right, Loc loc) {
  if (!r.maker(left, pad_p) && !r.maker(right, pad_p)) return std::nullopt;
  auto a = joined(r, left), b = joined(r, right);
  if (!a || !b || a->axis != b->axis) return std::nullopt;
  const Shape shape = r.aval(left).shape;
  const Dim inner = shape.part(a->axis + 1, shape.rank()).size();
  // Segments of both, cut where one of them ends; what is a part stays in one piece.
  struct Pair {
    Segment a, b;
    Dim length;
  };
  std::vector<Pair> pairs;
  for (auto x = a->segments.begin(), y = b->segments.begin(); x != a->segments.end();) {
    const Dim length = std::min(x->length, y->length);
    const bool cuts = (x->part && x->length != length) || (y->part && y->length != length);
    if (cuts || (x->part && y->part) || length * inner < shortest_run ||
        pairs.size() == most_segments)
      return std::nullopt;
    pairs.push_back({*x, *y, length});
    // What is left of a number goes on. A part that was begun has its whole length left.
    for (auto* s : {&x, &y})
      if (((*s)->length -= length) == 0) ++*s;
  }
  std::vector<ValueId> parts;
  for (const Pair& p : pairs) {
    const Shape part = shape.with(a->axis, p.length);
    const auto value = [&](const Segment& s) {
      return s.part ? *s.part : r.full(*s.number, part, loc);
    };
    parts.push_back(r.emit1(add_p, {}, {value(p.a), value(p.b)}, loc));
  }
  return r.emit1(concatenate_p, AxisParams{a->axis}, std::move(parts), loc);
}

}  // namespace gnomon
