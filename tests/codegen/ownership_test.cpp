// tests/codegen/ownership_test.cpp -- which invocation touches what, and the barriers that saves.
#include "codegen/plan/ownership.h"

#include <gtest/gtest.h>

#include <string>

#include "codegen/compile/pipeline.h"
#include "gnomon/control.h"
#include "gnomon/indexing.h"
#include "gnomon/ops.h"
#include "shaders/kernel/text.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

/// The ownership of a buffer that is stored to at `index`, made by these instructions.
Ownership stored_at(const std::string& made, std::uint32_t invocations) {
  return ownership(kernel::parse_kernel(R"(kernel "k" group=8 {
    buffer 0 "y": f32 read_write
    buffer 1 "x": u32 read
    %i: u32 = invocation
    %1: u32 = constant 1
    %2: u32 = constant 2
    %5: u32 = constant 5
    %0: u32 = constant 0
    %r: u32 = load 1 %0
    %one: f32 = constant 1
    %four: f32x4 = splat %one
    )" + made + "\n}"),
                   0, invocations);
}

TEST(Ownership, OfMultiplesOfTheInvocation) {
  EXPECT_EQ(stored_at("store 0 %i %one", 12), (Ownership{4, 48}));
  EXPECT_EQ(stored_at("%at: u32 = shl %i %2\nstore 0 %at %four", 12), (Ownership{16, 192}));
  const std::string second = "%at: u32 = shl %i %2\n%next: u32 = add %at %1\n";
  EXPECT_EQ(stored_at(second + "store 0 %next %one", 12), (Ownership{16, 192}));
  EXPECT_EQ(stored_at("store 0 %r %one", 1), Ownership::alone());
}

TEST(Ownership, OfRowsThatTheInvocationsShare) {
  const std::string row = "%row: u32 = shl %r %2\n%at: u32 = add %row %i\n";
  EXPECT_EQ(stored_at(row + "store 0 %at %one", 4), (Ownership{4, 16}));
  EXPECT_FALSE(stored_at(row + "store 0 %at %one", 8).known()) << "rows of four for eight";
  // What wraps around keeps its remainder modulo powers of two only.
  const std::string five = "%row: u32 = mul %r %5\n%at: u32 = add %row %i\n";
  EXPECT_FALSE(stored_at(five + "store 0 %at %one", 5).known());
}

TEST(Ownership, OfNothingElse) {
  EXPECT_FALSE(stored_at("%at: u32 = add %i %1\nstore 0 %at %one", 12).known());
  EXPECT_FALSE(stored_at("store 0 %i %four", 12).known()) << "they overlap";
  EXPECT_FALSE(stored_at("store 0 %r %one", 12).known());
  EXPECT_FALSE(stored_at("%at: u32x4 = splat %i\nstore 0 %at %four", 12).known());
  EXPECT_FALSE(stored_at("store 0 %i %one\nstore 0 %r %one", 12).known());
}

TEST(Ownership, OnlyTheSameSharesKeepInvocationsApart) {
  EXPECT_TRUE(keeps_apart({4, 48}, {4, 48}));
  EXPECT_FALSE(keeps_apart({4, 48}, {16, 48}));
  EXPECT_FALSE(keeps_apart({4, 48}, {4, 16}));
  EXPECT_FALSE(keeps_apart({}, {}));
}

/// Barriers in the loops of the largest kernel.
std::size_t barriers_in_loops(const kernel::Region& r, bool inside) {
  std::size_t n = 0;
  for (const kernel::Instruction& i : r.body) {
    n += inside && i.op == kernel::Op::barrier;
    for (const kernel::Region& inner : i.regions)
      n += barriers_in_loops(inner, inside || i.op == kernel::Op::loop);
  }
  return n;
}

template <class F, class... A>
std::size_t barriers_per_iteration(F f, const A&... inputs) {
  expect_function_lowers(f, inputs...);
  Trace outer;
  const Graph g = make_graph(f, outer.input(inputs)...).graph;
  const Program p = compile(g, Target::lavapipe(),
                            {.name = "test", .loops = LoopMapping::workgroup, .keep_text = true});
  std::size_t n = 0;
  for (const kernel::Kernel& k : p.kernels) n += barriers_in_loops(k.body, false);
  return n;
}

TEST(GroupKernel, PartsWhoseInvocationsKeepToThemselvesNeedNoBarrier) {
  const auto rows = [](const Array& x) {
    return fori_loop(
               0, 300,
               [&](const Array& k, std::pair<Array, Array> s) {
                 const Array row = 0.5f * s.second + (cast(k, DType::f32) + x);
                 return std::pair{dynamic_update_slice(s.first, expand_dims(row, 0), {k, 0}), row};
               },
               std::pair{zeros({300, 4}), zeros({4})})
        .first;
  };
  EXPECT_EQ(barriers_per_iteration(rows, f32({4})), 0u);
  const auto mixing = [](const Array& x) {
    return fori_loop(
        0, 300, [](const Array&, const Array& v) { return v * 0.5f + flip(v) * 0.25f; }, x);
  };
  EXPECT_GE(barriers_per_iteration(mixing, f32({40})), 2u);
}

}  // namespace
}  // namespace gnomon::testing
