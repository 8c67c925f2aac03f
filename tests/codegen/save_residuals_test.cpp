// tests/codegen/save_residuals_test.cpp -- the backward pass of a loop takes what the forward pass
// computed, where that took long.
#include "codegen/optimize/save_residuals.h"

#include "codegen/operations/control.h"
#include "codegen/operations/table.h"
#include "codegen/simplify/simplify.h"
#include "gnomon/checkpoint.h"
#include "gnomon/loops.h"
#include "tests/codegen/graph_host.h"
#include "tests/support/lowering.h"

namespace gnomon::test {
namespace {

constexpr Dim width = 24, steps = 5;
constexpr std::uint64_t plenty = std::uint64_t{1} << 30;

HostArray waves(const Shape& shape, double from) {
  HostArray h(Aval{DType::f32, shape});
  for (Dim i = 0; i < h.size(); ++i)
    h.set_number(i, 0.3 * std::sin(from + 0.7 * static_cast<double>(i)));
  return h;
}

/// A layer applied again and again. Reverse mode takes the steps one by one.
Array repeated(const Array& w, const Array& x, bool reverse) {
  const auto states = scan(
      [&](const Array& y, None) {
        const Array next = tanh(matmul(y, w)) + y * 0.5f;
        return std::pair{next, sum(next)};
      },
      x, none, {.length = steps, .reverse = reverse, .kind = LoopKind::stored});
  return sum(square(states.second)) + sum(states.first);
}

std::vector<const Equation*> scans(const Graph& g) {
  std::vector<const Equation*> r;
  for (const Equation& e : g.equations)
    if (e.primitive == &scan_p) r.push_back(&e);
  return r;
}

std::size_t products(const Equation& loop) {
  const Graph& body = *loop.params.as<ScanParams>().body;
  return static_cast<std::size_t>(
      std::count_if(body.equations.begin(), body.equations.end(),
                    [](const Equation& e) { return e.primitive == &dot_general_p; }));
}

template <class F>
Graph gradient(const F& f, const HostArray& w, const HostArray& x) {
  return simplify(graph_of(
      [&](const Array& weights, const Array& start) {
        return grad([&](const Array& v) { return f(v, start); })(weights);
      },
      w, x));
}

TEST(KeptRows, AProductOfTheForwardPassIsNotTakenAgain) {
  const HostArray w = waves({width, width}, 0), x = waves({width}, 1);
  for (const bool reverse : {false, true}) {
    const Graph g = gradient(
        [&](const Array& v, const Array& start) { return repeated(v, start, reverse); }, w, x);
    const Graph kept = save_residuals(g, plenty);
    verify(kept);
    const auto before = scans(g), after = scans(kept);
    ASSERT_EQ(before.size(), 2u) << print(g);
    ASSERT_EQ(after.size(), 2u) << print(kept);
    EXPECT_EQ(products(*after[0]), products(*before[0]));
    EXPECT_EQ(products(*after[1]) + 1, products(*before[1])) << print(kept);
    EXPECT_EQ(after[0]->outputs.size(), before[0]->outputs.size() + 1) << print(kept);
    // The same operations on the same numbers.
    EXPECT_EQ(evaluate(kept, {w, x}), evaluate(g, {w, x}));
    testing::expect_lowering(g, {w, x});
    EXPECT_EQ(print(save_residuals(kept, plenty)), print(kept));
  }
}

TEST(KeptRows, InsideOfLoopsToo) {
  const HostArray w = waves({width, width}, 0), x = waves({3, width}, 1);
  const auto each = [](const Array& weights, const Array& starts) {
    const auto df =
        grad([](const Array& v, const Array& start) { return repeated(v, start, false); });
    return map_each([&](const Array& start) { return df(weights, start); }, starts);
  };
  const Graph g = simplify(graph_of(each, w, x)), kept = save_residuals(g, plenty);
  verify(kept);
  EXPECT_NE(print(kept), print(g));
  EXPECT_EQ(evaluate(kept, {w, x}), evaluate(g, {w, x}));
}

TEST(KeptRows, WhatIsNoProductIsComputedAgain) {
  const auto f = [](const Array& w, const Array& x) {
    const auto step = [&](const Array& y, None) {
      Array z = y;
      for (int i = 0; i < 20; ++i) z = sin(z * w) + y;
      return std::pair{z, none};
    };
    return sum(scan(step, x, none, {.length = steps, .kind = LoopKind::stored}).first);
  };
  const HostArray w = waves({width}, 0), x = waves({width}, 1);
  const Graph g = gradient(f, w, x);
  EXPECT_EQ(print(save_residuals(g, plenty)), print(g));
}

// The author of a checkpoint would rather have the time pass than the memory taken.
TEST(KeptRows, ACheckpointedStepIsComputedAgain) {
  const auto f = [](const Array& w, const Array& x) {
    const auto layer =
        checkpoint([&](const Array& y) { return tanh(matmul(tanh(matmul(y, w)), w)); });
    const auto step = [&](const Array& y, None) { return std::pair{layer(y), none}; };
    return sum(scan(step, x, none, {.length = steps, .kind = LoopKind::stored}).first);
  };
  const HostArray w = waves({width, width}, 0), x = waves({width}, 1);
  const Graph g = gradient(f, w, x), kept = save_residuals(g, plenty);
  const auto before = scans(g), after = scans(kept);
  ASSERT_EQ(after.size(), before.size());
  EXPECT_EQ(products(*after.back()), products(*before.back())) << print(kept);
}

TEST(KeptRows, NotAtAnyPriceInMemory) {
  const HostArray w = waves({width, width}, 0), x = waves({width}, 1);
  const Graph g =
      gradient([](const Array& v, const Array& start) { return repeated(v, start, false); }, w, x);
  constexpr std::uint64_t needed = steps * width * sizeof(float);
  EXPECT_NE(print(save_residuals(g, needed)), print(g));
  EXPECT_EQ(print(save_residuals(g, needed - 1)), print(g));
}

}  // namespace
}  // namespace gnomon::test
