// tests/vulkan/adopted_test.cpp -- a Runtime on an application's device: buffers, command buffers,
// semaphores, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <optional>
#include <thread>

#include "engine/runtime/state.h"
#include "gnomon/gnomon.h"
#include "tests/support/message.h"
#include "tests/vulkan/allocations.h"
#include "tests/vulkan/app.h"

namespace gnomon::testing {
namespace {

using ::testing::HasSubstr;

RuntimeOptions watched() {
  RuntimeOptions options;
  options.validate = true;  // the application's layer looks on
  return options;
}

class Adopted : public ::testing::Test {
 protected:
  explicit Adopted(const AppOptions& options = {})
      : app(options), rt(Runtime::adopt(app.described(), watched())) {}
  void TearDown() override {
    rt->clear_programs();
    EXPECT_EQ(rt->memory().live_ranges, 0u);
    rt.reset();
    for (const std::string& m : app.messages()) ADD_FAILURE() << m;
  }
  /// A buffer of the application's whose first n floats are f(i).
  template <class F>
  VulkanBuffer floats(std::uint64_t n, F f) {
    const VulkanBuffer b = app.buffer(4 * n, buffer_usage(*rt));
    for (std::uint64_t i = 0; i < n; ++i) static_cast<float*>(b.mapped)[i] = f(i);
    return b;
  }

