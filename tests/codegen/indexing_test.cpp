// tests/codegen/indexing_test.cpp -- indexed reads and writes: known answers, derivatives, vmap.
#include "gnomon/indexing.h"

#include <limits>

#include "gnomon/indexing.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;
const double nan = std::numeric_limits<double>::quiet_NaN();
const double inf = std::numeric_limits<double>::infinity();

MATCHER_P(SameNumbers, want, "") {
  if (arg.size() != want.size()) return false;
  for (std::size_t i = 0; i < arg.size(); ++i)
    if (arg[i] != want[i] && !(std::isnan(arg[i]) && std::isnan(want[i]))) return false;
  return true;
}

HostArray count_up(Dim n, DType t = DType::f32) {
  Numbers v;
  for (Dim i = 0; i < n; ++i) v.push_back(double(i));
  return host(t, {n}, v);
}

// ---- dynamic slices

TEST(DynamicSlice, IsASliceWhereItFits) {
  const auto f = [](const Array& x, const Array& i) { return dynamic_slice(x, {i}, {3}); };
  EXPECT_EQ(run(f, count_up(6), i32(2)), (Numbers{2, 3, 4}));
  const auto g = [](const Array& x, const Array& i, const Array& j) {
    return dynamic_slice(x, {i, j}, {2, 2});
  };
  const auto x = [](const Array& v) { return reshape(v, {6, 7}); };
  EXPECT_EQ(run([&](const Array& v, const Array& i, const Array& j) { return g(x(v), i, j); },
                count_up(42), i32(2), i32(3)),
            (Numbers{17, 18, 24, 25}));
}

TEST(DynamicSlice, IsMovedToFit) {
  const auto f = [](const Array& x, const Array& i) { return dynamic_slice(x, {i}, {3}); };
  EXPECT_EQ(run(f, count_up(6), i32(5)), (Numbers{3, 4, 5}));
  EXPECT_EQ(run(f, count_up(6), i32(-2)), (Numbers{3, 4, 5}));
  EXPECT_EQ(run(f, count_up(6), i32(-5)), (Numbers{1, 2, 3}));
  EXPECT_EQ(run(f, count_up(6), i32(-100)), (Numbers{0, 1, 2}));
}

TEST(DynamicSlice, DoesNotWrapUnsignedStarts) {
  const auto f = [](const Array& x, const Array& i) { return dynamic_slice(x, {i}, {1}); };
  EXPECT_EQ(run(f, count_up(200), host(DType::u8, {}, {128})), Numbers{128});
  EXPECT_EQ(run(f, count_up(200), host(DType::u32, {}, {4294967295.0})), Numbers{199});
  EXPECT_EQ(run(f, count_up(200), host(DType::i64, {}, {-5e12})), Numbers{0});
  EXPECT_EQ(run(f, count_up(200), host(DType::i64, {}, {5e12})), Numbers{199});
}

TEST(DynamicSlice, WithNumbersOnlyIsStatic) {
  const auto f = [](const Array& x) { return dynamic_slice(x, {-2}, {3}); };
  EXPECT_EQ(run(f, count_up(6)), (Numbers{3, 4, 5}));
  EXPECT_EQ(count_equations(graph_of(f, count_up(6)), "dynamic_slice"), 0);
}

TEST(DynamicSlice, SaysWhatDoesNotFit) {
  const auto rank = [](const Array& x, const Array& i) { return dynamic_slice(x, {i}, {2}); };
  EXPECT_THAT(usage_error_of(rank, count_up(6), i32({1, 2})),
              HasSubstr("gnomon::dynamic_slice: start 0 is i32[2] and must be one integer"));
  EXPECT_THAT(usage_error_of(rank, count_up(1), i32(0)),
              HasSubstr("a slice of sizes [2] does not fit into f32[1]"));
  EXPECT_THAT(usage_error_of(rank, f32({2, 2}, {1, 2, 3, 4}), i32(0)),
              HasSubstr("f32[2,2] needs 2 starts, one per axis, got 1 (indexing_test.cpp:"));
  EXPECT_THAT(usage_error_of(rank, count_up(6), f32(0.0)), HasSubstr("cast them to i32"));
}

