// engine/library/operators/structured.cpp -- products of bands, triangles and outer products.
#include "gnomon/operators/structured.h"

#include "engine/library/operators/flat.h"
#include "gnomon/arrange.h"
#include "gnomon/linalg.h"

namespace gnomon::operators {
namespace {

using Arrays = std::vector<Array>;

Space vectors(const Array& of, Dim n) { return {{{of.dtype(), {n}}}}; }

[[noreturn]] void refuse(const char* kind, const std::string& what) {
  usage_error(std::string("operators::") + kind, what, {});
}

void require(bool fits, const char* kind, const char* which, const Array& a, const char* needed) {
  if (!fits || !is_float(a.dtype()))
    refuse(kind, std::string(which) + " is " + to_string(a.aval()) + "; " + needed + " is needed");
}

/// `factors` along the first axis of x, a vector or a block.
Array rows_times(const Array& factors, const Array& x) {
  return (x.rank() == 1 ? factors : expand_dims(factors, -1)) * x;
}
/// x moved down (or up) by `by` rows, zeros for what comes in.
Array shifted(const Array& x, Dim by) {
  const Dim n = x.dim(0), size = std::max<Dim>(n - std::abs(by), 0);
  const Dim from = by > 0 ? 0 : n - size;
  std::vector<Dim> low(static_cast<std::size_t>(x.rank()), 0);
  std::vector<Dim> high(x.shape().begin(), x.shape().end());
  low[0] = from, high[0] = from + size;
  std::vector<std::pair<Dim, Dim>> widths(low.size(), {Dim{0}, Dim{0}});
  widths[0] = by > 0 ? std::pair{n - size, Dim{0}} : std::pair{Dim{0}, n - size};
  return pad(slice(x, low, high), widths);
}

class TridiagonalMap final : public Map {
 public:
  TridiagonalMap(Array lower, Array diag, Array upper)
      : Map(vectors(diag, diag.size()), vectors(diag, diag.size()), {.tridiagonal = true},
            "Tridiagonal"),
        bands_{std::move(lower), std::move(diag), std::move(upper)} {}
  Arrays mv(const Arrays& x, Loc) const override {
    Array y = rows_times(bands_.diag, x[0]);
    if (x[0].dim(0) > 1) {
      y += shifted_product(bands_.lower, x[0], 1);
      y += shifted_product(bands_.upper, x[0], -1);
    }
    return {y};
  }
  Arrays mm(const Arrays& x, Loc loc) const override { return mv(x, loc); }
  std::shared_ptr<const Map> transpose(Loc) const override {
    return std::make_shared<TridiagonalMap>(bands_.upper, bands_.diag, bands_.lower);
  }
  std::optional<Array> diagonal(Loc) const override { return bands_.diag; }
  std::optional<Bands> bands(Loc) const override { return bands_; }

 private:
  static Array shifted_product(const Array& band, const Array& x, Dim by) {
    const std::vector<std::pair<Dim, Dim>> widths{by > 0 ? std::pair{Dim{0}, Dim{1}}
                                                         : std::pair{Dim{1}, Dim{0}}};
    return shifted(rows_times(pad(band, widths), x), by);
  }

  Bands bands_;
};

class BandedMap final : public Map {
 public:
  BandedMap(Array bands, Dim below)
      : Map(vectors(bands, bands.dim(1)), vectors(bands, bands.dim(1)),
            {.diagonal = bands.dim(0) == 1,
             .lower_triangular = below == bands.dim(0) - 1,
             .upper_triangular = below == 0},
            "Banded"),
        bands_(std::move(bands)),
        below_(below) {}
  Arrays mv(const Arrays& x, Loc) const override {
    Array y;
    for (Dim d = 0; d < bands_.dim(0); ++d) {
      const Array part = shifted(rows_times(band(d), x[0]), d - above());
      y = d == 0 ? part : y + part;
    }
    return {y};
  }
  Arrays mm(const Arrays& x, Loc loc) const override { return mv(x, loc); }
  std::shared_ptr<const Map> transpose(Loc) const override {
    // What a[i, j] was at [above + i - j, j] is at [below + j - i, i] then.
    Arrays rows;
    for (Dim d = bands_.dim(0); d-- > 0;) rows.push_back(shifted(band(d), d - above()));
    return std::make_shared<BandedMap>(stack(rows), above());
  }
  std::optional<Array> diagonal(Loc) const override { return band(above()); }
  std::optional<Bands> bands(Loc) const override {
    if (below_ > 1 || above() > 1) return std::nullopt;
    const Dim n = in().size();
    const auto none = [&] { return zeros({n - 1}, bands_.dtype()); };
    return Bands{below_ == 1 ? slice(band(above() + 1), {0}, {n - 1}) : none(), band(above()),
                 above() == 1 ? slice(band(0), {1}, {n}) : none()};
  }

 private:
  Dim above() const { return bands_.dim(0) - 1 - below_; }
  Array band(Dim d) const {
    return reshape(slice(bands_, {d, 0}, {d + 1, bands_.dim(1)}), {bands_.dim(1)});
  }

