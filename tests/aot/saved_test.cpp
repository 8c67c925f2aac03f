// tests/aot/saved_test.cpp -- functions that are saved, loaded and called, with and without a
// compiler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "gnomon/aot.h"
#include "gnomon/control.h"
#include "gnomon/debug.h"
#include "gnomon/loops.h"
#include "gnomon/sorting.h"
#include "shaders/spirv/tools.h"
#include "tests/aot/neural_ode.h"
#include "tests/engine/fixture.h"
#include "tests/support/temporary_folder.h"

namespace gnomon::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Solve = std::pair<Array, Array>(Field, Array, Array);

template <class E, class F>
std::string message(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "nothing was thrown";
}

class Saved : public DeviceTest {
 protected:
  /// Without a compiler, with validation.
  static Runtime alone(RuntimeOptions options = validated()) {
    return Runtime::without_compiler(options);
  }
  Lowered scaled(float factor) {
    auto f = jit(rt, [factor](const Array& x) { return x * factor + 1.0f; }, {.name = "scaled"});
    return f.lower(rt.from_host({1.0f, 2.0f, 3.0f}));
  }
  TemporaryFolder folder;
  const std::string path = (folder / "saved.gnomon").string();
};

TEST_F(Saved, ANeuralOdeRunsWithoutACompiler) {
  const auto f = jit(rt, solve_field, {.name = "solve"});
  const Field here = field_on(rt);
  const Array y0 = rt.from_host({0.5f, -0.25f}), end = rt.from_host(3.0f);
  aot::save(path, {{"solve", f.lower(here, y0, end)}});
  const auto [wanted, wanted_steps] = f(here, y0, end);

  for (const bool minimum : {false, true}) {
    RuntimeOptions options = validated();
    options.minimum_target = minimum;
    Runtime other = alone(options);
    {
      const auto solve = aot::load<Solve>(other, path);
      const Field field = field_on(other);
      for (const float t : {3.0f, 0.7f}) {
        const auto [y, steps] = solve(field, other.from_host({0.5f, -0.25f}), other.from_host(t));
        const auto host = host_solution({0.5, -0.25}, t);
        const auto got = other.to_host<float>(y);
        EXPECT_NEAR(got[0], host[0], 2e-5);
        EXPECT_NEAR(got[1], host[1], 2e-5);
        EXPECT_GE(other.item<int>(steps), 3);
        if (t == 3.0f && !minimum) {
          EXPECT_EQ(got, rt.to_host<float>(wanted));
          EXPECT_EQ(other.item<int>(steps), rt.item<int>(wanted_steps));
        }
      }
      EXPECT_EQ(other.counters().modules_emitted, 0u);
      EXPECT_EQ(other.counters().programs_compiled, 0u);
    }
    expect_clean(other);
  }
}

TEST_F(Saved, AFileHoldsSeveralFunctionsByNameAndSaysWhatTheyTake) {
  auto g = jit(rt, [](const Field& f) { return sum(f.inner); });
  const std::string digest =
      aot::save(path, {{"scale", scaled(3)}, {"total", g.lower(field_on(rt))}}, {.targets = {}});
  Runtime other = alone();
  {
    const aot::Programs programs = aot::load(other, path, {.digest = digest});
    ASSERT_EQ(programs.entries().size(), 2u);
    const aot::EntryInfo& scale = programs.entries()[0];
    EXPECT_EQ(scale.name, "scale");
    const std::vector<aot::Leaf> argument{{"argument 0", {DType::f32, {3}}}};
    EXPECT_EQ(scale.arguments, argument);
    EXPECT_EQ(programs.entries()[1].arguments[1].path, "argument 0 `.bias`");
    EXPECT_EQ(programs.entries()[1].results[0].path, "result");
    EXPECT_EQ(scale.targets, std::vector<std::string>{"any device of Vulkan 1.1"});
    const auto y = programs.call("scale", {other.from_host({1.0f, 2.0f, 3.0f})});
    EXPECT_EQ(other.to_host<float>(y[0]), (std::vector<float>{4, 7, 10}));
    EXPECT_THAT(message<UsageError>([&] { programs.call("twice", {}); }),
                ::testing::HasSubstr("there is no entry `twice`; the file has `scale`, `total`"));
  }
  expect_clean(other);
}

