// tests/codegen/control_test.cpp -- loops: known answers, structure, messages.
#include "codegen/operations/control.h"

#include "gnomon/indexing.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Pair {
  Array pos, count;
};

// ---- while_loop

Pair count_to_ten(Pair s) {
  return while_loop([](const Pair& p) { return p.pos < 10; },
                    [](Pair p) {
                      return Pair{p.pos + 1, p.count + 1};
                    },
                    s, {.max_steps = unbounded});
}

TEST(WhileLoop, CountsUntilItsConditionFails) {
  const auto count = [](const Array& pos) { return count_to_ten({pos, 0 * pos}).count; };
  EXPECT_EQ(run(count, i32(2)), Numbers{8});
  EXPECT_EQ(run(count, i32(3)), Numbers{7});
}

TEST(WhileLoop, KeepsItsStateWhenTheConditionIsFalseAtOnce) {
  EXPECT_EQ(run([](const Array& x) { return count_to_ten({x, x}).pos; }, i32(12)), Numbers{12});
}

TEST(WhileLoop, StopsAtMaxSteps) {
  const auto f = [](const Array& x) {
    return while_loop([](const Array& v) { return v < 100; }, [](Array v) { return v + 1; }, x,
                      {.max_steps = 5});
  };
  EXPECT_EQ(run(f, i32(0)), Numbers{5});
  EXPECT_EQ(run(f, i32(98)), Numbers{100});
}

TEST(WhileLoop, TakesNoStepWhenMaxStepsIsZero) {
  const auto f = [](const Array& x) {
    return while_loop([](const Array& v) { return v < 100; }, [](Array v) { return v + 1; }, x,
                      {.max_steps = 0});
  };
  EXPECT_EQ(run(f, i32(3)), Numbers{3});
}

TEST(WhileLoop, ReplacesACarryByAConstant) {
  const auto f = [](const Array& a, const Array& b) {
    return while_loop([](const Pair& s) { return s.count < 10; },
                      [](Pair s) {
                        return Pair{zeros({}, DType::i32) + 7, s.count + 1};
                      },
                      Pair{a, b}, {.max_steps = unbounded});
  };
  EXPECT_THAT(run_all(f, i32(33), i32(4)), ElementsAre(Numbers{7}, Numbers{10}));
}

TEST(WhileLoop, MovesCarriesAlong) {
  struct Three {
    Array c1, c2, c3;
  };
  const auto f = [](const Array& a, const Array& b, const Array& c) {
    return while_loop([](const Three& s) { return s.c2 == 0; },
                      [](Three s) {
                        return Three{zeros({}), ones({}), s.c1};
                      },
                      Three{a, b, c}, {.max_steps = unbounded});
  };
  EXPECT_THAT(run_all(f, f32(5), f32(0.0), f32(3.14)),
              ElementsAre(Numbers{0}, Numbers{1}, Numbers{5}));
}

TEST(WhileLoop, AcceptsAnEmptyState) {
  const auto f = [](const Array& x) {
    while_loop([](const None&) { return zeros({}, DType::boolean); }, [](None s) { return s; },
               None{}, {.max_steps = 1});
    return x;
  };
  EXPECT_EQ(run(f, i32(1)), Numbers{1});
}

TEST(WhileLoop, Nests) {
  struct S {
    Array i, j, count;
  };
  const auto f = [](const Array& num) {
    const Array zero = 0 * num;
    return while_loop([&](const S& s) { return s.i < num; },
                      [](S s) {
                        s = while_loop([](const S& t) { return t.j <= t.i; },
                                       [](S t) {
                                         return S{t.i, t.j + 1, t.count + 1};
                                       },
                                       S{s.i, 0 * s.i, s.count}, {.max_steps = unbounded});
                        s.i = s.i + 1;
                        return s;
                      },
                      S{zero, zero, zero}, {.max_steps = unbounded});
  };
  for (auto [num, count] : {std::pair{2, 3}, {3, 6}, {4, 10}}) {
    const auto r = run_all(f, i32(num));
    EXPECT_EQ(r[0], Numbers{double(num)});
    EXPECT_EQ(r[2], Numbers{double(count)});
  }
}

