// tests/codegen/promotion_test.cpp -- the types operands meet in, against a table written by hand;
// operations whose result type is a rule of its own.
#include <gtest/gtest.h>

#include <sstream>

#include "gnomon/indexing.h"
#include "tests/codegen/graph_host.h"

namespace gnomon {
namespace {

constexpr DType types[] = {DType::boolean, DType::u8,  DType::u16, DType::u32, DType::u64,
                           DType::i8,      DType::i16, DType::i32, DType::i64, DType::bf16,
                           DType::f16,     DType::f32, DType::f64};

// jax.numpy.promote_types without 64-bit types by default: what JAX calls i64 there although
// neither operand is, and its weak float, are i32 and f32. Rows and columns in the order of
// `types`, then a weak integer and a weak float.
constexpr const char* table = R"(
bool bool u8   u16  u32  u64  i8   i16  i32  i64  bf16 f16  f32  f64  i32  f32
u8   u8   u8   u16  u32  u64  i16  i16  i32  i64  bf16 f16  f32  f64  u8   f32
u16  u16  u16  u16  u32  u64  i32  i32  i32  i64  bf16 f16  f32  f64  u16  f32
u32  u32  u32  u32  u32  u64  i32  i32  i32  i64  bf16 f16  f32  f64  u32  f32
u64  u64  u64  u64  u64  u64  f32  f32  f32  f32  bf16 f16  f32  f64  u64  f32
i8   i8   i16  i32  i32  f32  i8   i16  i32  i64  bf16 f16  f32  f64  i8   f32
i16  i16  i16  i32  i32  f32  i16  i16  i32  i64  bf16 f16  f32  f64  i16  f32
i32  i32  i32  i32  i32  f32  i32  i32  i32  i64  bf16 f16  f32  f64  i32  f32
i64  i64  i64  i64  i64  f32  i64  i64  i64  i64  bf16 f16  f32  f64  i64  f32
bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 f32  f32  f64  bf16 bf16
f16  f16  f16  f16  f16  f16  f16  f16  f16  f16  f32  f16  f32  f64  f16  f16
f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f64  f32  f32
f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64
)";

std::string sum_type(const Array& a, const Operand& b) {
  return std::string(name(where(true, a, b).dtype()));
}

TEST(Promotion, IsTheLattice) {
  std::istringstream text(table);
  for (DType row : types) {
    std::string cell;
    text >> cell;
    ASSERT_EQ(cell, name(row));
    Trace t;
    const Array a = t.input({row, {2}});
    for (DType column : types) {
      text >> cell;
      EXPECT_EQ(sum_type(a, t.input({column, {2}})), cell) << name(row) << " and " << name(column);
    }
    text >> cell;
    EXPECT_EQ(sum_type(a, 1), cell) << name(row) << " and an integer";
    text >> cell;
    EXPECT_EQ(sum_type(a, 1.5), cell) << name(row) << " and a float";
  }
}

TEST(Promotion, WrapsWhereTheJoinIsTooNarrow) {
  const auto sum = [](const Array& a, const Array& b) { return a + b; };
  const auto y = test::run_arrays(sum, test::host(DType::u32, {2}, {4294967295.0, 7}),
                                  test::i32(Shape{2}, {1, -9}))[0];
  EXPECT_EQ(y.aval.dtype, DType::i32);
  EXPECT_EQ(test::numbers(y), (test::Numbers{0, -2}));
}

TEST(Promotion, LiteralsHaveToFit) {
  const auto plus_300 = [](const Array& x) { return x + 300; };
  EXPECT_THAT(test::usage_error_of(plus_300, test::host(DType::u8, {1}, {1})),
              ::testing::HasSubstr("300 does not fit u8"));
  EXPECT_EQ(test::usage_error_of(plus_300, test::host(DType::f16, {1}, {1})), "");
}

TEST(Promotion, WritesKeepTheTypeOfTheArray) {
  const auto write = [](const Array& x, const Array& v) { return dynamic_update_slice(x, v, {0}); };
  const HostArray whole = test::i32(Shape{2}, {1, 2}), part = test::host(DType::u32, {1}, {3});
  EXPECT_THAT(test::usage_error_of(write, whole, part),
              ::testing::HasSubstr("writes u32[1] into i32"));
  EXPECT_EQ(test::usage_error_of(write, whole, test::host(DType::u8, {1}, {3})), "");
}

TEST(BitCast, ToSmallerTypesAddsAnAxisLowestBitsFirst) {
  const HostArray x = test::f32(Shape{2}, {1, -2.5});
  const auto bytes = test::run_arrays([](const Array& a) { return bitcast(a, DType::u8); }, x)[0];
  EXPECT_EQ(bytes.aval, (Aval{DType::u8, {2, 4}}));
  EXPECT_EQ(test::numbers(bytes), (test::Numbers{0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc0}));
  const auto halves = test::run_arrays([](const Array& a) { return bitcast(a, DType::i16); }, x)[0];
  EXPECT_EQ(test::numbers(halves), (test::Numbers{0, 0x3f80, 0, 0xc020 - 65536}));
}

TEST(BitCast, ToLargerTypesTakesTheLastAxis) {
  const auto there_and_back = [](const Array& a) {
    return bitcast(bitcast(a, DType::u16), a.dtype());
  };
  for (DType t : {DType::f32, DType::i64, DType::u32, DType::f64}) {
    const HostArray x = test::host(t, {3}, {1, 77, 123456});
    EXPECT_EQ(test::run_arrays(there_and_back, x)[0], x) << name(t);
  }
  const auto wide = [](const Array& a) { return bitcast(a, DType::u32); };
  EXPECT_THAT(test::usage_error_of(wide, test::host(DType::u8, {2, 3}, {1, 2, 3, 4, 5, 6})),
              ::testing::HasSubstr("the last axis of u8[2,3] must be 4 long"));
  EXPECT_THAT(test::usage_error_of(wide, test::host(DType::boolean, {4}, {1, 0, 0, 1})),
              ::testing::HasSubstr("bool has no bits"));
}

TEST(Halves, AreSummedInF32) {
  // 4,096 times 1 in f16 steps would stop at 2,048.
  const HostArray ones = test::host(DType::f16, {4096}, test::Numbers(4096, 1.0));
  const auto total = [](const Array& x) { return std::pair{sum(x), dot(x, x)}; };
  for (const HostArray& y : test::run_arrays(total, ones)) {
    EXPECT_EQ(y.aval.dtype, DType::f16);
    EXPECT_EQ(y.number(0), 4096);
  }
  const HostArray large = test::host(DType::f16, {2}, {300, 400});
  EXPECT_EQ(test::run([](const Array& x) { return norm(x); }, large), test::Numbers{500});
}

}  // namespace
}  // namespace gnomon
