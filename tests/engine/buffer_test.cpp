// tests/engine/buffer_test.cpp -- GNOMON_CHECK=buffers on the device: broken promises are found in
// every mapping of loops, and everything goes on afterwards.
#include "gnomon/buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/checks/check_buffers.h"
#include "codegen/compile/pipeline.h"
#include "codegen/graph/evaluate.h"
#include "codegen/optimize/lower_effects.h"
#include "codegen/trace/function.h"
#include "gnomon/control.h"
#include "gnomon/debug.h"
#include "gnomon/indexing.h"
#include "gnomon/jit.h"
#include "gnomon/numeric.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int steps = 40;

/// A history whose step i writes row i / by, after a look at the row `back` steps ago; its elements
/// mix.
Array mixed_into(const Array& made, const Array& x, const Array& by, const Array& back) {
  return fori_loop(
             0, steps,
             [&](const Array& i, const std::pair<Array, Array>& s) {
               const Array last = where(i > back, s.first.at(i - back).get(), s.second);
               return std::pair{s.first.at(floor_divide(i, by)).set(s.second),
                                flip(s.second) * 0.5f + last * 0.25f};
             },
             std::pair{made, x})
      .first;
}
Array mixed(const Array& x, const Array& by, const Array& back) {
  return mixed_into(buffer({steps, x.dim(0)}), x, by, back);
}

/// The same for elements that take a number of steps each.
Array counted(const Array& n, const Array& by, const Array& back) {
  return vmap([&](const Array& m) {
    using S = std::pair<Array, Array>;
    return while_loop(
               [&](const S& s) { return s.second < m; },
               [&](S s) {
                 const Array last = where(s.second > back, s.first.at(s.second - back).get(), 1);
                 return S{s.first.at(floor_divide(s.second, by)).set(last + 1), s.second + 1};
               },
               S{buffer({steps}, DType::i32), Array(zeros({}, DType::i32))}, {.max_steps = steps})
        .first;
  })(n);
}

HostArray number(int value) {
  HostArray h(i32(Shape()));
  h.set_integer(0, value);
  return h;
}

class Buffers : public DeviceTest {
 protected:
  /// What the checked program says in each mapping; where that is nothing, its results are right.
  template <class F>
  void expect_failures(F f, const HostArray& x, int by, int back,
                       const std::vector<std::string>& wanted) {
    const std::vector<HostArray> inputs{x, number(by), number(back)};
    const Graph g = [&] {
      Trace outer;
      return make_graph(f, outer.input(x.aval), outer.input(i32(Shape())),
                        outer.input(i32(Shape())))
          .graph;
    }();
    const Graph checked = check_buffers(g);
    const EffectTable effects = lower_effects(checked).effects;
    for (const LoopMapping loops : {LoopMapping::automatic, LoopMapping::device,
                                    LoopMapping::workgroup, LoopMapping::sequential}) {
      // One invocation cannot take the trips of many elements on every driver.
      if (loops == LoopMapping::sequential && x.size() > 8) continue;
      const Program p =
          compile(checked, rt.target(), {.name = "test", .loops = loops, .keep_text = true});
      if (loops == LoopMapping::device) {
        EXPECT_FALSE(p.loops.empty() && p.gated.empty());
      }
      std::vector<Array> in;
      for (const HostArray& a : inputs) in.push_back(rt.from_bytes(a.aval, a.bytes));
      std::vector<HostArray> out;
      for (const Array& a : run(p, in)) rt.to_bytes(a, out.emplace_back(a.aval()).bytes);
      const Report report = effects.read(std::span<const HostArray>(out).subspan(1));
      if (wanted.empty()) {
        EXPECT_EQ(report.failure, std::nullopt) << p.fusion_text;
        EXPECT_EQ(difference(out[0], evaluate(g, inputs)[0], 1e-5), "") << p.fusion_text;
      } else {
        for (const std::string& each : wanted)
          EXPECT_THAT(report.failure.value_or(""), HasSubstr(each)) << p.fusion_text;
      }
    }
  }
};

TEST_F(Buffers, AreCheckedInEveryMappingOfLoops) {
  for (const Dim width : {4, 300}) {
    const HostArray x = random_array(f32(width), 1);
    expect_failures(mixed, x, 1, 1, {});
    expect_failures(mixed, x, 2, 1000,
                    {"written a second time (buffer f32[40," + std::to_string(width) +
                         "] made at buffer_test.cpp:",
                     "; write each element once, or use zeros for what changes; true " +
                         std::to_string(20 * width) + " times, first at index [0,0], in step 1 ("});
    expect_failures(mixed, x, 1, -1, {"read before it was written"});
  }
}

TEST_F(Buffers, AreCheckedInLanesOfEveryMapping) {
  for (const Dim lanes : {8, 70}) {
    HostArray n(i32(lanes));
    for (Dim i = 0; i < lanes; ++i) n.set_integer(i, i % 3 == 0 ? 1 : (7 * i) % steps);
    expect_failures(counted, n, 1, 1, {});
    expect_failures(counted, n, 3, 1000,
                    {"first at index 0, in element 1 of the vmap, in step 1 ("});
    n.set_integer(1, 1);
    expect_failures(counted, n, 3, 1000,
                    {"first at index 0, in element 2 of the vmap, in step 1 ("});
  }
}

TEST(CheckBuffersOption, ThrowsOfJittedFunctionsThatGoOnAfterwards) {
  const Variable variable("GNOMON_CHECK", "buffers");
  Runtime rt(validated());
  {
    auto f = jit(rt, mixed);
    const Array x = rt.from_host(std::vector<float>{1, 2, 3});
    const Array one = rt.from_host(1), two = rt.from_host(2), never = rt.from_host(1000);
    const auto failure_of = [&](const Array& by, const Array& back) -> std::string {
      try {
        f(x, by, back);
      } catch (const CheckFailed& e) {
        return e.what();
      }
      return "";
    };
    const std::vector<float> rows = rt.to_host<float>(f(x, one, one));
    EXPECT_EQ(rows[3], 0.5f * 3 + 0.25f * 1);
    for (int call = 0; call < 2; ++call) {
      EXPECT_THAT(failure_of(two, never), AllOf(HasSubstr("an element is written a second time"),
                                                HasSubstr("in step 1 (buffer_test.cpp:")));
      EXPECT_THAT(failure_of(one, rt.from_host(-1)), HasSubstr("read before it was written"));
      EXPECT_EQ(rt.to_host<float>(f(x, one, one)), rows);
    }
    EXPECT_EQ(f.cache_info().traces, 1u);
  }
  rt.clear_programs();
  expect_clean(rt);
}

TEST_F(Buffers, AreZerosUnlessTheEnvironmentSaysSo) {
  auto f = jit(rt, mixed);
  auto g = jit(rt, [](const Array& x, const Array& by, const Array& back) {
    return mixed_into(zeros({steps, x.dim(0)}), x, by, back);
  });
  const Array x = rt.from_host(std::vector<float>{1, 2}), two = rt.from_host(2);
  EXPECT_EQ(rt.to_host<float>(f(x, two, rt.from_host(1000)))[0], 1.25f);
  g(x, two, two);
  EXPECT_EQ(f.text("kernel"), g.text("kernel"));
  EXPECT_EQ(f.arena_bytes(), g.arena_bytes());
}

}  // namespace
}  // namespace gnomon::testing
