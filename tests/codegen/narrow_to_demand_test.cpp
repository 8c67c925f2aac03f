// tests/codegen/narrow_to_demand_test.cpp -- what slices do not ask for is not computed.
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/compile/graph_passes.h"
#include "codegen/operations/table.h"
#include "codegen/trace/trace.h"
#include "gnomon/loops.h"
#include "gnomon/ops.h"
#include "tests/support/host_check.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

/// The graph behind the pass; nothing where it has nothing to do.
std::optional<Graph> narrowed(const Graph& g) {
  const Target target = Target::lavapipe();
  const CompileOptions options{.name = "test"};
  for (const GraphPass& p : graph_passes())
    if (p.name == "narrow_to_demand") return p.run(g, {target, options});
  ADD_FAILURE() << "the table has no such pass";
  return std::nullopt;
}

/// The shapes of the results of one operation, in order; those of loop bodies behind.
std::vector<Shape> results_of(const Primitive& p, const Graph& g) {
  std::vector<Shape> shapes;
  for (const Equation& e : g.equations)
    if (e.primitive == &p) shapes.push_back(g.avals[e.outputs[0]].shape);
  for (const Equation& e : g.equations)
    for (const GraphPtr& body : e.params.graphs())
      for (const Shape& s : results_of(p, *body)) shapes.push_back(s);
  return shapes;
}

/// `f` of inputs like these computes such results of `p`, and means the same.
template <class F, class... A>
void expect_narrow(const Primitive& p, const std::vector<Shape>& shapes, F f, const A&... avals) {
  const auto g = narrowed(simplified(f, avals...));
  ASSERT_TRUE(g.has_value());
  EXPECT_EQ(results_of(p, *g), shapes) << print(*g);
  expect_function_lowers(f, avals...);
}

template <class F, class... A>
void expect_whole(F f, const A&... avals) {
  const auto g = narrowed(simplified(f, avals...));
  EXPECT_FALSE(g.has_value()) << print(*g);
}

TEST(NarrowToDemand, ComputesTheRowsAndColumnsOfAProductThatAreRead) {
  expect_narrow(
      dot_general_p, {{1, 7}}, [](const Array& x, const Array& w) { return matmul(x, w)[-1]; },
      f32({6, 5}), f32({5, 7}));
  expect_narrow(
      dot_general_p, {{6, 3}},
      [](const Array& x, const Array& w) { return slice_axis(matmul(x, w), 1, 2, 5); }, f32({6, 5}),
      f32({5, 7}));
  // Batch axes, and free axes of both sides.
  expect_narrow(
      dot_general_p, {{2, 3, 6}},
      [](const Array& x, const Array& w) {
        return slice_axis(slice_axis(slice_axis(matmul(x, w), 0, 1, 3), 1, 2, 5), 2, 1, 7);
      },
      f32({4, 6, 5}), f32({4, 5, 8}));
}

TEST(NarrowToDemand, ComputesTheBoxThatHoldsWhatAllReadersAskFor) {
  expect_narrow(
      dot_general_p, {{4, 7}},
      [](const Array& x, const Array& w) {
        const Array y = matmul(x, w);
        return slice_axis(y, 0, 1, 3) * slice_axis(y, 0, 3, 5);
      },
      f32({6, 5}), f32({5, 7}));
  // Two rows far apart, and columns 1, 3, 5 and 9 of which every second one is computed.
  expect_narrow(
      dot_general_p, {{2, 7}},
      [](const Array& x, const Array& w) {
        const Array y = matmul(x, w);
        return y[0] * y[5];
      },
      f32({6, 5}), f32({5, 7}));
  expect_narrow(
      dot_general_p, {{6, 5}},
      [](const Array& x, const Array& w) {
        const Array y = matmul(x, w);
        return slice_axis(y, 1, 1, 6, 2) * slice_axis(y, 1, 9, 10);
      },
      f32({6, 5}), f32({5, 12}));
  // An empty slice asks for nothing.
  expect_narrow(
      dot_general_p, {{2, 7}},
      [](const Array& x, const Array& w) {
        const Array y = matmul(x, w);
        return concatenate({slice_axis(y, 0, 0, 2), slice_axis(y, 0, 6, 6)}, 0);
      },
      f32({6, 5}), f32({5, 7}));
  expect_whole(
      [](const Array& x, const Array& w) {
        const Array y = matmul(x, w);
        return std::pair{y, y[0]};
      },
      f32({6, 5}), f32({5, 7}));
}

