// engine/library/operators/algebra.cpp -- sums, multiples and products of operators, and what is
// known of them.
#include "gnomon/operators/algebra.h"

#include <optional>

#include "engine/library/operators/flat.h"

namespace gnomon::operators {
namespace {

using Arrays = std::vector<Array>;
using detail::Flat;

// ---- tags

Tags of_both(const Tags& a, const Tags& b) {
  Tags t;
  t.symmetric = a.is_symmetric() && b.is_symmetric();
  t.positive_semidefinite = a.positive_semidefinite && b.positive_semidefinite;
  t.negative_semidefinite = a.negative_semidefinite && b.negative_semidefinite;
  t.diagonal = a.diagonal && b.diagonal;
  t.unit_diagonal = a.unit_diagonal && b.unit_diagonal;
  if (t.diagonal) return t;  // which implies the ones below
  t.tridiagonal = (a.tridiagonal || a.diagonal) && (b.tridiagonal || b.diagonal);
  t.lower_triangular = (a.lower_triangular || a.diagonal) && (b.lower_triangular || b.diagonal);
  t.upper_triangular = (a.upper_triangular || a.diagonal) && (b.upper_triangular || b.diagonal);
  return t;
}

Tags of_sum(const Tags& a, const Tags& b) {
  Tags t = of_both(a, b);
  t.unit_diagonal = false;
  return t;
}

/// Times a number, where it is known.
Tags of_multiple(Tags t, std::optional<double> factor) {
  const bool symmetric = t.is_symmetric();
  if (factor != 1.0) t.unit_diagonal = false;
  if (!factor || *factor < 0) std::swap(t.positive_semidefinite, t.negative_semidefinite);
  if (!factor) t.positive_semidefinite = t.negative_semidefinite = false;
  t.symmetric = symmetric;
  return t;
}

Tags of_product(const Tags& a, const Tags& b) {
  Tags t = of_both(a, b);
  t.symmetric = t.diagonal;
  t.positive_semidefinite = t.negative_semidefinite = false;
  t.tridiagonal = (a.diagonal && b.tridiagonal) || (a.tridiagonal && b.diagonal);
  t.unit_diagonal = t.unit_diagonal && (t.diagonal || t.lower_triangular || t.upper_triangular);
  return t;
}

Tags of_kron(const Tags& a, const Tags& b) {
  Tags t = of_both(a, b);
  t.positive_semidefinite = (a.positive_semidefinite && b.positive_semidefinite) ||
                            (a.negative_semidefinite && b.negative_semidefinite);
  t.negative_semidefinite = (a.positive_semidefinite && b.negative_semidefinite) ||
                            (a.negative_semidefinite && b.positive_semidefinite);
  t.tridiagonal = a.diagonal && b.tridiagonal;
  return t;
}

// ---- sums and multiples

Arrays plus(const Arrays& a, const Arrays& b) {
  Arrays result;
  for (std::size_t i = 0; i < a.size(); ++i) result.push_back(a[i] + b[i]);
  return result;
}

/// Of a tridiagonal operator, where they are stored or plain.
std::optional<Map::Bands> bands_of(const Operator& a, Loc loc) {
  if (auto stored = a.map().bands(loc)) return stored;
  if (!a.tags().diagonal) return std::nullopt;
  const auto d = a.map().diagonal(loc);
  if (!d) return std::nullopt;
  const Array none = zeros({std::max<Dim>(a.rows() - 1, 0)}, d->dtype());
  return Map::Bands{none, *d, none};
}

class Sum final : public Map {
 public:
  Sum(Operator a, Operator b)
      : Map(a.in(), a.out(), of_sum(a.tags(), b.tags()), "sum"),
        a_(std::move(a)),
        b_(std::move(b)) {}
  Arrays mv(const Arrays& x, Loc loc) const override { return plus(a_.mv(x, loc), b_.mv(x, loc)); }
  Arrays mm(const Arrays& x, Loc loc) const override { return plus(a_.mm(x, loc), b_.mm(x, loc)); }
  std::shared_ptr<const Map> transpose(Loc loc) const override {
    return std::make_shared<Sum>(a_.transpose(loc), b_.transpose(loc));
  }
  Array as_matrix(Loc loc) const override { return a_.as_matrix(loc) + b_.as_matrix(loc); }
  std::optional<Array> diagonal(Loc loc) const override {
    const auto a = a_.map().diagonal(loc), b = b_.map().diagonal(loc);
    return a && b ? std::optional(*a + *b) : std::nullopt;
  }
  std::optional<Bands> bands(Loc loc) const override {
    const auto a = bands_of(a_, loc), b = bands_of(b_, loc);
    if (!a || !b) return std::nullopt;
    return Bands{a->lower + b->lower, a->diag + b->diag, a->upper + b->upper};
  }

