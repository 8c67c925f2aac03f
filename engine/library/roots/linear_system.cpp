// engine/library/roots/linear_system.cpp -- elimination, written out or by gnomon/linalg.h.
#include "engine/library/roots/linear_system.h"

#include "gnomon/linalg.h"
#include "gnomon/transform.h"

namespace gnomon::roots::detail {
namespace {

Array in(DType dtype, const Array& a) { return a.dtype() == dtype ? a : cast(a, dtype); }

std::size_t at(Dim i) { return static_cast<std::size_t>(i); }

}  // namespace

Layout::Layout(const Arrays& like, DType dtype) : dtype_(dtype) {
  for (const Array& a : like) {
    leaves_.push_back({a.aval(), size_});
    size_ += a.size();
  }
}

Arrays Layout::flat(const Arrays& leaves) const {
  Arrays parts;
  for (const Array& a : leaves) {
    const Array x = in(dtype_, a);
    if (!written_out()) {
      parts.push_back(reshape(x, {x.size()}));
    } else if (x.rank() == 0) {
      parts.push_back(x);
    } else {
      const Array all = reshape(x, {x.size()});
      for (Dim i = 0; i < x.size(); ++i) parts.push_back(all[i]);
    }
  }
  if (written_out()) return parts;
  return {parts.size() == 1 ? parts[0] : concatenate(parts)};
}

Arrays Layout::leaves(const Arrays& flat) const {
  Arrays result;
  for (const Leaf& leaf : leaves_) {
    const Dim count = leaf.aval.shape.size();
    Array a;
    if (!written_out()) {
      a = reshape(slice(flat[0], {leaf.first}, {leaf.first + count}), leaf.aval.shape);
    } else if (leaf.aval.shape.rank() == 0) {
      a = flat[at(leaf.first)];
    } else if (count == 0) {
      a = zeros(leaf.aval.shape, dtype_);
    } else {
      const auto first = flat.begin() + leaf.first;
      a = reshape(stack(Arrays(first, first + count)), leaf.aval.shape);
    }
    result.push_back(in(leaf.aval.dtype, a));
  }
  return result;
}

Arrays Layout::unit(Dim number, bool with_holes) const {
  Arrays result;
  for (const Leaf& leaf : leaves_) {
    const Dim count = leaf.aval.shape.size(), here = number - leaf.first;
    if (here < 0 || here >= count)
      result.push_back(with_holes ? Array::hole() : zeros(leaf.aval.shape, leaf.aval.dtype));
    else if (count == 1)
      result.push_back(ones(leaf.aval.shape, leaf.aval.dtype));
    else
      result.push_back(reshape(cast(iota({count}, 0) == static_cast<int>(here), leaf.aval.dtype),
                               leaf.aval.shape));
  }
  return result;
}

Arrays Layout::matrix(Linear f, bool with_holes) const {
  if (written_out()) {
    Arrays result(at(size_ * size_));
    for (Dim j = 0; j < size_; ++j) {
      const Arrays column = flat(f(unit(j, with_holes)));
      for (Dim i = 0; i < size_; ++i) result[at(i * size_ + j)] = column[at(i)];
    }
    return result;
  }
  const Array directions = eye(size_, dtype_);
  const auto column = [&](const Array& direction) { return flat(f(leaves({direction})))[0]; };
  return {transpose(vmap(column)(directions))};
}

Arrays Layout::shifted(const Array& factor, const Arrays& matrix, double diagonal) const {
  if (!written_out()) return {diagonal * eye(size_, dtype_) + factor * matrix[0]};
  Arrays result;
  for (Dim i = 0; i < size_; ++i)
    for (Dim j = 0; j < size_; ++j) {
      const Array a = factor * matrix[at(i * size_ + j)];
      result.push_back(i == j ? diagonal + a : a);
    }
  return result;
}

Factors::Factors(const Layout& layout, Arrays matrix)
    : n_(at(layout.size())), written_out_(layout.written_out()) {
  if (!written_out_) {
    lu_ = {linalg::inv(matrix[0])};
    pivots_ = std::move(matrix);
    return;
  }
  const std::size_t n = n_;
  Arrays& a = matrix;
  swaps_.resize(n * n);
  for (std::size_t k = 0; k < n; ++k) {
    // The row with the largest element comes up: the others fall down by one exchange each.
    for (std::size_t i = k + 1; i < n; ++i) {
      const Array swap = abs(a[i * n + k]) > abs(a[k * n + k]);
      swaps_[k * n + i] = swap;
      for (std::size_t j = k; j < n; ++j) {
        const Array up = a[i * n + j], down = a[k * n + j];
        a[k * n + j] = where(swap, up, down);
        a[i * n + j] = where(swap, down, up);
      }
    }
    pivots_.push_back(1 / a[k * n + k]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const Array l = a[i * n + k] * pivots_[k];
      a[i * n + k] = l;
      for (std::size_t j = k + 1; j < n; ++j) a[i * n + j] = a[i * n + j] - l * a[k * n + j];
    }
  }
  lu_ = std::move(a);
}

Arrays Factors::solve(Arrays b) const {
  if (!written_out_) {
    const Array x = matmul(lu_[0], b[0]);
    return {x + matmul(lu_[0], b[0] - matmul(pivots_[0], x))};
  }
  const std::size_t n = n_;
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = k + 1; i < n; ++i) {
      const Array up = b[i], down = b[k];
      b[k] = where(swaps_[k * n + i], up, down);
      b[i] = where(swaps_[k * n + i], down, up);
    }
    for (std::size_t i = k + 1; i < n; ++i) b[i] = b[i] - lu_[i * n + k] * b[k];
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] = b[k] - lu_[k * n + j] * b[j];
    b[k] = b[k] * pivots_[k];
  }
  return b;
}