TEST_F(Saved, DoublesNeedNoWideIntegers) {
  if (!rt.target().features.float64) GTEST_SKIP() << rt.device_name() << " has no f64";
  const auto f = jit(rt, [](const Array& x) {
    const Array finite = where(isfinite(x), x, 0.0);
    return std::tuple{cast(isnan(x), DType::i32), max(x), argmax(finite), softmax(finite),
                      pow(finite, 1.5),           sort(x)};
  });
  const Array x = rt.from_host({0.5, 3.0, double(NAN), -HUGE_VAL, 2.0});
  aot::save(path, {{"f", f.lower(x)}}, {.targets = {}});
  using A = Array;
  const auto loaded = aot::load<std::tuple<A, A, A, A, A, A>(A)>(rt, path);
  const auto [is_nan, largest, place, soft, power, sorted] = loaded(x);
  EXPECT_EQ(rt.to_host<std::int32_t>(is_nan), (std::vector<std::int32_t>{0, 0, 1, 0, 0}));
  EXPECT_TRUE(std::isnan(rt.item<double>(largest)));
  EXPECT_EQ(rt.item<std::int32_t>(place), 1);
  const double total = 2 + std::exp(0.5) + std::exp(3.0) + std::exp(2.0);
  EXPECT_NEAR(rt.to_host<double>(soft)[1], std::exp(3.0) / total, 1e-14);
  EXPECT_NEAR(rt.to_host<double>(power)[4], std::pow(2.0, 1.5), 1e-14);
  const auto order = rt.to_host<double>(sorted);
  EXPECT_EQ(std::vector(order.begin(), order.begin() + 4),
            (std::vector<double>{-HUGE_VAL, 0.5, 2, 3}));
  EXPECT_TRUE(std::isnan(order[4]));
}

TEST_F(Saved, WhatDoesNotFitTheDeviceLeavesTheRestUsable) {
  if (!rt.target().features.float64) GTEST_SKIP() << rt.device_name() << " has no f64";
  const auto wide = jit(rt, [](const Array& x) { return x + x; });
  const Array x = rt.from_host({0.5, 3.0});
  RuntimeOptions options = validated();
  options.minimum_target = true;
  Runtime other = alone(options);
  const char* const why = "has nothing of `wide` that runs on \"";
  {
    aot::save(path, {{"wide", wide.lower(x)}, {"scale", scaled(3)}}, {.targets = {"cpu"}});
    const aot::Programs programs = aot::load(other, path);
    const aot::EntryInfo& info = programs.entries()[0];
    EXPECT_EQ(info.chosen, info.targets.size());
    EXPECT_EQ(info.arguments[0].aval, (Aval{DType::f64, {2}}));
    EXPECT_EQ(programs.entries()[1].unfit, "");
    const auto refused = [&](auto&& call) {
      const std::string text = message<FileError>(call);
      for (const char* words : {why,
                                "\"any device of Vulkan 1.1 with 64-bit floats\": it needs 64-bit "
                                "floats, which the device lacks",
                                "save it for such a device as well"})
        EXPECT_THAT(text, ::testing::HasSubstr(words));
    };
    refused([&] { programs.call("wide", {}); });
    refused([&] { aot::load<Array(Array)>(other, path, "wide"); });
    refused([&] { aot::load<std::vector<Array>(Array)>(other, path, "wide"); });
    const auto scale = aot::load<Array(Array)>(other, path, "scale");
    EXPECT_EQ(other.to_host<float>(scale(other.from_host({1.0f, 2.0f, 3.0f}))),
              (std::vector<float>{4, 7, 10}));
    aot::save(path, {{"wide", wide.lower(x)}}, {.targets = {}});
    refused([&] { aot::load(other, path); });
  }
  expect_clean(other);
}

struct Options {
  Array x;
  int power = 2;
};

