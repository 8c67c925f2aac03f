// tests/shaders/pass_property_test.cpp -- passes keep every bit of what random kernels compute.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "shaders/interpret/interpret.h"
#include "shaders/kernel/same.h"
#include "shaders/kernel/text.h"
#include "shaders/kernel/verify.h"
#include "shaders/passes/coarsen.h"
#include "shaders/passes/fuse_loops.h"
#include "shaders/passes/merge_counters.h"
#include "shaders/passes/schedule.h"
#include "shaders/passes/simplify.h"
#include "shaders/passes/vectorize.h"
#include "tests/shaders/pass_random.h"

namespace gnomon::kernel {
namespace {

constexpr std::uint32_t kernels = 250;
constexpr std::uint32_t group_size = 8;

using Memory = std::vector<std::vector<std::uint32_t>>;

/// Contents of the buffers after a run; NaNs are all alike.
Memory run(const Kernel& kernel, std::uint32_t lanes, std::uint32_t groups, std::uint32_t seed,
           const std::vector<std::uint32_t>& user_words = {}) {
  verify(kernel);
  Memory memory;
  std::vector<std::span<std::byte>> bytes;
  for (std::size_t k = 0; k < kernel.buffers.size(); ++k) {
    memory.push_back(random_buffer(kernel, k, lanes, seed));
  }
  for (auto& words : memory) bytes.push_back(std::as_writable_bytes(std::span(words)));
  std::vector<std::uint32_t> parameters(parameter_header_words + kernel.buffers.size(), 0);
  parameters.insert(parameters.end(), user_words.begin(), user_words.end());
  interpret(kernel, groups, parameters, bytes);
  for (std::size_t k = 0; k < memory.size(); ++k) {
    if (kernel.buffers[k].dtype != DType::f32) continue;
    for (std::uint32_t& word : memory[k]) {
      if (std::isnan(std::bit_cast<float>(word))) word = 0x7fc00000u;
    }
  }
  return memory;
}

class Passes : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Passes, KeepEveryBitOfARandomKernel) {
  const std::uint32_t width = GetParam();
  for (std::uint32_t seed = 0; seed < kernels; ++seed) {
    const Kernel kernel = random_kernel(seed);
    const std::uint32_t lanes = kernel.lanes;
    const Memory expected = run(kernel, lanes, 0, seed);
    const Kernel simple = simplify(kernel);
    ASSERT_EQ(run(simple, lanes, 0, seed), expected) << "seed " << seed << "\n" << print(kernel);

    const Kernel fused = fuse_loops(simple);
    ASSERT_EQ(run(fused, lanes, 0, seed), expected) << "seed " << seed << "\n"
                                                    << print(simple) << print(fused);

    const Kernel merged = merge_counters(simple);
    ASSERT_EQ(run(merged, lanes, 0, seed), expected) << "seed " << seed << "\n"
                                                     << print(simple) << print(merged);

    const std::uint32_t groups = (invocations(lanes, width) + group_size - 1) / group_size;
    const std::uint32_t deal = seed % 3 == 0 ? 2 : 1;
    const Kernel wide = coarsen(seed % 2 == 0 ? merged : fused, {width, group_size, deal});
    ASSERT_EQ(run(wide, lanes, groups, seed), expected) << "seed " << seed << "\n"
                                                        << print(kernel) << print(wide);
    const Kernel reached = vectorize(wide, {.texel_reads = true});
    ASSERT_EQ(run(reached, lanes, groups, seed), expected) << "seed " << seed << "\n"
                                                           << print(wide) << print(reached);
    const Kernel final = simplify(reached);
    ASSERT_EQ(run(final, lanes, groups, seed), expected) << "seed " << seed << "\n"
                                                         << print(reached) << print(final);
    const Kernel ordered = schedule(final);
    ASSERT_EQ(run(ordered, lanes, groups, seed), expected) << "seed " << seed << "\n"
                                                           << print(final) << print(ordered);
  }
}

// Which round is the last one is seen without another.
TEST_P(Passes, SimplifyLeavesNothingToSimplify) {
  const auto settled = [](const Kernel& k) {
    const Kernel once = simplify(k), twice = simplify(once);
    return same_but_lanes(once, twice) ? "" : print(once) + "becomes\n" + print(twice);
  };
  for (std::uint32_t seed = 0; seed < kernels; ++seed) {
    const Kernel kernel = random_kernel(seed), wide = coarsen(kernel, {GetParam(), group_size});
    ASSERT_EQ(settled(kernel), "") << "seed " << seed;
    ASSERT_EQ(settled(wide), "") << "seed " << seed;
    ASSERT_EQ(settled(vectorize(wide, {.texel_reads = true})), "") << "seed " << seed;
  }
}

TEST_P(Passes, AKernelForAnyNumberOfLanesKeepsEveryBit) {
  const std::uint32_t width = GetParam();
  for (std::uint32_t seed = 0; seed < kernels; ++seed) {
    const Kernel kernel = random_kernel(seed);
    const std::uint32_t lanes = kernel.lanes, size = std::max(group_size, width);
    const std::uint32_t trips = 1 + seed % 5, first = kernel.parameters;
    const Memory expected = run(kernel, lanes, 0, seed);
    const Kernel any = simplify(
        vectorize(coarsen(simplify(kernel), {.width = width, .group_size = size, .trips = trips}),
                  {.texel_reads = true}));
    ASSERT_EQ(any.parameters, first + 2);
    const std::uint32_t full = lanes / width, step = size * trips;
    std::vector<std::uint32_t> words(first);
    words.insert(words.end(), {full, lanes % width});
    ASSERT_EQ(run(any, lanes, std::max(1u, (full + step - 1) / step), seed, words), expected)
        << "seed " << seed << "\n"
        << print(kernel) << print(any);
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, Passes, testing::Values(1u, 2u, 4u, 8u, 16u));

TEST(Coarsen, TheLastOfSeveralLanesThatStoreOneElementWins) {
  const Kernel kernel = parse_kernel(R"(kernel "k" lanes=13 group=8 {
    buffer 0 "table": f32 read
    buffer 1 "out": u32 write
    %l: u32 = lane
    %zero: u32 = constant 0
    %one: u32 = constant 1
    %nine: u32 = constant 9
    store 1 %zero %l
    %p: bool = le %l %nine
    if %p { store 1 %one %l }
  })");
  for (const std::uint32_t width : {1u, 2u, 4u, 8u, 16u}) {
    const Kernel wide = simplify(vectorize(coarsen(kernel, {width, group_size}), {}));
    std::vector<std::uint32_t> table(1), out(2);
    std::span<std::byte> bytes[] = {std::as_writable_bytes(std::span(table)),
                                    std::as_writable_bytes(std::span(out))};
    const std::vector<std::uint32_t> parameters(parameter_header_words + 2, 0);
    interpret(wide, (invocations(13, width) + group_size - 1) / group_size, parameters, bytes);
    EXPECT_EQ(out, (std::vector<std::uint32_t>{12, 9})) << "width " << width << "\n" << print(wide);
  }
}

}  // namespace
}  // namespace gnomon::kernel