TEST(WhileLoop, WritesALowerTriangle) {
  struct S {
    Array i, j, out;
  };
  const auto f = [](const Array& arr) {
    const Array zero = zeros({}, DType::i32);
    const auto inner = [&](S s) {
      const Array element = dynamic_slice(arr, {s.i, s.j}, {1, 1});
      return S{s.i, s.j + 1, dynamic_update_slice(s.out, element, {s.i, s.j})};
    };
    const auto outer = [&](S s) {
      s = while_loop([](const S& t) { return t.j <= t.i; }, inner, S{s.i, 0 * s.i, s.out},
                     {.max_steps = unbounded});
      return S{s.i + 1, s.j, s.out};
    };
    return while_loop([](const S& s) { return s.i < 5; }, outer, S{zero, zero, zeros_like(arr)},
                      {.max_steps = unbounded})
        .out;
  };
  Numbers arr, tril;
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j) {
      arr.push_back(1 + i * 5 + j);
      tril.push_back(j <= i ? arr.back() : 0);
    }
  EXPECT_EQ(run(f, f32({5, 5}, arr)), tril);
}

TEST(WhileLoop, HoistsWhatItsBodyHandsBackUnchanged) {
  const auto f = [](const Array& x, const Array& limit) {
    return while_loop([](const Pair& s) { return s.pos < s.count; },
                      [](Pair s) {
                        return Pair{s.pos + 1, s.count};
                      },
                      Pair{x, limit}, {.max_steps = 100});
  };
  const Graph g = graph_of(f, i32(0), i32(7));
  EXPECT_EQ(only_equation(g, "while").params.as<WhileParams>().carried, 1);
  EXPECT_THAT(run_all(f, i32(0), i32(7)), ElementsAre(Numbers{7}, Numbers{7}));
}

TEST(WhileLoop, CapturesInConditionAndBodyAreConstants) {
  const auto f = [](const Array& x, const Array& limit, const Array& step) {
    return while_loop([&](const Array& v) { return v < limit; },
                      [&](Array v) { return v + step + 0 * limit; }, x, {.max_steps = 100});
  };
  const Graph g = graph_of(f, i32(0), i32(7), i32(2));
  EXPECT_EQ(only_equation(g, "while").inputs.size(), 3u);
  EXPECT_EQ(run(f, i32(0), i32(7), i32(2)), Numbers{8});
}

TEST(WhileLoop, ANumberTakesTheDtypeOfTheCarryItReplaces) {
  const auto f = [](const Array& x) {
    return while_loop([](const Array& v) { return v < 1; }, [](const Array&) { return 2; }, x,
                      {.max_steps = 3});
  };
  const std::vector<HostArray> r = run_arrays(f, f32(0.5));
  EXPECT_EQ(r[0].aval, (Aval{DType::f32, {}}));
  EXPECT_EQ(r[0].number(0), 2);
}

TEST(WhileLoop, ANumberCanBeTheState) {
  const auto f = [](const Array& limit) {
    return while_loop([&](const Array& v) { return v < limit; }, [](Array v) { return 2 * v; }, 1,
                      {.max_steps = unbounded});
  };
  EXPECT_EQ(run(f, i32(100)), Numbers{128});
}

