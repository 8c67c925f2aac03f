// engine/include/gnomon/dlpack.h -- arrays from and to other libraries by DLPack, in host memory.
//
// The structures are those of DLPack 1.0, whose ABI is what counts: https://dmlc.github.io/dlpack/
// latest/c_api.html. They have names of their own, so that its header may be included as well; a
// pointer to one of its structures is a pointer to one of these after a reinterpret_cast.
#pragma once
#include <cstddef>
#include <cstdint>

#include "gnomon/array.h"
#include "gnomon/runtime.h"

#pragma GCC visibility push(default)
namespace gnomon::dlpack {

enum class DeviceType : std::int32_t { cpu = 1 };  // of many, the only one that is spoken here
struct Device {
  DeviceType type = DeviceType::cpu;
  std::int32_t id = 0;
};

enum class Code : std::uint8_t {
  integer = 0,
  unsigned_integer = 1,
  floating = 2,
  bfloat = 4,
  boolean = 6
};
struct DataType {
  Code code = Code::floating;
  std::uint8_t bits = 32;
  std::uint16_t lanes = 1;
};

struct Tensor {
  void* data = nullptr;
  Device device;
  std::int32_t ndim = 0;
  DataType dtype;
  std::int64_t* shape = nullptr;
  std::int64_t* strides = nullptr;  // in elements; null: row by row
  std::uint64_t byte_offset = 0;    // of the first element from `data`
};

/// DLManagedTensor.
struct ManagedTensor {
  Tensor tensor;
  void* manager = nullptr;
  void (*deleter)(ManagedTensor*) = nullptr;
};

struct Version {
  std::uint32_t major = 1, minor = 0;
};
inline constexpr std::uint64_t read_only = 1, is_copied = 2;  // flags
/// DLManagedTensorVersioned.
struct ManagedTensorVersioned {
  Version version;
  void* manager = nullptr;
  void (*deleter)(ManagedTensorVersioned*) = nullptr;
  std::uint64_t flags = 0;
  Tensor tensor;
};

static_assert(sizeof(Device) == 8 && sizeof(DataType) == 4);
static_assert(sizeof(void*) != 8 ||
              (sizeof(Tensor) == 48 && offsetof(Tensor, shape) == 24 &&
               sizeof(ManagedTensor) == 64 && offsetof(ManagedTensorVersioned, flags) == 24 &&
               sizeof(ManagedTensorVersioned) == 80));

/// An array with the elements of a tensor, any strides: one copy, to the device. Takes the tensor:
/// its deleter has been called when this returns or throws.
///
/// Throws UsageError for what no array can be (another device than the host, vectors as elements,
/// types that are none of DType, more than eight axes, another major version); DeviceError when the
/// device has no memory left. Unchecked: that the tensor's memory is what it says.
Array from_dlpack(Runtime&, ManagedTensorVersioned*);
Array from_dlpack(Runtime&, ManagedTensor*);

/// The elements of an array as a tensor of the host's, row by row; waits for them. Who gets it
/// calls its deleter.
///
/// Where the device's memory is the host's (`shares_memory`) this is that memory, without a copy,
/// kept as long as the tensor, and must not be written: the flag read_only is set. Elsewhere it is
/// a copy, and the flag is_copied is set. Throws UsageError for an empty or traced array, and one
/// of another Runtime.
ManagedTensorVersioned* to_dlpack(const Runtime&, const Array&);
/// The same for those who do not know the flags: always a copy, which may be written.
ManagedTensor* to_dlpack_unversioned(const Runtime&, const Array&);
/// Whether `to_dlpack` of this array makes no copy.
bool shares_memory(const Runtime&, const Array&);

}  // namespace gnomon::dlpack
#pragma GCC visibility pop
