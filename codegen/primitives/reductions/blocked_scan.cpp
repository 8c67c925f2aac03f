// codegen/primitives/reductions/blocked_scan.cpp -- three phases: blocks, their totals, both
// together. Lines whose elements are neighbours are cut in runs that a lane holds in registers.
#include "codegen/primitives/reductions/blocked_scan.h"

#include <algorithm>

#include "codegen/lax/lax.h"
#include "codegen/operations/control.h"
#include "codegen/primitives/matrix.h"
#include "codegen/trace/trace.h"

namespace gnomon {
namespace {

/// Lines up to this long are walked in one go.
constexpr Dim short_line = 2048;
/// Blocks have at least this many elements, and at most so many that no driver's loop budget ends.
constexpr Dim least_block = 64, most_block = 16384;

/// [before, along, behind]: the shape of an array with all other axes merged.
Shape three(const Shape& s, int axis) {
  return {s.part(0, axis).size(), s[axis], s.part(axis + 1, s.rank()).size()};
}

/// Rows x[along, lanes], each combined with all in front of it.
Arrays walk(const Running& f, const Arrays& rows, bool reverse, Loc loc) {
  const Dim length = rows[0].shape()[0], lanes = rows[0].shape()[1];
  const auto n = rows.size();
  GraphPtr body;
  {
    Trace t;
    t.loc = loc;
    Arrays before, here;
    for (const Array& r : rows) before.push_back(t.input({r.dtype(), {lanes}}));
    for (const Array& r : rows) here.push_back(t.input({r.dtype(), {lanes}}));
    const Arrays now = f.combine(before, here);
    Arrays twice = now;  // carried on, and a row of the result
    twice.insert(twice.end(), now.begin(), now.end());
    body = std::make_shared<const Graph>(t.finish(twice));
  }
  Arrays operands;
  for (const Array& one : f.identity(rows))
    operands.push_back(lax::broadcast(one, {lanes}, {}, loc));
  operands.insert(operands.end(), rows.begin(), rows.end());
  const Arrays out =
      emit(scan_p, ScanParams{body, static_cast<int>(n), static_cast<int>(n), length, reverse},
           operands, loc);
  return {out.begin() + static_cast<std::ptrdiff_t>(n), out.end()};
}

template <class F>
Arrays each(const Arrays& x, F&& f) {
  Arrays r;
  for (const Array& a : x) r.push_back(f(a));
  return r;
}

/// The middle axis of x[before, blocks * size, behind] in blocks, walked block by block.
Arrays walk_blocks(const Running& f, const Arrays& x, Dim blocks, bool reverse, Loc loc) {
  const Shape& s = x[0].shape();
  const Dim size = s[1] / blocks;
  const Shape cut{s[0], blocks, size, s[2]}, transposed{size, s[0], blocks, s[2]};
  const Arrays rows = each(x, [&](const Array& a) {
    const Array front = lax::permute(lax::reshape(a, cut, loc), {2, 0, 1, 3}, loc);
    return lax::reshape(front, {size, s[0] * blocks * s[2]}, loc);
  });
  return each(walk(f, rows, reverse, loc), [&](const Array& a) {
    return lax::permute(lax::reshape(a, transposed, loc), {1, 2, 0, 3}, loc);
  });
}

/// Lines that are not worth cutting in runs.
constexpr Dim shortest_in_runs = 512;
/// Elements of a line that a lane holds at a time, each of so many 4-byte words: on a CPU starting
/// a kernel costs what thousands of elements do, so there are fewer levels; a GPU's neighbouring
/// lanes should read close by. Of several words a run of 64 would be a kernel that drivers compile
/// for seconds (lavapipe 3 s for linear_recurrence, its version 25 20 s for a running sum of f64).
Dim run_length(Dim n, std::size_t words, const Target& target) {
  return target.contiguous_per_lane && n >= Dim{1} << 14 && words == 1 ? 64 : 16;
}

/// Column `j` of every array.
Arrays column(const Arrays& x, Dim j, Loc loc) {
  return each(x, [&](const Array& a) {
    return lax::reshape(lax::slice_axis(a, 1, j, j + 1, loc), {a.shape()[0]}, loc);
  });
}

/// The columns of x[lanes, run], each combined with all in front of it; calls keep(j, column).
template <class Keep>
void walk_run(const Running& f, const Arrays& x, const Arrays* before, bool reverse, Loc loc,
              Keep&& keep) {
  const Dim run = x[0].shape()[1];
  Arrays sum;
  for (Dim step = 0; step < run; ++step) {
    const Dim j = reverse ? run - 1 - step : step;
    const Arrays here = column(x, j, loc);
    sum = step > 0 ? f.combine(sum, here) : before != nullptr ? f.combine(*before, here) : here;
    keep(static_cast<std::size_t>(j), sum);
  }
}

/// What x[lines, blocks] gives without its own element.
Arrays in_front_of(const Running& f, const Arrays& x, bool reverse, Loc loc) {
  const Arrays identity = f.identity(x);
  Arrays r;
  const Dim lo = reverse ? -1 : 1;
  for (std::size_t i = 0; i < x.size(); ++i)
    r.push_back(lax::pad(x[i], identity[i], {{0, lo}, {0, -lo}, {0, 0}}, loc));
  return r;
}

Arrays scan_middle(const Running&, Arrays x, bool reverse, const Target&, Loc);

/// x[lines, along]: every run's total, what is in front of every run, and the runs with that. Reads
/// and writes contiguously, two elements in for one out.
Arrays scan_runs(const Running& f, Arrays x, bool reverse, const Target& target, Loc loc) {
  const Dim lines = x[0].shape()[0], n = x[0].shape()[1];
  if (n <= shortest_in_runs) {
    const auto with_shape = [&](const Arrays& a, const Shape& s) {
      return each(a, [&](const Array& y) { return lax::reshape(y, s, loc); });
    };
    return with_shape(scan_middle(f, with_shape(x, {lines, n, 1}), reverse, target, loc),
                      {lines, n});
  }
  std::size_t words = 0;
  for (const Array& a : x) words += std::max<std::size_t>(1, size_of(a.dtype()) / 4);
  const Dim run = run_length(n, words, target), blocks = (n + run - 1) / run,
            rest = blocks * run - n, lanes = lines * blocks;
  const Arrays identity = f.identity(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (rest > 0)
      x[i] = lax::pad(x[i], identity[i], {{0, reverse ? rest : 0}, {0, reverse ? 0 : rest}, {0, 0}},
                      loc);
    x[i] = lax::reshape(x[i], {lanes, run}, loc);
  }
  Arrays totals;
  walk_run(f, x, nullptr, reverse, loc, [&](std::size_t, const Arrays& sum) { totals = sum; });
  totals = each(totals, [&](const Array& a) { return lax::reshape(a, {lines, blocks}, loc); });
  const Arrays before =
      each(in_front_of(f, scan_runs(f, totals, reverse, target, loc), reverse, loc),
           [&](const Array& a) { return lax::reshape(a, {lanes}, loc); });
  Arrays operands = before;
  operands.insert(operands.end(), x.begin(), x.end());
  const Arrays done = matrix::by_matrix(operands, [&](const Arrays& in) {
    const auto middle = in.begin() + static_cast<std::ptrdiff_t>(x.size());
    const Arrays front(in.begin(), middle), own(middle, in.end());
    std::vector<Arrays> columns(x.size(), Arrays(static_cast<std::size_t>(run)));
    walk_run(f, own, &front, reverse, loc, [&](std::size_t j, const Arrays& sum) {
      for (std::size_t i = 0; i < sum.size(); ++i)
        columns[i][j] = lax::reshape(sum[i], {lanes, 1}, loc);
    });
    Arrays r;
    for (const Arrays& c : columns) r.push_back(lax::concatenate(c, 1, loc));
    return r;
  });
  return each(done, [&](const Array& a) {
    const Dim first = reverse ? rest : 0;
    return lax::slice_axis(lax::reshape(a, {lines, blocks * run}, loc), 1, first, first + n, loc);
  });
}

/// x[before, along, behind].
Arrays scan_middle(const Running& f, Arrays x, bool reverse, const Target& target, Loc loc) {
  const Shape s = x[0].shape();
  const Dim n = s[1], lines = s[0] * s[2];
  if (s[2] == 1 && n > shortest_in_runs) {
    const Arrays rows = each(x, [&](const Array& a) { return lax::reshape(a, {lines, n}, loc); });
    return each(scan_runs(f, rows, reverse, target, loc),
                [&](const Array& a) { return lax::reshape(a, s, loc); });
  }
  if (n <= short_line || (n <= most_block && lines >= target.parallel_lanes))
    return each(walk_blocks(f, x, 1, reverse, loc),
                [&](const Array& a) { return lax::reshape(a, s, loc); });
  const Dim wanted = std::max<Dim>(2, static_cast<Dim>(target.parallel_lanes) / lines);
  Dim blocks = std::max(std::min(wanted, n / least_block), (n + most_block - 1) / most_block);
  const Dim size = (n + blocks - 1) / blocks;
  blocks = (n + size - 1) / size;
  const Dim rest = blocks * size - n;
  const Arrays identity = f.identity(x);
  for (std::size_t i = 0; i < x.size() && rest > 0; ++i)
    x[i] = lax::pad(x[i], identity[i],
                    {{0, reverse ? rest : 0, 0}, {0, reverse ? 0 : rest, 0}, {0, 0, 0}}, loc);
  const Arrays inside = walk_blocks(f, x, blocks, reverse, loc);  // [before, blocks, size, behind]
  const Arrays totals = each(inside, [&](const Array& a) {
    const Dim last = reverse ? 0 : size - 1;
    return lax::reshape(lax::slice_axis(a, 2, last, last + 1, loc), {s[0], blocks, s[2]}, loc);
  });
  Arrays in_front = scan_middle(f, totals, reverse, target, loc);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Dim lo = reverse ? -1 : 1;
    const Array moved =
        lax::pad(in_front[i], identity[i], {{0, lo, 0}, {0, -lo, 0}, {0, 0, 0}}, loc);
    in_front[i] = lax::broadcast(moved, inside[i].shape(), {0, 1, 3}, loc);
  }
  const Dim first = reverse ? rest : 0;
  return each(f.combine(in_front, inside), [&](const Array& a) {
    const Array line = lax::reshape(a, {s[0], blocks * size, s[2]}, loc);
    return lax::slice_axis(line, 1, first, first + n, loc);
  });
}

}  // namespace

Arrays blocked_scan(const Running& f, const Arrays& x, int axis, bool reverse, const Target& target,
                    Loc loc) {
  const Shape& shape = x[0].shape();
  if (shape.size() == 0 || shape[axis] == 1) {
    // One element still meets the identity: y[0] = a[0] * 0 + b[0].
    const Arrays identity = f.identity(x);
    Arrays ones;
    for (std::size_t i = 0; i < x.size(); ++i)
      ones.push_back(lax::broadcast(identity[i], shape, {}, loc));
    return shape.size() == 0 ? x : f.combine(ones, x);
  }
  const Arrays merged =
      each(x, [&](const Array& a) { return lax::reshape(a, three(shape, axis), loc); });
  return each(scan_middle(f, merged, reverse, target, loc),
              [&](const Array& a) { return lax::reshape(a, shape, loc); });
}

}  // namespace gnomon
