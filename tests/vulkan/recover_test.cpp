// tests/vulkan/recover_test.cpp -- a device that was lost and made again: what is said, what comes
// back, and calls that go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"
#include "tests/vulkan/app.h"
#include "tests/vulkan/faults.h"
// What may be used of Vulkan has to be known before.
#include "codegen/program/target.h"
#include "gnomon/aot.h"
#include "gnomon/gnomon.h"

namespace gnomon::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Recover : public ::testing::Test {
 protected:
  Recover() {
    faults().reset();
    faults().instance = nullptr;
    faults().queue = VK_NULL_HANDLE;
    options.vulkan_loader = reinterpret_cast<void (*)()>(&failing_function);
    options.cache = "off";
    options.on_log = [this](std::string_view line) {
      const std::lock_guard lock(mutex);
      log.emplace_back(line);
    };
  }
  void TearDown() override {
    faults().rest();
    if (rt) rt->clear_programs();
    if (rt) {
      EXPECT_EQ(rt->memory().live_ranges, 0u);
    }
    rt.reset();
    EXPECT_EQ(faults().objects(), 0) << faults().text();
  }
  void start() { rt.emplace(options); }

  /// What the DeviceLost says that f throws.
  template <class F>
  static std::string lost(F f) {
    try {
      f();
    } catch (const DeviceLost& e) {
      return e.what();
    } catch (const Error& e) {
      return std::string("another error: ") + e.what();
    }
    return "no error";
  }
  /// The device is lost by the next submission.
  std::string lose() {
    faults().arm(0, "vkQueueSubmit", VK_ERROR_DEVICE_LOST);
    const std::string said = lost([&] { rt->from_host({1.0f}) + 1.0f; });
    faults().rest();
    return said;
  }

  RuntimeOptions options;
  std::mutex mutex;
  std::vector<std::string> log;
  std::optional<Runtime> rt;
};

TEST_F(Recover, SaysOnceThatTheDeviceIsLostAndThenAlwaysTheSame) {
  start();
  const auto f = jit(*rt, [](const Array& v) { return v * 2.0f; });
  const Array x = rt->from_host({1.0f, 2.0f}), y = f(x);
  const std::string said = lose();
  EXPECT_THAT(said, AllOf(HasSubstr("is lost: vkQueueSubmit failed: VK_ERROR_DEVICE_LOST"),
                          HasSubstr("Runtime::recover()")));
  EXPECT_THAT(said, HasSubstr(rt->device_name()));
  EXPECT_EQ(lost([&] { f(x); }), said);
  EXPECT_EQ(lost([&] { rt->to_host<float>(y); }), said);
  EXPECT_EQ(lost([&] { rt->to_host<float>(x); }), said);
  EXPECT_EQ(lost([&] { rt->from_host({1.0f}); }), said);
  EXPECT_EQ(lost([&] { rt->wait(); }), said);
  EXPECT_EQ(lost([&] { jit(*rt, [](const Array& v) { return v - 3.0f; })(x); }), said);
  EXPECT_EQ(log, std::vector<std::string>{said});
}

TEST_F(Recover, ProgramsAndWhatCameFromTheHostComeBack) {
  for (const bool staging : {false, true}) {
    options.force_staging = staging;
    start();
    const Array weights = rt->from_host({3.0f, 5.0f});
    const Array table = rt->from_host(std::vector<float>(300, 0.25f));
    const auto f = jit(*rt, [&](const Array& v) { return sum(table) * v + weights; });
    const Array x = rt->from_host({1.0f, 2.0f});
    const std::vector<float> right{78.0f, 155.0f};
    EXPECT_EQ(rt->to_host<float>(f(x)), right);
    const Array y = f(x);
    EXPECT_EQ(rt->to_host<float>(x + 1.0f), (std::vector<float>{2, 3}));
    lose();
    const Counters before = rt->counters();
    rt->recover();
    EXPECT_EQ(rt->to_host<float>(x), (std::vector<float>{1, 2}));
    EXPECT_EQ(rt->to_host<float>(f(x)), right);
    EXPECT_EQ(rt->to_host<float>(x + 1.0f), (std::vector<float>{2, 3}));
    const Counters after = rt->counters();
    EXPECT_EQ(after.modules_emitted, before.modules_emitted);
    EXPECT_EQ(after.traces, before.traces);
    EXPECT_EQ(after.programs_compiled, before.programs_compiled);
    EXPECT_GT(after.pipelines, before.pipelines) << "of the new device";
    EXPECT_EQ(after.new_pipelines, before.new_pipelines);
    // What was computed is not there.
    for (const std::string& said :
         {lost([&] { rt->to_host<float>(y); }), lost([&] { f(y); }), lost([&] { y + 1.0f; }),
          lost([&] { rt->wait(y); }), lost([&] { y.block_until_ready(); })})
      EXPECT_THAT(said, AllOf(HasSubstr("the array f32[2]"), HasSubstr("compute it again")));
    // Nor is it when it happens once more.
    lose();
    rt->recover();
    EXPECT_EQ(rt->to_host<float>(f(x)), right);
    EXPECT_THAT(lost([&] { f(y); }), HasSubstr("was computed there"));
  }
}

