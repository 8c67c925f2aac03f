// tests/codegen/graph_simplify_test.cpp -- text in, text out; what must not change does not.
#include "codegen/simplify/simplify.h"

#include <random>

#include "codegen/graph/host.h"
#include "tests/codegen/graph_host.h"
#include "tests/support/lowering.h"

namespace gnomon::test {
namespace {

/// The graph after simplification, text in and out.
std::string simplified(const std::string& text) {
  const Graph before = parse_graph(text);
  const Graph after = simplify(before);
  verify(after, "simplified graph");
  EXPECT_EQ(after.input_avals(), before.input_avals());
  EXPECT_EQ(after.output_avals(), before.output_avals());
  return print(after, {.source_lines = false});
}

/// The equations and the return line of a graph over %0: f32[2,3] and %1: i32[2].
std::string body(const std::string& equations) {
  const std::string text = simplified("graph(%0: f32[2,3], %1: i32[2]) {" + equations + "}");
  const std::size_t begin = text.find('\n') + 3;
  return text.substr(begin, text.size() - begin - 3);
}

const std::string zero =
    "%8: f32[] = constant[value=f32(0)] %9: f32[2,3] = broadcast[shape=[2,3]] %8 ";
const std::string one =
    "%8: f32[] = constant[value=f32(1)] %9: f32[2,3] = broadcast[shape=[2,3]] %8 ";

TEST(Simplify, LeavesAGraphThatIsSimple) {
  EXPECT_EQ(body("%2: f32[2,3] = sin %0 %3: f32[2,3] = mul %0 %2 return %3"),
            "%2: f32[2,3] = sin %0\n  %3: f32[2,3] = mul %0 %2\n  return %3");
}

TEST(Simplify, MergesCommonSubexpressions) {
  EXPECT_EQ(body("%2: f32[2,3] = sin %0 %3: f32[2,3] = sin %0 %4: f32[2,3] = sub %2 %3 return %4"),
            "%2: f32[2,3] = sin %0\n  %3: f32[2,3] = sub %2 %2\n  return %3");
  EXPECT_EQ(body("%2: f32[2,3] = sin %0 %3: f32[2,3] = add %0 %2 %4: f32[2,3] = add %2 %0 "
                 "%5: f32[2,3] = sub %3 %4 return %5"),
            "%2: f32[2,3] = sin %0\n  %3: f32[2,3] = add %0 %2\n  %4: f32[2,3] = sub %3 %3\n"
            "  return %4");
}

TEST(Simplify, DropsNeutralOperands) {
  EXPECT_EQ(body(one + "%2: f32[2,3] = mul %0 %9 return %2"), "return %0");
  EXPECT_EQ(body(one + "%2: f32[2,3] = mul %9 %0 return %2"), "return %0");
  EXPECT_EQ(body(one + "%2: f32[2,3] = div %0 %9 return %2"), "return %0");
  EXPECT_EQ(body(zero + "%2: f32[2,3] = sub %0 %9 return %2"), "return %0");
  EXPECT_EQ(body("%2: i32[2] = constant[value=i32[2](0,0)] %3: i32[2] = add %1 %2 return %3"),
            "return %1");
}

TEST(Simplify, KeepsAPositiveZeroThatTurnsMinusZero) {
  EXPECT_NE(body(zero + "%2: f32[2,3] = add %0 %9 return %2"), "return %0");
  EXPECT_EQ(body("%8: f32[] = constant[value=f32(-0)] %9: f32[2,3] = broadcast[shape=[2,3]] %8 "
                 "%2: f32[2,3] = add %0 %9 return %2"),
            "return %0");
  EXPECT_NE(body(zero + "%2: f32[2,3] = mul %0 %9 return %2"), "return %9");  // 0 * inf
}

// Cotangents of slices: each with zeros around.
TEST(Simplify, JoinsWhatLiesBesideOneAnother) {
  const std::string zero_pad = "%9: f32[] = constant[value=f32(0)] ";
  const auto pad = [](int to, int from, Dim lo, Dim hi) {
    return "%" + std::to_string(to) + ": f32[4,48] = pad[lo=(0," + std::to_string(lo) + ") hi=(0," +
           std::to_string(hi) + ") interior=(0,0)] %" + std::to_string(from) + " %9 ";
  };
  const auto of_inputs = [&](const std::string& equations) {
    return simplified("graph(%0: f32[4,16], %1: f32[4,16], %2: f32[4,16], %3: f32[4,32]) {" +
                      zero_pad + equations + "}");
  };
  using ::testing::HasSubstr;
  using ::testing::Not;
  const std::string three =
      of_inputs(pad(10, 0, 16, 16) + pad(11, 1, 32, 0) + "%12: f32[4,48] = add %10 %11 " +
                pad(13, 2, 0, 32) + "%14: f32[4,48] = add %12 %13 return %14");
  EXPECT_THAT(three, HasSubstr("concatenate"));
  EXPECT_THAT(three, Not(HasSubstr("pad")));
  // Where they meet, and along different axes, they are a sum.
  const std::string meeting =
      of_inputs(pad(10, 0, 16, 16) + pad(11, 3, 16, 0) + "%12: f32[4,48] = add %10 %11 return %12");
  EXPECT_THAT(meeting, Not(HasSubstr("concatenate")));
  // -0 + 0 is 0, in a part as well.
  const Graph before = parse_graph(
      "graph(%0: f32[16], %1: f32[16]) { %9: f32[] = constant[value=f32(0)] %2: f32[32] = "
      "pad[lo=(0) hi=(16) interior=(0)] %0 %9 %3: f32[32] = pad[lo=(16) hi=(0) interior=(0)] %1 %9 "
      "%4: f32[32] = add %2 %3 return %4 }");
  const Graph after = simplify(before);
  EXPECT_THAT(print(after), HasSubstr("concatenate"));
  const HostArray minus = f32(Numbers(16, -0.0)), plus = f32(Numbers(16, 3));
  const HostArray sum = evaluate(after, {minus, plus})[0];
  for (Dim i = 0; i < 32; ++i) {
    EXPECT_EQ(gnomon::host::get<float>(sum, i), i < 16 ? 0.0f : 3.0f);
    EXPECT_FALSE(std::signbit(gnomon::host::get<float>(sum, i)));
  }
}

TEST(Simplify, UndoesInverses) {
  EXPECT_EQ(body("%2: f32[2,3] = neg %0 %3: f32[2,3] = neg %2 return %3"), "return %0");
  EXPECT_EQ(body("%2: i32[2] = not %1 %3: i32[2] = not %2 return %3"), "return %1");
}

TEST(Simplify, TakesTheExtremeOfCopiesForGranted) {
  EXPECT_EQ(body("%2: i32[2,5,3] = broadcast[shape=[2,5,3] axes=(0)] %1 "
                 "%3: i32[2,3] = reduce_max[axes=(1)] %2 return %3"),
            "%2: i32[2,3] = broadcast[shape=[2,3] axes=(0)] %1\n  return %2");
  EXPECT_EQ(body("%2: i32[2,5] = broadcast[shape=[2,5] axes=(0)] %1 "
                 "%3: i32[2] = reduce_min[axes=(1)] %2 return %3"),
            "return %1");
  // One of the copied axes itself, and no copies at all.
  EXPECT_NE(body("%2: i32[2,5] = broadcast[shape=[2,5] axes=(0)] %1 "
                 "%3: i32[5] = reduce_max[axes=(0)] %2 return %3"),
            "return %1");
  EXPECT_NE(body("%2: i32[2,0] = broadcast[shape=[2,0] axes=(0)] %1 "
                 "%3: i32[2] = reduce_max[axes=(1)] %2 return %3"),
            "return %1");
}

TEST(Simplify, KnowsExponentialsThatCannotOverflow) {
  // `x` is what exp is applied to, a function of a [4,4].
  const auto takes_the_cheap_one = [](const std::function<Array(const Array&)>& x) {
    Trace outer;
    const Array a = outer.input({DType::f32, {4, 4}});
    const Graph g = make_graph([&](const Array& in) { return exp(x(in)); }, a).graph;
    return print(simplify(g)).find("exp_nonpositive") != std::string::npos;
  };
  EXPECT_TRUE(takes_the_cheap_one([](const Array& a) { return -a * a; }));
  EXPECT_TRUE(takes_the_cheap_one([](const Array& a) { return -0.5f * square(a); }));
  EXPECT_TRUE(takes_the_cheap_one([](const Array& a) { return square(a) / -2; }));
  EXPECT_TRUE(takes_the_cheap_one([](const Array& a) { return -abs(a) - square(a); }));
  EXPECT_TRUE(takes_the_cheap_one([](const Array& a) { return a - max(a); }));
  for (int axis : {0, 1})
    EXPECT_TRUE(
        takes_the_cheap_one([&](const Array& a) { return a - max(a, axis, {.keepdims = true}); }));

  EXPECT_FALSE(takes_the_cheap_one([](const Array& a) { return a; }));
  EXPECT_FALSE(takes_the_cheap_one([](const Array& a) { return square(a); }));
  EXPECT_FALSE(takes_the_cheap_one([](const Array& a) { return -a * a * a; }));
  EXPECT_FALSE(takes_the_cheap_one([](const Array& a) { return abs(a) - square(a); }));
  // The maximum of another row, of something else, and the minimum.
  EXPECT_FALSE(takes_the_cheap_one([](const Array& a) { return a - max(a, 1); }));
  EXPECT_FALSE(takes_the_cheap_one([](const Array& a) { return a - max(sin(a)); }));
  EXPECT_FALSE(takes_the_cheap_one([](const Array& a) { return a - min(a); }));
}

TEST(Simplify, CollapsesViewsOfViews) {
  EXPECT_EQ(
      body("%2: f32[6] = reshape[shape=[6]] %0 %3: f32[3,2] = reshape[shape=[3,2]] %2 return %3"),
      "%2: f32[3,2] = reshape[shape=[3,2]] %0\n  return %2");
  EXPECT_EQ(
      body("%2: f32[6] = reshape[shape=[6]] %0 %3: f32[2,3] = reshape[shape=[2,3]] %2 return %3"),
      "return %0");
  EXPECT_EQ(
      body("%2: f32[3,2] = permute[axes=(1,0)] %0 %3: f32[2,3] = permute[axes=(1,0)] %2 return %3"),
      "return %0");
  EXPECT_EQ(body("%2: f32[4,2,3] = broadcast[shape=[4,2,3] axes=(1,2)] %0 "
                 "%3: f32[4,5,2,3] = broadcast[shape=[4,5,2,3] axes=(0,2,3)] %2 return %3"),
            "%2: f32[4,5,2,3] = broadcast[shape=[4,5,2,3] axes=(2,3)] %0\n  return %2");
  EXPECT_EQ(
      body("%2: f32[2,3] = reverse[axes=(1)] %0 %3: f32[2,3] = reverse[axes=(1)] %2 return %3"),
      "return %0");
  EXPECT_EQ(body("%2: f32[2,3] = slice[starts=(0,0) limits=(2,3) strides=(1,1)] %0 return %2"),
            "return %0");
}

TEST(Simplify, ComposesSlices) {
  const std::string text = R"(graph(%0: f32[20]) {
    %1: f32[6] = slice[starts=(2) limits=(19) strides=(3)] %0
    %2: f32[2] = slice[starts=(1) limits=(4) strides=(2)] %1
    return %2 })";
  EXPECT_EQ(simplified(text),
            "graph(%0: f32[20]) {\n  %1: f32[2] = slice[starts=(5) limits=(12) strides=(6)] %0\n"
            "  return %1\n}\n");
  HostArray x(Aval{DType::f32, {20}});
  for (Dim i = 0; i < 20; ++i) x.set_number(i, static_cast<double>(i));
  EXPECT_EQ(numbers(evaluate(parse_graph(text), {x})[0]),
            numbers(evaluate(simplify(parse_graph(text)), {x})[0]));
}

