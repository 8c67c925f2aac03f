// tests/codegen/loops_test.cpp -- known answers of loops on the host and lowered, further forms of
// loops, masks, messages.
#include "gnomon/loops.h"

#include "codegen/operations/control.h"
#include "gnomon/cumulative.h"
#include "gnomon/masks.h"
#include "gnomon/random.h"
#include "tests/codegen/graph_host.h"
#include "tests/support/loop_goldens.h"
#include "tests/support/lowering.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;

TEST(LoopGoldens, OnTheHost) {
  for (const auto& [name, graph, inputs, want] : gnomon::testing::loop_goldens()) {
    std::vector<Numbers> got;
    for (const HostArray& a : evaluate(graph, inputs)) got.push_back(numbers(a));
    EXPECT_EQ(got, want) << name;
  }
}

TEST(LoopGoldens, Lowered) {
  for (const auto& golden : gnomon::testing::loop_goldens()) {
    SCOPED_TRACE(golden.name);
    gnomon::testing::expect_lowering(golden.graph, golden.inputs, 0);
  }
}

// ---- unroll

const auto damped = [](Array c, Array x) { return std::pair{c * 0.5f + x, c * x}; };

TEST(Unroll, GivesTheSameBits) {
  const HostArray xs = gnomon::testing::random_array({DType::f32, {23}}, 1);
  for (const bool reverse : {false, true}) {
    const auto by = [=](int unroll) {
      return [=](const Array& x) {
        return scan(damped, 0.3f, x, {.reverse = reverse, .unroll = unroll});
      };
    };
    const auto want = run_all(by(1), xs);
    for (const int unroll : {2, 3, 7, 11, 12, 22, 23, 24, 100, 0})
      EXPECT_EQ(run_all(by(unroll), xs), want) << unroll;
  }
}

TEST(Unroll, LeavesALoopOfFewerSteps) {
  const auto by = [](int unroll) {
    return graph_of([=](const Array& x) { return scan(damped, 0.0f, x, {.unroll = unroll}); },
                    f32(Numbers(23, 1)));
  };
  EXPECT_EQ(only_equation(by(1), "scan").params.as<ScanParams>().length, 23);
  EXPECT_EQ(only_equation(by(4), "scan").params.as<ScanParams>().length, 5);
  for (const int all : {0, 12, 23, 50}) EXPECT_EQ(count_equations(by(all), "scan"), 0) << all;
}

TEST(Unroll, OfNothingIsNothing) {
  const auto f = [](const Array& x) { return scan(damped, 2.0f, x, {.unroll = 0}); };
  EXPECT_EQ(run_all(f, f32(Numbers{})), (std::vector<Numbers>{{2}, {}}));
  const auto g = [](const Array& x) {
    return fori_loop(5, 2, [](Array, Array v) { return v + 1; }, x, {.unroll = 4});
  };
  EXPECT_EQ(run(g, i32(7)), Numbers{7});
}

TEST(Unroll, IsNotNegative) {
  const auto f = [](const Array& x) { return scan(damped, 0.0f, x, {.unroll = -1}); };
  EXPECT_THAT(usage_error_of(f, f32({1, 2})),
              HasSubstr("gnomon::scan: `unroll` is -1 and cannot be negative; 0 means no loop at "
                        "all (loops_test.cpp:"));
  const auto g = [](const Array& x) {
    return fori_loop(0, 3, [](Array, Array v) { return v + 1; }, x, {.unroll = -2});
  };
  EXPECT_THAT(usage_error_of(g, i32(1)), HasSubstr("gnomon::fori_loop: `unroll` is -2"));
}

TEST(Unroll, NamesTheCarryThatChanges) {
  const auto f = [](const Array& x) {
    return scan(
        [](Array c, Array y) {
          return std::pair{c + y + zeros({2}), none};
        },
        0.0f, x, {.unroll = 0});
  };
  EXPECT_THAT(usage_error_of(f, f32({1, 2})),
              HasSubstr("gnomon::scan: `carry` enters the body as f32[] but leaves it as f32[2]; a "
                        "carry keeps its shape (loops_test.cpp:"));
}

// ---- dynamic length

