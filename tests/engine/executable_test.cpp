// tests/engine/executable_test.cpp -- programs made by hand, before any compiler is involved.
#include "engine/runtime/executable.h"

#include <gmock/gmock.h>

#include <cstring>
#include <numeric>

#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

using ::testing::HasSubstr;

class Executables : public DeviceTest {
 protected:
  std::vector<float> counting(std::size_t n, float start = 0) {
    std::vector<float> values(n);
    std::iota(values.begin(), values.end(), start);
    return values;
  }

  Program addition(std::uint32_t n, std::uint32_t group_size = 64) {
    Program program;
    program.name = "addition";
    program.inputs = {f32(n), f32(n)};
    program.outputs = {f32(n)};
    program.kernels = {add_kernel(group_size)};
    program.steps = {dispatch(program, 0, n, {input(0), input(1), output(0)})};
    return program;
  }

  // in -> 2 in -> 4 in, through the arena; the second step needs a barrier.
  Program chained(std::uint32_t n, bool barrier, bool texel = false) {
    Program program;
    program.name = "chained";
    program.inputs = {f32(n)};
    program.outputs = {f32(n)};
    program.kernels = {double_kernel(texel)};
    program.arena_bytes = 4 * n;
    program.allocations = {{"twice", {}, 0, 4 * n, 0, 1}};
    program.steps = {dispatch(program, 0, n, {input(0), arena(0)}),
                     dispatch(program, 0, n, {arena(0), output(0)}, barrier)};
    return program;
  }
};

TEST_F(Executables, RunAProgramWithoutStepsAndOutputs) {
  Program program;
  EXPECT_TRUE(run(program, {}).empty());
}

TEST_F(Executables, AddTwoArrays) {
  const auto out =
      run(addition(1000), {rt.from_host(counting(1000)), rt.from_host(counting(1000, 5))});
  const auto values = rt.to_host<float>(out[0]);
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], 2.0f * static_cast<float>(i) + 5);
}

TEST_F(Executables, FoldMoreGroupsThanOneAxisHolds) {
  // Two whole rows of 65,535 and a rest.
  const std::uint32_t n = 2 * 65535 + 17;
  const auto out = run(addition(n, 1), {rt.from_host(counting(n)), rt.from_host(counting(n))});
  const auto values = rt.to_host<float>(out[0]);
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(values[i], 2.0f * static_cast<float>(i)) << i;
}

TEST_F(Executables, ReadWhatAnEarlierStepWroteAfterABarrier) {
  const auto out = run(chained(1000, true), {rt.from_host(counting(1000))});
  const auto values = rt.to_host<float>(out[0]);
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], 4.0f * static_cast<float>(i));
}

TEST_F(Executables, ReadThroughTexelsWhereTheDeviceLikesThem) {
  if (!rt.target().texel_reads) GTEST_SKIP() << rt.device_name() << " does not read through texels";
  const auto out = run(chained(1000, true, true), {rt.from_host(counting(1000))});
  const auto values = rt.to_host<float>(out[0]);
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], 4.0f * static_cast<float>(i));
}

TEST_F(Executables, CopyWithinInputsArenaAndOutputs) {
  Program program;
  program.inputs = {f32(100)};
  program.outputs = {f32(100), f32(100)};
  program.arena_bytes = 512;
  Step copy;
  copy.kind = Step::Kind::copy;
  copy.bytes = 400;
  copy.operands = {input(0), arena(0)};
  program.steps.push_back(copy);
  copy.operands = {input(0), output(1)};
  program.steps.push_back(copy);
  copy.operands = {arena(0), output(0)};
  copy.barrier_before = true;
  program.steps.push_back(copy);
  const auto out = run(program, {rt.from_host(counting(100, 1))});
  EXPECT_EQ(rt.to_host<float>(out[0]), counting(100, 1));
  EXPECT_EQ(rt.to_host<float>(out[1]), counting(100, 1));
}

TEST_F(Executables, ReadConstants) {
  Program program = addition(4);
  const float values[] = {1, 2, 3, 4};
  program.constants.resize(sizeof values);
  std::memcpy(program.constants.data(), values, sizeof values);
  program.inputs.pop_back();
  program.steps[0].operands[1] = {Place::Kind::constants, 0, 0};
  const auto out = run(program, {rt.from_host(counting(4, 10))});
  EXPECT_EQ(rt.to_host<float>(out[0]), (std::vector<float>{11, 13, 15, 17}));
}

TEST_F(Executables, CreateNothingOnTheSecondCall) {
  Executable executable(context(), chained(16, true));
  std::vector<Array> in = {rt.from_host(counting(16))}, out;
  executable.run(in, out);
  rt.wait();
  const Counters before = rt.counters();
  for (int i = 0; i < 10; ++i) {
    executable.run(in, out);
    rt.wait();
  }
  const Counters after = rt.counters();
  EXPECT_EQ(after.vulkan_objects, before.vulkan_objects);
  EXPECT_EQ(after.device_allocations, before.device_allocations);
  EXPECT_EQ(after.recordings, before.recordings);
  EXPECT_EQ(after.submissions, before.submissions + 10);
}

