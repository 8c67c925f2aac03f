// codegen/ops/arrange.cpp -- public operations that repeat, turn, choose, join and
// split.
#include <algorithm>
#include <numeric>

#include "codegen/lax/align.h"
#include "codegen/lax/positions.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/trace/eager.h"
#include "gnomon/arrange.h"

namespace gnomon {
namespace {

/// Leading axes of length 1 until there are `rank`.
Shape widened(Shape s, int rank) {
  while (s.rank() < rank) s.insert(0, 1);
  return s;
}

Array flat_or(std::string_view op, const Operand& x, std::optional<int>& axis) {
  const Array a = align::as_array(op, x);
  if (axis) return a;
  axis = 0;
  return lax::reshape(a, Shape(a.size()), x.loc());
}

void require_parts(std::string_view op, const std::vector<Array>& parts, Loc loc) {
  if (parts.empty()) usage_error(op, "needs at least one array", loc);
}

}  // namespace

Array kron(Operand x, Operand y) {
  const Loc loc = x.loc();
  const Arrays both = [&] {
    const DType t = align::common_dtype("kron", std::array{x, y});
    return Arrays{align::in_dtype("kron", x, t), align::in_dtype("kron", y, t)};
  }();
  const int rank = std::max(both[0].rank(), both[1].rank());
  if (rank > Shape::max_rank / 2)
    usage_error("kron",
                "of " + to_string(both[0].aval()) + " and " + to_string(both[1].aval()) +
                    " needs twice their axes, and arrays have at most " +
                    std::to_string(Shape::max_rank),
                loc);
  const Shape a = widened(both[0].shape(), rank), b = widened(both[1].shape(), rank);
  Shape left, right, out;
  for (int i = 0; i < rank; ++i) {
    left.append(a[i]);
    left.append(1);
    right.append(1);
    right.append(b[i]);
    out.append(a[i] * b[i]);
  }
  return lax::reshape(
      multiply({lax::reshape(both[0], left, loc), loc}, {lax::reshape(both[1], right, loc), loc}),
      out, loc);
}

Array tile(Operand x, const Shape& repetitions) {
  Array a = align::as_array("tile", x);
  const Loc loc = x.loc();
  for (Dim r : repetitions)
    if (r < 0)
      usage_error("tile", "repetitions " + to_string(repetitions) + " hold a negative number", loc);
  const int rank = std::max(a.rank(), repetitions.rank());
  a = lax::reshape(a, widened(a.shape(), rank), loc);
  const Shape times = widened(repetitions, rank);
  for (int i = 0; i < rank; ++i) {  // one axis after the other: ranks stay within bounds
    if (times[i] == 1) continue;
    const Shape out = a.shape().with(i, a.shape()[i] * times[i]);
    if (a.rank() == Shape::max_rank) {
      a = lax::concatenate(Arrays(static_cast<std::size_t>(times[i]), a), i, loc);
      continue;
    }
    a = lax::reshape(lax::insert_axis(a, i, times[i], loc), out, loc);
  }
  return a;
}

Array repeat(Operand x, Dim count, std::optional<int> axis) {
  const Array a = flat_or("repeat", x, axis);
  const Loc loc = x.loc();
  const int along = align::axis_of("repeat", *axis, a, loc);
  if (count < 0) usage_error("repeat", std::to_string(count) + " times is negative", loc);
  if (a.rank() == Shape::max_rank)
    return repeat({a, loc}, std::vector<Dim>(static_cast<std::size_t>(a.shape()[along]), count),
                  along);
  return lax::reshape(lax::insert_axis(a, along + 1, count, loc),
                      a.shape().with(along, a.shape()[along] * count), loc);
}

Array repeat(Operand x, const std::vector<Dim>& counts, std::optional<int> axis) {
  const Array a = flat_or("repeat", x, axis);
  const Loc loc = x.loc();
  const int along = align::axis_of("repeat", *axis, a, loc);
  const Dim n = a.shape()[along];
  constexpr std::size_t most = 1024;
  if (static_cast<Dim>(counts.size()) != n || counts.size() > most)
    usage_error("repeat",
                std::to_string(counts.size()) + " counts for axis " + std::to_string(along) +
                    " of " + to_string(a.aval()) + "; one per element is needed, at most " +
                    std::to_string(most),
                loc);
  HostArray ends(Aval{DType::i32, {n}});
  Dim total = 0;
  for (Dim i = 0; i < n; ++i) {
    const Dim c = counts[static_cast<std::size_t>(i)];
    if (c < 0) usage_error("repeat", std::to_string(c) + " times is negative", loc);
    ends.set_integer(i, total += c);
  }
  if (total == 0) return lax::full({a.dtype(), a.shape().with(along, 0)}, 0, loc);
  // The element at t is the number of runs that end at or before t.
  const Shape pairs{total, n};
  const Array run_end = lax::broadcast(lax::constant(std::move(ends), loc), pairs, {1}, loc);
  const Array passed = emit1(ge_p, {}, {lax::iota(DType::i32, pairs, 0, loc), run_end}, loc);
  const Array which = lax::sum(lax::convert(passed, DType::i32, loc), {1}, loc);
  return emit1(gather_p, GatherParams{along, 0, GatherMode::clip}, {a, which}, loc);
}

std::vector<Array> meshgrid(const std::vector<Array>& vectors, GridOptions options, Loc loc) {
  const int n = static_cast<int>(vectors.size());
  if (n > Shape::max_rank)
    usage_error("meshgrid",
                "of " + std::to_string(n) + " vectors; arrays have at most " +
                    std::to_string(Shape::max_rank) + " axes",
                loc);
  const auto place = [&](int i) { return !options.matrix && n >= 2 && i < 2 ? 1 - i : i; };
  Shape all;
  for (int i = 0; i < n; ++i) {
    const Array& v = vectors[static_cast<std::size_t>(place(i))];
    if (v.rank() > 1) usage_error("meshgrid", to_string(v.aval()) + " is no vector; ravel it", loc);
    all.append(v.size());
  }
  Arrays r;
  for (int i = 0; i < n; ++i) {
    const Array& v = vectors[static_cast<std::size_t>(i)];
    const Array flat = lax::reshape(v, Shape(v.size()), loc);
    Shape shape = all;
    for (int a = 0; options.sparse && a < n; ++a)
      if (a != place(i)) shape[a] = 1;
    r.push_back(lax::broadcast(flat, shape, {place(i)}, loc));
  }
  return r;
}

Array indices(const Shape& shape, DType dtype, Loc loc) {
  return made("indices", loc, [&] {
    Arrays r;
    for (int a = 0; a < shape.rank(); ++a) r.push_back(iota(shape, a, dtype, loc));
    if (r.empty()) return lax::full({dtype, {0}}, 0, loc);
    return stack(r, 0, loc);
  });
}

Array select(const std::vector<Array>& conditions, const std::vector<Array>& choices,
             Operand otherwise) {
  if (conditions.size() != choices.size() || conditions.empty())
    usage_error("select",
                std::to_string(conditions.size()) + " conditions and " +
                    std::to_string(choices.size()) + " choices do not pair up",
                otherwise.loc());
  const Loc loc = otherwise.loc();
  return at_once("select", loc, [&]() -> Array {
    std::optional<Array> r;
    for (std::size_t i = conditions.size(); i-- > 0;)
      r = where({conditions[i], loc}, {choices[i], loc}, r ? Operand(*r, loc) : otherwise);
    return *r;
  });
}

Array choose(Operand index, const std::vector<Array>& choices, ChooseMode mode) {
  const Loc loc = index.loc();
  return at_once("choose", loc, [&]() -> Array {
    require_parts("choose", choices, loc);
    Array at = align::as_array("choose", index);
    if (!is_integer(at.dtype()))
      usage_error("choose", "the index is " + to_string(at.aval()) + "; cast it to i32", loc);
    const auto n = static_cast<Dim>(choices.size());
    // Narrow integers need not count all choices.
    if (size_of(at.dtype()) < 4) at = positions::cut_to_i32(at, loc);
    if (mode == ChooseMode::wrap) at = remainder({at, loc}, {n, loc});
    Array r = choices.back();
    for (Dim i = n - 1; i-- > 0;) {
      // Clipped: what is below the first means the first.
      const Array here = i == 0 ? less_equal({at, loc}, {i, loc}) : equal({at, loc}, {i, loc});
      r = where({here, loc}, {choices[static_cast<std::size_t>(i)], loc}, {r, loc});
    }
    return n == 1 ? align::broadcast("choose", r,
                                     align::broadcast_shape(
                                         "choose", std::array{Operand(r, loc), Operand(at, loc)}),
                                     loc)
                  : r;
  });
}

Array roll(Operand x, Dim shift) {
  const Array a = align::as_array("roll", x);
  const Loc loc = x.loc();
  return lax::reshape(roll({lax::reshape(a, Shape(a.size()), loc), loc}, shift, 0), a.shape(), loc);
}

Array roll(Operand x, const std::vector<Dim>& shifts, const std::vector<int>& axes) {
  Array a = align::as_array("roll", x);
  if (shifts.size() != axes.size())
    usage_error("roll",
                std::to_string(shifts.size()) + " shifts and " + std::to_string(axes.size()) +
                    " axes do not pair up",
                x.loc());
  for (std::size_t i = 0; i < axes.size(); ++i) a = roll({a, x.loc()}, shifts[i], axes[i]);
  return a;
}

Array rot90(Operand x, int times, std::pair<int, int> axes) {
  const Array a = align::as_array("rot90", x);
  const Loc loc = x.loc();
  const int first = align::axis_of("rot90", axes.first, a, loc);
  const int second = align::axis_of("rot90", axes.second, a, loc);
  if (first == second)
    usage_error("rot90", "axis " + std::to_string(first) + " is named twice", loc);
  const int turns = (times % 4 + 4) % 4;
  if (turns == 0) return a;
  if (turns == 2) return lax::reverse(a, {std::min(first, second), std::max(first, second)}, loc);
  const auto swapped = [&](const Array& m) { return swapaxes({m, loc}, first, second); };
  return turns == 1 ? swapped(lax::reverse(a, {second}, loc))
                    : lax::reverse(swapped(a), {second}, loc);
}

Array flipud(Operand x) { return flip(x, 0); }
Array fliplr(Operand x) { return flip(x, 1); }

namespace {

/// Every part with its rank raised by `raise`.
template <class F>
Arrays raised(std::string_view op, const std::vector<Array>& parts, Loc loc, F&& raise) {
  require_parts(op, parts, loc);
  Arrays r;
  for (const Array& a : parts) r.push_back(lax::reshape(a, raise(a.shape()), loc));
  return r;
}

}  // namespace

Array hstack(const std::vector<Array>& parts, Loc loc) {
  const Arrays r = raised("hstack", parts, loc, [](const Shape& s) { return widened(s, 1); });
  return concatenate(r, r[0].rank() == 1 ? 0 : 1, loc);
}

Array vstack(const std::vector<Array>& parts, Loc loc) {
  return concatenate(raised("vstack", parts, loc, [](const Shape& s) { return widened(s, 2); }), 0,
                     loc);
}

Array dstack(const std::vector<Array>& parts, Loc loc) {
  const auto deep = [](const Shape& s) {
    const Shape two = widened(s, 2);
    return two.rank() == 2 ? two.with_inserted(2, 1) : two;
  };
  return concatenate(raised("dstack", parts, loc, deep), 2, loc);
}

Array column_stack(const std::vector<Array>& parts, Loc loc) {
  const auto column = [](const Shape& s) { return s.rank() < 2 ? Shape(s.size(), Dim{1}) : s; };
  return concatenate(raised("column_stack", parts, loc, column), 1, loc);
}

std::vector<Array> array_split(Operand x, int parts, int axis) {
  const Array a = align::as_array("array_split", x);
  const int along = align::axis_of("array_split", axis, a, x.loc());
  if (parts < 1)
    usage_error("array_split", std::to_string(parts) + " parts; give 1 or more", x.loc());
  const Dim n = a.shape()[along], each = n / parts, longer = n % parts;
  Arrays r;
  Dim start = 0;
  for (int i = 0; i < parts; ++i) {
    const Dim stop = start + each + (i < longer ? 1 : 0);
    r.push_back(lax::slice_axis(a, along, start, stop, x.loc()));
    start = stop;
  }
  return r;
}

std::vector<Array> array_split(Operand x, const std::vector<Dim>& positions, int axis) {
  const Array a = align::as_array("array_split", x);
  const int along = align::axis_of("array_split", axis, a, x.loc());
  const Dim n = a.shape()[along];
  Arrays r;
  Dim start = 0;
  const auto cut = [&](Dim stop) {
    r.push_back(lax::slice_axis(a, along, std::min(start, stop), stop, x.loc()));
    start = stop;
  };
  for (Dim p : positions) cut(std::clamp<Dim>(p < 0 ? p + n : p, 0, n));
  cut(n);
  return r;
}

namespace {

std::vector<Array> split_along(std::string_view op, const Operand& x, int parts, int axis) {
  const Array a = align::as_array(op, x);
  if (a.rank() <= axis)
    usage_error(op, to_string(a.aval()) + " has no axis " + std::to_string(axis) + " to be split",
                x.loc());
  return split(x, parts, axis);
}

}  // namespace

std::vector<Array> hsplit(Operand x, int parts) {
  return split_along("hsplit", x, parts, align::as_array("hsplit", x).rank() == 1 ? 0 : 1);
}
std::vector<Array> vsplit(Operand x, int parts) { return split_along("vsplit", x, parts, 0); }
std::vector<Array> dsplit(Operand x, int parts) { return split_along("dsplit", x, parts, 2); }

}  // namespace gnomon
