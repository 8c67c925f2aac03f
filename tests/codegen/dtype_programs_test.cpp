// tests/codegen/dtype_programs_test.cpp -- programs of every element type, compiled for targets
// with and without 64-bit integers, mean what the reference says.
#include "tests/support/dtype_programs.h"

#include <gtest/gtest.h>

#include "gnomon/ops.h"
#include "shaders/kernel/text.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

class EveryDtype : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Dtypes, EveryDtype, ::testing::ValuesIn(every_dtype),
                         [](const auto& i) { return std::string(name(i.param)); });

TEST_P(EveryDtype, LowersToWhatTheReferenceSays) {
  Target pairs = Target::lavapipe();
  pairs.device = "lavapipe without 64-bit integers";
  pairs.features.int64 = false;
  Target doubles = Target::gpu();
  doubles.features.float64 = true;
  for (const DtypeProgram& p : dtype_programs(GetParam())) {
    const auto want = evaluate(p.graph, p.inputs);
    for (const Target& target : {Target::lavapipe(), pairs, doubles})
      for (const bool fuse : {true, false}) {
        const Program program =
            compile(p.graph, target, {.name = "dtype", .fuse = fuse, .keep_text = true});
        const auto got = run_on_host(program, p.inputs);
        for (std::size_t i = 0; i < want.size(); ++i)
          ASSERT_EQ(difference(got[i], want[i], dtype_tolerance(want[i].aval.dtype)), "")
              << p.name << ", output " << i << " on " << target.device << (fuse ? "" : ", unfused")
              << "\n"
              << print(p.graph) << program.fusion_text;
      }
  }
}

TEST(Dtypes, MemoryIsAsWideAsTheType) {
  for (DType t : every_dtype) {
    Target target = Target::lavapipe();
    const DtypeProgram p = dtype_programs(t).front();
    EXPECT_EQ(p.inputs[0].bytes.size(), size_of(t));
    for (const kernel::Kernel& k : compile(p.graph, target).kernels)
      for (const kernel::Buffer& b : k.buffers) EXPECT_GE(size_of(b.dtype), 4u) << b.name;
  }
}

TEST(Dtypes, ElementwiseKernelsFillWholeWords) {
  for (DType t : {DType::boolean, DType::u8, DType::f16}) {
    Trace trace;
    const Array x = trace.input({t, {1024}});
    const Graph g = trace.finish({t == DType::boolean ? !x : x + x});
    for (const auto& [label, target] : targets())
      for (const kernel::Kernel& k : compile(g, target).kernels)
        EXPECT_EQ(kernel::print(k).find("atomic"), std::string::npos) << label << kernel::print(k);
  }
}

TEST(Dtypes, DoublesThatTheDeviceLacksNameTheArray) {
  Trace trace;
  const Array x = trace.input({DType::f64, {3}});
  const Graph g = trace.finish({x + 1});
  try {
    compile(g, Target::minimum(), {.name = "f"});
    FAIL() << "f64 compiled for a device without it";
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("f64[3] needs 64-bit floats, which \"minimum\" lacks"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace gnomon::testing
