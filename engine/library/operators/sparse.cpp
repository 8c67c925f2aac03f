// engine/library/operators/sparse.cpp -- products with sparse matrices of several forms.
#include "gnomon/operators/sparse.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/library/operators/entries.h"
#include "gnomon/arrange.h"
#include "gnomon/cumulative.h"
#include "gnomon/indexing.h"
#include "gnomon/linalg.h"

namespace gnomon::operators {
namespace {

using Arrays = std::vector<Array>;

Tags transposed_tags(Tags t) {
  std::swap(t.lower_triangular, t.upper_triangular);
  return t;
}

/// The row of each entry.
Array rows_of_entries(const CsrPattern& p) {
  const Dim entries = p.columns.size(), rows = p.offsets.size() - 1;
  if (rows < 2) return zeros({entries}, DType::i32);
  const Array starts = slice_axis(p.offsets, 0, 1, rows);
  return cumsum(segment_sum(ones({rows - 1}, DType::i32), starts, entries), 0);
}

/// Sums of entries as a matrix and of those on its diagonal.
Array dense_of(const Array& row, const Array& column, const Array& values, Dim m, Dim n, Loc loc) {
  if (m > 0 && n >= (Dim{1} << 31) / m)
    usage_error("operators::as_matrix",
                "a matrix of " + std::to_string(m) + " x " + std::to_string(n) +
                    " has 2^31 elements or more; use products with it",
                loc);
  return reshape(segment_sum(values, row * static_cast<std::int32_t>(n) + column, m * n), {m, n});
}
Array diagonal_of(const Array& row, const Array& column, const Array& values, Dim m) {
  return segment_sum(where(row == column, values, 0), row, m);
}

/// A product with the transpose where that is stored nowhere.
class CsrTransposed final : public Map {
 public:
  explicit CsrTransposed(Csr a)
      : Map({{{a.values.dtype(), {a.pattern.offsets.size() - 1}}}},
            {{{a.values.dtype(), {a.pattern.width}}}}, Tags{}, "transpose of Csr"),
        a_(std::move(a)) {}
  Arrays mv(const Arrays& x, Loc) const override {
    return {csr_matmul(a_.pattern, a_.values, x[0], {.transpose = true})};
  }
  Arrays mm(const Arrays& x, Loc loc) const override { return mv(x, loc); }
  std::shared_ptr<const Map> transpose(Loc) const override;

 private:
  Csr a_;
};

class CsrMap final : public Map {
 public:
  /// `of`: what this is the stored transpose of.
  explicit CsrMap(Csr a, std::shared_ptr<const Csr> of = nullptr)
      : Map({{{a.values.dtype(), {a.pattern.width}}}},
            {{{a.values.dtype(), {a.pattern.offsets.size() - 1}}}}, Tags{}, "Csr"),
        a_(std::move(a)),
        of_(std::move(of)) {}
  Arrays mv(const Arrays& x, Loc) const override {
    return {csr_matmul(a_.pattern, a_.values, x[0])};
  }
  Arrays mm(const Arrays& x, Loc loc) const override { return mv(x, loc); }
  std::shared_ptr<const Map> transpose(Loc) const override {
    if (of_) return std::make_shared<CsrMap>(*of_);
    if (!a_.transposed || !a_.order) return std::make_shared<CsrTransposed>(a_);
    return std::make_shared<CsrMap>(Csr{*a_.transposed, take(a_.values, *a_.order)},
                                    std::make_shared<Csr>(a_));
  }
  Array as_matrix(Loc loc) const override {
    return dense_of(rows_of_entries(a_.pattern), a_.pattern.columns, a_.values, out().size(),
                    in().size(), loc);
  }
  std::optional<Array> diagonal(Loc) const override {
    return diagonal_of(rows_of_entries(a_.pattern), a_.pattern.columns, a_.values, out().size());
  }

