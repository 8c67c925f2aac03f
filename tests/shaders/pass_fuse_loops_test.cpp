// tests/shaders/pass_fuse_loops_test.cpp -- which loops become one, and that the result is the
// same.
#include "shaders/passes/fuse_loops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "shaders/interpret/interpret.h"
#include "shaders/kernel/builder.h"
#include "shaders/kernel/text.h"
#include "shaders/kernel/verify.h"
#include "shaders/passes/simplify.h"

namespace gnomon::kernel {
namespace {

constexpr std::uint32_t lanes = 5, length = 12;

std::size_t count(const Region& r, Op op) {
  std::size_t n = 0;
  for (const Instruction& i : r.body) {
    n += i.op == op;
    for (const Region& inner : i.regions) n += count(inner, op);
  }
  return n;
}

/// A kernel that reads x f32[lanes * length], w f32[length] and writes y f32[4 * lanes].
struct Made {
  Builder k{"fuse_loops"};
  std::uint32_t x = k.buffer({DType::f32, Access::read, false, false, "x"});
  std::uint32_t w = k.buffer({DType::f32, Access::read, false, false, "w"});
  std::uint32_t y = k.buffer({DType::f32, Access::read_write, false, false, "y"});
  Value lane;

  Made() {
    k.kernel().lanes = lanes;
    lane = k.source(Op::lane);
  }
  /// init + sum over n < count of body(n).
  Value total(Value init, std::uint32_t count, const std::function<Value(Value)>& body) {
    const Value start[] = {init};
    return k.count_loop(k.u32(count), count, start, [&](Value n, std::span<const Value> carried) {
      return Values{k.add(carried[0], body(n))};
    })[0];
  }
  Value element(Value n) { return k.load(x, k.add(k.mul(lane, k.u32(length)), n)); }
  Value weight(Value n) { return k.load(w, n); }
  void put(std::uint32_t slot, Value v) { k.store(y, k.add(lane, k.u32(slot * lanes)), v); }
};

std::vector<float> run(const Kernel& kernel) {
  verify(kernel);
  std::vector<float> x(lanes * length), w(length), y(4 * lanes, 1.0f);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.37f * static_cast<float>(i % 17) - 2;
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = 1.1f * static_cast<float>(i % 5) - 2;
  std::span<std::byte> bytes[] = {std::as_writable_bytes(std::span(x)),
                                  std::as_writable_bytes(std::span(w)),
                                  std::as_writable_bytes(std::span(y))};
  const std::vector<std::uint32_t> parameters(parameter_header_words + 3, 0);
  interpret(kernel, 0, parameters, bytes);
  return y;
}

/// The number of loops after the pass; what the kernel computes must not change by a bit.
std::size_t loops_left(const Kernel& kernel, FuseLoopsOptions options = {}) {
  const Kernel fused = fuse_loops(kernel, options);
  EXPECT_EQ(run(fused), run(kernel)) << print(kernel) << print(fused);
  const Kernel simple = simplify(fused);
  EXPECT_EQ(run(simple), run(kernel)) << print(simple);
  return count(fused.body, Op::loop);
}

TEST(FuseLoops, LeavesOneLoopAlone) {
  Made m;
  m.put(0, m.total(m.k.f32(0), length, [&](Value n) { return m.element(n); }));
  const Kernel kernel = m.k.take();
  EXPECT_EQ(print(fuse_loops(kernel)), print(kernel));
}

TEST(FuseLoops, SumsOverOneRangeShareALoopAndWhatTheyRead) {
  Made m;
  for (std::uint32_t slot = 0; slot < 3; ++slot)
    m.put(slot, m.total(m.k.f32(0), length, [&](Value n) {
      return m.k.mul(m.weight(n), m.k.add(m.element(n), m.k.f32(static_cast<float>(slot))));
    }));
  const Kernel kernel = m.k.take();
  EXPECT_EQ(loops_left(kernel), 1u);
  const Kernel simple = simplify(fuse_loops(kernel));
  EXPECT_EQ(count(simple.body, Op::load), 2u) << print(simple);
  EXPECT_EQ(most_carried(simple), 3u);
}

TEST(FuseLoops, WhatDoesNotFitInOneLoopIsSharedOutByWhatItReads) {
  Made m;
  for (std::uint32_t slot = 0; slot < 4; ++slot)
    m.put(slot, m.total(m.k.f32(0), length, [&](Value n) {
      const Value factor = m.k.f32(static_cast<float>(slot + 1));
      return m.k.mul(slot % 2 == 0 ? m.weight(n) : m.element(n), factor);
    }));
  const Kernel kernel = m.k.take();
  EXPECT_EQ(loops_left(kernel, {2}), 2u);
  const Kernel simple = simplify(fuse_loops(kernel, {2}));
  EXPECT_EQ(count(simple.body, Op::load), 2u) << print(simple);
}

TEST(FuseLoops, ALoopThatNeedsAnothersResultComesAfterIt) {
  Made m;
  const Value a = m.total(m.k.f32(0), length, [&](Value n) { return m.element(n); });
  const Value b = m.total(m.k.f32(1), length, [&](Value n) { return m.weight(n); });
  const Value c = m.total(m.k.f32(0), length,
                          [&](Value n) { return m.k.mul(m.k.sub(m.element(n), a), m.weight(n)); });
  const Value d = m.total(b, length, [&](Value n) { return m.k.mul(m.element(n), a); });
  for (const auto& [slot, v] : {std::pair{0u, a}, {1u, b}, {2u, c}, {3u, d}}) m.put(slot, v);
  EXPECT_EQ(loops_left(m.k.take()), 2u);
}

TEST(FuseLoops, OtherRangesAndLimitsKeepLoopsApart) {
  Made m;
  for (std::uint32_t slot = 0; slot < 4; ++slot)
    m.put(slot, m.total(m.k.f32(0), length - slot / 2, [&](Value n) { return m.element(n); }));
  const Kernel kernel = m.k.take();
  EXPECT_EQ(loops_left(kernel), 2u);
  EXPECT_EQ(loops_left(kernel, {1}), 4u);
  EXPECT_EQ(loops_left(kernel, {0}), 4u);
}

TEST(FuseLoops, StoresKeepTheirPlaceAmongReadersOfTheirMemory) {
  Made m;
  const auto mine = [&](Value) { return m.k.load(m.y, m.lane); };
  const Value before = m.total(m.k.f32(0), length, mine);
  m.put(0, m.k.f32(7));
  const Value after = m.total(m.k.f32(0), length, mine);
  m.put(1, before);
  m.put(2, after);
  EXPECT_EQ(loops_left(m.k.take()), 2u);
}

TEST(FuseLoops, StoresElsewhereAreNoObstacle) {
  Made m;
  const std::uint32_t spare = m.k.private_array({DType::f32, 2});
  for (std::uint32_t slot = 0; slot < 2; ++slot)
    m.k.private_store(spare, m.k.u32(slot), m.total(m.k.f32(0), length, [&](Value n) {
      return m.k.mul(m.element(n), m.k.f32(static_cast<float>(slot + 1)));
    }));
  m.put(0, m.k.add(m.k.private_load(spare, m.k.u32(0)), m.k.private_load(spare, m.k.u32(1))));
  EXPECT_EQ(loops_left(m.k.take()), 1u);
}

TEST(FuseLoops, InnerLoopsFollowTheirOuterOnes) {
  Made m;
  for (std::uint32_t slot = 0; slot < 2; ++slot)
    m.put(slot, m.total(m.k.f32(0), 3, [&](Value i) {
      return m.total(m.k.f32(0), 4, [&](Value j) {
        const Value n = m.k.add(m.k.mul(i, m.k.u32(4)), j);
        return m.k.mul(m.element(n), m.k.f32(static_cast<float>(slot + 1)));
      });
    }));
  EXPECT_EQ(loops_left(m.k.take()), 2u);
}

TEST(FuseLoops, AConditionOnMoreThanTheCounterKeepsALoopByItself) {
  Made m;
  for (std::uint32_t slot = 0; slot < 2; ++slot) {
    const Value start[] = {m.k.u32(0), m.k.f32(static_cast<float>(slot))};
    m.put(slot, m.k.loop(
                    start, length,
                    [&](std::span<const Value> c) {
                      return m.k.land(m.k.compare(Op::lt, c[0], m.k.u32(length)),
                                      m.k.compare(Op::lt, c[1], m.k.f32(4)));
                    },
                    [&](std::span<const Value> c) {
                      return Values{m.k.add(c[0], m.k.u32(1)), m.k.add(c[1], m.k.f32(1))};
                    })[1]);
  }
  EXPECT_EQ(loops_left(m.k.take()), 2u);
}

}  // namespace
}  // namespace gnomon::kernel
