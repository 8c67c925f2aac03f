// tests/aot/complaint_test.cpp -- what is wrong with saved functions, said before a device sees
// them; nothing for what the compiler gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "codegen/program/saved.h"
#include "engine/jit/lowering.h"
#include "gnomon/aot.h"
#include "gnomon/control.h"
#include "gnomon/cumulative.h"
#include "gnomon/debug.h"
#include "gnomon/fft.h"
#include "gnomon/jit.h"
#include "gnomon/linalg.h"
#include "gnomon/loops.h"
#include "gnomon/ops.h"
#include "gnomon/random.h"
#include "gnomon/sorting.h"
#include "gnomon/transform.h"
#include "tests/engine/fixture.h"
#include "tests/support/loop_goldens.h"

namespace gnomon::testing {
namespace {

using ::testing::HasSubstr;

class Complaints : public DeviceTest {
 protected:
  using List = std::vector<Array>;
  Array ones(Shape shape) {
    const std::vector<float> all(static_cast<std::size_t>(shape.size()), 1.0f);
    return rt.from_host(all, shape);
  }
  template <class F>
  SavedFile saved(F f, const List& x, LoopMapping loops, const std::vector<std::string>& targets) {
    auto function = std::make_shared<gnomon::detail::LoweredFunction>(
        *jit(rt, f, {.name = "f"}).lower(x).function());
    function->options.loops = loops;
    return saved_file(aot::to_bytes({{"f", Lowered(function)}}, {.targets = targets}));
  }
};

// Writing throws for a complaint.
TEST_F(Complaints, AreNoneForWhatTheCompilerGives) {
  for (const LoopGolden& golden : loop_goldens())
    for (const LoopMapping mapping :
         {LoopMapping::automatic, LoopMapping::workgroup, LoopMapping::device}) {
      auto f = std::make_shared<gnomon::detail::LoweredFunction>();
      f->state = rt.state();
      f->options.name = f->name = golden.name;
      f->options.loops = mapping;
      f->graph = golden.graph;
      for (const Aval& a : golden.graph.input_avals()) f->arguments.push_back({"x", a});
      for (const Aval& a : golden.graph.output_avals()) f->results.push_back({"y", a});
      EXPECT_NO_THROW(aot::to_bytes({{golden.name, Lowered(std::move(f))}}, {.targets = {"gpu"}}))
          << golden.name;
    }
}

TEST_F(Complaints, AreNoneForLibraryFunctions) {
  const Array m = ones({40, 40}), v = ones({40});
  const auto expect_none = [&](auto f, const List& x) {
    EXPECT_NO_THROW(saved(f, x, LoopMapping::automatic, {"device", "gpu", "cpu"}));
  };
  expect_none([](const List& x) { return List{sort(x[0]), cumsum(x[0])}; }, {ones({3000})});
  expect_none([](const List& x) { return List{linalg::solve(x[0] + 40.0f * eye(40), x[1])}; },
              {m, v});
  expect_none(
      [](const List& x) {
        return List{dot(x[0], x[0]), sum(x[0]), max(x[0], 1)};
      },
      {ones({200, 200})});
  expect_none(
      [](const List& x) {
        return List{grad([](const Array& a) { return sum(exp(dot(a, a))); })(x[0])};
      },
      {m});
  expect_none([](const List& x) { return List{sum(x[0])}; }, {ones({1 << 20})});
}

TEST_F(Complaints, SayWhatIsWrong) {
  const auto f = [](const List& x) {
    debug::print("{:.1f}", x[0]);
    const auto state = while_loop([](const List& s) { return s[1] > 1e-6f; },
                                  [](const List& s) {
                                    const Array y = 0.5f * (s[0] + 2.0f / s[0]);
                                    return List{y, max(abs(y - s[0]))};
                                  },
                                  List{x[0], full({}, 1.0f)}, {.max_steps = 100});
    return List{error_if(state[0], any(state[0] > 9.0f), "large"), sum(x[0])};
  };
  const SavedFile good = saved(f, {ones({33})}, LoopMapping::device, {});
  ASSERT_EQ(complaint(good), std::nullopt);
  ASSERT_EQ(good.entries[0].variants[0].file.program.gated.size(), 1u);
  const auto said = [&](const std::function<void(SavedEntry&, SavedVariant&, Program&)>& spoil) {
    SavedFile file = good;
    spoil(file.entries[0], file.entries[0].variants[0], file.entries[0].variants[0].file.program);
    return complaint(file).value_or("nothing");
  };
  using E = SavedEntry;
  using V = SavedVariant;
  using P = Program;
  EXPECT_THAT(said([](E& e, V&, P&) { e.name.clear(); }), HasSubstr("one has none"));
  EXPECT_THAT(said([](E& e, V&, P&) { e.arguments[0].aval.shape = {34}; }),
              HasSubstr("takes or gives other arrays"));
  EXPECT_THAT(said([](E& e, V&, P&) { e.variants.clear(); }), HasSubstr("compiled for nothing"));
  // Statements.
  const auto statement = [&](const std::function<void(Statement&, Statement&)>& spoil) {
    return said([&](E& e, V&, P&) { spoil(e.effects.statements[0], e.effects.statements[1]); });
  };
  EXPECT_THAT(statement([](Statement& p, Statement&) { p.text = "{"; }),
              HasSubstr("a text that is"));
  EXPECT_THAT(statement([](Statement& p, Statement&) { p.text = "{:d}"; }),
              HasSubstr("a text that is none"));
  EXPECT_THAT(statement([](Statement& p, Statement&) { p.text = "{} {}"; }),
              HasSubstr("prints other values"));
  EXPECT_THAT(statement([](Statement&, Statement& c) { c.values.clear(); }),
              HasSubstr("a check of nothing"));
  EXPECT_THAT(statement([](Statement& p, Statement&) { p.first = 99; }), HasSubstr("such records"));
  EXPECT_THAT(statement([](Statement& p, Statement&) {
                p.lanes = {1 << 20, 1 << 20, 1 << 24};
              }),
              HasSubstr("records of another type"));
  EXPECT_THAT(
      statement([](Statement& p, Statement& c) { c.first = p.first; }),
      ::testing::AnyOf(HasSubstr("another's records"), HasSubstr("records of another type")));
  EXPECT_THAT(said([](E& e, V&, P&) { e.effects.statements.pop_back(); }),
              HasSubstr("records of no statement"));
  // Plans.
  EXPECT_THAT(said([](E&, V&, P& p) { p.arena_bytes += 1 << 20; }), HasSubstr("are used"));
  EXPECT_THAT(said([](E&, V&, P& p) { p.allocations.push_back(p.allocations[0]); }),
              HasSubstr("allocations overlap"));
  EXPECT_THAT(said([](E&, V&, P& p) {
                for (Allocation& a : p.allocations) a.first_step = a.last_step = 0;
              }),
              ::testing::AnyOf(HasSubstr("nothing lives in"), HasSubstr("allocations overlap")));
  const auto step = [&](const std::function<void(Step&)>& spoil) {
    return said([&](E&, V&, P& p) {
      for (Step& s : p.steps)
        if (s.kind == Step::Kind::dispatch && s.counts) return spoil(s);
    });
  };
  EXPECT_THAT(step([](Step& s) { s.groups = ~0u; }), HasSubstr("more workgroups than elements"));
  EXPECT_THAT(step([](Step& s) { s.counts->offset += 4; }),
              HasSubstr("where they do not count them"));
  EXPECT_THAT(said([](E&, V&, P& p) { p.gated[0].done.offset += 4; }), HasSubstr("gate"));
  EXPECT_THAT(said([](E&, V&, P& p) { p.gated.clear(); }), HasSubstr("counted by nobody"));
  EXPECT_THAT(said([](E&, V&, P& p) {
                p.gated[0].slices = Slices{p.gated[0].done, 1u << 30, 0, 1};
              }),
              HasSubstr("a slice longer than any"));
  EXPECT_THAT(said([](E&, V&, P& p) {
                p.gated[0].slices = Slices{p.gated[0].done, 64, 0, 1};
              }),
              HasSubstr("the host writes where gates do"));
  // What gates write, by their parameters: word, then a number for each choice.
  const auto gate = [&](std::size_t word, std::uint32_t value, bool begin) {
    return said([&](E&, V&, P& p) {
      const std::uint32_t at = begin ? p.gated[0].first - 1 : p.gated[0].first;
      for (std::uint32_t i = at; i < p.gated[0].end; ++i)
        if (p.steps[i].label == (begin ? "begin" : "gate"))
          return void(p.steps[i].parameters.at(word) = value);
    });
  };
  // Before them the most trips.
  EXPECT_EQ(gate(0, 1000000, false), "nothing");
  EXPECT_THAT(gate(1, 999, false), HasSubstr("writes behind what gates tell"));
  EXPECT_THAT(gate(2, 70000, false), HasSubstr("counts other workgroups than there are"));
  EXPECT_THAT(gate(3, 70000, false), HasSubstr("counts other workgroups than there are"));
  EXPECT_THAT(gate(0, 1, true), HasSubstr("begins without a word"));
  EXPECT_THAT(said([](E&, V&, P& p) {
                for (Step& s : p.steps)
                  if (s.kind == Step::Kind::dispatch && s.label != "gate" && s.counts)
                    for (Place& place : s.operands)
                      if (place.kind == Place::Kind::arena) place.offset = p.gated[0].done.offset;
              }),
              HasSubstr("no gate"));
  EXPECT_THAT(said([](E&, V&, P& p) {
                for (Step& s : p.steps)
                  for (std::size_t o = 0; o < s.operands.size(); ++o)
                    if (s.kind == Step::Kind::dispatch && s.operands[o].kind == Place::Kind::output)
                      s.operands[o] = {Place::Kind::input, 0, 0};
              }),
              HasSubstr("writes what is only read"));
  EXPECT_THAT(said([](E&, V&, P& p) { p.loops[0].trips = std::uint64_t{1} << 60; }),
              HasSubstr("too many dispatches"));
  // Targets and modules.
  EXPECT_THAT(said([](E&, V& v, P&) { v.target.max_groups = 1; }), HasSubstr("grids smaller"));
  EXPECT_THAT(said([](E&, V& v, P&) { v.target.group_size = 0; }), HasSubstr("cannot run"));
  EXPECT_THAT(said([](E&, V& v, P&) { v.file.modules.clear(); }), HasSubstr("has no module"));
  const auto module = [&](const std::function<void(ProgramModule&)>& spoil) {
    return said([&](E&, V& v, P&) { spoil(v.file.modules[0]); });
  };
  EXPECT_THAT(module([](ProgramModule& m) { m.windows[0] = spirv::by_address; }),
              HasSubstr("no such window"));
  EXPECT_THAT(module([](ProgramModule& m) { m.driver_data.resize(8); }),
              HasSubstr("driver's data"));
  EXPECT_THAT(said([](E&, V&, P& p) {
                for (kernel::Kernel& k : p.kernels)
                  for (kernel::Buffer& b : k.buffers) b.dtype = DType::f64;
              }),
              HasSubstr("takes a buffer's elements for others"));
  EXPECT_THAT(said([](E&, V&, P& p) {
                for (kernel::Kernel& k : p.kernels)
                  if (k.name.find("_gate") == std::string::npos &&
                      k.name.find("_begin") == std::string::npos)
                    for (kernel::Buffer& b : k.buffers) b.access = kernel::Access::read;
              }),
              HasSubstr("writes what its kernel reads"));
  EXPECT_THAT(
      said([](E&, V& v, P&) { v.target.contiguous_per_lane = !v.target.contiguous_per_lane; }),
      HasSubstr("does not copy as its target does"));
  EXPECT_THAT(module([](ProgramModule& m) { m.words[1] = 0x00010600; }),
              HasSubstr("another version of SPIR-V"));
  EXPECT_THAT(module([](ProgramModule& m) { m.words[3] = 1u << 30; }),
              HasSubstr("more ids than instructions"));
  EXPECT_THAT(module([](ProgramModule& m) { m.words[5] = 0x00050011; }),
              HasSubstr("too many operands"));
  EXPECT_THAT(module([](ProgramModule& m) { m.words[6] = 5345; }),  // VulkanMemoryModel
              HasSubstr("target does not have"));
  EXPECT_THAT(module([](ProgramModule& m) { m.words.push_back(0x00010000 | 252); }),  // Kill
              HasSubstr("no kernel needs"));
}

TEST_F(Complaints, AHeaderNamesFieldsAndRefusesOtherFiles) {
  struct Layer {
    Array weight, bias;
  };
  struct Model {
    std::vector<Layer> layers;
    Array operator_;
    int power = 2;
  };
  struct Result {
    Array mean;
    std::pair<Layer, Array> rest;
  };
  const auto f = jit(rt,
                     [](const Model& m, const Array& x) {
                       Array y = x;
                       for (const Layer& l : m.layers) y = dot(l.weight, y) + l.bias;
                       return Result{mean(y) * m.operator_, {m.layers[0], y}};
                     },
                     {.name = "step"});
  const Layer layer{ones({3, 3}), ones({3})};
  const std::vector<aot::Entry> entries = {
      {"step", f.lower(Model{{layer, layer}, ones({})}, ones({3}))}};
  const std::string text = aot::header_text(entries, "my-model.2");
  for (const char* words :
       {"namespace my_model_2 {", "class step {", "struct Argument0 {",
        "gnomon::Array weight;  // f32[3,3]", ", 2> layers;", "gnomon::Array mean;  // f32[]",
        "\"argument 0 `.layers[1].bias` f32[3]\"",
        "Result operator()(Argument0 a0, "
        "gnomon::Array a1) const",
        "arrays.push_back(std::move(a0.layers[1].bias));"})
    EXPECT_THAT(text, HasSubstr(words));
  EXPECT_THAT(usage_message([&] {
                aot::header_text({{"a b", entries[0].function}, {"a_b", entries[0].function}}, "x");
              }),
              HasSubstr("two entries are called `a_b` in C++"));
  const aot::Programs programs = aot::load(rt, aot::to_bytes(entries, {.targets = {}}));
  EXPECT_THAT(usage_message([&] {
                aot::detail::expect(programs.entry("step"), {"argument 0 `.other` f32[]"}, {});
              }),
              HasSubstr("the file has argument 0 `.layers[0].weight` f32[3,3] of `step` where its "
                        "header has argument 0 `.other` f32[]"));
}

}  // namespace
}  // namespace gnomon::testing