 private:
  Operator a_, b_;
};

class Multiple final : public Map {
 public:
  Multiple(Operand c, Operator a)
      : Map(a.in(), a.out(),
            of_multiple(a.tags(), c.is_array() ? std::nullopt : std::optional(c.scalar().floating)),
            "multiple of " + a.map().name()),
        c_(std::move(c)),
        a_(std::move(a)) {}
  Arrays mv(const Arrays& x, Loc loc) const override { return times(a_.mv(x, loc)); }
  Arrays mm(const Arrays& x, Loc loc) const override { return times(a_.mm(x, loc)); }
  std::shared_ptr<const Map> transpose(Loc loc) const override {
    return std::make_shared<Multiple>(c_, a_.transpose(loc));
  }
  Array as_matrix(Loc loc) const override { return times(a_.as_matrix(loc)); }
  std::optional<Array> diagonal(Loc loc) const override {
    const auto own = a_.map().diagonal(loc);
    return own ? std::optional(times(*own)) : std::nullopt;
  }
  std::optional<Bands> bands(Loc loc) const override {
    const auto own = a_.map().bands(loc);
    if (!own) return std::nullopt;
    return Bands{times(own->lower), times(own->diag), times(own->upper)};
  }

 private:
  /// A vector keeps its dtype, whatever that of the factor is.
  Array times(const Array& x) const {
    return c_.is_array() ? cast(c_.array(), x.dtype()) * x : c_ * Operand(x);
  }
  Arrays times(const Arrays& x) const {
    Arrays result;
    for (const Array& a : x) result.push_back(times(a));
    return result;
  }

  Operand c_;
  Operator a_;
};

// ---- products

class Product final : public Map {
 public:
  Product(Operator a, Operator b)
      : Map(b.in(), a.out(), of_product(a.tags(), b.tags()),
            "product of " + a.map().name() + " and " + b.map().name()),
        a_(std::move(a)),
        b_(std::move(b)) {}
  Arrays mv(const Arrays& x, Loc loc) const override { return a_.mv(b_.mv(x, loc), loc); }
  Arrays mm(const Arrays& x, Loc loc) const override { return a_.mm(b_.mm(x, loc), loc); }
  std::shared_ptr<const Map> transpose(Loc loc) const override {
    return std::make_shared<Product>(b_.transpose(loc), a_.transpose(loc));
  }
  Array as_matrix(Loc loc) const override {
    return detail::product(a_, b_.as_matrix(loc), out().dtype(), loc);
  }
  std::optional<Array> diagonal(Loc loc) const override {
    const auto triangular = [](const Tags& t, bool Tags::*side) { return t.*side || t.diagonal; };
    const Tags &s = a_.tags(), &t = b_.tags();
    const bool alone =
        (triangular(s, &Tags::lower_triangular) && triangular(t, &Tags::lower_triangular)) ||
        (triangular(s, &Tags::upper_triangular) && triangular(t, &Tags::upper_triangular));
    if (!alone || !a_.square() || !b_.square()) return std::nullopt;
    const auto a = a_.map().diagonal(loc), b = b_.map().diagonal(loc);
    return a && b ? std::optional(*a * *b) : std::nullopt;
  }

