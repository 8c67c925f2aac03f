// tests/codegen/program_file_test.cpp -- programs as bytes: what comes back, and what is refused.
#include "codegen/program/program_file.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>

#include "codegen/compile/pipeline.h"
#include "codegen/graph/text.h"
#include "codegen/modules/module.h"
#include "gnomon/error.h"
#include "tests/support/loop_goldens.h"

namespace gnomon {
namespace {

using ::testing::HasSubstr;

Graph sums() {
  return parse_graph(R"(graph(%0: f32[300,40], %1: f32[40]) {
    %2: f32[300] = sum[axes=(1)] %0
    %3: f32[300] = sin %2
    return %3 %2
  })");
}

Program program_of(const Graph& graph, const Target& target,
                   LoopMapping loops = LoopMapping::automatic) {
  return compile(graph, target, {.name = "test", .loops = loops, .refill = Refill::automatic});
}

// Of every loop that has known answers, by every mapping, and of straight-line code.
std::vector<Program> programs() {
  std::vector<Program> all;
  for (const Target& target : {Target::minimum(), Target::gpu(), Target::lavapipe()}) {
    all.push_back(program_of(sums(), target));
    for (const testing::LoopGolden& golden : testing::loop_goldens())
      for (const LoopMapping mapping : {LoopMapping::automatic, LoopMapping::device})
        all.push_back(program_of(golden.graph, target, mapping));
  }
  return all;
}

// With a module for each kernel, two of them alike.
ProgramFile file_of(Program program, const Target& target) {
  ProgramFile f{"what it depends on", 77, std::move(program), {}};
  for (std::uint32_t k = 0; k < f.program.kernels.size(); ++k) {
    const kernel::Kernel& kernel = f.program.kernels[k];
    ProgramModule m{k, std::vector<std::uint8_t>(kernel.buffers.size()), {}, {}};
    m.words = module_words(kernel, target, m.windows, {});
    m.driver_data = {std::byte{1}, std::byte{2}, static_cast<std::byte>(k)};
    f.modules.push_back(std::move(m));
  }
  if (!f.modules.empty() && !f.modules[0].windows.empty()) {
    f.modules.push_back(f.modules[0]);
    f.modules.back().windows[0] = 1;
  }
  return f;
}

// The kernels as a file keeps them.
Program without_bodies(Program p) {
  for (kernel::Kernel& k : p.kernels) {
    k.body = {};
    k.types.clear();
    k.lines.clear();
    k.privates.clear();
    k.shareds.clear();
  }
  return p;
}

bool same_place(const std::optional<Place>& a, const std::optional<Place>& b) { return a == b; }

void expect_same_step(const Step& a, const Step& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.kernel, b.kernel);
  EXPECT_EQ(a.groups, b.groups);
  EXPECT_EQ(a.operands, b.operands);
  EXPECT_EQ(a.parameters, b.parameters);
  ASSERT_EQ(a.iterations.size(), b.iterations.size());
  for (std::size_t i = 0; i < a.iterations.size(); ++i) {
    EXPECT_EQ(a.iterations[i].word, b.iterations[i].word);
    EXPECT_EQ(a.iterations[i].loop, b.iterations[i].loop);
  }
  EXPECT_EQ(a.bytes, b.bytes);
  EXPECT_TRUE(same_place(a.counts, b.counts));
  EXPECT_EQ(a.barrier_before, b.barrier_before);
  EXPECT_EQ(a.label, b.label);
}

