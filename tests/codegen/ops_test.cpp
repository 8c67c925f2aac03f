// tests/codegen/ops_test.cpp -- the public operations: values, promotion, broadcasting, messages.
#include "gnomon/ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/codegen/made_arrays.h"

namespace gnomon {
namespace {

using made::message;
using made::Numbers;
using made::numbers;
using made::value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string type(const std::function<Array()>& f) { return to_string(value(f).aval); }

Array vector3() { return array({1.0f, 2.0f, 3.0f}); }
Array matrix() { return reshape(arange(6), {2, 3}); }

TEST(Ops, NumbersTakeTheDtypeOfTheArrayTheyMeet) {
  EXPECT_EQ(type([] { return vector3() + 2; }), "f32[3]");
  EXPECT_EQ(type([] { return 2.5 * vector3(); }), "f32[3]");
  EXPECT_EQ(type([] { return arange(3) + 2; }), "i32[3]");
  EXPECT_EQ(type([] { return arange(3) + 2.0; }), "f32[3]");
  EXPECT_EQ(type([] { return cast(arange(3), DType::u8) + 1; }), "u8[3]");
  EXPECT_EQ(type([] { return (arange(3) > 1) + 1; }), "i32[3]");
  EXPECT_EQ(type([] { return (arange(3) > 1) * 0.5; }), "f32[3]");
  EXPECT_EQ(type([] { return cast(vector3(), DType::f64) + 1.5; }), "f64[3]");
  EXPECT_EQ(type([] { return arange(3) + true; }), "i32[3]");
  EXPECT_EQ(type([] { return add(1, 2); }), "i32[]");
  EXPECT_EQ(type([] { return add(1, 2.0); }), "f32[]");
}

TEST(Ops, SizesDoNotWrapAround) {
  // 2^64 and 3 2^64 + 1 elements.
  const Dim half = Dim{1} << 32, third = 7905747460161236407;
  EXPECT_EQ(Shape(half, half).size(), Shape::many);
  EXPECT_EQ(Shape(7, third).size(), Shape::many);
  EXPECT_EQ(Shape(half, half, 0).size(), 0);
  EXPECT_EQ(Shape(half, 8).size(), Dim{1} << 35);
  const Array one = full({1}, 5.0f);
  EXPECT_THAT(message([&] {
                return reshape(one, {7, third});
              }),
              HasSubstr("f32[1] has 1 elements and does not fill [7,7905747460161236407]"));
  EXPECT_THAT(message([&] { return reshape(one, {-1, 7, third}); }), HasSubstr("does not fill"));
  EXPECT_THAT(message([&] {
                return reshape(zeros({half, half}), {0});
              }),
              HasSubstr("does not fill [0]"));
}

TEST(Ops, ArraysMeetInTheSmallestTypeThatHoldsBoth) {
  const auto meet = [](DType a, DType b) {
    return type([=] { return zeros({}, a) + zeros({}, b); });
  };
  EXPECT_EQ(meet(DType::boolean, DType::u8), "u8[]");
  EXPECT_EQ(meet(DType::i8, DType::u8), "i16[]");
  EXPECT_EQ(meet(DType::u16, DType::i16), "i32[]");
  EXPECT_EQ(meet(DType::u8, DType::i32), "i32[]");
  EXPECT_EQ(meet(DType::u32, DType::i64), "i64[]");
  EXPECT_EQ(meet(DType::i32, DType::f32), "f32[]");
  EXPECT_EQ(meet(DType::i64, DType::f32), "f32[]");
  EXPECT_EQ(meet(DType::f64, DType::f32), "f64[]");
  EXPECT_EQ(meet(DType::boolean, DType::boolean), "bool[]");
}

TEST(Ops, NumbersHaveToFit) {
  EXPECT_THAT(message([] { return zeros({2}, DType::u8) + 300; }),
              HasSubstr("300 does not fit u8"));
  EXPECT_THAT(message([] { return zeros({2}, DType::u32) - (-1); }),
              HasSubstr("-1 does not fit u32"));
  EXPECT_THAT(message([] { return arange(2) + 3000000000; }),
              HasSubstr("3000000000 does not fit i32"));
}

TEST(Ops, BroadcastsAsNumPy) {
  EXPECT_THAT(numbers([] { return vector3() + 1; }), ElementsAre(2, 3, 4));
  EXPECT_THAT(numbers([] {
                return matrix() + array({10, 20, 30});
              }),
              ElementsAre(10, 21, 32, 13, 24, 35));
  EXPECT_THAT(numbers([] {
                return matrix() + reshape(array({10, 20}), {2, 1});
              }),
              ElementsAre(10, 11, 12, 23, 24, 25));
  EXPECT_EQ(type([] { return zeros({4, 1, 3}) + zeros({5, 1}); }), "f32[4,5,3]");
  EXPECT_EQ(type([] { return zeros({0}) + 1; }), "f32[0]");
  EXPECT_EQ(type([] { return zeros({1}) + zeros({0}); }), "f32[0]");
  EXPECT_EQ(type([] { return broadcast_to(zeros({3, 1}), {2, 3, 4}); }), "f32[2,3,4]");
}

TEST(Ops, MismatchNamesBothSidesAndTheLine) {
  const int line = __LINE__ + 1;
  const std::string text = message([] { return zeros({3}) + zeros({4}); });
  EXPECT_THAT(text, HasSubstr("gnomon::add: cannot broadcast f32[3] with f32[4]"));
  EXPECT_THAT(text, HasSubstr("(ops_test.cpp:" + std::to_string(line) + ")"));
  EXPECT_THAT(message([] { return broadcast_to(zeros({3}), {2}); }),
              HasSubstr("gnomon::broadcast_to: cannot broadcast f32[3] to [2]"));
}

TEST(Ops, OutsideATraceSaysWhatToDo) {
  try {
    sum(zeros({2}));
    ADD_FAILURE() << "no error";
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("rt.run"));
  }
}

TEST(Ops, DividesIntegersToFloats) {
  EXPECT_EQ(type([] { return arange(3) / 2; }), "f32[3]");
  EXPECT_THAT(numbers([] { return arange(3) / 2; }), ElementsAre(0, 0.5, 1));
}

TEST(Ops, RemainderHasTheSignOfTheDivisor) {
  EXPECT_THAT(numbers([] {
                return array({7, -7, 7, -7, 5, -6}) % array({3, 3, -3, -3, 0, 3});
              }),
              ElementsAre(1, 2, -2, -1, 5, 0));
  EXPECT_THAT(numbers([] {
                return array({5.5, -5.5, 6.0}) % array({2.0, 2.0, -4.0});
              }),
              ElementsAre(1.5, 0.5, -2));
  EXPECT_THAT(numbers([] {
                return floor_divide(array({7, -7, 7, -7, 6}), array({3, 3, -3, -3, -3}));
              }),
              ElementsAre(2, -3, -3, 2, -2));
  EXPECT_THAT(numbers([] { return floor_divide(array({5, -5}), 0); }), ElementsAre(-1, -1));
  EXPECT_THAT(numbers([] {
                return floor_divide(array({5.5, -5.5, 6.0}), array({2.0, 2.0, -4.0}));
              }),
              ElementsAre(2, -3, -2));
  EXPECT_THAT(numbers([] {
                return floor_divide(cast(array({7, 9}), DType::u8), 2);
              }),
              ElementsAre(3, 4));
}

TEST(Ops, IntegersWrap) {
  EXPECT_THAT(numbers([] { return array({2147483647}) + 1; }), ElementsAre(-2147483648.0));
  EXPECT_THAT(numbers([] { return cast(array({200}), DType::u8) * 2; }), ElementsAre(144));
  EXPECT_THAT(numbers([] { return -array({-2147483647 - 1}); }), ElementsAre(-2147483648.0));
  EXPECT_THAT(numbers([] { return abs(array({-2147483647 - 1})); }), ElementsAre(-2147483648.0));
}

TEST(Ops, PowTakesIntegerExponentsExactly) {
  EXPECT_THAT(numbers([] { return pow(array({2, -3}), 3); }), ElementsAre(8, -27));
  EXPECT_THAT(numbers([] { return pow(array({2.0, -4.0}), -2); }), ElementsAre(0.25, 0.0625));
  EXPECT_THAT(numbers([] { return pow(array({4.0, 9.0}), 0.5); }), ElementsAre(2, 3));
  EXPECT_THAT(message([] { return pow(arange(3), -1); }), HasSubstr("cast to a float first"));
  EXPECT_THAT(message([] { return pow(arange(3), arange(3)); }),
              HasSubstr("cast the base to a float"));
}

TEST(Ops, MaximumPropagatesNan) {
  const auto nan = std::nan("");
  const HostArray h = value([=] {
    return maximum(array({nan, 1.0, 2.0}), array({1.0, nan, 1.0}));
  });
  EXPECT_TRUE(std::isnan(h.number(0)));
  EXPECT_TRUE(std::isnan(h.number(1)));
  EXPECT_EQ(h.number(2), 2);
  EXPECT_TRUE(std::isnan(value([=] { return clip(array({nan}), 0, 1); }).number(0)));
  EXPECT_TRUE(std::isnan(value([=] { return max(array({1.0, nan, 3.0})); }).number(0)));
  EXPECT_THAT(numbers([=] { return argmax(array({1.0, nan, 3.0, nan})); }), ElementsAre(1));
  EXPECT_THAT(numbers([=] { return argmin(array({1.0, nan, 3.0})); }), ElementsAre(1));
}

TEST(Ops, SignKeepsZeroAndNan) {
  const HostArray h = value([] { return sign(array({-0.0, 0.0, -3.0, 5.0, std::nan("")})); });
  EXPECT_TRUE(std::signbit(h.number(0)));
  EXPECT_FALSE(std::signbit(h.number(1)));
  EXPECT_EQ(h.number(2), -1);
  EXPECT_EQ(h.number(3), 1);
  EXPECT_TRUE(std::isnan(h.number(4)));
}

TEST(Ops, RoundsHalvesToEven) {
  EXPECT_THAT(numbers([] {
                return round(array({0.5, 1.5, 2.5, -0.5, -1.5}));
              }),
              ElementsAre(0, 2, 2, 0, -2));
  EXPECT_EQ(type([] { return floor(arange(3)); }), "i32[3]");
}

TEST(Ops, LogicTakesBoolAndSaysSo) {
  EXPECT_THAT(numbers([] {
                return array({true, true, false}) && array({true, false, false});
              }),
              ElementsAre(1, 0, 0));
  EXPECT_THAT(numbers([] { return !array({true, false}); }), ElementsAre(0, 1));
  EXPECT_THAT(message([] { return arange(2) && arange(2); }),
              HasSubstr("gnomon::logical_and: takes bool"));
  EXPECT_THAT(numbers([] {
                return (array({12, 10}) & 6) ^ ~array({0, 1});
              }),
              ElementsAre(~4, 2 ^ ~1));
  EXPECT_THAT(numbers([] { return array({1, -8}) << 2; }), ElementsAre(4, -32));
  EXPECT_THAT(numbers([] { return array({9, -8}) >> 1; }), ElementsAre(4, -4));
  EXPECT_THAT(message([] { return vector3() & 1; }),
              HasSubstr("gnomon::bitwise_and: takes integers or bool"));
  EXPECT_THAT(message([] { return array({true}) - array({true}); }),
              HasSubstr("not defined on bool"));
  EXPECT_THAT(numbers([] {
                return array({true, false}) + array({true, true});
              }),
              ElementsAre(1, 1));
}

TEST(Ops, WhereBroadcastsAndPromotes) {
  EXPECT_THAT(numbers([] { return where(arange(3) > 1, vector3(), -1); }), ElementsAre(-1, -1, 3));
  EXPECT_EQ(type([] { return where(arange(3) > 1, 1, 0.5); }), "f32[3]");
  EXPECT_EQ(type([] { return where(reshape(arange(2) > 0, {2, 1}), zeros({3}), 1); }), "f32[2,3]");
  EXPECT_THAT(numbers([] { return where(array({0, 2}), 1, 0); }), ElementsAre(0, 1));
}

TEST(Ops, MakesArrays) {
  EXPECT_THAT(numbers([] { return arange(2, 8, 3); }), ElementsAre(2, 5));
  EXPECT_THAT(numbers([] { return arange(3, 0, -1); }), ElementsAre(3, 2, 1));
  EXPECT_THAT(numbers([] { return arange(0.0, 1.0, 0.25); }), ElementsAre(0, 0.25, 0.5, 0.75));
  EXPECT_EQ(type([] { return arange(5, 2); }), "i32[0]");
  EXPECT_THAT(numbers([] { return linspace(0, 1, 5); }), ElementsAre(0, 0.25, 0.5, 0.75, 1));
  EXPECT_THAT(numbers([] { return linspace(2, 3, 1); }), ElementsAre(2));
  EXPECT_THAT(numbers([] { return eye(2, 3); }), ElementsAre(1, 0, 0, 0, 1, 0));
  EXPECT_THAT(numbers([] { return iota({2, 2}, -1); }), ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(type([] { return full({2}, 7); }), "i32[2]");
  EXPECT_EQ(type([] { return full({2}, 7, DType::u8); }), "u8[2]");
  EXPECT_EQ(type([] { return ones({}); }), "f32[]");
  EXPECT_EQ(type([] { return zeros_like(arange(4)); }), "i32[4]");
  EXPECT_THAT(numbers([] { return full_like(arange(2), 3); }), ElementsAre(3, 3));
  EXPECT_THAT(message([] { return arange(vector3()[0]); }), HasSubstr("shapes are fixed"));
}

TEST(Ops, Reshapes) {
  EXPECT_EQ(type([] { return reshape(matrix(), {3, -1}); }), "i32[3,2]");
  EXPECT_EQ(type([] { return ravel(matrix()); }), "i32[6]");
  EXPECT_THAT(message([] {
                return reshape(matrix(), {4, -1});
              }),
              HasSubstr("i32[2,3] has 6 elements and does not fill [4,-1]"));
  EXPECT_THAT(numbers([] { return transpose(matrix()); }), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_EQ(type([] { return transpose(zeros({2, 3, 4}), {2, 0, 1}); }), "f32[4,2,3]");
  EXPECT_EQ(type([] { return moveaxis(zeros({2, 3, 4}), 0, -1); }), "f32[3,4,2]");
  EXPECT_EQ(type([] { return swapaxes(zeros({2, 3, 4}), 0, 2); }), "f32[4,3,2]");
  EXPECT_EQ(type([] { return expand_dims(zeros({2}), -1); }), "f32[2,1]");
  EXPECT_EQ(type([] { return squeeze(zeros({1, 2, 1})); }), "f32[2]");
  EXPECT_EQ(type([] { return squeeze(zeros({1, 2, 1}), 0); }), "f32[2,1]");
  EXPECT_THAT(message([] { return squeeze(zeros({1, 2}), 1); }), HasSubstr("not of length 1"));
  EXPECT_THAT(numbers([] { return flip(matrix(), 1); }), ElementsAre(2, 1, 0, 5, 4, 3));
  EXPECT_THAT(numbers([] { return roll(arange(4), 1, 0); }), ElementsAre(3, 0, 1, 2));
  EXPECT_THAT(numbers([] { return roll(arange(4), -1, 0); }), ElementsAre(1, 2, 3, 0));
}

TEST(Ops, JoinsAndSplits) {
  EXPECT_THAT(numbers([] {
                return concatenate({arange(2), vector3()});
              }),
              ElementsAre(0, 1, 1, 2, 3));
  EXPECT_THAT(numbers([] {
                return stack({arange(2), arange(2) + 5}, -1);
              }),
              ElementsAre(0, 5, 1, 6));
  EXPECT_THAT(numbers([] { return split(arange(6), 3)[1]; }), ElementsAre(2, 3));
  EXPECT_THAT(message([] { return split(arange(5), 2)[0]; }), HasSubstr("does not split into 2"));
  EXPECT_THAT(numbers([] { return pad(arange(2), {{1, 2}}, 9); }), ElementsAre(9, 0, 1, 9, 9));
  EXPECT_THAT(numbers([] {
                return pad(arange(3), {{1, -1, 2}}, 9);
              }),
              ElementsAre(9, 0, 9, 9, 1, 9, 9));
  EXPECT_THAT(numbers([] { return pad(arange(1), {{.high = 1, .interior = 4}}); }),
              ElementsAre(0, 0));
  const std::vector<std::pair<Dim, Dim>> pairs{{0, 1}};
  EXPECT_THAT(numbers([&] { return pad(arange(2), pairs, 7); }), ElementsAre(0, 1, 7));
  EXPECT_THAT(message([] {
                return pad(arange(2), {{0, 0, -1}});
              }),
              HasSubstr("interior=-1 has no size"));
  EXPECT_THAT(message([] {
                return pad(arange(2), {{1, 1}, {2, 2}});
              }),
              HasSubstr("2 pairs of widths for i32[2]; give one per axis"));
  EXPECT_THAT(numbers([] { return slice(matrix(), {0, 1}, {2, -1}); }), ElementsAre(1, 4));
  EXPECT_THAT(numbers([] { return slice_axis(arange(7), 0, 1, 7, 3); }), ElementsAre(1, 4));
  EXPECT_THAT(message([] { return slice_axis(arange(3), 0, 0, 4); }),
              HasSubstr("position 4 is out of range"));
  EXPECT_THAT(message([] {
                return concatenate({zeros({2, 3}), zeros({2, 2})});
              }),
              HasSubstr("must agree except on axis 0"));
}

TEST(Ops, Indexes) {
  EXPECT_THAT(numbers([] { return matrix()[1]; }), ElementsAre(3, 4, 5));
  EXPECT_THAT(numbers([] { return matrix()[-2][-1]; }), ElementsAre(2));
  EXPECT_THAT(message([] { return matrix()[2]; }),
              HasSubstr("index 2 is out of range for i32[2,3], whose first axis has length 2"));
  EXPECT_THAT(message([] { return ones({})[0]; }), HasSubstr("has no axis"));
  // Traced indices wrap once, then clip.
  EXPECT_THAT(numbers([] { return arange(10)[array({11, -1, -11, 3})]; }), ElementsAre(9, 9, 0, 3));
  EXPECT_THAT(numbers([] { return matrix()[full({}, -1)]; }), ElementsAre(3, 4, 5));
}

TEST(Ops, Reduces) {
  EXPECT_THAT(numbers([] { return sum(matrix()); }), ElementsAre(15));
  EXPECT_THAT(numbers([] { return sum(matrix(), -1); }), ElementsAre(3, 12));
  EXPECT_EQ(type([] { return sum(matrix(), {0, 1}, {.keepdims = true}); }), "i32[1,1]");
  EXPECT_EQ(type([] { return sum(array({true, true})); }), "i32[]");
  EXPECT_EQ(type([] { return sum(cast(arange(3), DType::u8)); }), "u32[]");
  EXPECT_THAT(numbers([] { return prod(vector3()); }), ElementsAre(6));
  EXPECT_THAT(numbers([] { return mean(matrix(), 0); }), ElementsAre(1.5, 2.5, 3.5));
  EXPECT_THAT(numbers([] { return var(array({1.0, 3.0})); }), ElementsAre(1));
  EXPECT_THAT(numbers([] { return var(array({1.0, 3.0}), {}, {.ddof = 1}); }), ElementsAre(2));
  EXPECT_THAT(numbers([] { return standard_deviation(array({1.0, 3.0})); }), ElementsAre(1));
  EXPECT_THAT(numbers([] { return max(matrix(), 0); }), ElementsAre(3, 4, 5));
  EXPECT_THAT(numbers([] { return any(matrix() > 4, 1); }), ElementsAre(0, 1));
  EXPECT_THAT(numbers([] { return all(matrix() >= 0); }), ElementsAre(1));
  EXPECT_THAT(numbers([] { return argmax(array({3, 7, 7}), 0); }), ElementsAre(1));
  EXPECT_THAT(numbers([] { return argmin(matrix(), 1); }), ElementsAre(0, 0));
  EXPECT_THAT(numbers([] { return argmax(matrix()); }), ElementsAre(5));
  EXPECT_THAT(numbers([] { return norm(array({3.0, 4.0})); }), ElementsAre(5));
  EXPECT_THAT(message([] { return max(zeros({0})); }), HasSubstr("gnomon::max: of no elements"));
  EXPECT_THAT(numbers([] { return sum(zeros({0})); }), ElementsAre(0));
  EXPECT_THAT(message([] { return sum(matrix(), 2); }),
              HasSubstr("gnomon::sum: axis 2 is out of range for i32[2,3]"));
  EXPECT_THAT(message([] { return sum(matrix(), {0, -2}); }), HasSubstr("given twice"));
}

TEST(Ops, SoftmaxAndLogsumexpDoNotOverflow) {
  EXPECT_THAT(numbers([] { return softmax(array({1000.0, 1000.0})); }), ElementsAre(0.5, 0.5));
  EXPECT_NEAR(value([] {
                return logsumexp(array({1000.0, 1000.0}));
              }).number(0),
              1000 + std::log(2.0), 1e-4);
  EXPECT_EQ(value([] { return logsumexp(array({-INFINITY, -INFINITY})); }).number(0), -INFINITY);
  EXPECT_NEAR(value([] { return log_softmax(array({0.0, 0.0})); }).number(0), -std::log(2.0), 1e-6);
  EXPECT_NEAR(value([] { return softplus(array({100.0f})); }).number(0), 100, 1e-4);
  EXPECT_NEAR(value([] { return sigmoid(array({-100.0f})); }).number(0), 0, 1e-40);
}

TEST(Ops, Multiplies) {
  EXPECT_THAT(numbers([] { return dot(vector3(), vector3()); }), ElementsAre(14));
  EXPECT_THAT(numbers([] { return matmul(matrix(), vector3()); }), ElementsAre(8, 26));
  EXPECT_THAT(numbers([] { return matmul(array({1, 10}), matrix()); }), ElementsAre(30, 41, 52));
  EXPECT_THAT(numbers([] { return matmul(matrix(), transpose(matrix())); }),
              ElementsAre(5, 14, 14, 50));
  EXPECT_EQ(type([] { return matmul(zeros({5, 2, 3}), zeros({3, 4})); }), "f32[5,2,4]");
  EXPECT_EQ(type([] { return matmul(zeros({2, 3}), zeros({5, 3, 4})); }), "f32[5,2,4]");
  EXPECT_EQ(type([] { return matmul(zeros({5, 1, 2, 3}), zeros({6, 3, 4})); }), "f32[5,6,2,4]");
  EXPECT_EQ(type([] { return matmul(zeros({3}), zeros({5, 3, 4})); }), "f32[5,4]");
  EXPECT_EQ(type([] { return matmul(zeros({5, 2, 3}), zeros({3})); }), "f32[5,2]");
  EXPECT_EQ(type([] { return dot(zeros({2, 3}), zeros({5, 3, 4})); }), "f32[2,5,4]");
  EXPECT_EQ(type([] {
              return tensordot(zeros({2, 3, 4}), zeros({4, 3, 5}), {1, 2}, {1, 0});
            }),
            "f32[2,5]");
  EXPECT_THAT(numbers([] { return outer(array({1, 2}), array({3, 4})); }), ElementsAre(3, 4, 6, 8));
  EXPECT_THAT(message([] {
                return matmul(zeros({2, 3}), zeros({2, 3}));
              }),
              HasSubstr("gnomon::matmul: axis 1 of f32[2,3] and axis 0 of f32[2,3] differ"));
  EXPECT_THAT(message([] { return matmul(zeros({}), zeros({3})); }),
              HasSubstr("multiplied with *"));
  const auto columns = [] {
    return dot_general(matrix(), reshape(arange(12), {2, 3, 2}), {{}, {}, {1}, {-2}});
  };
  EXPECT_EQ(type(columns), "i32[3,2,2,2]");
  EXPECT_THAT(numbers([] {
                return dot_general(matrix(), reshape(arange(6), {3, 2}), {{0}, {1}, {1}, {0}});
              }),
              ElementsAre(3, 14, 33));
  EXPECT_THAT(message([] {
                return dot_general(matrix(), matrix(), {{0}, {0}, {1}, {}});
              }),
              HasSubstr("gnomon::dot_general: 1 axes and 0 axes do not pair up"));
  EXPECT_THAT(message([] {
                return dot_general(matrix(), matrix(), {{1}, {1}, {-1}, {0}});
              }),
              HasSubstr("gnomon::dot_general: axis 1 is given twice"));
  // Rows of a matrix before a batch keep their place.
  EXPECT_THAT(numbers([] {
                return matmul(matrix(), reshape(arange(6), {2, 3, 1}));
              }),
              ElementsAre(5, 14, 14, 50));
}

TEST(Ops, Einsum) {
  EXPECT_THAT(numbers([] { return einsum("ij,kj->ik", matrix(), matrix()); }),
              ElementsAre(5, 14, 14, 50));
  EXPECT_THAT(numbers([] { return einsum("ij,ij->", matrix(), matrix()); }), ElementsAre(55));
  EXPECT_THAT(numbers([] { return einsum("ij,ij->i", matrix(), matrix()); }), ElementsAre(5, 50));
  EXPECT_THAT(numbers([] {
                return einsum("ij,k->k", matrix(), array({1, 2}));
              }),
              ElementsAre(15, 30));
  EXPECT_EQ(type([] {
              return einsum("bij,bjk->kbi", zeros({2, 3, 4}), zeros({2, 4, 5}));
            }),
            "f32[5,2,3]");
}

TEST(Ops, CompoundAssignmentRebinds) {
  EXPECT_THAT(numbers([] {
                Array x = vector3();
                x += 1;
                x *= x;
                x -= 1.0f;
                x /= 2;
                return x;
              }),
              ElementsAre(1.5, 4, 7.5));
}

TEST(Ops, CastsAndReadsBits) {
  EXPECT_THAT(numbers([] { return cast(array({1.9, -1.9}), DType::i32); }), ElementsAre(1, -1));
  EXPECT_THAT(numbers([] { return astype(array({0.5, 0.0}), DType::boolean); }), ElementsAre(1, 0));
  EXPECT_THAT(numbers([] { return bitcast(ones({1}), DType::u32); }), ElementsAre(0x3F800000));
  EXPECT_THAT(message([] { return bitcast(ones({1}), DType::boolean); }),
              HasSubstr("cannot read the bits of f32[1] as bool"));
}

}  // namespace
}  // namespace gnomon
