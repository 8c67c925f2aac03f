// tests/codegen/transpose_for_lanes_test.cpp -- loops whose lanes multiply vectors of their own:
// the reference's values, from weights and rows that lie as lanes read them.
#include <gmock/gmock.h>

#include "codegen/partition/materialization.h"
#include "gnomon/control.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Weights {
  Array in, hidden, out;
};

/// `steps` steps of a small network, for every lane; what it looked like after each.
std::pair<Array, Array> unrolled(const Weights& w, const Array& start, Dim steps) {
  return scan(
      [&](const Array& y, None) {
        const Array first = tanh(matmul(y, w.in));
        const Array second = tanh(matmul(first, w.hidden));
        return std::pair{y + 0.1f * matmul(second, w.out), second};
      },
      start, none, {.length = steps});
}

/// A loss and its gradient by all weights.
std::pair<Array, Weights> learn(const Weights& w, const Array& start) {
  const auto [value, gradient] = value_and_grad([&](const Weights& v) {
    const auto [last, seen] = unrolled(v, start, 6);
    return sum(last * last) + 0.01f * sum(seen);
  })(w);
  return {value, gradient};
}

constexpr Dim lanes = 48, width = 20;

const auto learn_all = [](const Array& a, const Array& b, const Array& c, const Array& start) {
  // Smaller than what random arrays hold: far from where tanh is flat.
  const auto [value, g] = learn({a * 0.3f, b * 0.2f, c * 0.3f}, start);
  return std::vector<Array>{value, g.in, g.hidden, g.out};
};

template <class F, class... A>
Program compiled(F f, const Target& target, const A&... avals) {
  Trace outer;
  return compile(make_graph(f, outer.input(avals)...).graph, target,
                 {.name = "test", .keep_text = true});
}

TEST(TransposeForLanes, GradientsOfANetworkInALoop) {
  expect_function_lowers(learn_all, f32({2, width}), f32({width, width}), f32({width, 2}),
                         f32({lanes, 2}));
}

// What 64 lanes store in a step lies together.
TEST(TransposeForLanes, RowsOfManyLanesLieInBlocks) {
  constexpr Dim many = 192;
  expect_function_lowers(learn_all, f32({2, width}), f32({width, width}), f32({width, 2}),
                         f32({many, 2}));
  const auto block = [](Dim n, const Target& target) {
    const auto rows_transposed = [](const Array& start) {
      return sum(scan(
                     [](const Array& y, None) {
                       return std::pair{y * 2, transpose(y * 2)};
                     },
                     start, none, {.length = 7})
                     .second);
    };
    Trace outer;
    const Graph g = make_graph(rows_transposed, outer.input(f32({n, 5}))).graph;
    Dim found = 0;
    for (const Layout& l : choose_materialization(g, analyse_uses(g), target, {}).layouts)
      found = std::max(found, l.block);
    return found;
  };
  EXPECT_EQ(block(many, Target::lavapipe()), 64);
  EXPECT_EQ(block(64, Target::lavapipe()), 0) << "one block";
  EXPECT_EQ(block(100, Target::lavapipe()), 0) << "no whole number of blocks";
  EXPECT_EQ(block(many, Target::gpu()), 0);
}

TEST(TransposeForLanes, RowsHaveTheLanesLast) {
  const Program p = compiled(learn_all, Target::lavapipe(), f32({2, width}), f32({width, width}),
                             f32({width, 2}), f32({lanes, 2}));
  EXPECT_THAT(p.fusion_text, HasSubstr("f32[6,20,48]"));
  EXPECT_THAT(p.fusion_text, Not(HasSubstr("f32[6,48,20]")));
  // Neighbouring lanes of a GPU read neighbours' rows through a cache of their own.
  const Program gpu = compiled(learn_all, Target::gpu(), f32({2, width}), f32({width, width}),
                               f32({width, 2}), f32({lanes, 2}));
  EXPECT_THAT(gpu.fusion_text, Not(HasSubstr("f32[6,20,48]")));
}

