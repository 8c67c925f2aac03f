// tests/engine/program_cache_test.cpp -- compiled programs in memory: shared, bounded, and gone
// with everything that was theirs.
#include "engine/jit/compiling.h"

#include <gtest/gtest.h>

#include <functional>

#include "gnomon/cumulative.h"
#include "gnomon/jit.h"
#include "gnomon/ops.h"
#include "tests/engine/fixture.h"

namespace gnomon::testing {
namespace {

RuntimeOptions with_programs(std::size_t programs, std::uint64_t bytes = 1u << 30) {
  RuntimeOptions options = validated();
  options.max_programs = programs;
  options.program_bytes = bytes;
  return options;
}

class FewPrograms : public DeviceTest {
 protected:
  FewPrograms() : DeviceTest(with_programs(3)) {}

  // The result of a function that no other number has.
  float run(int number) {
    auto f = jit(rt, [number](const Array& x) { return x * static_cast<float>(number) + 1; });
    return rt.item<float>(f(rt.from_host(2.0f)));
  }
  std::size_t kept() const { return programs_of(*rt.state(), "kept").programs.size(); }
};

TEST_F(FewPrograms, StayFewWhateverIsCompiled) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(run(i), 2.0f * static_cast<float>(i) + 1);
    EXPECT_LE(kept(), 4u);  // and one that was held when the others were looked at
  }
  EXPECT_EQ(rt.counters().programs_compiled, 20u);
  EXPECT_GE(rt.counters().programs_dropped, 16u);
}

TEST_F(FewPrograms, GoInTheOrderOfTheirLastUse) {
  for (const int i : {1, 2, 3, 1, 4, 1, 5, 1}) run(i);
  const Counters before = rt.counters();
  EXPECT_EQ(run(1), 3.0f);
  EXPECT_EQ(rt.counters().programs_compiled, before.programs_compiled);
  EXPECT_EQ(run(2), 5.0f);
  EXPECT_EQ(rt.counters().programs_compiled, before.programs_compiled + 1);
}

TEST_F(FewPrograms, StayAsLongAsSomebodyHoldsThem) {
  const Array x = rt.from_host(2.0f);
  std::vector<Jitted<std::function<Array(const Array&)>>> held;
  for (int i = 0; i < 10; ++i) {
    held.push_back(jit(rt, std::function<Array(const Array&)>(
                               [i](const Array& a) { return a + static_cast<float>(100 + i); })));
    held.back()(x);
  }
  for (int i = 0; i < 10; ++i) run(i);
  const Counters before = rt.counters();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(rt.item<float>(held[static_cast<std::size_t>(i)](x)), static_cast<float>(102 + i));
    // Found by others too.
    auto again = jit(rt, [i](const Array& a) { return a + static_cast<float>(100 + i); });
    EXPECT_EQ(rt.item<float>(again(x)), static_cast<float>(102 + i));
  }
  EXPECT_EQ(rt.counters().programs_compiled, before.programs_compiled);
  EXPECT_EQ(rt.counters().pipelines, before.pipelines);
  held.clear();
  run(99);
  EXPECT_LE(kept(), 4u);
}

class FewBytes : public DeviceTest {
 protected:
  FewBytes() : DeviceTest(with_programs(1000, 3u << 20)) {}
};

TEST_F(FewBytes, OfArenasAreKept) {
  // Sums of all that came before need a megabyte between two kernels.
  const Array x = rt.from_host(std::vector<float>(1 << 18, 1.0f));
  for (int i = 0; i < 8; ++i) {
    auto f = jit(rt, [i](const Array& a) {
      const Array y = cumsum(a);
      return flip(y) + y * static_cast<float>(i + 1);
    });
    rt.wait(f(x));
    ASSERT_GT(f.arena_bytes(), 1u << 19);
  }
  rt.wait();
  EXPECT_LE(rt.memory().live_bytes, (1u << 20) + (4u << 20) + (4u << 20));
  EXPECT_GT(rt.counters().programs_dropped, 0u);
}

}  // namespace
}  // namespace gnomon::testing
