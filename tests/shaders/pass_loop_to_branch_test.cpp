// tests/shaders/pass_loop_to_branch_test.cpp -- loops of at most one trip become branches.
#include "shaders/passes/loop_to_branch.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "shaders/interpret/interpret.h"
#include "shaders/kernel/text.h"
#include "shaders/math/elementary.h"

namespace gnomon::kernel {
namespace {

Kernel sines() {
  Builder b("sines");
  const std::uint32_t in = b.buffer({DType::f32, Access::read, false, false, "x"});
  const std::uint32_t out = b.buffer({DType::f32, Access::write, false, false, "y"});
  b.kernel().lanes = 4;
  const Value lane = b.source(Op::lane);
  b.store(out, lane, math::sin(b, b.load(in, lane)));
  return b.take();
}

std::vector<float> run(const Kernel& k) {
  std::vector<float> x{1.0f, 1e10f, -2.5f, 3e38f}, y(4);
  std::span<std::byte> buffers[] = {std::as_writable_bytes(std::span(x)),
                                    std::as_writable_bytes(std::span(y))};
  const std::uint32_t parameters[6] = {0, 1, 0, 0, 0, 0};
  interpret(k, 0, parameters, buffers);
  return y;
}

TEST(LoopToBranch, LeavesOtherLoopsAlone) {
  Builder b("two");
  const std::uint32_t out = b.buffer({DType::u32, Access::write, false, false, "y"});
  b.kernel().lanes = 4;
  const Value lane = b.source(Op::lane), init[] = {b.u32(0)};
  const Values sum = b.count_loop(
      lane, 2, init, [&](Value i, std::span<const Value> s) { return Values{b.add(s[0], i)}; });
  b.store(out, lane, sum[0]);
  const Kernel k = b.take();
  EXPECT_EQ(print(loop_to_branch(k)), print(k));
}

TEST(LoopToBranch, MakesABranchThatGivesTheSame) {
  const Kernel looped = sines(), branched = loop_to_branch(looped);
  EXPECT_EQ(worst_case_trips(looped), 2u);
  EXPECT_EQ(worst_case_trips(branched), 0u);
  EXPECT_EQ(run(branched), run(looped));
}

}  // namespace
}  // namespace gnomon::kernel
