// tests/engine/jit_test.cpp -- jit: caching, retraces, donation, captures, sharing, errors.
#include "gnomon/jit.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "gnomon/gnomon.h"
#include "shaders/spirv/tools.h"
#include "tests/engine/fixture.h"
#include "tests/support/temporary_folder.h"

namespace gnomon::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct State {
  Array position, velocity;
  float damping = 0.5f;
};

class Jit : public DeviceTest {
 protected:
  Array vector(std::vector<float> values) { return rt.from_host(values); }
};

TEST_F(Jit, ComputesWhatTheFunctionSays) {
  auto f = jit(rt, [](const Array& x, const Array& y) { return x * y + 1; });
  EXPECT_EQ(rt.to_host<float>(f(vector({1, 2, 3}), vector({4, 5, 6}))),
            (std::vector<float>{5, 11, 19}));
}

TEST_F(Jit, ReturnsAnInputUnchanged) {
  auto f = jit(rt, [](const Array& x) { return std::pair{x, x}; });
  const auto [a, b] = f(vector({1, 2}));
  EXPECT_EQ(rt.to_host<float>(a), (std::vector<float>{1, 2}));
  EXPECT_EQ(rt.to_host<float>(b), (std::vector<float>{1, 2}));
}

TEST_F(Jit, TracesOncePerSignature) {
  auto f = jit(rt, [](const Array& x) { return x + 1; });
  const Array three = vector({1, 2, 3}), two = vector({1, 2});
  for (int i = 0; i < 3; ++i) f(three);
  f(two);
  f(three);
  const CacheInfo info = f.cache_info();
  EXPECT_EQ(info.traces, 2u);
  EXPECT_EQ(info.misses, 2u);
  EXPECT_EQ(info.hits, 3u);
}

TEST_F(Jit, CreatesNothingOnACacheHit) {
  auto f = jit(rt, [](const Array& x) { return x + 1; });
  const Array x = rt.from_host(std::vector<float>(16, 1.0f));
  rt.wait(f(x));
  const Counters before = rt.counters();
  for (int i = 0; i < 100; ++i) rt.wait(f(x));
  const Counters after = rt.counters();
  EXPECT_EQ(after.vulkan_objects, before.vulkan_objects);
  EXPECT_EQ(after.device_allocations, before.device_allocations);
  EXPECT_EQ(after.traces, before.traces);
  EXPECT_EQ(after.submissions, before.submissions + 100);
}

TEST_F(Jit, TracesAgainForAnotherStaticValue) {
  auto f = jit(rt, [](const State& s) { return s.position * s.damping; });
  const Array x = vector({2});
  EXPECT_EQ(rt.item<float>(f(State{x, x, 0.5f})), 1.0f);
  EXPECT_EQ(rt.item<float>(f(State{x, x, 2.0f})), 4.0f);
  EXPECT_EQ(f.cache_info().traces, 2u);
}

TEST_F(Jit, RefusesOneTraceTooManyAndSaysWhatChanged) {
  auto f = jit(rt, [](const State& s) { return s.position + s.velocity; },
               {.name = "step", .max_traces = 1});
  const Array a = vector({1, 2}), b = vector({1, 2, 3});
  f(State{a, a});
  EXPECT_THAT(usage_message([&] {
                f(State{b, b});
              }),
              HasSubstr("gnomon::jit: `step` traced a 2nd time (limit 1): argument 0 `.position` "
                        "was f32[2], is f32[3]"));
  EXPECT_EQ(rt.to_host<float>(f(State{a, a})), (std::vector<float>{2, 4}));
}

TEST_F(Jit, CompilesNothingForAFreshLambdaOfTheSameGraph) {
  const Array x = vector({1, 2, 3});
  const auto make = [&] { return jit(rt, [](const Array& a) { return sin(a) + 1; }); };
  auto first = make();
  first(x);
  const Counters before = rt.counters();
  auto second = make();
  second(x);
  EXPECT_EQ(second.cache_info().shared, 1u);
  EXPECT_EQ(rt.counters().programs_compiled, before.programs_compiled);
  EXPECT_EQ(rt.counters().pipelines, before.pipelines);
}

