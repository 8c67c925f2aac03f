// tests/codegen/passes_test.cpp -- the tables of passes: every pass by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/compile/graph_passes.h"
#include "codegen/graph/text.h"
#include "codegen/optimize/expand.h"
#include "codegen/optimize/kernel_passes.h"
#include "codegen/simplify/simplify.h"
#include "gnomon/loops.h"
#include "gnomon/ops.h"
#include "tests/support/host_check.h"

namespace gnomon::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> optional_passes() {
  std::vector<std::string> names;
  for (const GraphPass& p : graph_passes())
    if (may_be_left_out(p)) names.emplace_back(p.name);
  for (const KernelPass& p : kernel_passes())
    if (may_be_left_out(p)) names.emplace_back(p.name);
  return names;
}

/// Steps of a scan that multiply rows with a matrix, and a sum of what they gave.
Graph recurrent() {
  Trace outer;
  return make_graph(
             [](const Array& w, const Array& xs) {
               return scan(
                          [&](Array h, const Array& x) {
                            const Array next = tanh(matmul(w, h) + x * exp(sum(w)));
                            return std::pair{next, next};
                          },
                          zeros({8}, DType::f32), xs)
                   .second;
             },
             outer.input(f32({8, 8})), outer.input(f32({5, 8})))
      .graph;
}

std::string passes_text(const Graph& g, const PassOptions& passes) {
  std::string text;
  CompileOptions options{.name = "test", .passes = passes};
  options.dump_user = &text;
  options.dump = [](void* user, const std::string& stage, const std::string& what) {
    if (stage == "passes") *static_cast<std::string*>(user) = what;
  };
  compile(g, Target::lavapipe(), options);
  return text;
}

TEST(Passes, RefuseArraysOfMoreElementsThanAreCounted) {
  for (const Shape& shape : {Shape(Dim{1} << 32, Dim{1} << 32), Shape(Dim{1} << 34)}) {
    Trace outer;
    const Graph g = make_graph([&](const Array& x) { return sum(broadcast_to(x, shape)); },
                               outer.input(f32({})))
                        .graph;
    try {
      compile(g, Target::lavapipe(), {.name = "test"});
      ADD_FAILURE() << to_string(shape);
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), HasSubstr("has 2^31 elements or more; split it"));
    }
  }
}

class LeftOut : public ::testing::TestWithParam<std::string> {};

// Whatever a pass does for speed, programs mean the same without it.
TEST_P(LeftOut, NoPassIsMissed) {
  std::atomic<std::uint64_t> refused = 0;
  expect_all(150, [&](const RandomGraph& r) {
    return mismatch_on_host(r, r.seed, evaluate(r.graph, r.inputs), refused,
                            {.left_out = {GetParam()}, .verify = true});
  });
  EXPECT_LT(refused * 20, 150u) << "too many programs take too many loop trips";
}

INSTANTIATE_TEST_SUITE_P(Passes, LeftOut, ::testing::ValuesIn(optional_passes()),
                         [](const auto& i) { return i.param; });

bool has_control(const Graph& g) {
  return std::any_of(g.equations.begin(), g.equations.end(),
                     [](const Equation& e) { return !e.params.graphs().empty(); });
}

// They are not asked there, so they must have nothing to say.
TEST(Passes, OfControlLeaveAGraphWithoutAnyAsItIs) {
  const Target target = Target::lavapipe();
  const CompileOptions options;
  int without = 0;
  expect_all(300, [&](const RandomGraph& r) -> std::string {
    const Graph g = simplify(expand(r.graph, target));
    if (has_control(g)) return "";
    ++without;
    for (const GraphPass& p : graph_passes()) {
      if (!p.of_control) continue;
      const std::optional<Graph> made = p.run(g, {target, options});
      if (made && print(*made) != print(g))
        return std::string(p.name) + " made " + print(*made) + "of " + print(g);
    }
    return "";
  });
  EXPECT_GT(without, 50);
}

TEST(PassLog, SaysWhatEveryPassDidInTheirOrder) {
  const std::string text = passes_text(recurrent(), {.verify = true, .record = true});
  std::size_t at = 0;
  for (const GraphPass& p : graph_passes()) {
    const std::size_t next = text.find("pass " + std::string(p.name) + ": graph, ", at);
    ASSERT_NE(next, std::string::npos) << p.name << "\n" << text;
    at = next;
  }
  for (const KernelPass& p : kernel_passes()) {
    const std::size_t next = text.find("pass " + std::string(p.name) + ": test_", at);
    ASSERT_NE(next, std::string::npos) << p.name << "\n" << text;
    at = next;
  }
  EXPECT_THAT(text, HasSubstr("-> "));
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

/// Each lane chooses a product of products, which one kernel would work out element by element.
Array chosen_products(const Array& which, const Array& a) {
  return vmap([](const Array& w, const Array& x) {
    return cond(
        w > 0, [](const Array& y) { return matmul(matmul(y, y), y); },
        [](const Array& y) { return y * 2; }, x);
  })(which, a);
}

// Which branches are converted is known beforehand, in a loop's body too, so that no kernel is
// drafted for nothing.
TEST(Passes, DivideAGraphOnceWhoseBranchesAreConverted) {
  Trace outer;
  const Array which = outer.input(f32({3})), a = outer.input(f32({3, 64, 64}));
  const Graph alone = make_graph(chosen_products, which, a).graph;
  const Graph repeated =
      make_graph(
          [](const Array& w, const Array& x) {
            return fori_loop(
                0, 3, [&](const Array&, const Array& y) { return chosen_products(w, y) * 1e-3f; },
                x);
          },
          which, a)
          .graph;
  for (const Graph* g : {&alone, &repeated}) {
    const std::string text = passes_text(*g, {.verify = true, .record = true});
    EXPECT_EQ(count(text, "pass partition: graph, "), 1u) << text;
    const std::size_t at = text.find("pass if_convert: graph, ");
    ASSERT_NE(at, text.npos) << text;
    EXPECT_THAT(text.substr(at, text.find("pass input_products", at) - at),
                Not(HasSubstr("cond[")));
    EXPECT_GT(text.find("pass input_products", at) - at, 200u) << "it changed nothing";
  }
}

TEST(PassLog, IsWithoutThoseLeftOut) {
  const std::string text = passes_text(recurrent(), {.left_out = {"licm"}, .record = true});
  EXPECT_THAT(text, HasSubstr("pass transpose_for_lanes: "));
  EXPECT_THAT(text, Not(HasSubstr("pass licm: ")));
  EXPECT_EQ(passes_text(recurrent(), {}), "");
}

TEST(PassOptions, NameThePassesThereAre) {
  const auto message = [](const char* pass) -> std::string {
    try {
      passes_text(recurrent(), {.left_out = {pass}});
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(message("licms"), HasSubstr("there is no pass `licms` to leave out; there are "));
  EXPECT_THAT(message("licms"), HasSubstr("save_residuals, "));
  EXPECT_THAT(message("licms"), HasSubstr(", schedule"));
  // Others rely on it.
  EXPECT_THAT(message("legalize"), HasSubstr("there is no pass `legalize` to leave out"));
  EXPECT_EQ(message("licm"), "");
}

}  // namespace
}  // namespace gnomon::testing