  Array bands_;
  Dim below_;
};

class LowRankMap final : public Map {
 public:
  LowRankMap(Array u, Array v, std::optional<Array> scale, Tags tags)
      : Map(vectors(v, v.dim(0)), vectors(u, u.dim(0)), tags, "LowRank"),
        u_(std::move(u)),
        v_(std::move(v)),
        scale_(std::move(scale)) {}
  Arrays mv(const Arrays& x, Loc) const override {
    Array inner = matmul(gnomon::transpose(v_), x[0]);
    if (scale_) inner = rows_times(*scale_, inner);
    return {matmul(u_, inner)};
  }
  Arrays mm(const Arrays& x, Loc loc) const override { return mv(x, loc); }
  std::shared_ptr<const Map> transpose(Loc) const override {
    return std::make_shared<LowRankMap>(v_, u_, scale_, Tags{});
  }
  std::optional<Array> diagonal(Loc) const override {
    if (!square()) return std::nullopt;
    const Array both = u_ * v_;
    return sum(scale_ ? both * *scale_ : both, {1});
  }

 private:
  bool square() const { return u_.dim(0) == v_.dim(0); }
  Array u_, v_;
  std::optional<Array> scale_;
};

/// A stored matrix, masked.
class Masked final : public Map {
 public:
  Masked(Array matrix, Tags tags, const char* name)
      : Map(vectors(matrix, matrix.dim(0)), vectors(matrix, matrix.dim(0)), tags, name),
        matrix_(std::move(matrix)) {}
  Arrays mv(const Arrays& x, Loc) const override { return {matmul(matrix_, x[0])}; }
  Arrays mm(const Arrays& x, Loc) const override { return {matmul(matrix_, x[0])}; }
  std::shared_ptr<const Map> transpose(Loc) const override {
    Tags t = tags();
    std::swap(t.lower_triangular, t.upper_triangular);
    return std::make_shared<Masked>(gnomon::transpose(matrix_), t, name().c_str());
  }
  Array as_matrix(Loc) const override { return matrix_; }
  std::optional<Array> diagonal(Loc) const override { return gnomon::diagonal(matrix_); }

 private:
  Array matrix_;
};

void require_square_matrix(const char* kind, const Array& a) {
  require(a.rank() == 2 && a.dim(0) == a.dim(1), kind, "the matrix", a, "a square f[n, n]");
}

}  // namespace

Tridiagonal::operator Operator() const {
  constexpr const char* kind = "Tridiagonal";
  require(diag.rank() == 1 && diag.size() > 0, kind, "diag", diag, "an f[n]");
  for (const auto& [what, band] : {std::pair{"lower", &lower}, std::pair{"upper", &upper}})
    require(band->shape() == Shape{diag.size() - 1} && band->dtype() == diag.dtype(), kind, what,
            *band, ("beside a diagonal " + to_string(diag.aval()) + " one element less").c_str());
  return Operator(std::make_shared<TridiagonalMap>(lower, diag, upper)).tagged(tags, {});
}

Banded::operator Operator() const {
  require(bands.rank() == 2 && bands.dim(0) > 0 && bands.dim(1) > 0, "Banded", "bands", bands,
          "an f[below + 1 + above, n]");
  if (below < 0 || below >= bands.dim(0))
    refuse("Banded", "there are " + std::to_string(bands.dim(0)) + " bands, and `below` is " +
                         std::to_string(below) +
                         "; it counts those below the main diagonal, from " + "0 to " +
                         std::to_string(bands.dim(0) - 1));
  Tags all = tags;
  all.tridiagonal = all.tridiagonal || (below <= 1 && bands.dim(0) - below <= 2);
  return Operator(std::make_shared<BandedMap>(bands, below)).tagged(all, {});
}

Triangular::operator Operator() const {
  require_square_matrix("Triangular", matrix);
  Array m = lower ? tril(matrix, unit_diagonal ? -1 : 0) : triu(matrix, unit_diagonal ? 1 : 0);
  if (unit_diagonal) m = m + eye(m.dim(0), m.dtype());
  return Operator(std::make_shared<Masked>(
      m,
      Tags{.lower_triangular = lower, .upper_triangular = !lower, .unit_diagonal = unit_diagonal},
      "Triangular"));
}

Symmetric::operator Operator() const {
  require_square_matrix("Symmetric", matrix);
  const Array half = lower ? tril(matrix) : triu(matrix);
  const Array other = lower ? tril(matrix, -1) : triu(matrix, 1);
  Tags all = tags;
  all.symmetric = true;
  return Operator(std::make_shared<Masked>(half + gnomon::transpose(other), Tags{}, "Symmetric"))
      .tagged(all, {});
}

LowRank::operator Operator() const {
  constexpr const char* kind = "LowRank";
  require(u.rank() == 2, kind, "u", u, "an f[m, rank]");
  if (v)
    require(v->rank() == 2 && v->dim(1) == u.dim(1) && v->dtype() == u.dtype(), kind, "v", *v,
            ("with u " + to_string(u.aval()) + " one of that rank and dtype").c_str());
  if (scale)
    require(scale->shape() == Shape{u.dim(1)} && scale->dtype() == u.dtype(), kind, "scale", *scale,
            ("with u " + to_string(u.aval()) + " a number for each column").c_str());
  const Tags all{.symmetric = !v, .positive_semidefinite = !v && !scale};
  return Operator(std::make_shared<LowRankMap>(u, v ? *v : u, scale, all));
}

}  // namespace gnomon::operators
