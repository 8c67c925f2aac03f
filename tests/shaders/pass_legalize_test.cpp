// tests/shaders/pass_legalize_test.cpp -- the interpreter before and after legalize: every
// operation of every type bit for bit, packed memory word for word, and no word that is shared is
// rewritten.
#include "shaders/passes/legalize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "shaders/interpret/interpret.h"
#include "shaders/kernel/builder.h"
#include "shaders/kernel/scalar.h"
#include "shaders/kernel/text.h"
#include "shaders/kernel/verify.h"
#include "shaders/passes/coarsen.h"
#include "shaders/passes/simplify.h"
#include "shaders/passes/vectorize.h"
#include "shaders/support/half.h"

namespace gnomon::kernel {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr DType changed[] = {DType::i8,  DType::u8,  DType::i16, DType::u16,
                             DType::i64, DType::u64, DType::f16, DType::bf16};
constexpr DType all[] = {DType::boolean, DType::i8,  DType::u8,  DType::i16, DType::u16,
                         DType::i32,     DType::u32, DType::i64, DType::u64, DType::f16,
                         DType::bf16,    DType::f32, DType::f64};

using Bytes = std::vector<std::byte>;

std::uint64_t element(const Bytes& bytes, DType t, std::size_t i) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + i * size_of(t), size_of(t));
  return bits;
}

/// Edges of the type next to one another, then bits of all lengths.
Bytes sample(DType t, std::size_t n, std::uint32_t seed, bool edges) {
  std::mt19937_64 random(seed);
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - 8 * size_of(t));
  const std::uint64_t sign = std::uint64_t{1} << (8 * size_of(t) - 1);
  std::vector<std::uint64_t> values;
  if (edges && t != DType::boolean) {
    if (is_float(t)) {
      for (double x : {0.0,     -0.0,    1.0,    -1.0,   0.5,      3.0,       -2.5,        65504.0,
                       65519.0, 65520.0, 1e5,    6e-8,   -6.1e-5,  6.1035e-5, 1e30,        -1e30,
                       0.333,   255.0,   2047.0, 2049.0, HUGE_VAL, -HUGE_VAL, std::nan("")})
        values.push_back(from_double(t, x));
    } else {
      for (std::uint64_t x : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, mask, mask - 1,
                              sign, sign - 1, sign + 1, mask >> 4, mask >> 4 | sign, sign >> 1,
                              (sign >> 1) - 1, sign >> (4 * size_of(t)), mask >> (4 * size_of(t)),
                              std::uint64_t{7}, std::uint64_t{10}})
        values.push_back(x & mask);
    }
  }
  // All pairs of edges, where there are two operands: one walks slowly, the other fast.
  Bytes bytes(n * size_of(t));
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t any = random() & (mask >> (random() % (8 * size_of(t))));
    std::uint64_t bits = any;
    if (count > 0 && i < count * count) bits = values[seed % 2 == 0 ? i % count : i / count];
    if (t == DType::boolean) bits = any & 1;
    std::memcpy(bytes.data() + i * size_of(t), &bits, size_of(t));
  }
  return bytes;
}

Bytes padded(Bytes b) {
  b.resize((b.size() + 3) / 4 * 4);
  return b;
}

/// The buffers after a run.
std::vector<Bytes> run(const Kernel& k, std::uint32_t groups, std::vector<Bytes> buffers) {
  verify(k);
  std::vector<std::span<std::byte>> spans(buffers.begin(), buffers.end());
  const std::vector<std::uint32_t> parameters(parameter_header_words + k.buffers.size(), 0);
  interpret(k, groups, parameters, spans);
  return buffers;
}

bool same(DType t, std::uint64_t a, std::uint64_t b) {
  if (a == b) return true;
  return is_float(t) && std::isnan(to_double(t, a)) && std::isnan(to_double(t, b));
}

constexpr std::uint32_t lanes = 700;

/// One lane per element: loads what `inputs` says, stores what `f` makes of it.
struct Sketch {
  std::vector<DType> inputs;
  DType output;
  std::function<Value(Builder&, const Values&)> f;

  Kernel lane_form() const {
    Builder b("law");
    b.kernel().lanes = lanes;
    const Value lane = b.source(Op::lane);
    Values x;
    for (DType t : inputs) {
      const std::uint32_t buffer = b.buffer({t, Access::read, false, false, "x"});
      x.push_back(b.load(buffer, lane));
    }
    const std::uint32_t out = b.buffer({output, Access::write, false, false, "y"});
    b.store(out, lane, f(b, x));
    return b.take();
  }
};

