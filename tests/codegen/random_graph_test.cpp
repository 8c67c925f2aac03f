// tests/codegen/random_graph_test.cpp -- random programs through the compiler, on the host, against
// the reference. GNOMON_RANDOM_GRAPHS says how many, GNOMON_RANDOM_SEED with which to begin.
#include "tests/support/random_graph.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "codegen/graph/simplify.h"
#include "codegen/graph/verify.h"
#include "tests/support/lowering.h"
#include "tests/support/shrink_graph.h"

namespace gnomon::testing {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}
std::uint64_t first_seed() { return from_environment("GNOMON_RANDOM_SEED", 1); }
std::uint64_t graphs() { return from_environment("GNOMON_RANDOM_GRAPHS", 300); }

/// Checks every seed; a failure is shrunk and printed. Stops at the third.
void expect_all(const GraphCheck& check) {
  int failed = 0;
  for (std::uint64_t seed = first_seed(); seed < first_seed() + graphs() && failed < 3; ++seed) {
    const RandomGraph r = random_graph(seed);
    const std::string what = failure(check, r);
    if (what.empty()) continue;
    ++failed;
    const RandomGraph small = shrink(r, check);
    ADD_FAILURE() << what << "\nsmallest that fails: " << failure(check, small) << "\n"
                  << describe(small);
  }
}

/// A driver that stops long loops is told so by an error, which is right.
bool beyond_budget(const UsageError& e) {
  return std::string(e.what()).find("silently stops a kernel") != std::string::npos;
}

TEST(RandomGraphs, AreSoundAndComeBackFromTheirText) {
  expect_all([](const RandomGraph& r) {
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
  expect_all([](const RandomGraph& r) -> std::string {
    const Graph simple = simplify(r.graph);
    if (std::string fault = find_fault(simple); !fault.empty()) return fault;
    const auto want = evaluate(r.graph, r.inputs), got = evaluate(simple, r.inputs);
    for (std::size_t i = 0; i < want.size(); ++i)
      if (std::string d = difference(got[i], want[i], 0); !d.empty())
        return "output " + std::to_string(i) + ": " + d + "\n" + print(simple);
    return "";
  });
}

TEST(RandomGraphs, MeanTheSameCompiled) {
  std::uint64_t programs = 0, refused = 0;
  expect_all([&](const RandomGraph& r) -> std::string {
    const auto want = evaluate(r.graph, r.inputs);
    for (const auto& [name, target] : targets())
      for (const char* how : {"fused", "unfused", "sequential"}) {
        ++programs;
        try {
          const Program p = compile(r.graph, target, {.name = "test",
                                                      .fuse = how[0] != 'u',
                                                      .force_sequential = how[0] == 's',
                                                      .keep_text = true});
          const auto got = run_on_host(p, r.inputs);
          for (std::size_t i = 0; i < want.size(); ++i)
            if (std::string d = difference(got[i], want[i], 1e-4); !d.empty())
              return std::string(name) + ", " + how + ": output " + std::to_string(i) + ": " + d +
                     "\n" + p.fusion_text + print(p);
        } catch (const UsageError& e) {
          if (!beyond_budget(e)) throw;
          ++refused;
        }
      }
    return "";
  });
  EXPECT_LT(refused * 50, programs) << "too many programs take too many loop trips to be tested";
}

}  // namespace
}  // namespace gnomon::testing