TEST(Simplify, CollapsesCastsThatKeepEveryValue) {
  EXPECT_EQ(body("%2: i64[2] = convert[dtype=i64] %1 %3: i32[2] = convert[dtype=i32] %2 return %3"),
            "return %1");
  EXPECT_EQ(body("%2: f64[2] = convert[dtype=f64] %1 %3: f32[2] = convert[dtype=f32] %2 return %3"),
            "%2: f32[2] = convert[dtype=f32] %1\n  return %2");
  // 2^24 + 1 does not survive f32.
  EXPECT_EQ(
      body("%2: f32[2] = convert[dtype=f32] %1 %3: i32[2] = convert[dtype=i32] %2 return %3"),
      "%2: f32[2] = convert[dtype=f32] %1\n  %3: i32[2] = convert[dtype=i32] %2\n  return %3");
  EXPECT_EQ(body("%2: u32[2] = bitcast[dtype=u32] %1 %3: i32[2] = bitcast[dtype=i32] %2 return %3"),
            "return %1");
}

TEST(Simplify, DecidesSelects) {
  EXPECT_EQ(body("%2: bool[2,3] = isnan %0 %3: f32[2,3] = select %2 %0 %0 return %3"), "return %0");
  EXPECT_EQ(
      body("%2: bool[] = constant[value=bool(false)] %3: bool[2,3] = broadcast[shape=[2,3]] %2 "
           "%4: f32[2,3] = neg %0 %5: f32[2,3] = select %3 %4 %0 return %5"),
      "return %0");
}

