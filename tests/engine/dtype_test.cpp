// tests/engine/dtype_test.cpp -- arrays of every element type on the device: to it and back, and
// programs against the host reference.
#include <gmock/gmock.h>

#include <cmath>

#include "codegen/compile/pipeline.h"
#include "codegen/graph/evaluate.h"
#include "gnomon/gnomon.h"
#include "tests/engine/fixture.h"
#include "tests/support/dtype_programs.h"
#include "tests/support/lowering.h"

namespace gnomon::testing {
namespace {

class Dtypes : public DeviceTest {
 protected:
  std::vector<HostArray> on_device(const Program& program, const std::vector<HostArray>& inputs) {
    std::vector<Array> in;
    for (const HostArray& a : inputs) in.push_back(rt.from_bytes(a.aval, a.bytes));
    std::vector<HostArray> result;
    for (const Array& a : run(program, in)) {
      HostArray host(a.aval());
      rt.to_bytes(a, host.bytes);
      result.push_back(std::move(host));
    }
    return result;
  }

  void expect_programs(DType t, const Target& target) {
    for (const DtypeProgram& p : dtype_programs(t)) {
      const auto want = evaluate(p.graph, p.inputs);
      const Program program = compile(p.graph, target, {.name = "dtype", .keep_text = true});
      const auto got = on_device(program, p.inputs);
      for (std::size_t i = 0; i < want.size(); ++i)
        ASSERT_EQ(difference(got[i], want[i], dtype_tolerance(want[i].aval.dtype)), "")
            << p.name << ", output " << i << "\n"
            << print(p.graph) << program.fusion_text << print(program);
    }
  }
};

class DtypesOf : public Dtypes, public ::testing::WithParamInterface<DType> {};
INSTANTIATE_TEST_SUITE_P(Every, DtypesOf, ::testing::ValuesIn(every_dtype),
                         [](const auto& i) { return std::string(name(i.param)); });

TEST_P(DtypesOf, ProgramsMeanWhatTheReferenceSays) {
  if (GetParam() == DType::f64 && !rt.target().features.float64) {
    try {
      compile(dtype_programs(DType::f64)[0].graph, rt.target());
      FAIL() << "the device has no f64";
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), ::testing::HasSubstr("needs 64-bit floats, which \""));
      return;
    }
  }
  expect_programs(GetParam(), rt.target());
}

TEST_F(Dtypes, PairsOfWordsServeWhereTheDeviceHasSixtyFourBits) {
  Target target = rt.target();
  target.features.int64 = false;
  for (DType t : {DType::i64, DType::u64}) expect_programs(t, target);
}

TEST_F(Dtypes, OneLanePerInvocationSharesWords) {
  Target target = rt.target();
  target.loop_coarsening = target.map_coarsening = 1;
  for (DType t : {DType::boolean, DType::i8, DType::f16}) expect_programs(t, target);
}

template <class T>
void expect_round_trip(Runtime& rt, const std::vector<T>& values) {
  const Array a = rt.from_host(values);
  EXPECT_EQ(rt.to_host<T>(a), values);
  EXPECT_EQ(rt.to_host<T>(rt.run([&] { return flip(flip(a)); })), values);
}

TEST_F(Dtypes, GoToTheDeviceAndBack) {
  expect_round_trip<bool>(rt, {true, false, true, true, false});
  expect_round_trip<std::int8_t>(rt, {-128, -1, 0, 1, 127});
  expect_round_trip<std::uint8_t>(rt, {0, 1, 128, 255, 7});
  expect_round_trip<std::int16_t>(rt, {-32768, -1, 0, 32767, 3});
  expect_round_trip<std::uint16_t>(rt, {0, 65535, 32768});
  expect_round_trip<std::int64_t>(rt, {INT64_MIN, -1, 0, INT64_MAX, std::int64_t{1} << 40});
  expect_round_trip<std::uint64_t>(rt, {0, ~std::uint64_t{0}, std::uint64_t{1} << 63});
  expect_round_trip<float16>(rt, {1.5f, -65504.0f, 6e-8f, 0.1f, -0.0f});
  expect_round_trip<bfloat16>(rt, {1.5f, -3e38f, 1e-40f, 0.1f, -0.0f});
}

TEST_F(Dtypes, HalvesOfTheHostRoundToNearestEven) {
  EXPECT_EQ(float(float16(2049)), 2048);
  EXPECT_EQ(float(float16(2051)), 2052);
  EXPECT_EQ(float(float16(65520)), INFINITY);
  EXPECT_EQ(float(bfloat16(257)), 256);
  EXPECT_EQ(float16(-0.0).bits, 0x8000);
  EXPECT_TRUE(std::isnan(float(bfloat16(NAN))));
}

TEST_F(Dtypes, Print) {
  EXPECT_EQ(to_string(rt, rt.from_host({std::uint8_t{1}, std::uint8_t{200}}, {2})), "[  1 200]");
  EXPECT_EQ(to_string(rt, rt.from_host({float16(0.5), float16(-1.25)}, {2})), "[ 0.5  -1.25]");
  EXPECT_EQ(to_string(rt, rt.from_host({bfloat16(3), bfloat16(0.125)}, {2})), "[3.    0.125]");
  EXPECT_EQ(to_string(rt, rt.from_host({true, false, true}, {3})), "[ True False  True]");
  EXPECT_EQ(to_string(rt, rt.from_host(std::int64_t{-9007199254740993})), "-9007199254740993");
}

TEST_F(Dtypes, ConstantsOfEveryTypeAreTheirBits) {
  for (DType t : every_dtype) {
    if (t == DType::f64 && !rt.target().features.float64) continue;
    Trace trace;
    const Array x = trace.input({t, {5}});
    const Array count = iota({5}, 0, t == DType::boolean ? DType::u8 : t);
    const Graph g = trace.finish({where(x == x, full({5}, true, t), x), count});
    const std::vector<HostArray> inputs{random_array({t, {5}}, 3)};
    const auto want = evaluate(g, inputs), got = on_device(compile(g, rt.target()), inputs);
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(got[i], want[i]) << name(t);
  }
}

}  // namespace
}  // namespace gnomon::testing