 private:
  Csr a_;
  std::shared_ptr<const Csr> of_;
};

std::shared_ptr<const Map> CsrTransposed::transpose(Loc) const {
  return std::make_shared<CsrMap>(a_);
}

class CooMap final : public Map {
 public:
  explicit CooMap(Coo a)
      : Map({{{a.values.dtype(), {a.columns}}}}, {{{a.values.dtype(), {a.rows}}}}, Tags{}, "Coo"),
        a_(std::move(a)) {}
  Arrays mv(const Arrays& x, Loc) const override {
    return {segment_sum(a_.values * take(x[0], a_.column), a_.row, a_.rows)};
  }
  Arrays mm(const Arrays& x, Loc) const override {
    return {segment_sum(expand_dims(a_.values, -1) * take(x[0], a_.column, 0), a_.row, a_.rows)};
  }
  std::shared_ptr<const Map> transpose(Loc) const override {
    return std::make_shared<CooMap>(
        Coo{a_.column, a_.row, a_.values, a_.columns, a_.rows, transposed_tags(a_.tags)});
  }
  Array as_matrix(Loc loc) const override {
    return dense_of(a_.row, a_.column, a_.values, a_.rows, a_.columns, loc);
  }
  std::optional<Array> diagonal(Loc) const override {
    return diagonal_of(a_.row, a_.column, a_.values, a_.rows);
  }

 private:
  Coo a_;
};

class BlockSparseMap final : public Map {
 public:
  BlockSparseMap(Array row, Array column, Array blocks, Dim rows, Dim columns)
      : Map({{{blocks.dtype(), {columns * blocks.dim(1)}}}},
            {{{blocks.dtype(), {rows * blocks.dim(1)}}}}, Tags{}, "BlockSparse"),
        row_(std::move(row)),
        column_(std::move(column)),
        blocks_(std::move(blocks)) {}
  Arrays mv(const Arrays& x, Loc loc) const override {
    const Array y = mm({reshape(x[0], {x[0].size(), 1})}, loc)[0];
    return {reshape(y, {y.size()})};
  }
  Arrays mm(const Arrays& x, Loc) const override {
    const Dim b = blocks_.dim(1), k = x[0].dim(1);
    const Array parts = reshape(x[0], {x[0].dim(0) / b, b, k});
    const Dim rows = out().size() / b;
    const Array y = segment_sum(matmul(blocks_, take(parts, column_, 0)), row_, rows);
    return {reshape(y, {rows * b, k})};
  }
  std::shared_ptr<const Map> transpose(Loc) const override {
    const Dim b = blocks_.dim(1);
    return std::make_shared<BlockSparseMap>(column_, row_, swapaxes(blocks_, 1, 2), in().size() / b,
                                            out().size() / b);
  }
  std::optional<Array> diagonal(Loc) const override {
    const Dim b = blocks_.dim(1), rows = out().size() / b;
    const Array own =
        where(reshape(row_ == column_, {row_.size(), 1}), gnomon::diagonal(blocks_, 0, 1, 2), 0);
    return reshape(segment_sum(own, row_, rows), {rows * b});
  }

