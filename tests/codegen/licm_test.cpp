// tests/codegen/licm_test.cpp -- what iterations have in common leaves loops on the device, and
// nothing else does.
#include "codegen/optimize/licm.h"

#include <gtest/gtest.h>

#include "codegen/operations/control.h"
#include "codegen/simplify/simplify.h"
#include "gnomon/debug.h"
#include "gnomon/loops.h"
#include "gnomon/ops.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

/// The graph with the invariants of all its loops hoisted; nothing when none is worth it.
std::optional<Graph> hoisted(const Graph& g, const Target& target = Target::lavapipe()) {
  return hoist_invariants(
      g, [](const Equation&) { return true; }, target);
}

/// Equations named so in a graph, without those of the loops in it; and in those loops.
std::size_t count(const Graph& g, std::string_view name) {
  return static_cast<std::size_t>(
      std::count_if(g.equations.begin(), g.equations.end(),
                    [&](const Equation& e) { return e.primitive->name == name; }));
}
std::size_t count_inside(const Graph& g, std::string_view name) {
  std::size_t n = 0;
  for (const Equation& e : g.equations)
    for (const GraphPtr& body : e.params.graphs())
      n += count(*body, name) + count_inside(*body, name);
  return n;
}

void expect_same_results(const Graph& a, const Graph& b) {
  std::vector<HostArray> in;
  for (const Aval& aval : a.input_avals())
    in.push_back(random_array(aval, 7 + static_cast<std::uint32_t>(in.size())));
  const auto want = evaluate(a, in), got = evaluate(b, in);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(difference(got[i], want[i], 0), "");
}

TEST(Hoist, WhatFollowsFromConstantsIsComputedOnce) {
  const Graph g = simplified(
      [](const Array& x, const Array& c) {
        return fori_loop(
            0, 5, [&](const Array&, Array y) { return y * 0.5f + exp(c) / 3; }, x);
      },
      f32({1000}), f32({1000}));
  const auto h = hoisted(g);
  ASSERT_TRUE(h.has_value()) << print(g);
  EXPECT_EQ(count_inside(g, "exp"), 1u);
  EXPECT_EQ(count_inside(*h, "exp") + count_inside(*h, "div"), 0u) << print(*h);
  EXPECT_EQ(count(*h, "exp"), 1u) << print(*h);
  expect_same_results(g, *h);
}

TEST(Hoist, WhatCostsLittleStays) {
  const Graph g = simplified(
      [](const Array& x, const Array& c) {
        return fori_loop(
            0, 5, [&](const Array&, Array y) { return y * (c * 2 + 1); }, x);
      },
      f32({100}), f32({100}));
  EXPECT_FALSE(hoisted(g).has_value());
}

TEST(Hoist, WhatIsLargerThanItsSourceStaysButNotItsSource) {
  const Graph g = simplified(
      [](const Array& x, const Array& c) {
        return fori_loop(
            0, 5,
            [&](const Array&, Array y) {
              const Array e = exp(c);
              return y + reshape(e, {600, 1}) * reshape(e, {1, 600});
            },
            x);
      },
      f32({600, 600}), f32({600}));
  const auto h = hoisted(g);
  ASSERT_TRUE(h.has_value());
  EXPECT_EQ(count_inside(*h, "exp"), 0u) << print(*h);
  EXPECT_EQ(count_inside(*h, "mul"), 1u) << print(*h);
  expect_same_results(g, *h);
}

TEST(Hoist, OutOfLoopsInLoopsAndOfLoopsWithConditions) {
  const Graph g = simplified(
      [](const Array& x, const Array& c) {
        return while_loop([](const Array& y) { return y[0] < 50; },
                          [&](Array y) {
                            return fori_loop(
                                0, 3, [&](const Array&, Array z) { return z + exp(c); }, y);
                          },
                          x, {.max_steps = 20});
      },
      f32({1000}), f32({1000}));
  const auto h = hoisted(g);
  ASSERT_TRUE(h.has_value());
  EXPECT_EQ(count(*h, "exp"), 1u) << print(*h);
  EXPECT_EQ(count_inside(*h, "exp"), 0u) << print(*h);
  expect_same_results(g, *h);
}

TEST(Hoist, StatementsStay) {
  const Graph g = simplified(
      [](const Array& x, const Array& c) {
        return fori_loop(
            0, 3,
            [&](const Array&, Array y) {
              debug::print("{}", sum(c));
              return y + exp(c);
            },
            x);
      },
      f32({1000}), f32({1000}));
  const auto h = hoisted(g);
  ASSERT_TRUE(h.has_value());
  EXPECT_EQ(count_inside(*h, "exp"), 0u) << print(*h);
  EXPECT_EQ(count_inside(*h, "print"), count_inside(g, "print")) << print(*h);
  EXPECT_EQ(count_inside(g, "print"), 1u) << print(g);
}