TEST_F(Executables, KeepResultsOfCallsInFlightApart) {
  Executable executable(context(), chained(1000, true));
  std::vector<std::vector<Array>> results(20);
  for (std::size_t call = 0; call < results.size(); ++call) {
    std::vector<Array> in = {rt.from_host(counting(1000, static_cast<float>(call)))};
    executable.run(in, results[call]);
  }
  for (std::size_t call = 0; call < results.size(); ++call) {
    const auto values = rt.to_host<float>(results[call][0]);
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(values[i], 4.0f * static_cast<float>(call + i));
  }
}

TEST_F(Executables, FeedResultsBackWithoutWaiting) {
  Executable executable(context(), chained(100, true));
  std::vector<Array> state = {rt.from_host(std::vector<float>(100, 1.0f))}, next;
  for (int i = 0; i < 10; ++i) {
    executable.run(state, next);
    state.swap(next);
  }
  EXPECT_EQ(rt.to_host<float>(state[0])[99], 1048576.0f);
}

TEST_F(Executables, GiveADonatedInputsMemoryToAnOutput) {
  Executable executable(context(), chained(100, true));
  std::vector<Array> in = {rt.from_host(counting(100))}, out;
  const Storage* before = in[0].storage().get();
  const std::vector<std::uint8_t> donated = {1};
  executable.run(in, out, donated);
  EXPECT_EQ(out[0].storage().get(), before);
  EXPECT_TRUE(in[0].empty());
  EXPECT_EQ(rt.counters().donated, 1u);
  EXPECT_EQ(rt.to_host<float>(out[0])[99], 396.0f);
}

TEST_F(Executables, LeaveADonatedInputAloneThatSomebodyElseHolds) {
  Executable executable(context(), chained(100, true));
  const Array mine = rt.from_host(counting(100));
  std::vector<Array> in = {mine}, out;
  const std::vector<std::uint8_t> donated = {1};
  executable.run(in, out, donated);
  EXPECT_EQ(rt.counters().donated, 0u);
  EXPECT_EQ(rt.counters().shared_donations, 1u);
  EXPECT_EQ(rt.to_host<float>(mine)[99], 99.0f);
}

TEST_F(Executables, RefuseInputsOfAnotherTypeAndStayUsable) {
  Executable executable(context(), addition(8));
  std::vector<Array> wrong = {rt.from_host(counting(8)), rt.from_host(counting(9))}, out;
  try {
    executable.run(wrong, out);
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("input 1 of `addition` is f32[9] and was compiled for f32[8]"));
  }
  std::vector<Array> right = {wrong[0], wrong[0]};
  executable.run(right, out);
  EXPECT_EQ(rt.to_host<float>(out[0])[7], 14.0f);
}

// ---- barriers: functional tests cannot find a missing one, so these two must be found by
// validation

class Barriers : public Executables {
 protected:
  void TearDown() override { EXPECT_EQ(rt.memory().live_ranges, 0u); }
};

TEST_F(Barriers, DroppedByTheRecorderAreReportedBySynchronizationValidation) {
  ExecutableOptions options;
  options.drop_barriers = true;
  run(chained(1024, true), {rt.from_host(counting(1024))}, options);
  rt.wait();
  std::size_t hazards = 0;
  for (const auto& message : rt.validation_messages())
    hazards += message.find("SYNC-HAZARD") != std::string::npos;
  EXPECT_GT(hazards, 0u)
      << "synchronization validation is not watching shader accesses; a clean run means nothing";
}

TEST_F(Barriers, MissingInThePlanAreReportedByTheLayerAndByName) {
  run(chained(1024, false), {rt.from_host(counting(1024))});
  rt.wait();
  std::size_t hazards = 0, named = 0;
  for (const auto& message : rt.validation_messages()) {
    hazards += message.find("SYNC-HAZARD") != std::string::npos;
    named += message.find("step 1 `double` touches what step 0 `double`") != std::string::npos;
  }
  EXPECT_GT(hazards, 0u);
  EXPECT_EQ(named, 1u);
}

// ---- windows: blocks so small that every array has its own

RuntimeOptions small_blocks() {
  RuntimeOptions options = validated();
  options.block_bytes = 4096;
  options.fixed_blocks = true;
  return options;
}

class Windows : public DeviceTest {
 protected:
  explicit Windows(const RuntimeOptions& options = small_blocks()) : DeviceTest(options) {}

  // The sum of `count` arrays of n elements by one kernel.
  Program sum(std::uint32_t count, std::uint32_t n) {
    Program program;
    program.name = "sum";
    program.inputs.assign(count, f32(n));
    program.outputs = {f32(n)};
    program.kernels = {sum_kernel(count)};
    std::vector<Place> operands;
    for (std::uint32_t i = 0; i < count; ++i) operands.push_back(input(i));
    operands.push_back(output(0));
    program.steps = {dispatch(program, 0, n, operands)};
    return program;
  }

