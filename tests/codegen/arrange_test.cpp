// tests/codegen/arrange_test.cpp -- NumPy's rearrangements and einsum, against values NumPy gives
// and loops written here.
#include "gnomon/arrange.h"

#include <gmock/gmock.h>

#include "tests/codegen/graph_host.h"
#include "tests/support/lowering.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;
using A = const Array&;

template <class F, class... H>
Shape shape_of(F&& f, const H&... in) {
  return run_arrays(f, in...)[0].aval.shape;
}

TEST(Diagonal, IsReadAtAnyOffset) {
  const HostArray x = counting({3, 4});
  const auto at = [&](Dim k) { return run([=](A a) { return diag(a, k); }, x); };
  EXPECT_EQ(at(0), (Numbers{0, 5, 10}));
  EXPECT_EQ(at(1), (Numbers{1, 6, 11}));
  EXPECT_EQ(at(3), Numbers{3});
  EXPECT_EQ(at(4), Numbers{});
  EXPECT_EQ(at(-1), (Numbers{4, 9}));
  EXPECT_EQ(at(-2), Numbers{8});
  EXPECT_EQ(at(-5), Numbers{});
  EXPECT_EQ(run([](A a) { return trace(a); }, x), Numbers{15});
  const auto deep = [](A a) { return diagonal(a, 1, 2, 0); };  // a[i + 1, j, i]
  EXPECT_EQ(run(deep, counting({3, 2, 2})), (Numbers{4, 9, 6, 11}));
}

TEST(Diagonal, IsWritten) {
  const HostArray v = f32({1, 2});
  const auto at = [&](Dim k) { return run([=](A a) { return diag(a, k); }, v); };
  EXPECT_EQ(at(0), (Numbers{1, 0, 0, 2}));
  EXPECT_EQ(at(1), (Numbers{0, 1, 0, 0, 0, 2, 0, 0, 0}));
  EXPECT_EQ(at(-1), (Numbers{0, 0, 0, 1, 0, 0, 0, 2, 0}));
  EXPECT_EQ(run([](A a) { return diag(a, 1); }, f32(Numbers{})), Numbers{0});
}

TEST(Diagonal, HasTheGradientOfItsElements) {
  const auto f = [](A a, A w) { return grad([&](A m) { return sum(w * diag(m, -1)); })(a); };
  EXPECT_EQ(run(f, counting({3, 2}), f32({5, 7})), (Numbers{0, 0, 5, 0, 0, 7}));
}

TEST(Triangles, KeepTheirSide) {
  const HostArray x = counting({2, 3});
  EXPECT_EQ(run([](A a) { return tril(a); }, x), (Numbers{0, 0, 0, 3, 4, 0}));
  EXPECT_EQ(run([](A a) { return tril(a, -1); }, x), (Numbers{0, 0, 0, 3, 0, 0}));
  EXPECT_EQ(run([](A a) { return triu(a, 1); }, x), (Numbers{0, 1, 2, 0, 0, 5}));
  EXPECT_EQ(shape_of([](A a) { return triu(a); }, counting({4, 2, 2})), Shape(4, 2, 2));
}

