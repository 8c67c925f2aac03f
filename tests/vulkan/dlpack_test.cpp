// tests/vulkan/dlpack_test.cpp -- tensors of other libraries: layouts, types, who owns what.
#include "gnomon/dlpack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "gnomon/gnomon.h"
#include "tests/support/message.h"

namespace gnomon::testing {
namespace {

using dlpack::shares_memory;
using dlpack::to_dlpack;
using dlpack::to_dlpack_unversioned;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Somebody else's tensor, which counts how often it is deleted.
template <class T>
struct Foreign : T {
  Foreign(void* data, dlpack::DataType dtype, std::vector<std::int64_t> lengths,
          std::vector<std::int64_t> steps = {})
      : shape(std::move(lengths)), strides(std::move(steps)) {
    this->tensor.data = data;
    this->tensor.dtype = dtype;
    this->tensor.ndim = static_cast<std::int32_t>(shape.size());
    this->tensor.shape = shape.data();
    this->tensor.strides = strides.empty() ? nullptr : strides.data();
    this->manager = this;
    this->deleter = [](T* self) { ++static_cast<Foreign*>(self->manager)->deleted; };
  }
  std::vector<std::int64_t> shape, strides;
  int deleted = 0;
};
using Old = Foreign<dlpack::ManagedTensor>;
using New = Foreign<dlpack::ManagedTensorVersioned>;
constexpr dlpack::DataType f32{dlpack::Code::floating, 32, 1};

class Dlpack : public ::testing::Test {
 protected:
  Dlpack() : values(24) { std::iota(values.begin(), values.end(), 0.0f); }
  Runtime rt;
  std::vector<float> values;
};

TEST_F(Dlpack, TakesTensorsRowByRowAndOtherwise) {
  New rows(values.data(), f32, {4, 6});
  const Array a = from_dlpack(rt, &rows);
  EXPECT_EQ(a.shape(), Shape(4, 6));
  EXPECT_EQ(rt.to_host<float>(a), values);
  EXPECT_EQ(rows.deleted, 1);

  Old columns(values.data(), f32, {2, 3}, {1, 2});
  EXPECT_THAT(rt.to_host<float>(from_dlpack(rt, &columns)), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_EQ(columns.deleted, 1);

  // Every second of the last five, backwards; and one element that stands for four.
  Old backwards(values.data(), f32, {3}, {-2});
  backwards.tensor.byte_offset = 4 * 23;
  EXPECT_THAT(rt.to_host<float>(from_dlpack(rt, &backwards)), ElementsAre(23, 21, 19));
  Old same(values.data() + 5, f32, {2, 2}, {0, 0});
  EXPECT_THAT(rt.to_host<float>(from_dlpack(rt, &same)), ElementsAre(5, 5, 5, 5));

  New scalar(values.data() + 7, f32, {});
  EXPECT_EQ(rt.item<float>(from_dlpack(rt, &scalar)), 7.0f);
  New empty(nullptr, f32, {3, 0});
  EXPECT_EQ(from_dlpack(rt, &empty).shape(), Shape(3, 0));
  // Strides of axes of one element say nothing.
  Old one(values.data(), f32, {1, 3}, {99, 1});
  EXPECT_THAT(rt.to_host<float>(from_dlpack(rt, &one)), ElementsAre(0, 1, 2));
}

TEST_F(Dlpack, KnowsEveryType) {
  using dlpack::Code;
  std::vector<std::uint8_t> bytes(64, 0);
  bytes[0] = 2;  // true, for some
  const std::vector<std::pair<dlpack::DataType, DType>> all = {
      {{Code::boolean, 8, 1}, DType::boolean},       {{Code::integer, 8, 1}, DType::i8},
      {{Code::integer, 16, 1}, DType::i16},          {{Code::integer, 32, 1}, DType::i32},
      {{Code::integer, 64, 1}, DType::i64},          {{Code::unsigned_integer, 8, 1}, DType::u8},
      {{Code::unsigned_integer, 16, 1}, DType::u16}, {{Code::unsigned_integer, 32, 1}, DType::u32},
      {{Code::unsigned_integer, 64, 1}, DType::u64}, {{Code::floating, 16, 1}, DType::f16},
      {{Code::bfloat, 16, 1}, DType::bf16},          {{Code::floating, 32, 1}, DType::f32},
      {{Code::floating, 64, 1}, DType::f64}};
  for (const auto& [code, dtype] : all) {
    New t(bytes.data(), code, {2, 2});
    const Array a = from_dlpack(rt, &t);
    EXPECT_EQ(a.dtype(), dtype);
    dlpack::ManagedTensorVersioned* back = to_dlpack(rt, a);
    EXPECT_EQ(back->tensor.dtype.code, code.code);
    EXPECT_EQ(back->tensor.dtype.bits, code.bits);
    EXPECT_EQ(static_cast<const std::uint8_t*>(back->tensor.data)[0],
              dtype == DType::boolean ? 1 : 2);
    back->deleter(back);
  }
}

TEST_F(Dlpack, RefusesWhatNoArrayCanBeAndLetsGoOfIt) {
  const auto refused = [&](auto& tensor, const char* why) {
    EXPECT_THAT(message([&] { from_dlpack(rt, &tensor); }), HasSubstr(why));
    EXPECT_EQ(tensor.deleted, 1) << why;
  };
  New gpu(values.data(), f32, {4});
  gpu.tensor.device.type = static_cast<dlpack::DeviceType>(2);
  refused(gpu, "on a device of type 2");
  New vectors(values.data(), {dlpack::Code::floating, 32, 4}, {4});
  refused(vectors, "with 32 bits and 4 lanes");
  New complex(values.data(), {static_cast<dlpack::Code>(5), 64, 1}, {4});
  refused(complex, "type code 5 with 64 bits");
  New deep(values.data(), f32, {1, 1, 1, 1, 1, 1, 1, 1, 1});
  refused(deep, "has 9 axes and arrays have at most 8");
  New negative(values.data(), f32, {-1});
  refused(negative, "axis 0 has the length -1");
  New nowhere(nullptr, f32, {4});
  refused(nowhere, "no memory");
  New later(values.data(), f32, {4});
  later.version = {2, 0};
  refused(later, "DLPack 2.0 and 1.x is understood");
  EXPECT_THAT(message([&] { from_dlpack(rt, static_cast<dlpack::ManagedTensor*>(nullptr)); }),
              HasSubstr("there is no tensor"));
}

TEST_F(Dlpack, GivesTensorsThatKeepTheirArray) {
  RuntimeOptions staging;
  staging.force_staging = true;
  Runtime copies(staging);
  for (Runtime* each : {&rt, &copies}) {
    const std::uint64_t before = each->memory().live_ranges;
    Array a = each->from_host(values, {4, 6});
    const bool shared = shares_memory(*each, a);
    EXPECT_FALSE(each == &copies && shared);
    dlpack::ManagedTensorVersioned* t = to_dlpack(*each, a);
    dlpack::ManagedTensor* old = to_dlpack_unversioned(*each, a);
    EXPECT_EQ(t->version.major, 1u);
    EXPECT_EQ(t->flags, shared ? dlpack::read_only : dlpack::is_copied);
    for (const dlpack::Tensor* tensor : {&t->tensor, &old->tensor}) {
      EXPECT_EQ(tensor->device.type, dlpack::DeviceType::cpu);
      ASSERT_EQ(tensor->ndim, 2);
      EXPECT_THAT(std::vector(tensor->shape, tensor->shape + 2), ElementsAre(4, 6));
      EXPECT_THAT(std::vector(tensor->strides, tensor->strides + 2), ElementsAre(6, 1));
    }
    EXPECT_NE(t->tensor.data, old->tensor.data);
    static_cast<float*>(old->tensor.data)[0] = 77;  // nobody else's
    a = Array();
    const Array other = each->from_host(std::vector<float>(24, -1.0f));
    const auto* elements = static_cast<const float*>(t->tensor.data);
    EXPECT_EQ(std::vector(elements, elements + 24), values);
    EXPECT_EQ(each->memory().live_ranges, before + (shared ? 2 : 1));
    t->deleter(t);
    old->deleter(old);
    EXPECT_EQ(each->memory().live_ranges, before + 1);
  }
}

TEST_F(Dlpack, WaitsForWhatItGives) {
  const auto f = jit(rt, [](const Array& x) { return sum(x) + x * 0.0f; });
  dlpack::ManagedTensorVersioned* t = to_dlpack(rt, f(rt.from_host(values)));
  EXPECT_EQ(static_cast<const float*>(t->tensor.data)[5], 276.0f);
  // There and back again.
  EXPECT_EQ(rt.to_host<float>(from_dlpack(rt, t)), std::vector<float>(24, 276.0f));
  EXPECT_THAT(message([&] { to_dlpack(rt, Array()); }), HasSubstr("gnomon::to_dlpack: the array"));
}

}  // namespace
}  // namespace gnomon::testing
