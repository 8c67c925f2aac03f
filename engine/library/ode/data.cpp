// engine/library/ode/data.cpp -- data between its points, and what is missing of it.
#include "gnomon/ode/data.h"

#include <limits>

#include "engine/library/ode/control.h"
#include "engine/library/ode/search.h"
#include "gnomon/arrange.h"
#include "gnomon/cumulative.h"
#include "gnomon/indexing.h"
#include "gnomon/numeric.h"
#include "gnomon/ops.h"

namespace gnomon::ode::detail {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// The piece that a time is in, and how far.
struct Place {
  Array piece, x;
};
Place place(const Array& ts, const Operand& t) {
  const Array at = cast(t, ts.dtype());
  // At a point the piece before it.
  const Array piece = last_before(nextafter(at, -std::numeric_limits<double>::infinity()),
                                  zeros({}, DType::i32), static_cast<int>(ts.dim(0) - 1),
                                  ts.dim(0) - 1, [&](const Array& i) { return ts[i]; });
  return {piece, at - ts[piece]};
}

/// ts[n] as [n, 1, ..], for arrays of that rank.
Array beside(const Array& ts, const Array& y) {
  Shape shape(std::vector<Dim>(static_cast<std::size_t>(y.rank()), 1));
  shape[0] = ts.dim(0);
  return cast(reshape(ts, shape), y.dtype());
}

/// Values of which some are missing.
struct Gaps {
  Array known;           // bool[n, ..]
  Array values;          // 0 where one is missing
  Array before, behind;  // i32[n, ..]: the row of the nearest one, itself included; -1 and n: none
};
Gaps gaps_of(const Array& y) {
  const Dim n = y.dim(0);
  Gaps g;
  g.known = !isnan(y);
  // What is NaN must not meet a derivative, whose product with 0 it would not lose.
  g.values = where(g.known, y, 0);
  const Array row = iota(y.shape(), 0);
  g.before = cummax(where(g.known, row, -1), 0);
  g.behind = cummin(where(g.known, row, static_cast<int>(n)), 0, {.reverse = true});
  return g;
}

Array rows(const Array& x, const Array& index) {
  return take_along_axis(x, clip(index, 0, x.dim(0) - 1), 0);
}

/// With both ends as `missing` says.
Array with_ends(const Array& y, const MissingData& missing) {
  Array result = y;
  if (missing.replace_nans_at_start) {
    const Operand& by = *missing.replace_nans_at_start;
    result = where(gaps_of(result).before < 0, cast(by, y.dtype()), result);
  }
  if (missing.fill_forward_nans_at_end) {
    const Gaps g = gaps_of(result);
    const Array last = where(g.before < 0, nan, rows(g.values, g.before));
    result = where(g.behind == y.dim(0), last, result);
  }
  return result;
}

Array first_rows(const Array& x, Dim n) { return slice_axis(x, 0, 0, n); }
Array last_rows(const Array& x, Dim n) { return slice_axis(x, 0, x.dim(0) - n, x.dim(0)); }

/// d, c, b, a of the pieces of one array.
PathArrays hermite(const Array& ts, const Array& y, const std::optional<Array>& deriv0,
                   const MissingData& missing) {
  const Dim n = y.dim(0);
  const Gaps g = gaps_of(with_ends(y, missing));
  const Array t = broadcast_to(beside(ts, y), y.shape());
  const auto slope = [&](const Array& from, const Array& to) {
    const Array h = rows(t, to) - rows(t, from);
    return (rows(g.values, to) - rows(g.values, from)) / where(h == 0, 1, h);
  };
  // The slope at each value from the one before it.
  const Array none = full_like(first_rows(g.before, 1), -1);
  const Array preceding = n > 1 ? concatenate({none, first_rows(g.before, n - 1)}) : none;
  const Array backward = slope(preceding, iota(y.shape(), 0));

  const Array from = first_rows(g.before, n - 1), to = last_rows(g.behind, n - 1);
  const Array inside = from >= 0 && to < n;
  const Array line = slope(from, to);
  const Array first = deriv0 ? cast(*deriv0, y.dtype()) : line;
  const Array k = where(rows(preceding, from) >= 0, rows(backward, from), first);
  Array h = rows(t, to) - rows(t, from);
  h = where(h == 0, 1, h);
  const Array c = 2 * (line - k) / h, d = (k - line) / (h * h);
  // From where the interval begins, which may be behind where its piece does.
  const Array u = first_rows(t, n - 1) - rows(t, from);
  const auto held = [&](const Array& x) { return where(inside, x, nan); };
  return {held(d), held(c + 3 * d * u), held(k + u * (2 * c + 3 * d * u)),
          held(rows(g.values, from) + u * (k + u * (c + u * d)))};
}

}  // namespace