TEST_F(Jit, KeepsCapturedArraysAliveAndAsTheyWere) {
  auto make = [&] {
    const Array weights = vector({10, 20});
    return jit(rt, [weights](const Array& x) { return x * weights; });
  };
  auto f = make();
  EXPECT_EQ(rt.to_host<float>(f(vector({1, 2}))), (std::vector<float>{10, 40}));
  EXPECT_EQ(rt.to_host<float>(f(vector({3, 4}))), (std::vector<float>{30, 80}));
}

TEST_F(Jit, RunsAOneOffWithCapturedArrays) {
  const Array x = vector({1, 2}), y = vector({5, 6});
  EXPECT_EQ(rt.to_host<float>(rt.run([&] { return x + y; })), (std::vector<float>{6, 8}));
}

TEST_F(Jit, InlinesACallInsideATrace) {
  auto inner = jit(rt, [](const Array& x) { return x * 2; }, {.name = "inner"});
  auto outer = jit(rt, [&](const Array& x) { return inner(x) + 1; }, {.name = "outer"});
  EXPECT_EQ(rt.item<float>(outer(vector({3}))), 7.0f);
  EXPECT_EQ(inner.cache_info().traces, 0u);
}

TEST_F(Jit, TakesOverWhatIsMovedIn) {
  auto step = jit(rt, [](const State& s) {
    return State{s.position + s.velocity, s.velocity * s.damping, s.damping};
  });
  State state{vector({0, 0}), vector({8, 4})};
  for (int i = 0; i < 3; ++i) state = step(std::move(state));
  EXPECT_EQ(rt.to_host<float>(state.position), (std::vector<float>{14, 7}));
  State moved{vector({0, 0}), vector({1, 1})};
  const State next = step(std::move(moved));
  EXPECT_TRUE(moved.position.empty());  // NOLINT: the claim
  EXPECT_THAT(usage_message([&] { step(moved); }),
              HasSubstr("argument 0 `.position` of `function` is an empty Array"));
}

TEST_F(Jit, TakesAnArrayThatIsMovedInBesideItself) {
  auto f = jit(rt, [](const Array& x, const Array& y) { return x + 2 * y; });
  auto g = jit(rt, [](const State& s, const Array& x) { return s.velocity - x; });
  const std::vector<float> thrice{9, 12};
  for (int time = 0; time < 2; ++time) {  // traced, and found
    Array first = vector({3, 4}), second = vector({3, 4}), both = vector({3, 4});
    // NOLINTBEGIN: one object, of which the call decides what becomes
    EXPECT_EQ(rt.to_host<float>(f(std::move(first), first)), thrice);
    EXPECT_EQ(rt.to_host<float>(f(second, std::move(second))), thrice);
    EXPECT_EQ(rt.to_host<float>(f(std::move(both), std::move(both))), thrice);
    EXPECT_TRUE(first.empty() && second.empty() && both.empty());
    State s{vector({1, 2}), vector({5, 6})};
    EXPECT_EQ(rt.to_host<float>(g(std::move(s), s.position)), (std::vector<float>{4, 4}));
    // NOLINTEND
  }
}

