// codegen/graph/literal.h -- a constant inside a parameter: one number or a small array.
#pragma once
#include <cstdint>
#include <utility>

#include "codegen/base/host_array.h"
#include "codegen/base/param_fields.h"

namespace gnomon {

/// Elements known when tracing. They are written into kernels, so keep them few; large constants
/// are concrete arrays. Text: `f32(1.5)` for rank 0, `f32[2,2](1,2,3,4)` otherwise. Compares by
/// bits.
class Literal {
 public:
  Literal() : Literal(HostArray(Aval{})) {}
  explicit Literal(HostArray array) : array_(std::move(array)) {}
  /// A scalar of the given type, converted from a double or an integer.
  static Literal scalar(DType, double);
  static Literal integer(DType, std::int64_t);

  const HostArray& array() const { return array_; }
  const Aval& aval() const { return array_.aval; }

  bool operator==(const Literal&) const = default;
  void hash(Hasher&) const;
  void print(ParamPrinter&) const;
  static Literal parse(ParamParser&);

 private:
  HostArray array_;
};

/// The least and the largest number of an integer type; that of u64 as the i64 of the same bits.
std::pair<std::int64_t, std::int64_t> integer_range(DType);

/// Reads `f32` and the like.
DType parse_dtype(TextReader&);
/// Reads `f32[2,3]`.
Aval parse_aval(TextReader&);

}  // namespace gnomon