TEST(DynamicUpdateSlice, ReplacesABlockMovedToFit) {
  const auto f = [](const Array& x, const Array& u, const Array& i) {
    return dynamic_update_slice(x, u, {i});
  };
  const HostArray zeros6 = f32(Numbers(6, 0)), ones3 = f32({1, 1, 1});
  EXPECT_EQ(run(f, zeros6, ones3, i32(1)), (Numbers{0, 1, 1, 1, 0, 0}));
  EXPECT_EQ(run(f, zeros6, ones3, i32(3)), (Numbers{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(run(f, zeros6, ones3, i32(5)), (Numbers{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(run(f, zeros6, ones3, i32(-6)), (Numbers{1, 1, 1, 0, 0, 0}));
}

TEST(DynamicUpdateSlice, StaysItselfUnderVmap) {
  const auto f = [](const Array& x, const Array& u, const Array& starts) {
    return vmap([&](const Array& i) { return dynamic_update_slice(x, u, {i}); })(starts);
  };
  const HostArray x = count_up(5), u = f32({6, 7, 8}), starts = i32({0, 1, 2, 3, 4, 5});
  EXPECT_EQ(run(f, x, u, starts), (Numbers{6, 7, 8, 3, 4, 0, 6, 7, 8, 4, 0, 1, 6, 7, 8,
                                           0, 1, 6, 7, 8, 0, 1, 6, 7, 8, 0, 1, 6, 7, 8}));
  const Graph g = graph_of(f, x, u, starts);
  EXPECT_EQ(count_equations(g, "dynamic_update_slice"), 1);
  EXPECT_EQ(count_equations(g, "scatter_add"), 0);
}

TEST(DynamicUpdateSlice, SaysWhatDoesNotFit) {
  const auto f = [](const Array& x, const Array& u) { return dynamic_update_slice(x, u, {0}); };
  EXPECT_THAT(usage_error_of(f, count_up(2), count_up(3)),
              HasSubstr("an update of shape [3] does not fit into f32[2]"));
  EXPECT_THAT(usage_error_of(f, count_up(3, DType::i32), count_up(2)),
              HasSubstr("writes f32[2] into i32[3]; cast one of them"));
}

TEST(DynamicSlice, VmapsLikeALoopOverLanes) {
  const auto f = [](const Array& x, const Array& i) { return dynamic_slice(x, {i, 1}, {2, 2}); };
  const auto over = [&](const Array& xs, const Array& is) { return vmap(f)(xs, is); };
  Numbers v(24);
  for (int i = 0; i < 24; ++i) v[static_cast<std::size_t>(i)] = i;
  const Numbers all = run(over, f32({2, 3, 4}, v), i32({0, -1}));
  EXPECT_EQ(all, (Numbers{1, 2, 5, 6, 17, 18, 21, 22}));
}

// ---- reads

TEST(Take, FollowsItsMode) {
  const HostArray idx = i32({-10, -6, -5, -4, 0, 3, 4, 5, 6, 100});
  const auto with = [](ReadOptions options) {
    return [=](const Array& x, const Array& i) { return take(x, i, 0, options); };
  };
  const HostArray x = f32({1, 2, 3, 4, 5});
  EXPECT_EQ(run(with({}), x, idx), (Numbers{1, 1, 1, 2, 1, 4, 5, 5, 5, 5}));
  EXPECT_THAT(run(with({.mode = ReadMode::fill}), x, idx),
              SameNumbers(Numbers{nan, nan, 1, 2, 1, 4, 5, nan, nan, nan}));
  EXPECT_EQ(run(with({.mode = ReadMode::fill, .fill_value = 7}), x, idx),
            (Numbers{7, 7, 1, 2, 1, 4, 5, 7, 7, 7}));
  const double low = -2147483648.0, high = 4294967295.0;
  EXPECT_EQ(run(with({.mode = ReadMode::fill}), i32({1, 2, 3, 4, 5}), idx),
            (Numbers{low, low, 1, 2, 1, 4, 5, low, low, low}));
  EXPECT_EQ(run(with({.mode = ReadMode::fill}), host(DType::u32, {5}, {1, 2, 3, 4, 5}), idx),
            (Numbers{high, high, 1, 2, 1, 4, 5, high, high, high}));
  EXPECT_THAT(run(with({.mode = ReadMode::fill, .wrap_negative = false}), x, idx),
              SameNumbers(Numbers{nan, nan, nan, nan, 1, 4, 5, nan, nan, nan}));
}

TEST(Take, PutsTheIndexAxesInPlaceOfItsAxis) {
  const auto f = [](const Array& x, const Array& i) { return take(x, i, -1); };
  const auto r = run_arrays(f, f32({2, 3}, {0, 1, 2, 3, 4, 5}), i32({2, 2}, {2, 0, -1, 1}));
  EXPECT_EQ(r[0].aval.shape, Shape(2, 2, 2));
  EXPECT_EQ(numbers(r[0]), (Numbers{2, 0, 2, 1, 5, 3, 5, 4}));
}

TEST(Index, WithATracedIndexWrapsAndClips) {
  const auto f = [](const Array& x, const Array& i) { return x[i]; };
  EXPECT_EQ(run(f, count_up(10), i32(11)), Numbers{9});
  EXPECT_EQ(run(f, count_up(10), i32(-1)), Numbers{9});
  EXPECT_EQ(run(f, count_up(10), i32(-11)), Numbers{0});
  EXPECT_EQ(run(f, f32({2, 2}, {1, 2, 3, 4}), i32({1, 0, 1})), (Numbers{3, 4, 1, 2, 3, 4}));
  // Beyond 32 bits, too; what has no sign is not negative.
  EXPECT_EQ(run(f, count_up(10), host(DType::i64, {4}, {0x1p32, 0x1p32 + 1, 1 - 0x1p32, -2})),
            (Numbers{9, 9, 0, 8}));
  EXPECT_EQ(run(f, count_up(10), host(DType::u32, {2}, {0x1p32 - 1, 0x1p31})), (Numbers{9, 9}));
  EXPECT_EQ(run(f, count_up(10), host(DType::u64, {3}, {0x1p63, 0x1p32, 3})), (Numbers{9, 9, 3}));
  EXPECT_EQ(run(f, count_up(10), host(DType::u8, {2}, {255, 4})), (Numbers{9, 4}));
}

TEST(TakeAlongAxis, ReadsWithinRows) {
  const auto f = [](const Array& x, const Array& i) { return take_along_axis(x, i, 1); };
  const HostArray x = f32({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(run(f, x, i32({2, 2}, {2, 0, -1, 1})), (Numbers{2, 0, 5, 4}));
  const auto g = [](const Array& v, const Array& i) { return take_along_axis(v, i, 0); };
  EXPECT_EQ(run(g, x, i32({1, 3}, {1, 0, 1})), (Numbers{3, 1, 5}));
  EXPECT_THAT(usage_error_of(f, x, i32({1, 1}, {0})), HasSubstr("must agree outside axis 1"));
}

// ---- writes

TEST(AtSet, WritesOneRowOrNothing) {
  const auto f = [](const Array& x, const Array& i) { return at_set(x, i, 99); };
  EXPECT_EQ(run(f, count_up(3), i32(1)), (Numbers{0, 99, 2}));
  EXPECT_EQ(run(f, count_up(3), i32(-1)), (Numbers{0, 1, 99}));
  EXPECT_EQ(run(f, count_up(3), i32(7)), (Numbers{0, 1, 2}));
  const auto no_wrap = [](const Array& x) { return at_set(x, -1, 99, {.wrap_negative = false}); };
  EXPECT_EQ(run(no_wrap, count_up(3)), (Numbers{0, 1, 2}));
  const auto rows = [](const Array& x, const Array& i) { return at_set(x, i, array({8, 9})); };
  EXPECT_EQ(run(rows, i32({2, 2}, {1, 2, 3, 4}), i32(0)), (Numbers{8, 9, 3, 4}));
}

TEST(AtAdd, AddsOrDropsOrClips) {
  const auto f = [](const Array& x) { return at_add(x, 10, 10); };
  EXPECT_EQ(run(f, count_up(5)), (Numbers{0, 1, 2, 3, 4}));
  const auto g = [](const Array& x) { return at_add(x, 20, 10, {.mode = WriteMode::clip}); };
  EXPECT_EQ(run(g, count_up(5)), (Numbers{0, 1, 2, 3, 14}));
  const auto h = [](const Array& x, const Array& i, const Array& v) { return at_add(x, i, v); };
  EXPECT_EQ(
      run(h, f32(Numbers(4, 0)), i32({0, 0, 0, 1, 2, 2, 3, 3}), f32({5, 1, 7, 2, 3, 4, 1, 3})),
      (Numbers{13, 2, 7, 4}));
  EXPECT_EQ(run(h, f32(Numbers(4, 0)), i32({-1, 9, -9}), f32({1, 2, 3})), (Numbers{0, 0, 0, 1}));
}

TEST(SegmentSum, DropsWhatIsOutOfRange) {
  const auto with = [](Dim n) {
    return [=](const Array& data, const Array& ids) { return segment_sum(data, ids, n); };
  };
  const HostArray data = f32({5, 1, 7, 2, 3, 4, 1, 3});
  const HostArray ids = i32({0, 0, 0, 1, 2, 2, 3, 3});
  EXPECT_EQ(run(with(4), data, ids), (Numbers{13, 2, 7, 4}));
  EXPECT_EQ(run(with(5), data, ids), (Numbers{13, 2, 7, 4, 0}));
  EXPECT_EQ(run(with(4), data, i32({0, 4, 8, 1, 2, -6, -1, 3})), (Numbers{5, 2, 3, 3}));
  EXPECT_THAT(usage_error_of(with(4), data, i32({1, 2})),
              HasSubstr("segment ids [2] do not go along the first axis of f32[8]"));
}

TEST(SegmentSum, OutOfRangeHasNoGradient) {
  const auto f = [](const Array& data, const Array& ids) {
    const auto total = [](const Array& d, const Array& i) { return sum(segment_sum(d, i, 1)); };
    const auto both = value_and_grad(total)(data, ids);
    return std::pair{both.value, both.grad};
  };
  const auto r = run_all(f, f32({3, 4}), i32({1, -1}));
  EXPECT_EQ(r[0], Numbers{0});
  EXPECT_EQ(r[1], (Numbers{0, 0}));
  EXPECT_EQ(run_all(f, f32({3, inf}), i32({0, 5}))[1], (Numbers{1, 0}));
}

TEST(SegmentSum, VmapsOverDataWithSharedIds) {
  const auto f = [](const Array& data, const Array& ids) {
    return vmap([&](const Array& d) { return segment_sum(d, ids, 2); })(data);
  };
  EXPECT_EQ(run(f, f32({2, 3}, {1, 2, 3, 4, 5, 6}), i32({1, 0, 1})), (Numbers{2, 4, 5, 10}));
}

TEST(ScatterAdd, VmapsOverEveryOperand) {
  const auto one = [](const Array& x, const Array& i, const Array& u) {
    return scatter_add(x, i, u, 1);
  };
  const auto over = [&](const Array& x, const Array& i, const Array& u) {
    return vmap(one)(x, i, u);
  };
  const auto r = run(over, f32({2, 2, 2}, {0, 0, 0, 0, 1, 1, 1, 1}), i32({2, 2}, {1, 1, 0, 5}),
                     f32({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(r, (Numbers{0, 3, 0, 7, 6, 1, 8, 1}));
}

// ---- derivatives

TEST(IndexingGrad, OfATakeGoesBackToWhereItCameFrom) {
  const auto f = [](const Array& x, const Array& i, const Array& w) {
    return grad([&](const Array& v) { return sum(take(v, i) * w); })(x);
  };
  // 9 clips to the last element, and so does its cotangent.
  EXPECT_EQ(run(f, f32({1, 2, 3}), i32({0, -1, 0, 9}), f32({1, 2, 3, 4})), (Numbers{4, 0, 6}));
}

TEST(IndexingGrad, OfAnUpdateSplitsBetweenBoth) {
  const auto f = [](const Array& x, const Array& u, const Array& i, const Array& w) {
    const auto value = [&](const std::pair<Array, Array>& in) {
      return sum(w * dynamic_update_slice(in.first, in.second, {i}));
    };
    return grad(value)(std::pair{x, u});
  };
  const auto r = run_all(f, f32({1, 2, 3, 4}), f32({5, 6}), i32(9), f32({10, 20, 30, 40}));
  EXPECT_EQ(r[0], (Numbers{10, 20, 0, 0}));
  EXPECT_EQ(r[1], (Numbers{30, 40}));
}

TEST(IndexingJvp, OfFillIsZeroOutside) {
  const auto f = [](const Array& x, const Array& i) {
    const auto read = [&](const Array& v) { return take(v, i, 0, {.mode = ReadMode::fill}); };
    return jvp(read, x, 2 * ones_like(x)).second;
  };
  EXPECT_EQ(run(f, f32({1, 2, 3}), i32({2, 3, -4})), (Numbers{2, 0, 0}));
}

TEST(IndexingJvp, OfAScatterMovesBoth) {
  const auto f = [](const Array& x, const Array& i, const Array& u) {
    const auto write = [&](const std::pair<Array, Array>& in) {
      return scatter_add(in.first, i, in.second);
    };
    return jvp(write, std::pair{x, u}, std::pair{ones_like(x), 10 * u}).second;
  };
  EXPECT_EQ(run(f, f32({0, 0}), i32({1, 1, 7}), f32({1, 2, 3})), (Numbers{1, 31}));
}

}  // namespace
}  // namespace gnomon::test
