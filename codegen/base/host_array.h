// codegen/base/host_array.h -- arrays in host memory: what reference rules compute with and
// literals hold.
#pragma once
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "gnomon/array.h"

namespace gnomon {

/// Elements in row-major order, `size_of(dtype)` bytes each, as in device memory.
struct HostArray {
  Aval aval;
  std::vector<std::byte> bytes;

  HostArray() = default;
  explicit HostArray(Aval a)
      : aval(a), bytes(static_cast<std::size_t>(a.shape.size()) * size_of(a.dtype)) {}
  Dim size() const { return aval.shape.size(); }

  template <class T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  /// One element as a double (exact for every dtype but large 64-bit integers) or as a 64-bit
  /// integer.
  double number(Dim i) const;
  std::int64_t integer(Dim i) const;
  void set_number(Dim i, double x);
  void set_integer(Dim i, std::int64_t x);
  /// A C++ number, rounded once to floats; integers wrap.
  void set(Dim i, const Scalar& x);

  bool operator==(const HostArray&) const = default;
};

}  // namespace gnomon