void expect_same(const Program& a, const Program& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.inputs, b.inputs);
  EXPECT_EQ(a.outputs, b.outputs);
  ASSERT_EQ(a.kernels.size(), b.kernels.size());
  for (std::size_t i = 0; i < a.kernels.size(); ++i) {
    EXPECT_EQ(a.kernels[i].name, b.kernels[i].name);
    EXPECT_EQ(a.kernels[i].lanes, b.kernels[i].lanes);
    EXPECT_EQ(a.kernels[i].group_size, b.kernels[i].group_size);
    EXPECT_EQ(a.kernels[i].parameters, b.kernels[i].parameters);
    EXPECT_EQ(a.kernels[i].buffers, b.kernels[i].buffers);
  }
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (std::size_t i = 0; i < a.steps.size(); ++i) expect_same_step(a.steps[i], b.steps[i]);
  ASSERT_EQ(a.loops.size(), b.loops.size());
  for (std::size_t i = 0; i < a.loops.size(); ++i) {
    const LoopBlock &x = a.loops[i], &y = b.loops[i];
    EXPECT_EQ(std::tie(x.first, x.end, x.phases, x.trips, x.steps, x.most_steps, x.results),
              std::tie(y.first, y.end, y.phases, y.trips, y.steps, y.most_steps, y.results));
    ASSERT_EQ(x.advance.has_value(), y.advance.has_value());
    if (x.advance) expect_same_step(a.advances.at(*x.advance), b.advances.at(*y.advance));
  }
  ASSERT_EQ(a.gated.size(), b.gated.size());
  for (std::size_t i = 0; i < a.gated.size(); ++i) {
    const GatedBlock &x = a.gated[i], &y = b.gated[i];
    EXPECT_EQ(std::tie(x.first, x.end, x.done, x.most_passes, x.iterations, x.steps, x.most_steps,
                       x.all_steps, x.results),
              std::tie(y.first, y.end, y.done, y.most_passes, y.iterations, y.steps, y.most_steps,
                       y.all_steps, y.results));
    ASSERT_EQ(x.slices.has_value(), y.slices.has_value());
    if (x.slices) {
      EXPECT_EQ(std::tie(x.slices->steps, x.slices->first, x.slices->most, x.slices->per_pass),
                std::tie(y.slices->steps, y.slices->first, y.slices->most, y.slices->per_pass));
    }
  }
  ASSERT_EQ(a.trips.size(), b.trips.size());
  for (std::size_t i = 0; i < a.trips.size(); ++i)
    EXPECT_EQ(std::tie(a.trips[i].place, a.trips[i].lanes, a.trips[i].together),
              std::tie(b.trips[i].place, b.trips[i].lanes, b.trips[i].together));
  EXPECT_EQ(a.arena_bytes, b.arena_bytes);
  ASSERT_EQ(a.allocations.size(), b.allocations.size());
  for (std::size_t i = 0; i < a.allocations.size(); ++i) {
    const Allocation &x = a.allocations[i], &y = b.allocations[i];
    EXPECT_EQ(std::tie(x.name, x.where.line, x.offset, x.bytes, x.first_step, x.last_step),
              std::tie(y.name, y.where.line, y.offset, y.bytes, y.first_step, y.last_step));
    EXPECT_STREQ(x.where.file, y.where.file);
  }
  EXPECT_EQ(a.constants, b.constants);
  EXPECT_EQ(a.graph_hash, b.graph_hash);
}

TEST(ProgramFile, GivesBackWhatWasWritten) {
  bool loops = false, gated = false, allocations = false;
  for (const Program& p : programs()) {
    ProgramFile f = file_of(p, Target::lavapipe());
    f.program.constants.push_back(std::byte{5});
    if (!f.program.allocations.empty()) f.program.allocations[0].where = {"model.cpp", 12};
    if (p.arena_bytes >= 256) f.program.trips.push_back({{Place::Kind::arena, 0, 64}, 3, 2});
    const auto counts = std::find_if(p.steps.begin(), p.steps.end(), [&](const Step& s) {
      return s.kind == Step::Kind::dispatch && p.kernels[s.kernel].parameters > 0;
    });
    if (!p.loops.empty() && counts != p.steps.end()) {
      Step& advance = f.program.advances.emplace_back(*counts);
      advance.parameters.assign(p.kernels[counts->kernel].parameters, 4);
      f.program.loops[0].advance = static_cast<std::uint32_t>(f.program.advances.size() - 1);
    }
    if (!p.gated.empty()) f.program.gated[0].slices = Slices{p.gated[0].done, 5, 6, 7};
    const ProgramFile back = program_file(to_bytes(f));
    EXPECT_EQ(back.identity, f.identity);
    EXPECT_EQ(back.lines, f.lines);
    EXPECT_EQ(back.modules, f.modules);
    expect_same(back.program, f.program);
    EXPECT_EQ(print(back.program), print(without_bodies(f.program)));
    loops |= !p.loops.empty();
    gated |= !p.gated.empty();
    allocations |= !p.allocations.empty();
    if (HasFailure()) FAIL() << print(p);
  }
  EXPECT_TRUE(loops && gated && allocations);
}