 private:
  Array row_, column_, blocks_;
};

void require_list(const char* op, const char* what, const Array& a, Dim entries) {
  if (a.dtype() != DType::i32 || a.shape() != Shape{entries})
    usage_error(op,
                std::string(what) + " is " + to_string(a.aval()) + "; an i32[" +
                    std::to_string(entries) + "] is needed, a number for each entry",
                {});
}

void require_values(const char* op, const Array& values, int rank) {
  if (!is_float(values.dtype()) || values.rank() != rank)
    usage_error(op,
                "the values are " + to_string(values.aval()) + "; floats of rank " +
                    std::to_string(rank) + " are needed",
                {});
}

void require_offsets(const char* op, const CsrPattern& p) {
  const Array& o = p.offsets;
  if (o.dtype() != DType::i32 || o.rank() != 1 || o.dim(0) < 1)
    usage_error(op,
                "the pattern's offsets are " + to_string(o.aval()) +
                    "; an i32[rows + 1] is needed, where each row starts and where the last ends",
                {});
}

// ---- on the host

/// How many entries are far from the diagonal: so many columns that what rows in between look at
/// would not stay in a cache.
Dim far_entries(const std::vector<std::int32_t>& row, const std::vector<std::int32_t>& column,
                Dim rows, Dim width) {
  constexpr double far = 1 << 15;
  const double slope = static_cast<double>(width) / static_cast<double>(std::max<Dim>(rows, 1));
  Dim count = 0;
  for (std::size_t e = 0; e < row.size(); ++e) count += std::abs(column[e] - slope * row[e]) > far;
  return count;
}

struct HostPattern {
  std::vector<std::int32_t> offsets, columns;
  Dim longest = 0;
  bool scattered = false;
};
/// Of entries whose `row` is in order.
HostPattern pattern_of(const std::vector<std::int32_t>& row,
                       const std::vector<std::int32_t>& column, Dim rows, Dim width) {
  HostPattern p;
  p.columns = column;
  p.offsets.assign(static_cast<std::size_t>(rows) + 1, 0);
  for (std::int32_t i : row) ++p.offsets[static_cast<std::size_t>(i) + 1];
  for (std::size_t i = 1; i < p.offsets.size(); ++i) {
    p.longest = std::max<Dim>(p.longest, p.offsets[i]);
    p.offsets[i] += p.offsets[i - 1];
  }
  p.scattered = 2 * far_entries(row, column, rows, width) > static_cast<Dim>(row.size());
  return p;
}

}  // namespace

Csr::operator Operator() const {
  require_values("operators::Csr", values, 1);
  require_offsets("operators::Csr", pattern);
  require_list("operators::Csr", "the pattern's columns", pattern.columns, values.size());
  return Operator(std::make_shared<CsrMap>(*this)).tagged(tags, {});
}

Coo::operator Operator() const {
  require_values("operators::Coo", values, 1);
  if (rows < 0 || columns < 0)
    usage_error("operators::Coo",
                "there are " + std::to_string(rows) + " rows and " + std::to_string(columns) +
                    " columns; neither can be negative",
                {});
  require_list("operators::Coo", "row", row, values.size());
  require_list("operators::Coo", "column", column, values.size());
  return Operator(std::make_shared<CooMap>(*this)).tagged(tags, {});
}

BlockSparse::operator Operator() const {
  require_values("operators::BlockSparse", blocks, 3);
  if (blocks.dim(1) != blocks.dim(2))
    usage_error("operators::BlockSparse",
                "the blocks are " + to_string(blocks.aval()) + "; square ones are needed", {});
  require_offsets("operators::BlockSparse", pattern);
  require_list("operators::BlockSparse", "the pattern's columns", pattern.columns, blocks.dim(0));
  return Operator(std::make_shared<BlockSparseMap>(rows_of_entries(pattern), pattern.columns,
                                                   blocks, pattern.offsets.size() - 1,
                                                   pattern.width))
      .tagged(tags, {});
}

Csr to_csr(Runtime& rt, const Triplets& given, CsrOf options, Loc loc) {
  const Triplets t = detail::in_order("operators::to_csr", given, loc);
  const HostPattern own = pattern_of(t.row, t.column, t.rows, t.columns);
  const auto placed = [&](const HostPattern& p, Dim width) {
    return CsrPattern{rt.from_host(p.offsets), rt.from_host(p.columns), width, p.longest,
                      p.scattered};
  };
  Csr a{placed(own, t.columns), {}, options.tags};
  if (options.dtype == DType::f64) {
    a.values = rt.from_host(t.value);
  } else if (options.dtype == DType::f32) {
    a.values = rt.from_host(std::vector<float>(t.value.begin(), t.value.end()));
  } else {
    usage_error("operators::to_csr",
                "values of " + std::string(name(options.dtype)) +
                    " are not made here; take f32 or f64, and cast",
                loc);
  }
  const bool symmetric = options.tags.is_symmetric();
  if (!symmetric && !options.transpose) return a;
  // Entries by columns: stable, so that rows stay in order.
  std::vector<std::int32_t> order(t.row.size()), row, column;
  std::iota(order.begin(), order.end(), 0);
  const auto at = [](std::int32_t e) { return static_cast<std::size_t>(e); };
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t x, std::int32_t y) {
    return t.column[at(x)] < t.column[at(y)];
  });
  if (symmetric) {
    if (t.rows != t.columns)
      usage_error("operators::to_csr",
                  "the tags say symmetric, and the matrix is " + std::to_string(t.rows) + " x " +
                      std::to_string(t.columns) + "; a symmetric one is square",
                  loc);
    const auto differs = [&](std::size_t e) {
      const std::size_t o = at(order[e]);
      return t.row[e] != t.column[o] || t.column[e] != t.row[o] || t.value[e] != t.value[o];
    };
    for (std::size_t e = 0; e < order.size(); ++e)
      if (differs(e))
        usage_error("operators::to_csr",
                    "the tags say symmetric, and entry (" + std::to_string(t.row[e]) + ", " +
                        std::to_string(t.column[e]) +
                        ") has no equal one on the other side of the diagonal",
                    loc);
    return a;
  }
  for (std::int32_t e : order) {
    row.push_back(t.column[at(e)]);
    column.push_back(t.row[at(e)]);
  }
  a.transposed = placed(pattern_of(row, column, t.columns, t.rows), t.rows);
  a.order = rt.from_host(order);
  return a;
}

}  // namespace gnomon::operators
