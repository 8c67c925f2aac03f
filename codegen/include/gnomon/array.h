// codegen/include/gnomon/array.h -- Array, a handle to a traced or a concrete array, and Operand,
// what operations take.
#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "gnomon/error.h"
#include "gnomon/shape.h"

#pragma GCC visibility push(default)
namespace gnomon {

class Trace;
class At;
class Executor;
class Operand;
class Unplaced;
template <class>
inline constexpr bool always_false = false;

/// What an array is, without its elements.
struct Aval {
  DType dtype = DType::f32;
  Shape shape;
  bool operator==(const Aval&) const = default;
};
/// "f32[2,3]".
std::string to_string(const Aval&);

/// What a concrete array is kept in, alive as long as an Array refers to it. The engine derives
/// from it what lies on a device.
class Storage {
 public:
  virtual ~Storage() = default;
  /// What runs operations on it (codegen/trace/executor.h); null when it is on no device, or its
  /// Runtime is gone.
  virtual std::shared_ptr<Executor> executor() const { return nullptr; }
  /// What it is made of when it is on no device (codegen/trace/eager.h), else null.
  virtual const Unplaced* unplaced() const { return nullptr; }
  virtual bool is_ready() const { return true; }
  virtual void block_until_ready() const {}
};

/// One array: either *traced* (a value of the trace that is being recorded) or *concrete* (memory
/// of a Runtime, or made of numbers alone). Copying is cheap and shares; moving leaves an empty
/// handle whose use throws UsageError.
///
/// Inside a traced function operations are recorded; elsewhere they run at once, on the Runtime of
/// the arrays they are given, a program for each operation (gnomon::jit makes one of all of them,
/// and is several times as fast). What is made of C++ numbers alone (zeros, arange, eye) is on no
/// device until it meets an array that is on one, or is passed to a jitted function or to_host; an
/// operation on such arrays only throws UsageError.
///
/// An Array may be read by several threads at once; one that is assigned to or moved from is used
/// by nobody else meanwhile, as with std::shared_ptr. Copies are separate objects in this respect.
class Array {
 public:
  Array() = default;
  Array(const Array&) = default;
  Array& operator=(const Array&) = default;
  Array(Array&& other) noexcept;
  Array& operator=(Array&& other) noexcept;

  /// A concrete array. For the engine.
  Array(Aval aval, std::shared_ptr<Storage> storage);
  /// A traced value. For the tracer.
  Array(std::uint64_t trace_serial, std::uint32_t value, Aval aval);

  /// Stands in a tree for an array that is left out (gnomon/partition.h): trees with a hole have
  /// one leaf less there. Its use throws UsageError.
  static Array hole();
  bool is_hole() const { return trace_ == hole_serial; }

  bool empty() const { return !storage_ && trace_ == 0; }
  bool concrete() const { return storage_ != nullptr; }
  const Aval& aval() const;
  const Shape& shape() const { return aval().shape; }
  DType dtype() const { return aval().dtype; }
  int rank() const { return shape().rank(); }
  /// Size of one axis; negative axes count from the end. Throws UsageError when out of range.
  Dim dim(int axis, Loc loc = Loc::here()) const;
  Dim size() const { return shape().size(); }

  /// Whether its elements are computed, so that reading them waits for nothing. Throws UsageError
  /// when it is empty or traced.
  bool is_ready(Loc loc = Loc::here()) const;
  /// Returns when its elements are computed. Throws UsageError when it is empty or traced.
  const Array& block_until_ready(Loc loc = Loc::here()) const;

  /// x[i] along the first axis: drops it. Static or traced index; negative wraps once, then clips.
  Array operator[](const Operand& index) const;
  template <class F>
  requires std::is_floating_point_v<F> Array operator[](F index) const = delete;

  /// The elements that indices name, to read or to change: x.at(i, every, j).set(v), see
  /// gnomon/indexing.h, which has to be included.
  template <class... I>
  At at(const I&... indices) const;

  template <class T>
  requires std::is_arithmetic_v<T>
  explicit operator T() const {
    static_assert(
        always_false<T>,
        "gnomon: a traced Array has no value while tracing; use where / cond / while_loop, or "
        "Runtime::item<T>() and to_host() outside of what is traced; for std::max, std::min and "
        "std::clamp write maximum, "
        "minimum and clip");
    return T{};
  }

  const std::shared_ptr<Storage>& storage() const { return storage_; }
  std::uint64_t trace_serial() const { return trace_; }
  std::uint32_t value() const { return value_; }

 private:
  static constexpr std::uint64_t hole_serial = ~std::uint64_t{1};
  void require_concrete(const char* op, Loc) const;
  std::shared_ptr<Storage> storage_;
  std::uint64_t trace_ = 0;  // serial of the owning trace, 0 when concrete or empty
  std::uint32_t value_ = 0;
  Aval aval_;
};
using Arrays = std::vector<Array>;

/// A C++ number standing for an array of rank 0, with all its digits. *Weak*: it takes the dtype of
/// the array it meets when the kinds agree (see promotion, gnomon/ops.h).
struct Scalar {
  enum class Kind : std::uint8_t { boolean, integer, floating };
  Kind kind = Kind::floating;
  bool beyond_i64 = false;  // an integer above the largest of i64: `integer` has the bits of an u64
  double floating = 0;      // the nearest double, of every kind
  std::int64_t integer = 0;  // of a bool or an integer

  Scalar() = default;
  template <class T>
  requires std::is_arithmetic_v<T> Scalar(T x)  // NOLINT: implicit, as numbers are operands
      : floating(static_cast<double>(x)) {
    if constexpr (std::is_integral_v<T>) {
      kind = std::is_same_v<T, bool> ? Kind::boolean : Kind::integer;
      integer = static_cast<std::int64_t>(x);
      if constexpr (std::is_unsigned_v<T>) beyond_i64 = integer < 0;
    }
  }
  bool operator==(const Scalar&) const = default;
};
/// "3000000000", "0.1", "true".
std::string to_string(const Scalar&);

/// What an operation takes: an Array or a C++ number, with the line of the call.
class Operand {
 public:
  Operand(const Array& a, Loc loc = Loc::here())
      : array_(a), loc_(loc) {}  // NOLINT: implicit on purpose
  template <class T>
  requires std::is_arithmetic_v<T> Operand(T x, Loc loc = Loc::here())  // NOLINT: likewise
      : scalar_(x), is_array_(false), loc_(loc) {}
  explicit Operand(const Scalar& x, Loc loc = Loc::here())
      : scalar_(x), is_array_(false), loc_(loc) {}

  bool is_array() const { return is_array_; }
  const Array& array() const { return array_; }
  const Scalar& scalar() const { return scalar_; }
  Loc loc() const { return loc_; }

 private:
  Array array_;
  Scalar scalar_;
  bool is_array_ = true;
  Loc loc_;
};

}  // namespace gnomon
#pragma GCC visibility pop
