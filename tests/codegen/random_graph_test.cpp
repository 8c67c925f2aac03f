// tests/codegen/random_graph_test.cpp -- random programs through the compiler, on the host, against
// the reference.
#include "tests/support/random_graph.h"

#include <gtest/gtest.h>

#include "codegen/graph/verify.h"
#include "codegen/simplify/simplify.h"
#include "gnomon/ops.h"
#include "tests/support/host_check.h"

namespace gnomon::testing {
namespace {

constexpr std::uint64_t graphs = 300;

TEST(RandomGraphs, AreSoundAndComeBackFromTheirText) {
  expect_all(graphs, [](const RandomGraph& r) {
    std::string fault = find_fault(r.graph);
    if (!fault.empty()) return fault;
    const Graph back = parse_graph(print(r.graph));
    if (!structurally_equal(back, r.graph)) return "parses as\n" + print(back);
    return std::string();
  });
}

TEST(RandomGraphs, AreTheSameForTheSameSeed) {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + 20; ++seed) {
    const RandomGraph a = random_graph(seed), b = random_graph(seed);
    EXPECT_TRUE(structurally_equal(a.graph, b.graph)) << seed;
    EXPECT_EQ(a.inputs, b.inputs) << seed;
  }
}

TEST(RandomGraphs, KeepEveryBitWhenSimplified) {
  expect_all(graphs, [](const RandomGraph& r) -> std::string {
    const Graph simple = simplify(r.graph);
    if (std::string fault = find_fault(simple); !fault.empty()) return fault;
    const auto want = evaluate(r.graph, r.inputs), got = evaluate(simple, r.inputs);
    for (std::size_t i = 0; i < want.size(); ++i)
      if (std::string d = difference(got[i], want[i], 0); !d.empty())
        return "output " + std::to_string(i) + ": " + d + "\n" + print(simple);
    return "";
  });
}

// Every way for some, one way for many: a way depends on the seed, so other seeds try it elsewhere.
TEST(RandomGraphs, MeanTheSameCompiledInEveryWay) {
  std::atomic<std::uint64_t> refused = 0;
  expect_all(100, [&](const RandomGraph& r) {
    const auto want = evaluate(r.graph, r.inputs);
    std::string what;
    for (std::uint64_t way = 0; way < ways && what.empty(); ++way)
      what = mismatch_on_host(r, way, want, refused);
    return what;
  });
  EXPECT_LT(refused * 50, 100 * ways) << "too many programs take too many loop trips";
}

TEST(RandomGraphs, MeanTheSameCompiled) {
  std::atomic<std::uint64_t> refused = 0;
  expect_all(2000, [&](const RandomGraph& r) {
    return mismatch_on_host(r, r.seed, evaluate(r.graph, r.inputs), refused);
  });
  EXPECT_LT(refused * 50, 2000u) << "too many programs take too many loop trips";
}

// A difference that rounding explains is none; others are, also where rounding explains something.
TEST(RandomGraphs, AreJudgedByWhatRoundingMakesOfThem) {
  const auto notices = [](const auto& f, double off) {
    Trace outer;
    RandomGraph r;
    r.graph = make_graph(f, outer.input(f32({64}))).graph;
    r.inputs = {random_array(f32({64}), 7)};
    const auto want = evaluate(r.graph, r.inputs);
    HostArray got = want[0];
    got.set_number(0, got.number(0) + off);
    return !mismatch(r, 0, got, want).empty();
  };
  const auto steady = [](const Array& x) { return 0.5f * x + 1; };
  const auto shaky = [](const Array& x) { return sin(x * 20000); };
  EXPECT_FALSE(notices(steady, 5e-5));
  EXPECT_TRUE(notices(steady, 3e-4));
  EXPECT_FALSE(notices(shaky, 3e-4));
  EXPECT_TRUE(notices(shaky, 2e-3));
}

// Branches that were too much for a kernel; a backward pass that looked at what was not kept; rows
// without elements, lanes last; a counter of iterations that nobody read, and others' memory in its
// place.
TEST(RandomGraphs, ThatFailedOnceMeanTheSameCompiled) {
  for (const std::uint64_t seed : {50300467, 80100755, 80278929, 110472882, 120222394}) {
    std::atomic<std::uint64_t> refused = 0;
    const RandomGraph r = random_graph(seed);
    EXPECT_EQ(mismatch_on_host(r, r.seed, evaluate(r.graph, r.inputs), refused), "") << seed;
    EXPECT_EQ(refused, 0u) << seed;
  }
}

/// Tells what each of `count` programs of derivatives does wrong.
void expect_derivatives(std::uint64_t count, const GraphCheck& check) {
  const std::uint64_t last = first_seed() + from_environment("GNOMON_RANDOM_GRAPHS", count);
  for (std::uint64_t seed = first_seed(); seed < last; ++seed) {
    RandomGraph r;
    const GraphCheck trace_and_check = [&](const RandomGraph&) {
      return check(r = random_derivatives(seed));
    };
    EXPECT_EQ(failure(trace_and_check, r), "") << "seed " << seed;
  }
}

TEST(RandomDerivatives, AgreeWithDifferencesAndWithEachOther) {
  expect_derivatives(500,
                     [](const RandomGraph& r) { return broken_law(evaluate(r.graph, r.inputs)); });
}

TEST(RandomDerivatives, MeanTheSameCompiled) {
  std::atomic<std::uint64_t> refused = 0;
  expect_derivatives(200, [&](const RandomGraph& r) {
    return mismatch_on_host(r, r.seed, evaluate(r.graph, r.inputs), refused);
  });
  EXPECT_LT(refused * 20, 200u) << "too many programs take too many loop trips";
}

}  // namespace
}  // namespace gnomon::testing