TEST_F(Saved, CallsNameWhatDiffersFromWhatWasSaved) {
  auto f = jit(rt, [](const Options& o) { return o.x * static_cast<float>(o.power); });
  aot::save(path, {{"f", f.lower(Options{rt.from_host({1.0f, 2.0f}), 3})}}, {.targets = {}});
  Runtime other = alone();
  {
    const auto g = aot::load<Array(Options)>(other, path, "f");
    EXPECT_EQ(other.to_host<float>(g(Options{other.from_host({1.0f, 2.0f}), 3})),
              (std::vector<float>{3, 6}));
    EXPECT_THAT(message<UsageError>([&] {
                  g(Options{other.from_host({1.0f, 2.0f}), 2});
                }),
                ::testing::HasSubstr("was compiled for argument 0 `.power` = 3 and is called with "
                                     "argument 0 `.power` = 2"));
    EXPECT_THAT(
        message<UsageError>([&] {
          g(Options{other.from_host({1.0f}), 3});
        }),
        ::testing::HasSubstr("argument 0 `.x` of `f` was compiled as f32[2] and is f32[1]"));
    EXPECT_THAT(
        message<UsageError>([&] { aot::load<Array(Array)>(other, path)(other.from_host(1.0f)); }),
        ::testing::HasSubstr("compiled for argument 0 `.power` = 3"));
    EXPECT_THAT(
        message<UsageError>([&] { aot::load<std::pair<Array, Array>(Options)>(other, path); }),
        ::testing::HasSubstr("it gives 1 arrays, result where the type of the result has "
                             "result `[0]`"));
  }
  expect_clean(other);
}

struct Sparse {
  std::optional<Array> bias;
  Array x;
  int power = 2;
};

TEST_F(Saved, CallsNameWhatDiffersByPlaceAndNotByPosition) {
  const Array x = rt.from_host({1.0f, 2.0f});
  auto f = jit(rt, [](const Sparse& o) {
    return o.x * static_cast<float>(o.power) + (o.bias ? *o.bias : o.x);
  });
  aot::save(path, {{"without", f.lower(Sparse{std::nullopt, x})}, {"with", f.lower(Sparse{x, x})}},
            {.targets = {}});
  const auto without = aot::load<Array(Sparse)>(rt, path, "without");
  const auto with = aot::load<Array(Sparse)>(rt, path, "with");
  const auto said = [](const auto& g, const Sparse& argument) {
    return message<UsageError>([&] { g(argument); });
  };
  EXPECT_THAT(said(without, {x, x}),
              HasSubstr("`without` was compiled for argument 0 `.bias` = absent and is called with "
                        "argument 0 `.bias` = f32[2];"));
  EXPECT_THAT(said(with, {std::nullopt, x}),
              HasSubstr("`with` was compiled for argument 0 `.bias` = f32[2] and is called with "
                        "argument 0 `.bias` = absent;"));
  EXPECT_THAT(said(without, {std::nullopt, Array::hole()}),
              HasSubstr("`without` was compiled for argument 0 `.x` = f32[2] and is called with "
                        "argument 0 `.x` = a hole;"));
  EXPECT_THAT(said(without, {std::nullopt, Array()}),
              HasSubstr("argument 0 `.x` of `without` is an empty Array (moved from, or never "
                        "assigned); assign it before the call"));
  EXPECT_EQ(rt.to_host<float>(without(Sparse{std::nullopt, x})), (std::vector<float>{3, 6}));
  EXPECT_EQ(rt.to_host<float>(with(Sparse{x, x})), (std::vector<float>{3, 6}));
}

TEST_F(Saved, CapturedArraysStatementsAndDonationComeAlong) {
  const Array captured = rt.from_host({10.0f, 20.0f});
  auto f = jit(rt, [&](const Array& x) {
    debug::print("x is {:.1f}", x);
    return error_if(x, any(x > 5.0f), "too large") + captured;
  });
  aot::save(path, {{"f", f.lower(captured)}});
  Runtime other = alone();
  {
    const auto g = aot::load<Array(Array)>(other, path);
    std::vector<std::string> lines;
    other.on_print([&](std::string_view line) { lines.emplace_back(line); });
    Array x = other.from_host({1.0f, 2.0f});
    EXPECT_EQ(other.to_host<float>(g(std::move(x))), (std::vector<float>{11, 22}));
    EXPECT_TRUE(x.empty());
    EXPECT_EQ(lines, std::vector<std::string>{"x is [1.0 2.0]"});
    EXPECT_THAT(message<CheckFailed>([&] {
                  g(other.from_host({1.0f, 6.0f}));
                }),
                ::testing::HasSubstr("too large"));
  }
  expect_clean(other);
}