TEST(WhileLoop, NamesTheCarryThatChanges) {
  struct State {
    Array x, v;
  };
  const auto shape = [](const Array& x) {
    return while_loop([](const State&) { return zeros({}, DType::boolean); },
                      [](State s) {
                        return State{s.x, sum(s.v)};
                      },
                      State{x, x}, {.max_steps = 1});
  };
  EXPECT_THAT(usage_error_of(shape, f32({1, 2})),
              HasSubstr("gnomon::while_loop: `carry.v` enters the body as f32[2] but leaves it as "
                        "f32[]; a carry keeps its shape (control_test.cpp:"));
  const auto dtype = [](const Array& x) {
    return while_loop([](const Array&) { return zeros({}, DType::boolean); },
                      [](Array v) { return cast(v, DType::f32); }, x, {.max_steps = 1});
  };
  EXPECT_THAT(usage_error_of(dtype, i32(1)),
              HasSubstr("`carry` enters the body as i32[] but leaves it as f32[]; a carry keeps "
                        "its dtype"));
  const auto number = [](const Array& x) {
    return while_loop([](const Array&) { return zeros({}, DType::boolean); },
                      [](const Array&) { return 1.5; }, x, {.max_steps = 1});
  };
  EXPECT_THAT(usage_error_of(number, i32(1)), HasSubstr("a carry keeps its dtype"));
}

TEST(WhileLoop, RejectsAConditionThatIsNotOneBool) {
  const auto with = [](auto condition) {
    return [=](const Array& x) {
      return while_loop(condition, [](Array v) { return v; }, x, {.max_steps = 1});
    };
  };
  EXPECT_THAT(usage_error_of(with([](const Array& v) { return v; }), f32(1.0)),
              HasSubstr("gnomon::while_loop: cond returns f32[] and must return bool[]; compare"));
  EXPECT_THAT(usage_error_of(with([](const Array& v) { return v > 0; }), f32({1, 2})),
              HasSubstr("cond returns bool[2] and must return bool[]; reduce it"));
}

TEST(WhileLoop, RejectsABadStartOrBound) {
  const auto moved = [](const Array& x) {
    return while_loop([](const Pair& s) { return s.pos < 1; }, [](Pair s) { return s; },
                      Pair{x, Array()}, {.max_steps = 1});
  };
  EXPECT_THAT(usage_error_of(moved, f32(1.0)), HasSubstr("`carry.count` is an empty Array"));
  const auto negative = [](const Array& x) {
    return while_loop([](const Array& v) { return v < 1; }, [](Array v) { return v + 1; }, x,
                      {.max_steps = -3});
  };
  EXPECT_THAT(usage_error_of(negative, f32(1.0)),
              HasSubstr("max_steps is -3 and cannot be negative; `unbounded` means no limit"));
}

TEST(WhileLoop, RejectsAStaticPartThatChanges) {
  struct Mode {
    Array x;
    int mode = 0;
  };
  const auto f = [](const Array& x) {
    return while_loop([](const Mode& s) { return s.x < 1; },
                      [](Mode s) {
                        return Mode{s.x + 1, s.mode + 1};
                      },
                      Mode{x, 4}, {.max_steps = 1});
  };
  EXPECT_THAT(usage_error_of(f, f32(1.0)),
              HasSubstr("`carry.mode` is 4 when it enters the body and `carry.mode` is 5 when it "
                        "leaves; only Arrays can change"));
}

// ---- fori_loop

Array sum_below(const Array& n) {
  return fori_loop(0 * n, n, [](Array i, Array total) { return total + i; }, 0 * n,
                   {.max_steps = unbounded});
}

TEST(ForiLoop, SumsWithTracedBounds) {
  EXPECT_EQ(run(sum_below, i32(2)), Numbers{1});
  EXPECT_EQ(run(sum_below, i32(3)), Numbers{3});
  EXPECT_EQ(run(sum_below, i32(4)), Numbers{6});
  EXPECT_EQ(run(sum_below, i32(0)), Numbers{0});
  EXPECT_EQ(run(sum_below, i32(-1)), Numbers{0});
}

TEST(ForiLoop, UsesWhatItCaptures) {
  const auto f = [](const Array& n) {
    return fori_loop(0, n, [&](Array i, Array total) { return total + i + n; }, 0,
                     {.max_steps = 50});
  };
  EXPECT_EQ(run(f, i32(2)), Numbers{5});
  EXPECT_EQ(run(f, i32(3)), Numbers{12});
  EXPECT_EQ(run(f, i32(4)), Numbers{22});
}