TEST(NarrowToDemand, FollowsPointwiseOperationsAndViews) {
  expect_narrow(
      sum_p, {{2, 3}},
      [](const Array& x) {
        const Array s = tanh(sum(x, {1}));               // [8, 9]
        const Array turned = flip(transpose(s * 2), 0);  // [9, 8]
        return exp(slice_axis(slice_axis(turned, 0, 1, 4), 1, 5, 7));
      },
      f32({8, 4, 9}));
  // Every third one from the second on: 1, 4, 7.
  expect_narrow(
      reduce_max_p, {{3}}, [](const Array& x) { return slice_axis(max(x, {1}), 0, 1, 9, 3); },
      f32({10, 4}));
  expect_narrow(
      argmin_p, {{2}}, [](const Array& x) { return slice_axis(argmin(x, 1), 0, 3, 5); },
      f32({10, 4}));
  // Borders are of the other axis.
  expect_narrow(
      dot_general_p, {{2, 7}},
      [](const Array& x, const Array& w) {
        return slice_axis(pad(matmul(x, w), std::vector<PadWidths>{{0, 0}, {1, 2}}), 0, 4, 6);
      },
      f32({7, 7}), f32({7, 7}));
  // Rows of two joined products.
  expect_narrow(
      dot_general_p, {{2, 7}, {2, 7}},
      [](const Array& x, const Array& w) {
        return slice_axis(concatenate({matmul(x, w), matmul(w, x)}, 1), 0, 4, 6);
      },
      f32({7, 7}), f32({7, 7}));
  // Axes of the same length between the same neighbours are the same when regrouped; others need
  // all.
  expect_narrow(
      dot_general_p, {{2, 6}},
      [](const Array& x, const Array& w) {
        return slice_axis(reshape(matmul(x, w), {5, 2, 3}), 0, 1, 3);
      },
      f32({5, 4}), f32({4, 6}));
  expect_whole(
      [](const Array& x, const Array& w) {
        return slice_axis(reshape(matmul(x, w), {5, 2, 3}), 1, 0, 1);
      },
      f32({5, 4}), f32({4, 6}));
}

TEST(NarrowToDemand, GoesIntoLoops) {
  const auto f = [](const Array& w, const Array& x) {
    return fori_loop(
        0, 3,
        [&](const Array&, const Array& row) {
          return matmul(broadcast_to(row, {6, 6}), w)[2] * 0.25f;
        },
        x);
  };
  const auto g = narrowed(simplified(f, f32({6, 6}), f32({6})));
  ASSERT_TRUE(g.has_value());
  EXPECT_EQ(results_of(dot_general_p, *g), std::vector<Shape>({{1, 6}})) << print(*g);
  expect_function_lowers(f, f32({6, 6}), f32({6}));
}

TEST(NarrowToDemand, LeavesWhatOnlyMovesData) {
  expect_whole([](const Array& x) { return slice_axis(exp(x) * 2, 0, 1, 3); }, f32({6, 5}));
  expect_whole([](const Array& x) { return slice_axis(sum(x, {1}), 0, 2, 2); }, f32({6, 5}));
}

/// The program with a part of each result, from somewhere along an axis.
RandomGraph sliced(RandomGraph r) {
  Trace t;
  Arrays inputs;
  for (const Aval& a : r.graph.input_avals()) inputs.push_back(t.input(a));
  Arrays results = inline_graph(r.graph, inputs);
  std::uint64_t chance = r.seed;
  for (Array& y : results) {
    if (y.rank() == 0) continue;
    const int axis = static_cast<int>(chance % 7) % y.rank();
    const Dim n = y.shape()[axis], start = n == 0 ? 0 : static_cast<Dim>(chance / 7) % n;
    y = slice_axis(y, axis, start, std::min(n, start + 1 + static_cast<Dim>(chance % 4)),
                   1 + static_cast<Dim>(chance % 3));
    chance = chance / 3 + 5;
  }
  r.graph = t.finish(results);
  return r;
}

// Of random programs of which parts are asked for the pass changes many, and those mean what they
// meant: bit by bit as they are written, and compiled.
TEST(NarrowToDemand, KeepsTheMeaningOfRandomPrograms) {
  std::atomic<std::uint64_t> changed = 0, refused = 0;
  const std::uint64_t programs = from_environment("GNOMON_RANDOM_GRAPHS", 1500);
  expect_all(programs, [&](const RandomGraph& whole) -> std::string {
    const RandomGraph r = sliced(whole);
    const auto g = narrowed(simplify(r.graph));
    if (!g) return "";
    ++changed;
    const auto want = evaluate(r.graph, r.inputs), got = evaluate(*g, r.inputs);
    for (std::size_t i = 0; i < want.size(); ++i)
      if (const std::string d = difference(got[i], want[i], 0); !d.empty()) return d;
    return mismatch_on_host(r, r.seed, want, refused);
  });
  EXPECT_GT(changed * 20, programs);
  EXPECT_LT(refused * 20, programs);
}

}  // namespace
}  // namespace gnomon::testing