// Windows that differ from those of the process that saved: every array in a block of its own.
TEST_F(Saved, MovedArgumentsAreThoseOfAJittedFunction) {
  auto f = jit(rt, [](const Array& a, const Array& b) { return a + b; }, {.name = "f"});
  const auto make = [&] { return rt.from_host({1.0f, 2.0f, 4.0f}); };
  const Array x = make();
  aot::save(path, {{"f", f.lower(x, x)}}, {.targets = {}});
  Runtime other(validated());
  const Array foreign = other.from_host({1.0f, 2.0f, 4.0f});
  const auto g = aot::load<Array(Array, Array)>(rt, path);
  // NOLINTBEGIN: arrays that were moved, which a call that throws gives back
  const auto check = [&](const auto& sum) {
    Array w = make();
    EXPECT_EQ(rt.to_host<float>(sum(std::move(w), w)), (std::vector<float>{2, 4, 8}));
    EXPECT_TRUE(w.empty());
    w = make();
    EXPECT_EQ(rt.to_host<float>(sum(w, std::move(w))), (std::vector<float>{2, 4, 8}));
    EXPECT_TRUE(w.empty());
    w = make();
    EXPECT_THAT(
        message<UsageError>([&] { sum(std::move(w), foreign); }),
        AllOf(HasSubstr("argument 1 of `f` is f32[3] and belongs to another Runtime than the one"),
              HasSubstr("(saved_test.cpp:")));
    EXPECT_FALSE(w.empty());
    EXPECT_THROW(sum(std::move(w), Array()), UsageError);
    EXPECT_FALSE(w.empty());
    const CancelToken token;
    token.cancel();
    rt.cancel_with(token);
    EXPECT_THROW(sum(std::move(w), x), Cancelled);
    EXPECT_FALSE(w.empty());
    rt.cancel_with(std::nullopt);
    const std::uint64_t shared = rt.counters().shared_donations;
    EXPECT_EQ(rt.to_host<float>(sum(std::move(w), x)), (std::vector<float>{2, 4, 8}));
    EXPECT_EQ(rt.counters().shared_donations, shared);
  };
  // NOLINTEND
  check(f);
  check(g);
}

TEST_F(Saved, HandlersMayCallTheFunctionThatTheyHear) {
  auto f = jit(rt, [](const Array& x) {
    return fori_loop(
        0, 2000, [](const Array&, const Array& v) { return v * 0.5f + flip(v) * 0.5f + 1.0f; }, x);
  });
  const auto all = [](Runtime& on, float v) { return on.from_host(std::vector<float>(20000, v)); };
  aot::save(path, {{"f", f.lower(all(rt, 1))}});
  Runtime other = alone();
  {
    const auto g = aot::load<Array(Array)>(other, path);
    int heard = 0;
    other.on_step([&](const Progress&) {
      if (++heard == 1) {
        EXPECT_EQ(other.to_host<float>(g(all(other, 5)))[0], 2005);
      }
    });
    EXPECT_EQ(other.to_host<float>(g(all(other, 1)))[0], 2001);
    EXPECT_GE(heard, 1);
    EXPECT_EQ(other.counters().modules_emitted, 0u);
  }
  expect_clean(other);
}

TEST_F(Saved, ArraysMayLieInAnyBlocks) {
  auto f = jit(rt, [](const std::vector<Array>& x) {
    Array s = x[0];
    for (std::size_t i = 1; i < x.size(); ++i) s = s * 2.0f + x[i];
    return std::vector<Array>{s, s + 1.0f};
  });
  constexpr int count = 6;
  std::vector<float> elements(1000);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i % 7);
  std::vector<Array> here(count, rt.from_host(elements));
  const auto wanted = rt.to_host<float>(f(here)[0]);
  aot::save(path, {{"f", f.lower(here)}});
  RuntimeOptions options = validated();
  options.block_bytes = 4096;  // one array
  options.fixed_blocks = true;
  Runtime other = alone(options);
  {
    const auto g = aot::load<std::vector<Array>(std::vector<Array>)>(other, path);
    std::vector<Array> x;
    for (int i = 0; i < count; ++i) x.push_back(other.from_host(elements));
    EXPECT_EQ(other.to_host<float>(g(x)[0]), wanted);
    EXPECT_GT(other.counters().window_copies, 0u);
  }
  expect_clean(other);
}