TEST(Simplify, ComputesConstants) {
  EXPECT_EQ(body("%2: f32[] = constant[value=f32(2)] %3: f32[] = constant[value=f32(3)] "
                 "%4: f32[] = mul %2 %3 %5: f32[2,3] = broadcast[shape=[2,3]] %4 "
                 "%6: f32[2,3] = neg %5 %7: f32[2,3] = mul %0 %6 return %7"),
            "%2: f32[] = constant[value=f32(-6)]\n"
            "  %3: f32[2,3] = broadcast[shape=[2,3] axes=()] %2\n"
            "  %4: f32[2,3] = mul %0 %3\n  return %4");
  EXPECT_EQ(body("%2: f32[3] = constant[value=f32[3](5,6,7)] "
                 "%3: f32[1] = slice[starts=(1) limits=(2) strides=(1)] %2 "
                 "%4: f32[] = reshape[shape=[]] %3 return %4"),
            "%2: f32[] = constant[value=f32(6)]\n  return %2");
}

TEST(Simplify, SinksConstantsIntoLoops) {
  const auto f = [](const Array& x) {
    const Array two = full({}, 2.0f);
    return while_loop([](const Array& v) { return v < 100.0f; }, [&](Array v) { return v * two; },
                      x, {.max_steps = 9});
  };
  const Graph before = graph_of(f, f32(3));
  const Graph after = simplify(before);
  verify(after);
  EXPECT_EQ(only_equation(after, "while").inputs.size(), 1u) << print(after);
  EXPECT_EQ(evaluate(after, {f32(3)}), evaluate(before, {f32(3)}));
}