TEST_F(Recover, DoesNothingToADeviceThatIsThere) {
  start();
  const Array y = rt->from_host({1.0f}) * 2.0f;
  const std::uint64_t objects = rt->counters().vulkan_objects;
  rt->recover();
  EXPECT_EQ(rt->counters().vulkan_objects, objects);
  EXPECT_EQ(rt->item<float>(y), 2.0f);
}

TEST_F(Recover, ArraysBeyondTheRoomForCopiesAreLost) {
  options.host_copies = 3000;
  start();
  const Array small = rt->from_host(std::vector<float>(500, 1.0f));
  const Array large = rt->from_host(std::vector<float>(500, 2.0f));
  {
    // What is gone makes room.
    Array moved = rt->from_host(std::vector<float>(250, 1.0f));
    moved = jit(*rt, [](const Array& v) { return v + 1.0f; })(std::move(moved));
    lose();
    rt->recover();
    EXPECT_THAT(lost([&] { rt->to_host<float>(moved); }), HasSubstr("was computed there"));
  }
  EXPECT_EQ(rt->to_host<float>(small)[499], 1.0f);
  EXPECT_THAT(lost([&] { rt->to_host<float>(large); }),
              AllOf(HasSubstr("the array f32[500]"), HasSubstr("host_copies (2.9 KiB)"),
                    HasSubstr("bring it again by from_host")));
  const Array third = rt->from_host(std::vector<float>(250, 3.0f));
  lose();
  rt->recover();
  EXPECT_EQ(rt->to_host<float>(third)[249], 3.0f);
}

TEST_F(Recover, LoadedProgramsComeBackWithWhatTheyCaptured) {
  const TemporaryFolder folder;
  const std::string file = (folder / "recover.gnomon").string();
  options.host_copies = 0;
  start();
  {
    const Array weights = rt->from_host({3.0f, 5.0f});
    const auto f = jit(*rt, [&](const Array& v) { return sum(v * weights) + v; });
    aot::save(file, {{"f", f.lower(rt->from_host({1.0f, 2.0f}))}});
  }
  rt->clear_programs();
  rt.emplace(Runtime::without_compiler(options));
  {
    const auto f = aot::load<Array(Array)>(*rt, file);
    EXPECT_EQ(rt->to_host<float>(f(rt->from_host({1.0f, 2.0f}))), (std::vector<float>{14, 15}));
    faults().arm(0, "vkQueueSubmit", VK_ERROR_DEVICE_LOST);
    EXPECT_THAT(lost([&] { f(rt->from_host({1.0f, 2.0f})); }), HasSubstr("Runtime::recover()"));
    faults().rest();
    rt->recover();
    EXPECT_EQ(rt->to_host<float>(f(rt->from_host({1.0f, 2.0f}))), (std::vector<float>{14, 15}));
    EXPECT_EQ(rt->counters().modules_emitted, 0u);
  }
}

TEST_F(Recover, MayFailAtEveryCallAndBeTriedAgain) {
  options.force_staging = true;
  start();
  const Array x = rt->from_host({1.0f, 2.0f});
  const auto f = jit(*rt, [](const Array& v) { return sum(v * v) + v; });
  const std::vector<float> right{6, 7};
  EXPECT_EQ(rt->to_host<float>(f(x)), right);
  lose();
  faults().arm(-1);
  rt->recover();
  const int calls = faults().calls;
  EXPECT_GT(calls, 8);
  int failures = 0;
  for (int k = 0; k < calls; ++k) {
    lose();
    faults().arm(k);
    bool made = true;
    try {
      rt->recover();
    } catch (const DeviceError& e) {
      made = false;
      EXPECT_THAT(e.what(), HasSubstr("failed: VK_ERROR"));
    }
    const std::string which = std::to_string(k) + " " + faults().failed;
    faults().rest();
    // Staging memory is asked for in smaller pieces, for instance.
    if (made) {
      EXPECT_EQ(rt->to_host<float>(f(x)), right) << which;
      continue;
    }
    ++failures;
    EXPECT_THAT(lost([&] { f(x); }), HasSubstr("Runtime::recover()")) << which;
    rt->recover();
    EXPECT_EQ(rt->to_host<float>(f(x)), right) << which;
  }
  EXPECT_GT(failures, 6);
  // It may go while there is no device at all.
  lose();
  faults().arm(0, "vkCreateDevice");
  EXPECT_THROW(rt->recover(), DeviceError);
}

