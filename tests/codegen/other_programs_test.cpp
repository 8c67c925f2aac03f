// tests/codegen/other_programs_test.cpp -- whatever the compiler decides, a program means the same.
#include "codegen/compile/other_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "codegen/cost/decisions.h"
#include "codegen/cost/estimate.h"
#include "gnomon/control.h"
#include "gnomon/loops.h"
#include "gnomon/ops.h"
#include "gnomon/transform.h"
#include "tests/support/host_check.h"

namespace gnomon::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t plenty = 1000;

struct Case {
  const char* name;
  Graph graph;
};

Array softmax_of_rows(const Array& x) { return softmax(x); }

Array two_layers(const Array& x, const Array& w) {
  const Array h = tanh(matmul(x, w));
  return sum(h * h, 0) + sum(matmul(h, w), 0);
}

/// A loop and its backward pass.
Array recurrent_gradient(const Array& weights, const Array& x) {
  return grad([&](const Array& w) {
    const auto step = [&](const Array& h, const Array& row) {
      const Array next = tanh(matmul(h, w) * 0.1f + row);
      return std::pair{next, next};
    };
    const Array last = scan(step, zeros({64, 24}, DType::f32), x).first;
    return sum(last * last);
  })(weights);
}

/// Every lane multiplies a vector of its own.
Array by_lanes(const Array& w, const Array& x) {
  return vmap([&](const Array& v) {
    return fori_loop(
        0, 5, [&](const Array&, const Array& h) { return tanh(matmul(w, h)); }, v);
  })(x);
}

/// Between them they ask every question.
std::vector<Case> cases() {
  return {{"softmax", simplified(softmax_of_rows, f32({96, 40}))},
          {"norm", simplified([](const Array& x) { return sum(x * x); }, f32({70000}))},
          {"layers", simplified(two_layers, f32({64, 48}), f32({48, 48}))},
          {"recurrent", simplified(recurrent_gradient, f32({24, 24}), f32({6, 64, 24}))},
          {"lanes", simplified(by_lanes, f32({24, 24}), f32({128, 24}))}};
}

TEST(OtherPrograms, GiveTheSameResults) {
  std::set<std::string> chosen;
  for (const Case& c : cases()) {
    std::vector<HostArray> inputs;
    for (const Aval& a : c.graph.input_avals())
      inputs.push_back(random_array(a, static_cast<std::uint32_t>(inputs.size() + 1)));
    const std::vector<HostArray> want = evaluate(c.graph, inputs);
    for (const auto& [target_name, target] : targets())
      for (const OtherProgram& other : other_programs(c.graph, target, {}, plenty)) {
        chosen.insert(other.chosen);
        const std::vector<HostArray> got = run_on_host(other.program, inputs);
        ASSERT_EQ(got.size(), want.size());
        for (std::size_t i = 0; i < got.size(); ++i)
          EXPECT_EQ(difference(got[i], want[i], 2e-5), "")
              << c.name << " for " << target_name << ": " << other.about << " " << other.other;
      }
  }
  for (const Question q :
       {Question::split, Question::row_kept, Question::in_memory, Question::kernels, Question::rows,
        Question::workgroup, Question::written})
    EXPECT_TRUE(chosen.contains(std::string(answer_text(q, true))) ||
                chosen.contains(std::string(answer_text(q, false))))
        << "nobody asks for " << answer_text(q, true);
}

TEST(OtherPrograms, OfRandomGraphsGiveTheSameResults) {
  std::size_t others = 0;
  expect_all(150, [&](const RandomGraph& r) -> std::string {
    const std::vector<NamedTarget> known = targets_with(holds(r, DType::f64));
    const auto& [name, target] = known[r.seed % known.size()];
    const std::vector<HostArray> want = evaluate(r.graph, r.inputs);
    try {
      for (const OtherProgram& other : other_programs(r.graph, target, {}, 4)) {
        ++others;
        const std::vector<HostArray> got = run_on_host(other.program, r.inputs);
        for (std::size_t i = 0; i < want.size(); ++i)
          if (const std::string d = mismatch(r, i, got[i], want); !d.empty())
            return std::string(name) + ", " + other.about + " " + other.other + ": " + d;
      }
    } catch (const UsageError& e) {
      if (!beyond_budget(e)) throw;
    }
    return "";
  });
  EXPECT_GT(others, 50u) << "next to nothing is decided";
}

TEST(OtherPrograms, AreAsManyAsAskedForAtMost) {
  for (const Case& c : cases()) {
    const std::size_t n = other_programs(c.graph, Target::lavapipe(), {}, plenty).size();
    EXPECT_GT(n, 0u) << c.name;
    EXPECT_LE(other_programs(c.graph, Target::lavapipe(), {}, 1).size(), 1u) << c.name;
  }
}

std::string fusion_text(const Graph& g, const Target& target) {
  return compile(g, target, {.candidates = true, .keep_text = true}).fusion_text;
}

TEST(OtherPrograms, AreHeldAgainstTheOneThatIsChosen) {
  const std::string text =
      fusion_text(simplified(softmax_of_rows, f32({4096, 64})), Target::lavapipe());
  EXPECT_THAT(text, ContainsRegex("\ndecisions, each taken otherwise: [0-9]+ us as it is\n"));
  EXPECT_THAT(text, ContainsRegex("\n  mul %[0-9]+:f32.4096,64. .*by rows . element by element "
                                  "[0-9]+ us\n"));
}

TEST(OtherPrograms, HaveNoTimesWhereNobodyKnowsThem) {
  const Graph g = simplified(softmax_of_rows, f32({4096, 64}));
  EXPECT_THAT(fusion_text(g, Target::gpu()), Not(HasSubstr("decisions")));
  EXPECT_FALSE(other_programs(g, Target::gpu(), {}, plenty).empty());
}

TEST(Decisions, AreListedOnceAndTakenOtherwiseWhereAsked) {
  const Graph g = simplified(softmax_of_rows, f32({8, 8}));
  const ValueId v = g.outputs[0];
  Decisions made;
  EXPECT_TRUE(made.answer(Question::in_memory, g, v, true));
  EXPECT_FALSE(made.answer(Question::rows, g, v, false));
  EXPECT_TRUE(made.answer(Question::in_memory, g, v, true));
  ASSERT_EQ(made.all().size(), 2u);
  EXPECT_THAT(made.all()[0].about, HasSubstr("mul %" + std::to_string(v) + ":f32[8,8]"));

  Decisions otherwise(made.all()[0]);
  EXPECT_FALSE(otherwise.answer(Question::in_memory, g, v, true));
  // The same decision, however the cost model takes it by now.
  EXPECT_FALSE(otherwise.answer(Question::in_memory, g, v, false));
  EXPECT_FALSE(otherwise.answer(Question::rows, g, v, false));
  EXPECT_TRUE(otherwise.answer(Question::in_memory, g, g.inputs[0], true));

  EXPECT_TRUE(decide(nullptr, Question::split, g, v, true));
}

}  // namespace
}  // namespace gnomon::testing
