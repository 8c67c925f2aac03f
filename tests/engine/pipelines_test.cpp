// tests/engine/pipelines_test.cpp -- modules of a program become pipelines side by side, each once,
// before anything runs, and go with the last who holds them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "codegen/modules/copy_kernel.h"
#include "codegen/modules/module.h"
#include "gnomon/jit.h"
#include "gnomon/ops.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using Pipelines = DeviceTest;

std::vector<std::uint32_t> copy_words(const Context& context) {
  const std::vector<std::uint8_t> windows = {0, 0};
  return module_words(copy_kernel(context.device.target()), context.device.target(), windows, {});
}

// Kernels that do not fuse: each sums up what the one before has made of all elements.
Array chain(Array x) {
  for (const float factor : {0.5f, 0.25f, 0.125f, 2.0f}) x = sin(x * factor) - mean(x);
  return x;
}

TEST_F(Pipelines, AreCountedWithTheModulesTheyAreMadeOf) {
  auto f = jit(rt, chain);
  const Counters before = rt.counters();
  f(rt.from_host(std::vector<float>(1000, 1.0f)));
  const Counters after = rt.counters();
  EXPECT_GE(after.modules_emitted - before.modules_emitted, 4u);
  EXPECT_GE(after.pipelines - before.pipelines, 2u);
  EXPECT_LE(after.pipelines - before.pipelines, after.modules_emitted - before.modules_emitted);
  EXPECT_EQ(after.new_pipelines - before.new_pipelines, after.pipelines - before.pipelines);
  f(rt.from_host(std::vector<float>(1000, 2.0f)));
  EXPECT_EQ(rt.counters().pipelines, after.pipelines);
  EXPECT_EQ(rt.counters().modules_emitted, after.modules_emitted);
}

TEST_F(Pipelines, AreAsManyWhateverThreadsMakeThem) {
  std::vector<std::uint64_t> made;
  std::vector<std::vector<float>> results;
  for (const std::size_t threads : {1u, 2u, 8u}) {
    RuntimeOptions options = validated();
    options.compile_threads = threads;
    Runtime own(options);
    auto f = jit(own, chain);
    std::vector<float> x(1000);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) / 1000;
    results.push_back(own.to_host<float>(f(own.from_host(x))));
    made.push_back(own.counters().pipelines);
    for (const std::string& message : own.validation_messages()) ADD_FAILURE() << message;
  }
  EXPECT_THAT(made, ::testing::Each(made[0]));
  EXPECT_THAT(results, ::testing::Each(results[0]));
}

TEST_F(Pipelines, OfEqualModulesAreOneWhoeverAsksFirst) {
  auto& pipelines = rt.state()->context->pipelines;
  const auto words = copy_words(*context());
  const std::uint64_t before = rt.counters().pipelines;
  std::vector<std::shared_ptr<const vulkan::Pipeline>> made(8);
  std::vector<std::thread> threads;
  for (auto& pipeline : made)
    threads.emplace_back([&] { pipeline = pipelines.pipeline(words, "copy"); });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(rt.counters().pipelines, before + 1);
  for (const auto& pipeline : made) EXPECT_EQ(pipeline, made[0]);
}

TEST_F(Pipelines, GoWithTheLastWhoHoldsThem) {
  auto& pipelines = rt.state()->context->pipelines;
  auto first = pipelines.pipeline(copy_words(*context()), "copy");
  const std::weak_ptr<const vulkan::Pipeline> watched = first;
  auto second = pipelines.pipeline(copy_words(*context()), "copy");
  first.reset();
  EXPECT_FALSE(watched.expired());
  second.reset();
  EXPECT_TRUE(watched.expired());
  const std::uint64_t before = rt.counters().pipelines;
  pipelines.pipeline(copy_words(*context()), "copy");
  EXPECT_EQ(rt.counters().pipelines, before + 1);
}

}  // namespace
}  // namespace gnomon::testing
