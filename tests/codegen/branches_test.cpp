// tests/codegen/branches_test.cpp -- branches: known answers, structure, messages; derivatives and
// text of loops and branches.
#include "codegen/operations/control.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Pair {
  Array pos, count;
};

// ---- cond, switch_

TEST(Cond, TakesOneBranch) {
  const auto f = [](const Array& x) {
    return cond(
        x < 3,
        [](const Array& v) {
          return std::pair{v, v};
        },
        [](const Array& v) {
          return std::pair{2 * v, 4 * v};
        },
        x);
  };
  EXPECT_THAT(run_all(f, i32(0)), ElementsAre(Numbers{0}, Numbers{0}));
  EXPECT_THAT(run_all(f, i32(2)), ElementsAre(Numbers{2}, Numbers{2}));
  EXPECT_THAT(run_all(f, i32(3)), ElementsAre(Numbers{6}, Numbers{12}));
  EXPECT_THAT(run_all(f, i32(4)), ElementsAre(Numbers{8}, Numbers{16}));
  EXPECT_EQ(count_equations(graph_of(f, i32(0)), "cond"), 1);
}

TEST(Cond, Nests) {
  const auto f = [](const Array& x) {
    return cond(
        x < 2, [](const Array& v) { return 2 * v; },
        [](const Array& v) {
          return cond(
              v < 5, [](const Array& u) { return 3 * u; }, [](const Array& u) { return 4 * u; }, v);
        },
        x);
  };
  EXPECT_EQ(run(f, i32(1)), Numbers{2});
  EXPECT_EQ(run(f, i32(3)), Numbers{9});
  EXPECT_EQ(run(f, i32(6)), Numbers{24});
}

TEST(Cond, TakesNumbersAsPredicate) {
  const auto traced = [](const Array& p) {
    return cond(
        p, [] { return 1.5; }, [] { return 2; });
  };
  EXPECT_EQ(run(traced, f32(0.0)), Numbers{2});
  EXPECT_EQ(run(traced, f32(-3.0)), Numbers{1.5});
  EXPECT_EQ(run(traced, i32(1)), Numbers{1.5});
  const auto fixed = [](const Array& x) {
    return cond(
        true, [&] { return x + 1; }, [&] { return x - 1; });
  };
  EXPECT_EQ(run(fixed, f32(1.0)), Numbers{2});
  EXPECT_EQ(count_equations(graph_of(fixed, f32(1.0)), "cond"), 0);
}

TEST(Cond, ANumberTakesTheDtypeOfTheOtherBranch) {
  const auto f = [](const Array& x) {
    return cond(
        x > 0, [&] { return x; }, [] { return 7; });
  };
  EXPECT_EQ(run(f, f32(0.0)), Numbers{7});
  EXPECT_EQ(graph_of(f, f32(0.0)).output_avals()[0].dtype, DType::f32);
}

TEST(Cond, SharesWhatBranchesCapture) {
  const auto f = [](const Array& x, const Array& y) {
    return cond(
        x > y, [&] { return x - y; }, [&] { return y - x; });
  };
  EXPECT_EQ(only_equation(graph_of(f, f32(1.0), f32(2.0)), "cond").inputs.size(), 3u);
  EXPECT_EQ(run(f, f32(5), f32(2)), Numbers{3});
  EXPECT_EQ(run(f, f32(2), f32(5)), Numbers{3});
}

TEST(Cond, SaysHowBranchesDisagree) {
  const auto f = [](const Array& x) {
    return cond(
        sum(x) > 0,
        [&] {
          return Pair{x, x};
        },
        [&] {
          return Pair{x, sum(x)};
        });
  };
  EXPECT_THAT(usage_error_of(f, f32({1, 2})),
              HasSubstr("gnomon::cond: `result.count` is f32[] when false and f32[2] when true; "
                        "branches return one type (branches_test.cpp:"));
  const auto rank = [](const Array& x) {
    return cond(
        x > 0, [&] { return x; }, [&] { return x; });
  };
  EXPECT_THAT(usage_error_of(rank, f32({1, 2})),
              HasSubstr("the predicate is bool[2] and must be one value; reduce it"));
}

TEST(Switch, ClampsItsIndex) {
  const auto f = [](const Array& i, const Array& x) {
    return switch_(i,
                   std::tuple{[](const Array& v) {
                                return std::pair{v, v};
                              },
                              [](const Array& v) {
                                return std::pair{2 * v, 4 * v};
                              },
                              [](const Array& v) {
                                return std::pair{v, -v};
                              }},
                   x);
  };
  const std::vector<std::vector<Numbers>> want{{{3}, {3}}, {{6}, {12}}, {{3}, {-3}}};
  for (auto [index, branch] : {std::pair{-1, 0}, {0, 0}, {1, 1}, {2, 2}, {3, 2}, {100, 2}})
    EXPECT_EQ(run_all(f, i32(index), f32(3)), want[static_cast<std::size_t>(branch)]);
  EXPECT_EQ(run_all(f, host(DType::u32, {}, {4294967295.0}), f32(3)), want[2]);
}

