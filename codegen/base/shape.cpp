// codegen/base/shape.cpp -- Shape's arithmetic and text.
#include "gnomon/shape.h"

#include <algorithm>

#include "gnomon/error.h"
#include "shaders/support/check.h"

namespace gnomon {

Shape::Shape(std::span<const Dim> dims) {
  for (Dim d : dims) append(d);
}

Dim Shape::size() const {
  Dim n = 1;
  for (Dim d : *this) {
    if (d == 0) return 0;
    if (__builtin_mul_overflow(n, d, &n) || n > many) n = many;
  }
  return n;
}

void Shape::append(Dim d) { insert(rank_, d); }

void Shape::insert(int axis, Dim d) {
  if (rank_ == max_rank) {
    usage_error("Shape",
                "an array has at most 8 dimensions and " + to_string(*this) +
                    " would get a ninth; reshape it to fewer first",
                {});
  }
  GNOMON_CHECK(axis >= 0 && axis <= rank_, "axis " + std::to_string(axis));
  const auto at = dims_.begin() + axis;
  std::copy_backward(at, dims_.begin() + rank_, dims_.begin() + rank_ + 1);
  *at = d;
  ++rank_;
}

void Shape::erase(int axis) {
  GNOMON_CHECK(axis >= 0 && axis < rank_, "axis " + std::to_string(axis));
  std::copy(dims_.begin() + axis + 1, dims_.begin() + rank_, dims_.begin() + axis);
  --rank_;
}

Shape Shape::with_inserted(int axis, Dim d) const {
  Shape result = *this;
  result.insert(axis, d);
  return result;
}

Shape Shape::without(int axis) const {
  Shape result = *this;
  result.erase(axis);
  return result;
}

Shape Shape::with(int axis, Dim d) const {
  GNOMON_CHECK(axis >= 0 && axis < rank_, "axis " + std::to_string(axis));
  Shape result = *this;
  result[axis] = d;
  return result;
}

Shape Shape::part(int first, int last) const {
  GNOMON_CHECK(first >= 0 && first <= last && last <= rank_, "axes out of order");
  return Shape(std::span<const Dim>(begin() + first, begin() + last));
}

bool Shape::operator==(const Shape& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (int i = 0; i < shape.rank(); ++i) {
    if (i) text += ",";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

std::string to_string(DType dtype, const Shape& shape) {
  return std::string(name(dtype)) + to_string(shape);
}

}  // namespace gnomon
