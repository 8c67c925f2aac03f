// tests/shaders/spirv_control_test.cpp -- loops and branches: structure, what they carry and
// give, the predecessors of phis.
#include <sstream>

#include "tests/shaders/spirv_testing.h"

namespace gnomon::spirv {
namespace {

using kernel::Op;
using kernel::Value;
using kernel::Values;

Value less(kernel::Builder& b, Value x, Value y) { return b.compare(Op::lt, x, y); }

TEST(SpirvControl, ALoopCarriesEveryWidth) {
  for (std::uint8_t width : all_widths) {
    Sketch s;
    const Value x = s.b.load(s.input(DType::f32), s.index, width);
    const Values init = {x, s.b.compare(Op::ne, x, x)};
    const Values out = s.b.count_loop(
        s.b.parameter(s.b.parameter_word()), 100, init, [&](Value, std::span<const Value> c) {
          return Values{s.b.add(c[0], x), s.b.binary(Op::bxor, c[1], less(s.b, c[0], x))};
        });
    s.keep(out[0]);
    s.keep(out[1]);
    const std::string text = emitted(s.b.take());
    // One variable for every part of what is carried: stored in front and by every trip.
    const auto variables = count(text, "Function\n");
    EXPECT_EQ(variables, 1 + 2 * std::max(1u, width / 4u)) << text;
    EXPECT_THAT(text, Not(HasSubstr("OpPhi")));
    EXPECT_EQ(count(text, "OpLoopMerge"), 1u);
  }
}

// A continue block that stores would be a branch at the top of every trip (emit_control.cpp).
TEST(SpirvControl, OnlyALoopOfOneTripStoresWhenItContinues) {
  for (const std::uint64_t trips : {1, 2}) {
    Sketch s;
    const Value x = s.b.load(s.input(DType::f32), s.index);
    s.keep(s.b.loop(
        Values{x}, trips, [&](std::span<const Value> c) { return less(s.b, c[0], s.b.f32(3)); },
        [&](std::span<const Value> c) { return Values{s.b.add(c[0], x)}; })[0]);
    const std::string text = emitted(s.b.take());
    // Blocks: entry, header, condition, body, continue, merge.
    std::size_t block = text.find("OpLabel");
    for (int i = 0; i < 4; ++i) block = text.find("OpLabel", block + 1);
    const std::string last = text.substr(block, text.find("OpLabel", block + 1) - block);
    EXPECT_EQ(count(last, "OpStore"), trips == 1 ? 1u : 0u) << text;
  }
}

// LLVM makes more of a loop that starts from constants than it is worth (emit_control.cpp).
TEST(SpirvControl, DriversForCpusDoNotKnowFromWhichConstantsALoopStarts) {
  for (std::uint8_t width : all_widths) {
    for (const std::uint64_t trips : {1, 100}) {
      Sketch s;
      const Value x = s.b.load(s.input(DType::f32), s.index, width);
      const Values init = {s.b.f32(1), s.b.splat(s.b.f32(0), width), x, s.b.u32(3)};
      const Values out = s.b.loop(
          init, trips, [&](std::span<const Value> c) { return less(s.b, c[3], s.b.u32(99)); },
          [&](std::span<const Value> c) {
            return Values{s.b.add(c[0], c[0]), s.b.add(c[1], c[2]), c[2],
                          s.b.add(c[3], s.b.u32(1))};
          });
      s.keep(out[0]);
      s.keep(out[1]);
      const kernel::Kernel k = s.b.take();
      const auto constant_starts = [&](bool paired, const std::string& of) {
        Features features = everything();
        features.paired_stores = paired;
        const std::string text = emitted(k, with(features));
        std::size_t found = 0;
        std::istringstream lines(text.substr(0, text.find("OpLoopMerge")));
        for (std::string line; std::getline(lines, line);)
          if (const std::size_t at = line.find("OpStore "); at != std::string::npos) {
            const std::string object = line.substr(line.rfind(' ') + 1);
            const std::size_t made = text.find(object + " = ");
            const std::string maker = text.substr(made, text.find('\n', made) - made);
            found += maker.find(" = OpConstant") != std::string::npos &&
                     maker.find(of) != std::string::npos;
          }
        return found;
      };
      const std::size_t parts = 1 + std::max(1u, width / 4u);
      EXPECT_EQ(constant_starts(true, "float"), trips == 1 ? parts : 0u) << int{width};
      EXPECT_EQ(constant_starts(false, "float"), parts) << int{width};
      EXPECT_EQ(constant_starts(true, "uint"), 1u) << "the counter's start is known";
    }
  }
}

TEST(SpirvControl, BranchesGiveEveryWidth) {
  for (std::uint8_t width : all_widths) {
    Sketch s;
    const Value x = s.b.load(s.input(DType::f32), s.index, width);
    const Value go = s.b.any(s.b.compare(Op::ne, x, x));
    s.keep(s.b.if_(
        go, [&] { return Values{s.b.add(x, x)}; }, [&] { return Values{x}; })[0]);
    emitted(s.b.take());
  }
}

TEST(SpirvControl, ABranchWithoutResultsNeedsNoElse) {
  Sketch s;
  const Value x = s.b.load(s.input(DType::f32), s.index);
  const std::uint32_t out = s.output(DType::f32);
  s.b.if_(
      less(s.b, x, s.b.f32(1)),
      [&] {
        s.b.store(out, s.index, x);
        return Values{};
      },
      [] { return Values{}; });
  const std::string text = emitted(s.b.take());
  EXPECT_EQ(count(text, "OpLabel"), 3u) << text;
  EXPECT_THAT(text, Not(HasSubstr("OpPhi")));
}

// Phis name the block that control really comes from: the merge block of whatever was nested last.
TEST(SpirvControl, NestedRegionsKeepThePredecessorsOfPhis) {
  Sketch s;
  kernel::Builder& b = s.b;
  const Value x = b.load(s.input(DType::f32), s.index);
  const Value limit = b.parameter(b.parameter_word());
  const std::uint32_t out = s.output(DType::f32);
  const std::uint32_t array = b.private_array({DType::f32, 8});
  const auto nested_if = [&](Value y) {
    return b.if_(
        less(b, y, b.f32(3)),
        [&] {
          return b.if_(
              less(b, y, b.f32(2)), [&] { return Values{b.add(y, b.f32(4))}; },
              [&] {
                b.private_store(array, b.u32(1), y);
                return Values{b.private_load(array, b.u32(2))};
              });
        },
        [&] { return Values{b.mul(y, y)}; })[0];
  };
  const Values result =
      b.count_loop(limit, 0, Values{x, x}, [&](Value i, std::span<const Value> c) {
        const Value inner = b.loop(
            Values{nested_if(c[0])}, 10,
            [&](std::span<const Value> d) { return less(b, nested_if(d[0]), b.f32(5)); },
            [&](std::span<const Value> d) {
              b.store(out, i, d[0], less(b, d[0], c[1]));
              return Values{nested_if(d[0])};
            })[0];
        return Values{nested_if(inner), c[0]};
      });
  s.keep(result[0]);
  s.keep(result[1]);
  const kernel::Kernel k = b.take();
  for (const bool debug : {false, true}) {
    EmitOptions options;
    options.debug_info = debug;
    emitted(k, options);
  }
}

TEST(SpirvControl, ALoopMayCarryNothing) {
  Sketch s;
  const std::uint32_t out = s.output(DType::u32);
  s.b.loop(
      {}, 5,
      [&](std::span<const Value>) { return less(s.b, s.b.load(out, s.b.u32(0)), s.b.u32(9)); },
      [&](std::span<const Value>) {
        s.b.store(out, s.b.u32(0), s.b.add(s.b.load(out, s.b.u32(0)), s.b.u32(1)));
        return Values{};
      });
  emitted(s.b.take());
}

// The values of a swap must be read before either is replaced.
TEST(SpirvControl, CarriedValuesMaySwap) {
  Sketch s;
  const std::uint32_t in = s.input(DType::u32);
  const Values out =
      s.b.count_loop(s.b.u32(7), 7, Values{s.b.load(in, s.b.u32(0)), s.b.load(in, s.b.u32(1))},
                     [](Value, std::span<const Value> c) {
                       return Values{c[1], c[0]};
                     });
  s.keep(out[0]);
  s.keep(out[1]);
  const std::string text = emitted(s.b.take());
  const std::size_t trip = text.find("OpLoopMerge");
  const std::size_t last_load = text.rfind("OpLoad %uint");
  EXPECT_EQ(count(text.substr(trip), "OpLoad %uint"), 3u) << text;
  EXPECT_LT(last_load, text.find("OpStore", trip)) << text;
}

}  // namespace
}  // namespace gnomon::spirv