void expect_same_bits(const Sketch& s, const std::string& label, bool edges = true) {
  const Kernel lane_form = s.lane_form();
  std::vector<Bytes> memory;
  for (std::size_t i = 0; i < s.inputs.size(); ++i)
    memory.push_back(padded(sample(s.inputs[i], lanes, static_cast<std::uint32_t>(i), edges)));
  memory.push_back(padded(Bytes(lanes * size_of(s.output))));
  const Bytes expected = run(lane_form, 0, memory).back();
  for (const std::uint32_t width : {1u, 4u, 16u}) {
    const Kernel wide = coarsen(lane_form, {width, 64});
    for (const bool int64 : {false, true}) {
      const Kernel legal = legalize(wide, {.int64 = int64});
      for (const Type t : legal.types)
        ASSERT_TRUE(t.scalar == DType::boolean || size_of(t.scalar) == 4 ||
                    t.scalar == DType::f64 || int64)
            << label << to_string(t);
      const Kernel final = simplify(vectorize(legal, {.texel_reads = true}));
      const std::uint32_t groups = (invocations(lanes, width) + 63) / 64;
      const Bytes result = run(final, groups, memory).back();
      for (std::size_t i = 0; i < lanes; ++i) {
        const std::uint64_t got = element(result, s.output, i);
        const std::uint64_t want = element(expected, s.output, i);
        if (same(s.output, got, want)) continue;
        std::string operands;
        for (std::size_t k = 0; k < s.inputs.size(); ++k)
          operands += " " + std::to_string(element(memory[k], s.inputs[k], i));
        FAIL() << label << " width " << width << " of bits" << operands << " is " << got << ", not "
               << want;
      }
    }
  }
}

TEST(Legalize, ReturnsAKernelOfOtherTypesAsItIs) {
  const Sketch s{{DType::f32, DType::i32, DType::f64}, DType::f32, [](Builder& b, const Values& x) {
                   return b.add(x[0],
                                b.add(b.convert(x[1], DType::f32), b.convert(x[2], DType::f32)));
                 }};
  const Kernel k = coarsen(s.lane_form(), {4, 64});
  EXPECT_EQ(print(legalize(k, {})), print(k));
}

TEST(Legalize, EveryOperationOfTwoOperands) {
  for (DType t : changed)
    for (int o = 0; o < static_cast<int>(Op::if_); ++o) {
      const Op op = static_cast<Op>(o);
      const bool compares = op >= Op::eq && op <= Op::ge;
      const bool binary = (op >= Op::add && op <= Op::maximum) || compares ||
                          (op >= Op::band && op <= Op::bxor) || op == Op::shl || op == Op::shr;
      if (!binary || scalar_function(op, t) == nullptr) continue;
      expect_same_bits({{t, t},
                        compares ? DType::boolean : t,
                        [&](Builder& b, const Values& x) {
                          return compares ? b.compare(op, x[0], x[1]) : b.binary(op, x[0], x[1]);
                        }},
                       std::string(name(op)) + " " + std::string(gnomon::name(t)));
    }
}

TEST(Legalize, EveryOperationOfOneOperand) {
  for (DType t : changed)
    for (Op op : {Op::neg, Op::abs, Op::floor, Op::ceil, Op::round_even, Op::trunc, Op::sqrt,
                  Op::bnot, Op::popcount, Op::is_nan, Op::is_inf}) {
      if (scalar_function(op, t) == nullptr) continue;
      const bool tests = op == Op::is_nan || op == Op::is_inf;
      expect_same_bits({{t},
                        tests ? DType::boolean : t,
                        [&](Builder& b, const Values& x) { return b.unary(op, x[0]); }},
                       std::string(name(op)) + " " + std::string(gnomon::name(t)));
    }
}

TEST(Legalize, TestsOfDoublesNeedNoWideIntegers) {
  for (const Op op : {Op::is_nan, Op::is_inf}) {
    const auto test = [&](Builder& b, const Values& x) { return b.unary(op, x[0]); };
    expect_same_bits({{DType::f64}, DType::boolean, test}, std::string(name(op)) + " f64");
    // A NaN whose bits are all in its lower word.
    const auto of_bits = [&](Builder& b, const Values& x) {
      const Value low = b.bitcast(x[0], DType::u32);
      const Value high = b.constant({DType::u32, b.type(x[0]).width}, 0x7ff00000);
      return b.unary(op, b.from_words(low, high, DType::f64));
    };
    expect_same_bits({{DType::i32}, DType::boolean, of_bits}, std::string(name(op)) + " of words");
    const Kernel k = legalize(
        coarsen(Sketch{{DType::f64}, DType::boolean, test}.lane_form(), {4, 64}), {.int64 = false});
    EXPECT_THAT(print(k), Not(HasSubstr(std::string(name(op)))));
  }
}