Array iterate(const Array& a, const Array& x, Dim steps) {
  return fori_loop(
      0, static_cast<int>(steps),
      [&](const Array&, Array y) {
        const Array z = matmul(a, y);
        return matmul(a, z / (1 + sum(z * z)));
      },
      x);
}

TEST(Hoist, AMatrixIsTurnedAroundOnceForAllItsProducts) {
  const auto steps = [](Dim n) {
    return [n](const Array& a, const Array& x) { return iterate(a, x, n); };
  };
  const Graph square = simplified(steps(40), f32({128, 128}), f32({128}));
  const auto h = hoisted(square);
  ASSERT_TRUE(h.has_value());
  EXPECT_EQ(count(*h, "permute"), 1u) << print(*h);
  EXPECT_EQ(count_inside(*h, "permute"), 0u) << print(*h);
  expect_same_results(square, *h);
  // Not for a few iterations, a small matrix, or where neighbouring lanes read neighbours anyway.
  EXPECT_FALSE(hoisted(simplified(steps(10), f32({128, 128}), f32({128}))).has_value());
  EXPECT_FALSE(hoisted(simplified(steps(40), f32({64, 64}), f32({64}))).has_value());
  EXPECT_FALSE(hoisted(square, Target::gpu()).has_value());
}

TEST(Hoist, AMatrixLeavesAllLoopsItIsTheSameIn) {
  const Graph g = simplified(
      [](const Array& a, const Array& x) {
        return fori_loop(
            0, 2, [&](const Array&, Array y) { return iterate(a, y, 40) + 1; }, x);
      },
      f32({128, 128}), f32({128}));
  const auto h = hoisted(g);
  ASSERT_TRUE(h.has_value());
  EXPECT_EQ(count(*h, "permute"), 1u) << print(*h);
  EXPECT_EQ(count_inside(*h, "permute"), 0u) << print(*h);
  expect_same_results(g, *h);
}

// y <- tanh(y w^T), neighbours of both operands summed: one of them is turned around.
template <class M>
auto layers(M matrix) {
  return [matrix](const Array& w, const Array& x) {
    return fori_loop(
        0, 3, [&](const Array&, Array y) { return tanh(matrix(w, y)); }, x);
  };
}

TEST(Hoist, AMatrixThatMeetsMatricesIsTurnedAroundOnce) {
  const auto by_einsum =
      layers([](const Array& w, const Array& y) { return einsum("bk,mk->bm", y, w); });
  const auto by_transpose =
      layers([](const Array& w, const Array& y) { return matmul(y, transpose(w)); });
  for (const DType t : {DType::f32, DType::f64}) {
    const Aval w{t, {64, 64}}, x{t, {80, 64}};
    for (const Graph& g : {simplified(by_einsum, w, x), simplified(by_transpose, w, x)}) {
      const auto h = hoisted(g);
      ASSERT_TRUE(h.has_value()) << print(g);
      EXPECT_EQ(count(*h, "permute"), 1u) << print(*h);
      EXPECT_EQ(count_inside(*h, "permute"), 0u) << print(*h);
      expect_same_results(g, *h);
      EXPECT_FALSE(hoisted(*h).has_value()) << print(*h);
      // Panels are turned around in shared memory.
      EXPECT_FALSE(hoisted(g, Target::gpu()).has_value());
    }
  }
}

TEST(Hoist, AMatrixStaysWhereNothingIsTurnedAround) {
  // Neighbours of one operand are summed, the product is small, or both operands change.
  EXPECT_FALSE(
      hoisted(simplified(layers([](const Array& w, const Array& y) { return matmul(y, w); }),
                         f32({64, 64}), f32({80, 64})))
          .has_value());
  const auto turned =
      layers([](const Array& w, const Array& y) { return einsum("bk,mk->bm", y, w); });
  EXPECT_FALSE(hoisted(simplified(turned, f32({8, 8}), f32({80, 8}))).has_value());
  EXPECT_FALSE(hoisted(simplified(layers([](const Array&, const Array& y) {
                                    return einsum("bk,mk->bm", y, y * 2);
                                  }),
                                  f32({}), f32({64, 64})))
                   .has_value());
}

TEST(Hoist, ProgramsMeanTheSame) {
  expect_function_lowers(
      layers([](const Array& w, const Array& y) { return einsum("bk,mk->bm", y, w / 64) + y; }),
      f32({64, 64}), f32({80, 64}));
  expect_function_lowers([](const Array& a, const Array& x) { return iterate(a / 64, x, 33); },
                         f32({128, 128}), f32({128}));
  expect_function_lowers(
      [](const Array& x, const Array& c) {
        return fori_loop(
            0, 5, [&](const Array& i, Array y) { return y * 0.5f + exp(c) / (i + 1); }, x);
      },
      f32({1000}), f32({1000}));
}

}  // namespace
}  // namespace gnomon::testing