TEST_F(Recover, IsRefusedForAnApplicationsDevice) {
  App app({.validate = false});
  Runtime theirs = Runtime::adopt(app.described());
  try {
    theirs.recover();
    ADD_FAILURE() << "made another's device";
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("make a device, and adopt that"));
  }
}

// ---- calls that go on

/// A step of a loop whose lanes need what all of them have made; their sum grows by 1e-4 for each.
Array mixed(const Array& u) {
  return u * 0.999f + sum(u) * (1e-3f / static_cast<float>(u.size())) + 1e-4f;
}

struct Long {
  const char* name;
  Array (*f)(const Array&);
  std::size_t lanes;
  std::vector<std::uint64_t> at;  // steps behind which the device is lost
};

/// 10^6 steps of a kernel, slice by slice.
Array sliced(const Array& v) {
  struct State {
    Array u, n;
  };
  const auto step = [](State s) {
    for (int i = 0; i < 40; ++i) s.u = s.u * 0.9999f + 1e-4f;
    return State{s.u, s.n + 1};
  };
  return while_loop([](const State& s) { return s.n < 1'000'000; }, step,
                    State{v, zeros({}, DType::i32)}, {.max_steps = unbounded})
             .u *
         2.0f;
}
/// A loop whose length the device decides, one workgroup for 20,000 steps.
Array played(const Array& v) {
  return while_loop([](const Array& u) { return sum(u) < 9400.0f; }, mixed, v,
                    {.max_steps = 1'000'000}) +
         v;
}
/// The same as several kernels a step, 600 times.
Array gated(const Array& v) {
  return while_loop([](const Array& u) { return sum(u) < 23460.0f; }, mixed, v,
                    {.max_steps = 1'000'000}) +
         v;
}
/// As many steps as are known, of several kernels.
Array counted(const Array& v) {
  return fori_loop(
             0, 1000, [](const Array&, const Array& u) { return mixed(u); }, v) +
         v;
}
/// Loops one behind the other.
Array several(const Array& v) { return counted(gated(v) * 1e-4f) + v; }

class Resume : public Recover, public ::testing::WithParamInterface<Long> {
 protected:
  Resume() {
    options.resumable = true;
    options.checkpoint_ms = 0;
    options.time_slice_ms = 1;
  }
  static std::vector<float> elements(std::size_t n) {
    std::vector<float> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = 0.25f + 0.001f * static_cast<float>(i % 97);
    return v;
  }
};

TEST_P(Resume, GoesOnFromTheLastFinishedSlice) {
  // As if nothing could happen.
  std::vector<float> right;
  {
    RuntimeOptions plain;
    plain.cache = "off";
    Runtime other(plain);
    right =
        other.to_host<float>(jit(other, GetParam().f)(other.from_host(elements(GetParam().lanes))));
  }
  start();
  const auto f = jit(*rt, GetParam().f);
  const Array x = rt->from_host(elements(GetParam().lanes));
  EXPECT_EQ(rt->to_host<float>(f(x)), right) << "checkpoints change nothing";
  for (const std::uint64_t at : GetParam().at) {
    std::uint64_t last = 0;
    const auto falling = f.with({.on_step = [&](const Progress& p) {
      last = p.steps;
      if (p.steps >= at && faults().failing < 0)
        faults().arm(0, "vkQueueSubmit", VK_ERROR_DEVICE_LOST);
    }});
    EXPECT_THAT(lost([&] { falling(x); }), HasSubstr("is lost")) << at;
    EXPECT_GE(last, at);
    faults().rest();
    rt->recover();
    std::uint64_t first = 0;
    const auto going_on = f.with({.on_step = [&](const Progress& p) {
      if (first == 0) first = p.steps;
    }});
    EXPECT_EQ(rt->to_host<float>(going_on(x)), right) << at;
    // What was under way at the last report may have ended the loop: then nothing is left to
    // report, while whoever begins with the first step reports a few steps first.
    EXPECT_TRUE(first == 0 || first >= last) << "began with step " << first << " of " << last;
  }
}

INSTANTIATE_TEST_SUITE_P(Loops, Resume,
                         ::testing::Values(Long{"Played", played, 4096, {2000, 9000}},
                                           Long{"Gated", gated, 65536, {30, 250}},
                                           Long{"Counted", counted, 65536, {100, 600}}),
                         [](const auto& p) { return p.param.name; });

class ResumeTest : public Resume {};