Arrays Factors::solve_transposed(Arrays b) const {
  if (!written_out_) {
    const Array x = matmul(b[0], lu_[0]);
    return {x + matmul(b[0] - matmul(x, pivots_[0]), lu_[0])};
  }
  const std::size_t n = n_;
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t j = 0; j < k; ++j) b[k] = b[k] - lu_[j * n + k] * b[j];
    b[k] = b[k] * pivots_[k];
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t i = k + 1; i < n; ++i) b[k] = b[k] - lu_[i * n + k] * b[i];
    for (std::size_t i = n; i-- > k + 1;) {
      const Array up = b[i], down = b[k];
      b[k] = where(swaps_[k * n + i], up, down);
      b[i] = where(swaps_[k * n + i], down, up);
    }
  }
  return b;
}

Arrays Factors::state() const {
  Arrays all = lu_;
  all.insert(all.end(), pivots_.begin(), pivots_.end());
  for (const Array& s : swaps_)
    if (!s.empty()) all.push_back(s);
  return all;
}

Factors Factors::of_state(const Layout& layout, const Arrays& state) {
  Factors f;
  f.n_ = at(layout.size());
  f.written_out_ = layout.written_out();
  const std::size_t n = f.n_;
  if (!f.written_out_) {
    f.lu_ = {state[0]};
    f.pivots_ = {state[1]};
    return f;
  }
  const auto behind = [&](std::size_t i) { return state.begin() + static_cast<Dim>(i); };
  f.lu_.assign(state.begin(), behind(n * n));
  f.pivots_.assign(behind(n * n), behind(n * n + n));
  f.swaps_.resize(n * n);
  std::size_t next = n * n + n;
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = k + 1; i < n; ++i) f.swaps_[k * n + i] = state[next++];
  return f;
}

// What is one array is a vector or a matrix; a single number is both forms at once.

Array dot(const Arrays& a, const Arrays& b) {
  if (a.size() == 1 && a[0].rank() > 0) return sum(a[0] * b[0]);
  Array total = a[0] * b[0];
  for (std::size_t i = 1; i < a.size(); ++i) total = total + a[i] * b[i];
  return total;
}

Arrays product(const Arrays& matrix, const Arrays& v) {
  if (v[0].rank() > 0) return {matmul(matrix[0], v[0])};
  Arrays result;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const auto row = matrix.begin() + static_cast<Dim>(i * v.size());
    result.push_back(dot(Arrays(row, row + static_cast<Dim>(v.size())), v));
  }
  return result;
}

Arrays product_transposed(const Arrays& matrix, const Arrays& v) {
  if (v[0].rank() > 0) return {matmul(v[0], matrix[0])};
  Arrays result;
  for (std::size_t j = 0; j < v.size(); ++j) {
    Arrays column;
    for (std::size_t i = 0; i < v.size(); ++i) column.push_back(matrix[i * v.size() + j]);
    result.push_back(dot(column, v));
  }
  return result;
}

Arrays with_outer(const Arrays& matrix, const Arrays& u, const Arrays& v) {
  if (v[0].rank() > 0)
    return {matrix[0] + reshape(u[0], {u[0].size(), 1}) * reshape(v[0], {1, v[0].size()})};
  Arrays result;
  for (std::size_t i = 0; i < u.size(); ++i)
    for (std::size_t j = 0; j < v.size(); ++j)
      result.push_back(matrix[i * v.size() + j] + u[i] * v[j]);
  return result;
}

Arrays inverse(const Layout& layout, const Arrays& matrix) {
  if (!layout.written_out()) return {linalg::inv(matrix[0])};
  const Factors factors(layout, matrix);
  const std::size_t n = at(layout.size());
  const Array one = ones({}, layout.dtype()), zero = zeros({}, layout.dtype());
  Arrays result(n * n);
  for (std::size_t j = 0; j < n; ++j) {
    Arrays unit(n, zero);
    unit[j] = one;
    const Arrays column = factors.solve(unit);
    for (std::size_t i = 0; i < n; ++i) result[i * n + j] = column[i];
  }
  return result;
}

Arrays choose(const Array& condition, const Arrays& yes, const Arrays& no) {
  Arrays result;
  for (std::size_t i = 0; i < yes.size(); ++i) result.push_back(where(condition, yes[i], no[i]));
  return result;
}

Arrays plus(const Arrays& a, const Arrays& b) {
  Arrays result;
  for (std::size_t i = 0; i < a.size(); ++i) result.push_back(a[i] + b[i]);
  return result;
}
Arrays minus(const Arrays& a, const Arrays& b) {
  Arrays result;
  for (std::size_t i = 0; i < a.size(); ++i) result.push_back(a[i] - b[i]);
  return result;
}
Arrays times(const Operand& factor, const Arrays& a) {
  Arrays result;
  for (const Array& x : a) result.push_back(factor * x);
  return result;
}

}  // namespace gnomon::roots::detail
