// tests/codegen/graph_test.cpp -- canonical order, identity, text, verification and evaluation.
#include "codegen/graph/graph.h"

#include "codegen/lax/lax.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;

const GraphTextOptions plain{.source_lines = false};

// ---- canonicalize

TEST(Canonicalize, DoesNotDependOnTheOrderOfTracing) {
  const Graph left = graph_of(
      [](const Array& x) {
        const Array a = sin(x), b = cos(x);
        return a + b;
      },
      f32({1, 2}));
  const Graph right = graph_of(
      [](const Array& x) {
        const Array b = cos(x), a = sin(x);
        return a + b;
      },
      f32({1, 2}));
  EXPECT_EQ(print(left, plain), print(right, plain));
  EXPECT_TRUE(structurally_equal(left, right));
  EXPECT_EQ(structural_hash(left), structural_hash(right));
}

TEST(Canonicalize, KeepsAllInputsAndDropsDeadEquations) {
  const Graph g = graph_of(
      [](const Array& x, const Array& y) {
        (void)(x * y);
        return x;
      },
      f32({1, 2}), f32({1, 2}));
  EXPECT_EQ(g.inputs.size(), 2u);
  EXPECT_TRUE(g.equations.empty());
  EXPECT_EQ(g.avals.size(), 2u);
}

TEST(Canonicalize, ChangesNothingTheSecondTime) {
  const Graph g = graph_of([](const Array& x) { return exp(x) + x * x; }, f32({1, 2}));
  EXPECT_TRUE(structurally_equal(g, canonicalize(g)));
}

TEST(Canonicalize, FollowsChainsDeeperThanTheStack) {
  const Graph g = graph_of(
      [](Array x) {
        for (int i = 0; i < 200000; ++i) x = lax::neg(x);
        return x;
      },
      f32(1));
  EXPECT_EQ(g.equations.size(), 200000u);
}

// ---- identity

TEST(StructuralHash, IgnoresSourceLines) {
  const Graph one = graph_of([](const Array& x) { return x + 1; }, f32(1));
  const Graph two = graph_of([](const Array& x) { return x + 1; }, f32(1));
  EXPECT_NE(one.equations.back().loc.line, two.equations.back().loc.line);
  EXPECT_TRUE(structurally_equal(one, two));
  EXPECT_EQ(structural_hash(one), structural_hash(two));
}

TEST(StructuralHash, SeesParametersTypesAndOperands) {
  const auto base = [](const Array& x, const Array& y) { return x - y; };
  const Graph g = graph_of(base, f32({1, 2}), f32({1, 2}));
  const std::vector<Graph> others{
      graph_of([](const Array& x, const Array& y) { return y - x; }, f32({1, 2}), f32({1, 2})),
      graph_of([](const Array& x, const Array& y) { return x * y; }, f32({1, 2}), f32({1, 2})),
      graph_of(base, i32({1, 2}), i32({1, 2})),
      graph_of([](const Array& x, const Array&) { return x - 1; }, f32({1, 2}), f32({1, 2})),
      graph_of([](const Array& x, const Array&) { return x - 2; }, f32({1, 2}), f32({1, 2})),
  };
  for (std::size_t i = 0; i < others.size(); ++i) {
    EXPECT_FALSE(structurally_equal(g, others[i])) << i;
    for (std::size_t k = 0; k < i; ++k) {
      EXPECT_NE(structural_hash(others[k]), structural_hash(others[i])) << k << " " << i;
    }
  }
}

// ---- text

void expect_round_trip(const Graph& g) {
  const std::string text = print(g);
  const Graph back = parse_graph(text);
  EXPECT_TRUE(structurally_equal(g, back)) << text;
  EXPECT_EQ(print(g, plain), print(back, plain));
}

TEST(GraphText, ParsesWhatItPrints) {
  expect_round_trip(graph_of([](const Array& x) { return x; }, f32({1, 2})));
  expect_round_trip(graph_of([](const Array&) { return None{}; }, f32({1, 2})));
  expect_round_trip(graph_of(
      [](const Array& x) {
        return std::pair{sum(x, 1), reshape(x * 0.1, {6})};
      },
      f32({2, 3}, {1, 2, 3, 4, 5, 6})));
}

TEST(GraphText, ParsesLoopsInsideLoops) {
  const auto f = [](const Array& x, const Array& k) {
    return while_loop([](const Array& v) { return sum(v) < 100; },
                      [&](Array v) {
                        return while_loop([](const Array& w) { return sum(w) < 10; },
                                          [&](Array w) { return w + k; }, v, {.max_steps = 4}) *
                               2;
                      },
                      x, {.max_steps = 3});
  };
  const Graph g = graph_of(f, f32({1, 2}), f32(3));
  EXPECT_EQ(count_equations(g, "while"), 2);
  expect_round_trip(g);
}

TEST(GraphText, ReadsCommentsAnyNumberingAndDefaults) {
  const Graph g = parse_graph(R"(
    graph(%7: f32[2,3]) {      ; a comment
      %9: f32[2] = sum[axes=(1)] %7   ; model.cpp:12
      %8: f32[2] = neg %9
      return %8 %9
    })");
  EXPECT_EQ(print(g),
            "graph(%0: f32[2,3]) {\n  %1: f32[2] = sum[axes=(1)] %0\n  %2: f32[2] = neg %1\n"
            "  return %2 %1\n}\n");
}