TEST(TransposeForLanes, ActivationsAreKeptForTheWayBack) {
  // Two layers' for one pair of loops; without them the way back would compute tanh again.
  const Program p = compiled(learn_all, Target::lavapipe(), f32({2, width}), f32({width, width}),
                             f32({width, 2}), f32({lanes, 2}));
  const std::string& text = p.graph_text;
  const auto back = text.find("reverse=true");
  ASSERT_NE(back, std::string::npos);
  const auto begin = text.rfind("scan[body=", back);
  EXPECT_EQ(text.substr(begin, back - begin).find("tanh"), std::string::npos) << text;
}

TEST(TransposeForLanes, ResultsOfTheProgramStayAsTheyAre) {
  const auto f = [](const Array& a, const Array& b, const Array& c, const Array& start) {
    return unrolled({a * 0.3f, b * 0.2f, c * 0.3f}, start, 4);
  };
  expect_function_lowers(f, f32({2, width}), f32({width, width}), f32({width, 2}), f32({lanes, 2}));
  // As many lanes as the network is wide: nobody could tell the axes apart.
  expect_function_lowers(learn_all, f32({2, width}), f32({width, width}), f32({width, 2}),
                         f32({width, 2}));
}

TEST(TransposeForLanes, LoopsOfManyProductsWalkThem) {
  const auto deep = [](const Array& weights, const Array& start) {
    const Array w = weights * 0.2f;
    return fori_loop(
        0, 3,
        [&](Array, Array y) {
          for (int layer = 0; layer < 12; ++layer) y = tanh(matmul(y, w));
          return y;
        },
        start);
  };
  expect_function_lowers(deep, f32({24, 24}), f32({lanes, 24}));
  const auto one = [](const Array& weights, const Array& start) {
    const Array w = weights * 0.2f;
    return fori_loop(
        0, 3, [&](Array, Array y) { return tanh(matmul(y, w)); }, start);
  };
  expect_function_lowers(one, f32({24, 24}), f32({lanes, 24}));
  EXPECT_THAT(compiled(one, Target::lavapipe(), f32({24, 24}), f32({lanes, 24})).graph_text,
              HasSubstr("permute"));
  EXPECT_THAT(compiled(deep, Target::lavapipe(), f32({24, 24}), f32({lanes, 24})).graph_text,
              Not(HasSubstr("permute")));
}

TEST(TransposeForLanes, WhileLoopsHaveTheirWeightsTransposedToo) {
  const auto f = [](const Array& weights, const Array& start) {
    const Array w = weights * 0.1f;
    return vmap([&](const Array& y0) {
      return while_loop([](const Array& y) { return sum(abs(y)) > 0.5f; },
                        [&](Array y) { return tanh(matmul(y, w)); }, y0, {.max_steps = 20});
    })(start);
  };
  expect_function_lowers(f, f32({24, 24}), f32({lanes, 24}));
}

// The last layer's sums are added up while the layer before it is computed, one unit after the
// other: only the first layer's units lie in an array of the lane.
TEST(TransposeForLanes, SumsOverWhatNobodyElseReadsNeedNoArray) {
  const auto last_layer = [](Dim out) {
    return [out](const Array& in, const Array& hidden, const Array& weights, const Array& start) {
      const Array w = 0.1f * slice(weights, {0, 0}, {width, out});
      return fori_loop(
          0, 5,
          [&](Array, Array y) {
            const Array second = tanh(matmul(tanh(matmul(y, in * 0.3f)), hidden * 0.2f));
            return y + reshape(sum(matmul(second, w), {1}), {lanes, 1});
          },
          start);
    };
  };
  const auto check = [&](Dim units, std::size_t arrays) {
    SCOPED_TRACE(units);
    const auto f = last_layer(units);
    const auto in = f32({2, width}), hidden = f32({width, width}), out = f32({width, 12});
    expect_function_lowers(f, in, hidden, out, f32({lanes, 2}));
    const Program p = compiled(f, Target::lavapipe(), in, hidden, out, f32({lanes, 2}));
    std::size_t most = 0;
    for (const auto& k : p.kernels)
      most = std::max(most, static_cast<std::size_t>(
                                std::count_if(k.privates.begin(), k.privates.end(),
                                              [](const auto& a) { return a.length == width; })));
    EXPECT_EQ(most, arrays);
  };
  check(2, 1);
  check(12, 2);
}

}  // namespace
}  // namespace gnomon::testing