TEST(ForiLoop, WithStaticBoundsIsAScan) {
  const auto f = [](const Array& x) {
    return fori_loop(
        0, 3, [](Array i, Array v) { return v * (cast(i, DType::f32) + 1); }, x);
  };
  EXPECT_EQ(run(f, f32(2.0)), Numbers{12});
  EXPECT_EQ(count_equations(graph_of(f, f32(2.0)), "scan"), 1);
  const auto tangent = [&](const Array& x) { return jvp(f, x, ones_like(x)).second; };
  EXPECT_EQ(run(tangent, f32(2.0)), Numbers{6});
}

TEST(ForiLoop, StartsAtTheLowerBound) {
  const auto f = [](const Array& x) {
    return fori_loop(
        -2, 3, [](Array i, Array v) { return v * 10 + i; }, x);
  };
  EXPECT_EQ(run(f, i32(0)), Numbers{((((-2 * 10 - 1) * 10 + 0) * 10) + 1) * 10 + 2});
  const auto none_at_all = [](const Array& x) {
    return fori_loop(
        4, 2, [](Array, Array v) { return v + 1; }, x);
  };
  EXPECT_EQ(run(none_at_all, i32(9)), Numbers{9});
}

TEST(ForiLoop, RejectsMixedBounds) {
  const auto f = [](const Array& n) {
    return fori_loop(cast(n, DType::i16), n, [](Array, Array v) { return v; }, n, {.max_steps = 5});
  };
  EXPECT_THAT(usage_error_of(f, i32(2)),
              HasSubstr("gnomon::fori_loop: bounds are i16[] and i32[]"));
  const auto g = [](const Array& n) {
    return fori_loop(0, n, [](Array, Array v) { return v; }, n, {.max_steps = 5});
  };
  EXPECT_THAT(usage_error_of(g, f32(2.0)), HasSubstr("a bound is f32[] and must be one integer"));
}