TEST(Legalize, EveryConversion) {
  for (DType from : all)
    for (DType to : all) {
      if (from == to) continue;
      // Floats beyond the integers' range are unspecified: they are brought into it first.
      const bool bounded = is_float(from) && is_integer(to);
      const auto convert = [&](Builder& b, const Values& x) {
        Value v = x[0];
        if (bounded) {
          const Value low = b.number(from, is_signed(to) ? -100 : 0), high = b.number(from, 100);
          v = b.select(b.unary(Op::is_nan, v), low, v);
          v = b.select(b.compare(Op::lt, v, low), low, v);
          v = b.select(b.compare(Op::gt, v, high), high, v);
        }
        return b.convert(v, to);
      };
      expect_same_bits({{from}, to, convert},
                       std::string(name(from)) + " to " + std::string(name(to)));
    }
}

TEST(Legalize, LargeFloatsBecomeLargeIntegers) {
  for (DType from : {DType::f32, DType::f64})
    for (DType to : {DType::i64, DType::u64}) {
      const auto f = [&](Builder& b, const Values& x) {
        const Value scaled = b.mul(b.convert(x[0], from), b.number(from, 0x1p41 + 0x1p19));
        return b.convert(to == DType::u64 ? b.unary(Op::abs, scaled) : scaled, to);
      };
      expect_same_bits({{DType::i16}, to, f},
                       std::string(name(from)) + " to " + std::string(name(to)));
    }
}

TEST(Legalize, BitCasts) {
  const std::pair<DType, DType> pairs[] = {{DType::i8, DType::u8},    {DType::f16, DType::u16},
                                           {DType::u16, DType::f16},  {DType::i16, DType::bf16},
                                           {DType::bf16, DType::i16}, {DType::i64, DType::u64},
                                           {DType::f64, DType::i64},  {DType::u64, DType::f64}};
  for (auto [from, to] : pairs)
    expect_same_bits(
        {{from}, to, [to = to](Builder& b, const Values& x) { return b.bitcast(x[0], to); }},
        std::string(name(from)) + " as " + std::string(name(to)));
}

TEST(Legalize, HalvesThatAreOnlyMovedKeepTheirBits) {
  for (DType t : {DType::f16, DType::bf16}) {
    const Sketch s{{t, t, DType::boolean}, t, [](Builder& b, const Values& x) {
                     return b.select(x[2], x[0], x[1]);
                   }};
    const Kernel k = simplify(legalize(coarsen(s.lane_form(), {4, 64}), {}));
    for (const Type type : k.types) EXPECT_NE(type.scalar, DType::f32) << print(k);
  }
}

TEST(Legalize, EveryHalfOfAnF32IsRoundedOnce) {
  std::mt19937 random(3);
  for (DType t : {DType::f16, DType::bf16}) {
    Sketch s{{DType::f32}, t, [&](Builder& b, const Values& x) { return b.convert(x[0], t); }};
    const Kernel k = simplify(legalize(coarsen(s.lane_form(), {4, 64}), {}));
    for (int round = 0; round < 60; ++round) {
      std::vector<Bytes> memory{Bytes(lanes * 4), Bytes(lanes * 2)};
      auto* words = reinterpret_cast<std::uint32_t*>(memory[0].data());
      for (std::uint32_t i = 0; i < lanes; ++i) {
        // Near the values of the 16-bit type and the middle between two: all but a few low bits 0.
        const std::uint32_t code = random();
        const float base = t == DType::f16 ? f16_value(static_cast<std::uint16_t>(code))
                                           : bf16_value(static_cast<std::uint16_t>(code));
        words[i] = std::bit_cast<std::uint32_t>(base) +
                   (i % 3) * (t == DType::f16 ? 0x1000 : 0x8000) + (i / 3) % 3 - 1;
      }
      const std::vector<Bytes> after = run(k, (lanes / 4 + 63) / 64, memory);
      for (std::uint32_t i = 0; i < lanes; ++i) {
        const float x = std::bit_cast<float>(words[i]);
        const std::uint16_t want = t == DType::f16 ? f16_bits(x) : bf16_bits(x);
        ASSERT_TRUE(same(t, element(after[1], t, i), want)) << name(t) << " of " << x;
      }
    }
  }
}

