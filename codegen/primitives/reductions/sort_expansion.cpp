// codegen/primitives/reductions/sort_expansion.cpp -- sorting in terms of simpler operations.
//
// Up to `network_length` elements exchange neighbours, which keeps equal ones in order: inside a
// lane everything stays in registers. Up to `counted_length`, every element counts those that come
// before it. Longer rows are cut into runs that are sorted so, and runs are merged in pairs: every
// lane of a merge finds by bisection where its part of the result begins in both runs (merge path:
// Odeh, Green, Mwassi, Shmueli, Birk, "Merge Path", IPDPSW 2012) and merges `merge_length` elements
// in turn. There are log2(n / counted_length) passes of a few kernels each: kernels of their own
// where the work is small, else those of one loop, which are made once.
#include <algorithm>

#include "codegen/lax/lax.h"
#include "codegen/operations/gather_scatter.h"
#include "codegen/operations/sort.h"
#include "gnomon/control.h"

namespace gnomon {
namespace {

constexpr Dim network_length = 8, counted_length = 64, merge_length = 16;
/// Elements from which on the passes are a loop.
constexpr Dim loop_size = 1 << 15;

using Pair = std::vector<Array>;

Array both(const Array& a, const Array& b) { return lax::logical_and(a, b); }
Array either(const Array& a, const Array& b) { return emit1(or_p, {}, {a, b}, {}); }
Array at_most(const Array& a, const Array& b) { return emit1(min_p, {}, {a, b}, {}); }
Array at_least(const Array& a, const Array& b) { return emit1(max_p, {}, {a, b}, {}); }
Array number(const Array& like, Dim n) { return lax::full_like(like, static_cast<double>(n)); }
Array plus(const Array& a, Dim n) { return lax::add(a, number(a, n)); }

/// Rows [b, n] of everything that is moved: keys first, the permutation last.
struct Rows {
  Arrays values;
  std::size_t keys = 0;

