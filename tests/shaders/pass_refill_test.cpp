// tests/shaders/pass_refill_test.cpp -- lanes that take turns compute what lanes of their own do.
#include "shaders/passes/refill.h"

#include <gtest/gtest.h>

#include <numeric>

#include "shaders/interpret/interpret.h"
#include "shaders/kernel/text.h"
#include "shaders/kernel/verify.h"
#include "shaders/passes/coarsen.h"
#include "shaders/passes/legalize.h"
#include "shaders/passes/simplify.h"
#include "shaders/passes/vectorize.h"

namespace gnomon::kernel {
namespace {

constexpr std::uint32_t lanes = 97;

std::string kernel(const std::string& body) {
  return "kernel \"k\" lanes=" + std::to_string(lanes) +
         " group=8 {\n"
         "  buffer 0 \"x\": u32 read\n"
         "  buffer 1 \"y\": u32 write\n"
         "  buffer 2 \"z\": u32 write\n"
         "  private 0: u32[4]\n"
         "  %l: u32 = lane\n"
         "  %zero: u32 = constant 0\n"
         "  %one: u32 = constant 1\n"
         "  %two: u32 = constant 2\n"
         "  %three: u32 = constant 3\n"
         "  %most: u32 = constant 150\n" +
         body + "}\n";
}

/// Halves even numbers and triples odd ones until 1 comes up: 0 to 118 trips for 1 to 97.
const char* const collatz = R"(
  %start: u32 = load 0 %l
  %twice: u32 = mul %start %two
  %at: u32 = add %l %zero
  %end: u32, %steps: u32 = loop (%v: u32 = %start, %n: u32 = %zero) max=150 {
    %more: bool = ne %v %one
    %few: bool = lt %n %most
    %go: bool = band %more %few
    yield %go
  } do (%v2: u32, %n2: u32) {
    %half: u32 = div %v2 %two
    %triple: u32 = mul %v2 %three
    %odd: u32 = add %triple %one
    %bit: u32 = band %v2 %one
    %is: bool = eq %bit %one
    %next: u32 = select %is %odd %half
    %n3: u32 = add %n2 %one
    yield %next %n3
  }
  store 1 %at %steps
  %sum: u32 = add %end %twice
  store 2 %l %sum
)";

/// Rows written inside, memory of the lane's own, and what differs by lane used in the loop.
const char* const history = R"(
  %count: u32 = load 0 %l
  private_store 0 %zero %count
  private_store 0 %one %l
  %r: u32 = loop (%i: u32 = %zero) max=150 {
    %c: u32 = private_load 0 %zero
    %go2: bool = lt %i %c
    yield %go2
  } do (%j: u32) {
    %own: u32 = private_load 0 %one
    %more2: u32 = add %own %j
    private_store 0 %one %more2
    %i2: u32 = add %j %one
    yield %i2
  }
  %last: u32 = private_load 0 %one
  store 1 %l %last
  store 2 %l %r
)";

using Memory = std::vector<std::vector<std::uint32_t>>;

std::vector<std::uint32_t> numbers() {
  std::vector<std::uint32_t> x(lanes);
  std::iota(x.begin(), x.end(), 1u);
  std::swap(x[0], x[60]);
  return x;
}

Memory run(const Kernel& k, std::uint32_t groups, std::uint64_t dispatches) {
  verify(k);
  Memory memory{numbers(),
                std::vector<std::uint32_t>(lanes, 7777),
                std::vector<std::uint32_t>(lanes, 7777),
                {0}};
  memory.resize(k.buffers.size());
  std::vector<std::span<std::byte>> bytes;
  for (auto& words : memory) bytes.push_back(std::as_writable_bytes(std::span(words)));
  const std::vector<std::uint32_t> parameters(parameter_header_words + k.buffers.size(), 0);
  for (std::uint64_t d = 0; d < dispatches; ++d) interpret(k, groups, parameters, bytes);
  memory.resize(3);
  return memory;
}

class Refill : public testing::TestWithParam<std::tuple<const char*, std::uint32_t>> {};

TEST_P(Refill, GivesTheSameWithAnyNumberOfSlotsAndAnyBudget) {
  const auto [body, width] = GetParam();
  const Kernel source = parse_kernel(kernel(body));
  const Memory expected = run(source, 0, 1);
  for (const std::uint32_t slots : {16u, 32u, 96u}) {
    for (const std::uint64_t budget : {0ull, 600ull, 4000ull, 65535ull}) {
      const auto refilled = refill(source, {slots, budget});
      ASSERT_TRUE(refilled.has_value());
      EXPECT_EQ(refilled->kernel.lanes, slots);
      if (budget > 0) {
        EXPECT_LE(worst_case_trips(refilled->kernel), budget);
      }
      EXPECT_EQ(run(refilled->kernel, 0, refilled->dispatches), expected);
      Kernel wide = coarsen(simplify(refilled->kernel), {width, 8});
      wide = simplify(vectorize(legalize(std::move(wide), {}), {.texel_reads = true}));
      EXPECT_EQ(run(wide, (slots / width + 7) / 8, refilled->dispatches), expected)
          << width << " wide, " << slots << " slots, budget " << budget << "\n"
          << print(wide);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Refill,
                         testing::Combine(testing::Values(collatz, history),
                                          testing::Values(1u, 2u, 4u, 8u)),
                         [](const auto& p) {
                           const bool first = std::get<0>(p.param) == collatz;
                           return std::string(first ? "collatz" : "history") +
                                  std::to_string(std::get<1>(p.param));
                         });

TEST(RefillShape, ManyElementsOfABudgetOnceNeedMoreDispatches) {
  const Kernel source = parse_kernel(kernel(collatz));
  EXPECT_EQ(refill(source, {16, 0})->dispatches, 1u);
  const auto small = refill(source, {16, 600}), large = refill(source, {16, 65535});
  EXPECT_GT(small->dispatches, large->dispatches);
  EXPECT_EQ(large->dispatches, 1u);
  // Less than two elements in turn: not worth it.
  EXPECT_FALSE(refill(source, {16, 300}).has_value());
}

TEST(RefillShape, TakesKernelsOfOneLoopThatDiffersByLane) {
  const auto applies = [](const std::string& body) {
    return refill(parse_kernel(kernel(body)), {16, 0}).has_value();
  };
  EXPECT_TRUE(applies(collatz));
  EXPECT_FALSE(applies("store 1 %l %one\n"));  // no loop
  const std::string uniform = R"(
    %r: u32 = loop (%i: u32 = %zero) max=9 {
      %go: bool = lt %i %three
      yield %go
    } do (%j: u32) {
      %k: u32 = add %j %one
      yield %k
    }
    store 1 %l %r
  )";
  EXPECT_FALSE(applies(uniform));
}

}  // namespace
}  // namespace gnomon::kernel
