// tests/shaders/pass_merge_counters_test.cpp -- loops that count several things count once.
#include "shaders/passes/merge_counters.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "shaders/interpret/interpret.h"
#include "shaders/kernel/builder.h"
#include "shaders/kernel/text.h"
#include "shaders/kernel/verify.h"
#include "shaders/passes/simplify.h"

namespace gnomon::kernel {
namespace {

/// Two counters of either sign with bounds from memory, a bound of its own, and a sum that stops
/// the loop as well.
Kernel counting() {
  return parse_kernel(R"(kernel "k" lanes=1 group=8 {
    buffer 0 "in": i32 read
    buffer 1 "out": i32 write
    %l: u32 = lane
    %0: u32 = constant 0
    %1: u32 = constant 1
    %2: u32 = constant 2
    %3: u32 = constant 3
    %4: u32 = constant 4
    %7: u32 = constant 7
    %one: i32 = constant 1
    %zero: i32 = constant 0
    %a: i32 = load 0 %0
    %b: i32 = load 0 %1
    %c: i32 = load 0 %2
    %d: i32 = load 0 %3
    %most: i32 = load 0 %4
    %bu: u32 = bitcast %b
    %du: u32 = bitcast %d
    %i: i32, %j: u32, %sum: i32, %n: u32 = loop (%pi: i32 = %a, %pj: u32 = %bu, %ps: i32 = %zero, %pn: u32 = %0) max=7 {
      %x: bool = lt %pi %c
      %y: bool = gt %du %pj
      %z: bool = lt %ps %most
      %w: bool = lt %pn %7
      %xy: bool = band %x %y
      %zw: bool = band %z %w
      %go: bool = band %xy %zw
      yield %go
    } do (%qi: i32, %qj: u32, %qs: i32, %qn: u32) {
      %ni: i32 = add %qi %one
      %nj: u32 = add %1 %qj
      %s: i32 = add %qs %qi
      %nn: u32 = add %qn %1
      yield %ni %nj %s %nn
    }
    %ju: i32 = bitcast %j
    store 1 %0 %i
    store 1 %1 %ju
    store 1 %2 %sum
    %nu: i32 = bitcast %n
    store 1 %3 %nu
  })");
}

std::vector<std::int32_t> run(const Kernel& k, std::vector<std::int32_t> in) {
  std::vector<std::int32_t> out(4, -7);
  std::span<std::byte> buffers[] = {std::as_writable_bytes(std::span(in)),
                                    std::as_writable_bytes(std::span(out))};
  const std::vector<std::uint32_t> parameters(parameter_header_words + 2, 0);
  interpret(k, 0, parameters, buffers);
  return out;
}

const Instruction* loop_of(const Kernel& k) {
  for (const Instruction& i : k.body.body)
    if (i.op == Op::loop) return &i;
  return nullptr;
}

TEST(MergeCounters, OneCounterAndOneBoundAreLeft) {
  const Kernel before = simplify(counting()), after = simplify(merge_counters(before));
  verify(after);
  ASSERT_NE(loop_of(after), nullptr);
  EXPECT_EQ(loop_of(before)->operands.size(), 4u);
  EXPECT_EQ(loop_of(after)->operands.size(), 2u);         // trips and the sum
  EXPECT_EQ(loop_of(after)->regions[0].body.size(), 3u);  // trips, the sum, both
  EXPECT_EQ(worst_case_trips(after), worst_case_trips(before));
}

TEST(MergeCounters, EveryBoundEndsTheLoop) {
  const Kernel before = counting(), after = simplify(merge_counters(before));
  constexpr std::int32_t low = std::numeric_limits<std::int32_t>::min(),
                         high = std::numeric_limits<std::int32_t>::max();
  // Starts of both counters, their limits, and the sum's.
  const std::vector<std::vector<std::int32_t>> cases{
      {0, 0, 3, 9, 100},          // the first counter
      {0, 5, 30, 7, 100},         // the second one
      {2, 0, 30, 90, 5},          // the sum
      {1, 1, 30, 90, 1000},       // the loop's own seven
      {5, 0, 5, 9, 100},          // no trip: equal
      {9, 0, 5, 9, 100},          // no trip: beyond
      {0, 9, 5, 3, 100},          // no trip: the second one beyond
      {low, 0, low + 4, 9, 100},  // the least integers
      {high - 2, 0, high, 9, high},
      {-3, -3, 4, -1, 100},  // unsigned, -3 and -1 are large
      {-3, 0, 4, -1, 100},
      {low, 0, high, -1, 100},  // distances beyond the signed range
  };
  for (const auto& in : cases)
    EXPECT_EQ(run(after, in), run(before, in)) << in[0] << " " << in[1] << " " << in[2];
}

TEST(MergeCounters, LoopsThatCountOnceStayAsTheyAre) {
  Builder b("once");
  const std::uint32_t out = b.buffer({DType::u32, Access::write, false, false, "y"});
  b.kernel().lanes = 4;
  const Value lane = b.source(Op::lane), init[] = {b.u32(0)};
  const Values sum = b.count_loop(
      lane, 8, init, [&](Value i, std::span<const Value> s) { return Values{b.add(s[0], i)}; });
  b.store(out, lane, sum[0]);
  const Kernel k = b.take();
  EXPECT_EQ(print(merge_counters(k)), print(k));
}

}  // namespace
}  // namespace gnomon::kernel
