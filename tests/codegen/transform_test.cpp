// tests/codegen/transform_test.cpp -- vmap, jvp, grad and vjp over trees, against loops and
// differences.
#include "gnomon/transform.h"

#include "codegen/transforms/vmap.h"
#include "gnomon/random.h"
#include "tests/codegen/graph_host.h"

namespace gnomon::test {
namespace {

using ::testing::HasSubstr;

struct Affine {
  Array w, b;
  int power = 1;
};
Array apply(const Affine& p, const Array& x) { return sum(p.w * x) + p.b; }

// ---- vmap

TEST(Vmap, MapsEveryArgumentAlongAxis0) {
  const auto f = [](const Array& x, const Array& y) {
    return vmap([](const Array& a, const Array& b) { return sum(a) * b; })(x, y);
  };
  EXPECT_EQ(run(f, f32({2, 2}, {1, 2, 3, 4}), f32({10, 100})), (Numbers{30, 700}));
}

TEST(Vmap, TakesAnAxisPerArgument) {
  const auto f = [](const Array& x, const Array& y) {
    return vmap([](const Array& a, const Array& b) { return sum(a * b); },
                {.in_axes = {-1, unmapped}})(x, y);
  };
  EXPECT_EQ(run(f, f32({2, 3}, {1, 2, 3, 4, 5, 6}), f32({1, 10})), (Numbers{41, 52, 63}));
}

TEST(Vmap, MapsEveryArrayOfATree) {
  const auto f = [](const Array& w, const Array& b, const Array& x) {
    return vmap(apply, {.in_axes = {0, unmapped}})(Affine{w, b}, x);
  };
  EXPECT_EQ(run(f, f32({2, 2}, {1, 2, 3, 4}), f32({10, 20}), f32({1, 1})), (Numbers{13, 27}));
}

TEST(Vmap, PutsResultsWhereOutAxesSay) {
  const auto f = [](const Array& x) {
    const auto both = [](const Array& a) { return std::pair{a * 2, full({}, 7.0f)}; };
    return vmap(both, {.out_axes = {1, unmapped}})(x);
  };
  const auto out = run_arrays(f, f32({2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(out[0].aval.shape, Shape(3, 2));
  EXPECT_EQ(numbers(out[0]), (Numbers{2, 8, 4, 10, 6, 12}));
  EXPECT_EQ(numbers(out[1]), Numbers{7});
}

// A loop over w x then has its elements in front throughout, and nothing is turned around.
TEST(Vmap, PutsElementsInFrontOfWhatAMatrixMakesOfThem) {
  const auto f = [](const Array& w, const Array& x) {
    return vmap([&](const Array& v) { return matmul(w, v) + v[0]; })(x);
  };
  const HostArray w = f32({2, 3}, {1, 2, 3, 4, 5, 6}), x = f32({2, 3}, {1, 0, 2, -1, 1, 3});
  EXPECT_EQ(run(f, w, x), (Numbers{8, 17, 9, 18}));
  EXPECT_THAT(print(graph_of(f, w, x)), ::testing::Not(HasSubstr("permute")));
  // Several axes stay behind those of the matrix.
  const auto columns = [](const Array& m, const Array& y) {
    return vmap([&](const Array& v) { return matmul(m, v); })(y);
  };
  EXPECT_EQ(run(columns, w, f32({2, 3, 1}, {1, 0, 2, -1, 1, 3})), (Numbers{7, 16, 10, 19}));
}

TEST(Vmap, RepeatsAResultThatDoesNotVary) {
  const auto f = [](const Array& x) {
    return vmap([](const Array&) { return full({}, 7.0f); })(x);
  };
  EXPECT_EQ(run(f, f32({1, 2, 3})), (Numbers{7, 7, 7}));
}

TEST(Vmap, BroadcastsACapturedValue) {
  const auto f = [](const Array& x, const Array& k) {
    return vmap([&](const Array& a) { return a * k; })(x);
  };
  EXPECT_EQ(run(f, f32({1, 2}), f32(10)), (Numbers{10, 20}));
}

TEST(Vmap, Nests) {
  const auto f = [](const Array& x, const Array& y) {
    const auto row =
        vmap([](const Array& a, const Array& b) { return a * b; }, {.in_axes = {unmapped, 0}});
    return vmap(row, {.in_axes = {0, unmapped}})(x, y);
  };
  const auto out = run_arrays(f, f32({1, 2}), f32({10, 20, 30}));
  EXPECT_EQ(out[0].aval.shape, Shape(2, 3));
  EXPECT_EQ(numbers(out[0]), (Numbers{10, 20, 30, 20, 40, 60}));
}

TEST(Vmap, TakesItsLengthFromAxisSize) {
  const auto f = [](const Array& x) {
    return vmap([](const Array& a) { return a + 1; }, {.in_axes = {unmapped}, .axis_size = 3})(x);
  };
  EXPECT_EQ(run(f, f32(1)), (Numbers{2, 2, 2}));
}

TEST(Vmap, KeepsALoopALoop) {
  const auto collatz = [](const Array& n) {
    struct State {
      Array n, steps;
    };
    return while_loop([](const State& s) { return s.n > 1; },
                      [](State s) {
                        return State{where((s.n & 1) == 0, s.n >> 1, 3 * s.n + 1), s.steps + 1};
                      },
                      State{n, full({}, 0)}, {.max_steps = 1000})
        .steps;
  };
  const auto g = [&](const Array& x) { return vmap(collatz)(x); };
  EXPECT_EQ(run(g, i32({1, 6, 7, 27})), (Numbers{0, 8, 16, 111}));
  EXPECT_EQ(count_equations(graph_of(g, i32({1, 6})), "while"), 1);
}

TEST(Vmap, GivesEachElementItsKey) {
  const auto f = [](const Array& seed) {
    const auto draw = [](Key key) { return random::bits(std::move(key), {2}); };
    const Keys keys = random::split(random::key(seed), 3);
    return std::pair{vmap(draw)(keys), draw(keys[2])};
  };
  const auto out = run_all(f, i32(7));
  EXPECT_EQ(out[0].size(), 6u);
  EXPECT_EQ(Numbers(out[0].begin() + 4, out[0].end()), out[1]);
  const auto shared = [](const Array& seed) {
    return vmap([](const Key& k) { return k.words(); },
                {.in_axes = {unmapped}, .axis_size = 2})(random::split(random::key(seed), 3));
  };
  EXPECT_THAT(usage_error_of(shared, i32(7)), HasSubstr("holds one thing per element"));
}

TEST(Vmap, NamesBothSizesAndPaths) {
  const auto f = [](const Array& w, const Array& b, const Array& x) {
    return vmap(apply)(Affine{w, b}, x);
  };
  const std::string message =
      usage_error_of(f, f32({2, 2}, {1, 2, 3, 4}), f32({1, 2, 3}), f32({1, 1}));
  EXPECT_THAT(message, HasSubstr("gnomon::vmap: argument 0 `.w` has 2 along axis 0 but argument 0 "
                                 "`.b` has 3 along axis 0; mapped axes need one length"));
  EXPECT_THAT(message, HasSubstr("(transform_test.cpp:"));
}

TEST(Vmap, ExplainsEveryOtherMisuse) {
  const auto id = [](const Array& a) { return a; };
  const auto error = [&](VmapOptions o, const HostArray& x) {
    return usage_error_of([&](const Array& a) { return vmap(id, o)(a); }, x);
  };
  EXPECT_THAT(error({}, f32(1)),
              HasSubstr("argument 0 is f32[], which has no axis 0; pass `unmapped`"));
  EXPECT_THAT(error({.in_axes = {2}}, f32({1, 2})), HasSubstr("has no axis 2"));
  EXPECT_THAT(error({.in_axes = {0, 0}}, f32({1, 2})),
              HasSubstr("in_axes has 2 entries and the function gets 1"));
  EXPECT_THAT(error({.in_axes = {unmapped}}, f32({1, 2})), HasSubstr("no argument is mapped"));
  EXPECT_THAT(error({.axis_size = 5}, f32({1, 2})),
              HasSubstr("axis_size is 5 but argument 0 has 2"));
  EXPECT_THAT(error({.out_axes = {unmapped}}, f32({1, 2})),
              HasSubstr("varies along the mapped axis"));
  EXPECT_THAT(error({.out_axes = {1}}, f32({1, 2})), HasSubstr("out axis 1 is out of range"));
  EXPECT_THAT(error({.out_axes = {0, 0}}, f32({1, 2})),
              HasSubstr("out_axes has 2 entries and the result has 1"));
}

// ---- jvp

TEST(Jvp, GivesValueAndDirectionalDerivative) {
  const auto f = [](const Array& x, const Array& dx) {
    return jvp([](const Array& a) { return sin(a) * a; }, x, dx);
  };
  const auto out = run_all(f, f32(0.7), f32(2));
  EXPECT_NEAR(out[0][0], std::sin(.7) * .7, 1e-6);
  EXPECT_NEAR(out[1][0], 2 * (std::sin(.7) + .7 * std::cos(.7)), 1e-6);
}

TEST(Jvp, GoesThroughLoops) {
  const auto power = [](const Array& x) {
    const Array k = x;
    return while_loop([](const Array& v) { return v < 100.0f; }, [&](Array v) { return v * k; }, x,
                      {.max_steps = 3});
  };
  const auto f = [&](const Array& x, const Array& dx) { return jvp(power, x, dx); };
  const auto out = run_all(f, f32(2), f32(1));
  EXPECT_EQ(out[0], Numbers{16});
  EXPECT_EQ(out[1], Numbers{32});  // d x^4
}

TEST(Jvp, IgnoresIntegerArraysAndNamesMismatches) {
  struct P {
    Array x, n;
  };
  const auto f = [](const Array& x, const Array& n, const Array& dx) {
    return jvp([](const P& p) { return p.x * p.n; }, P{x, n}, P{dx, n}).second;
  };
  EXPECT_EQ(run(f, f32(3), i32(4), f32(1)), Numbers{4});
  EXPECT_THAT(usage_error_of(f, f32(3), i32(4), f32({1, 1})),
              HasSubstr("gnomon::jvp: the tangent of `.x` is f32[2] and the point is f32[]"));
}

TEST(Jvp, SaysWhichDerivativesAreZeroForAllArguments) {
  const auto f = [](const Array& x, const Array& y) {
    const auto zero = [&](const auto& part) {
      return is_symbolic_zero(jvp(part, x, ones_like(x)).second);
    };
    EXPECT_TRUE(zero([&](const Array&) { return y; }));
    EXPECT_TRUE(zero([&](const Array& a) { return stop_gradient(a) * y; }));
    EXPECT_TRUE(zero([&](const Array&) {
      return while_loop([](const Array& v) { return sum(v) < 100.0f; },
                        [](Array v) { return v * 2; }, y, {.max_steps = 3});
    }));
    EXPECT_FALSE(zero([&](const Array& a) { return a + y; }));
    EXPECT_FALSE(zero([&](const Array& a) { return a * 0.0f; })) << "NaN where it is infinite";
    return x;
  };
  for (const HostArray& x : {f32(3), f32({1, 2})}) run(f, x, x);
}

TEST(SymbolicZero, IsOneOfTheFunctionThatIsTraced) {
  const auto f = [](const Array& x) {
    EXPECT_TRUE(is_symbolic_zero(zeros({2, 3})));
    EXPECT_TRUE(is_symbolic_zero(full({}, 0.0)));
    EXPECT_FALSE(is_symbolic_zero(full({2}, -0.0f)));
    EXPECT_FALSE(is_symbolic_zero(ones({2})));
    EXPECT_FALSE(is_symbolic_zero(x));
    const Array outer = zeros({2});
    vmap([&](const Array& a) {
      EXPECT_FALSE(is_symbolic_zero(outer)) << "of another trace";
      return a;
    })(x);
    const Array g = grad([](const Array& a) { return sum(stop_gradient(a)); })(x);
    EXPECT_TRUE(is_symbolic_zero(g));
    return x;
  };
  run(f, f32({1, 2}));
  EXPECT_FALSE(is_symbolic_zero(Array())) << "an empty handle";
}

// ---- reverse mode

TEST(Grad, IsTheDerivative) {
  const auto h = [](const Array& x) { return sin(x) * x; };
  const auto f = [&](const Array& x) {
    return std::tuple{grad(h)(x), grad(grad(h))(x), grad(grad(grad(grad(h))))(x)};
  };
  const auto out = run_all(f, f32(0.7));
  EXPECT_NEAR(out[0][0], std::sin(.7) + .7 * std::cos(.7), 1e-5);
  EXPECT_NEAR(out[1][0], 2 * std::cos(.7) - .7 * std::sin(.7), 1e-5);
  EXPECT_NEAR(out[2][0], -4 * std::cos(.7) + .7 * std::sin(.7), 1e-4);
}

TEST(Grad, IsATreeLikeTheFirstArgument) {
  const auto f = [](const Array& w, const Array& b, const Array& x) {
    const auto loss = [](const Affine& p, const Array& y) { return square(apply(p, y)); };
    auto [value, g] = value_and_grad(loss)(Affine{w, b, 5}, x);
    EXPECT_EQ(g.power, 5);
    return std::tuple{value, g.w, g.b};
  };
  EXPECT_EQ(run_all(f, f32({1, 2}), f32(3), f32({10, 20})),
            (std::vector<Numbers>{{53 * 53}, {1060, 2120}, {106}}));
}

TEST(Grad, CommutesWithVmapAndCaptures) {
  const auto f = [](const Array& x, const Array& k) {
    return vmap(
        [&](const Array& a) { return grad([&](const Array& y) { return sin(k * y) * a; })(a); })(x);
  };
  const Numbers out = run(f, f32({.7, 1.1}), f32(3));
  EXPECT_NEAR(out[0], .7 * 3 * std::cos(2.1), 1e-5);
  EXPECT_NEAR(out[1], 1.1 * 3 * std::cos(3.3), 1e-5);
}

TEST(Grad, IsZeroForUnusedArraysAndAHoleForIntegers) {
  struct P {
    Array x, unused, n;
  };
  const auto f = [](const Array& x, const Array& n) {
    const P g = grad([](const P& p) { return sum(p.x * p.x); })(P{x, x, n});
    EXPECT_TRUE(g.n.is_hole());
    return g;
  };
  EXPECT_EQ(run_all(f, f32({1, 2}), i32(3)), (std::vector<Numbers>{{2, 4}, {0, 0}}));
}

TEST(Grad, NeedsAScalar) {
  const auto f = [](const Array& x) { return grad([](const Array& y) { return y * y; })(x); };
  EXPECT_THAT(
      usage_error_of(f, f32({1, 2})),
      HasSubstr("gnomon::grad: the function returns f32[2] and a gradient is of one float"));
  EXPECT_THAT(usage_error_of(f, i32(1)), HasSubstr("returns i32[]"));
  const auto of = [](DType dtype) {
    return
        [=](const Array& x) { return grad([=](const Array& y) { return cast(y * y, dtype); })(x); };
  };
  EXPECT_THAT(usage_error_of(of(DType::i32), f32(2)),
              HasSubstr("the function returns i32[], and only floats have a derivative; compute it "
                        "in floats (a cast"));
  EXPECT_THAT(usage_error_of(of(DType::i32), f32({1, 2})),
              HasSubstr("i32[2], and only floats have a derivative; reduce it to one number and"));
}

TEST(Grad, ALoopThatDoesNotDependOnTheArgumentIsAConstant) {
  const auto loop = [](const Array& k) {
    return while_loop([](const Array& v) { return v < 9.0f; }, [&](Array v) { return v * k; }, k,
                      {.max_steps = unbounded});
  };
  const auto beside = [&](const Array& x, const Array& y) {
    return grad([&](const Array& a) { return a * loop(y); })(x);
  };
  EXPECT_EQ(run(beside, f32(5), f32(2)), Numbers{16});
}

TEST(Vjp, PullsBackTwice) {
  const auto f = [](const Array& x, const Array& c) {
    const auto pullback = vjp([](const Array& a) { return std::pair{a * a, sum(a)}; }, x);
    const Array one = pullback({c, full({}, 0.0f)});
    const Array two = pullback({zeros_like(c), full({}, 1.0f)});
    return std::tuple{pullback.value.second, one, two};
  };
  EXPECT_EQ(run_all(f, f32({1, 2}), f32({1, 10})), (std::vector<Numbers>{{3}, {2, 40}, {1, 1}}));
}

TEST(Vjp, NamesAWrongCotangent) {
  const auto f = [](const Array& x) {
    return vjp([](const Array& a) { return a * a; }, x)(sum(x));
  };
  EXPECT_THAT(usage_error_of(f, f32({1, 2})),
              HasSubstr("array 0 of the cotangent is f32[] and the result is f32[2]"));
}

// ---- graphs

TEST(VmapGraph, LeavesOutputsInPlaceWhenAsked) {
  const Graph g = graph_of(
      [](const Array& x, const Array& y) {
        return std::pair{sin(x), cos(y)};
      },
      f32({1, 2}), f32(1));
  const BatchedGraph b = vmap_in_place(g, {1, std::nullopt}, 5);
  EXPECT_EQ(b.out_axes, (BatchAxes{1, std::nullopt}));
  EXPECT_EQ(b.graph.output_avals()[0].shape, Shape(2, 5));
  verify(b.graph);
}

}  // namespace
}  // namespace gnomon::test