TEST(Switch, TakesAnyIndexForOneBranch) {
  const auto f = [](const Array& i) {
    return switch_(i, std::tuple{[](const Array& v) { return v + 1; }}, i);
  };
  EXPECT_EQ(run(f, i32(41)), Numbers{42});
}

TEST(Switch, RejectsAFloatIndex) {
  const auto f = [](const Array& i) {
    return switch_(i, std::tuple{[] { return 1; }, [] { return 2; }});
  };
  EXPECT_THAT(usage_error_of(f, f32(1.0)),
              HasSubstr("gnomon::switch_: the index is f32[] and must be one integer"));
}

// ---- derivatives

TEST(ControlJvp, OfABranchIsTheBranchDerivative) {
  const auto f = [](const Array& x) {
    return cond(
        x < 2, [](const Array& v) { return 3.0f * v; }, [](const Array& v) { return sin(v); }, x);
  };
  const auto df = [&](const Array& x) { return jvp(f, x, 2 * ones_like(x)).second; };
  EXPECT_EQ(run(df, f32(1.0)), Numbers{6});
  EXPECT_NEAR(run(df, f32(4.0))[0], 2 * std::cos(4.0), 1e-6);
}

TEST(ControlJvp, OfAWhileLoopFindsTheCarriesThatMove) {
  struct S {
    Array i, x, y;
  };
  // y moves only from the second step on, when x has reached it; i never does.
  const auto f = [](const Array& x) {
    return while_loop([](const S& s) { return s.i < 3; },
                      [](S s) {
                        return S{s.i + 1, s.x * s.x, s.y + s.x};
                      },
                      S{zeros({}, DType::i32), x, zeros({})}, {.max_steps = 10})
        .y;
  };
  const auto df = [&](const Array& x) { return jvp(f, x, ones_like(x)).second; };
  // y = x + x^2 + x^4
  EXPECT_NEAR(run(df, f32(1.5))[0], 1 + 2 * 1.5 + 4 * 1.5 * 1.5 * 1.5, 1e-5);
}

TEST(ControlJvp, OfAScanMatchesDifferences) {
  const auto f = [](const std::pair<Array, Array>& in) {
    const auto body = [](Array c, Array x) {
      const Array next = sin(c) * x + c;
      return std::pair{next, next * c};
    };
    const auto r = scan(body, in.first, in.second, {.reverse = true});
    return r.first + sum(r.second);
  };
  const auto value = [&](const Array& c, const Array& xs) { return f({c, xs}); };
  const auto df = [&](const Array& c, const Array& xs, const Array& dc, const Array& dxs) {
    return jvp(f, std::pair{c, xs}, std::pair{dc, dxs}).second;
  };
  const double h = 1e-3;
  const double up = run(value, f32(0.3 + h), f32({.5 + 2 * h, -.2, .7 - h}))[0];
  const double down = run(value, f32(0.3 - h), f32({.5 - 2 * h, -.2, .7 + h}))[0];
  EXPECT_NEAR(run(df, f32(0.3), f32({.5, -.2, .7}), f32(1.0), f32({2, 0, -1}))[0],
              (up - down) / (2 * h), 2e-3);
}

TEST(ControlJvp, OfASecondOrderIsRight) {
  const auto cube = [](const Array& x) {
    return fori_loop(
        0, 2, [&](Array, Array v) { return v * x; }, x);
  };
  const auto d2 = [&](const Array& x) {
    const auto d = [&](const Array& v) { return jvp(cube, v, ones_like(v)).second; };
    return jvp(d, x, ones_like(x)).second;
  };
  EXPECT_NEAR(run(d2, f32(1.5))[0], 6 * 1.5, 1e-5);
}

// ---- text

TEST(ControlText, ParsesWhatItPrints) {
  const auto f = [](const Array& x, const Array& xs) {
    const Array a = while_loop([](const Array& v) { return v < 9; }, [](Array v) { return v + 1; },
                               x, {.max_steps = 5});
    const auto b = scan([](Array c, Array y) { return std::pair{c + y, c}; }, a, xs);
    return cond(
        a > 3, [&] { return b.second; }, [&] { return 2 * b.second; });
  };
  const Graph g = graph_of(f, f32(1.0), f32({1, 2}));
  const std::string text = print(g, {.source_lines = false});
  const Graph again = parse_graph(text);
  EXPECT_TRUE(structurally_equal(g, again)) << text;
  EXPECT_EQ(print(again, {.source_lines = false}), text);
}

TEST(ControlText, AWrongBodyIsAnError) {
  const char* text = R"(graph(%0: f32[2]) {
    %1: f32[2] = while[condition=graph(%0: f32[2]) {
        %1: bool[] = constant[value=bool(true)]
        return %1
      } body=graph(%0: f32[2]) {
        %1: f32[] = sum[axes=(0)] %0
        return %1
      } carried=1 max_steps=-1 lanes=0 kind=automatic checkpoints=0] %0
    return %1
  })";
  try {
    parse_graph(text);
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("carried value 0 enters the body as f32[2] but leaves it as "
                                    "f32[]; a carry keeps its shape"));
  }
}
}  // namespace
}  // namespace gnomon::test