TEST(Simplify, MergesDoubledOperandsOfLoops) {
  const auto f = [](const Array& x, const Array& k) {
    const Array a = sin(k), b = sin(k);
    return while_loop([](const Array& v) { return v < 100.0f; },
                      [&](Array v) { return v + a * b + 1; }, x, {.max_steps = 9});
  };
  const Graph before = graph_of(f, f32(3), f32(1));
  const Graph after = simplify(before);
  verify(after);
  EXPECT_EQ(only_equation(after, "while").inputs.size(), 2u) << print(after);
  EXPECT_EQ(evaluate(after, {f32(3), f32(1)}), evaluate(before, {f32(3), f32(1)}));
}

TEST(Simplify, ALoopOfNoStepsIsWhatItBeginsWith) {
  const auto f = [](const Array& x, const Array& rows) {
    const auto summed = [](Array c, Array row) { return std::pair{c + sum(row), c * 2}; };
    const auto [last, all] = scan(summed, x, rows);
    const Array still = while_loop([](const Array& v) { return v < 100.0f; },
                                   [](Array v) { return v * 2; }, x + 1, {.max_steps = 0});
    return std::tuple{last, all, still};
  };
  const std::vector<HostArray> in{f32(3), HostArray(Aval{DType::f32, {0, 70000, 70000}})};
  const Graph before = graph_of(f, in[0], in[1]);
  const Graph after = simplify(before);
  verify(after);
  for (const Equation& e : after.equations) EXPECT_TRUE(e.params.graphs().empty()) << print(after);
  EXPECT_EQ(evaluate(after, in), evaluate(before, in));
  // A row would have more elements than an array can.
  for (const auto& [name, target] : gnomon::testing::targets())
    EXPECT_NO_THROW(compile(before, target));
}