TEST(DynamicScan, TakesLengthsOfAnyIntegerType) {
  const auto f = [](const Array& xs, const Array& n) {
    const auto r = scan(
        [](Array c, Array x) {
          return std::pair{c + x, c};
        },
        0.0f, xs, {.length = n});
    return std::pair{r.carry, r.count};
  };
  const HostArray xs = f32(Numbers(300, 1));
  for (const DType t : {DType::u8, DType::i8, DType::u16, DType::i32, DType::u32, DType::i64})
    EXPECT_EQ(run_all(f, xs, host(t, {}, {100})), (std::vector<Numbers>{{100}, {100}})) << name(t);
  EXPECT_EQ(run_all(f, xs, host(DType::u32, {}, {4294967295.0})),
            (std::vector<Numbers>{{300}, {300}}));
  EXPECT_EQ(run_all(f, xs, host(DType::i64, {}, {-4294967297.0})),
            (std::vector<Numbers>{{0}, {0}}));
}

TEST(DynamicScan, IsALoopThatWritesItsRows) {
  const auto f = [](const Array& n) {
    return scan(
               [](Array c, None) {
                 return std::pair{c + 1, c};
               },
               0, none, {.length = n, .max_steps = 50})
        .rows;
  };
  const Graph g = graph_of(f, i32(3));
  EXPECT_EQ(only_equation(g, "while").params.as<WhileParams>().max_steps, 50);
  EXPECT_EQ(count_equations(g, "dynamic_update_slice"), 1);
  EXPECT_EQ(g.output_avals()[0].shape, Shape(50));
}

TEST(DynamicScan, StepsOfABoundOfZeroAreNone) {
  const auto f = [](const Array& n) {
    const auto r = scan(
        [](Array c, None) {
          return std::pair{c + 1, c};
        },
        4, none, {.length = n, .max_steps = 0});
    return std::tuple{r.carry, r.rows, r.count};
  };
  EXPECT_EQ(run_all(f, i32(3)), (std::vector<Numbers>{{4}, {}, {0}}));
}

TEST(DynamicScan, HasTangents) {
  const auto f = [](const Array& x, const Array& n) {
    const auto g = [&](const Array& v) {
      return scan(
                 [&](Array c, None) {
                   return std::pair{c * v, c};
                 },
                 1.0f, none, {.length = n, .max_steps = 6})
          .carry;
    };
    return jvp(g, x, ones_like(x));
  };
  EXPECT_EQ(run_all(f, f32(2.0), i32(4)), (std::vector<Numbers>{{16}, {32}}));
}

TEST(DynamicScan, SaysWhatIsMissing) {
  const auto body = [](Array c, None) { return std::pair{c, c}; };
  const auto unbounded_length = [=](const Array& n) {
    return scan(body, 0, none, {.length = n}).carry;
  };
  EXPECT_THAT(usage_error_of(unbounded_length, i32(1)),
              HasSubstr("gnomon::scan: `length` is known only when the program runs, and there is "
                        "no sequence that says how many steps there are at most; give {.max_steps "
                        "= n} (loops_test.cpp:"));
  const auto negative = [=](const Array& n) {
    return scan(body, 0, none, {.length = n, .max_steps = -1}).carry;
  };
  EXPECT_THAT(usage_error_of(negative, i32(1)), HasSubstr("`max_steps` is -1 and must be between"));
  EXPECT_THAT(usage_error_of(unbounded_length, f32(1.0)),
              HasSubstr("`length` is f32[] and must be one integer"));
  EXPECT_THAT(usage_error_of(unbounded_length, i32({1, 2})),
              HasSubstr("`length` is i32[2] and must be one integer"));
  const auto longer = [](const Array& xs, const Array& n) {
    return scan(
               [](Array c, Array x) {
                 return std::pair{c + x, none};
               },
               0.0f, xs, {.length = n, .max_steps = 5})
        .carry;
  };
  EXPECT_THAT(usage_error_of(longer, f32({1, 2}), i32(1)),
              HasSubstr("`max_steps` is 5 and must be between 0 and the leading axis 2 of `xs`"));
  const auto changes = [](const Array& n) {
    return scan(
               [](Array c, None) {
                 return std::pair{cast(c, DType::f32), none};
               },
               0, none, {.length = n, .max_steps = 5})
        .carry;
  };
  EXPECT_THAT(usage_error_of(changes, i32(1)),
              HasSubstr("`carry` enters the body as i32[] but leaves it as f32[]"));
}

// ---- while_loop_counted

