// engine/library/operators/operator.cpp -- what every operator can, made of products.
#include "gnomon/operators/operator.h"

#include "gnomon/arrange.h"
#include "gnomon/control.h"
#include "gnomon/jacobian.h"
#include "gnomon/transform.h"

namespace gnomon::operators {
namespace {

using Arrays = std::vector<Array>;

Arrays abstract_arrays(const Space& s) {
  Arrays result;
  for (const Aval& a : s.arrays) result.push_back(abstract_array(a.dtype, a.shape));
  return result;
}

/// The identity as a block.
Arrays unit_vectors(const Space& s, Loc) {
  Arrays result;
  const Dim n = s.size();
  Dim first = 0;
  for (const Aval& a : s.arrays) {
    const Dim count = a.shape.size();
    Shape shape = a.shape;
    const Array rows = arange(count) + static_cast<std::int32_t>(first);
    const Array ones = reshape(rows, {count, 1}) == reshape(arange(n), {1, n});
    std::vector<Dim> dims(shape.begin(), shape.end());
    dims.push_back(n);
    result.push_back(reshape(cast(ones, a.dtype), Shape(dims)));
    first += count;
  }
  return result;
}

/// By default: the transpose of the graph of mv.
class Transposed final : public Map {
 public:
  Transposed(std::shared_ptr<const Map> of, Tags tags)
      : Map(of->out(), of->in(), tags, "transpose of " + of->name()), of_(std::move(of)) {}
  Arrays mv(const Arrays& x, Loc loc) const override {
    const auto product = [&](const Arrays& v) { return of_->mv(v, loc); };
    return linear_transpose(product, abstract_arrays(of_->in()), loc)(x);
  }
  std::shared_ptr<const Map> transpose(Loc) const override { return of_; }

 private:
  std::shared_ptr<const Map> of_;
};

Tags transposed(Tags t) {
  std::swap(t.lower_triangular, t.upper_triangular);
  return t;
}

class Tagged final : public Map {
 public:
  Tagged(std::shared_ptr<const Map> of, Tags tags)
      : Map(of->in(), of->out(), tags, of->name()), of_(std::move(of)) {}
  Arrays mv(const Arrays& x, Loc loc) const override { return of_->mv(x, loc); }
  Arrays mm(const Arrays& x, Loc loc) const override { return of_->mm(x, loc); }
  std::shared_ptr<const Map> transpose(Loc loc) const override {
    auto own = of_->transpose(loc);
    return own ? std::make_shared<Tagged>(own, transposed(tags())) : nullptr;
  }
  Array as_matrix(Loc loc) const override { return of_->as_matrix(loc); }
  std::optional<Array> diagonal(Loc loc) const override { return of_->diagonal(loc); }
  std::optional<Bands> bands(Loc loc) const override { return of_->bands(loc); }