// More windows than blocks, and some of them of one block.
TEST_F(Saved, ArraysMayShareSomeBlocks) {
  auto f = jit(rt, [](const std::vector<Array>& x) { return (x[0] * 2.0f + x[1]) * 2.0f + x[2]; });
  std::vector<float> elements(1000);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i % 7);
  const std::vector<Array> here(3, rt.from_host(elements));
  const auto wanted = rt.to_host<float>(f(here));
  aot::save(path, {{"f", f.lower(here)}}, {.targets = {}});
  RuntimeOptions options = validated();
  options.block_bytes = 3 * 4096;  // two arrays, and whatever a program keeps
  options.fixed_blocks = true;
  Runtime other = alone(options);
  {
    const auto g = aot::load<Array(std::vector<Array>)>(other, path);
    std::vector<Array> x;
    for (int i = 0; i < 6; ++i) x.push_back(other.from_host(elements));
    for (const auto& [i, j, k] : {std::array{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {0, 2, 1}, {3, 4, 5}})
      EXPECT_EQ(other.to_host<float>(g(std::vector{x[i], x[j], x[k]})), wanted) << i << j << k;
    EXPECT_EQ(other.counters().window_copies, 0u);
  }
  expect_clean(other);
}

TEST_F(Saved, WithoutACompilerNothingElseRuns) {
  Runtime other = alone();
  const Array x = other.from_host(1.0f);
  EXPECT_THAT(message<UsageError>([&] { jit(other, [](const Array& a) { return a + 1.0f; })(x); }),
              ::testing::HasSubstr("this Runtime was made without a compiler"));
  EXPECT_THAT(message<UsageError>([&] { x + 1.0f; }),
              ::testing::HasSubstr("gnomon::add: this Runtime was made without a compiler"));
}

TEST_F(Saved, LoweringShowsStagesAndMemoryAndRunsNothing) {
  const std::uint64_t dispatches = rt.counters().dispatches;
  const Lowered lowered = scaled(2);
  EXPECT_EQ(lowered.name(), "scaled");
  EXPECT_EQ(lowered.kernel_count(), 1);
  EXPECT_EQ(lowered.memory_report().inputs, 12u);
  EXPECT_THAT(lowered.text("graph"), ::testing::HasSubstr("f32[3]"));
  EXPECT_THAT(
      lowered.text("spirv"),
      ::testing::HasSubstr(spirv::has_tools() ? "OpEntryPoint GLCompute" : "no SPIRV-Tools"));
  EXPECT_THAT(lowered.text("plan"), ::testing::HasSubstr("dispatch"));
  EXPECT_THAT(usage_message([&] { lowered.text("none"); }),
              ::testing::HasSubstr("there is no stage `none`"));
  EXPECT_EQ(rt.counters().dispatches, dispatches);
}

TEST_F(Saved, FilesThatCannotBeUsedSayWhy) {
  const std::string digest = aot::save(path, {{"f", scaled(2)}}, {.targets = {}});
  const auto why = [&](const aot::LoadOptions& options = {}) {
    return message<FileError>([&] { aot::load(rt, path, options); });
  };
  EXPECT_THAT(why({.digest = std::string(32, '0')}),
              ::testing::HasSubstr("has the digest " + digest + " and 000"));
  EXPECT_THAT(message<FileError>([&] { aot::load(rt, (folder / "none").string()); }),
              ::testing::HasSubstr("cannot be read"));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_THAT(why(), ::testing::HasSubstr("is damaged: it has "));
  EXPECT_THAT(usage_message([&] {
                aot::to_bytes({{"f", scaled(1)}, {"f", scaled(2)}});
              }),
              ::testing::HasSubstr("two entries are called `f`"));
  EXPECT_THAT(usage_message([&] {
                aot::to_bytes({{"f", scaled(1)}}, {.targets = {"tpu"}});
              }),
              ::testing::HasSubstr("there is no target `tpu`"));
  EXPECT_THAT(message<FileError>([&] {
                aot::save("/nowhere/x", {{"f", scaled(1)}});
              }),
              ::testing::HasSubstr("cannot be written"));
}

}  // namespace
}  // namespace gnomon::testing