TEST_F(Jit, LoopsOverwriteACarryThatIsMovedIn) {
  struct Carry {
    Array matrix;
    std::vector<Array> rows;
    Array count;
  };
  const auto step = [](const Carry& c, const Array& x) {
    Carry next{0.5f * matmul(c.matrix, c.matrix) + x, {}, c.count + 1};
    for (const Array& row : c.rows) next.rows.push_back(row + matmul(c.matrix, row));
    return std::pair{next, sum(next.rows.back())};
  };
  const auto f = jit(rt, [&](const Carry& c, const Array& xs) { return scan(step, c, xs); });
  const Array xs = vector({0, 1, 2});
  constexpr Dim n = 256;  // too much for one workgroup
  const auto start = [&] {
    Carry c{rt.from_host(std::vector<float>(n * n, 0.01f), {n, n}), {}, rt.from_host(0)};
    for (float v : {1.0f, 2.0f, 3.0f})
      c.rows.push_back(rt.from_host(std::vector<float>(n, v), {n}));
    return c;
  };
  const Carry kept = start();
  const auto wanted = f(kept, xs);
  EXPECT_EQ(rt.counters().donated, 0u);
  Carry given = start();
  std::vector<const Storage*> before;
  tree::for_each_leaf(given, [&](const Array& a) { before.push_back(a.storage().get()); });
  const auto got = f(std::move(given), xs);
  EXPECT_EQ(rt.counters().donated, 5u);
  std::size_t i = 0;
  tree::for_each_leaf(got.first,
                      [&](const Array& a) { EXPECT_EQ(a.storage().get(), before[i++]); });
  EXPECT_EQ(rt.to_host<float>(got.first.rows[2]), rt.to_host<float>(wanted.first.rows[2]));
  EXPECT_EQ(rt.to_host<float>(got.first.matrix), rt.to_host<float>(wanted.first.matrix));
  EXPECT_EQ(rt.to_host<float>(got.second), rt.to_host<float>(wanted.second));
  EXPECT_EQ(rt.item<std::int32_t>(got.first.count), 3);
  EXPECT_EQ(rt.to_host<float>(kept.rows[0])[0], 1.0f);
}

TEST_F(Jit, CopiesAMovedArrayThatSomebodyElseHolds) {
  auto f = jit(rt, [](const Array& x) { return x + 1; });
  Array mine = vector({1});
  Array given = mine;
  EXPECT_EQ(rt.item<float>(f(std::move(given))), 2.0f);
  EXPECT_EQ(rt.item<float>(mine), 1.0f);
  EXPECT_EQ(rt.counters().shared_donations, 1u);
}

TEST_F(Jit, GivesArgumentsBackWhenTheCallFails) {
  auto f = jit(rt, [](const Array& x) { return x + 1; });
  Runtime other(validated());
  Array foreign = other.from_host(std::vector<float>{1});
  f(vector({1}));
  EXPECT_THAT(usage_message([&] { f(std::move(foreign)); }),
              HasSubstr("belongs to another Runtime"));
  EXPECT_FALSE(foreign.empty());
}

TEST_F(Jit, NamesWhichArrayBelongsToAnotherRuntime) {
  Runtime other(validated());
  const State foreign{vector({1}), other.from_host({1.0f})};
  const auto f =
      jit(rt, [](const Array& x, const State& s) { return x + s.velocity; }, {.name = "f"});
  EXPECT_THAT(usage_message([&] { f(vector({1}), foreign); }),
              AllOf(HasSubstr("gnomon::jit: argument 1 `.velocity` of `f` is f32[1] and belongs to "
                              "another Runtime than the one that is asked; bring its elements"),
                    HasSubstr("(jit_test.cpp:")));
  EXPECT_EQ(f.cache_info().traces, 0u);
  const Array theirs = foreign.velocity;
  const auto g = jit(rt, [&](const Array& x) { return x + theirs; }, {.name = "g"});
  EXPECT_THAT(
      usage_message([&] { g(vector({1})); }),
      AllOf(HasSubstr("an array that `g` captures is f32[1] and belongs to another Runtime"),
            HasSubstr("(jit_test.cpp:")));
  for (const std::string& said :
       {usage_message([&] { rt.to_host<float>(theirs); }),
        usage_message([&] { rt.item<float>(theirs); }), usage_message([&] { rt.wait(theirs); })})
    EXPECT_THAT(said, AllOf(HasSubstr("the array is f32[1] and belongs to another Runtime"),
                            HasSubstr("(jit_test.cpp:")));
}

