// codegen/base/host_array.cpp -- elements of host arrays as numbers.
#include "codegen/base/host_array.h"

#include <cmath>
#include <limits>

#include "shaders/support/half.h"

namespace gnomon {
namespace {

template <class T>
T load(const std::vector<std::byte>& bytes, Dim i) {
  T x;
  std::memcpy(&x, bytes.data() + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
  return x;
}
template <class T>
void save(std::vector<std::byte>& bytes, Dim i, T x) {
  std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(T), &x, sizeof(T));
}

/// Out of range saturates and NaN is 0. The IRs leave it unspecified; the host must not trap.
template <class T>
T to_integer(double x) {
  if (std::isnan(x)) return 0;
  const double low = static_cast<double>(std::numeric_limits<T>::min());
  const double high = static_cast<double>(std::numeric_limits<T>::max());
  if (x <= low) return std::numeric_limits<T>::min();
  if (x >= high) return std::numeric_limits<T>::max();
  return static_cast<T>(x);
}

}  // namespace

double HostArray::number(Dim i) const {
  switch (aval.dtype) {
    case DType::f16:
      return f16_value(load<std::uint16_t>(bytes, i));
    case DType::bf16:
      return bf16_value(load<std::uint16_t>(bytes, i));
    case DType::f32:
      return load<float>(bytes, i);
    case DType::f64:
      return load<double>(bytes, i);
    case DType::u64:
      return static_cast<double>(load<std::uint64_t>(bytes, i));
    case DType::boolean:
    case DType::i8:
    case DType::u8:
    case DType::i16:
    case DType::u16:
    case DType::i32:
    case DType::u32:
    case DType::i64:
      return static_cast<double>(integer(i));
  }
  return 0;
}

std::int64_t HostArray::integer(Dim i) const {
  switch (aval.dtype) {
    case DType::boolean:
      return load<std::uint8_t>(bytes, i) != 0;
    case DType::i8:
      return load<std::int8_t>(bytes, i);
    case DType::u8:
      return load<std::uint8_t>(bytes, i);
    case DType::i16:
      return load<std::int16_t>(bytes, i);
    case DType::u16:
      return load<std::uint16_t>(bytes, i);
    case DType::i32:
      return load<std::int32_t>(bytes, i);
    case DType::u32:
      return load<std::uint32_t>(bytes, i);
    case DType::i64:
    case DType::u64:
      return load<std::int64_t>(bytes, i);
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::f64:
      return to_integer<std::int64_t>(number(i));
  }
  return 0;
}

void HostArray::set_number(Dim i, double x) {
  switch (aval.dtype) {
    case DType::boolean:
      return save<std::uint8_t>(bytes, i, x != 0);
    case DType::i8:
      return save(bytes, i, to_integer<std::int8_t>(x));
    case DType::u8:
      return save(bytes, i, to_integer<std::uint8_t>(x));
    case DType::i16:
      return save(bytes, i, to_integer<std::int16_t>(x));
    case DType::u16:
      return save(bytes, i, to_integer<std::uint16_t>(x));
    case DType::i32:
      return save(bytes, i, to_integer<std::int32_t>(x));
    case DType::u32:
      return save(bytes, i, to_integer<std::uint32_t>(x));
    case DType::i64:
      return save(bytes, i, to_integer<std::int64_t>(x));
    case DType::u64:
      return save(bytes, i, to_integer<std::uint64_t>(x));
    case DType::f16:
      return save(bytes, i, f16_bits(x));
    case DType::bf16:
      return save(bytes, i, bf16_bits(x));
    case DType::f32:
      return save(bytes, i, static_cast<float>(x));
    case DType::f64:
      return save(bytes, i, x);
  }
}

void HostArray::set_integer(Dim i, std::int64_t x) {
  switch (aval.dtype) {
    case DType::boolean:
      return save<std::uint8_t>(bytes, i, x != 0);
    case DType::i8:
    case DType::u8:
      return save(bytes, i, static_cast<std::uint8_t>(x));
    case DType::i16:
    case DType::u16:
      return save(bytes, i, static_cast<std::uint16_t>(x));
    case DType::i32:
    case DType::u32:
      return save(bytes, i, static_cast<std::uint32_t>(x));
    case DType::i64:
    case DType::u64:
      return save(bytes, i, x);
    // Straight to f32: through f64 an integer above 2^53 would round twice.
    case DType::f32:
      return save(bytes, i, static_cast<float>(x));
    case DType::f16:
    case DType::bf16:
      return set_number(i, half_source(x));
    case DType::f64:
      return set_number(i, static_cast<double>(x));
  }
}

void HostArray::set(Dim i, const Scalar& x) {
  if (x.kind == Scalar::Kind::floating) return set_number(i, x.floating);
  if (!x.beyond_i64 || !is_float(aval.dtype)) return set_integer(i, x.integer);
  const auto large = static_cast<std::uint64_t>(x.integer);
  if (aval.dtype == DType::f32) return save(bytes, i, static_cast<float>(large));
  set_number(i, aval.dtype == DType::f64 ? static_cast<double>(large) : half_source(large));
}

}  // namespace gnomon