TEST(Repetition, OfBlocksRowsAndElements) {
  const HostArray x = f32({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(run([](A a) { return tile(a, {2}); }, x), (Numbers{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(run([](A a) { return tile(a, {2, 1}); }, x), (Numbers{1, 2, 3, 4, 1, 2, 3, 4}));
  EXPECT_EQ(shape_of([](A a) { return tile(a, {3, 1, 2}); }, x), Shape(3, 2, 4));
  EXPECT_EQ(run([](A a) { return repeat(a, 2); }, x), (Numbers{1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(run([](A a) { return repeat(a, 2, 0); }, x), (Numbers{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(run([](A a) { return repeat(a, {1, 2}, 0); }, x), (Numbers{1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(run([](A a) { return repeat(a, {0, 3}, 1); }, x), (Numbers{2, 2, 2, 4, 4, 4}));
  EXPECT_EQ(run(
                [](A a) {
                  return kron(a, array({1, 10}));
                },
                x),
            (Numbers{1, 10, 2, 20, 3, 30, 4, 40}));
  EXPECT_EQ(run([](A a) { return kron(eye(2), a); }, x),
            (Numbers{1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4}));
}

TEST(Grids, HaveTheirAxesInOrder) {
  const auto xy = [](A a, A b) { return meshgrid({a, b}); };
  const auto both = run_all(xy, f32({1, 2, 3}), f32({4, 5}));
  EXPECT_EQ(both[0], (Numbers{1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(both[1], (Numbers{4, 4, 4, 5, 5, 5}));
  const auto ij = [](A a, A b) { return meshgrid({a, b}, {.matrix = true})[0]; };
  EXPECT_EQ(run(ij, f32({1, 2, 3}), f32({4, 5})), (Numbers{1, 1, 2, 2, 3, 3}));
  const auto sparse = [](A a, A b) { return meshgrid({a, b}, {.sparse = true})[1]; };
  EXPECT_EQ(shape_of(sparse, f32({1, 2, 3}), f32({4, 5})), Shape(2, 1));
  EXPECT_EQ(run(
                [](A a) {
                  return indices({2, 2}) + cast(a, DType::i32);
                },
                f32(0)),
            (Numbers{0, 0, 1, 1, 0, 1, 0, 1}));
}

TEST(Choices, TakeTheFirstThatHolds) {
  const auto f = [](A a) { return select({a < 2, a < 4}, {a * 0, a * 10}, -1); };
  EXPECT_EQ(run(f, counting({6})), (Numbers{0, 0, 20, 30, -1, -1}));
  const auto with = [](ChooseMode mode) {
    return [=](A i) { return choose(i, {array({10, 11, 12, 13}), array({20, 21, 22, 23})}, mode); };
  };
  EXPECT_EQ(run(with(ChooseMode::clip), i32({0, 1, -7, 9})), (Numbers{10, 21, 12, 23}));
  EXPECT_EQ(run(with(ChooseMode::wrap), i32({0, 1, -7, 8})), (Numbers{10, 21, 22, 13}));
}

TEST(Choices, MayBeMoreThanTheIndexCounts) {
  const auto of_300 = [](DType dtype, ChooseMode mode) {
    return [=](A i) {
      std::vector<Array> choices;
      for (int c = 0; c < 300; ++c) choices.push_back(array({c}));
      return choose(cast(i, dtype), choices, mode);
    };
  };
  for (const ChooseMode mode : {ChooseMode::clip, ChooseMode::wrap})
    EXPECT_EQ(run(of_300(DType::u8, mode), i32({0, 127, 128, 255})), (Numbers{0, 127, 128, 255}));
  EXPECT_EQ(run(of_300(DType::i8, ChooseMode::clip), i32({-128, 127})), (Numbers{0, 127}));
  EXPECT_EQ(run(of_300(DType::i8, ChooseMode::wrap), i32({-1, 127})), (Numbers{299, 127}));
}

TEST(Turning, IsAsNumPys) {
  const HostArray x = counting({2, 3});
  EXPECT_EQ(run([](A a) { return rot90(a); }, x), (Numbers{2, 5, 1, 4, 0, 3}));
  EXPECT_EQ(run([](A a) { return rot90(a, 2); }, x), (Numbers{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(run([](A a) { return rot90(a, -1); }, x), (Numbers{3, 0, 4, 1, 5, 2}));
  EXPECT_EQ(run([](A a) { return flipud(a); }, x), (Numbers{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(run([](A a) { return fliplr(a); }, x), (Numbers{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(run([](A a) { return roll(a, 1); }, x), (Numbers{5, 0, 1, 2, 3, 4}));
  EXPECT_EQ(run([](A a) { return roll(a, {1, -1}, {0, 1}); }, x), (Numbers{4, 5, 3, 1, 2, 0}));
}

TEST(Joining, AlongTheUsualAxes) {
  const HostArray a = f32({1, 2}), b = f32({3, 4}), m = counting({2, 2});
  EXPECT_EQ(shape_of([](A x, A y) { return hstack({x, y}); }, a, b), Shape{4});
  EXPECT_EQ(run([](A x, A y) { return vstack({x, y}); }, a, b), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(run([](A x, A y) { return column_stack({x, y}); }, a, b), (Numbers{1, 3, 2, 4}));
  EXPECT_EQ(shape_of([](A x, A y) { return dstack({x, y}); }, a, b), Shape(1, 2, 2));
  EXPECT_EQ(run([](A x, A y) { return dstack({x, y}); }, m, m), (Numbers{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(run([](A x, A y) { return hstack({x, y}); }, m, m), (Numbers{0, 1, 0, 1, 2, 3, 2, 3}));
}

TEST(Splitting, InPartsAndAtPositions) {
  const HostArray x = counting({7});
  const auto parts = run_all([](A a) { return array_split(a, 3); }, x);
  EXPECT_EQ(parts, (std::vector<Numbers>{{0, 1, 2}, {3, 4}, {5, 6}}));
  const auto cuts = run_all([](A a) { return array_split(a, {2, 2, -1, 9}); }, x);
  EXPECT_EQ(cuts, (std::vector<Numbers>{{0, 1}, {}, {2, 3, 4, 5}, {6}, {}}));
  const auto columns = run_all([](A a) { return hsplit(a, 2); }, counting({2, 2}));
  EXPECT_EQ(columns, (std::vector<Numbers>{{0, 2}, {1, 3}}));
  EXPECT_THAT(usage_error_of([](A a) { return dsplit(a, 2)[0]; }, x),
              HasSubstr("f32[7] has no axis 2 to be split"));
}

TEST(Einsum, OfOneOperand) {
  const HostArray x = counting({3, 3});
  EXPECT_EQ(run([](A a) { return einsum("ii", a); }, x), Numbers{12});
  EXPECT_EQ(run([](A a) { return einsum("ii->i", a); }, x), (Numbers{0, 4, 8}));
  EXPECT_EQ(run([](A a) { return einsum("ji", a); }, x), (Numbers{0, 3, 6, 1, 4, 7, 2, 5, 8}));
  EXPECT_EQ(run([](A a) { return einsum("ij->j", a); }, x), (Numbers{9, 12, 15}));
  EXPECT_EQ(run([](A a) { return einsum("...i->...", a); }, x), (Numbers{3, 12, 21}));
  EXPECT_EQ(run([](A a) { return einsum("iii->i", a); }, counting({2, 2, 2})), (Numbers{0, 7}));
}

TEST(Einsum, OfManyOperandsIsTheSumOfProducts) {
  const HostArray a = counting({2, 3}), b = counting({3, 4}), c = counting({4, 2}), d = f32({2, 5});
  const auto f = [](A p, A q, A r, A s) { return einsum("ij,jk,kl,i->il", {p, q, r, s}); };
  Numbers want;
  for (int i = 0; i < 2; ++i)
    for (int l = 0; l < 2; ++l) {
      double total = 0;
      for (int j = 0; j < 3; ++j)
        for (int k = 0; k < 4; ++k)
          total += a.number(i * 3 + j) * b.number(j * 4 + k) * c.number(k * 2 + l) * d.number(i);
      want.push_back(total);
    }
  EXPECT_EQ(run(f, a, b, c, d), want);
}

TEST(Einsum, BroadcastsWhatHasNoLetter) {
  const auto f = [](A p, A q) { return einsum("...ij,...jk", p, q); };
  EXPECT_EQ(shape_of(f, counting({5, 1, 2, 3}), counting({4, 3, 6})), Shape(5, 4, 2, 6));
  EXPECT_EQ(
      run([](A p, A q) { return einsum("i...,i->...", p, q); }, counting({2, 3}), f32({1, 10})),
      (Numbers{30, 41, 52}));
  EXPECT_EQ(
      run([](A p, A q) { return einsum("ii,ij->j", p, q); }, counting({2, 2}), counting({2, 2})),
      (Numbers{6, 9}));
}

TEST(Einsum, ContractsTheCheapPairFirst) {
  // (a b) is 100 x 100; b c is a vector.
  const auto f = [](A p, A q, A r) { return einsum("ij,jk,k->i", p, q, r); };
  const Graph g = graph_of(f, counting({100, 2}), counting({2, 100}), counting({100}));
  EXPECT_EQ(count_equations(g, "dot_general"), 2);
  for (const Equation& e : g.equations)
    if (e.primitive->name == "dot_general") {
      EXPECT_EQ(g.avals[e.outputs[0]].shape.rank(), 1);
    }
}

TEST(Einsum, SaysWhatIsWrong) {
  const HostArray x = counting({2, 3});
  const auto error = [&](const char* s) {
    return usage_error_of([=](A a) { return einsum(s, a, a); }, x);
  };
  EXPECT_THAT(error("ij->i"), HasSubstr("`ij->i` names 1 operands of 2 (arrange_test.cpp:"));
  EXPECT_THAT(error("ijk,ij->i"), HasSubstr("names 3 axes of an array of rank 2"));
  EXPECT_THAT(error("ij,jk->ik"), HasSubstr("gives `j` the lengths 3 and 2"));
  EXPECT_THAT(error("ij,ij->ii"), HasSubstr("repeats `i` in the result"));
  EXPECT_THAT(error("ij,ij->k"), HasSubstr("has no `k` to give"));
  EXPECT_THAT(error("i1,ij->i"), HasSubstr("holds `1`"));
}

TEST(ArrangeErrors, NameBothSides) {
  const HostArray x = counting({2, 3}), v = counting({3});
  EXPECT_THAT(usage_error_of([](A a) { return tril(a); }, v), HasSubstr("f32[3] is no matrix"));
  EXPECT_THAT(usage_error_of([](A a) { return diagonal(a, 0, 1, -1); }, x),
              HasSubstr("axis 1 is named twice"));
  EXPECT_THAT(usage_error_of([](A a) { return repeat(a, std::vector<Dim>{1}, 0); }, x),
              HasSubstr("1 counts for axis 0 of f32[2,3]"));
  EXPECT_THAT(usage_error_of(
                  [](A a) {
                    return select({a > 0}, {a, a});
                  },
                  x),
              HasSubstr("1 conditions and 2 choices"));
  EXPECT_THAT(usage_error_of([](A a) { return choose(a, {a}); }, x),
              HasSubstr("the index is f32[2,3]; cast it to i32"));
  EXPECT_THAT(usage_error_of(
                  [](A a) {
                    return roll(a, {1}, {0, 1});
                  },
                  x),
              HasSubstr("1 shifts and 2 axes do not pair up"));
}

TEST(ArrangeLowering, AgreesWithTheReference) {
  using gnomon::testing::expect_function_lowers;
  using gnomon::testing::f32;
  expect_function_lowers(
      [](A a, A b) {
        return std::tuple{kron(a, b),
                          diag(diag(a, 1), -1),
                          tril(a),
                          tile(a, {2, 2}),
                          repeat(a, {2, 0, 1}, 0),
                          rot90(a),
                          einsum("ij,kj,il->kl", a, a, a)};
      },
      f32({3, 4}), f32({2}));
}

}  // namespace
}  // namespace gnomon::test
