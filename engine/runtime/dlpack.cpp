// engine/runtime/dlpack.cpp -- tensors in host memory, from and to DLPack.
#include "gnomon/dlpack.h"

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/runtime/state.h"
#include "gnomon/error.h"

namespace gnomon::dlpack {
namespace {

struct Row {
  DType dtype;
  Code code;
};
constexpr std::array<Row, 13> types = {{{DType::boolean, Code::boolean},
                                        {DType::i8, Code::integer},
                                        {DType::i16, Code::integer},
                                        {DType::i32, Code::integer},
                                        {DType::i64, Code::integer},
                                        {DType::u8, Code::unsigned_integer},
                                        {DType::u16, Code::unsigned_integer},
                                        {DType::u32, Code::unsigned_integer},
                                        {DType::u64, Code::unsigned_integer},
                                        {DType::f16, Code::floating},
                                        {DType::bf16, Code::bfloat},
                                        {DType::f32, Code::floating},
                                        {DType::f64, Code::floating}}};

[[noreturn]] void refuse(const std::string& what) {
  throw UsageError("gnomon::from_dlpack: " + what);
}

DType dtype_of(const DataType& d) {
  for (const Row& row : types)
    if (row.code == d.code && 8 * size_of(row.dtype) == d.bits && d.lanes == 1) return row.dtype;
  refuse("elements have the type code " + std::to_string(static_cast<int>(d.code)) + " with " +
         std::to_string(d.bits) + " bits and " + std::to_string(d.lanes) +
         " lanes; cast them to a type of arrays: bool, i8 to i64, u8 to u64, f16, bf16, f32, f64");
}

DataType described(DType dtype) {
  for (const Row& row : types)
    if (row.dtype == dtype) return {row.code, static_cast<std::uint8_t>(8 * size_of(dtype)), 1};
  return {};  // all are there
}

/// Elements of `size` bytes row by row from where strides, in bytes, have them.
void gather(const Tensor& t, const std::byte* from, std::size_t size, std::vector<std::byte>& to) {
  const auto rank = static_cast<std::size_t>(t.ndim);
  std::vector<std::int64_t> at(rank, 0);
  const std::byte* element = from;
  for (std::size_t done = 0; done < to.size(); done += size) {
    std::memcpy(to.data() + done, element, size);
    for (std::size_t axis = rank; axis-- > 0;) {
      const std::int64_t step = t.strides[axis] * static_cast<std::int64_t>(size);
      element += step;
      if (++at[axis] < t.shape[axis]) break;
      element -= step * t.shape[axis];
      at[axis] = 0;
    }
  }
}

bool row_by_row(const Tensor& t) {
  if (t.strides == nullptr) return true;
  std::int64_t stride = 1;
  for (std::int32_t axis = t.ndim; axis-- > 0;) {
    if (t.shape[axis] != 1 && t.strides[axis] != stride) return false;
    stride *= t.shape[axis];
  }
  return true;
}

Array copied(Runtime& rt, const Tensor& t) {
  if (t.device.type != DeviceType::cpu)
    refuse("the tensor is on a device of type " + std::to_string(static_cast<int>(t.device.type)) +
           " and those of the host (type 1) are taken; copy it there first");
  if (t.ndim < 0 || t.ndim > Shape::max_rank)
    refuse("the tensor has " + std::to_string(t.ndim) + " axes and arrays have at most " +
           std::to_string(Shape::max_rank) + "; reshape it");
  Aval aval{dtype_of(t.dtype), {}};
  for (std::int32_t axis = 0; axis < t.ndim; ++axis) {
    if (t.shape[axis] < 0)
      refuse("axis " + std::to_string(axis) + " has the length " + std::to_string(t.shape[axis]) +
             "; lengths are not negative");
    aval.shape.append(t.shape[axis]);
  }
  const std::size_t size = size_of(aval.dtype);
  const auto bytes = static_cast<std::size_t>(bytes_of(aval));
  if (bytes == 0) return rt.from_bytes(aval, {});
  if (t.data == nullptr) refuse("the tensor has elements and no memory; give it some");
  const std::byte* const from = static_cast<const std::byte*>(t.data) + t.byte_offset;
  const bool compact = row_by_row(t);
  if (compact && aval.dtype != DType::boolean) return rt.from_bytes(aval, {from, bytes});
  std::vector<std::byte> host(bytes);
  if (compact)
    std::memcpy(host.data(), from, bytes);
  else
    gather(t, from, size, host);
  // Others may have any byte for true.
  if (aval.dtype == DType::boolean)
    for (std::byte& b : host) b = b == std::byte{0} ? std::byte{0} : std::byte{1};
  return rt.from_bytes(aval, host);
}

/// Calls the deleter of a tensor that was handed over, if it has one.
template <class T>
struct Delete {
  void operator()(T* t) const {
    if (t->deleter != nullptr) t->deleter(t);
  }
};
template <class T>
std::unique_ptr<T, Delete<T>> taken(T* t) {
  if (t == nullptr) refuse("there is no tensor; give one");
  return std::unique_ptr<T, Delete<T>>(t);
}

/// A tensor of ours: what it shows, and what keeps that alive.
template <class T>
struct Held {
  T managed;
  Array array;
  std::vector<std::byte> bytes;
  std::array<std::int64_t, Shape::max_rank> shape{}, strides{};
};

template <class T>
std::unique_ptr<Held<T>> exported(const Runtime& rt, const Array& array, bool share) {
  auto held = std::make_unique<Held<T>>();
  const Array here = rt.state()->placed(array);
  const DeviceStorage& storage = storage_of(here, *rt.state()->context, "to_dlpack");
  Tensor& t = held->managed.tensor;
  if (share) {
    rt.wait(here, {});
    held->array = here;
    t.data = storage.range().mapped();
  } else {
    held->bytes.resize(static_cast<std::size_t>(bytes_of(here.aval())));
    rt.to_bytes(here, held->bytes);
    t.data = held->bytes.data();
  }
  t.ndim = here.rank();
  t.dtype = described(here.dtype());
  std::int64_t stride = 1;
  for (int axis = here.rank(); axis-- > 0;) {
    const auto a = static_cast<std::size_t>(axis);
    held->shape[a] = here.shape()[axis];
    held->strides[a] = stride;
    stride *= here.shape()[axis];
  }
  t.shape = held->shape.data();
  t.strides = held->strides.data();
  held->managed.manager = held.get();
  held->managed.deleter = [](T* self) { delete static_cast<Held<T>*>(self->manager); };
  return held;
}

}  // namespace

Array from_dlpack(Runtime& rt, ManagedTensorVersioned* tensor) {
  const auto owned = taken(tensor);
  // Beyond the version only the deleter is where it was.
  if (owned->version.major != 1)
    refuse("the tensor is of DLPack " + std::to_string(owned->version.major) + "." +
           std::to_string(owned->version.minor) + " and 1.x is understood; ask for that version");
  return copied(rt, owned->tensor);
}

Array from_dlpack(Runtime& rt, ManagedTensor* tensor) {
  const auto owned = taken(tensor);
  return copied(rt, owned->tensor);
}

bool shares_memory(const Runtime& rt, const Array& array) {
  const Array here = rt.state()->placed(array);
  return storage_of(here, *rt.state()->context, "to_dlpack").range().block->mapped != nullptr;
}

ManagedTensorVersioned* to_dlpack(const Runtime& rt, const Array& array) {
  const bool share = shares_memory(rt, array);
  auto held = exported<ManagedTensorVersioned>(rt, array, share);
  held->managed.flags = share ? read_only : is_copied;
  return &held.release()->managed;
}

ManagedTensor* to_dlpack_unversioned(const Runtime& rt, const Array& array) {
  return &exported<ManagedTensor>(rt, array, false).release()->managed;
}

}  // namespace gnomon::dlpack