TEST(ProgramFile, KeepsModulesThatAreAlikeOnce) {
  const ProgramFile f = file_of(program_of(sums(), Target::lavapipe()), Target::lavapipe());
  ProgramFile twice = f;
  for (ProgramModule& m : twice.modules) m.windows.assign(m.windows.size(), 2);
  const std::size_t one = to_bytes(f).size();
  twice.modules.insert(twice.modules.end(), f.modules.begin(), f.modules.end());
  EXPECT_LT(to_bytes(twice).size(), one + 64 * f.modules.size());
}

TEST(Complaint, IsNoneForWhatTheCompilerGives) {
  for (const Program& p : programs()) EXPECT_EQ(complaint(p), std::nullopt) << print(p);
}

LoopBlock loop(std::uint32_t first, std::uint32_t end, std::uint32_t phase) {
  LoopBlock l;
  l.first = first;
  l.end = end;
  l.phases = {phase};
  return l;
}

GatedBlock gated(std::uint32_t end, std::uint64_t done) {
  GatedBlock g;
  g.end = end;
  g.done.offset = done;
  return g;
}

TEST(Complaint, SaysWhatIsWrong) {
  const Program good = program_of(sums(), Target::lavapipe());
  ASSERT_GE(good.steps.size(), 1u);
  const auto said = [&](const std::function<void(Program&)>& spoil) {
    Program p = good;
    spoil(p);
    return complaint(p).value_or("nothing");
  };
  EXPECT_EQ(said([](Program&) {}), "nothing");
  EXPECT_THAT(said([](Program& p) { p.steps[0].kernel = 99; }), HasSubstr("no such kernel"));
  EXPECT_THAT(said([](Program& p) { p.steps[0].operands.pop_back(); }), HasSubstr("buffers"));
  EXPECT_THAT(said([](Program& p) { p.steps[0].parameters.push_back(1); }),
              HasSubstr("parameters"));
  EXPECT_THAT(said([](Program& p) {
                p.steps[0].operands[0] = {Place::Kind::arena, 0, p.arena_bytes + 256};
              }),
              HasSubstr("outside of its array"));
  EXPECT_THAT(said([](Program& p) {
                p.steps[0].operands[0] = {Place::Kind::input, 7, 0};
              }),
              HasSubstr("no such input"));
  EXPECT_THAT(said([](Program& p) {
                p.steps[0].operands[0] = {Place::Kind::output, 7, 0};
              }),
              HasSubstr("no such output"));
  EXPECT_THAT(said([](Program& p) { p.steps[0].operands[0].offset = 4; }),
              HasSubstr("not aligned"));
  EXPECT_THAT(said([](Program& p) {
                p.steps[0].counts = Place{Place::Kind::input, 0, 0};
              }),
              HasSubstr("lies in no arena"));
  EXPECT_THAT(said([](Program& p) {
                p.steps[0].iterations.push_back({0, 0});
              }),
              HasSubstr("counts no such iterations"));
  EXPECT_THAT(said([](Program& p) { p.loops.push_back(loop(0, 99, 0)); }),
              HasSubstr("loop has no such steps"));
  EXPECT_THAT(said([](Program& p) { p.loops.push_back(loop(0, 1, 1)); }),
              HasSubstr("no such phases"));
  EXPECT_THAT(said([](Program& p) {
                p.loops.push_back(loop(0, 1, 0));
                p.loops.back().results = {9};
              }),
              HasSubstr("no such result"));
  EXPECT_THAT(said([](Program& p) {
                p.loops.push_back(loop(0, 1, 0));
                p.loops.back().advance = 0;
                Step& advance = p.advances.emplace_back();
                advance.kind = Step::Kind::copy;
                advance.operands = {{Place::Kind::input, 0, 0}, {Place::Kind::output, 0, 0}};
                advance.parameters = {1};
              }),
              HasSubstr("cannot be advanced"));
  EXPECT_THAT(said([](Program& p) {
                p.loops.push_back(loop(0, 1, 0));
                p.loops.back().advance = 0;
              }),
              HasSubstr("cannot be advanced"));
  EXPECT_THAT(said([](Program& p) { p.loops.assign(65, loop(0, 1, 0)); }),
              HasSubstr("lie too deep"));
  EXPECT_THAT(said([](Program& p) {
                p.steps.push_back(p.steps[0]);
                p.loops = {loop(0, 2, 0), loop(0, 2, 0)};
                p.loops[0].phases = {0, 1};
              }),
              HasSubstr("loops overlap"));
  EXPECT_THAT(said([](Program& p) { p.gated.push_back(gated(99, 0)); }),
              HasSubstr("gated block has no such steps"));
  EXPECT_THAT(said([](Program& p) { p.gated.push_back(gated(1, 1u << 30)); }),
              HasSubstr("outside of its array"));
  EXPECT_THAT(said([](Program& p) {
                p.allocations.push_back({"x", {}, p.arena_bytes, 1, 0, 0});
              }),
              HasSubstr("allocation lies outside"));
  EXPECT_THAT(said([](Program& p) {
                p.trips.push_back({{}, 1u << 31, 1});
              }),
              HasSubstr("outside of the arena"));
  EXPECT_THAT(said([](Program& p) { p.inputs[0].shape = Shape(Dim{1} << 40, Dim{1} << 40); }),
              HasSubstr("too large"));
  EXPECT_THAT(said([](Program& p) { p.kernels[0].group_size = 0; }), HasSubstr("empty workgroups"));
}

