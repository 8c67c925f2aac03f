// tests/codegen/at_test.cpp -- x.at(...): what is named and what becomes of it, against loops
// written here and values of NumPy's documentation.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "gnomon/indexing.h"
#include "tests/codegen/graph_host.h"
#include "tests/support/lowering.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;

TEST(AtGet, NamesWhatPythonsSlicesName) {
  const HostArray x = counting({5});
  const auto with = [&](Slice s) { return run([=](const Array& a) { return a.at(s).get(); }, x); };
  EXPECT_EQ(with(every), (Numbers{0, 1, 2, 3, 4}));
  EXPECT_EQ(with(Slice{1, 3}), (Numbers{1, 2}));
  EXPECT_EQ(with(Slice{{}, 10}), (Numbers{0, 1, 2, 3, 4}));
  EXPECT_EQ(with(Slice{-2}), (Numbers{3, 4}));
  EXPECT_EQ(with(Slice{{}, -1, 2}), (Numbers{0, 2}));
  EXPECT_EQ(with(Slice{{}, {}, -1}), (Numbers{4, 3, 2, 1, 0}));
  EXPECT_EQ(with(Slice{3, 0, -2}), (Numbers{3, 1}));
  EXPECT_EQ(with(Slice{4, {}, -3}), (Numbers{4, 1}));
  EXPECT_EQ(with(Slice{3, 1}), Numbers{});
  EXPECT_EQ(with(Slice{-9, -7}), Numbers{});
}

TEST(AtGet, MixesIntegersSlicesAndNewAxes) {
  const HostArray x = counting({2, 3, 4});
  const auto shape_and_first = [&](auto f) {
    const auto r = run_arrays(f, x)[0];
    return std::pair{r.aval.shape, r.size() > 0 ? r.number(0) : -1};
  };
  EXPECT_EQ(shape_and_first([](const Array& a) { return a.at(1).get(); }),
            (std::pair{Shape(3, 4), 12.0}));
  EXPECT_EQ(shape_and_first([](const Array& a) { return a.at(-1, every, 2).get(); }),
            (std::pair{Shape{3}, 14.0}));
  EXPECT_EQ(shape_and_first([](const Array& a) { return a.at(ellipsis, 3).get(); }),
            (std::pair{Shape(2, 3), 3.0}));
  EXPECT_EQ(shape_and_first([](const Array& a) { return a.at(new_axis, 1, Slice{1}).get(); }),
            (std::pair{Shape(1, 2, 4), 16.0}));
  EXPECT_EQ(shape_and_first([](const Array& a) { return at(a, 1, 2, 3).get(); }),
            (std::pair{Shape{}, 23.0}));
}