TEST_F(Jit, StaysUsableWhenTheFunctionThrows) {
  bool fail = true;
  auto f = jit(rt, [&](const Array& x) {
    if (fail) throw std::runtime_error("mine");
    return x + 1;
  });
  const Array x = vector({1});
  EXPECT_THROW(f(x), std::runtime_error);
  fail = false;
  EXPECT_EQ(rt.item<float>(f(x)), 2.0f);
}

TEST_F(Jit, LeavesAloneWhatTheHostBringsWhileACallRunsWhoseResultWasDropped) {
  // A call without steps has a result, too: it takes the memory of the call that is under way.
  const auto none = jit(rt, [](const Array& x) { return slice_axis(x, 0, 0, 0); });
  const auto slow = jit(rt, [](const Array& x) {
    return x + while_loop([](const Array& v) { return v < 1e7f; },
                          [](const Array& v) { return v + 1.0f + 0.0f * sin(v); }, sum(x),
                          {.max_steps = 4000000});
  });
  const Array zeros = rt.from_host(std::vector<float>(6));
  rt.wait(slow(zeros));
  rt.wait(none(zeros));
  const Array below = rt.from_host(std::vector<float>(6));
  Array hole = rt.from_host(std::vector<float>(6));
  const Array above = rt.from_host(std::vector<float>(6));
  hole = Array();
  slow(zeros);
  none(zeros);
  const std::vector<float> mine{1, 2, 3, 4, 5, 6};
  const Array x = rt.from_host(mine);
  rt.wait();
  EXPECT_EQ(rt.to_host<float>(x), mine);
}

TEST_F(Jit, MayBeCalledFromSeveralThreads) {
  auto f = jit(rt, [](const Array& x) { return x * 3 - 1; });
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const float x = static_cast<float>(100 * t) + static_cast<float>(i);
        const Array y =
            f(rt.from_host(std::vector<float>(static_cast<std::size_t>(10 + i % 3), x)));
        wrong[t] += rt.to_host<float>(y)[0] != 3 * x - 1;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
  EXPECT_EQ(f.cache_info().traces, 3u);
}

TEST_F(Jit, ShowsItsStages) {
  auto f = jit(rt, [](const Array& x) { return x + 1; }, {.name = "increment"});
  EXPECT_THAT(usage_message([&] { f.text("graph"); }), HasSubstr("`increment` was not called yet"));
  f(vector({1, 2}));
  EXPECT_THAT(f.text("graph"), HasSubstr("add"));
  EXPECT_THAT(f.text("kernel"), HasSubstr("kernel"));
  EXPECT_THAT(f.text("spirv"), HasSubstr(spirv::has_tools() ? "OpEntryPoint" : "no SPIRV-Tools"));
  EXPECT_THAT(f.text("plan"), HasSubstr("dispatch"));
  EXPECT_THAT(usage_message([&] { f.text("nonsense"); }),
              HasSubstr("there is no stage `nonsense`"));
  EXPECT_EQ(f.kernel_count(), 1);
}

TEST_F(Jit, ResultsOutliveTheRuntime) {
  Array y;
  {
    Runtime mine(validated());
    auto f = jit(mine, [](const Array& x) { return x + 1; });
    y = f(mine.from_host(std::vector<float>{1}));
  }
  EXPECT_TRUE(y.concrete());
}

// ---- what the environment asks for

TEST(JitLog, ExplainsARetraceAndACapture) {
  const Variable variable("GNOMON_LOG", "retrace,capture,cache,timing");
  Runtime rt(validated());
  const Array w = rt.from_host({2.0f, 3.0f}, {2});
  auto f = jit(rt, [w](const Array& x) { return x * w; }, {.name = "scale"});
  ::testing::internal::CaptureStderr();
  f(rt.from_host({1.0f, 1.0f}, {2}));
  f(rt.from_host({1.0f, 1.0f}, {1, 2}));
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(
      log,
      HasSubstr("gnomon: retrace: `scale` traced a 2nd time: argument 0 was f32[2], is f32[1,2]"));
  EXPECT_THAT(log, HasSubstr("gnomon: capture: `scale` captured f32[2]"));
  EXPECT_THAT(log, HasSubstr("gnomon: cache: `scale` compiled"));
  EXPECT_THAT(log, HasSubstr("gnomon: timing: `scale` trace"));
}