TEST_F(ResumeTest, GoesOnInTheMiddleOfAMillionSteps) {
  for (const std::size_t lanes : {1, 16}) {
    start();
    const auto f = jit(*rt, &sliced);
    const Array x = rt->from_host(elements(lanes));
    const std::vector<float> right = rt->to_host<float>(f(x));
    faults().arm(-1, "vkQueueSubmit");
    EXPECT_EQ(rt->to_host<float>(f(x)), right);
    const std::uint64_t all = faults().commands;
    const int submissions = faults().calls;
    ASSERT_GE(submissions, 3);
    // Slices by time are fewer or more from call to call.
    for (const int at : {0, 2, rt->target().loop_budget > 0 ? submissions - 1 : 1}) {
      faults().arm(at, "vkQueueSubmit", VK_ERROR_DEVICE_LOST);
      EXPECT_THAT(lost([&] { f(x); }), HasSubstr("is lost")) << at;
      faults().rest();
      rt->recover();
      faults().arm(-1, "vkQueueSubmit");
      EXPECT_EQ(rt->to_host<float>(f(x)), right) << at;
      // Slices of as many trips as the driver allows are always as many.
      if (at >= 2 && rt->target().loop_budget > 0) {
        EXPECT_LT(faults().commands, all) << at;
      }
    }
  }
}

TEST_F(ResumeTest, BringsBackTheArgumentsOfTheCall) {
  start();
  const auto f = jit(*rt, &gated);
  const Array x = rt->from_host(elements(65536)) * 0.5f;  // on the device only
  const std::vector<float> before = rt->to_host<float>(x), right = rt->to_host<float>(f(x));
  const Array y = x + 1.0f;
  faults().arm(6, "vkQueueSubmit", VK_ERROR_DEVICE_LOST);
  EXPECT_THAT(lost([&] { f(x); }), HasSubstr("is lost"));
  faults().rest();
  rt->recover();
  EXPECT_EQ(rt->to_host<float>(x), before);
  EXPECT_THAT(lost([&] { rt->to_host<float>(y); }), HasSubstr("was computed there"));
  // Another call of the same function in between.
  const Array other = rt->from_host(elements(65536));
  const std::vector<float> others = rt->to_host<float>(f(other));
  EXPECT_NE(others, right);
  EXPECT_EQ(rt->to_host<float>(f(x)), right);
  EXPECT_EQ(rt->to_host<float>(f(other)), others);
}

TEST_F(ResumeTest, LosesTheDeviceAgainAndAgainInAllLoopsOfACall) {
  start();
  const auto f = jit(*rt, &several);
  const Array x = rt->from_host(elements(65536));
  const std::vector<float> right = rt->to_host<float>(f(x));
  int losses = 0;
  for (std::vector<float> got; got.empty();) {
    faults().arm(4, "vkWaitForFences", VK_ERROR_DEVICE_LOST);
    try {
      got = rt->to_host<float>(f(x));
      EXPECT_EQ(got, right);
    } catch (const DeviceLost&) {
      ASSERT_LT(++losses, 1000) << "it never ends";
      faults().rest();
      rt->recover();
    }
  }
  EXPECT_GT(losses, 2);
}

TEST_F(ResumeTest, TakesMovedArgumentsAndTellsHowFarItIs) {
  start();
  const auto f = jit(*rt, &gated);
  const std::vector<float> right = rt->to_host<float>(f(rt->from_host(elements(65536))));
  Array x = rt->from_host(elements(65536));
  std::uint64_t reached = 0;
  rt->on_step([&](const Progress& p) { reached = p.steps; });
  faults().arm(6, "vkQueueSubmit", VK_ERROR_DEVICE_LOST);
  EXPECT_THAT(lost([&] { f(std::move(x)); }), HasSubstr("is lost"));
  faults().rest();
  ASSERT_FALSE(x.empty());
  EXPECT_GT(reached, 0u);
  const std::uint64_t before = std::exchange(reached, 0);
  rt->recover();
  std::uint64_t first = 0;
  rt->on_step([&](const Progress& p) { first = first == 0 ? p.steps : first; });
  EXPECT_EQ(rt->to_host<float>(f(std::move(x))), right);
  EXPECT_TRUE(first == 0 || first >= before) << first << " of " << before;
  EXPECT_TRUE(x.empty());
}

TEST_F(ResumeTest, MakesTheDeviceAgainWhileItsHandlerIsCalled) {
  start();
  const auto f = jit(*rt, &gated);
  const Array x = rt->from_host(elements(65536));
  const std::vector<float> right = rt->to_host<float>(f(x));
  bool once = true;
  rt->on_step([&](const Progress&) {
    if (!std::exchange(once, false)) return;
    lose();
    rt->recover();
  });
  EXPECT_THAT(lost([&] { f(x); }), HasSubstr("made again while it ran"));
  EXPECT_EQ(rt->to_host<float>(f(x)), right);
}

}  // namespace
}  // namespace gnomon::testing