TEST(ForiLoop, SumsAPrefixOfTracedLength) {
  const auto f = [](const Array& x, const Array& n) {
    return fori_loop(0, minimum(n, 10), [&](Array i, Array total) { return total + x[i]; }, 0.0f,
                     {.max_steps = 10});
  };
  const HostArray x = f32({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  for (auto [n, total] : {std::pair{0, 0}, {5, 10}, {10, 45}, {15, 45}})
    EXPECT_EQ(run(f, x, i32(n)), Numbers{double(total)});
}

// ---- scan

TEST(Scan, IsACumulativeSum) {
  for (const bool reverse : {false, true}) {
    const auto f = [=](const Array& xs) {
      return scan(
          [](Array c, Array x) {
            return std::pair{c + x, c + x};
          },
          0.0f, xs, {.reverse = reverse});
    };
    const auto r = run_all(f, f32({3, 1, 4, 1, 5, 9}));
    EXPECT_EQ(r[0], Numbers{23});
    EXPECT_EQ(r[1], reverse ? (Numbers{23, 20, 19, 15, 14, 9}) : (Numbers{3, 4, 8, 9, 14, 23}));
  }
}

TEST(Scan, RunsForALengthWithoutSequences) {
  const auto f = [](const Array& x) {
    return scan([](Array c, None) { return std::pair{c + 1, c}; }, x, none, {.length = 20});
  };
  const auto r = run_all(f, i32(0));
  EXPECT_EQ(r[0], Numbers{20});
  for (int i = 0; i < 20; ++i) EXPECT_EQ(r[1][static_cast<std::size_t>(i)], i);
}

TEST(Scan, OfLengthZeroGivesTheStartAndNoRows) {
  const auto f = [](const Array& x) {
    return scan([](Array c, None) { return std::pair{c + 1, c}; }, x, none, {.length = 0});
  };
  const auto r = run_all(f, i32(5));
  EXPECT_EQ(r[0], Numbers{5});
  EXPECT_EQ(r[1], Numbers{});
}

TEST(Scan, NeedsNoRows) {
  const auto f = [](const Array& xs) {
    return scan([](Array c, Array x) { return std::pair{c * 2 + x, none}; }, 0, xs).first;
  };
  EXPECT_EQ(run(f, i32({1, 0, 1})), Numbers{5});
}

TEST(Scan, WalksStructs) {
  struct Carry {
    Array x, v;
  };
  struct Input {
    Array force;
    std::vector<Array> more;
  };
  const auto f = [](const Array& x, const Array& forces, const Array& other) {
    return scan(
        [](Carry c, Input in) {
          c.v = c.v + in.force + in.more[0];
          c.x = c.x + c.v;
          return std::pair{c, std::pair{c.x, 2 * c.v}};
        },
        Carry{x, 0 * x}, Input{forces, {other}});
  };
  const auto r = run_all(f, f32(0.0), f32({1, 0, 0}), f32({0, 1, 0}));
  EXPECT_THAT(r, ElementsAre(Numbers{5}, Numbers{2}, Numbers{1, 3, 5}, Numbers{2, 4, 4}));
}

TEST(Scan, ShiftsItsCarry) {
  struct C {
    Array a, b, c, d;
  };
  const auto f = [](const Array& a, const Array& b, const Array& c, const Array& d) {
    const auto body = [](C s, None) { return std::pair{C{s.b, s.c, s.d, 0 * s.d}, none}; };
    return scan(body, C{broadcast_to(a, {3}), broadcast_to(b, {3}), broadcast_to(c, {3}), d}, none,
                {.length = 2})
        .first;
  };
  EXPECT_THAT(run_all(f, f32(0.0), f32(1.0), f32(2.0), f32({3, 4, 5})),
              ElementsAre(Numbers{2, 2, 2}, Numbers{3, 4, 5}, Numbers{0, 0, 0}, Numbers{0, 0, 0}));
}

TEST(Scan, SaysWhichLengthsDisagree) {
  const auto body = [](Array c, Array x) { return std::pair{c + x, c}; };
  const auto wrong = [&](const Array& xs) { return scan(body, 0.0f, xs, {.length = 5}); };
  EXPECT_THAT(usage_error_of(wrong, f32({10}, Numbers(10, 1))),
              HasSubstr("gnomon::scan: `length` is 5 but `xs` has leading axis 10"));
  const auto two = [](const Array& a, const Array& b) {
    return scan(
        [](Array c, std::pair<Array, Array> x) {
          return std::pair{c + x.first, c};
        },
        0.0f, std::pair{a, b});
  };
  EXPECT_THAT(usage_error_of(two, f32({1, 2, 3}), f32({1, 2})),
              HasSubstr("`xs[0]` has leading axis 3 but `xs[1]` has 2; sequences have one length"));
  const auto scalar = [&](const Array& xs) { return scan(body, 0.0f, xs); };
  EXPECT_THAT(usage_error_of(scalar, f32(1.0)), HasSubstr("`xs` is f32[] and has no leading axis"));
  const auto missing = [](const Array& x) {
    return scan([](Array c, None) { return std::pair{c, c}; }, x, none);
  };
  EXPECT_THAT(usage_error_of(missing, f32(1.0)), HasSubstr("give {.length = n}"));
}

TEST(Scan, NamesTheCarryThatChanges) {
  const auto f = [](const Array& x) {
    return scan(
        [](Pair c, None) {
          return std::pair{Pair{c.pos, sum(c.count)}, none};
        },
        Pair{x, x}, none, {.length = 2});
  };
  EXPECT_THAT(usage_error_of(f, f32({1, 2})),
              HasSubstr("gnomon::scan: `carry.count` enters the body as f32[2] but leaves it as "
                        "f32[]; a carry keeps its shape (control_test.cpp:"));
}

}  // namespace
}  // namespace gnomon::test