  const Array& permutation() const { return values.back(); }
  Dim batch() const { return values[0].shape()[0]; }
  Dim length() const { return values[0].shape()[1]; }
};

/// Whether keys a come strictly before keys b.
Array before(std::span<const Array> a, std::span<const Array> b) {
  const Array x = sort_key(a[0], {}), y = sort_key(b[0], {});
  const Array less = lax::lt(x, y);
  if (a.size() == 1) return less;
  return either(less, both(lax::eq(x, y), before(a.subspan(1), b.subspan(1))));
}

Arrays select_each(const Array& predicate, const Arrays& a, const Arrays& b) {
  Arrays r;
  for (std::size_t i = 0; i < a.size(); ++i) r.push_back(lax::select(predicate, a[i], b[i]));
  return r;
}

/// Odd-even transposition: n rounds of exchanges between neighbours, and only of those that are
/// out of order.
Rows by_network(const Rows& rows) {
  const Dim n = rows.length();
  std::vector<Arrays> columns;
  for (Dim i = 0; i < n; ++i) {
    Arrays column;
    for (const Array& a : rows.values) column.push_back(lax::slice_axis(a, 1, i, i + 1));
    columns.push_back(std::move(column));
  }
  for (Dim round = 0; round < n; ++round)
    for (Dim i = round % 2; i + 1 < n; i += 2) {
      Arrays &left = columns[static_cast<std::size_t>(i)],
             &right = columns[static_cast<std::size_t>(i + 1)];
      const Array swap =
          before(std::span(right).first(rows.keys), std::span(left).first(rows.keys));
      Arrays first = select_each(swap, right, left);
      right = select_each(swap, left, right);
      left = std::move(first);
    }
  Rows r{{}, rows.keys};
  for (std::size_t k = 0; k < rows.values.size(); ++k) {
    Arrays parts;
    for (const Arrays& column : columns) parts.push_back(column[k]);
    r.values.push_back(lax::concatenate(parts, 1));
  }
  return r;
}

/// Elements `indices` [b, m] of rows [b, n].
Array pick(const Array& rows, const Array& indices) {
  return emit1(gather_p, GatherParams{1, 1, GatherMode::clip}, {rows, indices}, {});
}

/// Elements `indices` of an array of rank 1.
Array pick_flat(const Array& a, const Array& indices) {
  return emit1(gather_p, GatherParams{0, 0, GatherMode::clip}, {a, indices}, {});
}

/// Sorts runs of `counted_length` elements, the last one shorter: a place is the number of elements
/// of the run that come before.
Rows by_counting(const Rows& rows) {
  const Dim b = rows.batch(), n = rows.length();
  const Dim m = std::min(n, counted_length), runs = (n + m - 1) / m;
  const Shape shape{b, runs, m}, pairs{b, runs, m, m};
  // Elements behind the end of the last run keep their places behind all others.
  const bool ragged = n % m != 0;
  const auto in_runs = [&](const Array& a) {
    const Array filler = lax::full({a.dtype(), {}}, 0);
    return lax::reshape(
        ragged ? lax::pad(a, filler, PadParams{{0, 0}, {0, runs * m - n}, {0, 0}}) : a, shape);
  };
  const auto along = [&](const Array& a, int axis) {
    return lax::broadcast(a, pairs, {0, 1, axis});
  };
  // Pair (i, j): does j come before i?
  Array earlier = lax::lt(lax::iota(DType::i32, pairs, 3), lax::iota(DType::i32, pairs, 2));
  for (std::size_t k = rows.keys; k-- > 0;) {
    const Array key = in_runs(sort_key(rows.values[k], {}));
    const Array mine = along(key, 2), theirs = along(key, 3);
    earlier = either(lax::lt(theirs, mine), both(lax::eq(theirs, mine), earlier));
  }
  const Array position = lax::reshape(lax::iota(DType::i32, {runs * m}, 0), {runs, m});
  const Array places = lax::broadcast(position, shape, {1, 2});
  if (ragged)
    earlier = both(
        earlier, lax::lt(along(places, 3), lax::full({DType::i32, pairs}, static_cast<double>(n))));
  Array place = lax::sum(lax::convert(earlier, DType::i32), {3});
  if (ragged)
    place = lax::select(lax::lt(places, number(places, n)), place, lax::iota(DType::i32, shape, 2));
  // The inverse: who goes to place i?
  const Array goes = lax::eq(along(place, 3), lax::iota(DType::i32, pairs, 2));
  const Array who = lax::sum(
      lax::select(goes, lax::iota(DType::i32, pairs, 3), lax::full({DType::i32, pairs}, 0)), {3});
  const Array first = lax::sub(places, lax::iota(DType::i32, shape, 2));
  Array source = lax::reshape(lax::add(who, first), {b, runs * m});
  if (ragged) source = lax::slice_axis(source, 1, 0, n);
  Rows r{{}, rows.keys};
  for (const Array& a : rows.values) r.values.push_back(pick(a, source));
  return r;
}

/// Rows in the order in which merging writes them: element `part * merge_length + i` of row r is
/// values[i, r * parts + part]. Rows have up to merge_length - 1 elements behind n, which are never
/// looked at.
struct Parts {
  Arrays values;
  std::size_t keys = 0;
  Dim batch = 1, n = 0;