TEST(Simplify, DropsCarriedValuesThatNothingNeeds) {
  struct State {
    Array x, count, steps, ignored;
  };
  const auto f = [](const Array& x) {
    const State end =
        while_loop([](const State& s) { return s.steps < 5; },
                   [](State s) {
                     return State{s.x * 2, s.count + 1, s.steps + 1, s.ignored + s.count};
                   },
                   State{x, full({}, 0), full({}, 0), full({}, 0)}, {.max_steps = 9});
    return end.x;
  };
  const Graph before = graph_of(f, f32(3));
  const Graph after = simplify(before);
  verify(after);
  EXPECT_EQ(only_equation(before, "while").outputs.size(), 4u);
  EXPECT_EQ(only_equation(after, "while").outputs.size(), 2u) << print(after);
  EXPECT_EQ(evaluate(after, {f32(3)}), evaluate(before, {f32(3)}));
}

TEST(Simplify, DropsWhatOnlyInnerLoopsWouldKeepAlive) {
  // b never reaches a, although one inner loop makes both.
  const auto f = [](const Array& x, const Array& y) {
    return fori_loop(
               0, 3,
               [](const Array&, const std::pair<Array, Array>& outer) {
                 return fori_loop(
                     0, 2,
                     [](const Array&, const std::pair<Array, Array>& s) {
                       return std::pair{s.first * 2, s.second + s.first};
                     },
                     outer);
               },
               std::pair{x, y})
        .first;
  };
  const Graph g = simplify(test::graph_of(f, test::f32({1, 2}), test::f32({3, 4})));
  EXPECT_EQ(test::count_equations(g, "add"), 0) << print(g);
  EXPECT_EQ(test::numbers(evaluate(g, {test::f32({1, 2}), test::f32({3, 4})})[0]),
            (test::Numbers{64, 128}));
}

TEST(Simplify, DropsRowsAndSequencesThatNothingNeeds) {
  struct State {
    Array sum, product;
  };
  const auto f = [](const Array& a, const Array& b) {
    const auto [end, rows] = scan(
        [](State s, const std::pair<Array, Array>& x) {
          const State next{s.sum + x.first, s.product * x.second};
          return std::pair{next, std::pair{next.sum * 2, next.product}};
        },
        State{full({}, 0.0f), full({}, 1.0f)}, std::pair{a, b});
    return std::pair{end.sum, rows.first};
  };
  const Graph before = graph_of(f, f32({1, 2, 3}), f32({4, 5, 6}));
  const Graph after = simplify(before);
  verify(after);
  const Equation& scan = only_equation(after, "scan");
  EXPECT_EQ(scan.outputs.size(), 2u) << print(after);
  EXPECT_EQ(scan.inputs.size(), 2u) << print(after);
  const std::vector<HostArray> inputs{f32({1, 2, 3}), f32({4, 5, 6})};
  EXPECT_EQ(evaluate(after, inputs), evaluate(before, inputs));
}