TEST(JitDump, WritesOneFilePerStage) {
  const TemporaryFolder folder;
  const Variable stages("GNOMON_DUMP", "traced,passes,graph,fusion,kernel,spirv,memory,plan"),
      where("GNOMON_DUMP_DIR", folder.path.string());
  Runtime rt(validated());
  jit(rt, [](const Array& x) { return x + 1; }, {.name = "increment"})(rt.from_host(1.0f));
  for (const char* stage :
       {"traced", "passes", "graph", "fusion", "kernel", "spirv", "memory", "plan"}) {
    const auto file = folder / (std::string("increment.1.") + stage);
    EXPECT_TRUE(std::filesystem::exists(file)) << file;
    EXPECT_GT(std::filesystem::file_size(file), 0u) << file;
  }
  // Another function of that name leaves them alone.
  jit(rt, [](const Array& x) { return x + 2; }, {.name = "increment"})(rt.from_host(1.0f));
  EXPECT_TRUE(std::filesystem::exists(folder / "increment.2.graph"));
}

TEST(JitMemory, IsReportedByCallAndByValue) {
  Runtime rt(validated());
  {
    const Array x = rt.from_host(std::vector<float>(64 * 64, 1.0f), {64, 64});
    auto f = jit(rt, [](const Array& a) { return sum(matmul(matmul(a, a), a)); });
    EXPECT_THROW(f.memory_report(), UsageError);
    f(x);
    const MemoryReport report = f.memory_report();
    EXPECT_EQ(report.inputs, 16384u);
    EXPECT_EQ(report.outputs, 4u);
    EXPECT_EQ(report.arena, f.arena_bytes());
    EXPECT_EQ(report.peak(), 16388 + report.constants + report.arena);
    ASSERT_FALSE(report.values.empty());
    EXPECT_GE(report.values[0].bytes, 16384u);
    EXPECT_THAT(report.values[0].what, HasSubstr("f32[64,64]"));
    EXPECT_THAT(report.values[0].where, HasSubstr("jit_test.cpp:"));
    for (const MemoryReport::Value& v : report.values) {
      EXPECT_LE(v.bytes, report.values[0].bytes);
      EXPECT_LE(v.offset + v.bytes, report.arena);
    }
    EXPECT_THAT(to_string(report), HasSubstr("inputs 16.0 KiB"));
    EXPECT_THAT(to_string(report), HasSubstr("f32[64,64] (jit_test.cpp:"));
    EXPECT_THAT(to_string(report, 0), HasSubstr("smaller ones"));
  }
  rt.clear_programs();
  expect_clean(rt);
}

// What a forward pass keeps for the backward pass is computed again instead.
TEST(JitMemory, ALimitIsKeptByComputingAgain) {
  Runtime rt(validated());
  {
    const auto loss = [](const Array& w, const Array& x) {
      const auto layer = [&](const Array& y, None) {
        return std::pair{tanh(matmul(y, w)) + y * 0.5f, none};
      };
      return sum(scan(layer, x, none, {.length = 200, .kind = LoopKind::stored}).first);
    };
    const Array w = rt.from_host(std::vector<float>(32 * 32, 0.01f), {32, 32});
    const Array x = rt.from_host(std::vector<float>(32, 0.5f), {32});
    auto free = jit(rt, grad(loss), {.name = "free"});
    const std::vector<float> want = rt.to_host<float>(free(w, x));
    const std::uint64_t peak = free.memory_report().peak();
    auto limited = jit(rt, grad(loss), {.name = "limited", .memory_limit = peak - 1});
    const std::vector<float> got = rt.to_host<float>(limited(w, x));
    EXPECT_LE(limited.memory_report().peak() + 200 * 32 * sizeof(float), peak);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_NEAR(got[i], want[i], 1e-4 * (1 + std::abs(want[i])));
  }
  rt.clear_programs();
  expect_clean(rt);
}

