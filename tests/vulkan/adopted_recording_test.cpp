// tests/vulkan/adopted_recording_test.cpp -- calls of an adopted Runtime in an application's
// command buffers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "gnomon/gnomon.h"
#include "tests/support/message.h"
#include "tests/vulkan/adopted.h"
#include "tests/vulkan/allocations.h"

namespace gnomon::testing {
namespace {

using ::testing::HasSubstr;

TEST_F(Adopted, RecordsIntoACommandBufferThatIsSubmittedAgainAndAgain) {
  const VulkanBuffer from = floats(1024, [](auto i) { return static_cast<float>(i); });
  const VulkanBuffer to = floats(1024, [](auto) { return -1.0f; });
  const Array x = array_in(*rt, from, 0, f32_1024);
  Array y = array_in(*rt, to, 0, f32_1024);
  // Two kernels: a sum, and what needs it.
  const auto f = jit(*rt, [](const Array& a) { return a * 3.0f + sum(a); });
  const std::uint64_t submissions = rt->counters().submissions;
  const VkCommandBuffer commands = app.begin();
  const Recording kept = record(commands, y, f, x);
  EXPECT_EQ(rt->counters().submissions, submissions) << "recording submits nothing";
  app.end(commands);
  for (const float more : {0.0f, 5.0f}) {
    for (int i = 0; i < 1024; ++i) elements(from)[i] = static_cast<float>(i % 5) + more;
    app.submit(commands);
    app.wait_idle();
    float total = 0;
    for (int i = 0; i < 1024; ++i) total += elements(from)[i];
    for (int i = 0; i < 1024; ++i) ASSERT_EQ(elements(to)[i], elements(from)[i] * 3 + total) << i;
  }
}

TEST_F(Adopted, TakesTurnsWithTwoBuffersAndFindsItsParametersAgain) {
  const VulkanBuffer a = floats(1024, [](auto i) { return static_cast<float>(i); });
  const VulkanBuffer b = floats(1024, [](auto) { return 0.0f; });
  Array x = array_in(*rt, a, 0, f32_1024), y = array_in(*rt, b, 0, f32_1024);
  const auto f = jit(*rt, [](const Array& v) { return v + 1.0f; });
  std::uint64_t objects = 0;
  for (int frame = 0; frame < 20; ++frame) {
    const VkCommandBuffer commands = app.begin();
    Recording there = record(commands, y, f, x);
    Recording back = record(commands, x, f, y);
    app.end(commands);
    app.submit(commands);
    app.wait_idle();
    there.finished();
    back.finished();
    if (frame == 0) objects = rt->counters().vulkan_objects;
  }
  EXPECT_EQ(rt->counters().vulkan_objects, objects);
  for (int i = 0; i < 1024; ++i) ASSERT_EQ(elements(a)[i], static_cast<float>(i) + 40) << i;
}

TEST_F(Adopted, KnowsWhenAResultIsReadyOnceItIsSubmitted) {
  const Array x = rt->from_host(std::vector<float>(1024, 2.0f));
  const auto f = jit(*rt, [](const Array& v) { return v * v; });
  Array y;  // memory of Gnomon's
  const VkCommandBuffer commands = app.begin();
  Recording call = record(commands, y, f, x);
  app.end(commands);
  app.submit(commands);
  call.submitted();
  call = Recording();
  // Goes on where the application's commands have left it.
  EXPECT_EQ(rt->item<float>(jit(*rt, [](const Array& v) { return sum(v); })(y)), 4096.0f);
  EXPECT_EQ(rt->to_host<float>(y)[17], 4.0f);
}

TEST_F(Adopted, RecordsLoops) {
  const VulkanBuffer to = floats(1024, [](auto) { return 0.0f; });
  const Array x = rt->from_host(std::vector<float>(1024, 1.0f));
  Array y = array_in(*rt, to, 0, f32_1024);
  // A sum in each step: every step needs what all of the last one made.
  const auto f = jit(*rt, [](const Array& v) {
    return fori_loop(
        0, 10, [](const Array&, const Array& u) { return u * 0.5f + sum(u) * (1.0f / 2048); }, v);
  });
  const VkCommandBuffer commands = app.begin();
  const Recording call = record(commands, y, f, x);
  app.end(commands);
  app.submit(commands);
  app.wait_idle();
  // u = u / 2 + 1024 u / 2048 keeps every element where it is.
  for (int i = 0; i < 1024; ++i) ASSERT_EQ(elements(to)[i], 1.0f) << i;
}

TEST_F(Adopted, RecordsALoopThatEndsEarlyAsOftenAsItMayRun) {
  const VulkanBuffer to = floats(1024, [](auto) { return 0.0f; });
  Array y = array_in(*rt, to, 0, f32_1024);
  const auto f = jit(*rt, [](const Array& v) {
    return while_loop([](const Array& u) { return sum(u) < 6000.0f; },
                      [](const Array& u) { return u + sum(u) * (1.0f / 1024); }, v,
                      {.max_steps = 8});
  });
  const VkCommandBuffer commands = app.begin();
  const Array x = rt->from_host(std::vector<float>(1024, 1.0f));
  const Recording call = record(commands, y, f, x);
  app.end(commands);
  app.submit(commands);
  app.wait_idle();
  for (int i = 0; i < 1024; ++i) ASSERT_EQ(elements(to)[i], 8.0f) << i;
}

TEST_F(Adopted, RecordsLoopsOfSeveralKernels) {
  // So many elements that every step is several dispatches, the condition among them.
  constexpr std::uint64_t n = 1 << 17;
  const Aval many{DType::f32, Shape(n)};
  const VulkanBuffer from = floats(n, [](auto) { return 1.0f; });
  const VulkanBuffer to = floats(2 * n, [](auto) { return 0.0f; });
  const auto known = jit(*rt, [](const Array& v) {
    return fori_loop(
        0, 30, [](const Array&, const Array& u) { return u * 0.5f + sum(u) * (0.5f / n); }, v);
  });
  const auto ends = jit(*rt, [](const Array& v) {
    return while_loop([](const Array& u) { return sum(u) < 5.0f * n; },
                      [](const Array& u) { return u + sum(u) * (1.0f / n); }, v, {.max_steps = 20});
  });
  const Array x = array_in(*rt, from, 0, many);
  Array y = array_in(*rt, to, 0, many), z = array_in(*rt, to, 4 * n, many);
  for (int frame = 0; frame < 3; ++frame) {
    for (std::uint64_t i = 0; i < n; ++i) elements(from)[i] = static_cast<float>(frame + 1);
    const std::uint64_t dispatches = rt->counters().dispatches;
    const VkCommandBuffer commands = app.begin();
    Recording calls[] = {record(commands, y, known, x), record(commands, z, ends, x)};
    EXPECT_GT(rt->counters().dispatches, dispatches + 2 * 30);
    app.end(commands);
    // The second time it starts from where the first one has left everything.
    for (int again = 0; again < 2; ++again) {
      app.submit(commands);
      app.wait_idle();
      const float same = static_cast<float>(frame + 1), grown[] = {8, 8, 6};
      for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(elements(to)[i], same) << i;
      for (std::uint64_t i = n; i < 2 * n; ++i) ASSERT_EQ(elements(to)[i], grown[frame]) << i;
    }
    for (Recording& call : calls) call.finished();
  }
}

TEST_F(Adopted, RecordsTheSameCallAgainForWhateverItsBuffersHold) {
  const auto ends_early = [](const Array& v) {
    return while_loop([](const Array& u) { return sum(u) < 6000.0f; },
                      [](const Array& u) { return u + sum(u) * (1.0f / 1024); }, v,
                      {.max_steps = 8});
  };
  const auto f = jit(*rt, ends_early);
  const VulkanBuffer in[] = {floats(1024, [](auto) { return 1.0f; }),
                             floats(1024, [](auto) { return 5.0f; })};
  const VulkanBuffer out[] = {floats(1024, [](auto) { return 0.0f; }),
                              floats(1024, [](auto) { return 0.0f; })};
  const Array x[] = {array_in(*rt, in[0], 0, f32_1024), array_in(*rt, in[1], 0, f32_1024)};
  Array y[] = {array_in(*rt, out[0], 0, f32_1024), array_in(*rt, out[1], 0, f32_1024)};
  // Three frames are under way at a time, and arguments take turns.
  Recording kept[3];
  for (int frame = 0; frame < 12; ++frame) {
    const VkCommandBuffer commands = app.begin();
    kept[frame % 3] = record(commands, y[frame % 2], f, x[frame % 2]);
    app.end(commands);
    app.submit(commands);
    if (frame != 5) continue;
    app.wait_idle();
    for (int i = 0; i < 1024; ++i) ASSERT_EQ(elements(out[0])[i], 8.0f) << i;
    for (int i = 0; i < 1024; ++i) ASSERT_EQ(elements(out[1])[i], 10.0f) << i;
    for (int i = 0; i < 1024; ++i) elements(in[0])[i] = 7.0f;
  }
  app.wait_idle();
  for (int i = 0; i < 1024; ++i) ASSERT_EQ(elements(out[0])[i], 7.0f) << i;
  for (int i = 0; i < 1024; ++i) ASSERT_EQ(elements(out[1])[i], 10.0f) << i;
}

TEST_F(Adopted, RecordsPreparedCalls) {
  const auto f = jit(*rt, [](const Array& v) { return v * 3.0f + sum(v); });
  const VulkanBuffer from = floats(1024, [](auto) { return 1.0f; });
  const VulkanBuffer to = floats(1024, [](auto) { return 0.0f; });
  Array y = array_in(*rt, to, 0, f32_1024), made;
  std::optional<Prepared> call = prepare(y, f, array_in(*rt, from, 0, f32_1024));
  const Prepared own = prepare(made, f, rt->from_host(std::vector<float>(1024, 2.0f)));
  Recording kept[2], last;
  // Between the frames so many other calls that what nobody holds is forgotten.
  for (int frame = 0; frame < 4; ++frame) {
    const float value = static_cast<float>(frame + 1);
    for (int i = 0; i < 1024; ++i) elements(from)[i] = value;
    const VkCommandBuffer commands = app.begin();
    kept[frame % 2] = call->record(commands);
    last = own.record(commands);
    app.end(commands);
    app.submit(commands);
    app.wait_idle();
    for (int i = 0; i < 1024; ++i) ASSERT_EQ(elements(to)[i], 1027 * value) << i;
    kept[frame % 2].finished();
    if (frame != 1) continue;
    kept[0] = {}, kept[1] = {}, last = {};
    for (int k = 0; k < 40; ++k) {
      const VulkanBuffer other = floats(1024, [](auto) { return 0.0f; });
      f(array_in(*rt, other, 0, f32_1024));
    }
  }
  EXPECT_EQ(rt->to_host<float>(made)[5], 2054.0f);
  // A call under way keeps what it needs.
  for (int i = 0; i < 1024; ++i) elements(from)[i] = -1.0f;
  const VkCommandBuffer commands = app.begin();
  kept[0] = call->record(commands);
  y = {};
  call.reset();
  app.end(commands);
  app.submit(commands);
  app.wait_idle();
  EXPECT_EQ(elements(to)[9], -1027.0f);
  kept[0] = {}, kept[1] = {}, last = {}, made = {};
}

TEST_F(Adopted, KnowsABufferThatIsMadeAnewFromOneThatIsGone) {
  const auto f = jit(*rt, [](const Array& v) { return v + 1.0f; });
  for (int life = 0; life < 3; ++life) {
    const VulkanBuffer from = floats(1024, [&](auto) { return static_cast<float>(life); });
    const VulkanBuffer to = floats(2048, [](auto) { return -1.0f; });
    {
      const Array x = array_in(*rt, from, 0, f32_1024);
      Array y = array_in(*rt, to, life == 1 ? 4096 : 0, f32_1024);
      for (int frame = 0; frame < 3; ++frame) {
        const VkCommandBuffer commands = app.begin();
        const Recording call = record(commands, y, f, x);
        app.end(commands);
        app.submit(commands);
      }
    }
    app.wait_idle();
    for (int i = 0; i < 1024; ++i)
      ASSERT_EQ(elements(to)[i + (life == 1 ? 1024 : 0)], static_cast<float>(life + 1)) << i;
    app.destroy(from);
    app.destroy(to);
  }
}

TEST_F(Adopted, TellsArraysApartThatAStorageWasOneAfterTheOther) {
  const auto f = jit(*rt, [](const Array& v) { return v + 1; });
  const auto to_ints = jit(*rt, [](const Array& v) { return cast(v, DType::i32); });
  Array x = rt->from_host(std::vector<float>(1024, 3.0f));
  for (int as_ints = 0; as_ints < 2; ++as_ints) {
    const VulkanBuffer to = floats(1024, [](auto) { return -1.0f; });
    Array y = array_in(*rt, to, 0, {as_ints ? DType::i32 : DType::f32, Shape(1024)});
    const VkCommandBuffer commands = app.begin();
    const Recording call = record(commands, y, f, x);
    app.end(commands);
    app.submit(commands);
    app.wait_idle();
    if (as_ints)
      EXPECT_EQ(rt->to_host<std::int32_t>(y)[7], 4);
    else
      EXPECT_EQ(rt->to_host<float>(y)[7], 4.0f);
    // Given away: what it becomes may lie where it lay.
    if (!as_ints) x = to_ints(std::move(x));
  }
}

TEST_F(Adopted, TellsStaticArgumentsApart) {
  struct Scaled {
    Array x;
    float by = 1;
  };
  const auto f = jit(*rt, [](const Scaled& s) { return s.x * s.by; });
  const VulkanBuffer to = floats(1024, [](auto) { return -1.0f; });
  Array y = array_in(*rt, to, 0, f32_1024);
  Scaled s{rt->from_host(std::vector<float>(1024, 3.0f))};
  for (const float by : {1.0f, 2.0f, 1.0f, 2.0f}) {
    s.by = by;
    const VkCommandBuffer commands = app.begin();
    const Recording call = record(commands, y, f, s);
    app.end(commands);
    app.submit(commands);
    app.wait_idle();
    EXPECT_EQ(elements(to)[9], 3 * by);
  }
}

TEST_F(Adopted, RefusesResultsOfAnotherNumber) {
  const auto f = jit(*rt, [](const Array& v) { return v + 1; });
  const Array x = rt->from_host({1.0f});
  std::vector<Array> none, two(2);
  const VkCommandBuffer commands = app.begin();
  EXPECT_THAT(message([&] { record(commands, none, f, x); }),
              HasSubstr("gives 1 arrays and there is room for 0"));
  EXPECT_THAT(message([&] { record(commands, two, f, x); }), HasSubstr("there is room for 2"));
  app.end(commands);
}

TEST_F(Adopted, RecordsLoadedPrograms) {
  const auto trained = rt->from_host(std::vector<float>(1024, 0.5f));
  const auto steps = jit(*rt, [&](const Array& v) {
    return fori_loop(
        0, 10, [&](const Array&, const Array& u) { return u * trained + sum(u) * (1.0f / 2048); },
        v);
  });
  const auto saved =
      aot::to_bytes({{"steps", steps.lower(rt->from_host(std::vector<float>(1024, 1.0f)))}});
  Runtime bare = Runtime::adopt_without_compiler(app.described(), watched());
  const aot::Function<Array(Array)> f(aot::load(bare, saved), "steps");
  const VulkanBuffer from = floats(1024, [](auto) { return 1.0f; });
  const VulkanBuffer to = floats(1024, [](auto) { return 0.0f; });
  const Array x = array_in(bare, from, 0, f32_1024);
  Array y = array_in(bare, to, 0, f32_1024);
  for (int frame = 0; frame < 3; ++frame) {
    for (int i = 0; i < 1024; ++i) elements(from)[i] = static_cast<float>(frame + 1);
    const VkCommandBuffer commands = app.begin();
    const Recording call = record(commands, y, f, x);
    app.end(commands);
    app.submit(commands);
    app.wait_idle();
    // u = u / 2 + 1024 u / 2048 keeps every element where it is.
    for (int i = 0; i < 1024; ++i) ASSERT_EQ(elements(to)[i], static_cast<float>(frame + 1)) << i;
  }
  const VkCommandBuffer commands = app.begin();
  EXPECT_THAT(message([&] { record(commands, y, f, bare.from_host({1.0f})); }),
              HasSubstr("was compiled as f32[1024] and is f32[1]"));
  app.end(commands);
}

TEST_F(Adopted, RefusesToRecordALoopWithoutABound) {
  const Array x = rt->from_host(std::vector<float>(1024, 1.0f));
  Array y;
  const auto f = jit(*rt, [](const Array& v) {
    return while_loop([](const Array& u) { return sum(u) < 6000.0f; },
                      [](const Array& u) { return u + sum(u) * (1.0f / 1024); }, v,
                      {.max_steps = unbounded});
  });
  const VkCommandBuffer commands = app.begin();
  EXPECT_THAT(message([&] { record(commands, y, f, x); }), HasSubstr("max_steps"));
  app.end(commands);
}

TEST_F(Adopted, RefusesWhatWouldOverwriteWhatIsRead) {
  const VulkanBuffer b = floats(2048, [](auto) { return 0.0f; });
  const auto f = jit(*rt, [](const Array& v) { return v * 3.0f + sum(v); });
  const Array x = array_in(*rt, b, 0, f32_1024);
  Array same = x, overlaps = array_in(*rt, b, 2048, f32_1024), wrong = rt->from_host({1.0f});
  const VkCommandBuffer commands = app.begin();
  EXPECT_THAT(message([&] { record(commands, same, f, x); }),
              HasSubstr("would overwrite input 0 while it is read"));
  EXPECT_THAT(message([&] { record(commands, overlaps, f, x); }),
              HasSubstr("would overwrite input 0 while it is read"));
  EXPECT_THAT(message([&] { record(commands, wrong, f, x); }),
              HasSubstr("is f32[1024] and the array to write it to is f32[1]"));
  const auto prints = jit(*rt, [](const Array& v) {
    debug::print("{}", sum(v));
    return v;
  });
  Array y;
  EXPECT_THAT(message([&] { record(commands, y, prints, x); }), HasSubstr("prints or checks"));
  app.end(commands);
}

TEST(AdoptedFrames, OfTheSameArraysAllocateNothing) {
  App app({.validate = false});
  Runtime rt = Runtime::adopt(app.described());
  const VulkanBuffer a = app.buffer(4096, buffer_usage(rt)), b = app.buffer(4096, buffer_usage(rt));
  struct Pair {
    Array x;
    std::vector<Array> more;
  };
  const auto f = jit(rt, [](const Pair& p) { return Pair{p.x + sum(p.more[0]), {p.more[0]}}; });
  Pair p{array_in(rt, a, 0, f32_1024), {rt.from_host(std::vector<float>(1024, 1.0f))}};
  Pair q{array_in(rt, b, 0, f32_1024), {rt.from_host(std::vector<float>(1024, 1.0f))}};
  Recording kept[2];
  std::uint64_t allocated = 0, objects = 0, recordings = 0;
  for (int frame = 0; frame < 30; ++frame) {
    if (frame == 8) {
      allocated = 0;
      objects = rt.counters().vulkan_objects;
      recordings = rt.counters().recordings;
    }
    const VkCommandBuffer commands = app.begin();
    const std::uint64_t before = allocations();
    kept[0].finished();
    kept[0] = std::move(kept[1]);
    kept[1] = record(commands, q, f, p);
    std::swap(p, q);
    allocated += allocations() - before;
    app.end(commands);
    app.submit(commands);
    app.wait_idle();
  }
  EXPECT_EQ(allocated, 0u);
  EXPECT_EQ(rt.counters().vulkan_objects, objects);
  EXPECT_EQ(rt.counters().recordings, recordings);
  EXPECT_EQ(elements(a)[3], 1024.0f * 30);
}
}  // namespace
}  // namespace gnomon::testing
