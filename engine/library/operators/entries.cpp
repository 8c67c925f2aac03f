// engine/library/operators/entries.cpp -- entries of sparse matrices, checked and sorted.
#include "engine/library/operators/entries.h"

#include <algorithm>
#include <numeric>

namespace gnomon::operators::detail {
namespace {

void check(std::string_view op, const Triplets& t, Loc loc) {
  const auto number = [](auto n) { return std::to_string(n); };
  if (t.row.size() != t.column.size() || t.row.size() != t.value.size())
    usage_error(op,
                "there are " + number(t.row.size()) + " rows, " + number(t.column.size()) +
                    " columns and " + number(t.value.size()) + " values; each entry has one of all",
                loc);
  if (t.rows < 0 || t.columns < 0 || t.rows >= Dim{1} << 31 || t.columns >= Dim{1} << 31)
    usage_error(
        op,
        "a matrix of " + number(t.rows) + " x " + number(t.columns) + " has no indices of 32 bits",
        loc);
  for (std::size_t e = 0; e < t.row.size(); ++e)
    if (t.row[e] < 0 || t.row[e] >= t.rows || t.column[e] < 0 || t.column[e] >= t.columns)
      usage_error(op,
                  "entry " + number(e) + " is at (" + number(t.row[e]) + ", " +
                      number(t.column[e]) + "), outside of the " + number(t.rows) + " x " +
                      number(t.columns) + " matrix; indices count from 0",
                  loc);
}

}  // namespace

Triplets in_order(std::string_view op, const Triplets& t, Loc loc) {
  check(op, t, loc);
  std::vector<std::size_t> order(t.row.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return t.row[a] != t.row[b] ? t.row[a] < t.row[b] : t.column[a] < t.column[b];
  });
  Triplets r;
  r.rows = t.rows;
  r.columns = t.columns;
  for (std::size_t e : order) {
    if (!r.row.empty() && r.row.back() == t.row[e] && r.column.back() == t.column[e])
      r.value.back() += t.value[e];
    else
      r.add(t.row[e], t.column[e], t.value[e]);
  }
  return r;
}

}  // namespace gnomon::operators::detail