TEST(JitMemory, LimitIsCheckedBeforeAnythingIsTaken) {
  Runtime rt(validated());
  {
    const Array x = rt.from_host(std::vector<float>(64 * 64, 1.0f), {64, 64});
    const auto f = [](const Array& a) { return sum(matmul(matmul(a, a), a)); };
    auto narrow = jit(rt, f, {.name = "narrow", .memory_limit = 20000});
    const std::uint64_t live = rt.memory().live_bytes;
    for (int call = 0; call < 2; ++call) {
      const std::string message = usage_message([&] { narrow(x); });
      EXPECT_THAT(message, HasSubstr("a call of `narrow` needs "));
      EXPECT_THAT(message, HasSubstr("more than its memory_limit of 19.5 KiB"));
      EXPECT_THAT(message, HasSubstr("f32[64,64] (jit_test.cpp:"));
      EXPECT_EQ(rt.memory().live_bytes, live);
    }
    // Others are not concerned, and what they compiled is no way around the limit.
    EXPECT_EQ(rt.to_host<float>(jit(rt, f)(x))[0], 64.0f * 64 * 64 * 64);
    EXPECT_THROW(narrow(x), UsageError);
    auto wide = jit(rt, f, {.memory_limit = 1 << 20});
    EXPECT_EQ(rt.to_host<float>(wide(x))[0], 64.0f * 64 * 64 * 64);
    EXPECT_LE(wide.memory_report().peak(), 1u << 20);
  }
  rt.clear_programs();
  expect_clean(rt);
}

TEST(JitMemory, IsReportedOfACallThatTheLimitRefused) {
  Runtime rt(validated());
  {
    const Array x = rt.from_host(std::vector<float>(64 * 64, 1.0f), {64, 64});
    const auto f = [](const Array& a) { return sum(matmul(matmul(a, a), a)); };
    auto narrow = jit(rt, f, {.name = "narrow", .memory_limit = 20000});
    const auto look = [&] {
      EXPECT_THROW(narrow(x), UsageError);
      EXPECT_GT(narrow.memory_report().peak(), 20000u);
      EXPECT_FALSE(narrow.memory_report().values.empty());
      EXPECT_GT(narrow.kernel_count(), 0);
      EXPECT_GT(narrow.arena_bytes(), 0u);
      EXPECT_THAT(narrow.text("graph"), HasSubstr("dot"));
      EXPECT_THAT(usage_message([&] { narrow.text("spirv"); }),
                  HasSubstr("the newest call of `narrow` was refused by its memory_limit"));
    };
    look();
    // Of the newest trace, whatever was before.
    narrow(rt.from_host(std::vector<float>(16, 1.0f), {4, 4}));
    EXPECT_LE(narrow.memory_report().peak(), 20000u);
    look();
  }
  rt.clear_programs();
  expect_clean(rt);
}

TEST(JitMemory, DropsUnusedProgramsWhenMemoryRunsOut) {
  RuntimeOptions options = validated();
  options.memory_limit = options.block_bytes = 1 << 20;
  Runtime rt(options);
  // Each program keeps an arena of a sixth of the memory, and nothing calls it any more when the
  // next one is made.
  for (Dim n = 200; n < 210; ++n) {
    const Array x = rt.from_host(std::vector<float>(static_cast<std::size_t>(n * n), 1.0f), {n, n});
    auto f = jit(rt, [](const Array& a) { return matmul(matmul(a, a), a); });
    EXPECT_EQ(rt.to_host<float>(f(x))[0], static_cast<float>(n * n));
    EXPECT_GT(f.arena_bytes(), 150000u);
  }
  rt.clear_programs();
  expect_clean(rt);
}

}  // namespace
}  // namespace gnomon::testing
