// codegen/include/gnomon/shape.h -- array shapes: up to eight static dimensions.
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "gnomon/dtype.h"

#pragma GCC visibility push(default)
namespace gnomon {

using Dim = std::int64_t;
class Array;

/// A list of dimensions, fixed when a function is traced. Row-major.
class Shape {
 public:
  static constexpr int max_rank = 8;

  Shape() = default;
  template <class... D>
  requires(sizeof...(D) > 0 && (!std::same_as<std::remove_cvref_t<D>, Shape> && ...) &&
           ((std::integral<std::remove_cvref_t<D>> ||
             std::same_as<std::remove_cvref_t<D>, Array>)&&...))
      Shape(D... dims) {  // NOLINT: `{2, 3}` is how users write a shape
    static_assert(!(std::same_as<std::remove_cvref_t<D>, Array> || ...),
                  "gnomon: a traced Array cannot be a shape dimension; shapes are fixed when the "
                  "function is traced. "
                  "Use x.dim(i) and std::min/std::max on integers");
    static_assert(sizeof...(D) <= max_rank, "gnomon: a shape has at most 8 dimensions");
    if constexpr (!(std::same_as<std::remove_cvref_t<D>, Array> || ...))
      (append(static_cast<Dim>(dims)), ...);
  }
  explicit Shape(std::span<const Dim> dims);
  /// Sizes that are counted somewhere: zeros(sizes).
  template <std::integral I>
  Shape(const std::vector<I>& dims) {  // NOLINT: implicit on purpose
    for (const I d : dims) append(static_cast<Dim>(d));
  }

  int rank() const { return rank_; }
  /// Number of elements: 1 for rank 0, `many` for so many or more. A product that wrapped would
  /// pass for a size that some array has.
  Dim size() const;
  /// More elements than any array has; their bytes, and sums of several such sizes, fit 64 bits.
  static constexpr Dim many = Dim{1} << 59;
  Dim operator[](int axis) const { return dims_[static_cast<std::size_t>(axis)]; }
  Dim& operator[](int axis) { return dims_[static_cast<std::size_t>(axis)]; }
  const Dim* begin() const { return dims_.data(); }
  const Dim* end() const { return dims_.data() + rank_; }

  /// Throws UsageError when the rank would exceed 8.
  void append(Dim d);
  void insert(int axis, Dim d);
  void erase(int axis);
  Shape with_inserted(int axis, Dim d) const;
  Shape without(int axis) const;
  Shape with(int axis, Dim d) const;
  /// The dimensions [first, last).
  Shape part(int first, int last) const;

  bool operator==(const Shape& other) const;

 private:
  std::array<Dim, max_rank> dims_{};
  int rank_ = 0;
};

/// "f32[2,3]".
std::string to_string(DType, const Shape&);
/// "[2,3]".
std::string to_string(const Shape&);

}  // namespace gnomon
#pragma GCC visibility pop
