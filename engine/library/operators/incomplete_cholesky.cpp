// engine/library/operators/incomplete_cholesky.cpp -- Cholesky's factors without fill, and how they
// are applied.
#include <algorithm>
#include <cmath>

#include "engine/library/operators/entries.h"
#include "gnomon/arrange.h"
#include "gnomon/loops.h"
#include "gnomon/operators/preconditioner.h"

namespace gnomon::operators {
namespace {

using Arrays = std::vector<Array>;

class TwoSolves final : public Map {
 public:
  TwoSolves(Operator lower, Array diagonal, Dim sweeps)
      : Map(lower.in(), lower.in(), {.positive_semidefinite = true}, "incomplete_cholesky"),
        lower_(std::move(lower)),
        diagonal_(std::move(diagonal)),
        sweeps_(sweeps) {}
  Arrays mv(const Arrays& x, Loc loc) const override {
    const Array block = reshape(x[0], {x[0].size(), 1});
    return {reshape(mm({block}, loc)[0], {x[0].size()})};
  }
  Arrays mm(const Arrays& x, Loc loc) const override {
    return {solved(lower_.transpose(loc), solved(lower_, x[0], loc), loc)};
  }

 private:
  /// (D + N)^-1 b, N the triangle beside the diagonal.
  Array solved(const Operator& n, const Array& b, Loc loc) const {
    const Array d = expand_dims(diagonal_, -1), first = b / d;
    if (sweeps_ <= 1) return first;
    const auto sweep = [&](const Array&, const Array& z) { return first - n.mm(z, loc) / d; };
    return fori_loop(0, static_cast<std::int32_t>(sweeps_ - 1), sweep, first, {}, loc);
  }

  Operator lower_;
  Array diagonal_;
  Dim sweeps_;
};

/// The lower triangle of a symmetric matrix by rows, on the host.
struct Lower {
  std::vector<std::size_t> offsets;  // of the rows, the last entry of each is the diagonal
  std::vector<std::int32_t> columns;
  std::vector<double> values;
};

std::string place(const Triplets& t, std::size_t e) {
  return "(" + std::to_string(t.row[e]) + ", " + std::to_string(t.column[e]) + ")";
}

Lower lower_of(const Triplets& t, Loc loc) {
  constexpr std::string_view op = "operators::incomplete_cholesky";
  if (t.rows != t.columns)
    usage_error(op,
                "the matrix is " + std::to_string(t.rows) + " x " + std::to_string(t.columns) +
                    "; a square one is needed",
                loc);
  const auto n = static_cast<std::size_t>(t.rows);
  // Entries of the upper triangle come column by column, in each by rows: as those of the lower
  // one, which they have to equal, when they are gone through by rows.
  std::vector<std::size_t> start(n + 1, 0), next;
  for (std::size_t e = 0; e < t.row.size(); ++e)
    if (t.row[e] >= t.column[e]) ++start[static_cast<std::size_t>(t.row[e]) + 1];
  for (std::size_t i = 0; i < n; ++i) start[i + 1] += start[i];
  next.assign(start.begin(), start.end() - 1);
  Lower l{start, {}, {}};
  for (std::size_t e = 0; e < t.row.size(); ++e)
    if (t.row[e] >= t.column[e]) {
      l.columns.push_back(t.column[e]);
      l.values.push_back(t.value[e]);
    }
  const auto unequal = [&](std::size_t e) {
    usage_error(op,
                "entry " + place(t, e) +
                    " has no equal one on the other side of the diagonal; the matrix has to be "
                    "symmetric",
                loc);
  };
  for (std::size_t e = 0; e < t.row.size(); ++e) {
    if (t.row[e] > t.column[e]) continue;
    const auto j = static_cast<std::size_t>(t.column[e]);
    const std::size_t at = next[j]++;
    if (at >= start[j + 1] || l.columns[at] != t.row[e] || l.values[at] != t.value[e]) unequal(e);
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t at = next[i]; at < start[i + 1]; ++at)
      usage_error(op,
                  "entry (" + std::to_string(i) + ", " + std::to_string(l.columns[at]) +
                      ") has no equal one on the other side of the diagonal; the matrix has to be "
                      "symmetric",
                  loc);
    const bool has =
        start[i + 1] > start[i] && l.columns[start[i + 1] - 1] == static_cast<std::int32_t>(i);
    const double d = has ? l.values[start[i + 1] - 1] : 0;
    if (!(d > 0) || !std::isfinite(d))
      usage_error(op,
                  "element (" + std::to_string(i) + ", " + std::to_string(i) +
                      ") of the diagonal is " + to_string(Scalar(d)) + "; all have to be positive",
                  loc);
  }
  return l;
}

/// False where a pivot is not positive.
bool factorise(Lower& l, double shift) {
  for (std::size_t i = 0; i + 1 < l.offsets.size(); ++i) {
    const std::size_t first = l.offsets[i], last = l.offsets[i + 1] - 1;
    double pivot = l.values[last] * (1 + shift);
    for (std::size_t at = first; at < last; ++at) {
      // Row k of L against this one, as far as it is known.
      const auto k = static_cast<std::size_t>(l.columns[at]);
      double sum = l.values[at];
      std::size_t a = first, b = l.offsets[k];
      const std::size_t end = l.offsets[k + 1] - 1;
      while (a < at && b < end) {
        if (l.columns[a] == l.columns[b])
          sum -= l.values[a++] * l.values[b++];
        else
          ++(l.columns[a] < l.columns[b] ? a : b);
      }
      l.values[at] = sum / l.values[end];
      pivot -= l.values[at] * l.values[at];
    }
    if (!(pivot > 0) || !std::isfinite(pivot)) return false;
    l.values[last] = std::sqrt(pivot);
  }
  return true;
}

Dim levels_of(const Lower& l) {
  std::vector<Dim> level(l.offsets.size() - 1, 1);
  Dim most = 0;
  for (std::size_t i = 0; i < level.size(); ++i) {
    for (std::size_t at = l.offsets[i]; at + 1 < l.offsets[i + 1]; ++at)
      level[i] = std::max(level[i], level[static_cast<std::size_t>(l.columns[at])] + 1);
    most = std::max(most, level[i]);
  }
  return most;
}

}  // namespace

