// tests/engine/corners_test.cpp -- lines in messages, handlers of one call, the log, and ways to
// make and read arrays.
#include <gmock/gmock.h>

#include <array>
#include <string>
#include <vector>

#include "gnomon/gnomon.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string at_line(int line) { return "(corners_test.cpp:" + std::to_string(line) + ")"; }

// ---- every error ends in the user's line

class Lines : public DeviceTest {
 protected:
  void TearDown() override {
    x = wrong = {};
    DeviceTest::TearDown();
  }
  Array x = rt.from_host({1.0f, 2.0f});
  Array wrong = rt.from_host({1.0f, 2.0f, 3.0f});
};

TEST_F(Lines, OfVjp) {
  const int line = __LINE__ + 2;
  const auto f = [](const Array& a) { return a * a; };
  const auto pullback = vjp(f, x);
  EXPECT_THAT(usage_message([&] { pullback(wrong); }),
              AllOf(StartsWith("gnomon::vjp: "), EndsWith(at_line(line))));
  EXPECT_THAT(usage_message([&] { vjp(f, Array()); }), EndsWith(at_line(__LINE__)));
  const auto two = [](const Array& a, const Array& b) { return a * b; };
  EXPECT_THAT(usage_message([&] { vjp(two, x, Array()); }), EndsWith(at_line(__LINE__)));
  EXPECT_THAT(usage_message([&] {
                vjp_at(Loc{"far/away.cpp", 7}, two, x, Array());
              }),
              EndsWith("(away.cpp:7)"));
}

TEST_F(Lines, OfVjpWithAux) {
  const auto f = [](const Array& a) { return std::pair{a * a, a}; };
  const int line = __LINE__ + 1;
  const auto pullback = vjp(has_aux, f, x).first;
  EXPECT_THAT(usage_message([&] { pullback(wrong); }), EndsWith(at_line(line)));
}

TEST_F(Lines, OfLinearize) {
  const int line = __LINE__ + 1;
  const auto linear = linearize([](const Array& a) { return a * a; }, x);
  EXPECT_THAT(usage_message([&] { linear(wrong); }),
              AllOf(StartsWith("gnomon::linearize: "), EndsWith(at_line(line))));
}

TEST_F(Lines, OfClosureConvert) {
  const int line = __LINE__ + 1;
  const auto converted = closure_convert([&](const Array& a) { return a * x; }, x);
  EXPECT_THAT(usage_message([&] { converted(converted.captures, wrong); }),
              AllOf(StartsWith("gnomon::closure_convert: "), EndsWith(at_line(line))));
}

TEST_F(Lines, OfCallsOfJittedFunctions) {
  const auto f = jit(rt, [](const Array& a, const Array& b) { return a + b; }, {.max_traces = 1});
  EXPECT_THAT(usage_message([&] { f(x, Array()); }),
              AllOf(StartsWith("gnomon::jit: "), EndsWith(at_line(__LINE__ - 1))));
  f(x, x);
  EXPECT_THAT(usage_message([&] { f(wrong, wrong); }),
              AllOf(HasSubstr("limit 1"), EndsWith(at_line(__LINE__ - 1))));
  EXPECT_THAT(usage_message([&] { f(wrong, x); }), EndsWith(at_line(__LINE__)));
}

// ---- handlers of one call

TEST_F(DeviceTest, APrintHandlerOfACallReplacesThatOfTheRuntime) {
  std::vector<std::string> runtime, call;
  rt.on_print([&](std::string_view line) { runtime.emplace_back(line); });
  const auto f = jit(rt, [](const Array& x) {
    debug::print("{}", x);
    return x;
  });
  const Array x = rt.from_host(1);
  f(x);
  f.with({.on_print = [&](std::string_view line) { call.emplace_back(line); }})(x);
  f(x);
  f.with({})(x);
  EXPECT_EQ(runtime.size(), 3u);
  EXPECT_EQ(call, std::vector<std::string>{"1"});
  EXPECT_EQ(f.cache_info().traces, 1u);
}

TEST_F(DeviceTest, AStepHandlerOfACallHearsThatCall) {
  // Lanes that mix: a loop on the device, which has parts.
  const auto f = jit(rt, [](const Array& x) {
    return fori_loop(
        0, 5000, [](const Array&, Array v) { return v - 0.001 * (v - mean(v)); }, x);
  });
  const Array x = rt.from_host(std::vector<float>(40000, 1.0f));
  int runtime = 0, call = 0;
  rt.on_step([&](const Progress&) { ++runtime; });
  f.with({.on_step = [&](const Progress& p) {
    ++call;
    EXPECT_LE(p.steps, 5000u);
  }})(x);
  EXPECT_EQ(runtime, 0);
  EXPECT_GT(call, 0);
  f(x);
  EXPECT_GT(runtime, 0);
}

TEST_F(DeviceTest, EitherTokenEndsACall) {
  const auto f = jit(rt, [](const Array& x) { return x + 1; });
  const Array x = rt.from_host(1.0f);
  const CancelToken of_runtime, of_call;
  rt.cancel_with(of_runtime);
  const auto g = f.with({.cancel_with = of_call});
  EXPECT_FLOAT_EQ(rt.item<float>(g(x)), 2);
  of_call.cancel();
  EXPECT_THROW(g(x), Cancelled);
  EXPECT_FLOAT_EQ(rt.item<float>(f(x)), 2);
  of_call.reset();
  of_runtime.cancel();
  EXPECT_THROW(g(x), Cancelled);
  EXPECT_THROW(f(x), Cancelled);
  rt.cancel_with(std::nullopt);
  EXPECT_FLOAT_EQ(rt.item<float>(g(x)), 2);
}