std::string refusal(const std::vector<std::byte>& bytes) {
  try {
    program_file(bytes);
  } catch (const FileError& e) {
    return e.what();
  }
  return "read";
}

TEST(ProgramFile, RefusesModulesThatAreNone) {
  const Target target = Target::lavapipe();
  const ProgramFile good = file_of(program_of(sums(), target), target);
  const auto said = [&](const std::function<void(ProgramFile&)>& spoil) {
    ProgramFile f = good;
    spoil(f);
    return refusal(to_bytes(f));
  };
  EXPECT_EQ(said([](ProgramFile&) {}), "read");
  EXPECT_THAT(said([](ProgramFile& f) { f.modules[0].words[0] ^= 1; }), HasSubstr("SPIR-V header"));
  EXPECT_THAT(said([](ProgramFile& f) { f.modules[0].words.resize(3); }),
              HasSubstr("SPIR-V header"));
  EXPECT_THAT(said([](ProgramFile& f) { f.modules[0].words.push_back(0x00050000); }),
              HasSubstr("ends in an instruction"));
  EXPECT_THAT(said([](ProgramFile& f) { f.modules[0].kernel = 99; }),
              HasSubstr("belongs to no kernel"));
  EXPECT_THAT(said([](ProgramFile& f) { f.modules[0].windows.push_back(0); }),
              HasSubstr("belongs to no kernel"));
}

TEST(ProgramFile, RefusesOtherBytes) {
  EXPECT_THAT(refusal({}), HasSubstr("damaged"));
  EXPECT_THAT(refusal(std::vector<std::byte>(1000)), HasSubstr("damaged"));
  EXPECT_THAT(refusal(std::vector<std::byte>(1000, std::byte{0xff})), HasSubstr("damaged"));
}

// Without the checksum that files have: what the reader lets through still makes sense.
TEST(ProgramFile, SurvivesBytesThatWereChanged) {
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  int refused = 0, read = 0;
  const std::vector<Program> all = programs();
  for (int round = 0; round < 4000; ++round) {
    const Program& p = all[below(all.size())];
    auto bytes = to_bytes({"identity", 0, p, {}});
    for (std::size_t flips = 1 + below(3); flips > 0; --flips)
      bytes[below(bytes.size())] ^= static_cast<std::byte>(1u << below(8));
    if (below(8) == 0) bytes.resize(below(bytes.size()));
    try {
      const ProgramFile f = program_file(bytes);
      EXPECT_EQ(complaint(f.program), std::nullopt);
      ++read;
    } catch (const FileError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read, 100);  // flags, sizes, parameters: only the checksum of the file can tell
}

}  // namespace
}  // namespace gnomon