IncompleteCholesky::operator Operator() const {
  return Operator(std::make_shared<TwoSolves>(Operator(lower), diagonal, sweeps));
}

IncompleteCholesky incomplete_cholesky(Runtime& rt, const Triplets& given,
                                       IncompleteCholeskyOf options, Loc loc) {
  if (options.sweeps < 0)
    usage_error("operators::incomplete_cholesky",
                "there are " + std::to_string(options.sweeps) + " sweeps; ask for some, or for 0",
                loc);
  const Lower a = lower_of(detail::in_order("operators::incomplete_cholesky", given, loc), loc);
  IncompleteCholesky r;
  Lower l = a;
  while (!factorise(l, r.shift)) {
    r.shift = r.shift > 0 ? 2 * r.shift : 1e-3;
    // Of finite numbers some diagonal dominates all that is beside it.
    if (!std::isfinite(r.shift))
      usage_error("operators::incomplete_cholesky", "entries of the matrix are not finite", loc);
    l = a;
  }
  r.levels = levels_of(l);
  r.sweeps = options.sweeps > 0 ? std::min(options.sweeps, r.levels) : r.levels;
  Triplets beside;
  beside.rows = beside.columns = given.rows;
  std::vector<double> diagonal;
  for (std::size_t i = 0; i + 1 < l.offsets.size(); ++i) {
    for (std::size_t at = l.offsets[i]; at + 1 < l.offsets[i + 1]; ++at)
      beside.add(static_cast<Dim>(i), l.columns[at], l.values[at]);
    diagonal.push_back(l.values[l.offsets[i + 1] - 1]);
  }
  r.lower = to_csr(rt, beside, {.dtype = options.dtype}, loc);
  r.diagonal = options.dtype == DType::f64
                   ? rt.from_host(diagonal)
                   : rt.from_host(std::vector<float>(diagonal.begin(), diagonal.end()));
  return r;
}

}  // namespace gnomon::operators