 private:
  Operator a_, b_;
};

void require_same_spaces(const char* op, const Operator& a, const Operator& b, Loc loc) {
  if (a.in() != b.in() || a.out() != b.out())
    usage_error(op,
                a.map().name() + " takes " + to_string(a.in()) + " and gives " +
                    to_string(a.out()) + ", " + b.map().name() + " takes " + to_string(b.in()) +
                    " and gives " + to_string(b.out()) + "; both have to be the same",
                loc);
}

}  // namespace

Operator operator+(Term a, Term b) {
  require_same_spaces("operators::operator+", a.get(), b.get(), a.loc());
  return Operator(std::make_shared<Sum>(a.get(), b.get()));
}

Operator operator-(Term a, Term b) {
  require_same_spaces("operators::operator-", a.get(), b.get(), a.loc());
  return a + Term(-b, b.loc());
}

Operator operator-(Term a) { return Operand(-1, a.loc()) * a; }

Operator operator*(Term a, Term b) {
  if (a.get().in() != b.get().out())
    usage_error("operators::operator*",
                a.get().map().name() + " takes " + to_string(a.get().in()) + ", and " +
                    b.get().map().name() + " gives " + to_string(b.get().out()) +
                    "; the first factor takes what the second one gives",
                a.loc());
  return Operator(std::make_shared<Product>(a.get(), b.get()));
}

Operator operator*(Operand c, Term a) {
  if (c.is_array() && (c.array().rank() != 0 || !is_float(c.array().dtype())))
    usage_error("operators::operator*",
                "the factor is " + to_string(c.array().aval()) +
                    "; an operator is multiplied by a number, a scalar float, or another operator "
                    "(operators::Diagonal for a factor for each row)",
                c.loc());
  return Operator(std::make_shared<Multiple>(c, a.get()));
}
Operator operator*(Term a, Operand c) { return c * a; }
Operator operator/(Term a, Operand c) {
  if (c.is_array()) return (1.0 / c) * a;
  return Operand(1 / c.scalar().floating, c.loc()) * a;
}

Operator gram(Term a) {
  return Operator(std::make_shared<Product>(a.get().transpose(a.loc()), a.get()))
      .tagged({.positive_semidefinite = true}, a.loc());
}

Operator gram(Term a, Term middle) {
  const Tags& m = middle.get().tags();
  const Tags tags{.symmetric = m.is_symmetric(),
                  .positive_semidefinite = m.positive_semidefinite,
                  .negative_semidefinite = m.negative_semidefinite};
  const Operator half = middle * a;
  return Operator(std::make_shared<Product>(a.get().transpose(a.loc()), half))
      .tagged(tags, a.loc());
}

// ---- side by side

namespace {

class Kronecker final : public Map {
 public:
  Kronecker(Operator a, Operator b)
      : Map({{{a.in().dtype(), {a.columns() * b.columns()}}}},
            {{{a.in().dtype(), {a.rows() * b.rows()}}}}, of_kron(a.tags(), b.tags()),
            "kron of " + a.map().name() + " and " + b.map().name()),
        a_(std::move(a)),
        b_(std::move(b)) {}
  Arrays mv(const Arrays& x, Loc loc) const override {
    return {reshape(mm({reshape(x[0], {x[0].size(), 1})}, loc)[0], {out().size()})};
  }
  Arrays mm(const Arrays& x, Loc loc) const override {
    const Dim ca = a_.columns(), cb = b_.columns(), k = x[0].dim(1);
    const DType dtype = x[0].dtype();
    // B for all columns of A and of the block at once, then A for all rows of B.
    const Array inner = transpose(reshape(x[0], {ca, cb, k}), {1, 0, 2});
    const Array half = detail::product(b_, reshape(inner, {cb, ca * k}), dtype, loc);
    const Array outer = transpose(reshape(half, {b_.rows(), ca, k}), {1, 0, 2});
    const Array all = detail::product(a_, reshape(outer, {ca, b_.rows() * k}), dtype, loc);
    return {reshape(all, {a_.rows() * b_.rows(), k})};
  }
  std::shared_ptr<const Map> transpose(Loc loc) const override {
    return std::make_shared<Kronecker>(a_.transpose(loc), b_.transpose(loc));
  }
  Array as_matrix(Loc loc) const override {
    return gnomon::kron(a_.as_matrix(loc), b_.as_matrix(loc));
  }
  std::optional<Array> diagonal(Loc loc) const override {
    if (!a_.square() || !b_.square()) return std::nullopt;
    const auto a = a_.map().diagonal(loc), b = b_.map().diagonal(loc);
    return a && b ? std::optional(gnomon::kron(*a, *b)) : std::nullopt;
  }