/// Random straight-line programs over special numbers.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {}

  Array operator()(const Array& x, const Array& n) {
    floats_ = {x};
    integers_ = {n};
    for (int i = 0; i < 40; ++i) step();
    Array result = floats_.back();
    for (const Array& a : floats_) result = result + a;
    for (const Array& a : integers_) result = result + cast(a, DType::f32);
    return result;
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  Array any(const Arrays& pool) { return pool[below(pool.size())]; }

  void step() {
    constexpr float special[] = {0.0f, -0.0f, 1.0f, -1.0f, 2.0f, HUGE_VALF, NAN};
    const Array a = any(floats_), b = any(floats_), m = any(integers_), n = any(integers_);
    auto add = [&](Array x) { floats_.push_back(std::move(x)); };
    switch (below(18)) {
      case 0:
        return add(a + b);
      case 1:
        return add(a - b);
      case 2:
        return add(a * b);
      case 3:
        return add(a / b);
      case 4:
        return add(-a);
      case 5:
        return add(maximum(a, b));
      case 6:
        return add(where(a < b, a, b));
      case 7:
        return add(full({2, 3}, special[below(7)]));
      case 8:
        return add(transpose(transpose(a)));
      case 9:
        return add(reshape(reshape(a, {6}), {2, 3}));
      case 10:
        return add(cast(cast(n, DType::f64), DType::f32));
      case 11:
        return add(cast(cast(a, DType::f64), DType::f32));
      case 12:
        return add(a * special[below(7)]);
      case 13:
        return add(a + special[below(7)]);
      case 14:
        return integers_.push_back(m + n);
      case 15:
        return integers_.push_back(m * static_cast<int>(below(3)));
      case 16:
        return integers_.push_back(n ^ static_cast<int>(below(2)));
      default:
        return integers_.push_back(cast(cast(n, DType::i64), DType::i32) << 0);
    }
  }

  std::mt19937 random_;
  Arrays floats_, integers_;
};

TEST(Simplify, PreservesTheReferenceResultOfRandomPrograms) {
  const HostArray x = f32({2, 3}, {1.5, -0.0, 0.0, 3, -HUGE_VAL, 1e-30});
  const HostArray n = host(DType::i32, {2, 3}, {0, 1, -1, 16777217, 2147483647, -5});
  std::size_t removed = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    RandomProgram program(seed);
    const Graph before = graph_of(program, x, n);
    const Graph after = simplify(before);
    verify(after);
    removed += before.equations.size() - after.equations.size();
    const HostArray want = evaluate(before, {x, n})[0], got = evaluate(after, {x, n})[0];
    for (Dim i = 0; i < want.size(); ++i) {
      const float a = want.as<float>()[static_cast<std::size_t>(i)];
      const float b = got.as<float>()[static_cast<std::size_t>(i)];
      const bool same =
          (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
      ASSERT_TRUE(same) << "seed " << seed << ": " << a << " became " << b << "\n" << print(before);
    }
  }
  EXPECT_GT(removed, 1000u);
}

TEST(Simplify, IsDoneAfterOnePass) {
  const Graph g = graph_of([](const Array& x) { return sum((x + 0) * 1 - 3 * x, 0) / 2; },
                           f32({2, 2}, {1, 2, 3, 4}));
  const Graph once = simplify(g);
  EXPECT_EQ(print(simplify(once)), print(once));
}

}  // namespace
}  // namespace gnomon::test
