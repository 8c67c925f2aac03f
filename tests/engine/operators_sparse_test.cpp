// tests/engine/operators_sparse_test.cpp -- sparse operators against loops over their entries, and
// the gallery against closed forms, on the host reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numbers>
#include <random>

#include "gnomon/linalg.h"
#include "tests/engine/operators_matrices.h"

namespace gnomon::testing {
namespace {

using namespace matrices;
using operators::BlockSparse;
using operators::Coo;
using operators::Csr;
using operators::Operator;
using operators::Tags;
using operators::Triplets;
using ::testing::HasSubstr;

/// Entries by rows, with empty rows and entries of one place.
struct Entries {
  Dim rows = 0, columns = 0;
  Numbers offsets, row, column, value;

  std::size_t count() const { return value.size(); }
  Matrix dense() const {
    Matrix m = made(rows, columns, [](Dim, Dim) { return 0.0; });
    for (std::size_t e = 0; e < count(); ++e)
      m.at(static_cast<Dim>(row[e]), static_cast<Dim>(column[e])) += value[e];
    return m;
  }
};

Entries random_entries(Dim rows, Dim columns, unsigned seed) {
  std::mt19937 random(seed);
  Entries r{rows, columns, {0}, {}, {}, {}};
  for (Dim i = 0; i < rows; ++i) {
    // Every third row is empty but for a matrix of one row; columns come in any order and again.
    const unsigned here = rows > 1 && i % 3 == 1 ? 0 : 1 + random() % 4;
    for (unsigned k = 0; k < here; ++k) {
      r.row.push_back(static_cast<double>(i));
      r.column.push_back(k == 2 ? r.column.back()
                                : static_cast<double>(random() % static_cast<unsigned>(columns)));
      r.value.push_back(static_cast<double>(random() % 2001) / 1000 - 1);
    }
    r.offsets.push_back(static_cast<double>(r.count()));
  }
  return r;
}
/// The same entries by columns, and which one each is.
std::pair<Entries, Numbers> turned(const Entries& a) {
  Entries r{a.columns, a.rows, {0}, {}, {}, {}};
  Numbers order;
  for (Dim j = 0; j < a.columns; ++j) {
    for (std::size_t e = 0; e < a.count(); ++e)
      if (a.column[e] == static_cast<double>(j)) {
        r.row.push_back(a.column[e]);
        r.column.push_back(a.row[e]);
        r.value.push_back(a.value[e]);
        order.push_back(static_cast<double>(e));
      }
    r.offsets.push_back(static_cast<double>(r.count()));
  }
  return {r, order};
}

HostArray whole(const Numbers& v) { return test::i32(v); }

const std::vector<std::pair<Dim, Dim>> shapes = {{1, 1}, {1, 6}, {6, 1}, {5, 5}, {3, 11}, {13, 4}};

TEST(SparseOperators, CsrIsTheMatrixOfItsEntries) {
  for (const auto& shape : shapes)
    for (const DType t : {DType::f32, DType::f64})
      for (const bool longest : {false, true}) {
        const Entries a = random_entries(shape.first, shape.second, 3);
        const Dim width = a.columns, most = longest ? 4 : 0;
        expect_matrix(
            "Csr", a.dense(), t == DType::f32 ? 1e-6 : 1e-14,
            [=](const Array& offsets, const Array& columns, const Array& values) -> Operator {
              return Csr{{offsets, columns, width, most}, values};
            },
            whole(a.offsets), whole(a.column), listed(a.value, t));
      }
}

TEST(SparseOperators, CsrWithAStoredTransposeIsTheSame) {
  for (const auto& shape : shapes) {
    const Entries a = random_entries(shape.first, shape.second, 4);
    const auto back = turned(a);
    const Dim width = a.columns, height = a.rows;
    expect_matrix(
        "Csr", a.dense(), 1e-14,
        [=](const Array& offsets, const Array& columns, const Array& values, const Array& starts,
            const Array& rows, const Array& order) -> Operator {
          return Csr{
              {offsets, columns, width, 0}, values, {}, CsrPattern{starts, rows, height, 0}, order};
        },
        whole(a.offsets), whole(a.column), listed(a.value), whole(back.first.offsets),
        whole(back.first.column), whole(back.second));
  }
}

TEST(SparseOperators, CooIsTheMatrixOfItsEntries) {
  for (const auto& shape : shapes)
    for (const DType t : {DType::f32, DType::f64}) {
      const Entries a = random_entries(shape.first, shape.second, 5);
      const Dim m = a.rows, n = a.columns;
      expect_matrix(
          "Coo", a.dense(), t == DType::f32 ? 1e-6 : 1e-14,
          [=](const Array& row, const Array& column, const Array& values) -> Operator {
            return Coo{row, column, values, m, n};
          },
          whole(a.row), whole(a.column), listed(a.value, t));
    }
}

TEST(SparseOperators, BlocksAreTheMatrixTheyMake) {
  for (const auto& shape : shapes)
    for (const Dim b : {1, 3}) {
      const Entries a = random_entries(shape.first, shape.second, 6);
      const Matrix numbers = scattered(static_cast<Dim>(a.count()), b * b, 2);
      Matrix want = made(a.rows * b, a.columns * b, [](Dim, Dim) { return 0.0; });
      for (std::size_t e = 0; e < a.count(); ++e)
        for (Dim k = 0; k < b * b; ++k)
          want.at(static_cast<Dim>(a.row[e]) * b + k / b,
                  static_cast<Dim>(a.column[e]) * b + k % b) += numbers.at(static_cast<Dim>(e), k);
      const Dim width = a.columns;
      expect_matrix(
          "BlockSparse", want, 1e-14,
          [=](const Array& offsets, const Array& columns, const Array& blocks) -> Operator {
            return BlockSparse{{offsets, columns, width, 0}, blocks};
          },
          whole(a.offsets), whole(a.column),
          test::host(DType::f64, {static_cast<Dim>(a.count()), b, b}, numbers.x));
    }
}

// d/dv of y' A(v) x at an entry (i, j) is y_i x_j, and of |A(v) x|^2 is 2 (A x)_i x_j.
TEST(SparseOperators, DerivativesInTheValuesAreThoseOfTheDenseMatrix) {
  const Entries a = random_entries(7, 5, 8);
  const Matrix dense = a.dense();
  const Numbers x = scattered(5, 1, 3).x, y = scattered(7, 1, 4).x;
  Numbers product(7), once, twice, turned_once;
  for (Dim i = 0; i < 7; ++i)
    for (Dim j = 0; j < 5; ++j)
      product[static_cast<std::size_t>(i)] += dense.at(i, j) * x[static_cast<std::size_t>(j)];
  for (std::size_t e = 0; e < a.count(); ++e) {
    const auto i = static_cast<std::size_t>(a.row[e]), j = static_cast<std::size_t>(a.column[e]);
    once.push_back(y[i] * x[j]);
    twice.push_back(2 * product[i] * x[j]);
  }
  const auto gradients = [&](const auto& make) {
    return test::run_all(
        [&](const Array& offsets, const Array& row, const Array& column, const Array& values,
            const Array& v, const Array& w) {
          const auto op = [&](const Array& entries) -> Operator {
            return make(offsets, row, column, entries);
          };
          return std::vector<Array>{
              grad([&](const Array& e) { return sum(w * op(e).mv(v)); })(values),
              grad([&](const Array& e) { return sum(square(op(e).mv(v))); })(values),
              grad([&](const Array& e) { return sum(v * op(e).transpose().mv(w)); })(values),
              grad([&](const Array& e) { return sum(w * matmul(op(e).as_matrix(), v)); })(values)};
        },
        whole(a.offsets), whole(a.row), whole(a.column), listed(a.value), listed(x), listed(y));
  };
  const auto check = [&](const char* what, const std::vector<Numbers>& got) {
    SCOPED_TRACE(what);
    test::expect_near(got[0], once, 1e-14);
    test::expect_near(got[1], twice, 1e-14);
    test::expect_near(got[2], once, 1e-14);
    test::expect_near(got[3], once, 1e-14);
  };
  check("Csr", gradients([](const Array& offsets, const Array&, const Array& column,
                            const Array& e) -> Operator {
          return Csr{{offsets, column, 5, 0}, e};
        }));
  check("Coo", gradients([](const Array&, const Array& row, const Array& column,
                            const Array& e) -> Operator {
          return Coo{row, column, e, 7, 5};
        }));
  check("BlockSparse", gradients([](const Array& offsets, const Array&, const Array& column,
                                    const Array& e) -> Operator {
          return BlockSparse{{offsets, column, 5, 0}, reshape(e, {e.size(), 1, 1})};
        }));
}

TEST(SparseOperators, LanesOfVectorsAndOfValues) {
  const Entries a = random_entries(6, 5, 9), b = [&] {
    Entries other = a;
    for (double& v : other.value) v = 1 - 2 * v;
    return other;
  }();
  const Matrix lanes = scattered(2, 5, 1), first = a.dense(), second = b.dense();
  Numbers vectors, values, stacked = a.value;
  stacked.insert(stacked.end(), b.value.begin(), b.value.end());
  for (Dim lane = 0; lane < 2; ++lane)
    for (Dim i = 0; i < 6; ++i) {
      double s = 0, t = 0;
      for (Dim j = 0; j < 5; ++j) {
        s += first.at(i, j) * lanes.at(lane, j);
        t += (lane == 0 ? first : second).at(i, j) * lanes.at(lane, j);
      }
      vectors.push_back(s);
      values.push_back(t);
    }
  const auto entries = static_cast<Dim>(a.count());
  const auto all = test::run_all(
      [&](const Array& offsets, const Array& row, const Array& column, const Array& v,
          const Array& x) {
        const auto csr = [&](const Array& e) -> Operator {
          return Csr{{offsets, column, 5, 0}, e};
        };
        const auto coo = [&](const Array& e) -> Operator { return Coo{row, column, e, 6, 5}; };
        const auto block = [&](const Array& e) -> Operator {
          return BlockSparse{{offsets, column, 5, 0}, reshape(e, {entries, 1, 1})};
        };
        std::vector<Array> r;
        const auto both = [&](const auto& make) {
          r.push_back(vmap([&](const Array& u) { return make(v[0]).mv(u); })(x));
          r.push_back(vmap([&](const Array& e, const Array& u) { return make(e).mv(u); })(v, x));
        };
        both(csr);
        both(coo);
        both(block);
        return r;
      },
      whole(a.offsets), whole(a.row), whole(a.column),
      test::host(DType::f64, {2, entries}, stacked), on_host(lanes));
  for (std::size_t k = 0; k < all.size(); ++k) {
    SCOPED_TRACE(k);
    test::expect_near(all[k], k % 2 == 0 ? vectors : values, 1e-14);
  }
}

TEST(SparseOperators, WhatDoesNotFitIsRefused) {
  const HostArray offsets = whole({0, 1, 2}), columns = whole({0, 1}), values = listed({1, 2});
  const auto csr = [](const Array& o, const Array& c, const Array& v) -> Operator {
    return Csr{{o, c, 2, 0}, v};
  };
  EXPECT_EQ(refusal(csr, offsets, columns, values), "no error");
  EXPECT_THAT(refusal(csr, offsets, columns, listed({1, 2, 3})),
              HasSubstr("operators::Csr: the pattern's columns is i32[2]; an i32[3] is needed"));
  EXPECT_THAT(refusal(csr, offsets, columns, whole({1, 2})),
              HasSubstr("operators::Csr: the values are i32[2]; floats of rank 1 are needed"));
  EXPECT_THAT(refusal(csr, offsets, columns, test::host(DType::f64, {2, 1}, {1, 2})),
              HasSubstr("the values are f64[2,1]; floats of rank 1"));
  EXPECT_THAT(refusal(csr, listed({0, 1, 2}), columns, values), HasSubstr("operators::Csr: "));
  EXPECT_THAT(refusal(csr, test::i32(0), columns, values), HasSubstr("operators::Csr: "));
  EXPECT_THAT(refusal(csr, test::host(DType::i32, {0}, {}), columns, values),
              HasSubstr("operators::Csr: "));
  const auto coo = [](const Array& r, const Array& c, const Array& v) -> Operator {
    return Coo{r, c, v, 2, 2};
  };
  EXPECT_THAT(refusal(coo, whole({1}), columns, values),
              HasSubstr("operators::Coo: row is i32[1]"));
  EXPECT_THAT(refusal(coo, columns, listed({0, 1}), values),
              HasSubstr("operators::Coo: column is f64[2]; an i32[2]"));
  EXPECT_THAT(refusal(coo, columns, columns, whole({1, 2})),
              HasSubstr("operators::Coo: the values are i32[2]"));
  const auto blocks = [](const Array& o, const Array& c, const Array& v) -> Operator {
    return BlockSparse{{o, c, 2, 0}, v};
  };
  EXPECT_THAT(refusal(blocks, offsets, columns, test::counting({2, 2, 3})),
              HasSubstr("the blocks are f32[2,2,3]; square ones are needed"));
  EXPECT_THAT(refusal(blocks, offsets, columns, test::counting({3, 2, 2})),
              HasSubstr("the pattern's columns is i32[2]; an i32[3]"));
  EXPECT_THAT(refusal(blocks, test::i32(0), columns, test::counting({2, 2, 2})),
              HasSubstr("operators::BlockSparse: "));
  EXPECT_THAT(refusal(
                  [](const Array& o, const Array& c, const Array& v) -> Operator {
                    return Csr{{o, c, 3, 0}, v, Tags{.symmetric = true}};
                  },
                  offsets, columns, values),
              HasSubstr("square"));
}

// ---- gallery

Matrix dense_of(const Triplets& t) {
  Matrix m = made(t.rows, t.columns, [](Dim, Dim) { return 0.0; });
  for (std::size_t e = 0; e < t.row.size(); ++e) m.at(t.row[e], t.column[e]) += t.value[e];
  return m;
}
Matrix one_dimension(Dim n) {
  return made(n, n, [](Dim i, Dim j) { return i == j ? 2.0 : std::abs(i - j) == 1 ? -1.0 : 0.0; });
}
Matrix identity(Dim n) {
  return made(n, n, [](Dim i, Dim j) { return i == j ? 1.0 : 0.0; });
}

TEST(Gallery, PoissonsEigenvectorsAreProductsOfSines) {
  const auto check = [](const std::vector<Dim>& sizes) {
    const Matrix a = dense_of(operators::poisson(sizes));
    // Of the mode k_axis = 1 + mode / stride % size along each axis.
    for (Dim mode = 0; mode < a.rows; ++mode) {
      Matrix v = made(a.rows, 1, [](Dim, Dim) { return 1.0; });
      double eigenvalue = 0;
      Dim stride = 1;
      for (std::size_t axis = sizes.size(); axis-- > 0;) {
        const Dim n = sizes[axis];
        const double angle = static_cast<double>(1 + mode / stride % n) * std::numbers::pi /
                             static_cast<double>(n + 1);
        eigenvalue += 4 * std::pow(std::sin(angle / 2), 2);
        for (Dim i = 0; i < a.rows; ++i)
          v.at(i, 0) *= std::sin(angle * static_cast<double>(1 + i / stride % n));
        stride *= n;
      }
      const Matrix av = times(a, v);
      for (Dim i = 0; i < a.rows; ++i)
        ASSERT_NEAR(av.at(i, 0), eigenvalue * v.at(i, 0), 1e-13) << "mode " << mode;
    }
  };
  check({1});
  check({7});
  check({4, 3});
  check({2, 3, 4});
}

TEST(Gallery, PoissonIsASumOfKroneckerProducts) {
  const Matrix want =
      plus(kronecker(one_dimension(4), identity(3)), kronecker(identity(4), one_dimension(3)));
  EXPECT_EQ(dense_of(operators::poisson({4, 3})).x, want.x);
}

TEST(Gallery, ConvectionAddsDifferencesOfNeighbours) {
  const Matrix wind = made(3, 3, [](Dim i, Dim j) {
    return j == i + 1 ? 0.75 : j == i - 1 ? -0.75 : 0;
  });
  const Matrix want = plus(dense_of(operators::poisson({3, 3})),
                           plus(kronecker(wind, identity(3)), kronecker(identity(3), wind)));
  EXPECT_EQ(dense_of(operators::convection_diffusion(3, 1.5)).x, want.x);
}

TEST(Gallery, RowsOfGraphLaplaciansSumToZero) {
  const std::vector<std::pair<Dim, Dim>> edges = {{0, 1}, {1, 2}, {2, 2}, {3, 1}, {0, 1}};
  const Matrix a = dense_of(operators::graph_laplacian(5, edges));
  EXPECT_EQ(a.x, (Numbers{2, -2, 0, 0,  0, -2, 4, -1, -1, 0, 0, -1, 1,
                          0, 0,  0, -1, 0, 1,  0, 0,  0,  0, 0, 0}));
  // x' A x is the sum of (x_u - x_v)^2 over the edges.
  const Matrix x = scattered(5, 1, 2);
  double want = 0;
  for (const auto& e : edges) want += std::pow(x.at(e.first, 0) - x.at(e.second, 0), 2);
  EXPECT_NEAR(times(transposed(x), times(a, x)).x[0], want, 1e-14);
}

TEST(Gallery, HilbertHasAnIntegerInverse) {
  const Matrix inverse{3, 3, {9, -36, 30, -36, 192, -180, 30, -180, 180}};
  const Matrix product = times(dense_of(operators::hilbert(3)), inverse);
  for (Dim i = 0; i < 3; ++i)
    for (Dim j = 0; j < 3; ++j) EXPECT_NEAR(product.at(i, j), i == j ? 1 : 0, 1e-13);
}

TEST(Gallery, WhatHasNoMatrixIsRefused) {
  const auto message = [](const auto& f) {
    try {
      f();
    } catch (const UsageError& e) {
      return std::string(e.what());
    }
    return std::string("no UsageError");
  };
  EXPECT_THAT(message([] {
                operators::graph_laplacian(3, {{0, 1}, {1, 3}});
              }),
              HasSubstr("edge 1 joins 1 and 3"));
  EXPECT_THAT(message([] {
                operators::graph_laplacian(3, {{-1, 1}});
              }),
              HasSubstr("edge 0 joins -1 and 1"));
  EXPECT_THAT(message([] { operators::poisson({4, -1}); }), HasSubstr("-1"));
  EXPECT_THAT(message([] { operators::poisson({1 << 20, 1 << 20}); }), HasSubstr("32 bits"));
  EXPECT_THAT(message([] { operators::hilbert(-2); }), HasSubstr("-2"));
}

}  // namespace
}  // namespace gnomon::testing