 private:
  static Array transpose(const Array& x, const std::vector<int>& axes) {
    return gnomon::transpose(x, axes);
  }

  Operator a_, b_;
};

template <class Pick>
Space all_of(const std::vector<Operator>& parts, const Pick& pick) {
  Space s;
  for (const Operator& p : parts)
    s.arrays.insert(s.arrays.end(), pick(p).arrays.begin(), pick(p).arrays.end());
  return s;
}

Tags all_tags(const std::vector<Operator>& parts) {
  Tags t = parts[0].tags();
  for (const Operator& p : parts) {
    // Blocks that are not square put nothing where it was in its block.
    t = p.square() ? of_both(t, p.tags()) : Tags{};
  }
  return t;
}

class Blocks final : public Map {
 public:
  explicit Blocks(std::vector<Operator> parts)
      : Map(all_of(parts, [](const Operator& p) -> const Space& { return p.in(); }),
            all_of(parts, [](const Operator& p) -> const Space& { return p.out(); }),
            all_tags(parts), "block_diagonal"),
        parts_(std::move(parts)) {}
  Arrays mv(const Arrays& x, Loc loc) const override {
    return each(x, [&](const Operator& p, const Arrays& own) { return p.mv(own, loc); });
  }
  Arrays mm(const Arrays& x, Loc loc) const override {
    return each(x, [&](const Operator& p, const Arrays& own) { return p.mm(own, loc); });
  }
  std::shared_ptr<const Map> transpose(Loc loc) const override {
    std::vector<Operator> transposed;
    for (const Operator& p : parts_) transposed.push_back(p.transpose(loc));
    return std::make_shared<Blocks>(transposed);
  }
  Array as_matrix(Loc loc) const override {
    Arrays rows;
    Dim before = 0;
    for (const Operator& p : parts_) {
      const Dim after = in().size() - before - p.columns();
      rows.push_back(pad(cast(p.as_matrix(loc), out().dtype()),
                         std::vector<std::pair<Dim, Dim>>{{Dim{0}, Dim{0}}, {before, after}}));
      before += p.columns();
    }
    return concatenate(rows);
  }
  std::optional<Array> diagonal(Loc loc) const override {
    Arrays all;
    for (const Operator& p : parts_) {
      const auto own = p.square() ? p.map().diagonal(loc) : std::nullopt;
      if (!own) return std::nullopt;
      all.push_back(cast(*own, out().dtype()));
    }
    return concatenate(all);
  }

 private:
  template <class F>
  Arrays each(const Arrays& x, const F& f) const {
    Arrays result;
    auto from = x.begin();
    for (const Operator& p : parts_) {
      const auto end = from + static_cast<std::ptrdiff_t>(p.in().arrays.size());
      const Arrays y = f(p, Arrays(from, end));
      result.insert(result.end(), y.begin(), y.end());
      from = end;
    }
    return result;
  }

  std::vector<Operator> parts_;
};

}  // namespace

Operator kron(Term a, Term b) {
  for (const Operator& o : {a.get(), b.get()})
    if (o.in().arrays.size() != 1 || o.out().arrays.size() != 1 ||
        o.in().dtype() != a.get().in().dtype() || o.out().dtype() != o.in().dtype())
      usage_error("operators::kron",
                  o.map().name() + " takes " + to_string(o.in()) + " and gives " +
                      to_string(o.out()) + "; both factors take and give one array, all of one " +
                      "dtype",
                  a.loc());
  return Operator(std::make_shared<Kronecker>(a.get(), b.get()));
}

Operator block_diagonal(const std::vector<Term>& parts, Loc loc) {
  if (parts.empty())
    usage_error("operators::block_diagonal", "there are no operators; one is needed at least", loc);
  std::vector<Operator> all;
  for (const Term& t : parts) all.push_back(t.get());
  return Operator(std::make_shared<Blocks>(std::move(all)));
}

}  // namespace gnomon::operators
