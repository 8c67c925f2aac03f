// tests/codegen/candidates_test.cpp -- what the fusion text says kernels could have been.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "codegen/compile/pipeline.h"
#include "gnomon/control.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "shaders/kernel/text.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

template <class F, class... A>
Graph traced(F f, const A&... avals) {
  Trace outer;
  return make_graph(f, outer.input(avals)...).graph;
}

std::string fusion_text(const Graph& g, const Target& target) {
  return compile(g, target, {.candidates = true, .keep_text = true}).fusion_text;
}

/// The microseconds that stand behind `what`.
double microseconds(const std::string& text, const std::string& what) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what << " in " << text;
  return at == std::string::npos ? 0 : std::stod(text.substr(at + what.size()));
}

Aval f32(Shape s) { return {DType::f32, s}; }

const auto product = [](const Array& a, const Array& b) { return matmul(a, b); };

TEST(Candidates, OfAProductAreTilesAndNone) {
  const std::string text =
      fusion_text(traced(product, f32({256, 256}), f32({256, 256})), Target::lavapipe());
  const std::string shape = " elements of [256,256]";
  const double chosen = microseconds(text, "tiles of 8 by 4" + shape + ": ");
  EXPECT_GT(chosen, 0);
  EXPECT_GT(microseconds(text, " us | one lane per element of [256,256] "), chosen);
  EXPECT_GT(microseconds(text, " us | tiles of 4 by 4" + shape + " "), chosen);
  // An invocation takes a tile's columns.
  EXPECT_THAT(text, Not(HasSubstr("side by side")));
}

TEST(Candidates, OfElementsAreOtherNumbersSideBySide) {
  const auto f = [](const Array& x) { return x * 2.0f + 1; };
  const std::string text = fusion_text(traced(f, f32({1 << 20})), Target::lavapipe());
  const double chosen = microseconds(text, "one lane per element of [1048576]: ");
  EXPECT_GT(microseconds(text, " us | 1 side by side "), chosen) << text;
  EXPECT_GE(microseconds(text, " us | 8 side by side "), chosen) << text;
  EXPECT_THAT(text, Not(HasSubstr("16 side by side")));
}

TEST(Candidates, AreOfKernelsInLoopsToo) {
  const auto powers = [](const Array& m) {
    return fori_loop(
        0, 9, [](const Array&, Array v) { return matmul(v, v) * 0.5f; }, m);
  };
  EXPECT_THAT(fusion_text(traced(powers, f32({128, 128})), Target::lavapipe()),
              ContainsRegex("\n +kernel \"[a-z0-9_]+\" tile .*: [0-9]+ us . one lane per element"));
}

TEST(Candidates, AreNoneWhereNobodyKnowsTimes) {
  const Graph g = traced(product, f32({256, 256}), f32({256, 256}));
  EXPECT_THAT(fusion_text(g, Target::gpu()), Not(HasSubstr(" us")));
  // As many trips as the data want.
  const auto settle = [](const Array& x) {
    return while_loop([](const Array& v) { return v < 100.0f; },
                      [](Array v) { return v * 1.5f + 1; }, abs(x), {.max_steps = 50});
  };
  EXPECT_THAT(fusion_text(traced(vmap(settle), f32({4096})), Target::lavapipe()),
              Not(HasSubstr(" us")));
}

TEST(Candidates, ChangeNoProgram) {
  const auto layer = [](const Array& x, const Array& w) { return sum(tanh(matmul(x, w))); };
  const Graph g = traced(layer, f32({300, 100}), f32({100, 200}));
  for (const auto& [name, target] : targets()) {
    const Program with = compile(g, target, {.candidates = true});
    const Program without = compile(g, target);
    EXPECT_EQ(print(with), print(without)) << name;
    ASSERT_EQ(with.kernels.size(), without.kernels.size()) << name;
    for (std::size_t i = 0; i < with.kernels.size(); ++i)
      EXPECT_EQ(kernel::print(with.kernels[i]), kernel::print(without.kernels[i])) << name;
  }
}

}  // namespace
}  // namespace gnomon::testing