TEST(GraphText, PlacesErrors) {
  struct Case {
    const char* text;
    int line;
    const char* what;
  };
  for (const Case& c : {
           Case{"graph(%0: f32[]) {\n return %1 }", 2, "%1 is not defined above"},
           Case{"graph(%0: f32[], %0: f32[]) { return }", 1, "%0 is defined twice"},
           Case{"graph() {\n\n %1: f32[] = frobnicate\n return }", 3, "no operation `frobnicate`"},
           Case{"graph(%0: f33[]) { return }", 1, "unknown element type `f33`"},
           Case{"graph(%0: f32[2]) {\n %1: f32[3] = neg %0\n return }", 3,
                "neg gives f32[2], not f32[3]"},
           Case{"graph(%0: f32[2]) { %1: f32[2] = neg %1 return }", 1, "%1 is not defined above"},
           Case{"graph(%0: f32[2]) { %1: f32[] = sum[axis=0] %0 return }", 1, "known are axes"},
           Case{"graph() { return", 1, "expected `%`"},
           Case{"graph() { return } x", 1, "expected the end"},
           Case{"graph() { %0: i32[] = constant[value=i32(99999999999999)] return %0 }", 1,
                "expected an integer from -2147483648 to 2147483647, found `99999999999999`"},
           Case{"graph() { %0: u8[] = constant[value=u8(300)] return %0 }", 1, "from 0 to 255"},
           Case{"graph() { %0: u32[] = constant[value=u32(-1)] return %0 }", 1,
                "from 0 to 4294967295, found `-1`"},
           Case{"graph() { %0: i64[] = constant[value=i64(9223372036854775808)] return %0 }", 1,
                "expected an integer, found `9223372036854775808`"},
           Case{"graph() { %0: f32[] = constant[value=f32(1e39)] return %0 }", 1,
                "1e+39 is beyond the largest f32"},
           Case{"graph() {\n %0: i32[2] = iota[dtype=i32 shape=[2] axis=4294967296]\n return %0 }",
                2, "from -2147483648 to 2147483647, found `4294967296`"},
       }) {
    try {
      parse_graph(c.text);
      ADD_FAILURE() << c.text;
    } catch (const ParseError& e) {
      EXPECT_EQ(e.line, c.line) << c.text;
      EXPECT_THAT(e.what(), HasSubstr(c.what));
      EXPECT_THAT(e.what(), HasSubstr("(line " + std::to_string(c.line) + ", column "));
    }
  }
}

// ---- verify

Graph sound() {
  return graph_of([](const Array& x) { return sin(x) * x; }, f32({1, 2}));
}

TEST(Verify, AcceptsSoundGraphs) { EXPECT_EQ(find_fault(sound()), ""); }

TEST(Verify, FindsUnknownAndUnorderedValues) {
  Graph g = sound();
  g.equations[0].inputs[0] = 99;
  EXPECT_THAT(find_fault(g), HasSubstr("sin %99 does not exist"));
  g = sound();
  std::swap(g.equations[0], g.equations[1]);
  EXPECT_THAT(find_fault(g), HasSubstr("is used before its definition"));
  g = sound();
  g.equations[1].outputs[0] = g.equations[0].outputs[0];
  EXPECT_THAT(find_fault(g), HasSubstr("is defined a second time"));
  g = sound();
  g.outputs[0] = g.fresh({DType::f32, {2}});
  EXPECT_THAT(find_fault(g), HasSubstr("output %3 is used before its definition"));
}

TEST(Verify, RunsTheShapeRulesAgain) {
  Graph g = sound();
  g.avals[g.outputs[0]].shape = {3};
  EXPECT_THAT(find_fault(g), HasSubstr("mul gives f32[2], not f32[3]"));
  EXPECT_THROW(verify(g, "test"), InternalError);
}

TEST(Verify, LooksIntoSubGraphs) {
  Graph g = graph_of(
      [](const Array& x) {
        return while_loop([](const Array& v) { return v < 9; }, [](Array v) { return v + v; }, x,
                          {.max_steps = 5});
      },
      f32(1));
  auto graphs = g.equations[0].params.graphs();
  Graph broken = *graphs[1];
  broken.equations[0].inputs[0] = 77;
  graphs[1] = std::make_shared<Graph>(broken);
  g.equations[0].params = g.equations[0].params.with_graphs(graphs);
  EXPECT_THAT(find_fault(g), HasSubstr("while, in a sub-graph: equation 0: add %77"));
}

// ---- evaluate

TEST(Evaluate, RunsTheReferenceRules) {
  const auto f = [](const Array& x, const Array& y) { return std::tuple{x + y, x * x, y}; };
  EXPECT_EQ(run_all(f, f32({1, 2}), f32({10, 20})),
            (std::vector<Numbers>{{11, 22}, {1, 4}, {10, 20}}));
}

TEST(Evaluate, ChecksItsInputs) {
  const Graph g = sound();
  auto message = [&](std::vector<HostArray> inputs) -> std::string {
    try {
      evaluate(g, std::move(inputs));
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(message({}), HasSubstr("0 arrays for a graph of 1 inputs"));
  EXPECT_THAT(message({i32({1, 2})}), HasSubstr("input 0 is i32[2] and the graph takes f32[2]"));
}

TEST(HostArray, ConvertsNumbersOfEveryType) {
  for (int i = 0; i <= static_cast<int>(DType::f64); ++i) {
    HostArray a(Aval{static_cast<DType>(i), {2}});
    a.set_number(0, 1);
    a.set_integer(1, 1);
    EXPECT_EQ(a.number(0), 1) << i;
    EXPECT_EQ(a.integer(1), 1) << i;
  }
  HostArray bytes(Aval{DType::i8, {3}});
  bytes.set_integer(0, 300);
  bytes.set_number(1, 1e9);
  bytes.set_number(2, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(numbers(bytes), (Numbers{44, 127, 0}));
  HostArray wide(Aval{DType::u64, {1}});
  wide.set_integer(0, -1);
  EXPECT_EQ(wide.number(0), 18446744073709551615.0);
}

}  // namespace
}  // namespace gnomon::test