TEST(AtGet, PutsIndexArraysWhereNumPyPutsThem) {
  // NumPy's user guide, "combining advanced and basic indexing".
  const auto shape = [](auto f, const HostArray& x, const HostArray& i) {
    return run_arrays(f, x, i)[0].aval.shape;
  };
  const HostArray x = counting({10, 20, 30}), i = i32({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(shape([](const Array& a, const Array& k) { return a.at(every, k).get(); }, x, i),
            Shape(10, 2, 3, 30));
  EXPECT_EQ(shape([](const Array& a, const Array& k) { return a.at(every, k, k).get(); }, x, i),
            Shape(10, 2, 3));
  EXPECT_EQ(shape([](const Array& a, const Array& k) { return a.at(k, every, k).get(); }, x, i),
            Shape(2, 3, 20));
  EXPECT_EQ(shape([](const Array& a, const Array& k) { return a.at(0, every, k).get(); }, x, i),
            Shape(2, 3, 20));
}

TEST(AtGet, ReadsWhatALoopReads) {
  const HostArray x = counting({4, 5, 3}), i = i32({2, 1}, {3, -1}), j = i32({3}, {0, 4, -2});
  const auto f = [](const Array& a, const Array& p, const Array& q) {
    return a.at(p, q, Slice{{}, {}, -1}).get();
  };
  const Numbers got = run(f, x, i, j);
  Numbers want;
  for (const int p : {3, 3})
    for (const int q : {0, 4, 3})
      for (int s = 2; s >= 0; --s) want.push_back(p * 15 + q * 3 + s);
  EXPECT_EQ(got, want);
  const auto g = [](const Array& a, const Array& p, const Array& q) {
    return a.at(p, every, q).get();
  };
  Numbers apart;
  for (const int p : {3, 3})
    for (const int q : {0, 1})
      for (int s = 0; s < 5; ++s) apart.push_back(p * 15 + s * 3 + q);
  EXPECT_EQ(run(g, x, i, i32({2}, {0, -2})), apart);
}

TEST(AtGet, FollowsItsMode) {
  const HostArray x = f32({1, 2, 3, 4, 5}), idx = i32({-10, -6, -5, -4, 0, 3, 4, 5, 6, 100});
  const auto with = [](ReadOptions o) {
    return [=](const Array& a, const Array& i) { return a.at(i).get(o); };
  };
  EXPECT_EQ(run(with({.mode = ReadMode::clip}), x, idx), (Numbers{1, 1, 1, 2, 1, 4, 5, 5, 5, 5}));
  EXPECT_EQ(run(with({.mode = ReadMode::fill, .fill_value = 7}), x, idx),
            (Numbers{7, 7, 1, 2, 1, 4, 5, 7, 7, 7}));
  EXPECT_TRUE(std::isnan(run(with({.mode = ReadMode::drop}), x, idx)[0]));
  EXPECT_EQ(run([](const Array& a) { return a.at(20).get(); }, counting({5})), Numbers{4});
  const auto outside = [](const Array& a) { return a.at(5).get({.mode = ReadMode::fill}); };
  EXPECT_EQ(run(outside, counting({3}, DType::i32)), Numbers{-2147483648.0});
  EXPECT_EQ(run(outside, counting({3}, DType::u32)), Numbers{4294967295.0});
  // One index of two out of range: the pair is.
  const auto pair = [](const Array& a, const Array& i, const Array& j) {
    return a.at(i, j).get({.mode = ReadMode::fill, .fill_value = -1});
  };
  EXPECT_EQ(run(pair, counting({2, 3}), i32({0, 1, 2, 1}), i32({2, 3, 0, -1})),
            (Numbers{2, -1, -1, 5}));
}

TEST(AtWrite, KeepsTheGoldenValues) {
  const HostArray x = counting({5});
  EXPECT_EQ(run([](const Array& a) { return a.at(10).add(10); }, x), (Numbers{0, 1, 2, 3, 4}));
  EXPECT_EQ(run([](const Array& a) { return a.at(20).add(10, {.mode = WriteMode::clip}); }, x),
            (Numbers{0, 1, 2, 3, 14}));
  EXPECT_EQ(run([](const Array& a) { return a.at(-1).set(99, {.wrap_negative = false}); }, x),
            (Numbers{0, 1, 2, 3, 4}));
  EXPECT_EQ(run([](const Array& a) { return a.at(-1).set(99); }, x), (Numbers{0, 1, 2, 3, 99}));
}

TEST(AtWrite, IntoSlicesOfAnyStep) {
  const HostArray x = counting({6});
  EXPECT_EQ(run(
                [](const Array& a) {
                  return a.at(Slice{1, 3}).set(9);
                },
                x),
            (Numbers{0, 9, 9, 3, 4, 5}));
  EXPECT_EQ(run(
                [](const Array& a) {
                  return a.at(Slice{{}, {}, 2}).mul(10);
                },
                x),
            (Numbers{0, 1, 20, 3, 40, 5}));
  EXPECT_EQ(run(
                [](const Array& a) {
                  return a.at(Slice{4, 0, -2}).set(array({7, 8}));
                },
                x),
            (Numbers{0, 1, 8, 3, 7, 5}));
  EXPECT_EQ(run(
                [](const Array& a) {
                  return a.at(Slice{2, 2}).set(9);
                },
                x),
            (Numbers{0, 1, 2, 3, 4, 5}));
  const auto block = [](const Array& a) { return a.at(1, Slice{{}, 2}, new_axis).set(-1); };
  EXPECT_EQ(run(block, counting({2, 3})), (Numbers{0, 1, 2, -1, -1, 5}));
}

TEST(AtWrite, MeetsRepeatedIndicesInOrder) {
  const HostArray x = f32({2, 3, 5, 7}), i = i32({1, 1, 3, -3, 9}), u = f32({4, 0.5, 8, 10, 1});
  const auto with = [&](auto f) { return run(f, x, i, u); };
  using A = const Array&;
  EXPECT_EQ(with([](A a, A k, A v) { return a.at(k).set(v); }), (Numbers{2, 10, 5, 8}));
  EXPECT_EQ(with([](A a, A k, A v) { return a.at(k).add(v); }), (Numbers{2, 17.5, 5, 15}));
  EXPECT_EQ(with([](A a, A k, A v) { return a.at(k).mul(v); }), (Numbers{2, 60, 5, 56}));
  EXPECT_EQ(with([](A a, A k, A v) { return a.at(k).min(v); }), (Numbers{2, 0.5, 5, 7}));
  EXPECT_EQ(with([](A a, A k, A v) { return a.at(k).max(v); }), (Numbers{2, 10, 5, 8}));
  EXPECT_EQ(with([](A a, A k, A v) { return a.at(k).set(v, {.mode = WriteMode::clip}); }),
            (Numbers{2, 10, 5, 1}));
}

TEST(AtWrite, IntoPairsOfIndices) {
  const auto f = [](const Array& a, const Array& i, const Array& j) {
    return a.at(i, j).add(array({1., 10., 100., 1000.}));
  };
  EXPECT_EQ(run(f, counting({2, 3}), i32({0, 1, 0, 2}), i32({0, -1, 0, 1})),
            (Numbers{101, 1, 2, 3, 4, 15}));
  // Apart: the index axis comes first in the value.
  const auto apart = [](const Array& a, const Array& i) {
    return a.at(i, every, i).set(reshape(arange(4.0), {2, 2}));
  };
  EXPECT_EQ(run(apart, f32({2, 2, 2}, Numbers(8, 9)), i32({1, 0})),
            (Numbers{2, 9, 3, 9, 9, 0, 9, 1}));
}

TEST(AtWrite, WhereAMaskHolds) {
  const auto f = [](const Array& a) { return a.at(a > 2).set(0); };
  EXPECT_EQ(run(f, counting({5})), (Numbers{0, 1, 2, 0, 0}));
  const auto rows = [](const Array& a, const Array& v) {
    return a.at(array({true, false})).add(v);
  };
  EXPECT_EQ(run(rows, counting({2, 2}), f32({10, 20})), (Numbers{10, 21, 2, 3}));
}

TEST(AtWrite, OneTracedIndexStaysInPlaceInLoops) {
  const auto f = [](const Array& a, const Array& i, const Array& j) { return a.at(i, j).mul(3); };
  EXPECT_EQ(run(f, counting({2, 3}), i32(1), i32(-1)), (Numbers{0, 1, 2, 3, 4, 15}));
  EXPECT_EQ(run(f, counting({2, 3}), i32(1), i32(3)), (Numbers{0, 1, 2, 3, 4, 5}));
  const Graph g = graph_of(f, counting({2, 3}), i32(1), i32(0));
  EXPECT_EQ(count_equations(g, "dynamic_update_slice"), 1);
  EXPECT_EQ(count_equations(g, "scatter_mul"), 0);
}

TEST(PutAlongAxis, WritesWithinRows) {
  const auto f = [](const Array& a, const Array& i) { return put_along_axis(a, i, -1, 1); };
  EXPECT_EQ(run(f, counting({2, 3}), i32({2, 1}, {2, -3})), (Numbers{0, 1, -1, -1, 4, 5}));
  const auto g = [](const Array& a, const Array& i) {
    return put_along_axis(a, i, array({10, 20, 30}), 0);
  };
  EXPECT_EQ(run(g, i32({2, 3}, {0, 1, 2, 3, 4, 5}), i32({1, 3}, {1, 0, 5})),
            (Numbers{0, 20, 2, 10, 4, 5}));
  EXPECT_THAT(usage_error_of(f, counting({2, 3}), i32({1, 1}, {0})),
              HasSubstr("must agree outside axis 1"));
}

TEST(Segments, HaveAnIdentityWhenEmpty) {
  const HostArray data = f32({5, 1, 7, 2, 3, 4, 1, 3}), ids = i32({0, 0, 0, 1, 2, -1, 9, 2});
  using A = const Array&;
  EXPECT_EQ(run([](A d, A i) { return segment_max(d, i, 4); }, data, ids),
            (Numbers{7, 2, 3, -inf}));
  EXPECT_EQ(run([](A d, A i) { return segment_min(d, i, 4); }, data, ids), (Numbers{1, 2, 3, inf}));
  EXPECT_EQ(run([](A d, A i) { return segment_prod(d, i, 4); }, data, ids), (Numbers{35, 2, 9, 1}));
  EXPECT_EQ(run([](A d, A i) { return segment_max(d, i, 2); }, i32(Numbers{4}), i32(Numbers{1})),
            (Numbers{-2147483648.0, 4}));
}

TEST(AtGrad, GoesToWhatStays) {
  const auto f = [](const Array& a, const Array& u, const Array& i, const Array& w) {
    const auto value = [&](const std::pair<Array, Array>& in) {
      return sum(w * in.first.at(i).set(in.second));
    };
    return grad(value)(std::pair{a, u});
  };
  const auto r = run_all(f, f32({1, 2, 3}), f32({4, 5, 6}), i32({1, 1, 7}), f32({10, 20, 30}));
  EXPECT_EQ(r[0], (Numbers{10, 0, 30}));
  EXPECT_EQ(r[1], (Numbers{0, 20, 0}));
}

TEST(AtGrad, IsSharedByEqualMaxima) {
  const auto f = [](const Array& a, const Array& u, const Array& i) {
    const auto value = [&](const std::pair<Array, Array>& in) {
      return sum(in.first.at(i).max(in.second));
    };
    return grad(value)(std::pair{a, u});
  };
  const auto r = run_all(f, f32({1, 5, 2}), f32({5, 3, 9}), i32({1, 1, 2}));
  EXPECT_EQ(r[0], (Numbers{1, 0.5, 0}));
  EXPECT_EQ(r[1], (Numbers{0.5, 0, 1}));
}

TEST(AtGrad, OfFactorsNeedsDistinctIndices) {
  const auto with = [](bool unique) {
    return [=](const Array& a, const Array& u, const Array& i) {
      return grad([&](const Array& v) { return sum(a.at(i).mul(v, {.unique_indices = unique})); })(
          u);
    };
  };
  EXPECT_EQ(run(with(true), f32({2, 3, 5}), f32({7, 8}), i32({2, 0})), (Numbers{5, 2}));
  EXPECT_THAT(usage_error_of(with(false), f32({2, 3, 5}), f32({7, 8}), i32({2, 0})),
              HasSubstr("say `.unique_indices = true` if i32[2] has none"));
  const auto segments = [](const Array& u, const Array& i) {
    return grad([&](const Array& v) { return sum(segment_prod(v, i, 3)); })(u);
  };
  EXPECT_THAT(usage_error_of(segments, f32({7, 8}), i32({2, 0})),
              HasSubstr("the derivative of segment_prod, or of at.mul, in the factors"));
}

TEST(AtErrors, NameBothSides) {
  const HostArray x = counting({2, 3});
  using A = const Array&;
  EXPECT_THAT(usage_error_of([](A a) { return a.at(1, 2, 3).get(); }, x),
              HasSubstr("gnomon::at.get: 3 indices for f32[2,3] (at_test.cpp:"));
  EXPECT_THAT(usage_error_of([](A a) { return a.at(a).get(); }, x),
              HasSubstr("indices are f32[2,3]; cast them to i32"));
  EXPECT_THAT(usage_error_of([](A a) { return a.at(a > 1).get(); }, x),
              HasSubstr("how many elements a mask names is known only when a program runs"));
  EXPECT_THAT(usage_error_of([](A a) { return a.at(a > 1, 0).set(1); }, x),
              HasSubstr("a mask is the only index or none"));
  EXPECT_THAT(usage_error_of(
                  [](A a) {
                    return a.at(array({true, false, true})).set(1);
                  },
                  x),
              HasSubstr("mask bool[3] does not have the first axes of f32[2,3]"));
  EXPECT_THAT(usage_error_of(
                  [](A a) {
                    return a.at(0).set(array({1., 2.}));
                  },
                  x),
              HasSubstr("(at_test.cpp:"));
  EXPECT_THAT(usage_error_of(
                  [](A a) {
                    return a.at(Slice{0, 1, 0}).get();
                  },
                  x),
              HasSubstr("a slice has step 0"));
  EXPECT_THAT(usage_error_of([](A a) { return a.at(ellipsis, ellipsis).get(); }, x),
              HasSubstr("more than one ellipsis"));
  EXPECT_THAT(usage_error_of([](A a) { return a.at(0).set(1.5); }, counting({2}, DType::i32)),
              HasSubstr("into i32[2]; cast one of them"));
}

TEST(AtVmap, IsALoopOverLanes) {
  const auto f = [](const Array& a, const Array& i, const Array& u) {
    return vmap([](const Array& b, const Array& k, const Array& v) { return b.at(k).set(v); })(a, i,
                                                                                               u);
  };
  EXPECT_EQ(run(f, counting({2, 3}), i32({2, 2}, {0, 0, -1, 7}), f32({2, 2}, {6, 7, 8, 9})),
            (Numbers{7, 1, 2, 3, 4, 8}));
}

TEST(AtLowering, OfEveryKindAgreesWithTheReference) {
  using gnomon::testing::expect_function_lowers;
  using gnomon::testing::f32;
  using gnomon::testing::i32;
  using A = const Array&;
  const auto all = [](A a, A i, A u) {
    const At named = a.at(i, every, i % 3);
    return std::tuple{named.set(u), named.add(u), named.mul(u),
                      named.min(u), named.max(u), named.get()};
  };
  expect_function_lowers(all, f32({7, 4, 3}), i32({20}), f32({20, 4}));
  const auto per_row = [](A a, A i, A u) {
    return vmap([](A b, A k, A v) { return b.at(k).set(v); })(a, i, u);
  };
  expect_function_lowers(per_row, f32({5, 6}), i32({5, 9}), f32({5, 9}));
  const auto strided = [](A a, A u) { return a.at(Slice{1, {}, 2}, Slice{{}, {}, -1}).set(u); };
  expect_function_lowers(strided, f32({6, 3}), f32({3, 3}));
}

TEST(AtLowering, OfManyUpdatesGoesInParts) {
  using gnomon::testing::expect_function_lowers;
  using A = const Array&;
  const auto f = [](A a, A i, A u) { return std::tuple{a.at(i).set(u), a.at(i).add(u)}; };
  expect_function_lowers(f, gnomon::testing::i32({5, 2}), gnomon::testing::i32({9001}),
                         gnomon::testing::i32({9001, 2}));
  const auto extremum = [](A a, A i, A u) {
    return vmap([](A b, A k, A v) { return b.at(k).min(v); })(a, i, u);
  };
  expect_function_lowers(extremum, gnomon::testing::f32({2, 3}), gnomon::testing::i32({2, 8200}),
                         gnomon::testing::f32({2, 8200}));
}

TEST(AtLowering, UniqueUpdatesHaveALaneEach) {
  using gnomon::testing::expect_function_lowers;
  using A = const Array&;
  for (const DType t : {DType::f32, DType::u8, DType::i64}) {
    // 0, 5, 10, ...: a permutation of 23 numbers, of which some are out of range.
    const auto f = [](A a, A u) {
      const Array i = arange(23) * 5 % 23;
      const WriteOptions unique{.unique_indices = true};
      return std::tuple{a.at(i).set(u, unique), a.at(i).add(u, unique), a.at(i).max(u, unique)};
    };
    expect_function_lowers(f, Aval{t, {17, 3}}, Aval{t, {23, 3}});
    const auto per_row = [](A a, A u) {
      return vmap([](A b, A v) {
        return b.at(every, arange(23) * 5 % 23).add(v, {.unique_indices = true});
      })(a, u);
    };
    expect_function_lowers(per_row, Aval{t, {3, 2, 19}}, Aval{t, {3, 2, 23}});
  }
}

TEST(AtLowering, InsideALoop) {
  using gnomon::testing::expect_function_lowers;
  using A = const Array&;
  const auto f = [](A a, A i, A u) {
    return fori_loop(
        0, 3, [&](A n, A x) { return x.at(i + n).set(u).at(i).max(u * 2); }, a);
  };
  expect_function_lowers(f, gnomon::testing::f32({6, 2}), gnomon::testing::i32({4}),
                         gnomon::testing::f32({4, 2}));
}

}  // namespace
}  // namespace gnomon::test