TEST(CountedWhile, NamesTheCarryThatChanges) {
  struct Orbit {
    Array position, speed;
  };
  const auto f = [](const Array& x) {
    return while_loop_counted([](const Orbit& s) { return sum(s.position) < 1; },
                              [](Orbit s) {
                                return Orbit{s.position, sum(s.speed)};
                              },
                              Orbit{x, x}, {.max_steps = 3})
        .steps;
  };
  EXPECT_THAT(usage_error_of(f, f32({1, 2})),
              HasSubstr("gnomon::while_loop_counted: `carry.speed` enters the body as f32[2] but "
                        "leaves it as f32[]; a carry keeps its shape (loops_test.cpp:"));
}

TEST(CountedWhile, RejectsWhatItCannotCount) {
  const auto f = [](const Array& x) {
    return while_loop_counted([](const Array& v) { return v < 1; }, [](Array v) { return v + 1; },
                              x, {.max_steps = Dim{1} << 31})
        .steps;
  };
  EXPECT_THAT(usage_error_of(f, i32(0)),
              HasSubstr("max_steps is 2147483648 and steps are counted in i32"));
  const auto negative = [](const Array& x) {
    return while_loop_counted([](const Array& v) { return v < 1; }, [](Array v) { return v + 1; },
                              x, {.max_steps = -1})
        .steps;
  };
  EXPECT_THAT(usage_error_of(negative, i32(0)),
              HasSubstr("max_steps is -1 and cannot be negative"));
  const auto condition = [](const Array& x) {
    return while_loop_counted([](const Array& v) { return v; }, [](Array v) { return v; }, x,
                              {.max_steps = 1})
        .steps;
  };
  EXPECT_THAT(usage_error_of(condition, i32(0)), HasSubstr("cond returns i32[] and must return"));
}

TEST(CountedWhile, WithoutABoundNeverHitsIt) {
  const auto f = [](const Array& x) {
    const auto r = while_loop_counted([](const Array& v) { return v < 9; },
                                      [](Array v) { return v + 2; }, x, {.max_steps = unbounded});
    return std::tuple{r.state, r.steps, r.bound_hit};
  };
  EXPECT_EQ(run_all(f, i32(0)), (std::vector<Numbers>{{10}, {5}, {0}}));
}

TEST(CountedWhile, CountsStepsOfAnEmptyState) {
  const auto f = [](const Array& x) {
    return while_loop_counted([&](const None&) { return x < 3; }, [](None s) { return s; }, None{},
                              {.max_steps = 4})
        .steps;
  };
  EXPECT_EQ(run(f, i32(0)), Numbers{4});
  EXPECT_EQ(run(f, i32(5)), Numbers{0});
}

// ---- map

TEST(Map, IsAScanWithoutCarry) {
  const auto f = [](const Array& xs) { return map_each([](const Array& x) { return x * 2; }, xs); };
  const Graph g = graph_of(f, f32({1, 2, 3}));
  EXPECT_EQ(only_equation(g, "scan").params.as<ScanParams>().length, 3);
  EXPECT_EQ(run(f, f32({1, 2, 3})), (Numbers{2, 4, 6}));
  EXPECT_EQ(run(f, f32(Numbers{})), Numbers{});
}

TEST(Map, TakesBatchesSideBySide) {
  const auto f = [](Dim batch) {
    return [=](const Array& xs) {
      return map_each([](const Array& x) { return x * 2; }, xs, {.batch_size = batch});
    };
  };
  const HostArray xs = f32({1, 2, 3, 4, 5, 6, 7});
  const Graph g = graph_of(f(3), xs);
  EXPECT_EQ(only_equation(g, "scan").params.as<ScanParams>().length, 2);
  EXPECT_EQ(only_equation(g, "scan").params.as<ScanParams>().body->output_avals()[0].shape,
            Shape(3));
  EXPECT_EQ(count_equations(graph_of(f(7), xs), "scan"), 0);
  EXPECT_EQ(run(f(3), f32(Numbers{})), Numbers{});
}

TEST(Map, GivesElementsOfTheirType) {
  // An element of keys is a key, and as good one by one as side by side.
  const auto f = [](std::optional<Dim> batch) {
    return [=](const Array&) {
      return map_each([](Key key) { return random::normal(std::move(key), {2}); },
                      random::split(random::key(7), 5), {.batch_size = batch});
    };
  };
  EXPECT_EQ(run(f({}), i32(0)), run(f(2), i32(0)));
}