// ---- the log

TEST(Log, GetsWhatWentToStderr) {
  const Variable log("GNOMON_LOG", "retrace,cache"), dump("GNOMON_DUMP", "graph"),
      help("GNOMON_HELP", "1");
  std::vector<std::string> texts;
  RuntimeOptions options = validated();
  options.on_log = [&](std::string_view text) { texts.emplace_back(text); };
  Runtime rt(options);
  EXPECT_THAT(texts, Contains(HasSubstr("GNOMON_CACHE")));
  const auto f = jit(rt, [](const Array& x) { return x + 1; }, {.name = "one_more"});
  ::testing::internal::CaptureStderr();
  f(rt.from_host(1.0f));
  f(rt.from_host({1.0f}));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(texts, Contains(StartsWith("gnomon: retrace: `one_more` traced a 2nd time")));
  EXPECT_THAT(texts, Contains(StartsWith("---- one_more.1.graph\n")));
}

TEST(Log, IsStderrWithoutAHandler) {
  const Variable log("GNOMON_LOG", "cache");
  Runtime rt(validated());
  const auto f = jit(rt, [](const Array& x) { return x + 1; }, {.name = "one_more"});
  ::testing::internal::CaptureStderr();
  f(rt.from_host(1.0f));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("gnomon: cache: `one_more`"));
}

// ---- making and reading arrays

TEST_F(DeviceTest, ArraysFromLists) {
  EXPECT_THAT(rt.to_host<std::int32_t>(rt.from_host({1, 2, 3})), ElementsAre(1, 2, 3));
  const Array m = rt.from_host({{1.0f, 2.0f}, {3.0f, 4.0f}, {5.0f, 6.0f}});
  EXPECT_EQ(m.shape(), Shape(3, 2));
  EXPECT_THAT(rt.to_host<float>(m), ElementsAre(1, 2, 3, 4, 5, 6));
  const int line = __LINE__ + 1;
  const std::string message = usage_message([&] { rt.from_host({{1, 2}, {3}}); });
  EXPECT_THAT(message, AllOf(StartsWith("gnomon::from_host: "), HasSubstr("1 elements"),
                             HasSubstr("2"), EndsWith(at_line(line))));
}

TEST_F(DeviceTest, ConstantsOfANamedType) {
  if (rt.target().features.float64) {
    const Array x = rt.run([] { return array({0.1, 0.2}, DType::f64); });
    EXPECT_THAT(rt.to_host<double>(x), ElementsAre(0.1, 0.2));
    EXPECT_THAT(rt.to_host<double>(array({0.1, 0.2}, DType::f64)), ElementsAre(0.1, 0.2));
    EXPECT_THAT(rt.to_host<double>(eye(2, DType::f64)), ElementsAre(1, 0, 0, 1));
  }
  const std::int64_t large = (std::int64_t{1} << 62) + 1;
  EXPECT_THAT(rt.to_host<std::int64_t>(array({large, std::int64_t{-1}}, DType::i64)),
              ElementsAre(large, -1));
  EXPECT_THAT(rt.to_host<std::uint8_t>(array({1, 255}, DType::u8)), ElementsAre(1, 255));
  const int line = __LINE__ + 1;
  const std::string message = usage_message([] { array({1, 256}, DType::u8); });
  EXPECT_THAT(message,
              AllOf(StartsWith("gnomon::array: 256 does not fit u8"), EndsWith(at_line(line))));
  EXPECT_THAT(usage_message([] { array({0.5}, DType::i32); }), HasSubstr("0.5 does not fit i32"));
}

TEST_F(DeviceTest, ShapesThatAreCounted) {
  const std::vector<Dim> shape{2, 3};
  EXPECT_EQ(zeros(shape).shape(), Shape(2, 3));
  EXPECT_EQ(ones(std::vector<int>{4}).shape(), Shape(4));
  EXPECT_EQ(full(shape, 1.5).shape(), Shape(2, 3));
  EXPECT_EQ(rt.from_host(std::vector<float>(6), shape).shape(), Shape(2, 3));
}

TEST_F(DeviceTest, ReadsIntoMemoryThatIsThere) {
  const Array x = rt.from_host({1.0f, 2.0f, 3.0f});
  std::array<float, 3> out{};
  rt.to_host(x, out);
  EXPECT_THAT(out, ElementsAre(1, 2, 3));
  std::vector<float> more(5, 9);
  rt.to_host(x, std::span(more).subspan(1, 3));
  EXPECT_THAT(more, ElementsAre(9, 1, 2, 3, 9));
  EXPECT_THAT(usage_message([&] { rt.to_host(x, more); }), HasSubstr("f32[3]"));
  std::array<double, 3> other{};
  EXPECT_THAT(usage_message([&] { rt.to_host(x, other); }), HasSubstr("f64"));
  std::array<bool, 2> flags{};
  rt.to_host(x[0] > ones({2}) - rt.from_host({1.0f, 0.0f}), flags);
  EXPECT_THAT(flags, ElementsAre(true, false));
}

}  // namespace
}  // namespace gnomon::testing
