// tests/engine/operators_matrices.h -- matrices in plain numbers, and operators held against them.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "gnomon/operators.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::testing::matrices {

using test::Numbers;

/// By rows.
struct Matrix {
  Dim rows = 0, columns = 0;
  Numbers x;
  double& at(Dim i, Dim j) { return x[static_cast<std::size_t>(i * columns + j)]; }
  double at(Dim i, Dim j) const { return x[static_cast<std::size_t>(i * columns + j)]; }
};

inline Matrix made(Dim rows, Dim columns, const std::function<double(Dim, Dim)>& f) {
  Matrix m{rows, columns, {}};
  for (Dim i = 0; i < rows; ++i)
    for (Dim j = 0; j < columns; ++j) m.x.push_back(f(i, j));
  return m;
}
/// Numbers without a pattern, in (-1, 1).
inline Matrix scattered(Dim rows, Dim columns, int seed) {
  return made(rows, columns, [&](Dim i, Dim j) {
    return std::sin(1.0 + 12.9898 * static_cast<double>(i + 1) + 78.233 * static_cast<double>(j) +
                    37.7 * seed);
  });
}
inline Matrix plus(const Matrix& a, const Matrix& b, double c = 1) {
  return made(a.rows, a.columns, [&](Dim i, Dim j) { return a.at(i, j) + c * b.at(i, j); });
}
inline Matrix transposed(const Matrix& a) {
  return made(a.columns, a.rows, [&](Dim i, Dim j) { return a.at(j, i); });
}
inline Matrix times(const Matrix& a, const Matrix& b) {
  return made(a.rows, b.columns, [&](Dim i, Dim j) {
    double s = 0;
    for (Dim k = 0; k < a.columns; ++k) s += a.at(i, k) * b.at(k, j);
    return s;
  });
}
inline Matrix kronecker(const Matrix& a, const Matrix& b) {
  return made(a.rows * b.rows, a.columns * b.columns, [&](Dim i, Dim j) {
    return a.at(i / b.rows, j / b.columns) * b.at(i % b.rows, j % b.columns);
  });
}
inline HostArray on_host(const Matrix& m, DType t = DType::f64) {
  return test::host(t, {m.rows, m.columns}, m.x);
}
inline HostArray listed(const Numbers& v, DType t = DType::f64) {
  return test::host(t, Shape(v.size()), v);
}

/// What `make` makes of the inputs is the operator of this matrix: stored, by blocks, by vectors,
/// its transpose, the transpose of that, and its diagonal.
template <class Make, class... H>
void expect_matrix(const std::string& what, const Matrix& want, double tolerance, const Make& make,
                   const H&... inputs) {
  const auto all = test::run_all(
      [&](const auto&... arrays) {
        const operators::Operator a = make(arrays...);
        const operators::Operator t = a.transpose(), back = t.transpose();
        std::vector<Array> r{a.as_matrix(), a.map().Map::as_matrix({}), t.as_matrix(),
                             t.map().Map::as_matrix({}), back.map().Map::as_matrix({})};
        if (a.in().arrays.size() == 1 && a.in().arrays[0].shape.rank() == 1)
          r.push_back(a.map().Map::mm({eye(a.columns(), a.in().dtype())}, {})[0]);
        else
          r.push_back(r[0]);
        if (a.square()) r.push_back(a.diagonal());
        return r;
      },
      inputs...);
  const char* names[] = {"stored",         "by blocks", "transpose", "transpose by blocks",
                         "back by blocks", "by vectors"};
  for (std::size_t k = 0; k < 6; ++k) {
    SCOPED_TRACE(what + ", " + names[k]);
    test::expect_near(all[k], k == 2 || k == 3 ? transposed(want).x : want.x, tolerance);
  }
  if (all.size() == 7) {
    SCOPED_TRACE(what + ", diagonal");
    Numbers d;
    for (Dim i = 0; i < want.rows; ++i) d.push_back(want.at(i, i));
    test::expect_near(all[6], d, tolerance);
  }
}

/// The message of the UsageError that `f` of these inputs throws.
template <class F, class... H>
std::string refusal(const F& f, const H&... inputs) {
  try {
    make_graph([&](const auto&... a) { return operators::Operator(f(a...)).as_matrix(); },
               placeholder(inputs.aval)...);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace gnomon::testing::matrices