 private:
  std::shared_ptr<const Map> of_;
};

}  // namespace

std::string to_string(const Tags& t) {
  std::string text;
  const auto add = [&](bool has, const char* name) {
    if (has) text += (text.empty() ? "" : ", ") + std::string(name);
  };
  add(t.symmetric, "symmetric");
  add(t.positive_semidefinite, "positive semidefinite");
  add(t.negative_semidefinite, "negative semidefinite");
  add(t.diagonal, "diagonal");
  add(t.tridiagonal, "tridiagonal");
  add(t.lower_triangular, "lower triangular");
  add(t.upper_triangular, "upper triangular");
  add(t.unit_diagonal, "unit diagonal");
  return text.empty() ? "none" : text;
}

Dim Space::size() const {
  Dim n = 0;
  for (const Aval& a : arrays) n += a.shape.size();
  return n;
}

DType Space::dtype() const {
  if (arrays.empty()) return DType::f32;
  // Of floats alone: the one that is wider, of two different ones of 16 bits the next one.
  DType result = arrays[0].dtype;
  for (const Aval& a : arrays) {
    if (a.dtype == result) continue;
    const bool any_f64 = a.dtype == DType::f64 || result == DType::f64;
    result = any_f64 ? DType::f64 : DType::f32;
  }
  return result;
}

std::string to_string(const Space& s) {
  std::string text;
  for (const Aval& a : s.arrays) text += (text.empty() ? "" : ", ") + to_string(a);
  return text.empty() ? "no arrays" : text;
}

Arrays Map::mm(const Arrays& x, Loc loc) const {
  const auto product = [&](const Arrays& v) { return mv(v, loc); };
  return vmap(product, {.in_axes = {-1}, .out_axes = {-1}}, loc)(x);
}

Array Map::as_matrix(Loc loc) const {
  const Arrays columns = mm(unit_vectors(in_, loc), loc);
  Arrays rows;
  for (const Array& a : columns)
    rows.push_back(cast(reshape(a, {a.size() / in_.size(), in_.size()}), out_.dtype()));
  return rows.size() == 1 ? rows[0] : concatenate(rows);
}

Operator::Operator(std::shared_ptr<const Map> map) : map_(std::move(map)) {}

Operator Operator::transpose(Loc loc) const {
  if (tags().is_symmetric()) return *this;
  if (auto own = map_->transpose(loc)) return Operator(std::move(own));
  return Operator(std::make_shared<Transposed>(map_, transposed(tags())));
}

Array Operator::as_matrix(Loc loc) const { return map_->as_matrix(loc); }

Array Operator::diagonal(Loc loc) const {
  require_square("operators::diagonal", *this, loc);
  if (auto own = map_->diagonal(loc)) return *own;
  return gnomon::diagonal(as_matrix(loc));
}

Operator Operator::tagged(Tags t, Loc loc) const {
  if (t == Tags{}) return *this;
  require_square("operators::tagged", *this, loc);
  Tags all = tags();
  const auto add = [](bool& to, bool from) { to = to || from; };
  add(all.symmetric, t.symmetric);
  add(all.positive_semidefinite, t.positive_semidefinite);
  add(all.negative_semidefinite, t.negative_semidefinite);
  add(all.diagonal, t.diagonal);
  add(all.tridiagonal, t.tridiagonal);
  add(all.lower_triangular, t.lower_triangular);
  add(all.upper_triangular, t.upper_triangular);
  add(all.unit_diagonal, t.unit_diagonal);
  if (all.unit_diagonal && all.negative_semidefinite)
    usage_error("operators::tagged",
                "a matrix with ones on its diagonal is not negative semidefinite; leave out one of "
                "the two",
                loc);
  return Operator(std::make_shared<Tagged>(map_, all));
}

void Operator::require_same_trees(Loc loc) const {
  if (!square())
    usage_error("operators",
                map_->name() + " takes " + to_string(in()) + " and gives " + to_string(out()) +
                    ": a tree goes in and another one comes out; pass its arrays, a "
                    "std::vector<Array>",
                loc);
}

namespace {

void require_space(const Map& map, const Arrays& x, bool block, Loc loc) {
  const auto fail = [&](const std::string& what) {
    usage_error("operators",
                map.name() + " takes " + to_string(map.in()) +
                    (block ? " with one more axis" : "") + "; the " + (block ? "block" : "vector") +
                    " has " + what,
                loc);
  };
  const auto& want = map.in().arrays;
  Space got;
  for (const Array& a : x) got.arrays.push_back(a.aval());
  bool same = want.size() == x.size();
  for (std::size_t i = 0; same && i < x.size(); ++i) {
    const Aval& g = got.arrays[i];
    const int extra = block ? 1 : 0;
    same = g.dtype == want[i].dtype && g.shape.rank() == want[i].shape.rank() + extra;
    for (int axis = 0; same && axis < want[i].shape.rank(); ++axis)
      same = g.shape[axis] == want[i].shape[axis];
    if (same && block)
      same = g.shape[g.shape.rank() - 1] == got.arrays[0].shape[got.arrays[0].shape.rank() - 1];
  }
  if (!same) fail(to_string(got));
}

}  // namespace

Arrays Operator::product(const Arrays& x, Loc loc) const {
  require_space(*map_, x, false, loc);
  return map_->mv(x, loc);
}

Arrays Operator::block_product(const Arrays& x, Loc loc) const {
  require_space(*map_, x, true, loc);
  return map_->mm(x, loc);
}

void require_square(std::string_view op, const Operator& a, Loc loc) {
  if (!a.square())
    usage_error(op,
                "the operator " + a.map().name() + " takes " + to_string(a.in()) + " and gives " +
                    to_string(a.out()) + "; a square one is needed",
                loc);
}

void require_preconditioner(std::string_view op, const Operator& a,
                            const std::optional<Operator>& m, Loc loc) {
  if (m && (m->in() != a.out() || m->out() != a.in()))
    usage_error(op,
                "the preconditioner " + m->map().name() + " takes " + to_string(m->in()) +
                    " and gives " + to_string(m->out()) + ", and the system is of " +
                    to_string(a.in()) + "; it has to be like the inverse of the operator",
                loc);
}

}  // namespace gnomon::operators
