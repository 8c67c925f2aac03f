// tests/engine/eager_test.cpp -- operations on concrete arrays outside a trace.
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gnomon/gnomon.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

class Eager : public DeviceTest {
 protected:
  std::vector<float> host(const Array& a) { return rt.to_host<float>(a); }
};

TEST_F(Eager, AnOperationRunsAtOnce) {
  const Array x = rt.from_host({0.0f, 0.5f, -2.0f});
  const Array y = 2 * x + sin(x);
  EXPECT_TRUE(y.concrete());
  const std::vector<float> got = host(y);
  const std::vector<float> at{0.0f, 0.5f, -2.0f};
  for (std::size_t i = 0; i < at.size(); ++i)
    EXPECT_NEAR(got[i], 2 * at[i] + std::sin(at[i]), 1e-6);
}

TEST_F(Eager, ResultsOfJittedCallsAreOperands) {
  const auto square = jit(rt, [](const Array& x) { return x * x; });
  const Array x = rt.from_host({1.0f, 2.0f, 3.0f});
  EXPECT_THAT(host(square(x) - x), ElementsAre(0, 2, 6));
  EXPECT_THAT(host(square(x + 1)), ElementsAre(4, 9, 16));
}

TEST_F(Eager, NothingIsTracedOrCompiledTwice) {
  const Array x = rt.from_host({1.0f, 2.0f}), y = rt.from_host({3.0f, 4.0f});
  host(x + y);
  const Counters before = rt.counters();
  for (int i = 0; i < 5; ++i) host(x + y);
  const Counters after = rt.counters();
  EXPECT_EQ(after.programs_compiled, before.programs_compiled);
  EXPECT_EQ(after.pipelines, before.pipelines);
  EXPECT_EQ(after.recordings, before.recordings);
}

TEST_F(Eager, AnotherNumberIsNoOtherProgram) {
  const Array x = rt.from_host({1.0f, 2.0f});
  host(x * 0.37);
  const Counters before = rt.counters();
  for (int i = 0; i < 20; ++i) {
    const double factor = 1.5 + 0.01 * i;
    EXPECT_THAT(host(x * factor),
                ElementsAre(static_cast<float>(factor), static_cast<float>(factor) * 2));
  }
  EXPECT_EQ(rt.counters().programs_compiled, before.programs_compiled);
}

TEST_F(Eager, NumbersKeepTheirDigitsAndTakeTheTypeOfTheArray) {
  if (!rt.target().features.float64) GTEST_SKIP() << rt.device_name() << " has no f64";
  const Array x = rt.from_host({1.0, 3.0});
  EXPECT_THAT(rt.to_host<double>(x * 0.1), ElementsAre(1.0 * 0.1, 3.0 * 0.1));
  EXPECT_THAT(rt.to_host<std::int32_t>(rt.from_host({1, 2}) + 1000000007),
              ElementsAre(1000000008, 1000000009));
}

TEST_F(Eager, ANumberStaysANumberUntilItMeetsAnArray) {
  const Array s = sin(2.0);
  EXPECT_THAT(host(s * rt.from_host({1.0f, -1.0f})),
              Pointwise(FloatNear(1e-6f), {std::sin(2.0f), -std::sin(2.0f)}));
  EXPECT_NEAR(rt.item<float>(s), std::sin(2.0), 1e-6);
}

TEST_F(Eager, WhatIsMadeOfNumbersGoesWhereItIsMet) {
  const Array x = rt.from_host({1.0f, 2.0f, 3.0f});
  EXPECT_THAT(host(x + ones({3})), ElementsAre(2, 3, 4));
  EXPECT_THAT(host(x * arange(3)), ElementsAre(0, 2, 6));
  EXPECT_THAT(host(matmul(eye(3), x)), ElementsAre(1, 2, 3));
  EXPECT_THAT(host(x + array({0.25, 0.5, 0.75})), ElementsAre(1.25, 2.5, 3.75));
  EXPECT_THAT(host(zeros({2})), ElementsAre(0, 0));
  EXPECT_THAT(host(logspace(0, 2, 3)), Pointwise(FloatNear(1e-4f), {1.0f, 10.0f, 100.0f}));
  const auto f = jit(rt, [](const Array& a) { return a + 1; });
  EXPECT_THAT(host(f(zeros({2}))), ElementsAre(1, 1));
  EXPECT_THAT(host(f(zeros({2}))), ElementsAre(1, 1));
}

