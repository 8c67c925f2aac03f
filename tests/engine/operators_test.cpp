// tests/engine/operators_test.cpp -- products, transposes and matrices of operators, and what they
// refuse, on the host reference.
#include "gnomon/operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gnomon/linalg.h"
#include "gnomon/ops.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::testing {
namespace {

using operators::Dense;
using operators::Diagonal;
using operators::Operator;
using test::Numbers;
using ::testing::HasSubstr;

HostArray f64(const Numbers& v, Shape shape) { return test::host(DType::f64, shape, v); }

struct Pair {
  Array a, b;
};

TEST(Operators, FunctionsOfTreesHaveMatricesAndTransposes) {
  // (a, b) -> (2 a + sum b, b_0 a): linear in b only where a is fixed, so a is captured.
  const auto all = test::run_all(
      [](const Array& w) {
        const auto f = [&](const Pair& p) { return Pair{2 * p.a + sum(p.b) * w, p.b - p.a[0]}; };
        const Pair like{zeros({2}, DType::f64), zeros({3}, DType::f64)};
        const Operator op = operators::function(f, like);
        const Pair y = op.mv(Pair{w, w[0] * ones({3}, DType::f64)});
        return std::vector<Array>{op.as_matrix(), op.transpose().as_matrix(), y.a, y.b};
      },
      f64({1, 10}, {2}));
  EXPECT_EQ(all[0], (Numbers{2, 0, 1,  1, 1, 0, 2, 10, 10, 10, -1, 0, 1,
                             0, 0, -1, 0, 0, 1, 0, -1, 0,  0,  0,  1}));
  EXPECT_EQ(all[1], (Numbers{2, 0, -1, -1, -1, 0, 2, 0, 0,  0, 1, 10, 1,
                             0, 0, 1,  10, 0,  1, 0, 1, 10, 0, 0, 1}));
  EXPECT_EQ(all[2], (Numbers{5, 50}));
  EXPECT_EQ(all[3], (Numbers{0, 0, 0}));
}

TEST(Operators, StoredMatricesMultiplyVectorsAndBlocks) {
  const auto all = test::run_all(
      [](const Array& m, const Array& x) {
        const Operator a = Dense{m};
        const Operator d = Diagonal{x};
        const Array block = stack(std::vector<Array>{x, 2 * x}, 1);
        return std::vector<Array>{
            a.mv(x),     a.mm(block),   a.transpose().mv(m[0][0] * ones({2}, DType::f64)),
            d.mm(block), d.as_matrix(), d.diagonal()};
      },
      f64({1, 2, 3, 4, 5, 6}, {2, 3}), f64({1, 0, -1}, {3}));
  EXPECT_EQ(all[0], (Numbers{-2, -2}));
  EXPECT_EQ(all[1], (Numbers{-2, -4, -2, -4}));
  EXPECT_EQ(all[2], (Numbers{5, 7, 9}));
  EXPECT_EQ(all[3], (Numbers{1, 2, 0, 0, 1, 2}));
  EXPECT_EQ(all[4], (Numbers{1, 0, 0, 0, 0, 0, 0, 0, -1}));
  EXPECT_EQ(all[5], (Numbers{1, 0, -1}));
}

TEST(Operators, VectorsOfAnotherSpaceAreRefused) {
  const auto call = [](auto f) {
    try {
      make_graph([&](const Array& m) { return f(m); }, abstract_array(DType::f32, {2, 3}));
    } catch (const UsageError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(call([](const Array& m) { return Operator(Dense{m}).mv(ones({2})); }),
              HasSubstr("Dense takes f32[3]; the vector has f32[2]"));
  EXPECT_THAT(call([](const Array& m) { return Operator(Dense{m}).mm(ones({3})); }),
              HasSubstr("Dense takes f32[3] with one more axis; the block has f32[3]"));
  EXPECT_THAT(call([](const Array& m) { return Operator(Dense{m}).diagonal(); }),
              HasSubstr("a square one is needed"));
}

}  // namespace
}  // namespace gnomon::testing