TEST(Legalize, HalvesOfWiderNumbersAreRoundedOnce) {
  // Next to the middle of two values, nearer than an f32 can tell: rounding to f32 first would
  // leave the middle itself, and ties go to even.
  struct Middle {
    DType from, to;
    double middle, apart;
  };
  for (const Middle& m : {Middle{DType::f64, DType::f16, 1 + 0x1p-11, 0x1p-40},
                          Middle{DType::f64, DType::f16, 1 + 0x3p-11, 0x1p-40},
                          Middle{DType::f64, DType::bf16, 1 + 0x1p-8, 0x1p-45},
                          Middle{DType::f64, DType::bf16, -1 - 0x3p-8, 0x1p-45},
                          Middle{DType::i32, DType::bf16, 0x1p30 + 0x1p22, 1},
                          Middle{DType::i32, DType::bf16, -0x1p30 - 0x3p22, 1},
                          Middle{DType::u32, DType::bf16, 0x1p31 + 0x1p23, 1},
                          Middle{DType::i64, DType::bf16, 0x1p50 + 0x1p42, 1},
                          Middle{DType::u64, DType::bf16, 0x1p52 + 0x3p44, 1}}) {
    // The number is loaded: a constant would be converted on the host.
    Builder b("middle");
    b.kernel().lanes = 2;
    const Value lane = b.source(Op::lane);
    const std::uint32_t in = b.buffer({m.from, Access::read, false, false, "x"});
    const std::uint32_t out = b.buffer({m.to, Access::write, false, false, "y"});
    b.store(out, lane, b.convert(b.load(in, lane), m.to));
    Bytes numbers(2 * size_of(m.from));
    for (std::size_t k = 0; k < 2; ++k) {
      const std::uint64_t bits = from_double(m.from, m.middle + (k == 0 ? -m.apart : m.apart));
      std::memcpy(numbers.data() + k * size_of(m.from), &bits, size_of(m.from));
    }
    const Kernel wide = coarsen(b.take(), {2, 8});
    for (const bool int64 : {false, true}) {
      const Bytes y = run(legalize(wide, {.int64 = int64}), 1, {numbers, Bytes(4)})[1];
      for (std::size_t k = 0; k < 2; ++k) {
        const double x = m.middle + (k == 0 ? -m.apart : m.apart);
        EXPECT_EQ(element(y, m.to, k), m.to == DType::f16 ? f16_bits(x) : bf16_bits(x))
            << name(m.from) << " " << x;
      }
    }
  }
}

TEST(Legalize, SixtyFourBitDivisionOfAllLengths) {
  for (DType t : {DType::i64, DType::u64})
    for (Op op : {Op::div, Op::rem})
      expect_same_bits(
          {{t, t}, t, [&](Builder& b, const Values& x) { return b.binary(op, x[0], x[1]); }},
          std::string(name(op)), false);
}

TEST(Legalize, LoopsBranchesAndPrivateArraysHoldEveryType) {
  for (DType t : all) {
    const auto f = [&](Builder& b, const Values& x) {
      const std::uint32_t array = b.private_array({t, 4});
      for (std::uint32_t k = 0; k < 4; ++k) b.private_store(array, b.u32(k), x[k % 2]);
      const Value lane = b.source(Op::lane);
      const Values init{x[0], b.u32(0)};
      const Values left = b.loop(
          init, 8,
          [&](std::span<const Value> c) { return b.compare(Op::lt, c[1], b.land(lane, b.u32(7))); },
          [&](std::span<const Value> c) {
            const Value stored = b.private_load(array, b.land(b.add(c[1], lane), b.u32(3)));
            const Value odd = b.compare(Op::eq, b.land(c[1], b.u32(1)), b.u32(1));
            const Values next = b.if_(
                odd, [&] { return Values{stored}; }, [&] { return Values{c[0]}; });
            b.private_store(array, b.land(c[1], b.u32(3)), c[0]);
            return Values{next[0], b.add(c[1], b.u32(1))};
          });
      return left[0];
    };
    expect_same_bits({{t, t}, t, f}, std::string(name(t)));
  }
}

