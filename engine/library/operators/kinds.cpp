// engine/library/operators/kinds.cpp -- products of stored matrices and of functions.
#include "gnomon/operators/kinds.h"

#include "gnomon/arrange.h"
#include "gnomon/linalg.h"
#include "gnomon/transform.h"

namespace gnomon::operators {
namespace {

using Arrays = std::vector<Array>;

class DenseMap final : public Map {
 public:
  DenseMap(Array a, Tags tags)
      : Map({{{a.dtype(), {a.dim(1)}}}}, {{{a.dtype(), {a.dim(0)}}}}, tags, "Dense"),
        a_(std::move(a)) {}
  Arrays mv(const Arrays& x, Loc) const override { return {matmul(a_, x[0])}; }
  Arrays mm(const Arrays& x, Loc) const override { return {matmul(a_, x[0])}; }
  std::shared_ptr<const Map> transpose(Loc) const override {
    Tags t = tags();
    std::swap(t.lower_triangular, t.upper_triangular);
    return std::make_shared<DenseMap>(gnomon::transpose(a_), t);
  }
  Array as_matrix(Loc) const override { return a_; }
  std::optional<Array> diagonal(Loc) const override { return gnomon::diagonal(a_); }

 private:
  Array a_;
};

class DiagonalMap final : public Map {
 public:
  explicit DiagonalMap(Array values)
      : Map({{values.aval()}}, {{values.aval()}}, {.symmetric = true, .diagonal = true},
            "Diagonal"),
        values_(std::move(values)) {}
  Arrays mv(const Arrays& x, Loc) const override { return {values_ * x[0]}; }
  Arrays mm(const Arrays& x, Loc) const override { return {expand_dims(values_, -1) * x[0]}; }
  std::optional<Array> diagonal(Loc) const override { return reshape(values_, {values_.size()}); }

 private:
  Array values_;
};

class IdentityMap final : public Map {
 public:
  explicit IdentityMap(const Space& s)
      : Map(s, s, {.positive_semidefinite = true, .diagonal = true, .unit_diagonal = true},
            "identity") {}
  Arrays mv(const Arrays& x, Loc) const override { return x; }
  Arrays mm(const Arrays& x, Loc) const override { return x; }
  std::optional<Array> diagonal(Loc) const override { return ones({in().size()}, in().dtype()); }
};

class FunctionMap final : public Map {
 public:
  using Function = Handler<Arrays(const Arrays&)>;
  FunctionMap(Function f, Function transposed, Space in, Space out, Tags tags)
      : Map(std::move(in), std::move(out), tags, "function"),
        f_(std::move(f)),
        transposed_(std::move(transposed)) {}
  Arrays mv(const Arrays& x, Loc) const override { return f_(x); }
  std::shared_ptr<const Map> transpose(Loc) const override {
    if (!transposed_) return nullptr;
    Tags t = tags();
    std::swap(t.lower_triangular, t.upper_triangular);
    return std::make_shared<FunctionMap>(transposed_, f_, out(), in(), t);
  }

 private:
  Function f_, transposed_;
};

void require_floats(const char* op, const Array& a) {
  if (!is_float(a.dtype()))
    usage_error(op, "the array is " + to_string(a.aval()) + "; an operator is made of floats", {});
}

}  // namespace

Dense::operator Operator() const {
  require_floats("operators::Dense", matrix);
  if (matrix.rank() != 2)
    usage_error("operators::Dense",
                "the array is " + to_string(matrix.aval()) + "; a matrix f[m, n] is needed", {});
  const Operator plain(std::make_shared<DenseMap>(matrix, Tags{}));
  return tags == Tags{} ? plain : plain.tagged(tags, {});
}

Diagonal::operator Operator() const {
  require_floats("operators::Diagonal", values);
  return Operator(std::make_shared<DiagonalMap>(values));
}

namespace detail {

Space space_of(const Arrays& arrays) {
  Space s;
  for (const Array& a : arrays) s.arrays.push_back(a.aval());
  return s;
}

std::shared_ptr<const Map> identity_map(Space s) {
  return std::make_shared<IdentityMap>(std::move(s));
}

std::shared_ptr<const Map> function_map(Handler<Arrays(const Arrays&)> f, Space in,
                                        Handler<Arrays(const Arrays&)> transposed, Tags tags,
                                        Loc loc) {
  Arrays like;
  for (const Aval& a : in.arrays) like.push_back(abstract_array(a.dtype, a.shape));
  Space out = space_of(eval_shape([&](const Arrays& x) { return f(x); }, like));
  const Operator plain(std::make_shared<FunctionMap>(std::move(f), std::move(transposed),
                                                     std::move(in), std::move(out), Tags{}));
  if (tags == Tags{}) return plain.shared();
  return plain.tagged(tags, loc).shared();
}

}  // namespace detail
}  // namespace gnomon::operators