Array knots(const DataOf& data, const Times& ts, Dim more, Loc loc) {
  const auto fail = [&](const std::string& what) { usage_error(data.name, what, loc); };
  bool wide = false;
  for (std::size_t i = 0; i < data.ys.size(); ++i) {
    const Array& y = data.ys[i];
    if (!is_float(y.dtype()) || y.rank() == 0)
      fail("`" + data.paths[i] + "` is " + to_string(y.aval()) +
           "; data are floats with a leading axis of times");
    wide = wide || y.dtype() == DType::f64;
  }
  const std::vector<double>& known = ts.values();
  for (std::size_t i = 1; !ts.array() && i < known.size(); ++i)
    if (!(known[i] > known[i - 1]))
      fail("times " + std::to_string(i - 1) + " and " + std::to_string(i) + " are " +
           to_string(Scalar(known[i - 1])) + " and " + to_string(Scalar(known[i])) +
           "; they have to ascend");
  const Array times = ts.array()   ? *ts.array()
                      : ts.empty() ? zeros({0})
                                   : array_of(ts, wide ? DType::f64 : DType::f32);
  if (times.rank() != 1 || !is_float(times.dtype()) || times.dim(0) < 2)
    fail("the times are " + to_string(times.aval()) + "; give two or more numbers");
  for (std::size_t i = 0; i < data.ys.size(); ++i)
    if (data.ys[i].dim(0) + more != times.dim(0))
      fail("`" + data.paths[i] + "` is " + to_string(data.ys[i].aval()) + " and there are " +
           std::to_string(times.dim(0)) + " times; its first axis has " +
           (more == 0 ? "one row for each of them" : "one piece between each two of them"));
  return times;
}

PathArrays piece_at(const Array& ts, const std::vector<PathArrays>& powers, const Operand& t,
                    bool derivative) {
  const Place p = place(ts, t);
  PathArrays result;
  for (std::size_t i = 0; i < powers[0].size(); ++i) {
    const auto power = [&](std::size_t k) { return powers[k][i][p.piece]; };
    const Array x = cast(p.x, powers[0][i].dtype());
    const std::size_t n = powers.size();
    Array sum = derivative ? static_cast<double>(n - 1) * power(n - 1) : power(n - 1);
    for (std::size_t k = n - 1; k-- > (derivative ? 1U : 0U);)
      sum = (derivative ? static_cast<double>(k) * power(k) : power(k)) + x * sum;
    result.push_back(sum);
  }
  return result;
}

PathArrays line_at(const Array& ts, const PathArrays& ys, const Operand& t, bool derivative) {
  const Place p = place(ts, t);
  const Array length = ts[p.piece + 1] - ts[p.piece];
  PathArrays result;
  for (const Array& y : ys) {
    const Array from = y[p.piece], change = y[p.piece + 1] - from;
    result.push_back(derivative ? change / cast(length, y.dtype())
                                : from + change * cast(p.x / length, y.dtype()));
  }
  return result;
}

PathArrays difference(const PathArrays& to, const PathArrays& from) {
  PathArrays result;
  for (std::size_t i = 0; i < to.size(); ++i) result.push_back(to[i] - from[i]);
  return result;
}

PathArrays fill_linearly(const Array& ts, const PathArrays& ys, const MissingData& missing) {
  PathArrays result;
  for (const Array& y : ys) {
    const Array all = with_ends(y, missing);
    const Gaps g = gaps_of(all);
    const Array t = broadcast_to(beside(ts, y), y.shape());
    const Array from = rows(t, g.before), h = rows(t, g.behind) - from;
    const Array before = rows(g.values, g.before);
    const Array line =
        before + (rows(g.values, g.behind) - before) * ((t - from) / where(h == 0, 1, h));
    result.push_back(where(g.known, all, where(g.before >= 0 && g.behind < y.dim(0), line, nan)));
  }
  return result;
}

PathArrays fill_rectilinearly(const PathArrays& ys, const MissingData& missing) {
  PathArrays result;
  for (const Array& y : ys) {
    const Gaps g = gaps_of(with_ends(y, missing));
    const Array held = where(g.before >= 0, rows(g.values, g.before), nan);
    result.push_back(first_rows(repeat(held, 2, 0), 2 * y.dim(0) - 1));
  }
  return result;
}

Array twice(const Array& ts) { return last_rows(repeat(ts, 2, 0), 2 * ts.dim(0) - 1); }

std::vector<PathArrays> hermite_powers(const Array& ts, const PathArrays& ys,
                                       const std::optional<PathArrays>& deriv0,
                                       const MissingData& missing) {
  std::vector<PathArrays> powers(4);
  for (std::size_t i = 0; i < ys.size(); ++i) {
    const PathArrays one =
        hermite(ts, ys[i], deriv0 ? std::optional((*deriv0)[i]) : std::nullopt, missing);
    for (std::size_t k = 0; k < 4; ++k) powers[k].push_back(one[k]);
  }
  return powers;
}

}  // namespace gnomon::ode::detail