// ---- packed memory

bool loads_from(const Region& r, std::uint32_t buffer) {
  for (const Instruction& i : r.body) {
    if (i.op == Op::load && i.immediate == buffer) return true;
    for (const Region& inner : i.regions)
      if (loads_from(inner, buffer)) return true;
  }
  return false;
}

TEST(Legalize, NeighboursInAWordKeepTheirElements) {
  // Strided, reversed, offset, wrapped and masked stores: each lane its own elements, the others
  // stay.
  using Place = std::function<Value(Builder&, Value)>;
  const std::pair<const char*, Place> places[] = {
      {"in order", [](Builder&, Value l) { return l; }},
      {"offset", [](Builder& b, Value l) { return b.add(l, b.u32(3)); }},
      {"strided", [](Builder& b, Value l) { return b.mul(l, b.u32(3)); }},
      {"reversed", [](Builder& b, Value l) { return b.sub(b.u32(20), l); }},
      {"scattered", [](Builder& b, Value l) { return b.rem(b.mul(l, b.u32(8)), b.u32(41)); }},
  };
  for (DType t : {DType::boolean, DType::u8, DType::i16, DType::f16})
    for (const auto& [label, place] : places)
      for (const bool masked : {false, true})
        for (const std::uint32_t count : {1u, 3u, 8u, 21u})
          for (const std::uint32_t width : {1u, 2u, 4u, 8u, 16u}) {
            Builder b("stores");
            b.kernel().lanes = count;
            const Value lane = b.source(Op::lane);
            const std::uint32_t in = b.buffer({t, Access::read, false, false, "x"});
            const std::uint32_t out = b.buffer({t, Access::write, false, false, "y"});
            const Value x = b.load(in, lane);
            const Value mask = b.compare(Op::ne, b.rem(lane, b.u32(3)), b.u32(1));
            b.store(out, place(b, lane), x, masked ? mask : Value{});
            const Kernel lane_form = b.take();
            const std::vector<Bytes> memory{padded(sample(t, count, 0, false)),
                                            padded(sample(t, 64, 1, false))};
            const Bytes expected = run(lane_form, 0, memory)[1];
            const Kernel wide = coarsen(lane_form, {width, 8});
            const std::uint32_t groups = (invocations(count, width) + 7) / 8;
            for (const bool alone : {false, true}) {
              if (alone && invocations(count, width) > 1) continue;
              const Kernel k =
                  simplify(vectorize(legalize(wide, {.int64 = false, .alone = alone}), {}));
              ASSERT_EQ(run(k, groups, memory)[1], expected)
                  << name(t) << " " << label << " width " << width << "\n"
                  << print(k);
              if (alone) continue;
              ASSERT_FALSE(loads_from(k.body, out))
                  << "a word that others write as well is read and written back\n"
                  << print(k);
            }
          }
}

TEST(Legalize, WholeWordsNeedNoAtomics) {
  const Sketch s{
      {DType::u8}, DType::u8, [](Builder& b, const Values& x) { return b.add(x[0], x[0]); }};
  const Kernel four = legalize(coarsen(s.lane_form(), {4, 64}), {});
  EXPECT_THAT(print(four), Not(HasSubstr("atomic")));
  EXPECT_EQ(four.buffers[1].access, Access::write);
  EXPECT_EQ(lanes_per_word(s.lane_form()), 4u);
  const Kernel two = legalize(coarsen(s.lane_form(), {2, 64}), {});
  EXPECT_THAT(print(two), HasSubstr("atomic_and"));
  EXPECT_THAT(print(two), HasSubstr("atomic_or"));
  EXPECT_EQ(two.buffers[1].access, Access::read_write);
}

TEST(Legalize, WordsThatOthersChangeAreReadByAtomics) {
  const Kernel k = legalize(coarsen(parse_kernel(R"(kernel "k" lanes=5 group=8 {
    buffer 0 "y": u8 read_write
    buffer 1 "z": u8 write
    %l: u32 = lane
    %x: u8 = load 0 %l
    %y: u8 = add %x %x
    store 0 %l %y
    %again: u8 = load 0 %l
    store 1 %l %again
  })"),
                                    {1, 8}),
                            {});
  verify(k);
  EXPECT_FALSE(loads_from(k.body, 0)) << print(k);
  EXPECT_THAT(print(k), HasSubstr("atomic_or 0"));
}

}  // namespace
}  // namespace gnomon::kernel
