// codegen/primitives/linalg/dense.h -- matrices of doubles on the host: what the reference rules of
// linear algebra compute with.
#pragma once
#include <cmath>
#include <vector>

#include "codegen/graph/host.h"

namespace gnomon::host {

class Dense {
 public:
  Dense(Dim m, Dim n) : m_(m), n_(n), x_(static_cast<std::size_t>(m * n), 0.0) {}
  static Dense identity(Dim n) {
    Dense d(n, n);
    for (Dim i = 0; i < n; ++i) d(i, i) = 1;
    return d;
  }
  double& operator()(Dim i, Dim j) { return x_[static_cast<std::size_t>(i * n_ + j)]; }
  double operator()(Dim i, Dim j) const { return x_[static_cast<std::size_t>(i * n_ + j)]; }
  Dim rows() const { return m_; }
  Dim columns() const { return n_; }
  Dense transposed() const {
    Dense t(n_, m_);
    for (Dim i = 0; i < m_; ++i)
      for (Dim j = 0; j < n_; ++j) t(j, i) = (*this)(i, j);
    return t;
  }
  void swap_rows(Dim a, Dim b) {
    for (Dim j = 0; j < n_; ++j) std::swap((*this)(a, j), (*this)(b, j));
  }

 private:
  Dim m_, n_;
  std::vector<double> x_;
};

/// Number of matrices in an array.
inline Dim matrices(const Aval& a) { return a.shape.part(0, a.shape.rank() - 2).size(); }

/// Matrix `which` of a batch.
inline Dense matrix_at(const HostArray& a, Dim which) {
  const int r = a.aval.shape.rank();
  Dense d(a.aval.shape[r - 2], a.aval.shape[r - 1]);
  const Dim first = which * d.rows() * d.columns();
  for (Dim i = 0; i < d.rows(); ++i)
    for (Dim j = 0; j < d.columns(); ++j) d(i, j) = a.number(first + i * d.columns() + j);
  return d;
}
inline void put_matrix(HostArray& a, Dim which, const Dense& d) {
  const Dim first = which * d.rows() * d.columns();
  for (Dim i = 0; i < d.rows(); ++i)
    for (Dim j = 0; j < d.columns(); ++j) a.set_number(first + i * d.columns() + j, d(i, j));
}
inline void put_row(HostArray& a, Dim which, const std::vector<double>& v) {
  const Dim n = static_cast<Dim>(v.size());
  for (Dim i = 0; i < n; ++i) a.set_number(which * n + i, v[static_cast<std::size_t>(i)]);
}

}  // namespace gnomon::host