  Dim count() const { return (n + merge_length - 1) / merge_length; }
  Dim length() const { return count() * merge_length; }
};

Parts parts_of(const Rows& rows) {
  Parts r{{}, rows.keys, rows.batch(), rows.length()};
  for (const Array& a : rows.values) {
    const Array zero = lax::full({a.dtype(), {}}, 0);
    const Array padded =
        r.length() == r.n ? a : lax::pad(a, zero, PadParams{{0, 0}, {0, r.length() - r.n}, {0, 0}});
    const Array split = lax::reshape(padded, {r.batch * r.count(), merge_length});
    r.values.push_back(lax::permute(split, {1, 0}));
  }
  return r;
}

Rows rows_of(const Parts& parts) {
  Rows r{{}, parts.keys};
  for (const Array& a : parts.values) {
    const Array rows = lax::reshape(lax::permute(a, {1, 0}), {parts.batch, parts.length()});
    r.values.push_back(parts.length() == parts.n ? rows : lax::slice_axis(rows, 1, 0, parts.n));
  }
  return r;
}

/// Merges neighbouring runs of `run` (i32[]) elements. `bisect(body, range)` repeats the body until
/// a range of `run` + 1 possibilities has been halved down to one.
template <class Bisect>
Arrays merged(const Parts& parts, const Array& run, const Bisect& bisect) {
  // One lane per part of every row: loops run by lane along the first axis.
  const Shape lanes{parts.batch * parts.count()};
  const auto full = [&](Dim x) { return lax::full({DType::i32, lanes}, static_cast<double>(x)); };
  const Array zero = full(0), n = full(parts.n), count = full(parts.count());
  const Array lane = lax::iota(DType::i32, lanes, 0);
  const Array row = parts.batch == 1 ? zero : lax::div(lane, count);
  const Array part = parts.batch == 1 ? lane : emit1(rem_p, {}, {lane, count}, {});
  // Where both runs begin, how long they are, and how many elements come before the lane's own.
  const Array size = lax::broadcast(run, lanes, {});
  const Array begin = lax::mul(part, static_cast<double>(merge_length));
  const Array left_place = emit1(and_p, {}, {begin, lax::mul(size, -2)}, {});
  const Array right_place = at_most(lax::add(left_place, size), n);
  const Array left_size = lax::sub(right_place, left_place);
  const Array right_size = lax::sub(at_most(lax::add(right_place, size), n), right_place);
  const Array done = lax::sub(begin, left_place);
  const Array first = lax::mul(row, static_cast<double>(parts.length()));
  const Array left = lax::add(first, left_place), right = lax::add(first, right_place);

  Arrays flat;
  for (const Array& a : parts.values)
    flat.push_back(lax::reshape(lax::permute(a, {1, 0}), {a.size()}));
  const std::span<const Array> keys = std::span(flat).first(parts.keys);
  const auto at = [&](std::span<const Array> values, const Array& index) {
    Arrays r;
    for (const Array& a : values) r.push_back(pick_flat(a, index));
    return r;
  };

  // How many of them are of the left run: the smallest count whose next element is not among them.
  const Pair found = bisect(
      [&](const Array&, const Pair& range) {
        const Array &low = range[0], &high = range[1];
        const Array middle = emit1(shr_p, {}, {lax::add(low, high), lax::full_like(low, 1)}, {});
        const Arrays mine = at(keys, lax::add(left, middle));
        const Arrays theirs = at(keys, lax::sub(lax::add(right, plus(done, -1)), middle));
        const Array open = lax::lt(low, high), later = before(theirs, mine);
        const Array lower = lax::select(later, low, plus(middle, 1));
        return Pair{lax::select(open, lower, low), lax::select(both(open, later), middle, high)};
      },
      Pair{at_least(zero, lax::sub(done, right_size)), at_most(done, left_size)});

  // Then one element after the other; what was taken is read anew.
  struct Heads {
    Array i, j;  // positions of both heads
    Arrays mine, theirs;
  };
  const Array i = lax::add(left, found[0]), j = lax::add(right, lax::sub(done, found[0]));
  const Array left_end = right, right_end = lax::add(right, right_size);
  return scan(
             [&](const Heads& h, None) {
               const Array has_left = lax::lt(h.i, left_end), has_right = lax::lt(h.j, right_end);
               const Array later = both(has_left, lax::unary(not_p, before(h.theirs, h.mine)));
               const Array from_left = either(later, lax::unary(not_p, has_right));
               Arrays taken = select_each(from_left, h.mine, h.theirs);
               taken.push_back(pick_flat(flat.back(), lax::select(from_left, h.i, h.j)));
               const Array next_i = lax::select(from_left, plus(h.i, 1), h.i);
               const Array next_j = lax::select(from_left, h.j, plus(h.j, 1));
               const Arrays next = at(keys, lax::select(from_left, next_i, next_j));
               return std::pair{Heads{next_i, next_j, select_each(from_left, next, h.mine),
                                      select_each(from_left, h.theirs, next)},
                                std::move(taken)};
             },
             Heads{i, j, at(keys, i), at(keys, j)}, none, {.length = merge_length})
      .second;
}

/// Halvings that leave one of `run` + 1 possibilities.
Dim halvings(Dim run) {
  Dim steps = 1;
  while ((Dim{1} << steps) < run + 1) ++steps;
  return steps;
}

Rows by_merging(const Rows& sorted_runs) {
  Parts parts = parts_of(sorted_runs);
  Dim passes = 0;
  while ((counted_length << passes) < parts.n) ++passes;
  if (parts.batch * parts.n < loop_size) {
    for (Dim pass = 0; pass < passes; ++pass) {
      const Dim run = counted_length << pass;
      parts.values = merged(parts, lax::scalar(DType::i32, static_cast<double>(run)),
                            [&](auto&& body, Pair range) {
                              return fori_loop(0, halvings(run), body, std::move(range));
                            });
    }
    return rows_of(parts);
  }
  parts.values = fori_loop(
      0, passes,
      [&](const Array& pass, const Arrays& values) {
        const Array run = emit1(
            shl_p, {}, {lax::scalar(DType::i32, static_cast<double>(counted_length)), pass}, {});
        Parts now = parts;
        now.values = values;
        return merged(now, run, [&](auto&& body, Pair range) {
          const Array steps = plus(pass, halvings(counted_length));
          return fori_loop(0, steps, body, std::move(range),
                           {.max_steps = halvings(counted_length << (passes - 1))});
        });
      },
      parts.values);
  return rows_of(parts);
}

/// Rows sorted by their keys.
Rows sorted(const Rows& rows) {
  if (rows.length() <= network_length) return by_network(rows);
  const Rows runs = by_counting(rows);
  return rows.length() <= counted_length ? runs : by_merging(runs);
}

}  // namespace

Array sort_key(const Array& x, Loc loc) {
  const DType t = x.dtype();
  if (t == DType::boolean) return lax::convert(x, DType::i32, loc);
  if (is_integer(t)) return bits_of(t) >= 32 ? x : lax::convert(x, DType::i32, loc);
  if (bits_of(t) == 16) return sort_key(lax::convert(x, DType::f32, loc), loc);
  // Bits of positive floats ascend as integers do; those of negative ones descend.
  const bool wide = t == DType::f64;
  const DType word = wide ? DType::i64 : DType::i32;
  const std::int64_t largest = wide ? INT64_MAX : INT32_MAX;
  const auto integer = [&](std::int64_t n) {
    return lax::broadcast(lax::scalar_integer(word, n, loc), x.shape(), {}, loc);
  };
  const Array bits = lax::bitcast(x, word, loc), zero = integer(0);
  const Array flipped = emit1(xor_p, {}, {bits, integer(largest)}, loc);
  // -0 would be -1.
  const Array negative = lax::select(lax::eq(bits, integer(-largest - 1), loc), zero, flipped, loc);
  const Array ordered = lax::select(lax::lt(bits, zero, loc), negative, bits, loc);
  return lax::select(lax::unary(isnan_p, x, loc), integer(largest), ordered, loc);
}

std::vector<Array> expand_sort(const Params& params, const std::vector<Array>& inputs,
                               const Target&, Loc loc) {
  const auto& p = params.as<SortParams>();
  const Shape& shape = inputs[0].shape();
  const int last = shape.rank() - 1;
  const Dim n = shape[p.axis];
  Arrays out = inputs;
  out.push_back(lax::iota(DType::i32, shape, p.axis, loc));
  if (n < 2 || shape.size() == 0) return out;
  const Dim batch = shape.size() / n;
  const auto to_rows = [&](const Array& a) {
    return lax::reshape(lax::move_axis(a, p.axis, last), {batch, n});
  };
  Shape moved = shape;
  moved.erase(p.axis);
  moved.append(n);
  const auto from_rows = [&](const Array& a) {
    return lax::move_axis(lax::reshape(a, moved), last, p.axis);
  };

  // Keys travel; everything else is fetched by the permutation in the end.
  Rows rows{{}, static_cast<std::size_t>(p.num_keys)};
  for (std::size_t k = 0; k < rows.keys; ++k) rows.values.push_back(to_rows(inputs[k]));
  rows.values.push_back(lax::iota(DType::i32, {batch, n}, 1));
  const Rows result = sorted(rows);
  const Array permutation = from_rows(result.permutation());
  for (std::size_t k = 0; k < inputs.size(); ++k)
    out[k] = k < result.keys
                 ? from_rows(result.values[k])
                 : emit1(rearrange_p, RearrangeParams{p.axis}, {inputs[k], permutation}, loc);
  out.back() = permutation;
  return out;
}

}  // namespace gnomon