TEST(Map, ReplacesNumbers) {
  const auto f = [](const Array& xs) { return map_each([](const Array&) { return 4; }, xs); };
  EXPECT_EQ(run(f, f32({1, 2})), (Numbers{4, 4}));
}

TEST(Map, SaysWhatIsWrong) {
  const auto identity = [](const Array& x) { return x; };
  const auto f = [=](const Array& xs) { return map_each(identity, xs, {.batch_size = 0}); };
  EXPECT_THAT(
      usage_error_of(f, f32({1, 2})),
      HasSubstr("gnomon::map_each: `batch_size` is 0 and must be positive; leave it out to take "
                "elements one by one (loops_test.cpp:"));
  const auto scalar = [=](const Array& xs) { return map_each(identity, xs); };
  EXPECT_THAT(usage_error_of(scalar, f32(1.0)),
              HasSubstr("gnomon::map_each: `xs` is f32[] and has no leading axis to go along"));
  const auto nothing = [](const Array& x) {
    map_each([](None n) { return n; }, none);
    return x;
  };
  EXPECT_THAT(usage_error_of(nothing, f32(1.0)), HasSubstr("there are no arrays among `xs`"));
}

// ---- scan, associative_scan

TEST(Scan, RejectsANegativeLength) {
  const auto f = [](const Array& x) {
    return scan([](Array c, None) { return std::pair{c, none}; }, x, none, {.length = -2}).first;
  };
  EXPECT_THAT(usage_error_of(f, f32(1.0)),
              HasSubstr("gnomon::scan: `length` is -2 and cannot be negative (loops_test.cpp:"));
}

TEST(AssociativeScan, OfStructsAlongAnyAxisBackwards) {
  // Composition of affine maps, which does not commute: x -> a x + b.
  struct Affine {
    Array a, b;
  };
  const auto f = [](const Array& a, const Array& b) {
    return associative_scan(
        [](const Affine& p, const Affine& q) {
          return Affine{p.a * q.a, q.a * p.b + q.b};
        },
        Affine{a, b}, {.reverse = true, .axis = -1});
  };
  const auto r = run_all(f, f32({2, 3}, {1, 2, 3, 2, 0, 1}), f32({2, 3}, {1, 1, 1, 0, 5, 2}));
  EXPECT_EQ(r[0], (Numbers{6, 6, 3, 0, 0, 1}));
  EXPECT_EQ(r[1], (Numbers{4, 3, 1, 10, 5, 2}));
}

// ---- masks

TEST(Masks, SayWhatIsWrong) {
  const auto packed = [](const Array& x, const Array& m) { return compact(x, m > 0).rows; };
  EXPECT_THAT(usage_error_of(packed, f32({1, 2, 3}), i32({1, 0})),
              HasSubstr("gnomon::compact: `tree` is f32[3] and `mask` is bool[2]; leading axes "
                        "agree (loops_test.cpp:"));
  EXPECT_THAT(usage_error_of([](const Array& x) { return compact(x, x).rows; }, f32({1, 2})),
              HasSubstr("`mask` is f32[2] and must be bool[n]"));
  const auto negative = [](const Array& x) { return compact(x, x > 0, {.size = -1}).rows; };
  EXPECT_THAT(usage_error_of(negative, f32({1, 2})), HasSubstr("`size` is -1"));
  EXPECT_THAT(usage_error_of([](const Array& x) { return valid_count(x); }, f32({1, 2})),
              HasSubstr("gnomon::valid_count: `mask` is f32[2] and must be bool; compare it"));
  EXPECT_THAT(usage_error_of([](const Array& x) { return first_valid(x, 3); }, f32(1.0)),
              HasSubstr("gnomon::first_valid: `count` is f32[] and must be one integer"));
}

TEST(Masks, CountsAreOfUseToLoops) {
  // The mean of the rows that count, however many there are.
  const auto f = [](const Array& x) {
    const auto dense = compact(x, x > 0);
    const auto sums = scan(
        [](Array c, Array v) {
          return std::pair{c + v, none};
        },
        0.0f, dense.rows, {.length = dense.count});
    return sums.carry / cast(sums.count, DType::f32);
  };
  EXPECT_EQ(run(f, f32({-1, 4, 0, 2, 0, 6})), Numbers{4});
}

}  // namespace
}  // namespace gnomon::test
