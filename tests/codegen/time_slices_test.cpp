// tests/codegen/time_slices_test.cpp -- loops that might keep a device busy for long are cut into
// slices, of lengths that may change; others are left alone.
#include "codegen/graph/evaluate.h"
#include "gnomon/control.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

/// A device that has no limit but shall not be kept busy for long.
Target hurried() {
  Target t = Target::lavapipe();
  t.loop_budget = 0;
  t.slice_work = 2000;
  t.few_slices = 16;
  return t;
}

template <class F, class... A>
Program compiled_for(const Target& target, F f, const A&... inputs) {
  Trace outer;
  const Graph g = make_graph(f, outer.input(inputs)...).graph;
  return compile(g, target, {.name = "test", .keep_text = true});
}

/// Compiles to slices whose length may change, and to the same results as the reference.
template <class F, class... A>
Program expect_paced(const Target& target, F f, const A&... inputs) {
  std::vector<HostArray> host;
  std::uint32_t seed = 1;
  (host.push_back(random_array(inputs, seed++)), ...);
  Trace outer;
  const Graph g = make_graph(f, outer.input(inputs)...).graph;
  const Program p = compile(g, target, {.name = "test", .keep_text = true});
  EXPECT_NE(p.fusion_text.find(" steps at first"), std::string::npos) << p.fusion_text;
  EXPECT_EQ(p.gated.size(), 1u) << p.fusion_text;
  for (const GatedBlock& block : p.gated) {
    EXPECT_TRUE(block.slices && block.slices->per_pass > 0) << print(p);
  }
  const auto want = evaluate(g, host), got = run_on_host(p, host);
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_EQ(difference(got[i], want[i], 1e-4), "") << p.fusion_text << print(p);
  return p;
}

/// Steps until `x` is 900.
auto until_900(StepBound most) {
  return [most](const Array& x) {
    return while_loop([](const Array& v) { return v < 900.0f; },
                      [](Array v) { return v * 1.001f + 0.5f; }, abs(x) * 100, {.max_steps = most});
  };
}

TEST(TimeSlices, CutLoopsThatMightTakeLong) {
  for (const StepBound most : {StepBound(100000), StepBound(1000000000), StepBound(unbounded)}) {
    const Program p = expect_paced(hurried(), until_900(most), f32({}));
    EXPECT_EQ(p.gated[0].end - p.gated[0].first, 1u) << "a scalar loop is its own gate\n"
                                                     << print(p);
    expect_paced(
        hurried(), [&](const Array& xs) { return vmap(until_900(most))(xs); }, f32({50}));
  }
  // More steps than an i32 counts.
  expect_paced(hurried(), until_900(Dim{1} << 40), f32({}));
}

TEST(TimeSlices, TakeExactlyAsManyStepsAsTheBoundAllows) {
  for (const int most : {9001, 16384, 20000}) {
    const auto count = [&](const Array& x) {
      return while_loop([](const Array& v) { return v >= 0; }, [](const Array& v) { return v + 1; },
                        cast(x, DType::i32) * 0, {.max_steps = most});
    };
    expect_paced(hurried(), count, f32({}));
    expect_paced(
        hurried(), [&](const Array& xs) { return vmap(count)(xs); }, f32({5}));
    const auto counted = [&](const Array& x) {
      return fori_loop(
          0, most,
          [](const Array& i, const Array& v) { return v * 0.5f + cast(i % 7, DType::f32); }, x);
    };
    expect_paced(hurried(), counted, f32({}));
  }
}

TEST(TimeSlices, OfScansAlongRowsDivideTheLength) {
  const auto sums = [](const Array& xs) {
    return scan(
        [](Array c, Array x) {
          const Array next = c * 0.9f + x;
          return std::pair{next, next * 2};
        },
        0.0f, xs);
  };
  EXPECT_NE(compiled_for(hurried(), sums, f32({12000})).fusion_text.find("slices of"),
            std::string::npos);
  // A prime number of rows: as it was.
  const Program whole = compiled_for(hurried(), sums, f32({11987}));
  EXPECT_EQ(whole.fusion_text.find("slices"), std::string::npos) << whole.fusion_text;
}

TEST(TimeSlices, LeaveAloneWhatIsShortOrHasNoSlices) {
  Target none = hurried();
  none.slice_work = 0;
  const auto same = [&](const Target& target, auto f, const auto&... inputs) {
    const Program with = compiled_for(target, f, inputs...);
    const Program without = compiled_for(none, f, inputs...);
    EXPECT_EQ(print(with), print(without));
    EXPECT_EQ(with.fusion_text, without.fusion_text);
  };
  same(hurried(), until_900(1000), f32({}));
  same(
      hurried(), [](const Array& xs) { return vmap(until_900(1000))(xs); }, f32({50}));
  Target usual = hurried();
  usual.slice_work = Target().slice_work;
  same(usual, until_900(1000000), f32({}));
  // A sum of a million elements, and a loop that carries more than it computes.
  same(
      hurried(), [](const Array& x) { return sum(x); }, f32({1 << 20}));
  // Few steps of which each holds a long loop.
  const auto nest = [](const Array& x) {
    return fori_loop(
        0, 3, [](const Array&, const Array& v) { return until_900(1000000)(v) * 0.001f; }, x);
  };
  same(usual, nest, f32({}));
  // A device that limits trips to less.
  Target impatient = usual;
  impatient.loop_budget = none.loop_budget = 300;
  same(impatient, until_900(5000), f32({}));
}

TEST(TimeSlices, AreNeverLongerThanTheDriverAllows) {
  Target both = hurried();
  both.loop_budget = 15000;
  const Program p = expect_paced(both, until_900(1000000), f32({}));
  ASSERT_EQ(p.gated.size(), 1u);
  ASSERT_TRUE(p.gated[0].slices.has_value()) << p.fusion_text;
  EXPECT_GT(p.gated[0].slices->most, 64u);
  EXPECT_LE(p.gated[0].slices->most, 15000u);
  EXPECT_LE(p.gated[0].slices->first, p.gated[0].slices->most);
}

}  // namespace
}  // namespace gnomon::testing