  void expect_sum(std::uint32_t count) {
    const std::uint32_t n = 1024;  // one block each
    std::vector<Array> in;
    for (std::uint32_t i = 0; i < count; ++i)
      in.push_back(rt.from_host(std::vector<float>(n, static_cast<float>(i + 1))));
    Executable executable(context(), sum(count, n));
    std::vector<Array> out;
    for (int call = 0; call < 2; ++call) {
      executable.run(in, out);
      EXPECT_EQ(rt.to_host<float>(out[0]),
                std::vector<float>(n, static_cast<float>(count * (count + 1) / 2)));
    }
  }
};

TEST_F(Windows, AreFourAtMostWithoutCopies) {
  expect_sum(3);
  EXPECT_EQ(rt.counters().window_copies, 0u);
}

TEST_F(Windows, BeyondFourAreReachedByAddressWithoutCopies) {
  if (!rt.target().features.addresses)
    GTEST_SKIP() << rt.device_name() << " has no buffer device addresses";
  expect_sum(6);
  EXPECT_EQ(rt.counters().window_copies, 0u);
}

// As on a device that has no addresses.
class FourWindows : public Windows {
 protected:
  FourWindows()
      : Windows([] {
          RuntimeOptions options = small_blocks();
          options.minimum_target = true;
          return options;
        }()) {}
};

TEST_F(FourWindows, GatherAndCountWhatIsBeyond) {
  expect_sum(6);
  // Six inputs and an output in seven blocks: four inputs move into one.
  EXPECT_EQ(rt.counters().window_copies, 2u * 4u);
}

TEST_F(Windows, OfOtherBlocksMakeAnotherRecording) {
  Executable executable(context(), sum(2, 1024));
  const Array a = rt.from_host(std::vector<float>(1024, 1.0f)),
              b = rt.from_host(std::vector<float>(1024, 2.0f));
  std::vector<Array> out;
  for (std::vector<Array> in : {std::vector<Array>{a, b}, {b, a}, {a, a}, {a, b}})
    executable.run(in, out);
  EXPECT_EQ(rt.to_host<float>(out[0]), std::vector<float>(1024, 3.0f));
  EXPECT_GE(rt.counters().recordings, 3u);
  // Modules depend on which operands share a window, not on the blocks behind the windows.
  EXPECT_LE(rt.counters().pipelines, 3u);
}

TEST(Join, PartsOfOneKindBetweenBarriersAreOneDispatch) {
  const auto part = [](std::uint32_t alike, std::uint32_t groups, bool barrier = false) {
    return Part{barrier, alike, groups, 3};
  };
  EXPECT_TRUE(join({}, 65535).empty());
  const std::vector<Part> parts{part(0, 40),       part(1, 1), part(0, 7), part(1, 2),
                                {false, {}, 5, 3}, part(0, 1), part(0, 2), part(0, 1, true)};
  const auto all = join(parts, 65535);
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].parts, (std::vector<std::uint32_t>{0, 2, 5, 6}));
  EXPECT_EQ(all[0].shift, 0u);
  EXPECT_EQ(all[0].slots, 50u);
  EXPECT_EQ(all[0].first_row(), 14u);
  EXPECT_EQ(all[0].rows, 14u + 12u);
  EXPECT_EQ(all[1].parts, std::vector<std::uint32_t>{1});
  EXPECT_EQ(all[2].parts, std::vector<std::uint32_t>{3}) << "two are not worth a pipeline";
  EXPECT_EQ(all[3].parts, std::vector<std::uint32_t>{4});
  EXPECT_EQ(all[4].parts, std::vector<std::uint32_t>{7}) << "behind a barrier";
}

TEST(Join, TablesFitTheUniformBufferOfAnyDevice) {
  const auto most_of = [](std::uint32_t groups, std::uint32_t rows, std::size_t count) {
    const std::vector<Part> parts(count, Part{false, 0u, groups, rows});
    std::size_t most = 0, sum = 0;
    for (const Joined& j : join(parts, 65535)) {
      EXPECT_LE(j.slots << j.shift, 65535u);
      if (j.parts.size() > 1) {
        EXPECT_LE(j.rows, 1024u);
        EXPECT_LE(j.slots, spirv::max_slots);
      }
      most = std::max(most, j.parts.size());
      sum += j.parts.size();
    }
    EXPECT_EQ(sum, count);
    return most;
  };
  EXPECT_EQ(most_of(390, 4, 50), 50u);
  EXPECT_LT(most_of(1, 8, 1000), 128u) << "rows";
  EXPECT_LT(most_of(60000, 4, 10), 2u) << "workgroups";
  EXPECT_GT(most_of(1, 4, 1000), 100u);
}

}  // namespace
}  // namespace gnomon::testing