  App app;
  std::optional<Runtime> rt;
};

float* elements(const VulkanBuffer& b) { return static_cast<float*>(b.mapped); }
const Aval f32_1024{DType::f32, Shape(1024)};

TEST_F(Adopted, ComputesWithItsOwnArraysAsAnyRuntime) {
  const auto f = jit(*rt, [](const Array& x) { return sum(x * x + 1.0f); });
  EXPECT_EQ(rt->item<float>(f(rt->from_host({1.0f, 2.0f, 3.0f}))), 17.0f);
}

TEST_F(Adopted, ReadsAndGivesOutBuffers) {
  const VulkanBuffer b = floats(2048, [](auto i) { return static_cast<float>(i % 7); });
  const Array x = array_in(*rt, b, 4096, f32_1024);
  const Array y = jit(*rt, [](const Array& a) { return a * 2.0f + 1.0f; })(x);
  const std::vector<float> host = rt->to_host<float>(y);
  for (std::size_t i = 0; i < 1024; ++i)
    ASSERT_EQ(host[i], static_cast<float>((i + 1024) % 7) * 2 + 1) << i;
  EXPECT_EQ(buffer_of(*rt, x).buffer, b.buffer);
  EXPECT_EQ(buffer_of(*rt, x).offset, 4096u);
  EXPECT_EQ(buffer_of(*rt, x).bytes, 4096u);
  EXPECT_NE(buffer_of(*rt, y).buffer, b.buffer);
}

TEST_F(Adopted, ReadsABufferThatIsNotMapped) {
  VulkanBuffer b = floats(1024, [](auto i) { return static_cast<float>(i); });
  b.mapped = nullptr;
  const std::vector<float> host = rt->to_host<float>(array_in(*rt, b, 0, f32_1024));
  EXPECT_EQ(host[1023], 1023.0f);
}

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

TEST_F(Adopted, WaitsForAndSignalsBinarySemaphores) {
  const VulkanBuffer b = floats(1024, [](auto) { return 3.0f; });
  const Array x = array_in(*rt, b, 0, f32_1024);
  const auto f = jit(*rt, [](const Array& v) { return v * 2.0f; });
  const VkSemaphore before = app.semaphore(false), after = app.semaphore(false);
  app.submit(VK_NULL_HANDLE, {}, {&before, 1});
  wait_for(*rt, {before});
  const Array y = f(x);
  signal(*rt, {after});
  app.submit(VK_NULL_HANDLE, {&after, 1}, {});
  app.wait_idle();
  EXPECT_EQ(rt->to_host<float>(y)[5], 6.0f);
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

class Timelines : public Adopted {
 protected:
  Timelines() : Adopted({.timeline = true}) {}
};

TEST_F(Timelines, OrderCallsOnTheDevice) {
  if (!app.has_timeline()) GTEST_SKIP() << rt->device_name() << " has no timeline semaphores";
  const VkSemaphore line = app.semaphore(true);
  const Array x = rt->from_host(std::vector<float>(1024, 3.0f));
  const auto f = jit(*rt, [](const Array& v) { return v * 2.0f; });
  f(x);
  rt->wait();
  wait_for(*rt, {line, 1});
  const Array y = f(x);
  signal(*rt, {line, 2});
  EXPECT_FALSE(y.is_ready()) << "nobody has signalled 1";
  app.signal(line, 1);
  const std::uint64_t two = 2;
  VkSemaphoreWaitInfo wait{};
  wait.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  wait.semaphoreCount = 1;
  wait.pSemaphores = &line;
  wait.pValues = &two;
  EXPECT_EQ(
      app.function<PFN_vkWaitSemaphores>("vkWaitSemaphores")(app.device(), &wait, 10'000'000'000),
      VK_SUCCESS);
  EXPECT_EQ(rt->to_host<float>(y)[5], 6.0f);
}

TEST_F(Timelines, WhatIsUnderWayKeepsItsParametersWhenItsRecordingIsGone) {
  if (!app.has_timeline()) GTEST_SKIP() << rt->device_name() << " has no timeline semaphores";
  // More calls than are remembered, and more than may be under way without a fence.
  constexpr int calls = 70;
  const auto f = jit(*rt, [](const Array& v) { return v * 2.0f; });
  const VulkanBuffer from =
      floats(calls * 1024, [](auto i) { return static_cast<float>(i / 1024); });
  const VulkanBuffer to = floats(calls * 1024, [](auto) { return -1.0f; });
  std::vector<Array> x, y;
  for (std::uint64_t k = 0; k < calls; ++k) {
    x.push_back(array_in(*rt, from, 4096 * k, f32_1024));
    y.push_back(array_in(*rt, to, 4096 * k, f32_1024));
  }
  f(x[0]);  // compiled before anything waits
  const VkSemaphore line = app.semaphore(true);
  wait_for(*rt, {line, 1});
  for (int k = 0; k < calls; ++k) {
    const VkCommandBuffer commands = app.begin();
    record(commands, y[k], f, x[k]);
    app.end(commands);
    app.submit(commands);
  }
  EXPECT_FALSE(y[0].is_ready()) << "nobody has signalled 1";
  app.signal(line, 1);
  for (int k = 0; k < calls; ++k)
    for (const float value : rt->to_host<float>(y[k])) ASSERT_EQ(value, 2.0f * k) << k;
}

TEST(AdoptedFrames, MemoryThatIsWrittenUnderWayIsNobodyElses) {
  // Layers of 2023 take a fence that somebody waits for while the host signals for an error.
  App app({.timeline = true, .validate = false});
  Runtime rt = Runtime::adopt(app.described());
  if (!app.has_timeline()) GTEST_SKIP() << rt.device_name() << " has no timeline semaphores";
  const auto f = jit(rt, [](const Array& v) { return v * 2.0f; });
  const std::vector<float> ones(1024, 1.0f);
  const Array x = rt.from_host(ones);
  f(x);
  rt.wait();
  const VkSemaphore line = app.semaphore(true);
  wait_for(rt, {line, 1});
  {
    Array y;
    const VkCommandBuffer commands = app.begin();
    const Recording call = record(commands, y, f, x);
    app.end(commands);
    app.submit(commands);
  }
  // Whoever writes where y was has to wait.
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    app.signal(line, 1);
  });
  const Array z = rt.from_host(ones);
  later.join();
  app.wait_idle();
  EXPECT_EQ(rt.to_host<float>(z), ones);
}

class Bare : public Adopted {
 protected:
  Bare() : Adopted({.api_version = VK_API_VERSION_1_1, .features = false}) {}
};

TEST_F(Bare, UsesNothingThatWasNotEnabled) {
  EXPECT_EQ(rt->api(), "1.1");
  EXPECT_FALSE(rt->target().features.int64);
  EXPECT_FALSE(rt->target().features.float64);
  EXPECT_FALSE(rt->target().features.addresses);
  EXPECT_LE(rt->target().features.version, 0x00010300u);
  // 64-bit integers are pairs of words then.
  const Array x = rt->from_host({std::int64_t{1} << 40, std::int64_t{-3}});
  EXPECT_EQ(rt->to_host<std::int64_t>(jit(*rt, [](const Array& v) { return v * v; })(x))[1], 9);
  const VulkanBuffer b = floats(1024, [](auto i) { return static_cast<float>(i); });
  EXPECT_EQ(rt->item<float>(
                jit(*rt, [](const Array& v) { return sum(v); })(array_in(*rt, b, 0, f32_1024))),
            1023.0f * 512);
}

TEST_F(Adopted, LocksTheQueueAroundEveryUse) {
  int locked = 0, depth = 0;
  VulkanDevice device = app.described();
  device.lock_queue = [&] { ++locked, ++depth; };
  device.unlock_queue = [&] { --depth; };
  {
    Runtime other = Runtime::adopt(device, watched());
    const int made = locked;  // asking how it rounds may take a dispatch
    const Array x = other.from_host({1.0f});
    EXPECT_EQ(other.item<float>(jit(other, [](const Array& v) { return v + 1.0f; })(x)), 2.0f);
    EXPECT_GT(locked, made);
  }
  EXPECT_EQ(depth, 0);
}

TEST_F(Adopted, LivesBesideRuntimesOfItsOwnAndOfOtherApplications) {
  App second;
  Runtime theirs = Runtime::adopt(second.described(), watched()), own;
  const auto twice = [](const Array& v) { return v * 2.0f; };
  for (Runtime* each : {&*rt, &theirs, &own})
    EXPECT_EQ(each->item<float>(jit(*each, twice)(each->from_host({21.0f}))), 42.0f);
  EXPECT_THAT(message([&] { jit(*rt, twice)(theirs.from_host({1.0f})); }),
              HasSubstr("another Runtime"));
  EXPECT_TRUE(second.messages().empty());
}

TEST_F(Adopted, SaysWhatIsMissing) {
  const VulkanDevice whole = app.described();
  VulkanDevice d = whole;
  d.queue = VK_NULL_HANDLE;
  EXPECT_THAT(message([&] { Runtime::adopt(d); }), HasSubstr("the VulkanDevice has no queue"));
  d = whole, d.get_instance_proc_addr = nullptr;
  EXPECT_THAT(message([&] { Runtime::adopt(d); }), HasSubstr("has no get_instance_proc_addr"));
  d = whole, d.api_version = VK_API_VERSION_1_0;
  EXPECT_THAT(message([&] { Runtime::adopt(d); }), HasSubstr("made for Vulkan 1.0 and 1.1"));
  d = whole, d.queue_family = 77;
  EXPECT_THAT(message([&] { Runtime::adopt(d); }), HasSubstr("none with number 77"));
  d = whole, d.lock_queue = [] {};
  EXPECT_THAT(message([&] { Runtime::adopt(d); }), HasSubstr("both or neither"));
}

TEST_F(Adopted, SaysWhatIsWrongWithABuffer) {
  const VulkanBuffer b = floats(1024, [](auto) { return 0.0f; });
  const auto says = [&](const VulkanBuffer& buffer, std::uint64_t offset, const char* what) {
    EXPECT_THAT(message([&] { array_in(*rt, buffer, offset, f32_1024); }), HasSubstr(what));
  };
  says(b, 16, "the offset is 16 and has to be a multiple of 256");
  says(b, 256, "at byte 256 takes 4096 bytes with its padding and the buffer has 4096");
  VulkanBuffer other = b;
  other.usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT;
  says(other, 0, "without the usage bits");
  says({}, 0, "there is no buffer");
  Runtime own;
  EXPECT_THAT(message([&] { array_in(own, b, 0, f32_1024); }), HasSubstr("Runtime::adopt"));
}

}  // namespace
}  // namespace gnomon::testing
