// tests/codegen/lower_laws_test.cpp -- every operation compiles to what its reference rule says, on
// the cases of the whole table: alone, mapped over lanes, and inside a loop.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>

#include "codegen/operations/control.h"
#include "codegen/transforms/vmap.h"
#include "tests/codegen/primitive_cases.h"
#include "tests/support/lowering.h"

namespace gnomon {
namespace {

using test::Case;

/// Whether the compiler says that this target has no such element type, which is no failure.
bool refused(const std::exception& e) {
  const std::string text = e.what();
  return text.find("which \"") != std::string::npos;
}

double tolerance(const Graph& g) {
  double largest = 1e-13;
  for (const Aval& a : g.avals) {
    if (a.dtype == DType::f32) largest = std::max(largest, 2e-6);
    // Elementary functions differ by an f32's rounding, which may tip that of the result.
    if (a.dtype == DType::f16) largest = std::max(largest, 2e-3);
    if (a.dtype == DType::bf16) largest = std::max(largest, 1.6e-2);
  }
  return largest;
}

/// What differs on some target; `ran` counts the targets that took it.
std::string differs(const Graph& g, const std::vector<HostArray>& inputs, int& ran) {
  const auto want = evaluate(g, inputs);
  for (const auto& [name, target] : testing::targets())
    for (const bool fuse : {true, false}) {
      try {
        const Program p = compile(g, target, {.name = "law", .fuse = fuse, .keep_text = true});
        const auto got = testing::run_on_host(p, inputs);
        ++ran;
        for (std::size_t i = 0; i < want.size(); ++i)
          if (auto d = testing::difference(got[i], want[i], tolerance(g)); !d.empty())
            return std::string(name) + (fuse ? "" : ", unfused") + ": output " + std::to_string(i) +
                   ": " + d + "\n" + print(g) + "\n" + p.fusion_text + print(p);
      } catch (const std::exception& e) {
        if (refused(e)) continue;
        return std::string(name) + (fuse ? "" : ", unfused") + ": " + e.what() + "\n" + print(g);
      }
    }
  return "";
}

struct Form {
  Graph graph;
  std::vector<Aval> inputs;
};

/// All cases in a form; every operation must have compiled somewhere.
void expect_lowered(const std::function<Form(const Case&)>& form,
                    const std::vector<Case>& cases = test::all_cases()) {
  std::map<std::string_view, int> ran;
  int failures = 0;
  for (const Case& c : cases) {
    const Form f = form(c);
    const std::string d =
        differs(f.graph, test::sample(f.inputs, c.domains, 5), ran[c.primitive->name]);
    if (d.empty()) continue;
    ADD_FAILURE() << test::label(c) << " on " << d;
    if (++failures == 5) return;
  }
  for (const auto& [name, count] : ran) EXPECT_GT(count, 0) << name << " was refused everywhere";
}

TEST(LowerLaws, EveryOperationMeansWhatItsReferenceSays) {
  expect_lowered([](const Case& c) { return Form{test::graph_of(c), c.inputs}; });
}

TEST(LowerLaws, EveryElementTypeMeansWhatItsReferenceSays) {
  expect_lowered(
      [](const Case& c) {
        return Form{test::graph_of(c), c.inputs};
      },
      test::dtype_cases());
}

TEST(LowerLaws, EveryOperationMeansTheSameForEachLane) {
  expect_lowered([](const Case& c) {
    if (c.inputs.empty()) return Form{test::graph_of(c), {}};
    // The lane axis in front of one operand and behind the next.
    BatchAxes axes;
    std::vector<Aval> inputs = c.inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      axes.emplace_back(i % 2 == 0 ? 0 : inputs[i].shape.rank());
      inputs[i].shape.insert(*axes.back(), 5);
    }
    return Form{vmap(test::graph_of(c), axes, 5), inputs};
  });
}

/// scan of two steps: the operands are carried along, every step stacks the results.
Graph in_a_loop(const Case& c) {
  ScanParams p;
  p.carried = static_cast<int>(c.inputs.size());
  p.length = 2;
  {
    Trace t;
    Arrays in;
    for (const Aval& a : c.inputs) in.push_back(t.input(a));
    Arrays out = in;
    for (const Array& y : emit(*c.primitive, c.params, in, {})) out.push_back(y);
    p.body = std::make_shared<const Graph>(t.finish(out));
  }
  Trace t;
  Arrays in;
  for (const Aval& a : c.inputs) in.push_back(t.input(a));
  return t.finish(emit(scan_p, p, in, {}));
}

TEST(LowerLaws, EveryOperationMeansTheSameInsideALoop) {
  expect_lowered([](const Case& c) { return Form{in_a_loop(c), c.inputs}; });
}

TEST(LowerLaws, EveryOperationMeansTheSameInsideALoopByLane) {
  expect_lowered([](const Case& c) {
    if (c.inputs.empty()) return Form{in_a_loop(c), {}};
    std::vector<Aval> inputs = c.inputs;
    for (Aval& a : inputs) a.shape.insert(0, 5);
    return Form{vmap(in_a_loop(c), BatchAxes(inputs.size(), 0), 5), inputs};
  });
}

TEST(LowerLaws, EveryElementTypeMeansTheSameInsideALoopByLane) {
  const auto form = [](const Case& c) {
    std::vector<Aval> inputs = c.inputs;
    for (Aval& a : inputs) a.shape.insert(0, 5);
    return Form{vmap(in_a_loop(c), BatchAxes(inputs.size(), 0), 5), inputs};
  };
  expect_lowered(form, test::dtype_cases());
}

}  // namespace
}  // namespace gnomon
