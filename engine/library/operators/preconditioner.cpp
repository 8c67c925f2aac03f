// engine/library/operators/preconditioner.cpp -- parts and approximations of operators, inverted.
#include "gnomon/operators/preconditioner.h"

#include <limits>

#include "engine/library/operators/iteration.h"
#include "gnomon/arrange.h"
#include "gnomon/linalg.h"
#include "gnomon/operators/algebra.h"
#include "gnomon/operators/kinds.h"
#include "gnomon/operators/structured.h"

namespace gnomon::operators {
namespace {

using Arrays = std::vector<Array>;

/// What is promised of the inverse of a part of a matrix with these tags.
Tags of_inverse(const Tags& t) {
  return {.symmetric = t.is_symmetric(),
          .positive_semidefinite = t.positive_semidefinite,
          .negative_semidefinite = t.negative_semidefinite};
}

/// diag(values) for trees: an array of factors for each array.
class Scaling final : public Map {
 public:
  Scaling(const Space& s, Arrays factors, Tags tags)
      : Map(s, s, tags, "jacobi"), factors_(std::move(factors)) {}
  Arrays mv(const Arrays& x, Loc) const override {
    Arrays result;
    for (std::size_t i = 0; i < x.size(); ++i) result.push_back(factors_[i] * x[i]);
    return result;
  }
  Arrays mm(const Arrays& x, Loc) const override {
    Arrays result;
    for (std::size_t i = 0; i < x.size(); ++i)
      result.push_back(expand_dims(factors_[i], -1) * x[i]);
    return result;
  }

 private:
  Arrays factors_;
};

/// Blocks [m, size, size] along the diagonal of a matrix of n <= m size rows.
class Blocks final : public Map {
 public:
  Blocks(const Space& s, Array blocks, Tags tags)
      : Map(s, s, tags, "block_jacobi"), blocks_(std::move(blocks)) {}
  Arrays mv(const Arrays& x, Loc loc) const override {
    return {reshape(mm({reshape(x[0], {x[0].size(), 1})}, loc)[0], {x[0].size()})};
  }
  Arrays mm(const Arrays& x, Loc) const override {
    const Dim m = blocks_.dim(0), size = blocks_.dim(1), n = x[0].dim(0), k = x[0].dim(1);
    Array all = x[0];
    if (n < m * size) all = concatenate({all, zeros({m * size - n, k}, all.dtype())});
    const Array y = reshape(matmul(blocks_, reshape(all, {m, size, k})), {m * size, k});
    return {n < m * size ? slice(y, {0, 0}, {n, k}) : y};
  }
  std::shared_ptr<const Map> transpose(Loc) const override {
    return std::make_shared<Blocks>(in(), swapaxes(blocks_, 1, 2), tags());
  }

 private:
  Array blocks_;
};

}  // namespace

Operator jacobi(const Operator& a, Loc loc) {
  require_square("operators::jacobi", a, loc);
  const Array d = a.diagonal(loc);
  const Array inverse = where(d == 0, 1, 1 / where(d == 0, 1, d));
  Arrays factors;
  Dim first = 0;
  for (const Aval& v : a.in().arrays) {
    const Dim n = v.shape.size();
    const Array part = a.in().arrays.size() == 1 ? inverse : slice(inverse, {first}, {first + n});
    factors.push_back(cast(reshape(part, v.shape), v.dtype));
    first += n;
  }
  Tags tags = of_inverse(a.tags());
  tags.symmetric = tags.diagonal = true;
  return Operator(std::make_shared<Scaling>(a.in(), std::move(factors), tags));
}

Operator block_jacobi(const Array& blocks, Tags tags, Loc loc) {
  if (blocks.rank() != 3 || blocks.dim(1) != blocks.dim(2) || !is_float(blocks.dtype()))
    usage_error("operators::block_jacobi",
                "the blocks are " + to_string(blocks.aval()) +
                    "; floats of the shape [m, size, size] are needed",
                loc);
  const Space s{{{blocks.dtype(), {blocks.dim(0) * blocks.dim(1)}}}};
  return Operator(std::make_shared<Blocks>(s, linalg::inv(blocks), of_inverse(tags)));
}

Operator block_jacobi(const Operator& a, Dim block, Loc loc) {
  require_square("operators::block_jacobi", a, loc);
  if (a.in().arrays.size() != 1 || a.in().arrays[0].shape.rank() != 1)
    usage_error("operators::block_jacobi",
                "the operator " + a.map().name() + " takes " + to_string(a.in()) +
                    "; blocks are those of an operator of vectors f[n]",
                loc);
  if (block < 1)
    usage_error("operators::block_jacobi",
                "a block has " + std::to_string(block) + " rows; at least 1 is needed", loc);
  const Dim n = a.rows(), size = std::min(block, n), m = (n + size - 1) / size, all = m * size;
  Array matrix = a.as_matrix(loc);
  if (all > n) {
    const Array pad = zeros({all - n, n}, matrix.dtype());
    const Array right =
        concatenate({zeros({n, all - n}, matrix.dtype()), eye(all - n, matrix.dtype())});
    matrix = concatenate({concatenate({matrix, pad}), right}, 1);
  }
  // Block row i, of that the columns of block i.
  const Array rows = reshape(matrix, {m, size, m, size});
  const Array own = reshape(arange(m), {m, 1, 1, 1}) == reshape(arange(m), {1, 1, m, 1});
  const Array blocks = sum(where(own, rows, 0), {2});
  return Operator(std::make_shared<Blocks>(a.in(), linalg::inv(blocks), of_inverse(a.tags())));
}

Operator nystroem(const Array& columns, const Array& middle, const Array& shift, Loc loc) {
  const DType dtype = columns.dtype();
  const bool fits = columns.rank() == 2 && is_float(dtype) && middle.dtype() == dtype &&
                    middle.shape() == Shape{columns.dim(1), columns.dim(1)} && shift.rank() == 0 &&
                    shift.dtype() == dtype;
  if (!fits)
    usage_error("operators::nystroem",
                "the columns are " + to_string(columns.aval()) + ", the middle " +
                    to_string(middle.aval()) + " and the shift " + to_string(shift.aval()) +
                    "; floats of the shapes [n, m], [m, m] and [] are needed",
                loc);
  const Array unit = eye(columns.dim(1), dtype);
  const auto inverse_factor = [&](const Array& a) {  // L^-T, a = L L^T
    return transpose(linalg::triangular_solve(linalg::cholesky(a), unit));
  };
  const double eps = dtype == DType::f64 ? std::numeric_limits<double>::epsilon()
                                         : std::numeric_limits<float>::epsilon();
  // The trace bounds the largest eigenvalue, to which rounding is relative.
  const Array lifted = middle + 4 * eps * sum(middle * unit) * unit;
  const Array v = matmul(columns, inverse_factor(lifted));
  const Array u = matmul(v, inverse_factor(matmul(transpose(v), v) + shift * unit));
  // Woodbury's formula for V V^T + shift I.
  const Operator inverse = (1 / shift) * (identity(zeros({columns.dim(0)}, dtype)) - LowRank{u});
  return inverse.tagged({.positive_semidefinite = true});
}

}  // namespace gnomon::operators