TEST_F(Eager, AnIndexOfNumbersGoesWhereTheArrayIs) {
  const Array x = rt.from_host({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  const Array v = rt.from_host({0.5f, 0.25f, 8.0f}), i = array({1, -2, 9});
  EXPECT_THAT(host(x[i]), ElementsAre(2, 5, 6));
  EXPECT_THAT(host(take(x, i)), ElementsAre(2, 5, 6));
  EXPECT_THAT(host(take(x, i, 0, {.mode = ReadMode::fill, .fill_value = 7})), ElementsAre(2, 5, 7));
  EXPECT_THAT(host(take_along_axis(x, i, 0)), ElementsAre(2, 5, 6));
  EXPECT_THAT(host(put_along_axis(x, i, v, 0)), ElementsAre(1, 0.5, 3, 4, 0.25, 6));
  EXPECT_THAT(host(scatter_add(x, i, v)), ElementsAre(1, 2.5, 3, 4, 5.25, 6));
  EXPECT_THAT(host(dynamic_slice(x, {full({}, -2)}, {2})), ElementsAre(5, 6));
  EXPECT_THAT(host(dynamic_update_slice(x, v, {full({}, 1)})), ElementsAre(1, 0.5, 0.25, 8, 5, 6));
  EXPECT_THAT(host(choose(i, {v, -v})), ElementsAre(-0.5, 0.25, -8));
  EXPECT_THAT(host(segment_sum(v, array({1, 1, 0}, DType::u32), 2)), ElementsAre(8, 0.75));
  const Array mask = array({true, false, true, true, false, false});
  EXPECT_THAT(host(compact(x, mask, {.size = 4, .fill = 0}).rows), ElementsAre(1, 3, 4, 0));
}

// Whatever a function computes of one of its arrays alone: it may be of numbers, as any other.
TEST_F(Eager, EachOfTheArraysMayBeOfNumbers) {
  using A = const Array&;
  using Function = Array (*)(A, A);
  const std::pair<const char*, Function> functions[] = {
      {"where", [](A a, A b) { return where(cast(b, DType::i32), a, b); }},
      {"remainder", [](A a, A b) { return remainder(cast(a, DType::i32), cast(b, DType::i32)); }},
      {"floor_divide",
       [](A a, A b) { return floor_divide(cast(a, DType::i32), cast(b, DType::i32)); }},
      {"searchsorted", [](A a, A b) { return searchsorted(a, b); }},
      {"digitize", [](A a, A b) { return digitize(a, b); }},
      {"isin", [](A a, A b) { return isin(a, b); }},
      {"union1d", [](A a, A b) { return union1d(a, b, 6); }},
      {"intersect1d", [](A a, A b) { return intersect1d(a, b, 3); }},
      {"setdiff1d", [](A a, A b) { return setdiff1d(a, b, 3); }},
      {"select", [](A a, A b) { return select({cast(a, DType::boolean)}, {b}, 0); }},
      {"average", [](A a, A b) { return average(a, b); }},
      {"bincount", [](A a, A b) { return bincount(cast(a, DType::i32), 4, b); }},
      {"polyval", [](A a, A b) { return polyval(a, b); }},
      {"convolve", [](A a, A b) { return convolve(a, b); }},
      {"correlate", [](A a, A b) { return correlate(a, b); }},
      {"cross", [](A a, A b) { return cross(a, b); }},
      {"einsum", [](A a, A b) { return einsum("i,j->", a, b); }},
      {"isclose", [](A a, A b) { return isclose(a, b); }},
      {"nextafter", [](A a, A b) { return nextafter(a, b); }},
      {"copysign", [](A a, A b) { return copysign(a, b); }},
      {"fmax", [](A a, A b) { return fmax(a, b); }},
      {"heaviside", [](A a, A b) { return heaviside(a, b); }},
      {"ldexp", [](A a, A b) { return ldexp(a, cast(b, DType::i32)); }},
      {"gcd", [](A a, A b) { return gcd(cast(a, DType::i32), cast(b, DType::i32)); }},
      {"lcm", [](A a, A b) { return lcm(cast(a, DType::i32), cast(b, DType::i32)); }},
      {"celu", [](A a, A b) { return celu(a, b); }},
      {"tridiagonal_solve", [](A a, A b) { return linalg::tridiagonal_solve(b, a, b, a); }},
      {"lstsq", [](A a, A b) { return linalg::lstsq(expand_dims(a, 1), b).x; }},
      {"polar", [](A a, A b) { return polar(a, b).re; }},
      {"complex", [](A a, A b) { return (complex(a, b) * complex(a, b) / complex(b, a)).im; }},
      {"tree::norm", [](A a, A b) { return tree::norm(std::pair{a, b}); }},
      {"tree::dot", [](A a, A b) { return tree::dot(std::pair{a, b}, std::pair{a, b}); }},
  };
  const Array x = rt.from_host({1.0f, 2.0f, 4.0f}), y = rt.from_host({3.0f, 1.0f, 2.0f});
  const Array of_numbers = array({1.0f, 2.0f, 4.0f}), others = array({3.0f, 1.0f, 2.0f});
  const auto numbers_of = [&](A a) { return rt.to_host<float>(cast(a, DType::f32)); };
  for (const auto& [name, f] : functions) {
    const std::vector<float> want = numbers_of(f(x, y));
    EXPECT_THAT(numbers_of(f(of_numbers, y)), Pointwise(FloatNear(1e-5f), want)) << name;
    EXPECT_THAT(numbers_of(f(x, others)), Pointwise(FloatNear(1e-5f), want)) << name;
  }
}

TEST_F(Eager, DrawsTakeParametersOfNumbers) {
  const Array one = rt.from_host({1.0f, 2.0f}), made = array({1.0f, 2.0f});
  const auto same = [&](const auto& draw) {
    const std::vector<float> want = rt.to_host<float>(cast(draw(rt.key(3), one), DType::f32));
    EXPECT_EQ(rt.to_host<float>(cast(draw(rt.key(3), made), DType::f32)), want);
    EXPECT_EQ(rt.to_host<float>(cast(draw(random::key(3), one), DType::f32)), want);
  };
  using A = const Array&;
  same([](Key k, A a) { return random::uniform(std::move(k), {2}, a, 9.0); });
  same([](Key k, A a) { return random::randint(std::move(k), {2}, cast(a, DType::i32), 9); });
  same([](Key k, A a) { return random::truncated_normal(std::move(k), a, 5, {2}); });
  same([](Key k, A a) { return random::weibull(std::move(k), a, a, {2}); });
  same([](Key k, A a) { return random::triangular(std::move(k), a, 3, 9, {2}); });
  same([](Key k, A a) { return random::binomial(std::move(k), a, 0.25, {2}); });
  same([](Key k, A a) { return random::student_t(std::move(k), a, {2}); });
  same([](Key k, A a) { return random::poisson(std::move(k), a, {2}); });
}

TEST_F(Eager, ErrorsOfAnIndexNameTheLine) {
  const Array x = rt.from_host({1.0f, 2.0f});
  for (const std::string& message :
       {usage_message([&] { x[7]; }), usage_message([&] { x[array({0.5f})]; }),
        usage_message([] { zeros({2})[array({1})]; }), usage_message([&] { x[0][0]; })})
    EXPECT_THAT(message, AllOf(HasSubstr("gnomon::operator[]"), HasSubstr("(eager_test.cpp:")));
}

TEST_F(Eager, LikenessesAreOnTheDevice) {
  const Array x = rt.from_host({1.0f, 2.0f});
  const std::uint64_t before = rt.memory().live_ranges;
  const Array zero = zeros_like(x), one = ones_like(x), two = full_like(x, 2);
  EXPECT_GE(rt.memory().live_ranges, before + 3);
  EXPECT_THAT(host(zero + one + two), ElementsAre(3, 3));
}

TEST_F(Eager, WithoutAnyRuntimeTheErrorSaysWhereToGetOne) {
  const std::string message = usage_message([] { zeros({3}) + 1; });
  EXPECT_THAT(message, AllOf(HasSubstr("gnomon::add"), HasSubstr("rt.from_host"),
                             HasSubstr("rt.run"), HasSubstr("eager_test.cpp:")));
  EXPECT_THAT(usage_message([] { sin(arange(4)); }), HasSubstr("rt.from_host"));
  EXPECT_THAT(usage_message([] { random::normal(random::key(3), {2}); }),
              HasSubstr("rt.from_host"));
}

TEST_F(Eager, ArraysOfTwoRuntimesDoNotMeet) {
  Runtime other(validated());
  const Array x = rt.from_host({1.0f}), y = other.from_host({1.0f});
  EXPECT_THAT(usage_message([&] { x + y; }),
              AllOf(HasSubstr("gnomon::add"), HasSubstr("different Runtimes"), HasSubstr("to_host"),
                    HasSubstr("eager_test.cpp:")));
}

TEST_F(Eager, WithoutItsRuntimeAnArrayCanBeReadNoMore) {
  std::optional<Runtime> gone(std::in_place, validated());
  const Array x = gone->from_host({1.0f});
  gone.reset();
  EXPECT_THAT(usage_message([&] { x + 1; }), HasSubstr("Runtime"));
}

TEST_F(Eager, ErrorsOfOperationsNameTheLine) {
  const Array x = rt.from_host({1.0f, 2.0f}), y = rt.from_host({1.0f, 2.0f, 3.0f});
  EXPECT_THAT(usage_message([&] { x + y; }),
              AllOf(HasSubstr("cannot broadcast"), HasSubstr("eager_test.cpp:")));
}

TEST_F(Eager, ReductionsAndIndices) {
  const Array x = rt.from_host({{1.0f, 2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}});
  EXPECT_FLOAT_EQ(rt.item<float>(sum(x)), 21);
  EXPECT_THAT(host(mean(x, 0)), ElementsAre(2.5, 3.5, 4.5));
  EXPECT_THAT(host(x[1]), ElementsAre(4, 5, 6));
  EXPECT_THAT(host(x.at(every, 0).get()), ElementsAre(1, 4));
  EXPECT_THAT(host(x.at(0).set(0)), ElementsAre(0, 0, 0, 4, 5, 6));
  EXPECT_THAT(host(softmax(zeros_like(x), 1)),
              Pointwise(FloatNear(1e-6f), std::vector<float>(6, 1.0f / 3)));
  EXPECT_THAT(host(sort(-x, 1)), ElementsAre(-3, -2, -1, -6, -5, -4));
}

TEST_F(Eager, LinearAlgebra) {
  const Array a = rt.from_host({{4.0f, 1.0f}, {1.0f, 3.0f}}), b = rt.from_host({1.0f, 2.0f});
  EXPECT_THAT(host(linalg::solve(a, b)), Pointwise(FloatNear(1e-6f), {1.0f / 11, 7.0f / 11}));
  EXPECT_NEAR(rt.item<float>(linalg::det(a)), 11, 1e-5);
  EXPECT_THAT(host(matmul(a, linalg::inv(a))), Pointwise(FloatNear(1e-6f), {1.0f, 0.f, 0.f, 1.f}));
}

TEST_F(Eager, AFourierTransformIsOneProgram) {
  const Array x = rt.from_host({1.0f, 2.0f, 3.0f, 4.0f});
  const auto programs = [&] {
    const Counters c = rt.counters();
    return c.programs_compiled + c.programs_loaded + c.programs_shared;
  };
  const std::uint64_t before = programs();
  const Complex y = fft::fft(x);
  EXPECT_EQ(programs() - before, 1u);
  const Array back = fft::irfft(fft::rfft(x));
  EXPECT_EQ(programs() - before, 3u);
  EXPECT_THAT(rt.to_host<float>(y.re), Pointwise(FloatNear(1e-6f), {10.0f, -2.0f, -2.0f, -2.0f}));
  EXPECT_THAT(rt.to_host<float>(y.im), Pointwise(FloatNear(1e-6f), {0.0f, 2.0f, 0.0f, -2.0f}));
  EXPECT_THAT(rt.to_host<float>(back), Pointwise(FloatNear(1e-6f), {1.0f, 2.0f, 3.0f, 4.0f}));
}

TEST_F(Eager, WhatIsWrittenSaysWhereToRun) {
  const Array x = rt.from_host({1.0f, 2.0f, 3.0f});
  const Array last = x[2];
  const auto once = [&](const auto& f) {
    const std::uint64_t before = rt.counters().programs_compiled;
    const Array y = f();
    EXPECT_EQ(rt.counters().programs_compiled - before, 1u);
    return rt.to_host<float>(y);
  };
  EXPECT_THAT(once([&] { return zeros({2}).at(1).set(last); }), ElementsAre(0.0f, 3.0f));
  EXPECT_EQ(once([&] { return buffer({2}, DType::f32).at(1).set(last); })[1], 3.0f);
  EXPECT_THAT(once([&] {
                return ones({3}).at(Slice{1, 3}).add(last);
              }),
              ElementsAre(1.0f, 4.0f, 4.0f));
  EXPECT_EQ(once([&] { return x.at(-1).get(); })[0], 3.0f);
}

TEST_F(Eager, LoopsTraceTheirBodiesAndRun) {
  const Array x = rt.from_host({1.0f, 2.0f, 3.0f, 4.0f});
  const auto [total, sums] = scan(
      [](Array sum, Array next) {
        const Array s = sum + next;
        return std::pair{s, s};
      },
      0.0f, x);
  EXPECT_FLOAT_EQ(rt.item<float>(total), 10);
  EXPECT_THAT(host(sums), ElementsAre(1, 3, 6, 10));

  const Array limit = rt.from_host(100.0f);
  const Array doubled =
      while_loop([&](const Array& v) { return v < limit; }, [](Array v) { return 2 * v; },
                 rt.from_host(3.0f), {.max_steps = 50});
  EXPECT_FLOAT_EQ(rt.item<float>(doubled), 192);

  const Array cubed = fori_loop(
      0, 3, [&](const Array&, Array v) { return v * x[1]; }, rt.from_host(1.0f));
  EXPECT_FLOAT_EQ(rt.item<float>(cubed), 8);

  const Array chosen = cond(
      x[0] > 0, [&] { return x * 2; }, [&] { return x; });
  EXPECT_THAT(host(chosen), ElementsAre(2, 4, 6, 8));
}

TEST_F(Eager, RandomDrawsFromAKeyOfTheRuntime) {
  const auto draw = jit(rt, [](Key key) { return random::normal(std::move(key), {5}); });
  EXPECT_EQ(host(random::normal(rt.key(42), {5})), host(draw(rt.key(42))));
  auto [a, b] = random::split<2>(rt.key(7));
  EXPECT_NE(host(random::uniform(std::move(a), {3})), host(random::uniform(std::move(b), {3})));
}

TEST_F(Eager, SeedsOfTheRuntimeAreData) {
  const auto draw = jit(rt, [](Key key) { return random::uniform(std::move(key), {4}); });
  const auto traced = [&](std::int64_t seed) {
    return host(rt.run([&] { return random::uniform(random::key(seed), {4}); }));
  };
  for (const std::int64_t seed : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40,
                                  std::int64_t{4294967295}, std::int64_t{-5000000000}})
    EXPECT_EQ(host(draw(rt.key(seed))), traced(seed)) << seed;
  EXPECT_EQ(draw.cache_info().traces, 1u);
}

// d/dx of sum(x sin x) is sin x + x cos x, its second derivative 2 cos x - x sin x.
Array waves(const Array& x) { return sum(x * sin(x)); }

TEST_F(Eager, TransformsOfConcreteArrays) {
  const std::vector<float> at{0.5f, -1.0f, 2.0f};
  const Array x = rt.from_host(at), v = rt.from_host({1.0f, 0.0f, 2.0f});
  std::vector<float> slope, curve;
  for (const float a : at) {
    slope.push_back(std::sin(a) + a * std::cos(a));
    curve.push_back(2 * std::cos(a) - a * std::sin(a));
  }
  const auto near = [](const std::vector<float>& want) {
    return Pointwise(FloatNear(2e-6f), want);
  };
  EXPECT_THAT(host(grad(waves)(x)), near(slope));
  const auto [value, gradient] = value_and_grad(waves)(x);
  EXPECT_THAT(host(gradient), near(slope));
  EXPECT_NEAR(rt.item<float>(value),
              at[0] * std::sin(at[0]) + at[1] * std::sin(at[1]) + at[2] * std::sin(at[2]), 1e-6);

  const auto pullback = vjp([](const Array& a) { return a * sin(a); }, x);
  EXPECT_THAT(host(pullback(ones_like(x))), near(slope));
  EXPECT_THAT(host(pullback(v)), near({slope[0], 0, 2 * slope[2]}));
  const auto in_trace = jit(rt, [&](const Array& c) { return pullback(c); });
  EXPECT_THAT(host(in_trace(v)), near({slope[0], 0, 2 * slope[2]}));

  EXPECT_NEAR(rt.item<float>(jvp(waves, x, v).second), slope[0] + 2 * slope[2], 1e-5);
  const auto linear = linearize(waves, x);
  EXPECT_NEAR(rt.item<float>(linear(v)), slope[0] + 2 * slope[2], 1e-5);
  EXPECT_THAT(host(hvp(waves, x, v)), near({curve[0], 0, 2 * curve[2]}));
  EXPECT_THAT(host(hessian(waves)(x)), near({curve[0], 0, 0, 0, curve[1], 0, 0, 0, curve[2]}));
  const auto cubes = [](const Array& a) { return a * a * a; };
  EXPECT_THAT(host(jacfwd(cubes)(v)), near({3, 0, 0, 0, 0, 0, 0, 0, 12}));
  EXPECT_THAT(host(jacrev(cubes)(v)), near({3, 0, 0, 0, 0, 0, 0, 0, 12}));
  EXPECT_THAT(host(vmap([&](const Array& a) { return a * v; })(x)),
              near({0.5, 0, 1, -1, 0, -2, 2, 0, 4}));
  EXPECT_THAT(host(vmap(grad([](const Array& a) { return a * a; }))(x)), near({1, -2, 4}));
  EXPECT_THAT(
      host(linear_transpose([](const Array& a) { return sum(3 * a); }, x)(rt.from_host(2.0f))),
      near({6, 6, 6}));
}

struct Model {
  Array weight, bias;
  std::string name = "model";
};

TEST_F(Eager, TreesStayTrees) {
  const Model model{rt.from_host({2.0f, 3.0f}), rt.from_host(1.0f)};
  const auto loss = [](const Model& m, const Array& x) { return sum(m.weight * x) + m.bias; };
  const Model slope = grad(loss)(model, rt.from_host({5.0f, 7.0f}));
  EXPECT_THAT(host(slope.weight), ElementsAre(5, 7));
  EXPECT_THAT(host(slope.bias), ElementsAre(1));
  EXPECT_EQ(slope.name, "model");
  const Array step = rt.from_host(0.5f);
  const Model next =
      tree::map([&](const Array& p, const Array& g) { return p - step * g; }, model, slope);
  EXPECT_THAT(host(next.weight), ElementsAre(-0.5, -0.5));
}

TEST_F(Eager, StatementsSpeakAtOnce) {
  std::vector<std::string> lines;
  rt.on_print([&](std::string_view line) { lines.emplace_back(line); });
  const Array x = rt.from_host({1.0f, -2.0f});
  debug::print("x is {}", x);
  EXPECT_EQ(lines, std::vector<std::string>{"x is [ 1. -2.]"});
  EXPECT_THROW(error_if(x, any(x < 0), "negative"), CheckFailed);
  EXPECT_THAT(host(error_if(x, any(x > 5), "large")), ElementsAre(1, -2));
}

TEST_F(Eager, InsideATraceEverythingIsRecorded) {
  const Array x = rt.from_host({1.0f, 2.0f});
  const Array made = zeros({2});
  const auto f = jit(rt, [&](const Array& y) {
    const Array sum = x + y + made;
    EXPECT_FALSE(sum.concrete());
    return sum;
  });
  EXPECT_THAT(host(f(x)), ElementsAre(2, 4));
}

TEST_F(Eager, HandlersMayComputeAtOnce) {
  const Array x = rt.from_host({1.0f, 2.0f});
  std::vector<float> seen;
  rt.on_print([&](std::string_view) { seen = host(x + 1); });
  debug::print("{}", x);
  EXPECT_THAT(seen, ElementsAre(2, 3));
}

TEST_F(Eager, WithoutJitTheHostReferenceComputes) {
  const Variable off("GNOMON_JIT", "off");
  Runtime slow(validated());
  const Array x = slow.from_host({1.0f, 4.0f});
  EXPECT_THAT(slow.to_host<float>(sqrt(x) + 0.5), ElementsAre(1.5, 2.5));
  EXPECT_EQ(slow.counters().programs_compiled, 0u);
}

TEST_F(Eager, ReadinessCanBeAskedAndWaitedFor) {
  const Array x = rt.from_host(std::vector<float>(1000, 1.0f));
  Array y = x;
  for (int i = 0; i < 10; ++i) y = y + x;
  EXPECT_FLOAT_EQ(host(y.block_until_ready())[0], 11);
  EXPECT_TRUE(y.is_ready());
  const Model model{x + 1, x * 2};
  block_until_ready(model);
  EXPECT_TRUE(model.weight.is_ready() && model.bias.is_ready());
  EXPECT_TRUE(zeros({2}).is_ready());
  EXPECT_THROW(Array().is_ready(), UsageError);
  EXPECT_THAT(
      usage_message([&] { jit(rt, [](const Array& a) { return a.block_until_ready(); })(x); }),
      HasSubstr("is traced"));
}

// A random expression of x and y, and its value.
struct Expression {
  Array array;
  std::vector<double> value;
};

TEST_F(Eager, AThousandDifferentExpressionsAreRightAndMemoryStaysFlat) {
  RuntimeOptions options = validated();
  options.max_programs = 64;
  options.cache = "off";
  Runtime own(options);
  const std::vector<float> xs{0.5f, -1.25f, 2.0f}, ys{1.5f, 0.75f, -0.5f};
  const Array x = own.from_host(xs), y = own.from_host(ys);
  std::uint64_t state = 12345;
  const auto next = [&](std::uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
  };
  std::uint64_t ranges = 0, bytes = 0;
  for (int i = 0; i < 1000; ++i) {
    Expression e{x, {xs.begin(), xs.end()}};
    for (int k = 0; k < 4; ++k) {
      const double number = 0.125 * static_cast<double>(next(64)) - 4;
      const auto apply = [&](Array array, auto f) {
        e.array = std::move(array);
        for (std::size_t j = 0; j < 3; ++j) e.value[j] = f(e.value[j], ys[j]);
      };
      switch (next(7)) {
        case 0:
          apply(e.array + y, [](double a, double b) { return a + b; });
          break;
        case 1:
          apply(e.array * y, [](double a, double b) { return a * b; });
          break;
        case 2:
          apply(number - e.array, [&](double a, double) { return number - a; });
          break;
        case 3:
          apply(maximum(e.array, y), [](double a, double b) { return std::max(a, b); });
          break;
        case 4:
          apply(where(y > 1, e.array, -e.array), [](double a, double b) { return b > 1 ? a : -a; });
          break;
        case 5:
          apply(tanh(e.array), [](double a, double) { return std::tanh(a); });
          break;
        default:
          apply(e.array * number, [&](double a, double) { return a * number; });
          break;
      }
    }
    const std::vector<float> got = own.to_host<float>(e.array);
    for (std::size_t j = 0; j < 3; ++j)
      ASSERT_NEAR(got[j], e.value[j], 1e-5 * (1 + std::fabs(e.value[j]))) << "expression " << i;
    e = {};
    own.wait();
    if (i == 200) ranges = own.memory().live_ranges, bytes = own.memory().live_bytes;
    if (i > 200) {
      ASSERT_LE(own.memory().live_ranges, ranges + 8) << "expression " << i;
      ASSERT_LE(own.memory().live_bytes, bytes + (1u << 16)) << "expression " << i;
    }
  }
  EXPECT_LE(own.counters().programs_compiled, 100u);
}

}  // namespace
}  // namespace gnomon::testing
